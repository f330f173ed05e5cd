"""Modules of other dtypes than f32, and promotions."""

import torch
from torch import nn
from torch.nn import functional as F

from constructs.construct import ROWS, below, case, ints

t = torch.randn


class Net(nn.Module):
    """A layer of each kind."""

    dtype = torch.float32

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv1d(3, 6, 3, padding=1), nn.LayerNorm(6)
        self.table, self.head = nn.Embedding(9, 6), nn.Linear(6, 4)
        self.steps = nn.GRU(6, 6, batch_first=True)
        self.to(self.dtype)

    def forward(self, x, ids):
        y = self.norm(self.conv(x).mT + self.table(ids))
        y, state = self.steps(y)
        return torch.softmax(self.head(y), -1), state, y.mean(1)


def _of(dtype):
    def arguments():
        sizes = ((2, 5), (1, 1), (3, 8))
        return [(t(n, 3, length).to(dtype), below(9, n, length)) for n, length in sizes]

    sized = {"x": {0: "N", 2: "T"}, "ids": {0: "N", 1: "T"}}
    return arguments, sized


for _name in ("float64", "float16", "bfloat16", "float32"):
    _arguments, _dynamic = _of(getattr(torch, _name))
    _fields = {"dtype": getattr(torch, _name), "__module__": __name__}
    case(_arguments, f"net_of_{_name}", dynamic=_dynamic)(type(_name, (Net,), _fields))


@case(lambda: [(t(2, 3, 5), below(9, 2, 5)) for _ in range(2)])
class Autocast(Net):
    def forward(self, x, ids):
        with torch.autocast("cpu", torch.bfloat16):
            y = self.head(self.norm(self.conv(x).mT + self.table(ids)))
            return y, (y @ y.mT).softmax(-1).bfloat16()


@case(lambda: [(t(n, 4),) for n in (3, 1, 5)], dynamic=ROWS)
class Parts(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4).half(), nn.Linear(4, 4).double()

    def forward(self, x):
        y = self.first(x.half())
        return self.second(y.double()).float(), y, (x.bfloat16() * y.bfloat16()).sum()


def _mixed():
    return [(t(2, 4) * 3, ints(1, -2, 3, 0), t(4).half()) for _ in range(2)]


@case(_mixed)
def promotions(x, i, h):
    sums = x + i, i + 1.5, i + True, h + i, h + x, h.bfloat16() + h, i / 2, i.int() + i, h + 1e-3
    return *sums, x.double() + x, (x > 0) + i, i.to(torch.uint8) + i.to(torch.int8), torch.add(i, 2)


@case(_mixed)
def promotions_of_numbers(x, i, h):
    kinds = (
        torch.where(x > 0, 1, 2.5),
        torch.where(i > 0, i, 0.5),
        torch.full((2,), 1),
        i.mean(dtype=x.dtype),
    )
    lists = (
        torch.tensor([1, 2]),
        torch.tensor([1.0, 2]),
        torch.stack((i, i)).sum(0, dtype=torch.int32),
    )
    return (
        *kinds,
        *lists,
        torch.arange(0, 1, 0.25),
        torch.linspace(0, 1, 5),
        torch.cat((x[0], i, h)),
    )


@case(lambda: [t(3, 4) * 300, t(3, 4)])
def conversions(x):
    whole = (
        x.to(torch.int32),
        x.long(),
        x.clamp(0, 255).to(torch.uint8),
        x.bool(),
        x.clamp(-99, 99).char(),
    )
    parts = x.half(), x.bfloat16().float(), x.double().round().to(torch.int16), x.bool().float()
    return *whole, *parts, x.view(torch.int32) & 0xFF, x.long().float().type_as(x.half())


@case(lambda: [t(3, 4).half() * 20, t(3, 4).half()])
def halves(x):
    sums = x.sum(), x.mean(1), x.cumsum(0), x @ x.T / 300, x.softmax(1), x.var(1)
    return *sums, x.exp().clamp(max=6e4), x.max(), x.sort()[0], F.layer_norm(x, (4,)), x.norm() / 2


@case(lambda: [t(3, 4).bfloat16(), t(3, 4).bfloat16() * 9])
def brain_floats(x):
    return (
        x.sum(),
        x @ x.T,
        x.softmax(1),
        F.gelu(x),
        x * 3 + 1,
        x.amax(0),
        F.silu(x) * x,
        x.float().mean(),
    )


@case(lambda: [t(3, 4).double(), t(3, 4).double() * 9])
def doubles(x):
    curves = (
        x.exp(),
        x.sin(),
        x.tanh(),
        x.erf(),
        (x.abs() + 1).log(),
        F.gelu(x),
        x.sigmoid(),
        x.atan(),
    )
    return *curves, x @ x.T, x.softmax(1), x.std(), x.cumsum(0), torch.linalg.vector_norm(x), x**3.3


@case(
    lambda: [
        torch.tensor([3, 200, 17], dtype=torch.uint8),
        torch.tensor([255, 0, 9], dtype=torch.uint8),
    ]
)
def packed_quarters(x):
    """Two numbers of 4 bits in each byte."""
    return (
        (x >> 4).float() - 8,
        (x & 15).to(torch.int8) - 8,
        x.to(torch.int32) << 4,
        x.float() / 255,
    )


@case(lambda: [t(3, 4), t(3, 4) * 4])
def fake_quantized(x):
    channels = torch.fake_quantize_per_channel_affine(
        x, torch.tensor([0.1, 0.2, 0.05]), torch.tensor([0, 3, -2], dtype=torch.int32), 0, -128, 127
    )
    scale = x.abs().amax() / 127
    whole = (x / scale).round().clamp(-128, 127).to(torch.int8)
    return torch.fake_quantize_per_tensor_affine(x, 0.1, 5, 0, 255), channels, whole, whole * scale


@case(lambda: [torch.randint(-9, 9, (32, 16), dtype=torch.int8) for _ in range(2)])
def integer_products(x):
    return torch._int_mm(x, x.T.contiguous()), x.int() @ x.int().T, x.long() @ x[0].long()


@case(lambda: [torch.tensor([True, False, True]), torch.tensor([False, False, True])])
def truths(x):
    sums = x.sum(), x + x, x * 3, x.float().mean(), x.any(), x | ~x, x ^ x.flip(0), x.cumsum(0)
    return (
        *sums,
        x.int() - 1,
        torch.where(x, 1.0, 0.0),
        x.all(),
        x.nonzero_static(size=3),
        x < True,
    )
