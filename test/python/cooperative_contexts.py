"""Kernels whose blocks wait for each other, in several contexts at once, on an emulated GPU of two
multiprocessors: no block waits for ever, and each context gets the bits that it gets alone."""

import sys
import threading

import numpy as np

from models import Failure, compiled, run

# Blocks that share the hidden units of a recurrence, and blocks that share rows of a sum.
TEXT = """dl 1
dim N = 1..4
model Cooperative {
  rnn: GRU(24, 160, batch_first=true)
  forward(x: f32[N,9,24], long: f32[2,70000]) -> (y: f32[N,9,160], s: f32[2]) {
    y, _ = rnn(x)
    s = sum(long, dim=1)
  }
}
"""
RANDOM = np.random.default_rng(3)
CONTEXTS, ROUNDS, SECONDS = 3, 4, 120


def weight(*dims):
    return (RANDOM.normal(size=dims) / 12).astype(np.float32)


WEIGHTS = {
    "rnn.weight_ih_l0": weight(480, 24),
    "rnn.weight_hh_l0": weight(480, 160),
    "rnn.bias_ih_l0": weight(480),
    "rnn.bias_hh_l0": weight(480),
}


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


def inputs(rows):
    return {"x": weight(rows, 9, 24), "long": weight(2, 70000)}


def test_contexts_at_once():
    """Each has a stream of its own; their launches come in any order."""
    model = compiled(TEXT, weights=WEIGHTS, device="cuda", threads=0)
    given = [[inputs(1 + (context + turn) % 4) for turn in range(ROUNDS)]
             for context in range(CONTEXTS)]
    alone = [[model.run(one) for one in some] for some in given]
    contexts = [model.clone() for _ in range(CONTEXTS)]
    wrong, done = [], []

    def work(number):
        try:
            for turn, one in enumerate(given[number]):
                for name, value in contexts[number].run(one).items():
                    if not np.array_equal(value, alone[number][turn][name]):
                        wrong.append(f"context {number}, run {turn}: other bits of {name}")
            done.append(number)
        except Exception as error:  # of a thread, which nobody would see
            wrong.append(f"context {number}: {error}")

    threads = [
        threading.Thread(target=work, args=(number, ), daemon=True) for number in range(CONTEXTS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    if wrong or len(done) != CONTEXTS:
        raise Failure("; ".join(wrong)
                      or f"{CONTEXTS - len(done)} contexts had not ended after {SECONDS} s")


def test_the_values_are_right():
    model = compiled(TEXT, weights=WEIGHTS, device="cuda", threads=0)
    one = inputs(2)
    found = model.run(one)
    close = np.abs(found["s"] - one["long"].astype(np.float64).sum(1)).max()
    h = np.zeros((2, 160))
    w = {name.split(".")[1]: value.astype(np.float64) for name, value in WEIGHTS.items()}
    for step in range(9):
        gates = one["x"][:, step] @ w["weight_ih_l0"].T + w["bias_ih_l0"]
        states = h @ w["weight_hh_l0"].T + w["bias_hh_l0"]
        (r, z, n), (hr, hz, hn) = np.split(gates, 3, 1), np.split(states, 3, 1)
        z = sigmoid(z + hz)
        h = (1 - z) * np.tanh(n + sigmoid(r + hr) * hn) + z * h
        close = max(close, np.abs(found["y"][:, step] - h).max())
    if not close < 1e-4:
        raise Failure(f"off by {close}")


if __name__ == "__main__":
    sys.exit(run(sys.modules[__name__]))
