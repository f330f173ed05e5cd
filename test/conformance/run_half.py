#!/usr/bin/env python3
"""A model whose signature is f16, its weights stored as f16, f32 and f64, against PyTorch in f64
over the same f16 numbers: on the CPU and the emulated GPU."""
import os
import sys

import numpy as np
import torch
from torch.nn import functional as F

from cases import Cases, Failure
from dlc_tool import BUILD, ROOT, compile_model, expect_close, run_model

sys.path.insert(0, os.path.join(ROOT, "examples"))
import safetensors  # noqa: E402

OUT = os.path.join(BUILD, "test-logs", "half")
MODEL = """dl 1
dim N = 0..8
model Half {
  conv: Conv2d(1, 4, 3, padding=1)
  norm: LayerNorm(16)
  fc: Linear(16, 8)
  scale: Parameter(8, dtype=f16)
  forward(x: f16[N,1,4,4]) -> (y: f16[N,4,8], p: f16[N,4,8]) {
    h = norm(flatten(gelu(conv(x)), start_dim=2))
    y = fc(h) * scale
    p = softmax(y, dim=-1)
  }
}
weights "half.safetensors"
"""
STORED = {
    "conv.weight": ((4, 1, 3, 3), np.float16), "conv.bias": ((4, ), np.float64),
    "norm.weight": ((16, ), np.float32), "norm.bias": ((16, ), np.float16),
    "fc.weight": ((8, 16), np.float32), "fc.bias": ((8, ), np.float16), "scale": ((8, ), np.float16)
}


def reference(weights, x):
    w = {
        name: torch.from_numpy(value.astype(np.float16)).double()
        for name, value in weights.items()
    }
    h = F.gelu(F.conv2d(torch.from_numpy(x).double(), w["conv.weight"], w["conv.bias"],
                        padding=1)).flatten(2)
    h = F.layer_norm(h, (16,), w["norm.weight"], w["norm.bias"])
    y = F.linear(h, w["fc.weight"], w["fc.bias"]) * w["scale"]
    return y.numpy(), torch.softmax(y, -1).numpy()


def main():
    os.makedirs(OUT, exist_ok=True)
    cases = Cases()
    random = np.random.RandomState(16)
    weights = {
        name: (0.5 * random.standard_normal(shape)).astype(dtype)
        for name, (shape, dtype) in STORED.items()
    }
    path = os.path.join(OUT, "half")
    with open(path + ".dl", "w", encoding="utf-8") as out:
        out.write(MODEL)
    safetensors.save(path + ".safetensors", weights)
    with cases.case("compile"):
        compile_model(path + ".dl", path + ".bin")
    for device, batches in (("cpu", (0, 1, 3, 8)), ("cuda-emu", (0, 1, 3))):
        for batch in batches:
            with cases.case(f"batch {batch} on {device} against PyTorch"):
                x = random.standard_normal((batch, 1, 4, 4)).astype(np.float16)
                actual = run_model(path + ".bin", {"x": x}, ["y", "p"], "--device", device)
                for one, other in zip(actual, reference(weights, x)):
                    if one.dtype != np.float16:
                        raise Failure(f"the output is {one.dtype}")
                    # Each of six stored values is rounded to 11 bits, and the norm divides by
                    # deviations below 1.
                    expect_close(one, other, 4e-3, 4e-3)
    return cases.finish()


sys.exit(main())
