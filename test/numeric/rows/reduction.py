"""Reductions over whole dims, and what normalizes by them."""
import torch
from torch.nn import functional as F

import accuracy as acc
from rows.row import FLOATS, INTS, NUMBERS, POSITIVE, element_of, row, with_element

TOTAL = lambda x: x.sum()
row("sum", FLOATS, [(3, "N")], (3,), lambda x: x.sum(1), acc.contraction(lambda x: x.shape[1], lambda x: x.sum(1)),
    attrs="{dim = array<i64: 1>}", values="normal")
row("sum", INTS + ("i1",), [(3, "N")], (3,), lambda x: x.sum(1), attrs="{dim = array<i64: 1>}", result_dtype="i64",
    note="integers")
row("sum", ("f32",), [("N", 5, 3)], (1, 5, 1), lambda x: x.sum((0, 2), keepdim=True),
    acc.contraction(lambda x: 3 * x.shape[0], lambda x: x.sum((0, 2), keepdim=True)),
    attrs="{dim = array<i64: 0, 2>, keepdim = true}", values="normal", note="outer, keepdim")
row("sum", ("f32",), [("N", 7)], (), TOTAL, acc.contraction(lambda x: x.numel(), TOTAL), values="normal", note="all dims")
row("mean", FLOATS, [("N", 33)], ("N",), lambda x: x.mean(1), acc.contraction(34, lambda x: x.mean(1)),
    attrs="{dim = array<i64: 1>}", values="normal")
row("mean", ("f32",), [(4, "N")], (4,), lambda x: x.mean(1), acc.contraction(lambda x: x.shape[1] + 1, lambda x: x.mean(1)),
    attrs="{dim = array<i64: -1>}", values="normal", note="over N")
row("mean", ("f32", "f16"), [("N", 6, 5, 5)], ("N", 6), lambda x: x.mean((2, 3)),
    acc.contraction(26, lambda x: x.mean((2, 3))), attrs="{dim = array<i64: 2, 3>}", values="normal", note="pooling")
row("amax", NUMBERS, [(3, "N")], (3,), lambda x: x.amax(1), acc.equal, attrs="{dim = array<i64: 1>}", sizes=POSITIVE)
row("amax", ("f32",), [("N", 5)], (1, 5), lambda x: x.amax(0, keepdim=True), acc.equal,
    attrs="{dim = array<i64: 0>, keepdim = true}", sizes=POSITIVE, note="outer, keepdim")
row("argmax", NUMBERS, [(3, "N")], (3,), lambda x: x.argmax(1), attrs="{dim = 1 : i64}", sizes=POSITIVE,
    result_dtype="i64", values="equals")
row("argmax", ("f32",), [("N", 5)], (1, 5), lambda x: x.argmax(0, keepdim=True), attrs="{dim = 0 : i64, keepdim = true}",
    sizes=POSITIVE, result_dtype="i64", values="numbers", note="outer, keepdim")
row("argmax", ("f32",), [("N", 5)], (), lambda x: x.argmax(), sizes=POSITIVE, result_dtype="i64", values="numbers",
    note="all dims")
# The first of two results, then the second.
row("max_dim", NUMBERS, [("N", 5)], ("N",), lambda x: x.max(1).values, acc.equal, values="equals", note="values",
    body=lambda names, types, result: f"%y, %i = dl.max_dim {names[0]} {{dim = -1 : i64}} : ({types[0]}) -> "
                                      f"({result}, {with_element(result, 'i64')})")
row("max_dim", ("f32", "i32"), [("N", 5)], (1, 5), lambda x: x.max(0, keepdim=True).indices, sizes=POSITIVE,
    result_dtype="i64", values="equals", note="indices",
    body=lambda names, types, result: f"%v, %y = dl.max_dim {names[0]} {{dim = 0 : i64, keepdim = true}} : ({types[0]}) -> "
                                      f"({with_element(result, element_of(types[0]))}, {result})")
for op, function, is_log in (("softmax", torch.softmax, False), ("log_softmax", torch.log_softmax, True)):
    row(op, FLOATS, [("N", 33)], ("N", 33), lambda x, f=function: f(x, 1), acc.of_softmax(1, is_log),
        attrs="{dim = -1 : i64}", values="normal")
    row(op, ("f32",), [(3, "N")], (3, "N"), lambda x, f=function: f(x, 1), acc.of_softmax(1, is_log),
        attrs="{dim = 1 : i64}", values="normal", note="over N")
    row(op, ("f32",), [("N", 4, 3)], ("N", 4, 3), lambda x, f=function: f(x, 1), acc.of_softmax(1, is_log),
        attrs="{dim = 1 : i64}", values="normal", note="inner dim")
    row(op, ("f32",), [("N", 10)], ("N", 10), lambda x, f=function: f(x, 1), acc.of_softmax(1, is_log),
        attrs="{dim = 1 : i64}", values="special", note="special values")
NORM = lambda x, m, v, *affine: F.batch_norm(x, m, v, *affine, eps=1e-3)
row("batch_norm", FLOATS, [("N", 5, 3, 3)] + 4 * [(5,)], ("N", 5, 3, 3), NORM, acc.of_batch_norm(1e-3),
    attrs="{eps = 1.0e-3 : f64}", values="positive")
row("batch_norm", ("f32",), [("N", 9), (9,), (9,)], ("N", 9), NORM, acc.of_batch_norm(1e-3),
    attrs="{eps = 1.0e-3 : f64}", values="positive", note="not affine")
