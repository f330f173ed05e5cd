"""BERT and GPT-2 in plain PyTorch, from the weights by their names: what the examples of that name
must compute."""
import math

import torch
from torch.nn import functional as F


def _linear(w, name, x):
    return F.linear(x, w[name + ".weight"], w[name + ".bias"])


def _norm(w, name, x, eps):
    return F.layer_norm(x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"], eps)


def _split(x, heads):
    n, t, width = x.shape
    return x.reshape(n, t, heads, width // heads).transpose(1, 2)


def _attend(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]) + mask
    h = scores.softmax(-1) @ v
    return h.transpose(1, 2).flatten(2)


def bert(weights, heads, layers, input_ids, token_type_ids, attention_mask):
    """Weights and mask in f64 make it a reference. Gives the last hidden state and the pooler's
    output."""
    w, t = weights, input_ids.shape[1]
    x = F.embedding(input_ids, w["embeddings.word_embeddings.weight"])
    x = x + w["embeddings.position_embeddings.weight"][:t]
    x = x + F.embedding(token_type_ids, w["embeddings.token_type_embeddings.weight"])
    x = _norm(w, "embeddings.LayerNorm", x, 1e-12)
    mask = (1 - attention_mask)[:, None, None, :] * -10000.0
    for i in range(layers):
        name = f"encoder.layer.{i}"
        q, k, v = (_split(_linear(w, f"{name}.attention.self.{part}", x), heads)
                   for part in ("query", "key", "value"))
        h = _linear(w, name + ".attention.output.dense", _attend(q, k, v, mask))
        h = _norm(w, name + ".attention.output.LayerNorm", x + h, 1e-12)
        inner = F.gelu(_linear(w, name + ".intermediate.dense", h))
        x = _norm(w, name + ".output.LayerNorm", h + _linear(w, name + ".output.dense", inner),
                  1e-12)
    return x, torch.tanh(_linear(w, "pooler.dense", x[:, 0]))


def gpt2(weights, heads, layers, input_ids):
    """The logits of the token after the last one."""
    w, t = weights, input_ids.shape[1]

    def projection(name, x):  # stored [in, out]
        return x @ w[name + ".weight"] + w[name + ".bias"]

    x = F.embedding(input_ids, w["wte.weight"]) + w["wpe.weight"][:t]
    future = torch.full((t, t), float("-inf"), dtype=x.dtype).triu(1)
    for i in range(layers):
        name = f"h.{i}"
        q, k, v = (_split(part, heads)
                   for part in projection(name
                                          + ".attn.c_attn", _norm(w, name
                                                                  + ".ln_1", x, 1e-5)).chunk(3, -1))
        x = x + projection(name + ".attn.c_proj", _attend(q, k, v, future))
        inner = projection(name + ".mlp.c_fc", _norm(w, name + ".ln_2", x, 1e-5))
        inner = 0.5 * inner * (1
                               + torch.tanh(math.sqrt(2 / math.pi) * (inner + 0.044715 * inner**3)))
        x = x + projection(name + ".mlp.c_proj", inner)
    return _norm(w, "ln_f", x, 1e-5)[:, -1] @ w["wte.weight"].T
