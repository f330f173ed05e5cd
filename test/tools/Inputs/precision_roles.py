"""precision_roles.py FOLDER: a block of a transformer with a gated MLP, its weights and data: what
tables call its products."""
import os
import sys

import numpy as np

sys.path.insert(
    0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "examples"))
import safetensors  # noqa: E402

MODEL = """dl 1

model Block {
  q: Linear(8, 8)
  gate: Linear(8, 16, bias=false)
  up: Linear(8, 16, bias=false)
  down: Linear(16, 8, bias=false)

  forward(x: f32[4,8]) -> (y: f32[4,8]) {
    h = softmax(q(x) @ transpose(x, 0, 1), dim=-1) @ x
    y = down(silu(gate(h)) * up(h))
  }
}

weights "roles.safetensors"
"""

os.chdir(sys.argv[1])
numbers = np.random.default_rng(0)
shapes = {
    "q.weight": (8, 8), "q.bias": (8, ), "gate.weight": (16, 8), "up.weight": (16, 8),
    "down.weight": (8, 16)
}
safetensors.save(
    "roles.safetensors",
    {name: numbers.standard_normal(shape, dtype=np.float32) for name, shape in shapes.items()})
np.savez("calibration.npz", x=numbers.standard_normal((64, 8), dtype=np.float32))
with open("roles.dl", "w", encoding="utf-8") as out:
    out.write(MODEL)
