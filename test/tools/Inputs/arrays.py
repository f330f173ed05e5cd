"""Writes the arrays of run.test into a folder."""
import os
import sys

import numpy as np

os.chdir(sys.argv[1])
x = np.arange(8, dtype=np.float32).reshape(2, 4)
x[0, 0] = -5
good = 2 * np.maximum(x, 0)
bad = good.copy()
bad[1, 2] += 3
bad[0, 1] += 1
np.save("x.npy", x)
np.save("good.npy", good)
np.save("bad.npy", bad)
np.save("row.npy", good[0])
np.savez("all.npz", other=good, x=x)
