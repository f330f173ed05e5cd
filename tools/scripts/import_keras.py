#!/usr/bin/env python3
"""From a Keras model to a model of dlc: model.dl, which can be read and changed, and
model.safetensors beside it; or the weights alone.

    import_keras.py model.keras -o model.dl                     a whole model, as model.save writes
                                                                it: Sequential or functional
    import_keras.py model.h5 -o model.dl                        the older format, of Keras 2 and
                                                                TensorFlow too
    import_keras.py model.weights.h5 -o model.dl --config model.json        model.save_weights;
    model.to_json()
    import_keras.py model.keras -o model.safetensors            the weights alone, for a .dl of
                                                                one's own: conv2d.kernel, dense.bias

Layers that were given a name keep it; the others are numbered as `sequential` numbers them (dense,
dense_1), whatever Keras called them in a process with several models. A model within the model
becomes its layers: encoder.dense. Needs h5py (Debian: python3-h5py); Keras itself is not loaded,
nor any code of the model. From Python, `dlc.compile(model)` does the same with a model that is
there."""
import argparse
import importlib.machinery
import importlib.util
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "examples"))


def of_package(name):
    """A module of the Python package as it is in this checkout; the package itself needs what only
    a build has."""
    package = "dlc_source"
    if package not in sys.modules:
        spec = importlib.machinery.ModuleSpec(package, None, is_package=True)
        spec.submodule_search_locations = [os.path.join(ROOT, "tools", "python", "dlc")]
        sys.modules[package] = importlib.util.module_from_spec(spec)
    return importlib.import_module(f"{package}.{name}")


def main():
    keras_graph, keras_import, keras_text = map(of_package,
                                                ("keras_graph", "keras_import", "keras_text"))
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a .keras, .weights.h5 or .h5 file")
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE",
        help="a .dl file, with its weights beside it, or a .safetensors file of weights alone")
    parser.add_argument(
        "--config", metavar="MODEL.json",
        help="what model.to_json() gives, for a .weights.h5 file: needed for a .dl, and for layers of your own names"
    )
    options = parser.parse_args()
    stem, ending = os.path.splitext(options.output)
    try:
        if ending not in (".dl", ".safetensors"):
            raise keras_graph.ImportFailure(
                f"-o {options.output}: expected a .dl or a .safetensors file")
        config = None
        if options.config:
            with open(options.config, encoding="utf-8") as source:
                config = json.load(source)
        tensors, config = keras_import.read(options.model, config)
        is_text = ending == ".dl"
        if is_text and config is None:
            raise keras_graph.ImportFailure(
                f"'{options.model}' holds weights alone; --config model.json tells the layers (Keras: model.to_json())"
            )
        if not tensors and not is_text:
            raise keras_graph.ImportFailure(f"'{options.model}' holds no weights")
        text = keras_text.text_of(config,
                                  os.path.basename(stem)
                                  + ".safetensors" if tensors else None) if is_text else None
        import safetensors
        tensors = dict(sorted(tensors.items()))  # the same file from each format
        if tensors:
            safetensors.save(stem + ".safetensors", tensors)
        if is_text:
            with open(options.output, "w", encoding="utf-8") as out:
                out.write(text)
    except (keras_graph.ImportFailure, OSError, json.JSONDecodeError) as error:
        sys.exit(f"error: {error}")
    for name, array in tensors.items():
        print(f"{name} {list(array.shape)}")


if __name__ == "__main__":
    main()
