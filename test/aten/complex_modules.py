"""Modules that compute with complex numbers."""

import torch
from torch import nn
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop


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


def parts(*results):
    """Complex results as real ones."""
    return tuple(torch.view_as_real(x.resolve_conj()) if x.is_complex() else x for x in results)


def arithmetic(x):
    c = torch.complex(x, x + 1)
    d = c * 2 + 1j
    return parts(c + d, c - x, x - c, c * d, c * x, x * c, -c, d - 2 * c, c + 1, 3 - c)


def quotients(x):
    c = torch.complex(x, x + 1)
    return parts(c / (c * 2 + 1j), c / (x + 3), c / 2, x / c, 1 / c, c / (1 + 2j), 1j * c)


def functions(x):
    c = torch.complex(x, x.flip(0))
    return parts(
        c.abs(), c.angle(), c.real, c.imag, c.conj() * c, c.exp(), (c + 3).log(), c**2, c**3
    )


def polar(x):
    return parts(torch.polar(x.abs(), x * 3), torch.polar(x[:1].abs(), x[:1]))


def large(x):
    c = torch.complex(x * 1e30, x * 1e30)
    return c.abs() / 1e30, (c / (c * 2)).real


def double(x):
    c = torch.complex(x.double(), x.double() * 2)
    return parts(c * c, c.to(torch.complex64), x.to(torch.complex64) * (2 - 1j))


def broadcast(x):
    c = torch.complex(x, -x)
    return parts(
        c[:, None] * c, c[:, None] + x, c[:1] * x, c * x[0], torch.complex(x, x[:1].expand_as(x))
    )


def shapes(x):
    c = torch.complex(x, -x)
    return parts(
        c.reshape(-1), c.t(), c.unsqueeze(-1), c[:, 1], c[:, -2:], c[None].squeeze(0), c.flatten(),
        c.unflatten(1, (2, 2)).permute(2, 0, 1), c.transpose(-1, 0), c[:, :1].expand(-1, 3),
        *c.split(2, -1), c.unbind(-1)[2], c.flip(-1), c.roll(1, -1),
    )  # fmt: skip


def joins(x):
    c = torch.complex(x, -x)
    padded = nn.functional.pad(c, (1, 2))
    chosen = torch.where(x > 0, c, c * 2)
    return parts(
        torch.cat([c, c.conj()], -1), torch.stack([c, 2 * c], -1), torch.cat([c, x + 0j]),
        padded, chosen, c.repeat(1, 2), c.masked_fill(x > 0.5, 0), c[[0, 1, 1]],
    )  # fmt: skip


def sums(x):
    c = torch.complex(x, x * x)
    return parts(c.sum(), c.sum(-1), c.sum(0, keepdim=True), c.mean(1), c.cumsum(-1))


def products(x):
    c = torch.complex(x, x + 1)
    return parts(
        c @ c.t(),
        c.t() @ c.conj(),
        c[None] @ c.t()[None],
        torch.einsum("nk,mk->nm", c, c),
        torch.einsum("nk,mk,nk->m", c, x.to(c.dtype), c.conj()),
    )


def edges(x):
    """Pairs in, pairs out."""
    return torch.view_as_real(torch.view_as_complex(x.reshape(-1, 2, 2)) * (1 - 2j))


def written(x):
    c = torch.complex(x, x * 2)
    c[0] = 1j
    c.mul_(2)
    c.real.add_(1)
    c[:, 1:] += 1
    return torch.view_as_real(c)


def norms(x):
    c = torch.complex(x, x * 2)
    return torch.linalg.vector_norm(c, dim=-1), torch.linalg.vector_norm(c)


def shared(x):
    """Results that are views of one."""
    c = torch.complex(x, x * 2)
    return c, c.conj(), c.real


def one_step(x):
    """A size that only a run shows to be that of the factors."""
    factors = torch.polar(torch.ones(6, 2), torch.arange(12.0).reshape(6, 2))
    c = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(c * factors[:, None][: x.shape[0]]).flatten(2)


def in_branch(x):
    c = torch.complex(x, x * 2)
    return torch.view_as_real(torch.cond(x.sum() > 0, lambda c: c * 1j, lambda c: c + 1, (c,)))


def in_loop(x):
    c = torch.complex(x, x * 2)
    return torch.view_as_real(
        while_loop(lambda c: c.abs().sum() < 50, lambda c: (c * 2j,), (c,))[0]
    )


def in_scan(x):
    c = torch.complex(x, x * 2)
    return parts(*scan(lambda h, c: (h * c, h + c), c[0] + 0, c + 0, dim=0))


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


def complex_result(x):
    return torch.complex(x, x)


def unknown(x):
    return torch.complex(x, x).tan().real
