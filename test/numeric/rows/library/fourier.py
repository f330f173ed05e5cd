"""Fourier transforms. Complex numbers are pairs in a last dim of 2."""
import numpy as np
import torch
from torch import fft

import accuracy as acc
from rows.library.called import FLOATS, function

HALVES = (*FLOATS, "f16", "bf16")


def of_norm(y, inputs, dtype):
    """Units of the root mean square of the results, by the logarithm of how many elements a
    transform has."""
    steps = 1 + np.log2(max(inputs[0].shape))
    return 8 * steps * acc.unit(acc.compute(dtype)) * np.sqrt(np.mean(y * y)) + acc.stored(dtype, y)


def complex_of(x):
    return torch.view_as_complex(x.contiguous())


def pairs(y):
    return torch.view_as_real(y.resolve_conj()) if y.is_complex() else y


def transform(name, call, expected, shape, result, takes_pairs=True, dtypes=("f32", ), note="",
              **kwargs):
    """A row of `call`, whose complex inputs and results PyTorch has as such."""
    function(name, call, dtypes, [shape], result,
             lambda x: pairs(expected(complex_of(x) if takes_pairs else x)), of_norm,
             values="normal", note=note or f"{call.partition('(')[2][:-1]} of {shape}", **kwargs)


# One product, two, and a convolution (of a prime above 1024).
for n in (1, 2, 5, 8):
    transform("fft", "fft(x0)", fft.fft, ("N", n, 2), ("N", n, 2),
              dtypes=HALVES if n == 8 else FLOATS)
    transform("ifft", "ifft(x0)", fft.ifft, ("N", n, 2), ("N", n, 2))
    transform("rfft", "rfft(x0)", fft.rfft, ("N", n), ("N", n // 2 + 1, 2), False,
              HALVES if n == 8 else FLOATS)
    transform("irfft", f"irfft(x0, {n})", lambda x, n=n: fft.irfft(x, n), ("N", n // 2 + 1, 2),
              ("N", n), dtypes=HALVES if n == 8 else FLOATS)
for n, rows in ((150, "N"), (300, "N"), (1031, 2)):
    kwargs = {"dtypes": FLOATS, "sizes": (1, 3)}
    transform("fft", "fft(x0)", fft.fft, (rows, n, 2), (rows, n, 2), **kwargs)
    transform("ifft", "ifft(x0, norm=\"ortho\")", lambda x: fft.ifft(x, norm="ortho"), (rows, n, 2),
              (rows, n, 2), **kwargs)
    transform("rfft", "rfft(x0)", fft.rfft, (rows, n), (rows, n // 2 + 1, 2), False, **kwargs)
    transform("irfft", f"irfft(x0, {n})", lambda x, n=n: fft.irfft(x, n), (rows, n // 2 + 1, 2),
              (rows, n), **kwargs)
transform("rfft", "rfft(x0, onesided=false)", fft.fft, ("N", 300), ("N", 300, 2), False,
          sizes=(1, 3))

# Along other dims, of other sizes, by other factors.
transform("fft", "fft(x0, 7, 0, norm=\"forward\")", lambda x: fft.fft(x, 7, 0, "forward"),
          (5, "N", 2), (7, "N", 2))
transform("fft", "fft(x0, n=3, dim=-2)", lambda x: fft.fft(x, 3, -2), (5, "N", 2), (3, "N", 2))
transform("rfft", "rfft(x0, 6, 0, \"ortho\")", lambda x: fft.rfft(x, 6, 0, "ortho"), (5, "N"),
          (4, "N", 2), False)
transform("irfft", "irfft(x0, dim=0, norm=\"forward\")",
          lambda x: fft.irfft(x, dim=0, norm="forward"), (5, "N", 2), (8, "N"))
transform("hfft", "hfft(x0)", fft.hfft, ("N", 5, 2), ("N", 8))
transform("hfft", "hfft(x0, 7, norm=\"ortho\")", lambda x: fft.hfft(x, 7, norm="ortho"),
          ("N", 5, 2), ("N", 7))
transform("ihfft", "ihfft(x0)", fft.ihfft, ("N", 8), ("N", 5, 2), False)
transform("ihfft", "ihfft(x0, 5, 0, \"forward\")", lambda x: fft.ihfft(x, 5, 0, "forward"),
          (8, "N"), (3, "N", 2), False)

# Along a dim whose size varies.
transform("fft", "fft(x0)", fft.fft, (3, "N", 2), (3, "N", 2), dtypes=FLOATS)
transform("ifft", "ifft(x0, norm=\"ortho\")", lambda x: fft.ifft(x, norm="ortho"), (3, "N", 2),
          (3, "N", 2))
transform("rfft", "rfft(x0)", fft.rfft, (3, "N"), (3, "N floordiv 2 + 1", 2), False)
transform("rfft", "rfft(x0, size(x0, 1) * 2)", lambda x: fft.rfft(x, x.shape[1] * 2), (3, "N"),
          (3, "N + 1", 2), False)
transform("irfft", "irfft(x0)", fft.irfft, (3, "N", 2), (3, "N * 2 - 2"), sizes=(2, 3, 7, 17))
transform("rfft", "rfft(x0, 16)", lambda x: fft.rfft(x, 16), (3, "N"), (3, 9, 2), False)
