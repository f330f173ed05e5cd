"""Scalar functions at each index, and casts."""
import torch

import accuracy as acc
from modules import LIMITS
from rows.row import ALL, FLOATS, INTS, NUMBERS, row

PAIR = [(3, "N"), (3, "N")]
for op, function in (("add", torch.add), ("sub", torch.sub), ("mul", torch.mul)):
    row(op, NUMBERS if op == "sub" else ALL, PAIR, (3, "N"), function)
for op, sign in (("add_scaled", 1), ("sub_scaled", -1)):
    row(op, NUMBERS, PAIR, (3, "N"), lambda x, z, s=sign: x + 3 * s * z,
        acc.of_terms(lambda x, z: (x, 3 * z)), attrs="{alpha = 3.0 : f64}", values="whole")
    row(op, FLOATS, PAIR, (3, "N"), lambda x, z, s=sign: x + s * -0.375 * z,
        acc.of_terms(lambda x, z: (x, 0.375 * z)), attrs="{alpha = -0.375 : f64}", values="normal",
        note="a fraction")
row("div", FLOATS, PAIR, (3, "N"), torch.div)
row("maximum", ALL, PAIR, (3, "N"), torch.maximum, acc.equal, values="equals")
row("minimum", ALL, PAIR, (3, "N"), torch.minimum, acc.equal, values="equals")
row("neg", NUMBERS, [("N",)], ("N",), torch.neg)
for op, function in (("abs", torch.abs), ("sign", torch.sign), ("floor", lambda x: x.floor()),
                     ("ceil", lambda x: x.ceil()), ("trunc", lambda x: x.trunc()),
                     ("round", lambda x: x.round())):
    whole = op in ("abs", "sign")
    row(op, NUMBERS, [("N", )], ("N", ),
        function if whole else lambda x, f=function: f(x) if x.is_floating_point() else x,
        acc.equal if op == "sign" else acc.exact)
    if not whole:
        row(op, FLOATS, [("N",)], ("N",), function, values="halves", note="ties")
row("frac", FLOATS, [("N",)], ("N",), lambda x: torch.where(x.isinf(), x - x, x.frac()), acc.equal)
row("reciprocal", FLOATS, [("N",)], ("N",), torch.reciprocal)
row("square", NUMBERS, [("N",)], ("N",), torch.square)
row("clamp", NUMBERS, [("N", )], ("N", ), lambda x:
    (x if x.is_floating_point() else x.long()).clamp(-1, 3), acc.equal,
    attrs="{min = -1.0 : f64, max = 3.0 : f64}", values="numbers")
row("clamp", FLOATS, [("N", )], ("N", ), lambda x: x.clamp(min=0.5), acc.equal,
    attrs="{min = 0.5 : f64}", note="min")
row("clamp", FLOATS, [("N", )], ("N", ), lambda x: x.clamp(max=-0.25), acc.equal,
    attrs="{max = -0.25 : f64}", note="max")
TRIPLE = 3 * [(3, "N")]
row("clamp_tensor", NUMBERS, TRIPLE, (3, "N"),
    lambda x, low, high: torch.minimum(torch.maximum(x, low), high), acc.equal, values="equals")
row("clamp_tensor", FLOATS, TRIPLE, (3, "N"), torch.clamp, acc.equal, values="normal",
    note="PyTorch's own")
row("lerp", FLOATS, TRIPLE, (3, "N"), torch.lerp,
    acc.of_terms(lambda x, end, w: (x, end, w * x, w * end)), values="normal")
row("logaddexp", FLOATS, PAIR, (3, "N"), torch.logaddexp,
    acc.of_terms(lambda a, b: (a, b, torch.ones_like(a))), values="normal")
row("logaddexp", FLOATS, PAIR, (3, "N"), torch.logaddexp,
    acc.of_terms(lambda a, b: (torch.maximum(a, b), torch.ones_like(a))), note="special")
row("nan_to_num", FLOATS, [("N",)], ("N",), lambda x: torch.nan_to_num(x, 0.5, 7, -3), acc.equal,
    attrs="{nan = 0.5 : f64, posinf = 7.0 : f64, neginf = -3.0 : f64}")
for dtype in FLOATS:
    row("nan_to_num", (dtype, ), [("N", )], ("N", ),
        lambda x, m=acc.LARGEST[dtype]: torch.nan_to_num(x, 0, m, -m), acc.equal, note="largest")
row("nan_to_num", INTS + ("i1", ), [("N", )], ("N", ), lambda x: x, acc.equal,
    attrs="{nan = 0.5 : f64, posinf = 7.0 : f64}", note="integers")
row("addcmul", NUMBERS, TRIPLE, (3, "N"), lambda x, a, b: x + 2 * a * b,
    acc.of_terms(lambda x, a, b: (x, 2 * a * b)), attrs="{value = 2.0 : f64}", values="whole")
row("addcmul", FLOATS, TRIPLE, (3, "N"), lambda x, a, b: x + 0.5 * a * b,
    acc.of_terms(lambda x, a, b: (x, 0.5 * a * b)), attrs="{value = 0.5 : f64}", values="normal",
    note="fractions")
row("addcdiv", FLOATS, TRIPLE, (3, "N"), lambda x, a, b: x + 0.5 * a / b,
    acc.of_terms(lambda x, a, b: (x, 0.5 * a / b)), attrs="{value = 0.5 : f64}", values="positive")


def converted(x, to):
    """PyTorch's conversion, but floats beyond an integer type, which PyTorch leaves open, give its
    nearest number, NaN 0."""
    if x.is_floating_point() and to in INTS:
        low, high = LIMITS[to]
        inside = x.nan_to_num(0.0).clamp(float(low), float(high))
        return torch.where(inside >= float(high), torch.tensor(high),
                           inside.clamp(max=float(high) * (1 - 2**-52)).long())
    return x.to(acc.TORCH[to])


for to in ALL:
    row("cast", ALL, [("N", )], ("N", ), lambda x, to=to: converted(x, to),
        attrs=f"{{dtype = {to}}}", result_dtype=to, note=f"to {to}")
    if to in INTS:
        row("cast", FLOATS, [("N", )], ("N", ), lambda x, to=to: converted(x, to),
            attrs=f"{{dtype = {to}}}", result_dtype=to, values="bytes", note=f"floats to {to}")
