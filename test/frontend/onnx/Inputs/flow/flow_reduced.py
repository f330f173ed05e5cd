"""What random models (test/random/run_flow.py) came down to: ONNX files against NumPy.
flow_reduced.py FOLDER; the last line is "N passed, N failed"."""
import sys

import numpy as np
from flow_cases import BOTH, Cases, body, branch, f32, ints, reals, scalar, x
from onnx_writer import graph, node, value

random = np.random.default_rng(11)
cases = Cases(sys.argv[1])
case = cases.add
c, n, n1, at = x(dtype="bool", name="c"), x(dtype="i64",
                                            name="n"), x(1, dtype="i64",
                                                         name="n"), x(dtype="i64", name="at")
W = random.standard_normal((4, 4)).astype(f32) * 0.4


def rows(*dims):
    return random.standard_normal(dims).astype(f32)


# --- Branches and loops
# --------------------------------------------------------------------------------------------------

# Conditions that both branches give keep their dim.
case("if_truth", [
    node("If", "c", "t", then_branch=branch([node("Not", "p", "a")], ("a", )), else_branch=branch(
        [node("Identity", "p", "b")], ("b", ))),
    node("Concat", "t,t", "tt", axis=0),
    node("Where", "tt,x,minus")
], [x("N", 2), c, x(1, dtype="bool", name="p")], [scalar("minus", -1.0, "f32")],
     lambda a, taken, p: a if p[0] != taken else a * 0 - 1,
     [[rows(3, 2), t, [p]] for t in (True, False) for p in (True, False)])
# Without a condition at first, a loop ends where its body says so.
for first in ("", "yes"):
    case(f"loop_ends_{first}", [
        node(
            "Loop", f"n,{first},x", body=body([
                node("Add", "h,x", "h1"),
                node("ReduceMax", "h1", "m", keepdims=0),
                node("Less", "m,ten", "on")
            ], ("h", ), ("on", "h1")))
    ], [x("N", 4), n],
         [scalar("ten", 10.0, "f32"), scalar("yes", True, "bool")],
         lambda a, count: a * min(count + 1, 5), [[np.full((2, 4), 2.0), k] for k in (1, 3, 9)])
# Nothing reads the rows, but their number.
case("loop_size", [
    node(
        "Loop", "n,,x", "g", body=body(
            [node("Concat", "h,x", "h1", axis=0),
             node("Identity", "go", "on")], ("h", ), ("on", "h1"))),
    node("Shape", "g", "s", start=0, end=1),
    node("ConstantOfShape", "s", "z"),
    node("Exp", "z")
], [x("N", 4), n], [], lambda a, count: np.ones(len(a) * (count + 1)),
     [[rows(3, 4), k] for k in (0, 1, 3)])
# The first step knows a dim that others do not.
case("loop_shrinks", [
    node(
        "Loop", "n,,x", body=body(
            [node("Slice", "h,one,most,zero", "h1"),
             node("Identity", "go", "on")], ("h", ), ("on", "h1")))
], [x(2, 4), n],
     [ints("one", 1), ints("most", 2**62), ints("zero", 0)], lambda a, count: a[count:],
     [[rows(2, 4), k] for k in (0, 1, 2, 5)])
# The body's own loop names a dim that the graph around it finds.
inner = ("graph",
         graph([node("Add", "h,two", "h1"), node("Add", "e,two", "e1")],
               [value("h", "i64", None), value("e", "i64", None)], ("h1", "e1")))
case("loop_outer_dim", [
    node("Unique", "i", "u,f,w,k", sorted=1),
    node(
        "Loop", "n,c", body=body([
            node("Scan", "k,p", "s,a", body=inner, num_scan_inputs=1),
            node("Identity", "go", "on")
        ], (), ("on", "s")))
], [x("N", dtype="i64", name="i"), n, c,
    x("M", dtype="i64", name="p")], [scalar("two", 2)],
     lambda i, count, goes, p: np.stack([np.unique(i, return_counts=True)[1] + 2 * len(p)] * count),
     [[[3, 3, 1], 2, True, [1, 2, 3]], [[5], 1, True, [1]]])

# --- Sizes
# --------------------------------------------------------------------------------------------------

dim = node("Shape", "v", "d", start=0, end=1)
# A part of what is left over, which may be nothing.
case("split_of_split", [
    node("NonZero", "x", "z"), dim,
    node("Shape", "z", "e", start=1, end=2),
    node("Min", "d,e", "k"),
    node("Sub", "e,k", "r"),
    node("Concat", "k,r", "s", axis=0),
    node("Split", "z,s", "p,q", axis=1),
    node("Shape", "q", "l", start=1, end=2),
    node("Min", "l,two", "m"),
    node("Concat", "m,n", "u", axis=0),
    node("Split", "q,u", "y,b", axis=1)
], [x("N"), x("M", name="v"), n1], [ints("two", 2)],
     lambda a, b, _: np.array(a.nonzero())[:, len(b):][:, :2],
     [[rows(3), rows(1), [0]], [rows(6), rows(2), [2]], [np.array([0, 1, 0]),
                                                         rows(2), [0]]])
# Passes are checked at a part's start and a size that fit together.
case("split_checked", [
    node("Unique", "i", "u,f,w,k", sorted=1),
    node("Shape", "f", "e"),
    node("Sub", "e,n", "r"),
    node("Concat", "n,r", "s", axis=0),
    node("Split", "f,s", "a,y", axis=0)
], [x(1, dtype="i64", name="i"), n1], [], lambda i, k: np.zeros(1 - k[0]), [[[2], [1]], [[2], [0]]],
     options=("--validate-passes", ))
case("found_checked", [
    node("NonZero", "b", "z"),
    node("Transpose", "z", "t", perm=[1, 0]),
    node("GatherND", "x,t", "u"),
    node("If", "c", then_branch=branch([node("Concat", "u,u", "p", axis=0)], ("p", )),
         else_branch=branch([node("Softmax", "u", "q", axis=0)], ("q", )))
], [x("N", "N"), x("N", "N", dtype="bool", name="b"), c], [],
     lambda a, b, taken: np.concatenate([a[b], a[b]]), [[rows(2, 2), np.eye(2), True]],
     options=("--validate-passes", ))
# Bounds that never leave an element.
case("slice_beyond", [dim, node("Add", "d,two", "s"),
                      node("Slice", "x,s,three,zero")], [x(1, "N"), x("M", name="v")],
     [ints("two", 2), ints("three", 3), ints("zero", 0)], lambda a, b: a[3:],
     [[rows(1, 3), rows(2)]])
case("slice_product", [
    node("Shape", "v", "e"),
    node("ReduceProd", "e", "k", keepdims=1),
    node("Slice", "x,k,three,zero")
], [x(3), x("M", "K", name="v")], [ints("three", 3), ints("zero", 0)], lambda a, b: a[b.size:3],
     [[rows(3), rows(*dims)] for dims in ((1, 1), (2, 1), (1, 3), (4, 5))])
case("slice_read",
     [node("Range", "o,n,t", "r"),
      node("Shape", "r", "k"),
      node("Slice", "x,k,three,zero")], [x(2, "N"), n],
     [scalar("o", 1), scalar("t", 2),
      ints("three", 3), ints("zero", 0)], lambda a, k: a[len(np.arange(1, k, 2)):],
     [[rows(2, 3), k] for k in (0, 2, 4, 9)])
case("slice_before",
     [dim, node("Neg", "d", "e"), node("Slice", "x,one,e,zero")],
     [x(2, "N"), x("M", name="v")], [ints("one", 1), ints("zero", 0)], lambda a, b: a[1:-len(b)],
     [[rows(2, 3), rows(k)] for k in (1, 2, 5)])
for upper in (0, 1):
    case(f"triangle_{upper}", [node("Trilu", "x,k", "t", upper=upper),
                               node("MatMul", "t,w")],
         [x("B", "N", 4), x(dtype="i64", name="k")], [reals("w", W)], lambda v, k, cut=np.triu
         if upper else np.tril: cut(v, k) @ W,
         [[rows(2, 3, 4), k] for k in (-5, -1, 0, 2, 9, 2**40, -2**40)], devices=BOTH)

# Nothing uses a tensor but its size, and the text needs the tensor to name it.
fill = [node("ConstantOfShape", "s", "z"), node("Exp", "z")]
case("count_alone", [node("Unique", "x", "u,f,w,k", sorted=1),
                     node("Shape", "u", "s"), *fill], [x("N", "N")], [],
     lambda a: np.ones(len(np.unique(a))), [[np.eye(k)] for k in (1, 2, 5)], text=True)
case("branch_size", [
    node("If", "c", "t", then_branch=branch([node("Identity", "x", "a")], ("a", )),
         else_branch=branch([node("Identity", "v", "b")], ("b", ))),
    node("Shape", "t", "s"), *fill
], [x("N"), x("M", name="v"), c], [], lambda a, b, taken: np.ones(len(a if taken else b)),
     [[rows(3), rows(5), taken] for taken in (True, False)], text=True)
# A branch uses a size that two earlier branches give.
case("branch_of_size", [
    node("If", "c", "t", then_branch=branch([node("Exp", "x", "a")], ("a", )), else_branch=branch(
        [node("Identity", "v", "b")], ("b", ))),
    node("If", "c", "s", then_branch=branch([node("Less", "t,x", "a")], ("a", )),
         else_branch=branch([node("Identity", "p", "b")], ("b", ))),
    node("If", "d", "y", then_branch=branch([node("Shape", "s", "a")], ("a", )), else_branch=branch(
        [node("Identity", "n", "b")], ("b", )))
], [x("N"),
    x("M", name="v"),
    x("K", dtype="bool", name="p"), c,
    x(dtype="bool", name="d"), n1], [],
     lambda a, b, p, first, second, k: np.array([len(a if first else p)])
     if second else k, [[rows(3), rows(5), [1, 0], first, second, [7]] for first in (True, False)
                        for second in (True, False)], text=True)
# Steps gather rows whose other dims they alone know, and rows without elements.
case("loop_row_sizes", [
    node(
        "Loop", "n,,x", "h,y", body=body([
            node("Slice", "h,zero,two,zero", "h1"),
            node("Identity", "h1", "row"),
            node("Identity", "go", "on")
        ], ("h", ), ("on", "h1", "row")))
], [x("N", "M"), n], [ints("zero", 0), ints("two", 2)], lambda a, k: np.stack([a[:2]] * k),
     [[rows(2, 3), k] for k in (1, 3)], text=True)
case("loop_empty_rows", [
    node("Slice", "x,zero,zero,zero", "e"),
    node(
        "Loop", "n,,x", "h,y", body=body(
            [node("Exp", "h", "h1"),
             node("Identity", "e", "row"),
             node("Identity", "go", "on")], ("h", ), ("on", "h1", "row")))
], [x("N", "M"), n], [ints("zero", 0)], lambda a, k: np.zeros((k, 0, a.shape[1])),
     [[rows(2, 3), k] for k in (0, 1, 3)], text=True)
# The number of steps is a size, which the text need not check again.
case("loop_sized", [
    node("NonZero", "x", "z"),
    node("Size", "z", "l"),
    node(
        "Loop", "l,,x", "h,g", body=body(
            [node("Add", "h,h", "h1"),
             node("Identity", "i", "row"),
             node("Identity", "go", "on")], ("h", ), ("on", "h1", "row"))),
    node("Gather", "x,g"),
], [x("N")], [], lambda a: a[np.arange(np.count_nonzero(a))], [[[1, 0, 2]], [[0, 0]], [rows(5)]],
     text=True)
# A number is divided by a dim.
case("quotient_by_dim", [
    node("Shape", "x", "d"),
    node("Mul", "d,two", "e"),
    node("Div", "nine,e", "q"),
    node("Mul", "q,d", "p"),
    node("Max", "p,two", "s"), *fill
], [x("N")], [ints("two", 2), ints("nine", 9)], lambda a: np.ones(max(9 //
                                                                      (2 * len(a)) * len(a), 2)),
     [[rows(k)] for k in (1, 2, 3, 4, 5, 9)], text=True)

# The data say how a dim is padded, which is then split; one of the parts may be empty. A slice
# begins after the only element of a dim.
case("split_padded", [
    node("Pad", "x,p", "w"),
    node("Shape", "w", "e", start=0, end=1),
    node("Min", "e,two", "k"),
    node("Sub", "e,k", "r"),
    node("Concat", "k,r", "s", axis=0),
    node("SplitToSequence", "w,s", "q", axis=0),
    node("SequenceAt", "q,at", "y")
], [x("N", 3), x(4, dtype="i64", name="p"), at], [ints("two", 2)],
     lambda a, p, k: np.split(np.pad(a, ((p[0], p[2]), (0, 0))), [2])[k],
     [[rows(n, 3), [1, 0, 1, 0], k] for n in (1, 4) for k in (0, 1)])
# A size that is computed when the model runs is 0 or more then: it does not narrow the range of N.
case("split_ones_padded", [
    node("Clip", "one,zero,three", "k"),
    node("Concat", "one,k", "p", axis=0),
    node("Pad", "x,p", "w"),
    node("SplitToSequence", "w", "q", axis=0),
    node("SequenceLength", "q", "l"),
    node("SequenceAt", "q,at", "y")
], [x("N"), at], [ints("one", 1), scalar("zero", 0), scalar("three", 3)],
     lambda v, k: (np.pad(v, 1)[[k]], len(v) + 2), [[rows(n), k] for n in (1, 5) for k in (0, -1)],
     outputs=("y", "l"))
case("slice_past_one",
     [node("Shape", "v", "d"), node("Slice", "x,d,three,zero")],
     [x(1, 3), x("M", name="v")], [ints("zero", 0), ints("three", 3)], lambda a, b: a[len(b):3],
     [[rows(1, 3), rows(k)] for k in (1, 4)])
# More sizes than one program takes, without a branch or read: the model is cut.
many = [
    node("Shape", "x", "d", start=0, end=1),
    *(part for k in range(70)
      for part in (node("Min", f"d,most{k}", f"e{k}"), node("Slice", f"x,zero,e{k},zero", f"p{k}"),
                   node("ReduceSum", f"p{k},zero", f"s{k}", keepdims=0)))
]
case("many_dims", [*many, node("Sum", ",".join(f"s{k}" for k in range(70)))], [x("N", 3)],
     [ints("zero", 0), *(ints(f"most{k}", k + 2)
                         for k in range(70))], lambda a: sum(a[:k + 2].sum(0) for k in range(70)),
     [[rows(k, 3)] for k in (1, 9, 100)], devices=BOTH, within=1e-4, text=True)

# --- Sequences
# --------------------------------------------------------------------------------------------------

for keeps in (0, 1):
    case(f"split_ones_last_{keeps}", [
        node("SplitToSequence", "x", "q", axis=-1, keepdims=keeps),
        node("SequenceLength", "q", "l"),
        node("SequenceAt", "q,at", "e"),
        node("Exp", "e")
    ], [x(3, "N"), at], [], lambda v, k, keeps=keeps: (np.exp(v[:, [k]]
                                                              if keeps else v[:, k]), v.shape[1]),
         [[rows(3, t), k] for t in (1, 5) for k in (0, -1)], outputs=("y", "l"))
# A branch without elements has the kind of the other branch, and a state that nothing is put into
# needs none.
none, empty = node("SequenceEmpty", "", "none"), branch([node("Identity", "none", "b")], ("b",))
case("branch_empty", [
    none,
    node("If", "c", "q", then_branch=branch([node("SequenceConstruct", "x,x", "a")],
                                            ("a", )), else_branch=empty),
    node("SequenceLength", "q", "l"),
    node("SequenceInsert", "q,x", "r"),
    node("ConcatFromSequence", "r", axis=0)
], [x("N", 4), c], [], lambda a, taken: (np.concatenate([a] * (3 if taken else 1)), 2 * taken),
     [[rows(3, 4), taken] for taken in (True, False)], outputs=("y", "l"))
case("branches_empty", [
    none,
    node("If", "c", "q", then_branch=empty, else_branch=empty),
    node("SequenceLength", "q", "l"),
    node("SequenceInsert", "q,x", "r"),
    node("ConcatFromSequence", "r", axis=0)
], [x("N", 4), c], [], lambda a, taken: (a, 0), [[rows(3, 4), taken] for taken in (True, False)],
     outputs=("y", "l"))
case("loop_keeps_empty", [
    none,
    node(
        "Loop", "n,,none,none", "q,r", body=body([
            node("SequenceInsert", "s,x", "t"),
            node("Identity", "u", "v"),
            node("Identity", "go", "on")
        ], ("s", "u"), ("on", "t", "v"))),
    node("SequenceLength", "r", "l"),
    node("SequenceInsert", "q,x", "p"),
    node("ConcatFromSequence", "p", axis=0)
], [x("N", 4), n], [], lambda a, k: (np.concatenate([a] * (k + 1)), 0),
     [[rows(2, 4), k] for k in (0, 1, 3)], outputs=("y", "l"))
# The first element decides what the sequence holds.
case("insert_first", [
    node("SequenceEmpty", "", "none"),
    node("SequenceInsert", "none,x,at", "q"),
    node("SequenceInsert", "q,v,at", "r"),
    node("ConcatFromSequence", "r", axis=0)
], [x("N", 4), x("M", 4, name="v"), at], [], lambda a, b, k: np.concatenate([b, a]),
     [[rows(2, 4), rows(3, 4), 0]])

cases.run()
