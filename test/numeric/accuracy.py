"""How far a result may lie from the exact one: the accuracy contract, one function for each kind of
bound.

A bound is a function (exact result, inputs, dtype) -> largest allowed distance, element by element,
all in float64. `None` stands for "the exact result, rounded once": no distance at all."""
import numpy as np
import torch

import small_floats

# dtype -> digits of its significand, smallest exponent of a normal number, largest exponent
FORMATS = {
    "f64": (53, -1022, 1023), "f32": (24, -126, 127), "f16": (11, -14, 15), "bf16": (8, -126, 127)
}
LARGEST = {
    dtype: 2.0**most * (2 - 2.0**(1 - digits)) for dtype, (digits, _, most) in FORMATS.items()
}
TORCH = {
    "f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16,
    "i64": torch.int64, "i32": torch.int32, "i16": torch.int16, "i8": torch.int8,
    "ui8": torch.uint8, "i1": torch.bool
}
# What PyTorch 1.13 does not have: floats of 8 and 4 bits are held as their values, unsigned
# integers of 64 bits as their bits.
HELD = {
    "ui16": torch.int64, "ui32": torch.int64, "ui64": torch.int64, "i4": torch.int8,
    "ui4": torch.uint8, "i2": torch.int8, "ui2": torch.uint8,
    **dict.fromkeys(small_floats.FORMATS, torch.float64)
}
TORCH.update(HELD)
UNSIGNED = ("ui16", "ui32", "ui64")
SMALL_INTS = ("i4", "ui4", "i2", "ui2")
SMALL_FLOATS = tuple(small_floats.FORMATS)


def compute(dtype):
    """The format in which values of `dtype` are computed."""
    return "f32" if dtype in ("f16", "bf16", *SMALL_FLOATS) else dtype


def is_float(dtype):
    return dtype in FORMATS or dtype in SMALL_FLOATS


def unit(dtype):
    """Unit roundoff: half the distance from 1 to the next number."""
    return 2.0 ** -FORMATS[dtype][0]


def ulp(values, dtype):
    """Distance between neighbouring numbers of `dtype` around `values`."""
    digits, low, high = FORMATS[dtype]
    with np.errstate(all="ignore"):
        exponent = np.frexp(np.where(np.isfinite(values), values, 1.0))[1] - 1
    exponent = np.where(values == 0, low, np.clip(exponent, low, high))
    return np.ldexp(1.0, exponent - digits + 1)


def stored(dtype, exact):
    """What rounding the computed value to its storage may add."""
    return 0.5 * ulp(exact, dtype) if dtype != compute(dtype) else 0.0


def rounded(values, dtype):
    """`values` rounded to nearest even in `dtype`, as float64."""
    if dtype in SMALL_FLOATS:
        return small_floats.rounded(values, dtype)
    return torch.from_numpy(np.array(values)).to(TORCH[dtype]).to(torch.float64).numpy()


exact = None


def equal(y, inputs, dtype):
    """The exact value, the sign of zero aside: where PyTorch leaves it open."""
    return np.zeros_like(y)


def ulps(count):
    """A scalar primitive: so many units of the last place of the format in which it is computed."""
    return lambda y, inputs, dtype: count * ulp(y, compute(dtype)) + stored(dtype, y)


def composite(count=4, floor=2.0**-10):
    """A formula of primitives in one variable: units of the last place of max(|y|, |x| floor)."""
    def bound(y, inputs, dtype):
        scale = np.maximum(np.abs(y), np.abs(inputs[0].numpy()) * floor) if floor else np.abs(y)
        # In f64 the expected value is no more exact than the result.
        return count * (2 if dtype == "f64" else 1) * ulp(scale, compute(dtype)) + stored(dtype, y)
    return bound


def contraction(terms, magnitude, extra=2):
    """A sum of products or of elements: (K + 2) u sum|a||b| + u_out |y|. `terms` is K, or a
    function of the inputs; `magnitude(*inputs)` is the op itself on absolute values."""
    def bound(y, inputs, dtype):
        k = terms(*inputs) if callable(terms) else terms
        size = magnitude(*(x.abs() for x in inputs)).numpy()
        return (k + extra) * unit(compute(dtype)) * size + unit(dtype) * np.abs(y) + ulp(
            np.zeros_like(y), dtype)
    bound.magnitude = magnitude
    return bound


def rounded_before(bound):
    """A bound of a contraction whose results were rounded to their dtype before a mean was taken of
    them."""
    def wider(y, inputs, dtype):
        size = bound.magnitude(*(x.abs() for x in inputs)).numpy()
        return bound(y, inputs, dtype) + unit(dtype) * size
    wider.magnitude = bound.magnitude
    return wider


def in_tf32(bound):
    """The bound of a contraction whose factors were rounded to the 11 bits of tf32, ties away from
    zero: each product is off by at most 2 * 2^-11 + 2^-22 of itself, beside what the sum loses."""
    def wider(y, inputs, dtype):
        size = bound.magnitude(*(x.abs() for x in inputs)).numpy()
        return bound(y, inputs, dtype) + (2.0**-10 + 2.0**-22) * size
    return wider


def of_terms(terms, count=4):
    """A sum of few terms, each a product or quotient of few factors: `terms(*inputs)` lists them.
    """
    def bound(y, inputs, dtype):
        size = sum(t.abs() for t in terms(*inputs)).double().numpy()
        return count * ulp(size, compute(dtype)) + stored(dtype, y)
    return bound


def of_softmax(dim, is_log):
    """exp and the sum lose a unit for each term and for each unit that x lies below the largest
    value (the subtraction rounds); the quotient scales with y, the logarithm shifts it."""
    def bound(y, inputs, dtype):
        x, u = inputs[0], unit(compute(dtype))
        terms = x.shape[dim]
        below = (x.amax(dim, keepdim=True) - x).numpy() if terms else np.zeros(x.shape)
        if is_log:
            return u * (2 * below + terms + 12 + 4 * np.abs(y)) + stored(dtype, y)
        return u * (below + terms + 12) * np.abs(y) + 2 * ulp(np.zeros_like(y),
                                                              compute(dtype)) + stored(dtype, y)
    return bound


def of_normalized(count):
    """A quotient by a norm that was stored: units of the computation, and one of the storage."""
    return lambda y, inputs, dtype: (count * ulp(y, compute(dtype)) +
                                     (ulp(y, dtype) + stored(dtype, y))
                                     if dtype != compute(dtype) else count * ulp(y, dtype))


def root_of(bound_of_square):
    """The square root of what keeps within a bound."""
    def bound(y, inputs, dtype):
        error = bound_of_square(y * y, inputs, dtype)
        with np.errstate(all="ignore"):
            return np.minimum(np.sqrt(error), error / y) + 2 * ulp(y, compute(dtype)) + stored(
                dtype, y)
    return bound


def of_logsumexp(dim):
    """The sum loses a unit for each term, the subtraction one of x, the logarithm and its shift a
    few of the result."""
    def bound(y, inputs, dtype):
        x, u = inputs[0], unit(compute(dtype))
        size = x.abs().nan_to_num(0, 0, 0).sum(dim).numpy() if x.numel() else np.zeros(y.shape)
        return u * (x.shape[dim] + 12 + 4 * np.abs(y) + 2 * size) + stored(dtype, y)
    return bound


def of_norm(dims, eps, spread=None, view=None):
    """(x - mean) / sqrt(var + eps) * weight + bias: the mean loses a unit of the largest terms for
    each, all else few. `spread` brings weight and bias to the dims of `view(x)`."""
    def bound(y, inputs, dtype):
        x = view(inputs[0]) if view else inputs[0]
        weight, bias = (list(inputs[1:]) + [None, None])[:2]
        terms = int(np.prod([x.shape[dim] for dim in dims]))
        if not x.numel():
            return np.zeros(y.shape)
        size = x.abs() + x.abs().mean(dims, keepdim=True)
        size = size / (x.var(dims, unbiased=False, keepdim=True) + eps).sqrt()
        shift = torch.zeros(())
        if weight is not None:
            size = size * (spread(weight) if spread else weight).abs()
        if bias is not None:
            shift = (spread(bias) if spread else bias).abs()
        return (terms + 16) * unit(compute(dtype)) * (size + shift).reshape(
            y.shape).numpy() + stored(dtype, y)
    return bound


def of_batch_norm(eps):
    """The norm itself, or its folded form x s + t: both scale with the terms before they cancel."""
    def bound(y, inputs, dtype):
        x, mean, var = (t.abs() for t in inputs[:3])
        weight, bias = (t.abs()
                        for t in inputs[3:]) if len(inputs) == 5 else (torch.ones_like(mean),
                                                                       torch.zeros_like(mean))
        shape = [1, -1] + [1] * (x.dim() - 2)
        scale = (weight / (var + eps).sqrt()).reshape(shape)
        size = ((x + mean.reshape(shape)) * scale + bias.reshape(shape)).numpy()
        return 8 * unit(compute(dtype)) * size + stored(dtype, y)
    return bound


def mismatch(actual, expected, inputs, dtype, bound):
    """None, or a sentence about the worst element of `actual` (float64 or int64, in the format's
    values)."""
    if actual.shape != expected.shape:
        return f"has the shape {list(actual.shape)}, expected {list(expected.shape)}"
    if not expected.size:
        return None
    if not is_float(dtype):
        wrong = actual != expected
        distance = wrong.astype(np.float64)
    else:
        nearest = rounded(expected, dtype)
        same = (actual == nearest) & (np.signbit(actual) == np.signbit(nearest)) | (
            np.isnan(actual) & np.isnan(expected))
        with np.errstate(all="ignore"):
            distance = np.abs(actual - expected)
            if bound is None:
                wrong = ~same
            else:
                allowed = bound(expected, inputs, dtype)
                wrong = ~(same | (distance <= allowed))
                distance = distance / allowed
    if not wrong.any():
        return None
    worst = np.unravel_index(np.argmax(np.where(wrong, np.nan_to_num(distance, nan=np.inf), -1)),
                             actual.shape)
    limit = "the exact value" if bound is None or not is_float(
        dtype) else f"{distance[worst]:.3g} times the bound"
    at = [int(i) for i in worst]
    return (f"{int(wrong.sum())} of {actual.size} values are wrong; worst at {at}: {actual[worst]!r}, expected "
            f"{expected[worst]!r} ({limit})")
