"""Keras models for dlc: their weights by name, and their layers as text, a `sequential`.

Neither Keras nor any code of the model is loaded; h5py reads the files."""
import collections
import io
import json
import re
import zipfile

RECURRENT = ("kernel", "recurrent_kernel", "bias?")
# Class: its variables in the order in which Keras makes them; a '?' follows those that an argument takes away.
VARIABLES = {
    **dict.fromkeys(("Dense", "Conv1D", "Conv2D", "Conv3D", "Conv1DTranspose", "Conv2DTranspose", "DepthwiseConv2D"),
                    ("kernel", "bias?")),
    "SeparableConv2D": ("depthwise_kernel", "pointwise_kernel", "bias?"),
    "BatchNormalization": ("gamma?", "beta?", "moving_mean", "moving_variance"),
    "LayerNormalization": ("gamma?", "beta?"),
    "Embedding": ("embeddings",),
    "PReLU": ("alpha",),
    "LSTM": RECURRENT, "GRU": RECURRENT, "SimpleRNN": RECURRENT,
}
ARGUMENTS = {"bias": "use_bias", "gamma": "scale", "beta": "center"}


GRAPHS = ("Sequential", "Functional", "Model")  # Keras 2 calls a functional one a Model


class ImportFailure(Exception):
    """What the user can do something about."""


#: `old` is Keras's own name, `calls` are what the configuration tells of the tensors that it takes.
Layer = collections.namedtuple("Layer", "kind name config old calls")


def snake_case(kind):
    """Keras's own: Conv2D is conv2d, BatchNormalization is batch_normalization."""
    text = re.sub(r"\W+", "", kind)
    text = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", text)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", text).lower()


def identifier(name):
    """The name as a word of the language."""
    word = re.sub(r"\W", "_", name)
    return word if re.match(r"[A-Za-z_]", word) else "layer_" + word


def layers_of(config):
    """The layers of a model's configuration, with the names that a `sequential` of dlc has for them."""
    if config.get("class_name") not in GRAPHS:
        raise ImportFailure(f"the model is a {config.get('class_name')}; expected a Sequential or a Functional one, whose configuration "
                            "says what it computes. Export others to ONNX, and use dlc import")
    layers, counts, names = [], collections.Counter(), set()
    held = config["config"]
    for entry in held["layers"] if isinstance(held, dict) else held:
        kind, settings = entry["class_name"], entry["config"]
        if kind in GRAPHS:
            raise ImportFailure(f"layer '{settings.get('name')}' is a {kind} model of its own; call its layers one by one")
        stem = snake_case(kind)
        name = old = entry.get("name") or settings.get("name", stem)
        if re.fullmatch(stem + r"(_\d+)?", name):  # Keras counts over all models of the process
            name = stem + (f"_{counts[stem]}" if counts[stem] else "")
            counts[stem] += 1
        name = identifier(name)
        while name in names:
            name += "_"
        names.add(name)
        layers.append(Layer(kind, name, settings, old, entry.get("inbound_nodes") or []))
    return layers


def leaves_of(kind, settings, count):
    """The names of a layer's `count` variables."""
    if kind not in VARIABLES:
        raise ImportFailure(f"{kind} has weights, for which 'sequential' has no layer; known are {', '.join(VARIABLES)}")
    leaves = []
    for leaf in VARIABLES[kind]:
        name = leaf.rstrip("?")
        if not leaf.endswith("?") or settings is None or settings.get(ARGUMENTS[name], True):
            leaves.append(name)
    if settings is None and len(leaves) != count:  # without a configuration the last optional one is that which is absent
        optional = [leaf.rstrip("?") for leaf in VARIABLES[kind] if leaf.endswith("?")]
        if len(optional) != 1:
            raise ImportFailure(f"a {kind} with {count} of {len(leaves)} weights; --config model.json tells which "
                                "(Keras: model.to_json())")
        leaves.remove(optional[0])
    if len(leaves) != count:
        raise ImportFailure(f"a {kind} has {count} weights; its configuration says {', '.join(leaves)}")
    return leaves


def variables(group):
    """The arrays that a layer itself holds, in order."""
    held = group.get("vars", {})
    return [held[key][()] for key in sorted(held, key=int)]


def add(tensors, name, group, kind, settings):
    """What one group of Keras 3's format holds, and those within it."""
    if kind == "Bidirectional":
        inner = settings["layer"] if settings else None
        for side in ("forward", "backward"):
            cell = group[side + "_layer"]
            inner_kind = inner["class_name"] if inner else None
            if inner_kind is None:  # GRU has a bias of two rows, a LSTM four blocks of units, SimpleRNN one
                arrays = variables(cell["cell"])
                gates = arrays[1].shape[1] // arrays[1].shape[0]
                inner_kind = {1: "SimpleRNN", 3: "GRU", 4: "LSTM"}[gates]
            add(tensors, f"{name}.{side}_{snake_case(inner_kind)}", cell, inner_kind, inner["config"] if inner else None)
        return
    if kind == "TimeDistributed":
        if not settings:
            raise ImportFailure("what TimeDistributed wraps, the weights alone do not say; --config model.json tells it (Keras: model.to_json())")
        inner = settings["layer"]
        add(tensors, f"{name}.{snake_case(inner['class_name'])}", group["layer"], inner["class_name"], inner["config"])
        return
    arrays = variables(group["cell"] if "cell" in group else group)
    if arrays:
        for leaf, array in zip(leaves_of(kind, settings, len(arrays)), arrays):
            tensors[f"{name}.{leaf}"] = array
    elif any(key not in ("vars", "cell", "seed_generator") and len(group[key]) for key in group):
        raise ImportFailure(f"layer '{name}' ({kind}) holds layers of its own; 'sequential' has no such layer")


def read_keras3(file, config):
    """A .weights.h5 file, alone or of a .keras archive."""
    if "layers" not in file:
        raise ImportFailure("there is no group 'layers' in it; expected what Keras 3's save or save_weights writes")
    groups, tensors, counts = file["layers"], {}, collections.Counter()
    if config is None:
        kinds = {snake_case(kind): kind for kind in [*VARIABLES, "Bidirectional", "TimeDistributed"]}
        for key in sorted(groups):
            stem = re.sub(r"_\d+$", "", key)
            has_weights = []
            groups[key].visititems(lambda path, item: has_weights.append(path) if hasattr(item, "shape") and
                                   "seed_generator" not in path else None)
            if has_weights:
                if stem not in kinds:
                    raise ImportFailure(f"'{key}' has weights, for which 'sequential' has no layer; --config model.json tells more")
                add(tensors, key, groups[key], kinds[stem], None)
        return tensors
    for layer in layers_of(config):
        stem = snake_case(layer.kind)
        key = stem + (f"_{counts[stem]}" if counts[stem] else "")
        counts[stem] += 1
        if layer.kind == "InputLayer" or key not in groups and layer.kind not in (*VARIABLES, "Bidirectional", "TimeDistributed"):
            continue  # `a + b` is a layer of the configuration alone
        if key not in groups:
            raise ImportFailure(f"the configuration has a layer '{layer.name}', for which the file has no group '{key}'")
        add(tensors, layer.name, groups[key], layer.kind, layer.config)
    return tensors


def read_legacy(file, config):
    """An .h5 file: a group for each layer, whose weights say their paths."""
    root = file["model_weights"] if "model_weights" in file else file
    text = lambda name: name.decode() if isinstance(name, bytes) else name
    names = [text(name) for name in root.attrs["layer_names"]]
    renamed, wrapped = dict(zip(names, names)), {}
    if config:
        given = [layer for layer in layers_of(config) if layer.kind != "InputLayer"]
        renamed.update({layer.old: layer.name for layer in given})
        wrapped = {layer.old: [snake_case(layer.config["layer"]["class_name"])] for layer in given if layer.kind == "TimeDistributed"}
    tensors = {}
    for name in names:
        for path in map(text, root[name].attrs["weight_names"]):
            pieces = path.split(":")[0].split("/")
            side = [piece for piece in pieces[:-1] if re.match(r"(forward|backward)_", piece)]
            inner = [re.sub(r"_\d+$", "", side[0])] if side else wrapped.get(name, [])
            tensors[".".join([renamed[name], *inner, pieces[-1]])] = root[name][path][()]
    return tensors


def read(path, config):
    """The weights of a file by name, and the configuration, which may be in it."""
    try:
        import h5py
    except ImportError:
        raise ImportFailure("this Python has no h5py; install python3-h5py (Debian) or 'pip install h5py'") from None
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                members = archive.namelist()
                if not {"config.json", "model.weights.h5"} <= set(members):
                    raise ImportFailure(f"'{path}' is a zip of {', '.join(members[:4])}; expected a .keras file")
                config = json.loads(archive.read("config.json"))
                with h5py.File(io.BytesIO(archive.read("model.weights.h5")), "r") as file:
                    return read_keras3(file, config), config
        with h5py.File(path, "r") as file:
            is_legacy = "model_weights" in file or "layer_names" in file.attrs
            if config is None and "model_config" in file.attrs:
                config = json.loads(file.attrs["model_config"])
            return (read_legacy if is_legacy else read_keras3)(file, config), config
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise ImportFailure(f"cannot read '{path}': {error}") from None


#===- The model as text ------------------------------------------------------------------------===#

# Settings of layers that only training or Keras itself reads, and those that say nothing with this value.
IGNORED = {"name", "trainable", "dtype", "batch_shape", "batch_input_shape", "seed", "noise_shape", "data_format", "synchronized", "implementation",
           "unroll", "time_major", "unit_forget_bias", "dropout", "recurrent_dropout", "input_length", "quantization_config", "lora_rank",
           "lora_alpha", "momentum", "renorm_momentum", "zero_output_for_mask"}
IGNORED_ENDINGS = ("_initializer", "_regularizer", "_constraint")
WITHOUT_EFFECT = {"return_state": False, "go_backwards": False, "stateful": False, "mask_zero": False,
                  "rms_scaling": False, "renorm": False, "keepdims": False, "activation": "linear", "groups": 1, "depth_multiplier": 1,
                  "use_bias": True, "center": True, "scale": True, "padding": "valid"}
OLD_NAMES = {("LeakyReLU", "alpha"): "negative_slope"}  # of Keras 2
DTYPES = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32", "int16": "i16",
          "int8": "i8", "uint8": "u8", "bool": "bool"}
LAYOUTS = {"channels_last": {3: "NWC", 4: "NHWC", 5: "NDHWC"}, "channels_first": {3: "NCW", 4: "NCHW", 5: "NCDHW"}}


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
    raise ImportFailure(f"layer '{layer.old}': {key} is {value!r}, which the language cannot say")


def call_text(layer, kind, settings):
    """`Conv2D(filters=8, kernel_size=[3, 3])`"""
    given = []
    if kind in ("Bidirectional", "TimeDistributed"):
        if settings.get("merge_mode", "concat") != "concat":
            raise ImportFailure(f"layer '{layer.old}': merge_mode is {settings['merge_mode']!r}; dlc has 'concat' alone")
        inner = settings["layer"]
        return f"{kind}({call_text(layer, inner['class_name'], inner['config'])})"
    for key, value in settings.items():
        if key in IGNORED or key.endswith(IGNORED_ENDINGS) or value is None:
            continue
        if key in WITHOUT_EFFECT and type(value) is type(WITHOUT_EFFECT[key]) and value == WITHOUT_EFFECT[key]:
            continue
        if key == "axis" and isinstance(value, (list, tuple)) and len(value) == 1:
            value, = value
        if key == "dilation_rate" and value in (1, [1], [1, 1]):
            continue
        given.append(f"{OLD_NAMES.get((kind, key), key)}={value_text(layer, key, value)}")
    return f"{kind}({', '.join(given)})"


def tensors_in(layer, value):
    """The (layer, call, output) of each tensor that a call takes, in order."""
    if isinstance(value, dict):
        if value.get("class_name") == "__keras_tensor__":
            return [tuple(value["config"]["keras_history"])]
        return [one for part in value.values() for one in tensors_in(layer, part)]
    if isinstance(value, (list, tuple)):
        return [one for part in value for one in tensors_in(layer, part)]
    if value is None or isinstance(value, (bool, str)):
        return []
    raise ImportFailure(f"layer '{layer.old}' takes the number {value!r} beside tensors, which no layer of dlc does")


def operands_of(layer, call):
    """The tensors of one entry of `inbound_nodes`, as Keras 3 or Keras 2 writes it."""
    if isinstance(call, dict):
        found = tensors_in(layer, call["args"])
        if tensors_in(layer, {key: value for key, value in call.get("kwargs", {}).items() if isinstance(value, (dict, list))}):
            raise ImportFailure(f"layer '{layer.old}' takes a tensor by the name of an argument, such as a mask, which dlc's does not")
        return found
    if call and isinstance(call[0], str):
        call = [call]
    return [tuple(one[:3]) for one in call]


def as_list(tensors):
    """The tensors of `input_layers` or `output_layers`; Keras writes one of them without a list around it."""
    return [tuple(tensors)] if tensors and isinstance(tensors[0], str) else [tuple(one) for one in tensors]


def entries_of(layers, wanted):
    """(name, what it calls, names of what it takes) of each call that the `wanted` tensors need, each after those that it takes; the
    names of tensors by (layer, call)."""
    by_name = {layer.old: layer for layer in layers}
    names, entries, open_calls = {}, [], []
    for old, call, output in wanted:
        open_calls.append((old, call, output, False))
        while open_calls:
            old, call, output, is_ready = open_calls.pop()
            layer = by_name.get(old)
            if layer is None or output:
                raise ImportFailure(f"output {output} of layer '{old}' is used; dlc's layers have one output")
            if (old, call) in names:
                continue
            if layer.kind == "InputLayer":
                names[old, call] = layer.name
                continue
            operands = operands_of(layer, layer.calls[call])
            # The first call declares the layer.
            needed = [(*one, False) for one in [*operands, *([(old, 0, 0)] if call else [])] if tuple(one[:2]) not in names]
            if needed and not is_ready:
                open_calls += [(old, call, output, True), *reversed(needed)]
                continue
            takes = ", ".join(names[tuple(one[:2])] for one in operands)
            if call:
                names[old, call] = f"{layer.name}_call_{call + 1}"
                entries.append(f"{names[old, call]}: {layer.name}({takes})")
            else:
                names[old, call] = layer.name
                entries.append(f"{layer.name}: {call_text(layer, layer.kind, layer.config)}({takes})")
    return entries, names


def data_format_of(layers):
    found = {layer.config[key] for layer in layers for key in ("data_format",) if layer.config.get(key)}
    if len(found) > 1:
        raise ImportFailure("some layers have their channels first and others last; dlc wants one order for the whole model")
    return found.pop() if found else "channels_last"


def input_text(layer, layout, symbols):
    """`x: f32[N,28,28,1] layout NHWC`; a dim of any size becomes a symbol."""
    shape = layer.config.get("batch_shape") or layer.config.get("batch_input_shape")
    dtype = layer.config.get("dtype")
    dtype = dtype if isinstance(dtype, str) else "float32"
    if shape is None or dtype not in DTYPES:
        raise ImportFailure(f"the input '{layer.old}' has the shape {shape} and the dtype {dtype}; expected both")
    dims = []
    for place, size in enumerate(shape):
        name = "N" if place == 0 else f"{layer.name}_{place}"
        if size is None and name not in symbols:
            symbols.append(name)
        dims.append(name if size is None else str(size))
    order = layout.get(len(shape))
    needs_layout = order and (len(shape) > 3 or not order.endswith("C"))
    return f"{layer.name}: {DTYPES[dtype]}[{','.join(dims)}]" + (f" layout {order}" if needs_layout else "")


def text_of(config, weights=None):
    """The model as text of dlc, a `sequential` with its layers by name; `weights` is the file that it names."""
    layers, held, symbols = layers_of(config), config["config"], []
    layout = LAYOUTS[data_format_of(layers)]
    if config["class_name"] == "Sequential":
        inputs = [layer for layer in layers if layer.kind == "InputLayer"]
        chain = [layer for layer in layers if layer.kind != "InputLayer"]
        if not inputs:  # Keras 2 has it at the first layer
            if not chain or not (shape := chain[0].config.get("batch_input_shape") or (held.get("build_input_shape") if isinstance(held, dict) else None)):
                raise ImportFailure("the model says nothing of its input; begin it with keras.layers.Input(shape)")
            inputs = [Layer("InputLayer", "x", {"batch_shape": shape, "dtype": "int32" if chain[0].kind == "Embedding" else "float32"}, "x", [])]
        entries = [f"{layer.name}: {call_text(layer, layer.kind, layer.config)}" for layer in chain]
        outputs = [chain[-1].name] if chain else []
    else:
        by_name = {layer.old: layer for layer in layers}
        inputs = [by_name[one[0]] for one in as_list(held["input_layers"])]
        wanted = as_list(held["output_layers"])
        entries, names = entries_of(layers, wanted)
        outputs = [names[tuple(one[:2])] for one in wanted]
    if not entries or len(set(outputs)) != len(outputs):
        raise ImportFailure("the model has no layers" if not entries else "the model gives one tensor twice; let it give each once")
    ports = ", ".join(input_text(layer, layout, symbols) for layer in inputs)
    name = identifier(held.get("name", "model") if isinstance(held, dict) else "model")
    lines = ["dl 1", *(f"dim {symbol}" for symbol in symbols), f"sequential {name}({ports}) -> ({', '.join(outputs)}) {{",
             *("  " + entry for entry in entries), "}"]
    return "\n".join(lines + ([f"weights {json.dumps(weights)}"] if weights else [])) + "\n"
