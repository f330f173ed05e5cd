"""Ops of com.microsoft in decoders with weights of few bits. microsoft_decoder.py FOLDER; the last
line is "N passed, N failed". Each reference computes text by text and head by head; its results are
those of ONNX Runtime 1.32."""
import math
import sys

import numpy as np
from op_values import Cases, rounded

random = np.random.default_rng(39)
cases = Cases()
OPSET = 17


def drawn(*shape, dtype="f32"):
    return dtype, rounded(random.standard_normal(shape), dtype)


def wide(operand):
    return None if operand is None else operand[1].astype(np.float64)


def add(op, inputs, *results, dtype="f32", known=(), **attributes):
    cases.add(op, inputs, [
        result if result is None or isinstance(result, tuple) else (dtype, result)
        for result in results
    ], OPSET, known=known, within=dtype, domain="com.microsoft", **attributes)


# Rotary embeddings: x is [tokens, heads, size], with a row of the tables for each token.
def turned(x, cosines, sines, interleaves=False):
    width = 2 * cosines.shape[-1]
    a, b = (x[..., 0:width:2], x[..., 1:width:2]) if interleaves else (x[..., :width // 2],
                                                                       x[..., width // 2:width])
    c, s = cosines[:, None], sines[:, None]
    real, imaginary = a * c - b * s, a * s + b * c
    both = np.stack(
        (real, imaginary), -1).reshape(*x.shape[:-1], width) if interleaves else np.concatenate(
            (real, imaginary), -1)
    return np.concatenate((both, x[..., width:]), -1)


x, split = drawn(2, 5, 24), drawn(2, 3, 5, 8)
for interleaved in (0, 1):
    for width in (8, 4):
        tables = drawn(11, width // 2), drawn(11, width // 2)
        named = {
            "interleaved": interleaved,
            **({"num_heads": 3, "rotary_embedding_dim": width} if width < 8 else {})
        }
        for places in (np.array([[3, 0, 10, 5, 5], [1, 2, 3, 4, 5]]), np.array([4]), np.array([0])):
            of_text = places if places.ndim == 2 else np.tile(places + np.arange(5), (2, 1))
            y = np.stack([
                turned(text.reshape(5, 3, 8), *(wide(table)[at] for table in tables), interleaved)
                for text, at in zip(wide(x), of_text)
            ])
            add("RotaryEmbedding", [x, ("i64", places), *tables], y.reshape(2, 5, 24), **named)
            y = np.stack([
                turned(text.swapaxes(0, 1), *(wide(table)[at] for table in tables), interleaved)
                for text, at in zip(wide(split), of_text)
            ])
            add("RotaryEmbedding", [split, ("i64", places), *tables], y.swapaxes(1, 2),
                known=(2, 3), **named)

# Attention of four heads of queries over two of keys, of eight elements.
HEADS, HELD, SIZE = 4, 2, 8


def attended(q, k, v, begin, bias=0.0, window=0, causal=True, scale=None, cap=0.0, sink=None):
    """One text: q [T, heads, size] from position `begin` on, k and v [held, S, size] of all its
    keys. `bias`: [heads, T, S]."""
    y = np.zeros((len(q), HEADS, SIZE))
    bias = np.broadcast_to(bias, (HEADS, len(q), k.shape[1]))
    for row, head in np.ndindex(len(q), HEADS):
        keys, values = k[head // (HEADS // HELD)], v[head // (HEADS // HELD)]
        scores = keys @ q[row, head] * (scale or 1 / math.sqrt(SIZE))
        scores = cap * np.tanh(scores / cap) if cap else scores
        scores = scores + bias[head, row]
        for key in range(len(keys)):
            if causal and (key > begin + row or window and key <= begin + row - window):
                scores[key] = -np.inf
        weights = np.exp(scores)
        y[row, head] = weights @ values / (weights.sum() +
                                           (0 if sink is None else np.exp(sink[head])))
    return y.reshape(len(q), -1)


def query_attention(batch, length, past, room=None, packed=False, last=None, dtype="f32",
                    tables=None, places=None, interleaved=0, sink=None, bias=None, norms=None,
                    counts=None, total_known=True, **named):
    """Adds a case: `past` positions before the new ones, in caches of `room` (they grow without).
    `last`: of each text, its last key."""
    widths = HEADS * SIZE, HELD * SIZE, HELD * SIZE
    q, k, v = (drawn(batch, length, width, dtype=dtype) for width in widths)
    caches = [drawn(batch, HELD, room or past, SIZE, dtype=dtype)
              for _ in range(2)] if room or past else [None, None]
    last = last or [past + length - 1] * batch
    counts = counts or [min(length, one + 1) for one in last]
    capacity = room or past + length
    y = np.zeros((batch, length, HEADS * SIZE))
    presents = [np.zeros((batch, HELD, capacity, SIZE)) for _ in range(2)]
    for text in range(batch):
        count = counts[text]
        begin = last[text] + 1 - count
        queries, keys, values = (wide(one)[text].reshape(length, -1, SIZE) for one in (q, k, v))
        if norms:
            queries, keys = (one / np.sqrt((one * one).mean(-1, keepdims=True) + 1e-6) * wide(norm)
                             for one, norm in zip((queries, keys), norms))
        if tables:
            at = np.arange(begin, begin + length) if places is None else places[text]
            rows = [wide(table)[np.minimum(at, len(table[1]) - 1)] for table in tables]
            queries, keys = (turned(one, *rows, interleaved) for one in (queries, keys))
        for present, before, now in zip(presents, caches, (keys, values)):
            if before is not None:
                present[text, :, :before[1].shape[2]] = wide(before)[text]
            present[text, :, begin:begin + count] = now[:count].swapaxes(0, 1)
        shown = {
            "window": named.get("local_window_size", 0), "causal": named.get("causal", 1) == 1,
            "scale": named.get("scale"), "cap": named.get("softcap", 0.0),
            "sink": wide(sink) if sink else np.zeros(HEADS) if named.get("smooth_softmax") else None
        }
        part = 0.0 if bias is None else np.broadcast_to(wide(bias),
                                                        (batch, HEADS, length,
                                                         capacity))[text][:, :count, :last[text]
                                                                          + 1]
        y[text, :count] = attended(queries[:count],
                                   *(present[text, :, :last[text] + 1] for present in presents),
                                   begin, part, **shown)
        # Rows without a meaning: what dlc gives there is not compared, so that they are given no
        # weight.
        assert count == length or room, "a text that ends early needs rows that are compared elsewhere"
    given = [("one",
              np.concatenate([one[1]
                              for one in (q, k, v)], -1)), None, None] if packed else [q, k, v]
    if packed:
        given[0] = (dtype, given[0][1])
    total = ("i32", np.array(max(last) + 1 if room else past + length))
    inputs = [
        *given, *caches, ("i32", last), total, *(tables or (None, None)),
        None if places is None else ("i64", places), bias, sink, None, None,
        *(norms or (None, None))
    ]
    if any(count < length for count in counts):
        inputs.append(("i32", counts))
    while inputs[-1] is None:
        inputs.pop()
    whole = all(count == length for count in counts)
    add("GroupQueryAttention", inputs, y if whole else None, *presents, dtype=dtype,
        known=(6, ) if total_known else (), num_heads=HEADS, kv_num_heads=HELD,
        **({"do_rotary": 1, "rotary_interleaved": interleaved} if tables else {}), **named)


tables = drawn(40, 4), drawn(40, 4)
for packed in (False, True):
    for batch, length, past, room, last in ((1, 5, 0, None, None), (2, 5, 0, None, None),
                                            (1, 1, 4, None, None), (2, 1, 4, None, None),
                                            (1, 3, 4, None, None), (1, 1, 4, 9, None),
                                            (2, 1, 4, 9, [4, 2]), (1, 5, 0, 9, None),
                                            (1, 3, 4, 12, None), (2, 3, 0, 3, None)):
        query_attention(batch, length, past, room, packed, last, tables=tables)
        query_attention(batch, length, past, room, packed, last)
query_attention(2, 5, 0, tables=tables, interleaved=1)
query_attention(1, 1, 4, 9, tables=(drawn(40, 2), drawn(40, 2)))  # turns half of each head
query_attention(2, 1, 4, tables=tables, places=np.array([[3], [9]]))
query_attention(1, 1, 4, 9, total_known=False)
for window in (1, 2, 8):
    query_attention(1, 5, 0, local_window_size=window)
    query_attention(1, 1, 6, local_window_size=window)
    query_attention(2, 1, 6, 10, last=[6, 3], local_window_size=window)
    query_attention(1, 3, 6, local_window_size=window)
for length, past, room in ((5, 0, None), (1, 5, 9)):
    query_attention(1, length, past, room, softcap=0.75)
    query_attention(2, length, past, room, smooth_softmax=1)
    query_attention(1, length, past, room, sink=drawn(HEADS), local_window_size=2)
    query_attention(1, length, past, room, scale=0.5)
query_attention(1, 5, 0, bias=drawn(1, HEADS, 5, 5))
query_attention(2, 5, 0, bias=drawn(1, 1, 5, 5), softcap=0.75)
query_attention(1, 1, 4, bias=drawn(1, HEADS, 1, 5), sink=drawn(HEADS))
query_attention(1, 5, 0, causal=0)
query_attention(1, 3, 4, causal=0)
query_attention(2, 5, 0, tables=tables, norms=(drawn(SIZE), drawn(SIZE)), qk_norm_epsilon=1e-6)
query_attention(2, 3, 4, 12, last=[5, 6], counts=[2, 3])
half = drawn(40, 4, dtype="f16"), drawn(40, 4, dtype="f16")
query_attention(2, 1, 4, dtype="f16", tables=half)
query_attention(1, 5, 0, dtype="f16", softcap=0.75)


# Weights of few bits: bytes of neighbours, the first one in the lowest bits.
def unpacked(data, bits, count):
    return np.stack([data >> shift & (1 << bits) - 1 for shift in range(0, 8, bits)],
                    -1).reshape(len(data), -1)[:, :count].astype(np.float64)


for bits in (2, 4, 8):
    for size, rows, block in ((32, 5, 16), (64, 8, 32), (40, 3, 16), (50, 7, 32), (16, 1, 16)):
        blocks = -(-size // block)
        data = ("u8", random.integers(0, 256, (rows, blocks, block * bits // 8)))
        codes = unpacked(np.asarray(data[1], np.uint8).reshape(rows, -1), bits,
                         blocks * block).reshape(rows, blocks, block)
        scales, zeros, reals = drawn(
            rows,
            blocks), ("u8", random.integers(0, 256,
                                            (rows, -(-blocks * bits // 8)))), drawn(rows, blocks)
        of_block = {
            "": 1 << bits - 1, "zeros": unpacked(np.asarray(zeros[1], np.uint8), bits,
                                                 blocks)[..., None], "reals": wide(reals)[..., None]
        }
        x, bias, named = drawn(
            2, 3, size), drawn(rows), {"K": size, "N": rows, "bits": bits, "block_size": block}
        for name, given in (("", None), ("zeros", zeros), ("reals", reals)):
            weight = ((codes - of_block[name]) * wide(scales)[..., None]).reshape(rows,
                                                                                  -1)[:, :size]
            add("MatMulNBits", [x, data, scales, *([given] if given else [])],
                wide(x) @ weight.T, known=(1, 2, 3), accuracy_level=4, **named)
            if name != "reals":
                add("MatMulNBits", [x, data, scales, given, None, bias],
                    wide(x) @ weight.T + wide(bias), **named)
        order = random.integers(0, blocks, size)
        weight = codes.reshape(rows, -1)[:, :size] - of_block["zeros"][:, order, 0]
        weight *= wide(scales)[:, order]
        add("MatMulNBits", [x, data, scales, zeros, ("i32", order)],
            wide(x) @ weight.T, known=(1, 2, 3, 4), **named)
        flat = [("u8", np.asarray(data[1]).reshape(-1)), ("f32", scales[1].reshape(-1)),
                ("u8", np.asarray(zeros[1]).reshape(-1))]
        weight = ((codes - of_block["zeros"]) * wide(scales)[..., None]).reshape(rows, -1)[:, :size]
        add("MatMulNBits", [x, *flat], wide(x) @ weight.T, known=(1, 2, 3), **named)
    table, size, block = random.integers(0, 256, (9, 48 * bits // 8)), 48, 16
    scales, zeros = drawn(9, 3), ("u8", random.integers(0, 256, (9, -(-3 * bits // 8))))
    at = np.array([[1, 8, 0], [-1, 3, 9]])  # a row that is not there is 0
    for given, zero in ((None, 1 << bits - 1),
                        (zeros,
                         np.repeat(unpacked(np.asarray(zeros[1], np.uint8), bits, 3), block, 1))):
        numbers = (unpacked(np.asarray(table, np.uint8), bits, size) - zero) * np.repeat(
            wide(scales), block, 1)
        y = np.where((at < 9)[..., None], numbers[np.minimum(at, 8)], 0)
        for dtype in ("i64", "i32"):
            add("GatherBlockQuantized", [("u8", table),
                                         (dtype, at), scales, *([given] if given else [])], y,
                known=(0, 2, 3), bits=bits, block_size=block)

sys.exit(cases.run(sys.argv[1]))
