"""Complex tensors as pairs, and the table of their rows. A complex tensor is a real one with a last
dim of 2 in the text: the real parts and the imaginary ones."""

import torch

from .call import Call, dtype_text, number_text
from .rows.elementwise import operand
from .table import name_of

#: "mul.Tensor" -> row, for calls with a complex argument or result.
COMPLEX = {}
#: Ops that broadcast their operands.
_BROADCAST = {"add", "sub", "rsub", "mul", "div", "true_divide", "eq", "ne"}
#: Arguments that name dims.
_DIMS = {"dim", "dim0", "dim1", "dims", "axis0", "axis1"}


def row(*overloads):
    """Declares a function to be the row of these overloads for complex numbers."""

    def declare(function):
        for overload in overloads:
            COMPLEX[overload if "." in overload else overload + ".default"] = function
        return function

    return declare


def is_complex(value):
    """Whether a fake tensor, or one in a list, is complex."""
    if isinstance(value, (list, tuple)):
        return any(map(is_complex, value))
    return isinstance(value, torch.Tensor) and value.is_complex()


def takes_pairs(node):
    """Whether an op has a complex argument or result."""
    values = [node, *node.all_input_nodes]
    return any(is_complex(value.meta.get("val")) for value in values)


def as_pairs(tensor):
    """A tensor as the text has it."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def pair_of(held):
    """A fake tensor as the text has it, or each of a list."""
    if isinstance(held, (list, tuple)):
        return [pair_of(part) for part in held]
    if not is_complex(held):
        return held
    return held.new_empty((*held.shape, 2), dtype=held.dtype.to_real())


class Pairs(Call):
    """A call whose complex tensors are seen as pairs."""

    def __init__(self, program, node):
        super().__init__(program, node)
        self._seen, self.is_broadcast = {}, self.name in _BROADCAST
        first = self.arguments.get("self", self.arguments.get("tensors"))
        first = first[0] if isinstance(first, (list, tuple)) else first
        if self.is_tensor(first) and first.meta["val"].is_complex():
            self._count_dims(first.meta["val"].dim() + (self.name in ("unsqueeze", "stack")))

    def _count_dims(self, rank):
        """Dims count from the front, for at the end there is one more."""
        for name in _DIMS & set(self.arguments):
            value = self.arguments[name]
            if isinstance(value, int):
                self.arguments[name] = value % max(rank, 1)
            elif isinstance(value, (list, tuple)):
                self.arguments[name] = [dim % max(rank, 1) for dim in value]

    def meta(self, value=None):
        node = self.node if value is None else value
        if node not in self._seen:
            self._seen[node] = pair_of(super().meta(value))
        return self._seen[node]

    def fitting(self, value):
        """The sizes of pairs and of real numbers differ by the last dim."""
        return self.text(value)

    def is_pair(self, value):
        if isinstance(value, complex):
            return True
        return isinstance(value, torch.fx.Node) and is_complex(value.meta.get("val"))

    def dtype(self):
        """The dtype of the parts of the result."""
        return self.meta().dtype

    def parts(self, value, dtype=None):
        """The real and the imaginary part of an operand; None for the second of a real one."""
        dtype = dtype or self.dtype()
        if isinstance(value, complex):
            return tuple(number_text(part) for part in (value.real, value.imag))
        if not self.is_pair(value):
            return self._tensor(value, dtype), None
        name = self.emit(self._tensor(value, dtype), "pair")
        return f"{name}[..., 0]", f"{name}[..., 1]"

    def _tensor(self, value, dtype):
        """An operand; one that is broadcast with others has the sizes of the result, which a run
        checks where PyTorch has another expression for one."""
        text = operand(self, value, dtype)
        if not self.is_broadcast or not self.is_tensor(value):
            return text
        own, whole = value.meta["val"].shape, self.node.meta["val"].shape
        sizes = [
            size if isinstance(size, int) and size == 1 else other
            for size, other in zip(own, whole[len(whole) - len(own) :])
        ]
        if [*map(self.size, sizes)] == [*map(self.size, own)]:
            return text
        return self.emit(
            f"expect_dims({text}, {self.sizes([*sizes, 2] if self.is_pair(value) else sizes)})"
        )

    def pair(self, value):
        """An operand as a pair of the result's dtype."""
        dtype = dtype_text(self.dtype())
        if isinstance(value, (complex, int, float)):
            value = complex(value)
            parts = f"{number_text(value.real)}, {number_text(value.imag)}"
            return f"tensor([{parts}], dtype={dtype})"
        text = self._tensor(value, self.dtype())
        return text if self.is_pair(value) else f"pad(unsqueeze({text}, -1), [0, 1])"

    def scale(self, value):
        """A real operand that multiplies pairs."""
        text = self._tensor(value, self.dtype())
        return f"unsqueeze({text}, -1)" if self.is_tensor(value) else text

    def stacked(self, real, imaginary):
        """A pair of its parts, which have one shape."""
        return f"stack([{self.emit(real, 're')}, {self.emit(imaginary, 'im')}], dim=-1)"


def write(program, node):
    """The texts of an op on complex numbers."""
    call = Pairs(program, node)
    name = name_of(node.target)
    if name not in COMPLEX:
        call.refuse("complex numbers, which dlc does not have for it")
    return COMPLEX[name](call)
