"""precision_faults.py FOLDER: models that 16 bits break, each at a known layer, and data for them.

overflow.dl  `large` gives numbers beyond 65504
cancel.dl    `far` and `near` give about 3000, and the output is their difference, about 1: one of
             them is stored in between
nan.dl       the outputs are NaN in f32 too
norm.dl      a batch norm whose mean is 1e5: folding it into the convolution loses less than
             computing it
node.onnx    a product as in overflow.dl; the node has a name that needs escapes, in a glob and in a
             shell"""
import os
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path[:0] = [
    os.path.join(ROOT, "examples"),
    os.path.join(ROOT, "test", "frontend", "onnx", "Inputs")
]
import safetensors  # noqa: E402
from onnx_writer import model, node, tensor, value  # noqa: E402

OVERFLOW = """dl 1

dim N = 1..64

model Overflow {
  first: Linear(16, 16, bias=false)
  large: Linear(16, 16, bias=false)
  last: Linear(16, 4, bias=false)

  forward(x: f32[N,16]) -> (y: f32[N,4]) {
    y = last(layer_norm(large(first(x)), [16]))
  }
}

weights "overflow.safetensors"
"""
CANCEL = """dl 1

dim N = 1..64

model Cancel {
  plain: Linear(16, 16, bias=false)
  far: Linear(16, 4)
  near: Linear(16, 4)

  forward(x: f32[N,16]) -> (y: f32[N,4]) {
    h = relu(plain(x))
    y = far(h) - near(h)
  }
}

weights "cancel.safetensors"
"""
NAN = """dl 1

dim N = 1..64

model Nan {
  first: Linear(16, 16, bias=false)

  forward(x: f32[N,16]) -> (y: f32[N,16]) {
    y = log(first(x))
  }
}

weights "nan.safetensors"
"""
NORM = """dl 1

dim N = 1..64

model Norm {
  conv: Conv2d(1, 4, kernel_size=3)
  bn: BatchNorm2d(4)

  forward(x: f32[N,1,6,6]) -> (y: f32[N,4,4,4]) {
    y = bn(conv(x))
  }
}

weights "norm.safetensors"
"""

folder = sys.argv[1]
random = np.random.default_rng(7)


def path(name):
    return os.path.join(folder, name)


def weights(rows, columns, scale=1.0):
    return (scale * random.standard_normal((rows, columns)) / np.sqrt(columns)).astype(np.float32)


def number(value):
    return np.full(4, value, np.float32)


os.makedirs(folder, exist_ok=True)
for name, text in {"overflow.dl": OVERFLOW, "cancel.dl": CANCEL, "nan.dl": NAN,
                   "norm.dl": NORM}.items():
    with open(path(name), "w", encoding="utf-8") as out:
        out.write(text)
large = weights(16, 16, 5e4)
safetensors.save(
    path("overflow.safetensors"),
    {"first.weight": weights(16, 16), "large.weight": large, "last.weight": weights(4, 16)})
safetensors.save(path("nan.safetensors"), {"first.weight": weights(16, 16)})
safetensors.save(
    path("cancel.safetensors"), {
        "plain.weight": weights(16, 16), "far.weight": weights(4, 16), "far.bias": number(3000),
        "near.weight": weights(4, 16), "near.bias": number(3000)
    })
safetensors.save(
    path("norm.safetensors"), {
        "conv.weight": weights(4, 9).reshape(
            4, 1, 3, 3), "conv.bias": number(1e5), "bn.weight": number(1), "bn.bias": number(0),
        "bn.running_mean": number(1e5), "bn.running_var": number(1)
    })
with open(path("node.onnx"), "wb") as out:
    out.write(
        model([
            node("MatMul", "x, w", "h", name="/a[0]/it's/MatMul"),
            node("Div", "h, c", "s"),
            node("MatMul", "s, v", "y")
        ], [value("x", dims=("N", 16))], tensors=[
            tensor("w", "f32", (16, 16), list(large.ravel())),
            tensor("c", "f32", (), [1e5]),
            tensor("v", "f32", (16, 4), list(weights(16, 4).ravel()))
        ]))
np.savez(path("x.npz"), x=random.standard_normal((48, 16)).astype(np.float32))
np.savez(path("image.npz"), x=random.standard_normal((8, 1, 6, 6)).astype(np.float32))
