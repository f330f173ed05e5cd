"""Elementwise arithmetic: integers and signs, roundings, special values."""

import math

import torch
from torch.nn import functional as F

from constructs.construct import SPECIAL, case, ints

t = torch.randn


def _signed():
    values = ints(-9, -8, -4, -3, -1, 0, 1, 3, 4, 8, 9, 250, -251)
    return [(values, ints(2, -2, 3, -3, 7, 5, -5, 4, -4, -9, 9, 16, -16)), (-values, values + 20)]


def _floats():
    x = torch.tensor([-6.5, 6.5, 1.0, -0.4, 3.0, 0.7, -3.0, 5.0])
    y = torch.tensor([2.0, -2.0, 0.1, 0.1, 1.5, 0.2, -1.5, float("inf")])
    return [(x, y), (-x, y), (y[:4], x[:4])]


@case(_signed)
def integer_quotients(x, y):
    rounded = [torch.div(x, y, rounding_mode=mode) for mode in ("floor", "trunc")]
    return x // 4, x // -3, torch.floor_divide(x, y), *rounded, x / y, x / 2.5


@case(_signed)
def integer_remainders(x, y):
    return x % 4, x % -3, x % y, torch.fmod(x, y), torch.remainder(x, y), torch.remainder(7, y)


@case(_floats, each=True)
def float_quotients(x, y):
    return x // y, torch.div(x, y, rounding_mode="trunc"), x // 0.3, torch.floor_divide(1.0, x)


@case(_floats, each=True)
def float_remainders(x, y):
    return x % y, torch.fmod(x, y), x % -1.25, torch.remainder(x, 0.7), x.frac()


@case(lambda: [ints(-9, 0, 1, 6, 12, -13), ints(5, 4, 3, 2, 1, 255)])
def bits(x):
    shifts = x << 3, x >> 1, torch.bitwise_right_shift(x, ints(1)), 1 << x.clamp(0, 9)
    return x & 6, x | 9, x ^ 5, ~x, (x > 0) & (x < 5), (x > 0) ^ True, *shifts


def _bytes():
    x = torch.tensor([0, 3, 90, 201, 255, 128], dtype=torch.uint8)
    return [(x, x.flip(0)), (x.flip(0), x + 7)]


@case(_bytes)
def wrapping_bytes(x, y):
    some = y.clamp(min=1)
    signed = x.to(torch.int8)
    return x + y, x - y, x * y, -x, x // some, x % some, signed * signed, signed.abs(), x > y


@case(
    lambda: [ints(2**31 - 1, -(2**31), 7, -7, 70000, dtype=torch.int32), ints(9, 8, 7, 6, 5).int()]
)
def wrapping_words(x):
    return x + 1, x - 1, x * x, x.sum(), x.prod(), x.to(torch.int16), x.long() * x


@case(lambda: [SPECIAL, SPECIAL.flip(0), SPECIAL * 0.1], each=True)
def rounding(x):
    kinds = x.round(), x.floor(), x.ceil(), x.trunc(), x.sign(), x.fix()
    zeros = [1 / torch.where(y == 0, y, 1.0) for y in kinds[:4]]
    return *kinds, torch.round(x.clamp(-9, 9), decimals=1), *zeros


@case(lambda: [torch.arange(-4.5, 5.0), torch.arange(-4.5, 5.0) * 3])
def halves_to_even(x):
    return x.round(), (x * 10).round(decimals=-1), x.round().to(torch.int64), x.to(torch.int32)


@case(lambda: [SPECIAL, SPECIAL.flip(0), SPECIAL.nan_to_num() * 0.5], each=True)
def exponentials(x):
    logarithms = x.log(), x.log1p(), x.log2(), x.log10(), x.sqrt(), x.rsqrt()
    return x.exp(), x.expm1(), x.exp2(), *logarithms, x.reciprocal(), x.square(), x.abs()


@case(lambda: [t(9) * 4, t(9) * 0.9, torch.tensor([float("inf"), float("nan"), -0.0])], each=True)
def trigonometry(x):
    turns = x.sin(), x.cos(), x.atan(), x.tanh(), x.sinh(), x.cosh(), x.asinh(), x.sinc()
    return *turns, x.clamp(-1, 1).asin(), x.clamp(-1, 1).acos(), torch.atan2(x, x - 1), x.deg2rad()


_CURVES = (
    "gelu silu mish softplus hardswish hardsigmoid hardtanh elu selu celu relu6 logsigmoid "
    "softsign tanhshrink hardshrink softshrink leaky_relu"
).split()


@case(lambda: [SPECIAL, SPECIAL.flip(0), SPECIAL.nan_to_num() * 0.1, t(11) * 8], each=True)
def activations(x):
    infinite = [getattr(F, curve)(x) for curve in _CURVES[1:]]
    return *infinite, F.gelu(x.clamp(-1e30, 1e30)), F.gelu(x.clamp(-9, 9), approximate="tanh")


@case(lambda: [torch.tensor([-math.inf, 1.0]), torch.tensor([-math.inf, -2.0])])
def gelu_of_infinity(x):
    return F.gelu(x)


@case(lambda: [t(4, 6), t(4, 6) * 9, t(2, 6)], dynamic={"x": {0: "N"}}, each=True)
def activations_with_parameters(x):
    return (
        F.gelu(x, approximate="tanh"),
        F.softplus(x, beta=2.0, threshold=5.0),
        F.elu(x, 0.7),
        F.hardtanh(x, -0.5, 2.0),
        F.threshold(x, 0.1, -20.0),
        F.glu(x, 1),
        F.prelu(x, torch.tensor([0.3])),
        F.rrelu(x, training=False),
    )


def _pairs():
    return [(SPECIAL, SPECIAL.flip(0)), (SPECIAL.roll(3), SPECIAL)]


@case(_pairs, each=True)
def maxima_with_nan(x, y):
    both = torch.maximum(x, y), torch.minimum(x, y), torch.fmax(x, y), torch.fmin(x, y)
    return *both, x.max(), x.amin(), x.clamp(-2, 2), x.clamp(min=y), torch.clamp(x, max=1.5)


@case(lambda: [(t(4, 5), t(5), t(4, 1)), (t(4, 5) * 3, t(5), t(4, 1))])
def clamps(x, low, high):
    ranges = x.clamp(low, high), x.clamp(1.0, -1.0), x.clip(max=high), x.clamp_min(0.2)
    return *ranges, (x * 9).long().clamp(-3, 4), torch.clamp(x, low.abs(), None)


@case(_pairs, each=True)
def special_values(x, y):
    kinds = x.isnan(), x.isinf(), x.isfinite(), x.isposinf(), x.signbit(), x == x, x != y
    filled = x.nan_to_num(), x.nan_to_num(1.0, 2.0, -2.0), x.nansum(), x.nanmean()
    return *kinds, *filled, torch.copysign(x.abs().clamp(max=1), y), torch.heaviside(x, y)


@case(lambda: [(t(3), t(3)), (torch.ones(3), torch.tensor([1.0, 1.0 + 2e-9, 1.1]))])
def closeness(x, y):
    near = torch.isclose(x, x + 3e-9), torch.isclose(x, y, atol=0.5), torch.eq(x, y).all()
    return *near, torch.isclose(x / 0, x / 0, equal_nan=True), torch.isclose(x.long(), y.long())


@case(lambda: [SPECIAL, SPECIAL * 0.25], each=True)
def powers(x):
    whole = x**2, x**3, x**-1, x**-2, x**0, x**1
    return *whole, x**0.5, x**-0.5, 2.0 ** x.clamp(-9, 9), x**x, torch.pow(x, torch.tensor(3))


@case(lambda: [ints(-3, 0, 2, 5, 4), ints(1, -1, 7, 3, 2)])
def integer_powers(x):
    return x**2, x**3, x**0, 2 ** x.clamp(0, 6), x ** x.clamp(0, 4), x**1.5, torch.float_power(x, 2)


@case(lambda: [(t(3, 5), t(3, 5), t(3, 5)) for _ in range(2)])
def of_three(x, y, z):
    fused = torch.addcmul(x, y, z, value=-2), torch.addcdiv(x, y, z.abs() + 1, value=0.5)
    mixed = torch.lerp(x, y, 0.3), torch.lerp(x, y, z), torch.hypot(x, y), torch.logaddexp(x, y)
    return *fused, *mixed, torch.xlogy(x.abs(), y.abs()), torch.ldexp(x, ints(2)), torch.rsub(x, y)


@case(lambda: [t(9), t(9) * 3])
def special_functions(x):
    gamma = (
        torch.lgamma(x.abs() + 0.2),
        torch.digamma(x.abs() + 0.2),
        torch.erfinv(x.clamp(-0.8, 0.8)),
    )
    return x.erf(), x.erfc(), torch.logit(x.sigmoid(), eps=1e-6), *gamma, torch.special.ndtr(x)
