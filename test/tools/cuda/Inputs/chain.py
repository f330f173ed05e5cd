"""Writes the weights of chain.dl, an input and, in double precision, its output into a folder."""
import json
import os
import struct
import sys

import numpy as np

os.chdir(sys.argv[1])
random = np.random.default_rng(5)
WEIGHTS = {
    "a.weight": (64, 24), "a.bias": (64, ), "b.weight": (200, 64), "b.bias": (200, ),
    "n.weight": (200, ), "n.bias": (200, ), "c.weight": (6, 200), "c.bias": (6, )
}
weights = {
    name: (0.2 * random.standard_normal(dims)).astype(np.float32) for name, dims in WEIGHTS.items()
}
head, data = {}, b""
for name, value in weights.items():
    head[name] = {
        "dtype": "F32", "shape": list(value.shape),
        "data_offsets": [len(data), len(data) + value.nbytes]
    }
    data += value.tobytes()
text = json.dumps(head).encode()
with open("chain.safetensors", "wb") as out:
    out.write(struct.pack("<Q", len(text)) + text + data)

x = random.standard_normal((1, 24)).astype(np.float32)
w = {name: value.astype(np.float64) for name, value in weights.items()}
h = np.maximum(np.tanh(x @ w["a.weight"].T + w["a.bias"]) @ w["b.weight"].T + w["b.bias"], 0)
h = (h - h.mean()) / np.sqrt(h.var() + 1e-5) * w["n.weight"] + w["n.bias"]
e = np.exp(h @ w["c.weight"].T + w["c.bias"])
np.save("x.npy", x)
np.save("y.npy", (e / e.sum()).astype(np.float32))
