"""prune_low_rank.py FOLDER: two linear layers in place of one against NumPy's singular value
decomposition, and what is refused."""
import os
import sys

import numpy as np
from weight_cases import Suite, dlc, numbers, safetensors, save

suite = Suite(sys.argv[1])
expect = suite.expect
MODEL = """dl 1
dim N = 1..64
model M {
  fc: Linear(24, 16)
  plain: Parameter(16, 12)
  last: Linear(12, 3, bias=false)

  forward(x: f32[N,24]) -> (y: f32[N,3]) {
    y = last(relu(matmul(relu(fc(x)), plain)))
  }
}
weights "m.safetensors"
"""
ARRAYS = {
    "fc.weight": numbers(16, 24), "fc.bias": numbers(16), "plain": numbers(16, 12),
    "last.weight": numbers(3, 12)
}
RANDOM = np.random.RandomState(2)
# Rows that move along five directions, and a little along others.
X = (RANDOM.standard_normal((200, 5)) @ RANDOM.standard_normal(
    (5, 24)) + 0.01 * RANDOM.standard_normal((200, 24))).astype(np.float32)
np.savez("c.npz", x=X)
np.save("x.npy", X[:30])


def write(path, text):
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def prune(what, *flags):
    run = dlc("prune", "m.dl", "--pattern", "low-rank", "-o", "p.dl", "--force", *flags)
    expect(what, (run.returncode, run.stderr), (0, ""))
    return run.stdout, safetensors.load("p.safetensors")[0]


def outputs_of(source):
    expect(f"{source} compiles",
           dlc("compile", source, "-q", "--target", "cpu", "-o", "r.bin").stderr, "")
    expect(
        f"{source} runs",
        dlc("run", "r.bin", "--device", "cpu", "--input", "x=@x.npy", "--output",
            "y=@y.npy").stderr, "")
    return np.load("y.npy")


def relu(x):
    return np.maximum(x, 0)


def forward(x, arrays):
    return relu(relu(x @ arrays["fc.weight"].T + arrays["fc.bias"])
                @ arrays["plain"]) @ arrays["last.weight"].T


write("m.dl", MODEL)
save("m.safetensors", ARRAYS)
whole = outputs_of("m.dl")
expect("the whole model", np.allclose(whole, forward(X[:30], ARRAYS), rtol=1e-4, atol=1e-4), True)

# Without data: the best approximation of each weight that is factored, and outputs of these.
table, got = prune("without data", "--sparsity", "0.5")
left = dict(ARRAYS)
count = 0
for name, weight in (("fc", ARRAYS["fc.weight"]), ("plain", ARRAYS["plain"].T),
                     ("last", ARRAYS["last.weight"])):
    if name + ".0.weight" not in got:
        count += weight.size
        continue
    right, wide = got[name + ".0.weight"].astype(np.float64), got[name + ".1.weight"].astype(
        np.float64)
    count += right.size + wide.size
    rank = len(right)
    expect(f"{name}: shapes", (right.shape, wide.shape),
           ((rank, weight.shape[1]), (len(weight), rank)))
    u, s, v = np.linalg.svd(weight.astype(np.float64), full_matrices=False)
    best = (u[:, :rank] * s[:rank]) @ v[:rank]
    expect(f"{name}: the best of its rank", np.abs(wide @ right - best).max() < 1e-5, True)
    left[name if name == "plain" else name + ".weight"] = best.T if name == "plain" else best
expect("the share", 0.3 <= count / (16 * 24 + 16 * 12 + 3 * 12) <= 0.5, True)
expect("the bias", np.array_equal(got["fc.1.bias"], ARRAYS["fc.bias"]), True)
expect("the outputs", np.allclose(outputs_of("p.dl"), forward(X[:30], left), rtol=1e-3, atol=1e-3),
       True)
plain = np.linalg.norm(outputs_of("p.dl") - whole) / np.linalg.norm(whole)
rows = [line.split() for line in table.splitlines()]
expect("the table", [row for row in rows if row[0] == "fc.weight"], [["fc.weight", "16x24"]])

# With data: what is read moves along few directions, which is where the factors are exact.
_, got = prune("with data", "--sparsity", "0.5", "--calib", "c.npz", "-q")
seen = np.linalg.norm(outputs_of("p.dl") - whole) / np.linalg.norm(whole)
expect(f"data help: {seen:.4f} and {plain:.4f}", bool(seen < 0.5 * plain), True)
moment = (X - X.mean(0)).astype(np.float64)
moment = moment.T @ moment
moment += 0.01 * np.trace(moment) / 24 * np.eye(24)
weight, rank = ARRAYS["fc.weight"].astype(np.float64), len(got["fc.0.weight"])
u, _, _ = np.linalg.svd(weight @ np.linalg.cholesky(moment))
best = u[:, :rank] @ u[:, :rank].T @ weight
error = np.abs(got["fc.1.weight"].astype(np.float64) @ got["fc.0.weight"]
               - best).max() / np.abs(best).max()
expect(f"the best for what is read ({error:.1e})", bool(error < 1e-3), True)
shift = (weight - best) @ X.mean(0)
expect("the mean stays", np.abs(got["fc.1.bias"] - ARRAYS["fc.bias"] - shift).max() < 1e-3, True)
prune("a layer that stays", "--sparsity", "0.3", "--skip", "fc")
expect("it stayed", "fc.weight" in safetensors.load("p.safetensors")[0], True)


# Refusals.
def wrong(what, said, status, source, *arguments):
    before = sorted(os.listdir("."))
    run = dlc("prune", source, "--pattern", "low-rank", "-o", "no.dl", *arguments)
    expect(what, (run.returncode, run.stdout, run.stderr.splitlines()[0]), (status, "", said))
    expect(what + ": no file is written", sorted(os.listdir(".")), before)


wrong(
    "no share",
    "error: --pattern low-rank needs --sparsity, the share of the multiplications to take away, such as 0.3",
    2, "m.dl")
wrong(
    "too much",
    "error: --sparsity 0.95 of the linear layers cannot go: rank 1 of each leaves more; expected less",
    1, "m.dl", "--sparsity", "0.95")
wrong("a method of weights",
      "error: --method wanda does not go with --pattern low-rank; expected one of svd", 2, "m.dl",
      "--sparsity", "0.5", "--method", "wanda")
write("k.dl", "dl 1\nmodel K {\n  c: Conv2d(2, 4, kernel_size=3)\n  one: Linear(9, 1)\n  forward(x: f32[1,2,5,5]) -> (y: f32[1,4,1]) {\n"
      "    y = one(flatten(c(x), start_dim=2))\n  }\n}\nweights \"k.safetensors\"\n")
save(
    "k.safetensors", {
        "c.weight": numbers(4, 2, 3, 3), "c.bias": numbers(4), "one.weight": numbers(1, 9),
        "one.bias": numbers(1)
    })
wrong(
    "no linear layer to gain from",
    "error: no weight of 'k.dl' can be pruned: c.weight (not of a linear layer), one.weight (two layers would multiply more)",
    1, "k.dl", "--sparsity", "0.5")
write("d.dl", "dl 1\nmodel D {\n  fc: Linear(8, 8, bias=false)\n  forward(x: f32[6,8]) -> (y: f32[?,8]) {\n"
      "    y = fc(x[nonzero(x[:, 0])[:, 0]])\n  }\n}\nweights \"d.safetensors\"\n")
save("d.safetensors", {"fc.weight": numbers(8, 8)})
wrong(
    "a size that the data say",
    "error: no weight of 'd.dl' can be pruned: fc.weight (the data say how many elements its input has)",
    1, "d.dl", "--sparsity", "0.5")
suite.finish()
