"""Modules with Fourier transforms."""

import torch
from torch import nn

from complex_modules import parts

WINDOW = torch.hamming_window(20)


def rfft(x):
    return parts(
        torch.fft.rfft(x), torch.fft.rfft(x, norm="ortho"), torch.fft.rfft(x, norm="forward")
    )


def irfft(x):
    f = torch.fft.rfft(x)
    return (
        torch.fft.irfft(f * 2j, n=x.shape[-1]), torch.fft.irfft(f), torch.fft.irfft(f, n=7),
        torch.fft.irfft(f, norm="ortho"), torch.fft.irfft(f, norm="forward"),
    )  # fmt: skip


def limited(x):
    torch._check(x.shape[-1] <= 400)
    return parts(torch.fft.rfft(x), torch.fft.ifft(x + 0j, norm="ortho"))


def fft(x):
    c = torch.complex(x, x.cos())
    return parts(
        torch.fft.fft(c),
        torch.fft.ifft(c),
        torch.fft.ifft(c, norm="ortho"),
        torch.fft.fft(x),
        torch.fft.fft(c, dim=1, norm="forward"),
        torch.fft.fft(c, n=5),
        torch.fft.fftshift(torch.fft.fft(c), dim=-1),
    )  # fmt: skip


def many_dims(x):
    return parts(
        torch.fft.fft2(x),
        torch.fft.rfft2(x),
        torch.fft.irfft2(torch.fft.rfft2(x) * 2),
        torch.fft.fftn(x, dim=(1, 2), norm="ortho"),
        torch.fft.rfftn(x, dim=(2, 1)),
        torch.fft.hfft(x + 0j),
    )  # fmt: skip


def mixed(x):
    """FNet's mixing."""
    return torch.fft.fft(torch.fft.fft(x, dim=-1), dim=1).real


def long(x):
    f = torch.fft.fft(x)
    return parts(
        torch.fft.rfft(x),
        f,
        torch.fft.ifft(f * f),
        torch.fft.irfft(torch.fft.rfft(x), n=x.shape[-1]),
    )


def convolved(x):
    """A long convolution through the frequencies."""
    n = 2 * x.shape[-1]
    kernel = torch.linspace(1, 0, x.shape[-1])
    y = torch.fft.irfft(torch.fft.rfft(x, n=n) * torch.fft.rfft(kernel, n=n), n=n)
    return y[..., : x.shape[-1]]


def stft(x):
    window = torch.hann_window(16)
    return torch.stft(x, 16, hop_length=4, window=window, return_complex=True).abs()


def spectrum(x):
    s = torch.stft(
        x, 32, 8, 20, WINDOW, center=False, normalized=True, onesided=False, return_complex=True
    )
    return parts(s) + (s.abs().pow(2).sum(-1),)


def inverse_stft(x):
    s = torch.stft(x, 20, 5, window=WINDOW, return_complex=True)
    return torch.istft(s * 2, 20, 5, window=WINDOW, length=x.shape[-1])
