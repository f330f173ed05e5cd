"""Sizes that vary: slices, halves, steps, shapes that are computed of them."""

import torch
from torch import nn
from torch.nn import functional as F

from constructs.construct import ROWS, case

t = torch.randn
BOTH = {"x": {0: "N", 1: "T"}}


def of_sizes(*sizes, width=4):
    return lambda: [t(*size, width) for size in sizes]


@case(of_sizes((2, 6), (1, 3), (5, 31)), dynamic=BOTH)
def slices(x):
    count = x.shape[1]
    return (
        x[:, : count // 2],
        x[:, count // 2 :],
        x[:, -2:],
        x[:, 1:-1],
        x[:, count - 1],
        x[:, :100],
    )


@case(of_sizes((2, 6), (1, 2), (5, 32)), dynamic=BOTH)
def steps(x):
    return x[:, ::2], x[:, 1::3], x.flip(1)[:, ::2], x[::2]


@case(of_sizes((2, 6), (1, 4), (5, 30)), dynamic=BOTH)
def chunks(x):
    first, second = x.chunk(2, 1)
    return first + second


@case(of_sizes((2, 6), (1, 4), (5, 30)), dynamic=BOTH)
def halves(x):
    half = x.shape[1] // 2
    first, second = x.split((half, x.shape[1] - half), 1)
    return first * 2, second.sum(1), torch.cat((second, first), 1)


@case(of_sizes((2, 8), (1, 16), (5, 40)), dynamic=BOTH)
def blocks(x):
    n, count, width = x.shape
    parts = x.view(n, count // 4, 4, width)
    return (
        parts.amax(2),
        parts.transpose(1, 2).reshape(n, count, width),
        x.unflatten(1, (4, -1)).mean(1),
    )


@case(of_sizes((2, 6), (1, 1), (5, 9)), dynamic=BOTH)
def sizes_as_numbers(x):
    n, count = x.shape[:2]
    places = torch.arange(count) / max(count, 1)
    return x / count + places[:, None], x * n**0.5, torch.full((n,), count), x.numel() + x[0, 0]


@case(of_sizes((2, 6), (1, 1), (5, 9)), dynamic=BOTH)
def made_of_sizes(x):
    n, count = x.shape[:2]
    mask = torch.ones(count, count, dtype=torch.bool).tril()
    made = x.new_zeros(n, count + 1), torch.eye(count), torch.arange(count).expand(n, -1)
    return *made, mask, torch.cat((x.new_zeros(n, 1, 4), x[:, :-1]), 1), F.pad(x, (0, 0, 2, 0))


@case(of_sizes((2, 6), (1, 2), (5, 9)), dynamic=BOTH)
def flattened(x):
    whole, pairs = x.flatten(1), x.reshape(-1, 2)
    return x.reshape(-1), whole, pairs, x.permute(2, 0, 1).reshape(4, -1), x.repeat_interleave(2, 1)


@case(
    lambda: [(t(n, 4), t(m, 4)) for n, m in ((3, 5), (1, 1), (6, 2))],
    dynamic={"x": {0: "N"}, "y": {0: "M"}},
)
def two_sizes(x, y):
    return (
        torch.cat((x, y)),
        x @ y.T,
        (x[:, None] - y).abs().sum(-1),
        x.sum(0) + y.mean(0),
        x.repeat(2, 1),
    )


@case(lambda: [(t(2, n, 4),) for n in (6, 1, 11)], dynamic={"x": {1: "T"}})
class Positions(nn.Module):
    """A table of positions that is cut, and one that is interpolated."""

    def __init__(self):
        super().__init__()
        self.table, self.grid = nn.Embedding(16, 4), nn.Parameter(t(1, 4, 8))

    def forward(self, x):
        count = x.shape[1]
        stretched = F.interpolate(self.grid, size=count, mode="linear").mT
        return x + self.table(torch.arange(count)), x + stretched, x + self.table.weight[:count]


@case(
    lambda: [(t(1, 3, h, w),) for h, w in ((8, 12), (4, 4), (16, 8))],
    dynamic={"x": {2: "H", 3: "W"}},
)
class PatchesOfImages(nn.Module):
    """Patches of images of any size, whose positions are interpolated."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 5, 4, 4)
        self.positions = nn.Parameter(t(1, 5, 3, 3))

    def forward(self, x):
        y = self.patches(x)
        places = F.interpolate(self.positions, size=y.shape[2:], mode="bilinear")
        return (y + places).flatten(2).mT


@case(
    lambda: [(t(1, 2, h, w),) for h, w in ((8, 8), (16, 4), (4, 12))],
    dynamic={"x": {2: "H", 3: "W"}},
)
class DownAndUp(nn.Module):
    """Sizes are halved twice and joined again."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(2, 4, 3, 2, 1), nn.Conv2d(4, 4, 3, 2, 1)
        self.up = nn.ConvTranspose2d(4, 4, 2, 2)

    def forward(self, x):
        y = self.first(x)
        z = self.up(self.second(y))
        return F.interpolate(torch.cat((y, z), 1), scale_factor=2.0), y + z


@case(of_sizes((3, 5), (1, 2), (4, 9)), dynamic=BOTH)
def loops_over_a_fixed_size(x):
    parts = [part.sum(-1) for part in x.split(1, 2)]
    return torch.stack(parts), x.unbind(2)[0], [y * i for i, y in enumerate(x.split([1, 3], 2))]


@case(lambda: [t(6, 4), t(6, 4), t(9, 4), t(2, 4)], ways=("torch.compile",))
def branch_on_a_size(x):
    return x[:6] * 2 if x.shape[0] > 5 else x.sum(0)


@case(lambda: [(t(n, 4),) for n in (5, 2, 12)], dynamic=ROWS)
def neighbours(x):
    ahead = x.roll(-1, 0)
    return x - ahead, x.diff(dim=0), x[1:] * x[:-1], x.unfold(0, 2, 1).prod(-1), x.cumsum(0)[-1]
