"""RNN, GRU and LSTM of ONNX in the forms that no op of dlc has: other activations, clip, peepholes,
coupled gates, reversed sequences of several lengths; and with one of two initial states.
recurrent_forms.py FOLDER; the last line is "N passed, N failed"."""
import sys

import numpy as np
from op_values import Cases

random = np.random.default_rng(9)
cases = Cases()


def drawn(*shape):
    return "f32", random.standard_normal(shape).astype(np.float32)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


FUNCTIONS = {
    "Sigmoid": (lambda x, a, b: sigmoid(x), None,
                None), "Tanh": (lambda x, a, b: np.tanh(x), None,
                                None), "Relu": (lambda x, a, b: np.maximum(x, 0), None,
                                                None), "Affine": (lambda x, a, b: a * x + b, 1, 0),
    "LeakyRelu": (lambda x, a, b: np.where(x < 0, a * x, x), 0.01,
                  None), "ThresholdedRelu": (lambda x, a, b: np.where(x > a, x, 0), 1, None),
    "ScaledTanh": (lambda x, a, b: a * np.tanh(b * x), 1,
                   1), "HardSigmoid": (lambda x, a, b: np.clip(a * x + b, 0, 1), 0.2, 0.5),
    "Elu": (lambda x, a, b: np.where(x < 0, a * np.expm1(x), x), 1,
            None), "Softsign": (lambda x, a, b: x / (1 + abs(x)), None, None),
    "Softplus": (lambda x, a, b: np.log1p(np.exp(x)), None, None)
}
GATES = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}


def recurrent(op, x, w, r, b, lengths, h, c, p, direction, activations, alphas, betas, clip,
              coupled, linear):
    """y [T, D, N, H] and the last states [D, N, H]; all as the standard's formulas say."""
    steps, hidden, directions = x.shape[0], r.shape[2], w.shape[0]
    alphas, betas, functions = list(alphas), list(betas), []
    for name in activations or GATES[op] * directions:
        function, alpha, beta = FUNCTIONS[name]
        alpha = alphas.pop(0) if alpha is not None and alphas else alpha
        beta = betas.pop(0) if beta is not None and betas else beta
        functions.append(lambda z, f=function, a=alpha, b=beta: f(
            np.clip(z, -clip, clip) if clip else z, a, b))
    y, each = np.zeros((steps, directions, x.shape[1], hidden)), len(GATES[op])
    h, c = h.copy(), c.copy()
    for d in range(directions):
        f = functions[d * each:(d + 1) * each]
        split = lambda z: [z[..., i * hidden:(i + 1) * hidden] for i in range(w.shape[1] // hidden)]
        for t in range(steps) if direction != "reverse" and d == 0 else reversed(range(steps)):
            both, own, hd, cd = x[t] @ w[d].T + b[d][:w.shape[1]], b[d][w.shape[1]:], h[d], c[d]
            if op == "RNN":
                new = f[0](both + hd @ r[d].T + own)
            elif op == "GRU":
                (xz, xr, xh), (bz, br, bh), (rz, rr, rh) = split(both), split(own), [
                    m.T for m in r[d].reshape(3, hidden, hidden)
                ]
                z, reset = f[0](xz + hd @ rz + bz), f[0](xr + hd @ rr + br)
                new = f[1](xh + (reset * (hd @ rh + bh) if linear else (reset * hd) @ rh + bh))
                new = (1 - z) * new + z * hd
            else:
                gi, go, gf, gc = split(both + hd @ r[d].T + own)
                pi, po, pf = split(p[d])[:3]
                i = f[0](gi + pi * cd)
                forget = 1 - i if coupled else f[0](gf + pf * cd)
                cell = forget * cd + i * f[1](gc)
                new = f[0](go + po * cell) * f[2](cell)
                c[d] = np.where(t < lengths[:, None], cell, cd)
            runs = t < lengths[:, None]
            h[d], y[t, d] = np.where(runs, new, hd), np.where(runs, new, 0)
    return y, h, c


def network(op, direction="forward", layout=0, leaves_out=(), lengths=None, activations=(),
            alphas=(), betas=(), clip=0, coupled=0, linear=0):
    steps, batch, width, hidden = 4, 3, 2, 5
    count, directions = {"RNN": 1, "GRU": 3,
                         "LSTM": 4}[op], 2 if direction == "bidirectional" else 1
    shapes = [(steps, batch, width), (directions, count * hidden, width),
              (directions, count * hidden, hidden), (directions, 2 * count * hidden), None,
              (directions, batch, hidden), (directions, batch, hidden), (directions, 3 * hidden)]
    inputs = [
        None if shape is None or place in leaves_out else (drawn(*shape)[0], drawn(*shape)[1] / 2)
        for place, shape in enumerate(shapes)
    ]
    inputs[4] = None if lengths is None else ("i32", np.array(lengths))
    inputs = inputs if op == "LSTM" else inputs[:6]
    wide = [
        np.zeros(shape or batch)
        if place >= len(inputs) or inputs[place] is None else inputs[place][1].astype(np.float64)
        for place, shape in enumerate(shapes)
    ]
    wide[4] = np.array(lengths or [steps] * batch)
    y, h, c = recurrent(op, *wide, direction, activations, alphas, betas, clip, coupled, linear)
    results = [("f32", y.transpose(2, 0, 1, 3) if layout else y)
               ] + [("f32", s.swapaxes(0, 1) if layout else s) for s in (h, c)]
    if layout:
        inputs = [
            i if i is None or place not in (0, 5, 6) else (i[0], i[1].swapaxes(0, 1))
            for place, i in enumerate(inputs)
        ]
    named = {
        "clip": clip, "activations": list(activations),
        "activation_alpha": [float(a)
                             for a in alphas], "activation_beta": [float(b) for b in betas],
        "input_forget": coupled, "linear_before_reset": linear, "layout": layout
    }
    while inputs[-1] is None:
        inputs.pop()
    cases.add(op, inputs, results[:3 if op == "LSTM" else 2], 22, within="f32", hidden_size=hidden,
              direction=direction, **{name: held for name, held in named.items() if held})


for op, functions in GATES.items():
    for layout, direction in ((0, "forward"), (1, "reverse"), (0, "bidirectional")):
        directions = 2 if direction == "bidirectional" else 1
        network(op, direction, layout, leaves_out=(7,), lengths=(4, 1, 2))
        network(op, direction, layout, leaves_out=(3, 5, 6, 7), clip=0.25, linear=int(op == "GRU"))
        for name, (_, alpha, beta) in FUNCTIONS.items() if op == "RNN" else ():
            network(op, direction, layout, activations=[name] * directions,
                    alphas=[0.3] * directions if alpha is not None else (),
                    betas=[0.4] * directions if beta is not None else ())
        chosen = {
            "RNN": ["LeakyRelu"], "GRU": ["HardSigmoid", "Elu"],
            "LSTM": ["HardSigmoid", "ScaledTanh", "Softsign"]
        }[op] * directions
        network(op, direction, layout, leaves_out=(7, ), activations=chosen,
                alphas=[0.3, 0.7][:len(functions)] * directions)
network("LSTM")
network("LSTM", "reverse", lengths=(2, 4, 3), coupled=1)
network("LSTM", "bidirectional", 1, clip=0.5)
for left in ((5, 7), (6, 7)):  # one of the initial states
    network("LSTM", leaves_out=left)

sys.exit(cases.run(sys.argv[1]))
