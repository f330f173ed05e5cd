"""Numbers that change from call to call, and numbers and branches that the data decide."""

import torch
from torch import nn
from torch.nn import functional as F

from constructs.construct import COMPILED, EXPORTED, case

t = torch.randn
NUMBERS = (1.0, 2.5, 0.25, -1.0, 4.0)


def with_numbers(*numbers):
    return lambda: [(t(2, 6), number) for number in numbers]


ONLY = {"ways": (COMPILED,)}


@case(with_numbers(*NUMBERS), **ONLY)
def factors(x, s):
    return x * s, x * (s * 2), x + s / 2, s - x, x ** abs(s)


@case(with_numbers(*NUMBERS), **ONLY)
def bounds(x, s):
    return (
        x.clamp(max=s),
        F.silu(x).clamp(max=s) * x.clamp(-abs(s), abs(s)),
        x > s,
        x.masked_fill(x > s, s),
    )


@case(with_numbers(*NUMBERS), **ONLY)
def temperatures(x, s):
    return F.softmax(x / s, -1), F.leaky_relu(x, s), F.elu(x, abs(s)), F.softplus(x, abs(s))


@case(with_numbers(*NUMBERS), **ONLY)
def small_numbers_of_norms(x, s):
    return F.layer_norm(x, (6,), eps=abs(s) + 1e-3), F.rms_norm(x * s, (6,), eps=abs(s))


@case(with_numbers(3, 4, 5, 0, 1, -2), **ONLY)
def whole_numbers(x, s):
    return (
        x * s + torch.arange(6) // max(s, 1),
        x.long() % (abs(s) + 1),
        torch.full((2,), s),
        x + 2**s,
    )


@case(with_numbers(2, 3, 4, 1), **ONLY)
def sizes(x, s):
    return (
        x[:, :s].repeat(s, 1),
        x[:, -s:],
        torch.zeros(s) + 1,
        x[:, s],
        x.roll(s, 1),
        F.pad(x, (s, 0)),
    )


@case(with_numbers(True, False, True), **ONLY)
def switches(x, s):
    return (x + 1 if s else x - 1), x * s


@case(lambda: [(t(2, 6), torch.tensor(number)) for number in NUMBERS])
def tensors_of_one_number(x, s):
    return x * s, x.clamp(max=s), torch.where(x > s, s, x), s.expand(3), x + s.double()


@case(lambda: [(t(2, 6), torch.tensor(number)) for number in NUMBERS], **ONLY)
def items(x, s):
    return x * s.item() + float(s)


@case(lambda: [(t(2, 6), torch.tensor(number)) for number in NUMBERS], captures=True)
def captured_items(x, s):
    return x * s.item() + 1


@case(lambda: [t(2, 6), t(2, 6) * 3, t(2, 6) + 5], captures=True)
def computed_items(x):
    return x / x.abs().max().item(), x - x.mean().item() * 2


@case(lambda: [(t(9, 2), torch.tensor(n)) for n in (4, 9, 1)], captures=True)
def counted_rows(x, n):
    count = n.item()
    torch._check(count >= 0)
    torch._check(count <= 9)
    return x[:count] * 2, x.new_ones(count)


@case(lambda: [t(7), t(7), t(7)], **ONLY)
def rows_up_to_the_largest(x):
    return x[: int(x.argmax()) + 1], x + sum(x.tolist())


@case(lambda: [t(2, 6), -t(2, 6).abs(), t(2, 6).abs()])
def branch_by_cond(x):
    return torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,))


@case(lambda: [t(2, 6).abs() + 0.1, t(2, 6).abs() + 9, t(2, 6).abs() + 60])
def loop_until(x):
    from torch._higher_order_ops.while_loop import while_loop

    return while_loop(lambda y: y.sum() < 400, lambda y: (y * 2 + 1,), (x,))[0]


@case(lambda: [t(2, 6).abs(), -t(2, 6).abs(), t(2, 6).abs()], **ONLY)
def branch_of_python(x):
    y = x * 2
    return y.relu() + 1 if y.sum() > 0 else y - 1


@case(
    lambda: [(t(2, 6), step, sigma) for step, sigma in ((10, 1.0), (9, 0.9), (8, 0.7), (1, 0.1))],
    **ONLY
)
class DiffusionStep(nn.Module):
    """The number of the step and its noise are new in each call."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 6)
        self.register_buffer("noise", torch.linspace(1.0, 0.0, 11))

    def forward(self, x, step, sigma):
        turns = torch.tensor([step * 0.1, step * 0.01])
        time = torch.cat((turns.sin(), turns.cos())).sum()
        return x - sigma * self.fc(x + time) / (step + 1), x * self.noise[step]


@case(lambda: [(t(2, 6), torch.tensor(step)) for step in (10, 9, 3, 0)])
class DiffusionStepOfTensors(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("noise", torch.linspace(1.0, 0.0, 11))

    def forward(self, x, step):
        keeps = self.noise[step]
        return (
            keeps.sqrt() * x,
            x * self.noise[(step - 1).clamp(min=0)],
            x * self.noise.gather(0, step[None]),
        )


@case(lambda: [(t(2, 6), t(2, 6)) for _ in range(2)], ways=(EXPORTED,))
def constants_of_the_module(x, y):
    mean = torch.tensor([0.5, 0.25, 0.0] * 2)
    return (x - mean) / 0.5, torch.lerp(x, y, 0.3), torch.add(x, y, alpha=2)
