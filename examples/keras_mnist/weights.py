#!/usr/bin/env python3
"""Writes keras_mnist.safetensors beside keras_mnist.dl, or into FOLDER: seeded weights, the same
bytes every time.

usage: weights.py [FOLDER]"""
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import safetensors  # noqa: E402

# Keras's layouts: [height, width, in, out], [in, out].
KERNELS = (("conv2d", (3, 3, 1, 32)), ("conv2d_1", (3, 3, 32, 64)), ("conv2d_2", (3, 3, 64, 64)),
           ("dense", (4 * 4 * 64, 128)), ("head", (128, 10)))


def main(folder):
    random = np.random.RandomState(28)
    tensors = {}
    for name, shape in KERNELS:
        spread = np.sqrt(2.0 / np.prod(shape[:-1]))  # He: the variance of the activations stays
        tensors[name + ".kernel"] = (spread * random.standard_normal(shape)).astype(np.float32)
        tensors[name + ".bias"] = (0.1 * random.standard_normal(shape[-1])).astype(np.float32)
    for leaf, low, high in (("gamma", 0.5, 1.5), ("beta", -0.5, 0.5), ("moving_mean", -0.5, 0.5),
                            ("moving_variance", 0.5, 1.5)):
        tensors["batch_normalization." + leaf] = random.uniform(low, high, 64).astype(np.float32)
    safetensors.save(os.path.join(folder, "keras_mnist.safetensors"), tensors,
                     {"model": "examples/keras_mnist/keras_mnist.dl"})


main(sys.argv[1] if len(sys.argv) > 1 else HERE)
