"""Images and sequences at other sizes. PyTorch computes source positions in the dtype of the
elements, f32 of 16-bit floats: so it gets f32 here, and f64 only where the case is f64."""
import torch
from torch.nn import functional as F

import accuracy as acc
from rows.row import BOUNDARY, row


def resized(mode, dtype="f32", **args):
    return lambda x: F.interpolate(x if dtype == "f64" else x.float(), mode=mode, **args).double()


def weighed(y, inputs, dtype):
    """A position is rounded a few times, at the size of the dim; so are four products. All scale
    with the elements."""
    x, unit = inputs[0], acc.unit(acc.compute(dtype))
    return (4 * max(x.shape[2:]) + 8) * unit * float(x.abs().max()) + acc.stored(dtype, y)


def attrs(mode, scale_factor=None, size=None, align_corners=None):
    parts = [f'mode = "{mode}"']
    factors = scale_factor if isinstance(scale_factor, tuple) else (scale_factor,)
    parts += [f"scale_factor = array<f64: {', '.join(f'{factor:e}' for factor in factors)}>"
              ] if scale_factor else []
    parts += [f"size = affine_map<() -> ({', '.join(map(str, size))})>"] if size else []
    parts += [f"align_corners = {str(align_corners).lower()}"] if align_corners is not None else []
    return f"{{{', '.join(parts)}}}"


BATCH = BOUNDARY[1:8]
for mode in ("nearest", "nearest-exact"):
    for result, args in (((6, 10), {"scale_factor": 2.0}), ((9, 15), {"scale_factor": 3.0}),
                         ((7, 4), {"size": (7, 4)}), ((3, 8), {"size": (3, 8)}),
                         ((4, 7), {"scale_factor": 1.4}), ((1, 2), {"scale_factor": 0.5}),
                         ((9, 5), {"scale_factor": (3.0, 1.0)}), ((4, 12),
                                                                  {"scale_factor": (1.4, 2.5)})):
        note = ", ".join(f"{name} {value}" for name, value in args.items())
        row("interpolate",
            ("f32", "f16") if result == (6, 10) else ("f32", ), [("N", 3, 3, 5)], ("N", 3, *result),
            resized(mode, **args), attrs=attrs(mode, **args), sizes=BATCH, note=f"{mode}, {note}")
    row("interpolate", ("f32", ), [(2, 3, "N")], (2, 3, "2*N"), resized(mode, scale_factor=2.0),
        attrs=attrs(mode, 2.0), sizes=BOUNDARY[1:], note=f"{mode}, of N")
    row("interpolate", ("f32", ), [(2, 3, "N")], (2, 3, 49), resized(mode, size=49),
        attrs=attrs(mode, size=(49, )), sizes=BOUNDARY[1:], note=f"{mode}, N to 49")
row("interpolate", ("i8", "i64"), [("N", 3, 3, 5)], ("N", 3, 6, 10),
    lambda x: x.repeat_interleave(2, 2).repeat_interleave(2, 3), attrs=attrs("nearest", 2.0),
    sizes=BATCH, note="integers")
row("interpolate", ("f64", ), [("N", 3, 3, 5)], ("N", 3, 7, 49),
    resized("nearest", "f64", size=(7, 49)), attrs=attrs("nearest", size=(7, 49)), sizes=BATCH,
    note="nearest in double")
for align in (False, True):
    for result, args in (((6, 10), {"scale_factor": 2.0}), ((7, 4), {"size": (7, 4)
                                                                     }), ((1, 9), {"size": (1, 9)}),
                         ((4, 7), {"scale_factor": 1.4}), ((9, 2), {"scale_factor": (3.0, 0.5)})):
        note = ", ".join(f"{name} {value}" for name, value in args.items())
        for dtype in ("f32", "f16", "f64") if result == (6, 10) else ("f32",):
            row("interpolate", (dtype, ), [("N", 3, 3, 5)], ("N", 3, *result),
                resized("bilinear", dtype, align_corners=align,
                        **args), weighed, attrs=attrs("bilinear", align_corners=align, **args),
                sizes=BATCH, values="normal", note=f"bilinear, {note}{', corners aligned' * align}")
    for result, args in (((6, 10), {"scale_factor": 2.0}), ((7, 4), {"size": (7, 4)}),
                         ((1, 9), {"size": (1, 9)}), ((4, 7), {"scale_factor": 1.4})):
        note = ", ".join(f"{name} {value}" for name, value in args.items())
        for dtype in ("f32", "f16", "f64") if result == (6, 10) else ("f32",):
            row("interpolate", (dtype, ), [("N", 3, 3, 5)], ("N", 3, *result),
                resized("bicubic", dtype, align_corners=align,
                        **args), lambda y, inputs, dtype: 16 * weighed(y, inputs, dtype),
                attrs=attrs("bicubic", align_corners=align, **args), sizes=BATCH, values="normal",
                note=f"bicubic, {note}{', corners aligned' * align}")
    row("interpolate", ("f32", ), [(2, 3, "N", 2)], (2, 3, "2*N", 4),
        resized("bicubic", scale_factor=2.0,
                align_corners=align), lambda y, inputs, dtype: 16 * weighed(y, inputs, dtype),
        attrs=attrs("bicubic", 2.0, align_corners=align), sizes=BOUNDARY[1:], values="normal",
        note=f"bicubic, of N{', corners aligned' * align}")
    row("interpolate", ("f32", ), [("N", 2, 3, 2, 4)], ("N", 2, 6, 4, 8),
        resized("trilinear", scale_factor=2.0,
                align_corners=align), lambda y, inputs, dtype: 2 * weighed(y, inputs, dtype),
        attrs=attrs("trilinear", 2.0, align_corners=align), sizes=BATCH[:3], values="normal",
        note=f"trilinear{', corners aligned' * align}")
    row("interpolate", ("f32", ), [(2, 3, "N")], (2, 3, "2*N"),
        resized("linear", scale_factor=2.0,
                align_corners=align), weighed, attrs=attrs("linear", 2.0, align_corners=align),
        sizes=BOUNDARY[1:], values="normal", note=f"linear, of N{', corners aligned' * align}")
