"""What the configuration of a Keras model says: its layers, and what each takes.

A model may be a layer of another one, and be called several times. Each of its calls is the calls
of its layers."""

import collections
import re

GRAPHS = ("Sequential", "Functional", "Model")  # Keras 2 calls a functional one a Model


class ImportFailure(Exception):
    """What the user can do something about."""


#: `name` is the layer's in the text, with those of the models around it, "encoder.dense"; `old` is
#: Keras's own, which is unique in its model, and `path` has those of the models around it,
#: "encoder/dense_3". `calls` are what the configuration tells of the tensors that it takes; others
#: count them from `first` on. A model that is a layer of another has a `graph`.
Layer = collections.namedtuple(
    "Layer", "kind name config old path calls graph first", defaults=(0,)
)

#: The layers of a model by their old names, in order; its inputs and outputs are tensors, each (old
#: name of a layer, call, output).
Graph = collections.namedtuple("Graph", "layers inputs outputs is_list")


def snake_case(kind):
    """Keras's own: Conv2D is conv2d, BatchNormalization is batch_normalization."""
    text = re.sub(r"\W+", "", kind)
    text = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", text)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", text).lower()


def identifier(name):
    """The name as a word of the language."""
    word = re.sub(r"\W", "_", name)
    return word if re.match(r"[A-Za-z_]", word) else "layer_" + word


def graph_of(config, prefix="", path=""):
    """The graph of a model's configuration, with the names that a `sequential` of dlc has for its
    layers."""
    if config.get("class_name") not in GRAPHS:
        raise ImportFailure(
            f"the model is a {config.get('class_name')}; expected a Sequential or a Functional one, whose configuration "
            "says what it computes. Export others to ONNX, and use dlc import"
        )
    layers, counts, names = [], collections.Counter(), set()
    held = config["config"]
    for entry in held["layers"] if isinstance(held, dict) else held:
        kind, settings = entry["class_name"], entry["config"]
        stem = snake_case(kind)
        name = old = entry.get("name") or (
            settings.get("name", stem) if isinstance(settings, dict) else stem
        )
        if re.fullmatch(stem + r"(_\d+)?", name):  # Keras counts over all models of the process
            name = stem + (f"_{counts[stem]}" if counts[stem] else "")
            counts[stem] += 1
        name = identifier(name)
        while name in names:
            name += "_"
        names.add(name)
        graph = graph_of(entry, f"{prefix}{name}.", f"{path}{old}/") if kind in GRAPHS else None
        layers.append(
            Layer(
                kind,
                prefix + name,
                settings,
                old,
                path + old,
                entry.get("inbound_nodes") or [],
                graph,
            )
        )
    if config["class_name"] != "Sequential":
        layers, outputs = counted_calls(layers, as_list(held["output_layers"]))
        return Graph(
            {layer.old: layer for layer in layers}, as_list(held["input_layers"]), outputs, False
        )
    if not layers or layers[0].kind != "InputLayer":
        layers.insert(0, first_input(held, layers))
    chain = [
        layer._replace(calls=[[[before.old, 0, 0]]]) for before, layer in zip(layers, layers[1:])
    ]
    return Graph(
        {layer.old: layer for layer in [layers[0], *chain]},
        [(layers[0].old, 0, 0)],
        [(layers[-1].old, 0, 0)],
        True,
    )


def counted_calls(layers, outputs):
    """The layers and outputs of a functional model, with the numbers from which on calls of the
    models in it are counted. To Keras such a model has been called once by being made: Keras 2
    counts that, and Keras 3 does where an output of the whole is meant."""
    counted, made = [], set()
    for layer in layers:
        first = 0
        if layer.graph and layer.calls and isinstance(layer.calls[0], dict):
            made |= {layer.old} if layer.kind != "Sequential" else set()
        elif layer.graph:
            used = [
                one for other in layers for call in other.calls for one in operands_of(other, call)
            ] + outputs
            first = min((call for old, call, _ in used if old == layer.old), default=0)
        counted.append(layer._replace(first=first))
    return counted, [(old, call - (old in made), output) for old, call, output in outputs]


def first_input(held, layers):
    """The input of a Sequential model that has no layer for it: in Keras 2 the first layer says its
    shape."""
    first = layers[0] if layers else None
    name = "x" if "x" not in (layer.name for layer in layers) else "x_input"
    if first and first.graph:
        return first.graph.layers[first.graph.inputs[0][0]]._replace(name=name, old="", path=name)
    shape = first and (
        first.config.get("batch_input_shape")
        or (held.get("build_input_shape") if isinstance(held, dict) else None)
    )
    dtype = "int32" if first and first.kind == "Embedding" else "float32"
    return Layer("InputLayer", name, {"batch_shape": shape, "dtype": dtype}, "", name, [], None)


def plain_layers(graph):
    """Those of a graph and of the models in it, in order, that are no models themselves."""
    return [
        one
        for layer in graph.layers.values()
        for one in (plain_layers(layer.graph) if layer.graph else [layer])
    ]


def wrapped_layer(where, settings):
    """The configuration of what a Bidirectional or TimeDistributed wraps."""
    inner = settings["layer"]
    if inner["class_name"] in GRAPHS:
        raise ImportFailure(
            f"layer '{where}' wraps the model '{inner['config'].get('name')}'; dlc's takes one layer: wrap each layer of the model"
        )
    return inner


def tensors_in(layer, value):
    """The (layer, call, output) of each tensor that a call takes, in order."""
    if isinstance(value, dict):
        if value.get("class_name") == "__keras_tensor__":
            return [tuple(value["config"]["keras_history"])]
        return [one for _, part in sorted(value.items()) for one in tensors_in(layer, part)]
    if isinstance(value, (list, tuple)):
        return [one for part in value for one in tensors_in(layer, part)]
    if value is None or isinstance(value, (bool, str)):
        return []
    raise ImportFailure(
        f"layer '{layer.path}' takes the number {value!r} beside tensors, which no layer of dlc does"
    )


def operands_of(layer, call):
    """The tensors of one entry of `inbound_nodes`, as Keras 3 or Keras 2 writes it."""
    if isinstance(call, dict):
        found = tensors_in(layer, call["args"])
        if tensors_in(
            layer,
            {
                key: value
                for key, value in call.get("kwargs", {}).items()
                if isinstance(value, (dict, list))
            },
        ):
            raise ImportFailure(
                f"layer '{layer.path}' takes a tensor by the name of an argument, such as a mask, which dlc's does not"
            )
        return found
    if call and isinstance(call[0], str):
        call = [call]
    return [tuple(one[:3]) for one in call]


def as_list(tensors):
    """The tensors of `input_layers` or `output_layers`; Keras writes one of them without a list
    around it, and may name them."""
    if isinstance(tensors, dict):
        return [one for _, part in sorted(tensors.items()) for one in as_list(part)]
    if tensors and isinstance(tensors[0], str):
        return [tuple(tensors[:3])]
    return [one for part in tensors for one in as_list(part)]


class Call:
    """The graph of a model as one call of it computes: its inputs are tensors of the call around
    it, None around the whole."""

    def __init__(self, graph, around=None, given=()):
        self.graph, self.around, self.given, self.inner = graph, around, given, {}

    def origin(self, tensor):
        """The (call of a model, layer, call of the layer) that gives a tensor: a layer that is no
        model, or an input of the whole."""
        scope = self
        while True:
            old, call, output = tensor
            layer = scope.graph.layers.get(old)
            if layer is None:
                raise ImportFailure(f"the model has no layer '{old}', which others take")
            if layer.kind == "InputLayer" and scope.around:
                scope, tensor = (
                    scope.around,
                    scope.given[[one[0] for one in scope.graph.inputs].index(old)],
                )
            elif layer.graph:
                scope, tensor = scope.called(layer, call - layer.first), layer.graph.outputs[output]
            elif output:
                raise ImportFailure(
                    f"output {output} of layer '{layer.path}' is used; dlc's layers have one output"
                )
            else:
                return scope, layer, 0 if layer.kind == "InputLayer" else call

    def called(self, layer, call):
        """One call of a model that is a layer."""
        if (layer.old, call) not in self.inner:
            given = operands_of(layer, layer.calls[call])
            if len(given) != len(layer.graph.inputs):
                raise ImportFailure(
                    f"the model '{layer.path}' has {len(layer.graph.inputs)} inputs, and is called with {len(given)}"
                )
            self.inner[layer.old, call] = Call(layer.graph, self, given)
        return self.inner[layer.old, call]

    def operands(self, layer, call):
        return [self.origin(one) for one in operands_of(layer, layer.calls[call])]
