"""Rows of special functions that the language has no function for, which are computed in double
precision from others."""

import math

import torch

from ..call import dtype_text
from .elementwise import operand
from ..table import row

#: Bernoulli's numbers B2, B4, ...
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
_SHIFT = 8  # a series of 1 / x is good from here on


def _wide(call, name="self"):
    """An argument in double precision."""
    return call.emit(operand(call, call[name], torch.float64), "x")


def _narrow(call, text):
    dtype = call.meta().dtype
    return text if dtype == torch.float64 else f"to({call.emit(text)}, {dtype_text(dtype)})"


def _series(coefficients, power):
    """The sum of coefficients times powers 0, 1, ... of a value."""
    text = repr(coefficients[-1])
    for value in reversed(coefficients[:-1]):
        text = f"({text}) * {power} + {value!r}"
    return text


@row("lgamma")
def _log_gamma(call):
    """Stirling's series above a shift; below 0.5 by reflection."""
    x = _wide(call)
    z = call.emit(f"where({x} < 0.5, 1.0 - {x}, {x})", "z")
    product = " * ".join(f"({z} + {float(k)!r})" for k in range(_SHIFT))
    high = call.emit(f"{z} + {float(_SHIFT)!r}", "high")
    square = call.emit(f"1.0 / ({high} * {high})", "square")
    terms = [b / (2 * k * (2 * k - 1)) for k, b in enumerate(_BERNOULLI, 1)]
    tail = f"({_series(terms, square)}) / {high}"
    half = 0.5 * math.log(2 * math.pi)
    found = call.emit(
        f"({high} - 0.5) * log({high}) - {high} + {half!r} + {tail} - log({product})", "above"
    )
    far = f"{z} > 1e16"  # where the product overflows or the shift is lost
    found = call.emit(f"where({far}, {z} * (log({z}) - 1.0), {found})", "above")
    part = call.emit(f"{x} - round({x})", "part")
    sine = f"abs(sin({math.pi!r} * {part}))"
    pole = call.emit(f"({x} <= 0.0) & ({part} == 0.0)", "pole")
    below = call.emit(f"{math.log(math.pi)!r} - log({sine}) - {found}", "below")
    infinite = f'abs({x}) == float("inf")'
    most = 'tensor(float("inf"), dtype=f64)'
    found = call.emit(f"where({x} < 0.5, {below}, {found})")
    return _narrow(call, f"where({pole} | ({infinite}), {most}, {found})")


def _digamma(call, x):
    z = call.emit(f"where({x} < 0.5, 1.0 - {x}, {x})", "z")
    sums = " + ".join(f"1.0 / ({z} + {float(k)!r})" for k in range(_SHIFT))
    high = call.emit(f"{z} + {float(_SHIFT)!r}", "high")
    square = call.emit(f"1.0 / ({high} * {high})", "square")
    terms = [b / (2 * k) for k, b in enumerate(_BERNOULLI, 1)]
    tail = f"({_series(terms, square)}) * {square}"
    above = call.emit(f"log({high}) - 0.5 / {high} - {tail} - ({sums})", "above")
    part = call.emit(f"{x} - round({x})", "part")
    below = call.emit(f"{above} - {math.pi!r} / tan({math.pi!r} * {part})", "below")
    found = call.emit(f"where({x} < 0.5, {below}, {above})")
    # A pole has no sign but at 0.
    nan = 'tensor(float("nan"), dtype=f64)'
    found = call.emit(f"where(({x} < 0.0) & ({part} == 0.0), {nan}, {found})")
    least = call.emit('tensor(float("inf"), dtype=f64)', "largest")
    return f"where({x} == 0.0, copysign({least}, -{x}), {found})"


def _trigamma(call, x):
    z = call.emit(f"where({x} < 0.5, 1.0 - {x}, {x})", "z")
    parts = [f"1.0 / (({z} + {float(k)!r}) * ({z} + {float(k)!r}))" for k in range(_SHIFT)]
    high = call.emit(f"{z} + {float(_SHIFT)!r}", "high")
    square = call.emit(f"1.0 / ({high} * {high})", "square")
    tail = f"({_series(list(_BERNOULLI), square)}) * {square} / {high}"
    above = f"1.0 / {high} + 0.5 * {square} + {tail} + {' + '.join(parts)}"
    above = call.emit(above, "above")
    part = call.emit(f"{x} - round({x})", "part")
    sine = call.emit(f"sin({math.pi!r} * {part})", "sine")
    return f"where({x} < 0.5, {math.pi**2!r} / ({sine} * {sine}) - {above}, {above})"


@row("digamma")
def _digamma_row(call):
    return _narrow(call, _digamma(call, _wide(call)))


@row("polygamma")
def _polygamma(call):
    if call["n"] not in (0, 1):
        call.refuse(f"derivative {call['n']} of digamma; dlc has the first")
    return _narrow(call, (_digamma, _trigamma)[call["n"]](call, _wide(call)))


def _erfinv(call, x, rest):
    """By Newton's steps; `rest` is 1 - |x|, exactly."""
    size = call.emit(f"abs({x})", "size")
    log = call.emit(f"log({rest} * (1.0 + {size}))", "log")
    a = 2 / (math.pi * 0.147)
    half = call.emit(f"{a!r} + 0.5 * {log}", "half")
    y = call.emit(f"sqrt(sqrt({half} * {half} - {log} / 0.147) - {half})", "y")
    for _ in range(3):
        slope = f"{math.sqrt(math.pi) / 2!r} * exp({y} * {y})"
        far = f"where({size} < 0.5, {size} - erf({y}), erfc({y}) - {rest})"
        step = call.emit(f"({far}) * {slope}", "step")
        # Halley's correction makes a step cubic.
        y = call.emit(f"{y} + {step} / (1.0 - {y} * {step})", "y")
    y = f'where({rest} == 0.0, tensor(float("inf"), dtype=f64), {y})'
    return f"copysign({call.emit(y)}, {x})"


@row("erfinv")
def _erfinv_row(call):
    x = _wide(call)
    return _narrow(call, _erfinv(call, x, call.emit(f"1.0 - abs({x})", "rest")))


@row("special_ndtri")
def _ndtri(call):
    p = _wide(call)
    rest = call.emit(f"where({p} < 0.5, 2.0 * {p}, 2.0 - 2.0 * {p})", "rest")
    x = call.emit(f"2.0 * {p} - 1.0", "centered")
    return _narrow(call, f"{math.sqrt(2)!r} * {_erfinv(call, x, rest)}")


@row("special_erfcx")
def _erfcx(call):
    """exp(x * x) * erfc(x); a series of 1 / x where both factors leave the range."""
    x = _wide(call)
    square = call.emit(f"1.0 / ({x} * {x})", "square")
    series = (
        f"({_series([1.0, -0.5, 0.75, -1.875, 6.5625], square)}) / ({math.sqrt(math.pi)!r} * {x})"
    )
    return _narrow(call, f"where({x} > 20.0, {series}, exp({x} * {x}) * erfc({x}))")
