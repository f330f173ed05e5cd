"""A model and samples that the suites of training share."""

import os
import sys

import numpy as np

TEST = os.path.abspath(__file__).rsplit(os.sep, 4)[0]
sys.path[:0] = [
    os.path.join(TEST, "tools", "Inputs"),
    os.path.join(TEST, "frontend", "onnx", "Inputs"),
]
from weight_cases import Suite, dlc, safetensors, save  # noqa: E402, F401

suite = Suite(sys.argv[1])
expect = suite.expect
TEXT = """dl 1
dim N = 1..64
model M {
  a: Linear(4, 8)
  dropout: Dropout(0.25)
  b: Linear(8, 3)
  forward(x: f32[N,4]) -> (y: f32[N,3]) {
    y = b(dropout(relu(a(x))))
  }
}
"""


def write(path, text, mode="w"):
    with open(path, mode) as out:
        out.write(text)


def read(path):
    with open(path, "rb") as file:
        return file.read()


random = np.random.default_rng(2)
x = random.standard_normal((60, 4)).astype(np.float32)
labels = (x @ random.standard_normal((4, 3))).argmax(1)
write("m.dl", TEXT)
save("train.npz", {"x": x, "labels": labels})
save("bytes.npz", {"x": x, "labels": labels.astype(np.uint8)})
np.save("x.npy", x)
np.save("labels.npy", labels)
LOSS = "cross_entropy(y, labels)"
