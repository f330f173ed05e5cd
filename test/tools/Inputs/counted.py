"""counted.py write FOLDER: x.npy, and empty.npy of which nothing is found; counted.py check FOLDER:
the outputs for x.npy."""
import sys

import numpy as np

folder = sys.argv[2]
x = np.array([[0, 1, 2, 0], [3, 0, 0, 3], [0, 0, 2, 5]], np.float32)
if sys.argv[1] == "write":
    np.save(f"{folder}/x.npy", x)
    np.save(f"{folder}/empty.npy", np.zeros((2, 4), np.float32))
else:
    places = np.argwhere(x)
    values, counts = np.unique(x, return_counts=True)
    expected = {
        "places": places, "turned": x[places[:, 0]].T, "large": x[x > 1] * 2, "values": values,
        "counts": counts
    }
    for name, wanted in expected.items():
        got = np.load(f"{folder}/{name}.npy")
        assert got.shape == wanted.shape and (got == wanted).all(), (name, got, wanted)
    print("all outputs are right")
