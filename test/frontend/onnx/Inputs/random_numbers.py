"""Random numbers of an ONNX model have the distribution that their node asks for, and are the same on
each device. Those of a node with a seed are the same in each run and for each batch.
random_numbers.py FOLDER; the last line is "N passed, N failed"."""
import os
import subprocess
import sys

import numpy as np
from onnx_writer import graph, model, node, tensor, value

ROWS, COLUMNS = 64, 1024
folder = sys.argv[1]
NODES = [
    node("RandomUniform", "", "uniform", shape=[ROWS, COLUMNS], low=-2.0, high=6.0, seed=1.0),
    node("RandomUniformLike", "x", "first", seed=1.0),
    node("RandomUniformLike", "x", "second", seed=2.0),
    node("RandomNormal", "", "normal", shape=[ROWS, COLUMNS], mean=3.0, scale=0.5, seed=7.0),
    node("RandomNormalLike", "x", "half", dtype=10, seed=7.0),
    node("Bernoulli", "p", "drawn", dtype=9, seed=3.0),
    node("Dropout", "x, r, t", "y, mask", seed=4),
    node("Dropout", "x, , t", "default", seed=5)
]
OUTPUTS = ("uniform", "first", "second", "normal", "half", "drawn", "y", "mask", "default")
counts = {True: 0, False: 0}


def check(what, is_good):
    counts[bool(is_good)] += 1
    print(f"{'ok' if is_good else 'FAILED'} {what}")


def run(package, device, rows, ratio, training):
    x, p = np.full((rows, COLUMNS), 3, np.float32), np.tile(np.float32([0, 0.25, 0.5, 1]),
                                                            (rows, COLUMNS // 4))
    command = ["dlc", "run", package, "--device", device]
    for name, array in (("x", x), ("p", p), ("r", np.float32(ratio)), ("t", np.array(training))):
        np.save(os.path.join(folder, f"{name}.npy"), array)
        command += ["--input", f"{name}=@{folder}/{name}.npy"]
    for name in OUTPUTS:
        command += ["--output", f"{name}=@{folder}/{name}_out.npy"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return {name: np.load(os.path.join(folder, f"{name}_out.npy")) for name in OUTPUTS}


def moments(x, mean, deviation):
    """Within 5 of the errors that so many numbers leave."""
    x = x.astype(np.float64)
    error = 5 * deviation / np.sqrt(x.size)
    return abs(x.mean() - mean) < error and abs(x.std() - deviation) < error


def related(a, b):
    return abs(np.corrcoef(a.astype(np.float64).ravel(),
                           b.astype(np.float64).ravel())[0, 1]) > 5 / np.sqrt(a.size)


path = os.path.join(folder, "random.onnx")
with open(path, "wb") as out:
    out.write(
        model(NODES, [
            value("x", dims=("N", COLUMNS)),
            value("p", dims=("N", COLUMNS)),
            value("r", dims=()),
            value("t", "bool", ())
        ], OUTPUTS, opset=15))
for target in ("cpu", "cuda"):
    subprocess.run(["dlc", "compile", path, "--target", target, "-o", f"{folder}/{target}.bin"],
                   check=True, stdout=subprocess.DEVNULL)
got = run(f"{folder}/cpu.bin", "cpu", ROWS, 0.3, True)
u, first = got["uniform"], got["first"]
check("uniform numbers", moments(u, 2, 8 / np.sqrt(12)) and u.min() >= -2 and u.max() < 6)
counted = np.histogram(u, 256)[0]
check("uniform numbers fill their range", ((counted - u.size / 256)**2 / (u.size / 256)).sum()
      < 256 + 5 * np.sqrt(512))
check("numbers of the same seed", np.allclose(u, 8 * first - 2, atol=1e-6))
check("numbers of another seed", not related(first, got["second"]))
check("neighbours", not related(u[:, 1:], u[:, :-1]) and not related(u[1:], u[:-1]))
n = (got["normal"].astype(np.float64) - 3) / 0.5
check("normal numbers",
      moments(got["normal"], 3, 0.5) and abs((n**4).mean() - 3) < 5 * np.sqrt(96 / n.size))
check("normal numbers of f16", got["half"].dtype == np.float16
      and np.allclose(got["half"], n, atol=4e-3))
drawn = got["drawn"].reshape(-1, 4)
check("Bernoulli's", drawn.dtype == bool and not drawn[:, 0].any() and drawn[:, 3].all() and
      abs(drawn[:, 1].mean() - 0.25) < 0.02 and abs(drawn[:, 2].mean() - 0.5) < 0.02)
mask = got["mask"]
check(
    "Dropout",
    abs(mask.mean() - 0.7) < 5 * np.sqrt(0.21 / mask.size)
    and np.allclose(got["y"], np.where(mask, 3 / 0.7, 0), rtol=1e-6))
check("Dropout's ratio if it has none",
      abs((got["default"] != 0).mean() - 0.5) < 0.01 and set(np.unique(got["default"])) == {0, 6})
again = run(f"{folder}/cpu.bin", "cpu", ROWS, 0.3, True)
check("another run", all(np.array_equal(got[name], again[name]) for name in OUTPUTS))
fewer = run(f"{folder}/cpu.bin", "cpu", 3, 0.3, True)
check(
    "another batch",
    all(
        np.array_equal(got[name][:3], fewer[name]) for name in OUTPUTS
        if name not in ("uniform", "normal")))
still = run(f"{folder}/cpu.bin", "cpu", ROWS, 0.3, False)
check("inference that the running model tells", still["mask"].all() and (still["y"] == 3).all()
      and (still["default"] == 3).all())
check("a ratio of 0", (run(f"{folder}/cpu.bin", "cpu", 3, 0.0, True)["y"] == 3).all())
check("a ratio of 1", (run(f"{folder}/cpu.bin", "cpu", 3, 1.0, True)["y"] == 0).all())
other = run(f"{folder}/cuda.bin", "cuda-emu", ROWS, 0.3, True)
check(
    "emulated CUDA",
    all(
        np.array_equal(got[name], other[name])
        for name in ("uniform", "first", "second", "drawn", "y", "mask"))
    and np.allclose(got["normal"], other["normal"], rtol=1e-5))

# --- Nodes without a seed: numbers of the model's generator
# --------------------------------------------------------------------------------------------------

WEIGHTS = np.log(np.float32([[1, 2, 0, 5], [0, 0, 3, 1]]) + np.float32(1e-30))
SAMPLES = 4096
UNSEEDED = [
    node("RandomNormalLike", "x", "normal", mean=-1.0, scale=2.0),
    node("RandomNormalLike", "x", "again", mean=-1.0, scale=2.0),
    node("RandomUniformLike", "x", "wide", dtype=11),
    node("Bernoulli", "x", "drawn"),
    node("Multinomial", "w", "classes", sample_size=SAMPLES, dtype=7),
    node("Dropout", "x, r, t", "y, mask"),
    node("BiasDropout", "x, b, , r, t", "biased, where", domain="com.microsoft"),
    node("Loop", "n", "steps",
         body=("graph",
               graph([node("RandomUniform", "", "u", shape=[COLUMNS]),
                      node("Identity", "go", "on")],
                     [value("i", "i64", ()), value("go", "bool", ())], ("on", "u"))))
]
NAMES = ("normal", "again", "wide", "drawn", "classes", "y", "mask", "biased", "where", "steps")
with open(f"{folder}/unseeded.onnx", "wb") as out:
    out.write(
        model(UNSEEDED, [
            value("x", dims=("N", COLUMNS)),
            value("w", dims=(2, 4)),
            value("n", "i64", ())
        ], NAMES, opset=15, opsets=[("com.microsoft", 1)],
              tensors=[
                  tensor("r", "f32", [], [0.25]),
                  tensor("t", "bool", [], [1]),
                  tensor("b", "f32", [COLUMNS], [1.0] * COLUMNS)
              ]))
for target in ("cpu", "cuda"):
    subprocess.run([
        "dlc", "compile", f"{folder}/unseeded.onnx", "--target", target, "-o",
        f"{folder}/unseeded-{target}.bin"
    ], check=True, stdout=subprocess.DEVNULL)


def draw(device="cpu", *options):
    for name, array in (("x", np.full((ROWS, COLUMNS), 0.25, np.float32)), ("w", WEIGHTS),
                        ("n", np.int64(64))):
        np.save(f"{folder}/{name}.npy", array)
    target = "cpu" if device == "cpu" else "cuda"
    words = [f"{name}=@{folder}/{name}.npy" for name in "xwn"]
    subprocess.run([
        "dlc", "run", f"{folder}/unseeded-{target}.bin", "--device", device, *options,
        *(word for text in words for word in ("--input", text)), "--output",
        f"@{folder}/unseeded.npz"
    ], check=True, stdout=subprocess.DEVNULL)
    with np.load(f"{folder}/unseeded.npz") as held:
        return {name: held[name] for name in NAMES}


got = draw()
check("normal numbers without a seed", moments(got["normal"], -1, 2))
check("two nodes without a seed", not related(got["normal"], got["again"]))
wide = got["wide"]
check(
    "uniform numbers of f64", wide.dtype == np.float64 and moments(wide, 0.5, 1 / np.sqrt(12))
    and wide.min() >= 0 and wide.max() < 1 and np.any(wide != wide.astype(np.float32)))
check("Bernoulli's without a seed",
      abs(got["drawn"].mean() - 0.25) < 5 * np.sqrt(0.1875 / wide.size))
shares = np.stack([np.bincount(row, minlength=4) / SAMPLES for row in got["classes"]])
wanted = np.float32([[1, 2, 0, 5], [0, 0, 6, 2]]) / 8
check(
    "Multinomial", got["classes"].dtype == np.int64 and shares.shape == (2, 4)
    and np.all(abs(shares - wanted) <= 5 * np.sqrt(wanted * (1 - wanted) / SAMPLES)))
for result, mask, kept in (("y", "mask", 0.25), ("biased", "where", 1.25)):
    check(
        f"training without a seed: {result}",
        abs(got[mask].mean() - 0.75) < 5 * np.sqrt(0.1875 / got[mask].size)
        and np.allclose(got[result], np.where(got[mask], kept / 0.75, 0), rtol=1e-6))
check("two masks", not related(got["mask"], got["where"]))
steps = got["steps"]
check(
    "each step of a loop", steps.shape == (64, COLUMNS) and moments(steps, 0.5, 1 / np.sqrt(12))
    and not related(steps[1:], steps[:-1]))
same, other = draw("cpu", "--seed", "0"), draw("cpu", "--seed", "7")
check("the default seed", all(np.array_equal(got[name], same[name]) for name in NAMES))
check("another seed", not any(np.array_equal(got[name], other[name]) for name in NAMES))
check("a seed repeats its numbers",
      all(np.array_equal(array, other[name]) for name, array in draw("cpu", "--seed", "7").items()))
emulated = draw("cuda-emu", "--seed", "7")
check(
    "emulated CUDA without a seed",
    all(
        np.allclose(emulated[name], other[name], rtol=1e-5, atol=1e-5) if name in
        ("normal", "again") else np.array_equal(emulated[name], other[name]) for name in NAMES))
# Each run of a context draws other numbers.
with open(f"{folder}/runs.onnx", "wb") as out:
    out.write(
        model([node("RandomUniformLike", "x", "a"),
               node("RandomUniformLike", "x", "b", seed=1.0)],
              [value("x", dims=(COLUMNS, ))], ("a", "b")))
subprocess.run(
    ["dlc", "compile", f"{folder}/runs.onnx", "--target", "cpu", "-o", f"{folder}/runs.bin"],
    check=True, stdout=subprocess.DEVNULL)
np.save(f"{folder}/chunks.npy", np.zeros((3, COLUMNS), np.float32))
subprocess.run([
    "dlc", "run", f"{folder}/runs.bin", "--input", f"x=@{folder}/chunks.npy", "--steps", "--output",
    f"a=@{folder}/a.npy", "--output", f"b=@{folder}/b.npy"
], check=True, stdout=subprocess.DEVNULL)
a, b = np.load(f"{folder}/a.npy"), np.load(f"{folder}/b.npy")
check("other numbers in each run", not related(a[1], a[0]) and not related(a[2], a[1]))
check("the same numbers in each run by a seed",
      np.array_equal(b[0], b[1]) and np.array_equal(b[1], b[2]) and len(np.unique(b[0])) > 1)
print(f"{counts[True]} passed, {counts[False]} failed")
sys.exit(1 if counts[False] else 0)
