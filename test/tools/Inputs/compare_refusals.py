"""compare_refusals.py FOLDER: data, labels, models and references that do not go together, batches
of fixed sizes, states, NaN."""
import json
import sys

import numpy as np
from weight_cases import Suite, dlc, make_digits

suite = Suite(sys.argv[1])
make_digits("f32")
expect = suite.expect
images = np.load("images.npy")[:10]
np.savez("ten.npz", x=images)
np.savez("labels10.npz", labels=np.arange(10))


def refused(what, status, message, *arguments):
    run = dlc(*arguments, "--device", "cpu")
    expect(what, (run.returncode, run.stderr.splitlines()[-1:], run.stdout),
           (status, ["error: " + message], ""))


def build(name, text):
    with open(name + ".dl", "w", encoding="utf-8") as out:
        out.write("dl 1\n" + text)
    run = dlc("compile", name + ".dl", "-q", "--target", "cpu", "-o", name + ".bin")
    expect("compile " + name, (run.returncode, run.stderr), (0, ""))


def compare(*arguments):
    return ("compare", "f32.bin", "f32.bin", *arguments)


# Data.
X = "input 'x' is f32[N,1,8,8] (N = 1..1024)"
refused("no file", 5, "cannot read 'none.npz': No such file or directory",
        *compare("--data", "none.npz"))
np.savez("empty.npz")
refused("an archive of nothing", 2, "'empty.npz' has no array 'x'; it holds: none",
        *compare("--data", "empty.npz"))
np.savez("images2.npz", images=images)
refused("no such input", 2, "'images2.npz' has no array 'x'; it holds: images",
        *compare("--data", "images2.npz"))
np.savez("wrong.npz", x=images[:, :, :7])
refused("dims", 2, f"array 'x' of 'wrong.npz' is f32[10,1,7,8], but {X}: dim 2 is 7, expected 8",
        *compare("--data", "wrong.npz"))
np.savez("wrong.npz", x=images.astype(np.float64))
refused("dtype", 2,
        f"array 'x' of 'wrong.npz' is f64[10,1,8,8], but {X}: save it with .astype(numpy.float32)",
        *compare("--data", "wrong.npz"))
np.savez("wrong.npz", x=images[:0])
refused("no rows", 2,
        "array 'x' of 'wrong.npz' is f32[0,1,8,8]: it has no rows; expected at least one sample",
        *compare("--data", "wrong.npz"))
infinite = images.copy()
infinite[4, 0, 1, 1] = np.inf
np.savez("wrong.npz", x=infinite)
refused("not finite", 2,
        "array 'x' of 'wrong.npz' is f32[10,1,8,8]: 0 of its numbers are NaN and 1 are infinite, the first in row 4; "
        "expected finite numbers", *compare("--data", "wrong.npz"))
with open("text.npz", "w", encoding="utf-8") as out:
    out.write("no archive")
expect("no archive", dlc(*compare("--data", "text.npz")).returncode, 6)

# Labels.
for array, held in ((np.arange(9), "i64[9]"), (np.zeros(10, np.float32), "f32[10]"), (np.zeros(
    (5, 2), np.int64), "i64[5,2]")):
    np.save("wrong.npy", array)
    refused(
        "labels " + held, 2,
        f"--labels 'wrong.npy' holds {held}; expected 10 integers, one for each sample of 'ten.npz'",
        *compare("--data", "ten.npz", "--labels", "wrong.npy"))
for label in -1, 10:
    np.save("wrong.npy", np.array([0, 1, 2, label, 4, 5, 6, 7, 8, 9], np.int32))
    refused(
        f"label {label}", 2,
        f"--labels 'wrong.npy': the label of sample 3 is {label}; expected 0 to 9, the classes of output 'probs'",
        *compare("--data", "ten.npz", "--labels", "wrong.npy"))
refused("labels alone", 2, "--labels are those of --data, which is not given",
        *compare("--labels", "labels10.npz"))
expect("labels of an archive",
       dlc(*compare("--data", "ten.npz", "--labels", "labels10.npz")).returncode, 0)

# Bounds, batches, metrics, devices.
for option in "--max-error", "--batch":
    for value in "0", "-1":
        run = dlc(*compare(option, value))
        expect(
            f"{option} {value}",
            (run.returncode, f"{option}: expected a number above 0, got '{value}'" in run.stderr),
            (2, True))
expect("a metric", dlc(*compare("--metric", "psnr")).returncode, 2)
run = dlc(*compare("--device-b", "tpu"))
expect("a device",
       (run.returncode, "unknown device 'tpu'; expected auto, cpu, cuda, cuda:N or cuda-emu"
        in run.stderr), (2, True))
refused("an output", 2, "the model has no output 'prob'; did you mean 'probs'? It has: probs",
        *compare("--output", "prob"))
refused("a metric without a bound", 2,
        "--metric cosine has no bound of its own; give one by --max-error", "verify", "f32.bin",
        "--reference", "cpu", "--metric", "cosine")

# Other models.
build(
    "wide",
    "dim N = 1..64\nmodel M {\n  forward(x: f32[N,1,8,8]) -> (probs: f32[N,64]) {\n    probs = flatten(x, start_dim=1)\n  }\n}\n"
)
build(
    "named",
    "dim N = 1..64\nmodel M {\n  forward(y: f32[N,1,8,8]) -> (probs: f32[N,64]) {\n    probs = flatten(y, start_dim=1)\n  }\n}\n"
)
refused("other outputs", 2,
        "the models have different outputs: 'f32.bin' has probs: f32[N,10] (N = 1..1024); 'wide.bin' has probs: "
        "f32[N,64] (N = 1..64)", "compare", "f32.bin", "wide.bin")
refused("other inputs", 2,
        "the models have different inputs: 'wide.bin' has x: f32[N,1,8,8] (N = 1..64); 'named.bin' has y: "
        "f32[N,1,8,8] (N = 1..64)", "compare", "wide.bin", "named.bin")

ROWS = "dim N = {}\nmodel M {{\n  forward(x: f32[N,3]) -> (y: {}) {{\n    y = {}\n  }}\n}}\n"
build("few", ROWS.format("1..4", "f32[N,3]", "x"))
build("many", ROWS.format("8..16", "f32[N,3]", "x"))
refused(
    "no dims of both", 2,
    "the random array of 'x' is f32[16,8,3], but input 'x' is f32[N,3] (N = 1..4): dim 1 is 8, expected 1 to 4",
    "compare", "few.bin", "many.bin")
np.savez("three.npz", x=np.array([[0, 1, 2], [3, 0, 0], [-1, 5, 6]], np.float32))
build("where", ROWS.format("1..64", "i64[?,2]", "nonzero(x)"))
build("above", ROWS.format("1..64", "i64[?,2]", "nonzero(x > 0)"))
refused("as many rows as the data say", 4,
        "output 'y' is i64[5,2] from sample 0 on, expected i64[6,2]", "compare", "where.bin",
        "above.bin", "--data", "three.npz")

# Layers.
refused(
    "layers whose sizes the data say", 3,
    "--layers: the data say how large values of 'where.bin' are; it needs a model in which the "
    "shapes of inputs do", "compare", "where.bin", "where.bin", "--data", "three.npz", "--layers")
for option in ("--labels", "labels10.npz"), ("--output", "probs"), ("--metric", "top1"):
    refused(
        "layers with " + option[0], 2,
        "--layers is about the values between kernels, and --labels, --output and --metric top1 about "
        "outputs; expected one or the other", *compare("--data", "ten.npz", "--layers", *option))
np.savez("r.npz", probs=np.zeros((10, 10)))
refused(
    "layers of stored outputs", 2,
    "--reference 'r.npz' holds outputs, and --layers needs a model that computes what is between; "
    "expected cpu or a compiled model", "verify", "f32.bin", "--data", "ten.npz", "--reference",
    "r.npz", "--layers")

# References in files.
refused("no data for a reference", 2,
        "--reference 'r.npz' holds outputs of given samples; give these by --data", "verify",
        "f32.bin", "--reference", "r.npz")
verify = ("verify", "f32.bin", "--data", "ten.npz", "--reference")
np.savez("r.npz", prob=np.zeros((10, 10)))
refused("no such output", 2, "'r.npz' has no array 'probs'; did you mean 'prob'? It holds: prob",
        *verify, "r.npz")
np.savez("r.npz", probs=np.zeros((9, 10)))
refused(
    "rows of a reference", 2,
    "output 'probs' is f64[9,10] in 'r.npz'; expected a row for each of the 10 samples of the data",
    *verify, "r.npz")
np.savez("r.npz", probs=np.zeros((10, 11)))
refused("dims of a reference", 2,
        "output 'probs' is f64[10,11] in 'r.npz', but a batch of 10 gave f32[10,10]; expected a row of such a "
        "shape a sample", *verify, "r.npz")

# Fixed batches, inputs in another order, several outputs, integers: b is off by 1 in one output.
BODY = "    sums = x + y\n    best = argmax(x, dim=1){}\n  }}\n}}\n"
build(
    "any",
    "dim N = 1..64\nmodel M {\n  forward(x: f32[N,3], y: f32[N,3]) -> (sums: f32[N,3], best: i64[N]) {\n"
    + BODY.format(""))
build(
    "four", "model M {\n  forward(y: f32[4,3], x: f32[4,3]) -> (sums: f32[4,3], best: i64[4]) {\n"
    + BODY.format(" + 1"))
build(
    "five", "model M {\n  forward(x: f32[5,3], y: f32[5,3]) -> (sums: f32[5,3], best: i64[5]) {\n"
    + BODY.format(""))
rows = np.random.RandomState(0).standard_normal((11, 3)).astype(np.float32)
np.savez("rows.npz", x=rows, y=2 * rows)
run = dlc("compare", "any.bin", "four.bin", "--device", "cpu", "--data", "rows.npz", "--json")
expect("a fixed batch", (run.returncode, run.stderr),
       (0, "warning: the last 3 samples are left out: a run takes at least 4\n"))
report = json.loads(run.stdout)
expect("its figures", (report["samples"], report["runs"], report["left_out"],
                       [o["max_abs"] for o in report["outputs"]]), (8, 2, 3, [0, 1]))
run = dlc("verify", "four.bin", "--device", "cpu", "--reference", "any.bin", "--data", "rows.npz")
expect("an integer that is off", (run.returncode, run.stderr.splitlines()[-1]), (
    4, f"error: output 'best': the relative error is {1 / rows[:8].argmax(1).max():.3g}, above the bound of 0; furthest off at [0]: "
    f"{rows[0].argmax() + 1}, expected {rows[0].argmax()}"))
expect("the other output is right", "sums: the relative error, 0, is within 0.0001" in run.stdout,
       True)
run = dlc("verify", "four.bin", "--device", "cpu", "--reference", "any.bin", "--data", "rows.npz",
          "--output", "sums")
expect("the other output alone", run.returncode, 0)
refused("no batch of both", 2,
        "the models have different inputs: 'four.bin' has y: f32[4,3], x: f32[4,3]; 'five.bin' has x: f32[5,3], "
        "y: f32[5,3]", "compare", "four.bin", "five.bin", "--data", "rows.npz")
refused("no classes", 2, "--metric top1: no output is a row of classes for each sample", "compare",
        "any.bin", "any.bin", "--data", "rows.npz", "--metric", "top1", "--max-error", "1",
        "--output", "best")
np.save("l.npy", rows.argmax(1))
refused("no classes for labels", 2, "--labels: no output is a row of classes for each sample",
        "compare", "any.bin", "any.bin", "--data", "rows.npz", "--labels", "l.npy", "--output",
        "best")
build(
    "twice",
    "dim N = 1..64\nmodel M {\n  forward(x: f32[N,3]) -> (a: f32[N,3], b: f32[N,3]) {\n    a = x + 1\n    b = x * 2\n  }\n}\n"
)
np.savez("x.npz", x=rows)
refused("two outputs of classes", 2,
        "--labels: several outputs are rows of classes; name the one that is meant by --output",
        "compare", "twice.bin", "twice.bin", "--data", "x.npz", "--labels", "l.npy")
run = dlc("compare", "twice.bin", "twice.bin", "--device", "cpu", "--data", "x.npz", "--labels",
          "l.npy", "--output", "b")
expect("one of them", (run.returncode, run.stdout.splitlines()[-3]),
       (0, "Accuracy of a: 100.00 % (11 of 11)"))
np.save("one.npy", rows)
refused("one array for two outputs", 2,
        "'one.npy' holds one array, and the model has 2 outputs; expected an .npz of arrays by their "
        "names", "verify", "twice.bin", "--reference", "one.npy", "--data", "x.npz")

# A state is zero in each run, so that no batch depends on those before it.
build("state", "dim N = 1..64\nmodel M {\n  state last: f32[3]\n  forward(x: f32[N,3]) -> (y: f32[N,3]) {\n    y = x + last\n"
      "    last = select(x, 0, 0)\n  }\n}\n")
np.savez("y.npz", y=rows)
run = dlc("verify", "state.bin", "--device", "cpu", "--reference", "y.npz", "--data", "x.npz",
          "--batch", "2")
expect("a state", (run.returncode, run.stderr), (0, ""))

# NaN is told, and no bound holds with it.
build(
    "root",
    "dim N = 1..64\nmodel M {\n  forward(x: f32[N,3]) -> (y: f32[N,3]) {\n    y = sqrt(x)\n  }\n}\n"
)
build("same",
      "dim N = 1..64\nmodel M {\n  forward(x: f32[N,3]) -> (y: f32[N,3]) {\n    y = x\n  }\n}\n")
np.savez("x.npz", x=np.array([[1, 1, 1], [1, -1, 1]], np.float32))
NAN = "output 'y': 1 of its 6 numbers are NaN and 0 infinite on one side only, the first at [1, 1]: nan, expected -1"
for bound, status in ((), 0), (("--max-error", "10"), 4):
    run = dlc("compare", "same.bin", "root.bin", "--device", "cpu", "--data", "x.npz", *bound)
    expect(f"NaN {bound}", (run.returncode, run.stderr.splitlines()),
           (status, ["warning: " + NAN] + ["error: " + NAN] * len(bound[:1])))
suite.finish()
