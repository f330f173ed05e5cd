"""Modules with branches, and with ops that only call a graph."""

import torch
from torch import nn
from torch._higher_order_ops.switch import switch


class Layers(nn.Module):
    """The branches have weights of the module."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(2)
        self.first, self.second = nn.Linear(4, 6), nn.Linear(4, 6, bias=False)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: self.first(x), lambda x: self.second(x) * 2, (x,))


def on_size(x):
    return torch.cond(x.shape[0] > 4, lambda x: x.sin(), lambda x: x.cos(), (x,))


def two_results(x):
    return torch.cond(x.sum() > 0, lambda x: (x + 1, x.sum()), lambda x: (x * 2, x.max()), (x,))


def captured(x):
    y = x * 3
    return torch.cond(x.mean() > 0, lambda x: x + y, lambda x: x - y[:1], (x,)) + y


def one_after_another(x):
    for k in range(3):
        x = torch.cond(x.sum() > k, lambda x: x * 0.5, lambda x: x + 1.5, (x,))
    return x


def checked(x):
    torch._assert_async(x.sum() > -1e9, "the sum is too small")
    return x * 2


class Turns(nn.Module):
    """A state says which branch runs."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(4)
        self.even, self.odd = nn.Linear(4, 4), nn.LayerNorm(4)
        self.register_buffer("turn", torch.zeros(()))

    def forward(self, x):
        self.turn += 1
        return torch.cond(self.turn % 2 == 0, lambda x: self.even(x), lambda x: self.odd(x), (x,))


def nested(x):
    def inner(x):
        return torch.cond(x[0, 0] > 0.5, lambda x: x * 5, lambda x: x.exp(), (x,))

    return torch.cond(x.sum() > 0, inner, lambda x: x.tanh(), (x,))


def one_unused(x):
    return torch.cond(x.sum() > 0, lambda x: (x + 1, x * 7), lambda x: (x * 2, x * 3), (x,))[0]


def rank_one(x):
    return torch.cond(x.sum().reshape(1) > 0, lambda x: x + 1, lambda x: x - 1, (x,))


class ItsNumber(nn.Module):
    """The condition is on a number that a tensor holds."""

    def forward(self, x, n):
        count = n.item()
        torch._check(count >= 0)
        return torch.cond(count > 3, lambda x: x.sin() + count, lambda x: x.cos(), (x,))


def sizes_differ(x):
    y = torch.cond(x.sum() > 0, lambda x: x[:1] + 0, lambda x: torch.cat([x, x]) * 2, (x,))
    return y * 2, y.sum(0)


def static_sizes_differ(x):
    return (
        torch.cond(x.sum() > 0, lambda x: x[:, :1] + 0, lambda x: torch.cat([x, x], 1) * 2, (x,))
        + 1
    )


def picked(x):
    """A branch gives as many elements as its data say."""
    return torch.cond(x.sum() > 0, lambda x: x[x > 0.5] + 0, lambda x: x.reshape(-1) * 2, (x,)) * 2


def numbers(x):
    return x + torch.cond(x.sum() > 0, lambda x: 3, lambda x: 7, (x,))


def bools(x):
    return x.masked_fill(torch.cond(x.sum() > 0, lambda x: x > 0.5, lambda x: x < -0.5, (x,)), 0.0)


def switched(x):
    return switch(
        (x.sum() > 0).long() * 2, (lambda x: x + 1, lambda x: x * 2, lambda x: x.sin()), (x,)
    )


def switched_by_size(x):
    return switch(x.shape[0] - 3, tuple((lambda x, i=i: x * i + 1) for i in range(7)), (x,))


def with_grad(x):
    with torch.enable_grad():
        y = x * 2
    with torch.autocast("cpu", enabled=False):
        return y.sin()


@torch.compiler.nested_compile_region
def region(x):
    return nn.functional.gelu(x) * 2


def regions(x):
    return region(region(x)[:, :2])


def checkpointed(x):
    return torch.utils.checkpoint.checkpoint(lambda x: (x * 2).sin(), x, use_reentrant=False)


def unknown_inside(x):
    """A branch has an op that dlc has no row for."""
    return (
        torch.cond(
            x.sum() > 0, lambda x: torch.linalg.eigvalsh(x @ x.t()), lambda x: x[:, 0] * 1, (x * 2,)
        )
        + 1
    )


def split_around(x):
    """What dlc does not take is between branches, whose graphs go with their pieces."""
    y = torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))
    z = torch.linalg.eigvalsh(y @ y.t())
    return torch.cond(z.sum() > 3, lambda z: z * 2, lambda z: z / 2, (z,))


def view_of_eager(x):
    """Of two results that share memory, one is eager PyTorch's."""
    p = torch.linalg.eigvalsh(x @ x.t())
    q = p[None].expand(3, -1)
    return p, q, q + 1
