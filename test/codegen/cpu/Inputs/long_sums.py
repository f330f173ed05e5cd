"""Sums of four million terms on the CPU against NumPy's in f64. usage: long_sums.py FOLDER

Terms that are all equal are the worst case, since each addition rounds the same way. What is
allowed grows with the terms of a part and with the parts, and not with all terms."""
import os
import subprocess
import sys

import numpy as np

MODEL = """dl 1
dim N = 1..8388608
dim M = 1..8388608
model Sums {
  forward(x: f32[4194304,3], v: f32[N], w: f32[2,M]) -> (columns: f32[3], all: f32[], open: f32[], rows: f32[2], norm: f32[2]) {
    columns = sum(x, 0)
    all = sum(x)
    open = mean(v)
    rows = sum(w, 1)
    norm = vector_norm(w, dim=1)
  }
}
"""
UNITS = 64  # of 2^-24


def main(folder):
    path = os.path.join(folder, "sums.dl")
    with open(path, "w", encoding="utf-8") as file:
        file.write(MODEL)
    package, results = os.path.join(folder, "sums.bin"), os.path.join(folder, "results.npz")
    subprocess.run(["dlc", "compile", path, "-q", "--target", "cpu", "-o", package], check=True)
    count = 1 << 22
    arrays = {
        "x": np.full((count, 3), 0.1, np.float32), "v": np.full(count, 0.1, np.float32),
        "w": np.full((2, count - 5), 0.1, np.float32)
    }
    words = []
    for name, array in arrays.items():
        np.save(os.path.join(folder, name + ".npy"), array)
        words += ["--input", f"{name}=@{os.path.join(folder, name)}.npy"]
    subprocess.run(["dlc", "run", package, "--device", "cpu", *words, "--output", "@" + results],
                   check=True)
    x, v, w = (arrays[name].astype(np.float64) for name in "xvw")
    wrong = 0
    with np.load(results) as held:
        for name, wanted in (("columns", x.sum(0)), ("all", x.sum()), ("open", v.mean()),
                             ("rows", w.sum(1)), ("norm", np.sqrt((w * w).sum(1)))):
            units = np.max(np.abs(held[name] - wanted) / wanted) * 2**24
            print(f"{name}: {units:.1f} of {UNITS} units")
            wrong += not units <= UNITS
    print("sums are exact enough" if not wrong else f"{wrong} sums lose too many digits")
    return wrong


sys.exit(main(sys.argv[1]))
