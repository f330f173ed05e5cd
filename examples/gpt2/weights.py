#!/usr/bin/env python3
"""Writes gpt2.safetensors beside gpt2.dl, or into FOLDER: seeded weights in Hugging Face's names
and layouts (the weights of c_attn, c_fc and c_proj as [in, out]), 498 MB, the same bytes every
time. NAME=VALUE sets a constant of gpt2.dl.

usage: weights.py [FOLDER] [LAYERS=2 WIDTH=32 ...]"""
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import safetensors  # noqa: E402

SIZES = {"VOCAB": 50257, "WIDTH": 768, "LAYERS": 12, "HEADS": 12, "POSITIONS": 1024}


def tensors_of(sizes, spread=0.02):
    random = np.random.RandomState(2)
    tensors = {}
    width = sizes["WIDTH"]

    def matrix(name, rows, columns):
        tensors[name] = (spread * random.standard_normal((rows, columns))).astype(np.float32)

    def projection(name, inputs, outputs):
        matrix(name + ".weight", inputs, outputs)
        tensors[name + ".bias"] = (spread * random.standard_normal(outputs)).astype(np.float32)

    def layer_norm(name):
        tensors[name + ".weight"] = random.uniform(0.8, 1.2, width).astype(np.float32)
        tensors[name + ".bias"] = (0.1 * random.standard_normal(width)).astype(np.float32)

    matrix("wte.weight", sizes["VOCAB"], width)
    matrix("wpe.weight", sizes["POSITIONS"], width)
    for i in range(sizes["LAYERS"]):
        layer_norm(f"h.{i}.ln_1")
        projection(f"h.{i}.attn.c_attn", width, 3 * width)
        projection(f"h.{i}.attn.c_proj", width, width)
        layer_norm(f"h.{i}.ln_2")
        projection(f"h.{i}.mlp.c_fc", width, 4 * width)
        projection(f"h.{i}.mlp.c_proj", 4 * width, width)
    layer_norm("ln_f")
    return tensors


def main(arguments):
    folder = next((argument for argument in arguments if "=" not in argument), HERE)
    sizes = dict(SIZES, **{name: int(value) for name, value in
                           (argument.split("=") for argument in arguments if "=" in argument)})
    safetensors.save(os.path.join(folder, "gpt2.safetensors"), tensors_of(sizes),
                     {"model": "examples/gpt2/gpt2.dl"})


if __name__ == "__main__":
    main(sys.argv[1:])
