"""over_rows.py PACKAGE...: runs compiled rows.dl over its range of rows, on both devices, against
NumPy."""
import subprocess
import sys

import numpy as np

w = np.sin(np.arange(64 * 80, dtype="f4")).reshape(64, 80)
np.save("w.npy", w)
good = runs = 0
for rows in (1, 2, 49, 300):
    x = np.cos(np.arange(rows * 64, dtype="f4")).reshape(rows, 64)
    e = np.exp(x.astype("f8") @ w)
    y = e / e.sum(1, keepdims=True)
    for name, array in (("x", x), ("y", y), ("z", y.sum(0))):
        np.save(name + ".npy", array.astype("f4"))
    for package in sys.argv[1:]:
        for device in ("cpu", "cuda-emu"):
            run = subprocess.run([
                "dlc", "run", package, "--device", device, "--input", "x=@x.npy", "--input",
                "w=@w.npy", "--expected-output", "y=@y.npy", "--expected-output", "z=@z.npy",
                "--atol", "1e-4", "--rtol", "1e-4"
            ])
            runs += 1
            good += run.returncode == 0
print(f"{good} of {runs} runs as expected")
