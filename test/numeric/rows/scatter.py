"""Ops that write at positions which a tensor holds."""
import warnings

import torch

import accuracy as acc
from rows.row import FLOATS, NUMBERS, row

warnings.filterwarnings("ignore", "scatter_reduce.* is in beta")
MOVED = ("f32", "f16", "i8", "i64", "i1")
SIZES = (0, 1, 2, 3, 7, 8, 9, 17, 33)
# One that holds every place of a dim of 7, and one that leaves it: PyTorch refuses, dlc drops those.
INSIDE, LEAVING = range(7), [-(2**40), -8, -1, 0, 3, 3, 6, 7, 2**33]


def last(x, dim, index, src):
    """One update after the other, those outside left out: where several name one place the last counts."""
    y = x.clone()
    for at in range(index.shape[dim]):
        places = index.select(dim, at).long()
        inside = (places >= 0) & (places < x.shape[dim])
        part = tuple(slice(0, n) for n in places.unsqueeze(dim).shape)
        view = y[tuple(s if i != dim else slice(None) for i, s in enumerate(part))]
        from_src = src.narrow(dim, at, 1)[part]
        old = view.gather(dim, places.clamp(0, x.shape[dim] - 1).unsqueeze(dim))
        view.scatter_(dim, places.clamp(0, x.shape[dim] - 1).unsqueeze(dim), torch.where(inside.unsqueeze(dim), from_src, old))
    return y


def kinds(values, dtype="i64", position=1):
    return {position: (dtype, values)}


for dtype in ("i64", "i32"):
    row("scatter", MOVED if dtype == "i64" else ("f32",), [(7, "N"), (4, "N"), (4, "N")], (7, "N"), lambda x, i, s: last(x, 0, i, s),
        attrs="{dim = 0 : i64}", kinds=kinds(INSIDE, dtype), sizes=SIZES, note=dtype)
    row("scatter_source", ("f32",), [(3, "N")], (7, "N"),
        lambda i: last(torch.full((7, i.shape[1]), -1), 0, i, torch.arange(3)[:, None].expand(i.shape)), kinds=kinds(INSIDE, dtype, 0),
        attrs="{dim = 0 : i64, size = affine_map<()[s0] -> (7, s0)>}", sizes=SIZES, result_dtype="i64", note=dtype)
row("scatter", ("f32", "i16"), [("N", 7), ("N", 5), ("N", 5)], ("N", 7), lambda x, i, s: last(x, 1, i, s), attrs="{dim = -1 : i64}",
    kinds=kinds(LEAVING), sizes=SIZES, note="out of range")
row("scatter", ("f32", "f64"), [(4, 7, 6), (3, 5, 4), (3, 6, 5)], (4, 7, 6), lambda x, i, s: last(x, 1, i, s),
    attrs="{dim = 1 : i64}", kinds=kinds(INSIDE), sizes=(1,), note="smaller index")
row("scatter_add", ("f32",), [(4, 7, 6), (3, 5, 4), (3, 6, 5)], (4, 7, 6), lambda x, i, s: x.scatter_add(1, i, s),
    attrs="{dim = 1 : i64}", kinds=kinds(INSIDE), sizes=(1,), values="whole", note="smaller index")
row("scatter", ("f32", "i32"), [("N", 7), ("N", 3)], ("N", 7), lambda x, i: last(x, 1, i, torch.full(i.shape, 3, dtype=x.dtype)),
    attrs="{dim = 1 : i64, value = 3.0 : f64}", kinds=kinds(INSIDE), sizes=SIZES, note="a number")
row("scatter", ("f32", "i32"), [("N", 7), ("N", 3), ("N", 3)], ("N", 7), lambda x, i, s: x.scatter(1, i, s, reduce="multiply"),
    attrs='{dim = 1 : i64, reduce = "multiply"}', kinds=kinds(INSIDE), sizes=SIZES, values="whole", note="multiply")
row("scatter_take", ("f32", "f16", "ui8", "i1"), [("N", 7), ("N", 7), ("N", 4)], ("N", 7),
    lambda x, i, s: torch.where(i < 0, x, s.gather(1, i.clamp(0))), attrs="{dim = 1 : i64}", kinds=kinds([-1, 0, 1, 2, 3]), sizes=SIZES)

AMOUNT = lambda x, i, s: x.scatter_add(1, i.long().abs(), s)
row("scatter_add", FLOATS, [("N", 7), ("N", 9), ("N", 9)], ("N", 7), lambda x, i, s: x.scatter_add(1, i.long(), s),
    acc.contraction(11, AMOUNT), attrs="{dim = 1 : i64}", kinds=kinds(INSIDE), sizes=SIZES, values="normal")
row("scatter_add", ("i8", "i32", "ui8"), [(7, "N"), (9, "N"), (9, "N")], (7, "N"), lambda x, i, s: x.scatter_add(0, i.long(), s),
    attrs="{dim = 0 : i64}", kinds=kinds(INSIDE, "i32"), sizes=SIZES, note="integers")


def reduced(x, i, s, reduce, include_self):
    """PyTorch's, of floats in f64; with the updates outside dropped."""
    wide = torch.cat([x, x[:, :1]], 1)
    inside = (i >= 0) & (i < x.shape[1])
    return wide.scatter_reduce(1, torch.where(inside, i, x.shape[1]), s, reduce, include_self=include_self)[:, :x.shape[1]]


for reduce in ("sum", "prod", "mean", "amax", "amin"):
    for include_self in (True, False):
        function = lambda x, i, s, r=reduce, w=include_self: reduced(x, i, s, r, w)
        exactly = reduce in ("amax", "amin", "prod")  # products of whole numbers
        row("scatter_reduce", FLOATS if include_self else ("f32", "f16"), [("N", 7), ("N", 9), ("N", 9)], ("N", 7), function,
            acc.equal if exactly else acc.contraction(12, function), kinds=kinds(LEAVING), sizes=SIZES,
            values="equals" if reduce.startswith("am") else "whole" if exactly else "normal",
            attrs=f'{{dim = 1 : i64, reduce = "{reduce}", include_self = {str(include_self).lower()}}}',
            note=reduce + ("" if include_self else ", without x"))
        if reduce != "mean":
            row("scatter_reduce", tuple(d for d in NUMBERS if d not in FLOATS), [("N", 7), ("N", 3), ("N", 3)], ("N", 7), function,
                kinds=kinds(INSIDE), sizes=SIZES, values="whole",
                attrs=f'{{dim = 1 : i64, reduce = "{reduce}", include_self = {str(include_self).lower()}}}',
                note=reduce + " of integers" + ("" if include_self else ", without x"))
