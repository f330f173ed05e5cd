"""Rows of Fourier transforms: products with matrices of cosines and sines, which are constants of
the program.

A transform of many elements is two of fewer, with factors between them: of the columns and then
the rows of a matrix that has the elements (Cooley and Tukey)."""

import math

import torch

from .complex import product
from ..pairs import row

#: A transform of so many elements is one product; those of real numbers have half of the matrix.
_ONE_PRODUCT, _ONE_REAL_PRODUCT = 256, 1024
#: A longer one is refused.
_LONGEST = 4096


def _size(call, dim, known=None):
    size = call.node.meta["val"].shape[dim] if known is None else known
    if not isinstance(size, int):
        call.refuse("a Fourier transform along a dim whose size varies; make it a number")
    if not 0 < size <= _LONGEST:
        call.refuse(f"a Fourier transform of {size} elements; dlc takes 1 to {_LONGEST}")
    return size


def _factor(call, n):
    """What the normalization multiplies the transform of one dim by."""
    return {0: 1.0, 1: 1.0 / math.sqrt(n), 2: 1.0 / n}[call["normalization"]]


def _angles(rows, columns, n):
    """2 pi i k / n of a matrix, whose product i k stays exact."""
    places = torch.arange(rows, dtype=torch.int64)[:, None] * torch.arange(
        columns, dtype=torch.int64
    )
    return (places % n).to(torch.float64) * (2 * math.pi / n)


def _table(call, key, make):
    """A constant of the program, which has each once."""
    tables, dtype = call.program.tables, call.meta(call["self"]).dtype
    if (key, dtype) not in tables:
        tables[key, dtype] = call.program.constant(make().to(dtype), "fourier")
    return tables[key, dtype]


def _last(call, text, dim, rank):
    """With a dim of `rank` dims at the end, in front of the parts of a complex tensor."""
    return text if dim == rank - 1 else call.emit(f"transpose({text}, {dim}, {rank - 1})")


def _complex_matrix(n, sign, factor):
    """[n, 2, n, 2]: the parts of an element by the parts of a result."""
    cos, sin = torch.cos(_angles(n, n, n)) * factor, torch.sin(_angles(n, n, n)) * (sign * factor)
    first, second = torch.stack([cos, sin], -1), torch.stack([-sin, cos], -1)
    return torch.stack([first, second], 1).reshape(2 * n, 2 * n)


def _along_last(call, text, n, sign, factor=1.0):
    """The transform of pairs along the last dim of complex numbers."""
    divisors = [a for a in range(2, math.isqrt(n) + 1) if n % a == 0]
    if n > _ONE_PRODUCT and divisors:
        return _in_two(call, text, n, divisors[-1], sign, factor)
    table = _table(call, (n, sign, factor), lambda: _complex_matrix(n, sign, factor))
    return call.emit(f"unflatten(matmul(flatten({text}, -2), {table}), -1, [{n}, 2])", "fft")


def _in_two(call, text, n, a, sign, factor):
    """Of n = a * b elements k1 * b + k2, and results j1 + a * j2."""
    b = n // a

    def twiddles():
        angles = _angles(b, a, n)
        return torch.stack([torch.cos(angles), sign * torch.sin(angles)], -1)

    apart = call.emit(f"transpose(unflatten({text}, -2, [{a}, {b}]), -3, -2)")
    columns = _along_last(call, apart, a, sign, factor)
    table = _table(call, ("twiddles", n, a, sign), twiddles)
    turned = call.emit(product(call, columns, table))
    rows = _along_last(call, call.emit(f"transpose({turned}, -3, -2)"), b, sign)
    return call.emit(f"flatten(transpose({rows}, -3, -2), -3, -2)", "fft")


def _complex_along(call, text, dim, rank, sign, size=None):
    n = _size(call, dim, size)
    found = _along_last(call, _last(call, text, dim, rank), n, sign, _factor(call, n))
    return _last(call, found, dim, rank)


@row("_fft_c2c")
def _c2c(call):
    rank, text = call.rank(call["self"]) - 1, call("self")
    for dim in call["dim"]:
        text = _complex_along(call, text, dim % rank, rank, -1 if call["forward"] else 1)
    return text


@row("_fft_r2c")
def _r2c(call):
    """The last of the dims is of real numbers, and may give the first half of its results."""
    x, rank = call["self"], call.rank(call["self"])
    *others, dim = [dim % rank for dim in call["dim"]]
    n = _size(call, dim, call.shape(x)[dim])
    text = _last(call, call("self"), dim, rank)
    count, factor = n // 2 + 1 if call["onesided"] else n, _factor(call, n)
    if n > _ONE_REAL_PRODUCT:
        pairs = call.emit(f"pad(unsqueeze({text}, -1), [0, 1])")
        found = _along_last(call, pairs, n, -1, factor)
        found = call.emit(f"{found}[..., :{count}, :]") if count < n else found
    else:
        table = _table(call, ("real", n, count, factor), lambda: _real_matrix(n, count, factor))
        found = call.emit(f"unflatten(matmul({text}, {table}), -1, [{count}, 2])", "fft")
    found = _last(call, found, dim, rank)
    for other in others:
        found = _complex_along(call, found, other, rank, -1)
    return found


def _real_matrix(n, count, factor):
    angles = _angles(n, count, n)
    return torch.stack([torch.cos(angles), -torch.sin(angles)], -1).reshape(n, 2 * count) * factor


@row("_fft_c2r")
def _c2r(call):
    """Of half of the elements: the others are their conjugates."""
    x, n = call["self"], call["last_dim_size"]
    rank, text = call.rank(x) - 1, call("self")
    *others, dim = [dim % rank for dim in call["dim"]]
    _size(call, dim, n)
    count, factor = n // 2 + 1, _factor(call, n)
    if call.shape(x)[dim] != count:
        call.refuse(f"{call.shape(x)[dim]} elements for an inverse transform to {n}")
    for other in others:
        text = _complex_along(call, text, other, rank, 1, call.shape(x)[other])
    text = _last(call, text, dim, rank)
    if n > _ONE_REAL_PRODUCT:
        found = _through_complex(call, text, n, count, factor)
    else:
        table = _table(call, ("inverse", n, factor), lambda: _inverse_matrix(n, count, factor))
        found = call.emit(f"matmul(flatten({text}, -2), {table})", "fft")
    return _last(call, found, dim, rank)


def _through_complex(call, text, n, count, factor):
    """The whole of the elements, transformed; the imaginary parts that do not count are zero."""
    table = _table(call, ("kept", n), lambda: _kept(n, count))
    half = call.emit(f"{text} * {table}")
    more = call.emit(f"flip({half}[..., 1:{n - count + 1}, :], [-2])")
    flat = call.emit(f"{more}[..., 0]"), call.emit(f"-{more}[..., 1]")
    whole = call.emit(f"cat([{half}, stack([{', '.join(flat)}], dim=-1)], dim=-2)")
    return call.emit(f"{_along_last(call, whole, n, 1, factor)}[..., 0]", "fft")


def _kept(n, count):
    found = torch.ones(count, 2, dtype=torch.float64)
    found[0, 1] = 0
    if n % 2 == 0:
        found[-1, 1] = 0
    return found


def _inverse_matrix(n, count, factor):
    """[2 * count, n]: each element but the first, and the middle one, stands for two."""
    angles, times = _angles(count, n, n), torch.full((count, 1), 2.0, dtype=torch.float64)
    times[0] = 1
    if n % 2 == 0:
        times[-1] = 1
    found = torch.stack([torch.cos(angles) * times, -torch.sin(angles) * times], 1)
    return found.reshape(2 * count, n) * factor
