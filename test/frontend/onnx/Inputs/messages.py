"""What dlc says of ONNX models that it cannot import: each message whole, with its exit status,
against messages.txt.

  messages.py FOLDER            compares
  messages.py FOLDER --update   writes messages.txt anew; read what changed
  messages.py FOLDER --write    writes the models alone"""
import os
import re
import resource
import subprocess
import sys
import time

from onnx_writer import (attribute, external, field, function, graph, model, node, sparse, tensor,
                         value)

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "messages.txt")
folder = sys.argv[1]
CASES = {}  # name -> (bytes, arguments)


def case(name, data, *arguments):
    CASES[name] = (data, arguments)


def one(name, op, inputs="x", given=None, tensors=(), opset=17, outputs="y", before=(),
        **attributes):
    """A model of one node over an f32[2,3], or over `given`; `before`: what computes its inputs."""
    case(
        name,
        model([*before, node(op, inputs, outputs, **attributes)], given, tensors=tensors,
              opset=opset))


def ints(name, *numbers):
    return tensor(name, "i64", [len(numbers)], numbers)


image = [value("x", dims=(1, 4, 5, 5))]
batch = [value("x", dims=("N", 3))]
wide = [value("x", dims=(1, 4, "H", "W"))]
two = [value("x"), value("w")]
shaped = [value("x"), value("s", "i64", (1,))]

# Files.
good = model([node("Relu")])
case("empty", b"")
case("cut_off", good[:-5])
case("number_cut_off", b"\x08")
case("number_too_long", b"\x08" + b"\xff" * 11)
case("fixed_cut_off", b"\x0d\x00")
case("fixed64_cut_off", b"\x09\x00")
case("group", b"\x0b")
case("no_field_number", b"\x00\x00")
case("wrong_type", field(7, 3))
case("no_utf8", model([node("Relu", name=b"\xff\xfe")]))
case("long_name", model([node("Relu", name="n" * 70000)]))
case("packed_varints_cut_off",
     model([node("Transpose") + field(5,
                                      field(1, "perm") + field(8, b"\x80"))]))
case("packed_floats_cut_off",
     model([node("Resize") + field(5,
                                   field(1, "scales") + field(7, b"\x00\x00"))]))
deep = node("Relu")
for _ in range(40):
    deep = node("If", "c", then_branch=("graph", graph([deep])))
case("nested_too_deep", model([deep]))
case("too_many", model([b""] * 400001))
case("rank", model([node("Add", "x, w")], tensors=[tensor("w", "f32", [1] * 17)]))
case("value_rank", model([node("Relu")], [value("x", dims=[1] * 17)]))

# Header, inputs and outputs.
case("no_opset", model([node("Relu")], opset=0))
case("old_opset", model([node("Relu")], opset=-1))
one("old_cast", "Cast", opset=5, to="REAL")
one("old_tile", "Tile", "x, t, a", opset=5, tensors=[ints("t", 2, 3), ints("a", 1)])
one("old_expand", "Expand", "x, s", opset=5, tensors=[ints("s", 2, 3)])
case("new_opset", model([node("Relu")], opset=99))
case("string_input", model([node("Relu")], [value("x", "str")]))
case("no_shape", model([node("Relu")], [value("x", dims=None)]))
case("sequence", model([node("Relu")], [field(1, "x") + field(2, field(4, b""))]))
case("optional", model([node("Relu")], [field(1, "x") + field(2, field(9, b""))]))
case("map", model([node("Relu")], [field(1, "x") + field(2, field(5, b""))]))
case("sparse_input", model([node("Relu")], [field(1, "x") + field(2, field(8, b""))]))
for name, places, dims in (("dtype", tensor("", "i32", [2], [0, 5]),
                            (2, 3)), ("count", ints("", 0), (2, 3)), ("outside", ints("", 0,
                                                                                      6), (2, 3)),
                           ("negative", ints("", 0, -1), (2, 3)), ("twice", ints("", 1, 1), (2, 3)),
                           ("order", tensor("", "i64", [2, 2], [1, 0, 0, 2]),
                            (2, 3)), ("index", tensor("", "i64", [2, 2], [0, 0, 1, 3]), (2, 3)),
                           ("rank", tensor("", "i64", [2, 3],
                                           [0] * 6), (2, 3)), ("large", ints("", 0,
                                                                             1), (65536, 65536))):
    case(
        "sparse_" + name,
        model([node("Add", "x, w")],
              extra=field(15, sparse(tensor("w", "f32", [2], [1.0, 2.0]), places, dims))))
case("sparse_none", model([node("Add", "x, w")], extra=field(15, sparse(b"", b"", [2, 3]))))
case(
    "sparse_too_many_dims",
    model([node("Add", "x, w")], extra=field(15, sparse(tensor("w", "f32", [0]), ints(""),
                                                        [1] * 17))))
case("large_dim", model([node("Relu")], [value("x", dims=(1 << 40,))]))
case("many_symbols",
     model([node("Relu")], [value("x")] + [value(f"x{i}", dims=(f"N{i}", )) for i in range(65)]))
case("input_twice", model([node("Relu")], [value("x"), value("x")]))
case("input_without_name", model([node("Relu")], [value("x"), value("")]))
case("initializer_twice",
     model([node("Add", "x, w")], tensors=[tensor("w", "f32", [2, 3], [1.0] * 6)] * 2))
case("no_outputs", model([node("Relu")], outputs=()))
case("missing_output", model([node("Relu")], outputs=("z",)))
case("wrong_output", model([node("Relu")], outputs=[value("y", "i64")]))
case("const_input", model([node("Reshape", "x, s")], shaped), "--const-input", "t=@none.npy")
case("const_input_file", model([node("Reshape", "x, s")], shaped), "--const-input", "s=@none.npy")
case("const_input_form", model([node("Reshape", "x, s")], shaped), "--const-input", "s")
case("const_input_damaged", model([node("Reshape", "x, s")], shaped), "--const-input",
     "s=@const_input.onnx")
case("const_input_large", model([node("Reshape", "x, s")], shaped), "--const-input", "s=@large.npy")
kept = model([node("Add", "x, h0", "hn"), node("Relu", "hn")],
             [value("x", dims=("N", 3)), value("h0", dims=("N", 3))], ("y", "hn"))
case("state_words", kept, "--state", "h0", "--state", "h*=hn", "--state", "*=*=*")
case("state_input", kept, "--state", "h1=hn", "--state", "past.*=present.*")
case("state_output", kept, "--state", "h*=g*")
case("state_twice", kept, "--state", "h0=hn", "--state", "x=hn")
case(
    "state_grows",
    model([node("Concat", "past, x", "present", axis=0),
           node("Relu")], [value("x"), value("past", dims=(4, 3))], ("y", "present")), "--state",
    "past=present")
case(
    "state_open",
    model([node("Relu", "h0", "hn"), node("Relu")],
          [value("x"), value("h0", dims=("P", 3))], ("y", "hn")), "--state", "h0=hn")
case("state_alone", model([node("Add", "x, h0", "hn")], [value("x"), value("h0")], ("hn", )),
     "--state", "h0=hn")

# States that grow.
grown, past, new = node("Concat", "past, x", "present",
                        axis=0), value("past", dims=("P", 3)), value("x", dims=("T", 3))
cache = model([grown, node("Relu")], [new, past], ("y", "present"))
case("cache_text", cache, "--state", "past=present[no]")
case("cache_size", cache, "--state", "past=present")
case("cache_fixed", kept, "--state", "h0=hn[4]")
other = [node("Concat", "q, x", "r", axis=0), value("q", dims=("Q", 3))]
case("cache_alike",
     model([grown, other[0], node("Relu")], [new, past, other[1]], ("y", "present", "r")),
     "--state", "past=present[4]", "--state", "q=r[4]")
case(
    "cache_sizes",
    model([grown, other[0], node("Relu")], [new, past, value("q", dims=("P", 3))],
          ("y", "present", "r")), "--state", "past=present[4]", "--state", "q=r[5]")
case(
    "cache_front",
    model([node("Concat", "x, past", "present", axis=0),
           node("Relu")], [new, past], ("y", "present")), "--state", "past=present[4]")
ends = [
    tensor("zero", "i64", [1], [0]),
    tensor("one", "i64", [1], [1]),
    tensor("table", "f32", [4, 3], [1.0] * 12)
]
case(
    "cache_table",
    model([
        grown,
        node("Shape", "present", "s"),
        node("Slice", "s, zero, one", "n"),
        node("Slice", "table, zero, n, zero", "y")
    ], [new, past], ("y", "present"), ends), "--state", "past=present[5]")
case(
    "cache_parts",
    model([
        grown,
        node("Relu", "past", "a"),
        node("ReduceMax", "present", "b", axes=[0], keepdims=0),
        node("Relu", "present", "c")
    ], [new, past, value("m", dims=("P", 3))], ("a", "b", "c", "present")), "--state",
    "past=present[5]")
case(
    "cache_square",
    model([
        grown,
        node("Shape", "past", "s"),
        node("Mul", "s, s", "q"),
        node("Cast", "q", "f", to=1),
        node("Slice", "f, zero, one", "n"),
        node("Add", "x, n", "y")
    ], [new, past], ("y", "present"), ends), "--state", "past=present[5]")
case(
    "cache_twice",
    model([
        grown,
        node("Concat", "present, past", "twice", axis=0),
        node("ReduceMax", "twice", "y", axes=[0], keepdims=0)
    ], [new, past], ("y", "present")), "--state", "past=present[5]")
case("weights_option", good, "--weights", "w.safetensors")
case("model_option", good, "--model", "m")

# Graphs.
case(
    "cycle",
    model([
        node("Add", "x, b", "a", name="first"),
        node("Mul", "a, x", "b", name="second"),
        node("Relu", "b", "y", name="last")
    ]))
case("made_twice", model([node("Relu", name="first"), node("Exp", name="second")]))
case("missing_values",
     model([node("Add", "x, w", "a", name="first"),
            node("Mul", "a, v", name="second")]))
case(
    "many_nodes",
    model([node("Relu", "x", "a0")] + [node("Relu", f"a{i}", f"a{i + 1}") for i in range(32768)],
          outputs=("a32768", )))
case(
    "unsupported_list",
    model([
        node("TopK", "x, k", "v, i", name="best"),
        node("Sofmax", "v", "a", name=""),
        node("Gru", "a", "b", name="later", domain="com.example"),
        node("TfIdfVectorizer", "b", "y", name="where")
    ], tensors=[ints("k", 1)], opsets=[("com.example", 1)]))
case("not_in_opset", model([node("GroupNormalization", "x, x, x", num_groups=1)], opset=13))
given = [value("x"), value("c", "bool", ()), value("m", "i64", ())]
case(
    "if_of_data",
    model([
        node("If", "c", then_branch=("graph", graph([node("Relu")])),
             else_branch=("graph", graph([node("ReduceMax", keepdims=0)])))
    ], given))
case(
    "if_results",
    model([
        node("If", "c", then_branch=("graph", graph([node("Relu")], outputs=("y", "x"))),
             else_branch=("graph", graph([node("Relu")])))
    ], given))
TRUE = tensor("c", "bool", [], [1])
case("if_without_branch",
     model([node("If", "c", else_branch=("graph", graph([node("Exp")])))], tensors=[TRUE]))
case(
    "if_without_output",
    model([node("If", "c", then_branch=("graph", graph([node("Exp", "x", "z")], outputs=("q", ))))],
          tensors=[TRUE]))
# Loops.
STEP = [value("i", "i64", ()), value("go", "bool", ()), value("s")]
COUNT, MANY = (tensor("count", "i64", [], [n]) for n in (3, 1000))
loop = lambda nodes, outputs=("go", "t"), inputs=STEP: ("graph", graph(nodes, inputs, outputs))
same = [node("Relu", "s", "t")]
case("loop_endless", model([node("Loop", ", , x", body=loop(same))]))
case("loop_without_body", model([node("Loop", "count, , x")], tensors=[COUNT]))
case(
    "loop_body",
    model([node("Loop", "count, , x", body=loop([node("Relu", "x", "t")], inputs=STEP[:2]))],
          tensors=[COUNT]))
case("loop_no_number",
     model([node("Loop", "count, , x", body=loop(same))], tensors=[ints("count", 1, 2)]))
case(
    "loop_damaged_result",
    model([
        node(
            "Loop", "count, , x", "z, y",
            body=("graph", graph(same, STEP,
                                 ("go", "t", "few"), [tensor("few", "f32", [9], [1.0])])))
    ], tensors=[COUNT]))
case(
    "loop_unsupported",
    model([node("Loop", "count, , x", body=loop([node("Sofmax", "s", "t", name="inner")]))],
          tensors=[COUNT]))
# Bodies that are nearly those of an EmbeddingBag: an input that is not there, and a condition that
# two nodes hand to each other.
bag = lambda rows, condition: ("graph",
                               graph([
                                   node("Gather", "starts, i", "s"),
                                   node("Gather", "ends, i", "e"),
                                   node("Unsqueeze", "s, none", "s1"),
                                   node("Unsqueeze", "e, none", "e1"),
                                   node("Slice", "x, s1, e1, none", "row"),
                                   node("Gather", rows, "rows"),
                                   node("ReduceSum", "rows, none", "bag", keepdims=0), *condition
                               ], STEP[:2], ("on", "bag")))
tables = [
    ints("starts", 0, 1),
    ints("ends", 1, 2),
    ints("none", 0),
    tensor("table", "f32", [4, 2], [0.0] * 8)
]
asked = [value("x", "i64", (5,)), value("m", "i64", ())]
case(
    "loop_bag_short",
    model([node("Loop", "m, ", body=bag("table", [node("Identity", "go", "on")]))], asked,
          tensors=tables))
case(
    "loop_bag_circle",
    model([
        node("Loop", "m, ", body=bag("table, row",
                                     [node("Identity", "on1", "on"),
                                      node("Identity", "on", "on1")]))
    ], asked, tensors=tables))
bomb = same
for level in range(4):
    bomb = [node("Loop", "count, , s", "t", name=f"level{level}", body=loop(bomb))]
case(
    "loop_bomb",
    model([node("Loop", "count, , x", body=loop(bomb))],
          tensors=[tensor("count", "i64", [], [200])]))
case(
    "function_bomb",
    model([node("F0", domain="own")], opsets=[("own", 1)],
          functions=[function("F30", [node("Relu")])] + [
              function(f"F{i}", [
                  node(f"F{i + 1}", "x", "a", domain="own", name="a"),
                  node(f"F{i + 1}", "a", "y", domain="own", name="b")
              ]) for i in range(30)
          ]))
branch = graph([node("Relu")])
for level in range(30):
    branch = graph([
        node("If", "c", name=f"if{level}", then_branch=("graph", branch),
             else_branch=("graph", graph([node("Exp")])))
    ])
case(
    "if_bomb",
    model([
        node("If", "c", then_branch=("graph", branch),
             else_branch=("graph", graph([node("ReduceMax", keepdims=0)])))
    ], given))
scan = lambda nodes, inputs=("s", "p"), outputs=("t", ): (
    "graph", graph(nodes, [value(n) for n in inputs], outputs))
case("scan_without_body", model([node("Scan", "x, x", num_scan_inputs=1)]))
case("scan_body", model([node("Scan", "x, x", body=scan(same, ("s",)), num_scan_inputs=1)]))
case("scan_axis",
     model([node("Scan", "x, x", body=scan(same), num_scan_inputs=1, scan_input_axes=[5])]))
case(
    "scan_steps",
    model([node("Scan", "x, x, w", body=scan(same, ("s", "p", "q")), num_scan_inputs=2)],
          [value("x"), value("w", dims=(3, 2))]))
case(
    "scan_lengths",
    model([node("Scan", "l, x, x", body=scan(same), num_scan_inputs=1)],
          [value("x"), value("l", "i64", (2, ))], opset=8))

case("other_result", model([node("ReduceMax", "x", "y, m")]))
own = [("own", 1)]
case(
    "recursive_function",
    model([node("F", domain="own")], functions=[function("F", [node("F", domain="own")])],
          opsets=own))
case(
    "deep_functions",
    model([node("F0", domain="own")], opsets=own,
          functions=[function(f"F{i}", [node(f"F{i + 1}", domain="own")]) for i in range(40)]))
case("function_without_output", model([node("F", domain="own")], opsets=own,
                                      functions=[function("F", [node("Relu", "x", "z")])]))

# Tensors.
weigh = lambda name, held: case(name, model([node("Add", "x, w")], tensors=[held]))
weigh("few_floats", tensor("w", "f32", [2, 3], [1.0]))
weigh("few_integers", tensor("w", "i64", [2, 3]) + field(7, b"\x01"))
weigh("few_integers_in_a_cut_number", tensor("w", "i64", [2]) + field(7, b"\x01\x80"))
weigh("many_integers", tensor("w", "i64", [2]) + field(7, b"\x01\x01\x01"))
weigh("negative_dims", tensor("w", "f32", [-1]))
weigh("huge_dims", tensor("w", "f32", [1 << 40, 1 << 40]))
weigh("segments", tensor("w", "f32", [2, 3], [1.0] * 6, extra=field(3, b"")))
weigh("string_tensor", tensor("w", "str", [2, 3]))
weigh("complex_tensor", tensor("w", 14, [2, 3]))
weigh("i4_external", tensor("w", 22, [2, 3], extra=external("w.bin")))
weigh("i4_short", tensor("w", 22, [2, 3], raw=b"\0"))
weigh("bool_numbers", tensor("w", "bool", [2, 3], raw=b"\0\1\2\0\1\2"))
weigh("external_outside", tensor("w", "f32", [2, 3], extra=external("../secret.bin")))
weigh("external_absolute", tensor("w", "f32", [2, 3], extra=external("/etc/passwd")))
weigh("external_link", tensor("w", "f32", [2, 3], extra=external("link.bin")))
weigh("external_linked_folder", tensor("w", "f32", [2, 3], extra=external("linked/data.bin")))
weigh("external_hard_link", tensor("w", "f32", [2, 3], extra=external("hard.bin")))
weigh("external_folder", tensor("w", "f32", [2, 3], extra=external("folder")))
weigh("external_missing", tensor("w", "f32", [2, 3], extra=external("none.bin")))
weigh("external_short", tensor("w", "f32", [2, 3], extra=external("data.bin", offset=1)))
weigh("external_length", tensor("w", "f32", [2, 3], extra=external("data.bin", length=7)))
weigh("external_offset", tensor("w", "f32", [2, 3], extra=external("data.bin", offset="a")))

# Nodes of records.
one("missing_input", "Exp", "")
one("missing_second_input", "Add", "x")
one("too_many_inputs", "Exp", "x, x")
one("unknown_attribute", "Exp", alpha=1.0)
one("other_constant", "ArgMax", opset=11, select_last_index=1)
one("integer_attribute", "Softmax", axis="a")
one("real_attribute", "Elu", alpha=1)
one("string_attribute", "Gelu", opset=20, approximate=1)
one("axis", "Softmax", axis=2)
one("flatten_axis", "Flatten", axis=5)
one("shapes", "Add", "x, w", [value("x"), value("w", dims=(4,))])
one("mixed_inputs", "MatMul", "x, x")

# Folded shapes.
case(
    "gather_position",
    model([node("Shape", "x", "s"),
           node("Gather", "s, i", "z"),
           node("Reshape", "x, z")], tensors=[ints("i", 5)]))
case(
    "slice_step",
    model([node("Shape", "x", "s"),
           node("Slice", "s, o, t, o, o", "z"),
           node("Reshape", "x, z")], tensors=[ints("o", 0), ints("t", 1)]))
zero = tensor("o", "i64", [], [0])
case("range_delta", model([node("Range", "o, o, o", "r"), node("Add", "x, r")], tensors=[zero]))
case(
    "table",
    model([
        node("Range", "o, t, p", "r"),
        node("Concat", "r, i", "z", axis=0),
        node("Concat", "z, z", "y", axis=0)
    ], [], tensors=[zero,
                    tensor("t", "i64", [], [60]),
                    tensor("p", "i64", [], [1]),
                    ints("i", 7)]))

# Families.
one("max_of_nothing", "Max", "")
one("cast_like_alone", "CastLike", "x", opset=15)
one("shape_alone", "Shape", "")
one("size_alone", "Size", "")
one("identity_alone", "Identity", "")
one("cast_complex", "Cast", to=14)
one("shift_direction", "BitShift", "x, x", direction="UP")
one("shift_floats", "BitShift", "x, x", direction="LEFT")
one("quantize_dtype", "QuantizeLinear", "x, s", tensors=[tensor("s", "f32", [], [2.0])], opset=21,
    output_dtype=8)
one(
    "resize_form", "Resize", "x, r, s", wide, tensors=[
        tensor("r", "f32", [8], [0.0] * 4 + [1.0] * 4),
        tensor("s", "f32", [4], [1.0, 1.0, 2.0, 2.0])
    ], mode="cubic", coordinate_transformation_mode="tf_crop_and_resize")
one("quantize_scale_zero", "QuantizeLinear", "x, s", tensors=[tensor("s", "f32", [], [0.0])],
    opset=21)
one("quantize_scale_nan", "QuantizeLinear", "x, s",
    tensors=[tensor("s", "f32", [3], [0.5, float("nan"), 0.0])], opset=21, axis=1)
one("dropout_integers", "Dropout", "x, r, t",
    [value("x", "i64"), value("r", dims=()),
     value("t", "bool", ())], opset=13, seed=1)
one("dropout_ratio", "Dropout", "x, r, t",
    [value("x"), value("r", dims=(2, )), value("t", "bool", ())], opset=13, seed=1)
one("dropout_alone", "Dropout", "")
one("random_seed_text", "RandomNormal", "", shape=[2, 3], seed="now")
one("random_dim", "RandomUniform", "", shape=[2, -3], seed=1.0)
one("random_dims", "RandomUniform", "", shape=[2**31 - 1] * 3, seed=1.0)
one("random_integers", "RandomUniform", "", shape=[2, 3], seed=1.0, dtype=7)
one("random_like_integers", "RandomUniformLike", given=[value("x", "i64")], seed=1.0)
one("random_like_nothing", "RandomNormalLike", "", seed=1.0)
one("random_name", "RandomNormalLike", "generator", [value("generator")])
one("multinomial_dtype", "Multinomial", dtype=1)
one("multinomial_rank", "Multinomial", given=[value("x", dims=(4, ))], sample_size=3)
one("bernoulli_integers", "Bernoulli", given=[value("x", "i64")], seed=1.0)
one("bernoulli_text", "Bernoulli", seed=1.0, dtype=8)
one("bernoulli_alone", "Bernoulli", "", seed=1.0)
one("axes_of_data", "ReduceSum", "x, s", shaped)
case("axes_of_symbols", model([node("Shape", "x", "s"), node("ReduceSum", "x, s")], batch))
one("constant_without_tensor", "Constant", "", value=1)
one("constant_string", "Constant", "", value_string="a")
one(
    "range_dtypes", "Range", "a, b, c", tensors=[
        tensor("a", "i64", [], [0]),
        tensor("b", "f32", [], [4.0]),
        tensor("c", "f32", [], [1.0])
    ])
one("loss_reduction", "NegativeLogLikelihoodLoss", "x, t",
    [value("x"), value("t", "i64", (2, ))], reduction=1, ignore_index=1)
one("constant_of_shape_value", "ConstantOfShape", "s", tensors=[ints("s", 100)],
    value=("tensor", ints("v", 1, 2)))
one("constant_of_shape_large", "ConstantOfShape", "s", tensors=[ints("s", 100)],
    value=("tensor", tensor("v", 14, [1], raw=b"\0" * 8)))
case(
    "resize_state",
    model([node("Add", "x, h0", "hn"),
           node("Resize", "x, , s", mode="linear")],
          [value("x", dims=("N", 3)), value("h0", dims=("N", 3))], ("y", "hn"),
          [tensor("s", "f32", [2], [1.5, 1.0])], opset=19), "--state", "h0=hn")
one(
    "range_steps", "Range", "a, b, c", tensors=[
        tensor("a", "f32", [], [0.0]),
        tensor("b", "f32", [], [4.0]),
        tensor("c", "f32", [], [1e-9])
    ])
one("stash_of_integers", "LayerNormalization", "x, w",
    [value("x"), value("w", dims=(3, ))], stash_type=7)
one("stash_of_text", "LayerNormalization", "x, w", [value("x"), value("w", dims=(3, ))],
    stash_type=8)
one("norm_of_vector", "BatchNormalization", "x, w, w, w, w",
    [value("x", dims=(3, )), value("w", dims=(3, ))])
one("norm_of_elements", "BatchNormalization", "x, w, w, w, w",
    [value("x"), value("w", dims=(2, ))], opset=7, spatial=0)
one("range_of_lists", "Range", "s, s, s", tensors=[ints("s", 1, 2)])
one("eye_like_vector", "EyeLike", given=[value("x", dims=(3,))])
one("gather_nd", "GatherND", "x, i", tensors=[tensor("i", "i64", [2, 1], [0, 1])], batch_dims=2)
one("gather_nd_depth", "GatherND", "x, i", tensors=[tensor("i", "i64", [1, 3], [0, 1, 0])])
one("one_hot_depth", "OneHot", "s, d, x", shaped, tensors=[ints("d", 3, 4)])
one("one_hot_data", "OneHot", "s, s, x", shaped)
one("layer_norm_symbol", "LayerNormalization", "x, w",
    [value("x", dims=(2, "N")), value("w", dims=("N", ))])
one("group_norm", "GroupNormalization", "x, w, w",
    [value("x", dims=(2, 3)), value("w", dims=(3, ))], opset=21, num_groups=2)
one("lrn", "LRN", size=0)
one("reshape_zero", "Reshape", "x, s", tensors=[ints("s", 2, 3, 0)])
one("reshape_two_free", "Reshape", "x, s", tensors=[ints("s", -1, -1)])
one("reshape_large", "Reshape", "x, s", tensors=[ints("s", 3170534137668829186, 4, -1)])
one("squeeze", "Squeeze", "x, s", tensors=[ints("s", 0)])
one("unsqueeze_twice", "Unsqueeze", "x, s", tensors=[ints("s", 0, 0)])
one("expand_other", "Expand", "x, s", tensors=[ints("s", 2, 4)])
one(
    "split_more", "Split", "x, s", batch, outputs="y, z", before=[
        node("Shape", "x", "d"),
        node("Slice", "d, o, i, o", "m"),
        node("Concat", "m, i", "s", axis=0)
    ], tensors=[ints("o", 0), ints("i", 1)])
one("sequence_output", "SequenceConstruct", "x, x")
one("optional_output", "Optional", "")
one("reshape_long", "Reshape", "x, s", [value("x"), value("s", "i64", ("N",))])
one("expand_many", "Expand", "x, s", [value("x"), value("s", "i64", (65,))])
one("tile_data", "Tile", "x, s", shaped)
one("depth_to_space", "DepthToSpace", blocksize=2)
one("space_to_depth", "SpaceToDepth", blocksize=2)
case("slice_by_zero", model([node("Slice", "x, s, t, s, s")], tensors=[ints("s", 0), ints("t", 1)]))
one("slice_counts", "Slice", "x, s, t", tensors=[ints("s", 0), ints("t", 1, 1)])
one("split_sizes", "Split", "x, s", tensors=[ints("s", 1, 1)])
one("split_of_data", "Split", "x, s", shaped, outputs="y, z")
one("pad_of_data", "Pad", "x, s", shaped)
one("pad_widths", "Pad", "x, s", tensors=[ints("s", 1)])
one("pad_axes_of_data", "Pad", "x, w, , s", shaped, opset=18, tensors=[ints("w", 1, 1)])
one("trilu_of_vector", "Trilu", "w, s", [value("w", dims=(3,)), value("s", "i64", ())])
case("old_training", model([node("Dropout", is_test=0)], opset=6))
labels = [value("x", dims=(2, 3)), value("l", "i64", (2, 3))]
one("loss_targets", "NegativeLogLikelihoodLoss", "x, l", labels)
one("dft_parts", "DFT", given=[value("x", dims=(1, "T", 3))])
one("dft_many", "DFT", given=[value("x", dims=(1, 5000, 1))])
one("dft_no_points", "DFT", "x, p", [value("x", dims=(1, 4, 1))], [ints("p", 0)])
one("dft_axis", "DFT", given=[value("x", dims=(1, 4, 1))], axis=2)
one("dft_axes", "DFT", "x, , a", [value("x", dims=(1, 4, 1))], [ints("a", 1, 1)], opset=20)
one("dft_points", "DFT", "x, p", [value("x", dims=(1, 4, 1))], [ints("p", 1, 1)])
points = [value("x", dims=(1, 8, 1)), value("s", "i64", ())]
one("dft_axis_of_data", "DFT", "x, , s", points, opset=20)
one("stft_distance_of_data", "STFT", "x, s", points)
one("stft_length_of_data", "STFT", "x, p, , s", points, [tensor("p", "i64", [], [4])])
one("stft_frames", "STFT", "x, p, , q", [value("x", dims=(1, 8, 1))],
    [tensor("p", "i64", [], [4]), tensor("q", "i64", [], [9])])
one("window_of_integers", "HannWindow", "s", tensors=[tensor("s", "i64", [], [4])],
    output_datatype=6)
one("crop_symbol", "CenterCropPad", "x, s", batch, [ints("s", 4, 4)], opset=18)
one("crop_sizes", "CenterCropPad", "x, s", tensors=[ints("s", 4)], opset=18)
one("grid_dtype", "GridSample", "x, g",
    [value("x", dims=(1, 1, 2, 2)), value("g", "bool", (1, 2, 2, 2))], opset=20)
one("grid_of_whole_numbers", "GridSample", "x, g",
    [value("x", dims=(1, 1, 3, 2)), value("g", 12, (1, 2, 4, 2))], opset=20)
one("grid_many_dims", "GridSample", "x, g",
    [value("x", dims=(1, 1, 2, 2, 2, 2)),
     value("g", dims=(1, 2, 2, 2, 2, 4))], opset=20)
one("crop_size", "CenterCropPad", "x, s", tensors=[ints("s", 2, -(1 << 63))], opset=18)
one("grid_theta", "AffineGrid", "x, s", tensors=[ints("s", 1, 1, 4, 4)], opset=20)
one("sample_rank", "GridSample", "x, g", image + [value("g", dims=(1, 2, 2, 3))], opset=20)
line = [value("x", dims=(1, 4, 9)), value("w", dims=(4, 1, 1))]
one("causal_conv_symbols", "CausalConvWithState", "x, w", [value("x", dims=(1, "C", 9)), line[1]],
    opset=27)
one("causal_conv_activation", "CausalConvWithState", "x, w", line, opset=27, activation="relu")
one("causal_conv_state", "CausalConvWithState", "x, w", line, opset=27, outputs="y, p")
row = [value("x", dims=(1, "T", 8))]
one("linear_attention_steps", "LinearAttention", "x, x, x", row, opset=27, update_rule="linear")
row = [value("x", dims=(1, 4, 8))]
one("linear_attention_rule", "LinearAttention", "x, x, x", row, opset=27, update_rule="fast")
one("linear_attention_heads", "LinearAttention", "x, x, x", row, opset=27, update_rule="linear",
    q_num_heads=2, kv_num_heads=4)
one("linear_attention_width", "LinearAttention", "x, x, x", row, opset=27, update_rule="linear",
    q_num_heads=3, kv_num_heads=3)
one("linear_attention_beta", "LinearAttention", "x, x, x, , , b", row + [value("b")], opset=27,
    update_rule="delta")
flex = lambda name, given, **more: case(
    name,
    model([node("FlexAttention", "x, x, x", domain="ai.onnx.preview", **more)], [given], opset=26,
          opsets=[("ai.onnx.preview", 1)]))
flex("flex_rank", value("x"))
flex("flex_precision", value("x", dims=(1, 2, 3, 4)), softmax_precision=99)
flex("flex_graph", value("x", dims=(1, 2, 3, 4)), score_mod=("graph", graph([node("Relu")])))
one("gemm_rank", "Gemm", "x, w", [value("x", dims=(2,)), value("w")])
one("einsum_diagonal", "Einsum", "x", equation="ii->i")
one("gemm_alpha", "Gemm", "x, x", [value("x", "i32", (2, 2))], alpha=-1e24)
one("gemm_integers", "Gemm", "x, x", [value("x", "i32", (2, 2))], alpha=0.5)
one("conv_rank", "Conv", "x, w", two)
one("conv_pads", "Conv", "x, w", image + [value("w", dims=(4, 4, 3, 3))], pads=[-1, 0, 0, 0])
one("conv_counts", "Conv", "x, w", image + [value("w", dims=(4, 4, 3, 3))], strides=[1])
one("conv_stride", "Conv", "x, w", image + [value("w", dims=(4, 4, 3, 3))], strides=[0, 1])
one("conv_same_symbol", "Conv", "x, w", wide + [value("w", dims=(4, 4, 3, 3))], strides=[2, 2],
    auto_pad="SAME_UPPER")
one("conv_auto_pad", "Conv", "x, w", image + [value("w", dims=(4, 4, 3, 3))], auto_pad="FULL")
one("conv_transpose_counts", "ConvTranspose", "x, w", image + [value("w", dims=(4, 4, 3, 3))],
    strides=[1])
one("conv_transpose_symbol", "ConvTranspose", "x, w", wide + [value("w", dims=(4, 4, 3, 3))],
    output_shape=[9, 9])
one("pool_rank", "MaxPool", kernel_shape=[2])
one("pool_ceil_symbol", "MaxPool", given=wide, kernel_shape=[2, 2], pads=[0, 0, 1, 1], ceil_mode=1)
one("pool_positions_volume", "MaxPool", given=[value("x", dims=(1, 1, 4, 4, 4))],
    kernel_shape=[2, 2, 2], outputs="y, i")
one("global_pool", "GlobalMaxPool")
one("global_lp_pool", "GlobalLpPool")
blocks = [value("x", dims=(1, 5, 5))]
one("col2im_counts", "Col2Im", "x, s, b", blocks,
    [ints("s", 5, 5), ints("b", 1, 5)], opset=18, strides=[1])
one("col2im_pads", "Col2Im", "x, s, b", blocks, [ints("s", 5, 5), ints("b", 1, 5)], opset=18,
    pads=[-1, 0, 0, 0])
one("col2im_places", "Col2Im", "x, s, b", blocks, [ints("s", 5, 6), ints("b", 1, 5)], opset=18)
indices = image + [value("i", "i64", (1, 4, 5, 5))]
one("unpool_shape", "MaxUnpool", "x, i, s", indices, [ints("s", 1, 4, 5)], kernel_shape=[2, 2])
one("unpool_smaller", "MaxUnpool", "x, i, s", indices, [ints("s", 1, 4, 5, 5)], kernel_shape=[2, 2],
    strides=[2, 2])
one("col2im_image_of_data", "Col2Im", "x, s, b", blocks + [value("s", "i64", (2, ))],
    [ints("b", 1, 5)], opset=18)
one("col2im_block_of_data", "Col2Im", "x, b, s", blocks + [value("s", "i64", (2, ))],
    [ints("b", 1, 5)], opset=18)
one("unpool_shape_of_data", "MaxUnpool", "x, i, s", indices + [value("s", "i64", (4, ))],
    kernel_shape=[2, 2])
one("unpool_rank", "MaxUnpool", "x, i",
    [value("x", dims=(1, ) * 6), value("i", "i64", (1, ) * 6)], kernel_shape=[1] * 4)
regions = image + [value("r", dims=(2, 4)), value("b", "i64", (2,)), value("c", "i64", (2, 1))]
one("roi_align_mode", "RoiAlign", "x, r, b", regions, mode="sum")
one("roi_align_transformation", "RoiAlign", "x, r, b", regions,
    coordinate_transformation_mode="asymmetric")
one("roi_align_images", "RoiAlign", "x, r, c", regions)
one("deform_conv_volume", "DeformConv", "x, w, o", [
    value("x", dims=(1, 1, 4, 4, 4)),
    value("w", dims=(1, 1, 2, 2, 2)),
    value("o", dims=(1, 24, 3, 3, 3))
], opset=19)
one("deform_conv_groups", "DeformConv", "x, w, o", image
    + [value("w", dims=(4, 4, 2, 2)), value("o", dims=(1, 8, 4, 4))], opset=19, group=2)
mel = [value("r", "i64", ()), value("l", dims=()), value("h", dims=())]
one("mel_size", "MelWeightMatrix", "n, d, r, l, h", mel,
    [tensor("n", "i64", [], [0]), tensor("d", "i64", [], [8])])
one("det_symbol", "Det", given=[value("x", dims=("N", "N"))])
one("cumprod_axis", "CumProd", "x, a", tensors=[ints("a", 2)], opset=26)
case(
    "resize_symbols",
    model([
        node("Shape", "x", "s"),
        node("Resize", "x, , , s", keep_aspect_ratio_policy="not_larger")
    ], wide, opset=18))
one("resize_data", "Resize", "x, , s", [value("x", dims=(1, 4, 5, 5)), value("s", dims=(4,))])
one("resize_infinite", "Resize", "x, , s", image,
    tensors=[tensor("s", "f32", [4], [1.0, 1.0, float("-inf"), 2.0])])
one("resize_aspect_of_none", "Resize", "x, , , s", [value("x", dims=(1, 4, 0, 0))],
    tensors=[ints("s", 9, 9)], opset=18, axes=[2, 3], keep_aspect_ratio_policy="not_larger")
one("resize_window", "Resize", "x, , s", image,
    tensors=[tensor("s", "f32", [4], [1.0, 1.0, 1e-9, 2.0])], opset=18, mode="cubic", antialias=1)
one("resize_minus_zero", "Resize", "x, , s", image,
    tensors=[tensor("s", "f32", [4], [1.0, -0.0, 0.0, 2.0])], opset=18, mode="cubic", antialias=1)
one("resize_policy", "Resize", "x, , , s", image, tensors=[ints("s", 1, 4, 9, 9)], opset=18,
    keep_aspect_ratio_policy="largest")
one("resize_region", "Resize", "x, r, , s", [*image, value("r", dims=(8, ))],
    tensors=[ints("s", 1, 4, 9, 9)], coordinate_transformation_mode="tf_crop_and_resize")

# Ops of com.microsoft, which ONNX Runtime writes for several of ONNX.
def fused(name, op, inputs, given, outputs="y", tensors=(), **more):
    """`given`: the dims of each input, after its dtype if that is not f32."""
    values = [
        value(
            n,
            *(of if len(of) == 2 and isinstance(of[0], str) and isinstance(of[1], tuple) else
              ("f32", of))) for n, of in given.items()
    ]
    case(
        name,
        model([node(op, inputs, outputs, domain="com.microsoft", **more)], values,
              outputs.split(", ")[-1:], tensors=tensors, opsets=[("com.microsoft", 1)]))


fused("fused_activation", "FusedConv", "x, w", {"x": (1, 2, 4, 4), "w": (3, 2, 1, 1)},
      activation="Mish")
fused("fused_gemm_rank", "FusedGemm", "x, x", {"x": (4,)}, activation="Relu")
fused("fused_split_width", "BiasSplitGelu", "x, b", {"x": (2, 3, 5), "b": (5,)})
fused("fused_gate_width", "SwiGLU", "x", {"x": (2, 5)})
fused("fused_dropout", "BiasDropout", "x, x, , , t", {"x": ("i64", (2, 3)), "t": ("bool", ())})
fused("fused_group_rank", "GroupNorm", "x, w, w", {"x": (2, 4), "w": (4,)}, groups=2)
fused("fused_group_activation", "GroupNorm", "x, w, w", {"x": (2, 3, 4), "w": (4, )}, groups=2,
      activation=2)
fused("fused_skip_rank", "SkipGroupNorm", "x, w, w, x", {"x": (2, 4), "w": (4,)}, groups=2)
fused("fused_mean", "SkipLayerNormalization", "x, x, w", {"x": (2, 3, 8), "w": (8, )}, "y, m",
      epsilon=0.5)
fused("fused_rank", "SkipLayerNormalization", "x, x, x", {"x": (8,)})
fused("fused_symbol", "SkipLayerNormalization", "x, x, w", {"x": (2, 3, "W"), "w": ("W",)})
fused("fused_ids", "EmbedLayerNormalization", "x, , w, w, , s, s",
      {"x": (4, ), "w": (9, 8), "s": (8, )})
whole = {"x": (2, 5, 6), "w": (6, 24)}
fused("fused_heads", "Attention", "x, w", whole)
fused("fused_width", "Attention", "x, w", whole, num_heads=3)
fused("fused_rotates", "Attention", "x, w", whole, num_heads=2, do_rotary=1)
fused("fused_past", "Attention", "x, w, , , p", {**whole, "p": (2, 2, 5, 4)}, num_heads=2)
fused("fused_mask", "Attention", "x, w, , m", {**whole, "m": (1, 1, 9, 9)}, num_heads=2)
each = {"q": (2, 5, 8), "k": (2, 7, 8)}
fused("fused_parts", "MultiHeadAttention", "q", each, num_heads=2)
fused("fused_packed", "MultiHeadAttention", "q", {"q": (2, 5, 3, 2, 4)}, num_heads=2)
fused("fused_one_past", "MultiHeadAttention", "q, k, k, , , , p", {**each, "p": (2, 2, 3, 4)},
      num_heads=2)
fused("fused_past_rank", "MultiHeadAttention", "q, k, k, , , , p, p", {**each, "p": (2, 3, 4)},
      num_heads=2)
fused("fused_buffer", "MultiHeadAttention", "q, k, k, , , , p, p, n",
      {**each, "p": (2, 2, 3, 4), "n": (1, )}, num_heads=2)
fused("fused_split", "MultiHeadAttention", "q, k, k, b",
      {"q": (2, 5, 8), "k": (2, 2, 7, 4), "b": (24, )}, num_heads=2)
fused("fused_wide", "MultiHeadAttention", "q, k, k, b",
      {"q": (2, 5, "W"), "k": (2, 7, 8), "b": (24, )}, num_heads=2)
fused("fused_ranks", "MultiHeadAttention", "q, k, k", {"q": (2, 5), "k": (2, 7, 8)}, num_heads=2)

fused("quantized_lstm_rank", "DynamicQuantizeLSTM", "x, w, r, , , , , , s, z, s, z",
      {"x": (2, 3), "w": (1, 3, 8), "r": (1, 2, 8), "s": (1, ), "z": (1, )}, hidden_size=2)

# Quantized tensors, and weights of few bits.
codes = {"x": ("u8", (2, 5, 6)), "w": ("u8", (6, 24)), "b": (24,), "s": ()}
fused("quantized_rotates", "QAttention", "x, w, b, s, s", codes, num_heads=2, do_rotary=1)
fused("quantized_input", "QAttention", "x, w, b, s", codes, num_heads=2)
fused("quantized_scale", "QLinearAdd", "x, s, , x", codes)
fused("quantized_result", "QLinearSigmoid", "x, s", codes)
fused("quantized_pool", "QLinearGlobalAveragePool", "w, s, , s", codes)
fused("quantized_nothing", "QLinearConcat", "s", codes, axis=0)
fused("quantized_ids", "QEmbedLayerNormalization", "i, , w, w, , w, w",
      {"i": ("i32", (4, )), "w": ("u8", (9, 8))})
fused("quantized_table", "QEmbedLayerNormalization", "i, , w, w, , w, w",
      {"i": ("i32", (2, 4)), "w": ("u8", (9, 8))})
bits = {"x": (2, 40), "w": ("u8", (3, 2, 16)), "s": (3, 2), "r": (4, 2)}
form = {"K": 40, "N": 3, "block_size": 32}
fused("bits_3", "MatMulNBits", "x, w, s", bits, bits=3, **form)
fused("bits_block", "MatMulNBits", "x, w, s", bits, K=40, N=3, block_size=24)
fused("bits_packed", "MatMulNBits", "x, w, s", bits, weight_prepacked=1, **form)
fused("bits_scale", "MatMulNBits", "x, w", bits, **form)
fused("bits_weight", "MatMulNBits", "x, w, s", bits, K=40, N=4, block_size=32)
fused("bits_scales", "MatMulNBits", "x, w, r", bits, **form)
fused("bits_axis", "GatherBlockQuantized", "w, i, s",
      {"w": ("u8", (9, 16)), "i": ("i64", (2, )), "s": (9, 1)}, block_size=32, gather_axis=1)
fused("bits_symbol", "GatherBlockQuantized", "w, i, s",
      {"w": ("u8", (9, "W")), "i": ("i64", (2, )), "s": (9, 1)}, block_size=32)

# Attention whose heads share keys.
whole = {"q": (1, 3, 32), "k": (1, 3, 16), "l": ("i32", (1,)), "t": ("i32", ()), "p": (1, 2, 5, 8)}


def grouped(name, inputs="q, k, k, , , l, t", given=None, outputs="y", **more):
    fused("grouped_" + name, "GroupQueryAttention", inputs, {**whole, **(given or {})}, outputs,
          **{"num_heads": 4, "kv_num_heads": 2, **more})


grouped("heads", kv_num_heads=3)
grouped("lengths", "q, k, k")
grouped("one_past", "q, k, k, p, , l, t")
grouped("cache_type", k_quant_type="PER_TENSOR")
grouped("window_cache", sliding_window_cache=1)
grouped("scores", outputs="y, , , s", qk_output=1)
grouped("query", given={"q": (1, 3, 33)})
grouped("key", given={"k": (1, 3, 24)})
grouped("past", "q, k, k, p, p, l, t", {"p": (1, 3, 5, 8)})
grouped("total_type", "q, k, k, p, p, l, r", {"r": ()})
grouped("total", "q, k, k, p, p, l, t", tensors=[ints("t", 1, 2)])
case(
    "grouped_states",
    model([
        node("GroupQueryAttention", "q, k, k, p, p, l, t", "y, , pv", domain="com.microsoft",
             num_heads=4, kv_num_heads=2)
    ], [
        value("q", dims=(1, 3, 32)),
        value("k", dims=(1, 3, 16)),
        value("p", dims=(1, 2, "P", 8)),
        value("l", "i32", (1, ))
    ], ["y", "pv"], tensors=[ints("t", 2)], opsets=[("com.microsoft", 1)]), "--state", "p=pv[16]")
grouped("tables", do_rotary=1)
grouped("window", causal=0, local_window_size=2)
grouped("bias", "q, k, k, , , l, t, , , , b", {"b": (1, 4, 3, 7)})
turning = {"x": (1, 3, 16), "p": ("i64", (1, 3)), "c": (9, 4), "r": (9,)}
fused("turned_scale", "RotaryEmbedding", "x, p, c, c", turning, scale=0.5)
fused("turned_table", "RotaryEmbedding", "x, p, c", turning)
fused("turned_rank", "RotaryEmbedding", "x, p, r, r", turning)

# Ops that ONNX has in another form.
fused("other_conv", "CausalConvWithState", "x, w", {"x": (1, 2, 5), "w": (2, 1, 3)}, ndim=2)
fused("other_attention", "LinearAttention", "x, x, x", {"x": (1, 2, 4)}, q_num_heads=2,
      kv_num_heads=2, state_window=2)
fused("other_pool", "NhwcMaxPool", "x", {"x": ("u8", (2, 3))}, kernel_shape=[2])
fused("other_transform", "Rfft", "x", {"x": (3, 8)}, signal_ndim=2)
fused("other_number", "Rfft", "x", {"x": ()}, signal_ndim=1)
fused("other_inverse", "Irfft", "x", {"x": (8,)}, signal_ndim=1)
fused("other_metric", "CDist", "x, x", {"x": (3, 8)}, metric="cosine")
lengths = {"b": (32, 2), "q": ("i64", ()), "k": ("i64", (2,))}
fused("other_distance", "RelativePositionBias", "b, q, q", lengths, max_distance=1)
fused("other_queries", "RelativePositionBias", "b, r, q", {**lengths, "r": ()}, max_distance=128)
fused("other_keys", "RelativePositionBias", "b, q, r", {**lengths, "r": ()}, max_distance=128)
fused("other_lengths", "RelativePositionBias", "b, q, k", lengths, max_distance=128)
gates = {
    "q": (1, 3, 8), "b": (8, ), "d": (1, 2, 3, 3), "w": (4, 8), "f": (1, 2, 1, 1),
    "o": ("i32", (1, 3))
}
fused("other_packed", "GatedRelativePositionBias", "q, b, d, w, b, f, o", gates, num_heads=2)
fused("other_gates", "GatedRelativePositionBias", "q, b, d, w, b, f", gates, num_heads=3)

# Mixtures of experts.
layers = {
    "x": (3, 8), "r": (3, 4), "w": (4, 16, 8), "v": (4, 8, 16), "c": ("u8", (4, 16, 4)),
    "d": ("u8", (4, 8, 8)), "s": (4, 16), "t": (4, 8)
}
fused("experts_mixer", "MoE", "x, r, w, , v", layers, use_sparse_mixer=1)
fused("experts_input", "MoE", "x, r, w", layers)
fused("experts_weight", "MoE", "x, r, x, , v", layers)
fused("experts_scores", "MoE", "x, w, w, , v", layers)
fused("experts_count", "MoE", "x, r, w, , v", layers, k=5)
fused("experts_third", "MoE", "x, r, w, , v", layers, activation_type="swiglu")
fused("experts_activation", "MoE", "x, r, w, , v", layers, activation_type="mish")
fused("experts_type", "QMoE", "x, r, c, s, , d, t", layers, quant_type="fp4")
fused("experts_packed", "QMoE", "x, r, c, s, , d, t", layers, weights_prepacked=1)
fused("experts_bits", "QMoE", "x, r, c, s, , d, t", layers, expert_weight_bits=3)
fused("experts_scale", "QMoE", "x, r, c, , , d, t", layers)
fused("experts_block", "QMoE", "x, r, c, s, , d, t", layers, block_size=3)
fused("experts_floats", "QMoE", "x, r, c, s, , d, t, , , , , , , , , s", layers)

# Attention, orders and scatters.
def heads(q=(1, 2, 4, 8), k=(1, 2, 6, 8), v=(1, 2, 6, 8), *more):
    return [value("q", dims=q), value("k", dims=k), value("v", dims=v), *more]


one("attention_rank", "Attention", "q, k, v", heads(q=(4, 8)), opset=23)
one("attention_ranks", "Attention", "q, k, v", heads(k=(1, 6, 16)), opset=23)
one("attention_symbols", "Attention", "q, k, v", heads(q=(1, "H", 4, 8)), opset=23)
one("attention_heads", "Attention", "q, k, v", heads(q=(1, 3, 4, 8)), opset=23)
one("attention_width", "Attention", "q, k, v", heads((1, 4, 9), (1, 6, 9), (1, 6, 9)), opset=23,
    q_num_heads=2, kv_num_heads=2)
one("attention_past", "Attention", "q, k, v, , p",
    heads((1, 2, 4, 8), (1, 2, 6, 8), (1, 2, 6, 8), value("p", dims=(1, 2, 3, 8))), opset=23)
one("attention_mask", "Attention", "q, k, v, m",
    heads((1, 2, 4, 8), (1, 2, 6, 8), (1, 2, 6, 8), value("m", dims=(4, 9))), opset=23)
one("attention_precision", "Attention", "q, k, v", heads(), opset=23, softmax_precision=7)
tables = [value("c", dims=(9, 4)), value("s", dims=(9, 4))]
one("rotary_rank", "RotaryEmbedding", "x, c, s", [value("x"), *tables], opset=23)
one("rotary_heads", "RotaryEmbedding", "x, c, s", [value("x", dims=(1, 9, 9)), *tables], opset=23,
    num_heads=2)
one("rotary_width", "RotaryEmbedding", "x, c, s", [value("x", dims=(1, 2, 9, 8)), *tables],
    opset=23, rotary_embedding_dim=3)
one("cumsum_axis", "CumSum", "x, a", [value("x"), value("a", "i64", (2,))])
one("cumsum_axes", "CumSum", "x, a", tensors=[ints("a", 0, 1)])
one("compress_condition", "Compress", "x, c", [value("x"), value("c", "bool", (2, 3))])
case(
    "nms_boxes",
    model([node("NonMaxSuppression", "b, s, m", "y", name="n")],
          [value("b", dims=(1, 600, 4)),
           value("s", dims=(1, 2, 500)),
           value("m", "i64", (1, ))]))
one("topk_counts", "TopK", "x, k", tensors=[ints("k", 1, 2)], outputs="y, i")
one("topk_large", "TopK", "x, k", tensors=[ints("k", 9)], outputs="y, i")
one("scatter_reduction", "ScatterElements", "x, i, x",
    tensors=[tensor("i", "i64", [2, 3], [0] * 6)], opset=18, reduction="median")
one("scatter_nd_depth", "ScatterND", "x, i, x", tensors=[tensor("i", "i64", [2, 3], [0] * 6)],
    opset=18)
one("scatter_cache_mode", "TensorScatter", "x, x", opset=24, axis=1, mode="spiral")
one("scatter_cache_ranks", "TensorScatter", "x, u",
    [value("x"), value("u", dims=(2, 1, 3))], opset=24, axis=1)
one("reverse_axes", "ReverseSequence", "x, n", [value("x"), value("n", "i64", (2, ))], batch_axis=0,
    time_axis=0)

gates = [value("x", dims=(2, 1, 3)), value("w", dims=(1, 8, 3)), value("r", dims=(1, 8, 2))]
one("lstm_empty", "LSTM", "x, w, r", [value("x", dims=(0, 1, 3)), *gates[1:]], clip=1.0)
one("lstm_rank", "LSTM", "x, w, r", [value("x"), *gates[1:]])
case(
    "rnn_activations",
    model([node("RNN", "x, w, r", "y") + field(5,
                                               field(1, "activations") + field(9, "Sine"))], gates))

# Numbers whose sums and products do not fit in 64 bits, and lists that are shorter than what reads
# them.
LEAST, MOST = -2**63, 2**63 - 1
symbol = [node("Shape", "x", "d", name="d"), node("Slice", "d, z, o", "s", name="s")]
ends = [ints("z", 0), ints("o", 1)]
squares = [node("Mul", f"s{i or ''}, s{i or ''}", f"s{i + 1}", name="") for i in range(22)]
doubles = [node("Add", f"s{i or ''}, s{i or ''}", f"s{i + 1}", name="") for i in range(70)]
case("dim_power", model([*symbol, *squares, node("Reshape", "x, s22", "y")], batch, tensors=ends))
case(
    "dim_products",
    model([
        node("Shape", "x", "p"),
        node("Shape", "w", "q"),
        node("Add", "p, q", "r"),
        node("Reshape", "v, r", "y")
    ], [value(n, dims=tuple(f"{n}{i}" for i in range(16))) for n in "xw"] + [value("v")]))
one("expand_much", "Expand", "x, s", [value("x", dims=(2, 1))], [ints("s", 2, 1 << 40)])
case(
    "dim_too_large",
    model(
        [*symbol,
         node("Mul", "s, k", "q"),
         node("Cast", "q", "r", to=6),
         node("Add", "r, w", "y")],
        [value("x", dims=("N", 3)), value("w", "i32", (1, ))], tensors=[*ends,
                                                                        ints("k", 2**30)]))
one("reshape_rank", "Reshape", "x, s", tensors=[ints("s", *[1] * 90, 6)])
one("constant_list", "Constant", "", value_ints=list(range(2000)))
one("constant_of_negative", "ConstantOfShape", "s", tensors=[ints("s", 2, LEAST)])
one("reshape_least", "Reshape", "w, s", tensors=[ints("w", 3, 2), ints("s", 2, LEAST)])
one("folded_unsqueeze_twice", "Unsqueeze", "w, a", tensors=[ints("w", 3, 2), ints("a", 0, 0)])
one("folded_reduce_axis", "ReduceMax", "w", tensors=[ints("w", 3, 2)], axes=[5])
one("empty_and_large", "Transpose", "w", tensors=[tensor("w", "i64", [0, 2**50])])
one("packed_large", "Cast", "w", tensors=[tensor("w", 22, [2**31 - 1, 2**31 - 1], raw=b"")], to=1)
case("computes_input",
     model([node("Constant", "", "x", value=("tensor", ints("v", 1, 2))),
            node("Relu", "x", "y")]))
one("no_list", "Transpose", perm=1)
case(
    "if_gives_input",
    model([node("If", "c", "y", then_branch=("graph", graph([], [value("i")], ("i", ))))],
          tensors=[TRUE]))
part = [value("a"), value("b")]
case(
    "scan_count",
    model([
        node("Scan", ", x, x", body=("graph", graph([node("Relu", "b", "z")], part,
                                                    ("z", "z", "a"))), num_scan_inputs=-1)
    ], opset=8))
case(
    "scan_axis_most",
    model([
        node("Scan", ", x", body=("graph", graph([node("Relu", "b", "z")], part[1:], ("z", ))),
             num_scan_inputs=1, scan_input_axes=[MOST])
    ], opset=8))
case(
    "scan_rows",
    model([
        node("Scan", ", s, x", "p, y",
             body=("graph", graph([node("Relu", "b", "z")], part, ("a", "z"))), num_scan_inputs=1)
    ], [value("x", dims=(2**31 - 1, 0, 3)),
        value("s", dims=(2**31 - 1, 3))], opset=8))
one("old_axis_least", "Add", "x, w", [value("x"), value("w", dims=(3, ))], opset=6, broadcast=1,
    axis=LEAST)
one("old_axis_beyond", "Add", "x, w", [value("x"), value("w", dims=(2, 3))], opset=6, broadcast=1,
    axis=1)
one("depth_to_space_block", "DepthToSpace", given=image, blocksize=2**32)
one("split_most", "Split", "x, s", tensors=[ints("s", MOST, MOST)], outputs="y, w")
one("pool_pads", "MaxPool", given=image, kernel_shape=[2, 2], pads=[MOST] * 4)
one("pool_dilated", "AveragePool", given=[value("x", dims=(1, 1, 2**31 - 1))], opset=19,
    kernel_shape=[32767], dilations=[2])
filters = [*image, value("w", dims=(4, 4, 3, 3))]
one("conv_transpose_strides", "ConvTranspose", "x, w", filters, output_shape=[9, 9],
    strides=[MOST, MOST])
one("conv_transpose_pads", "ConvTranspose", "x, w", filters, pads=[MOST, MOST, LEAST, LEAST])
one("conv_transpose_bias", "ConvTranspose", "x, w, b", [*filters, value("b", dims=())],
    output_padding=[2, 2])
one("deform_groups", "DeformConv", "x, w, o", [*filters, value("o", dims=(1, 18, 5, 5))], opset=19,
    group=MOST, offset_group=MOST)
one("onehot_depth_large", "OneHot", "i, d, v",
    [value("i", "i64", (2, )), value("v", dims=(2, ))], tensors=[tensor("d", "f32", [1], [1e30])])
one("gather_nd_negative", "GatherND", "x, i", [value("x"), value("i", "i64", (2, 1))],
    batch_dims=-3)
one("quantize_block_rank", "QuantizeLinear", "x, s",
    [value("x", dims=(2, 2, 2, 8)), value("s", dims=(2, 2))], opset=21, axis=3, block_size=2)
one("qconv_rank", "QLinearConv", "x, a, b, w, c, d, e, f", [
    value("x", "u8", (3, )),
    value("a", dims=()),
    value("b", "u8", ()),
    value("w", "u8", (3, )),
    value("c", dims=(3, )),
    value("d", "u8", (3, )),
    value("e", dims=()),
    value("f", "u8", ())
])
one("rotary_nothing", "RotaryEmbedding", "x, c, s", [value("x", dims=(1, 9, 0)), *tables], opset=23,
    num_heads=2**62)
one("resize_large", "Resize", "e, , k", tensors=[ints("e", 1), tensor("k", "f32", [1], [2.0**31])])
case(
    "resize_expanded",
    model([node("Expand", "x, s", "e"), node("Resize", "e, , k", "y")], [value("x", dims=(1, ))],
          tensors=[ints("s", 2**36), tensor("k", "f32", [1], [2.0**30])]))
one("resize_aspect", "Resize", "x, , , s", wide, tensors=[ints("s", 8, 8)], opset=18, axes=[2, 3],
    keep_aspect_ratio_policy="not_larger")
one("least_of_nothing", "ReduceMin", "x, a", [value("x", 13, (0, 2))], tensors=[ints("a", 0)],
    opset=18)
one("lstm_direction", "LSTM", "x, w, r", gates, direction="sideways", hidden_size=2)

# Gradients.
TRAINING = "ai.onnx.preview.training"


def gradient(inputs="x", outputs="y", name="n", **attributes):
    return node("Gradient", inputs, outputs, name=name, domain=TRAINING, **attributes)


def derived(name, nodes, given=None, outputs=("y",), tensors=(), opset=17):
    case("gradient_" + name, model(nodes, given, outputs, tensors, opset, opsets=[(TRAINING, 1)]))


def optimizer(name, inputs, outputs, **attributes):
    given = [value("r", dims=()), value("t", "i64", dims=())]
    given += [value(one, dims=(2,)) for one in "xgvh"]
    nodes = [node(name, inputs, outputs, name="n", domain=TRAINING, **attributes)]
    case("optimizer_" + name, model(nodes, given, ("y",), (), 17, opsets=[(TRAINING, 1)]))


optimizer("Adam", "r, t, x, g, v", "y, w")
optimizer("Momentum", "r, t, x, g, v", "y, w", alpha=0.9, beta=0.1, mode="heavy",
          norm_coefficient=0.0)
square = node("Mul", "x, x", "s", name="square")
derived("no_xs", [square, gradient(y="s")])
derived("no_y", [square, gradient(xs=["x"])])
derived("no_strings", [square, gradient(xs=[1], y="s")])
derived("no_string", [square, gradient(xs=["x"], y=1)])
derived("inputs", [square, gradient("x, x", xs=["x"], y="s")])
derived("no_inputs", [square, gradient("", xs=["x"], y="s")])
derived("left_out", [square, node("Gradient", "x, ", domain=TRAINING, xs=["x", "x"], y="s")])
derived("results", [square, gradient("x", "y, z", xs=["x"], y="s")])
derived("x_unknown", [square, gradient(xs=["q"], y="s")])
derived("z_unknown", [square, gradient("x, x", xs=["x"], zs=["q"], y="s")])
sampled = [node("GridSample", "x, g", "s", name="sample"), gradient(xs=["x"], y="s")]
derived("grid_symbols", sampled, [value("x", dims=(1, 1, "H", 2)),
                                  value("g", dims=(1, 2, 2, 2))], opset=20)
derived("grid_rank", sampled, image + [value("g", dims=(1, 2, 2, 3))], opset=20)
derived("y_unknown", [square, gradient(xs=["x"], y="q")])
derived("y_own", [square, gradient(xs=["x"], y="y")])
derived("x_integer", [node("Cast", "x", "s", to=1), gradient(xs=["x"], y="s")], [value("x", "i64")])
derived("y_integer", [node("Cast", "x", "s", to=7), gradient(xs=["x"], y="s")])
derived("y_refused", [node("Sofmax", "x", "s"), gradient(xs=["x"], y="s")])
derived("other_attribute", [square, gradient(xs=["x"], y="s", retain=1)])
derived("other_dims", [square, gradient("w", xs=["x"], y="s")],
        [value("x"), value("w", dims=(3, 2))])
derived("other_integer",
        [node("Reshape", "x, i", "s"),
         gradient("x, k", xs=["x"], zs=["i"], y="s")], tensors=[ints("i", 6),
                                                                ints("k", 6)])
derived("two_values", [square, gradient("w, v", xs=["x", "x"], y="s")],
        [value("x"), value("w"), value("v")])
derived("no_rule",
        [node("GRU", "x, w, r", "a, s", hidden_size=2),
         gradient(xs=["x"], y="s")],
        [gates[0], value("w", dims=(1, 6, 3)), value("r", dims=(1, 6, 2))])
derived("scatter_product",
        [node("ScatterElements", "x, i, u", "s", reduction="mul"),
         gradient(xs=["x"], y="s")],
        [value("x"), value("i", "i64", (2, 3)), value("u")], opset=18)
# Each makes the next one larger; many over the same graph; and one over a graph as deep as there
# may be.
derived(
    "bomb", [node("Tanh", "x", "d0", name="d0")]
    + [gradient(xs=["x"], y=f"d{i}", outputs=f"d{i + 1}", name=f"d{i + 1}")
       for i in range(200)], outputs=("d200", ))
relus = [node("Tanh", "x", "r0", name="r0")
         ] + [node("Tanh", f"r{i}", f"r{i + 1}", name=f"r{i + 1}") for i in range(5000)]
derived(
    "many",
    relus + [gradient(xs=["x"], y="r5000", outputs=f"y{i}", name=f"g{i}") for i in range(20000)],
    outputs=("y19999", ))
derived("deep", [node("Det", "x", "r0", name="r0")]
        + [node("Tanh", f"r{i}", f"r{i + 1}", name=f"r{i + 1}")
           for i in range(32000)] + [gradient(xs=["x"], y="r32000")], [value("x", dims=(2, 2))])
derived("wide", [square]
        + [gradient("x", xs=["x"], y="s", outputs=f"y{i}", name=f"g{i}") for i in range(32000)],
        outputs=("y31999", "q"))


def setup():
    os.makedirs(os.path.join(folder, "folder"), exist_ok=True)
    with open(os.path.join(folder, "data.bin"), "wb") as out:
        out.write(b"\0" * 24)
    with open(os.path.join(folder, "twin.bin"), "wb") as out:
        out.write(b"\0" * 24)
    os.symlink("data.bin", os.path.join(folder, "link.bin"))
    os.symlink(".", os.path.join(folder, "linked"))
    os.link(os.path.join(folder, "twin.bin"), os.path.join(folder, "hard.bin"))
    header = "{'descr': '<i8', 'fortran_order': False, 'shape': (2000,), }".ljust(117) + "\n"
    with open(os.path.join(folder, "large.npy"), "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + bytes([len(header), 0]) + header.encode() + b"\0" * 16000)


def limited():
    resource.setrlimit(resource.RLIMIT_CPU, (10, 10))


def main():
    for name, (data, _) in CASES.items():
        with open(os.path.join(folder, name + ".onnx"), "wb") as out:
            out.write(data)
    if sys.argv[2:] == ["--write"]:
        return
    setup()
    said, slow = [], 0
    for name, (_, arguments) in CASES.items():
        path = name + ".onnx"
        begin = os.times().children_user
        run = subprocess.run(["dlc", "check", path, *arguments], cwd=folder, text=True,
                             errors="replace", capture_output=True, preexec_fn=limited, timeout=60)
        spent = os.times().children_user - begin
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
        if spent > 2 or peak > 512:
            slow += 1
            print(f"FAILED {name}: {spent:.1f} s, {peak} MiB; expected at most 2 s and 512 MiB")
        said.append(f"== {name}: exit {run.returncode}\n{run.stderr}")
    if sys.argv[2:] == ["--update"]:
        with open(GOLDEN, "w", encoding="utf-8") as out:
            out.write("\n".join(said))
    with open(GOLDEN, encoding="utf-8") as source:
        expected = dict(re.findall(r"^== (\w+): (.*?)(?=\n== |\Z)", source.read(), re.S | re.M))
    failed = slow
    for text in said:
        name, got = re.fullmatch(r"== (\w+): (.*)", text, re.S).groups()
        if got.rstrip() != expected.get(name, "nothing").rstrip():
            failed += 1
            print(f"FAILED {name}:\n{got}\nexpected:\n{expected.get(name)}")
        if not re.match(r"exit [12356]\n", got):
            failed += 1
            print(f"FAILED {name}: {got}; expected the exit status 1, 2, 3, 5 or 6")
    print(f"{len(said) - failed} passed, {failed} failed")


main()
