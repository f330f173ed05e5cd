"""Ops of com.microsoft on quantized tensors. microsoft_quantized.py FOLDER; the last line is "N
passed, N failed". The results are those of ONNX Runtime 1.32. Scales are powers of two, so that
most results are exact."""
import math
import sys

import numpy as np
from op_values import NUMPY, Cases, rounded

random = np.random.default_rng(40)
cases = Cases()
OPSET = 17


def codes(dtype, *shape):
    limits = np.iinfo(NUMPY[dtype])
    return dtype, random.integers(limits.min, limits.max + 1, shape)


def drawn(*shape):
    return "f32", rounded(random.standard_normal(shape), "f32")


def one(dtype, number):
    return dtype, np.array(number)


def scale(number):
    return one("f32", number)


def numbers(x, by, zero=None):
    return (x[1] - (0 if zero is None else zero[1].astype(np.int64))) * by[1].astype(np.float64)


def quantized(y, by, zero=None, dtype="u8", rounds_sum=False):
    """`rounds_sum`: the zero point is added before the rounding."""
    dtype = zero[0] if zero else dtype
    limits, steps, origin = np.iinfo(
        NUMPY[dtype]), y / by[1].astype(np.float64), zero[1] if zero else 0
    return dtype, np.clip(
        np.round(steps + origin) if rounds_sum else np.round(steps) + origin, limits.min,
        limits.max)


def add(op, inputs, *results, within=None, **attributes):
    known = [place for place, given in enumerate(inputs) if place and given is not None]
    cases.add(op, inputs, results, OPSET, known=known, within=within, domain="com.microsoft",
              **attributes)


# Tensors of which each has a scale and a zero point.
for dtype in ("u8", "i8"):
    a, b, by = codes(dtype, 3, 4), codes(dtype, 4), [scale(2.0**-5), scale(2.0**-4), scale(2.0**-2)]
    for zeros in ([one(dtype, 3), one(dtype, 7), one(dtype, 101)], [None] * 3):
        left, right = numbers(a, by[0], zeros[0]), numbers(b, by[1], zeros[1])
        for op, y in (("QLinearAdd", left + right), ("QLinearMul", left * right)):
            add(op, [a, by[0], zeros[0], b, by[1], zeros[1], by[2], zeros[2]],
                quantized(y, by[2], zeros[2], dtype, op == "QLinearAdd"))
        shown = "bool", random.integers(0, 2, (3, 4))
        if zeros[0]:
            add("QLinearWhere", [shown, a, by[0], zeros[0], b, by[1], zeros[1], by[2], zeros[2]],
                quantized(np.where(shown[1], left, right), by[2], zeros[2]))
    zero, after = one(dtype, 3), one(dtype, -128 if dtype == "i8" else 0)
    x = codes(dtype, 3, 40)
    y = numbers(x, by[0], zero)
    add("QLinearSigmoid", [x, by[0], zero, scale(2.0**-8), after],
        quantized(1 / (1 + np.exp(-y)), scale(2.0**-8), after))
    add("QLinearLeakyRelu", [x, by[0], zero, by[1], zero],
        quantized(np.where(y < 0, 0.25 * y, y), by[1], zero), alpha=0.25)
    add("QLinearLeakyRelu", [x, by[0], zero, by[1]],
        quantized(np.where(y < 0, 0.25 * y, y), by[1], None, dtype), alpha=0.25)
    more = codes(dtype, 3, 2)
    both = np.concatenate((y[:, :4], numbers(more, by[1], one(dtype, 7))), 1)
    add("QLinearConcat",
        [by[2], zero, (dtype, x[1][:, :4]), by[0], zero, more, by[1],
         one(dtype, 7)], quantized(both, by[2], zero), axis=1)
    x = codes(dtype, 2, 3, 4)
    y = numbers(x, scale(2.0**-6), zero)
    weights = np.exp(y - y.max(-1, keepdims=True))
    add("QLinearSoftmax", [x, scale(2.0**-6), zero, scale(2.0**-8), after],
        quantized(weights / weights.sum(-1, keepdims=True), scale(2.0**-8), after), axis=-1,
        opset=13)
    flat = np.exp(y - y.max((1, 2), keepdims=True))
    add("QLinearSoftmax", [x, scale(2.0**-6), zero, scale(2.0**-10), after],
        quantized(flat / flat.sum((1, 2), keepdims=True), scale(2.0**-10), after), axis=1, opset=11)
    add("QLinearReduceMean",
        [x, scale(2.0**-6), zero, scale(2.0**-8), after], quantized(y.mean(2), scale(2.0**-8),
                                                                    after), axes=[2], keepdims=0)
    for last in (0, 1):
        x = codes(dtype, *((2, 4, 6, 3) if last else (2, 3, 4, 6)))
        image = numbers(x, by[0], zero)
        image = image.transpose(0, 3, 1, 2) if last else image
        whole = image.mean((2, 3), keepdims=True)
        pools = image.reshape(2, 3, 2, 2, 3, 2).mean((3, 5))
        padded = np.pad(image, ((0, 0), (0, 0), (0, 0), (1, 0)))
        padded = (padded[..., :-1] + padded[..., 1:]) / 2
        for op, y, named in (("QLinearGlobalAveragePool", whole, {}),
                             ("QLinearAveragePool", pools,
                              {"kernel_shape": [2, 2],
                               "strides": [2, 2]}), ("QLinearAveragePool", padded, {
                                   "kernel_shape": [1, 2], "pads": [0, 1, 0, 0],
                                   "count_include_pad": 1
                               })):
            y = y.transpose(0, 2, 3, 1) if last else y
            add(op, [x, by[0], zero, scale(2.0**-4), zero],
                quantized(y, scale(2.0**-4), zero, rounds_sum=op == "QLinearAveragePool"),
                channels_last=last, **named)
    x = codes(dtype, 2, 3, 4)
    row = codes(dtype, 4)
    add("MulInteger", [x, zero, row, one(dtype, 7)], ("i32", (x[1] - 3) * (row[1] - 7)))

# Products of integers.
for dtype in ("u8", "i8"):
    for other in ("u8", "i8"):
        zero, by = one(dtype, 3), scale(2.0**-5)
        for per_column in (False, True):
            of_b = ("f32", 2.0**np.array([-4, -5, -3])) if per_column else scale(2.0**-4)
            zero_b = (other, np.array([1, 2, 120])) if per_column else one(other, 2)
            for across, down in ((0, 0), (1, 0), (0, 1)):
                a, b = codes(dtype, *((6, 4) if across else
                                      (4, 6))), codes(other, *((3, 6) if down else (6, 3)))
                left, right = a[1].T if across else a[1], b[1].T if down else b[1]
                sums = (left - 3).astype(np.int64) @ (right - zero_b[1].astype(np.int64))
                bias = ("i32", random.integers(-500, 500, 3))
                factor = by[1].astype(np.float64) * of_b[1]
                add("QGemm",
                    [a, by, zero, b, of_b, zero_b, bias,
                     scale(4.0), one(dtype, 5)],
                    quantized((sums + bias[1]) * factor * 0.5, scale(4.0),
                              one(dtype, 5)), transA=across, transB=down, alpha=0.5)
                add("QGemm", [a, by, zero, b, of_b, zero_b], ("f32", sums * factor), transA=across,
                    transB=down, within="f32")
            a, b, bias = codes(dtype, 2, 4, 6), codes(other, 6, 3), drawn(3)
            sums = (a[1] - 3) @ (b[1] - zero_b[1].astype(np.int64)) * factor
            add("MatMulIntegerToFloat", [a, b, by, of_b, zero, zero_b, bias],
                ("f32", sums + bias[1]), within="f32")
            add("MatMulIntegerToFloat", [a, b, by, of_b], ("f32", a[1] @ b[1] * factor),
                within="f32")
for other in (
        "u8",
        "i8"):  # x is made integers of 256 steps from its smallest number, or 0, to its largest
    x, b, bias, zero_b = drawn(2, 4, 6), codes(other, 6, 3), drawn(3), (other, np.array([1, 2,
                                                                                         120]))
    low, high = min(x[1].min(), 0), max(x[1].max(), 0)
    step = np.float32(high - low) / np.float32(255)
    zero_a = np.round(-low / step)
    steps = np.clip(np.round(x[1] / step) + zero_a, 0, 255) - zero_a
    add("DynamicQuantizeMatMul", [x, b, scale(0.5), zero_b, bias],
        ("f32", steps @ (b[1] - zero_b[1]) * step * 0.5 + bias[1]), within="f32")
    add("DynamicQuantizeMatMul", [x, b, scale(0.5)], ("f32", steps @ b[1] * step * 0.5),
        within="f32")

# A convolution whose channels are the last dim.
x, weight, bias, zero = codes("u8", 1, 3, 5,
                              4), codes("i8", 6, 4, 1,
                                        1), ("i32", random.integers(-99, 99, 6)), one("u8", 101)
sums = np.einsum("nhwc,kc->nhwk", x[1].astype(np.int64) - 3, weight[1][:, :, 0, 0].astype(
    np.int64)) + bias[1]
y = quantized(sums * 2.0**-12, scale(2.0**-3), zero)
given = [
    scale(2.0**-6),
    one("u8", 3), weight,
    scale(2.0**-6),
    one("i8", 0),
    scale(2.0**-3), zero, bias
]
add("QLinearConv", [x, *given], y, channels_last=1, kernel_shape=[1, 1])
add("QLinearConv", [("u8", x[1].transpose(0, 3, 1, 2)), *given], ("u8", y[1].transpose(0, 3, 1, 2)))

# Between numbers and integers, of 16 bits as well.
for dtype in ("u8", "i8", "u16", "i16"):
    x, zero = drawn(3, 4), one(dtype, 3)
    add("QuantizeLinear", [x, scale(2.0**-5), zero], quantized(x[1], scale(2.0**-5), zero))
    of_rows, zeros = ("f32", 2.0**np.array([-3, -5, -7])), (dtype, np.array([3, 0, 9]))
    add("QuantizeLinear", [x, of_rows, zeros],
        quantized(x[1], ("f32", of_rows[1][:, None]), (dtype, zeros[1][:, None])), axis=0)
    given = codes(dtype, 3, 4)
    add("DequantizeLinear", [given, scale(2.0**-5), zero],
        ("f32", numbers(given, scale(2.0**-5), zero)))
    add("DequantizeLinear", [given, of_rows, zeros],
        ("f32", numbers(given, ("f32", of_rows[1][:, None]), (dtype, zeros[1][:, None]))), axis=0)


# Attention that projects integers, and an embedding of integers.
def heads(x):
    return x.reshape(*x.shape[:2], 2, -1).swapaxes(1, 2)


for dtype, other in (("u8", "i8"), ("i8", "u8")):
    x, weight, bias, zero, zero_w = codes(dtype, 2, 5,
                                          6), codes(other, 6, 24), drawn(24), one(dtype,
                                                                                  3), one(other, 2)
    past = drawn(2, 2, 2, 3, 4)
    q, k, v = (heads(part) for part in np.split(
        numbers(x, scale(2.0**-7), zero) @ numbers(weight, scale(2.0**-6), zero_w)
        + bias[1], 3, -1))
    for causal, before in ((0, None), (1, None), (1, past)):
        keys, values = (np.concatenate((old, now), 2)
                        for old, now in zip(before[1], (k, v))) if before else (k, v)
        scores = q @ keys.swapaxes(-1, -2) / math.sqrt(4)
        if causal:
            scores = np.where(
                np.arange(5)[:, None] + keys.shape[2] - 5 >= np.arange(keys.shape[2]), scores,
                -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        y = (weights / weights.sum(-1, keepdims=True) @ values).swapaxes(1, 2).reshape(2, 5, -1)
        add("QAttention", [
            x, weight, bias,
            scale(2.0**-7),
            scale(2.0**-6), None, zero, zero_w, *([before] if before else [])
        ], ("f32", y), ("f32", np.stack((keys, values))), within="f32", num_heads=2,
            unidirectional=causal)
ids, kinds, shown = ("i32", random.integers(0, 9, (2, 4))), ("i32", random.integers(
    0, 2, (2, 4))), ("i32", [[1, 1, 1, 0], [1, 0, 0, 0]])
tables = [codes("u8", rows, 8) for rows in (9, 6, 2)] + [codes("u8", 8), codes("u8", 8)]
by, zeros = [scale(2.0**-power)
             for power in (5, 6, 7, 6, 5)], [one("u8", zero) for zero in (3, 128, 7, 100, 90)]
words, places, segments, gamma, beta = (numbers(*each) for each in zip(tables, by, zeros))
for kind in (kinds, None):
    total = words[ids[1]] + places[np.arange(4)] + (segments[kinds[1]] if kind else 0)
    y = total - total.mean(-1, keepdims=True)
    y = y / np.sqrt((y * y).mean(-1, keepdims=True) + 0.25) * gamma + beta
    some = [tables[2], by[2], zeros[2]] if kind else [None] * 3
    add("QEmbedLayerNormalization", [
        ids, kind, tables[0], tables[1], some[0], tables[3], tables[4], shown, by[0], by[1],
        some[1], by[3], by[4], zeros[0], zeros[1], some[2], zeros[3], zeros[4]
    ], ("f32", y), ("i32", [3, 1]), within="f32", epsilon=0.25)

sys.exit(cases.run(sys.argv[1]))
