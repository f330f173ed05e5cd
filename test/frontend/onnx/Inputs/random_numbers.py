"""Random numbers of an ONNX model: what dlc draws has the distribution that its node asks for, and
is the same in each run, for each batch and on each device. random_numbers.py FOLDER; the last line
is "N passed, N failed"."""
import os
import subprocess
import sys

import numpy as np
from onnx_writer import model, node, value

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
with open(f"{folder}/unseeded.onnx", "wb") as file:
    file.write(model([node("RandomNormalLike", "x")], [value("x", dims=("N", COLUMNS))]))
told = subprocess.run([
    "dlc", "compile", f"{folder}/unseeded.onnx", "--target", "cpu", "-o", f"{folder}/unseeded.bin"
], capture_output=True, text=True)
check(
    "no seed", not told.returncode
    and "it has no attribute 'seed'; dlc draws the same random numbers in each run" in told.stderr)
print(f"{counts[True]} passed, {counts[False]} failed")
sys.exit(1 if counts[False] else 0)
