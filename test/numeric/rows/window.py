"""Reductions over a sliding window."""
import torch
from torch.nn import functional as F

import accuracy as acc
from rows.row import BOUNDARY, FLOATS, NUMBERS, in_double, row

POOL = ("N", 3, 9, 8)
row("max_pool2d", NUMBERS, [POOL], ("N", 3, 4, 4), in_double(lambda x: F.max_pool2d(x, 2)), attrs="{kernel_size = array<i64: 2, 2>}",
    sizes=BOUNDARY[1:10], values="numbers")
row("max_pool2d", ("f32", "f16"), [POOL], ("N", 3, 5, 4), lambda x: F.max_pool2d(x, 3, 2, 1),
    attrs="{kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>}", sizes=BOUNDARY[1:10],
    note="padding")
row("max_pool2d", ("f32",), [(2, 3, "N", 8)], (2, 3, "N - 4", 4), lambda x: F.max_pool2d(x, (3, 2), (1, 2), 0, (2, 1)),
    attrs="{kernel_size = array<i64: 3, 2>, stride = array<i64: 1, 2>, dilation = array<i64: 2, 1>}",
    sizes=(5, 7, 8, 9, 15, 16, 17, 33), note="dilation")
row("max_pool2d", ("f32",), [POOL], ("N", 3, 5, 4), lambda x: F.max_pool2d(x, 2, ceil_mode=True),
    attrs="{kernel_size = array<i64: 2, 2>, ceil_mode = true}", sizes=BOUNDARY[1:6], note="ceil_mode")
row("avg_pool2d", FLOATS, [POOL], ("N", 3, 4, 4), lambda x: F.avg_pool2d(x, 2),
    acc.contraction(4, lambda x: F.avg_pool2d(x, 2)), attrs="{kernel_size = array<i64: 2, 2>}", sizes=BOUNDARY[1:10],
    values="normal")
for include in (True, False):
    function = lambda x, include=include: F.avg_pool2d(x, 3, 2, 1, count_include_pad=include)
    row("avg_pool2d", ("f32", "f16"), [POOL], ("N", 3, 5, 4), function, acc.contraction(9, function),
        attrs="{kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, "
              f"count_include_pad = {str(include).lower()}}}",
        sizes=BOUNDARY[1:10], values="normal", note="padding counted" if include else "padding left out")
row("avg_pool2d", ("f32",), [POOL], ("N", 3, 5, 4), lambda x: F.avg_pool2d(x, 2, ceil_mode=True),
    acc.contraction(4, lambda x: F.avg_pool2d(x, 2, ceil_mode=True)),
    attrs="{kernel_size = array<i64: 2, 2>, ceil_mode = true}", sizes=BOUNDARY[1:6], values="normal", note="ceil_mode")
