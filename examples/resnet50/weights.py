#!/usr/bin/env python3
"""Writes resnet50.safetensors beside resnet50.dl, or into FOLDER, in torchvision's names: the
numbers of FILE.pth, a state_dict that torch.save wrote, or seeded ones, 102 MB, the same bytes
every time. NAME=VALUE sets a constant of resnet50.dl.

usage: weights.py [FOLDER] [FILE.pth] [CLASSES=10 ...]"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import state_dict  # noqa: E402


def seeded(sizes):
    net, width, inputs = state_dict.Seeded(50), sizes["WIDTH"], sizes["WIDTH"]
    net.conv("conv1", width, 3, 7)
    net.batch_norm("bn1", width)
    for stage, count in enumerate((3, 4, 6, 3)):
        channels = width << stage
        for block in range(count):
            name = f"layer{stage + 1}.{block}"
            net.conv(name + ".conv1", channels, inputs, 1)
            net.batch_norm(name + ".bn1", channels)
            net.conv(name + ".conv2", channels, channels, 3)
            net.batch_norm(name + ".bn2", channels)
            net.conv(name + ".conv3", 4 * channels, channels, 1)
            net.batch_norm(name + ".bn3", 4 * channels, scale=0.4)
            if block == 0:
                net.conv(name + ".downsample.0", 4 * channels, inputs, 1)
                net.batch_norm(name + ".downsample.1", 4 * channels)
            inputs = 4 * channels
    net.linear("fc", sizes["CLASSES"], inputs)
    return net


state_dict.main(__file__, sys.argv[1:], {"SIZE": 224, "WIDTH": 64, "CLASSES": 1000}, seeded)
