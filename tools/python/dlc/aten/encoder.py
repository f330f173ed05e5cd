"""PyTorch's fused layers of transformers, which torch.compile meets in evaluation mode, as ops that
have rows."""

import math

import torch
from torch.nn import functional as F

#: What a mask is: of queries by keys, of keys for each text, or of all of these and heads.
_OF_KEYS = 1


def _heads(x, weight, bias, number):
    """[batch,L,E] as [batch,number,L,E/number], times a part of the joined weight."""
    y = F.linear(x, weight, bias)
    return y.view(*y.shape[:2], number, y.shape[2] // number).transpose(1, 2)


def _shown(mask, mask_type):
    """Which keys a query sees; a mask has them as 0 or false."""
    if mask is None:
        return None
    shown = mask == 0 if mask.dtype != torch.bool else ~mask
    return shown[:, None, None, :] if mask_type == _OF_KEYS else shown


def _attention(
    query,
    key,
    value,
    embed_dim,
    num_head,
    qkv_weight,
    qkv_bias,
    proj_weight,
    proj_bias,
    mask=None,
    need_weights=True,
    average_attn_weights=True,
    mask_type=None,
):
    weights, biases = qkv_weight.chunk(3), qkv_bias.chunk(3)
    q, k, v = (
        _heads(x, weight, bias, num_head)
        for x, weight, bias in zip((query, key, value), weights, biases)
    )
    shown = _shown(mask, mask_type)
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=shown).transpose(1, 2)
    y = F.linear(y.reshape(*query.shape[:2], embed_dim), proj_weight, proj_bias)
    if not need_weights:
        return y, query.new_empty(0)
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if shown is not None:
        scores = scores.masked_fill(~shown, -math.inf)
    found = torch.softmax(scores, -1)
    return y, found.mean(1) if average_attn_weights else found


def _encoder_layer(
    src,
    embed_dim,
    num_heads,
    qkv_weight,
    qkv_bias,
    proj_weight,
    proj_bias,
    use_gelu,
    norm_first,
    eps,
    norm_weight_1,
    norm_bias_1,
    norm_weight_2,
    norm_bias_2,
    ffn_weight_1,
    ffn_bias_1,
    ffn_weight_2,
    ffn_bias_2,
    mask=None,
    mask_type=None,
):
    def first_norm(x):
        return F.layer_norm(x, (embed_dim,), norm_weight_1, norm_bias_1, eps)

    def second_norm(x):
        return F.layer_norm(x, (embed_dim,), norm_weight_2, norm_bias_2, eps)

    def attend(x):
        return _attention(
            *(x, x, x, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask),
            need_weights=False,
            mask_type=mask_type,
        )[0]

    def feed(x):
        y = F.linear(x, ffn_weight_1, ffn_bias_1)
        return F.linear(F.gelu(y) if use_gelu else F.relu(y), ffn_weight_2, ffn_bias_2)

    if norm_first:
        src = src + attend(first_norm(src))
        return src + feed(second_norm(src))
    src = first_norm(src + attend(src))
    return second_norm(src + feed(src))


DECOMPOSITIONS = {
    torch.ops.aten._native_multi_head_attention.default: _attention,
    torch.ops.aten._transformer_encoder_layer_fwd.default: _encoder_layer,
}
