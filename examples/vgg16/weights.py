#!/usr/bin/env python3
"""Writes vgg16.safetensors beside vgg16.dl, or into FOLDER, in torchvision's names: the numbers of
FILE.pth, a state_dict that torch.save wrote, or seeded ones, 537 MB, the same bytes every time.
NAME=VALUE sets a constant of vgg16.dl; torchvision's own checkpoint needs CLASSES=1000 in both.

usage: weights.py [FOLDER] [FILE.pth] [CLASSES=10 ...]"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import state_dict  # noqa: E402

CONVOLUTIONS = {
    0: 1, 2: 1, 5: 2, 7: 2, 10: 4, 12: 4, 14: 4, 17: 8, 19: 8, 21: 8, 24: 8, 26: 8, 28: 8
}  # place: outputs / W


def seeded(sizes):
    net, inputs = state_dict.Seeded(16), 3
    for place, width in CONVOLUTIONS.items():
        outputs = width * sizes["W"]
        net.conv(f"features.{place}", outputs, inputs, 3)
        net.bias(f"features.{place}", outputs)
        inputs = outputs
    for place, outputs, inputs in ((0, sizes["HIDDEN"], 49 * inputs),
                                   (3, sizes["HIDDEN"], sizes["HIDDEN"]), (6, sizes["CLASSES"],
                                                                           sizes["HIDDEN"])):
        net.linear(f"classifier.{place}", outputs, inputs)
    return net


state_dict.main(__file__, sys.argv[1:], {"SIZE": 224, "W": 64, "HIDDEN": 4096, "CLASSES": 5},
                seeded)
