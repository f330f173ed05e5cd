#!/usr/bin/env python3
"""Writes mnist.safetensors beside mnist.dl, or into FOLDER: seeded weights, the same bytes every
time.

usage: weights.py [FOLDER]"""
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import safetensors  # noqa: E402


def main(folder):
    random = np.random.RandomState(28)
    tensors = {}
    for name, shape in (("conv1", (32, 1, 3, 3)), ("conv2", (64, 32, 3, 3)),
                        ("conv3", (64, 64, 3, 3)), ("fc1", (128, 3136)), ("fc2", (10, 128))):
        spread = np.sqrt(2.0 / np.prod(shape[1:]))  # He: the variance of the activations stays
        tensors[name + ".weight"] = (spread * random.standard_normal(shape)).astype(np.float32)
        tensors[name + ".bias"] = (0.1 * random.standard_normal(shape[0])).astype(np.float32)
    safetensors.save(os.path.join(folder, "mnist.safetensors"), tensors,
                     {"model": "examples/mnist/mnist.dl"})


main(sys.argv[1] if len(sys.argv) > 1 else HERE)
