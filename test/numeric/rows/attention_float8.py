"""Attention in e4m3, as FlashAttention-3 does it: query, key and value are cast from e4m3, weights are rounded to it, times 256.

The expected value has weights that are not rounded. As they are written they are parts of 256, kernels round them as parts of the
largest one: either moves a weight by up to 2^-4 of itself, or where it is below 2^-6 by 2^-10. Kernels that keep more of them are
within this bound, too. Hopper's tensor cores add 128 steps of k with some 14 bits (dlc_sums90.cuh states that bound)."""
import numpy as np
import torch

import accuracy as acc
from modules import tensor_type
from rows.attention import SPANS, scores_of
from rows.quantized import CUT_OFF, E4M3, Ops
from rows.row import row

FACTOR = 256
SCALE = 0.125


def attention(q, k, v, mask=None):
    scores = scores_of(q, k, SCALE)
    return FACTOR * (scores if mask is None else scores.masked_fill(~mask, -torch.inf)).softmax(-1) @ v


def bound(y, inputs, dtype):
    unit = acc.unit("f32")
    q, k, v = (x.abs() for x in inputs[:3])
    size = scores_of(q, k, SCALE).amax(-1, keepdim=True)
    moved = 2 * size * (CUT_OFF + (q.shape[-1] + 6) * unit) + (2 * k.shape[-2] + 24) * unit + 2.0**-4 + CUT_OFF
    weighted = attention(*inputs[:2], v, *inputs[3:])
    return (weighted * moved + 2.0**-10 * v.sum(-2, keepdim=True)).numpy() + acc.ulp(np.zeros_like(y), dtype)


def body_of(scores):
    """`scores`: their dims."""
    def body(names, types, y):
        ops, wide = Ops(), tensor_type(scores, "f32")
        q, k, v = (ops.cast(pair, "f32") for pair in list(zip(names, types))[:3])
        s = ops.add("contract", [q, k], wide, " {other_loops = array<i64: 0, 1, 3, 4>, rank = 4 : i64, x_loops = array<i64: 0, 1, 2, 4>}")
        s = ops.add("mul", [s, ops.full(SCALE, wide)], wide)
        if len(names) == 4:
            mask = ops.add("broadcast", [(names[3], types[3])], tensor_type(scores, "i1"))
            s = ops.add("where", [mask, s, ops.full("0xFF800000", wide)], wide)
        s = ops.add("softmax", [s], wide, " {dim = -1 : i64}")
        s = ops.add("mul", [s, ops.full(float(FACTOR), wide)], wide)
        s = ops.cast(ops.cast(s, E4M3), "f32")
        return ops.result(ops.add("contract", [s, v], y, " {other_loops = array<i64: 0, 1, 4, 3>, rank = 4 : i64, "
                                                         "x_loops = array<i64: 0, 1, 2, 4>}"))
    return body


def attention_row(rows, keys, depth, columns, note, sizes=SPANS, mask=None):
    shapes = [(1, 2, rows, depth), (1, 2, keys, depth), (1, 2, keys, columns)] + ([mask] if mask else [])
    row("scaled_dot_product_attention", (E4M3,), shapes, (1, 2, rows, columns), attention, bound, sizes=sizes, values="normal",
        kinds={1: (E4M3, "normal"), 2: (E4M3, "normal"), **({3: ("i1", "whole")} if mask else {})}, result_dtype="f32",
        body=body_of((1, 2, rows, keys)), note=f"e4m3, {note}")


for width, columns in ((64, 64), (128, 128), (64, 128), (128, 64), (32, 48)):
    attention_row(70, "N", width, columns, f"width {width}, {columns}")
attention_row("N", 150, 64, 64, "rows")
attention_row("N", "N", 128, 128, "as many rows as keys", sizes=(1, 128, 129, 300))
attention_row("N", 140, 64, 64, "bool mask", mask=("N", 140), sizes=(1, 17, 64, 129))
