"""Modules that write what they hold: caches, counters, streams, statistics."""

import torch
from torch import nn
from torch.nn import functional as F

from constructs.construct import COMPILED, case, ints

t = torch.randn


@case(lambda: [(t(1, 2, 1, 6), ints(i)) for i in range(4)])
class Cache(nn.Module):
    """Keys of earlier positions."""

    def __init__(self):
        super().__init__()
        self.keys = nn.Linear(6, 6)
        self.register_buffer("cache", torch.zeros(1, 2, 8, 6))

    def forward(self, x, at):
        self.cache.index_copy_(2, at, self.keys(x))
        seen = torch.arange(8)[None] <= at
        return F.scaled_dot_product_attention(x, self.cache, self.cache, attn_mask=seen)


@case(lambda: [(t(1, 2, 1, 6), ints(i)) for i in (0, 1, 2)])
class CacheBySlices(Cache):
    def forward(self, x, at):
        self.cache[:, :, at] = self.keys(x)
        return self.cache.sum(2), self.cache[:, :, :1]


@case(lambda: [t(1, 3, 5) for _ in range(3)])
class Stream(nn.Module):
    """A convolution that continues where the last call ended."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(3, 2, 4)
        self.register_buffer("past", torch.zeros(1, 3, 3))

    def forward(self, x):
        whole = torch.cat((self.past, x), -1)
        self.past = whole[..., -3:]
        return self.conv(whole)


@case(lambda: [t(2, 4) for _ in range(4)])
class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.register_buffer("mean", torch.full((4,), 2.0))

    def forward(self, x):
        self.count += 1
        self.mean.lerp_(x.mean(0), 0.25)
        return x - self.mean, self.count.clone(), self.count % 2 == 0


@case(lambda: [t(2, 4) for _ in range(3)])
class Ring(nn.Module):
    """The last three inputs, in the order of their places."""

    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(3, 4))
        self.register_buffer("place", torch.tensor(2))

    def forward(self, x):
        self.kept[self.place] = x.mean(0)
        self.place.copy_((self.place + 1) % 3)
        return self.kept.roll(-1, 0) @ x.T


@case(lambda: [t(2, 4) for _ in range(3)])
class Hidden(nn.Module):
    """A buffer that is not in the state dict, and one of integers."""

    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 3)
        self.register_buffer("state", torch.zeros(2, 3), persistent=False)
        self.register_buffer("signs", torch.zeros(4, dtype=torch.int32))

    def forward(self, x):
        self.state.copy_(self.cell(x, self.state))
        self.signs.add_(x.sign().sum(0).int())
        return self.state * 1, self.signs * 2


@case(lambda: [t(2, 4) for _ in range(3)], ways=(COMPILED,))
class Attribute(nn.Module):
    """What it holds is no buffer, and there is none before the first call."""

    def __init__(self):
        super().__init__()
        self.last, self.calls = None, 0

    def forward(self, x):
        y = x if self.last is None else x + self.last
        self.last = x
        self.calls += 1
        return y * self.calls


@case(lambda: [t(6, 4) for _ in range(3)], trains=True, ways=(COMPILED,))
class BatchStatistics(nn.Module):
    """Batch norms that learn their statistics during inference."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.BatchNorm1d(4), nn.BatchNorm1d(4, momentum=None)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


@case(lambda: [t(6, 4) for _ in range(3)])
class StatisticsInEvaluation(nn.Module):
    """One norm stays in training mode below a module that is evaluated."""

    def __init__(self):
        super().__init__()
        self.fc, self.norm = nn.Linear(4, 4), nn.BatchNorm1d(4)

    def train(self, mode=True):
        super().train(mode)
        self.norm.train()
        return self

    def forward(self, x):
        return self.norm(self.fc(x))


@case(lambda: [t(3, 4) for _ in range(3)], ways=(COMPILED,))
class BufferReturned(nn.Module):
    """The result is the buffer itself, which a later call writes."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(4))

    def forward(self, x):
        self.total += x.sum(0)
        return self.total, self.total[:2]
