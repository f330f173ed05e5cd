#!/usr/bin/env python3
"""Complex numbers and Fourier transforms compiled by dlc, against eager PyTorch: through
torch.export on the CPU and the emulated GPU, and as the backend of torch.compile. On demand: it
needs the package `dlc`.

  PYTHONPATH=build/python python3 test/aten/run_complex.py           all of them
  PYTHONPATH=build/python python3 test/aten/run_complex.py PART...   names that have a PART in them
"""

import sys

import torch
from torch import nn
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

from module_cases import Checks

ROWS = {"x": {0: "N"}}
WINDOW = torch.hamming_window(20)


class Of(nn.Module):
    """A module of a function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class Rotary(nn.Module):
    """Attention's queries and keys as Llama's reference code turns them. `keeps`: "buffer",
    "attribute", or "none" for factors that each call makes."""

    def __init__(self, keeps):
        super().__init__()
        torch.manual_seed(1)
        self.keeps = keeps
        self.wq, self.wk = nn.Linear(16, 16, bias=False), nn.Linear(16, 16, bias=False)
        if keeps == "buffer":
            self.register_buffer("freqs_cis", self.factors(64), persistent=False)
        elif keeps == "attribute":
            self.freqs_cis = self.factors(64)

    @staticmethod
    def factors(end, dim=8, theta=10000.0):
        freqs = 1.0 / (theta ** (torch.arange(0, dim, 2)[: (dim // 2)].float() / dim))
        freqs = torch.outer(torch.arange(end), freqs).float()
        return torch.polar(torch.ones_like(freqs), freqs)

    @staticmethod
    def turned(x, freqs_cis):
        x_ = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        shape = [d if i == 1 or i == x_.ndim - 1 else 1 for i, d in enumerate(x_.shape)]
        return torch.view_as_real(x_ * freqs_cis.view(*shape)).flatten(3).type_as(x)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k = (w(x).view(batch, length, 2, 8) for w in (self.wq, self.wk))
        kept = self.factors(length) if self.keeps == "none" else self.freqs_cis[:length]
        q, k = self.turned(q, kept), self.turned(k, kept)
        return q.transpose(1, 2) @ k.transpose(1, 2).transpose(2, 3)


class Weight(nn.Module):
    """A complex parameter, as of a state-space layer."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(2)
        self.weight = nn.Parameter(torch.randn(4, 3, dtype=torch.complex64))

    def forward(self, x):
        return torch.view_as_real(torch.complex(x, -x) @ self.weight)


def _parts(*results):
    """Complex results as real ones."""
    return tuple(torch.view_as_real(x.resolve_conj()) if x.is_complex() else x for x in results)


def _arithmetic(x):
    c = torch.complex(x, x + 1)
    d = c * 2 + 1j
    return _parts(c + d, c - x, x - c, c * d, c * x, x * c, -c, d - 2 * c, c + 1, 3 - c)


def _quotients(x):
    c = torch.complex(x, x + 1)
    return _parts(c / (c * 2 + 1j), c / (x + 3), c / 2, x / c, 1 / c, c / (1 + 2j), 1j * c)


def _functions(x):
    c = torch.complex(x, x.flip(0))
    return _parts(
        c.abs(), c.angle(), c.real, c.imag, c.conj() * c, c.exp(), (c + 3).log(), c**2, c**3
    )


def _polar(x):
    return _parts(torch.polar(x.abs(), x * 3), torch.polar(x[:1].abs(), x[:1]))


def _large(x):
    c = torch.complex(x * 1e30, x * 1e30)
    return c.abs() / 1e30, (c / (c * 2)).real


def _double(x):
    c = torch.complex(x.double(), x.double() * 2)
    return _parts(c * c, c.to(torch.complex64), x.to(torch.complex64) * (2 - 1j))


def _broadcast(x):
    c = torch.complex(x, -x)
    return _parts(
        c[:, None] * c, c[:, None] + x, c[:1] * x, c * x[0], torch.complex(x, x[:1].expand_as(x))
    )


def _shapes(x):
    c = torch.complex(x, -x)
    return _parts(
        c.reshape(-1), c.t(), c.unsqueeze(-1), c[:, 1], c[:, -2:], c[None].squeeze(0), c.flatten(),
        c.unflatten(1, (2, 2)).permute(2, 0, 1), c.transpose(-1, 0), c[:, :1].expand(-1, 3),
        *c.split(2, -1), c.unbind(-1)[2], c.flip(-1), c.roll(1, -1),
    )  # fmt: skip


def _joins(x):
    c = torch.complex(x, -x)
    padded = nn.functional.pad(c, (1, 2))
    chosen = torch.where(x > 0, c, c * 2)
    return _parts(
        torch.cat([c, c.conj()], -1), torch.stack([c, 2 * c], -1), torch.cat([c, x + 0j]),
        padded, chosen, c.repeat(1, 2), c.masked_fill(x > 0.5, 0), c[[0, 1, 1]],
    )  # fmt: skip


def _sums(x):
    c = torch.complex(x, x * x)
    return _parts(c.sum(), c.sum(-1), c.sum(0, keepdim=True), c.mean(1), c.cumsum(-1))


def _products(x):
    c = torch.complex(x, x + 1)
    return _parts(
        c @ c.t(), c.t() @ c.conj(), c[None] @ c.t()[None], torch.einsum("nk,mk->nm", c, c)
    )


def _edges(x):
    """Pairs in, pairs out."""
    return torch.view_as_real(torch.view_as_complex(x.reshape(-1, 2, 2)) * (1 - 2j))


def _rfft(x):
    return _parts(
        torch.fft.rfft(x), torch.fft.rfft(x, norm="ortho"), torch.fft.rfft(x, norm="forward")
    )


def _irfft(x):
    f = torch.fft.rfft(x)
    return (
        torch.fft.irfft(f * 2j, n=x.shape[-1]), torch.fft.irfft(f), torch.fft.irfft(f, n=7),
        torch.fft.irfft(f, norm="ortho"), torch.fft.irfft(f, norm="forward"),
    )  # fmt: skip


def _fft(x):
    c = torch.complex(x, x.cos())
    return _parts(
        torch.fft.fft(c), torch.fft.ifft(c), torch.fft.ifft(c, norm="ortho"), torch.fft.fft(x),
        torch.fft.fft(c, dim=1, norm="forward"), torch.fft.fft(c, n=5), torch.fft.fftshift(torch.fft.fft(c), dim=-1),
    )  # fmt: skip


def _many_dims(x):
    return _parts(
        torch.fft.fft2(x), torch.fft.rfft2(x), torch.fft.irfft2(torch.fft.rfft2(x) * 2),
        torch.fft.fftn(x, dim=(1, 2), norm="ortho"), torch.fft.rfftn(x, dim=(2, 1)), torch.fft.hfft(x + 0j),
    )  # fmt: skip


def _mixed(x):
    """FNet's mixing."""
    return torch.fft.fft(torch.fft.fft(x, dim=-1), dim=1).real


def _long(x):
    f = torch.fft.fft(x)
    return _parts(
        torch.fft.rfft(x),
        f,
        torch.fft.ifft(f * f),
        torch.fft.irfft(torch.fft.rfft(x), n=x.shape[-1]),
    )


def _convolved(x):
    """A long convolution through the frequencies."""
    n = 2 * x.shape[-1]
    kernel = torch.linspace(1, 0, x.shape[-1])
    y = torch.fft.irfft(torch.fft.rfft(x, n=n) * torch.fft.rfft(kernel, n=n), n=n)
    return y[..., : x.shape[-1]]


def _stft(x):
    window = torch.hann_window(16)
    return torch.stft(x, 16, hop_length=4, window=window, return_complex=True).abs()


def _spectrum(x):
    s = torch.stft(
        x, 32, 8, 20, WINDOW, center=False, normalized=True, onesided=False, return_complex=True
    )
    return _parts(s) + (s.abs().pow(2).sum(-1),)


def _inverse_stft(x):
    s = torch.stft(x, 20, 5, window=WINDOW, return_complex=True)
    return torch.istft(s * 2, 20, 5, window=WINDOW, length=x.shape[-1])


def _written(x):
    c = torch.complex(x, x * 2)
    c[0] = 1j
    c.mul_(2)
    c.real.add_(1)
    c[:, 1:] += 1
    return torch.view_as_real(c)


def _norms(x):
    c = torch.complex(x, x * 2)
    return torch.linalg.vector_norm(c, dim=-1), torch.linalg.vector_norm(c)


def _shared(x):
    """Results that are views of one."""
    c = torch.complex(x, x * 2)
    return c, c.conj(), c.real


def _one_step(x):
    """A size that only a run shows to be that of the factors."""
    factors = torch.polar(torch.ones(6, 2), torch.arange(12.0).reshape(6, 2))
    c = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(c * factors[:, None][: x.shape[0]]).flatten(2)


def _branch(x):
    c = torch.complex(x, x * 2)
    return torch.view_as_real(torch.cond(x.sum() > 0, lambda c: c * 1j, lambda c: c + 1, (c,)))


def _loop(x):
    c = torch.complex(x, x * 2)
    return torch.view_as_real(
        while_loop(lambda c: c.abs().sum() < 50, lambda c: (c * 2j,), (c,))[0]
    )


def _scan(x):
    c = torch.complex(x, x * 2)
    return _parts(*scan(lambda h, c: (h * c, h + c), c[0] + 0, c + 0, dim=0))


class Kept(nn.Module):
    """A complex buffer that forward changes."""

    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.tensor([1 + 2j, 3 - 1j]))

    def forward(self, x):
        self.kept.mul_(x.sum() * 1j)
        return torch.view_as_real(self.kept)


class Size(nn.Module):
    def forward(self, x):
        return x.abs()


def _complex_result(x):
    return torch.complex(x, x)


def _unknown(x):
    return torch.complex(x, x).tan().real


def rows(*counts, shape=(4,)):
    torch.manual_seed(1)
    return [(torch.randn(count, *shape),) for count in counts]


def main():
    checks = Checks(sys.argv[1:])
    for keeps in ("buffer", "attribute", "none"):
        calls = [(torch.randn(2, 6, 16),), (torch.randn(3, 11, 16),), (torch.randn(2, 64, 16),)]
        sized = {"x": {0: "B", 1: "T"}}
        checks.both(f"rotary embedding, {keeps}", Rotary(keeps), calls, sized)
    checks.both("a complex parameter", Weight(), rows(3, 5), ROWS)
    for name, function in {
        "arithmetic": _arithmetic,
        "quotients": _quotients,
        "functions": _functions,
        "polar": _polar,
        "large numbers": _large,
        "other precisions": _double,
        "broadcasts": _broadcast,
        "shapes": _shapes,
        "joins": _joins,
        "sums": _sums,
        "matrix products": _products,
        "pairs at the edges": _edges,
        "parts that are written": _written,
        "norms": _norms,
        "complex numbers in a branch": _branch,
        "complex numbers in a loop": _loop,
        "complex numbers in a scan": _scan,
    }.items():
        checks.both(name, Of(function), rows(3, 5), ROWS)
    for name, function in {
        "rfft": _rfft,
        "irfft": _irfft,
        "fft": _fft,
        "many dims": _many_dims,
        "FNet": _mixed,
    }.items():
        checks.exported(name, Of(function), rows(3, 5, shape=(6, 8)), ROWS)
        checks.compiled(name, function, rows(3, shape=(6, 8)), dynamic=False)
        checks.compiled(name + " of odd sizes", function, rows(2, shape=(5, 9)), dynamic=False)
    for size in (1, 2, 400, 512, 1030, 2048, 1031):
        checks.exported(f"{size} elements", Of(_long), rows(2, shape=(size,)), emulated=size < 600)
    checks.exported("4096 elements", Of(_long), rows(2, shape=(4096,)), emulated=False)
    checks.both("a long convolution", Of(_convolved), rows(2, shape=(60,)))
    checks.exported("stft", Of(_stft), rows(2, 3, shape=(64,)), {"x": {0: "N", 1: "L"}})
    checks.exported(
        "stft of other lengths",
        Of(_stft),
        [(torch.randn(2, 64),), (torch.randn(2, 101),)],
        {"x": {1: "L"}},
    )
    checks.compiled("stft", _stft, [(torch.randn(2, 64),), (torch.randn(3, 101),)])
    checks.both("a spectrum", Of(_spectrum), rows(2, shape=(80,)))
    checks.both("an inverse stft", Of(_inverse_stft), rows(2, shape=(80,)))
    checks.both("a size that a run shows", Of(_one_step), rows(6, shape=(2, 4)))
    checks.compiled("a complex buffer", Kept(), rows(3))
    checks.compiled("results that share memory", _shared, rows(3))
    inputs = [(torch.randn(n, dtype=torch.complex64).conj(),) for n in (3, 5)]
    checks.compiled("a complex input", Size(), inputs)
    checks.refused("a complex input", Size(), inputs[0], "a tensor of complex64")
    checks.refused("a complex result", Of(_complex_result), rows(3)[0], "a tensor of complex64")
    checks.refused(
        "a function without a row",
        Of(_unknown),
        rows(3)[0],
        "torch.ops.aten.tan.default: complex numbers",
    )
    checks.refused(
        "a dim that varies", Of(_rfft), rows(3, shape=(8,))[0], "whose size varies", {"x": {1: "L"}}
    )
    checks.refused("5000 elements", Of(_rfft), rows(1, shape=(5000,))[0], "dlc takes 1 to 4096")
    checks.compiled("a complex result", _complex_result, rows(3, 5))
    checks.compiled(
        "a function without a row",
        _unknown,
        rows(3, 5),
        "torch.ops.aten.tan: dlc has no row for it of complex",
    )
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
