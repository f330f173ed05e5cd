"""Reductions over whole dims, and softmax."""
import torch
from torch.nn import functional as F

import accuracy as acc
from rows.row import ALL, BOUNDARY, FLOATS, INTS, NUMBERS, POSITIVE, element_of, row, with_element

TOTAL = lambda x: x.sum()
row("sum", FLOATS, [(3, "N")], (3, ), lambda x: x.sum(1),
    acc.contraction(lambda x: x.shape[1], lambda x: x.sum(1)), attrs="{dim = array<i64: 1>}",
    values="normal")
row("sum", INTS + ("i1", ), [(3, "N")], (3, ), lambda x: x.sum(1), attrs="{dim = array<i64: 1>}",
    result_dtype="i64", note="integers")
row("sum", ("f32",), [("N", 5, 3)], (1, 5, 1), lambda x: x.sum((0, 2), keepdim=True),
    acc.contraction(lambda x: 3 * x.shape[0], lambda x: x.sum((0, 2), keepdim=True)),
    attrs="{dim = array<i64: 0, 2>, keepdim = true}", values="normal", note="outer, keepdim")
row("sum", ("f32", ), [("N", 7)], (), TOTAL, acc.contraction(lambda x: x.numel(), TOTAL),
    values="normal", note="all dims")
row("mean", FLOATS, [("N", 33)], ("N", ), lambda x: x.mean(1),
    acc.contraction(34, lambda x: x.mean(1)), attrs="{dim = array<i64: 1>}", values="normal")
row("mean", ("f32", ), [(4, "N")], (4, ), lambda x: x.mean(1),
    acc.contraction(lambda x: x.shape[1] + 1, lambda x: x.mean(1)), attrs="{dim = array<i64: -1>}",
    values="normal", note="over N")
row("mean", ("f32", "f16"), [("N", 6, 5, 5)], ("N", 6), lambda x: x.mean((2, 3)),
    acc.contraction(26, lambda x: x.mean((2, 3))), attrs="{dim = array<i64: 2, 3>}",
    values="normal", note="pooling")
row("amax", NUMBERS, [(3, "N")], (3, ), lambda x: x.amax(1), acc.equal,
    attrs="{dim = array<i64: 1>}", sizes=POSITIVE)
row("amax", ("f32",), [("N", 5)], (1, 5), lambda x: x.amax(0, keepdim=True), acc.equal,
    attrs="{dim = array<i64: 0>, keepdim = true}", sizes=POSITIVE, note="outer, keepdim")
row("argmax", NUMBERS, [(3, "N")], (3, ), lambda x: x.argmax(1), attrs="{dim = 1 : i64}",
    sizes=POSITIVE, result_dtype="i64", values="equals")
row("argmax", ("f32", ), [("N", 5)], (1, 5), lambda x: x.argmax(0, keepdim=True),
    attrs="{dim = 0 : i64, keepdim = true}", sizes=POSITIVE, result_dtype="i64", values="numbers",
    note="outer, keepdim")
row("argmax", ("f32", ), [("N", 5)], (), lambda x: x.argmax(), sizes=POSITIVE, result_dtype="i64",
    values="numbers", note="all dims")
# Rows of whole vectors, which a GPU reads by accesses of 16 bytes.
row("softmax", FLOATS, [("N", 264)], ("N", 264), lambda x: torch.softmax(x, 1),
    acc.of_softmax(1, False), attrs="{dim = 1 : i64}", values="normal", sizes=BOUNDARY[:6],
    note="whole vectors")
row("argmax", ("f32", "bf16", "i8"), [("N", 320)], ("N",), lambda x: x.argmax(1),
    attrs="{dim = 1 : i64}", sizes=BOUNDARY[:6], result_dtype="i64", values="equals",
    note="whole vectors")
# Few long rows, which many blocks of a GPU share: along memory and across it.
LONG = (32768, 40001)
row("sum", FLOATS, [(2, "N")], (2, ), lambda x: x.sum(1),
    acc.contraction(lambda x: x.shape[1], lambda x: x.sum(1)), attrs="{dim = array<i64: 1>}",
    values="normal", sizes=LONG, note="long rows")
row("argmax", ("f32", "i8"), [(2, "N")], (2, ), lambda x: x.argmax(1), attrs="{dim = 1 : i64}",
    sizes=LONG, result_dtype="i64", values="equals", note="long rows")
row("amax", ("f16", "i64"), [("N", 3)], (3, ), lambda x: x.amax(0), acc.equal,
    attrs="{dim = array<i64: 0>}", sizes=LONG, note="long columns")
row("softmax", ("f32", ), [("N", 3)], ("N", 3), lambda x: torch.softmax(x, 0),
    acc.of_softmax(0, False), attrs="{dim = 0 : i64}", values="normal", sizes=LONG,
    note="long columns")
# The first of two results, then the second.
row(
    "max_dim", NUMBERS, [("N", 5)], ("N", ), lambda x: x.max(1).values, acc.equal, values="equals",
    note="values", body=lambda names, types, result:
    f"%y, %i = dl.max_dim {names[0]} {{dim = -1 : i64}} : ({types[0]}) -> "
    f"({result}, {with_element(result, 'i64')})")
row(
    "max_dim", ("f32", "i32"), [("N", 5)], (1, 5), lambda x: x.max(0, keepdim=True).indices,
    sizes=POSITIVE, result_dtype="i64", values="equals", note="indices", body=lambda names, types,
    result: f"%v, %y = dl.max_dim {names[0]} {{dim = 0 : i64, keepdim = true}} : ({types[0]}) -> "
    f"({with_element(result, element_of(types[0]))}, {result})")
row(
    "min_dim", NUMBERS, [("N", 5)], ("N", ), lambda x: x.min(1).values, acc.equal, values="equals",
    note="values", body=lambda names, types, result:
    f"%y, %i = dl.min_dim {names[0]} {{dim = -1 : i64}} : ({types[0]}) -> "
    f"({result}, {with_element(result, 'i64')})")
row(
    "min_dim", ("f32", "i32"), [("N", 5)], (1, 5), lambda x: x.min(0, keepdim=True).indices,
    sizes=POSITIVE, result_dtype="i64", values="equals", note="indices", body=lambda names, types,
    result: f"%v, %y = dl.min_dim {names[0]} {{dim = 0 : i64, keepdim = true}} : ({types[0]}) -> "
    f"({with_element(result, element_of(types[0]))}, {result})")
for op, function, is_log in (("softmax", torch.softmax, False), ("log_softmax", torch.log_softmax,
                                                                 True)):
    row(op, FLOATS, [("N", 33)], ("N", 33), lambda x, f=function: f(x, 1),
        acc.of_softmax(1, is_log), attrs="{dim = -1 : i64}", values="normal")
    row(op, ("f32", ), [(3, "N")], (3, "N"), lambda x, f=function: f(x, 1),
        acc.of_softmax(1, is_log), attrs="{dim = 1 : i64}", values="normal", note="over N")
    row(op, ("f32", ), [("N", 4, 3)], ("N", 4, 3), lambda x, f=function: f(x, 1),
        acc.of_softmax(1, is_log), attrs="{dim = 1 : i64}", values="normal", note="inner dim")
    row(op, ("f32", ), [("N", 10)], ("N", 10), lambda x, f=function: f(x, 1),
        acc.of_softmax(1, is_log), attrs="{dim = 1 : i64}", values="special", note="special values")
row("sum", ("i8", "f32"), [(3, "N")], (3, ), lambda x: x.sum(1, dtype=torch.float64),
    acc.contraction(lambda x: x.shape[1], lambda x: x.double().sum(1)),
    attrs="{dim = array<i64: 1>, dtype = f32}", result_dtype="f32", values="normal", note="dtype")
row("mean", ("i16", "f16"), [("N", 9)], ("N", ), lambda x: x.double().mean(1),
    acc.contraction(10, lambda x: x.double().mean(1)), attrs="{dim = array<i64: 1>, dtype = f32}",
    result_dtype="f32", values="normal", note="dtype")
row("prod", FLOATS, [(3, "N")], (3, ), lambda x: x.prod(1),
    acc.contraction(lambda x: x.shape[1], lambda x: x.prod(1)), attrs="{dim = array<i64: 1>}",
    values="positive")
row("prod", INTS + ("i1", ), [(3, "N")], (3, ), lambda x: x.prod(1), attrs="{dim = array<i64: 1>}",
    result_dtype="i64", note="integers")
row("amin", NUMBERS, [(3, "N")], (3, ), lambda x: x.amin(1), acc.equal,
    attrs="{dim = array<i64: 1>}", sizes=POSITIVE)
row("argmin", NUMBERS, [(3, "N")], (3, ), lambda x: x.argmin(1), attrs="{dim = 1 : i64}",
    sizes=POSITIVE, result_dtype="i64", values="equals")
row("argmin", ("f32", ), [("N", 5)], (1, 5), lambda x: x.argmin(0, keepdim=True),
    attrs="{dim = 0 : i64, keepdim = true}", sizes=POSITIVE, result_dtype="i64", values="numbers",
    note="outer, keepdim")
AROUND = lambda dim, less: lambda x: (
    (x + x.mean(dim, keepdim=True))**2).sum(dim) / max(x.shape[dim] - less, 1)
row("var", FLOATS, [(3, "N")], (3, ), lambda x: x.var(1),
    acc.contraction(lambda x: x.shape[1] + 6, AROUND(1, 1)), attrs="{dim = array<i64: 1>}",
    values="normal")
row("var", ("f32", ), [("N", 17)], (17, ), lambda x: x.var(0, unbiased=False),
    acc.contraction(lambda x: x.shape[0] + 6, AROUND(0, 0)),
    attrs="{dim = array<i64: 0>, unbiased = false}", values="normal", note="outer, biased")
row("std", FLOATS, [(3, "N")], (3, ), lambda x: x.std(1),
    acc.root_of(acc.contraction(lambda x: x.shape[1] + 6, AROUND(1, 1))),
    attrs="{dim = array<i64: 1>, correction = 1 : i64}", values="normal")
for note, values in (("large", [0.0, 1e30, -2e30, 3e38,
                                -3e38]), ("small", [0.0, 1e-30, -2e-30, 1e-38, 1.4e-45])):
    row("std", ("f32", "bf16"), [(3, "N")], (3, ), lambda x: x.std(1, unbiased=False),
        acc.root_of(acc.contraction(lambda x: x.shape[1] + 6, AROUND(1, 0))),
        attrs="{dim = array<i64: 1>, unbiased = false}", values=values, sizes=POSITIVE, note=note)
for part, which in (("var", 0), ("mean", 1)):
    row(
        "var_mean", ("f32", ), [("N", 9)], ("N", ), lambda x, i=which: torch.var_mean(x, 1)[i],
        acc.contraction(16, lambda x, i=which: (AROUND(1, 1)(x), x.mean(1))[i]), values="normal",
        note=part, body=lambda names, types, result, i=which:
        f"{('%y, %m', '%v, %y')[i]} = dl.var_mean {names[0]} {{dim = array<i64: 1>}} : ({types[0]}) -> ({result}, {result})"
    )
row(
    "var_mean", ("f32", ), [("N", 9)], ("N", ), lambda x: x.var(1, correction=3),
    acc.contraction(16, lambda x: ((x + x.mean(1, keepdim=True))**2).sum(1) / 6), values="normal",
    note="correction", body=lambda names, types, result:
    f"%y, %m = dl.var_mean {names[0]} {{dim = array<i64: 1>, correction = 3 : i64}} : ({types[0]}) -> ({result}, {result})"
)
row("logsumexp", FLOATS, [(3, "N")], (3, ), lambda x: x.logsumexp(1), acc.of_logsumexp(1),
    attrs="{dim = array<i64: 1>}", values="normal")
row("logsumexp", ("f32", "f16"), [("N", 10)], ("N", ), lambda x: x.logsumexp(1),
    acc.of_logsumexp(1), attrs="{dim = array<i64: 1>}", values="equals", note="infinities")
for p in (1.0, 2.0, 3.0, 0.0):
    row("norm", FLOATS if p == 2 else ("f32", ), [(3, "N")], (3, ), lambda x, p=p: x.norm(p, 1),
        acc.contraction(lambda x: x.shape[1] + 8, lambda x, p=p: x.norm(p, 1)),
        attrs=f"{{dim = array<i64: 1>, p = {p} : f64}}", values="normal", note=f"p = {p}")
row("norm", FLOATS, [(3, "N")], (3,), lambda x: x.norm(torch.inf, 1), acc.equal, sizes=POSITIVE,
    attrs="{dim = array<i64: 1>, p = 0x7FF0000000000000 : f64}", values="normal", note="largest")
for op in ("any", "all"):
    row(op, ALL, [("N", 3)], (3, ), lambda x, op=op: getattr(torch, op)(x.bool(), 0),
        attrs="{dim = array<i64: 0>}", result_dtype="i1", values="equals")
row("count_nonzero", ALL, [(3, "N")], (3, ), lambda x: x.count_nonzero(1),
    attrs="{dim = array<i64: 1>}", result_dtype="i64", values="equals")
