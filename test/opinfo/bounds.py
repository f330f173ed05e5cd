"""The accuracy that is asked of an entry of op_db: the bound of its numeric rows
(test/numeric/rows) where it is a function of each element, else one that follows from what
roundings of the inputs make of the results."""
import functools
import glob
import os
import re

import numpy as np
import torch

import accuracy as acc
from rows import ROWS

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CONDITION = object()
DRAWS = 4
# Functions that are rounded once.
EXACT = {
    "threshold", "where", "masked_fill", "mul", "div", "neg", "abs", "floor", "ceil", "trunc",
    "round", "reciprocal", "square", "sqrt", "fmod", "dropout", "t", "roll", "flip", "tril", "triu"
}
# Ops that others compute.
DECOMPOSED = {
    "addmm", "addmv", "baddbmm", "var_mean", "cosine_similarity", "pairwise_distance", "cdist",
    "embedding_bag", "normalize"
}
# Functions that compute places, in f32 of tensors of f32.
PLACED = {"interpolate", "grid_sample", "upsample"}
# Functions whose results are differences of numbers of this size.
SIZES = {"log_softmax": 1.0, "nn.functional.cosine_embedding_loss": 1.0}
# Functions each result of which adds all elements of a frame: its error follows the largest result,
# where it cancels to 0 too.
TRANSFORMS = {"stft"}


@functools.lru_cache(None)
def of_rows():
    """Name of the op -> bound, for functions of each element; the widest of an op whose ways of
    computing have their own."""
    found = {}
    for row in ROWS:
        is_of_elements = row.inputs and all(shape == row.result for shape in row.inputs)
        of_units = getattr(row.bound, "__qualname__",
                           "").split(".")[0] in ("equal", "ulps", "composite", "of_trunc")
        if is_of_elements and (of_units or row.bound is None and row.op in EXACT) and not row.body:
            found.setdefault(row.op, []).append(row.bound)
    return {
        op: bounds[0] if len(set(bounds)) == 1 or None in bounds else widest(bounds)
        for op, bounds in found.items()
    }


def widest(bounds):
    return lambda y, inputs, dtype: np.maximum.reduce([bound(y, inputs, dtype) for bound in bounds])


ALIASES = {
    "true_divide": "div", "div/floor_rounding": "floor_divide",
    "div/trunc_rounding": "trunc_divide", "div/no_rounding_mode": "div", "__rdiv__": "div",
    "__rmul__": "mul", "__rpow__": "pow", "__rmod__": "remainder"
}


def of_entry(entry):
    """The bound, or CONDITION."""
    name = entry.split("/")[0].replace("nn.functional.", "").replace("special.", "")
    name = ALIASES.get(entry, name)
    return of_rows().get(name, CONDITION)


@functools.lru_cache(None)
def of_several_ops():
    """The functions that other functions compute, whose results are stored in between."""
    names = set(DECOMPOSED)
    for path in glob.glob(os.path.join(ROOT, "frontend", "dl", "library", "*.dl")):
        with open(path, encoding="utf-8") as file:
            names |= set(re.findall(r"^(\w+)\(.*\{$", file.read(), re.M))
    return names


def format_of(entry, dtype):
    """The float type whose roundings a result of the entry sees."""
    if not acc.is_float(dtype):
        return "f32"
    return dtype if entry.split("/")[0].split(".")[-1] in of_several_ops() else acc.compute(dtype)


def shifted(format, generator):
    """Changes each number by a unit roundoff of `format`, up or down."""
    unit = acc.unit(format)

    def change(value):
        if not isinstance(value, torch.Tensor) or not value.is_floating_point():
            return value
        signs = torch.randint(0, 2, value.shape, generator=generator).double() * 2 - 1
        return value * (1 + unit * signs)
    return change


def of_places(entry, exact, x, format):
    """Returns how far rounded places move a result: neighbours in x differ by at most twice its
    largest magnitude, and magnitudes of cubic weights add up to less than 2."""
    if entry.split("/")[0].split(".")[-1] not in PLACED or not x.numel():
        return 0.0
    return 4 * acc.unit(format) * max(*x.shape, *exact.shape) * float(x.double().abs().max())


def of_condition(entry, exact, moved, count, format, places):
    """The exact result of inputs that are off by `count` units of `format`, as many units of the
    result, and `places`."""
    exact, name = exact.numpy(), entry.split("/")[0]
    size = np.abs(exact).max(initial=0.0) if name in TRANSFORMS else SIZES.get(name, 0.0)
    with np.errstate(all="ignore"):
        # A power of a negative number is NaN where its whole exponent moves.
        distance = sum(
            (np.nan_to_num(np.abs(shift.numpy() - exact), posinf=np.inf) for shift in moved),
            np.zeros(exact.shape))

    def bound(y, inputs, dtype):
        with np.errstate(all="ignore"):
            unit = acc.ulp(np.maximum(np.abs(y), size),
                           dtype if format == dtype else acc.compute(dtype))
            return count * (distance + unit) + places + acc.stored(dtype, y)
    return bound
