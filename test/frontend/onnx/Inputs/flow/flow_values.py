"""Branches, loops, sequences and sizes that the data of a run say: ONNX files against NumPy.
flow_values.py FOLDER; the last line is "N passed, N failed"."""
import sys

import numpy as np
from flow_cases import BOTH, Cases, body, branch, f32, ints, loose, reals, scalar, softmax, x
from onnx_writer import graph, node, value

random = np.random.default_rng(7)
cases = Cases(sys.argv[1])
case = cases.add
# The passes of each segment are checked by the interpreter, too.
validated = ("--validate-passes",)
c, n = x(dtype="bool", name="c"), x(dtype="i64", name="n")
W = random.standard_normal((4, 4)).astype(f32) * 0.4
V = random.standard_normal((4, 6)).astype(f32)


def rows(*dims):
    return random.standard_normal(dims).astype(f32)


# --- If
# --------------------------------------------------------------------------------------------------

# The branch that is not taken does not run: its reshape would fail.
case("if_dims", [node("If", "c", "z", then_branch=branch([node("Reshape", "x,s", "a")], ("a",)),
                      else_branch=branch([node("MatMul", "x,v", "b")], ("b",))), node("Relu", "z")],
     [x("N", 4), x(2, dtype="i64", name="s"), c], [reals("v", V)],
     lambda a, s, taken: np.maximum(a.reshape(s) if taken else a @ V, 0),
     [[rows(3, 4), [2, 6], True], [rows(3, 4), [7, 7], False], [rows(3, 4), [12, 1], True]],
     [([rows(3, 4), [7, 7], True], "to be equal")], devices=BOTH, options=validated)
# Values of the graph around, constants of a branch, a branch that gives what is there, and several
# results.
case("if_values", [
    node("Exp", "x", "e"),
    node(
        "If", "c", "a,b", then_branch=branch(
            [node("MatMul", "e,w", "t"), node("Softmax", "t", "t1")], ("t1", "k"),
            [reals("k", [1, 2])]), else_branch=branch([node("Neg", "k1", "k2")],
                                                      ("e", "k2"), [reals("k1", [3, 4])]))
], [x("N", 4), c], [reals("w", W)], lambda a, taken: (softmax(np.exp(a) @ W), [1, 2]) if taken else
     (np.exp(a), [-3, -4]), [[rows(3, 4), True], [rows(3, 4), False]], outputs=("a", "b"))
# Cheap branches are both computed, and one is chosen.
case("if_cheap", [
    node("If", "c", then_branch=branch([node("Add", "x,x", "a")],
                                       ("a", )), else_branch=branch([node("Neg", "x", "b")],
                                                                    ("b", )))
], [x("N", 4), c], [], lambda a, taken: a + a
     if taken else -a, [[rows(3, 4), True], [rows(3, 4), False]])
case(
    "if_nested", [
        node("Not", "c", "d"),
        node(
            "If", "c", then_branch=branch([
                node("If", "e", "a", then_branch=branch([node("MatMul", "x,w", "f")], ("f", )),
                     else_branch=branch([node("Concat", "x,x", "g", axis=0)], ("g", )))
            ], ("a", )), else_branch=branch([node("Softmax", "x", "b")], ("b", )))
    ], [x("N", 4), c, x(dtype="bool", name="e")], [reals("w", W)], lambda a, first, second:
    (a @ W if second else np.concatenate([a, a]))
    if first else softmax(a), [[rows(3, 4), p, q] for p in (True, False) for q in (True, False)])
# A condition of one element is one, whatever its rank.
case("if_rank", [
    node("If", "c", then_branch=branch([node("Softmax", "x", "a")],
                                       ("a", )), else_branch=branch([node("MatMul", "x,w", "b")],
                                                                    ("b", )))
], [x("N", 4), x(1, dtype="bool", name="c")], [reals("w", W)], lambda a, taken: softmax(a)
     if taken[0] else a @ W, [[rows(3, 4), [True]], [rows(3, 4), [False]]])

# --- Loop
# --------------------------------------------------------------------------------------------------


def until(a, limit):
    steps = 0
    while a.sum() > limit:
        a, steps = a * f32(0.5), steps + 1
    return a, steps


case("loop_condition", [
    node("ReduceSum", "x", "s", keepdims=0),
    node("Greater", "s,limit", "more"),
    node(
        "Loop", ",more,x,zero", "y,k", body=body([
            node("Mul", "h,half", "h1"),
            node("ReduceSum", "h1", "s1", keepdims=0),
            node("Greater", "s1,limit", "on"),
            node("Add", "k,one", "k1")
        ], ("h", value("k", "i64", ())), ("on", "h1", "k1")))
], [x("N", 4), x(name="limit")],
     [scalar("half", 0.5, "f32"), scalar("zero", 0),
      scalar("one", 1)], until, [[np.ones((2, 4)), 0.7], [np.ones(
          (2, 4)), 100], [np.ones((5, 4)), 1e-3]], outputs=("y", "k"), devices=BOTH)
step = [
    node("MatMul", "h,w", "h1"),
    node("Tanh", "h1", "h2"),
    node("ReduceMax", "h2", "m", axes=[1], keepdims=0),
    node("Identity", "go", "on")
]


def stepped(a, count):
    stack = []
    for _ in range(count):
        a = np.tanh(a @ W)
        stack.append(a.max(1))
    return a, np.stack(stack) if stack else np.zeros((0, len(a)))


case("loop_trips", [node("Loop", "n,,x", "y,all", body=body(step, ("h", ), ("on", "h2", "m")))],
     [x("N", 4), n], [reals("w", W)], stepped,
     [[rows(3, 4), 4], [rows(3, 4), 1], [rows(3, 4), 0], [rows(3, 4), -2]], outputs=("y", "all"),
     devices=BOTH)
case("loop_both", [
    node(
        "Loop", "n,c,x", "y,all", body=body(
            [*step[:3],
             node("ReduceMax", "m", "top", keepdims=0),
             node("Less", "top,limit", "on")], ("h", ), ("on", "h2", "m")))
], [x("N", 4), n, c], [reals("w", W), scalar("limit", 9.0, "f32")],
     lambda a, count, goes: stepped(a, count if goes else 0),
     [[rows(3, 4), 3, True], [rows(3, 4), 3, False], [rows(3, 4), 0, True]], outputs=("y", "all"))
# Each step has the number of the step, and values of the graph around.
case("loop_step", [
    node("Exp", "x", "e"),
    node(
        "Loop", "n,,x", body=body([
            node("Cast", "i", "f", to=1),
            node("Mul", "e,f", "p"),
            node("Add", "h,p", "h1"),
            node("Identity", "go", "on")
        ], ("h", ), ("on", "h1")))
], [x("N", 4), n], [], lambda a, count: a + np.exp(a) * sum(range(count)),
     [[rows(2, 4), k] for k in (0, 1, 5)])
# What is carried grows, and so do other tensors with it; an empty one to begin with, too.
case(
    "loop_grows", [
        node(
            "Loop", "n,,x,none", "y,z", body=body([
                node("Concat", "h,x", "h1", axis=0),
                node("ReduceMax", "h1", "s", axes=[0], keepdims=1),
                node("Concat", "z,s", "z1", axis=0),
                node("Identity", "go", "on")
            ], ("h", "z"), ("on", "h1", "z1")))
    ], [x("N", 4), n], [reals("none", np.zeros((0, 4)))], lambda a, count: (np.concatenate([a] * (
        count + 1)), np.concatenate([np.zeros((0, 4))] + [a.max(0, keepdims=True)] * count)),
    [[rows(2, 4), k] for k in (0, 1, 3)], outputs=("y", "z"), devices=BOTH, options=validated)
# Gathered tensors whose dims the step before decides.
case(
    "loop_gathers", [
        node(
            "Loop", "n,,x", "h,y", body=body([
                node("Softmax", "h", "h1"),
                node("MatMul", "h1,v", "p"),
                node("Identity", "go", "on")
            ], ("h", ), ("on", "h1", "p")))
    ], [x("N", 4), n], [reals("v", V)],
    lambda a, count: np.stack([(lambda s: [s := softmax(s) for _ in range(k + 1)][-1])(a) @ V
                               for k in range(count)]), [[rows(3, 4), 1], [rows(3, 4), 3]])
# Known steps, more than are written out.
case("loop_long", [
    node(
        "Loop", "many,,x", "y,all", body=body([
            node("Mul", "h,w", "h1"),
            node("ReduceMax", "h1", "m", keepdims=0),
            node("Identity", "go", "on")
        ], ("h", ), ("on", "h1", "m")))
], [x("N", 4)], [scalar("many", 1000), scalar("w", 0.999, "f32")], lambda a:
     (a * f32(0.999)**1000, [(a * f32(0.999)**(k + 1)).max() for k in range(1000)]), [[rows(3, 4)]],
     outputs=("y", "all"), within=1e-4)


def branched(a, count):
    for k in range(count):
        a = a @ W if a.sum() > 0 else np.concatenate([a, softmax(a)])
    return a


case("if_in_loop", [
    node(
        "Loop", "n,,x", body=body([
            node("ReduceSum", "h", "s", keepdims=0),
            node("Greater", "s,zero", "p"),
            node(
                "If", "p", "h1", then_branch=branch([node("MatMul", "h,w", "a")], ("a", )),
                else_branch=branch([node("Softmax", "h", "b"),
                                    node("Concat", "h,b", "b1", axis=0)], ("b1", ))),
            node("Identity", "go", "on")
        ], ("h", ), ("on", "h1")))
], [x("N", 4), n], [scalar("zero", 0.0, "f32"), reals("w", W)], branched,
     [[sign * np.abs(rows(2, 4)), k] for sign in (1, -1) for k in (0, 1, 4)], devices=BOTH)
case("loop_in_if", [
    node(
        "If", "c", then_branch=branch(
            [node("Loop", "n,,x", "a", body=body(step, ("h", ), ("on", "h2")))],
            ("a", )), else_branch=branch([node("Concat", "x,x", "b", axis=0)], ("b", )))
], [x("N", 4), n, c], [reals("w", W)], lambda a, count, taken: stepped(a, count)[0]
     if taken else np.concatenate([a, a]),
     [[rows(3, 4), k, taken] for k in (0, 3) for taken in (True, False)])
case("loop_in_loop", [
    node(
        "Loop", "n,,x", body=body([
            node(
                "Loop", "i,,h", "h1", body=body(
                    [node("MatMul", "g,w", "g1"),
                     node("Identity", "go", "on")], ("g", ), ("on", "g1"))),
            node("Identity", "go", "on")
        ], ("h", ), ("on", "h1")))
], [x("N", 4), n], [reals("w", W)],
     lambda a, count: a @ np.linalg.matrix_power(W,
                                                 count * (count - 1) // 2),
     [[rows(3, 4), k] for k in (0, 1, 4)])
case(
    "loop_swaps", [
        node(
            "Loop", "n,,x,v", "y,z", body=body([
                node("Identity", "b", "b1"),
                node("Softmax", "a", "a1"),
                node("Identity", "go", "on")
            ], ("a", "b"), ("on", "b1", "a1")))
    ], [x("N", 4), x("M", 4, name="v"), n], [], lambda a, b, count: (a, b)
    if count == 0 else (b, softmax(a)) if count == 1 else (softmax(a), softmax(b)),
    [[rows(3, 4), rows(2, 4), k] for k in (0, 1, 2)], outputs=("y", "z"))
# A state that each step returns as it is, one that none reads, and one that none reads and whose
# rank changes.
stated = body([
    node("MatMul", "h,w", "h1"),
    node("Identity", "w", "w1"),
    node("Softmax", "h1", "z1"),
    node("ReduceMax", "h1", "u1", keepdims=0),
    node("Identity", "go", "on")
], ("h", "w", "z", "u"), ("on", "h1", "w1", "z1", "u1"))
case(
    "loop_states", [node("Loop", "n,,x,w0,z0,z0", "y,v,z,", body=stated)], [x("N", 4), n],
    [reals("w0", W), scalar("z0", 0, "f32")], lambda a, count:
    (a @ np.linalg.matrix_power(W, count), W, softmax(a @ np.linalg.matrix_power(W, count))),
    [[rows(3, 4), 1], [rows(2, 4), 3]],
    [([rows(3, 4), 0], "the model computed loop_takes_a_step = 0; expected 1 to 1")],
    outputs=("y", "v", "z"), devices=BOTH)
case(
    "loop_written", [node("Loop", "n,,x,w0,x,z0", "y,,z", body=stated)], [x("N", 4), n],
    [reals("w0", W), scalar("z0", 0, "f32")], lambda a, count:
    (a @ np.linalg.matrix_power(W, count), softmax(a @ np.linalg.matrix_power(W, count))
     if count else a), [[rows(3, 4), 0], [rows(2, 4), 2]], outputs=("y", "z"))
# One element keeps its value where its rank changes; then a run without a step has no result of
# that rank.
case("loop_one", [
    node(
        "Loop", "n,,s0,x", "s,y", body=body(
            [node("Add", "s,one", "s1"),
             node("Mul", "h,s1", "h1"),
             node("Identity", "go", "on")], ("s", "h"), ("on", "s1", "h1")))
], [x("N", 4), n], [scalar("s0", 1.0, "f32"), reals("one", [1])], lambda a, count:
     ([count + 1], a * np.prod(np.arange(2, count + 2))), [[rows(3, 4), 1], [rows(2, 4), 3]],
     [([rows(3, 4), 0], "the model computed loop_takes_a_step = 0; expected 1 to 1")],
     outputs=("s", "y"))

# --- Scan
# --------------------------------------------------------------------------------------------------


def summed(state, v, backwards=False, lastFirst=False):
    out = []
    for part in v[::-1] if backwards else v:
        state = state + part
        out.append(np.tanh(state))
    out = out[::-1] if lastFirst else out
    return state, np.stack(out) if out else np.zeros((0, *state.shape))


scan = ("graph",
        graph([node("Add", "s,e", "s1"), node("Tanh", "s1", "o")], loose("s", "e"), ("s1", "o")))
for name, more, arrange, order in (
        ("forwards", {}, lambda v: v, lambda y: y),
        ("backwards", {"scan_input_directions": [1]}, lambda v: v[::-1], lambda y: y),
        ("last_first", {"scan_output_directions": [1]}, lambda v: v, lambda y: y[::-1]),
        ("axes", {"scan_input_axes": [1], "scan_output_axes": [-1]}, lambda v: v.T, lambda y: y.T)):
    turned = name == "axes"
    case("scan_" + name, [node("Scan", "s0,x", "s,y", body=scan, num_scan_inputs=1, **more)],
         [x(3, name="s0"), x(*((3, "T") if turned else ("T", 3)))], [],
         lambda s, v, a=arrange, o=order: (lambda end, all: (end, o(all)))(*summed(s, a(v))),
         [[rows(3), rows(*((3, t) if turned else (t, 3)))] for t in (1, 5)], outputs=("s", "y"))
case("scan_two", [
    node(
        "Scan", "s0,x,v", "s,y", num_scan_inputs=2,
        body=("graph",
              graph([node("Mul", "e,f", "p"),
                     node("Add", "s,p", "s1"),
                     node("Exp", "s1", "o")], loose("s", "e", "f"), ("s1", "o"))))
], [x(3, name="s0"), x("T", 3), x("U", 3, name="v")], [], lambda s, a, b:
     (s + (a * b).sum(0), np.exp(s + (a * b).cumsum(0))),
     [[rows(3), rows(t, 3), rows(t, 3)]
      for t in (1, 4)], [([rows(3), rows(2, 3), rows(3, 3)], "expected")], outputs=("s", "y"))

# --- Sizes
# --------------------------------------------------------------------------------------------------


def resized(v, s):
    for axis, size in zip((2, 3), s):
        at = np.linspace(0, v.shape[axis] - 1, size)
        low = np.floor(at).astype(int)
        part = (at - low).reshape([-1 if k == axis else 1 for k in range(4)])
        v = v.take(low, axis) * (1 - part) + v.take(np.minimum(low + 1, v.shape[axis] - 1),
                                                    axis) * part
    return np.maximum(v, 0)


def reshaped(a, s, allowsZero=False):
    s = [a.shape[i] if d == 0 and not allowsZero else d for i, d in enumerate(s.tolist())]
    return np.maximum(a.reshape(s), 0)


s2 = x(2, dtype="i64", name="s")
case("reshape", [node("Reshape", "x,s", "z"), node("Relu", "z")], [x("N", 6), s2], [], reshaped,
     [[rows(4, 6), s] for s in ([3, 8], [-1, 12], [2, -1], [0, 6], [24, 1], [0, -1])],
     [([rows(4, 6), [5, 5]], "to be equal"), ([rows(4, 6), [5, -1]], "to be equal"),
      ([rows(4, 6), [-2, 12]], "expected -1 to")], devices=BOTH, options=validated)
case("reshape_zero", [node("Reshape", "x,s", "z", allowzero=1),
                      node("Relu", "z")], [x("N", 6), s2], [], lambda a, s: reshaped(a, s, True),
     [[rows(2, 6), [3, 4]]], [([rows(2, 6), [0, 9]], "to be equal")])
# 0 and -1 beside sizes that the model computes.
case("reshape_mixed", [
    node("Div", "n,two", "h"),
    node("Concat", "zero,minus,h,two", "s", axis=0),
    node("Reshape", "x,s", "z"),
    node("Relu", "z")
], [x("B", "T", "C"), x(1, dtype="i64", name="n")],
     [ints("two", 2), ints("zero", 0), ints("minus", -1)],
     lambda a, k: np.maximum(a.reshape(a.shape[0], -1, k[0] // 2, 2), 0),
     [[rows(2, 3, 4), [4]], [rows(2, 3, 4), [12]]], [([rows(2, 3, 4), [10]], "to be equal")])
case("expand", [node("Expand", "x,s", "z"), node("Relu", "z")], [x("N", 1), s2], [],
     lambda a, s: np.maximum(a + np.zeros(s, f32), 0),
     [[rows(3, 1), [3, 5]], [rows(3, 1), [1, 2]], [rows(1, 1), [4, 1]], [rows(1, 1), [4, 0]]],
     [([rows(3, 1), [2, 5]], "to be equal"), ([rows(3, 1), [3, -1]], "expected 0 to")])
case("tile", [node("Tile", "x,s", "z"), node("Relu", "z")], [x("N", 3), s2], [],
     lambda a, s: np.maximum(np.tile(a, s), 0),
     [[rows(2, 3), [2, 3]], [rows(2, 3), [1, 1]], [rows(2, 3), [0, 2]]],
     [([rows(2, 3), [-1, 1]], "expected 0 to")])
for mode in ("constant", "edge", "reflect", "wrap"):
    case(f"pad_{mode}",
         [node("Pad", "x,p", "z", mode=mode), node("Relu", "z")],
         [x("N", 6), x(4, dtype="i64", name="p")], [],
         lambda a, p, m=mode: np.maximum(np.pad(a, (
             (p[0], p[2]),
             (p[1], p[3])), mode=m), 0), [[rows(4, 6), [1, 0, 2, 3]], [rows(4, 6), [0, 0, 0, 0]]])
case("pad_negative", [node("Pad", "x,p", "z"), node("Relu", "z")],
     [x("N", 6), x(4, dtype="i64", name="p")], [],
     lambda a, p: np.maximum(np.pad(a[:, -p[1]:], ((p[0], p[2]),
                                                   (0, p[3]))), 0), [[rows(4, 6), [1, -2, 0, 3]]])
case("slice",
     [node("Slice", "x,a,b,axes", "z"), node("MatMul", "z,w")],
     [x("N", 4), x(1, dtype="i64", name="a"),
      x(1, dtype="i64", name="b")], [ints("axes", 0), reals("w", W)],
     lambda v, a, b: v[a[0]:b[0]] @ W,
     [[rows(9, 4), [a], [b]]
      for a, b in ((0, 4), (2, 100), (-3, 2**40), (5, 3), (-100, -1), (1, 2))], devices=BOTH)
case("slice_table",
     [node("Slice", "x,a,b,axes", "z"), node("MatMul", "z,w")],
     [x(9, 4), x(1, dtype="i64", name="a"),
      x(1, dtype="i64", name="b")], [ints("axes", 0), reals("w", W)],
     lambda v, a, b: v[a[0]:b[0]] @ W, [[rows(9, 4), [a], [b]]
                                        for a, b in ((0, 9), (0, 100), (-3, 10), (3, -2), (5, 2))])
case("slice_first",
     [node("Slice", "x,a,b,axes", "z"), node("MatMul", "z,w")],
     [x(9, 4), x(1, dtype="i64", name="b")],
     [ints("a", 0), ints("axes", 0), reals("w", W)], lambda v, b: v[:b[0]] @ W,
     [[rows(9, 4), [b]] for b in (9, 0, 100, -2)])
case("slice_back", [node("Slice", "x,a,b,axes,minus", "z"),
                    node("Relu", "z")],
     [x("N", 4), x(1, dtype="i64", name="a"),
      x(1, dtype="i64", name="b")], [ints("axes", 0), ints("minus", -2)],
     lambda v, a, b: np.maximum(v[a[0]:b[0]:-2], 0), [[rows(9, 4), [a], [b]]
                                                      for a, b in ((8, 1), (-1, 3), (2, 5))])
case("split",
     [node("Split", "x,s", "a,b", axis=0),
      node("MatMul", "a,w", "y"),
      node("Relu", "b", "z")], [x("N", 4), s2], [reals("w", W)], lambda v, s:
     (v[:s[0]] @ W, np.maximum(v[s[0]:], 0)), [[rows(9, 4), [k, 9 - k]] for k in (0, 4, 9)],
     [([rows(9, 4), [4, 4]], "to be equal"),
      ([rows(9, 4), [-1, 10]], "expected 0 to")], outputs=("y", "z"))
case("range",
     [node("Range", "a,b,d", "r"), node("Cast", "r", "y", to=1)],
     [x(dtype="i64", name=k) for k in "abd"], [], np.arange,
     [[0, 5, 1], [3, 11, 3], [5, -4, -2], [5, 5, 1], [5, 3, 1], [-3, 4, 2]], devices=BOTH)
case("range_real", [node("Range", "a,b,d", "r"), node("Neg", "r")], [x(name=k) for k in "abd"], [],
     lambda a, b, d: -np.arange(a, b, d), [[0, 2, 0.5], [1, 4, 1.25], [2, 1, -0.25], [1, 0, 1]])
case("range_large", [node("Range", "zero,n,one", "r"),
                     node("Cast", "r", "y", to=1)], [n],
     [scalar("zero", 0), scalar("one", 1)], np.arange, [[7]], [([2**40], "expected 0 to")])
case("fill",
     [node("ConstantOfShape", "s", "z"), node("Exp", "z")], [s2], [], lambda s: np.ones(s),
     [[[2, 3]], [[0, 3]]], [([[2, -3]], "expected 0 to"), ([[2**40, 3]], "expected 0 to")])
case("resize", [
    node("Concat", "ones,s", "all", axis=0),
    node("Resize", "x,,,all", "z", mode="linear", coordinate_transformation_mode="align_corners"),
    node("Relu", "z")
], [x(1, 1, "H", 6), s2], [ints("ones", 1, 1)], resized,
     [[rows(1, 1, 4, 6), [8, 6]], [rows(1, 1, 4, 6), [2, 9]]])
# A size that is computed, and one that a test of the data chooses.
case("computed_size", [
    node("ReduceMax", "i", "m", keepdims=1),
    node("Add", "m,one", "k"),
    node("Slice", "x,zero,k,zero", "z"),
    node("MatMul", "z,w")
], [x("N", 4), x("M", dtype="i64", name="i")],
     [ints("one", 1), ints("zero", 0), reals("w", W)], lambda v, i: v[:i.max() + 1] @ W,
     [[rows(9, 4), [0, 5, 2]], [rows(9, 4), [3]], [rows(9, 4), [77]]])
case("size_of_branch", [
    node(
        "If", "c", "z", then_branch=branch([
            node("Reshape", "x,s", "a"),
            node("Shape", "a", "as"),
            node("ConstantOfShape", "as", "ao"),
            node("Add", "a,ao", "a1")
        ], ("a1", )), else_branch=branch([node("Softmax", "x", "b")], ("b", ))),
    node("ReduceMax", "z", axes=[1], keepdims=0)
], [x("N", 6), s2, c], [], lambda a, s, taken: (a.reshape(s) if taken else softmax(a)).max(1),
     [[rows(4, 6), [3, 8], True], [rows(4, 6), [3, 8], False]])

# --- Counts, and ops that need them before they run
# --------------------------------------------------------------------------------------


def kept(v):
    return v[v > 0]


found = [
    node("Greater", "x,o", "m"),
    node("NonZero", "m", "nz"),
    node("Transpose", "nz", "t", perm=[1, 0]),
    node("GatherND", "x,t", "v")
]
o = scalar("o", 0.0, "f32")
mixed = [[rows(n, 6)] for n in (1, 3, 8)] + [[-np.ones((2, 6))]]
case("found_tile", [*found, node("Tile", "v,three")], [x("N", 6)], [o, ints("three", 3)],
     lambda v: np.tile(kept(v), 3), mixed, devices=BOTH)
case("found_matmul", [
    *found,
    node("Unsqueeze", "v,last", "a"),
    node("Transpose", "a", "b", perm=[1, 0]),
    node("MatMul", "b,a")
], [x("N", 6)], [o, ints("last", 1)], lambda v: np.array([[(kept(v)**2).sum()]]), mixed)
case("found_split", [
    *found,
    node("Shape", "v", "count"),
    node("Div", "count,two", "h"),
    node("Sub", "count,h", "r"),
    node("Concat", "h,r", "parts", axis=0),
    node("Split", "v,parts", "a,b"),
    node("Relu", "a", "y"),
    node("Exp", "b", "z")
], [x("N", 6)], [o, ints("two", 2)], lambda v:
     (kept(v)[:len(kept(v)) // 2], np.exp(kept(v)[len(kept(v)) // 2:])), mixed, outputs=("y", "z"))
case("found_last", [*found, node("Slice", "v,minus,most,zero", "l"),
                    node("Exp", "l")], [x("N", 6)],
     [o, ints("minus", -3), ints("most", 2**62),
      ints("zero", 0)], lambda v: np.exp(kept(v)[-3:]), mixed)
case("found_reversed",
     [*found, node("Slice", "v,minus,least,zero,minus", "l"),
      node("Exp", "l")], [x("N", 6)],
     [o, ints("minus", -1), ints("least", -2**62),
      ints("zero", 0)], lambda v: np.exp(kept(v)[::-1]), mixed)
case("found_in_branch", [
    node(
        "If", "c", then_branch=branch([*found, node("Exp", "v", "a")], ("a", )), else_branch=branch(
            [node("Flatten", "x", "f", axis=0),
             node("Squeeze", "f,zero", "b")], ("b", )))
], [x("N", 6), c], [o, ints("zero", 0)], lambda v, taken: np.exp(kept(v))
     if taken else v.ravel(), [[*given, t] for given in mixed for t in (True, False)])
case(
    "found_in_loop", [
        node(
            "Loop", "n,,x", body=body([
                node("Greater", "h,o", "m"),
                node("NonZero", "m", "nz"),
                node("Gather", "nz,zero", "at"),
                node("Gather", "h,at", "v"),
                node("Sub", "v,half", "h1"),
                node("Identity", "go", "on")
            ], ("h", ), ("on", "h1")))
    ], [x("N"), n], [o, scalar("zero", 0), scalar("half", 0.5, "f32")], lambda v, count:
    (lambda h: [h := kept(h) - f32(0.5) for _ in range(count)] and h)(v)
    if count else v, [[np.arange(-2, 5), k] for k in (0, 1, 3, 9)])

cases.run()
