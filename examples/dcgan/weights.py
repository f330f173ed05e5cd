#!/usr/bin/env python3
"""Writes dcgan.safetensors beside dcgan.dl, or into FOLDER: seeded weights, the same bytes every
time.

usage: weights.py [FOLDER]"""
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import safetensors  # noqa: E402

CHANNELS = (100, 512, 256, 128, 64, 3)


def main(folder):
    random = np.random.RandomState(64)
    tensors = {}
    for i, (before, after) in enumerate(zip(CHANNELS, CHANNELS[1:])):
        # Each pixel is fed by 4 of the 16 taps, the first layer's by one: the variance stays.
        spread = np.sqrt(2.0 / (before * (4 if i else 1)))
        tensors[f"main.{3 * i}.weight"] = (spread * random.standard_normal(
            (before, after, 4, 4))).astype(np.float32)
        if i + 1 < len(CHANNELS) - 1:
            norm = f"main.{3 * i + 1}"
            tensors[norm + ".weight"] = random.normal(1, 0.02, after).astype(np.float32)
            tensors[norm + ".bias"] = (0.1 * random.standard_normal(after)).astype(np.float32)
            tensors[norm + ".running_mean"] = (0.1 * random.standard_normal(after)).astype(
                np.float32)
            tensors[norm + ".running_var"] = random.uniform(0.5, 1.5, after).astype(np.float32)
    safetensors.save(os.path.join(folder, "dcgan.safetensors"), tensors,
                     {"model": "examples/dcgan/dcgan.dl"})


main(sys.argv[1] if len(sys.argv) > 1 else HERE)
