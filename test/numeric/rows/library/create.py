"""Tensors made of numbers."""
import torch
from torch.nn import functional as F

from rows.library.called import pair

for name, call, expected in (("logspace", "logspace(-1, 2, 7)",
                              lambda: torch.logspace(-1, 2, 7, dtype=torch.float64)),
                             ("logspace", "logspace(2, -1.5, 7, 2.0, dtype=i64)",
                              lambda: torch.logspace(2, -1.5, 7, 2.0, dtype=torch.int64)),
                             ("logspace", "logspace(0.5, 3, 7, 2.0)",
                              lambda: torch.logspace(0.5, 3, 7, 2.0, dtype=torch.float64)),
                             ("hann_window", "hann_window(7)",
                              lambda: torch.hann_window(7, dtype=torch.float64)),
                             ("hann_window", "hann_window(7, periodic=false)",
                              lambda: torch.hann_window(7, False, dtype=torch.float64)),
                             ("hamming_window", "hamming_window(7)",
                              lambda: torch.hamming_window(7, dtype=torch.float64)),
                             ("blackman_window", "blackman_window(7)",
                              lambda: torch.blackman_window(7, dtype=torch.float64)),
                             ("bartlett_window", "bartlett_window(7, false)",
                              lambda: torch.bartlett_window(7, False, dtype=torch.float64))):
    pair(name, f"x0 + {call}", lambda x, e=expected: x + e(), shapes=((7, ), ), result=(7, ),
         dtypes=("f32", ), note=call.partition("(")[2][:-1], count=4)
for aligned in (False, True):
    said = str(aligned).lower()
    pair("affine_grid", f"affine_grid(x0, (2, 3, N, 5), align_corners={said})",
         lambda x, y, a=aligned: F.affine_grid(x, (2, 3, y.shape[0], 5), align_corners=a),
         shapes=((2, 2, 3), ("N", )), result=(2, "N", 5, 2), note=f"align_corners {said}", count=16)
pair("affine_grid", "affine_grid(x0, (2, 3, 4, 1, 5), true)",
     lambda x: F.affine_grid(x, (2, 3, 4, 1, 5), align_corners=True), shapes=((2, 3, 4), ),
     result=(2, 4, 1, 5, 3), note="volume", count=16)
