"""tensors.py FOLDER: models of literals, slices and borders against NumPy, on the CPU and on the
emulated GPU."""
import sys

import numpy as np
from weight_cases import Suite, dlc

suite = Suite(sys.argv[1])
MODEL = """dl 1
dim P = 0..9
dim T = 1..9
model M {
  forward(x: f32[4,T], old: f32[4,P]) -> (part: f32[4,T], last: f32[4], wide: f32[4,2*T+P], scaled: f32[4,T], table: i64[2,3], mean: f32[3,1]) {
    all = cat([old, x, old], dim=1)
    part = all[:, P:P + T]
    last = all[:, P + T - 1]
    wide = pad(x, (T, P), value=-1.0)
    scaled = x * tensor([1.0, -2.0, 0.5, float("inf")])[:, None]
    table = tensor([[1, 2, 3], [-4, 5, 6]])
    mean = tensor([0.485, 0.456, 0.406]).view(3, 1)
  }
}
"""
with open("m.dl", "w", encoding="utf-8") as out:
    out.write(MODEL)
done = dlc("compile", "m.dl", "-q", "-o", "m.bin")
suite.expect("compile", (done.returncode, done.stderr), (0, ""))
for device in ("cpu", "cuda-emu"):
    for p, t in ((0, 1), (3, 5), (9, 9), (1, 2)):
        random = np.random.default_rng(p * 10 + t)
        x, old = random.standard_normal((4, t), np.float32), random.standard_normal((4, p),
                                                                                    np.float32)
        np.save("x.npy", x)
        np.save("old.npy", old)
        done = dlc("run", "m.bin", "--device", device, "--input", "x=@x.npy", "--input",
                   "old=@old.npy", "--output", "@all.npz")
        suite.expect(f"run {p}, {t} on {device}", (done.returncode, done.stderr), (0, ""))
        if done.returncode:
            continue
        wanted = {
            "part": x, "last": x[:, -1], "wide": np.pad(x, ((0, 0), (t, p)), constant_values=-1.0),
            "scaled": x * np.array([1.0, -2.0, 0.5, np.inf], np.float32)[:, None],
            "table": np.array([[1, 2, 3], [-4, 5,
                                           6]]), "mean": np.array([[0.485], [0.456], [0.406]],
                                                                  np.float32)
        }
        got = np.load("all.npz")
        for name, value in wanted.items():
            same = got[name].dtype == value.dtype and np.array_equal(got[name], value)
            suite.expect(f"{name} at {p}, {t} on {device}", same or got[name].tolist(), True)

# Slices whose bounds lie outside of a dim are cut to it, with a step too.
CUT = {
    "first": "[:3]", "last": "[-3:]", "far": "[2:40]", "less": "[:N - 4]", "late": "[N - 4:]",
    "half": "[:N // 2]", "none": "[5:N - 5]", "inner": "[2:-1:3]", "apart": "[N - 5:40:2]"
}
with open("m.dl", "w", encoding="utf-8") as out:
    out.write("dl 1\ndim N = 0..64\nmodel M {\n  forward(x: f32[N,3], y: f32[N,3]) -> ("
              + ", ".join(f"{name}: f32[?,3]" for name in CUT) + ", at: f32[3]) {\n"
              + "".join(f"    {name} = x{index}\n"
                        for name, index in CUT.items()) + "    at = y[:30][4] + y[N - 9]\n  }\n}\n")
done = dlc("compile", "m.dl", "-q", "-o", "m.bin")
suite.expect("compile cut slices", (done.returncode, done.stderr), (0, ""))
for device in ("cpu", "cuda-emu"):
    for N in (5, 6, 7, 8, 9, 12, 41, 64):
        x = np.random.default_rng(N).standard_normal((N, 3), np.float32)
        np.save("x.npy", x)
        done = dlc("run", "m.bin", "--device", device, "--input", "x=@x.npy", "--input", "y=@x.npy",
                   "--output", "@all.npz")
        suite.expect(f"run of {N} on {device}", (done.returncode, done.stderr), (0, ""))
        if done.returncode:
            continue
        got = np.load("all.npz")
        for name, index in CUT.items():
            suite.expect(f"{name} of {N} on {device}", got[name].tolist(),
                         eval(f"x{index}", {"x": x, "N": N}).tolist())
        suite.expect(f"at of {N} on {device}", got["at"].tolist(), (x[:30][4] + x[N - 9]).tolist())
np.save("x.npy", np.zeros((4, 3), np.float32))
done = dlc("run", "m.bin", "--input", "x=@x.npy", "--input", "y=@x.npy")
suite.expect("an index beyond a computed dim", (done.returncode, done.stderr),
             (2, "error: the model does not take inputs of these dims: m.dl:14:17: slice takes 5 of dim 0 of f32[min_9,3], where min_9 - 5 "
              "must be 0 or more; it would be -1\n"))


def wrong(what, model, message):
    suite.check(what, model, {}, [f"m.dl:{message}"])


wrong(
    "no data", "dl 1\nmodel M {\nforward(x: f32[3]) -> (y: f32[3]) {\ny = x + tensor()\n}\n}\n",
    "4:9: error: 'tensor' takes numbers in lists and a dtype, as in tensor([1.0, 2.0], dtype=f32), got no numbers"
)
wrong("no layer in TimeDistributed", "dl 1\nsequential A(x: f32[2,3,4]) { TimeDistributed(3) }\n",
      "2:31: error: 'TimeDistributed' takes a layer, as in 'TimeDistributed(Dense(10))'")
wrong("no steps for TimeDistributed",
      "dl 1\nsequential A(x: f32[2,3]) { TimeDistributed(Dense(2)) }\n",
      "2:29: error: 'TimeDistributed' takes a tensor of 3 dims or more, [N, T, ...], got f32[2,3]")
suite.finish()
