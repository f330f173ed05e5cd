"""What dlc says of ONNX files with branches, loops, sequences and computed sizes that it cannot
import. flow_errors.py FOLDER; the last line is "N passed, N failed"."""
import sys

from flow_cases import Cases, body, branch, ints, loose, scalar, sequence, x
from onnx_writer import graph, node, tensor

cases = Cases(sys.argv[1])
n, c, at = x(dtype="i64", name="n"), x(dtype="bool", name="c"), x(dtype="i64", name="at")
rows = x("N", 4)


def case(name, nodes, inputs, says, tensors=(), opset=17, options=(), outputs=("y",)):
    cases.add(name, nodes, inputs, tensors, None, [], not_imported=says, opset=opset,
              options=options, outputs=outputs)


# Branches and loops.
case("if_kinds", [
    node("If", "c", "q", then_branch=branch([node("SequenceConstruct", "x,x", "t")],
                                            ("t", )), else_branch=branch([node("Neg", "x", "e")],
                                                                         ("e", ))),
    node("Relu", "q")
], [rows, c], "one of its branches gives a sequence where the other one gives a tensor")
case(
    "loop_rank", [
        node(
            "Loop", "n,,x", body=body(
                [node("ReduceMax", "h", "h1", axes=[1], keepdims=0),
                 node("Identity", "go", "on")], ("h", ), ("on", "h1")))
    ], [rows, n],
    "its body takes f32[N,4] and gives f32[N] for the next step; dlc takes loops that keep rank and dtype"
)
case(
    "scan_length", [
        node("Scan", ",s,x", "z,y", num_scan_inputs=1,
             body=("graph", graph([node("Add", "a,b", "d")], loose("a", "b"), ("d", "d"))))
    ], [x(2, 3, name="s"), x(2, "T", 3)],
    "it scans f32[2,T,3] along dim 1; dlc writes each step out, for which it needs their number: give it by --shapes",
    opset=8)

# Sequences.
listed = node("SequenceConstruct", "x,x", "q")
taken = [node("SequenceAt", "q,at", "e"), node("Relu", "e")]
case("no_sequence",
     [node("SequenceAt", "x,at", "e"), node("Relu", "e")], [rows, at],
     "it needs a sequence as its input 0")
case(
    "sequence_ranks", [node("SequenceConstruct", "x,v", "q"), *taken],
    [rows, x(4, name="v"), at],
    "a sequence of a length that the model computes has tensors of 2 and of 1 dims; dlc takes such sequences of one rank"
)
case(
    "sequence_unknown", [node("SequenceEmpty", "", "q"), *taken], [rows, at],
    "the number of dims of an empty sequence's elements is not known; dlc needs one that is put into it"
)
case("at_beyond", [listed, *taken], [rows], "it takes element 2 of a sequence of 2",
     [scalar("at", 2)])
case(
    "insert_beyond",
    [listed, node("SequenceInsert", "q,x,at", "r"),
     node("ConcatFromSequence", "r", axis=0)], [rows], "it puts a tensor at 3 of a sequence of 2",
    [scalar("at", 3)])
case("erase_beyond",
     [listed, node("SequenceErase", "q,at", "r"),
      node("ConcatFromSequence", "r", axis=0)], [rows],
     "it takes element -1 out of a sequence of 2", [scalar("at", -3)])
join = node("ConcatFromSequence", "q", axis=0)
split = [node("SplitToSequence", "x,s", "q", axis=0), join]
case("split_real", split, [rows, x(name="s")],
     "the size of the parts 's' are computed by the model as f32[]")
case("split_known_real", split, [rows], "the size of the parts are no integers",
     [scalar("s", 1.5, "f32")])
case("split_none", split, [rows], "its parts have 0 elements; expected 1 or more", [scalar("s", 0)])
case("split_reals", split, [rows, x(2, name="s")],
     "the sizes of the parts 's' are computed by the model as f32[2]")
case("join_empty", [node("SequenceEmpty", "", "q"), join], [rows], "it joins an empty sequence")
case("join_axis", [listed, node("ConcatFromSequence", "q")], [rows],
     "it lacks its attribute 'axis'")


def mapped(inputs, given, results=("g",), outputs="r"):
    nodes = [node("Neg", given[0], "g")]
    return [
        node("SequenceMap", inputs, outputs, body=("graph", graph(nodes, loose(*given), results))),
        node("ConcatFromSequence", "r", axis=0)
    ]


case("map_lengths", [listed, node("SequenceConstruct", "x", "p"), *mapped("q,p", "ef")], [rows],
     "its sequences have different lengths")
case("map_results", [listed, *mapped("q", "e", outputs="r,s")], [rows],
     "its body gives too few results")
ones = node("SplitToSequence", "x", "q", axis=0)
case("map_loop_results", [ones, *mapped("q", "e", outputs="r,s")], [rows],
     "its body gives too few results")
gives = node("SequenceMap", "q", "r",
             body=("graph", graph([node("SequenceConstruct", "e", "g")], loose("e"), ("g", ))))
case("join_sequences", [ones, gives, node("ConcatFromSequence", "r", axis=0)], [rows],
     "it joins sequences; expected a sequence of tensors")
case("sequence_kinds",
     [listed, node("SequenceConstruct", "x,q", "p"),
      node("SequenceAt", "p,at", "e"),
      node("Relu", "e")], [rows, at],
     "it has both tensors and sequences in one sequence; expected elements of one kind")
case("sequence_of_optional",
     [node("Optional", "x", "p"), node("SequenceLength", "p", "l"), node("Relu", "l")], [rows],
     "it needs a sequence as its input 0")
case("map_no_body", [ones, node("SequenceMap", "q", "r"), join], [rows], "it lacks a body")
case("optional_empty",
     [node("Optional", "", "p"),
      node("OptionalGetElement", "p", "e"),
      node("Relu", "e")], [rows], "it takes the element of an optional that is empty")

# Sizes.
s2 = x(2, name="s")
case("tile_real", [node("Tile", "x,s")], [rows, s2],
     "the repeats 's' are computed by the model as f32[2]; dlc reads up to 64 integers")
case("pad_real", [node("Pad", "x,p")], [rows, x(4, name="p")],
     "the widths 'p' are computed by the model as f32[4]")
count = [node("Shape", "x", "d"), node("Gather", "d,zero", "k"), node("Cast", "k", "r", to=1)]
case("range_start", [*count, node("Range", "r,end,one", "y")], [rows],
     "its bounds are computed by the model; dlc needs their numbers at import",
     [scalar("zero", 0), scalar("end", 9.0, "f32"),
      scalar("one", 1.0, "f32")])
kept = [node("Add", "x,h0", "hn"), node("Relu", "hn")]
state, options = x(2, 4, name="h0"), ("--state", "h0=hn")
two = x(2, 4)
case("state_range", [*kept, node("Range", "zero,n,one", "z")], [two, state, n],
     "its bounds are computed by the model; a model with states needs their numbers at import",
     [scalar("zero", 0), scalar("one", 1)], options=options, outputs=("y", "hn", "z"))
case("state_sizes", [*kept, node("Reshape", "y,s", "z")],
     [two, state, x(2, dtype="i64", name="s")],
     "; a model with states needs the dims that they are made of at import", options=options,
     outputs=("y", "hn", "z"))
case("state_split", [*kept, node("Split", "v", "z,w,q", axis=0)],
     [two, state, x("T", 4, name="v")],
     "it splits a dim of T evenly; dlc needs the sizes of the parts", options=options,
     outputs=("y", "hn", "z", "w", "q"))
# More dims than a model may have.
many = [node("Reshape", f"z{i},s{i}", f"z{i + 1}", name="") for i in range(40)]
case("many_sizes",
     [node("Relu", "x", "z0"), *many, node("Relu", "z40")],
     [rows, *(x(2, dtype="i64", name=f"s{i}")
              for i in range(40))], "its new shape has too many dims that vary")
parts = [node("Slice", f"z{i},a{i},b{i}", f"z{i + 1}", name="") for i in range(80)]
case("many_slices",
     [node("Relu", "x", "z0"), *parts, node("Relu", "z80")],
     [x("N"), *(x(1, dtype="i64", name=f"{k}{i}") for i in range(80) for k in "ab")],
     ("it slices a dim of", "; dlc takes bounds that are numbers, or that follow from sizes"))
thirds = [node("Split", f"x{i}", f"a{i},b{i},c{i}", name="") for i in range(60)]
case(
    "many_splits", [*thirds, node("Concat", ",".join(f"b{i}" for i in range(60)), axis=0)],
    [x(f"N{i}", name=f"x{i}") for i in range(60)],
    "a part of the model that no branch or read divides has more than 64 dims that vary; use fewer")

# More sizes than a model may have.
case(
    "many_reads", [
        *(part for k in range(260)
          for part in (node("Add", f"x,k{k}", f"a{k}"), node("NonZero", f"a{k}", f"z{k}"))),
        node("Concat", ",".join(f"z{k}" for k in range(260)), axis=1)
    ], [x("N")],
    "the model has more than 256 dims that vary, those counted whose size the data say; use fewer",
    [scalar(f"k{k}", float(k), "f32") for k in range(260)])

# What compiles only models that are whole.
chosen = [
    node("If", "c", then_branch=branch([node("MatMul", "x,w", "a")], ("a", )),
         else_branch=branch([node("Softmax", "x", "b")], ("b", )))
]
w = tensor("w", "f32", (4, 4), [0.5] * 16)
rest = " while the model runs, and this model is cut into segments where its data decide what runs (docs/sizes.md); leave the option out"
for name, words, says in (("int8", ("--quantize", "int8"),
                           "--quantize int8 measures the ranges of activations" + rest),
                          ("mixed", ("--precision", "mixed", "--max-error", "0.1"),
                           "--precision mixed measures the error of each layer" + rest),
                          ("calib", ("--quantize", "w4"), "--calib measures activations" + rest)):
    case(f"flow_{name}", chosen, [rows, c], says, [w], options=(*words, "--calib", "none.npz"))

cases.run()
