"""Fourier transforms along several dims, frequencies, and transforms of frames."""
import torch
from torch import fft

from rows.library.called import pair
from rows.library.fourier import transform

GRID, REALS = ("N", 5, 6, 2), ("N", 5, 6)
transform("fftn", "fftn(x0)", fft.fftn, GRID, GRID)
transform("ifftn", "ifftn(x0, (4, 7), norm=\"ortho\")",
          lambda x: fft.ifftn(x, (4, 7), norm="ortho"), GRID, ("N", 4, 7, 2))
transform("fftn", "fftn(x0, (7, -1), (2, 1))", lambda x: fft.fftn(x, (7, -1), (2, 1)), GRID,
          ("N", 5, 7, 2))
transform("rfftn", "rfftn(x0)", fft.rfftn, REALS, ("N", 5, 4, 2), False)
transform("irfftn", "irfftn(x0)", fft.irfftn, GRID, ("N", 5, 10))
transform("irfftn", "irfftn(x0, (3, 7), (2, 1))", lambda x: fft.irfftn(x, (3, 7), (2, 1)), GRID,
          ("N", 7, 3))
transform("fft2", "fft2(x0)", fft.fft2, GRID, GRID)
transform("ifft2", "ifft2(x0, dim=(0, 2))", lambda x: fft.ifft2(x, dim=(0, 2)), GRID, GRID)
transform("rfft2", "rfft2(x0, norm=\"forward\")", lambda x: fft.rfft2(x, norm="forward"), REALS,
          ("N", 5, 4, 2), False)
transform("irfft2", "irfft2(x0, (5, 9))", lambda x: fft.irfft2(x, (5, 9)), GRID, ("N", 5, 9))

for name, call, expected, size in (
        ("fftfreq", "fftfreq(7, 0.5)", lambda: fft.fftfreq(7, 0.5, dtype=torch.float64), 7),
        ("fftfreq", "fftfreq(8, dtype=f64)", lambda: fft.fftfreq(8, dtype=torch.float64), 8),
        ("rfftfreq", "rfftfreq(7, 0.25)", lambda: fft.rfftfreq(7, 0.25, dtype=torch.float64), 4)):
    pair(name, f"x0 + to({call}, f32)", lambda x, e=expected: x + e(), shapes=((size, ), ),
         result=(size, ), dtypes=("f32", ), count=4, note=call.partition("(")[2][:-1])

WINDOW = torch.hann_window(16, dtype=torch.float64)


def stft(*args, **kwargs):
    return lambda x: torch.stft(x, *args, return_complex=True, **kwargs)


transform("stft", "stft(x0, 16)", stft(16), ("N", 50), ("N", 9, 13, 2), False)
transform("stft", "stft(x0, 16, 4, window=hann_window(16, dtype=f64))", stft(16, 4, window=WINDOW),
          (50, ), (9, 13, 2), False, note="window")
transform(
    "stft",
    "stft(x0, 20, 5, 16, hann_window(16, dtype=f64), center=false, normalized=true, onesided=false)",
    stft(20, 5, 16, WINDOW, center=False, normalized=True,
         onesided=False), ("N", 50), ("N", 20, 7, 2), False, note="all")
transform("stft", "stft(x0, 16)", stft(16), (2, "N"), (2, 9, "N floordiv 4 + 1", 2), False,
          note="length", sizes=(9, 16, 17, 33))

transform("istft", "istft(x0, 16)", lambda x: torch.istft(real_ends(x), 16), ("N", 9, 13, 2),
          ("N", 48))
transform("istft", "istft(x0, 16, window=hann_window(16, dtype=f64), length=50, normalized=true)",
          lambda x: torch.istft(real_ends(x), 16, window=WINDOW, length=50, normalized=True),
          (9, 13, 2), (50, ), note="window")
transform("istft", "istft(x0, 16, center=false)",
          lambda x: torch.istft(real_ends(x), 16, center=False), (2, 9, "N", 2), (2, "N * 4 + 12"),
          note="length")
# Of all frequencies the first half counts.
transform("istft", "istft(x0, 16, onesided=false)", lambda x: torch.istft(real_ends(x[:, :9]), 16),
          ("N", 16, 13, 2), ("N", 48), note="all")


def real_ends(x):
    """The imaginary parts of the first frequency and the last one count for nothing."""
    x = x.clone()
    x[..., [0, -1], :] = x[..., [0, -1], :].real.to(x.dtype)
    return x
