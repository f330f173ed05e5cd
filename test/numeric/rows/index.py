"""Ops that read at positions which a tensor holds."""
import torch
from torch.nn import functional as F

import accuracy as acc
from rows.row import BOUNDARY, FLOATS, row

MOVED = ("f32", "f16", "i8", "i64", "i1")
# One that holds every place of a dim of 7, and one that leaves it: PyTorch refuses, dlc gives NaN
# or 0.
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
        return torch.where(keep, y, torch.full_like(y,
                                                    float("nan") if y.is_floating_point() else 0))
    return wrapped


for dtype in ("i64", "i32"):
    row("gather", MOVED if dtype == "i64" else ("f32", ), [(7, "N"), (4, "N")], (4, "N"),
        lambda x, i: x.gather(0, i.long()), attrs="{dim = 0 : i64}", kinds=at(INSIDE,
                                                                              dtype), note=dtype)
    row("embedding", FLOATS + ("i8", ) if dtype == "i64" else ("f32", ), [("N", 3), (7, 33)],
        ("N", 3, 33), lambda i, w: F.embedding(i.long(), w), kinds=at(INSIDE, dtype, 0), note=dtype)
    row("index_select", ("f32", "i64"), [("N", 7), (5, )], ("N", 5),
        lambda x, i: x.index_select(1, i), attrs="{dim = 1 : i64}", kinds=at(INSIDE,
                                                                             dtype), note=dtype)
row("gather", ("f32", "f16"), [(3, 7, 5), (2, "N", 5)], (2, "N", 5), lambda x, i: x.gather(1, i),
    attrs="{dim = -2 : i64}", kinds=at(INSIDE), note="smaller index")
row("gather", ("f32", "i16"), [(3, 7), (3, "N")], (3, "N"),
    or_nothing(lambda x, i: x.gather(1, i), 1), attrs="{dim = 1 : i64}", kinds=at(LEAVING),
    note="out of range")
row("gather", ("f32", ), [(3, 7), (3, "N")], (3, "N"), or_nothing(lambda x, i: x.gather(1, i), 1),
    attrs="{dim = 1 : i64}", kinds=at([2**33, -(2**40), 2**63 - 1, -(2**63),
                                       5]), note="far out of range")
row("index_select", ("f32", "ui8"), [(7, "N"), (9, )], (9, "N"),
    or_nothing(lambda x, i: x.index_select(0, i), 0), attrs="{dim = 0 : i64}",
    kinds=at(LEAVING, "i32"), note="out of range")
row(
    "embedding", ("f32", ), [(7, "N"), (2, 3)], (2, 3, "N"), lambda w, i: F.embedding(i, w),
    kinds=at(INSIDE), note="over the width", body=lambda names, types, result:
    f"%y = dl.embedding {names[1]}, {names[0]} : ({types[1]}, {types[0]}) -> {result}")
row(
    "embedding", ("f32", "f16"), [("N", 7), (3, )], (3, 7), lambda w, i: F.embedding(i, w),
    kinds=at([0]), sizes=BOUNDARY[1:], note="over the rows", body=lambda names, types, result:
    f"%y = dl.embedding {names[1]}, {names[0]} : ({types[1]}, {types[0]}) -> {result}")
row("take_along_dim", ("f32", "i8"), [(7, "N"),
                                      (4, 1)], (4, "N"), lambda x, i: torch.take_along_dim(x, i, 0),
    attrs="{dim = 0 : i64}", kinds=at(INSIDE), note="broadcast index")
row("take_along_dim", ("f32", ), [(7, 1),
                                  (4, "N")], (4, "N"), lambda x, i: torch.take_along_dim(x, i, 0),
    attrs="{dim = 0 : i64}", kinds=at(INSIDE), note="broadcast x")
row("take_along_dim", ("f32", "i8"), [(7, "N"), (4, "N")], (4, "N"),
    lambda x, i: torch.take_along_dim(x, i % 7, 0), attrs="{dim = 0 : i64}", kinds=at(range(-7, 7)),
    note="from the end")
row("take_flat", MOVED, [("N", 3), (4, "N")], ("4*N", ), lambda x, i: torch.take_along_dim(x, i),
    kinds=at(range(3)), sizes=BOUNDARY[1:])
row("take_flat", ("f32", ), [(2, 3), ("N", )], ("N", ), lambda x, i: torch.take_along_dim(x, i % 6),
    kinds=at(range(-6, 6)), note="from the end")


def bags(mode, **args):
    """PyTorch's, but of no positions, which it refuses: nothing in each bag."""
    def function(i, w, *scales):
        if not i.numel():
            return torch.zeros(i.shape[0], w.shape[1], dtype=torch.float64)
        return F.embedding_bag(i.long(), w, mode=mode, **args,
                               per_sample_weights=scales[0] if scales else None)
    return function


def bag(mode, attrs="", operands=2, offsets=""):
    """`offsets` is the text of ops that define %o; [i64] of dim B."""
    def body(names, types, result):
        segments = [1, 1, int(bool(offsets)), int(operands > 2)]
        text, dims = offsets if offsets else ("", "")
        used, kinds = names[:2] + (["%o"] if offsets else []) + names[2:], types[:2] + (
            [dims] if offsets else []) + types[2:]
        return (f"{text}%y = dl.embedding_bag {', '.join(used)} {{mode = \"{mode}\", {attrs}operandSegmentSizes = array<i32: "
                f"{', '.join(map(str, segments))}>}} : ({', '.join(kinds)}) -> {result}")
    return body


def summed(function):
    return acc.contraction(lambda i, *_: i.shape[-1] + 2, function)


# Bags that begin at each third position; pairs of which the first is empty.
EACH_THIRD = (
    "%o = dl.arange {end = affine_map<()[s0] -> (s0)>, step = 3 : i64} : () -> tensor<?xi64, #dl.t<[(s0 + 2) floordiv 3]>>\n",
    "tensor<?xi64, #dl.t<[(s0 + 2) floordiv 3]>>")
PAIRS = ("%a = dl.arange {end = affine_map<() -> (6)>} : () -> tensor<6xi64>\n%b = dl.full 2 : i64 -> tensor<6xi64>\n"
         "%c = dl.floor_divide %a, %b : (tensor<6xi64>, tensor<6xi64>) -> tensor<6xi64>\n"
         "%o = dl.mul %c, %b : (tensor<6xi64>, tensor<6xi64>) -> tensor<6xi64>\n", "tensor<6xi64>")
for mode in ("sum", "mean", "max"):
    bound = (lambda function: acc.exact) if mode == "max" else summed
    for dtype in ("i64", "i32"):
        row("embedding_bag", FLOATS if dtype == "i64" else ("f32", ), [("N", 5),
                                                                       (7, 33)], ("N", 33),
            bags(mode), bound(bags(mode)), kinds=at(INSIDE, dtype, 0), values="normal",
            note=f"{mode}, {dtype}", body=bag(mode))
    row("embedding_bag", ("f32", ), [(3, "N"), (7, 5)], (3, 5), bags(mode), bound(bags(mode)),
        kinds=at(INSIDE, "i64", 0), values="normal", note=f"{mode} of N", body=bag(mode))
    function = bags(mode, padding_idx=2)
    row("embedding_bag", ("f32", "f16"), [("N", 4), (7, 5)], ("N", 5), function, bound(function),
        kinds=at([2, 3, 2, 5], "i64", 0), values="normal", note=f"{mode}, padding",
        body=bag(mode, "padding_idx = 2 : i64, "))
    function = lambda i, w, mode=mode: F.embedding_bag(i, w, torch.arange(0, len(i), 3), mode=mode)
    row("embedding_bag", ("f32", "bf16"), [("N", ), (7, 5)], ("(N + 2) floordiv 3", 5), function,
        bound(function), kinds=at(INSIDE, "i64", 0), values="normal", sizes=BOUNDARY[1:],
        note=f"{mode}, offsets", body=bag(mode, offsets=EACH_THIRD))
    function = lambda i, w, mode=mode: F.embedding_bag(i, w,
                                                       torch.arange(6) // 2 * 2, mode=mode,
                                                       include_last_offset=True)
    row("embedding_bag", ("f32", ), [("N", ), (7, 5)], (5, 5), function, bound(function),
        kinds=at(INSIDE, "i64", 0), values="normal", sizes=(4, ), note=f"{mode}, last offset",
        body=bag(mode, "include_last_offset = true, ", offsets=PAIRS))
row("embedding_bag", FLOATS, [("N", 5), (7, 9), ("N", 5)], ("N", 9), bags("sum"),
    summed(bags("sum")), kinds=at(INSIDE, "i64",
                                  0), values="normal", note="weighed", body=bag("sum", operands=3))
row(
    "embedding_bag", ("f32", ),
    [("N", ), (7, 5), ("N", )], ("(N + 2) floordiv 3", 5), lambda i, w, s: F.embedding_bag(
        i, w, torch.arange(0, len(i), 3), mode="sum", per_sample_weights=s),
    summed(lambda i, w, s: F.embedding_bag(i, w, torch.arange(0, len(
        i), 3), mode="sum", per_sample_weights=s)), sizes=BOUNDARY[1:], kinds=at(INSIDE, "i64", 0),
    values="normal", note="weighed, offsets", body=bag("sum", operands=3, offsets=EACH_THIRD))
row("index", MOVED, [(7, "N"), (3, 2)], (3, 2, "N"), lambda x, i: x[i], kinds=at(range(-7, 7)))
row("index", ("f32", ), [(7, ), ("N", )], ("N", ), lambda x, i: x[i], kinds=at(range(-7, 7)),
    note="one dim")
row("one_hot", ("i64", "i32"), [("N", 3)], ("N", 3, 9), lambda x: F.one_hot(x.long(), 9),
    attrs="{num_classes = 9 : i64}", values=range(9), result_dtype="i64")


def between(names, types, result):
    """The positions computed before, the elements used after."""
    index = types[1]
    return (
        f"%o = dl.full 1 : i64 -> {index}\n%i = dl.sub %o, {names[1]} : ({index}, {index}) -> {index}\n"
        f"%e = dl.embedding %i, {names[0]} : ({index}, {types[0]}) -> {result}\n%y = dl.neg %e : ({result}) -> {result}"
    )


row("embedding", ("f32", ), [(7, 33), ("N", )], ("N", 33), lambda w, i: -F.embedding(1 - i, w),
    kinds=at(range(-5, 2)), note="fused", body=between)


def updated(x, start, src, dim):
    """A position for all, or one for each of the first dim, clamped."""
    y = x.clone()
    for batch in range(x.shape[0]):
        at = int(start[batch] if start.dim() else start)
        at = max(0, min(at, x.shape[dim] - src.shape[dim]))
        y[batch].narrow(dim - 1, at, src.shape[dim]).copy_(src[batch])
    return y


POSITIONS = ("i64", [-3, 0, 1, 2, 5, 7, 100])
row("update_slice", MOVED, [(3, 9, "N"), (), (3, 2, "N")], (3, 9, "N"),
    lambda x, i, s: updated(x, i, s, 1), attrs="{dim = 1 : i64}", kinds={1: POSITIONS})
row("update_slice", ("f32", "i8"), [(5, "N + 3", 4), (5, ), (5, "N", 4)], (5, "N + 3", 4),
    lambda x, i, s: updated(x, i, s, 1), attrs="{dim = -2 : i64}",
    kinds={1: ("i32", [-3, 0, 1, 2, 5, 7, 100])}, note="each batch from its own position")
row("update_slice", ("f32", "f16"), [(2, "N"), (),
                                     (2, "N")], (2, "N"), lambda x, i, s: updated(x, i, s, 1),
    attrs="{dim = 1 : i64}", kinds={1: POSITIONS}, note="as long as x")
