"""Ops of com.microsoft that ONNX Runtime's optimiser writes for several of ONNX. microsoft.py FOLDER; the last line is
"N passed, N failed". The results are those of ONNX Runtime 1.32."""
import math
import sys

import numpy as np
from op_values import Cases, rounded

random = np.random.default_rng(18)
cases = Cases()
OPSET = 17


def drawn(*shape, dtype="f32"):
    return dtype, rounded(random.standard_normal(shape), dtype)


def wide(operand):
    return operand[1].astype(np.float64)


def add(op, inputs, *results, dtype="f32", known=(), **attributes):
    cases.add(op, inputs, [None if result is None else result if isinstance(result, tuple) else (dtype, result) for result in results],
              OPSET, known=known, within=dtype, domain="com.microsoft", **attributes)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# Products that end in an activation, whose numbers are in its own attributes.
x, weight, bias, more = drawn(1, 2, 4, 5), drawn(3, 2, 1, 1), drawn(3), drawn(1, 3, 4, 5)
convolved = np.einsum("nchw,kc->nkhw", wide(x), wide(weight)[:, :, 0, 0]) + wide(bias)[:, None, None]
for name, numbers, function in (
        ("", [], lambda y: y), ("Relu", [], lambda y: np.maximum(y, 0)), ("Sigmoid", [], sigmoid), ("Tanh", [], np.tanh),
        ("LeakyRelu", [0.25], lambda y: np.where(y < 0, 0.25 * y, y)), ("Clip", [-0.5, 0.75], lambda y: np.clip(y, -0.5, 0.75)),
        ("HardSigmoid", [0.25, 0.375], lambda y: np.clip(0.25 * y + 0.375, 0, 1))):
    named = {**({"activation": name} if name else {}), **({"activation_params": numbers} if numbers else {})}
    add("FusedConv", [x, weight, bias], function(convolved), kernel_shape=[1, 1], **named)
    if name in ("", "Relu"):  # what ONNX Runtime adds before an activation
        add("FusedConv", [x, weight, bias, more], function(convolved + wide(more)), **named)
a, b, c = drawn(3, 4), drawn(5, 4), drawn(5)
product = 0.5 * wide(a) @ wide(b).T + 2 * wide(c)
for name, numbers, function in (
        ("Relu", [], lambda y: np.maximum(y, 0)), ("Tanh", [], np.tanh), ("Softplus", [], lambda y: np.log1p(np.exp(y))),
        ("Softsign", [], lambda y: y / (1 + np.abs(y))), ("LeakyRelu", [0.125], lambda y: np.where(y < 0, 0.125 * y, y)),
        ("Elu", [0.5], lambda y: np.where(y < 0, 0.5 * np.expm1(y), y)),
        ("HardSigmoid", [0.25, 0.375], lambda y: np.clip(0.25 * y + 0.375, 0, 1))):
    named = dict(zip(("activation_alpha", "activation_beta"), numbers))
    add("FusedGemm", [a, b, c], function(product), alpha=0.5, beta=2.0, transB=1, activation=name, **named)
for across, down in ((0, 0), (1, 0), (0, 1), (1, 1)):
    a, b = drawn(2, *((4, 3) if across else (3, 4))), drawn(2, *((5, 4) if down else (4, 5)))
    left, right = (wide(one).swapaxes(1, 2) if turned else wide(one) for one, turned in ((a, across), (b, down)))
    add("FusedMatMul", [a, b], 0.25 * left @ right, alpha=0.25, transA=across, transB=down)

# Activations.
x, bias = drawn(2, 3, 8), drawn(8)
shifted = wide(x) + wide(bias)
exact = np.vectorize(lambda y: y / 2 * (1 + math.erf(y / math.sqrt(2))))
add("BiasGelu", [x, bias], exact(shifted))
for given, y in (([x], wide(x)), ([x, bias], shifted)):
    add("FastGelu", given, y / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * y**3))))
for alpha in (1.0, 1.5, None):
    add("QuickGelu", [x], wide(x) * sigmoid((alpha or 1.702) * wide(x)), **({"alpha": alpha} if alpha else {}))


# Normalizations.
def normalized(x, scale, shift=0, eps=1e-12, centre=True):
    x = x - x.mean(-1, keepdims=True) if centre else x
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * scale + shift


scale, shift = drawn(8), drawn(8)
for skip in (drawn(2, 3, 8), drawn(1, 3, 8), drawn(3, 8)):
    total = wide(x) + wide(skip)
    add("SkipLayerNormalization", [x, skip, scale, shift], normalized(total, wide(scale), wide(shift)))
    add("SkipLayerNormalization", [x, skip, scale, None, bias], normalized(total + wide(bias), wide(scale), eps=0.25), None, None,
        total + wide(bias), epsilon=0.25)
    if skip[1].shape == (2, 3, 8):
        add("SkipSimplifiedLayerNormalization", [x, skip, scale], normalized(total, wide(scale), centre=False))
        add("SkipSimplifiedLayerNormalization", [x, skip, scale, bias],
            normalized(total + wide(bias), wide(scale), eps=0.25, centre=False), None, None, total + wide(bias), epsilon=0.25)
cases.add("SimplifiedLayerNormalization", [x, scale], [("f32", normalized(wide(x), wide(scale), eps=0.25, centre=False))], OPSET, within="f32",
          epsilon=0.25, axis=-1, stash_type=1)
words, positions, segments = drawn(11, 8), drawn(6, 8), drawn(2, 8)
ids, types = ("i32", random.integers(0, 11, (2, 4))), ("i32", random.integers(0, 2, (2, 4)))
shown, places = ("i32", [[1, 1, 1, 0], [1, 0, 0, 0]]), ("i32", [[3, 0, 5, 1], [2, 2, 4, 0]])
for given, where in ((None, np.arange(4)), (places, np.asarray(places[1]))):
    total = wide(words)[ids[1]] + wide(positions)[where]
    both = total + wide(segments)[types[1]]
    add("EmbedLayerNormalization", [ids, types, words, positions, segments, scale, shift, shown, given],
        normalized(both, wide(scale), wide(shift)), ("i32", [3, 1]), both)
    add("EmbedLayerNormalization", [ids, None, words, positions, None, scale, shift, None, given],
        normalized(total, wide(scale), wide(shift), eps=0.25), ("i32", [0, 0]), epsilon=0.25)


# Attention of two heads over five positions. The score of what a mask hides is lower by 10000, or by what the node says.
def attended(q, k, v, bias=0, causal=False, scale=None):
    """Of [N, T, width], the keys and values with their past as [N, heads, S, width / heads]."""
    q = heads(q)
    scores = q @ k.swapaxes(-1, -2) * (scale or 1 / math.sqrt(q.shape[-1])) + bias
    if causal:
        past = k.shape[2] - q.shape[2]
        scores = np.where(np.arange(q.shape[2])[:, None] + past >= np.arange(k.shape[2]), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    y = weights / weights.sum(-1, keepdims=True) @ v
    return y.swapaxes(1, 2).reshape(*y.shape[:1], y.shape[2], -1)


def heads(x):
    return x.reshape(*x.shape[:2], 2, -1).swapaxes(1, 2)


x, weight, bias = drawn(2, 5, 6), drawn(6, 24), drawn(24)
q, k, v = np.split(wide(x) @ wide(weight) + wide(bias), 3, -1)
past, added = drawn(2, 2, 2, 3, 4), drawn(1, 2, 5, 5)
pairs = random.integers(0, 2, (2, 5, 5))
for last in (1, 0):  # whether the second text shows anything: a row that is hidden whole is hidden by a little, so that its scores stay precise
    pairs[:, :, 0] |= last
    lengths, rows = [3, last], [[1, 1, 0, 1, 0], [last, 0, 0, 0, 0]]
    by, named = (10000, {}) if last else (3, {"mask_filter_value": -3.0})
    for mask, hidden in ((None, 0), (lengths, np.where(np.arange(5) < np.array(lengths)[:, None], 0, -by)[:, None, None]),
                         (rows, by * (np.array(rows)[:, None, None] - 1)), (pairs.copy(), by * (pairs[:, None] - 1))):
        given = None if mask is None else ("i32", mask)
        for causal in (0, 1):
            add("Attention", [x, weight, bias, given], attended(q, heads(k), heads(v), hidden, causal), num_heads=2, unidirectional=causal, **named)
            add("Attention", [x, weight, bias, given, None, added], attended(q, heads(k), heads(v), hidden + wide(added), causal, 0.25),
                num_heads=2, unidirectional=causal, scale=0.25, **named)
for causal in (0, 1):
    keys, values = (np.concatenate((before, heads(now)), 2) for before, now in zip(wide(past), (k, v)))
    add("Attention", [x, weight, bias, None, past], attended(q, keys, values, 0, causal), np.stack((keys, values)), num_heads=2,
        unidirectional=causal)
narrow, bias = drawn(6, 20), drawn(20)
q, k, v = np.split(wide(x) @ wide(narrow) + wide(bias), (8, 16), -1)
add("Attention", [x, narrow, bias], attended(q, heads(k), heads(v)), num_heads=2, qkv_hidden_sizes=[8, 8, 4])

q, k, v, bias = drawn(2, 5, 8), drawn(2, 7, 8), drawn(2, 7, 4), drawn(20)
padding, added = ("i32", [[1, 1, 1, 1, 1, 0, 0], [0, 1, 1, 1, 0, 1, 1]]), drawn(2, 1, 5, 7)
hides = 10000 * (np.asarray(padding[1])[:, None, None] - 1)
of = [wide(one) for one in (q, k, v)]
moved = [one + part for one, part in zip(of, np.split(wide(bias), (8, 16)))]
add("MultiHeadAttention", [q, k, v], attended(of[0], heads(of[1]), heads(of[2])), num_heads=2)
add("MultiHeadAttention", [q, k, v, bias, padding, added], attended(moved[0], heads(moved[1]), heads(moved[2]), hides + wide(added), scale=0.5),
    num_heads=2, scale=0.5)
add("MultiHeadAttention", [q, ("f32", heads(of[1])), ("f32", heads(of[1]))], attended(of[0], heads(of[1]), heads(of[1])), num_heads=2)
k, v, before, after = drawn(2, 5, 8), drawn(2, 5, 8), drawn(2, 2, 3, 4), drawn(2, 2, 3, 4)
keys, values = np.concatenate((wide(before), heads(wide(k))), 2), np.concatenate((wide(after), heads(wide(v))), 2)
for causal in (0, 1):
    add("MultiHeadAttention", [q, k, v, None, None, None, before, after], attended(wide(q), keys, values, 0, causal), keys, values, num_heads=2,
        unidirectional=causal)

# Sixteen bits: what the node rounds is rounded once.
half = [drawn(2, 3, 8, dtype="f16"), drawn(2, 3, 8, dtype="f16"), drawn(8, dtype="f16"), drawn(8, dtype="f16")]
total = rounded(wide(half[0]) + wide(half[1]), "f16").astype(np.float64)
add("SkipLayerNormalization", half, normalized(total, wide(half[2]), wide(half[3])), dtype="f16")
add("BiasGelu", [half[0], half[2]], exact(rounded(wide(half[0]) + wide(half[2]), "f16").astype(np.float64)), dtype="f16")

sys.exit(cases.run(sys.argv[1]))
