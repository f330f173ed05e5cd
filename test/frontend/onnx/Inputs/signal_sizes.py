"""Transforms, windows and biases of lengths that are known when they run. What NumPy gives is
expected. signal_sizes.py FOLDER; the last line is "N passed, N failed"."""
import math

import numpy as np
from onnx_writer import node
from sized_cases import case, finish, ints, scalar, x


def parts(y):
    return np.stack([y.real, y.imag], -1)


def whole(v):
    return v[..., 0] + (1j * v[..., 1] if v.shape[-1] == 2 else 0)


# Of as many points as the dim has, or as another input says.
TIMES = [[(2, t, 1)] for t in (1, 2, 5, 16, 37)]
case("dft", [node("DFT", "x", axis=1)], [x(2, "T", 1)], [], lambda v: parts(np.fft.fft(whole(v))),
     TIMES, within=1e-4)
case("dft_half", [node("DFT", "x", axis=1, onesided=1)], [x(2, "T", 1)], [],
     lambda v: parts(np.fft.rfft(v[..., 0])), TIMES, within=1e-4)
case("dft_inverse", [node("DFT", "x", axis=1, inverse=1)], [x("N", "T", 2)], [],
     lambda v: parts(np.fft.ifft(whole(v))), [[(1, t, 2)] for t in (1, 2, 5, 16)], within=1e-4)
case("dft_inverse_half", [node("DFT", "x, , a", inverse=1, onesided=1)], [x(2, "K", 2)],
     [scalar("a", 1)], lambda v: np.fft.irfft(whole(v))[..., None],
     [[(2, k, 2)] for k in (2, 3, 8, 17)], within=1e-4, opset=20)
case("dft_points", [node("DFT", "x, n", axis=1)],
     [x(1, "T", 2), x(dtype="i64", name="n")], [], lambda v, n: parts(np.fft.fft(whole(v), int(n))),
     [[(1, t, 2), np.array(n)] for t, n in ((4, 4), (4, 3), (4, 9), (1, 6), (7, 1))], within=1e-4)
case("dft_middle", [node("DFT", "x", axis=1)], [x("N", "T", 3, 1)], [],
     lambda v: parts(np.fft.fft(whole(v), axis=1)), [[(1, 4, 3, 1)], [(2, 7, 3, 1)]], within=1e-4)
case("rfft", [node("Rfft", "x", domain="com.microsoft", signal_ndim=1, onesided=1, normalized=0)],
     [x(3, "T")], [], lambda v: parts(np.fft.rfft(v)), [[(3, t)] for t in (1, 6, 9)], within=1e-4,
     opsets=[("com.microsoft", 1)])
case(
    "stft", [node("STFT", "x, s, , l", onesided=1)], [x("B", "T")],
    [scalar("s", 2), scalar("l", 6)], lambda v: parts(
        np.stack([np.fft.rfft(v[:, at:at + 6]) for at in range(0, v.shape[1] - 5, 2)], 1)),
    [[(1, 6)], [(2, 11)], [(1, 40)]], within=1e-4)

# Windows, and weights of mel bins.
for op, terms in (("HannWindow", (0.5, 0.5, 0)), ("HammingWindow", (25 / 46, 21 / 46, 0)),
                  ("BlackmanWindow", (0.42, 0.5, 0.08))):
    for periodic in (0, 1):
        def window(n, periodic=periodic, terms=terms):
            turns = 2 * np.pi * np.arange(n) / max(1, n if periodic else n - 1)
            return terms[0] - terms[1] * np.cos(turns) + terms[2] * np.cos(2 * turns)

        case(f"{op}_{periodic}", [
            node("Shape", "x", "shape"),
            node("Squeeze", "shape", "n"),
            node(op, "n", periodic=periodic)
        ], [x("T")], [], lambda v: window(len(v)), [[(n, )] for n in (1, 2, 5, 400)])
    case(f"{op}_of_data", [node(op, "n")], [x(dtype="i64", name="n")], [], lambda n: window(int(n)),
         [[np.array(n)] for n in (1, 4, 33)])


def mel_weights(mels, length, rate=16000.0, low=20.0, high=8000.0):
    def mel(hertz):
        return 2595 * math.log10(1 + hertz / 700)

    step = (mel(high) - mel(low)) / (mels + 2)
    edges = [
        math.floor(700 * (10**((mel(low) + at * step) / 2595) - 1) * (length + 1) / rate)
        for at in range(mels + 2)
    ]
    y = np.zeros((length // 2 + 1, mels))
    for one, (begin, centre, end) in enumerate(zip(edges, edges[1:], edges[2:])):
        for at in range(begin, centre + 1):
            y[at, one] = 1 if begin == centre else (at - begin) / (centre - begin)
        for at in range(centre, end):
            y[at, one] = (end - at) / (end - centre)
    return y


edges = [scalar("r", 16000), scalar("f", 20.0, "f32"), scalar("h", 8000.0, "f32")]
case("mel_weights", [node("MelWeightMatrix", "m, n, r, f, h")],
     [x(dtype="i64", name="m"), x(dtype="i64", name="n")], edges,
     lambda m, n: mel_weights(int(m), int(n)),
     [[np.array(m), np.array(n)] for m, n in ((8, 64), (40, 400), (80, 512), (1, 16))])

# A bias by distance over as many keys as a tensor has.
rows = np.linspace(-1, 1, 16).reshape(8, 2)


def row_of(distance):
    distance = max(-distance, 0)
    return distance if distance < 4 else min(4 + int(math.log(distance / 4) / math.log(21 / 4) * 4),
                                             7)


length = [node("Shape", "x", "shape"), node("Gather", "shape, one", "T")]
case(
    "relative_positions",
    [*length,
     node("RelativePositionBias", "b, T, T", domain="com.microsoft", max_distance=21)],
    [x(1, "T"), x(8, 2, name="b")], [scalar("one", 1)],
    lambda v, b: np.array([[b[row_of(k - q)] for k in range(v.shape[1])]
                           for q in range(v.shape[1])]).transpose(2, 0, 1)[None],
    [[(1, t), rows] for t in (1, 5, 50)], opsets=[("com.microsoft", 1)])


# Attention of a decoder: its caches grow by the new tokens, whose number and that of all the mask
# says.
def attended(q, k, v, past_k, past_v, mask):
    heads = lambda one: one.reshape(*one.shape[:2], -1, 8).swapaxes(1, 2)
    q, k, v = heads(q), np.concatenate([past_k, heads(k)], 2), np.concatenate([past_v, heads(v)], 2)
    y = np.zeros_like(q)
    for text, head, row in np.ndindex(*q.shape[:3]):
        begin = mask[text].sum() - q.shape[2]  # of this text's new tokens among its keys
        if begin + row < 0:
            continue
        seen = slice(0, begin + row + 1)
        scores = k[text, head // 2, seen] @ q[text, head, row] / math.sqrt(8)
        weights = np.exp(scores - scores.max())
        y[text, head, row] = weights / weights.sum() @ v[text, head // 2, seen]
    return y.swapaxes(1, 2).reshape(q.shape[0], q.shape[2], -1)


decoder = [
    node("ReduceSum", "mask, one", "counts", keepdims=0),
    node("Sub", "counts, one", "last64"),
    node("Cast", "last64", "last", to=6),
    node("Shape", "mask", "shape"),
    node("Gather", "shape, at", "total64"),
    node("Cast", "total64", "total", to=6),
    node("GroupQueryAttention", "q, k, v, pk, pv, last, total", "y, nk, nv", domain="com.microsoft",
         num_heads=4, kv_num_heads=2)
]
case("decoder", decoder, [
    x("N", "T", 32, name="q"),
    x("N", "T", 16, name="k"),
    x("N", "T", 16, name="v"),
    x("N", 2, "P", 8, name="pk"),
    x("N", 2, "P", 8, name="pv"),
    x("N", "S", dtype="i64", name="mask")
], [ints("one", 1), scalar("at", 1)], attended, [[(n, t, 32), (n, t, 16), (n, t, 16), (n, 2, p, 8),
                                                  (n, 2, p, 8),
                                                  np.ones((n, t + p))]
                                                 for n, t, p in ((1, 1, 3), (1, 5, 1), (2, 3, 4))],
     opsets=[("com.microsoft", 1)])
finish()
