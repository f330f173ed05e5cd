"""Models with symbolic dims on the emulated GPU: kernels for parts of the shapes, compiled when
such shapes are bound."""

import math
import resource
import sys

import numpy as np

from models import Failure, compiled, expect, run

PRODUCTS = """dl 1
dim N = 1..4
dim T = 1..256
model Products {
  forward(x: f32[N,T,64], wide: f32[64,256], narrow: f32[32,256], half: f16[T,128], of_half: f16[128,256])
      -> (y: f32[N,T,32], z: f16[T,256]) {
    y = linear(gelu(x @ wide), narrow)
    z = half @ of_half
  }
}
"""
ATTENTION = """dl 1
dim T = 1..384
model Attention {
  forward(q: f32[2,4,T,32], k: f32[2,4,384,32], v: f32[2,4,384,32]) -> (y: f32[2,4,T,32]) {
    y = scaled_dot_product_attention(q, k, v)
  }
}
"""
RANDOM = np.random.default_rng(11)
erf = np.vectorize(math.erf)


class Compiles:
    """How many kernels are compiled, and when."""

    def __init__(self):
        self.done = 0

    def __call__(self, done, total):
        self.done += total if done == 0 else 0

    def take(self):
        taken, self.done = self.done, 0
        return taken


def model_of(text, **options):
    compiles = Compiles()
    return compiled(
        text, **{"device": "cuda", "threads": 0, "cache_dir": "", "progress": compiles, **options}
    ), compiles


WIDE, NARROW = RANDOM.normal(size=(64, 256)) / 8, RANDOM.normal(size=(32, 256)) / 16
OF_HALF = (RANDOM.normal(size=(128, 256)) / 11).astype(np.float16)


def products(model, n, t):
    x, half = RANDOM.normal(size=(n, t, 64)), RANDOM.normal(size=(t, 128)).astype(np.float16)
    given = model.run(
        {
            "x": x.astype(np.float32),
            "wide": WIDE.astype(np.float32),
            "narrow": NARROW.astype(np.float32),
            "half": half,
            "of_half": OF_HALF,
        }
    )
    h = x @ WIDE
    y = (h * 0.5 * (1 + erf(h / math.sqrt(2)))) @ NARROW.T
    z = half.astype(np.float64) @ OF_HALF.astype(np.float64)
    worst = max(np.abs(given["y"] - y).max(), np.abs(given["z"].astype(np.float64) - z).max() / 16)
    if not worst < 2e-4:
        raise Failure(f"N = {n}, T = {t}: off by {worst}")
    return given


def test_each_part_of_the_shapes():
    model, compiles = model_of(PRODUCTS)
    at_load = compiles.take()
    shapes, first, again = (
        [(1, 1), (1, 5), (4, 2), (2, 8), (1, 40), (3, 60), (1, 256), (4, 256)],
        [],
        [],
    )
    for n, t in shapes:
        products(model, n, t)
        first.append(compiles.take())
    for n, t in shapes:
        products(model, n, t)
        again.append(compiles.take())
    expect((at_load, first[0] > 0, sum(first) > first[0], sum(again)), (0, True, True, 0))


def test_the_same_shape_gives_the_same_bits():
    model, _ = model_of(PRODUCTS)
    ones = {
        "x": np.ones((1, 9, 64), np.float32),
        "wide": WIDE.astype(np.float32),
        "narrow": NARROW.astype(np.float32),
        "half": np.ones((9, 128), np.float16),
        "of_half": OF_HALF,
    }
    before = model.run(ones)
    for t in (1, 256, 30):
        products(model, 1, t)
    after = model.run(ones)
    expect([bool(np.array_equal(before[name], after[name])) for name in ("y", "z")], [True, True])


def test_two_models_share_what_was_compiled():
    model, compiles = model_of(PRODUCTS)
    products(model, 1, 3)
    expect(compiles.take() > 0, True)
    products(model, 2, 3)  # six rows
    expect(compiles.take(), 0)


def test_attention_of_few_queries():
    model, compiles = model_of(ATTENTION)
    k, v = RANDOM.normal(size=(2, 4, 384, 32)), RANDOM.normal(size=(2, 4, 384, 32))
    counts = []
    for t in (1, 16, 383, 384, 1):  # the ends of the range: the compiler chooses where it is split
        q = RANDOM.normal(size=(2, 4, t, 32))
        y = model(q.astype(np.float32), k.astype(np.float32), v.astype(np.float32))
        scores = np.exp(q @ k.swapaxes(-1, -2) / math.sqrt(32))
        worst = np.abs(y - scores / scores.sum(-1, keepdims=True) @ v).max()
        if not worst < 1e-5:
            raise Failure(f"T = {t}: off by {worst}")
        counts.append(compiles.take())
    expect(counts, [1, 0, 1, 0, 0])


def test_progress_that_raises():
    def tell(done, total):
        raise ValueError("enough")

    model, _ = model_of(ATTENTION, progress=tell)
    q, kv = np.zeros((2, 4, 3, 32), np.float32), np.zeros((2, 4, 384, 32), np.float32)
    try:
        model(q, kv, kv)
    except ValueError as error:
        expect(str(error), "enough")
    else:
        raise Failure("the exception was lost")
    model(q, kv, kv)  # the kernels are there, and nothing is left to be told


def test_many_shapes_leave_nothing_behind():
    model, compiles = model_of(PRODUCTS)
    for t in (1, 2, 9, 40, 100, 256):
        products(model, 1, t)
    w = {"wide": WIDE.astype(np.float32), "narrow": NARROW.astype(np.float32), "of_half": OF_HALF}
    compiles.take()
    memory, before = None, 0
    for number in range(1000):
        t = int(RANDOM.integers(1, 25))
        model.run(
            {"x": np.ones((1, t, 64), np.float32), "half": np.ones((t, 128), np.float16), **w}
        )
        if number == 200:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            memory = model.memory()["weights"], model.memory()["persistent"]
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    expect(
        (
            compiles.take(),
            grown < 8 << 10,
            (model.memory()["weights"], model.memory()["persistent"]) == memory,
        ),
        (0, True, True),
    )


if __name__ == "__main__":
    sys.exit(run(sys.modules[__name__]))
