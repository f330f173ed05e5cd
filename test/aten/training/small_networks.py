"""Modules, samples and PyTorch's own training, for the tests of dlc.Trainer."""

import os
import sys

import torch
from torch import nn
from torch.nn import functional as F

TEST = os.path.abspath(__file__).rsplit(os.sep, 3)[0]
sys.path.insert(0, os.path.join(TEST, "python"))
from models import Failure  # noqa: E402

BATCH, ROWS = 16, 40  # the last batch of an epoch has 8 rows


def close(found, wanted, bound, what):
    off = (torch.as_tensor(found).double() - torch.as_tensor(wanted).double()).abs().max()
    if not off <= bound:
        raise Failure(f"{what}: off by {off}, more than {bound}")


class Convolutional(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6, momentum=0.3)
        self.drop, self.fc = nn.Dropout(0.0), nn.Linear(6 * 9, 5)

    def forward(self, x):
        x = F.max_pool2d(torch.relu(self.norm(self.conv(x))), 2)
        return self.fc(self.drop(x.flatten(1)))


class Text(nn.Module):
    """A classifier of texts of 12 tokens, of which 0 is padding."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(20, 8, padding_idx=0)
        self.lstm, self.fc = nn.LSTM(8, 6, batch_first=True), nn.Linear(6, 5)

    def forward(self, ids):
        _, (last, _) = self.lstm(self.table(ids))
        return self.fc(last[-1])


class Attentive(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(20, 16)
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)

    def forward(self, ids):
        x = self.layer(self.table(ids))
        return x.mean(1) @ self.table.weight.T[:, :5]  # tied


def images():
    return torch.randn(ROWS, 1, 8, 8), torch.randint(0, 5, (ROWS,))


def texts():
    return torch.randint(0, 20, (ROWS, 12)), torch.randint(0, 5, (ROWS,))


def rows():
    return torch.randn(ROWS, 7), torch.randn(ROWS, 3)


def mlp():
    return nn.Sequential(nn.Linear(7, 9), nn.Tanh(), nn.Linear(9, 3))


def reference(net, loss, optimizer, x, y, epochs=2):
    """The losses of PyTorch's own training, in double precision; it changes the module."""
    wide = lambda value: value.double() if value.is_floating_point() else value
    found = []
    for _ in range(epochs):
        total = 0.0
        for start in range(0, len(x), BATCH):
            part = slice(start, start + BATCH)
            value = loss(net(wide(x[part])), wide(y[part]))
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
            total += value.item() * len(x[part])
        found.append(total / len(x))
    return found


def compare(net, twin, history, losses, bound=1e-4):
    close(torch.tensor(history["loss"]), torch.tensor(losses), bound, "losses")
    for (name, value), wanted in zip(net.state_dict().items(), twin.state_dict().values()):
        close(value.double(), wanted.double(), bound, name)


def sgd(net):
    return torch.optim.SGD(net.parameters(), lr=0.05)


def adam(net):
    return torch.optim.Adam(net.parameters(), lr=0.01)


class Split(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(7, 9), nn.Linear(9, 3)

    def forward(self, x):
        return self.b(torch.tanh(self.a(x)))
