"""A Keras model as text of dlc, a `sequential`."""

import collections
import json

from .keras_graph import Call, ImportFailure, graph_of, identifier, plain_layers, wrapped_layer

# Settings of layers that only training or Keras itself reads, and those that say nothing with this
# value.
IGNORED = {
    "name",
    "trainable",
    "dtype",
    "batch_shape",
    "batch_input_shape",
    "seed",
    "noise_shape",
    "data_format",
    "synchronized",
    "implementation",
    "unroll",
    "time_major",
    "unit_forget_bias",
    "dropout",
    "recurrent_dropout",
    "input_length",
    "quantization_config",
    "lora_rank",
    "lora_alpha",
    "renorm_momentum",
    "zero_output_for_mask",
}
IGNORED_ENDINGS = ("_initializer", "_regularizer", "_constraint")
WITHOUT_EFFECT = {
    "return_state": False,
    "go_backwards": False,
    "stateful": False,
    "mask_zero": False,
    "rms_scaling": False,
    "renorm": False,
    "normalize": False,
    "keepdims": False,
    "activation": "linear",
    "groups": 1,
    "depth_multiplier": 1,
    "use_bias": True,
    "center": True,
    "scale": True,
    "padding": "valid",
    "momentum": 0.99,
}
OLD_NAMES = {("LeakyReLU", "alpha"): "negative_slope"}  # of Keras 2
DTYPES = {
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "int64": "i64",
    "int32": "i32",
    "int16": "i16",
    "int8": "i8",
    "uint8": "u8",
    "bool": "bool",
}
LAYOUTS = {
    "channels_last": {3: "NWC", 4: "NHWC", 5: "NDHWC"},
    "channels_first": {3: "NCW", 4: "NCHW", 5: "NCDHW"},
}


def value_text(layer, key, value):
    if isinstance(value, dict) and value.get("class_name") == "function":
        value = value.get("config")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(value_text(layer, key, one) for one in value) + "]"
    raise ImportFailure(f"layer '{layer.path}': {key} is {value!r}, which the language cannot say")


def call_text(layer, kind, settings):
    """`Conv2D(filters=8, kernel_size=[3, 3])`"""
    given = []
    if kind in ("Bidirectional", "TimeDistributed"):
        if settings.get("merge_mode", "concat") != "concat":
            raise ImportFailure(
                f"layer '{layer.path}': merge_mode is {settings['merge_mode']!r}; dlc has 'concat' alone"
            )
        inner = wrapped_layer(layer.path, settings)
        return f"{kind}({call_text(layer, inner['class_name'], inner['config'])})"
    for key, value in settings.items():
        if key in IGNORED or key.endswith(IGNORED_ENDINGS) or value is None:
            continue
        if (
            key in WITHOUT_EFFECT
            and type(value) is type(WITHOUT_EFFECT[key])
            and value == WITHOUT_EFFECT[key]
        ):
            continue
        if key == "axis" and isinstance(value, (list, tuple)) and len(value) == 1:
            (value,) = value
        if key == "dilation_rate" and value in (1, [1], [1, 1]):
            continue
        given.append(f"{OLD_NAMES.get((kind, key), key)}={value_text(layer, key, value)}")
    return f"{kind}({', '.join(given)})"


def entries_of(graph):
    """What is written of each call of a layer that the outputs need, each after those that it
    takes; and the names of the outputs. The first call of a layer declares it."""
    whole, names, entries, counts = Call(graph), {}, [], collections.Counter()
    taken = {layer.name for layer in plain_layers(graph)}
    outputs = [whole.origin(tensor) for tensor in graph.outputs]
    open_calls = list(reversed(outputs))
    while open_calls:
        place = scope, layer, call = open_calls.pop()
        key = scope, layer.old, call
        if key in names:
            continue
        if layer.kind == "InputLayer":
            names[key] = layer.name
            continue
        operands = scope.operands(layer, call)
        needed = [one for one in operands if (one[0], one[1].old, one[2]) not in names]
        if needed:
            open_calls += [place, *reversed(needed)]
            continue
        takes = ", ".join(names[scope_of, one.old, number] for scope_of, one, number in operands)
        counts[layer.name] += 1
        names[key], kind = layer.name, call_text(layer, layer.kind, layer.config)
        if counts[layer.name] > 1:
            names[key], kind = f"{layer.name}_call_{counts[layer.name]}", layer.name
            while names[key] in taken:
                names[key] += "_"
            taken.add(names[key])
        # A list of layers is written as one.
        is_list = graph.is_list and not any(one.graph for one in graph.layers.values())
        entries.append(f"{names[key]}: {kind}" + ("" if is_list else f"({takes})"))
    return entries, [names[scope, layer.old, call] for scope, layer, call in outputs]


def data_format_of(layers):
    found = {
        layer.config[key] for layer in layers for key in ("data_format",) if layer.config.get(key)
    }
    if len(found) > 1:
        raise ImportFailure(
            "some layers have their channels first and others last; dlc wants one order for the whole model"
        )
    return found.pop() if found else "channels_last"


def input_text(layer, layout, symbols):
    """`x: f32[N,28,28,1] layout NHWC`; a dim of any size becomes a symbol."""
    shape = layer.config.get("batch_shape") or layer.config.get("batch_input_shape")
    dtype = layer.config.get("dtype")
    dtype = dtype if isinstance(dtype, str) else "float32"
    if shape is None or dtype not in DTYPES:
        raise ImportFailure(
            f"the input '{layer.path}' has the shape {shape} and the dtype {dtype}; expected both"
        )
    dims = []
    for place, size in enumerate(shape):
        name = "N" if place == 0 else f"{layer.name}_{place}"
        if size is None and name not in symbols:
            symbols.append(name)
        dims.append(name if size is None else str(size))
    order = layout.get(len(shape))
    needs_layout = order and (len(shape) > 3 or not order.endswith("C"))
    return f"{layer.name}: {DTYPES[dtype]}[{','.join(dims)}]" + (
        f" layout {order}" if needs_layout else ""
    )


def outputs_of(config):
    """The names of the model's outputs."""
    return entries_of(graph_of(config))[1]


def text_of(config, weights=None):
    """The model as text of dlc, a `sequential` with its layers by name; `weights` is the file that
    it names."""
    graph, held, symbols = graph_of(config), config["config"], []
    layout = LAYOUTS[data_format_of(plain_layers(graph))]
    inputs = [graph.layers[tensor[0]] for tensor in graph.inputs]
    if (
        graph.is_list
        and not inputs[0].config.get("batch_shape")
        and not inputs[0].config.get("batch_input_shape")
    ):
        raise ImportFailure(
            "the model says nothing of its input; begin it with keras.layers.Input(shape)"
        )
    entries, outputs = entries_of(graph)
    if not entries or len(set(outputs)) != len(outputs):
        raise ImportFailure(
            "the model has no layers"
            if not entries
            else "the model gives one tensor twice; let it give each once"
        )
    ports = ", ".join(input_text(layer, layout, symbols) for layer in inputs)
    name = identifier(held.get("name", "model") if isinstance(held, dict) else "model")
    lines = [
        "dl 1",
        *(f"dim {symbol}" for symbol in symbols),
        f"sequential {name}({ports}) -> ({', '.join(outputs)}) {{",
        *("  " + entry for entry in entries),
        "}",
    ]
    return "\n".join(lines + ([f"weights {json.dumps(weights)}"] if weights else [])) + "\n"
