"""Powers, logarithms, angles and remainders at each index."""
import numpy as np
import torch

import accuracy as acc
from rows.row import EVERY16, FLOATS, INTS, NUMBERS, row

PRIMITIVES = ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "tanh", "sin", "cos", "tan",
              "asin", "acos", "atan", "erf", "erfc", "rsqrt")
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
    bound = acc.exact if op == "sqrt" else acc.ulps(2)
    row(op, FLOATS, [("N",)], ("N",), function, bound)
    row(op, ("f16", "bf16"), [("N", )], ("N", ), function, bound, sizes=(EVERY16, ),
        values="every16", note="all inputs")
for op in ("sinh", "cosh", "asinh", "acosh", "atanh"):
    row(op, FLOATS, [("N",)], ("N",), getattr(torch, op), acc.composite())
row("asinh", FLOATS, [("N",)], ("N",), torch.asinh, acc.composite(), values="wide", note="around 0")

PAIR = [(3, "N"), (3, "N")]
row("atan2", FLOATS, PAIR, (3, "N"), torch.atan2, acc.ulps(2))
row("pow", FLOATS, PAIR, (3, "N"), torch.pow, acc.ulps(2))
row("pow", FLOATS, PAIR, (3, "N"), torch.pow, acc.ulps(2), values="wide", note="ordinary")
row("pow", INTS, PAIR, (3, "N"), torch.pow, note="integers")
row("pow", INTS, PAIR, (3, "N"), torch.pow, values="whole", note="small integers")
for exponent, function, bound, dtypes in ((2.0, torch.square, acc.exact, NUMBERS),
                                          (3.0, lambda x: x * x * x, acc.ulps(2),
                                           NUMBERS), (0.0, torch.ones_like, acc.exact, NUMBERS),
                                          (4.0, lambda x: (x * x) * (x * x), acc.ulps(2),
                                           NUMBERS), (0.5, torch.sqrt, acc.exact, FLOATS),
                                          (-0.5, torch.rsqrt, acc.ulps(2),
                                           FLOATS), (-1.0, torch.reciprocal, acc.exact, FLOATS),
                                          (-2.0, lambda x: (1 / x).square(), acc.ulps(2),
                                           FLOATS), (2.5, lambda x: x.pow(2.5),
                                                     acc.ulps(2), FLOATS), (7.0, lambda x: x.pow(7),
                                                                            acc.ulps(2), NUMBERS)):
    row("pow_number", dtypes, [("N", )], ("N", ), function, bound,
        attrs=f"{{exponent = {exponent} : f64}}", note=f"exponent {exponent}")


def divided(of_floats, of_integers, is_quotient):
    """Integers by NumPy, whose lowest number by -1 wraps; by 0, the quotient is 0 and the remainder
    the dividend."""
    def function(a, b):
        if a.is_floating_point():
            return of_floats(a, b)
        with np.errstate(all="ignore"):
            result = of_integers(a.long().numpy(), b.long().numpy())
        return torch.where(b == 0,
                           torch.zeros_like(a) if is_quotient else a,
                           torch.from_numpy(result).to(a.dtype))
    return function


for op, function, bound in (
        ("floor_divide", divided(torch.floor_divide, np.floor_divide, True), acc.ulps(1)),
        ("remainder", divided(remainder, np.remainder, False), acc.ulps(1)),
        ("fmod", divided(fmod, np.fmod, False), acc.exact)):
    row(op, NUMBERS, PAIR, (3, "N"), function, bound, values="numbers")
    row(op, INTS, PAIR, (3, "N"), function, values="whole", note="small integers")


def of_trunc(y, inputs, dtype):
    """A quotient close to a whole number may round to it, in PyTorch too."""
    quotient = (inputs[0] / inputs[1]).numpy()
    with np.errstate(all="ignore"):
        is_close = np.abs(quotient - np.rint(quotient)) <= 2 * acc.unit(
            acc.compute(dtype)) * np.abs(quotient)
    return np.where(is_close, 1.0, 0.0) + acc.ulps(1)(y, inputs, dtype)


def quotient(a, b):
    """C's, of NumPy's."""
    return a // b + ((a % b != 0) & ((a < 0) != (b < 0)))


row("trunc_divide", NUMBERS, PAIR, (3, "N"),
    divided(lambda a, b: torch.div(a, b, rounding_mode="trunc"), quotient, True), of_trunc,
    values="numbers")
row("trunc_divide", INTS, PAIR, (3, "N"), divided(None, quotient, True), values="whole",
    note="small integers")
row("trunc_divide", FLOATS, PAIR, (3, "N"), lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    of_trunc, note="special values")
row("fmod", FLOATS, PAIR, (3, "N"), fmod, note="special values")
row("remainder", FLOATS, PAIR, (3, "N"), remainder, acc.ulps(1), note="special values")
