"""Ops that read at positions which a tensor holds."""
import torch
from torch.nn import functional as F

from rows.row import BOUNDARY, FLOATS, row

MOVED = ("f32", "f16", "i8", "i64", "i1")
# One that holds every place of a dim of 7, and one that leaves it: PyTorch refuses, dlc gives NaN or 0.
INSIDE, LEAVING = range(7), [-(2**31), -8, -1, 0, 3, 6, 7, 2**31 - 1]


def at(kind, dtype="i64", position=1):
    return {position: (dtype, kind)}


def or_nothing(function, dim, size=7):
    """`function` where the index lies in the dim; NaN or 0 elsewhere."""
    def wrapped(x, index):
        inside = (index >= 0) & (index < size)
        y = function(x, index.long().clamp(0, size - 1))
        shape = [1] * y.dim()
        shape[dim] = -1
        keep = inside if inside.dim() == y.dim() else inside.reshape(shape)
        return torch.where(keep, y, torch.full_like(y, float("nan") if y.is_floating_point() else 0))
    return wrapped


for dtype in ("i64", "i32"):
    row("gather", MOVED if dtype == "i64" else ("f32",), [(7, "N"), (4, "N")], (4, "N"), lambda x, i: x.gather(0, i.long()),
        attrs="{dim = 0 : i64}", kinds=at(INSIDE, dtype), note=dtype)
    row("embedding", FLOATS + ("i8",) if dtype == "i64" else ("f32",), [("N", 3), (7, 33)], ("N", 3, 33),
        lambda i, w: F.embedding(i.long(), w), kinds=at(INSIDE, dtype, 0), note=dtype)
    row("index_select", ("f32", "i64"), [("N", 7), (5,)], ("N", 5), lambda x, i: x.index_select(1, i),
        attrs="{dim = 1 : i64}", kinds=at(INSIDE, dtype), note=dtype)
row("gather", ("f32", "f16"), [(3, 7, 5), (2, "N", 5)], (2, "N", 5), lambda x, i: x.gather(1, i), attrs="{dim = -2 : i64}",
    kinds=at(INSIDE), note="smaller index")
row("gather", ("f32", "i16"), [(3, 7), (3, "N")], (3, "N"), or_nothing(lambda x, i: x.gather(1, i), 1), attrs="{dim = 1 : i64}",
    kinds=at(LEAVING), note="out of range")
row("gather", ("f32",), [(3, 7), (3, "N")], (3, "N"), or_nothing(lambda x, i: x.gather(1, i), 1), attrs="{dim = 1 : i64}",
    kinds=at([2**33, -(2**40), 2**63 - 1, -(2**63), 5]), note="far out of range")
row("index_select", ("f32", "ui8"), [(7, "N"), (9,)], (9, "N"), or_nothing(lambda x, i: x.index_select(0, i), 0),
    attrs="{dim = 0 : i64}", kinds=at(LEAVING, "i32"), note="out of range")
row("embedding", ("f32",), [(7, "N"), (2, 3)], (2, 3, "N"), lambda w, i: F.embedding(i, w), kinds=at(INSIDE), note="over the width",
    body=lambda names, types, result: f"%y = dl.embedding {names[1]}, {names[0]} : ({types[1]}, {types[0]}) -> {result}")
row("embedding", ("f32", "f16"), [("N", 7), (3,)], (3, 7), lambda w, i: F.embedding(i, w), kinds=at([0]), sizes=BOUNDARY[1:],
    note="over the rows",
    body=lambda names, types, result: f"%y = dl.embedding {names[1]}, {names[0]} : ({types[1]}, {types[0]}) -> {result}")
row("take_along_dim", ("f32", "i8"), [(7, "N"), (4, 1)], (4, "N"), lambda x, i: torch.take_along_dim(x, i, 0),
    attrs="{dim = 0 : i64}", kinds=at(INSIDE), note="broadcast index")
row("take_along_dim", ("f32",), [(7, 1), (4, "N")], (4, "N"), lambda x, i: torch.take_along_dim(x, i, 0), attrs="{dim = 0 : i64}",
    kinds=at(INSIDE), note="broadcast x")
row("index", MOVED, [(7, "N"), (3, 2)], (3, 2, "N"), lambda x, i: x[i], kinds=at(range(-7, 7)))
row("index", ("f32",), [(7,), ("N",)], ("N",), lambda x, i: x[i], kinds=at(range(-7, 7)), note="one dim")
row("one_hot", ("i64", "i32"), [("N", 3)], ("N", 3, 9), lambda x: F.one_hot(x.long(), 9), attrs="{num_classes = 9 : i64}",
    values=range(9), result_dtype="i64")


def between(names, types, result):
    """The positions computed before, the elements used after."""
    index = types[1]
    return (f"%o = dl.full 1 : i64 -> {index}\n%i = dl.sub %o, {names[1]} : ({index}, {index}) -> {index}\n"
            f"%e = dl.embedding %i, {names[0]} : ({index}, {types[0]}) -> {result}\n%y = dl.neg %e : ({result}) -> {result}")


row("embedding", ("f32",), [(7, 33), ("N",)], ("N", 33), lambda w, i: -F.embedding(1 - i, w), kinds=at(range(-5, 2)), note="fused",
    body=between)
