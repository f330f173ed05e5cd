"""Training and evaluation mode, gradient modes and hooks."""

import torch
from torch import nn
from torch.nn import functional as F

from constructs.construct import COMPILED, EXPORTED, ROWS, case, rows

t = torch.randn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.norm, self.drop = nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(torch.relu(self.norm(self.fc(x))))


case(lambda: rows(3, 1, 6), "evaluated", dynamic=ROWS)(Net)


@case(lambda: rows(3, 3))
class PartsInTraining(Net):
    """A dropout that keeps all stays in training mode."""

    def train(self, mode=True):
        super().train(mode)
        self.drop.p = 0.0
        self.drop.train()
        return self


@case(lambda: rows(4, 4, 6), trains=True, ways=(COMPILED,))
class Trained(Net):
    """All is in training mode, without gradients and without dropout."""

    def __init__(self):
        super().__init__()
        self.drop.p = 0.0


@case(lambda: rows(4, 4), trains=True, ways=(EXPORTED,))
class FrozenNorm(Net):
    """dlc.compile evaluates a module in training mode, and leaves its modes."""

    def __init__(self):
        super().__init__()
        self.norm.eval()

    def __call__(self, x):
        modes = [(part, part.training) for part in self.modules()]
        self.eval()
        found = super().__call__(x)
        for part, mode in modes:
            part.training = mode
        return found


@case(
    lambda: rows(4, 4, 6), before=lambda module, number: module.train(number == 1), ways=(COMPILED,)
)
class ModesThatChange(Trained):
    pass


@case(lambda: rows(30, 30), ways=(COMPILED,))
class KeptDropout(nn.Module):
    """PyTorch draws the numbers in eager mode."""

    def forward(self, x):
        torch.manual_seed(3)
        return F.dropout(x, 0.5, True) + 1


@case(lambda: rows(4, 4))
def gradients_off_inside(x):
    with torch.no_grad():
        y = x * 2
    with torch.enable_grad():
        return y + 1, y.detach().sin()


@case(lambda: rows(4, 4), records=True)
class RecordsGradients(nn.Module):
    """Its parameters need gradients, and none are switched off."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(5, 4)

    def forward(self, x):
        return self.fc(x).relu()


@case(lambda: rows(4, 4), records=True)
class NeedsNoGradients(RecordsGradients):
    def __init__(self):
        super().__init__()
        self.requires_grad_(False)


@case(lambda: rows(4, 4, 2))
class Hooks(nn.Module):
    """A hook changes what a layer takes, another what it gives."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(5, 4)
        self.fc.register_forward_pre_hook(lambda module, values: (values[0] * 3,))
        self.fc.register_forward_hook(lambda module, values, found: found - 1)

    def forward(self, x):
        return self.fc(x)


@case(lambda: rows(4, 4, 2), ways=(COMPILED,))
class InferenceMode(Net):
    def forward(self, x):
        with torch.inference_mode():
            return super().forward(x) * 2


@case(lambda: rows(4, 4))
class Checkpointed(Net):
    def forward(self, x):
        return torch.utils.checkpoint.checkpoint(super().forward, x, use_reentrant=False)
