"""Rows of ops that draw random numbers. The model draws them from a generator of its own."""

import torch

from ..call import dtype_text, number_text
from ..table import name_of, row

_DRAWS = set()


def draw(*overloads):
    """Declares a row of overloads that draw random numbers."""
    _DRAWS.update(name if "." in name else name + ".default" for name in overloads)
    return row(*overloads)


def draws(call):
    """Whether a call draws random numbers: those of dropout do in training alone."""
    if name_of(call.node.target) not in _DRAWS:
        return False
    is_training = call.get("train", call.get("training", True))
    return is_training is not False and call.get("p") != 0


def _shape(call):
    return call.sizes(call.shape(call.node))


def _dtype(call):
    return dtype_text(call.meta().dtype)


def _made(call, name, *numbers):
    """A function of numbers, the result's sizes and its dtype."""
    return call.function(name, *numbers, _shape(call), dtype=_dtype(call))


def _number(call, name):
    """A number as an expression."""
    value = call[name]
    return call.text(value) if isinstance(value, torch.fx.Node) else number_text(value)


@draw("rand", "rand.generator", "rand_like", "rand_like.generator")
def _rand(call):
    return _made(call, "rand")


@draw("randn", "randn.generator", "randn_like", "randn_like.generator")
def _randn(call):
    return _made(call, "randn")


@draw(
    "randint",
    "randint.low",
    "randint.generator",
    "randint.low_generator",
    "randint_like",
    "randint_like.low_dtype",
)
def _randint(call):
    low = _number(call, "low") if call.get("low") is not None else "0"
    return _made(call, "randint", low, _number(call, "high"))


@draw("randperm", "randperm.generator")
def _randperm(call):
    return call.function("randperm", _number(call, "n"), dtype=_dtype(call))


@draw("bernoulli")
def _bernoulli(call):
    return f"bernoulli({call('self')})"


@draw("bernoulli.p")
def _bernoulli_of(call):
    return f"bernoulli({call('self')}, {float(call['p'])!r})"


@draw("bernoulli.Tensor")
def _bernoulli_of_each(call):
    probabilities = f"expand({call('p')}, {_shape(call)})"
    return f"to(bernoulli({probabilities}), {_dtype(call)})"


@draw("normal_functional", "normal.float_float")
def _normal(call):
    return _made(call, "normal", _real(call, "mean"), _real(call, "std"))


def _real(call, name):
    """A number that is a float where it is known."""
    value = call[name]
    return number_text(float(value)) if isinstance(value, (int, float)) else call.text(value)


@draw("normal.Tensor_float", "normal.float_Tensor", "normal.Tensor_Tensor")
def _normal_of_each(call):
    texts = [
        call.text(call[name]) if call.is_tensor(call[name]) else _real(call, name)
        for name in ("mean", "std")
    ]
    return f"normal({', '.join(texts)})"


@draw("uniform")
def _uniform(call):
    low, high = float(call["from"]), float(call["to"])
    text = _made(call, "rand")
    text = text if high - low == 1 else f"{text} * {number_text(high - low)}"
    return text if low == 0 else f"{text} + {number_text(low)}"


@draw("exponential", "geometric", "cauchy", "log_normal")
def _distribution(call):
    numbers = [
        number_text(float(call[argument.name]))
        for argument in call.schema.arguments
        if argument.name not in ("self", "generator")
    ]
    return f"{call.name}({', '.join([call('self'), *numbers])})"


@draw("multinomial")
def _multinomial(call):
    return call.function(
        "multinomial",
        call("self"),
        str(call["num_samples"]),
        replacement="true" if call["replacement"] else None,
    )


@draw("rrelu_with_noise_functional")
def _rrelu(call):
    lower, upper = float(call["lower"]), float(call["upper"])
    x = call("self")
    if not call["training"]:
        return [f"leaky_relu({x}, {number_text((lower + upper) / 2)})", call("noise")]
    slope = call.emit(f"rand_like({x}) * {number_text(upper - lower)} + {number_text(lower)}")
    slope = call.emit(f"where({x} <= 0, {slope}, 1.0)")
    return [f"{x} * {slope}", slope]


@draw("dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout", "native_dropout")
def _dropout(call):
    text, p = call("input"), float(call["p"])
    if p == 0 or call["train"] is False and call.name == "native_dropout":
        return [text, None] if call.name == "native_dropout" else text
    if call.name == "native_dropout":
        kept = call.emit(f"rand({call.sizes(call.shape(call['input']))}) >= {p!r}")
        scale = 1 / (1 - p) if p < 1 else 0.0
        zero = f"zeros([], dtype={dtype_text(call.meta(call['input']).dtype)})"
        return [f"where({kept}, {text} * {scale!r}, {zero})", kept]
    # A feature is what lies at one place of the first two dims.
    name = {"feature_dropout": "dropout2d"}.get(call.name, call.name)
    mode = "" if call["train"] is False else ", true"
    return f"{name}({text}, {p!r}{mode})"
