"""The samples of an entry of PyTorch's database of operators, as functions of tensors."""

import itertools
import random
import zlib

import numpy as np
import torch
from torch.utils import _pytree as pytree

#: How many samples of each dtype an entry gives.
COUNTS = {torch.float32: 6, torch.int64: 3, torch.bool: 2}
OTHER_COUNT = 3  # of a dtype that a call of run_opinfo.py names
LARGEST = 1 << 14  # elements of an input
LOOKED_AT = 300  # samples of a dtype, from which the seed chooses

#: Entries whose results PyTorch leaves open: of these the sizes and dtypes are compared.
UNDEFINED = {
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
}


def name_of(op):
    return f"{op.name}/{op.variant_test_name}" if op.variant_test_name else op.name


class Sample:
    """One call of an operator. `tensors` are its arguments that are tensors, in order."""

    def __init__(self, op, dtype, held):
        self.op, self.dtype, self.is_undefined = op, str(dtype)[6:], op.name in UNDEFINED
        leaves, self.spec = pytree.tree_flatten((held.input, held.args, held.kwargs))
        self.is_tensor = [isinstance(leaf, torch.Tensor) for leaf in leaves]
        self.others = [
            None if is_tensor else leaf for leaf, is_tensor in zip(leaves, self.is_tensor)
        ]
        self.tensors = [
            leaf.detach().contiguous().clone() for leaf in leaves if torch.is_tensor(leaf)
        ]

    def __call__(self, tensors):
        """The results that are tensors, as a list."""
        tensors = iter(tensors)
        leaves = [
            next(tensors) if is_tensor else other
            for other, is_tensor in zip(self.others, self.is_tensor)
        ]
        x, positional, named = pytree.tree_unflatten(leaves, self.spec)
        found = pytree.tree_leaves(self.op.op(x, *positional, **named))
        return [value for value in found if isinstance(value, torch.Tensor)]

    def expected(self):
        return [value.detach().clone() for value in self([x.clone() for x in self.tensors])]

    def exact(self):
        """The results in double precision; None where PyTorch has none."""
        try:
            wide = [x.double() if x.is_floating_point() else x.clone() for x in self.tensors]
            return [value.detach() for value in self(wide)]
        except Exception:
            return None

    def described(self):
        shown = [f"{str(x.dtype)[6:]}{list(x.shape)}" for x in self.tensors]
        others = [other for other in self.others if other is not None]
        return f"{', '.join(shown)}; {others}"


def _is_small(leaf):
    return not isinstance(leaf, torch.Tensor) or (
        leaf.layout == torch.strided and leaf.numel() <= LARGEST and not leaf.is_complex()
    )


def of(op, dtype, seed, count=None):
    """A few samples that the seed chooses, without those that PyTorch itself refuses or that have
    complex numbers."""
    number = zlib.crc32(f"{name_of(op)} {dtype} {seed}".encode())
    torch.manual_seed(number)
    np.random.seed(number % 2**32)
    random.seed(number)
    found = list(itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=False), LOOKED_AT))
    found = [
        held
        for held in found
        if all(map(_is_small, pytree.tree_leaves((held.input, held.args, held.kwargs))))
    ]
    count = count or COUNTS.get(dtype, OTHER_COUNT)
    chosen = random.sample(found, count) if len(found) > count else found
    return [Sample(op, dtype, held) for held in chosen]
