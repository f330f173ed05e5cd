#!/usr/bin/env python3
"""PyTorch's higher-order ops (torch.cond, while_loop, scan, map ...) compiled by dlc, against eager
PyTorch: through torch.export on the CPU and the emulated GPU, and as the backend of torch.compile.
On demand: it needs a PyTorch with these ops (2.9 and later) and the package `dlc`.

  PYTHONPATH=build/python python3 test/aten/run_control.py           all of them
  PYTHONPATH=build/python python3 test/aten/run_control.py PART...   names that have a PART in them
"""

import sys

import torch
from torch import nn
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.map import map as mapped
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.switch import switch
from torch._higher_order_ops.while_loop import while_loop

from module_cases import Checks

ROWS = {0: "N"}


class Of(nn.Module):
    """A module of a function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class Of2(Of):
    def forward(self, x, y):
        return self.function(x, y)


def rows(*counts, width=4):
    """Calls with matrices of so many rows, positive and negative."""
    torch.manual_seed(1)
    return [
        (sign * torch.rand(count, width) + 0.1 * sign,) for count in counts for sign in (1.0, -1.0)
    ]


class Layers(nn.Module):
    """The branches have weights of the module."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(2)
        self.first, self.second = nn.Linear(4, 6), nn.Linear(4, 6, bias=False)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: self.first(x), lambda x: self.second(x) * 2, (x,))


def _size(x):
    return torch.cond(x.shape[0] > 4, lambda x: x.sin(), lambda x: x.cos(), (x,))


def _two_results(x):
    return torch.cond(x.sum() > 0, lambda x: (x + 1, x.sum()), lambda x: (x * 2, x.max()), (x,))


def _captured(x):
    y = x * 3
    return torch.cond(x.mean() > 0, lambda x: x + y, lambda x: x - y[:1], (x,)) + y


def _nested(x):
    def inner(x):
        return torch.cond(x[0, 0] > 0.5, lambda x: x * 5, lambda x: x.exp(), (x,))

    return torch.cond(x.sum() > 0, inner, lambda x: x.tanh(), (x,))


def _one_unused(x):
    return torch.cond(x.sum() > 0, lambda x: (x + 1, x * 7), lambda x: (x * 2, x * 3), (x,))[0]


def _rank_one(x):
    return torch.cond(x.sum().reshape(1) > 0, lambda x: x + 1, lambda x: x - 1, (x,))


class ItsNumber(nn.Module):
    """The condition is on a number that a tensor holds."""

    def forward(self, x, n):
        count = n.item()
        torch._check(count >= 0)
        return torch.cond(count > 3, lambda x: x.sin() + count, lambda x: x.cos(), (x,))


def _sizes_differ(x):
    y = torch.cond(x.sum() > 0, lambda x: x[:1] + 0, lambda x: torch.cat([x, x]) * 2, (x,))
    return y * 2, y.sum(0)


def _static_sizes_differ(x):
    return (
        torch.cond(x.sum() > 0, lambda x: x[:, :1] + 0, lambda x: torch.cat([x, x], 1) * 2, (x,))
        + 1
    )


def _picked(x):
    """A branch gives as many elements as its data say."""
    return torch.cond(x.sum() > 0, lambda x: x[x > 0.5] + 0, lambda x: x.reshape(-1) * 2, (x,)) * 2


def _numbers(x):
    return x + torch.cond(x.sum() > 0, lambda x: 3, lambda x: 7, (x,))


def _bools(x):
    return x.masked_fill(torch.cond(x.sum() > 0, lambda x: x > 0.5, lambda x: x < -0.5, (x,)), 0.0)


def _switched(x):
    return switch(
        (x.sum() > 0).long() * 2, (lambda x: x + 1, lambda x: x * 2, lambda x: x.sin()), (x,)
    )


def _switched_by_size(x):
    return switch(x.shape[0] - 3, tuple((lambda x, i=i: x * i + 1) for i in range(7)), (x,))


def _counted(x):
    return while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y * 2), (torch.tensor(0), x))


def _until(x):
    """The condition is several statements."""

    def is_large(y):
        return (y * y).sum().sqrt() > 0.1

    return while_loop(is_large, lambda y: (y / 2,), (x,))[0]


def _swapped(x):
    """What is carried changes places."""

    def step(i, a, b):
        return i + 1, b.clone(), a.clone()

    return while_loop(lambda i, a, b: i < 3, step, (torch.tensor(0), x, x.cos()))[1:]


def _fibonacci(x):
    def step(i, a, b):
        return i + 1, b.clone(), a + b

    return while_loop(lambda i, a, b: i < 6, step, (torch.tensor(0), x, x + 1))[2]


def _number_carried(x):
    y = while_loop(lambda i, y: i < x.shape[0], lambda i, y: (i + 1, y + i * x[0]), (0, x.sin()))
    return y[1] + y[0]


def _captured_loop(x):
    weight = x.t() @ x
    y = while_loop(
        lambda i, y: i < 3, lambda i, y: (i + 1, (y @ weight).tanh()), (torch.tensor(0), x + 0)
    )
    return y[1]


def _loop_in_branch(x):
    def slow(x):
        return while_loop(
            lambda i, y: i < 4,
            lambda i, y: (i + 1, y + i),
            (torch.zeros((), dtype=torch.int64), x + 0),
        )[1]

    return torch.cond(x.sum() > 0, slow, lambda x: x * 2, (x,))


def _branch_in_loop(x):
    def step(i, y):
        return i + 1, torch.cond(i % 2 == 0, lambda y: y * 2, lambda y: y - 1, (y,))

    return while_loop(lambda i, y: i < 5, step, (torch.zeros((), dtype=torch.int64), x + 0))[1]


def _loop_in_loop(x):
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


def _scanned(x):
    return scan(lambda c, y: (c + y, c * y), torch.zeros(4), x, dim=0)


def _scanned_numbers(x):
    """Along another dim, with whole numbers."""
    zero = torch.zeros((), dtype=torch.int64)
    return scan(lambda c, y: (c + 1, c * y.long()), zero, x * 10, dim=1)


def _scanned_back(x):
    return scan(lambda c, y: (c * 0.5 + y, c - y), torch.ones(4), x, dim=0, reverse=True)


def _scanned_tree(x):
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


def _mapped(x, y):
    return mapped(lambda a, b: a * b.sum() + 1, x, y)


def _joined(x):
    return associative_scan(lambda a, b: torch.maximum(a, b) + 0, x, 0, combine_mode="pointwise")


def _product(x):
    return associative_scan(lambda a, b: a * b, x, 0, combine_mode="pointwise")


def _pairs(x):
    def combine(a, b):
        return a[0] * b[0], b[0] * a[1] + b[1]

    return associative_scan(combine, (x.sigmoid(), x), 0, combine_mode="pointwise")


def _generic(x):
    return associative_scan(lambda a, b: a * b, x, 0, combine_mode="generic")


def _with_grad(x):
    with torch.enable_grad():
        y = x * 2
    with torch.autocast("cpu", enabled=False):
        return y.sin()


@torch.compiler.nested_compile_region
def _region(x):
    return nn.functional.gelu(x) * 2


def _regions(x):
    return _region(_region(x)[:, :2])


def _checkpointed(x):
    return torch.utils.checkpoint.checkpoint(lambda x: (x * 2).sin(), x, use_reentrant=False)


def _unknown_inside(x):
    """A branch has an op that dlc has no row for."""
    return (
        torch.cond(
            x.sum() > 0, lambda x: torch.linalg.eigvalsh(x @ x.t()), lambda x: x[:, 0] * 1, (x * 2,)
        )
        + 1
    )


def _split_around(x):
    """What dlc does not take is between branches, whose graphs go with their pieces."""
    y = torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))
    z = torch.linalg.eigvalsh(y @ y.t())
    return torch.cond(z.sum() > 3, lambda z: z * 2, lambda z: z / 2, (z,))


def main():
    checks = Checks(sys.argv[1:])
    sized = {"x": ROWS}
    checks.both("weights in branches", Layers(), rows(3, 5), sized)
    for name, function in {
        "a condition on a size": _size,
        "two results": _two_results,
        "captured values": _captured,
        "a branch in a branch": _nested,
        "a result that nothing uses": _one_unused,
        "a condition of one dim": _rank_one,
        "sizes that differ": _sizes_differ,
        "static sizes that differ": _static_sizes_differ,
        "bools": _bools,
        "a counted loop": _counted,
        "a loop until": _until,
        "carried values that change places": _swapped,
        "carried values that need each other": _fibonacci,
        "a loop with captured values": _captured_loop,
        "a carried number": _number_carried,
        "a loop in a branch": _loop_in_branch,
        "a branch in a loop": _branch_in_loop,
        "a loop in a loop": _loop_in_loop,
        "scan": _scanned,
        "scan of numbers": _scanned_numbers,
        "scan in reverse": _scanned_back,
        "scan over trees": _scanned_tree,
        "regions without gradients": _with_grad,
        "checkpoint": _checkpointed,
    }.items():
        checks.both(name, Of(function), rows(3, 5, 9), sized)
    checks.both("scan of a cell", Recurrent(), rows(3, 7), sized)
    checks.exported("scan of four steps", Of(_scanned), rows(4))
    checks.exported("scan of 200 steps", Of(_scanned), rows(200))
    y = torch.rand(4)
    checks.both("map", Of2(_mapped), [(x, y) for (x,) in rows(3, 6)], sized)
    for name, function in {
        "associative_scan": _joined,
        "associative_scan of products": _product,
        "associative_scan of pairs": _pairs,
        "nested regions": _regions,
    }.items():
        checks.compiled(name, function, rows(3, 5, 9))
    checks.exported("generic associative_scan", Of(_generic), rows(5))
    numbers = [(x, torch.tensor(n)) for (x,), n in zip(rows(3, 5), (2, 3, 4, 7))]
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        checks.compiled("a condition on a number", ItsNumber(), numbers)
        checks.both("numbers", Of(_numbers), rows(3, 5), sized)
        checks.both("switch", Of(_switched), rows(3, 5), sized)
        checks.both("switch on a size", Of(_switched_by_size), rows(3, 5, 9), sized)
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        checks.both("picked elements", Of(_picked), rows(3, 5), sized)
    checks.compiled("an unknown op in a branch", _unknown_inside, rows(3), "eigh")
    checks.compiled("pieces with branches", _split_around, rows(3, 5), "eigh")
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
