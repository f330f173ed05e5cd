"""Resize of a row, by the coordinates that the standard's formulas give."""
import math

import numpy as np


def place(mode, x, size, length, scale, region):
    width = size * scale
    if mode == "half_pixel_symmetric":
        return size / 2 * (1 - length / width) + (x + 0.5) / scale - 0.5
    if mode == "pytorch_half_pixel":
        return (x + 0.5) / scale - 0.5 if length > 1 else 0
    if mode == "align_corners":
        return x * (size - 1) / ((width if scale < 1 else length) - 1) if length > 1 else 0
    if mode == "asymmetric":
        return x / scale
    if mode == "tf_half_pixel_for_nn":
        return (x + 0.5) / scale
    if mode == "tf_crop_and_resize":
        low, high = region
        return low * (size - 1) + x * (high - low) * (size - 1) / (length - 1) if length > 1 else (
            low + high) * (size - 1) / 2
    return (x + 0.5) / scale - 0.5


def nearest(at, mode):
    return {
        "floor": math.floor(at), "ceil": math.ceil(at), "round_prefer_floor": math.ceil(at - 0.5),
        "round_prefer_ceil": math.floor(at + 0.5)
    }[mode]


def cubic(distance, a):
    d = abs(distance)
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a if d < 2 else 0


def resized(row, length, scale, mode, position, rounding="round_prefer_floor", region=None, a=-0.75,
            excludes=False, antialias=False):
    size, found = len(row), []
    for x in range(length):
        at = place(position, x, size, length, scale, region)
        if position == "tf_crop_and_resize" and not 0 <= at <= size - 1:
            found.append(9.0)
        elif mode == "nearest":
            found.append(row[min(max(nearest(at, rounding), 0), size - 1)])
        else:
            shrink = min(scale, 1) if antialias else 1
            reach = int(math.ceil((2 if mode == "cubic" else 1) / shrink)) + 1
            taps = range(math.floor(at) - reach, math.floor(at) + reach + 1)
            weights = [
                cubic((tap - at)
                      * shrink, a) if mode == "cubic" else max(1 - abs((tap - at) * shrink), 0)
                for tap in taps
            ]
            if excludes:
                weights = [weight if 0 <= tap < size else 0 for tap, weight in zip(taps, weights)]
            total = sum(weights) if excludes or antialias else 1
            found.append(
                sum(weight * row[min(max(tap, 0), size - 1)]
                    for tap, weight in zip(taps, weights)) / total)
    return np.array(found).reshape(1, 1, length)
