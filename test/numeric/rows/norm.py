"""Normalizations."""
import torch
from torch.nn import functional as F

import accuracy as acc
from rows.row import BOUNDARY, FLOATS, POSITIVE, row

NORM = lambda x, m, v, *affine: F.batch_norm(x, m, v, *affine, eps=1e-3)
row("batch_norm", FLOATS, [("N", 5, 3, 3)] + 4 * [(5, )], ("N", 5, 3, 3), NORM,
    acc.of_batch_norm(1e-3), attrs="{eps = 1.0e-3 : f64}", values="positive")
row("batch_norm", ("f32",), [("N", 9), (9,), (9,)], ("N", 9), NORM, acc.of_batch_norm(1e-3),
    attrs="{eps = 1.0e-3 : f64}", values="positive", note="not affine")


def rms(x, weight):
    return x / (x.square().mean(-1, keepdim=True) + 1e-3).sqrt() * weight


LAYER = lambda x, *affine: F.layer_norm(x, x.shape[-1:], *affine, eps=1e-3)
ATTRS = "{normalized_shape = array<i64: 33>, eps = 1.0e-3 : f64}"
row("layer_norm", FLOATS, [("N", 33), (33, ), (33, )], ("N", 33), LAYER, acc.of_norm((1, ), 1e-3),
    attrs=ATTRS, values="normal")
row("layer_norm", FLOATS, [("N", 512), (512, ), (512, )], ("N", 512), LAYER, acc.of_norm(
    (1, ), 1e-3), attrs="{normalized_shape = array<i64: 512>, eps = 1.0e-3 : f64}", values="normal",
    sizes=BOUNDARY[:6], note="whole vectors")
row("layer_norm", ("f32", ), [("N", 33), (33, )], ("N", 33), LAYER, acc.of_norm((1, ), 1e-3),
    attrs=ATTRS, values="normal", note="without bias")
row("layer_norm", ("f32", "f16"), [("N", 3, 11)], ("N", 3, 11), lambda x: F.layer_norm(x, (3, 11)),
    acc.of_norm((1, 2), 1e-5), attrs="{normalized_shape = array<i64: 3, 11>}", values="normal",
    note="two dims")
row("layer_norm", ("f32", ), [("N", 200)], ("N", 200), lambda x: F.layer_norm(x + 0, (200, )),
    acc.of_norm((1, ), 1e-5), attrs="{normalized_shape = array<i64: 200>}", values="bytes",
    note="far from 0")
row("standardize", ("f32", ), [(3, "N"), (3, ), (3, )], (3, "N"),
    lambda x, w, b: F.layer_norm(x, x.shape[1:], eps=1e-3) * w[:, None] + b[:, None],
    acc.of_norm((1, ), 1e-3, lambda t: t[:, None]),
    attrs="{dims = array<i64: 1>, affine_dims = array<i64: 0>, eps = 1.0e-3 : f64}", sizes=POSITIVE,
    values="normal", note="over N")
row("rms_norm", FLOATS, [("N", 33), (33,)], ("N", 33), rms, acc.contraction(44, rms),
    attrs="{normalized_shape = array<i64: 33>, eps = 1.0e-3 : f64}", values="normal")
OF_GROUPS = lambda x, *affine: F.group_norm(x, 3, *affine, eps=1e-3)
row(
    "group_norm", FLOATS, [("N", 6, 5, 4), (6, ), (6, )], ("N", 6, 5, 4), OF_GROUPS,
    acc.of_norm((2, 3, 4), 1e-3, lambda t: t.reshape(3, 2, 1, 1),
                lambda x: x.reshape(-1, 3, 2, 5, 4)),
    attrs="{num_groups = 3 : i64, eps = 1.0e-3 : f64}", values="normal")
row("group_norm", ("f32", ), [(2, 4, "N")], (2, 4, "N"), lambda x: F.group_norm(x, 2, eps=1e-3),
    acc.of_norm((2, 3), 1e-3, None, lambda x: x.reshape(2, 2, 2, x.shape[2])),
    attrs="{num_groups = 2 : i64, eps = 1.0e-3 : f64}", sizes=POSITIVE, values="normal",
    note="over N")
row("instance_norm", FLOATS, [("N", 3, 6, 7), (3, ), (3, )], ("N", 3, 6, 7), lambda x, w, b:
    (F.layer_norm(x, (6, 7), eps=1e-3) * w[:, None, None] + b[:, None, None]),
    acc.of_norm((2, 3), 1e-3,
                lambda t: t[:, None, None]), attrs="{eps = 1.0e-3 : f64}", values="normal")
row("normalize", FLOATS, [("N", 9)], ("N", 9), lambda x: F.normalize(x, eps=1e-12),
    acc.of_normalized(20), attrs="{dim = 1 : i64}", values="normal")
