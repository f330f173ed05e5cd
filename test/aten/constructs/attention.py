"""Attention: masks, positions, and the layers that PyTorch makes of it."""

import torch
from torch import nn
from torch.nn import functional as F

from constructs.construct import ROWS, case

t = torch.randn
attend = F.scaled_dot_product_attention
NONE = float("-inf")


def heads(queries, keys=None, count=4, groups=None, width=8):
    keys = keys or queries
    rest = (t(2, groups or count, keys, width) for _ in range(2))
    return (t(2, count, queries, width), *rest)


def hidden(places=6):
    """A mask in which a query sees nothing, and another row of the batch not the last keys."""
    mask = torch.rand(2, 1, places, places) > 0.3
    mask[0, 0, 1] = False
    mask[1, 0, :, -2:] = False
    return mask


LENGTHS = {"q": {2: "T"}, "k": {2: "T"}, "v": {2: "T"}}
OTHERS = {"q": {2: "T"}, "k": {2: "S"}, "v": {2: "S"}}


@case(lambda: [(*heads(6), hidden()), (*heads(6), hidden()), (*heads(6), hidden() & False)])
def bool_mask(q, k, v, mask):
    return attend(q, k, v, attn_mask=mask)


@case(lambda: [(*heads(6), t(2, 1, 6, 6).masked_fill(~hidden(), NONE)) for _ in range(2)])
def float_mask(q, k, v, mask):
    return attend(q, k, v, attn_mask=mask)


@case(lambda: [(*heads(5, 7), torch.full((5, 7), NONE)), (*heads(5, 7), t(5, 7))])
def float_mask_that_hides_all(q, k, v, mask):
    return attend(q, k, v, attn_mask=mask), attend(q[0], k[0], v[0], attn_mask=mask, scale=0.2)


def _spoilt():
    q, k, v = heads(6)
    mask = hidden() & (torch.arange(6) != 4)
    k[:, :, 4] = float("nan")
    return [(*heads(6), mask), (q, k, v, mask), (q, k.nan_to_num(), v, mask)]


@case(_spoilt)
def nan_behind_a_mask_by_hand(q, k, v, mask):
    """v has none: zero times NaN is NaN."""
    shares = (q @ k.mT).masked_fill(~mask, NONE).softmax(-1).masked_fill(~mask, 0.0)
    return shares @ v


@case(_spoilt)
def nan_behind_a_mask(q, k, v, mask):
    return attend(q, k, v, attn_mask=mask)


@case(lambda: [heads(n) for n in (6, 1, 2, 19)], dynamic=LENGTHS)
def causal(q, k, v):
    return attend(q, k, v, is_causal=True)


@case(lambda: [heads(*sizes) for sizes in ((3, 7), (1, 5), (7, 3), (6, 6))], dynamic=OTHERS)
def causal_of_other_keys(q, k, v):
    return attend(q, k, v, is_causal=True)


@case(lambda: [heads(5, 6, 6, 2), heads(5, 6, 6, 2), heads(9, 9, 6, 2)])
def groups_of_heads(q, k, v):
    plain = attend(q, k, v, enable_gqa=True)
    return (
        plain,
        attend(q, k, v, is_causal=True, enable_gqa=True),
        attend(q, k.repeat_interleave(3, 1), v.repeat_interleave(3, 1), scale=0.5),
    )


@case(lambda: [heads(6), heads(6)])
def other_ranks_and_widths(q, k, v):
    wide = attend(q, k, torch.cat((v, v[..., :3]), -1))
    return (
        wide,
        attend(q[0, 0], k[0, 0], v[0, 0]),
        attend(q[..., :1], k[..., :1], v),
        attend(q * 50, k * 50, v),
    )


@case(lambda: [(*heads(6), torch.arange(6).expand(2, 6) < n) for n in (4, 6, 1)])
def mask_of_keys(q, k, v, mask):
    return attend(q, k, v, attn_mask=mask[:, None, None]), attend(q, k, v, mask[:, None, :, None])


@case(lambda: [heads(n) for n in (6, 1, 17)], dynamic=LENGTHS)
def window(q, k, v):
    at = torch.arange(q.shape[2])
    away = at[:, None] - at
    return attend(q, k, v, attn_mask=(away >= 0) & (away < 4))


@case(lambda: [(t(2, 2, n, n),) for n in (5, 1, 8)], dynamic={"x": {2: "T", 3: "T"}})
def slopes(x):
    at = torch.arange(x.shape[-1])
    bias = (at - at[:, None]) * torch.tensor([0.25, 0.0625]).view(2, 1, 1)
    return torch.softmax(x + bias + torch.full_like(x, NONE).triu(1), -1)


@case(lambda: [(t(2, 2, 5, 5), hidden(5)) for _ in range(2)])
def masked_by_hand(scores, mask):
    shares = torch.softmax(scores.masked_fill(~mask, NONE), -1).masked_fill(~mask, 0.0)
    low = torch.softmax(torch.where(mask, scores, torch.finfo(scores.dtype).min), -1)
    return shares, low, torch.softmax(scores.masked_fill(~mask, NONE), -1).nan_to_num(0.0)


@case(lambda: [(t(2, 2, n, 8),) for n in (5, 1, 2, 31)], dynamic={"x": {2: "T"}})
def rotary(x):
    turns = 1.0 / 100.0 ** (torch.arange(0, 8, 2) / 8)
    angles = torch.outer(torch.arange(x.shape[2]).float(), turns)
    angles = torch.cat((angles, angles), -1)
    low, high = x.chunk(2, -1)
    return x * angles.cos() + torch.cat((-high, low), -1) * angles.sin()


@case(lambda: [(t(2, n, 3, 8),) for n in (5, 1, 31)], dynamic={"x": {1: "T"}})
def rotary_of_complex_numbers(x):
    turns = 1.0 / 100.0 ** (torch.arange(0, 8, 2) / 8)
    angles = torch.outer(torch.arange(x.shape[1]).float(), turns)
    spun = torch.view_as_complex(x.unflatten(-1, (-1, 2))) * torch.polar(
        torch.ones_like(angles), angles
    ).unsqueeze(1)
    return torch.view_as_real(spun).flatten(3)


@case(lambda: [t(n, 2, 4, 7) for n in (2, 1, 3)], dynamic=ROWS)
def relative_shift(x):
    padded = F.pad(x, (1, 0)).reshape(x.shape[0], 2, 8, 4)
    return padded[:, :, 1:].reshape(x.shape)[..., :4]


class Weights(nn.Module):
    """Attention that returns its weights."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(12, 3, batch_first=True)

    def forward(self, x, padding):
        each = self.attention(x, x, x, padding, average_attn_weights=False)
        return (
            each,
            self.attention(x, x, x, padding),
            self.attention(x, x, x, need_weights=False)[0],
        )


def padding(*kept, places=5):
    return torch.arange(places) >= torch.tensor(kept)[:, None]


case(lambda: [(t(2, 5, 12), padding(*kept)) for kept in ((5, 3), (2, 5))], "weights")(Weights)


@case(lambda: [(t(2, 5, 12), padding(*kept)) for kept in ((0, 3), (2, 0))], "all_keys_padded")
class AllKeysPadded(Weights):
    def forward(self, x, padding):
        return self.attention(x, x, x, padding, need_weights=False)[0]


@case(lambda: [(t(4, 2, 12), t(6, 2, 5), t(6, 2, 7), t(4, 6)) for _ in range(2)])
class OtherKeys(nn.Module):
    def __init__(self):
        super().__init__()
        options = {"kdim": 5, "vdim": 7, "add_bias_kv": True, "add_zero_attn": True}
        self.attention = nn.MultiheadAttention(12, 2, **options)

    def forward(self, q, k, v, mask):
        return self.attention(q, k, v, attn_mask=mask)


SIZED = {"x": {0: "N", 1: "T"}, "padding": {0: "N", 1: "T"}}


@case(lambda: [(t(2, 5, 12), padding(*kept)) for kept in ((5, 3), (1, 5))])
class Encoder(nn.Module):
    norm_first = False

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(
            *(12, 3, 20), batch_first=True, norm_first=self.norm_first, activation="gelu"
        )
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x, padding):
        return self.layers(x, src_key_padding_mask=padding)


@case(
    lambda: [
        (t(2, 5, 12), padding(5, 3)),
        (t(1, 3, 12), padding(2, places=3)),
        (t(3, 9, 12), padding(9, 1, 4, places=9)),
    ],
    dynamic=SIZED,
)
class EncoderOfAnySize(Encoder):
    norm_first = True


@case(lambda: [(t(2, 6, 12), t(2, 4, 12)) for _ in range(2)])
class EncoderAndDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Transformer(12, 2, 1, 1, 16, batch_first=True)

    def forward(self, source, target):
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        return self.layers(source, target, tgt_mask=mask, tgt_is_causal=True)
