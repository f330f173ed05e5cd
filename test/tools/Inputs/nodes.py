"""Writes nodes.onnx: a product, a Relu and a sum, the sum without a name and the Relu with one that
no terminal should see."""
import os
import sys

sys.path.insert(
    0,
    os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "frontend", "onnx",
                 "Inputs"))
from onnx_writer import model, node, value  # noqa: E402

with open(sys.argv[1], "wb") as out:
    out.write(
        model([
            node("MatMul", "x, w", "h", name="/fc/MatMul"),
            node("Relu", "h", "r", name="/act\n/Relu"),
            node("Softmax", "r", "y", name="", axis=-1)
        ], [value("x", dims=(2, 3)), value("w", dims=(3, 3))], outputs=[value("y", dims=(2, 3))]))
