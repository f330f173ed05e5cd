"""What a construct is: a module, calls of it, and how dlc takes them."""

import dataclasses
import re
import zlib
from collections.abc import Callable

import torch
from torch import nn

#: The ways into dlc: dlc.compile, and the backend of torch.compile.
EXPORTED, COMPILED = "exported", "torch.compile"

#: All constructs by name, "FAMILY.CONSTRUCT".
KNOWN = {}


@dataclasses.dataclass
class Construct:
    """`make` returns the module, `arguments` the calls: tuples, or dicts by parameter. The first
    call is dlc.compile's example. Both are called anew for each side of a comparison, with the
    same random numbers, so that no side sees what the other has written."""

    name: str
    make: Callable
    arguments: Callable
    #: dlc.compile's `dynamic`.
    dynamic: object = None
    ways: tuple = (EXPORTED, COMPILED)
    #: Called before each call with the module and the number of the call.
    before: Callable | None = None
    #: Whether the module stays in training mode.
    trains: bool = False
    #: Whether PyTorch records gradients during the calls.
    records: bool = False
    #: Whether torch.compile captures numbers and sizes that the data decide.
    captures: bool = False
    #: Whether each element has its own bound, and not the largest element of its tensor.
    each: bool = False
    #: Whether results must share memory with inputs and with each other as in eager PyTorch.
    shares: bool = False

    def module(self):
        torch.manual_seed(zlib.crc32(self.name.encode()))
        made = self.make()
        return made if self.trains else made.eval()

    def calls(self):
        torch.manual_seed(zlib.crc32(self.name.encode()) + 1)
        return [call if isinstance(call, (tuple, dict)) else (call,) for call in self.arguments()]


def case(arguments, name=None, **options):
    """Declares a function or a class of modules as a construct, by its own name or `name`."""

    def declare(made):
        family = made.__module__.rpartition(".")[2]
        own = name or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", made.__name__).lower()
        is_class = isinstance(made, type)
        kind = made if is_class else type(own, (nn.Module,), {"forward": staticmethod(made)})
        full = f"{family}.{own}"
        if full in KNOWN:
            raise ValueError(f"two constructs are called {full}")
        KNOWN[full] = Construct(full, kind, arguments, **options)
        return made

    return declare


def ints(*values, dtype=torch.int64):
    return torch.tensor(values, dtype=dtype)


def below(most, *shape):
    """Random indices."""
    return torch.randint(0, most, shape)


def rows(*counts, shape=(5,)):
    """Calls with one tensor of so many rows each."""
    return [(torch.randn(count, *shape),) for count in counts]


ROWS = {"x": {0: "N"}}
SPECIAL = torch.tensor(
    [0.0, -0.0, 2.5, -2.5, 0.5, -1.5, 3.0, -6.75, 88.0, 1e-39, 3e37, -3e37]
    + [float("inf"), -float("inf"), float("nan")]
)
