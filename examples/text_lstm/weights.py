#!/usr/bin/env python3
"""Writes text_lstm.safetensors and text_bilstm.safetensors beside the models, or into FOLDER:
seeded weights, the same bytes every time.

usage: weights.py [FOLDER]"""
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import safetensors  # noqa: E402

WORDS, WIDTH, HIDDEN, CLASSES = 5000, 100, 128, 4


def network(layers, directions):
    """name -> shape"""
    shapes = {"embedding.weight": (WORDS, WIDTH)}
    for layer in range(layers):
        for suffix in [f"_l{layer}", f"_l{layer}_reverse"][:directions]:
            shapes["lstm.weight_ih" + suffix] = (4 * HIDDEN,
                                                 HIDDEN * directions if layer else WIDTH)
            shapes["lstm.weight_hh" + suffix] = (4 * HIDDEN, HIDDEN)
            shapes["lstm.bias_ih" + suffix] = shapes["lstm.bias_hh" + suffix] = (4 * HIDDEN,)
    return {**shapes, "fc.weight": (CLASSES, HIDDEN * directions), "fc.bias": (CLASSES,)}


def main(folder):
    for name, layers, directions in (("text_lstm", 1, 1), ("text_bilstm", 2, 2)):
        random = np.random.RandomState(7)
        spread = {"embedding.weight": 1.0}  # the others as PyTorch initializes an LSTM
        tensors = {
            key: (spread.get(key, HIDDEN**-0.5) * random.uniform(-1, 1, shape)).astype(np.float32)
            for key, shape in network(layers, directions).items()
        }
        path = os.path.join(folder, name + ".safetensors")
        safetensors.save(path, tensors, {"model": f"examples/text_lstm/{name}.dl"})


main(sys.argv[1] if len(sys.argv) > 1 else HERE)
