"""A decoder of com.microsoft whose caches are states, and what it gives in three steps of two
tokens. microsoft_states.py FOLDER"""
import math
import os
import sys

import numpy as np
from onnx_writer import model, node, tensor, value

TEXTS, STEPS, TOKENS = 2, 3, 2
random = np.random.default_rng(43)
folder = sys.argv[1]


def size_of(x, place, name):
    return [node("Shape", x, name + "_shape"), node("Gather", f"{name}_shape, {place}", name)]


nodes = [
    *size_of("pk", "two", "P"), *size_of("q", "one", "T"), *size_of("q", "zero", "N"),
    node("Add", "P, T", "S"),
    node("Cast", "S", "total", to=6),
    node("Sub", "S, one", "end"),
    node("Cast", "end", "end32", to=6),
    node("Expand", "end32, N", "last"),
    node("GroupQueryAttention", "q, k, v, pk, pv, last, total, c, s", "y, nk, nv",
         domain="com.microsoft", num_heads=4, kv_num_heads=2, do_rotary=1)
]
angles = np.outer(np.arange(32), [1, 0.1, 0.01, 0.001])
inputs = [
    value(name, dims=dims)
    for name, dims in (("q", ("N", "T", 32)), ("k", ("N", "T", 16)), ("v", ("N", "T", 16)),
                       ("pk", ("N", 2, "P", 8)), ("pv", ("N", 2, "P", 8)))
]
tensors = [
    tensor(name, "i64", [1], [number]) for name, number in (("zero", 0), ("one", 1), ("two", 2))
]
tensors += [
    tensor(name, "f32", [32, 4],
           wave.ravel().tolist()) for name, wave in (("c", np.cos(angles)), ("s", np.sin(angles)))
]
with open(os.path.join(folder, "decoder.onnx"), "wb") as out:
    out.write(model(nodes, inputs, ("y", "nk", "nv"), tensors, opsets=[("com.microsoft", 1)]))


def turned(x):
    """[N, T, heads, 8] of all positions."""
    wave = np.exp(1j * angles[:x.shape[1], None])
    both = (x[..., :4] + 1j * x[..., 4:]) * wave
    return np.concatenate([both.real, both.imag], -1)


q, k, v = (random.standard_normal((STEPS, TEXTS, TOKENS, width)).astype(np.float32)
           for width in (32, 16, 16))
for name, array in (("q", q), ("k", k), ("v", v)):
    np.save(os.path.join(folder, f"{name}.npy"), array)
q, k, v = (one.astype(np.float64).swapaxes(0, 1).reshape(TEXTS, STEPS * TOKENS, -1, 8)
           for one in (q, k, v))
q, k = turned(q), turned(k)
scores = np.einsum("nqhd,nkhd->nhqk", q, k.repeat(2, 2)) / math.sqrt(8)
scores = np.where(np.tri(STEPS * TOKENS, dtype=bool), scores, -np.inf)
weights = np.exp(scores - scores.max(-1, keepdims=True))
y = np.einsum("nhqk,nkhd->nqhd", weights / weights.sum(-1, keepdims=True), v.repeat(2, 2))
np.save(os.path.join(folder, "y.npy"),
        y.reshape(TEXTS, STEPS, TOKENS, 32).swapaxes(0, 1).astype(np.float32))
