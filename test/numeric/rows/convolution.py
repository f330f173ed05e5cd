"""Convolutions, straight and transposed."""
import math

import torch
from torch.nn import functional as F

import accuracy as acc
from modules import tensor_type
from rows.quantized import Ops
from rows.row import BOUNDARY, FLOATS, NUMBERS, POSITIVE, element_of, in_double, row, with_element


def ints(numbers):
    return f"array<i64: {', '.join(map(str, numbers))}>"


def attributes(**lists):
    """MLIR attributes: lists of numbers, and numbers."""
    parts = [
        f"{name} = {ints(value) if isinstance(value, tuple) else f'{value} : i64'}"
        for name, value in lists.items()
    ]
    return "{" + ", ".join(parts) + "}"


def convolution(dtypes, x, w, result, sizes, note, bias=False, op="conv2d", **arguments):
    """One row of ordinary and one of whole numbers."""
    inputs = [x, w] + ([(w[0],)] if bias else [])
    attrs = attributes(**arguments)
    call = getattr(F, op)
    function = lambda *t: call(*t, **arguments)
    spatial = len(x) - 2
    if len(arguments.get("padding", ())) == 2 * spatial:
        padding = arguments.pop("padding")
        sides = [
            side for i in reversed(range(spatial)) for side in (padding[i], padding[spatial + i])
        ]
        function = lambda x, *t: call(F.pad(x, sides), *t, **arguments)
    largest = [max(sizes) if size == "N" else size for size in w]
    terms = (largest[1] + bias) * math.prod(largest[2:])
    row(op, dtypes, inputs, result, function, acc.contraction(terms, function), attrs=attrs,
        sizes=sizes, values="normal", note=note)
    row(op, dtypes[:1] + ("i32", ), inputs, result, in_double(function), attrs=attrs, sizes=sizes,
        values="whole", note=note + ", whole numbers")


convolution(FLOATS, ("N", 3, 6, 7), (5, 3, 3, 3), ("N", 5, 4, 5), BOUNDARY[:10], "bias", bias=True)
# Rows of images of few channels that are whole vectors: a first layer.
convolution(("f16", "bf16"), ("N", 3, 9, 16), (20, 3, 3, 3), ("N", 20, 9, 16), (0, 1, 2, 7),
            "first layer", padding=(1, 1), bias=True)
convolution(("f16", "bf16"), ("N", 4, 15, 24), (33, 4, 7, 7), ("N", 33, 8, 12), (1, 3),
            "first layer of large windows", stride=(2, 2), padding=(3, 3))
convolution(("bf16", ), ("N", 1, 12, 32), (72, 1, 4, 4), ("N", 72, 3, 8), (1, 8),
            "patches of one channel", stride=(4, 4))


def with_filters(dtype, x, w, result, sizes, note, **arguments):
    """Filters that are there when the model is loaded, so that it may lay them out: whole numbers
    from -5 to 5. Ordinary and whole images."""
    count = math.prod(w)
    filters = ((torch.arange(count) * 37) % 11 - 5).double().reshape(w)
    function = lambda x: F.conv2d(x, filters, **arguments)

    def body(names, types, y):
        ops = Ops()
        numbers = ops.add("arange", [], f"tensor<{count}xi32>",
                          f"{{end = affine_map<() -> ({count})>, dtype = i32}}")
        for op, number in (("mul", 37), ("remainder", 11), ("sub", 5)):
            numbers = ops.add(op, [numbers, ops.full(number, numbers[1])], numbers[1])
        type = f"tensor<{'x'.join(map(str, w))}x{dtype}>"
        shape = f" {{shape = affine_map<() -> ({', '.join(map(str, w))})>}}"
        kernel = ops.add("reshape", [ops.cast(numbers, dtype)], type, shape)
        return ops.result(
            ops.add("conv2d", [(names[0], types[0]), kernel], y, " " + attributes(**arguments)))

    sums = acc.contraction(math.prod(w[1:]), lambda x: F.conv2d(x, filters.abs(), **arguments))
    row("conv2d", (dtype, ), [x], result, function, sums, sizes=sizes, values="normal", body=body,
        note=note)
    row("conv2d", (dtype, ), [x], result, function, sizes=sizes, values="whole", body=body,
        note=note + ", whole numbers")


def through_cast(dtype, x, w, result, sizes):
    """A convolution with padding that reads its input in f32 and rounds it to `dtype` where it
    reads it."""
    function = lambda x, w: F.conv2d(x.to(acc.TORCH[dtype]).to(x.dtype), w, stride=2, padding=1)

    def body(names, types, of):
        cast = with_element(types[0], dtype)
        return (
            f"%z = dl.cast {names[0]} {{dtype = {dtype}}} : ({types[0]}) -> {cast}\n"
            f"%y = dl.conv2d %z, {names[1]} {attributes(stride=(2, 2), padding=(1, 1))} : ({cast}, {types[1]}) -> {of}"
        )

    row("conv2d", (dtype, ), [x, w], result, function,
        acc.contraction(w[1] * w[2] * w[3], function), sizes=sizes, values="normal",
        kinds={0: ("f32", "normal")}, note=f"padding, of a cast to {dtype}", body=body)


for dtype in ("f16", "bf16"):
    through_cast(dtype, ("N", 3, 9, 11), (8, 3, 3, 3), ("N", 8, 5, 6), BOUNDARY[1:6])
    through_cast(dtype, ("N", 16, 6, 5), (24, 16, 3, 3), ("N", 24, 3, 3), BOUNDARY[1:6])
# Large enough for a kernel of sm_90a, which gathers them.
with_filters("f16", ("N", 40, 12, 13), (200, 40, 3, 3), ("N", 200, 12, 13), (1, 2, 29),
             "stored filters", padding=(1, 1))
with_filters("bf16", ("N", 64, 25, 24), (136, 64, 3, 3), ("N", 136, 13, 12), (2, 31),
             "stored filters, stride", padding=(1, 1), stride=(2, 2))
# A late stage of a network: several blocks of a GPU share each tile.
convolution(("f32", ), ("N", 256, 5, 3), (36, 256, 3, 3), ("N", 36, 5, 3), (1, 2, 3),
            "shared tiles", padding=(1, 1))
convolution(("f32", "f16"), (2, 4, "N", 9), (8, 4, 3, 3), (2, 8, "N", 9), POSITIVE[:14], "padding",
            padding=(1, 1))
convolution(("f32", "f16"), (1, 16, 8, "N"), (17, 16, 1, 1), (1, 17, 8, "N"), POSITIVE[:16], "1x1")
# Large enough for a kernel of sm_90a, which gathers the places that the stride leaves.
convolution(("f16", "bf16"), (4, 64, "N", 64), (256, 64, 1, 1),
            (4, 256, "(N - 1) floordiv 2 + 1", 32), (65, 128), "1x1, strided", stride=(2, 2))
convolution(("f32", ), (1, 2, "N", 11), (33, 2, 5, 3), (1, 33, "(N - 3) floordiv 2 + 1", 4),
            (5, 7, 8, 9, 15, 16, 17, 33), "stride", stride=(2, 3), padding=(1, 1))
convolution(("f32", ), ("N", 4, 9, 10), (6, 2, 3, 2), ("N", 6, 5, 9), BOUNDARY[:8],
            "dilation and groups", bias=True, dilation=(2, 1), groups=2)
convolution(("f32", "f16"), ("N", 17, 5, 5), (17, 1, 3, 3), ("N", 17, 5, 5), BOUNDARY[:8],
            "depthwise", padding=(1, 1), groups=17)
convolution(("f32", "f16"), ("N", 8, 5, 6), (32, 4, 3, 3), ("N", 32, 5, 6), BOUNDARY[:6],
            "groups of a panel", bias=True, padding=(1, 1), groups=2)
convolution(("f32", "f16"), ("N", 24, 5, 6), (24, 4, 3, 3), ("N", 24, 5, 6), BOUNDARY[:6],
            "groups of four", bias=True, padding=(1, 1), groups=6)
convolution(("f32", ), (1, 40, 5, "N"), (40, 8, 3, 3), (1, 40, 3, "(N - 1) floordiv 2 + 1"),
            POSITIVE[:12], "groups of eight, strided", padding=(1, 1), stride=(2, 2), groups=5)
convolution(("f32", ), ("N", 36, 6, 7), (36, 2, 2, 3), ("N", 36, 5, 3), BOUNDARY[:5],
            "groups of two, dilated", dilation=(1, 2), groups=18)
convolution(("f32", ), (1, 12, 7, "N"), (96, 6, 1, 1), (1, 96, 7, "N"), POSITIVE[:10],
            "groups of three panels", groups=2)
convolution(("f32", ), ("N", 6, 4, 5), (128, 3, 3, 2), ("N", 128, 4, 4), BOUNDARY[:5],
            "groups of four panels", padding=(1, 0), groups=2)
convolution(("f32", "bf16"), ("N", 8, 6, 40), (12, 2, 3, 3), ("N", 12, 6, 40), BOUNDARY[:4],
            "small groups, wide", bias=True, padding=(1, 1), groups=4)
convolution(("f32", ), ("N", 2, 5, 6), (3, 2, 2, 4), ("N", 3, 5, 6), BOUNDARY[:8], "uneven padding",
            padding=(0, 1, 1, 2))
convolution(("f32", "bf16"), (1, 64, 8, 8), (65, 64, 3, 3), (1, 65, 8, 8), (1, ), "many channels",
            padding=(1, 1))
# As the derivatives of weights are: samples are the channels, and what the result is worth is the
# window.
convolution(("f32", "f16"), (3, "N", 6, 7), (5, "N", 4, 5), (3, 5, 3, 3), POSITIVE[:10],
            "N channels")
convolution(("f32", ), (3, "N", 9, 8), (40, "N", 9, 8), (3, 40, 3, 3), POSITIVE[:10],
            "N channels, padding", padding=(1, 1))
convolution(("f32", ), (2, "N", 8, 11), (17, "N", 3, 4), (2, 17, 4, 4), POSITIVE[:6],
            "N channels, dilation", padding=(1, 1), dilation=(3, 3))
convolution(("f32", ), (2, "N * 3", 6, 7), (9, "N", 4, 5), (2, 9, 3, 3), POSITIVE[:8],
            "N channels of each group", groups=3)
convolution(("f32", ), (1, "N * 17", 5, 5), (17, "N", 5, 5), (1, 17, 3, 3), POSITIVE[:6],
            "N channels of each group, depthwise", padding=(1, 1), groups=17)
convolution(("f32", ), (4, 2, "N", 9), (8, 2, "N", 9), (4, 8, 3, 3), POSITIVE[:10],
            "window of N", padding=(1, 1))
convolution(("f32", ), (5, 3, "N"), (6, 3, "N"), (5, 6, 3), POSITIVE[:10], "window of N",
            op="conv1d", padding=(1, ))
convolution(FLOATS, (2, 5, "N"), (6, 5, 3), (2, 6, "N"), POSITIVE[:14], "padding", bias=True,
            op="conv1d", padding=(1, ))
convolution(("f32", "f16"), ("N", 16, 40), (17, 16, 4), ("N", 17, 20), BOUNDARY[:8], "stride",
            op="conv1d", stride=(2, ), padding=(1, 2))
convolution(("f32", ), (1, 1, "N"), (18, 1, 5), (1, 18, "N - 8"), (9, 15, 16, 17, 33),
            "one channel, dilation", op="conv1d", dilation=(2, ))
convolution(("f32", "bf16"), ("N", 3, 6, 40), (3, 1, 3, 3), ("N", 3, 6, 40), BOUNDARY[:4],
            "depthwise, wide", padding=(1, 1), groups=3)
convolution(("f32", "f16"), ("N", 12, 11), (12, 1, 3), ("N", 12, 9), BOUNDARY[:6],
            "depthwise, no padding", op="conv1d", groups=12)
convolution(("f32", ), ("N", 12, 6, 11), (12, 1, 3, 3), ("N", 12, 4, 9), BOUNDARY[:6],
            "depthwise, no padding", groups=12)
# Blocks of neighbours along the width, the first and the last one at its ends; images of which a
# window sees all.
convolution(("f32", "f16", "f64"), ("N", 24, 4, 27), (24, 1, 5, 5), ("N", 24, 4, 27), BOUNDARY[:5],
            "depthwise, many blocks", bias=True, padding=(2, 2), groups=24)
convolution(("f32", "bf16"), ("N", 130, 6, 19), (130, 1, 3, 3), ("N", 130, 3, 10), BOUNDARY[:4],
            "depthwise, strided", padding=(1, 1), stride=(2, 2), groups=130)
convolution(("f32", ), (2, 16, "N", 7), (16, 1, 3, 5), (2, 16, "N", 7), POSITIVE[:8],
            "depthwise, any height", padding=(1, 2), groups=16)
convolution(("f32", ), ("N", 20, 5, 21), (20, 1, 3, 3), ("N", 20, 5, 21), BOUNDARY[:4],
            "depthwise, dilated along the width", padding=(1, 3), dilation=(1, 3), groups=20)
convolution(("f32", ), ("N", 20, 9, 12), (20, 1, 3, 3), ("N", 20, 9, 12), BOUNDARY[:4],
            "depthwise, dilated", padding=(2, 1), dilation=(2, 1), groups=20)
convolution(("f32", ), ("N", 16, 3, 20), (16, 1, 3, 11), ("N", 16, 1, 30), BOUNDARY[:4],
            "depthwise, padding wider than a block", padding=(0, 10), groups=16)
convolution(("f32", ), ("N", 18, 4, 20), (18, 1, 2, 3), ("N", 18, 5, 20), BOUNDARY[:4],
            "depthwise, uneven padding", padding=(1, 0, 1, 2), groups=18)
convolution(("f32", ), ("N", 12, 3, 4, 18), (12, 1, 3, 3, 3), ("N", 12, 3, 4, 18), BOUNDARY[:4],
            "depthwise volumes", op="conv3d", padding=(1, 1, 1), groups=12)
convolution(("f32", ), ("N", 12, 9), (12, 1, 3), ("N", 12, 9), BOUNDARY[:6], "depthwise",
            op="conv1d", padding=(1, ), groups=12)
convolution(("f32", ), ("N", 3, 5, 6, 7), (4, 3, 2, 3, 3), ("N", 4, 5, 6, 4), BOUNDARY[:5],
            "padding and stride", bias=True, op="conv3d", padding=(0, 1, 1, 1, 1, 1),
            stride=(1, 1, 2))


def transposed(dtypes, x, w, result, sizes, note, bias=False, op="conv_transpose2d", **arguments):
    groups = arguments.get("groups", 1)
    inputs = [x, w] + ([(w[1] * groups,)] if bias else [])
    function = lambda *t: getattr(F, op)(*t, **arguments)
    terms = w[0] // groups + bias
    for size in w[2:]:
        terms *= size
    row(op, dtypes, inputs, result, function, acc.contraction(terms, function),
        attrs=attributes(**arguments), sizes=sizes, values="normal", note=note)
    row(op, dtypes[:1] + ("i32", ), inputs, result, in_double(function),
        attrs=attributes(**arguments), sizes=sizes, values="whole", note=note + ", whole numbers")


transposed(FLOATS, ("N", 6, 4, 5), (6, 7, 4, 4), ("N", 7, 8, 10), BOUNDARY[:6], "doubling",
           bias=True, stride=(2, 2), padding=(1, 1))
transposed(("f32", "f16"), (1, 17, "N", 3), (17, 16, 3, 2), (1, 16, "N + 2", 4), (1, 2, 7, 8, 17),
           "stride 1", bias=True)
transposed(("f32", ), (2, 4, "N", 3), (4, 3, 3, 3), (2, 3, "N + 4", 7), (1, 2, 7, 8), "dilation",
           dilation=(2, 2))
transposed(("f32", ), (2, 4, "N", 6), (4, 3, 3, 2), (2, 3, "2 * N + 3", 16), (1, 2, 7, 8),
           "dilation and stride", dilation=(2, 3), stride=(2, 2), output_padding=(0, 2))
transposed(("f32", ), (2, 4, 5, 6), (4, 3, 3, 2), (2, 3, 10, 16), (1, ), "output_padding",
           stride=(2, 3), padding=(1, 1), output_padding=(1, 1), bias=True)
transposed(("f32", ), ("N", 6, 4, 4), (6, 2, 3, 3), ("N", 6, 9, 9), BOUNDARY[:5], "groups",
           groups=3, stride=(2, 2), bias=True)
transposed(("f32", ), ("N", 5, 4, 4), (5, 1, 2, 2), ("N", 5, 8, 8), BOUNDARY[:5], "depthwise",
           groups=5, stride=(2, 2))
transposed(("f32", ), (1, 3, "N", 9), (3, 4, 1, 3), (1, 4, "2 * N - 5", 7), (4, 7, 8),
           "wide padding", stride=(2, 1), padding=(2, 2))
transposed(FLOATS, (2, 5, "N"), (5, 4, 5), (2, 4, "3 * N + 1"), (1, 2, 7, 8, 17), "stride 3",
           bias=True, op="conv_transpose1d", stride=(3, ), padding=(1, ), output_padding=(1, ))

transposed(("f32", "f16"), ("N", 4, 2, 3, 2), (4, 3, 2, 3, 2), ("N", 3, 4, 7, 3), BOUNDARY[:4],
           "volumes", bias=True, op="conv_transpose3d", stride=(2, 2, 1))
transposed(("f32", ), (1, 2, "N", 4, 3), (2, 2, 3, 2, 3), (1, 4, "2 * N + 1", 5, 3), (1, 2, 7),
           "volumes, groups", groups=2, op="conv_transpose3d", stride=(2, 1, 1), padding=(0, 0, 1))


def depth_to_space(x, block, crop, groups):
    n, channels, height, width = x.shape
    k = channels // (block[0] * block[1])
    y = x.reshape(n, groups, *block, k // groups, height, width).permute(0, 1, 4, 5, 2, 6, 3)
    y = y.reshape(n, k, height * block[0], width * block[1])
    return y[:, :, crop[0]:y.shape[2] - crop[2], crop[1]:y.shape[3] - crop[3]]


for groups in (1, 2, 4):
    row("depth_to_space", NUMBERS if groups == 2 else ("f32", ), [("N", 24, 3, 4)], ("N", 4, 4, 10),
        lambda x, g=groups: depth_to_space(x, (2, 3), (1, 0, 1, 2), g), sizes=BOUNDARY[:6],
        note=f"{groups} groups", attrs=attributes(block=(2, 3), crop=(1, 0, 1, 2), groups=groups))
row("pixel_shuffle", NUMBERS, [("N", 12, 3, 4)], ("N", 3, 6, 8),
    lambda x: F.pixel_shuffle(x.double(), 2).to(x.dtype), sizes=BOUNDARY[:6],
    attrs="{upscale_factor = 2 : i64}", values="numbers")


def pooled(dtypes, x, w, between, result, sizes, pool, kernel, note, act="relu", stride=None,
           **more):
    """A convolution with bias, an activation and a pooling that CUDA computes in one kernel
    (form-fusions). `between` is the shape before the pooling."""
    spatial = len(x) - 2
    sides = more.pop("padding", (0,) * spatial)
    stride = stride or kernel
    values = more.pop("values", "normal")
    torch_act = {"relu": torch.relu, "gelu": F.gelu, "neg": torch.neg}[act]

    def function(x, w, b):
        y = torch_act(getattr(F, f"conv{spatial}d")(x, w, b, padding=sides, **more))
        return getattr(F, f"{pool}_pool{spatial}d")(y, kernel, stride)

    def body(names, types, y):
        middle = tensor_type(between, element_of(types[0]))
        lists = {"kernel_size": kernel, "stride": stride}
        return (f"%c = dl.conv{spatial}d {', '.join(names)} {attributes(padding=sides, **more)} : ({', '.join(types)}) -> {middle}\n"
                f"%a = dl.{act} %c : ({middle}) -> {middle}\n"
                f"%y = dl.{pool}_pool{spatial}d %a {attributes(**lists)} : ({middle}) -> {y}")

    def magnitude(x, w, b):
        y = getattr(F, f"conv{spatial}d")(x, w, b, padding=sides, **more)
        return getattr(F, f"max_pool{spatial}d")(y, kernel, stride)

    terms = w[1] + 1
    for size in w[2:] + (kernel if pool == "avg" else ()):
        terms *= size
    bound = acc.exact if values == "whole" else acc.contraction(terms, magnitude)
    if pool == "avg":  # where they are two kernels, what the window reads has been rounded
        bound = acc.rounded_before(bound)
    row(f"conv{spatial}d", dtypes, [x, w, (w[0], )], result, function, bound, sizes=sizes,
        values=values, note=f"{note}, pooled", body=body)


SHORT = ("f32", "f16", "bf16")
pooled(SHORT, ("N", 3, 9, 7), (5, 3, 3, 3), ("N", 5, 9, 7), ("N", 5, 4, 3), BOUNDARY[:10], "max",
       (2, 2), "few channels", padding=(1, 1))
pooled(SHORT, (2, 16, "N", 8), (32, 16, 3, 3), (2, 32, "N", 8), (2, 32, "N floordiv 3", 2),
       (3, 7, 8, 9, 15, 16, 17, 31), "max", (3, 3), "window of 9", padding=(1, 1))
pooled(("f32", "f16"), ("N", 8, 11, 13), (17, 8, 3, 2), ("N", 17, 9, 12), ("N", 17, 4, 4),
       BOUNDARY[:6], "avg", (2, 3), "means", act="gelu")
pooled(("f32", "f16"), (1, 64, 24, 20), (72, 64, 3, 3), (1, 72, 24, 20), (1, 72, 12, 10), (1, ),
       "max", (2, 2), "several tiles", padding=(1, 1))
pooled(("f32", "bf16"), ("N", 4, 40), (9, 4, 5), ("N", 9, 36), ("N", 9, 12), BOUNDARY[:8], "max",
       (3, ), "lines")
pooled(("f32", "f16"), ("N", 5, 4, 6, 5), (8, 5, 2, 3, 3), ("N", 8, 4, 4, 3), ("N", 8, 2, 2, 1),
       BOUNDARY[:5], "max", (2, 2, 2), "volumes", padding=(1, 0, 0), dilation=(2, 1, 1))
pooled(("f32", "f16"), (1, 6, "N", 9), (8, 6, 2, 2), (1, 8, "N - 1", 8), (1, 8, "N floordiv 3", 2),
       (3, 7, 8, 9, 15, 16), "max", (2, 1), "gaps between windows", act="neg", stride=(3, 4))
pooled(("f32", ), ("N", 2, 8, 8), (6, 2, 3, 3), ("N", 6, 6, 6), ("N", 6, 3, 1), BOUNDARY[:6], "max",
       (2, 5), "whole numbers", values="whole")
pooled(("f32", "f16"), ("N", 8, 8, 8), (16, 8, 3, 3), ("N", 16, 8, 8), ("N", 16, 2, 2),
       BOUNDARY[:5], "max", (4, 4), "window of 16", padding=(1, 1))
