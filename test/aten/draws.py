"""Modules that draw random numbers, from a generator of the compiled model's own."""

import math
import os
import sys

import torch
from torch import nn

sys.path.insert(
    0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python")
)
from models import Failure, dlc, expect, run  # noqa: E402

from module_cases import Of  # noqa: E402
from modules import close  # noqa: E402

COUNT = 20000


def compiled(function, x, **options):
    return dlc.compile(Of(function), x, **options)


def like(found, mean, variance):
    """The mean and the variance of independent numbers, within five of their deviations."""
    found = found.double().flatten()
    off = abs(found.mean() - mean) / math.sqrt(variance / found.numel())
    if not off < 5:
        raise Failure(f"the mean is {found.mean()}, expected {mean}: off by {off} deviations")
    if not abs(found.var() / variance - 1) < 0.2:
        raise Failure(f"the variance is {found.var()}, expected {variance}")


#: A function of x, ones, and the mean and variance of what it draws.
DISTRIBUTIONS = {
    "rand": (lambda x: torch.rand(COUNT), 0.5, 1 / 12),
    "rand_like": (torch.rand_like, 0.5, 1 / 12),
    "rand of doubles": (lambda x: torch.rand(COUNT, dtype=torch.float64), 0.5, 1 / 12),
    "rand of halves": (lambda x: torch.rand(COUNT, dtype=torch.float16), 0.5, 1 / 12),
    "randn": (lambda x: torch.randn(COUNT), 0, 1),
    "randn_like": (torch.randn_like, 0, 1),
    "randint": (lambda x: torch.randint(-3, 5, (COUNT,)), 0.5, 63 / 12),
    "randint_like": (lambda x: torch.randint_like(x, 10), 4.5, 99 / 12),
    "bernoulli": (lambda x: torch.bernoulli(x * 0.25), 0.25, 3 / 16),
    "bernoulli_": (lambda x: torch.empty_like(x).bernoulli_(0.25), 0.25, 3 / 16),
    "normal": (lambda x: torch.normal(x, 2.0), 1, 4),
    "normal of deviations": (lambda x: torch.normal(3.0, x * 2), 3, 4),
    "normal of both": (lambda x: torch.normal(x, x), 1, 1),
    "normal of numbers": (lambda x: torch.normal(3.0, 2.0, (COUNT,)), 3, 4),
    "normal_": (lambda x: torch.empty_like(x).normal_(3, 2), 3, 4),
    "uniform_": (lambda x: torch.empty_like(x).uniform_(-1, 3), 1, 16 / 12),
    "exponential_": (lambda x: torch.empty_like(x).exponential_(2), 0.5, 0.25),
    "geometric_": (lambda x: torch.empty_like(x).geometric_(0.25), 4, 12),
    "log_normal_": (
        lambda x: torch.empty_like(x).log_normal_(0, 0.25),
        math.exp(1 / 32),
        (math.exp(1 / 16) - 1) * math.exp(1 / 16),
    ),
    "dropout": (lambda x: nn.functional.dropout(x, 0.25), 1, 1 / 3),
    "alpha_dropout": (lambda x: nn.functional.alpha_dropout(torch.randn_like(x), 0.25), 0, 1),
    "rrelu": (lambda x: nn.functional.rrelu(-x, 0.25, 0.5, training=True), -3 / 8, 1 / 192),
    "multinomial": (
        lambda x: torch.multinomial(torch.tensor([1.0, 0, 2, 1]), COUNT, True),
        1.75,
        19 / 16,
    ),
    "gumbel_softmax": (
        lambda x: nn.functional.gumbel_softmax(x[:, None] * torch.tensor([0.0, 0.0]), hard=True)[
            :, 0
        ],
        0.5,
        0.25,
    ),
}


def of(function, mean, variance):
    def test():
        model = compiled(function, torch.ones(COUNT))
        first = torch.as_tensor(model(torch.ones(COUNT)))
        second = torch.as_tensor(model(torch.ones(COUNT)))
        expect(torch.equal(first, second), False)
        for found in (first, second):
            like(found, mean, variance)

    return test


for _name, _row in DISTRIBUTIONS.items():
    globals()["test_" + _name.replace(" ", "_")] = of(*_row)


def test_order():
    """Permutations, and choices without replacement."""
    model = compiled(
        lambda x: (torch.randperm(50), torch.multinomial(torch.ones(4, 30), 30)), torch.ones(1)
    )
    permuted, chosen = model(torch.ones(1))
    expect(sorted(permuted.tolist()), list(range(50)))
    expect(permuted.tolist() == list(range(50)), False)
    for row in chosen.tolist():
        expect(sorted(row), list(range(30)))


def test_channels():
    """dropout2d drops whole channels."""
    x = torch.ones(8, 16, 4, 4)
    found = compiled(lambda x: nn.functional.dropout2d(x, 0.5), x)(x).flatten(2)
    expect(torch.equal(found, found[:, :, :1].expand_as(found)), True)
    like(found[:, :, 0], 1, 1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 64), nn.Linear(64, 4)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x):
        return self.second(self.dropout(torch.relu(self.first(x))))


def test_training_mode():
    """What is in training mode below a module that is not drops elements: Monte Carlo dropout."""
    net, x = Net().eval(), torch.randn(3, 8)
    net.dropout.train()
    model = dlc.compile(net, x, dynamic={"x": {0: "N"}})
    draws = torch.stack([torch.as_tensor(model(x)) for _ in range(400)])
    if not torch.allclose(draws.mean(0), net.eval()(x), rtol=0.3, atol=0.3):
        raise Failure("dropout changes the mean")
    expect(torch.equal(draws[0], draws[1]), False)
    # As a whole it is in evaluation mode.
    still = dlc.compile(net.train(), x)
    close(torch.as_tensor(still(x)), net.eval()(x).detach())
    expect([state.name for state in still.states], [])


def test_batch_statistics():
    """A batch norm in training mode has the statistics of the batch, and its running ones change.
    """
    net = nn.Sequential(nn.Linear(8, 4), nn.BatchNorm1d(4)).eval()
    net[1].train()
    x = torch.randn(16, 8)
    model = dlc.compile(net, x)
    for _ in range(3):
        close(torch.as_tensor(model(x)), net(x).detach())
    found = model.state_dict()
    for name in ("1.running_mean", "1.running_var", "1.num_batches_tracked"):
        close(found[name], net.state_dict()[name])


def test_seeds():
    """A model begins with PyTorch's seed; equal seeds draw equal numbers."""
    x = torch.ones(5)
    torch.manual_seed(3)
    model = compiled(lambda x: x + torch.rand(5), x)
    first, second = model(x), model(x)
    torch.manual_seed(3)
    again = compiled(lambda x: x + torch.rand(5), x)
    expect(torch.equal(again(x), first), True)
    model.reset()
    expect(torch.equal(model(x), first), True)
    model.manual_seed(4)
    other = model(x)
    expect(torch.equal(other, first), False)
    model.manual_seed(3)
    expect(torch.equal(model(x), first) and torch.equal(model(x), second), True)
    model.manual_seed(2**64 - 1)
    model(x)
    expect(model.state("generator").tolist(), [-1, 1])
    model.set_state("generator", torch.tensor([3, 1]))
    expect(torch.equal(model(x), second), True)
    for wrong, why in (
        (torch.tensor([3, 1, 0]), "state 'generator' cannot be [3]; expected [2]"),
        (torch.tensor([3.0, 1]), "state 'generator' is i64, got f32"),
    ):
        try:
            model.set_state("generator", wrong)
        except dlc.Error as error:
            expect(str(error), why)
        else:
            raise Failure(f"no error: {why}")


if __name__ == "__main__":
    sys.exit(run(sys.modules[__name__]))
