"""Writes the arrays of hopper.test into a folder: whole numbers, whose products are exact."""
import os
import sys

import numpy as np

os.chdir(sys.argv[1])
random = np.random.default_rng(5)


def whole(*shape):
    return random.integers(-3, 4, shape).astype(np.float16)


w, b = whole(1024, 256), whole(1024)
np.save("w.npy", w)
np.save("b.npy", b)
for rows in (1, 1024):
    x = whole(rows, 256)
    y = x.astype(np.float64) @ w.astype(np.float64).T + b
    np.save(f"x{rows}.npy", x)
    np.save(f"y{rows}.npy", np.maximum(y, 0).astype(np.float16))
