"""Powers, logarithms, angles and remainders at each index."""
import numpy as np
import torch

import accuracy as acc
from rows.row import EVERY16, FLOATS, INTS, NUMBERS, row

PRIMITIVES = ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "tanh", "sin", "cos", "tan", "asin", "acos", "atan",
              "erf", "erfc", "rsqrt")
# PyTorch's own is wrong for the largest numbers.
LOG1P = lambda x: torch.from_numpy(np.log1p(x.numpy()))


def fmod(a, b):
    """Exact, as C's; PyTorch's loses its way where the quotient is large."""
    with np.errstate(all="ignore"):
        return torch.from_numpy(np.fmod(a.numpy(), b.numpy()))


def remainder(a, b):
    rest = fmod(a, b)
    return torch.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)


for op in PRIMITIVES + ("sqrt",):
    function = LOG1P if op == "log1p" else getattr(torch, op)
    # Three times in erfc, twice in the others the expected f64 value is a unit off itself.
    bound = acc.exact if op == "sqrt" else acc.ulps(3 if op == "erfc" else 2)
    row(op, FLOATS, [("N",)], ("N",), function, bound)
    row(op, ("f16", "bf16"), [("N",)], ("N",), function, bound, sizes=(EVERY16,), values="every16", note="all inputs")
for op in ("sinh", "cosh", "asinh", "acosh", "atanh"):
    row(op, FLOATS, [("N",)], ("N",), getattr(torch, op), acc.composite())
row("asinh", FLOATS, [("N",)], ("N",), torch.asinh, acc.composite(), values="wide", note="around 0")

PAIR = [(3, "N"), (3, "N")]
row("atan2", FLOATS, PAIR, (3, "N"), torch.atan2, acc.ulps(2))
row("pow", FLOATS, PAIR, (3, "N"), torch.pow, acc.ulps(2))
row("pow", FLOATS, PAIR, (3, "N"), torch.pow, acc.ulps(2), values="wide", note="ordinary")
row("pow", INTS, PAIR, (3, "N"), torch.pow, note="integers")
row("pow", INTS, PAIR, (3, "N"), torch.pow, values="whole", note="small integers")
for exponent, function, bound, dtypes in (
        (2.0, torch.square, acc.exact, NUMBERS), (3.0, lambda x: x * x * x, acc.ulps(2), NUMBERS), (0.0, torch.ones_like, acc.exact, NUMBERS),
        (4.0, lambda x: (x * x) * (x * x), acc.ulps(2), NUMBERS), (0.5, torch.sqrt, acc.exact, FLOATS),
        (-0.5, torch.rsqrt, acc.ulps(2), FLOATS), (-1.0, torch.reciprocal, acc.exact, FLOATS),
        (-2.0, lambda x: (1 / x).square(), acc.ulps(2), FLOATS), (2.5, lambda x: x.pow(2.5), acc.ulps(2), FLOATS),
        (7.0, lambda x: x.pow(7), acc.ulps(2), NUMBERS)):
    row("pow_number", dtypes, [("N",)], ("N",), function, bound, attrs=f"{{exponent = {exponent} : f64}}",
        note=f"exponent {exponent}")


def divided(of_floats, of_integers, is_quotient):
    """Integers by NumPy, whose lowest number by -1 wraps; by 0, the quotient is 0 and the remainder the dividend."""
    def function(a, b):
        if a.is_floating_point():
            return of_floats(a, b)
        with np.errstate(all="ignore"):
            result = of_integers(a.long().numpy(), b.long().numpy())
        return torch.where(b == 0, torch.zeros_like(a) if is_quotient else a, torch.from_numpy(result).to(a.dtype))
    return function


for op, function, bound in (
        ("floor_divide", divided(torch.floor_divide, np.floor_divide, True), acc.ulps(1)),
        ("remainder", divided(remainder, np.remainder, False), acc.ulps(1)),
        ("fmod", divided(fmod, np.fmod, False), acc.exact)):
    row(op, NUMBERS, PAIR, (3, "N"), function, bound, values="numbers")
    row(op, INTS, PAIR, (3, "N"), function, values="whole", note="small integers")
row("fmod", FLOATS, PAIR, (3, "N"), fmod, note="special values")
row("remainder", FLOATS, PAIR, (3, "N"), remainder, acc.ulps(1), note="special values")
