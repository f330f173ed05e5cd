"""ResNet-50 and BERT-base of examples/ as ONNX files, from the weights of examples/ under their
names: for what reads ONNX alone."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper, save_model


class Graph:
    """Nodes and initializers of an ONNX graph; a value is its name."""

    def __init__(self, weights):
        self.weights, self.nodes, self.initializers, self.held = weights, [], [], set()

    def node(self, kind, *operands, **attributes):
        name = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(operands), [name], name=name, **attributes))
        return name

    def constant(self, name, array):
        if name not in self.held:
            self.held.add(name)
            self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def weight(self, name):
        return self.constant(name, self.weights[name])

    def number(self, value):
        return self.constant(f"number_{value}", np.float32(value))

    def dims(self, *dims):
        return self.constant("dims_" + "_".join(map(str, dims)), np.array(dims, np.int64))

    def linear(self, x, name):
        transposed = self.constant(name + ".weight", self.weights[name + ".weight"].T)
        return self.node("Add", self.node("MatMul", x, transposed), self.weight(name + ".bias"))

    def save(self, path, inputs, outputs):
        """Inputs and outputs: name -> (type, dims); an output is the value of its name."""
        values = [[helper.make_tensor_value_info(name, *facts) for name, facts in table.items()]
                  for table in (inputs, outputs)]
        graph = helper.make_graph(self.nodes, "example", *values, self.initializers)
        save_model(
            helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
            path)


def resnet50(weights, path, size=224):
    """Batch norms are folded into the convolutions, as each tool does before it quantizes."""
    g = Graph(weights)

    def conv(x, name, norm, stride=1, padding=0):
        scale = weights[norm + ".weight"] / np.sqrt(weights[norm + ".running_var"] + 1e-5)
        kernel = g.constant(name + ".weight",
                            weights[name + ".weight"] * scale[:, None, None, None])
        bias = g.constant(name + ".bias",
                          weights[norm + ".bias"] - weights[norm + ".running_mean"] * scale)
        return g.node("Conv", x, kernel, bias, strides=[stride] * 2, pads=[padding] * 4)

    x = g.node("Relu", conv("x", "conv1", "bn1", 2, 3))
    x = g.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for stage, count in enumerate((3, 4, 6, 3)):
        for block in range(count):
            name, stride = f"layer{stage + 1}.{block}", 2 if stage and not block else 1
            h = g.node("Relu", conv(x, name + ".conv1", name + ".bn1"))
            h = g.node("Relu", conv(h, name + ".conv2", name + ".bn2", stride, 1))
            h = conv(h, name + ".conv3", name + ".bn3")
            if not block:
                x = conv(x, name + ".downsample.0", name + ".downsample.1", stride)
            x = g.node("Relu", g.node("Add", h, x))
    x = g.node("Flatten", g.node("GlobalAveragePool", x))
    g.nodes.append(
        helper.make_node("Gemm",
                         [x, g.weight("fc.weight"), g.weight("fc.bias")], ["logits"], name="fc",
                         transB=1))
    g.save(path, {"x": (TensorProto.FLOAT, [1, 3, size, size])},
           {"logits": (TensorProto.FLOAT, [1, len(weights["fc.bias"])])})


def bert(weights, path, tokens=128, heads=12):
    g = Graph(weights)
    width = weights["pooler.dense.bias"].size
    layers = 1 + max(
        int(name.split(".")[2]) for name in weights if name.startswith("encoder.layer."))

    def norm(x, name):
        return g.node("LayerNormalization", x, g.weight(name + ".weight"), g.weight(name + ".bias"),
                      epsilon=1e-12)

    def gelu(x):
        curve = g.node("Add", g.node("Erf", g.node("Div", x, g.number(2 ** 0.5))), g.number(1))
        return g.node("Mul", g.node("Mul", x, curve), g.number(0.5))

    def split(x, name, order):
        h = g.node("Reshape", g.linear(x, name), g.dims(1, tokens, heads, width // heads))
        return g.node("Transpose", h, perm=order)

    x = g.node("Gather", g.weight("embeddings.word_embeddings.weight"), "input_ids")
    positions = g.constant("positions", weights["embeddings.position_embeddings.weight"][:tokens])
    x = g.node("Add", x, positions)
    x = g.node(
        "Add", x,
        g.node("Gather", g.weight("embeddings.token_type_embeddings.weight"), "token_type_ids"))
    x = norm(x, "embeddings.LayerNorm")
    mask = g.node("Mul",
                  g.node("Sub", g.number(1), g.node("Unsqueeze", "attention_mask", g.dims(1, 2))),
                  g.number(-10000))
    for layer in range(layers):
        name = f"encoder.layer.{layer}"
        q, k, v = (split(x, f"{name}.attention.self.{part}", order)
                   for part, order in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]),
                                       ("value", [0, 2, 1, 3])))
        scores = g.node("Add", g.node("Div", g.node("MatMul", q, k), g.number(
            (width // heads)**0.5)), mask)
        h = g.node("Transpose", g.node("MatMul", g.node("Softmax", scores, axis=-1), v),
                   perm=[0, 2, 1, 3])
        h = g.linear(g.node("Reshape", h, g.dims(1, tokens, width)),
                     name + ".attention.output.dense")
        x = norm(g.node("Add", x, h), name + ".attention.output.LayerNorm")
        h = g.linear(gelu(g.linear(x, name + ".intermediate.dense")), name + ".output.dense")
        x = norm(g.node("Add", x, h), name + ".output.LayerNorm")
    g.nodes.append(helper.make_node("Identity", [x], ["last_hidden_state"], name="last"))
    ids = (TensorProto.INT64, [1, tokens])
    g.save(path, {
        "input_ids": ids, "token_type_ids": ids, "attention_mask": (TensorProto.FLOAT, [1, tokens])
    }, {"last_hidden_state": (TensorProto.FLOAT, [1, tokens, width])})
