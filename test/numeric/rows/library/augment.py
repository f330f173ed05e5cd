"""Random changes of images, by the numbers of a generator that is given."""
import numpy as np
import torch
from torch.nn import functional as F

import accuracy as acc
import philox
from rows.library.called import near
from rows.library.random import drawn


def uniform(generator, shape):
    """As f32 computes with them."""
    return torch.from_numpy(philox.uniform(generator, shape).astype(np.float32))


def share(generator, n, most):
    return (uniform(generator, (n, 1, 1, 1)).double() * 2 - 1) * most


def turned(dim, p):
    return lambda g, shape, x: torch.where(
        uniform(g, (shape[0], 1, 1, 1)) < p, x.flip([dim]), x)


def cropped(padding):
    def of(g, shape, x):
        offsets = torch.floor(uniform(g, (2, shape[0])) * (2 * padding + 1)).long()
        wide = F.pad(x, [padding] * 4)
        height, width = shape[2:]
        return torch.stack([
            one[:, top:top + height, left:left + width]
            for one, top, left in zip(wide, *offsets.tolist())
        ])

    return of


def mapped(x, rows):
    theta = torch.stack([torch.stack(row, -1) for row in rows], 1)
    return F.grid_sample(x, F.affine_grid(theta, x.shape, align_corners=False),
                         align_corners=False)


def rotated(degrees):
    def of(g, shape, x):
        x = x.double()
        angle = share(g, shape[0], np.deg2rad(degrees)).flatten()
        aspect, zero = shape[2] / shape[3], torch.zeros_like(angle)
        return mapped(x, [[angle.cos(), -angle.sin() * aspect, zero],
                          [angle.sin() / aspect, angle.cos(), zero]])

    return of


def zoomed(most):
    def of(g, shape, x):
        size = 1 + share(g, shape[0], most).flatten()
        zero = torch.zeros_like(size)
        return mapped(x.double(), [[size, zero, zero], [zero, size, zero]])

    return of


def spread(middle, most):
    def of(g, shape, x):
        x = x.double()
        return middle(x) + (x - middle(x)) * (1 + share(g, shape[0], most))

    return of


def grey(x):
    return (x * torch.tensor([0.299, 0.587, 0.114], dtype=x.dtype)[:, None, None]).sum(1, True)


def erased(most):
    def part(whole, size, begin):
        length = size[:, None] * np.float32(most) * whole
        first, places = begin[:, None] * (whole - length), torch.arange(whole, dtype=torch.float32)
        return (places >= first) & (places < first + length)

    def of(g, shape, x):
        draws = uniform(g, (4, shape[0]))
        rows, columns = part(shape[2], *draws[:2]), part(shape[3], *draws[2:])
        return torch.where(rows[:, None, :, None] & columns[:, None, None, :], 0.0, x.double())

    return of


for name, argument, expected, bound in (
    ("random_horizontal_flip", 0.3, turned(3, 0.3), acc.equal),
    ("random_vertical_flip", 0.6, turned(2, 0.6), acc.equal),
    ("random_crop", 2.0, cropped(2), acc.equal),
    ("random_rotation", 30.0, rotated(30), near(256)),
    ("random_zoom", 0.2, zoomed(0.2), near(256)),
    ("random_brightness", 0.4, spread(lambda x: 0.0, 0.4), near(16)),
    ("random_contrast", 0.4, spread(lambda x: x.mean((1, 2, 3), True), 0.4), near(32)),
    ("random_saturation", 0.4, spread(grey, 0.4), near(32)),
    ("random_erase", 0.5, erased(0.5), acc.equal),
):
    drawn(name, f"{name}(x1, {argument}, training=true, generator=x0)", expected, bound=bound,
          shape=("N", 3, 6, 5))
