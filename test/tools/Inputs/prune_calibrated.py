"""prune_calibrated.py FOLDER: dlc prune by wanda and sparsegpt against plain NumPy in f64, and what
it refuses."""
import json
import os
import sys

import numpy as np
from weight_cases import Suite, dlc, numbers, safetensors, save

suite = Suite(sys.argv[1])
expect = suite.expect


def write(path, text):
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def load(path):
    arrays, _ = safetensors.load(path)
    return arrays


def prune(what, source, *arguments, status=0, said="", output="p.dl"):
    run = dlc("prune", source, "-o", output, "--force", *arguments)
    expect(what, (run.returncode, run.stderr), (status, said))
    return run.stdout


#===- The algorithms, as they are written down --------------------------------------------------==#

def least_squares(w, target, h, added):
    """The numbers of w that are not zero so that (w - target) h (w - target)^T is least."""
    for row in range(len(w)):
        kept = w[row] != 0
        left = h[np.ix_(kept, kept)] + added * np.eye(kept.sum())
        w[row, kept] = np.linalg.solve(left, h[kept] @ target[row] + added * target[row, kept])
    return w


def in_steps(target, h, shares, dampening=0.01):
    """Zeros share after share: those that cost least when all others of their row take over, which
    they then do."""
    added = dampening * np.trace(h) / len(h)
    w = target.copy()
    for share in shares:
        cost = np.full(w.shape, np.inf)
        for row in range(len(w)):
            kept = w[row] != 0
            inverse = np.linalg.inv(h[np.ix_(kept, kept)] + added * np.eye(kept.sum()))
            cost[row, kept] = w[row, kept] ** 2 / np.diag(inverse)
        count = round(share * w.size) - int((w == 0).sum())
        w.reshape(-1)[np.argsort(cost, axis=None)[:count]] = 0
        least_squares(w, target, h, added)
    return w


def sparse_gpt(w, h, share=None, block=128, dampening=0.01, fits=True):
    """Zeros in w and an update of the rest, column after column; `share` of each block, else two of
    each four columns. `fits`: at last the least squares of what is left."""
    rows, columns = w.shape
    target, w = w, w.copy()
    damped = h + dampening * np.trace(h) / columns * np.eye(columns)
    upper = np.linalg.cholesky(np.linalg.inv(damped)).T  # upper.T @ upper is the inverse
    zero = np.zeros(w.shape, bool)
    done = 0
    for begin in range(0, columns, block):
        end = min(begin + block, columns)
        if share is not None:
            score = (w[:, begin:end] / np.diag(upper)[begin:end]) ** 2
            count = round(share * rows * end) - done
            chosen = np.argsort(score, axis=None)[:count]
            flat = np.zeros(score.size, bool)
            flat[chosen] = True
            zero[:, begin:end] = flat.reshape(score.shape)
            done += count
        for column in range(begin, end):
            if share is None and column % 4 == 0:
                score = (w[:, column:column + 4] / np.diag(upper)[column:column + 4]) ** 2
                for row in range(rows):
                    zero[row, column + np.argsort(score[row])[:2]] = True
            error = np.where(zero[:, column], w[:, column], 0) / upper[column, column]
            w -= error[:, None] * np.where(np.arange(columns) >= column, upper[column], 0)[None]
            w[zero[:, column], column] = 0
    return least_squares(w, target, h, dampening * np.trace(h) / columns) if fits else w


def windows(x, size, stride, padding, dilation=1):
    """[N, C, H, W] -> [N * positions, C * size * size]."""
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    reach = (size - 1) * dilation
    high, wide = ((dim - reach - 1) // stride + 1 for dim in x.shape[2:])
    taps = [
        x[:, :, r * dilation:r * dilation + (high - 1) * stride + 1:stride,
          s * dilation:s * dilation + (wide - 1) * stride + 1:stride] for r in range(size)
        for s in range(size)
    ]
    stacked = np.stack(taps, 2)  # N, C, taps, high, wide
    return stacked.transpose(0, 3, 4, 1, 2).reshape(-1, x.shape[1] * size * size), (high, wide)


def conv(x, w, b, stride=1, padding=0, groups=1):
    outputs = []
    for part, weight in zip(np.split(x, groups, 1), np.split(w, groups, 0)):
        rows, (high, wide) = windows(part, w.shape[2], stride, padding)
        outputs.append((rows @ weight.reshape(len(weight), -1).T).reshape(len(x), high, wide,
                                                                          -1).transpose(0, 3, 1, 2))
    return np.concatenate(outputs, 1) + b[:, None, None]


MODEL = """dl 1
dim N = 1..64
model M {
  one: Conv2d(4, 8, kernel_size=3, padding=1)
  deep: Conv2d(8, 8, kernel_size=3, stride=2, groups=2)
  norm: BatchNorm2d(8)
  last: Linear(72, 12)

  forward(x: f32[N,4,7,7]) -> (y: f32[N,12]) {
    h = relu(one(x))
    h = relu(norm(deep(h)))
    y = last(flatten(h, start_dim=1))
  }
}
weights "m.safetensors"
"""
ARRAYS = {
    "one.weight": numbers(8, 4, 3, 3), "one.bias": numbers(8),
    "deep.weight": numbers(8, 4, 3, 3, seed=1), "deep.bias": numbers(8, seed=2),
    "norm.weight": 1 + 0.1 * numbers(8, seed=3), "norm.bias": numbers(8, seed=4),
    "norm.running_mean": numbers(8, seed=5), "norm.running_var": 1 + numbers(8, seed=6)**2,
    "last.weight": numbers(12, 72), "last.bias": numbers(12)
}
ARRAYS = {name: array.astype(np.float32) for name, array in ARRAYS.items()}
X = np.random.RandomState(11).standard_normal((300, 4, 7, 7)).astype(np.float32)
X[:, 1] += X[:, 0]  # channels that depend on one another
X[:, 2] += 3
write("m.dl", MODEL)
save("m.safetensors", ARRAYS)
np.savez("c.npz", x=X)


def layers(change):
    """The weights after `change(rows, before, weight, bias)` of each layer in turn: `rows` are what
    it reads when all layers before it have changed, `before` what it read when none had."""
    w = {name: array.astype(np.float64) for name, array in ARRAYS.items()}
    x = z = X.astype(np.float64)
    own = dict(w)
    rows, _ = windows(x, 3, 1, 1)
    own["one.weight"], own["one.bias"] = change(rows, rows, w["one.weight"], w["one.bias"])
    x, z = (np.maximum(conv(x, by["one.weight"], by["one.bias"], padding=1), 0) for by in (own, w))
    parts = []
    for index in range(2):
        rows, before = (windows(value[:, 4 * index:4 * index + 4], 3, 2, 0)[0] for value in (x, z))
        part = slice(4 * index, 4 * index + 4)
        parts.append(change(rows, before, w["deep.weight"][part], w["deep.bias"][part]))
    own["deep.weight"], own["deep.bias"] = (np.concatenate(both) for both in zip(*parts))
    scale = w["norm.weight"] / np.sqrt(w["norm.running_var"] + 1e-5)
    x, z = (np.maximum((conv(value, by["deep.weight"], by["deep.bias"], stride=2, groups=2)
                        - w["norm.running_mean"][:, None, None]) * scale[:, None, None]
                       + w["norm.bias"][:, None, None], 0).reshape(len(x), -1)
            for value, by in ((x, own), (z, w)))
    own["last.weight"], own["last.bias"] = change(x, z, w["last.weight"], w["last.bias"])
    return own


def by_sparse_gpt(share=None, shares=None):
    """`share`: of each layer, or a function that gives it for a weight. `shares`: in these steps.
    """
    def change(rows, before, weight, bias):
        flat = weight.reshape(len(weight), -1)
        columns = np.arange(flat.shape[1])
        if share is None and weight.ndim == 4:  # four input channels of one tap after one another
            columns = columns.reshape(weight.shape[1], -1).T.reshape(-1)
        centred, others = rows - rows.mean(0), before - before.mean(0)
        moment = centred.T @ centred
        # What gives of the new input what the weight gave of the old one.
        added = 0.01 * np.trace(moment) / len(moment) * np.eye(len(moment))
        target = np.linalg.solve(moment + added, (centred.T @ others + added) @ flat.T).T
        pruned = np.empty_like(flat)
        if shares:
            pruned = in_steps(target, moment, shares)
        else:
            own = share(weight) if callable(share) else share
            pruned[:, columns] = sparse_gpt(target[:, columns], moment[np.ix_(columns, columns)],
                                            own)
        return pruned.reshape(weight.shape), bias + flat @ before.mean(0) - pruned @ rows.mean(0)
    return change


def same(what, expected, tolerance=2e-3):
    got = load("p.safetensors")
    for name in ARRAYS:
        expect(f"{what}: zeros of {name}", int(((got[name] == 0) != (expected[name] == 0)).sum()),
               0)
        error = np.abs(got[name] - expected[name]).max() / np.abs(expected[name]).max()
        expect(f"{what}: {name} ({error:.1e})", bool(error < tolerance), True)


table = prune("sparsegpt, layer", "m.dl", "--pattern", "layer", "--sparsity", "0.6", "--calib",
              "c.npz", "--report", "r.json")
same("sparsegpt, layer", layers(by_sparse_gpt(0.6)))
expect("the error has a column", table.splitlines()[0].split("  ")[-1], "output error")
report = json.load(open("r.json", encoding="utf-8"))
expect("the method", report["method"], "sparsegpt")
expect("errors", [0 < row["output_error"] < 1 for row in report["weights"]], [True] * 3)
first = load("p.safetensors")
prune("in other batches", "m.dl", "--pattern", "layer", "--sparsity", "0.6", "--calib", "c.npz",
      "--calib-batch", "7", "-q")
same("in other batches", {name: array.astype(np.float64) for name, array in first.items()}, 1e-4)
prune("sparsegpt, 2:4", "m.dl", "--pattern", "2:4", "--calib", "c.npz", "-q")
same("sparsegpt, 2:4", layers(by_sparse_gpt()))
for name in ("one.weight", "deep.weight", "last.weight"):
    array = load("p.safetensors")[name]
    fours = np.moveaxis(array, 1, -1).reshape(-1, 4)
    expect(f"two of four of {name}", sorted(set((fours == 0).sum(1))), [2])


prune("in steps", "m.dl", "--pattern", "layer", "--sparsity", "0.7", "--steps", "3", "--calib",
      "c.npz", "-q", "--report", "r.json")
same("in steps", layers(by_sparse_gpt(shares=[0.7 * (1 - left**3) for left in (2 / 3, 1 / 3, 0)])))
expect("the report says so",
       [json.load(open("r.json", encoding="utf-8"))[key] for key in ("allocation", "steps")],
       ["uniform", 3])

# Shares by sensitivity: the costs of zeros in each layer of the whole model, and the division whose
# costs are least.
SHARES = (0.2, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.97, 0.985)
seen = []


def look(rows, before, weight, bias):
    seen.append((weight, rows - rows.mean(0)))
    return weight, bias


def hull(points):
    """Slopes of the lower convex hull: (cost of a share, share)."""
    left, segments = 0, []
    while left < len(points) - 1:
        right = min(
            range(left + 1, len(points)), key=lambda i: ((points[i][1] - points[left][1]) /
                                                         (points[i][0] - points[left][0]), -i))
        segments.append(((points[right][1] - points[left][1]) /
                         (points[right][0] - points[left][0]), points[right][0] - points[left][0]))
        left = right
    return segments


layers(look)
parts = {"one": seen[:1], "deep": seen[1:3], "last": seen[3:]}
segments, sizes = [], {}
for name, part in parts.items():
    sizes[name] = sum(weight.size for weight, _ in part)
    curve = [(0, 0)]
    for share in SHARES:
        squares = changed = 0
        for weight, rows in part:
            flat, moment = weight.reshape(len(weight), -1), rows.T @ rows
            off = sparse_gpt(flat, moment, share, fits=False) - flat
            squares += np.trace(flat @ moment @ flat.T)
            changed += np.trace(off @ moment @ off.T)
        curve.append((share, changed / squares))
    segments += [(slope / sizes[name], name, width) for slope, width in hull(curve)]
left, expected = 0.8 * sum(sizes.values()), dict.fromkeys(parts, 0)
for _, name, width in sorted(segments):
    taken = min(width, left / sizes[name])
    expected[name] += taken
    left -= taken * sizes[name]
prune("by sensitivity", "m.dl", "--pattern", "layer", "--sparsity", "0.8", "--allocation",
      "sensitivity", "--calib", "c.npz", "-q", "--report", "r.json")
report = json.load(open("r.json", encoding="utf-8"))
got = {row["name"].split(".")[0]: row["zeros_after"] / row["numbers"] for row in report["weights"]}
expect("shares by sensitivity", {name: round(share, 2) for name, share in got.items()},
       {name: round(share, 2) for name, share in expected.items()})
expect("they differ", max(expected.values()) - min(expected.values()) > 0.05, True)
expect("all together",
       abs(report["all"]["zeros_after"] / report["all"]["numbers"] - 0.8) < 0.005, True)
errors = sum(row["output_error"] ** 2 for row in report["weights"])
prune("uniform", "m.dl", "--pattern", "layer", "--sparsity", "0.8", "--calib", "c.npz", "-q",
      "--report", "r.json")
expect(
    "their errors are less", errors
    < sum(row["output_error"]**2 for row in json.load(open("r.json", encoding="utf-8"))["weights"]),
    True)
prune("blocks", "m.dl", "--pattern", "block", "--sparsity", "0.5", "--steps", "2", "--calib",
      "c.npz", "-q")
columns = (load("p.safetensors")["last.weight"] == 0).mean(0)
expect("blocks of twelve rows", (sorted(set(columns)), abs(columns.mean() - 0.5) < 0.01),
       ([0.0, 1.0], True))


def by_wanda(share):
    def change(rows, _, weight, bias):
        flat = weight.reshape(len(weight), -1).copy()
        score = np.abs(flat) * np.sqrt((rows ** 2).mean(0))
        if share is None:
            order = np.moveaxis(score.reshape(weight.shape), 1,
                                -1).reshape(-1, 4).argsort(1).argsort(1) < 2
            moved = np.moveaxis(flat.reshape(weight.shape), 1, -1).copy()
            moved[order.reshape(moved.shape)] = 0
            return np.moveaxis(moved, -1, 1), bias
        flat.reshape(-1)[np.argsort(score, axis=None, kind="stable")[:round(share * flat.size)]] = 0
        return flat.reshape(weight.shape), bias
    return change


prune("wanda, 2:4", "m.dl", "--pattern", "2:4", "--method", "wanda", "--calib", "c.npz", "-q")
same("wanda, 2:4", layers(by_wanda(None)), 1e-6)

# One layer of a whole model by wanda, and all together.
LINEAR = """dl 1
model L {
  fc: Linear(6, 5)
  forward(x: f32[4,6]) -> (y: f32[4,5]) {
    y = fc(x)
  }
}
weights "l.safetensors"
"""
L = {"fc.weight": numbers(5, 6), "fc.bias": numbers(5)}
SEEN = np.random.RandomState(3).standard_normal(
    (8, 6)).astype(np.float32) * np.array([9, 1, 1, .1, 1, 3], np.float32)
write("l.dl", LINEAR)
save("l.safetensors", L)
np.savez("l.npz", x=SEEN)
for pattern in ("layer", "global"):
    prune(f"wanda, {pattern}", "l.dl", "--pattern", pattern, "--sparsity", "0.5", "--method",
          "wanda", "--calib", "l.npz", "-q")
    score = np.abs(L["fc.weight"]) * np.sqrt((SEEN.astype(np.float64) ** 2).mean(0))
    expected = L["fc.weight"].copy()
    expected.reshape(-1)[np.argsort(score, axis=None)[:15]] = 0
    expect(f"wanda, {pattern}", np.array_equal(load("p.safetensors")["fc.weight"], expected), True)
    expect(f"wanda, {pattern}: the bias",
           np.array_equal(load("p.safetensors")["fc.bias"], L["fc.bias"]), True)

# A batch norm after a convolution without a bias: its running mean takes what the zeros took from
# the mean.
write(
    "n.dl",
    "dl 1\ndim N = 1..64\nmodel M {\n  c: Conv2d(3, 6, kernel_size=1, bias=false)\n  n: BatchNorm2d(6)\n"
    "  forward(x: f32[N,3,5,5]) -> (y: f32[N,6,5,5]) {\n    y = n(c(x))\n  }\n}\nweights \"n.safetensors\"\n"
)
N = {
    "c.weight": numbers(6, 3, 1, 1), "n.weight": np.ones(6, np.float32), "n.bias": numbers(6),
    "n.running_mean": numbers(6, seed=1), "n.running_var": np.ones(6, np.float32)
}
save("n.safetensors", N)
np.savez("n.npz", x=X[:, 1:, :5, :5])
prune("a batch norm", "n.dl", "--pattern", "layer", "--sparsity", "0.5", "--calib", "n.npz", "-q")
got = load("p.safetensors")
seen, _ = windows(X[:, 1:, :5, :5].astype(np.float64), 1, 1, 0)
after = [
    seen @ w["c.weight"].reshape(6, 3).T.astype(np.float64) - w["n.running_mean"] for w in (N, got)
]
expect("its mean stays", np.abs(after[0].mean(0) - after[1].mean(0)).max() < 1e-5, True)

# A weight of two layers is measured on what both read, and changed once.
write("t.dl", "dl 1\ndim N = 1..64\nmodel T {\n  a: Linear(8, 8, bias=false)\n  b: Linear(8, 8, bias=false)\n"
      "  forward(x: f32[N,8]) -> (y: f32[N,8]) {\n    y = b(relu(a(x)))\n  }\n}\n"
      "weights \"t.safetensors\" {\n  tie \"b.weight\" = \"a.weight\"\n}\n")
T = {"a.weight": numbers(8, 8)}
save("t.safetensors", T)
np.savez("t.npz", x=X[:, 0, :2, :4].reshape(300, 8))
prune("tied", "t.dl", "--pattern", "2:4", "--calib", "t.npz", "-q")
x = X[:, 0, :2, :4].reshape(300, 8).astype(np.float64)
both = np.concatenate([x, np.maximum(x @ T["a.weight"].T, 0)])
expected = sparse_gpt(T["a.weight"].astype(np.float64), both.T @ both)
expect("tied: zeros", np.array_equal(load("p.safetensors")["a.weight"] == 0, expected == 0), True)
expect("tied: numbers", np.abs(load("p.safetensors")["a.weight"] - expected).max() < 1e-3, True)


# Refusals.
def wrong(what, said, status, *arguments):
    before = sorted(os.listdir("."))
    run = dlc("prune", *arguments)
    expect(what, (run.returncode, run.stdout, run.stderr.splitlines()), (status, "", [said]))
    expect(what + ": no file is written", sorted(os.listdir(".")), before)


LAYER = ("--pattern", "layer", "--sparsity", "0.5", "-o", "no.dl")
wrong("no data",
      "error: --method sparsegpt needs to see what the layers read; add --calib FILE.npz, an array by the name of each input, "
      "one row a sample, some hundred rows", 2, "m.dl", *LAYER, "--method", "sparsegpt")
wrong(
    "data for nothing",
    "error: --method magnitude looks at the weights alone; leave --calib out, or give --method sparsegpt",
    2, "m.dl", *LAYER, "--method", "magnitude", "--calib", "c.npz")
wrong(
    "one threshold",
    "error: --method sparsegpt does not go with --pattern global; expected one of magnitude, wanda",
    2, "m.dl", "--sparsity", "0.5", "-o", "no.dl", "--method", "sparsegpt", "--calib", "c.npz")
wrong(
    "an unknown method",
    "error: --method: 'best' is none of magnitude, wanda, sparsegpt, l1, l2, obs, svd; 'dlc prune --help' explains it",
    2, "m.dl", *LAYER, "--method", "best")
np.savez("other.npz", z=X)
wrong("another name", "error: 'other.npz' has no array 'x'; it holds: z", 2, "m.dl", *LAYER,
      "--calib", "other.npz")
np.savez("empty.npz", x=X[:0])
wrong(
    "no rows",
    "error: array 'x' of 'empty.npz' is f32[0,4,7,7]: it has no rows; expected at least one sample",
    2, "m.dl", *LAYER, "--calib", "empty.npz")
np.savez("shape.npz", x=X[:, :3])
wrong(
    "other dims",
    "error: array 'x' of 'shape.npz' is f32[300,3,7,7], but input 'x' is f32[N,4,7,7] (N = 1..64): dim 1 is 3, expected 4",
    2, "m.dl", *LAYER, "--calib", "shape.npz")
spoilt = X.copy()
spoilt[5, 1, 2, 3] = np.nan
np.savez("nan.npz", x=spoilt)
wrong(
    "NaN in the data",
    "error: array 'x' of 'nan.npz' is f32[300,4,7,7]: 1 of its numbers are NaN and 0 are infinite, the first in row 5; expected finite numbers",
    2, "m.dl", *LAYER, "--calib", "nan.npz")
np.savez("large.npz", x=X * 1e30)
wrong("too large",
      "error: --calib: on this data 'one' reads numbers that are NaN or infinite, or too large to be squared in f32; "
      "expected smaller, finite numbers", 1, "m.dl", *LAYER, "--calib", "large.npz")
save("bad.safetensors", {**L, "fc.weight": np.where(L["fc.weight"] > 1, np.nan, L["fc.weight"])})
write("bad.dl", LINEAR.replace("l.safetensors", "bad.safetensors"))
run = dlc("prune", "bad.dl", *LAYER, "--calib", "l.npz")
expect("NaN in a weight", (run.returncode, run.stderr.splitlines()[-1]), (
    1,
    "error: weight 'fc.weight' holds NaN or infinities; expected finite numbers, or leave it alone by --skip"
))
wrong(
    "a batch of none",
    "error: --calib-batch: expected a number from 1 to 1048576, got '0'; 'dlc prune --help' explains it",
    2, "m.dl", *LAYER, "--calib", "c.npz", "--calib-batch", "0")
write("d.dl", "dl 1\nmodel D {\n  fc: Linear(4, 4, bias=false)\n  forward(x: f32[6,4]) -> (y: f32[?,4]) {\n"
      "    y = fc(x[nonzero(x[:, 0])[:, 0]])\n  }\n}\nweights \"d.safetensors\"\n")
save("d.safetensors", {"fc.weight": numbers(4, 4)})
np.savez("d.npz", x=X[:6, 0, 0, :4])
wrong(
    "a size that the data say",
    "error: no weight of 'd.dl' can be pruned: fc.weight (the data say how many elements its input has)",
    1, "d.dl", *LAYER, "--calib", "d.npz")
write("w.dl", "dl 1\nmodel W {\n  w: Parameter(4, 4)\n  forward(x: f32[6,4]) -> (y: f32[6,4]) {\n"
      "    y = matmul(x, w) + matmul(x, transpose(w, 0, 1))\n  }\n}\nweights \"w.safetensors\"\n")
save("w.safetensors", {"w": numbers(4, 4)})
wrong("a weight read two ways",
      "error: no weight of 'w.dl' can be pruned: w (its products read it in different ways)", 1,
      "w.dl", *LAYER, "--calib", "d.npz")
write("k.dl", "dl 1\nmodel K {\n  w: Parameter(1, 2, 4, 4)\n  forward(x: f32[3,2,2,2]) -> (y: f32[1,3,3,3]) {\n"
      "    y = conv2d(w, x)\n  }\n}\nweights \"k.safetensors\"\n")
save("k.safetensors", {"w": numbers(1, 2, 4, 4)})
np.savez("k.npz", x=X[:3, :2, :2, :2])
wrong("a weight that windows slide over",
      "error: no weight of 'k.dl' can be pruned: w (a product reads it in no plain matrix)", 1,
      "k.dl", *LAYER, "--calib", "k.npz")
suite.finish()
