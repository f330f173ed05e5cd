"""Sequences and optionals: ONNX files against NumPy.
flow_sequences.py FOLDER; the last line is "N passed, N failed"."""

import sys

import numpy as np
from flow_cases import (
    BOTH,
    Cases,
    body,
    branch,
    f32,
    ints,
    loose,
    reals,
    scalar,
    sequence,
    softmax,
    x,
)
from onnx_writer import graph, node

random = np.random.default_rng(7)
cases = Cases(sys.argv[1])
case = cases.add
# The passes of each segment are checked by the interpreter, too.
validated = ("--validate-passes",)
c, n = x(dtype="bool", name="c"), x(dtype="i64", name="n")
at = x(dtype="i64", name="at")
s2 = x(2, dtype="i64", name="s")
W = random.standard_normal((4, 4)).astype(f32) * 0.4


def rows(*dims):
    return random.standard_normal(dims).astype(f32)


a2, b2, c2 = rows(2, 4), rows(3, 4), rows(1, 4)
three = [x("N", 4, name="a"), x("M", 4, name="b"), x("K", 4, name="d")]
listed = node("SequenceConstruct", "a,b,d", "q")
for name, build, edit in (
    (
        "insert",
        [listed, node("SequenceInsert", "q,e,at", "r")],
        lambda q, e, k: q.insert(k if k >= 0 else len(q) + k, e),
    ),
    ("erase", [listed, node("SequenceErase", "q,at", "r")], lambda q, e, k: q.pop(k)),
    (
        "append",
        [listed, node("SequenceErase", "q,at", "p"), node("SequenceInsert", "p,e", "r")],
        lambda q, e, k: (q.pop(k), q.append(e)),
    ),
):

    def edited(a, b, d, k, edit=edit):
        q = [a, b, d]
        edit(q, np.exp(a), k)
        return np.concatenate(q), len(q)

    for k in (0, 2, -1, -3) + ((3,) if name == "insert" else ()):
        case(
            f"sequence_{name}_{k}",
            [
                node("Exp", "a", "e"),
                *build,
                node("ConcatFromSequence", "r", "y", axis=0),
                node("SequenceLength", "r", "l"),
            ],
            three,
            [scalar("at", k)],
            lambda a, b, d, k=k, edited=edited: edited(a, b, d, k),
            [[a2, b2, c2]],
            outputs=("y", "l"),
        )
    case(
        f"sequence_{name}",
        [
            node("Exp", "a", "e"),
            *build,
            node("ConcatFromSequence", "r", "y", axis=0),
            node("SequenceLength", "r", "l"),
        ],
        [*three, at],
        [],
        edited,
        [[a2, b2, c2, k] for k in (0, 2, -1, -3) + ((3,) if name == "insert" else ())],
        outputs=("y", "l"),
        devices=BOTH if name == "insert" else ("cpu",),
    )
case(
    "sequence_at",
    [listed, node("SequenceAt", "q,at", "r"), node("MatMul", "r,w")],
    [*three, at],
    [reals("w", W)],
    lambda *v: v[v[3]] @ W if v[3] >= 0 else v[:3][v[3]] @ W,
    [[a2, b2, c2, k] for k in (0, 1, 2, -1, -3)],
    [
        ([a2, b2, c2, 3], "takes size2 + 1 of dim 0"),
        ([a2, b2, c2, -4], "size2 = -1; expected 0 to"),
    ],
)
case(
    "sequence_at_known",
    [listed, node("SequenceAt", "q,at", "r"), node("MatMul", "r,w")],
    three,
    [reals("w", W), scalar("at", -2)],
    lambda a, b, d: b @ W,
    [[a2, b2, c2]],
)
same = [x("N", 4, name=k) for k in "abd"]
for new in (0, 1):
    for axis in (0, 1, -1):
        join = np.stack if new else np.concatenate
        case(
            f"sequence_join_{new}_{axis}",
            [listed, node("ConcatFromSequence", "q", axis=axis, new_axis=new)],
            same,
            [],
            lambda *v, j=join, k=axis: j(v, k),
            [[rows(3, 4)] * 3],
        )
        # In a loop the length and the position are data.
        case(
            f"loop_join_{new}_{axis}",
            [
                node("SequenceEmpty", "", "none"),
                node(
                    "Loop",
                    "n,,none",
                    "q",
                    body=body(
                        [
                            node("Cast", "i", "f", to=1),
                            node("Add", "x,f", "e"),
                            node("SequenceInsert", "h,e", "h1"),
                            node("Identity", "go", "on"),
                        ],
                        (sequence("h"),),
                        ("on", "h1"),
                    ),
                ),
                node("ConcatFromSequence", "q", axis=axis, new_axis=new),
            ],
            [x("N", 4), n],
            [],
            lambda v, count, j=join, k=axis: j([v + f32(i) for i in range(count)], k),
            [[rows(3, 4), k] for k in (1, 4)],
        )
front = [
    node("Cast", "i", "f", to=1),
    node("Mul", "x,f", "e0"),
    node("Concat", "e0,x", "e", axis=0),
    node("SequenceInsert", "h,e,at", "h1"),
    node("Identity", "go", "on"),
]


def inserted(v, count, k):
    q = [v, -v]
    for i in range(count):
        q.insert(k if k >= 0 else len(q) + k, np.concatenate([v * f32(i), v]))
    return np.concatenate(q), len(q), q[k] if k < len(q) else q[-1]


case(
    "loop_insert",
    [
        node("Neg", "x", "minus"),
        node("SequenceConstruct", "x,minus", "q0"),
        node("Loop", "n,,q0", "q", body=body(front, (sequence("h"),), ("on", "h1"))),
        node("ConcatFromSequence", "q", "y", axis=0),
        node("SequenceLength", "q", "l"),
        node("SequenceAt", "q,at", "e"),
    ],
    [x("N", 4), n, at],
    [],
    inserted,
    [[rows(2, 4), k, p] for k in (0, 1, 3) for p in (0, 1, -1)],
    outputs=("y", "l", "e"),
    devices=BOTH,
)


def erased(v, count, k):
    q = [v, np.exp(v), -v, v + 1]
    for _ in range(count):
        q.pop(k)
    return np.concatenate(q), len(q)


case(
    "loop_erase",
    [
        node("Exp", "x", "e"),
        node("Neg", "x", "m"),
        node("Add", "x,one", "p"),
        node("SequenceConstruct", "x,e,m,p", "q0"),
        node(
            "Loop",
            "n,,q0",
            "q",
            body=body(
                [node("SequenceErase", "h,at", "h1"), node("Identity", "go", "on")],
                (sequence("h"),),
                ("on", "h1"),
            ),
        ),
        node("ConcatFromSequence", "q", "y", axis=0),
        node("SequenceLength", "q", "l"),
    ],
    [x("N", 4), n, at],
    [scalar("one", 1.0, "f32")],
    erased,
    [[rows(2, 4), k, p] for k in (0, 1, 2) for p in (0, 1, -1)],
    outputs=("y", "l"),
)
# Elements of other sizes along the axis, each step reads the one of its number.
case(
    "loop_at",
    [
        listed,
        node("SequenceLength", "q", "l"),
        node(
            "Loop",
            "l,,none",
            body=body(
                [
                    node("SequenceAt", "q,i", "e"),
                    node("Softmax", "e", "e1"),
                    node("Concat", "h,e1", "h1", axis=0),
                    node("Identity", "go", "on"),
                ],
                ("h",),
                ("on", "h1"),
            ),
        ),
    ],
    three,
    [reals("none", np.zeros((0, 4)))],
    lambda *v: softmax(np.concatenate(v)),
    [[a2, b2, c2]],
)
case(
    "split_sequence",
    [
        node("SplitToSequence", "x,parts", "q", axis=0),
        node("SequenceAt", "q,at", "e"),
        node("Exp", "e"),
        node("SequenceLength", "q", "l"),
    ],
    [x("N", 4), at],
    [ints("parts", 2, 3, 1)],
    lambda v, k: (np.exp(np.split(v, [2, 5])[k]), 3),
    [[rows(6, 4), k] for k in (0, 1, 2, -1)],
    outputs=("y", "l"),
)
case(
    "split_even",
    [node("SplitToSequence", "x,part", "q", axis=0), node("SequenceAt", "q,last")],
    [x(7, 4)],
    [scalar("part", 3), scalar("last", -1)],
    lambda v: v[6:],
    [[rows(7, 4)]],
)
case(
    "split_ones",
    [
        node("SplitToSequence", "x", "q", axis=0, keepdims=0),
        node("SequenceLength", "q", "l"),
        node("SequenceAt", "q,at", "e"),
        node("Exp", "e"),
    ],
    [x("N", 4), at],
    [],
    lambda v, k: (np.exp(v[k]), len(v)),
    [[rows(t, 4), k] for t in (1, 5) for k in (0, -1)],
    outputs=("y", "l"),
)
case(
    "split_by_data",
    [
        node("SplitToSequence", "x,s", "q", axis=0),
        node("SequenceAt", "q,one", "e"),
        node("Exp", "e"),
    ],
    [x("N", 4), s2],
    [scalar("one", 1)],
    lambda v, s: np.exp(v[s[0] :]),
    [[rows(6, 4), [k, 6 - k]] for k in (1, 6)],
)
case(
    "sequence_if",
    [
        node(
            "If",
            "c",
            "q",
            then_branch=branch([node("SequenceConstruct", "x,x", "t")], ("t",)),
            else_branch=branch([node("SequenceConstruct", "x", "e")], ("e",)),
        ),
        node("ConcatFromSequence", "q", axis=0),
    ],
    [x("N", 4), c],
    [],
    lambda v, taken: np.concatenate([v, v]) if taken else v,
    [[rows(3, 4), t] for t in (True, False)],
)
case(
    "sequence_map",
    [
        node("SequenceConstruct", "a,b", "q"),
        node(
            "SequenceMap",
            "q,d",
            "r",
            body=("graph", graph([node("Mul", "e,f", "g")], loose("e", "f"), ("g",))),
        ),
        node("ConcatFromSequence", "r", axis=0),
    ],
    [x("N", 4, name="a"), x("M", 4, name="b"), x(1, 4, name="d")],
    [],
    lambda a, b, d: np.concatenate([a, b]) * d,
    [[a2, b2, c2]],
)
# Over a sequence whose length the model computes, the body is that of a loop.
ones = node("SplitToSequence", "x", "q", axis=0, keepdims=1)


def mapped(inputs, names, nodes, results=("g",), outputs="r"):
    return node(
        "SequenceMap", inputs, outputs, body=("graph", graph(nodes, loose(*names), results))
    )


case(
    "map_length",
    [
        ones,
        mapped("q,d", "ef", [node("Mul", "e,f", "h"), node("MatMul", "h,w", "g")]),
        node("ConcatFromSequence", "r", axis=0),
        node("SequenceLength", "r", "l"),
    ],
    [x("N", 4), x(1, 4, name="d")],
    [reals("w", W)],
    lambda v, d: ((v * d) @ W, len(v)),
    [[rows(t, 4), rows(1, 4)] for t in (1, 5, 70)],
    outputs=("y", "l"),
    devices=BOTH,
    options=validated,
)
# Elements of sizes that the data say, of another rank and dtype; two results.
case(
    "map_sizes",
    [
        node("SequenceEmpty", "", "none"),
        node(
            "Loop",
            "n,,none",
            "q",
            body=body(
                [
                    node("Reshape", "i,one", "i1"),
                    node("Slice", "x,from,i1", "e"),
                    node("SequenceInsert", "h,e", "h1"),
                    node("Identity", "go", "on"),
                ],
                (sequence("h"),),
                ("on", "h1"),
            ),
        ),
        mapped(
            "q",
            "e",
            [node("NonZero", "e", "z"), node("Concat", "e,e", "g", axis=0)],
            ("z", "g"),
            "r,s",
        ),
        node("ConcatFromSequence", "r", axis=1),
        node("ConcatFromSequence", "s", "s1", axis=0),
        node("SequenceLength", "s", "l"),
    ],
    [x("N", 4), n],
    [ints("from", 0), ints("one", 1)],
    lambda v, count: (
        np.concatenate([np.nonzero(v[:i]) for i in range(count)], 1),
        np.concatenate([np.tile(v[:i], (2, 1)) for i in range(count)]),
        count,
    ),
    [[rows(5, 4), k] for k in (1, 2, 5)],
    outputs=("y", "s1", "l"),
    devices=BOTH,
)
# Two sequences, one of them listed or both of a computed length. A run in which their lengths
# differ is refused.
case(
    "map_listed",
    [
        ones,
        node("Neg", "d", "m"),
        node("SequenceConstruct", "d,m", "p"),
        mapped("q,p", "ef", [node("Add", "e,f", "g")]),
        node("ConcatFromSequence", "r", axis=0),
    ],
    [x("N", 4), x(1, 4, name="d")],
    [],
    lambda v, d: np.concatenate([v[:1] + d, v[1:] - d]),
    [[rows(2, 4), rows(1, 4)]],
    [([rows(3, 4), rows(1, 4)], "expected 2, got 3")],
)
case(
    "map_two",
    [
        ones,
        node("SplitToSequence", "d", "p", axis=0),
        mapped("q,p", "ef", [node("Add", "e,f", "g")]),
        node("ConcatFromSequence", "r", axis=0),
    ],
    [x("N", 4), x("M", 4, name="d")],
    [],
    lambda v, d: v + d,
    [[rows(t, 4), rows(t, 4)] for t in (1, 3)],
    [([rows(3, 4), rows(2, 4)], "expected 3, got 2")],
)
repeated = [
    node("SequenceEmpty", "", "none"),
    *(
        node(
            "Loop",
            f"{count},,none",
            q,
            body=body(
                [node("SequenceInsert", "h,x", "h1"), node("Identity", "go", "on")],
                (sequence("h"),),
                ("on", "h1"),
            ),
        )
        for count, q in (("n", "q"), ("m", "p"))
    ),
]
case(
    "map_counts",
    [
        *repeated,
        mapped("q,p", "ef", [node("Add", "e,f", "g")]),
        node("ConcatFromSequence", "r", axis=0),
    ],
    [x("N", 4), n, x(dtype="i64", name="m")],
    [],
    lambda v, count, _: np.concatenate([v + v] * count),
    [[rows(2, 4), 3, 3]],
    [([rows(2, 4), 3, 2], "to be equal"), ([rows(2, 4), 1, 2], "to be equal")],
)
# No elements; a map in a loop; a body that has a loop.
case(
    "map_none",
    [
        node("SequenceEmpty", "", "none"),
        node(
            "Loop",
            "n,,none",
            "q",
            body=body(
                [node("SequenceInsert", "h,x", "h1"), node("Identity", "go", "on")],
                (sequence("h"),),
                ("on", "h1"),
            ),
        ),
        mapped("q", "e", [node("Neg", "e", "g")]),
        node("SequenceLength", "r", "l"),
        node("SequenceInsert", "r,x", "s"),
        node("ConcatFromSequence", "s", axis=0),
    ],
    [x("N", 4), n],
    [],
    lambda v, count: (np.concatenate([-v] * count + [v]), count),
    [[rows(2, 4), k] for k in (0, 3)],
    outputs=("y", "l"),
)
case(
    "map_in_loop",
    [
        ones,
        node(
            "Loop",
            "n,,q",
            "s",
            body=body(
                [
                    mapped("h", "e", [node("Sub", "e,x0", "g")], outputs="h1"),
                    node("Identity", "go", "on"),
                ],
                (sequence("h"),),
                ("on", "h1"),
            ),
        ),
        node("ConcatFromSequence", "s", axis=0),
    ],
    [x("N", 4), x(1, 4, name="x0"), n],
    [],
    lambda v, d, count: v - count * d,
    [[rows(3, 4), rows(1, 4), k] for k in (0, 2)],
)
case(
    "map_of_loop",
    [
        ones,
        mapped(
            "q",
            "e",
            [
                node(
                    "Loop",
                    "n,,e",
                    "g",
                    body=body(
                        [node("Mul", "h,two", "h1"), node("Identity", "go", "on")],
                        ("h",),
                        ("on", "h1"),
                    ),
                )
            ],
        ),
        node("ConcatFromSequence", "r", axis=0),
    ],
    [x("N", 4), n],
    [scalar("two", 2.0, "f32")],
    lambda v, count: v * f32(2) ** count,
    [[rows(3, 4), k] for k in (0, 3)],
)
case(
    "optional",
    [
        node("Optional", "x", "p"),
        node("OptionalHasElement", "p", "has"),
        node("OptionalGetElement", "p", "e"),
        node("Where", "has,e,other"),
    ],
    [x("N", 4)],
    [scalar("other", 5.0, "f32")],
    lambda v: v,
    [[rows(3, 4)]],
    opset=18,
)
case(
    "optional_none",
    [node("OptionalHasElement", "", "has"), node("Where", "has,x,other")],
    [x("N", 4)],
    [scalar("other", 5.0, "f32")],
    lambda v: v * 0 + 5,
    [[rows(3, 4)]],
    opset=18,
)
case(
    "optional_sequence",
    [
        node("SequenceConstruct", "x,x", "q"),
        node("Optional", "q", "p"),
        node("OptionalGetElement", "p", "r"),
        node("ConcatFromSequence", "r", axis=0),
    ],
    [x("N", 4)],
    [],
    lambda v: np.concatenate([v, v]),
    [[rows(3, 4)]],
    opset=18,
)

# Parts of a number that the model knows when shapes are bound, or in a run.
for axis, name in ((0, "rows"), (-1, "columns")):
    dims = ("N", 4) if axis == 0 else (3, "N")
    taken = [
        node("SequenceLength", "q", "l"),
        node("SequenceAt", "q,at", "e"),
        node("ConcatFromSequence", "q", "all", axis=axis),
    ]

    def parts(v, at, size, axis=axis):
        all_parts = np.split(v, range(size, v.shape[axis], size), axis)
        return all_parts[at], v, len(all_parts)

    shape = (lambda t: (t, 4)) if axis == 0 else (lambda t: (3, t))
    case(
        f"split_parts_{name}",
        [node("SplitToSequence", "x,s", "q", axis=axis), *taken],
        [x(*dims), at],
        [scalar("s", 3)],
        lambda v, at, parts=parts: parts(v, at, 3),
        [[rows(*shape(t)), at] for t, at in ((6, 1), (7, 2), (2, 0), (7, -2))],
        outputs=("e", "all", "l"),
        devices=BOTH,
        options=validated,
    )
    case(
        f"split_parts_read_{name}",
        [node("SplitToSequence", "x,s", "q", axis=axis), *taken],
        [x(*dims), at, x(dtype="i64", name="s")],
        [],
        parts,
        [[rows(*shape(t)), at, s] for t, at, s in ((6, 1, 2), (7, 3, 2), (5, 0, 9))],
        outputs=("e", "all", "l"),
    )


# --- Sequences of sequences
# --------------------------------------------------------------------------------------------------

# A body gives the sequence of an element and its double; then one of the sequences is joined.
doubled = [node("Add", "e,e", "d"), node("SequenceConstruct", "e,d", "g")]


def inner(name):
    return node("SequenceAt", f"{name},at", "one")


joined = [node("SequenceLength", "one", "l"), node("ConcatFromSequence", "one", axis=0)]
case(
    "map_gives_sequence",
    [ones, mapped("q", "e", doubled), inner("r"), *joined],
    [x("N", 4), at],
    [],
    lambda v, at: (np.stack([v[at], v[at] * 2]), 2),
    [[rows(t, 4), at] for t, at in ((1, 0), (5, 3), (5, -1))],
    [([rows(2, 4), 5], "of dim 0")],
    outputs=("y", "l"),
    devices=BOTH,
    options=validated,
)
case(
    "map_listed_gives_sequence",
    [node("SequenceConstruct", "x,v", "q"), mapped("q", "e", doubled), inner("r"), *joined],
    [x("N", 4), x("M", 4, name="v"), at],
    [],
    lambda a, b, at: (np.concatenate([(a, b)[at], (a, b)[at] * 2]), 2),
    [[rows(2, 4), rows(3, 4), at] for at in (0, 1)],
    outputs=("y", "l"),
)
# The lengths of the inner sequences differ, and the data say them.
ragged = [
    node("Reshape", "e,flat", "e1"),
    node("SequenceEmpty", "", "none"),
    node("Gather", "e1,zero", "first", axis=0),
    node("Cast", "first", "count", to=7),
    node(
        "Loop",
        "count,,none",
        "g",
        body=body(
            [node("SequenceInsert", "h,e1", "h1"), node("Identity", "go", "on")],
            (sequence("h"),),
            ("on", "h1"),
        ),
    ),
]
counts = np.asarray([[2], [0], [3], [1]], f32) + 0 * rows(4, 3)
RAGGED = [scalar("zero", 0), ints("flat", -1)]
filler = [node("SequenceInsert", "one,v", "two"), node("SequenceLength", "two", "l")]


def ragged_at(v, at, w):
    return np.concatenate([v[at]] * int(v[at, 0]) + [w]), int(v[at, 0]) + 1


case(
    "map_ragged",
    [
        ones,
        mapped("q", "e", ragged),
        inner("r"),
        *filler,
        node("ConcatFromSequence", "two", axis=0),
    ],
    [x("N", 3), at, x("M", name="v")],
    RAGGED,
    ragged_at,
    [[counts, at, rows(2)] for at in (0, 1, 2, 3, -1)],
    outputs=("y", "l"),
    devices=BOTH,
)
# A map over sequences of sequences, whose body takes sequences.
case(
    "map_of_sequences",
    [
        ones,
        mapped("q", "e", doubled, outputs="p"),
        mapped("p", "e", [node("ConcatFromSequence", "e", "g", axis=1)]),
        node("ConcatFromSequence", "r", axis=0),
    ],
    [x("N", 4)],
    [],
    lambda v: np.concatenate([v, v * 2], 1),
    [[rows(t, 4)] for t in (1, 3)],
)
# Sequences are put in and taken out at positions that the data say.
case(
    "nested_edits",
    [
        ones,
        mapped("q", "e", doubled),
        node("SequenceConstruct", "v", "s"),
        node("SequenceInsert", "r,s,at", "r1"),
        node("SequenceErase", "r1,n", "r2"),
        node("SequenceLength", "r2", "l"),
        mapped("r2", "e", [node("ConcatFromSequence", "e", "g", axis=0)], outputs="t"),
        node("ConcatFromSequence", "t", axis=0),
    ],
    [x("N", 4), x("M", 4, name="v"), at, n],
    [],
    lambda v, w, at, out: (
        np.concatenate(
            [
                e
                for i, e in enumerate(
                    [np.stack([row, row * 2]) for row in v[:at]]
                    + [w]
                    + [np.stack([row, row * 2]) for row in v[at:]]
                )
                if i != out
            ]
        ),
        len(v),
    ),
    [[rows(3, 4), rows(2, 4), at, out] for at, out in ((0, 0), (1, 3), (3, 2))],
    outputs=("y", "l"),
)
# A loop carries a sequence of sequences; a branch gives one without elements.
case(
    "nested_loop",
    [
        node("SequenceEmpty", "", "none"),
        node(
            "Loop",
            "n,,none",
            "r",
            body=body(
                [
                    node("Reshape", "i,one1", "i1"),
                    node("Slice", "x,from,i1", "e"),
                    node("SequenceConstruct", "e,x", "s"),
                    node("SequenceInsert", "h,s", "h1"),
                    node("Identity", "go", "on"),
                ],
                (sequence("h"),),
                ("on", "h1"),
            ),
        ),
        inner("r"),
        *joined,
    ],
    [x("N", 4), n, at],
    [ints("from", 0), ints("one1", 1)],
    lambda v, _, at: (np.concatenate([v[:at], v]), 2),
    [[rows(3, 4), count, at] for count, at in ((1, 0), (3, 2))],
    outputs=("y", "l"),
)
case(
    "nested_if",
    [
        node("SequenceConstruct", "x", "s"),
        node("SequenceEmpty", "", "none"),
        node(
            "If",
            "c",
            "r",
            then_branch=branch([node("SequenceConstruct", "s,none", "a")], ("a",)),
            else_branch=branch([node("SequenceConstruct", "none,s,s", "b")], ("b",)),
        ),
        inner("r"),
        *filler,
        node("ConcatFromSequence", "two", axis=0),
    ],
    [x("N", 4), x("M", 4, name="v"), c, at],
    [],
    lambda v, w, taken, at: (
        np.concatenate([v, w]) if (at > 0) != taken else w,
        2 if (at > 0) != taken else 1,
    ),
    [[rows(3, 4), rows(2, 4), taken, at] for taken in (True, False) for at in (0, 1)],
    outputs=("y", "l"),
)

# --- Optionals
# --------------------------------------------------------------------------------------------------

some, nothing = branch([node("Optional", "x", "a")], ("a",)), branch(
    [node("Optional", "", "b")], ("b",)
)


def element_or(name, otherwise):
    """The element of an optional, or another tensor."""
    return [
        node("OptionalHasElement", name, "has"),
        node(
            "If",
            "has",
            "z",
            then_branch=branch([node("OptionalGetElement", name, "t")], ("t",)),
            else_branch=branch([node("Exp", otherwise, "f")], ("f",)),
        ),
    ]


case(
    "optional_if",
    [
        node("If", "c", "p", then_branch=some, else_branch=nothing),
        *element_or("p", "x"),
        node("MatMul", "z,w"),
    ],
    [x("N", 4), c],
    [reals("w", W)],
    lambda v, taken: (v if taken else np.exp(v)) @ W,
    [[rows(3, 4), taken] for taken in (True, False)],
    opset=18,
    devices=BOTH,
    options=validated,
)
# Whether the branches give one is known; that of an empty optional is refused in a run.
case(
    "optional_get",
    [
        node("If", "c", "p", then_branch=some, else_branch=nothing),
        node("OptionalGetElement", "p", "e"),
        node("Relu", "e"),
    ],
    [x("N", 4), c],
    [],
    lambda v, _: np.maximum(v, 0),
    [[rows(3, 4), True]],
    [([rows(3, 4), False], "of dim 0")],
    opset=18,
)
case(
    "optional_either",
    [
        node(
            "If",
            "c",
            "p",
            then_branch=some,
            else_branch=branch([node("Neg", "x", "m"), node("Optional", "m", "b")], ("b",)),
        ),
        *element_or("p", "x"),
        node("Relu", "z"),
    ],
    [x("N", 4), c],
    [],
    lambda v, taken: np.maximum(v if taken else -v, 0),
    [[rows(3, 4), taken] for taken in (True, False)],
    opset=18,
)
# A state that is empty in the first steps, and its element grows.
case(
    "optional_loop",
    [
        node("Optional", "", "none"),
        node(
            "Loop",
            "n,,none",
            "p",
            body=body(
                [
                    *element_or("h", "x"),
                    node("Concat", "z,x", "z1", axis=0),
                    node("Optional", "z1", "h1"),
                    node("Identity", "go", "on"),
                ],
                (sequence("h"),),
                ("on", "h1"),
            ),
        ),
        *element_or("p", "x"),
        node("Relu", "z"),
    ],
    [x("N", 4), n],
    [],
    lambda v, count: np.maximum(np.concatenate([np.exp(v)] + [v] * count), 0),
    [[rows(2, 4), count] for count in (0, 1, 3)],
    opset=18,
)
case(
    "optional_sequence_if",
    [
        node("SequenceConstruct", "x,x", "q"),
        node(
            "If",
            "c",
            "p",
            then_branch=branch([node("Optional", "q", "a")], ("a",)),
            else_branch=nothing,
        ),
        node("OptionalHasElement", "p", "has"),
        node("SequenceConstruct", "x", "alone"),
        node(
            "If",
            "has",
            "r",
            then_branch=branch([node("OptionalGetElement", "p", "t")], ("t",)),
            else_branch=branch([node("Identity", "alone", "f")], ("f",)),
        ),
        node("ConcatFromSequence", "r", axis=0),
    ],
    [x("N", 4), c],
    [],
    lambda v, taken: np.concatenate([v] * (1 + taken)),
    [[rows(2, 4), taken] for taken in (True, False)],
    opset=18,
)
# A map takes an optional along, and its body gives one for each element.
case(
    "map_optionals",
    [
        node("If", "c", "p", then_branch=some, else_branch=nothing),
        ones,
        mapped(
            "q,p",
            "eo",
            [
                node("ReduceMax", "e", "top", keepdims=0),
                node("Greater", "top,limit", "high"),
                node("OptionalHasElement", "o", "there"),
                node("And", "high,there", "both"),
                node(
                    "If",
                    "both",
                    "g",
                    then_branch=branch([node("Optional", "e", "a")], ("a",)),
                    else_branch=nothing,
                ),
            ],
        ),
        node("SequenceAt", "r,at", "one"),
        *element_or("one", "x"),
        node("Relu", "z"),
    ],
    [x("N", 4), c, at],
    [scalar("limit", 0.0, "f32")],
    lambda v, taken, at: np.maximum(v[[at]] if taken and v[at].max() > 0 else np.exp(v), 0),
    [
        [np.asarray([[1, 2, 3, -4], [-1, -2, -3, -4]], f32), taken, at]
        for taken in (True, False)
        for at in (0, 1)
    ],
    opset=18,
)

cases.run()
