"""Products of e4m3 by e4m3, each operand cast to the type of the result: what dlc compile --quantize fp8 makes. Products are exact in
f32. Hopper's tensor cores add 128 steps of k with some 14 bits (dlc_sums90.cuh states the bound), which small whole numbers do not
need."""
import torch
from torch.nn import functional as F

import accuracy as acc
from rows.quantized import Ops
from rows.row import element_of, row

E4M3 = "f8E4M3FN"
FEW = [float(number) for number in range(-3, 4)]  # whose sums have few bits
DEPTHS = (0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 65, 129)
# Instructions of a slab, terms of each, and where an H100 cuts these off.
CUT_OFF = 4 * 34 * 2.0 ** -13


def float8(terms, magnitude):
    """As of a contraction in f32, and what a slab's sum may lose."""
    usual = acc.contraction(terms, magnitude)

    def bound(y, inputs, dtype):
        return usual(y, inputs, dtype) + CUT_OFF * magnitude(*(x.abs() for x in inputs)).numpy()
    return bound


def product(op, attributes=""):
    def body(names, types, y):
        ops = Ops()
        operands = [ops.cast(pair, element_of(y)) for pair in zip(names, types)]
        return ops.result(ops.add(op, operands, y, attributes))
    return body


def both(op, shapes, result, function, terms, sizes, attributes="", results=("f32",), note=""):
    """A row of whole numbers, bound as in f32, and one of others."""
    for dtype in results:
        for name, values, bound in (("few", FEW, acc.contraction(terms, function)), ("normal", "normal", float8(terms, function))):
            row(op, (E4M3,), shapes, result, function, bound, sizes=sizes, values=values, kinds={1: (E4M3, values)},
                result_dtype=dtype, body=product(op, attributes), note=f"e4m3 to {dtype}, {name}{note}")


both("matmul", [(7, "N"), ("N", 19)], (7, 19), torch.matmul, lambda x, w: x.shape[1], DEPTHS)
for columns, depth in ((40, 16), (24, 80), (33, 72), (136, 272)):
    both("linear", [("N", depth), (columns, depth)], ("N", columns), F.linear, depth, (0, 1, 7, 17, 65, 129),
         results=("f32", "f16", "bf16") if depth == 80 else ("f32",), note=f", [{columns}, {depth}]")
for channels in (3, 16, 33):
    both("conv2d", [(2, channels, "N", 6), (20, channels, 3, 3)], (2, 20, "N", 6), lambda x, w: F.conv2d(x, w, padding=1), 9 * channels,
         (1, 2, 3, 8), " {padding = array<i64: 1, 1>}", note=f", {channels} channels")
