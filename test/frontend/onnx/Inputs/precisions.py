"""Ops whose operands may have different dtypes, or that compute in another one than their operands
have. precisions.py FOLDER; the last line is "N passed, N failed"."""
import sys

import numpy as np
from op_values import FLOATS, STEP, Cases, number_of, rounded

random = np.random.default_rng(7)
cases = Cases()


def drawn(dtype, *shape):
    return dtype, rounded(random.standard_normal(shape), dtype)


def wide(operand):
    return operand[1].astype(np.float64)


def widest(*dtypes):
    """Which of them holds the numbers of all; f32 for f16 and bf16."""
    for dtype in ("f64", "f32"):
        if dtype in dtypes:
            return dtype
    return dtypes[0] if len(set(dtypes)) == 1 else "f32"


def coarsest(*dtypes):
    return max((dtype for dtype in dtypes if dtype), key=STEP.get)


# X, then scale and bias; the result has the dtype of the scale, the statistics that of stash_type.
for dtype in FLOATS:
    for other in FLOATS:
        for axis, stash in ((-1, "f32"), (1, "f32"), (-1, "f64"), (-1, "bf16")):
            x = drawn(dtype, 2, 3, 4)
            scale, bias = drawn(other, *(2, 3, 4)[axis:]), drawn(other, *(2, 3, 4)[axis:])
            along = tuple(range(axis % 3, 3))
            mean = wide(x).mean(along, keepdims=True)
            centred = wide(x) - mean
            inverse = 1 / np.sqrt((centred**2).mean(along, keepdims=True) + 1e-5)
            first = rounded(centred * inverse, dtype).astype(np.float64)
            scaled = rounded(first * wide(scale), widest(dtype, other)).astype(np.float64)
            statistics = [] if stash == "f64" else [(stash, mean), (stash, inverse)]
            named = {} if stash == "f32" else {"stash_type": number_of(stash)}
            cases.add("LayerNormalization", [x, scale, bias], [(other, scaled + wide(bias))], 17,
                      within=coarsest(dtype, other), axis=axis, **named)
            cases.add("LayerNormalization", [x, scale], [(other, scaled), *statistics], 17,
                      within=coarsest(dtype, other, stash), axis=axis, **named)
            inverse = 1 / np.sqrt((wide(x)**2).mean(along, keepdims=True) + 1e-5)
            first = rounded(wide(x) * inverse, dtype).astype(np.float64)
            cases.add("RMSNormalization", [x, scale], [(other, first * wide(scale))], 23,
                      within=coarsest(dtype, other), axis=axis, **named)
x = drawn("f32", 2, 4, 3)
scale, bias = drawn("f16", 1), drawn("f16", 4, 1)
centred = wide(x) - wide(x).mean((1, 2), keepdims=True)
y = centred / np.sqrt((centred**2).mean((1, 2), keepdims=True) + 1e-5) * wide(scale) + wide(bias)
cases.add("LayerNormalization", [x, scale, bias], [("f16", y)], 17, within="f16", axis=1)

for dtype in FLOATS:
    # Each group of two channels; the standard's first version has a scale for each group.
    for opset, named in ((18, {}), (21, {}), (21, {"stash_type": number_of("f64")}),
                         (21, {"stash_type": number_of("bf16")})):
        x, scale, bias = drawn(dtype, 2, 4, 3), drawn(dtype, 2 if opset == 18 else 4), drawn(
            dtype, 2 if opset == 18 else 4)
        groups = wide(x).reshape(2, 2, 6)
        centred = groups - groups.mean(-1, keepdims=True)
        y = (centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)).reshape(2, 4, 3)
        each = 2 if opset == 18 else 1
        y = y * wide(scale).repeat(each)[:, None] + wide(bias).repeat(each)[:, None]
        cases.add("GroupNormalization", [x, scale, bias], [(dtype, y)], opset, within=dtype,
                  num_groups=2, **named)
    for affine in FLOATS:
        for statistic in FLOATS:
            x, scale, bias = drawn(dtype, 2, 4, 3), drawn(affine, 4), drawn(affine, 4)
            mean, variance = drawn(statistic, 4), (statistic, np.abs(random.standard_normal(4)) + 1)
            variance = statistic, rounded(variance[1], statistic)
            of = [wide(operand)[:, None] for operand in (scale, bias, mean, variance)]
            y = (wide(x) - of[2]) / np.sqrt(of[3] + 1e-5) * of[0] + of[1]
            cases.add("BatchNormalization", [x, scale, bias, mean, variance], [(dtype, y)], 15,
                      within=coarsest(dtype, affine, statistic))

# The value and the mask of an attention have dtypes of their own, and so has its softmax.
for dtype in FLOATS:
    for other in FLOATS:
        for softmax in (None, "f32", "f64"):
            q, k, v, mask = drawn(dtype, 1, 2, 3, 4), drawn(dtype, 1, 2, 5,
                                                            4), drawn(other, 1, 2, 5,
                                                                      6), drawn(other, 3, 5)
            scores = wide(q) @ wide(k).swapaxes(-1, -2) / 2 + wide(mask)
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            y = weights / weights.sum(-1, keepdims=True) @ wide(v)
            named = {"softmax_precision": number_of(softmax)} if softmax else {}
            cases.add("Attention", [q, k, v, mask], [(dtype, y)], 23,
                      within=coarsest(dtype, other, softmax), **named)

# Integers are reduced as integers: what is left of the fraction goes.
for dtype in ("i32", "i64", "u32", "u64"):
    x = random.integers(1, 9, (3, 7))
    double = x.astype(np.float64)
    for op, y in (("ReduceMean", double.mean(1)), ("ReduceL2", np.sqrt(
        (double**2).sum(1))), ("ReduceLogSum", np.log(double.sum(1))),
                  ("ReduceLogSumExp", np.log(np.exp(double).sum(1)))):
        cases.add(op, [(dtype, x), ("i64", [1])], [(dtype, np.trunc(y))], 18, known=(1, ),
                  keepdims=0)
cases.add("ReduceMean", [("i32", [-3, -4]), ("i64", [0])], [("i32", -3)], 18, known=(1, ),
          keepdims=0)

# A quotient has the dtype of the scale. The factor of a sum is one number, by which 3625 becomes 43
# and not 44.
x = rounded([34.75, 8.0625, -3.5], "bf16")
quotients = rounded(x / rounded(0.37, "bf16"), "bf16")
cases.add("QuantizeLinear", [("bf16", x), ("bf16", 0.37), ("i8", 3)],
          [("i8", np.rint(quotients) + 3)], 23, known=(1, 2))
a, b, c = np.float32(0.02), np.float32(0.03), np.float32(0.05)
cases.add("QLinearMatMul", [("u8", [[148]]), ("f32", a), ("u8", 3), ("i8", [[25]]), ("f32", b),
                            ("i8", 0), ("f32", c), ("u8", 7)],
          [("u8", [[np.rint(np.float32(3625) * (a * b / c)) + 7]])], 10, known=(1, 2, 4, 5, 6, 7))

sys.exit(cases.run(sys.argv[1]))
