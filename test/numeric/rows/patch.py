"""Patches of images, regions of them, filters between resolutions, products along a dim,
determinants. What PyTorch 1.13 has no op for (torchvision's, StyleGAN's) is computed here in NumPy,
in double."""
import numpy as np
import torch
from torch.nn import functional as F

import accuracy as acc
from rows.row import BOUNDARY, FLOATS, POSITIVE, row

FEW = BOUNDARY[1:6]


def numbers(values):
    return f"array<i64: {', '.join(map(str, values))}>"


def window(kernel, dilation, padding, stride):
    parts = [f"kernel_size = {numbers(kernel)}"] if kernel else []
    return ", ".join(parts + [
        f"dilation = {numbers(dilation)}", f"padding = {numbers(padding)}",
        f"stride = {numbers(stride)}"
    ])


#===- unfold, fold ===#

WINDOWS = (((2, 2), (1, 1), (0, 0), (2, 2), (4, 3)), ((3, 2), (1, 2), (1, 0), (1, 1), (8, 5)),
           ((3, 3), (2, 1), (2, 1), (2, 3), (4, 3)))
for kernel, dilation, padding, stride, places in WINDOWS:
    attrs = f"{{{window(kernel, dilation, padding, stride)}}}"
    args = {"dilation": dilation, "padding": padding, "stride": stride}
    dims, taps, count = (8, 7), kernel[0] * kernel[1], places[0] * places[1]
    note = f"window {kernel}, {', '.join(f'{name} {value}' for name, value in args.items())}"
    unfold = lambda x, kernel=kernel, args=args: F.unfold(x, kernel, **args)
    fold = lambda x, kernel=kernel, args=args: F.fold(x, (8, 7), kernel, **args)
    row("unfold", ("f32", "f16"), [("N", 3, *dims)], ("N", 3 * taps, count), unfold, attrs=attrs,
        sizes=FEW, note=note)
    row("patches", ("f32", "f64"), [("N", 3, *dims)], ("N", 3, *kernel, *places),
        lambda x, f=unfold, shape=(3, *kernel, *places): f(x).reshape(-1, *shape), attrs=attrs,
        sizes=FEW, note=note)
    sized = f"{{output_size = affine_map<() -> (8, 7)>, {window(kernel, dilation, padding, stride)}}}"
    row("fold", ("f32", "f16"), [("N", 3 * taps, count)], ("N", 3, 8, 7), fold,
        acc.contraction(taps, fold), attrs=sized, sizes=FEW, values="normal", note=note)
    added = lambda x, f=fold, taps=taps, count=count: f(x.reshape(-1, 3 * taps, count))
    row(
        "overlap_add", FLOATS, [("N", 3, *kernel, *places)], ("N", 3, 8, 7), added,
        acc.contraction(taps, added), sizes=FEW, values="normal",
        attrs=f"{{output_size = affine_map<() -> (8, 7)>, {window((), dilation, padding, stride)}}}",
        note=note)
row("unfold", ("f32", ), [(2, 3, "N", 6)], (2, 12, "3*(N floordiv 2)"),
    lambda x: F.unfold(x, 2, stride=2), attrs=f"{{{window((2, 2), (1, 1), (0, 0), (2, 2))}}}",
    sizes=POSITIVE[1:10], note="of N")
function = lambda x: F.fold(x, (x.shape[2] // 3 * 2, 6), 2, stride=2)
row(
    "fold", ("f32", ), [(2, 12, "3*N")], (2, 3, "2*N", 6), function, acc.contraction(4, function),
    values="normal", sizes=POSITIVE[:10],
    attrs=f"{{output_size = affine_map<()[s0] -> (2*s0, 6)>, {window((2, 2), (1, 1), (0, 0), (2, 2))}}}",
    note="to N")
row(
    "overlap_add", ("i32", ), [("N", 2, 3, 4)], ("N", 2, 9),
    lambda x: F.fold(x.double().reshape(-1, 6, 4), (9, 1),
                     (3, 1), stride=2).reshape(-1, 2, 9).long(),
    attrs=f"{{output_size = affine_map<() -> (9)>, {window((), (1,), (0,), (2,))}}}",
    values="whole", sizes=FEW, note="a line of integers")

#===- max_unpool ===#


def unpooled(size):
    """PyTorch's, but with the last of equal indices, and those outside left out."""
    def function(x, i):
        flat = torch.zeros(*x.shape[:2], int(np.prod(size(x))), dtype=x.dtype)
        for n in range(x.shape[0]):
            for c in range(x.shape[1]):
                for value, at in zip(x[n, c].reshape(-1), i[n, c].reshape(-1)):
                    if 0 <= at < flat.shape[2]:
                        flat[n, c, at] = value
        return flat.reshape(*x.shape[:2], *size(x))
    return function


row("max_unpool2d", ("f32", "f16", "i32"), [("N", 2, 3, 2), ("N", 2, 3, 2)], ("N", 2, 6, 4),
    unpooled(lambda x: (6, 4)), attrs="{kernel_size = array<i64: 2, 2>}",
    kinds={1: ("i64", range(-1, 25))}, sizes=FEW, values="numbers")
row("max_unpool2d", ("f32", ), [("N", 2, 3, 2), ("N", 2, 3, 2)], ("N", 2, 7, 5),
    unpooled(lambda x: (7, 5)),
    attrs="{kernel_size = array<i64: 2, 2>, output_size = affine_map<() -> (7, 5)>}",
    kinds={1: ("i64", range(35))}, sizes=FEW, note="sized")
row("max_unpool1d", ("f32", ), [(2, 3, "N"), (2, 3, "N")], (2, 3, "2*N - 1"),
    unpooled(lambda x: (2 * x.shape[2] - 1, )), sizes=POSITIVE[1:8],
    attrs="{kernel_size = array<i64: 3>, stride = array<i64: 2>, padding = array<i64: 1>}",
    kinds={1: ("i64", range(3))})
row("max_unpool3d", ("f32", ), [("N", 2, 2, 2, 2), ("N", 2, 2, 2, 2)], ("N", 2, 4, 4, 4),
    unpooled(lambda x: (4, 4, 4)), attrs="{kernel_size = array<i64: 2, 2, 2>}",
    kinds={1: ("i64", range(64))}, sizes=FEW[:3])

#===- roi_align, roi_pool ===#


def aligned(ph, pw, scale=1.0, ratio=-1, half=False, mode="avg"):
    """torchvision.ops.roi_align, ONNX's RoiAlign."""
    def function(x, boxes):
        x, boxes = x.numpy(), boxes.numpy()
        n, channels, h, w = x.shape
        y = np.zeros((len(boxes), channels, ph, pw))
        for k, box in enumerate(boxes):
            begin = [box[2] * scale - half * 0.5, box[1] * scale - half * 0.5]
            length = [
                box[4] * scale - half * 0.5 - begin[0], box[3] * scale - half * 0.5 - begin[1]
            ]
            length = length if half else [max(size, 1.0) for size in length]
            bins = [length[0] / ph, length[1] / pw]
            grid = [ratio if ratio > 0 else int(np.ceil(size)) for size in bins]
            if mode == "max" and min(grid) > 0:
                y[k] = -np.inf
            for i, j, s, t in np.ndindex(ph, pw, max(grid[0], 0), max(grid[1], 0)):
                at = begin[0] + (i + (s + 0.5) / grid[0]) * bins[0], begin[1] + (
                    j + (t + 0.5) / grid[1]) * bins[1]
                taps = np.zeros((4, channels))
                if -1 <= at[0] <= h and -1 <= at[1] <= w:
                    ends = []
                    for place, size in zip(at, (h, w)):
                        low = min(int(max(place, 0)), size - 1)
                        ends.append(
                            (low, min(low + 1,
                                      size - 1), max(place, 0) - low if low < size - 1 else 0.0))
                    (a, b, down), (c, d, right) = ends
                    image = x[int(box[0])]
                    taps = np.array([(1 - down) * (1 - right) * image[:, a, c],
                                     (1 - down) * right * image[:, a, d], down *
                                     (1 - right) * image[:, b, c], down * right * image[:, b, d]])
                if mode == "max":
                    y[k, :, i, j] = np.maximum(y[k, :, i, j], taps.max(0))
                else:
                    y[k, :, i, j] += taps.sum(0) / (grid[0] * grid[1])
        return torch.from_numpy(y)
    return function


def weighed(count):
    """A place is rounded a few times, at the size of the image; so are its shares and the sum of
    `count` points."""
    def bound(y, inputs, dtype):
        x, boxes = inputs[:2]
        size = float(x.abs().max()) if x.numel() else 0.0
        return (8 * max(x.shape[2:]) + count + 8) * acc.unit(
            acc.compute(dtype)) * size + acc.stored(dtype, y)
    return bound


# Box corners that lie inside, across the edges, and beyond; no place is a tie.
BOXES = [0.0, 1.0, 1.3, 0.7]
for ratio, half, mode, scale, note in ((2, False, "avg", 1.0, "two points"),
                                       (2, True, "avg", 4.0, "aligned"), (-1, False, "avg", 3.0,
                                                                          "as many as fit"),
                                       (0, True, "avg", 5.5, "as many as fit, aligned"),
                                       (3, True, "max", 5.5, "largest"),
                                       (-1, False, "max", 3.0, "largest of as many as fit")):
    attrs = (f'{{output_size = array<i64: 3, 2>, sampling_ratio = {ratio} : i64, aligned = {str(half).lower()}, mode = "{mode}", '
             f"spatial_scale = {scale:e} : f64}}")
    function = aligned(3, 2, scale, ratio, half, mode)
    for dtype in ("f32", "f16", "f64") if note in ("two points", "largest") else ("f32",):
        row("roi_align", (dtype, ), [(2, 3, 8, 9), ("N", 5)], ("N", 3, 3, 2), function, weighed(9),
            attrs=attrs, kinds={1: (dtype, BOXES)}, values="normal", sizes=FEW, note=note)
    # Channels in vectors, and some that are left over.
    for channels in (16, 21):
        row("roi_align", ("f32", ), [(2, channels, 8, 9), ("N", 5)], ("N", channels, 3, 2),
            function, weighed(9), attrs=attrs, kinds={1: ("f32", BOXES)}, values="normal",
            sizes=BOUNDARY[:10:3] + (40, ), note=f"{note}, {channels} channels")
row("roi_align", ("f32", ), [(2, 3, "N", 9), (4, 5)], (4, 3, 3, 2), aligned(3, 2, 3.0, -1),
    weighed(60), sizes=POSITIVE[:8],
    attrs="{output_size = array<i64: 3, 2>, spatial_scale = 3.0 : f64}", kinds={1: ("f32", BOXES)},
    values="normal", note="of N")
for ratio, scale in ((-1, 1.0), (2, 4.0)):
    row(
        "roi_align", ("f32", ), [(2, 17, 1, 1), ("N", 5)], ("N", 17, 3, 2),
        aligned(3, 2, scale, ratio), weighed(9), sizes=FEW, values="normal",
        attrs=f"{{output_size = array<i64: 3, 2>, sampling_ratio = {ratio} : i64, spatial_scale = {scale:e} : f64}}",
        kinds={1: ("f32", [0.0, 1.0, -0.93, 0.41])}, note=f"one pixel, {ratio} points")
# Regions many times as large as the image: of each bin only some points meet it.
for mode, half in (("avg", False), ("avg", True), ("max", False)):
    for channels in (3, 16):
        row(
            "roi_align", ("f32", ), [(2, channels, 8, 9), (4, 5)], (4, channels, 3, 2),
            aligned(3, 2, 25.0, -1, half, mode), weighed(400),
            attrs=f'{{output_size = array<i64: 3, 2>, spatial_scale = 25.0 : f64, aligned = {str(half).lower()}, mode = "{mode}"}}',
            kinds={1: ("f32", BOXES)}, values="normal",
            note=f"regions beyond the image, {mode}, aligned {half}, {channels} channels")


def pooled(ph, pw, scale):
    """torchvision.ops.roi_pool, the edges of bins in whole numbers."""
    def function(x, boxes):
        h, w = x.shape[2:]
        y = torch.zeros(len(boxes), x.shape[1], ph, pw, dtype=torch.float64)
        for k, box in enumerate(boxes.numpy()):
            x1, y1, x2, y2 = (int(np.sign(v) * np.floor(abs(v) + 0.5)) for v in box[1:] * scale)
            tall, wide = max(y2 - y1 + 1, 1), max(x2 - x1 + 1, 1)
            for i, j in np.ndindex(ph, pw):
                a, b = np.clip([y1 + i * tall // ph, y1 - (-(i + 1) * tall // ph)], 0, h)
                c, d = np.clip([x1 + j * wide // pw, x1 - (-(j + 1) * wide // pw)], 0, w)
                if a < b and c < d:
                    y[k, :, i, j] = x[int(box[0]), :, a:b, c:d].amax((1, 2))
        return y
    return function


for dtype, scale in (("f32", 1.0), ("f32", 4.0), ("f16", 4.0), ("f32", 7.0)):
    row("roi_pool", (dtype, ), [(2, 3, 8, 9), ("N", 5)], ("N", 3, 3, 2), pooled(3, 2, scale),
        values="numbers", sizes=FEW, note=f"scale {scale}",
        attrs=f"{{output_size = array<i64: 3, 2>, spatial_scale = {scale:e} : f64}}",
        kinds={1: (dtype, [0.0, 1.0, 1.25, -0.75])})

# Channels in vectors; regions beyond the image, in images of a pixel too.
for channels, size, scale in ((16, (8, 9), 4.0), (21, (8, 9), 9.0), (17, (1, 1), 4.0)):
    row("roi_pool", ("f32", ), [(2, channels, *size), ("N", 5)], ("N", channels, 3, 2),
        pooled(3, 2, scale), values="numbers", sizes=BOUNDARY[:10:3] + (40, ),
        note=f"{channels} channels of {size}",
        attrs=f"{{output_size = array<i64: 3, 2>, spatial_scale = {scale:e} : f64}}",
        kinds={1: ("f32", [0.0, 1.0, 1.25, -0.75])})

#===- grid_sample ===#

# Places inside, in the outermost half of an element, and beyond; none is a tie.
PLACES = [-0.93, -0.37, 0.11, 0.58, 0.97, 1.3, -1.7, 3.1]


def sampled(mode, padding, aligns):
    def function(x, grid):
        if x.dim() == 3:  # PyTorch has it of two dims and of three
            points = torch.stack((grid[..., 0], torch.zeros_like(grid[..., 0])), -1)
            return sampled(mode, padding, aligns)(x[:, :, None], points[:, None])[:, :, 0]
        return F.grid_sample(x.double(), grid.double(), mode, padding,
                             aligns).to(torch.float64 if x.is_floating_point() else x.dtype)
    return function


def sampled_bound(mode):
    """As of roi_align; a cubic rises faster, and sums more."""
    return lambda y, inputs, dtype: (0.0 if mode == "nearest" else 16
                                     if mode == "bicubic" else 2) * weighed(8)(y, inputs, dtype)


for mode in ("bilinear", "nearest", "bicubic"):
    for padding in ("zeros", "border", "reflection"):
        for aligns in (False, True):
            attrs = f'{{mode = "{mode}", padding_mode = "{padding}", align_corners = {str(aligns).lower()}}}'
            function, note = sampled(mode, padding,
                                     aligns), f"{mode}, {padding}{', corners aligned' * aligns}"
            shapes = [("N", 3, 6, 7), ("N", 4, 5, 2)], ("N", 3, 4, 5)
            for dtype in ("f32", "f16", "f64") if padding == "border" else ("f32",):
                row("grid_sample", (dtype, ), *shapes, function, sampled_bound(mode), attrs=attrs,
                    kinds={1: (dtype, PLACES)}, values="normal", sizes=FEW, note=note)
            # Sizes that come with the inputs, a pixel of them, and channels in vectors.
            row("grid_sample", ("f32", ), [(2, 3, "N", 7),
                                           (2, "N", 5, 2)], (2, 3, "N", 5), function,
                sampled_bound(mode), attrs=attrs, kinds={1: ("f32", PLACES)}, values="normal",
                sizes=POSITIVE[:8], note=f"{note}, of N")
            row("grid_sample", ("f32", ), [(2, 21, 6, 7),
                                           (2, "N", 3, 2)], (2, 21, "N", 3), function,
                sampled_bound(mode), attrs=attrs, kinds={1: ("f32", PLACES)}, values="normal",
                sizes=BOUNDARY[:10:3], note=f"{note}, 21 channels")
            row("grid_sample", ("f32", ), [("N", 3, 9), ("N", 4, 1)], ("N", 3, 4), function,
                sampled_bound(mode), attrs=attrs, kinds={1: ("f32", PLACES)}, values="normal",
                sizes=FEW[:3], note=f"{note}, a line")
            if mode != "bicubic":
                row("grid_sample", ("f32", ), [("N", 3, 4, 6, 7),
                                               ("N", 2, 3, 2, 3)], ("N", 3, 2, 3, 2), function,
                    sampled_bound(mode), attrs=attrs, kinds={1: ("f32", PLACES)}, values="normal",
                    sizes=FEW[:3], note=f"{note}, a volume")
row("grid_sample", ("i32", ), [("N", 3, 6, 7), ("N", 4, 5, 2)], ("N", 3, 4, 5),
    sampled("nearest", "border", False), attrs='{mode = "nearest", padding_mode = "border"}',
    kinds={1: ("f32", PLACES)}, values="whole", sizes=FEW[:3], note="integers")

#===- deform_conv2d ===#


def deformed(kernel, stride, padding, dilation):
    """The patches of torchvision.ops.deform_conv2d."""
    def function(x, offset, mask=None):
        x, offset = x.numpy(), offset.numpy()
        n, channels, h, w = x.shape
        groups, (oh, ow) = offset.shape[1] // (2 * kernel[0] * kernel[1]), offset.shape[2:]
        y = np.zeros((n, channels, *kernel, oh, ow))
        padded = np.pad(x, ((0, 0), (0, 0), (2, 2), (2, 2)))
        for b, c, i, j, p, q in np.ndindex(*y.shape):
            tap = c // (channels // groups) * kernel[0] * kernel[1] + i * kernel[1] + j
            at = np.array([
                p * stride[0] + i * dilation[0] - padding[0] + offset[b, 2 * tap, p, q],
                q * stride[1] + j * dilation[1] - padding[1] + offset[b, 2 * tap + 1, p, q]
            ])
            at = np.clip(at, -1, (h, w))
            (a, d), (down, right) = np.floor(at).astype(int) + 2, at - np.floor(at)
            corner = padded[b, c, a:a + 2, d:d + 2]
            corner = np.pad(corner, ((0, 2 - corner.shape[0]), (0, 2 - corner.shape[1])))
            y[b, c, i, j, p, q] = np.array([1 - down, down]) @ corner @ np.array(
                [1 - right, right]) * (1 if mask is None else float(mask[b, tap, p, q]))
        return torch.from_numpy(y)
    return function


def convolved(patches, groups):
    def function(x, offset, weight, bias=None, mask=None):
        columns = patches(x, offset, mask) if mask is not None else patches(x, offset)
        n, channels, r, s, oh, ow = columns.shape
        return F.conv2d(columns.reshape(n, channels * r * s, oh, ow),
                        weight.double().reshape(weight.shape[0], -1, 1, 1), bias, groups=groups)
    return function


SHIFTS = [-1.6, -0.3, 0.0, 0.45, 2.7, 30.0]
PLAIN, WIDE = ((2, 3), (1, 1), (0, 0), (1, 1)), ((3, 3), (2, 1), (1, 2), (1, 2))
for (kernel, stride, padding, dilation), groups, (oh, ow) in ((PLAIN, 1, (5, 5)), (WIDE, 2, (3,
                                                                                             7))):
    taps = kernel[0] * kernel[1]
    attrs = f"{{kernel_size = {numbers(kernel)}, stride = {numbers(stride)}, padding = {numbers(padding)}, dilation = {numbers(dilation)}}}"
    patches = deformed(kernel, stride, padding, dilation)
    note = f"{groups} groups"
    shapes = [("N", 4, 6, 7), ("N", 2 * groups * taps, oh, ow), ("N", groups * taps, oh, ow)]
    for dtype in ("f32", "f64"):
        row("deform_patches", (dtype, ), shapes[:2], ("N", 4, *kernel, oh, ow), patches, weighed(4),
            attrs=attrs, kinds={1: (dtype, SHIFTS)}, values="normal", sizes=FEW[:3], note=note)
    row("deform_patches", ("f32", ), shapes, ("N", 4, *kernel, oh, ow), patches,
        lambda y, inputs, dtype: 4 * weighed(4)(y, inputs, dtype), attrs=attrs,
        kinds={1: ("f32", SHIFTS)}, values="normal", sizes=FEW[:3], note=f"{note}, mask")
    for operands in (3, 4, 5):
        segments = [1, 1, 1, int(operands > 3), int(operands > 4)]
        all_attrs = f"{{{attrs[attrs.index('stride'):-1]}, operandSegmentSizes = array<i32: {', '.join(map(str, segments))}>}}"
        whole = convolved(patches, 2)
        size = 4 // 2 * taps
        row(
            "deform_conv2d", ("f32", ), [shapes[0], shapes[1], (6, 2, *kernel), (6, ),
                                         shapes[2]][:operands], ("N", 6, oh, ow), whole,
            lambda y, inputs, dtype, whole=whole, size=size: 1e-5 *
            (1 + float(max(x.abs().max() for x in inputs if x.numel())
                       if inputs[0].numel() else 0)) * size, attrs=all_attrs,
            kinds={1: ("f32", SHIFTS)}, values="normal", sizes=FEW[:3],
            note=f"{note}, {operands} operands")

#===- upfirdn2d ===#


def filtered(up, down, padding, flip=False, gain=1.0):
    """StyleGAN's reference: zeros between, zeros around or a crop, a convolution, each down-th."""
    def function(x, f):
        f = f.double() if f.dim() == 2 else f.double()[:, None] * f.double()[None, :]
        n, c, h, w = x.shape
        spread = torch.zeros(n, c, h, up[1], w, up[0], dtype=torch.float64)
        spread[:, :, :, 0, :, 0] = x
        y = F.pad(spread.reshape(n, c, h * up[1], w * up[0]), padding)
        y = F.conv2d(y.reshape(-1, 1, *y.shape[2:]),
                     (f if flip else f.flip(0, 1))[None, None]) * gain
        return y.reshape(n, c, *y.shape[2:])[:, :, ::down[1], ::down[0]]
    return function


for up, down, padding, flip, gain in (((1, 1), (1, 1), (0, 0, 0, 0), False,
                                       1.0), ((2, 2), (1, 1), (2, 1, 2, 1), False,
                                              4.0), ((1, 1), (2, 2), (1, 1, 1, 1), True, 1.0),
                                      ((3, 2), (2, 3), (-2, 5, 3, -4), False,
                                       0.5), ((2, 1), (1, 2), (-1, -3, 0, 1), True, 1.0)):
    result = (6 * up[1] + sum(padding[2:]) - 3) // down[1] + 1, (7 * up[0] + sum(padding[:2])
                                                                 - 4) // down[0] + 1
    function = filtered(up, down, padding, flip, gain)
    attrs = (f"{{up = {numbers(up)}, down = {numbers(down)}, padding = {numbers(padding)}, flip_filter = {str(flip).lower()}, "
             f"gain = {gain:e} : f64}}")
    note = f"up {up}, down {down}, padding {padding}"
    row("upfirdn2d", ("f32", "f16"), [("N", 3, 6, 7), (3, 4)], ("N", 3, *result), function,
        acc.contraction(12, function), attrs=attrs, values="normal", sizes=FEW, note=note)
    row("resample", ("f32", "f64"), [("N", 3, 6, 7), (3, 4)], ("N", 3, *result), function,
        acc.contraction(12, function), attrs=attrs, values="normal", sizes=FEW, note=note)
function = filtered((2, 2), (1, 1), (2, 1, 2, 1))
row("upfirdn2d", ("f32", ), [(2, 3, "N", 7), (4, )], (2, 3, "2*N", 14), function,
    acc.contraction(20, function), values="normal", sizes=POSITIVE[:10],
    attrs="{up = array<i64: 2, 2>, padding = array<i64: 2, 1, 2, 1>}",
    note="of N, a filter for both dims")

#===- cumprod, det ===#

for dim, shape in ((1, (3, "N")), (0, ("N", 5))):
    function = lambda x, dim=dim: x.cumprod(dim)
    row("cumprod", FLOATS, [shape], shape, function,
        lambda y, inputs, dtype: 132 * acc.ulp(y, acc.compute(dtype)) + acc.stored(dtype, y),
        attrs=f"{{dim = {dim} : i64}}", values=[-1.25, -1.0, 0.875, 1.0, 1.125], note=f"dim {dim}")
row("cumprod", ("i32", "i8"), [(3, 9, 4)], (3, 9, 4), lambda x: x.cumprod(1),
    attrs="{dim = -2 : i64}", values="whole", sizes=(1, ), result_dtype="i64", note="integers")


def det_bound(n):
    """Elimination multiplies rounding by at most some n^2 of the product of the rows' lengths."""
    def bound(y, inputs, dtype):
        size = inputs[0].double().norm(dim=-1).prod(-1).numpy()
        return 8 * n * n * acc.unit(acc.compute(dtype)) * size + acc.stored(dtype, y)
    return bound


for n in (1, 2, 3, 5, 9):
    row("det", FLOATS if n == 3 else ("f32", ), [("N", n, n)], ("N", ),
        lambda x: torch.det(x.double()), det_bound(n), values="normal", note=f"{n} rows", sizes=FEW)
    row("det", ("f32", ), [("N", n, n)], ("N", ), lambda x: torch.det(x.double()), det_bound(n),
        values=[0.0, 1.0, -2.0], note=f"{n} rows, zeros", sizes=FEW)
row("det", ("f64", ), [(4, 4)], (), lambda x: torch.det(x.double()), det_bound(4), values="normal",
    sizes=(1, ), note="no batch")
