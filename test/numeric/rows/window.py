"""Reductions over a sliding window."""
import torch
from torch.nn import functional as F

import accuracy as acc
from rows.row import BOUNDARY, FLOATS, NUMBERS, POSITIVE, in_double, row, with_element

POOL = ("N", 3, 9, 8)
row("max_pool2d", NUMBERS, [POOL], ("N", 3, 4, 4), in_double(lambda x: F.max_pool2d(x, 2)),
    attrs="{kernel_size = array<i64: 2, 2>}", sizes=BOUNDARY[1:10], values="numbers")
row("max_pool2d", ("f32", "f16"), [POOL], ("N", 3, 5, 4), lambda x: F.max_pool2d(x, 3, 2, 1),
    attrs="{kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>}",
    sizes=BOUNDARY[1:10], note="padding")
row(
    "max_pool2d", ("f32", ), [(2, 3, "N", 8)], (2, 3, "N - 4", 4),
    lambda x: F.max_pool2d(x, (3, 2), (1, 2), 0, (2, 1)),
    attrs="{kernel_size = array<i64: 3, 2>, stride = array<i64: 1, 2>, dilation = array<i64: 2, 1>}",
    sizes=(5, 7, 8, 9, 15, 16, 17, 33), note="dilation")
row("max_pool2d", ("f32", ), [POOL], ("N", 3, 5, 4), lambda x: F.max_pool2d(x, 2, ceil_mode=True),
    attrs="{kernel_size = array<i64: 2, 2>, ceil_mode = true}", sizes=BOUNDARY[1:6],
    note="ceil_mode")

row("max_pool2d", ("f32", ), [(2, 3, "N", 8)], (2, 3, "(N - 1) floordiv 2 + 1", 4),
    lambda x: F.max_pool2d(x, 2, ceil_mode=True),
    attrs="{kernel_size = array<i64: 2, 2>, ceil_mode = true}", sizes=BOUNDARY[2:12],
    note="ceil_mode of N")
row("max_pool2d", ("f32", ), [(2, 3, "N", 8)], (2, 3, "N floordiv 2", 4),
    lambda x: F.max_pool2d(x, 3, 2, ceil_mode=True),
    attrs="{kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, ceil_mode = true}",
    sizes=[size for size in BOUNDARY
           if size >= 3][:9], note="ceil_mode of N, of a numerator that may be negative")
row(
    "max_pool2d", ("f32", ), [(2, 3, "N", 8)], (2, 3, "N floordiv 3 + 1", 3),
    lambda x: F.max_pool2d(x, 2, 3, 1, ceil_mode=True),
    attrs="{kernel_size = array<i64: 2, 2>, stride = array<i64: 3, 3>, padding = array<i64: 1, 1>, ceil_mode = true}",
    sizes=BOUNDARY[1:12], note="ceil_mode of N, windows apart")


def positions(pool, *args, **more):
    return lambda x: pool(x.double(), *args, **more, return_indices=True)[1]


PADDED = "kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>"
row("max_positions2d", NUMBERS, [POOL], ("N", 3, 4, 4), positions(F.max_pool2d, 2),
    attrs="{kernel_size = array<i64: 2, 2>}", sizes=BOUNDARY[1:10], values="whole",
    result_dtype="i64")
row("max_positions2d", ("f32", "f16", "i32"), [POOL], ("N", 3, 5, 4),
    positions(F.max_pool2d, 3, 2, 1), attrs=f"{{{PADDED}}}", sizes=BOUNDARY[1:10], values="numbers",
    result_dtype="i64", note="padding")
row("max_positions2d", ("f32", ), [POOL], ("N", 3, 5, 4), positions(F.max_pool2d, 3, 2, 1),
    attrs=f"{{{PADDED}}}", sizes=BOUNDARY[1:6], values=[-float("inf")], result_dtype="i64",
    note="nothing larger than the padding")
row(
    "max_positions2d", ("f32", ), [(2, 3, "N", 8)], (2, 3, "N - 2", 5),
    positions(F.max_pool2d, (3, 4), (1, 2), (1, 2), (2, 1)), values=[-float("inf"), 1.0, 2.0],
    attrs="{kernel_size = array<i64: 3, 4>, stride = array<i64: 1, 2>, padding = array<i64: 1, 2>, dilation = array<i64: 2, 1>}",
    sizes=(3, 5, 7, 8, 9, 15, 16, 17, 33), result_dtype="i64", note="dilation")
row("max_positions2d", ("f32", ), [POOL], ("N", 3, 5, 4), positions(F.max_pool2d, 2,
                                                                    ceil_mode=True),
    values="numbers", attrs="{kernel_size = array<i64: 2, 2>, ceil_mode = true}",
    sizes=BOUNDARY[1:6], result_dtype="i64", note="ceil_mode")
row("max_positions1d", ("f32", "i64"), [(2, 3, "N")], (2, 3, "(N - 1) floordiv 2 + 1"),
    positions(F.max_pool1d, 3, 2, 1), values="whole", result_dtype="i64",
    attrs="{kernel_size = array<i64: 3>, stride = array<i64: 2>, padding = array<i64: 1>}",
    sizes=POSITIVE[:12])


def both(op, attrs, result_of):
    """One of the two results: the values or the indices."""
    def body(names, types, result):
        other = with_element(result, "i64" if result_of == "values" else "f32")
        kinds = f"({result}, {other})" if result_of == "values" else f"({other}, {result})"
        return f"{'%y, %z' if result_of == 'values' else '%z, %y'} = dl.{op} {names[0]} {attrs} : ({types[0]}) -> {kinds}"
    return body


for number, part in enumerate(("values", "indices")):
    row("max_pool2d_with_indices", ("f32", ), [POOL], ("N", 3, 5, 4),
        lambda x, number=number: F.max_pool2d(x, 3, 2, 1, return_indices=True)[number],
        sizes=BOUNDARY[1:8], values="numbers", result_dtype="i64" if number else None, note=part,
        body=both("max_pool2d_with_indices", f"{{{PADDED}}}", part))
    row("max_pool1d_with_indices", ("f32", ), [(2, 3, "N")], (2, 3, "N floordiv 3"),
        lambda x, number=number: F.max_pool1d(x, 3, return_indices=True)[number],
        sizes=POSITIVE[2:12], values="numbers", note=part, result_dtype="i64" if number else None,
        body=both("max_pool1d_with_indices", "{kernel_size = array<i64: 3>}", part))
row("avg_pool2d", FLOATS, [POOL], ("N", 3, 4, 4), lambda x: F.avg_pool2d(x, 2),
    acc.contraction(4, lambda x: F.avg_pool2d(x, 2)), attrs="{kernel_size = array<i64: 2, 2>}",
    sizes=BOUNDARY[1:10], values="normal")
for include in (True, False):
    function = lambda x, include=include: F.avg_pool2d(x, 3, 2, 1, count_include_pad=include)
    row(
        "avg_pool2d", ("f32", "f16"), [POOL], ("N", 3, 5, 4), function,
        acc.contraction(9, function),
        attrs="{kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, "
        f"count_include_pad = {str(include).lower()}}}", sizes=BOUNDARY[1:10], values="normal",
        note="padding counted" if include else "padding left out")
row("avg_pool2d", ("f32", ), [POOL], ("N", 3, 5, 4), lambda x: F.avg_pool2d(x, 2, ceil_mode=True),
    acc.contraction(4, lambda x: F.avg_pool2d(x, 2, ceil_mode=True)),
    attrs="{kernel_size = array<i64: 2, 2>, ceil_mode = true}", sizes=BOUNDARY[1:6],
    values="normal", note="ceil_mode")
# Rows of an image as vectors: windows apart, over both borders, and what is left of a vector; or
# its channels, stored apart.
for step in (1, 2, 3, 4, 5):
    width = (75 + 2 - 3) // step + 1
    attrs = f"{{kernel_size = array<i64: 3, 3>, stride = array<i64: 2, {step}>, padding = array<i64: 1, 1>}}"
    row("max_pool2d", ("f32", "f64", "f16", "i8", "i64"), [("N", 3, 9, 75)], ("N", 3, 5, width),
        in_double(lambda x, step=step: F.max_pool2d(x, 3, (2, step), 1)), attrs=attrs, sizes=(1, 2),
        values="numbers", note=f"wide, {step} apart")
    row("max_positions2d", ("f32", "i16"), [("N", 3, 9, 75)], ("N", 3, 5, width),
        positions(F.max_pool2d, 3, (2, step), 1), attrs=attrs, sizes=(1, 2), values="whole",
        result_dtype="i64", note=f"wide, {step} apart")
    function = lambda x, step=step: F.avg_pool2d(x, 3, (2, step), 1)
    row("avg_pool2d", ("f32", "bf16"), [("N", 3, 9, 75)], ("N", 3, 5, width), function,
        acc.contraction(9, function), attrs=attrs, sizes=(1, 2), values="normal",
        note=f"wide, {step} apart")
for channels in (20, 70):
    attrs = "{kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>}"
    row("max_pool2d", ("f32", "f16"), [("N", channels, 9, 8)], ("N", channels, 5, 4),
        lambda x: F.max_pool2d(x, 3, 2, 1), attrs=attrs, sizes=(1, 2), values="numbers",
        note=f"{channels} channels")
    row("max_positions2d", ("f32", "i32"), [("N", channels, 9, 8)], ("N", channels, 5, 4),
        positions(F.max_pool2d, 3, 2, 1), attrs=attrs, sizes=(1, 2), values="whole",
        result_dtype="i64", note=f"{channels} channels")
LINE = (2, 3, "N")
row("max_pool1d", ("f32", "i32"), [LINE], (2, 3, "N floordiv 3"),
    in_double(lambda x: F.max_pool1d(x, 3)), attrs="{kernel_size = array<i64: 3>}",
    sizes=POSITIVE[2:12], values="numbers")
row("max_pool1d", ("f32", "f16"), [LINE], (2, 3, "(N - 1) floordiv 2 + 1"),
    lambda x: F.max_pool1d(x, 3, 2, 1),
    attrs="{kernel_size = array<i64: 3>, stride = array<i64: 2>, padding = array<i64: 1>}",
    sizes=POSITIVE[:12], note="padding")
row(
    "max_pool3d", ("f32", ), [("N", 3, 5, 6, 7)], ("N", 3, 3, 3, 4),
    lambda x: F.max_pool3d(x, 2, 2, (1, 0, 1)),
    attrs="{kernel_size = array<i64: 2, 2, 2>, stride = array<i64: 2, 2, 2>, padding = array<i64: 1, 0, 1>}",
    sizes=BOUNDARY[1:5])
for include in (True, False):
    function = lambda x, include=include: F.avg_pool1d(x, 3, 2, 1, count_include_pad=include)
    row(
        "avg_pool1d", ("f32", "f16"), [LINE], (2, 3, "(N - 1) floordiv 2 + 1"), function,
        acc.contraction(3, function),
        attrs="{kernel_size = array<i64: 3>, stride = array<i64: 2>, padding = array<i64: 1>, "
        f"count_include_pad = {str(include).lower()}}}", sizes=POSITIVE[:12], values="normal",
        note="padding counted" if include else "padding left out")
row("avg_pool3d", ("f32", ), [("N", 3, 5, 6, 7)], ("N", 3, 2, 3, 3), lambda x: F.avg_pool3d(x, 2),
    acc.contraction(8, lambda x: F.avg_pool3d(x, 2)), attrs="{kernel_size = array<i64: 2, 2, 2>}",
    sizes=BOUNDARY[1:5], values="normal")
function = lambda x: F.avg_pool2d(x, 3, 2, 1, divisor_override=5)
row(
    "avg_pool2d", ("f32", "bf16"), [POOL], ("N", 3, 5, 4), function, acc.contraction(9, function),
    attrs="{kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, divisor_override = 5 : i64}",
    sizes=BOUNDARY[1:6], values="normal", note="divisor")
# Alike windows, windows of different sizes, the whole, and a dim that stays.
for size, result, note in (((3, 2), ("N", 3, 3, 2), "alike"), ((4, 5), ("N", 3, 4, 5), "uneven"),
                           ((1, 1), ("N", 3, 1, 1), "whole"), ((None, 3), ("N", 3, 9, 3),
                                                               "one dim"), ((9, 8), ("N", 3, 9, 8),
                                                                            "nothing")):
    attrs = f"{{output_size = array<i64: {', '.join(str(-1 if i is None else i) for i in size)}>}}"
    function = lambda x, size=size: F.adaptive_avg_pool2d(x, size)
    row("adaptive_avg_pool2d", ("f32", "f16"), [POOL], result, function,
        acc.contraction(80, function), attrs=attrs, sizes=BOUNDARY[1:6], values="normal", note=note)
    row("adaptive_max_pool2d", ("f32", "i32"), [POOL], result,
        in_double(lambda x, size=size: F.adaptive_max_pool2d(x, size)), attrs=attrs,
        sizes=BOUNDARY[1:6], values="numbers", note=note)
for size in (1, 4):
    function = lambda x, size=size: F.adaptive_avg_pool1d(x, size)
    row("adaptive_avg_pool1d", FLOATS, [("N", 3, 10)], ("N", 3, size), function,
        acc.contraction(10, function), attrs=f"{{output_size = array<i64: {size}>}}",
        sizes=BOUNDARY[1:6], values="normal", note=f"to {size}")
    row("adaptive_max_pool1d", ("f32", "i64"), [("N", 3, 10)], ("N", 3, size),
        in_double(lambda x, size=size: F.adaptive_max_pool1d(x, size)),
        attrs=f"{{output_size = array<i64: {size}>}}", sizes=BOUNDARY[1:6], values="numbers",
        note=f"to {size}")
function = lambda x: F.adaptive_avg_pool2d(x, (1, 5))
row("adaptive_avg_pool2d", ("f32", ), [(2, 3, "N", 5)], (2, 3, 1, 5), function,
    acc.contraction(lambda x: x.shape[2], function), attrs="{output_size = array<i64: 1, 5>}",
    sizes=POSITIVE[:12], values="normal", note="over N")
