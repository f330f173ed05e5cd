#!/usr/bin/env python3
"""Compares probabilities with labels.

usage: accuracy.py PROBABILITIES.npy LABELS.npy    (exit status 1 below 97 %)"""
import sys

import numpy as np

REQUIRED = 97.0


def main(probabilities, labels):
    classes = np.load(probabilities).argmax(axis=1)
    labels = np.load(labels)
    if classes.shape != labels.shape:
        sys.exit(f"error: {len(classes)} results for {len(labels)} labels")
    correct = int((classes == labels).sum())
    percent = 100.0 * correct / len(labels)
    print(f"Accuracy: {percent:.2f} % ({correct} of {len(labels)} unseen digits)")
    return 0 if percent >= REQUIRED else 1


if len(sys.argv) != 3:
    sys.exit(__doc__)
sys.exit(main(*sys.argv[1:]))
