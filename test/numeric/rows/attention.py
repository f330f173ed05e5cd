"""Attention, against its formula in double precision: PyTorch 1.13 has no public function for it."""
import numpy as np
import torch

import accuracy as acc
from rows.row import BOUNDARY, FLOATS, POSITIVE, row

NAME = "scaled_dot_product_attention"


def scores_of(q, k, scale=None):
    return q @ k.transpose(-2, -1) * (q.shape[-1] ** -0.5 if scale is None else scale)


def attention(q, k, v, mask=None, scale=None, causal=False, gqa=False):
    if gqa:
        k, v = (t.repeat_interleave(q.shape[-3] // t.shape[-3], -3) for t in (k, v))
    scores = scores_of(q, k, scale)
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), -torch.inf)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
    return scores.softmax(-1) @ v


def of_attention(**arguments):
    """Scores lose E + 2 units of sum|q||k| and, in 16 bits, one of their own for each time that they are stored; that moves
    the weights by as much, and they and the second sum lose a unit for each of S terms."""
    def bound(y, inputs, dtype):
        u, stored = acc.unit(acc.compute(dtype)), acc.unit(dtype) if dtype != acc.compute(dtype) else 0.0
        if dtype == "f64":
            u *= 2  # the expected value is no more exact
        q, k, v = (t.abs() for t in inputs[:3])
        if arguments.get("gqa"):
            k = k.repeat_interleave(q.shape[-3] // k.shape[-3], -3)
        size = scores_of(q, k, arguments.get("scale"))
        if len(inputs) == 4 and inputs[3].dtype != torch.bool:
            size = size + inputs[3].abs()
        terms = k.shape[-2]
        worst = size.amax(-1, keepdim=True) if terms else size.sum(-1, keepdim=True)
        moved = 2 * worst * ((q.shape[-1] + 6) * u + 3 * stored) + (2 * terms + 24) * u + 4 * stored
        weighted = attention(*inputs[:2], v, *inputs[3:], **arguments)
        return (weighted * moved).numpy() + 2 * stored * np.abs(y) + acc.ulp(np.zeros_like(y), dtype)
    return bound


def attention_row(dtypes, q, k, v, result, note, sizes=(1, 2, 7, 8, 17, 33), mask=None, kind=None, attrs="", **arguments):
    row(NAME, dtypes, [q, k, v] + ([mask] if mask else []), result, lambda *t: attention(*t, **arguments),
        of_attention(**arguments), attrs=attrs, sizes=sizes, values="normal", note=note, kinds={3: kind} if kind else {})


attention_row(FLOATS, (2, 3, "N", 8), (2, 3, 9, 8), (2, 3, 9, 5), (2, 3, "N", 5), "L = N")
attention_row(("f32", "f16"), (2, 5, 16), (2, "N", 16), (2, "N", 16), (2, 5, 16), "S = N", sizes=POSITIVE)
attention_row(("f32",), ("N", 8), ("N", 8), ("N", 8), ("N", 8), "rank 2, scale", scale=0.25, attrs="{scale = 0.25 : f64}")
attention_row(("f32",), (2, 3, 4, 8), (1, 3, "N", 8), (3, "N", 8), (2, 3, 4, 8), "broadcast")
for q, k in (("N", "N"), ("N", 9), (5, "N")):
    attention_row(("f32", "bf16"), (2, 2, q, 8), (2, 2, k, 8), (2, 2, k, 8), (2, 2, q, 8), f"causal, {q} and {k}",
                  attrs="{is_causal = true}", causal=True)
attention_row(("f32", "f16"), (2, 3, 6, 8), (2, 3, "N", 8), (2, 3, "N", 8), (2, 3, 6, 8), "float mask", mask=(2, 1, 6, "N"))
attention_row(("f32",), (2, 3, "N", 8), (2, 3, 7, 8), (2, 3, 7, 8), (2, 3, "N", 8), "float mask of columns", mask=(7,))
attention_row(("f32",), (2, 6, "N", 8), (2, 2, 7, 8), (2, 2, 7, 8), (2, 6, "N", 8), "shared heads, masked", mask=(6, "N", 7),
              attrs="{enable_gqa = true}", gqa=True)
attention_row(("f32", "f16"), (2, 6, "N", 8), (2, 3, "N", 8), (2, 3, "N", 8), (2, 6, "N", 8), "shared heads, causal",
              attrs="{enable_gqa = true, is_causal = true}", gqa=True, causal=True)
# A row that attends to nothing is NaN here and there.
attention_row(("f32", "f16"), (2, 3, "N", 8), (2, 3, 9, 8), (2, 3, 9, 8), (2, 3, "N", 8), "bool mask", mask=(2, 1, "N", 9),
              kind=("i1", "whole"))
row("causal_mask", FLOATS, [], (7, 9), lambda: torch.full((7, 9), -torch.inf, dtype=torch.float64).triu(1), sizes=(1,),
    body=lambda names, types, result: f"%y = dl.causal_mask : () -> {result}")
