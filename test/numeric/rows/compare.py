"""Comparisons, truth, bits and choices at each index."""
import torch

import accuracy as acc
from rows.row import ALL, EVERY16, FLOATS, INTS, row

PAIR = [(3, "N"), (3, "N")]
for op in ("eq", "ne", "lt", "le", "gt", "ge"):
    row(op, ALL, PAIR, (3, "N"), getattr(torch, op), result_dtype="i1", values="equals")
for op in ("logical_and", "logical_or", "logical_xor"):
    row(op, ALL, PAIR, (3, "N"), getattr(torch, op), result_dtype="i1", values="equals")
row("logical_not", ALL, [("N",)], ("N",), torch.logical_not, result_dtype="i1", values="equals")
for op in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    row(op, INTS + ("i1",), PAIR, (3, "N"), getattr(torch, op))
row("bitwise_not", INTS + ("i1",), [("N",)], ("N",), torch.bitwise_not)
for op in ("isnan", "isinf", "isfinite"):
    row(op, FLOATS, [("N",)], ("N",), getattr(torch, op), result_dtype="i1")
    row(op, ("f16", "bf16"), [("N", )], ("N", ), getattr(torch, op), result_dtype="i1",
        sizes=(EVERY16, ), values="every16", note="all inputs")
CONDITION = {0: ("i1", "special")}
row("where", ALL, [(3, "N"), (3, "N"), (3, "N")], (3, "N"), torch.where, kinds=CONDITION)
row("masked_fill", ALL, PAIR, (3, "N"), lambda x, mask: x.masked_fill(mask, 3),
    attrs="{value = 3.0 : f64}", kinds={1: ("i1", "special")})
row("masked_fill", FLOATS, PAIR, (3, "N"), lambda x, mask: x.masked_fill(mask, -torch.inf),
    attrs="{value = 0xFFF0000000000000 : f64}", kinds={1: ("i1", "special")}, note="-inf")
