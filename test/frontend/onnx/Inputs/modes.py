"""Modes, dtypes and sizes of ONNX's ops that few models use. modes.py FOLDER; the last line is "N
passed, N failed"."""
import math
import sys

import numpy as np
from op_values import Cases, rounded
from values.resize_reference import resized

random = np.random.default_rng(8)
cases = Cases()
inf = math.inf


def numbers(*values):
    return "i64", np.array(values, np.int64)


def drawn(*shape, dtype="f32"):
    return dtype, rounded(random.standard_normal(shape), dtype)


# Range: as many numbers as max(ceil((limit - start) / delta), 0) gives in double: the f32 numbers
# 0.6 and 0.2 give a little more than 3, the f16 numbers 1 and 0.1 a little more than 10.
for dtype, opset, start, limit, delta, count in (("f32", 11, 0, 0.6, 0.2,
                                                  4), ("f32", 11, 0, 0.3, 0.1,
                                                       4), ("f32", 11, 0, 0.7, 0.1,
                                                            7), ("f32", 11, 0, 1, 0.3, 4),
                                                 ("f32", 11, 5, 0, 1, 0), ("f32", 11, 5, 0, -2, 3),
                                                 ("f32", 27, 0, 0.6, 0.2,
                                                  4), ("f64", 11, 0, 1, 0.1,
                                                       10), ("f16", 11, 0, 1, 0.1,
                                                             11), ("f16", 27, 0, 1, 0.1,
                                                                   11), ("f16", 27, 3, 3, 1, 0),
                                                 ("bf16", 11, 1, 2, 0.3,
                                                  4), ("bf16", 27, 2, 0, -0.5,
                                                       4), ("i32", 11, 10, 0, -3, 4), ("i64", 11, 5,
                                                                                       0, 1, 0)):
    bounds = [(dtype, rounded(number, dtype)) for number in (start, limit, delta)]
    first, _, step = [bound[1].astype(np.float64) for bound in bounds]
    for known in ((0, 1, 2), ()) if dtype in ("f32", "f64") and opset == 11 else ((0, 1, 2),):
        cases.add("Range", bounds, [(dtype, first + np.arange(count) * step)], opset, known=known,
                  within=dtype if dtype[0] != "i" else None)

# Resize.
row = drawn(1, 1, 5)
elements = row[1].ravel().astype(np.float64)
POSITIONS = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
             "asymmetric", "tf_crop_and_resize")
for position in POSITIONS + ("tf_half_pixel_for_nn",):
    opset = 11 if position == "tf_half_pixel_for_nn" else 19
    for length in (1, 2, 8):
        crops = position == "tf_crop_and_resize"
        region = ("f32",
                  np.float32([0, 0, 0.25, 1, 1, 1.25
                              ])) if crops else ("f32",
                                                 np.zeros(0, np.float32)) if opset == 11 else None
        scales = ("f32", np.zeros(0, np.float32)) if opset == 11 else None
        forms = [("nearest", {"nearest_mode": rounding}, {"rounding": rounding})
                 for rounding in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")]
        forms += [(mode, {}, {}) for mode in ("linear", "cubic")]
        forms += [("cubic", {"cubic_coeff_a": -0.5}, {"a": -0.5}),
                  ("cubic", {"exclude_outside": 1}, {"excludes": True})]
        if opset > 11:
            forms += [(mode, {"antialias": 1}, {"antialias": True}) for mode in ("linear", "cubic")]
        for mode, named, meant in forms:
            if crops:
                named = {**named, "extrapolation_value": 9.0}
            y = resized(elements, length, length / 5, mode, position,
                        region=(0.25, 1.25) if crops else None, **meant)
            cases.add("Resize", [row, region, scales, numbers(1, 1, length)], [("f32", y)], opset,
                      known=(1, 2, 3), within="f32", mode=mode,
                      coordinate_transformation_mode=position, **named)
# By a factor that leaves the size as it is, and by one that gives a size between two numbers.
for scale, length in ((1.125, 5), (0.5, 2), (0.75, 3)):
    for position in ("half_pixel", "half_pixel_symmetric", "asymmetric", "pytorch_half_pixel"):
        for mode in ("nearest", "linear", "cubic"):
            cases.add("Resize", [row, None, ("f32", [1, 1, scale])],
                      [("f32", resized(elements, length, scale, mode, position))], 19, known=(2, ),
                      within="f32", mode=mode, coordinate_transformation_mode=position)
# One factor for both dims: 1.4 and 1.5 of [4, 5], rounded to the nearest size.
image = drawn(4, 5)
for policy, scale in (("not_larger", 1.5), ("not_smaller", 8 / 5)):
    for position in ("half_pixel", "half_pixel_symmetric", "asymmetric"):
        for mode in ("nearest", "linear", "cubic"):
            sizes = [math.floor(size * scale + 0.5) for size in (4, 5)]
            y = np.stack([
                resized(line, sizes[0], scale, mode, position).ravel()
                for line in image[1].astype(np.float64).T
            ], 1)
            y = np.stack([resized(line, sizes[1], scale, mode, position).ravel() for line in y])
            cases.add("Resize", [image, None, None, numbers(6, 8)], [("f32", y)], 19, known=(3, ),
                      within="f32", mode=mode, keep_aspect_ratio_policy=policy,
                      coordinate_transformation_mode=position)
whole = ("i32", np.array([[[3, 10, -7, 4]]]))
cases.add("Resize", [whole, None, None, numbers(1, 1, 7)],
          [("i32", np.trunc(resized(whole[1].ravel(), 7, 7 / 4, "linear", "half_pixel")))], 19,
          known=(3, ), mode="linear")

# Pads that take elements away where others are repeated, and that repeat a dim more than once.
grid = drawn(3, 4)
for mode, name in (("reflect", "reflect"), ("edge", "edge"), ("wrap", "wrap")):
    for pads in ((0, -1, 2, 0), (-1, -1, 1, 2), (-1, 0, -1, 1), (1, 2, 2, 3)):
        part = grid[1][max(-pads[0], 0):3 + min(pads[2], 0), max(-pads[1], 0):4 + min(pads[3], 0)]
        y = np.pad(part, [(max(pads[0], 0), max(pads[2], 0)), (max(pads[1], 0), max(pads[3], 0))],
                   name)
        cases.add("Pad", [grid, numbers(*pads)], [("f32", y)], 21, known=(1,), mode=mode)
cases.add("Pad", [grid, numbers(0, 7, 4, 9)], [("f32", np.pad(grid[1], [(0, 4), (7, 9)], "wrap"))],
          21, known=(1, ), mode="wrap")
cases.add("Pad", [grid, numbers(5, 0, 4, 9)],
          [("f32", np.pad(grid[1], [(5, 4), (0, 9)], "reflect"))], 21, known=(1, ), mode="reflect")

# A depth beyond the dtype of the positions; what is not above alpha is 0, NaN too; integers stay
# integers.
places = np.array([0, -1, 127, -128])
hot = np.arange(200)[:, None] == np.where(places < 0, places + 200, places)
cases.add("OneHot", [("i8", places), numbers(200), ("f32", [0, 1])], [("f32", hot)], 11,
          known=(1, ), axis=0)
cases.add("ThresholdedRelu", [("f32", [math.nan, 2, 1, -inf])], [("f32", [0, 2, 0, 0])], 22,
          alpha=1.0)
for dtype in ("i8", "u8", "i64"):
    x = np.array([1, 5, 2, 9]) if dtype == "u8" else np.array([1, 5, -2, -9])
    y = np.where(x > 2.5, x - 1.5, np.where(x < -2.5, x + 1.5, 0))
    cases.add("Shrink", [(dtype, x)], [(dtype, np.trunc(y))], 9, lambd=2.5, bias=1.5)

# A part without elements.
cases.add("Split", [grid, numbers(0, 4)], [("f32", grid[1][:, :0]), ("f32", grid[1])], 13,
          known=(1, ), axis=1)

# One spatial dim with pads of two widths.
signal, kernel = drawn(1, 2, 6), drawn(3, 2, 2)
wide = np.pad(signal[1], [(0, 0), (0, 0), (0, 1)]).astype(np.float64)
y = np.stack([np.einsum("nck,fck->nf", wide[:, :, at:at + 2], kernel[1]) for at in range(0, 6, 2)],
             -1)
cases.add("Conv", [signal, kernel], [("f32", y)], 22, within="f32", pads=[0, 1], strides=[2])
cases.add("ConvInteger", [("u8", [[[1, 2, 3]]]), ("u8", [[[2, 1]]])], [("i32", [[[4, 7, 6]]])], 10,
          auto_pad="SAME_UPPER")

# Positions of the largest elements, counted in x whatever its pads are.
x = np.random.default_rng(9).permutation(60).reshape(2, 1, 5, 6).astype(np.float32)
for pads in ((0, 1, 1, 0), (2, 2, 0, 1)):
    for order in (0, 1):
        padded = np.pad(x, [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])],
                        constant_values=-inf)
        rows, columns = (padded.shape[2] - 3) // 2 + 1, padded.shape[3] - 2
        best, found = np.zeros((2, 1, rows, columns)), np.zeros((2, 1, rows, columns), np.int64)
        for n, _, i, j in np.ndindex(best.shape):
            window = padded[n, 0, 2 * i:2 * i + 3, j:j + 3]
            k, l = np.unravel_index(window.argmax(), (3, 3))
            k, l = 2 * i + k - pads[0], j + l - pads[1]
            best[n, 0, i, j], found[n, 0, i,
                                    j] = window.max(), 30 * n + (l * 5 + k if order else k * 6 + l)
        cases.add("MaxPool", [("f32", x)], [("f32", best), ("i64", found)], 22, kernel_shape=[3, 3],
                  strides=[2, 1], pads=list(pads), storage_order=order)
cases.add("MaxPool", [("f32", [[[3, 1, 4, 1, 5]]])], [("f32", [[[3, 4, 5]]]),
                                                      ("i64", [[[0, 2, 4]]])], 22, kernel_shape=[2],
          strides=[2], pads=[1, 0])

# A complex signal.
signal, window = drawn(2, 12, 2), drawn(4)
z = signal[1][..., 0] + 1j * signal[1][..., 1].astype(np.float64)
frames = np.stack([np.fft.fft(z[:, at:at + 4] * window[1]) for at in range(0, 9, 3)], 1)
cases.add("STFT", [signal, numbers(3), window], [("f32", np.stack([frames.real, frames.imag], -1))],
          17, known=(1, ), within="f32", onesided=0)

sys.exit(cases.run(sys.argv[1]))
