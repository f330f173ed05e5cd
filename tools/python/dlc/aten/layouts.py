"""The strides of a graph's results, which Python between two graphs may depend on."""

import torch


def _hint(size):
    """The number that a size had when PyTorch traced it; None if it has none."""
    return size if isinstance(size, int) else getattr(size.node, "hint", None)


def order_of(tensor):
    """The dims of a dense tensor from the largest stride to the smallest; None if the tensor is
    contiguous, or if it has gaps or repeats elements."""
    if tensor.layout != torch.strided:
        return None
    sizes, strides = list(map(_hint, tensor.shape)), list(map(_hint, tensor.stride()))
    if None in sizes or None in strides or 0 in sizes:
        return None
    order = sorted(range(len(sizes)), key=lambda dim: (-strides[dim], dim))
    real = [dim for dim in order if sizes[dim] != 1]
    step = 1
    for dim in reversed(real):
        if strides[dim] != step:
            return None
        step *= sizes[dim]
    return None if real == sorted(real) else order


def inverse(order):
    return [order.index(dim) for dim in range(len(order))]
