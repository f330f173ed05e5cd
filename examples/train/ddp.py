#!/usr/bin/env python3
"""Data-parallel training: each process takes its share of each batch, and torch.distributed
averages the gradients.

    python3 examples/digits/images.py digits
    torchrun --nproc-per-node 2 examples/train/ddp.py digits/train.npz run.safetensors

A run that was killed goes on from run.safetensors when it is started again."""

import sys

import dlc
import numpy as np
import torch
import torch.distributed as dist
from torch import nn


def network():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(256, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )


def learn(data, checkpoint, epochs):
    """One process of several, which torch.distributed knows."""
    rank, processes = dist.get_rank(), dist.get_world_size()

    def average(gradients):
        shared = torch.from_numpy(gradients)
        dist.all_reduce(shared)
        shared /= processes

    torch.manual_seed(0)  # the same first weights everywhere
    net = network()
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    trainer = dlc.Trainer(net, nn.functional.cross_entropy, optimizer, average=average, threads=1)
    with np.load(data) as arrays:
        x, labels = arrays["x"], arrays["labels"]
    trainer.fit(
        x,
        labels,
        epochs=epochs,
        batch_size=64,
        share=(rank, processes),
        verbose=rank == 0,
        checkpoint=checkpoint,
        saves=rank == 0,
    )
    if rank == 0:
        print("loss over all samples:", round(trainer.evaluate(x, labels)["loss"], 6), flush=True)


def main(data, checkpoint, epochs=5):
    dist.init_process_group("gloo")
    learn(data, checkpoint, int(epochs))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
