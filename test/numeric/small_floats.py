"""Floats of 8 and 4 bits from their definitions (OCP's 8-bit formats, OCP microscaling, and those
without -0 of Graphcore and AMD): the table of all their values, and rounding by search in it.
Nothing here shares a formula with dlc."""
import math

import numpy as np

# name in MLIR -> (name in the language, exponent bits, mantissa bits, bias, what the codes above
# all numbers are)
FORMATS = {
    "f8E4M3FN": ("f8e4m3fn", 4, 3, 7, "one NaN"),
    "f8E4M3FNUZ": ("f8e4m3fnuz", 4, 3, 8, "NaN at -0"), "f8E5M2": ("f8e5m2", 5, 2, 15, "IEEE"),
    "f8E5M2FNUZ": ("f8e5m2fnuz", 5, 2, 16, "NaN at -0"), "f4E2M1FN": ("f4e2m1", 2, 1, 1, "numbers"),
    "f8E8M0FNU": ("f8e8m0", 8, 0, 127, "powers")
}


def table_of(name):
    """The values of all codes, float64."""
    _, exponent_bits, mantissa_bits, bias, kind = FORMATS[name]
    if kind == "powers":
        return np.array([math.ldexp(1.0, code - bias) for code in range(255)] + [math.nan])
    values = []
    for code in range(1 << (1 + exponent_bits + mantissa_bits)):
        sign = -1.0 if code >> (exponent_bits + mantissa_bits) else 1.0
        exponent, mantissa = code >> mantissa_bits & ((1 << exponent_bits) - 1), code & (
            (1 << mantissa_bits) - 1)
        magnitude = (math.ldexp(mantissa, 1 - bias - mantissa_bits) if exponent == 0 else
                     math.ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits))
        is_top = exponent == (1 << exponent_bits) - 1
        if kind == "IEEE" and is_top:
            magnitude = math.nan if mantissa else math.inf
        elif kind == "one NaN" and is_top and mantissa == (1 << mantissa_bits) - 1:
            magnitude = math.nan
        elif kind == "NaN at -0" and magnitude == 0 and sign < 0:
            magnitude = math.nan
        values.append(sign * magnitude)
    return np.array(values)


TABLES = {name: table_of(name) for name in FORMATS}


def rounded(values, name):
    """`values` to nearest, ties to the even code; beyond the range as the format has it."""
    kind, table = FORMATS[name][4], TABLES[name]
    values = np.asarray(values, np.float64)
    if kind == "powers":
        return np.array([nearest_power(value)
                         for value in values.reshape(-1)]).reshape(values.shape)
    grid = table[:len(table) // 2]  # not negative, by code
    numbers = grid[np.isfinite(grid)]
    # The number that would come next ties with the largest as any other does.
    grid = np.append(numbers, 2 * numbers[-1] - numbers[-2])
    magnitude = np.abs(values)
    above = np.clip(np.searchsorted(grid, magnitude), 1, len(grid) - 1)
    below = above - 1
    with np.errstate(invalid="ignore"):
        up, down = grid[above] - magnitude, magnitude - grid[below]
    codes = np.where(down < up, below,
                     np.where(up < down, above, np.where(above % 2 == 0, above, below)))
    overflow = {"IEEE": math.inf, "numbers": numbers[-1]}.get(kind, math.nan)
    result = np.where(codes < len(numbers), grid[codes], overflow)
    result = np.where(magnitude > grid[-1], overflow, result)
    if kind == "NaN at -0":
        result = np.where(result == 0, 0.0, np.copysign(result, values))
    else:
        result = np.copysign(result, values)
    return np.where(np.isnan(values), -0.0 if kind == "numbers" else math.nan, result)


def nearest_power(value):
    """Of the magnitude; half way goes up, and so does all between the two least powers, as in
    PyTorch."""
    value = abs(value)
    if not math.isfinite(value):
        return math.nan
    if value <= 2.0**-127:
        return 2.0**-127
    fraction, exponent = math.frexp(value)  # value = fraction 2^exponent, fraction from 1/2 on
    if fraction > 0.5 and (fraction >= 0.75 or exponent - 1 == -127):
        exponent += 1
    power = math.ldexp(0.5, exponent)
    return power if power <= 2.0**127 else math.nan


def hard(name):
    """Numbers at which rounding to the format decides: its own, those half way, their neighbours in
    f32, and the extremes."""
    numbers = np.unique(TABLES[name][np.isfinite(TABLES[name])])
    middles = (numbers[1:] + numbers[:-1]) / 2
    beyond = np.array(
        [numbers[-1] * 1.03, numbers[-1] * 1.06, numbers[-1] * 1.1, numbers[-1] * 2, 1e30])
    with np.errstate(over="ignore"):
        wide = np.concatenate([numbers, middles, beyond, -beyond]).astype(np.float32)
    near = np.concatenate(
        [wide,
         np.nextafter(wide, np.float32(np.inf)),
         np.nextafter(wide, np.float32(-np.inf))])
    return np.concatenate(
        [near.astype(np.float64), [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40]])
