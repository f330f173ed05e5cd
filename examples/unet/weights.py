#!/usr/bin/env python3
"""Writes unet.safetensors beside unet.dl, or into FOLDER: seeded weights, 69 MB, the same bytes
every time. He's initialisation, and batch-norm statistics as training might leave them.

usage: weights.py [FOLDER]"""
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import safetensors  # noqa: E402

random = np.random.RandomState(15)
tensors = {}


def convolution(name, inputs, outputs, kernel):
    spread = np.sqrt(2.0 / (inputs * kernel * kernel))
    tensors[name + ".weight"] = (spread * random.standard_normal(
        (outputs, inputs, kernel, kernel))).astype(np.float32)


def batch_norm(name, channels):
    tensors[name + ".weight"] = random.uniform(0.8, 1.2, channels).astype(np.float32)
    tensors[name + ".bias"] = (0.1 * random.standard_normal(channels)).astype(np.float32)
    tensors[name + ".running_mean"] = (0.2 * random.standard_normal(channels)).astype(np.float32)
    tensors[name + ".running_var"] = random.uniform(0.5, 2.0, channels).astype(np.float32)


def double_convolution(name, inputs, middle, outputs):
    name += ".double_conv"
    convolution(name + ".0", inputs, middle, 3)
    batch_norm(name + ".1", middle)
    convolution(name + ".3", middle, outputs, 3)
    batch_norm(name + ".4", outputs)


def main(folder):
    double_convolution("inc", 3, 64, 64)
    for level, (inputs, outputs) in enumerate(((64, 128), (128, 256), (256, 512), (512, 512)), 1):
        double_convolution(f"down{level}.maxpool_conv.1", inputs, outputs, outputs)
    for level, (inputs, middle, outputs) in enumerate(
        ((1024, 512, 256), (512, 256, 128), (256, 128, 64), (128, 64, 64)), 1):
        double_convolution(f"up{level}.conv", inputs, middle, outputs)
    convolution("outc.conv", 64, 2, 1)
    tensors["outc.conv.bias"] = (0.1 * random.standard_normal(2)).astype(np.float32)
    safetensors.save(os.path.join(folder, "unet.safetensors"), tensors,
                     {"model": "examples/unet/unet.dl"})


main(sys.argv[1] if len(sys.argv) > 1 else HERE)
