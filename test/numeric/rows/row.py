"""The numeric rows: for each op its dtypes, shapes, attributes, what PyTorch makes of it, and how
exact it has to be.

A dim is a number or an expression over N, which takes each of `sizes` in turn while the code stays
the same. `torch` gets float inputs as float64 (from the stored values), integers as they are."""
import dataclasses
import re
from typing import Callable, Dict, Optional, Sequence, Tuple

import torch

import accuracy as acc

FLOATS = ("f32", "f16", "bf16", "f64")
INTS = ("i8", "i16", "i32", "i64", "ui8")
NUMBERS = FLOATS + INTS
ALL = NUMBERS + ("i1",)
# Around every vector width, unroll factor and tile.
BOUNDARY = (0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129)
POSITIVE = BOUNDARY[1:]
# All bit patterns of a 16-bit format.
EVERY16 = 65536


@dataclasses.dataclass
class Row:
    op: str
    dtypes: Sequence[str]
    inputs: Sequence[Tuple]          # shapes
    result: Tuple                    # shape
    torch: Callable
    bound: Optional[Callable] = acc.exact
    attrs: str = ""                  # of the MLIR op, "{...}"
    sizes: Sequence[int] = BOUNDARY  # values of N
    values: str = "special"          # see run.py: special, normal, positive, whole, equals
    result_dtype: Optional[str] = None
    note: str = ""                   # tells rows of one op apart
    phase: str = "import"            # the phase whose output the module is
    # Input number -> (dtype, values) where it is not that of the row. Values may be a list to
    # choose from.
    kinds: Dict[int, Tuple] = dataclasses.field(default_factory=dict)
    raw: bool = False                # `torch` gets float inputs as they are stored
    body: Optional[
        Callable] = None  # (operand names, operand types, result type) -> ops that define %y

    is_composed: bool = False        # its body is several ops, which have rows of their own

    @property
    def name(self):
        return self.op + (f" ({self.note})" if self.note else "")


ROWS = []


def row(*args, **kwargs):
    ROWS.append(Row(*args, **kwargs))


def element_of(type):
    """"f32" of "tensor<4x8xf32>"."""
    return re.search(r"(bf|f|ui|i)\d+(E\dM\d[FNUZ]*)?(?=[,>])", type).group()


def with_element(type, element):
    """The same tensor type with elements of another dtype."""
    return type.replace(element_of(type), element, 1)


def in_double(function):
    """`function` on integers, which PyTorch computes for floats alone; exact below 2^53, then
    wrapped."""
    def wrapped(*inputs):
        if inputs[0].is_floating_point():
            return function(*inputs)
        return function(*(x.double() for x in inputs)).to(torch.int64).to(inputs[0].dtype)
    return wrapped
