"""Rows of Fourier transforms, which are functions of the language (frontend/dl/library)."""

from ..pairs import row

#: The longest transforms that the language has: of a number of elements, and of a size that varies.
_LONGEST, _LONGEST_VARYING = 1 << 20, 4096


def _check(call, size):
    """Refuses a transform that is too long."""
    if isinstance(size, int):
        if not 0 < size <= _LONGEST:
            call.refuse(f"a Fourier transform of {size} elements; dlc takes 1 to {_LONGEST}")
        return
    if call.program.most(size) > _LONGEST_VARYING:
        call.refuse(
            f"a Fourier transform along a dim whose size varies; limit it to {_LONGEST_VARYING}"
            " by torch._check, or make it a number"
        )


def _norm(call, is_inverse):
    """ATen counts the factor: 0 for none, 1 for 1 / sqrt(n), 2 for 1 / n."""
    names = ("forward", "ortho", "backward") if is_inverse else ("backward", "ortho", "forward")
    return names[call["normalization"]]


def _along(call, text, dims, is_inverse):
    """Transforms complex numbers along some of their dims."""
    if not dims:
        return text
    name = "ifftn" if is_inverse else "fftn"
    return call.emit(f'{name}({text}, dim={dims}, norm="{_norm(call, is_inverse)}")', "fft")


@row("_fft_c2c")
def _c2c(call):
    shape, rank = call.shape(call["self"]), call.rank(call["self"]) - 1
    dims = [dim % rank for dim in call["dim"]]
    for dim in dims:
        _check(call, shape[dim])
    return _along(call, call("self"), dims, not call["forward"])


@row("_fft_r2c")
def _r2c(call):
    """The last of the dims is of real numbers, and may give the first half of its results."""
    shape = call.shape(call["self"])
    *others, dim = [dim % len(shape) for dim in call["dim"]]
    for each in (*others, dim):
        _check(call, shape[each])
    rest = "" if call["onesided"] else ", onesided=false"
    found = call.emit(f'rfft({call("self")}, dim={dim}, norm="{_norm(call, False)}"{rest})', "fft")
    return _along(call, found, others, False)


@row("_fft_c2r")
def _c2r(call):
    """Of the first half of the elements: the others are their conjugates."""
    shape, n = call.shape(call["self"]), call["last_dim_size"]
    rank = call.rank(call["self"]) - 1
    *others, dim = [dim % rank for dim in call["dim"]]
    for each in others:
        _check(call, shape[each])
    _check(call, call.shape(call.node)[dim])
    found = _along(call, call("self"), others, True)
    return f'irfft({found}, {call.size(n)}, dim={dim}, norm="{_norm(call, True)}")'
