"""Modules with loops."""

import torch
from torch import nn
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.map import map as mapped
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop


def counted(x):
    return while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y * 2), (torch.tensor(0), x))


def until(x):
    """The condition is several statements."""

    def is_large(y):
        return (y * y).sum().sqrt() > 0.1

    return while_loop(is_large, lambda y: (y / 2,), (x,))[0]


def swapped(x):
    """What is carried changes places."""

    def step(i, a, b):
        return i + 1, b.clone(), a.clone()

    return while_loop(lambda i, a, b: i < 3, step, (torch.tensor(0), x, x.cos()))[1:]


def fibonacci(x):
    def step(i, a, b):
        return i + 1, b.clone(), a + b

    return while_loop(lambda i, a, b: i < 6, step, (torch.tensor(0), x, x + 1))[2]


def number_carried(x):
    y = while_loop(lambda i, y: i < x.shape[0], lambda i, y: (i + 1, y + i * x[0]), (0, x.sin()))
    return y[1] + y[0]


def down(x):
    """A number that becomes negative."""
    y = while_loop(lambda i, y: i > -3, lambda i, y: (i - 1, y + i), (2, x.sin()))
    return y[1] + y[0]


def two_numbers(x):
    """Each number needs the other of the step before."""
    y = while_loop(
        lambda i, j, y: i + j < 20, lambda i, j, y: (j + 1, i * 2, y + i - j), (1, 2, x.sin())
    )
    return y[2] * y[1] + y[0]


def branch_in_map(x):
    w = x.sum(0)
    return mapped(lambda a: torch.cond(a.sum() > 0, lambda a: a + w, lambda a: a - w, (a,)), x)


def captured_loop(x):
    weight = x.t() @ x
    y = while_loop(
        lambda i, y: i < 3, lambda i, y: (i + 1, (y @ weight).tanh()), (torch.tensor(0), x + 0)
    )
    return y[1]


def loop_in_branch(x):
    def slow(x):
        return while_loop(
            lambda i, y: i < 4,
            lambda i, y: (i + 1, y + i),
            (torch.zeros((), dtype=torch.int64), x + 0),
        )[1]

    return torch.cond(x.sum() > 0, slow, lambda x: x * 2, (x,))


def branch_in_loop(x):
    def step(i, y):
        return i + 1, torch.cond(i % 2 == 0, lambda y: y * 2, lambda y: y - 1, (y,))

    return while_loop(lambda i, y: i < 5, step, (torch.zeros((), dtype=torch.int64), x + 0))[1]


def loop_in_loop(x):
    def inner(y):
        return while_loop(
            lambda j, y: j < 2,
            lambda j, y: (j + 1, y * 1.5),
            (torch.zeros((), dtype=torch.int64), y + 0),
        )[1]

    return while_loop(
        lambda i, y: i < 3,
        lambda i, y: (i + 1, inner(y) + i),
        (torch.zeros((), dtype=torch.int64), x + 0),
    )[1]


def scanned(x):
    return scan(lambda c, y: (c + y, c * y), torch.zeros(4), x, dim=0)


def scanned_numbers(x):
    """Along another dim, with whole numbers."""
    zero = torch.zeros((), dtype=torch.int64)
    return scan(lambda c, y: (c + 1, c * y.long()), zero, x * 10, dim=1)


def scanned_back(x):
    return scan(lambda c, y: (c * 0.5 + y, c - y), torch.ones(4), x, dim=0, reverse=True)


def scanned_tree(x):
    def step(carry, part):
        a, b = carry
        return (b.clone(), a + part["x"]), {"out": a * part["y"]}

    return scan(step, (torch.zeros(4), torch.ones(4)), {"x": x, "y": x.cos()}, dim=0)


class Recurrent(nn.Module):
    """A cell over the steps of a sequence."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.cell = nn.Linear(4 + 8, 8)

    def forward(self, x):
        def step(h, part):
            h = torch.tanh(self.cell(torch.cat([part, h], -1)))
            return h, h.clone()

        return scan(step, x.new_zeros(8), x, dim=0)


def mapped_rows(x, y):
    return mapped(lambda a, b: a * b.sum() + 1, x, y)


def joined(x):
    return associative_scan(lambda a, b: torch.maximum(a, b) + 0, x, 0, combine_mode="pointwise")


def product(x):
    return associative_scan(lambda a, b: a * b, x, 0, combine_mode="pointwise")


def pairs(x):
    def combine(a, b):
        return a[0] * b[0], b[0] * a[1] + b[1]

    return associative_scan(combine, (x.sigmoid(), x), 0, combine_mode="pointwise")


def generic(x):
    return associative_scan(lambda a, b: a * b, x, 0, combine_mode="generic")
