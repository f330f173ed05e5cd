#!/usr/bin/env python3
"""The weights of a Keras model under the names that dlc's `sequential` expects: conv2d.kernel, dense.bias, head.kernel.

    import_keras.py model.keras -o model.safetensors            a whole model, as model.save writes it
    import_keras.py model.weights.h5 -o model.safetensors --config model.json    model.save_weights; model.to_json()
    import_keras.py model.h5 -o model.safetensors               the older format, of Keras 2 and TensorFlow too

Layers that were given a name keep it; the others are numbered as `sequential` numbers them (dense, dense_1), whatever Keras called
them in a process with several models. Needs h5py (Debian: python3-h5py); Keras itself is not loaded, nor any code of the model."""
import argparse
import collections
import io
import json
import os
import re
import sys
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "examples"))

RECURRENT = ("kernel", "recurrent_kernel", "bias?")
# Class: its variables in the order in which Keras makes them; behind a '?' those that an argument takes away.
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


class ImportFailure(Exception):
    """What the user can do something about."""


Layer = collections.namedtuple("Layer", "kind name config")


def snake_case(kind):
    """Keras's own: Conv2D is conv2d, BatchNormalization is batch_normalization."""
    text = re.sub(r"\W+", "", kind)
    text = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", text)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", text).lower()


def layers_of(config):
    """The layers of a sequential model's configuration, with the names that `sequential` gives them."""
    if config.get("class_name") != "Sequential":
        raise ImportFailure(f"the model is a {config.get('class_name')}; 'sequential' describes Sequential models. "
                            "Export others to ONNX, and use dlc import")
    layers, counts = [], collections.Counter()
    held = config["config"]
    for entry in held["layers"] if isinstance(held, dict) else held:
        kind, settings = entry["class_name"], entry["config"]
        stem = snake_case(kind)
        name = settings.get("name", stem)
        if re.fullmatch(stem + r"(_\d+)?", name):  # Keras counts over all models of the process
            name = stem + (f"_{counts[stem]}" if counts[stem] else "")
        counts[stem] += 1
        layers.append(Layer(kind, name, settings))
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
        if layer.kind == "InputLayer":
            continue
        if key not in groups:
            raise ImportFailure(f"the configuration has a layer '{layer.name}', for which the file has no group '{key}'")
        add(tensors, layer.name, groups[key], layer.kind, layer.config)
    return tensors


def read_legacy(file, config):
    """An .h5 file: a group for each layer, whose weights say their paths."""
    root = file["model_weights"] if "model_weights" in file else file
    if config is None and "model_config" in file.attrs:
        config = json.loads(file.attrs["model_config"])
    text = lambda name: name.decode() if isinstance(name, bytes) else name
    names = [text(name) for name in root.attrs["layer_names"]]
    renamed, wrapped = dict(zip(names, names)), {}
    if config:
        given = [layer for layer in layers_of(config) if layer.kind != "InputLayer"]
        old = [entry["config"].get("name") for entry in config["config"]["layers"] if entry["class_name"] != "InputLayer"]
        renamed.update(dict(zip(old, (layer.name for layer in given))))
        wrapped = {name: [snake_case(layer.config["layer"]["class_name"])] for name, layer in zip(old, given) if layer.kind == "TimeDistributed"}
    tensors = {}
    for name in names:
        for path in map(text, root[name].attrs["weight_names"]):
            pieces = path.split(":")[0].split("/")
            side = [piece for piece in pieces[:-1] if re.match(r"(forward|backward)_", piece)]
            inner = [re.sub(r"_\d+$", "", side[0])] if side else wrapped.get(name, [])
            tensors[".".join([renamed[name], *inner, pieces[-1]])] = root[name][path][()]
    return tensors


def read(path, config):
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
                    return read_keras3(file, config)
        with h5py.File(path, "r") as file:
            is_legacy = "model_weights" in file or "layer_names" in file.attrs
            return (read_legacy if is_legacy else read_keras3)(file, config)
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise ImportFailure(f"cannot read '{path}': {error}") from None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a .keras, .weights.h5 or .h5 file")
    parser.add_argument("-o", "--output", required=True, metavar="FILE.safetensors")
    parser.add_argument("--config", metavar="MODEL.json", help="what model.to_json() gives, for a .weights.h5 file with layers of your own names")
    options = parser.parse_args()
    try:
        config = None
        if options.config:
            with open(options.config, encoding="utf-8") as source:
                config = json.load(source)
        tensors = read(options.model, config)
        if not tensors:
            raise ImportFailure(f"'{options.model}' holds no weights")
        import safetensors
        tensors = dict(sorted(tensors.items()))  # the same file from each format
        safetensors.save(options.output, tensors)
    except (ImportFailure, OSError, json.JSONDecodeError) as error:
        sys.exit(f"error: {error}")
    for name, array in tensors.items():
        print(f"{name} {list(array.shape)}")


if __name__ == "__main__":
    main()
