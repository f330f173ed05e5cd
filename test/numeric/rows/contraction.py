"""Sums of products."""
import math

import torch
from torch.nn import functional as F

import accuracy as acc
from rows.row import BOUNDARY, FLOATS, NUMBERS, POSITIVE, element_of, in_double, row

for values, bound in (("normal", lambda k, f: acc.contraction(k, f)), ("whole",
                                                                       lambda k, f: acc.exact)):
    note = "" if values == "normal" else ", whole numbers"
    dtypes = FLOATS if values == "normal" else FLOATS + ("i32", "i8")
    row("matmul", dtypes, [("N", 33), (33, 17)], ("N", 17), torch.matmul, bound(33, torch.matmul),
        values=values, note="M = N" + note)
    row("matmul", dtypes, [(5, "N"), ("N", 19)], (5, 19), torch.matmul,
        bound(lambda a, b: a.shape[-1], torch.matmul), values=values, note="K = N" + note)
    row("matmul", dtypes, [(7, 12), (12, "N")], (7, "N"), torch.matmul, bound(12, torch.matmul),
        values=values, note="N = N" + note)
    row("matmul", ("f32",), [(2, "N", 3, 5), (1, 5, 6)], (2, "N", 3, 6), torch.matmul,
        bound(5, torch.matmul), values=values, note="batched" + note)
    # Several tiles each way, and a sum of several slabs; few rows, along either side of the matrix.
    row("matmul", dtypes[:3], [("N", 296), (296, 136)], ("N", 136), torch.matmul,
        bound(296, torch.matmul), values=values, sizes=(1, 9, 65, 129), note="tiles" + note)
    row("linear", dtypes, [(8, "N"), (70, "N")], (8, 70), F.linear,
        bound(lambda a, b: a.shape[-1], F.linear), values=values, sizes=(0, 1, 32, 63, 64, 129),
        note="eight rows" + note)
    row("matmul", dtypes, [(3, "N"), ("N", 72)], (3, 72), torch.matmul,
        bound(lambda a, b: a.shape[-1], torch.matmul), values=values, sizes=(0, 1, 32, 63, 64, 129),
        note="three rows" + note)
    row("matmul", dtypes, [("N", 64), (64, 2)], ("N", 2), torch.matmul, bound(64, torch.matmul),
        values=values, sizes=(0, 1, 7, 33, 129), note="two columns" + note)
    row("linear", dtypes, [("N", 20), (18, 20), (18, )], ("N", 18), F.linear, bound(21, F.linear),
        values=values, note="bias" + note)
    row("linear", ("f32", "f16"), [(2, 3, 64), (65, 64)], (2, 3, 65), F.linear, bound(64, F.linear),
        sizes=(1, ), values=values, note="rank 3" + note)
    row("linear", ("f32", ), [("N", 129), (1, 129)], ("N", 1), F.linear, bound(129, F.linear),
        values=values, note="one feature" + note)
    # Few tiles and long sums, which several blocks share on a GPU: unequal parts, parts of one
    # step, and of none.
    row("linear", ("f32", ), [("N", 2100), (40, 2100), (40, )], ("N", 40), F.linear,
        bound(2101, F.linear), values=values, sizes=(0, 1, 9, 33, 40), note="shared tiles" + note)
    row("linear", ("f16", "bf16"), [("N", 8200), (40, 8200)], ("N", 40), F.linear,
        bound(8200, F.linear), values=values, sizes=(9, 33), note="shared tiles, deep" + note)
    row("matmul", ("f32", ), [(2, 33, "N"), (2, "N", 24)], (2, 33, 24), torch.matmul,
        bound(lambda a, b: a.shape[-1], torch.matmul), values=values,
        sizes=(0, 1, 64, 65, 129, 1000, 2100), note="shared tiles, K = N" + note)
    # Vectors: no dim of the result is theirs.
    row("matmul", dtypes[:2], [("N", ), ("N", )], (), torch.matmul,
        bound(lambda a, b: len(a), torch.matmul), values=values, note="dot" + note)
    row("matmul", dtypes[:1], [(5, "N"), ("N", )], (5, ), torch.matmul,
        bound(lambda a, b: len(b), torch.matmul), values=values, note="matrix and vector" + note)
    row("matmul", dtypes[:1], [(9, ), (2, 9, "N")], (2, "N"), torch.matmul, bound(9, torch.matmul),
        values=values, sizes=BOUNDARY[:12], note="vector and matrices" + note)
    row("matmul", dtypes[:1], [(2, 3, "N", 7), (7, )], (2, 3, "N"), torch.matmul,
        bound(7, torch.matmul), values=values, sizes=BOUNDARY[:12],
        note="matrices and vector" + note)
    for loops, shapes, result, equation in (
            ((0, 1, 3), [("N", 5, 9), (17, 9)], ("N", 5, 17), "abk,ck->abc"),
            ((1, 3, 0), [(5, 9, "N"), (5, 17, 9)], ("N", 5, 17), "bka,bck->abc"),
            ((0, 1, 3), [(2, "N", 9), (1, 33, 9)], (2, "N", 33), None)):
        other = {2: (2, 3), 3: (1, 2, 3)}[len(shapes[1])] if equation else (0, 2, 3)
        function = ((lambda a, b, e=equation: torch.einsum(e, a, b)) if equation else
                    (lambda a, b: torch.matmul(a, b.transpose(1, 2))))
        row(
            "contract", dtypes[:1] + dtypes[4:5], shapes, result, in_double(function),
            bound(9, function), values=values,
            attrs=f"{{x_loops = array<i64: {str(loops)[1:-1]}>, other_loops = array<i64: {str(other)[1:-1]}>, rank = 3 : i64}}",
            sizes=BOUNDARY[:13], note=(equation or "repeated") + note)
    for equation, shapes, result, terms in (
            ("bhid,bhjd->bhij", [(2, 3, "N", 8), (2, 3, 5, 8)], (2, 3, "N", 5), 8),
            ("...ij,...jk", [(2, "N", 6), (3, 1, 6, 4)], (3, 2, "N", 4), 6),
            ("ij,jk,kl->il", [("N", 4), (4, 5), (5, 6)], ("N", 6), 20),
            ("ii->i", [(9, 9)], (9,), 1),
            ("iij,j->", [("N", "N", 4), (4,)], (), lambda a, b: 4 * len(a)),
            ("i,j", [("N",), (7,)], ("N", 7), 1),
            ("ba", [("N", 5)], (5, "N"), 1),
            ("ijk,ik->j", [(3, "N", 5), (3, 5)], ("N",), 15),
            ("bij,bj->bi", [(1, "N", 5), (4, 5)], (4, "N"), 5),
            ("i...->...", [("N", 3, 2)], (3, 2), lambda a: len(a))):
        function = lambda *t, e=equation: torch.einsum(e, *t)
        row("einsum", dtypes[:1] + dtypes[4:5], shapes, result, in_double(function),
            bound(terms, function), values=values, attrs=f'{{equation = "{equation}"}}',
            sizes=(0, 1, 2, 7, 16, 33), note=equation + note)
    row("addmm", dtypes[:1], [(17, ), ("N", 33), (33, 17)], ("N", 17), torch.addmm,
        bound(34, torch.addmm), values=values, sizes=(0, 1, 2, 7, 33), note="bias" + note)
    function = lambda x, a, b: torch.addmm(x, a, b, beta=0.5, alpha=2)
    row("addmm", ("f32", "f16"), [("N", 17), ("N", 33), (33, 17)], ("N", 17), function,
        bound(36, function), values=values, attrs="{beta = 0.5 : f64, alpha = 2.0 : f64}",
        sizes=(0, 1, 2, 7, 33), note="factors" + note)
    row("addmm", ("f32", ), [(4, 1, 6), (4, "N", 5), (4, 5, 6)], (4, "N", 6), torch.baddbmm,
        bound(6, torch.baddbmm), values=values, sizes=(0, 1, 2, 7, 33), note="batched" + note)
row("outer", ("f32", "i32"), [("N", ), (5, )], ("N", 5), torch.outer, acc.exact, values="whole",
    sizes=BOUNDARY[:10])
row("diagonal", NUMBERS, [(3, 9, 7)], (3, 6), lambda x: torch.diagonal(x, 1, -2, 2), sizes=(1,),
    attrs="{offset = 1 : i64, dim1 = -2 : i64, dim2 = 2 : i64}", note="above")
row("diagonal", ("f32",), [(9, 3, 7)], (3, 7), lambda x: torch.diagonal(x, -2, 0, 2), sizes=(1,),
    attrs="{offset = -2 : i64, dim2 = 2 : i64}", note="below")
row("diagonal", ("f32", ), [("N", "N", 3)], (3, "N"), torch.diagonal, sizes=BOUNDARY[:10],
    note="square")


def residual(op, dtypes, x, w, v, result, sizes, note, act="gelu"):
    """h = op(x, w); y = op(act(h), v) + h: on CUDA one kernel stores h and act(h) (form-fusions).
    """
    apply = {"linear": F.linear, "conv2d": F.conv2d, "mul": torch.mul}[op]
    second = F.linear if op == "mul" else apply
    activate = {"gelu": F.gelu, "tanh": torch.tanh}[act]

    def function(x, w, v):
        h = apply(x, w)
        return second(activate(h), v) + h

    def magnitude(x, w, v):
        h = apply(x, w)
        return second(2 * h, v) + h

    def body(names, types, y):
        after = "linear" if op == "mul" else op
        return (f"%h = dl.{op} {names[0]}, {names[1]} : ({types[0]}, {types[1]}) -> {y}\n"
                f"%r = dl.{act} %h : ({y}) -> {y}\n%l = dl.{after} %r, {names[2]} : ({y}, {types[2]}) -> {y}\n"
                f"%y = dl.add %l, %h : ({y}, {y}) -> {y}")

    bound = acc.contraction(math.prod(w[1:]) + math.prod(v[1:]) + 8, magnitude)
    for _ in range(3):  # h, act(h) and their product may each have been stored
        bound = acc.rounded_before(bound)
    row(op, dtypes, [x, w, v], result, function, bound, sizes=sizes, values="normal", note=note,
        body=body)


def constant_matrix(dtypes, depth, columns, sizes, values="normal"):
    """y = x @ w, w [depth, columns] of whole numbers that are there when the model is loaded: on
    CUDA packed along the depth."""
    def matrix(x):
        return (torch.arange(depth * columns) * 7 % 13 - 6).reshape(depth, columns).to(x.dtype)

    def body(names, types, y):
        flat = f"tensor<{depth * columns}xi64>"
        element = element_of(types[0])
        w, line = f"tensor<{depth}x{columns}x{element}>", f"tensor<{depth * columns}x{element}>"
        text = f"%a = dl.arange {{end = affine_map<() -> ({depth * columns})>}} : () -> {flat}\n"
        for name, op, left, number in (("b", "mul", "a", 7), ("c", "remainder", "b", 13),
                                       ("d", "sub", "c", 6)):
            text += f"%{'nop'['bcd'.index(name)]} = dl.full {number} : i64 -> {flat}\n"
            text += f"%{name} = dl.{op} %{left}, %{'nop'['bcd'.index(name)]} : ({flat}, {flat}) -> {flat}\n"
        return (text + f"%e = dl.cast %d {{dtype = {element}}} : ({flat}) -> {line}\n"
                f"%w = dl.reshape %e {{shape = affine_map<() -> ({depth}, {columns})>}} : ({line}) -> {w}\n"
                f"%y = dl.matmul {names[0]}, %w : ({types[0]}, {w}) -> {y}")

    bound = acc.exact if values == "whole" else acc.contraction(depth,
                                                                lambda x: x @ matrix(x).abs())
    row(
        "matmul", dtypes, [("N", depth)], ("N", columns), lambda x: x @ matrix(x), bound,
        sizes=sizes, values=values, note=f"constant [{depth}, {columns}], {sizes[-1]} rows" +
        ("" if values == "normal" else ", whole numbers"), body=body)


# Up to eight rows the matrix is read once, by all blocks of a GPU; nine rows are a tile.
for depth, columns in ((1, 5), (15, 33), (16, 24), (17, 9), (127, 33), (128, 27), (129, 40), (4096,
                                                                                              24)):
    constant_matrix(("f32", "f16", "bf16"), depth, columns, (1, 2, 7, 8))
for values in ("normal", "whole"):
    constant_matrix(FLOATS + (("i32", "i8") if values == "whole" else ()), 1000, 72, (0, 1, 8),
                    values)
constant_matrix(("f32", "f16"), 128, 27, (1, 8, 9))
# The same where the matrix is given: threads, warps and blocks share its depth.
for values, bound in (("normal", acc.contraction(4000, torch.matmul)), ("whole", acc.exact)):
    row("matmul", FLOATS + (("i32", "i8") if values == "whole" else ()), [("N", 4000), (4000, 24)],
        ("N", 24), torch.matmul, bound, sizes=(1, 2, 7, 8), values=values,
        note="deep, up to eight rows" + ("" if values == "normal" else ", whole numbers"))
row("matmul", ("f32", "f16", "bf16"), [(1, "N"), ("N", 27)], (1, 27), torch.matmul,
    acc.contraction(lambda a, b: a.shape[-1], torch.matmul), values="normal",
    sizes=(0, 1, 15, 16, 17, 127, 128, 129, 3000), note="one row, odd columns")
row("matmul", ("f32", "f16"), [(3, "N", 512), (3, 512, 40)], (3, "N", 40), torch.matmul,
    acc.contraction(512, torch.matmul), values="normal", sizes=(1, 8), note="batches of few rows")
residual("linear", FLOATS, ("N", 20), (33, 20), (33, 33), ("N", 33), BOUNDARY, "two results")
residual("linear", ("f32", "f16", "bf16"), ("N", 72), (64, 72), (64, 64), ("N", 64),
         (1, 3, 8, 9, 65, 129), "two results, vectors", act="tanh")
residual("conv2d", ("f32", "f16"), ("N", 16, 5, 6), (16, 16, 1, 1), (16, 16, 1, 1), ("N", 16, 5, 6),
         BOUNDARY[:8], "two results")
residual("mul", FLOATS, ("N", 24), ("N", 24), (24, 24), ("N", 24), BOUNDARY, "two results",
         act="tanh")
