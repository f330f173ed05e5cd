"""Weights of an example under the names of its PyTorch twin's state_dict: seeded numbers, or those
of a checkpoint."""
import os
import sys

import numpy as np

import safetensors


class Seeded:
    """Collects tensors. The numbers depend on the seed and the order of the calls alone: He's
    initialisation, and statistics as training might leave them."""

    def __init__(self, seed):
        self.random = np.random.RandomState(seed)
        self.tensors = {}

    def add(self, name, values):
        self.tensors[name] = values.astype(np.float32)

    def matrix(self, name, *shape):
        self.add(name + ".weight",
                 np.sqrt(2.0 / np.prod(shape[1:])) * self.random.standard_normal(shape))

    def conv(self, name, outputs, inputs, kernel):
        """`inputs` are those of one group."""
        self.matrix(name, outputs, inputs, kernel, kernel)

    def bias(self, name, count):
        self.add(name + ".bias", 0.1 * self.random.standard_normal(count))

    def linear(self, name, outputs, inputs):
        self.matrix(name, outputs, inputs)
        self.bias(name, outputs)

    def batch_norm(self, name, channels, scale=1.0):
        """A scale below 1 on the last norm of a block keeps a sum of many blocks from growing."""
        self.add(name + ".weight", scale * self.random.uniform(0.8, 1.2, channels))
        self.bias(name, channels)
        self.add(name + ".running_mean", 0.2 * self.random.standard_normal(channels))
        self.add(name + ".running_var", self.random.uniform(0.5, 2.0, channels))


def read_checkpoint(path, expected):
    """The tensors of a .pth, which must be those of `expected` in names and shapes."""
    import torch  # only here: seeded weights need NumPy alone
    state = torch.load(path, map_location="cpu", weights_only=True)
    tensors = {name: tensor.detach().float().numpy() for name, tensor in state.items()
               if not name.endswith("num_batches_tracked")}
    problems = [
        f"{name} {list(tensors[name].shape) if name in tensors else 'is missing'}, expected {list(value.shape)}"
        for name, value in expected.items()
        if name not in tensors or tensors[name].shape != value.shape
    ]
    problems += [f"{name} is not in the model" for name in tensors if name not in expected]
    if problems:
        sys.exit(
            f"error: {path} does not fit ({len(problems)} differences):\n  "
            + "\n  ".join(problems[:10]) +
            "\nset the model's constants to those of the checkpoint, there and here, as in CLASSES=1000"
        )
    return {name: tensors[name] for name in expected}


def main(script, arguments, sizes, seeded):
    """The command line of an example's weights.py: [FOLDER] [FILE.pth] [NAME=VALUE ...].
    `seeded(sizes)` gives a Seeded."""
    home = os.path.dirname(os.path.abspath(script))
    name = os.path.basename(home)
    folder, checkpoint, chosen = home, None, dict(sizes)
    for argument in arguments:
        constant, equals, value = argument.partition("=")
        if equals and constant in sizes:
            chosen[constant] = int(value)
        elif argument.endswith((".pth", ".pt")):
            checkpoint = argument
        elif os.path.isdir(argument):
            folder = argument
        else:
            sys.exit(
                f"error: '{argument}' is no folder, no .pth, and none of the constants {', '.join(sizes)}"
            )
    tensors = seeded(chosen).tensors
    if checkpoint:
        tensors = read_checkpoint(checkpoint, tensors)
    safetensors.save(os.path.join(folder, name + ".safetensors"), tensors,
                     {"model": f"examples/{name}/{name}.dl"})
