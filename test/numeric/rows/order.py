"""Running sums, and ops that put elements in order."""
import torch

import accuracy as acc
from rows.row import FLOATS, INTS, NUMBERS, element_of, row, with_element

# prefix_sum and rank walk a dim once for each of its elements: sizes stop below the largest ones.
SIZES = (0, 1, 2, 3, 7, 8, 9, 16, 17, 31, 33, 65)
# Lines that fit a tile of shared memory and those that do not, the limits of every way to put them
# in order.
LINES = (0, 1, 2, 31, 32, 33, 63, 64, 65, 1024, 1025)
LONG = (1, 2, 33, 4095, 4096, 4097, 6000, 8192, 9001)


def summed(dim):
    """The terms of the longest sum, and the sums of absolute values."""
    return acc.contraction(lambda x: x.shape[dim], lambda x: x.cumsum(dim))


for op in ("prefix_sum", "cumsum"):
    row(op, FLOATS, [(3, "N")], (3, "N"), lambda x: x.cumsum(1), summed(1), attrs="{dim = 1 : i64}",
        values="normal", sizes=SIZES)
    row(op, ("f32", "f16"), [("N", 5, 2)], ("N", 5, 2), lambda x: x.cumsum(0), summed(0),
        attrs="{dim = 0 : i64}", values="normal", sizes=SIZES, note="outer dim")
row("prefix_sum", INTS, [("N", 5)], ("N", 5), lambda x: x.cumsum(1).to(x.dtype),
    attrs="{dim = -1 : i64}", values="whole", sizes=SIZES, note="integers")
row("cumsum", INTS + ("i1", ), [(3, "N")], (3, "N"), lambda x: x.cumsum(1),
    attrs="{dim = -1 : i64}", sizes=SIZES, result_dtype="i64", note="integers")
row("cumsum", ("f32", "i64"), [("N", 7)], ("N", 7),
    lambda x: x.to(torch.int32).cumsum(1).to(torch.int32), attrs="{dim = 1 : i64, dtype = i32}",
    values="whole", sizes=SIZES, result_dtype="i32", note="dtype")
# A few elements have a loop each, more of them one for the line.
for size in (64, 65, 97, 1025, 2500):
    row("cumsum", ("f32", "f16", "i64") if size == 97 else ("f32", ), [("N", size)], ("N", size),
        lambda x: x.cumsum(1), summed(1), attrs="{dim = 1 : i64}",
        values="normal" if size < 1000 else "whole", sizes=(1, 3), note=f"of {size}")
row("cumsum", ("f32", "bf16"), [(2, 130, "N")], (2, 130, "N"), lambda x: x.cumsum(1), summed(1),
    attrs="{dim = 1 : i64}", values="normal", sizes=(1, 8, 33), note="an inner dim")
row("running_sum", FLOATS, [(3, "N")], (3, "N"), lambda x: x.cumsum(1), summed(1),
    attrs="{dim = 1 : i64}", values="normal", sizes=LINES)
row("running_sum", ("f32", "f64", "f16"), [(2, "N", 33)], (2, "N", 33), lambda x: x.cumsum(1),
    summed(1), attrs="{dim = 1 : i64}", values="normal", sizes=SIZES, note="lines side by side")
row("running_sum", ("f32", "i16"), [("N", 5)], ("N", 5), lambda x: x.cumsum(0).to(x.dtype),
    attrs="{dim = 0 : i64}", values="whole", sizes=LINES, note="a few lines side by side")
row("running_sum", ("f32", "i32"), [("N", 40, 1)], ("N", 40, 1), lambda x: x.cumsum(1).to(x.dtype),
    attrs="{dim = 1 : i64}", values="whole", sizes=(0, 1, 3), note="a last dim of 1")
row("running_sum", INTS, [("N", 70)], ("N", 70), lambda x: x.cumsum(1).to(x.dtype),
    attrs="{dim = -1 : i64}", sizes=(0, 1, 2), note="integers")
row("running_sum", INTS, [(2, "N")], (2, "N"), lambda x: x.cumsum(1).to(x.dtype),
    attrs="{dim = 1 : i64}", values="special", sizes=(0, 1, 15, 16, 17, 31, 32, 33, 129, 1025),
    note="integers by vectors")


def order(x, dim, descending):
    """PyTorch's stable sort, in which NaN is the largest."""
    return x.sort(dim=dim, descending=descending, stable=True)


def both(op, attrs, which, dim):
    """The values of %y (which 0), or the positions."""
    names = ("%y, %j", "%v, %y")[which]

    def body(operands, types, result):
        kind = element_of(types[0])
        others = (result,
                  with_element(result, "i64")) if which == 0 else (with_element(result, kind),
                                                                   result)
        return f"{names} = dl.{op} {operands[0]} {attrs} : ({types[0]}) -> ({', '.join(others)})"
    return body


for descending in (False, True):
    text = "true" if descending else "false"
    note = "descending" if descending else "ascending"
    row("rank", NUMBERS, [(3, "N")], (3, "N"),
        lambda x, d=descending: order(x, 1, d).indices.argsort(1),
        attrs=f"{{dim = 1 : i64, descending = {text}}}", values="equals", sizes=SIZES,
        result_dtype="i64", note=note)
    row("sort", NUMBERS, [("N", 9)], ("N", 9), lambda x, d=descending: order(x, 1, d).values,
        acc.equal, values="equals", sizes=SIZES[:6], note=note + ", values",
        body=both("sort", f"{{dim = 1 : i64, descending = {text}}}", 0, 1))
    row("sort", ("f32", "i8"), [("N", 4)], ("N", 4), lambda x, d=descending: order(x, 0, d).indices,
        values="equals", sizes=SIZES, result_dtype="i64", note=note + ", positions",
        body=both("sort", f"{{dim = 0 : i64, descending = {text}}}", 1, 0))
    row("argsort", ("f32", "f16", "i64", "ui8"), [(2, "N", 3)], (2, "N", 3),
        lambda x, d=descending: order(x, 1, d).indices,
        attrs=f"{{dim = 1 : i64, descending = {text}}}", sizes=SIZES, result_dtype="i64", note=note)
    largest = "true" if descending else "false"
    row("topk", NUMBERS, [("N", 9)], ("N", 4), lambda x, d=descending: order(x, 1, d).values[:, :4],
        acc.equal, values="equals", sizes=SIZES[:6],
        note=("largest" if descending else "smallest") + ", values",
        body=both("topk", f"{{k = 4 : i64, largest = {largest}}}", 0, 1))
    row("topk", ("f32", "i32"), [("N", 5)], (2, 5),
        lambda x, d=descending: order(x, 0, d).indices[:2], values="equals", sizes=SIZES[2:],
        result_dtype="i64", note=("largest" if descending else "smallest") + ", positions",
        body=both("topk", f"{{k = 2 : i64, dim = 0 : i64, largest = {largest}}}", 1, 0))
row(
    "places", ("f32", ), [(3, "N")], (3, "N"), lambda x: x.argsort(1), values="normal", sizes=SIZES,
    result_dtype="i64", body=lambda names, types, result:
    f"%r = dl.rank {names[0]} {{dim = 1 : i64, descending = false}} : ({types[0]}) -> {result}\n"
    f"%y = dl.places %r {{dim = 1 : i64, count = affine_map<()[s0] -> (s0)>}} : ({result}) -> {result}"
)


def first(dim, descending, count):
    """What dl.order gives: places, 0 where the dim has too few elements."""
    def places(x):
        found = order(x, dim, descending).indices.narrow(dim, 0, min(count, x.shape[dim]))
        missing = list(found.shape)
        missing[dim] = count - found.shape[dim]
        return torch.cat([found, torch.zeros(missing, dtype=torch.int64)], dim)
    return places


def order_attrs(dim, descending, count):
    sizes = f"()[s0] -> ({count.replace('N', 's0')})" if isinstance(count,
                                                                    str) else f"() -> ({count})"
    return f"{{dim = {dim} : i64, descending = {str(descending).lower()}, count = affine_map<{sizes}>}}"


for descending in (False, True):
    note = "descending" if descending else "ascending"
    for values in ("equals", "special"):
        row("order", NUMBERS if values == "equals" else FLOATS, [(2, "N")], (2, "N"),
            lambda x, d=descending: order(x, 1, d).indices, attrs=order_attrs(1, descending, "N"),
            values=values, sizes=LINES, result_dtype="i64", note=f"{note}, {values}")
    row("order", ("f32", "i64"), [("N", 3)], ("N", 3),
        lambda x, d=descending: order(x, 0, d).indices, attrs=order_attrs(0, descending, "N"),
        values="equals", sizes=LINES, result_dtype="i64", note=f"{note}, dim 0")
    row("order", ("f32", "f64") if descending else ("f32", "i8"), [("N", )], ("N", ),
        lambda x, d=descending: order(x, 0, d).indices, attrs=order_attrs(0, descending, "N"),
        values="normal" if descending else "equals", sizes=LONG, result_dtype="i64",
        note=f"{note}, a long line")
    for count in (1, 5, 300):
        row("order",
            ("f32", "f16", "i64", "i8") if count == 5 else ("f32", ), [(2, "N")], (2, count),
            first(1, descending,
                  count), attrs=order_attrs(1, descending,
                                            count), values="equals" if count == 5 else "normal",
            sizes=LONG, result_dtype="i64", note=f"{note}, the first {count}")
    # The first of elements whose keys begin alike, more of them than are asked for.
    row("order", ("f32", "i32"), [("N", )], (40, ), first(0, descending,
                                                          40), attrs=order_attrs(0, descending, 40),
        values=[1.0, 1.0625, 1.125, -3.0] if descending else [7, 5, 6], sizes=LONG,
        result_dtype="i64", note=f"{note}, near to each other")
row("order", ("f32", ), [(3, 5000, 2)], (3, 2500, 2), first(1, True,
                                                            2500), attrs=order_attrs(1, True, 2500),
    values="normal", sizes=(1, ), result_dtype="i64", note="half of many")
for size, k in ((16, 3), (17, 3), (700, 5), (2100, 40), (20000, 17)):
    for dtype in ("f32", "i8") if size == 700 else ("f32",):
        row("topk", (dtype, ), [("N", size)], ("N", k),
            lambda x, k=k: order(x, 1, True).indices[:, :k], values="equals", sizes=(1, 2),
            result_dtype="i64", note=f"{k} of {size}, {dtype}",
            body=both("topk", f"{{k = {k} : i64}}", 1, 1))
row("topk", ("f16", ), [("N", 700, 2)], ("N", 9, 2), lambda x: order(x, 1, False).values[:, :9],
    acc.equal, values="special", sizes=(1, 2), note="9 smallest of 700",
    body=both("topk", "{k = 9 : i64, dim = 1 : i64, largest = false}", 0, 1))
# Longer lines go through a network of comparators by the first bits of their keys; what these leave
# out of order is few of numbers at random, and too many where they all lie near to two far ones.
for descending in (False, True):
    note = "descending" if descending else "ascending"
    far = [1e30, 1.00001e30, 1.00002e30, -1e30, -1.00001e30]
    row("order", ("f32", ), [(2, "N")], (2, "N"), lambda x, d=descending: order(x, 1, d).indices,
        attrs=order_attrs(1, descending, "N"), values=far, sizes=(130, 1000, 4096),
        result_dtype="i64", note=f"{note}, near to two far ones")
    for size in (130, 255, 257, 1000, 1024, 1025, 4095, 4096):
        row("order", ("f32", "i32", "i64") if size in (1000, 4096) else ("f32", ), [("N", size)],
            ("N", size), lambda x, d=descending: order(x, 1, d).indices,
            attrs=order_attrs(1, descending, size), values="normal", sizes=(3, ),
            result_dtype="i64", note=f"{note}, {size} by their first bits")
# Lines of known sizes: all pairs of up to 128 elements are compared, as vectors.
for size in (5, 8, 9, 15, 16, 17, 31, 32, 33, 49, 64, 65, 127, 128, 129):
    for dtype, values in (("f32", "equals"), ("i64", "special"),
                          ("i64", "equals")) + ((("i8", "equals"),
                                                 ("ui8", "special")) if size < 34 else ()):
        descending = (size + len(dtype)) % 2 == 0
        row("order", (dtype, ), [("N", size)], ("N", size), first(1, descending, size),
            attrs=order_attrs(1, descending, size), values=values, sizes=(1, 3), result_dtype="i64",
            note=f"all of {size}, {dtype} {values}")
# The digits by which longer ones are sorted cover as many bits as differ: none, some, more than 32,
# all.
for size in (130, 2048, 2049, 5000):
    for name, values in (("equal", [7]), ("a range", range(-300, 40000)),
                         ("high bits", [-2**62, -1, 5, 2**40, 2**62 + 1]), ("all", "special")):
        for dtype in ("i64", "i32") if name in ("a range", "all") else ("i64",):
            descending = len(name) % 2 == 0
            row("order", (dtype, ), [("N", size)], ("N", size), first(1, descending, size),
                attrs=order_attrs(1, descending, size), values=values, sizes=(1, 3),
                result_dtype="i64", note=f"all of {size}, {dtype}, {name}")
    # In order already, but for equal ones, and the other way round.
    for descending in (False, True):
        row(
            "order", ("i32", "f64"), [("N", size)], ("N", size),
            lambda x, n=size, d=descending: first(1, d, n)(x.cumsum(1)), values=range(3), sizes=(1,
                                                                                                 3),
            result_dtype="i64", note=f"{size} {'descending' if descending else 'ascending'} ones",
            body=lambda names, types, result, n=size, d=descending:
            f"%s = dl.running_sum {names[0]} {{dim = 1 : i64}} : ({types[0]}) -> {types[0]}\n"
            f"%y = dl.order %s {order_attrs(1, d, n)} : ({types[0]}) -> {result}")
# Lines that begin at any element, and sizes that no vector fits.
for dtype, size, count in (("f16", 4099, 7), ("i8", 1030, 20), ("f64", 2051, 3), ("ui8", 1041,
                                                                                  1041)):
    row("order", (dtype, ), [(3, size)], (3, count), first(1, True, count),
        attrs=order_attrs(1, True, count), values="special", sizes=(1, ), result_dtype="i64",
        note=f"{count} of {size}, {dtype}")
