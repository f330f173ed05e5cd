#!/usr/bin/env python3
"""Writes resnet18.safetensors beside resnet18.dl, or into FOLDER: seeded weights in torchvision's
names, 45 MB, the same bytes every time. He's initialisation, and batch-norm statistics as training
might leave them.

usage: weights.py [FOLDER]"""
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import safetensors  # noqa: E402

random = np.random.RandomState(18)
tensors = {}


def convolution(name, outputs, inputs, kernel):
    spread = np.sqrt(2.0 / (inputs * kernel * kernel))
    tensors[name + ".weight"] = (spread * random.standard_normal(
        (outputs, inputs, kernel, kernel))).astype(np.float32)


def batch_norm(name, channels, scale=1.0):
    """A scale below 1 on the last norm of a block keeps the sum of eight blocks from growing."""
    tensors[name + ".weight"] = (scale * random.uniform(0.8, 1.2, channels)).astype(np.float32)
    tensors[name + ".bias"] = (0.1 * random.standard_normal(channels)).astype(np.float32)
    tensors[name + ".running_mean"] = (0.2 * random.standard_normal(channels)).astype(np.float32)
    tensors[name + ".running_var"] = random.uniform(0.5, 2.0, channels).astype(np.float32)


def main(folder):
    convolution("conv1", 64, 3, 7)
    batch_norm("bn1", 64)
    inputs = 64
    for stage, channels in enumerate((64, 128, 256, 512), 1):
        for block in range(2):
            name = f"layer{stage}.{block}"
            convolution(name + ".conv1", channels, inputs, 3)
            batch_norm(name + ".bn1", channels)
            convolution(name + ".conv2", channels, channels, 3)
            batch_norm(name + ".bn2", channels, scale=0.4)
            if inputs != channels:
                convolution(name + ".downsample.0", channels, inputs, 1)
                batch_norm(name + ".downsample.1", channels)
            inputs = channels
    tensors["fc.weight"] = (random.standard_normal((1000, 512)) / np.sqrt(512)).astype(np.float32)
    tensors["fc.bias"] = (0.1 * random.standard_normal(1000)).astype(np.float32)
    safetensors.save(os.path.join(folder, "resnet18.safetensors"), tensors,
                     {"model": "examples/resnet18/resnet18.dl"})


main(sys.argv[1] if len(sys.argv) > 1 else HERE)
