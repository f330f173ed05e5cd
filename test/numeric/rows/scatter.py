"""Ops that write at positions which a tensor holds."""
import warnings

import torch

import accuracy as acc
from rows.row import FLOATS, NUMBERS, row

warnings.filterwarnings("ignore", "scatter_reduce.* is in beta")
MOVED = ("f32", "f16", "i8", "i64", "i1")
SIZES = (0, 1, 2, 3, 7, 8, 9, 17, 33)
# One that holds every place of a dim of 7, and one that leaves it: PyTorch refuses, dlc drops
# those.
INSIDE, LEAVING = range(7), [-(2**40), -8, -1, 0, 3, 3, 6, 7, 2**33]


def last(x, dim, index, src):
    """One update after the other, those outside left out: where several name one place the last
    counts."""
    y = x.clone()
    for at in range(index.shape[dim]):
        places = index.select(dim, at).long()
        inside = (places >= 0) & (places < x.shape[dim])
        if not x.shape[dim]:
            continue
        part = tuple(slice(0, n) for n in places.unsqueeze(dim).shape)
        view = y[tuple(s if i != dim else slice(None) for i, s in enumerate(part))]
        from_src = src.narrow(dim, at, 1)[part]
        old = view.gather(dim, places.clamp(0, x.shape[dim] - 1).unsqueeze(dim))
        view.scatter_(dim,
                      places.clamp(0, x.shape[dim] - 1).unsqueeze(dim),
                      torch.where(inside.unsqueeze(dim), from_src, old))
    return y


def kinds(values, dtype="i64", position=1):
    return {position: (dtype, values)}


for dtype in ("i64", "i32"):
    row("scatter", MOVED if dtype == "i64" else ("f32", ), [(7, "N"), (4, "N"), (4, "N")], (7, "N"),
        lambda x, i, s: last(x, 0, i, s), attrs="{dim = 0 : i64}", kinds=kinds(INSIDE, dtype),
        sizes=SIZES, note=dtype)
    row(
        "scatter_source", ("f32", ), [(3, "N")], (7, "N"),
        lambda i: last(torch.full((7, i.shape[1]), -1), 0, i,
                       torch.arange(3)[:, None].expand(i.shape)), kinds=kinds(INSIDE, dtype, 0),
        attrs="{dim = 0 : i64, size = affine_map<()[s0] -> (7, s0)>}", sizes=SIZES,
        result_dtype="i64", note=dtype)
row("scatter", ("f32", "i16"), [("N", 7), ("N", 5),
                                ("N", 5)], ("N", 7), lambda x, i, s: last(x, 1, i, s),
    attrs="{dim = -1 : i64}", kinds=kinds(LEAVING), sizes=SIZES, note="out of range")
row("scatter", ("f32", "f64"), [(4, 7, 6), (3, 5, 4),
                                (3, 6, 5)], (4, 7, 6), lambda x, i, s: last(x, 1, i, s),
    attrs="{dim = 1 : i64}", kinds=kinds(INSIDE), sizes=(1, ), note="smaller index")
row("scatter_add", ("f32", ), [(4, 7, 6), (3, 5, 4),
                               (3, 6, 5)], (4, 7, 6), lambda x, i, s: x.scatter_add(1, i, s),
    attrs="{dim = 1 : i64}", kinds=kinds(INSIDE), sizes=(1, ), values="whole", note="smaller index")
row("scatter", ("f32", "i32"), [("N", 7), ("N", 3)], ("N", 7),
    lambda x, i: last(x, 1, i, torch.full(i.shape, 3, dtype=x.dtype)),
    attrs="{dim = 1 : i64, value = 3.0 : f64}", kinds=kinds(INSIDE), sizes=SIZES, note="a number")
row("scatter", ("f32", "i32"), [("N", 7), ("N", 3), ("N", 3)], ("N", 7),
    lambda x, i, s: x.scatter(1, i, s, reduce="multiply"),
    attrs='{dim = 1 : i64, reduce = "multiply"}', kinds=kinds(INSIDE), sizes=SIZES, values="whole",
    note="multiply")
row("scatter_take", ("f32", "f16", "ui8", "i1"), [("N", 7), ("N", 7), ("N", 4)], ("N", 7),
    lambda x, i, s: torch.where(i < 0, x, s.gather(1, i.clamp(0))), attrs="{dim = 1 : i64}",
    kinds=kinds([-1, 0, 1, 2, 3]), sizes=SIZES)

AMOUNT = lambda x, i, s: x.scatter_add(1, i.long().abs(), s)
row("scatter_add", FLOATS, [("N", 7), ("N", 9),
                            ("N", 9)], ("N", 7), lambda x, i, s: x.scatter_add(1, i.long(), s),
    acc.contraction(11, AMOUNT), attrs="{dim = 1 : i64}", kinds=kinds(INSIDE), sizes=SIZES,
    values="normal")
row("scatter_add", ("i8", "i32", "ui8"), [(7, "N"), (9, "N"), (9, "N")], (7, "N"),
    lambda x, i, s: x.scatter_add(0, i.long(), s), attrs="{dim = 0 : i64}",
    kinds=kinds(INSIDE, "i32"), sizes=SIZES, note="integers")
for dim, alpha in ((1, 1), (0, 3), (-1, 2)):
    shapes = [("N", 7), (9,), ("N", 9)] if dim else [(7, "N"), (9,), (9, "N")]
    add = lambda x, i, s, dim=dim, alpha=alpha: x.index_add(dim, i.long(), s, alpha=alpha)
    row("index_add", FLOATS, shapes, shapes[0], add,
        acc.contraction(13, lambda x, i, s, add=add: add(x.abs(), i, s.abs())),
        attrs=f"{{dim = {dim} : i64, alpha = {alpha}.0 : f64}}", kinds=kinds(INSIDE), sizes=SIZES,
        values="normal", note=f"dim {dim}")
    row("index_add", ("i8", "i32"), shapes, shapes[0], add,
        attrs=f"{{dim = {dim} : i64, alpha = {alpha}.0 : f64}}", kinds=kinds(INSIDE, "i32"),
        sizes=SIZES, note=f"integers, dim {dim}")


def reduced(x, i, s, reduce, include_self=True, dim=1):
    """PyTorch's, of floats in f64; with the updates outside dropped."""
    wide = torch.cat([x, x.new_zeros([1 if d == dim else n for d, n in enumerate(x.shape)])], dim)
    inside = (i >= 0) & (i < x.shape[dim])
    places = torch.where(inside, i.long(), x.shape[dim]).expand(s.shape)
    return wide.scatter_reduce(dim, places, s, reduce,
                               include_self=include_self).narrow(dim, 0, x.shape[dim])


for reduce in ("sum", "prod", "mean", "amax", "amin"):
    for include_self in (True, False):
        function = lambda x, i, s, r=reduce, w=include_self: reduced(x, i, s, r, w)
        exactly = reduce in ("amax", "amin", "prod")  # products of whole numbers
        row(
            "scatter_reduce", FLOATS if include_self else ("f32", "f16"), [("N", 7), ("N", 9),
                                                                           ("N", 9)], ("N", 7),
            function, acc.equal if exactly else acc.contraction(12, function), kinds=kinds(LEAVING),
            sizes=SIZES,
            values="equals" if reduce.startswith("am") else "whole" if exactly else "normal",
            attrs=f'{{dim = 1 : i64, reduce = "{reduce}", include_self = {str(include_self).lower()}}}',
            note=reduce + ("" if include_self else ", without x"))
        if reduce != "mean":
            row(
                "scatter_reduce", tuple(d for d in NUMBERS if d not in FLOATS), [("N", 7), ("N", 3),
                                                                                 ("N", 3)],
                ("N", 7), function, kinds=kinds(INSIDE), sizes=SIZES, values="whole",
                attrs=f'{{dim = 1 : i64, reduce = "{reduce}", include_self = {str(include_self).lower()}}}',
                note=reduce + " of integers" + ("" if include_self else ", without x"))
        if reduce != "mean" or include_self:
            few = lambda x, i, s, r=reduce, w=include_self: reduced(x, i, s, r, w, 0)
            row(
                "scatter_seek", ("f32", ), [(7, "N"), (3, "N"), (3, "N")], (7, "N"), few,
                acc.equal if exactly else acc.contraction(5, few), kinds=kinds(LEAVING),
                sizes=SIZES,
                values="equals" if reduce.startswith("am") else "whole" if exactly else "normal",
                attrs=f'{{dim = 0 : i64, reduce = "{reduce}", include_self = {str(include_self).lower()}}}',
                note=reduce + ("" if include_self else ", without x"))

# Lines that go along the last dim, neighbours of which each has its own index, and neighbours that
# share one.
LINES = {
    "lines": ([("N", 7), ("N", 9), ("N", 9)], 1), "neighbours": ([(7, "N"), (9, "N"), (9, "N")], 0),
    "between": ([(2, 7, "N"), (2, 9, "N"), (2, 9, "N")], 1),
    "shared": ([(7, "N"), (9, 1), (9, "N")], 0), "shared by some": ([(2, 7, 3, "N"), (1, 9, 3, 1),
                                                                     (2, 9, 3, "N")], 1)
}


def applied(reduce, dim):
    if not reduce:
        return lambda x, i, s: last(x, dim, i.expand(s.shape), s)
    return lambda x, i, s: reduced(x, i, s, reduce, dim=dim)


def apply_row(reduce, shapes, dim, note, sizes, dtypes, index="i64", places=LEAVING):
    function = applied(reduce, dim)
    inexact = acc.contraction(12, function) if reduce == "sum" else acc.equal
    attrs = f"dim = {dim} : i64" + (f', reduce = "{reduce}"' if reduce else "")
    row("scatter_apply", dtypes, shapes, shapes[0], function, inexact if reduce else acc.exact,
        kinds=kinds(places, index), sizes=sizes, attrs="{" + attrs + "}",
        note=f"{reduce or 'last'}, {note}",
        values={"": "special", "sum": "normal", "prod": "whole"}.get(reduce, "equals"))


for note, (shapes, dim) in LINES.items():
    for reduce in ("", "sum", "prod", "amax", "amin"):
        # Each update rounds: of 16-bit floats dl.scatter_reduce makes sums of f32.
        others = ("f64" if reduce == "sum" else "f16",) + (("i1",) if not reduce else ())
        apply_row(reduce, shapes, dim, note, SIZES, ("f32", ) +
                  (others if note in ("lines", "neighbours") else ()))
        if reduce in ("", "amax") and note in ("lines", "neighbours"):
            apply_row(reduce, shapes, dim, note + " of integers", SIZES, ("i8", "ui8", "i64"),
                      "i32", INSIDE)
# More updates than a tile of a block holds, and more places than one thread goes over.
for reduce in ("", "sum"):
    apply_row(reduce, [(50, ), ("N", ), ("N", )], 0, "long", (0, 1, 65, 129, 4096, 4097, 9000),
              ("i32", ), places=range(-1, 60))
    apply_row(reduce, [("N",), ("N",), ("N",)], 0, "all symbolic", SIZES, ("f32",))
    apply_row(reduce, [(600, "N"), (40, "N"), (40, "N")], 0, "parts", (1, 33, 40), ("f32", ),
              places=range(600))
    apply_row(reduce, [(600, "N"), (40, 1), (40, "N")], 0, "parts, shared", (1, 33, 160), ("f32", ),
              places=range(600))

# A tensor that is several operands is one input of the kernel.
for reduce in ("", "sum"):
    of_itself = lambda x, i, r=reduce: applied(r, 0)(x, i, x)
    attrs = "{dim = 0 : i64" + (f', reduce = "{reduce}"' if reduce else "") + "}"
    row(
        "scatter_apply", ("f32", ), [("N", ), ("N", )], ("N", ), of_itself,
        acc.contraction(12, of_itself) if reduce else acc.exact, kinds=kinds(LEAVING), sizes=SIZES,
        values="normal", note=f"{reduce or 'last'}, updates that are x",
        body=lambda x, types, y, a=attrs:
        f"%y = dl.scatter_apply {x[0]}, {x[1]}, {x[0]} {a} : ({types[0]}, {types[1]}, {types[0]}) -> {y}"
    )
row(
    "scatter_apply", ("i64", ), [("N", ), ("N", )], ("N", ), lambda x, s: applied("", 0)(x, x, s),
    kinds={0: ("i64", INSIDE)}, sizes=SIZES, values="whole", note="last, places that are x",
    body=lambda x, types, y:
    f"%y = dl.scatter_apply {x[0]}, {x[0]}, {x[1]} {{dim = 0 : i64}} : ({types[0]}, {types[0]}, {types[1]}) -> {y}"
)
