"""Scalar functions at each index, and casts."""
import torch
from torch.nn import functional as F

import accuracy as acc
from rows.row import ALL, EVERY16, FLOATS, INTS, NUMBERS, row

PAIR = [(3, "N"), (3, "N")]
for op, function in (("add", torch.add), ("sub", torch.sub), ("mul", torch.mul)):
    row(op, NUMBERS, PAIR, (3, "N"), function)
row("div", FLOATS, PAIR, (3, "N"), torch.div)
row("maximum", NUMBERS, PAIR, (3, "N"), torch.maximum, acc.equal, values="equals")
row("minimum", NUMBERS, PAIR, (3, "N"), torch.minimum, acc.equal, values="equals")
row("neg", NUMBERS, [("N",)], ("N",), torch.neg)
row("relu", NUMBERS, [("N",)], ("N",), torch.relu, acc.equal)
row("sqrt", FLOATS, [("N",)], ("N",), torch.sqrt)
for op, function in (("exp", torch.exp), ("log", torch.log), ("tanh", torch.tanh)):
    row(op, FLOATS, [("N",)], ("N",), function, acc.ulps(2))
row("sigmoid", FLOATS, [("N",)], ("N",), torch.sigmoid, acc.composite())
row("silu", FLOATS, [("N",)], ("N",), F.silu, acc.composite())
# x / sqrt(2) is rounded once and e^(-x^2/2) scales that by x^2: more units than other composites down the tail.
row("gelu", FLOATS, [("N",)], ("N",), lambda x: x / 2 * torch.erfc(-x / 2**0.5), acc.composite(16), values="wide")
row("gelu", FLOATS, [("N",)], ("N",), lambda x: x * torch.sigmoid(2 * (2 / torch.pi)**0.5 * (x + 0.044715 * x**3)),
    acc.composite(16), attrs='{approximate = "tanh"}', values="wide", note="tanh")
row("gelu", FLOATS, [("N",)], ("N",), F.gelu, acc.composite(4, floor=1.0), values="normal", note="PyTorch's own")
for op in ("exp", "log", "tanh", "sqrt"):
    row(op, ("f16", "bf16"), [("N",)], ("N",), getattr(torch, op), acc.exact if op == "sqrt" else acc.ulps(2),
        sizes=(EVERY16,), values="every16", note="all inputs")
row("sigmoid", ("f16", "bf16"), [("N",)], ("N",), torch.sigmoid, acc.composite(), sizes=(EVERY16,), values="every16",
    note="all inputs")

for to in ALL:
    # Floats beyond an integer type have no defined value there; from float to bool everything counts.
    if to in FLOATS or to == "i1":
        row("cast", ALL, [("N",)], ("N",), lambda x, to=to: x.to(acc.TORCH[to]), attrs=f"{{dtype = {to}}}",
            result_dtype=to, note=f"to {to}")
    else:
        row("cast", INTS + ("i1",), [("N",)], ("N",), lambda x, to=to: x.to(acc.TORCH[to]), attrs=f"{{dtype = {to}}}",
            result_dtype=to, note=f"to {to}")
        row("cast", FLOATS, [("N",)], ("N",), lambda x, to=to: x.to(acc.TORCH[to]), attrs=f"{{dtype = {to}}}",
            result_dtype=to, values="bytes", note=f"floats to {to}")
