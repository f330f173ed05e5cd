#!/usr/bin/env python3
"""Writes bert.safetensors beside bert.dl, or into FOLDER: seeded weights in Hugging Face's names,
438 MB, the same bytes every time, spread as training begins (0.02). NAME=VALUE sets a constant of
bert.dl, as a test of a small BERT does.

usage: weights.py [FOLDER] [LAYERS=2 HIDDEN=32 ...]"""
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import safetensors  # noqa: E402

SIZES = {"VOCAB": 30522, "HIDDEN": 768, "LAYERS": 12, "HEADS": 12, "POSITIONS": 512}


def tensors_of(sizes, spread=0.02):
    random = np.random.RandomState(11)
    tensors = {}
    width = sizes["HIDDEN"]

    def matrix(name, rows, columns):
        tensors[name] = (spread * random.standard_normal((rows, columns))).astype(np.float32)

    def linear(name, inputs, outputs):
        matrix(name + ".weight", outputs, inputs)
        tensors[name + ".bias"] = (spread * random.standard_normal(outputs)).astype(np.float32)

    def layer_norm(name):
        tensors[name + ".weight"] = random.uniform(0.8, 1.2, width).astype(np.float32)
        tensors[name + ".bias"] = (0.1 * random.standard_normal(width)).astype(np.float32)

    matrix("embeddings.word_embeddings.weight", sizes["VOCAB"], width)
    matrix("embeddings.position_embeddings.weight", sizes["POSITIONS"], width)
    matrix("embeddings.token_type_embeddings.weight", 2, width)
    layer_norm("embeddings.LayerNorm")
    for i in range(sizes["LAYERS"]):
        name = f"encoder.layer.{i}"
        for part in ("query", "key", "value"):
            linear(f"{name}.attention.self.{part}", width, width)
        linear(f"{name}.attention.output.dense", width, width)
        layer_norm(f"{name}.attention.output.LayerNorm")
        linear(f"{name}.intermediate.dense", width, 4 * width)
        linear(f"{name}.output.dense", 4 * width, width)
        layer_norm(f"{name}.output.LayerNorm")
    linear("pooler.dense", width, width)
    return tensors


def main(arguments):
    folder = next((argument for argument in arguments if "=" not in argument), HERE)
    sizes = dict(SIZES, **{name: int(value) for name, value in
                           (argument.split("=") for argument in arguments if "=" in argument)})
    safetensors.save(os.path.join(folder, "bert.safetensors"), tensors_of(sizes),
                     {"model": "examples/bert/bert.dl"})


if __name__ == "__main__":
    main(sys.argv[1:])
