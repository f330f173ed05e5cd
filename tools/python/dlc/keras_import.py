"""The weights of Keras models by the names that they have in dlc, from each of Keras's formats of
files.

Neither Keras nor any code of the model is loaded; h5py reads the files."""
import collections
import io
import json
import re
import zipfile

from .keras_graph import ImportFailure, graph_of, plain_layers, snake_case, wrapped_layer

RECURRENT = ("kernel", "recurrent_kernel", "bias?")
# Class: its variables in the order in which Keras makes them; a '?' follows those that an argument
# takes away.
VARIABLES = {
    **dict.fromkeys(("Dense", "Conv1D", "Conv2D", "Conv3D", "Conv1DTranspose", "Conv2DTranspose",
                     "DepthwiseConv2D"), ("kernel", "bias?")),
    "SeparableConv2D": ("depthwise_kernel", "pointwise_kernel", "bias?"),
    "BatchNormalization": ("gamma?", "beta?", "moving_mean", "moving_variance"),
    "LayerNormalization": ("gamma?", "beta?"),
    "Embedding": ("embeddings", ),
    "PReLU": ("alpha", ),
    "LSTM": RECURRENT,
    "GRU": RECURRENT,
    "SimpleRNN": RECURRENT,
}
ARGUMENTS = {"bias": "use_bias", "gamma": "scale", "beta": "center"}


def leaves_of(where, kind, settings, count):
    """The names of a layer's `count` variables."""
    if kind not in VARIABLES:
        raise ImportFailure(
            f"layer '{where}' ({kind}) has weights, and 'sequential' has no such layer; known are {', '.join(VARIABLES)}"
        )
    leaves = []
    for leaf in VARIABLES[kind]:
        name = leaf.rstrip("?")
        if not leaf.endswith("?") or settings is None or settings.get(ARGUMENTS[name], True):
            leaves.append(name)
    if settings is None and len(
            leaves
    ) != count:  # without a configuration the last optional one is that which is absent
        optional = [leaf.rstrip("?") for leaf in VARIABLES[kind] if leaf.endswith("?")]
        if len(optional) != 1:
            raise ImportFailure(f"layer '{where}' is a {kind} with {count} of {len(leaves)} weights; --config model.json tells which "
                                "(Keras: model.to_json())")
        leaves.remove(optional[0])
    if len(leaves) != count:
        raise ImportFailure(
            f"layer '{where}' ({kind}) has {count} weights; its configuration says {', '.join(leaves)}"
        )
    return leaves


def variables(group):
    """The datasets that a layer itself holds, in order."""
    held = group.get("vars", {})
    return [held[key] for key in sorted(held, key=int)]


def add(tensors, name, where, group, kind, settings):
    """What one group of Keras 3's format holds, and those within it; `where` is the layer in
    messages."""
    if kind == "Bidirectional":
        inner = settings["layer"] if settings else None
        for side in ("forward", "backward"):
            cell = group[side + "_layer"]
            inner_kind = inner["class_name"] if inner else None
            # GRU has a bias of two rows, a LSTM four blocks of units, SimpleRNN one
            if inner_kind is None:
                arrays = variables(cell["cell"])
                gates = arrays[1].shape[1] // arrays[1].shape[0]
                inner_kind = {1: "SimpleRNN", 3: "GRU", 4: "LSTM"}[gates]
            add(tensors, f"{name}.{side}_{snake_case(inner_kind)}", where, cell, inner_kind,
                inner["config"] if inner else None)
        return
    if kind == "TimeDistributed":
        if not settings:
            raise ImportFailure(f"what '{where}' (TimeDistributed) wraps, the weights alone do not say; --config model.json tells it (Keras: "
                                "model.to_json())")
        inner = wrapped_layer(where, settings)
        add(tensors, f"{name}.{snake_case(inner['class_name'])}", where, group["layer"],
            inner["class_name"], inner["config"])
        return
    arrays = variables(group["cell"] if "cell" in group else group)
    if arrays:
        for leaf, array in zip(leaves_of(where, kind, settings, len(arrays)), arrays):
            tensors[f"{name}.{leaf}"] = array
    elif any(key not in ("vars", "cell", "seed_generator") and len(group[key]) for key in group):
        raise ImportFailure(
            f"layer '{where}' ({kind}) holds layers of its own; 'sequential' has no such layer")


def datasets_of(file, config):
    """The datasets of a .weights.h5 file, alone or of a .keras archive, by the names of weights."""
    if "layers" not in file:
        raise ImportFailure(
            "there is no group 'layers' in it; expected what Keras 3's save or save_weights writes")
    groups, tensors = file["layers"], {}
    if config is None:
        kinds = {
            snake_case(kind): kind for kind in [*VARIABLES, "Bidirectional", "TimeDistributed"]
        }
        for key in sorted(groups):
            stem = re.sub(r"_\d+$", "", key)
            has_weights = []
            groups[key].visititems(lambda path, item: has_weights.append(path) if hasattr(
                item, "shape") and "seed_generator" not in path else None)
            if has_weights:
                if stem not in kinds:
                    raise ImportFailure(
                        f"'{key}' has weights, for which 'sequential' has no layer; --config model.json tells more"
                    )
                add(tensors, key, key, groups[key], kinds[stem], None)
        return tensors
    add_graph(tensors, groups, graph_of(config))
    return tensors


def add_graph(tensors, groups, graph):
    """What the groups of a model's layers hold, which are numbered by their classes."""
    counts = collections.Counter()
    for layer in graph.layers.values():
        stem = snake_case(layer.kind)
        key = stem + (f"_{counts[stem]}" if counts[stem] else "")
        counts[stem] += 1
        has_weights = layer.graph or layer.kind in (*VARIABLES, "Bidirectional", "TimeDistributed")
        if layer.kind == "InputLayer" or key not in groups and not has_weights:
            continue  # `a + b` is a layer of the configuration alone
        if key not in groups:
            raise ImportFailure(
                f"the configuration has a layer '{layer.path}', for which the file has no group '{key}'"
            )
        if layer.graph:
            add_graph(tensors, groups[key].get("layers", {}), layer.graph)
        else:
            add(tensors, layer.name, layer.path, groups[key], layer.kind, layer.config)


def read_keras3(file, config):
    return {name: dataset[()] for name, dataset in datasets_of(file, config).items()}


def read_legacy(file, config):
    """An .h5 file: a group for each layer, whose weights say their paths."""
    root = file["model_weights"] if "model_weights" in file else file
    text = lambda name: name.decode() if isinstance(name, bytes) else name
    graph, tensors = graph_of(config) if config else None, {}
    for name in [text(name) for name in root.attrs["layer_names"]]:
        given = graph.layers.get(name) if graph else None
        for path in map(text, root[name].attrs["weight_names"]):
            pieces = path.split(":")[0].split("/")
            layer = holder_of(pieces, given) if given and given.graph else given
            side = [piece for piece in pieces[:-1] if re.match(r"(forward|backward)_", piece)]
            inner = [re.sub(r"_\d+$", "", side[0])] if side else []
            if layer and layer.kind == "TimeDistributed":
                inner = [snake_case(wrapped_layer(layer.path, layer.config)["class_name"])]
            tensors[".".join([layer.name if layer else name, *inner,
                              pieces[-1]])] = root[name][path][()]
    return tensors


def holder_of(pieces, model):
    """The layer within a model whose weight has a path of these pieces: they name it, and some of
    the models around it."""
    found = collections.defaultdict(list)
    for layer in plain_layers(model.graph):
        if layer.old in pieces[:-1]:
            found[len(set(layer.path.split("/")) & set(pieces[:-1]))].append(layer)
    best = found[max(found)] if found else []
    if len(best) != 1:
        raise ImportFailure(f"weight '{'/'.join(pieces)}' of the model '{model.path}' may belong to {len(best)} of its layers; "
                            "save the model as .keras")
    return best[0]


def read(path, config):
    """The weights of a file by name, and the configuration, which may be in it."""
    try:
        import h5py
    except ImportError:
        raise ImportFailure(
            "this Python has no h5py; install python3-h5py (Debian) or 'pip install h5py'"
        ) from None
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                members = archive.namelist()
                if not {"config.json", "model.weights.h5"} <= set(members):
                    raise ImportFailure(
                        f"'{path}' is a zip of {', '.join(members[:4])}; expected a .keras file")
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
