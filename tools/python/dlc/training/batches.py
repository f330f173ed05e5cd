"""Samples in memory, and batches that the caller makes."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ..errors import Code, Error


def leaves_of(value: Any) -> list[Any]:
    """The arrays of an array, or of a tuple, list or dict of arrays; None is none."""
    if value is None:
        return []
    if isinstance(value, Mapping):
        return [leaf for one in value.values() for leaf in leaves_of(one)]
    if isinstance(value, (tuple, list)) and any(hasattr(one, "shape") for one in value):
        return [leaf for one in value for leaf in leaves_of(one)]
    return [value if hasattr(value, "shape") else np.asarray(value)]


def picked(value: Any, rows: Any) -> Any:
    """The same tree with these rows of its arrays."""
    if value is None:
        return None
    if isinstance(value, Mapping):
        return {name: picked(one, rows) for name, one in value.items()}
    if isinstance(value, (tuple, list)) and any(hasattr(one, "shape") for one in value):
        return tuple(picked(one, rows) for one in value)
    return value[rows] if hasattr(value, "shape") else np.asarray(value)[rows]


class Samples:
    """Inputs and targets in memory, one row a sample. Of several processes, this one has the rows
    `share[0]`, `share[0] + share[1]`, ... of each batch."""

    def __init__(self, x: Any, y: Any, batch: int, share: tuple[int, int] = (0, 1)) -> None:
        self.x, self.y, self.batch, self.share = x, y, batch, share
        counts = {len(leaf) for leaf in (*leaves_of(x), *leaves_of(y))}
        if len(counts) != 1:
            raise Error(
                f"x and y have {' and '.join(map(str, sorted(counts)))} samples; expected as many of each",
                Code.USAGE)
        (self.count,) = counts
        if not self.count:
            raise Error("there are no samples", Code.USAGE)

    def __len__(self) -> int:
        return -(-self.count // self.batch)

    def in_order(self, order: np.ndarray | None) -> Iterator[tuple[Any, Any]]:
        first, step = self.share
        for start in range(0, self.count, self.batch):
            end = min(start + self.batch, self.count)
            if end - start < step:
                return  # not all processes would have a row
            rows: Any = slice(start + first, end, step)
            if order is not None:
                rows = order[rows]
            yield picked(self.x, rows), picked(self.y, rows)

    def weight(self, index: int) -> float:
        """How much the gradients of a batch's share count, 1 in the mean of all processes."""
        first, step = self.share
        whole = min(self.batch, self.count - index * self.batch)
        return len(range(first, whole, step)) * step / whole


class Given:
    """Batches of an iterable, such as PyTorch's DataLoader: (inputs, targets) each."""

    count = None  # of samples

    def __init__(self, batches: Iterable[Any]) -> None:
        self.batches = batches
        if iter(batches) is batches:
            raise Error(
                "an iterator gives its batches once; expected an iterable that begins anew in each "
                "epoch, such as a list or a DataLoader", Code.USAGE)

    def __len__(self) -> int:
        return len(self.batches) if hasattr(self.batches, "__len__") else 0

    def weight(self, index: int) -> float:
        return 1.0

    def in_order(self, order: object) -> Iterator[tuple[Any, Any]]:
        for one in self.batches:
            if not isinstance(one, (tuple, list)) or len(one) != 2:
                raise Error("expected batches of two, (inputs, targets)", Code.USAGE)
            yield tuple(one)


def batches_of(x: Any, y: Any, batch: int, share: tuple[int, int] = (0, 1)) -> Samples | Given:
    """Of arrays x and y; or x alone is an iterable of batches."""
    if y is None and not hasattr(x, "shape") and not isinstance(x, (Mapping, tuple)):
        if not isinstance(x, list) or not x or not hasattr(x[0], "shape"):
            return Given(x)
    return Samples(x, y, batch, share)


def as_input(array: Any, value: Any) -> Any:
    """The array in the dtype of a model's input; integers become floats, and a dim of 1 at the end
    is left out or added where the input has another rank."""
    rank = len(value.shape)
    if hasattr(array, "detach"):  # of PyTorch
        import torch
        dtype = getattr(torch, {"f32": "float32", "i64": "int64", "i32": "int32", "bool": "bool",
                                "f16": "float16", "bf16": "bfloat16"}.get(value.dtype, ""), None)
        array = array.detach()
        array = array if dtype is None else array.to(dtype)
        array = array.contiguous()
    else:
        dtype = {"f32": np.float32, "i64": np.int64, "i32": np.int32, "bool": np.bool_,
                 "f16": np.float16}.get(value.dtype)
        array = np.ascontiguousarray(array, dtype)
    if array.ndim == rank + 1 and array.shape[-1] == 1:
        return array.reshape(array.shape[:-1])
    if array.ndim + 1 == rank and value.shape[-1] == 1:
        return array.reshape((*array.shape, 1))
    return array
