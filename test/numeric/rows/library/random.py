"""Random numbers of a generator that is given. The first numbers of a model's own generator are
those of the seed 0."""
import numpy as np
import torch

import accuracy as acc
import philox
from rows.library.called import FLOATS, UNIT, function, near

SEEDS = ("i64", [0, 1, 7, -3, 2**40 + 5, -2**63, 2**63 - 1])
SIZES = (1, 2, 7, 33, 129)


def drawn(name, call, expected, dtypes=("f32", ), bound=acc.equal, shape=("N", 3), result=None,
          note="", **kwargs):
    """A row of `call`, over the generator x0 and the tensor x1."""
    def of(generator, x):
        return torch.from_numpy(
            np.asarray(expected(generator.numpy(), tuple(x.shape), x), dtype=np.float64))

    function(name, call, dtypes, [(2, ), shape], result or shape, of, bound, sizes=SIZES,
             kinds={0: SEEDS}, note=note or call.partition("(")[2][:-1], **kwargs)


def whole(name, call, expected, **kwargs):
    drawn(name, call, expected, result_dtype=kwargs.pop("result_dtype", "i64"), **kwargs)


for word in range(4):
    for draw in (0, 5):
        whole("random_bits", f"random_bits(x0, [N, 3], {draw}, {word})",
              lambda g, shape, x, draw=draw, word=word: philox.bits(after(g, draw), shape)[word],
              result_dtype="ui32")


def kept(generator, shape, p):
    return philox.uniform(generator, shape) >= p


def after(generator, draws):
    """The generator after so many draws, whose count wraps."""
    return generator[0], (generator[1:].astype(np.int64).view(np.uint64) + np.uint64(draws))[0]


for dtype in (*FLOATS, "f16", "bf16"):
    drawn("rand_like", "rand_like(x1, generator=x0)",
          lambda g, shape, x, d=dtype: philox.uniform(g, shape, d), (dtype, ))
drawn("rand", "rand([N, 3], generator=x0)", lambda g, shape, x: philox.uniform(g, shape))
drawn("advance", "rand([N, 3], generator=advance(x0, 2)) + rand([N, 3], generator=advance(x0, 2))",
      lambda g, shape, x: 2 * philox.uniform(after(g, 2), shape), note="after two draws")
for name, call in (("randn", "randn([N, 3], generator=x0)"), ("randn_like",
                                                              "randn_like(x1, generator=x0)")):
    drawn(name, call, lambda g, shape, x: philox.normal(g, shape), bound=near(16))
drawn("randn_like", "randn_like(x1, generator=x0)", lambda g, shape, x: philox.normal(g, shape),
      ("f64", "f16", "bf16"), near(16))
for name, expected in (
    ("gaussian_dropout", lambda x, n: x * (1 + n * (0.3 / 0.7)**0.5)),
    ("gaussian_noise", lambda x, n: x + 0.3 * n),
):
    drawn(name, f"{name}(x1, 0.3, training=true, generator=x0)",
          lambda g, shape, x, e=expected: e(x.double().numpy(), philox.normal(g, shape)),
          bound=near(16))
for low, high in ((0, 2), (-5, 100), (0, 2**32)):
    whole(
        "randint", f"randint({low}, {high}, [N, 3], generator=x0)",
        lambda g, shape, x, low=low, high=high: np.floor(
            philox.bits(g, shape)[0] * (high - low) / 2**32) + low)
whole("randint", "randint(N + 1, [N, 3], generator=x0)",
      lambda g, shape, x: np.floor(philox.bits(g, shape)[0] * (shape[0] + 1) / 2**32))
drawn("randint_like", "randint_like(x1, 10, generator=x0)",
      lambda g, shape, x: np.floor(philox.bits(g, shape)[0] * 10 / 2**32))
drawn("randint_like", "randint_like(x1, 10, 20, generator=x0)",
      lambda g, shape, x: np.floor(philox.bits(g, shape)[0] * 10 / 2**32) + 10)
whole("randperm", "randperm(N, generator=x0)",
      lambda g, shape, x: np.argsort(philox.bits(g, shape[:1])[0], kind="stable"), result=("N",))
drawn("bernoulli", "bernoulli(x1, generator=x0)",
      lambda g, shape, x: philox.uniform(g, shape) < x.numpy(), values=UNIT)
drawn("bernoulli", "bernoulli(x1, 0.25, generator=x0)",
      lambda g, shape, x: philox.uniform(g, shape) < 0.25)
for call, mean, std in (("x1, x1", 1, 1), ("x1, 2.0", 1, 2), ("2.0, x1", 2, 1)):
    def normal(g, shape, x, of=call):
        m, s = (x.numpy() if part == "x1" else 2.0 for part in of.split(", "))
        return philox.normal(g, shape) * s + m
    drawn("normal", f"normal({call}, generator=x0)", normal, bound=near(32, 4.0), values=UNIT)
drawn("normal", "normal(1.0, 0.5, [N, 3], generator=x0)",
      lambda g, shape, x: philox.normal(g, shape) * 0.5 + 1, bound=near(32, 4.0))
drawn("exponential", "exponential(x1, 2.0, generator=x0)",
      lambda g, shape, x: philox.exponential(g, shape) / 2, bound=near(16))
drawn("geometric", "geometric(x1, 0.25, generator=x0)",
      lambda g, shape, x: np.ceil(philox.exponential(g, shape) / -np.log1p(-0.25)))
drawn("cauchy", "cauchy(x1, 1.0, 2.0, generator=x0)", lambda g, shape, x: np.tan(
    (philox.opened(philox.bits(g, shape)[0]) - 0.5) * np.pi) * 2 + 1, ("f64", ), bound=near(2**24))
drawn("log_normal", "log_normal(x1, 0.5, 0.25, generator=x0)",
      lambda g, shape, x: np.exp(philox.normal(g, shape) * 0.25 + 0.5), bound=near(32))


def weighted(g, shape, x):
    total = np.cumsum(x.numpy(), -1)
    place = philox.uniform(g, (shape[0], 4), "f64") * total[:, -1:]
    return (total[:, None, :] <= place[:, :, None]).sum(-1)


def chosen(g, shape, x):
    return np.argsort(-(x.numpy() / philox.exponential(g, shape)), axis=-1, kind="stable")[:, :2]


whole("multinomial", "multinomial(x1, 4, true, generator=x0)", weighted, dtypes=("f64", ),
      values=UNIT, result=("N", 4))
whole("multinomial", "multinomial(x1, 2, generator=x0)", chosen, dtypes=("f64", ), values=UNIT,
      result=("N", 2))

for name, mask in (("dropout", lambda s: s), ("dropout1d", lambda s: (*s[:-1], 1)),
                   ("dropout2d", lambda s: (*s[:2], 1, 1)), ("dropout3d", lambda s:
                                                             (*s[:-3], 1, 1, 1))):
    shape = {
        "dropout": ("N", 3), "dropout1d": ("N", 3, 4), "dropout2d": ("N", 3, 2, 2),
        "dropout3d": ("N", 3, 2, 2, 2)
    }[name]
    drawn(name, f"{name}(x1, 0.5, true, generator=x0)",
          lambda g, s, x, mask=mask: np.where(kept(g, mask(s), 0.5), x.numpy() * 2, 0), shape=shape)
LOW, P = -1.7580993408473766, 0.25
SCALE = ((1 - P) * (1 + P * LOW * LOW)) ** -0.5
for name, mask in (("alpha_dropout", lambda s: s), ("feature_alpha_dropout", lambda s:
                                                    (*s[:2], 1))):
    drawn(
        name, f"{name}(x1, {P}, true, generator=x0)", lambda g, s, x, mask=mask: np.where(
            kept(g, mask(s), P), x.numpy(), LOW) * SCALE - SCALE * LOW * P, shape=("N", 3, 4),
        bound=near(16))
