#!/usr/bin/env python3
"""The gradients of whole networks (those of test/conformance/run_zoo.py), weight by weight, against
torch.autograd in double precision. The networks are in training mode, with no dropout. Functions
whose slope jumps, such as ReLU, become smooth ones: where a number of f32 lies on the other side of
the jump than that of f64, gradients differ by as much as they are.

  run_gradients.py             all of them
  run_gradients.py NAME...     these alone
"""

import argparse
import copy
import os
import sys

import torch
from torch import nn

TEST = os.path.abspath(__file__).rsplit(os.sep, 3)[0]
sys.path[:0] = [os.path.join(TEST, "python"), os.path.join(TEST, "conformance")]
from models import Cases, Failure, dlc  # noqa: E402
from run_zoo import networks, seeded_module  # noqa: E402

BOUND = 1e-4  # of the norm of a gradient, in f32
#: Those that dlc does not train: sizes that the data decide, or ops without a derivative.
UNTRAINED = {}


def floats(found):
    """The tensors of floats in a result."""
    if isinstance(found, torch.Tensor):
        return [found] if found.is_floating_point() else []
    if hasattr(found, "to_tuple"):
        found = found.to_tuple()
    values = found.values() if isinstance(found, dict) else found
    return [leaf for one in values for leaf in floats(one)] if values is not None else []


def loss(found):
    """A sum with a factor of its own for each number."""
    total = 0
    for leaf in floats(found):
        factors = torch.cos(torch.arange(leaf.numel(), dtype=leaf.dtype)).reshape(leaf.shape)
        total = total + (leaf * factors).mean()
    return total


JUMPS = (nn.ReLU, nn.ReLU6, nn.Hardswish, nn.Hardsigmoid, nn.LeakyReLU)


def smooth(module):
    for part in module.modules():
        for name, child in part.named_children():
            if isinstance(child, JUMPS):
                setattr(part, name, nn.SiLU())
            elif isinstance(child, nn.MaxPool2d) and child.dilation == 1:
                pool = nn.AvgPool2d(child.kernel_size, child.stride, child.padding, child.ceil_mode)
                setattr(part, name, pool)
    return module


def without_dropout(module):
    module.train()
    for part in module.modules():
        if isinstance(part, nn.modules.dropout._DropoutNd) or "Depth" in type(part).__name__:
            part.p = 0.0  # StochasticDepth, DropPath
        for name in ("dropout", "attention_dropout", "attn_dropout", "dropout_p", "p_dropout"):
            if isinstance(getattr(part, name, None), float):
                setattr(part, name, 0.0)
    return module


class Captured(Exception):
    pass


def gradients_of(module, inputs):
    """By name, of the first step."""
    found = {}

    def average(flat):
        for name, gradient in trainer._step._gradients.items():
            target = trainer._source.targets[name.removesuffix(".grad")]
            found[trainer._source.own_name(target)] = gradient.copy()
        raise Captured

    trainer = dlc.Trainer(module, loss, "SGD(lr=1.0)", average=average, device="cpu", dynamic=False)
    try:
        trainer.step(tuple(inputs.values()))
    except Captured:
        pass
    return found


def by_torch(module, inputs):
    """torch.autograd's gradients by name, in the module's precision."""
    loss(module(*inputs)).backward()
    names = dict(module.named_parameters(remove_duplicate=False))
    return {name: one.grad.double() for name, one in names.items() if one.grad is not None}


def distance(found, expected, largest):
    """By the norm of the gradient; of one that is next to nothing, by another's."""
    return ((found.double() - expected).norm() / max(expected.norm().item(), 1e-4 * largest)).item()


def check(module, inputs):
    """PyTorch itself is as far off in f32 where a norm divides by next to nothing."""
    twins = [copy.deepcopy(module).double(), copy.deepcopy(module)]
    wide = [one.double() if one.is_floating_point() else one for one in inputs.values()]
    wanted, single = by_torch(twins[0], wide), by_torch(twins[1], inputs.values())
    largest = max(one.norm().item() for one in wanted.values())
    found = {name: torch.from_numpy(one) for name, one in gradients_of(module, inputs).items()}
    held = {id(module.get_parameter(name)) for name in found}
    missing = [
        name
        for name, one in module.named_parameters()
        if name in wanted and wanted[name].any() and id(one) not in held
    ]
    if missing:
        raise Failure(f"no gradients of {', '.join(missing[:4])}")
    worst = 0.0
    theirs = max(distance(single[name], wanted[name], largest) for name in wanted)
    for name, gradient in found.items():
        off = distance(gradient, wanted[name], largest)
        worst = max(worst, off)
        if not off <= max(BOUND, 4 * theirs):
            raise Failure(
                f"the gradient of {name} is off by {off:.1e} of its norm, those of "
                f"PyTorch in f32 by at most {theirs:.1e}"
            )
    return f"{len(found)} gradients, at most {worst:.0e} off; PyTorch in f32 {theirs:.0e}"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    chosen = parser.parse_args().names
    cases = Cases()
    for name, (make, inputs_of, _) in networks(torch).items():
        if chosen and name not in chosen:
            continue
        if not chosen and name in UNTRAINED:
            continue
        with cases.case(name):
            module = smooth(without_dropout(seeded_module(torch, make)))
            print(f"   {name}:", check(module, inputs_of()))
    return cases.finish()


if __name__ == "__main__":
    sys.exit(main())
