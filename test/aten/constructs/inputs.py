"""Arguments and results of every kind, and tensors of every layout."""

import collections
import dataclasses
import typing

import torch
from torch import nn
from torch.utils import _pytree as pytree

from constructs.construct import COMPILED, EXPORTED, ROWS, case, ints

t = torch.randn


class Point(typing.NamedTuple):
    x: torch.Tensor
    y: torch.Tensor


@dataclasses.dataclass
class Found:
    scores: torch.Tensor
    extra: torch.Tensor | None = None
    parts: tuple = ()


pytree.register_dataclass(Found)


@case(lambda: [({"a": t(3, 4), "b": {"c": t(4)}},) for _ in range(2)])
def dicts(table):
    return {"sum": table["a"] + table["b"]["c"], "first": table["a"][0], "none": None, "count": 3}


@case(lambda: [([t(2, 3), t(1, 3)], (t(3), Point(t(3), t(3)))) for _ in range(2)])
def lists_and_tuples(several, pair):
    scale, point = pair
    return [torch.cat(several) * scale], Point(point.y, point.x + 1), (scale, ())


@case(lambda: [Found(t(3), None, (t(3), t(2))) for _ in range(2)])
def dataclasses_in_and_out(found):
    return Found(found.scores * 2, found.parts[0], (found.parts[1] + 1,))


@case(lambda: [(collections.OrderedDict(b=t(3), a=t(3)), t(3)) for _ in range(2)])
def ordered_dicts(table, x):
    found = collections.OrderedDict()
    for key in table:
        found[key + key] = table[key] - x
    return found


class Options(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x, mask=None, *, scale=1.0, flag=True, mode="add", n=2):
        y = self.fc(x) * scale
        if mask is not None:
            y = y * mask
        if flag:
            y = y + n if mode == "add" else y - n
        return {"second": y + 1, "first": [y.sum(), y > 0], "mode": mode}


def _options():
    x = t(3, 4)
    changes = [{}, {"mask": t(3, 4)}, {"scale": 2.5}, {"scale": 0.25}, {"flag": False}]
    more = [
        {"n": 7},
        {"n": 0},
        {"mode": "sub", "n": 1},
        {"scale": torch.tensor(4.0)},
        {"scale": -1},
    ]
    return [{"x": x + i, **change} for i, change in enumerate(changes + more)]


case(_options, "options", ways=(COMPILED,))(Options)


def _named(**named):
    return lambda: [
        {"x": t(3, 4), **{key: make() for key, make in named.items()}} for _ in range(2)
    ]


for _name, _given in {
    "no_options": {},
    "an_optional_tensor": {"mask": lambda: t(4)},
    "none_and_constants": {"mask": lambda: None, "scale": lambda: 3.0, "flag": lambda: False},
    "a_tensor_for_a_number": {"scale": lambda: t(()), "mode": lambda: "sub"},
}.items():
    case(_named(**_given), _name, ways=(EXPORTED,))(Options)


@case(lambda: [(t(3), t(3), t(1)), (t(3), t(3), t(1))])
def any_count(*several):
    return sum(several), len(several), torch.stack(several[:2])


@case(lambda: [{"x": t(3), "bias": t(3), "gain": t(())} for _ in range(2)])
def any_names(x, **named):
    return x * named["gain"] + named["bias"]


@case(lambda: [(t(()), ints(3).squeeze()) for _ in range(2)])
def numbers_as_tensors(x, n):
    return x * n, (x + 1).expand(2), n // 2, torch.stack((x, x)).max()


@case(lambda: [(t(n, 3), t(2, n)) for n in (0, 0, 4)], dynamic={"x": {0: "N"}, "y": {1: "N"}})
def no_rows(x, y):
    sums = x.sum(0), x.prod(0), torch.cat((x, x)), x.flip(0).cumsum(0), x.softmax(0), y @ x
    return *sums, x.reshape(-1), (x > 0).all(), (x > 0).any(0)


@case(lambda: [(t(2, 0), t(0, 4)) for _ in range(2)])
def no_columns(x, y):
    joined = torch.cat((x, torch.ones(2, 3)), 1)
    return x @ y, joined, x.sum(), x.sum(1), y.mean(1), x.view(0, 2), x.repeat(2, 3), x.any(1)


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, x):
        return self.conv(x).relu()


def layouts():
    last = t(2, 3, 5, 6).to(memory_format=torch.channels_last)
    turned, sliced = t(2, 3, 6, 5).mT, t(2, 3, 10, 6)[:, :, ::2]
    repeated, apart = t(1, 3, 5, 6).expand(2, -1, -1, -1), t(3, 3, 5, 6)[1:]
    negative = torch.complex(t(2, 3, 5, 6), t(2, 3, 5, 6)).conj().imag
    kinds = [last, turned, sliced, repeated, apart, negative, torch._neg_view(t(2, 3, 5, 6))]
    return [t(2, 3, 5, 6), *kinds]


case(layouts, "layouts_of_an_input")(Images)


@case(lambda: [t(2, 3, 5, 6).to(memory_format=torch.channels_last) for _ in range(2)])
class ChannelsLast(Images):
    def __init__(self):
        super().__init__()
        self.to(memory_format=torch.channels_last)


@case(lambda: [t(3, 4), t(3, 4), t(1, 4)], ways=(COMPILED,))
def results_that_are_no_tensors(x):
    return x * 2, "text", x.shape[0] + 1, None, x.dtype, (x.shape[1], 2.5, True)


@case(lambda: [t(3, 4), t(3, 4), t(5, 4)], ways=(COMPILED,))
def a_number_alone(x):
    return x.shape[0] * 2 + 1


@case(lambda: [(t(n, 4), t(4)) for n in (3, 1, 6)], dynamic=ROWS)
def inputs_without_use(x, unused):
    return x.new_zeros(x.shape[0]), x.new_tensor([1.0, 2.0]) + x[:, :2], torch.full((2,), 3)
