"""Results of ONNX's ops at the edges of their dtypes and attributes, and in the forms of the first
opsets. edges.py FOLDER; the last line is "N passed, N failed"."""
import math
import sys

import numpy as np
from op_values import Cases, rounded

random = np.random.default_rng(39)
cases = Cases()
inf, nan = math.inf, math.nan


def numbers(*values):
    return "i64", np.array(values, np.int64)


def drawn(*shape):
    return "f32", rounded(random.standard_normal(shape), "f32")


# Powers. From 2^24 on f32 has even numbers alone, but an integer may be odd; f32 does not hold
# every integer.
for known in ((), (1,)):
    for dtype in ("f32", "f16"):
        for odd in (2**24 + 1, 2**31 + 1, -(2**24) - 1):
            cases.add("Pow", [(dtype, [-1, 1]), numbers(odd)], [(dtype, [-1, 1])], 15, known=known)
        cases.add("Pow", [(dtype, [-1, 1]), numbers(2**24 + 2)], [(dtype, [1, 1])], 15, known=known)
    cases.add("Pow", [("f32", [-1, -1, -1]), ("i32", [2**24 + 1, 3, 2])], [("f32", [-1, -1, 1])],
              15)
    cases.add("Pow", [("f64", [-1, 1]), ("f64", [2.0**24 + 1])], [("f64", [-1, 1])], 15,
              known=known)
    cases.add("Pow", [numbers(94906267**2), ("f32", [0.5])], [numbers(94906267)], 15, known=known)
    cases.add("Pow", [("i32", [12345, -46340]), ("f32", [2])], [("i32", [12345**2, 46340**2])], 15,
              known=known)
    cases.add("Pow", [("i32", [1, 2, -1]), ("f32", [-1])], [("i32", [1, 0, -1])], 15, known=known)
    for shape in ((1,), (1, 1)):
        cases.add("Pow", [("f32", 3), ("f32", np.full(shape, 2))], [("f32", np.full(shape, 9))], 15,
                  known=known)
cases.add("Pow", [numbers(208065, -7), ("f32", [3])], [numbers(208065**3, -343)], 15, known=(1,))

# Integers that f32 does not hold become bf16 and f16 in one step: these lie a little beyond the
# middle of two numbers.
for dtype, bits in (("i64", 63), ("u64", 64), ("i32", 31), ("u32", 32)):
    tops = [1 << top for top in range(25, bits)]
    near = [257 * top // 256 + by for top in tops for by in (-1, 0, 1)]
    wanted = [top if by <= 0 else 129 * top // 128 for top in tops for by in (-1, 0, 1)]
    if dtype[0] == "i":
        near, wanted = near + [-number for number in near], wanted + [-number for number in wanted]
    y = np.array([float(number) for number in wanted])
    cases.add("Cast", [(dtype, np.array(near, {"i": "int", "u": "uint"}[dtype[0]] + dtype[1:]))],
              [("bf16", y)], 21, to=16)

# output_padding from a stride on: more of what the pads cut off, then zeros.
signal, kernel = drawn(1, 1, 4), drawn(1, 1, 3)
for stride, pads, extra in ((1, (1, 1), 1), (1, (0, 0), 1), (1, (1, 1), 3), (2, (0, 1), 2),
                            (2, (1, 0), 3)):
    whole = np.zeros(3 * stride + 3 + extra)
    for i, j in np.ndindex(4, 3):
        whole[i * stride + j] += float(signal[1][0, 0, i]) * float(kernel[1][0, 0, j])
    y = whole[pads[0]:3 * stride + 3 - pads[1] + extra]
    cases.add("ConvTranspose", [signal, kernel], [("f32", y.reshape(1, 1, -1))], 11, within="f32",
              strides=[stride], pads=list(pads), output_padding=[extra])

# Corners by a scale: those of the result's elements, unless the result is smaller.
row = drawn(1, 1, 4)
for scale, length, apart in ((1.7, 6, 3 / 5), (2.2, 8, 3 / 7), (0.6, 2, 3 / 1.4)):
    at = np.arange(length) * apart
    y = np.interp(at, np.arange(4), row[1][0, 0].astype(np.float64)).reshape(1, 1, length)
    cases.add("Resize", [row, None, ("f32", [1, 1, scale])], [("f32", y)], 19, known=(2, ),
              within="f32", mode="linear", coordinate_transformation_mode="align_corners")

# A dim of one element lies in the middle, as in PyTorch.
cases.add(
    "AffineGrid",
    [("f32", [[[1, 2, 3], [4, 5, 6]]]), numbers(1, 1, 1, 3)],
    [("f32", [[[[2, 2], [3, 6], [4, 10]]]])], 20, known=(1, ), align_corners=1)

# One element, at a place that is computed.
for known in ((), (1,)):
    cases.add("GatherND", [("f32", [3, 1, 4]), numbers(-1)], [("f32", 4)], 13, known=known)
    cases.add("GatherND",
              [("f32", [[1, 2, 3], [4, 5, 6]]), numbers(-1, 1)], [("f32", 5)], 13, known=known)

# Backwards from before the first element: that one. A step beyond the dim takes one element; bounds
# have 64 bits.
most, least = 2**63 - 1, -2**63
line = "f32", np.arange(5.0)
for start, end, step, y in ((-10, -100, -1, [0]), (-10, least, -2, [0]), (-1, least, -most, [4]),
                            (-1, least, least, [4]), (0, most, most, [0]), (most, least, -2,
                                                                            [4, 2, 0]),
                            (least, most, 3, [0, 3]), (-2, 1, -1, [3, 2]), (3, most, 2**31, [3])):
    cases.add("Slice", [line, *(numbers(number) for number in (start, end, 0, step))], [("f32", y)],
              13, known=(1, 2, 3, 4))

# A fill that f64 does not hold, of integers that it does not hold.
for fill in (2**60 + 1, -(2**60) - 1, most):
    cases.add("Pad", [numbers(5, 6), numbers(1, 2), numbers(fill)],
              [numbers(fill, 5, 6, fill, fill)], 13, known=(1, 2))

# Far below 0 a Swish is 0, not what a rounded sigmoid leaves of x.
for alpha in (1.0, 1.7, -0.5):
    x = np.float32([-1e38, -1e30, -200, -3, 0, 2, 150, 1e38])
    with np.errstate(over="ignore"):
        y = x.astype(np.float64) / (1 + np.exp(-alpha * x.astype(np.float64)))
    cases.add("Swish", [("f32", x)], [("f32", y)], 24, within=None if alpha == 0 else "f32",
              alpha=alpha)
cases.add("Swish", [("f32", [-1e38, -1e30, -inf, nan])], [("f32", [0, 0, nan, nan])], 24, alpha=1.7)

for dtype in ("f32", "f16", "bf16", "f64"):
    cases.add("Sign", [(dtype, [nan, -3, -0.0, 0, inf])], [(dtype, [nan, -1, 0, 0, 1])], 13)
cases.add("Sign", [numbers(-5, 0, most)], [numbers(-1, 0, 1)], 13)

# With beta 0 no bias is read; zeros alone have the scale 1.
a, b = drawn(2, 3), drawn(3, 2)
cases.add("Gemm", [a, b, ("f32", [nan, inf])], [("f32", 2 * a[1].astype(np.float64) @ b[1])], 13,
          within="f32", alpha=2.0, beta=0.0)
cases.add("DynamicQuantizeLinear", [("f32", np.zeros(3))], [("u8", np.zeros(3)), ("f32", 1),
                                                            ("u8", 0)], 11)
cases.add("DynamicQuantizeLinear", [("f32", [-1, 0, 4])], [("u8", [0, 51, 255]),
                                                           ("f32", np.float32(5) / 255),
                                                           ("u8", 51)], 11)

# A diagonal that the running model knows.
for diagonal in (-5, -1, 0, 1, 4):
    for upper in (0, 1):
        y = np.triu(a[1], diagonal) if upper else np.tril(a[1], diagonal)
        cases.add("Trilu", [a, ("i64", diagonal)], [("f32", y)], 14, upper=upper)

# Before opset 11 the nearest element is the one before a place, and the one after it in a dim that
# shrinks.
five = np.arange(5.0).reshape(1, 1, 5)
for op, opset, scale, y in (("Resize", 10, 0.6, [0, 2, 4]), ("Resize", 10, 0.7, [0, 2, 3]),
                            ("Resize", 10, 1.5, [0, 0, 1, 2, 2, 3,
                                                 4]), ("Upsample", 9, 0.6, [0, 2, 4]),
                            ("Upsample", 9, 2, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4])):
    cases.add(op, [("f32", five), ("f32", [1, 1, scale])], [("f32", np.array(y).reshape(1, 1, -1))],
              opset, known=(1, ))

# Batch norms: by statistics of the batch, and with a channel for each element of an image.
image = drawn(3, 2, 4)
wide = image[1].astype(np.float64)
for spatial in (0, 1):
    axes, shape = ((0, 2), (2,)) if spatial else ((0,), (2, 4))
    scale, bias, mean = (drawn(*shape) for _ in range(3))
    variance = "f32", rounded(np.abs(random.standard_normal(shape)) + 0.5, "f32")
    column = [
        one[1].astype(np.float64).reshape(shape + (1, ) * spatial)
        for one in (scale, bias, mean, variance)
    ]
    now = wide.mean(axes), wide.var(axes)
    moved = [
        0.7 * old[1].astype(np.float64) + (1 - 0.7) * new for old, new in zip((mean, variance), now)
    ]
    tested = (wide - column[2]) / np.sqrt(column[3] + 1e-3) * column[0] + column[1]
    trained = (wide - wide.mean(axes, keepdims=True)
               ) / np.sqrt(wide.var(axes, keepdims=True) + 1e-3) * column[0] + column[1]
    given, results = [image, scale, bias, mean,
                      variance], [("f32", one) for one in (trained, *moved)]
    for opset in (1, 6, 7, 8):
        named = {
            "spatial": spatial, **({"is_test": 1} if opset < 7 else {}),
            **({"consumed_inputs": [0, 0, 0, 1, 1]} if opset == 1 else {})
        }
        cases.add("BatchNormalization", given, [("f32", tested)], opset, within="f32", epsilon=1e-3,
                  **named)
    cases.add("BatchNormalization", given, [*results, *(("f32", one) for one in now)], 7,
              within="f32", epsilon=1e-3, momentum=0.7, spatial=spatial)
    if spatial:
        cases.add("BatchNormalization", given, [("f32", tested)], 9, within="f32", epsilon=1e-3)
        for opset in (14, 15):
            cases.add("BatchNormalization", given, results, opset, within="f32", epsilon=1e-3,
                      momentum=0.7, training_mode=1)

# The forms of opset 1.
x = drawn(2, 3)
wide = x[1].astype(np.float64)
cases.add("Concat", [x, x], [("f32", np.concatenate([wide, wide], 1))], 1)
cases.add("Concat", [x, x], [("f32", np.concatenate([wide, wide], 0))], 1, axis=0)
cases.add("Pad", [x], [("f32", np.pad(wide, [(1, 0), (0, 2)], constant_values=7))], 1,
          paddings=[1, 0, 0, 2], value=7.0)
cases.add("Pad", [x], [("f32", np.pad(wide, [(0, 0), (1, 2)], "reflect"))], 1,
          paddings=[0, 1, 0, 2], mode="reflect")
cases.add("Reshape", [x], [("f32", wide.reshape(3, 2))], 1, shape=[-1, 2])
cases.add("Reshape", [x], [("f32", wide.reshape(2, 3, 1))], 1, shape=[0, -1, 1])
cases.add("Tile", [x, numbers(3), numbers(1)], [("f32", np.tile(wide, (1, 3)))], 1, known=(1, 2))
cases.add("Cast", [("f32", [1.5, -2.5])], [("i32", [1, -2])], 1, to="INT32")
cases.add("Selu", [("f32", [-1, 2])], [("f32", [1.0507 * 1.6732 * math.expm1(-1), 2 * 1.0507])], 1,
          within="f32")
cases.add("Split", [x, numbers(1, 2)], [("f32", wide[:, :1]), ("f32", wide[:, 1:])], 1, known=(1, ),
          axis=1)
cases.add("Upsample", [("f32", np.arange(4.0).reshape(1, 1, 2, 2))],
          [("f32", [[[[0, 0, 0, 1, 1, 1]] * 2 + [[2, 2, 2, 3, 3, 3]] * 2]])], 1, height_scale=2.0,
          width_scale=3.0)
cases.add("Upsample", [("f32", [[[[0, 4]]]])], [("f32", [[[[0, 2, 4, 4]]]])], 1, height_scale=1.0,
          width_scale=2.0, mode="bilinear")
cube = np.abs(image[1].astype(np.float64))**3
cases.add("LpPool", [image], [("f32", (cube[:, :, :3] + cube[:, :, 1:])**(1 / 3))], 1, within="f32",
          kernel_shape=[2], p=3.0)
cases.add("GlobalLpPool", [image], [("f32", cube.sum(2, keepdims=True)**(1 / 3))], 1, within="f32",
          p=3.0)
cases.add("Dropout", [x := ("f32", [1, 2])], [x, ("bool", [1, 1])], 10, ratio=0.3)
cases.add("Dropout", [x], [x, ("f32", [1, 1])], 7, ratio=0.3)
cases.add("Dropout", [x], [x, ("f32", [1, 1])], 1, ratio=0.3, is_test=1)

# The axis of a running sum that the data say.
wide = np.arange(24.0).reshape(2, 3, 4)
for axis in (0, 1, 2, -1, -3):
    for dtype, number in (("i64", axis), ("i32", [axis])):
        cases.add("CumSum", [("f32", wide), (dtype, number)], [("f32", wide.cumsum(axis))], 14)
    cases.add("CumSum", [("f32", wide), ("i64", axis)],
              [("f32", np.flip(np.flip(wide, axis).cumsum(axis), axis) - wide)], 14, exclusive=1,
              reverse=1)
cases.add("CumProd", [("f32", [[1, 2], [3, 4]]), ("i64", 0)], [("f32", [[1, 2], [3, 8]])], 26)
cases.add("CumSum", [("f32", [1, 2, 3]), ("i64", 0)], [("f32", [1, 3, 6])], 14)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# Activations at infinity, NaN, and where squares and exponentials overflow or vanish: what the
# formulas give in f64. A Gelu of minus infinity is 0, its limit, where the formula has minus
# infinity times 0. HardSwish overflows in f32 from a sixth of the largest number on.
erf = np.vectorize(math.erf)
ACTIVATIONS = [("Gelu", 20, {}, lambda x: np.where(x == -inf, 0, x / 2 *
                                                   (1 + erf(x / math.sqrt(2))))),
               ("Gelu", 20, {"approximate": "tanh"}, lambda x: x / 2 *
                (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))),
               ("Swish", 24, {}, lambda x: x * sigmoid(x)),
               ("Mish", 18, {}, lambda x: x * np.tanh(np.logaddexp(0, x))),
               ("Sigmoid", 13, {}, sigmoid),
               ("HardSwish", 14, {}, lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
               ("Softplus", 1, {}, lambda x: np.logaddexp(0, x)),
               ("Elu", 6, {"alpha": 2.0}, lambda x: np.where(x < 0, 2 * np.expm1(x), x)),
               ("Selu", 6, {"alpha": 1.5,
                            "gamma": 0.5}, lambda x: np.where(x < 0, 1.5 * np.expm1(x), x) / 2),
               ("Celu", 12, {"alpha": 2.0}, lambda x: np.where(x < 0, 2 * np.expm1(x / 2), x))]
for op, opset, named, formula in ACTIVATIONS:
    for dtype, groups in (("f32", [[3e38, -3e38, 1e37, -1e37],
                                   [1e-38, -1e-38]]), ("f64", [[1e300, -1e300], [1e-300, -1e-300]]),
                          ("f16", [[65504, -65504, 300, -300], [1e-4, -1e-4]])):
        for group in [[-inf, nan, inf, 1, -1], [88.8, -88.8, 20.5, -20.5, -104], *groups]:
            x = rounded(group, dtype).astype(np.float64)
            if op != "HardSwish" or dtype != "f32" or 3e38 not in group:
                with np.errstate(all="ignore"):
                    cases.add(op, [(dtype, x)], [(dtype, formula(x))], opset, within=dtype, **named)

# A step of each network from zeros.
for op, gates, opset in (("RNN", 1, 1), ("GRU", 3, 1), ("GRU", 3, 3), ("LSTM", 4, 1)):
    x, w, r = drawn(1, 2, 3), drawn(1, gates * 2, 3), drawn(1, gates * 2, 2)
    parts = np.split(x[1][0].astype(np.float64) @ w[1][0].astype(np.float64).T, gates, 1)
    if op == "RNN":
        h = np.tanh(parts[0])
    elif op == "GRU":
        h = (1 - sigmoid(parts[0])) * np.tanh(parts[2])
    else:
        h = sigmoid(parts[1]) * np.tanh(sigmoid(parts[0]) * np.tanh(parts[3]))
    named = {"output_sequence": 1} if opset == 1 else {"linear_before_reset": 1}
    cases.add(op, [x, w, r], [("f32", h.reshape(1, 1, 2, 2)), ("f32", h.reshape(1, 2, 2))], opset,
              known=(1, 2), within="f32", hidden_size=2, **named)

sys.exit(cases.run(sys.argv[1]))
