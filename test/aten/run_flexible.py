#!/usr/bin/env python3
"""PyTorch's flex_attention compiled by dlc, against eager PyTorch. On demand: it needs a PyTorch
with this op (2.9 and later) and the package `dlc`.

  PYTHONPATH=build/python python3 test/aten/run_flexible.py           all of them
  PYTHONPATH=build/python python3 test/aten/run_flexible.py PART...   names that have a PART in them
"""

import sys

import torch
from torch import nn
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from module_cases import Checks

SLOPES = torch.tensor([0.5, 0.25])


class Attention(nn.Module):
    def __init__(self, score=None, mask=None, groups=1):
        super().__init__()
        self.score, self.mask, self.groups = score, mask, groups

    def forward(self, q, k, v):
        mask = None
        if self.mask is not None:
            mask = create_block_mask(
                self.mask, None, None, q.shape[2], k.shape[2], device=str(q.device)
            )
        return flex_attention(
            q, k, v, score_mod=self.score, block_mask=mask, enable_gqa=self.groups > 1
        )


class Biased(nn.Module):
    """A score has a bias that the module has learnt."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(2)
        self.bias = nn.Parameter(torch.randn(2, 64))

    def forward(self, q, k, v):
        def score(s, b, h, i, j):
            return s + self.bias[h, (i - j).abs()]

        return flex_attention(q, k, v, score_mod=score)


class Packed(nn.Module):
    """Sequences one after another, each of which sees itself. Their positions begin at 0."""

    def forward(self, q, k, v):
        places = torch.arange(q.shape[2]) % 7
        starts = torch.diff(places, prepend=places[:1] - 1, dim=-1) != 1
        sequence = starts.cumsum(-1)
        mask = (sequence[:, None] == sequence) & (places[:, None] >= places)
        return nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def calls(*lengths, heads=2, keys=2):
    torch.manual_seed(1)
    return [
        (
            torch.randn(2, heads, length, 16),
            torch.randn(2, keys, length, 16),
            torch.randn(2, keys, length, 16),
        )
        for length in lengths
    ]


def _sliding(b, h, i, j):
    return (i >= j) & (i - j < 5)


def main():
    checks = Checks(sys.argv[1:])
    for name, module in {
        "plain": Attention(),
        "causal": Attention(mask=lambda b, h, i, j: i >= j),
        "a sliding window": Attention(mask=_sliding),
        "rows that see nothing": Attention(mask=lambda b, h, i, j: (i > 3) & (i >= j)),
        "relative positions": Attention(lambda s, b, h, i, j: s + (i - j) * 0.1),
        "slopes of heads": Attention(lambda s, b, h, i, j: s - SLOPES[h] * (i - j).abs()),
        "capped scores": Attention(lambda s, b, h, i, j: (s / 20).tanh() * 20, _sliding),
        "a learnt bias": Biased(),
        "packed sequences": Packed(),
    }.items():
        checks.compiled(name, module, calls(16, 24), dynamic=None)
        sized = {name: {2: "T"} for name in "qkv"}
        checks.exported(name, module, calls(16, 24), sized)
        checks.exported(name + ", static", module, calls(16))
    grouped = Attention(mask=lambda b, h, i, j: i >= j, groups=2)
    checks.compiled("groups of heads", grouped, calls(16, 24, heads=4))
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
