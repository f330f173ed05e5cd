"""Ops of com.microsoft that ONNX Runtime's optimiser writes for several of ONNX. microsoft.py
FOLDER; the last line is "N passed, N failed". The results are those of ONNX Runtime 1.32."""
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
    cases.add(op, inputs, [
        None if result is None else result if isinstance(result, tuple) else (dtype, result)
        for result in results
    ], OPSET, known=known, within=dtype, domain="com.microsoft", **attributes)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# Products that end in an activation, whose numbers are in its own attributes.
x, weight, bias, more = drawn(1, 2, 4, 5), drawn(3, 2, 1, 1), drawn(3), drawn(1, 3, 4, 5)
convolved = np.einsum("nchw,kc->nkhw", wide(x),
                      wide(weight)[:, :, 0, 0]) + wide(bias)[:, None, None]
for name, numbers, function in (("", [], lambda y: y), ("Relu", [], lambda y: np.maximum(y, 0)),
                                ("Sigmoid", [], sigmoid), ("Tanh", [], np.tanh),
                                ("LeakyRelu", [0.25], lambda y: np.where(y < 0, 0.25 * y, y)),
                                ("Clip", [-0.5, 0.75], lambda y: np.clip(y, -0.5, 0.75)),
                                ("HardSigmoid", [0.25, 0.375],
                                 lambda y: np.clip(0.25 * y + 0.375, 0, 1))):
    named = {
        **({"activation": name} if name else {}),
        **({"activation_params": numbers} if numbers else {})
    }
    add("FusedConv", [x, weight, bias], function(convolved), kernel_shape=[1, 1], **named)
    if name in ("", "Relu"):  # what ONNX Runtime adds before an activation
        add("FusedConv", [x, weight, bias, more], function(convolved + wide(more)), **named)
a, b, c = drawn(3, 4), drawn(5, 4), drawn(5)
product = 0.5 * wide(a) @ wide(b).T + 2 * wide(c)
for name, numbers, function in (("Relu", [], lambda y: np.maximum(y, 0)), ("Tanh", [], np.tanh),
                                ("Softplus", [], lambda y: np.log1p(np.exp(y))),
                                ("Softsign", [], lambda y: y /
                                 (1 + np.abs(y))), ("LeakyRelu", [0.125],
                                                    lambda y: np.where(y < 0, 0.125 * y, y)),
                                ("Elu", [0.5], lambda y: np.where(y < 0, 0.5 * np.expm1(y), y)),
                                ("HardSigmoid", [0.25, 0.375],
                                 lambda y: np.clip(0.25 * y + 0.375, 0, 1))):
    named = dict(zip(("activation_alpha", "activation_beta"), numbers))
    add("FusedGemm", [a, b, c], function(product), alpha=0.5, beta=2.0, transB=1, activation=name,
        **named)
for across, down in ((0, 0), (1, 0), (0, 1), (1, 1)):
    a, b = drawn(2, *((4, 3) if across else (3, 4))), drawn(2, *((5, 4) if down else (4, 5)))
    left, right = (wide(one).swapaxes(1, 2) if turned else wide(one)
                   for one, turned in ((a, across), (b, down)))
    add("FusedMatMul", [a, b], 0.25 * left @ right, alpha=0.25, transA=across, transB=down)

    add("FusedMatMulActivation", [a, b], np.maximum(0.25 * left @ right, 0), alpha=0.25,
        transA=across, transB=down, activation="Relu")
    add("TransposeMatMul", [a, b], 0.25 * left @ right, alpha=0.25, transA=across, transB=down)
a, b = drawn(3, 2, 5, 4), drawn(2, 5, 4, 6)  # the first dim is that of the rows
add("FusedMatMul", [a, b], wide(a).transpose(1, 2, 0, 3) @ wide(b), transBatchA=1)
add("FusedMatMul", [("f32", a[1].transpose(3, 1, 2, 0)), b],
    wide(a).transpose(1, 2, 0, 3) @ wide(b), transBatchA=1, transA=1)
a, b = drawn(2, 4, 3), drawn(3, 2, 5)
add("FusedMatMul", [a, b], wide(a) @ wide(b).transpose(1, 0, 2), transBatchB=1)

# Activations.
x, bias, other = drawn(2, 3, 8), drawn(8), drawn(2, 3, 8)
shifted = wide(x) + wide(bias)
exact = np.vectorize(lambda y: y / 2 * (1 + math.erf(y / math.sqrt(2))))
add("BiasGelu", [x, bias], exact(shifted))
for given, y in (([x], wide(x)), ([x, bias], shifted)):
    add("FastGelu", given, y / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * y**3))))
for alpha in (1.0, 1.5, None):
    add("QuickGelu", [x],
        wide(x) * sigmoid((alpha or 1.702) * wide(x)), **({"alpha": alpha} if alpha else {}))
add("BiasSplitGelu", [x, bias], shifted[..., :4] * exact(shifted[..., 4:]))
add("BiasAdd", [x, bias, other], shifted + wide(other))
add("BiasDropout", [x, bias], shifted, ("bool", np.ones((2, 3, 8))))
add("BiasDropout", [x, bias, other, ("f32", 0.5), ("bool", False)], shifted + wide(other),
    known=(3, 4), seed=3)
weight = drawn(8, 5)
product = wide(x) @ wide(weight)
add("GemmFastGelu", [x, weight], product / 2 *
    (1 + np.tanh(math.sqrt(2 / math.pi) * (product + 0.044715 * product**3))))
for row in (drawn(1, 1, 8), drawn(2, 1, 8), drawn(3, 8)):
    weights = np.exp(wide(x) + wide(row))
    add("BiasSoftmax", [x, row], weights / weights.sum(-1, keepdims=True), axis=2,
        is_inner_broadcast=1)
weights = np.exp(shifted)  # over the dims from the axis on
add("BiasSoftmax", [x, bias], weights / weights.sum((1, 2), keepdims=True), axis=1,
    is_inner_broadcast=0)
for given, gate, up in (([x, other], wide(x), wide(other)), ([x], wide(x)[..., :4], wide(x)[...,
                                                                                            4:])):
    add("SwiGLU", given, gate * sigmoid(gate) * up)
    gate, up = np.minimum(gate, 0.75), np.clip(up, -0.75, 0.75)
    add("SwiGLU", given,
        gate * sigmoid(1.5 * gate) * (up + 1), activation_alpha=1.5, activation_beta=1.0,
        limit=0.75)


# Normalizations.
def normalized(x, scale, shift=0, eps=1e-12, centre=True):
    x = x - x.mean(-1, keepdims=True) if centre else x
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * scale + shift


scale, shift = drawn(8), drawn(8)
for skip in (drawn(2, 3, 8), drawn(1, 3, 8), drawn(3, 8)):
    total = wide(x) + wide(skip)
    add("SkipLayerNormalization", [x, skip, scale, shift],
        normalized(total, wide(scale), wide(shift)))
    add("SkipLayerNormalization", [x, skip, scale, None, bias],
        normalized(total + wide(bias), wide(scale), eps=0.25), None, None, total + wide(bias),
        epsilon=0.25)
    if skip[1].shape == (2, 3, 8):
        add("SkipSimplifiedLayerNormalization", [x, skip, scale],
            normalized(total, wide(scale), centre=False))
        add("SkipSimplifiedLayerNormalization", [x, skip, scale, bias],
            normalized(total + wide(bias), wide(scale), eps=0.25, centre=False), None, None,
            total + wide(bias), epsilon=0.25)
cases.add("SimplifiedLayerNormalization", [x, scale],
          [("f32", normalized(wide(x), wide(scale), eps=0.25, centre=False))], OPSET, within="f32",
          epsilon=0.25, axis=-1, stash_type=1)
words, positions, segments = drawn(11, 8), drawn(6, 8), drawn(2, 8)
ids, types = ("i32", random.integers(0, 11, (2, 4))), ("i32", random.integers(0, 2, (2, 4)))
shown, places = ("i32", [[1, 1, 1, 0], [1, 0, 0, 0]]), ("i32", [[3, 0, 5, 1], [2, 2, 4, 0]])
for given, where in ((None, np.arange(4)), (places, np.asarray(places[1]))):
    total = wide(words)[ids[1]] + wide(positions)[where]
    both = total + wide(segments)[types[1]]
    add("EmbedLayerNormalization",
        [ids, types, words, positions, segments, scale, shift, shown, given],
        normalized(both, wide(scale), wide(shift)), ("i32", [3, 1]), both)
    add("EmbedLayerNormalization", [ids, None, words, positions, None, scale, shift, None, given],
        normalized(total, wide(scale), wide(shift), eps=0.25), ("i32", [0, 0]), epsilon=0.25)


# Groups of channels, which are the last dim or the second.
def of_groups(x, groups, eps):
    parts = x.reshape(x.shape[0], -1, groups, x.shape[-1] // groups)
    parts = parts - parts.mean((1, 3), keepdims=True)
    y = parts / np.sqrt((parts * parts).mean((1, 3), keepdims=True) + eps)
    return y.reshape(x.shape) * wide(scale) + wide(shift)


image = drawn(2, 3, 5, 8)
for groups, eps, activation in ((2, 1e-5, 0), (4, 0.25, 1)):
    named = {"groups": groups, "epsilon": eps, "activation": activation}
    y = of_groups(wide(image), groups, eps)
    y = y * sigmoid(y) if activation else y
    add("GroupNorm", [image, scale, shift], y, **named)
    add("GroupNorm", [("f32", image[1].transpose(0, 3, 1, 2)), scale, shift],
        y.transpose(0, 3, 1, 2), channels_last=0, **named)
    for skip in (drawn(2, 3, 5, 8), drawn(2, 1, 1, 8), drawn(2, 8)):
        for more in (None, drawn(8)):
            total = wide(image) + (wide(skip) if skip[1].ndim == 4 else
                                   wide(skip)[:, None, None]) + (wide(more) if more else 0)
            y = of_groups(total, groups, eps)
            y = y * sigmoid(y) if activation else y
            add("SkipGroupNorm", [image, scale, shift, skip, more], y, total, **named)
            first = [("f32", one[1].transpose(0, 3, 1, 2)) if one[1].ndim == 4 else one
                     for one in (image, skip)]
            add("SkipGroupNorm", [first[0], scale, shift, first[1], more], y.transpose(0, 3, 1, 2),
                total.transpose(0, 3, 1, 2), channels_last=0, **named)


# Attention of two heads over five positions. The score of what a mask hides is lower by 10000, or
# by what the node says.
def attended(q, k, v, bias=0, causal=False, scale=None):
    """Of [N, T, width], the keys and values with their past as [N, heads, S, width / heads]."""
    q = heads(q)
    scores = q @ k.swapaxes(-1, -2) * (scale or 1 / math.sqrt(q.shape[-1])) + bias
    if causal:
        past = k.shape[2] - q.shape[2]
        scores = np.where(
            np.arange(q.shape[2])[:, None] + past >= np.arange(k.shape[2]), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    y = weights / weights.sum(-1, keepdims=True) @ v
    return y.swapaxes(1, 2).reshape(*y.shape[:1], y.shape[2], -1)


def heads(x):
    return x.reshape(*x.shape[:2], 2, -1).swapaxes(1, 2)


x, weight, bias = drawn(2, 5, 6), drawn(6, 24), drawn(24)
q, k, v = np.split(wide(x) @ wide(weight) + wide(bias), 3, -1)
past, added = drawn(2, 2, 2, 3, 4), drawn(1, 2, 5, 5)
pairs = random.integers(0, 2, (2, 5, 5))
for last in (
        1, 0
# Whether the second text shows anything: a row that is hidden whole is hidden by a little, so that
# its scores stay precise
):
    pairs[:, :, 0] |= last
    lengths, rows = [3, last], [[1, 1, 0, 1, 0], [last, 0, 0, 0, 0]]
    by, named = (10000, {}) if last else (3, {"mask_filter_value": -3.0})
    for mask, hidden in ((None, 0), (lengths,
                                     np.where(np.arange(5) < np.array(lengths)[:, None], 0,
                                              -by)[:, None, None]),
                         (rows, by * (np.array(rows)[:, None, None] - 1)), (pairs.copy(), by *
                                                                            (pairs[:, None] - 1))):
        given = None if mask is None else ("i32", mask)
        for causal in (0, 1):
            add("Attention", [x, weight, bias, given],
                attended(q, heads(k), heads(v), hidden, causal), num_heads=2, unidirectional=causal,
                **named)
            add("Attention", [x, weight, bias, given, None, added],
                attended(q, heads(k), heads(v), hidden + wide(added), causal, 0.25), num_heads=2,
                unidirectional=causal, scale=0.25, **named)
for causal in (0, 1):
    keys, values = (np.concatenate((before, heads(now)), 2)
                    for before, now in zip(wide(past), (k, v)))
    add("Attention", [x, weight, bias, None, past], attended(q, keys, values, 0, causal),
        np.stack((keys, values)), num_heads=2, unidirectional=causal)
narrow, bias = drawn(6, 20), drawn(20)
q, k, v = np.split(wide(x) @ wide(narrow) + wide(bias), (8, 16), -1)
add("Attention", [x, narrow, bias], attended(q, heads(k), heads(v)), num_heads=2,
    qkv_hidden_sizes=[8, 8, 4])

q, k, v, bias = drawn(2, 5, 8), drawn(2, 7, 8), drawn(2, 7, 4), drawn(20)
padding, added = ("i32", [[1, 1, 1, 1, 1, 0, 0], [0, 1, 1, 1, 0, 1, 1]]), drawn(2, 1, 5, 7)
hides = 10000 * (np.asarray(padding[1])[:, None, None] - 1)
of = [wide(one) for one in (q, k, v)]
moved = [one + part for one, part in zip(of, np.split(wide(bias), (8, 16)))]
add("MultiHeadAttention", [q, k, v], attended(of[0], heads(of[1]), heads(of[2])), num_heads=2)
add("MultiHeadAttention", [q, k, v, bias, padding, added],
    attended(moved[0], heads(moved[1]), heads(moved[2]), hides + wide(added), scale=0.5),
    num_heads=2, scale=0.5)
add("MultiHeadAttention", [q, ("f32", heads(of[1])), ("f32", heads(of[1]))],
    attended(of[0], heads(of[1]), heads(of[1])), num_heads=2)
together = drawn(2, 5, 2, 3, 4)  # of each head the query, the key and the value
q3, k3, v3 = (wide(together)[:, :, :, part] for part in range(3))
add("MultiHeadAttention", [together],
    attended(q3.reshape(2, 5, 8), k3.swapaxes(1, 2), v3.swapaxes(1, 2)), num_heads=2)
pair = drawn(2, 7, 2, 2, 4)
add("MultiHeadAttention", [q, pair],
    attended(of[0], *(wide(pair)[:, :, :, part].swapaxes(1, 2) for part in range(2))), num_heads=2)
k, v, before, after = drawn(2, 5, 8), drawn(2, 5, 8), drawn(2, 2, 3, 4), drawn(2, 2, 3, 4)
keys, values = np.concatenate((wide(before), heads(wide(k))), 2), np.concatenate(
    (wide(after), heads(wide(v))), 2)
for causal in (0, 1):
    add("MultiHeadAttention", [q, k, v, None, None, None, before, after],
        attended(wide(q), keys, values, 0, causal), keys, values, num_heads=2,
        unidirectional=causal)


# Biases by the distance of a query and a key: each of the nearest distances has a row, and ever
# longer ranges of others.
def row_of(distance, rows, farthest, both):
    start = 0
    if both:
        rows //= 2
        start, distance = (rows if distance > 0 else 0), abs(distance)
    else:
        distance = max(-distance, 0)
    if distance < rows // 2:
        return start + distance
    far = rows // 2 + int(
        math.log(distance / (rows // 2)) / math.log(farthest / (rows // 2)) * (rows - rows // 2))
    return start + min(far, rows - 1)


for rows, farthest, queries, keys, both in ((8, 21, 50, 50, 0), (32, 125, 7, 90, 1)):
    table = drawn(rows, 3)
    y = np.array([[wide(table)[row_of(key - query, rows, farthest, both)] for key in range(keys)]
                  for query in range(queries)])
    for known in ((1, 2), ()):
        add("RelativePositionBias", [table, ("i64", queries), ("i64", keys)],
            y.transpose(2, 0, 1)[None], known=known, max_distance=farthest, is_bidirectional=both)
q, bias, distances, weight, more, factor = drawn(2, 5, 8), drawn(8), drawn(1, 2, 5, 5), drawn(
    4, 6), drawn(6), drawn(1, 2, 1, 1)
gates = sigmoid((heads(wide(q) + wide(bias)) @ wide(weight) + wide(more)).reshape(2, 2, 5, 2,
                                                                                  3).sum(-1))
by = gates[..., :1] * (gates[..., 1:] * wide(factor) - 1) + 2
add("GatedRelativePositionBias", [q, bias, distances, weight, more, factor], by * wide(distances),
    num_heads=2)

# Ops that ONNX has in another form.
x, image = drawn(3, 4), drawn(1, 3, 5, 4)
add("ExpandDims", [x, ("i32", 1)], wide(x)[:, None], known=(1,))
add("GatherND", [x, ("i64", [[0, 1], [2, 3]])], wide(x)[[0, 2], [1, 3]])
add("Pad", [x, ("i64", [0, 1, 2, 0]), ("f32", 1.5)],
    np.pad(wide(x), ((0, 2), (1, 0)), constant_values=1.5), known=(1, 2))
add("Trilu", [x], np.tril(wide(x)), upper=0)
add("TorchEmbedding", [x, ("i64", [[2, 0], [1, 1]])], wide(x)[[[2, 0], [1, 1]]])
add("GridSample", [("f32", image[1].transpose(0, 3, 1, 2)), ("f32", np.zeros((1, 1, 1, 2)))],
    wide(image).transpose(0, 3, 1, 2)[..., 1:2, 2:3], align_corners=1)
a, b = drawn(4, 3), drawn(5, 3)
squares = ((wide(a)[:, None] - wide(b)) ** 2).sum(-1)
add("CDist", [a, b], squares)
add("CDist", [a, b], np.sqrt(squares), metric="euclidean")
a, b = drawn(3, 4, 2), drawn(4, 2)
left, right = (wide(one)[..., 0] + 1j * wide(one)[..., 1] for one in (a, b))
for op, y in (("ComplexMul", left * right), ("ComplexMulConj", left * right.conj())):
    add(op, [a, b], np.stack((y.real, y.imag), -1))
for points in (8, 1, 12):
    signal = drawn(2, 3, points)
    y = np.fft.rfft(wide(signal))
    add("Rfft", [signal], np.stack((y.real, y.imag), -1), signal_ndim=1, onesided=1, normalized=0)
    if points > 1:
        half = drawn(2, points // 2 + 1, 2)
        add("Irfft", [half], np.fft.irfft(wide(half)[..., 0] + 1j * wide(half)[..., 1]),
            signal_ndim=1, onesided=1, normalized=0)
finite, infinite, nothing = ("f32", [1, 2]), ("f32", [1, np.inf]), ("f32", [np.nan])
for given, named, y in (([finite], {}, True), ([finite,
                                                infinite], {}, False), ([nothing], {}, False),
                        ([infinite], {"isnan_only": 1}, True), ([nothing,
                                                                 finite], {"isinf_only": 1}, True),
                        ([finite, infinite], {"isinf_only": 1}, False)):
    add("IsAllFinite", given, ("bool", y), **named)
add("NhwcMaxPool", [("u8", np.arange(24).reshape(1, 2, 6, 2))],
    ("u8", np.arange(24).reshape(1, 2, 6, 2)[:, 1:, 1::2]), kernel_shape=[2, 2], strides=[2, 2])
weight, bias, more = drawn(3, 4, 1, 1), drawn(3), drawn(1, 3, 5, 3)
add("NhwcFusedConv", [image, weight, bias, more],
    np.maximum(wide(image) @ wide(weight)[:, :, 0, 0].T + wide(bias) + wide(more), 0),
    activation="Relu", kernel_shape=[1, 1])
signal, weight, bias, past = drawn(2, 3, 5), drawn(3, 1, 4), drawn(3), drawn(2, 3, 3)
both = np.concatenate((wide(past), wide(signal)), -1)
y = sum(both[..., tap:tap + 5] * wide(weight)[:, 0, tap, None]
        for tap in range(4)) + wide(bias)[:, None]
add("CausalConvWithState", [signal, weight, bias, past], y * sigmoid(y), both[..., -3:],
    activation="silu", ndim=1)
q, k, v, state = drawn(2, 3, 4), drawn(2, 3, 4), drawn(2, 3, 6), drawn(2, 2, 2, 3)
held, y = wide(state), np.zeros((2, 3, 6))
for step in range(3):
    query, key, value = (wide(one)[:, step].reshape(2, 2, -1) for one in (q, k, v))
    held = held + key[..., None] * value[..., None, :]
    y[:, step] = np.einsum("nhk,nhkv->nhv", query, held).reshape(2, -1) / math.sqrt(2)
add("LinearAttention", [q, k, v, state], y, held, q_num_heads=2, kv_num_heads=2,
    update_rule="linear")

# Sixteen bits: what the node rounds is rounded once.
half = [
    drawn(2, 3, 8, dtype="f16"),
    drawn(2, 3, 8, dtype="f16"),
    drawn(8, dtype="f16"),
    drawn(8, dtype="f16")
]
total = rounded(wide(half[0]) + wide(half[1]), "f16").astype(np.float64)
add("SkipLayerNormalization", half, normalized(total, wide(half[2]), wide(half[3])), dtype="f16")
add("BiasGelu", [half[0], half[2]],
    exact(rounded(wide(half[0]) + wide(half[2]), "f16").astype(np.float64)), dtype="f16")

sys.exit(cases.run(sys.argv[1]))
