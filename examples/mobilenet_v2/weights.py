#!/usr/bin/env python3
"""Writes mobilenet_v2.safetensors beside mobilenet_v2.dl, or into FOLDER, in torchvision's names:
the numbers of FILE.pth, a state_dict that torch.save wrote, or seeded ones, 14 MB, the same bytes
every time. NAME=VALUE sets a constant of mobilenet_v2.dl.

usage: weights.py [FOLDER] [FILE.pth] [CLASSES=10 ...]"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import state_dict  # noqa: E402

# How often a block widens its input, its outputs in units of W, how many there are.
BLOCKS = ((1, 2, 1), (6, 3, 2), (6, 4, 3), (6, 8, 4), (6, 12, 3), (6, 20, 3), (6, 40, 1))


def seeded(sizes):
    net, w, index = state_dict.Seeded(2), sizes["W"], 1

    def conv_bn(name, outputs, inputs, kernel):
        net.conv(name + ".0", outputs, inputs, kernel)
        net.batch_norm(name + ".1", outputs)

    inputs = 4 * w
    conv_bn("features.0", inputs, 3, 3)
    for expand, outputs, count in BLOCKS:
        for _ in range(count):
            name, hidden, last = f"features.{index}.conv", expand * inputs, 1 if expand == 1 else 2
            if expand > 1:
                conv_bn(name + ".0", hidden, inputs, 1)
            conv_bn(f"{name}.{last - 1}", hidden, 1, 3)  # one input channel in each group
            net.conv(f"{name}.{last}", outputs * w, hidden, 1)
            net.batch_norm(f"{name}.{last + 1}", outputs * w, scale=0.6)
            inputs, index = outputs * w, index + 1
    conv_bn(f"features.{index}", 160 * w, inputs, 1)
    net.linear("classifier.1", sizes["CLASSES"], 160 * w)
    return net


state_dict.main(__file__, sys.argv[1:], {"SIZE": 224, "W": 8, "CLASSES": 1000}, seeded)
