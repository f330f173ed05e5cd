#!/usr/bin/env python3
"""Writes the unseen digits, images.npy (f32 [597,1,8,8]) and labels.npy (i64 [597]), and 300 of
those that training saw, calibration.npz (x: f32 [300,1,8,8]), for `dlc compile --calib`. For
`dlc train`, train.npz and test.npz (x and labels): the 1,200 of training, and the unseen ones.

usage: images.py FOLDER"""
import os
import sys

import numpy as np

from digits import split


def main(folder):
    seen, classes, images, labels = split()
    os.makedirs(folder, exist_ok=True)
    np.save(os.path.join(folder, "images.npy"), images)
    np.save(os.path.join(folder, "labels.npy"), labels)
    np.savez(os.path.join(folder, "calibration.npz"), x=seen[:300])
    np.savez(os.path.join(folder, "train.npz"), x=seen, labels=classes)
    np.savez(os.path.join(folder, "test.npz"), x=images, labels=labels)
    print(f"{len(labels)} unseen digits in {folder}")


if len(sys.argv) != 2:
    sys.exit(__doc__)
main(sys.argv[1])
