"""dlc.Trainer that goes on from a checkpoint, and by several processes: the examples under torchrun
and Ray Train."""

import concurrent.futures
import copy
import importlib.util
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

TEST = os.path.abspath(__file__).rsplit(os.sep, 3)[0]
sys.path.insert(0, os.path.join(TEST, "python"))
from models import ROOT, Failure, LeftOut, dlc, refused, run  # noqa: E402

from small_networks import BATCH, Split, adam, close, mlp, reference, rows, sgd  # noqa: E402


def test_resumes():
    """The bits of a run that was not interrupted."""

    def run_to(epochs, *paths):
        torch.manual_seed(2)
        net = nn.Sequential(nn.Linear(7, 9), nn.BatchNorm1d(9), nn.Dropout(0.3), nn.Linear(9, 3))
        for path, count in zip(paths, epochs):
            trainer = dlc.Trainer(net, F.mse_loss, adam(net), device="cpu")
            history = trainer.fit(
                *samples, epochs=count, batch_size=BATCH, checkpoint=path, verbose=False
            )
        return net.state_dict(), history

    samples = rows()
    folder = tempfile.mkdtemp()
    first, second = os.path.join(folder, "a.st"), os.path.join(folder, "b.st")
    whole, history = run_to((4,), first)
    parts, other = run_to((2, 4), second, second)
    if history != other or any(not whole[name].equal(parts[name]) for name in whole):
        raise Failure(f"{history} and {other}")
    with refused(
        f"'{first}' is a checkpoint of another model or optimizer: it has no such 'net.a.weight'"
    ):
        net = Split()
        dlc.Trainer(net, F.mse_loss, adam(net), device="cpu").fit(
            *samples, batch_size=BATCH, checkpoint=first
        )
    path = os.path.join(folder, "c.safetensors")
    net = mlp()
    trainer = dlc.Trainer(net, F.mse_loss, sgd(net), device="cpu")
    trainer.step(*samples)
    trainer.save(path)
    with refused(f"'{path}' is no checkpoint of dlc.Trainer"):
        trainer.fit(*samples, checkpoint=path)


def test_averages_gradients():
    """Two shares of each batch, one after another, are as the whole batch; the last batch is of an
    odd number of rows."""
    x, y = torch.randn(37, 7), torch.randn(37, 3)
    nets = [mlp(), mlp()]
    for net in nets:
        net.load_state_dict(nets[0].state_dict())
    twin = copy.deepcopy(nets[0]).double()
    wait = threading.Barrier(2)
    held = [None, None]

    def average(rank):
        def of(gradients):
            held[rank] = gradients.copy()
            wait.wait(60)
            gradients[:] = (held[0] + held[1]) / 2
            wait.wait(60)

        return of

    trainers = [
        dlc.Trainer(net, F.mse_loss, adam(net), average=average(rank), device="cpu")
        for rank, net in enumerate(nets)
    ]
    for trainer in trainers:  # torch.export is not for several threads
        trainer.evaluate(x, y)

    def train(rank):
        trainers[rank].fit(
            x, y, epochs=2, batch_size=BATCH, shuffle=False, share=(rank, 2), verbose=False
        )

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(train, (0, 1)))
    reference(twin, F.mse_loss, adam(twin), x, y)
    for net in nets:
        for value, wanted in zip(net.parameters(), twin.parameters()):
            close(value, wanted, 1e-4, "weights")


def samples_file(folder):
    random = torch.Generator().manual_seed(1)
    x = torch.randn(300, 1, 8, 8, generator=random)
    labels = (x.flatten(1) @ torch.randn(64, 10, generator=random)).argmax(1)
    path = os.path.join(folder, "data.npz")
    np.savez(path, x=x.numpy(), labels=labels.numpy())
    return path


def loss_of(*command):
    """What an example prints at its end."""
    run = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=300)
    found = re.search(r"loss over all samples: ([\d.]+)", run.stdout + run.stderr)
    if not found:
        raise Failure(run.stdout[-2000:] + run.stderr[-2000:])
    return float(found[1])


EXAMPLE = os.path.join(ROOT, "examples", "train", "ddp.py")


def launcher(processes):
    return ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes))


def by_torchrun(processes, data, checkpoint, epochs):
    return loss_of(*launcher(processes), EXAMPLE, data, checkpoint, str(epochs))


def test_ddp():
    """examples/train/ddp.py by two processes of torchrun: the loss of one process; and again from
    its checkpoint."""
    folder = tempfile.mkdtemp()
    data = samples_file(folder)
    place = lambda name: os.path.join(folder, name)
    alone, both = by_torchrun(1, data, place("one"), 3), by_torchrun(2, data, place("two"), 3)
    by_torchrun(2, data, place("parts"), 1)
    parts = by_torchrun(2, data, place("parts"), 3)
    close(both, alone, 1e-3, "loss of two processes")
    close(parts, both, 0, "loss of a run that goes on")


def test_ray_train():
    if importlib.util.find_spec("ray") is None:
        raise LeftOut("this Python has no Ray: pip install 'ray[train]'")
    folder = tempfile.mkdtemp()
    data = samples_file(folder)
    alone = by_torchrun(1, data, os.path.join(folder, "one"), 2)
    example = os.path.join(ROOT, "examples", "train", "ray_train.py")
    close(loss_of(example, data, os.path.join(folder, "two"), "2"), alone, 1e-3, "loss")


def test_killed():
    """All processes are killed in the middle. Started again, they go on from the checkpoint and end
    with the bits of a run that was not killed. torchrun's own restart of killed workers is not
    tested: gloo of PyTorch 2.15 sometimes waits for ever in it."""
    folder = tempfile.mkdtemp()
    data, checkpoint = samples_file(folder), os.path.join(folder, "killed")
    wanted = by_torchrun(2, data, os.path.join(folder, "whole"), 150)
    command = [sys.executable, *launcher(2), EXAMPLE, data, checkpoint, "150"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, start_new_session=True, **quiet) as process:
        end = time.monotonic() + 200
        while not os.path.exists(checkpoint) and time.monotonic() < end:
            time.sleep(0.01)
        # Each worker leads a session of its own.
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as held:
            workers = list(map(int, held.read().split()))
        for pid in (process.pid, *workers):
            os.kill(pid, signal.SIGKILL)
    with open(checkpoint, "rb") as held:
        if b'\\"epochs\\": 150' in held.read():
            raise Failure("the run ended before it was killed")
    close(by_torchrun(2, data, checkpoint, 150), wanted, 0, "loss")


if __name__ == "__main__":
    sys.exit(run(sys.modules[__name__]))
