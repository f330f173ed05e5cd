"""A sample of PyTorch's database as a call in dlc's language, and the names of dtypes in both."""
import dataclasses
import re
from typing import Callable, Optional

import torch

NAMES = {torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16",
         torch.int64: "i64", torch.int32: "i32", torch.int16: "i16", torch.int8: "i8",
         torch.uint8: "ui8", torch.bool: "i1"}
MAX_RANK = 8


class Skipped(Exception):
    """Raised for a sample that has no counterpart in dlc, with the reason."""


@dataclasses.dataclass
class Result:
    exact: torch.Tensor           # float64, or the integers
    dtype: str                    # of the result, as numeric rows name it
    bound: Optional[Callable] = None
    operands: list = dataclasses.field(default_factory=list)  # tensors that the bound may ask for
    path: str = ""                # of the result in the tuple that the call returns: "[1][0]"


@dataclasses.dataclass
class Case:
    entry: str                    # of op_db, with its variant: "div/floor_rounding"
    kind: str                     # sample, extremal, error or layer
    dtype: str
    call: str                     # with @0, @1, ... for the inputs
    inputs: list                  # tensors
    results: list = dataclasses.field(default_factory=list)
    is_tuple: bool = False        # The call returns several results, even if it is one.
    member: str = ""              # the declaration of a layer
    weights: dict = dataclasses.field(default_factory=dict)
    expects: str = ""             # PyTorch's message for an error

    def text(self, number):
        """The call in the model that holds it as case `number`."""
        call = self.call.replace("@layer", f"layer{number}")
        return re.sub(r"@(\d+)\b", lambda match: f"x{number}_{match.group(1)}", call)

    @property
    def name(self):
        ports = ", ".join(port_type(x.shape, NAMES[x.dtype]) for x in self.inputs)
        return f"{self.entry} {self.kind} {self.dtype}: {self.member or self.call} of {ports}"


def spelled(dtype):
    """The language's name of a dtype that numeric rows call `dtype`."""
    return "bool" if dtype == "i1" else dtype.replace("ui", "u")


def port_type(shape, dtype, counted=()):
    dims = ("?" if i in counted else str(dim) for i, dim in enumerate(shape))
    return f"{spelled(dtype)}[{','.join(dims)}]"


def holds(tensor):
    """`tensor`, if dlc has its kind."""
    if tensor.layout != torch.strided:
        raise Skipped("sparse tensors")
    if tensor.dtype not in NAMES:
        raise Skipped(f"tensors of {tensor.dtype}")
    if tensor.dim() > MAX_RANK:
        raise Skipped(f"tensors of more than {MAX_RANK} dims")
    return tensor.detach()
