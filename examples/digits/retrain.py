#!/usr/bin/env python3
"""Trains a pruned digit CNN further: what is zero in its weights stays zero. Needs PyTorch; some
seconds.

usage: retrain.py PRUNED.safetensors TRAINED.safetensors    (weights of digits.dl; the second may be
the first)"""
import os
import sys

import numpy as np
import torch
from torch.nn import functional as F

from digits import split
from train import BATCH, HERE, Digits, shifted

sys.path.insert(0, os.path.dirname(HERE))
import safetensors  # noqa: E402

EPOCHS = 10


def main(pruned, trained):
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(1)
    random = np.random.RandomState(1)
    train_x, train_y, unseen_x, unseen_y = map(torch.from_numpy, split())
    arrays, metadata = safetensors.load(pruned)
    model = Digits()
    model.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in arrays.items()},
                          strict=False)
    # Products and convolutions have weights of two dims or more: these alone were pruned.
    masks = [(weight, weight != 0) for weight in model.parameters() if weight.dim() > 1]
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(EPOCHS):
        model.train()
        for batch in torch.from_numpy(random.permutation(len(train_x))).split(BATCH):
            optimiser.zero_grad()
            F.cross_entropy(model(shifted(train_x[batch], random)), train_y[batch],
                            label_smoothing=0.05).backward()
            optimiser.step()
            with torch.no_grad():
                for weight, mask in masks:
                    weight *= mask
    model.eval()
    with torch.no_grad():
        correct = (model(unseen_x).argmax(1) == unseen_y).sum().item()
    zeros, count = (sum(int(part.sum()) for part in parts)
                    for parts in zip(*((~mask, torch.ones_like(mask)) for _, mask in masks)))
    print(f"{100 * zeros / count:.1f} % zeros, {correct} of {len(unseen_y)} unseen digits right")
    state = model.state_dict()
    safetensors.save(trained, {name: state[name].numpy() for name in arrays}, metadata)


if len(sys.argv) != 3:
    sys.exit(__doc__)
main(*sys.argv[1:])
