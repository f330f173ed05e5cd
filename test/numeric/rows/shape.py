"""Ops that move elements without computing on them."""
import torch
from torch.nn import functional as F

import accuracy as acc
import philox
from rows.row import BOUNDARY, FLOATS, NUMBERS, POSITIVE, element_of, row

MOVED = ("f32", "f16", "i8", "i64", "i1")


def cat_then(operands, dim, then):
    """The body of a row: the first `operands` tensors joined along `dim`, and `then` on the result
    %j."""
    return lambda names, types, result: (
        f"%j = dl.cat {', '.join(names[:operands])} {{dim = {dim} : i64}} : "
        f"({', '.join(types[:operands])}) -> {result}\n" + then(names, types, result))


def with_row(op):
    """`op` of %j and the last operand, a row that is broadcast."""
    return lambda names, types, result: (f"%s = dl.broadcast {names[-1]} : ({types[-1]}) -> {result}\n"
                                         f"%y = dl.{op} %j, %s : ({result}, {result}) -> {result}")


def relu(names, types, result):
    return f"%y = dl.relu %j : ({result}) -> {result}"


row("broadcast", MOVED, [("N", 1)], (4, "N", 3), lambda x: x.expand(4, -1, 3))
row("broadcast", ("f32", ), [("N", 1, 5), ("N", 4, 5)], ("N", 4, 5), lambda x, y: x.expand_as(y),
    note="in the middle",
    body=lambda names, types, result: f"%y = dl.broadcast {names[0]} : ({types[0]}) -> {result}")
row("reshape", MOVED, [("N", 6)], ("N", 2, 3), lambda x: x.reshape(-1, 2, 3),
    attrs="{shape = affine_map<()[s0] -> (s0, 2, 3)>}")
row("reshape", ("f32", ), [(4, "N", 2)], (8, "N"), lambda x: x.reshape(8, -1)
    if x.numel() else x.reshape(8, 0), attrs="{shape = affine_map<()[s0] -> (8, s0)>}",
    note="merged")
row("flatten", MOVED, [("N", 2, 3)], ("N", 6), lambda x: x.flatten(1),
    attrs="{start_dim = 1 : i64}")
row("permute", MOVED, [(2, "N", 3)], (3, 2, "N"), lambda x: x.permute(2, 0, 1),
    attrs="{dims = array<i64: 2, 0, 1>}")
for few in (2, 3, 4):  # neighbours in the result that are far apart in x
    row("permute", MOVED, [(2, few, "N")], (2, "N", few), lambda x: x.permute(0, 2, 1),
        attrs="{dims = array<i64: 0, 2, 1>}", note=f"few {few}")
row("transpose", MOVED, [("N", 5)], (5, "N"), lambda x: x.transpose(0, 1),
    attrs="{dim0 = 0 : i64, dim1 = 1 : i64}")
row("slice", MOVED, [("N", 9)], ("N", 4), lambda x: x[:, 1:8:2],
    attrs="{dim = 1 : i64, start = 1 : i64, end = 8 : i64, step = 2 : i64}")
row("slice", ("f32", ), [(2, "N")], (2, "N - 2"), lambda x: x[:, 1:-1],
    attrs="{dim = 1 : i64, start = 1 : i64, end = -1 : i64}", sizes=(2, ) + BOUNDARY[3:],
    note="of N")
row("pad", MOVED[:-1], [("N", 5)], ("N + 1", 8), lambda x: F.pad(x, [2, 1, 0, 1], value=3),
    attrs="{pad = affine_map<() -> (2, 1, 0, 1)>, value = 3.0 : f64}")
row("pad", ("f32", ), [("N", 5)], ("N", 4), lambda x: F.pad(x, [-2, 1]),
    attrs="{pad = affine_map<() -> (-2, 1)>}", note="cropping")
row(
    "pad", ("f32", "i8"), [("N", 5)], ("N", "N + 5"),
    lambda x: F.pad(x, [len(x) // 2, len(x) - len(x) // 2], value=3.0), note="by dims",
    body=lambda names, types, result:
    f"%y = dl.pad {names[0]} {{pad = affine_map<()[s0] -> (s0 floordiv 2, s0 - s0 floordiv 2)>, "
    f"value = 3.0 : f64}} : ({types[0]}) -> {result}")
row("cat", MOVED, [("N", 3), ("N", 1), ("N", 4)], ("N", 8), lambda *x: torch.cat(x, 1),
    attrs="{dim = 1 : i64}")
row("cat", ("f32", ), [("N", 2), (3, 2), ("2*N", 2)], ("3*N + 3", 2), lambda *x: torch.cat(x, 0),
    attrs="{dim = 0 : i64}", note="along N")
row("cat", ("f32", "f16", "i32"), [("N", 3), ("N", 16), ("N", 33), (52, )], ("N", 52),
    lambda a, b, c, s: torch.cat((a, b, c), 1) + s, values="whole", note="with a map after it",
    body=cat_then(3, 1, with_row("add")))
row("cat", ("f32", "i8"), [("N", 2, 33), (3, 2, 33),
                           ("2*N", 2, 33)], ("3*N + 3", 2, 33), lambda *x: torch.cat(x, 0).relu(),
    values="whole", note="across rows", body=cat_then(3, 0, relu))
row("cat", ("f32", "f16", "bf16", "i32", "ui8"), [("N", 8), ("N", 16), ("N", 24), (48,)], ("N", 48),
    lambda a, b, c, s: torch.cat((a, b, c), 1) * s, values="whole", note="of whole vectors",
    body=cat_then(3, 1, with_row("mul")))
row("cat", ("f32", "f16"), [("N", 2, 32), (3, 2, 32),
                            ("2*N", 2, 32)], ("3*N + 3", 2, 32), lambda *x: torch.cat(x, 0).relu(),
    values="whole", note="of rows of whole vectors", body=cat_then(3, 0, relu))
row(
    "cat", ("f32", ), [("N", 7), ("N", 9)], ("N", 16), lambda a, b: torch.cat(
        (a, b), 1) - torch.cat((a, b), 1).flip(1), values="whole", note="read at two indices",
    body=cat_then(
        2, 1, lambda names, types, result:
        f"%f = dl.flip %j {{dims = array<i64: 1>}} : ({result}) -> {result}\n"
        f"%y = dl.sub %j, %f : ({result}, {result}) -> {result}"))
row("dropout", ("f32", "f16"), [("N",)], ("N",), lambda x: x, attrs="{p = 0.25 : f64}")
row("full", ("f32",), [("N", 2)], ("N", 2), lambda x: torch.full_like(x, 0.25),
    body=lambda names, types, result: f"%y = dl.full 2.500000e-01 : f32 -> {result}")
row("full", ("i32",), [("N", 2)], ("N", 2), lambda x: x * 0 - 7, note="integer",
    body=lambda names, types, result: f"%y = dl.full -7 : i32 -> {result}")


def through_channels_last(names, types, result):
    inner = result.replace("[s0, 3, 4, 5]", "[s0, 3, 4, 5], order = [0, 2, 3, 1]")
    return (f"%a = dl.convert_layout {names[0]} : ({types[0]}) -> {inner}\n%b = dl.neg %a : ({inner}) -> {inner}\n"
            f"%y = dl.convert_layout %b : ({inner}) -> {result}")


row("convert_layout", ("f32", "i8"), [("N", 3, 4, 5)], ("N", 3, 4, 5), torch.neg,
    body=through_channels_last, phase="layout")

# Dims added, dropped, repeated and reordered.
row("expand", MOVED, [("N", 1)], (4, "N", 3), lambda x: x.expand(4, -1, 3),
    attrs="{size = affine_map<() -> (4, -1, 3)>}")
row("expand", ("f32", ), [(1, 3)], ("N", 3), lambda x: x, note="to N",
    attrs="{size = affine_map<()[s0] -> (s0, 3)>}", sizes=(1, ))
row("expand_as", ("f32", "i8"), [("N", 1), ("N", 4)], ("N", 4), lambda x, y: x.expand_as(y))
row("squeeze", ("f32", "i1"), [("N", 1, 3, 1)], ("N", 3), lambda x: x.squeeze(3).squeeze(1),
    attrs="{dim = array<i64: 1, -1, 2>}")
row("squeeze", ("f32",), [(1, 5, 1)], (5,), lambda x: x.squeeze(), sizes=(1,), note="all")
row("unsqueeze", ("f32", "i64"), [("N", 3)], ("N", 3, 1), lambda x: x.unsqueeze(-1),
    attrs="{dim = -1 : i64}")
row("unsqueeze", ("f32", ), [("N", 3)], (1, "N", 3), lambda x: x.unsqueeze(0),
    attrs="{dim = 0 : i64}", note="in front")
row("unflatten", ("f32", "f16"), [("N", 6)], ("N", 2, 3), lambda x: x.reshape(-1, 2, 3),
    attrs="{dim = 1 : i64, sizes = affine_map<() -> (2, -1)>}")
row("movedim", ("f32", "i8"), [(2, "N", 3)], ("N", 3, 2), lambda x: x.movedim(0, -1),
    attrs="{source = array<i64: 0>, destination = array<i64: -1>}")
row("movedim", ("f32",), [(2, "N", 3, 4)], (4, "N", 2, 3), lambda x: x.movedim((1, 3), (1, 0)),
    attrs="{source = array<i64: 1, 3>, destination = array<i64: 1, 0>}", note="two")
row("t", ("f32", "i16"), [("N", 5)], (5, "N"), lambda x: x.t())
row("t", ("f32",), [("N",)], ("N",), lambda x: x.t(), note="one dim")

row("expect_dims", ("f32", "i8"), [("N", 3)], ("N", 3), lambda x: x,
    attrs="{dims = affine_map<() -> (-1, 3)>}")

# Taken apart.
row("select", MOVED, [("N", 5)], ("N", ), lambda x: x.select(1, 3),
    attrs="{dim = 1 : i64, index = 3 : i64}")
row("select", ("f32", ), [("N", 5)], (5, ), lambda x: x[-1],
    attrs="{dim = 0 : i64, index = -1 : i64}", sizes=POSITIVE, note="last")
row("narrow", ("f32", "i8"), [("N", 9)], ("N", 4), lambda x: x.narrow(1, 2, 4),
    attrs="{dim = 1 : i64, start = affine_map<() -> (2)>, length = affine_map<() -> (4)>}")
row("narrow", ("f32", ), [(2, "N")], (2, 3), lambda x: x.narrow(1, -3, 3), sizes=BOUNDARY[3:],
    note="from the end",
    attrs="{dim = 1 : i64, start = affine_map<() -> (-3)>, length = affine_map<() -> (3)>}")
row("narrow", ("f32", ), [(2, "N")], (2, "N - 2"), lambda x: x.narrow(1, 1, x.shape[1] - 2),
    sizes=BOUNDARY[3:], note="of N",
    attrs="{dim = 1 : i64, start = affine_map<() -> (1)>, length = affine_map<()[s0] -> (s0 - 2)>}")
for op in ("narrow", "part"):  # as many as another tensor has
    row(
        op, ("f32", "i8") if op == "part" else ("f32", ), [("N", ), (131, 3)], ("N", 3),
        lambda a, x: x[1:1 + len(a)], note="of a table", body=lambda names, types, result, op=op:
        f"%y = dl.{op} {names[1]} {{dim = 0 : i64, start = affine_map<() -> (1)>, "
        f"length = affine_map<()[s0] -> (s0)>}} : ({types[1]}) -> {result}")
    for length, rows in ((2, 2), ("s0 + 1", "N + 1")):  # from as many on as another tensor has
        row(
            op, ("f32", ), [("N", ), (259, 3)], (rows, 3),
            lambda a, x, rows=rows: x[len(a):len(a) + (rows if rows == 2 else len(a) + 1)],
            note=f"from N on, {rows}", body=lambda names, types, result, op=op, length=length:
            (f"%y = dl.{op} {names[1]} {{dim = 0 : i64, start = affine_map<()[s0] -> (s0)>, "
             f"length = affine_map<()[s0] -> ({length})>}} : ({types[1]}) -> {result}"))


def pieces(op, sizes, attrs, drop=False):
    """A body that takes x [N, sum(sizes)] apart and joins the pieces in reverse."""
    def body(names, types, result):
        element = element_of(types[0])
        parts = [
            f"tensor<?x{element}, #dl.t<[s0]>>"
            if drop else f"tensor<?x{size}x{element}, #dl.t<[s0, {size}]>>" for size in sizes
        ]
        letters = "abcdefgh"[:len(sizes)]
        join = "stack" if drop else "cat"
        return (f"{', '.join('%' + x for x in letters)} = dl.{op} {names[0]} {attrs} : ({types[0]}) -> ({', '.join(parts)})\n"
                f"%y = dl.{join} {', '.join('%' + x for x in reversed(letters))} {{dim = 1 : i64}} : "
                f"({', '.join(reversed(parts))}) -> {result}")
    return body


def reversed_pieces(split):
    return lambda x: torch.cat(list(reversed(split(x))), 1)


row("split", ("f32", "i8"), [("N", 8)], ("N", 8), reversed_pieces(lambda x: x.split(3, 1)),
    body=pieces("split", (3, 3, 2), "{dim = 1 : i64, split_size = 3 : i64}"))
row(
    "split", ("f32", ), [("N", 8)], ("N", 8), reversed_pieces(lambda x: x.split((1, 0, 5, 2), 1)),
    note="sizes", body=pieces("split", (1, 0, 5, 2),
                              "{dim = 1 : i64, split_size_or_sections = array<i64: 1, 0, 5, 2>}"))
row("chunk", ("f32", "f16"), [("N", 7)], ("N", 7), reversed_pieces(lambda x: x.chunk(5, 1)),
    body=pieces("chunk", (2, 2, 2, 1), "{dim = 1 : i64, chunks = 5 : i64}"))
row("unbind", ("f32", "i64"), [("N", 3)], ("N", 3),
    lambda x: torch.stack(list(reversed(x.unbind(1))), 1),
    body=pieces("unbind", (1, 1, 1), "{dim = 1 : i64}", drop=True))
row("stack", ("f32", "i1"), [("N", 3), ("N", 3)], ("N", 3, 2), lambda *x: torch.stack(x, -1),
    attrs="{dim = -1 : i64}")
for op, first, second, result in (("hstack", ("N", 3), ("N", 2), ("N", 5)), ("hstack", ("N", ),
                                                                             (2, ), ("N + 2", )),
                                  ("vstack", ("N", 3), (3, ), ("N + 1", 3)), ("vstack", ("N", ),
                                                                              ("N", ), (2, "N")),
                                  ("dstack", ("N", ), ("N", ),
                                   (1, "N", 2)), ("dstack", ("N", 3), ("N", 3, 4), ("N", 3, 5)),
                                  ("column_stack", ("N", ), ("N", 3), ("N", 4)),
                                  ("column_stack", ("N", 2, 3), ("N", 4, 3), ("N", 6, 3))):
    row(op, ("f32", "i1"), [first, second], result, lambda *x, op=op: getattr(torch, op)(x),
        note=f"rank {len(first)} and {len(second)}")
for indexing in ("ij", "xy"):
    row(
        "meshgrid", ("f32", ), [("N", ),
                                (3, )], ("N", 3) if indexing == "ij" else (3, "N"), note=indexing,
        torch=lambda a, b, indexing=indexing: torch.sub(*torch.meshgrid(a, b, indexing=indexing)),
        values="whole", body=lambda names, types, result, indexing=indexing:
        (f"%a, %b = dl.meshgrid {', '.join(names)} {{indexing = \"{indexing}\"}} : ({', '.join(types)}) -> ({result}, {result})\n"
         f"%y = dl.sub %a, %b : ({result}, {result}) -> {result}"))

# Shifted, turned, repeated, masked.
row("roll", MOVED, [("N", 5)], ("N", 5), lambda x: x.roll((1, -2), (1, 0)),
    attrs="{shifts = array<i64: 1, -2>, dims = array<i64: 1, 0>}")
row("roll", ("f32", ), [(3, 5)], (3, 5), lambda x: x.roll(7), attrs="{shifts = array<i64: 7>}",
    sizes=(1, ), note="flattened")
row("roll", ("f32", ), [("N", 5)], ("N", 5), lambda x: x.roll(-7),
    attrs="{shifts = array<i64: -7>}", note="flattened N")
row("flip", MOVED, [("N", 5)], ("N", 5), lambda x: x.flip(0, 1), attrs="{dims = array<i64: 0, -1>}")
row("repeat", MOVED, [("N", 3)], (2, "3*N", 6), lambda x: x.repeat(2, 3, 2),
    attrs="{repeats = array<i64: 2, 3, 2>}")
row("repeat", ("f32", ), [("N", 3)], ("N", 6), lambda x: torch.tile(x, (2, )),
    attrs="{repeats = array<i64: 2>}", note="tile")
row("repeat_interleave", ("f32", "i8"), [("N", 3)], ("2*N", 3), lambda x: x.repeat_interleave(2, 0),
    attrs="{repeats = 2 : i64, dim = 0 : i64}")
row("repeat_interleave", ("f32", ), [(2, "N")], (2, "3*N"), lambda x: x.repeat_interleave(3, 1),
    note="last dim", attrs="{repeats = 3 : i64, dim = -1 : i64}")
row("unfold_dim", ("f32", "i8"), [(9, "N")], (4, "N", 3), lambda x: x.unfold(0, 3, 2),
    attrs="{dimension = 0 : i64, size = 3 : i64, step = 2 : i64}")
row("unfold_dim", ("f32", ), [(2, "N + 2", 3)], (2, "N", 3, 3), lambda x: x.unfold(1, 3, 1),
    note="inner", sizes=BOUNDARY[1:],
    attrs="{dimension = -2 : i64, size = 3 : i64, step = 1 : i64}")
row("unfold_dim", ("f32",), [("N", 4)], ("N", 2, 1), lambda x: x.unfold(1, 1, 3), note="gaps",
    attrs="{dimension = 1 : i64, size = 1 : i64, step = 3 : i64}")
row("pixel_unshuffle", ("f32", ), [("N", 2, 6, 9)], ("N", 18, 2, 3),
    lambda x: F.pixel_unshuffle(x, 3), attrs="{downscale_factor = 3 : i64}", sizes=BOUNDARY[1:10])
for op, function in (("tril", torch.tril), ("triu", torch.triu)):
    row(op, MOVED[:-1], [(3, "N", 9)], (3, "N", 9), lambda x, f=function: f(x, 1),
        attrs="{diagonal = 1 : i64}", note="above")
    row(op, ("f32", ), [(5, "N")], (5, "N"), lambda x, f=function: f(x, -2),
        attrs="{diagonal = -2 : i64}", note="below")


# Made of numbers alone: what follows from the dims and dtype of x.
def created(op, attrs, operand=False):
    def body(names, types, result):
        return (f"%y = dl.{op} {names[0]} {attrs} : ({types[0]}) -> {result}" if operand else
                f"%y = dl.{op} {attrs} : () -> {result}")
    return body


SIZE = "size = affine_map<()[s0] -> (s0, 3)>"
row("zeros", ("f32",), [("N", 3)], ("N", 3), torch.zeros_like, body=created("zeros", f"{{{SIZE}}}"))
row("ones", ("f32", ), [("N", 3)], ("N", 3), lambda x: torch.ones_like(x).long(),
    body=created("ones", f"{{{SIZE}, dtype = i16}}"), result_dtype="i16", note="i16")
row("filled", ("f32", ), [("N", 3)], ("N", 3), lambda x: torch.full_like(x, 0.1).float(),
    body=created("filled", f"{{{SIZE}, fill_value = 0.1 : f64}}"))
row("filled", ("f32", ), [("N", 3)], ("N", 3), lambda x: torch.full_like(x, -7).long(),
    note="integer", result_dtype="i64", body=created("filled",
                                                     f"{{{SIZE}, fill_value = -7 : i64}}"))
row("zeros_like", MOVED, [("N", 3)], ("N", 3), torch.zeros_like,
    body=created("zeros_like", "", True))
row("ones_like", MOVED, [("N", 3)], ("N", 3), torch.ones_like, body=created("ones_like", "", True))
row("full_like", ("f32", "i8", "f16"), [("N", 3)], ("N", 3), lambda x: torch.full_like(x, 5),
    body=created("full_like", "{fill_value = 5 : i64}", True))
row("arange", ("f32",), [("N",)], ("N",), lambda x: torch.arange(x.shape[0]), result_dtype="i64",
    body=created("arange", "{end = affine_map<()[s0] -> (s0)>}"))
row(
    "arange", ("f32", ), [("N", )], ("N + 1", ), lambda x: torch.arange(-1, x.shape[0]).float(),
    result_dtype="f16",
    body=created("arange",
                 "{start = affine_map<() -> (-1)>, end = affine_map<()[s0] -> (s0)>, dtype = f16}"),
    note="from -1")
row(
    "arange", ("f32", ), [("N", )], (4, ), lambda x: torch.arange(2, 13, 3).float(), sizes=(1, ),
    body=created(
        "arange",
        "{start = affine_map<() -> (2)>, end = affine_map<() -> (13)>, step = 3 : i64, dtype = f32}"
    ), note="step")
row(
    "arange", ("i32", ), [("N", )], (4, ), lambda x: torch.arange(9, -1, -3).int(), sizes=(1, ),
    body=created(
        "arange",
        "{start = affine_map<() -> (9)>, end = affine_map<() -> (-1)>, step = -3 : i64, dtype = i32}"
    ), note="down")
row(
    "arange", ("f32", ), [("N", )], ("N + 3", ),
    lambda x: torch.arange(x.shape[0], 2 * x.shape[0] + 3), result_dtype="i64", note="between dims",
    body=created("arange",
                 "{start = affine_map<()[s0] -> (s0)>, end = affine_map<()[s0] -> (s0 * 2 + 3)>}"))
row(
    "arange", ("f32", ), [("N", )], ("N floordiv 2 + 2", ),
    lambda x: torch.arange(1, -x.shape[0] - 2, -2), result_dtype="i16", note="down to a dim",
    body=created(
        "arange",
        "{start = affine_map<() -> (1)>, end = affine_map<()[s0] -> (-s0 - 2)>, step = -2 : i64, dtype = i16}"
    ))
for start, end, step, size in ((0.5, 2.0, 0.25, 6), (0.0, 1.0, 0.1, 10), (3.0, -1.0, -0.7, 6),
                               (1.5, 1.5, 0.1, 0), (-1.9, 1e3, 1 / 3, 3006)):
    row(
        "fractions", ("f32", ), [("N", )], (size, ),
        lambda x, a=start, b=end, c=step: torch.arange(a, b, c, dtype=torch.float64), sizes=(1, ),
        note=f"{start} to {end} by {step:g}",
        body=created("fractions",
                     f"{{start = {start:e} : f64, end = {end:e} : f64, step = {step!r} : f64}}"))
for dtype in ("f16", "bf16", "f64"):
    row("fractions", ("f32", ), [("N", )], (10, ),
        lambda x: torch.arange(0.0, 1.0, 0.1, dtype=torch.float64), sizes=(1, ), result_dtype=dtype,
        note=dtype, body=created("fractions",
                                 f"{{end = 1.0 : f64, step = 0.1 : f64, dtype = {dtype}}}"))
for start, end, steps in ((-1.0, 1.0, 5), (0.0, 1.0, 100), (3.0, -1.5, 8), (2.0, 9.0, 1), (1.0, 2.0,
                                                                                           0)):
    for dtype in FLOATS:
        row(
            "linspace", ("f32", ), [("N", )], (steps, ),
            lambda x, a=start, b=end, n=steps: torch.linspace(a, b, n, dtype=torch.float64),
            sizes=(1, ), bound=acc.ulps(2) if dtype == "f64" else acc.exact, result_dtype=dtype,
            note=f"{start} to {end}, {steps}, {dtype}", body=created(
                "linspace",
                f"{{start = {start} : f64, end = {end} : f64, steps = {steps} : i64, dtype = {dtype}}}"
            ))
for dtype in NUMBERS[:-1]:
    row(
        "scalar_tensor", ("f32", ), [("N", )], (),
        lambda x: torch.tensor(float(x.shape[0] // 2 + 3)), result_dtype=dtype, note=dtype,
        body=created("scalar_tensor",
                     f"{{s = affine_map<()[s0] -> (s0 floordiv 2 + 3)>, dtype = {dtype}}}"))


def times_size(names, types, result):
    """A dim that meets a tensor, in one kernel with it."""
    scalar = f"tensor<{element_of(result)}>"
    return (
        f"%s = dl.scalar_tensor {{s = affine_map<()[s0] -> (s0 * 3 + 1)>, dtype = {element_of(result)}}} : () -> {scalar}\n"
        f"%b = dl.broadcast %s : ({scalar}) -> {types[0]}\n%y = dl.mul {names[0]}, %b : ({types[0]}, {types[0]}) -> {result}"
    )


row(
    "arange", ("f32", ), [("N", )], (5, ), lambda x: torch.arange(x.shape[0], x.shape[0] + 5),
    result_dtype="i64", note="from a dim",
    body=created("arange",
                 "{start = affine_map<()[s0] -> (s0)>, end = affine_map<()[s0] -> (s0 + 5)>}"))
row("scalar_tensor", ("f32", "f64", "i32", "i64"), [("N", 3)], ("N", 3), lambda x: x *
    (3 * x.shape[0] + 1), values="whole", note="times a tensor", body=times_size)
row("squeeze", ("f32", "i64"), [("N", 3)], (3, ), lambda x: x.squeeze(0), sizes=(1, ),
    attrs="{dim = array<i64: 0>}", note="a dim that is 1")
row("squeeze", ("f32", ), [("N", 1, "N + 1")], ("N", "N + 1"), lambda x: x.squeeze(),
    sizes=(2, 3, 7), note="dims that are not 1")
row("eye", ("f32", ), [("N", )], ("N", "N"), lambda x: torch.eye(x.shape[0]),
    body=created("eye", "{n = affine_map<()[s0] -> (s0)>}"))
row("eye", ("i8", ), [("N", )], (3, "N"), lambda x: torch.eye(3, x.shape[0]).char(),
    note="not square",
    body=created("eye", "{n = affine_map<() -> (3)>, m = affine_map<()[s0] -> (s0)>, dtype = i8}"))

for word in range(4):
    row(
        "random_bits", ("i64", ), [(2, ),
                                   ("N", 3)], ("N", 3), result_dtype="ui32", note=f"word {word}",
        torch=lambda g, x, word=word: torch.from_numpy(philox.bits(g.numpy(), x.shape)[word]),
        body=lambda names, types, result, word=word:
        f"%y = dl.random_bits {names[0]} {{{SIZE}, word = {word} : i64}} : ({types[0]}) -> {result}"
    )

# Borders. Reflection needs more elements than it mirrors; a dim of N that has too few is refused
# (test/tools/needs.test).
for mode in ("reflect", "replicate", "circular"):
    row(
        "pad", ("f32", "i8", "f16"), [("N", 2, 5)], ("N", 2, 10),
        attrs=f'{{pad = affine_map<() -> (2, 3)>, mode = "{mode}"}}', note=mode,
        torch=lambda x, mode=mode: F.pad(x.double(), [2, 3], mode).to(x.dtype)
        if len(x) else x.new_zeros(0, 2, 10))
    row("pad", ("f32", ), [(2, 3, 4, "N")], (2, 3, 7, "N + 3"),
        attrs=f'{{pad = affine_map<() -> (1, 2, 3, 0)>, mode = "{mode}"}}',
        torch=lambda x, mode=mode: F.pad(x, [1, 2, 3, 0], mode), sizes=(3, ) + BOUNDARY[4:],
        note=f"{mode}, of N")
    for low, high in ((-1, 2), (2, -1), (-2, -1)):
        row(
            "pad", ("f32", ), [("N", 2, 6)], ("N", 2, 6 + low + high),
            note=f"{mode}, {low} and {high}",
            attrs=f'{{pad = affine_map<() -> ({low}, {high})>, mode = "{mode}"}}',
            torch=lambda x, mode=mode, widths=[low, high]: F.pad(x, widths, mode)
            if len(x) else x.new_zeros(0, 2, 6 + sum(widths)))
        row("pad", ("f32", ), [(2, 3, "N")],
            (2, 3, f"N + {low + high}" if low + high >= 0 else f"N - {-low - high}"),
            attrs=f'{{pad = affine_map<() -> ({low}, {high})>, mode = "{mode}"}}',
            sizes=(4, ) + BOUNDARY[4:],
            torch=lambda x, mode=mode, widths=[low, high]: F.pad(x, widths, mode),
            note=f"{mode}, {low} and {high}, of N")
