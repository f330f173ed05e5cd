"""Small ONNX models for import.test: models.py FOLDER writes them there."""
import os
import struct
import sys

from onnx_writer import external, field, function, graph, model, node, sparse, tensor, value

folder = sys.argv[1]


def write(name, data):
    with open(os.path.join(folder, name), "wb") as out:
        out.write(data)


# A batch without a number stays a symbol through Shape, Gather, Concat and Reshape; nodes stand in
# the wrong order.
write(
    "dynamic.onnx",
    model([
        node("Reshape", "a, shape", "y", name="flat"),
        node("Concat", "n1, rest", "shape", axis=0),
        node("Unsqueeze", "n, zero", "n1"),
        node("Gather", "dims, first", "n"),
        node("Shape", "a", "dims"),
        node("Relu", "x", "a", name="act")
    ], [value("x", dims=("batch", 3, 4))], [value("y", dims=("batch", 12))], [
        tensor("first", "i64", [], [0]),
        tensor("zero", "i64", [1], [0]),
        tensor("rest", "i64", [1], [-1])
    ]))

# An input that has the name of a dtype.
write("i2.onnx", model([node("Relu", "i2", "y")], [value("i2", dims=(2,))]))

# Weights in every form of storage, of which all are 1, 2, 3.
packed = struct.pack("<3f", 1, 2, 3)
write("outside.bin", b"\0" * 8 + packed)
forms = {
    "raw": tensor("raw", "f32", [3],
                  raw=packed), "packed": tensor("packed", "f32", [3]) + field(4, packed),
    "single": tensor("single", "f32", [3]) + field(4, 1.0) + field(4, 2.0) + field(4, 3.0),
    "outside": tensor("outside", "f32", [3],
                      extra=external("outside.bin", offset=8,
                                     length=12)), "halves": tensor("halves", "f16", [3])
    + b"".join(field(5, bits) for bits in (0x3C00, 0x4000, 0x4200)),
    "integers": tensor("integers", "i64", [3]) + field(7, b"\x01\x02\x03"),
    "doubles": tensor("doubles", "f64", [3], raw=struct.pack("<3d", 1, 2, 3))
}
nodes = [
    node("Cast", "halves", "h", to=1),
    node("Cast", "integers", "i", to=1),
    node("Cast", "doubles", "d", to=1)
]
for before, name, after in (("x", "raw", "s1"), ("s1", "packed", "s2"), ("s2", "single", "s3"),
                            ("s3", "outside", "s4"), ("s4", "h", "s5"), ("s5", "i", "s6"),
                            ("s6", "d", "s7"), ("s7", "few", "s8"), ("s8", "c", "s9"), ("s9", "r",
                                                                                        "y")):
    nodes.append(node("Add", f"{before}, {name}", after))
# Sparse ones: the places of their elements, or the index in each dim.
few = sparse(tensor("few", "f32", [2], extra=external("outside.bin", offset=12)),
             tensor("", "i64", [2], [0, 2]), [3])
table = sparse(tensor("table", "f16", [1], [100.0]), tensor("", "i64", [1, 2], [0, 1]), [1, 3])
nodes[:0] = [
    node(
        "Constant", "", "c", sparse_value=("sparse",
                                           sparse(tensor("", "f32", [1], [1000.0]),
                                                  tensor("", "i64", [1], [1]), [3]))),
    node("Squeeze", "table, axis", "t"),
    node("Cast", "t", "r", to=1)
]
forms["axis"] = tensor("axis", "i64", [1], [0])
write(
    "forms.onnx",
    model(nodes, [value("x", dims=(3, ))], tensors=forms.values(),
          extra=field(15, few) + field(15, table)))

# A function of the file's own with an attribute of its call, and an If whose condition is known.
reference = field(1, "alpha") + field(21, "slope") + field(20, 1)
own = function("Leak", [node("LeakyRelu", "x", "y") + field(5, reference)])
write("function.onnx", model(
    [node("Leak", "x", "a", domain="own", slope=0.25),
     node("If", "yes", "y", then_branch=("graph", graph([node("Neg", "a", "b")], outputs=("b",))),
          else_branch=("graph", graph([node("Exp", "a", "b")], outputs=("b",))))],
    tensors=[tensor("yes", "bool", [], [1])], functions=[own], opsets=[("own", 1)]))

# An input that a function's call leaves out, a Loop that takes no step, and a name of 5000 letters.
own = function("Least", [node("Clip", "x, low, high", "y")], inputs="x, low, high")
body = graph([node("Identity", "go", "on"), node("Neg", "s", "t"), node("Mul", "s, s", "u")],
             [value("i", "i64", ()), value("go", "bool", ()), value("s")], ("on", "t", "u"))
write(
    "absent.onnx",
    model([
        node("Least", "x, low", "a" * 5000, domain="own"),
        node("Loop", "none, , " + "a" * 5000, "y, gathered", body=("graph", body))
    ], outputs=("y", "gathered"),
          tensors=[tensor("low", "f32", [], [2.0]),
                   tensor("none", "i64", [], [0])], functions=[own], opsets=[("own", 1)]))

# Names with control characters, one of them next to the name that it would get, and names of 5000
# letters.
write(
    "names.onnx",
    model([
        node("Sub", "a\nb, a_b", "d\x7f1"),
        node("Mul", "d\x7f1, " + "w" * 5000, "y\t1", name="n\n1"),
        node("Neg", "y\t1", "z" * 5000)
    ], [value("a\nb", dims=("N\n1", 2)),
        value("a_b", dims=("N\n1", 2))], outputs=("y\t1", "z" * 5000),
          tensors=[tensor("w" * 5000, "f32", [2], [2.0, 4.0])]))

# A quotient by 0, which no weight takes in: 3/0 - 1/0 would be NaN.
write(
    "scales.onnx",
    model([node("MatMul", "x, w", "a"),
           node("Div", "a, s", "b"),
           node("Div", "b, z", "y")], [value("x", dims=(1, 2))], tensors=[
               tensor("w", "f32", [2, 2], [3.0, 1.0, 1.0, 1.0]),
               tensor("s", "f32", [2], [2.0, 4.0]),
               tensor("z", "f32", [2], [0.0, 2.0])
           ]))

# A shape that is an input.
write("shaped.onnx", model([node("Reshape", "x, s")], [value("x"), value("s", "i64", (2,))]))
header = "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }".ljust(117) + "\n"
write("shape.npy",
      b"\x93NUMPY\x01\x00" + bytes([len(header), 0]) + header.encode() + struct.pack("<2q", 3, 2))

# Numbers that are known: far apart, beyond what their dtype holds, and of shapes that are not those
# of their number.
least, most = -2**63, 2**63 - 1
write(
    "numbers.onnx",
    model([
        node("Constant", "", "even", value_ints=[0, 2**32, 2**33]),
        node("Constant", "", "odd", value_ints=[least, most, 5]),
        node("Constant", "", "wide", value_ints=[0, 2**62, 5]),
        node("Add", "u, u", "v"),
        node("Add", "v, x", "sum"),
        node("Where", "yes, one, two", "one_dim"),
        node("ReduceMax", "pair", "kept", noop_with_empty_axes=1)
    ], [value("x", "u8", (1, ))], ("even", "odd", "wide", "sum", "one_dim", "kept"), [
        tensor("u", "u8", [1], [200]),
        tensor("yes", "bool", [], [1]),
        tensor("one", "i64", [1], [1]),
        tensor("two", "i64", [1], [2]),
        tensor("pair", "i64", [2], [3, 4])
    ], opset=18))

# What the text of a model is made of: numbers beside tensors, lists, a weight whose name is no
# path, and a pool with pads of two widths.
write(
    "text.onnx",
    model([
        node("Mul", "x, half", "a"),
        node("Concat", "a, onnx::w", "b", axis=0),
        node("Split", "b", "c, d", axis=0)
    ], [value("x", dims=(2, 3))], ("c", "d"), [
        tensor("half", "f32", [], [0.5]),
        tensor("onnx::w", "f32", [2, 3], [float(i) for i in range(6)])
    ]))
write("infinite.onnx",
      model([node("MaxPool", kernel_shape=[2], pads=[0, 1])], [value("x", dims=(1, 1, 4))]))

# Modules as PyTorch's exporter names them: three linear layers that differ in a number, whose
# weights it has transposed and renamed and of whose equal biases it stored one (a dim has the name
# that their block's parameter would have); an attention-like pair that share a weight, and a
# convolution whose names were lost.
nodes = [node("Identity", "layers.0.fc.bias", "layers.1.fc.bias", name="Identity_0")]
tensors, sizes = [], (4, 4, 4, 6)
for i, (into, out) in enumerate(zip(sizes, sizes[1:])):
    scope, before = f"/layers/layers.{i}", "x" if i == 0 else f"/layers/r{i}"
    tensors.append(
        tensor(f"onnx::MatMul_{i}", "f32", [into, out],
               [float((j * 7 + i) % 5 - 2) for j in range(into * out)]))
    if i != 1:
        tensors.append(
            tensor(f"layers.{i}.fc.bias", "f32", [out], [float(j - 1) for j in range(out)]))
    nodes += [
        node("MatMul", f"{before}, onnx::MatMul_{i}", f"{scope}/fc/m", name=f"{scope}/fc/MatMul"),
        node("Add", f"layers.{i}.fc.bias, {scope}/fc/m", f"{scope}/fc/a", name=f"{scope}/fc/Add"),
        node("Relu", f"{scope}/fc/a", f"/layers/r{i + 1}", name=f"{scope}/act/Relu")
    ]
for side in ("left", "right"):
    scope = f"/{side}"
    nodes += [node("Mul", "/layers/r3, gain", f"{scope}/g", name=f"{scope}/Mul"),
              node("Sub", f"{scope}/g, half", f"{scope}/s", name=f"{scope}/Sub"),
              node("Clip", f"{scope}/s, zero, six", f"{scope}/c", name=f"{scope}/Clip"),
              node("Div", f"{scope}/c, six", f"{side}_out", name=f"{scope}/Div")]
tensors += [tensor("gain", "f32", [6], [1.0, 2.0, 0.5, 1.0, 4.0, 1.0])]
tensors += [
    tensor(name, "f32", [], [number])
    for name, number in (("half", 0.5), ("zero", 0.0), ("six", 6.0))
]
nodes += [
    node("Sub", "left_out, right_out", "d", name="/Sub"),
    node("Unsqueeze", "d, one", "u", name="/Unsqueeze"),
    node("Conv", "u, onnx::Conv_7, onnx::Conv_8", "y", name="/conv/Conv", pads=[1, 1])
]
tensors += [
    tensor("one", "i64", [1], [1]),
    tensor("onnx::Conv_7", "f32", [2, 1, 3], [1.0, 0.0, -1.0, 2.0, 0.0, 1.0]),
    tensor("onnx::Conv_8", "f32", [2], [0.25, -0.25])
]
write("modules.onnx", model(nodes, [value("x", dims=("out_features", 4))], tensors=tensors))
# An input and an output that are called as their layers.
write(
    "same_names.onnx",
    model([
        node("Gemm", "user, user.weight, user.bias", "hidden", transB=1),
        node("Gemm", "hidden, score.weight, score.bias", "score", transB=1)
    ], [value("user", dims=("N", 4))], outputs=("score", ), tensors=[
        tensor(f"{name}.{part}", "f32", [4, 4] if part == "weight" else [4], [0.5, -1.0, 2.0, 1.5] *
               (4 if part == "weight" else 1)) for name in ("user", "score")
        for part in ("weight", "bias")
    ]))
# What PyTorch writes for expand, of a dim that is a product: its range says that it is not -1.
write(
    "expanded.onnx",
    model([
        node("Shape", "x", "dims"),
        node("Mul", "dims, four", "wide"),
        node("Equal", "wide, keeps", "is_kept"),
        node("Where", "is_kept, ones, wide", "shape"),
        node("Expand", "half, shape", "y")
    ], [value("x", dims=("N", 3))], tensors=[
        tensor("four", "i64", [1], [4]),
        tensor("keeps", "i64", [2], [-1, -1]),
        tensor("ones", "i64", [2], [1, 1]),
        tensor("half", "f32", [1, 1], [0.5])
    ]))
# The names of BERT, among them one that Python's classes use; and an input that is called as loops
# call their variable.
nodes, tensors, before = [], [], "i"
for layer in range(3):
    for part, out in (("attention.self.query", 4), ("output.dense", 4)):
        scope = f"/encoder/layer.{layer}/" + part.replace(".", "/")
        name = f"encoder.layer.{layer}.{part}"
        tensors += [
            tensor(f"{name}.weight", "f32", [4, 4],
                   [float((j * 5 + layer) % 7 - 3) for j in range(16)]),
            tensor(f"{name}.bias", "f32", [4], [float(layer - 1)] * 4)
        ]
        nodes.append(
            node("Gemm", f"{before}, {name}.weight, {name}.bias", f"{scope}/out",
                 name=f"{scope}/Gemm", transB=1))
        before = f"{scope}/out"
nodes.append(node("Relu", before, "y", name="/act/Relu"))
write("bert_names.onnx", model(nodes, [value("i", dims=("N", 4))], tensors=tensors))
# Elements of 4 bits, two in a byte, as dlc keeps them: 1, -2, 3; and of 8 bits: 1, 448, NaN.
write(
    "small.onnx",
    model([
        node("Cast", "w", "a", to=1),
        node("Cast", "f", "b", to=1),
        node("Add", "a, x", "c"),
        node("Add", "c, b", "y")
    ], [value("x", dims=(3, ))], tensors=[
        tensor("w", 22, [3], raw=b"\xe1\x03"),
        tensor("f", "f8", [3], raw=b"\x38\x7e\x7f")
    ]))

# A size below which the model computes nothing.
write(
    "smallest.onnx",
    model([
        node("MaxPool", "x", "a", kernel_shape=[5, 3]),
        node("AveragePool", "a", "y", kernel_shape=[4, 1])
    ], [value("x", dims=("n", 1, "h", "w"))]))

# Nodes that need more, or less, of a dim than a symbol promises.
sequence = value("x", dims=("N", "sequence", 4))
write(
    "select.onnx",
    model([node("Gather", "x, three", "y", name="select", axis=1)], [sequence],
          tensors=[tensor("three", "i64", [], [3])]))
write(
    "gather.onnx",
    model([node("Gather", "x, list", "y", name="pick", axis=1)], [sequence],
          tensors=[tensor("list", "i64", [2], [2, -7])]))
write(
    "gather_beyond.onnx",
    model([node("Gather", "x, list", "y", name="pick", axis=2)], [sequence],
          tensors=[tensor("list", "i64", [2], [2, 4])]))
write(
    "elements.onnx",
    model([node("GatherElements", "x, list", "y", name="pick")], [value("x", dims=("N", ))],
          tensors=[tensor("list", "i64", [2], [3, 1])]))
write(
    "topk.onnx",
    model([node("TopK", "x, k", "y, at", name="best", axis=1)], [sequence],
          tensors=[tensor("k", "i64", [1], [5])]))
write(
    "prefix.onnx",
    model([
        node("Shape", "x", "dims", start=1, end=2),
        node("Slice", "w, zero, dims", "part", name="cut"),
        node("Unsqueeze", "part, one", "column"),
        node("Add", "x, column")
    ], [sequence], tensors=[
        tensor("w", "f32", [8], [float(i) for i in range(8)]),
        tensor("zero", "i64", [1], [0]),
        tensor("one", "i64", [1], [1])
    ], opset=18))

# Two modules that differ in what one of them leaves at its default.
nodes, tensors = [], []
for i, strides in enumerate(([1], [2])):
    scope = f"/stage/stage.{i}"
    tensors.append(tensor(f"stage.{i}.conv.weight", "f32", [2, 2, 1], [1.0, 2.0, -1.0, 0.5]))
    nodes += [
        node("Conv", f"{'x' if i == 0 else 'r0'}, stage.{i}.conv.weight", f"{scope}/c",
             name=f"{scope}/conv/Conv", strides=strides),
        node("MaxPool", f"{scope}/c", f"{scope}/p", name=f"{scope}/pool/MaxPool", kernel_shape=[3],
             strides=[1], pads=[1, 1], dilations=strides),
        node("Relu", f"{scope}/p", "y" if i else "r0", name=f"{scope}/act/Relu")
    ]
write("strides.onnx", model(nodes, [value("x", dims=(1, 2, 8))], tensors=tensors))

# A mean over all dims: a list of none, which is the default.
write("loss.onnx",
      model([node("SoftmaxCrossEntropyLoss", "x, l", "y")],
            [value("x"), value("l", "i64", (2, ))]))

# What an op returns decides which way of calling it writes it.
unique = [
    value("v", dims=(3, "values")),
    value("k", "i64", ("values", )),
    value("p", "i64", (4, )),
    value("c", "i64", ("values", ))
]
write(
    "unique_all.onnx",
    model([node("Unique", "x", "v, k, p, c", axis=1, sorted=0)], [value("x", dims=(3, 4))], unique))
write(
    "unique_counts.onnx",
    model([node("Unique", "x", "v, k, p, c", axis=1)], [value("x", dims=(3, 4))],
          [unique[0], unique[3]]))

# What is kept from run to run as inputs and outputs: an LSTM of any number of steps; a cache, of
# which a place is written.
weights = [((i * 37 + 11) % 101 - 50) / 100 for i in range(16 * 3 + 16 * 4)]
write(
    "lstm.onnx",
    model([node("LSTM", "x, w, r, , , h0, c0", "y, hn, cn", hidden_size=4)], [
        value("x", dims=("T", "N", 3)),
        value("h0", dims=(1, "N", 4)),
        value("c0", dims=(1, "N", 4))
    ], ("y", "hn", "cn"), [
        tensor("w", "f32", [1, 16, 3], weights[:48]),
        tensor("r", "f32", [1, 16, 4], weights[48:])
    ]))
write(
    "cache.onnx",
    model([
        node("TensorScatter", "past.0.key, x, at", "present.0.key", axis=1),
        node("ReduceSum", "present.0.key, one", "y", keepdims=0),
        node("Add", "at, step", "next")
    ], [
        value("x", dims=(2, 1, 3)),
        value("past.0.key", dims=("N", "P", 3)),
        value("at", "i64", (2, ))
    ], ("y", "present.0.key", "next"),
          [tensor("one", "i64", [1], [1]),
           tensor("step", "i64", [2], [1, 1])], opset=24))
# Names that mean something else in the language: a word, and a module called as a kind of layer is.
nodes, tensors = [], [tensor("state.in", "f32", [2], [1.0, 2.0])]
for i, before in enumerate(("x", "r0")):
    scope = f"/Conv2d_{i}"
    tensors.append(tensor(f"Conv2d_{i}.conv.weight", "f32", [2, 2, 1], [1.0, 2.0, -1.0, 0.5]))
    nodes += [
        node("Conv", f"{before}, Conv2d_{i}.conv.weight", f"{scope}/c", name=f"{scope}/conv/Conv"),
        node("Relu", f"{scope}/c", f"r{i}", name=f"{scope}/act/Relu")
    ]
write(
    "words.onnx",
    model([*nodes, node("Mul", "r1, state.in", "True")], [value("x", dims=(1, 2, 2))], ["True"],
          tensors=tensors))

# PyTorch's EmbeddingBag over the rows of ids, whose number is a symbol; and what a segmentation
# network does at its end, where a batch that is a symbol and the size of another tensor say how
# large the result is.
bag = graph([
    node("Gather", "starts, i", "s"),
    node("Gather", "ends, i", "e"),
    node("Unsqueeze", "s, first", "s1"),
    node("Unsqueeze", "e, first", "e1"),
    node("Slice", "flat, s1, e1, first", "row"),
    node("Gather", "table, row", "rows"),
    node("ReduceSum", "rows, first", "bag", keepdims=0),
    node("Cast", "go", "on", to=9)
], [value("i", "i64", ()), value("go", "bool", ())], ("on", "bag"))
write(
    "bags.onnx",
    model([
        node("Reshape", "ids, all", "flat"),
        node("Size", "ids", "n"),
        node("Range", "none, n, three", "starts0"),
        node("Unsqueeze", "n, first", "n1"),
        node("Concat", "starts0, n1", "starts", axis=0),
        node("Slice", "starts, second, most, first", "ends"),
        node("Shape", "ends", "count1"),
        node("Squeeze", "count1, first", "count"),
        node("Loop", "count, yes", "y", body=("graph", bag))
    ], [value("ids", "i64", ("batch", 3))], tensors=[
        tensor(name, "i64", dims, [number])
        for name, dims, number in (("all", [1], -1), ("none", [], 0), ("three", [], 3),
                                   ("first", [1], 0), ("second", [1], 1), ("most", [1], 2**63 - 1))
    ] + [
        tensor("yes", "bool", [], [1]),
        tensor("table", "f32", [4, 2], [float(i) for i in range(8)])
    ]))
write(
    "segmentation.onnx",
    model([
        node("MaxPool", "x", "p", kernel_shape=[2, 2], strides=[2, 2]),
        node("Shape", "p", "s"),
        node("Slice", "s, first, second, first", "front"),
        node("Shape", "x", "o"),
        node("Slice", "o, second, fourth, first", "back"),
        node("Concat", "front, back", "sizes", axis=0),
        node("Resize", "p, , , sizes", "y", mode="linear",
             coordinate_transformation_mode="pytorch_half_pixel")
    ], [value("x", dims=("batch", 3, 8, "width"))], tensors=[
        tensor(name, "i64", [1], [number])
        for name, number in (("first", 0), ("second", 2), ("fourth", 4))
    ]))

# What -1 stands for where heads have gone into the batch; and copies for each row of a batch that
# is a symbol.
write(
    "heads.onnx",
    model([
        node("Shape", "x", "s"),
        node("Gather", "s, first", "n"),
        node("Mul", "n, two", "rows"),
        node("Concat", "rows, rest", "shape", axis=0),
        node("Reshape", "x, shape", "h"),
        node("Concat", "n, two", "copies", axis=0),
        node("Tile", "row, copies", "t"),
        node("Tile", "block, copies", "b")
    ], [value("x", dims=("batch", 2, "length", 4))], ("h", "t", "b"), tensors=[
        tensor("first", "i64", [1], [0]),
        tensor("two", "i64", [1], [2]),
        tensor("rest", "i64", [2], [-1, 4]),
        tensor("row", "f32", [1, 3], [1.0, 2.0, 3.0]),
        tensor("block", "f32", [2, 1], [4.0, 5.0])
    ]))

# How a detector finds the size that it resizes to: the largest scale at which no side is beyond a
# limit.
write(
    "limit.onnx",
    model([
        node("Shape", "x", "s"),
        node("Slice", "s, two, four, none", "hw"),
        node("ReduceMin", "hw", "small", keepdims=0),
        node("ReduceMax", "hw", "large", keepdims=0),
        node("Cast", "small", "small1", to=1),
        node("Cast", "large", "large1", to=1),
        node("Reciprocal", "small1", "r"),
        node("Mul", "r, least", "a"),
        node("Div", "most, large1", "b"),
        node("Min", "a, b", "scale"),
        node("Unsqueeze", "scale, none", "scale1"),
        node("Concat", "one, one, scale1, scale1", "scales", axis=0),
        node("Resize", "x, , scales", "y")
    ], [value("x", dims=(1, 2, 8, 12))], tensors=[
        *(tensor(name, "i64", [1], [number])
          for name, number in (("none", 0), ("two", 2), ("four", 4))),
        tensor("one", "f32", [1], [1.0]),
        tensor("least", "f32", [], [16.0]),
        tensor("most", "f32", [], [18.0])
    ]))

# Nodes that compute nothing, found by fuzzing.
write(
    "idle.onnx",
    model([
        node("Split", "x", ""),
        node("Constant", "", "", value=("tensor", tensor("", "f32", [1], [1.0]))),
        node("Relu", "x", "y")
    ], [value("x", dims=(2, 3))]))

# A tensor without elements though one of its dims is large, found by fuzzing.
write(
    "nothing.onnx",
    model([node("Add", "w, w", "v"), node("Concat", "v, x", "y", axis=0)],
          [value("x", dims=(2, 2000))], tensors=[tensor("w", "f32", [0, 2000], [])]))

# A norm whose scale is that of a layer, and one of one number for all elements.
write(
    "root_mean_square.onnx",
    model([node("RMSNormalization", "x, norm.weight", "a"),
           node("RMSNormalization", "a, s")], tensors=[
               tensor("norm.weight", "f32", [3], [1.0, 2.0, 3.0]),
               tensor("s", "f32", [1], [2.0])
           ], opset=23))
