#!/usr/bin/env python3
"""Writes the unseen digits: images.npy (f32 [597,1,8,8]) and labels.npy (i64 [597]).

usage: images.py FOLDER"""
import os
import sys

import numpy as np

from digits import split


def main(folder):
    _, _, images, labels = split()
    os.makedirs(folder, exist_ok=True)
    np.save(os.path.join(folder, "images.npy"), images)
    np.save(os.path.join(folder, "labels.npy"), labels)
    print(f"{len(labels)} unseen digits in {folder}")


if len(sys.argv) != 2:
    sys.exit(__doc__)
main(sys.argv[1])
