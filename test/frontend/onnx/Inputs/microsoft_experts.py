"""Mixtures of experts of com.microsoft. microsoft_experts.py FOLDER; the last line is "N passed, N
failed". The reference computes token by token; its results are those of ONNX Runtime 1.32, which
rounds the tokens as well where its weights have 8 bits in blocks."""
import math
import sys

import numpy as np
from op_values import Cases, rounded

random = np.random.default_rng(41)
cases = Cases()
OPSET = 17
TOKENS, WIDTH, INNER, EXPERTS = 5, 16, 32, 4


def drawn(*shape, dtype="f32", by=1.0):
    return dtype, rounded(random.standard_normal(shape) * by, dtype)


def wide(operand):
    return operand[1].astype(np.float64)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gelu(x):
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


PLAIN = {
    "relu": lambda x: np.maximum(x, 0), "relu2": lambda x: np.maximum(x, 0)**2,
    "silu": lambda x: x * sigmoid(x), "gelu": gelu, "identity": lambda x: x
}


def gated(kind, gate, up, activation_alpha=1.0, activation_beta=0.0, swiglu_limit=np.inf):
    if kind == "geglu":
        return gelu(gate) * up
    gate, up = np.minimum(gate, swiglu_limit), np.clip(up, -swiglu_limit, swiglu_limit)
    return gate * sigmoid(activation_alpha * gate) * (up + activation_beta)


def mixed(x, scores, layers, kind, count, fusion=0, normalizes=0, shares=None, **named):
    """`layers`: (weight [experts, outputs, inputs], bias) of each, None where there is none."""
    if shares is None:
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        shares /= shares.sum(-1, keepdims=True)
    y = np.zeros_like(x)
    for token in range(len(x)):
        best = np.argsort(-scores[token])[:count]
        whole = shares[token, best].sum() if normalizes else 1
        for expert in best:
            first, second, third = (layer and
                                    (lambda of, w=layer[0][expert], b=layer[1][expert]: w @ of + b)
                                    for layer in layers)
            inner = first(x[token])
            if kind in PLAIN:
                inner = PLAIN[kind](inner) * (third(x[token]) if third else 1)
            else:
                parts = (inner, third(x[token])) if fusion == 0 else (
                    inner[::2], inner[1::2]) if fusion == 1 else np.split(inner, 2)
                inner = gated(kind, *parts, **named)
            y[token] += shares[token, expert] / whole * second(inner)
    return y


def add(op, inputs, y, known, dtype="f32", **attributes):
    while inputs[-1] is None:
        inputs.pop()
    cases.add(op, inputs, [(dtype, y)], OPSET, known=known, within=dtype, domain="com.microsoft",
              **attributes)


def experts(kind, count=2, fusion=0, normalizes=0, third=False, biased=True, shape=(TOKENS, WIDTH),
            dtype="f32", known=True, **named):
    rows = 2 * INNER if fusion else INNER
    weights = [
        drawn(EXPERTS, *size, dtype=dtype, by=0.25)
        for size in ((rows, WIDTH), (WIDTH, INNER), (INNER, WIDTH))
    ]
    biases = [
        drawn(EXPERTS, size, dtype=dtype) if biased else None for size in (rows, WIDTH, INNER)
    ]
    layers = [(wide(weight), wide(bias) if bias else np.zeros((EXPERTS, 1)))
              for weight, bias in zip(weights, biases)]
    x, scores = drawn(*shape, dtype=dtype), drawn(TOKENS, EXPERTS, dtype=dtype)
    y = mixed(
        wide(x).reshape(TOKENS, WIDTH), wide(scores), [*layers[:2], layers[2] if third else None],
        kind, count, fusion, normalizes, **named)
    inputs = [
        x, scores,
        *(operand for pair in list(zip(weights, biases))[:3 if third else 2] for operand in pair)
    ]
    add("MoE", inputs, y.reshape(shape), (2, 3, 4, 5, 6, 7) if known else (), dtype,
        activation_type=kind, k=count, normalize_routing_weights=normalizes,
        **({"swiglu_fusion": fusion} if fusion else {}), **named)


for kind in PLAIN:
    experts(kind)
    experts(kind, third=True, normalizes=1)
limits = {"activation_alpha": 1.5, "activation_beta": 1.0, "swiglu_limit": 0.5}
for fusion in (0, 1, 2):
    for named in ({}, limits):
        experts("swiglu", fusion=fusion, third=fusion == 0, normalizes=1, **named)
    experts("geglu", fusion=fusion, third=fusion == 0)
experts("relu", count=1)
experts("relu", count=EXPERTS, biased=False, known=False)
experts("silu", shape=(1, TOKENS, WIDTH), normalizes=1)
experts("swiglu", fusion=1, dtype="f16")


# Weights of few bits: bytes of neighbours, the first one in the lowest bits. A scale is that of a
# row, or of a block of it.
def unpacked(data, bits, count):
    return np.stack([data >> shift & (1 << bits) - 1 for shift in range(0, 8, bits)],
                    -1).reshape(*data.shape[:-1], -1)[..., :count]


def quantized(bits, outputs, inputs, block, has_zeros):
    """The inputs of a layer: weight, scales, zero points; and the numbers that they are."""
    blocks = inputs // block if block else 1
    data = "u8", random.integers(0, 256, (EXPERTS, outputs, inputs * bits // 8))
    scales = drawn(EXPERTS, outputs, *([blocks] if block else []), by=0.25 / (1 << bits - 1))
    packed = blocks if block else outputs
    zeros = ("u8",
             random.integers(0, 256, (EXPERTS, *([outputs] if block else []),
                                      -(-packed * bits // 8)))) if has_zeros else None
    zero = unpacked(zeros[1], bits, packed).reshape(EXPERTS, outputs, blocks,
                                                    1) if zeros else 1 << bits - 1
    codes = unpacked(data[1], bits, inputs).reshape(EXPERTS, outputs, blocks, -1)
    return (data, scales,
            zeros), ((codes - zero) * wide(scales).reshape(EXPERTS, outputs, blocks, 1)).reshape(
                EXPERTS, outputs, inputs)


def quantized_experts(kind, bits, block=0, has_zeros=False, fusion=0, normalizes=1, given=False,
                      third=False, biased=True, more=(), **named):
    rows = 2 * INNER if fusion else INNER
    layers = [
        quantized(of, *size, block, has_zeros)
        for of, size in zip(more or (bits, bits, bits), ((rows, WIDTH), (WIDTH, INNER),
                                                         (INNER, WIDTH)))
    ]
    biases = [drawn(EXPERTS, size) if biased else None for size in (rows, WIDTH, INNER)]
    x, scores, shares = drawn(TOKENS,
                              WIDTH), drawn(TOKENS,
                                            EXPERTS), ("f32", random.random(
                                                (TOKENS, EXPERTS))) if given else None
    shares = shares and ("f32", rounded(shares[1], "f32"))
    pairs = [(weight, wide(bias) if bias else np.zeros((EXPERTS, 1)))
             for (_, weight), bias in zip(layers, biases)]
    y = mixed(wide(x), wide(scores), [*pairs[:2], pairs[2] if third else None], kind, 2, fusion,
              normalizes,
              wide(shares) if shares else None, **named)
    inputs = [x, scores]
    for place in range(3):
        (data, scales, _), bias = layers[place][0], biases[place]
        inputs += [data, scales, bias] if place < 2 or third else [None] * 3
    inputs += [layers[place][0][2] if place < 2 or third else None for place in range(3)]
    named = {
        **named, **({"swiglu_fusion": fusion} if fusion else {}),
        **({"block_size": block} if block else {})
    }
    if more:
        named |= {f"fc{place + 1}_expert_weight_bits": of for place, of in enumerate(more)}
    add("QMoE", [*inputs, shares], y, tuple(range(2, 14)), activation_type=kind, k=2,
        normalize_routing_weights=normalizes, expert_weight_bits=bits, **named)


for bits in (2, 4, 8):
    for block in (0, 16):
        for has_zeros in (False, True):
            quantized_experts("silu", bits, block, has_zeros)
    quantized_experts("swiglu", bits, fusion=1)
    quantized_experts("swiglu", bits, 16, True, fusion=1, **limits)
    quantized_experts("relu", bits, given=True, normalizes=0, biased=False)
quantized_experts("swiglu", 4, 16, fusion=2)
quantized_experts("swiglu", 4, 16, True, third=True)
quantized_experts("silu", 4, normalizes=0)
quantized_experts("silu", 4, given=True)
quantized_experts("silu", 4, 16, more=(8, 2, 4))

sys.exit(cases.run(sys.argv[1]))
