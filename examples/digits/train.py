#!/usr/bin/env python3
"""Trains the digit CNN of digits.dl and writes digits.safetensors. Needs PyTorch (Debian:
python3-torch); about a minute.

Deterministic: one thread, fixed seeds. The unseen digits serve only for the figure printed at the
end."""
import os
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from digits import split

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import safetensors  # noqa: E402

EPOCHS, BATCH = 60, 64


class Digits(nn.Module):
    """The network of digits.dl, line for line."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, kernel_size=3, padding=1)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, kernel_size=3, padding=1)
        self.bn2 = nn.BatchNorm2d(32)
        self.dropout = nn.Dropout(0.3)
        self.fc1 = nn.Linear(512, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), kernel_size=2)
        x = self.dropout(torch.flatten(x, start_dim=1))
        return self.fc2(F.relu(self.fc1(x)))


def shifted(x, random):
    """Each image moved by up to one pixel in each direction: handwriting is not centred to the
    pixel."""
    padded = F.pad(x, (1, 1, 1, 1))
    dy, dx = random.randint(0, 3, len(x)), random.randint(0, 3, len(x))
    return torch.stack([padded[i, :, dy[i]:dy[i] + 8, dx[i]:dx[i] + 8] for i in range(len(x))])


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(1)
    random = np.random.RandomState(1)
    train_x, train_y, unseen_x, unseen_y = map(torch.from_numpy, split())
    model = Digits()
    optimiser = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-4)
    steps = EPOCHS * (-(-len(train_x) // BATCH))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=4e-3, total_steps=steps)
    for epoch in range(EPOCHS):
        model.train()
        order = torch.from_numpy(random.permutation(len(train_x)))
        for batch in order.split(BATCH):
            optimiser.zero_grad()
            loss = F.cross_entropy(model(shifted(train_x[batch], random)), train_y[batch],
                                   label_smoothing=0.05)
            loss.backward()
            optimiser.step()
            schedule.step()
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1}: loss {loss.item():.4f}", flush=True)
    model.eval()
    with torch.no_grad():
        correct = (model(unseen_x).argmax(1) == unseen_y).sum().item()
    print(f"{correct} of {len(unseen_y)} unseen digits ({100 * correct / len(unseen_y):.2f} %)")
    tensors = {
        name: value.numpy() for name, value in model.state_dict().items()
        if "num_batches" not in name
    }
    safetensors.save(
        os.path.join(HERE, "digits.safetensors"), tensors, {
            "model": "examples/digits/digits.dl", "trained_by": "examples/digits/train.py",
            "data": "UCI optical recognition of handwritten digits (scikit-learn), 1200 of 1797 images"
        })


if __name__ == "__main__":
    main()
