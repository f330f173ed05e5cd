"""A network of QuantizeLinear and DequantizeLinear around a convolution and a product, and what
comes out in integers. quantized.py FOLDER writes model.onnx, x.npy and y.npy. The product has more
columns, each with a zero point, than the importer keeps numbers of."""
import os
import sys

import numpy as np
from onnx_writer import model, node, tensor, value

random = np.random.default_rng(3)
folder = sys.argv[1]
# Powers of two as scales: the reference below is exact, and so is dlc.
X_SCALE, X_ZERO, HIDDEN_SCALE = 2.0**-5, 117, 2.0**-3
COLUMNS = 1100
w = random.integers(-127, 128, (6, 4, 3, 3))
v = random.integers(-127, 128, (COLUMNS, 24))
w_scale = 2.0**random.integers(-8, -4, 6)
bias = np.round(random.standard_normal(6) * 64) / 64

nodes = [
    node("QuantizeLinear", "x,xs,xz", "xq", "qx"),
    node("DequantizeLinear", "xq,xs,xz", "xd", "dx"),
    node("DequantizeLinear", "w,ws,wz", "wd", "dw", axis=0),
    node("Conv", "xd,wd,b", "c", "conv", pads=[1, 1, 1, 1], strides=[2, 2]),
    node("Relu", "c", "r", "relu"),
    node("QuantizeLinear", "r,hs,hz", "hq", "qh"),
    node("DequantizeLinear", "hq,hs,hz", "hd", "dh"),
    node("Flatten", "hd", "f", "flat"),
    node("DequantizeLinear", "v,vs,vz", "vd", "dv", axis=0),
    node("Gemm", "f,vd", "y", "fc", transB=1)
]
tensors = [
    tensor("xs", "f32", (), [X_SCALE]),
    tensor("xz", "u8", (), [X_ZERO]),
    tensor("hs", "f32", (), [HIDDEN_SCALE]),
    tensor("hz", "u8", (), [0]),
    tensor("ws", "f32", (6, ), list(w_scale)),
    tensor("wz", "i8", (6, ), [0] * 6),
    tensor("w", "i8", w.shape, [int(n) for n in w.reshape(-1)]),
    tensor("b", "f32", (6, ), list(bias)),
    tensor("vs", "f32", (COLUMNS, ), [2.0**-7] * COLUMNS),
    tensor("vz", "i8", (COLUMNS, ), [0] * COLUMNS),
    tensor("v", "i8", v.shape, [int(n) for n in v.reshape(-1)])
]
with open(os.path.join(folder, "model.onnx"), "wb") as out:
    out.write(
        model(nodes, [value("x", "f32", ("N", 4, 4, 4))], [value("y", "f32", ("N", COLUMNS))],
              tensors, opset=13))

x = (random.standard_normal((5, 4, 4, 4)) * 2).astype(np.float32)
q = np.clip(np.round(x.astype(np.float64) / X_SCALE) + X_ZERO, 0, 255) - X_ZERO
padded = np.pad(q, ((0, 0), (0, 0), (1, 1), (1, 1)))
sums = np.zeros((5, 6, 2, 2))
for row in range(2):
    for column in range(2):
        window = padded[:, :, 2 * row:2 * row + 3, 2 * column:2 * column + 3]
        sums[:, :, row, column] = np.tensordot(window, w, ((1, 2, 3), (1, 2, 3)))
c = np.maximum(sums * X_SCALE * w_scale[:, None, None] + bias[:, None, None], 0)
hidden = np.clip(np.round(c / HIDDEN_SCALE), 0, 255)
y = hidden.reshape(5, 24) @ v.T * HIDDEN_SCALE * 2.0**-7
np.save(os.path.join(folder, "x.npy"), x)
np.save(os.path.join(folder, "y.npy"), y.astype(np.float32))
