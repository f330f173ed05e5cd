#!/usr/bin/env python3
"""Steps of training on the CPU beside PyTorch, with its eager mode and with torch.compile: forward,
backward and Adam, the same batch and threads, in turn.

    train_figures.py [--rounds N] [--threads N] [--eager] [NAME]...

A row has the least time of a step in milliseconds over the rounds, what PyTorch's better one takes
of it, and the seconds that `dlc train` takes besides its steps: reading, compiling, writing. The
networks of train_networks.py are trained by dlc.Trainer; their last column has the seconds to the
first step. With --eager torch.compile is left out. Needs a Python with PyTorch and torchvision."""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "test", folder) for folder in ("conformance", "tools/train")]
from dlc_tool import DLC  # noqa: E402
from run_training import Named, model  # noqa: E402
from train_networks import NETWORKS  # noqa: E402

sys.path.insert(0, os.path.join(os.environ.get("DLC_BUILD_DIR", ROOT + "/build"), "python"))

CASES = {}


def case(name, batch, members, body, x, y, module):
    """`x` and `y` without the batch."""
    text = model(members, body, f"{x[0]}[N,{x[1]}]", f"f32[N,{y}]", most=batch)
    CASES[name] = batch, text, x, y, module


case(
    "MLP b128",
    128,
    ["a: Linear(784, 512)", "b: Linear(512, 512)", "c: Linear(512, 10)"],
    ["y = c(relu(b(relu(a(x)))))"],
    ("f32", "784"),
    "10",
    lambda: Named(
        lambda m, x: m.c(F.relu(m.b(F.relu(m.a(x))))),
        a=nn.Linear(784, 512),
        b=nn.Linear(512, 512),
        c=nn.Linear(512, 10),
    ),
)
for batch in (32, 128):
    case(
        f"MNIST CNN b{batch}",
        batch,
        [
            "a: Conv2d(1, 32, kernel_size=3, padding=1)",
            "b: Conv2d(32, 64, kernel_size=3, padding=1)",
            "c: Conv2d(64, 64, kernel_size=3, padding=1)",
            "d: Linear(3136, 128)",
            "e: Linear(128, 10)",
        ],
        [
            "x = max_pool2d(relu(b(relu(a(x)))), kernel_size=2)",
            "x = max_pool2d(relu(c(x)), kernel_size=2)",
            "y = e(relu(d(flatten(x, 1))))",
        ],
        ("f32", "1,28,28"),
        "10",
        lambda: Named(
            lambda m, x: m.e(
                F.relu(
                    m.d(
                        F.max_pool2d(
                            F.relu(m.c(F.max_pool2d(F.relu(m.b(F.relu(m.a(x)))), 2))), 2
                        ).flatten(1)
                    )
                )
            ),
            a=nn.Conv2d(1, 32, 3, padding=1),
            b=nn.Conv2d(32, 64, 3, padding=1),
            c=nn.Conv2d(64, 64, 3, padding=1),
            d=nn.Linear(3136, 128),
            e=nn.Linear(128, 10),
        ),
    )
case(
    "LSTM 2x256 b32 T64",
    32,
    [
        "e: Embedding(128, 64)",
        "r: LSTM(64, 256, num_layers=2, batch_first=True)",
        "b: Linear(256, 128)",
    ],
    ["h, _ = r(e(x))", "y = b(h[:, -1])"],
    ("i64", "64"),
    "128",
    lambda: Named(
        lambda m, x: m.b(m.r(m.e(x))[0][:, -1]),
        e=nn.Embedding(128, 64),
        r=nn.LSTM(64, 256, num_layers=2, batch_first=True),
        b=nn.Linear(256, 128),
    ),
)


class Dlc:
    """A round is an epoch of 20 steps by `dlc train`, with what it does between steps."""

    def __init__(self, name, threads, folder):
        batch, text, (dtype, dims), _, _ = CASES[name]
        self.folder, self.threads = folder, threads
        with open(os.path.join(folder, "m.dl"), "w", encoding="utf-8") as file:
            file.write(text)
        shape = [20 * batch, *(int(dim) for dim in dims.split(","))]
        random = np.random.default_rng(0)
        x = random.integers(0, 128, shape)
        if dtype != "i64":
            x = random.standard_normal(shape).astype(np.float32)
        np.savez(os.path.join(folder, "m.npz"), x=x, t=np.zeros(len(x), np.int64))
        self.what = [
            "train",
            "m.dl",
            "--loss",
            "cross_entropy(y, t)",
            "--optimizer",
            "Adam(lr=1e-3)",
            "--data",
            "m.npz",
            "--batch",
            str(batch),
            "--device",
            "cpu",
            "-q",
            "--threads",
            str(threads),
            "--force",
            "-o",
            "w.safetensors",
        ]

    def step(self):
        begin = time.perf_counter()
        subprocess.run(
            [DLC, *self.what, "--epochs", "4", "--log", "log.jsonl"], cwd=self.folder, check=True
        )
        with open(os.path.join(self.folder, "log.jsonl"), encoding="utf-8") as file:
            epochs = [json.loads(line) for line in file]
        self.start = time.perf_counter() - begin - sum(epoch["seconds"] for epoch in epochs)
        return min(epoch["seconds"] / epoch["steps"] for epoch in epochs) * 1e3


def least_time(once):
    """In milliseconds, of the steps of a second."""
    least, end = math.inf, time.perf_counter() + 1
    while time.perf_counter() < end:
        begin = time.perf_counter()
        once()
        least = min(least, time.perf_counter() - begin)
    return least * 1e3


class ByTrainer:
    def __init__(self, name, threads, _):
        import dlc

        make, batch_of = NETWORKS[name]
        net, self.batch = make(), batch_of()
        trained = [one for one in net.parameters() if one.requires_grad]
        optimizer = torch.optim.Adam(trained, 1e-3)
        begin = time.perf_counter()
        self.trainer = dlc.Trainer(
            net, F.cross_entropy, optimizer, device="cpu", threads=threads, dynamic=False
        )
        self.trainer.step(*self.batch)
        self.start = time.perf_counter() - begin

    def step(self):
        return least_time(lambda: self.trainer.step(*self.batch))


def module_of(name):
    """The module, its inputs and targets."""
    if name in NETWORKS:
        make, batch_of = NETWORKS[name]
        return make(), *batch_of()
    batch, _, (dtype, dims), _, module = CASES[name]
    shape = [batch, *(int(dim) for dim in dims.split(","))]
    x = torch.randint(0, 128, shape) if dtype == "i64" else torch.randn(shape)
    return module(), x, torch.zeros(batch, dtype=torch.int64)


class Torch:
    def __init__(self, name, compiled):
        self.net, x, t = module_of(name)
        call = torch.compile(self.net) if compiled else self.net
        trained = [one for one in self.net.parameters() if one.requires_grad]
        optimizer = torch.optim.Adam(trained, 1e-3)

        def once():
            optimizer.zero_grad()
            F.cross_entropy(call(x), t).backward()
            optimizer.step()

        self.once = once
        for _ in range(3):
            once()

    def step(self):
        return least_time(self.once)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--eager", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    kinds = ("eager",) if options.eager else ("eager", "compiled")
    print(
        f"PyTorch {torch.__version__}, {options.threads} threads, least of {options.rounds} rounds"
    )
    print(
        "| step | dlc ms | "
        + " | ".join(f"{kind} ms" for kind in kinds)
        + " | better / dlc | start s |"
    )
    print("|---|---:|" + "---:|" * len(kinds) + "---:|---:|")
    ratios = []
    for name in options.names or [*CASES, *NETWORKS]:
        with tempfile.TemporaryDirectory() as folder:
            ours = (Dlc if name in CASES else ByTrainer)(name, options.threads, folder)
            theirs = [Torch(name, kind == "compiled") for kind in kinds]
            times = [math.inf] * (1 + len(kinds))
            for _ in range(options.rounds):
                times = [min(held, one.step()) for held, one in zip(times, (ours, *theirs))]
        ratios.append(min(times[1:]) / times[0])
        print(
            f"| {name} | "
            + " | ".join(f"{value:.2f}" for value in times)
            + f" | {ratios[-1]:.2f} | {ours.start:.1f} |",
            flush=True,
        )
    print(f"geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}")


if __name__ == "__main__":
    sys.exit(main())
