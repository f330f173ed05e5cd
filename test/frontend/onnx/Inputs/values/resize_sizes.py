"""Resizes of dims without a number, by any factor and to sizes that a run says, against the
standard's formulas. resize_sizes.py FOLDER; the last line is "N passed, N failed"."""
import math
import os
import sys

import numpy as np

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from onnx_writer import node, tensor
from resize_reference import resized
from sized_cases import case, finish, x

POSITIONS = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
             "asymmetric")
FORMS = [("nearest", {"nearest_mode": rounding}, {"rounding": rounding})
         for rounding in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")]
FORMS += [("linear", {}, {}), ("cubic", {}, {}),
          ("cubic", {"exclude_outside": 1, "cubic_coeff_a": -0.5}, {"excludes": True, "a": -0.5})]


def forms(inputs, position, given=FORMS):
    """A Resize for each form, joined along dim 1."""
    nodes = [
        node("Resize", inputs, f"y{number}", mode=mode, coordinate_transformation_mode=position,
             **named) for number, (mode, named, _) in enumerate(given)
    ]
    return nodes + [
        node("Concat", ", ".join(f"y{number}" for number in range(len(given))), "y", axis=1)
    ]


def rows(v, length, scale, position, given=FORMS):
    return np.concatenate([
        resized(v.ravel().astype(np.float64), length, scale, mode, position, **meant)
        for mode, _, meant in given
    ], 1)


def length_by(size, scale):
    """The size of a dim by a factor: the product is one of f32, so that 10 by 0.9 are 9."""
    return math.floor(np.float32(size) * np.float32(scale))


for position in POSITIONS:
    given = FORMS if position == "half_pixel" else FORMS[::4]
    for scale in (0.3, 0.9, 1.7) if position == "half_pixel" else (0.3, 1.7):
        factor = float(np.float32(scale))
        case(f"{position}_{scale}", forms("x, , scales", position, given), [x(1, 1, "N")],
             [tensor("scales", "f32", [3], [1.0, 1.0, scale])],
             lambda v, s=factor, p=position, g=given: rows(v, length_by(v.size, s), s, p, g),
             [[(1, 1, n)] for n in (4, 10, 17)], opset=19)
smooth = [(mode, {"antialias": 1}, {"antialias": True}) for mode in ("linear", "cubic")]
case("antialias", forms("x, , scales", "half_pixel",
                        smooth), [x(1, 1, "N")], [tensor("scales", "f32", [3], [1.0, 1.0, 0.3])],
     lambda v: rows(v, length_by(v.size, 0.3), float(np.float32(0.3)), "half_pixel", smooth),
     [[(1, 1, n)] for n in (4, 10, 17)], opset=19)
for position in POSITIONS:
    given = FORMS if position == "half_pixel" else FORMS[::4]
    # PyTorch takes the middle for a single element, and pytorch_half_pixel the first: which is
    # meant, the size at import decides.
    sizes = [(1, 5), (7, 7), (10, 4), (4, 11)] + [(5, 1)] * (position != "pytorch_half_pixel")
    case(f"{position}_size", [node("Shape", "v", "sizes"), *forms("x, , , sizes", position, given)],
         [x(1, 1, "N"), x(1, 1, "M", name="v")], [],
         lambda v, w, p=position, g=given: rows(v, w.size, w.size / v.size, p, g),
         [[(1, 1, n), (1, 1, m)] for n, m in sizes], opset=19)
# A size of 0, where a factor leaves nothing; powers of 1/2.
case(
    "nothing", forms("x, , scales", "half_pixel"), [x(1, 1, "N")],
    [tensor("scales", "f32", [3], [1.0, 1.0, 0.3])], lambda v: np.zeros(
        (1, len(FORMS), length_by(v.size, 0.3)))
    if v.size < 4 else rows(v, length_by(v.size, 0.3), float(np.float32(0.3)), "half_pixel"),
    [[(1, 1, 3)], [(1, 1, 4)]], opset=19)
case("quarter", forms("x, , scales", "half_pixel"), [x(1, 1, "N")],
     [tensor("scales", "f32", [3], [1.0, 1.0, 0.25])],
     lambda v: rows(v, v.size // 4, 0.25, "half_pixel"), [[(1, 1, 4)], [(1, 1, 11)]], opset=19)
finish()
