"""Writes samples of PyTorch's database as calls in dlc's language: as functions, methods and
operators in turn."""
import math

import torch

from case import NAMES, Case, Skipped, holds, spelled

OPERATORS = {"add": "+", "sub": "-", "mul": "*", "true_divide": "/", "floor_divide": "//",
             "remainder": "%", "pow": "**", "matmul": "@", "eq": "==", "ne": "!=", "lt": "<",
             "le": "<=", "gt": ">", "ge": ">=", "bitwise_and": "&", "bitwise_or": "|",
             "bitwise_xor": "^"}
REFLECTED = {"__radd__": "+", "__rsub__": "-", "__rmul__": "*", "__rdiv__": "/", "__rpow__": "**",
             "__rmod__": "%", "__rand__": "&", "__ror__": "|", "__rxor__": "^", "__rmatmul__": "@"}
METHODS = {"bfloat16", "bool", "byte", "char", "clone", "contiguous", "double", "float", "half",
           "int", "long", "short", "reshape_as", "view_as", "unfold"}
PROPERTIES = {"T", "mT", "H", "mH"}
# Arguments about memory and gradients, which change no result.
IGNORED = {"device", "requires_grad", "pin_memory", "memory_format"}
# Functions that draw random numbers in training, and whether they train if nothing says so.
RANDOM = {
    "dropout": True, "dropout2d": True, "dropout3d": True, "alpha_dropout": False,
    "feature_alpha_dropout": False, "rrelu": False
}
# Functions that always draw random numbers, which have no values to judge:
# test/numeric/rows/library/random.py has their rows.
DRAWING = {
    "bernoulli", "cauchy", "exponential", "geometric", "log_normal", "multinomial", "normal",
    "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm"
}
# Namespaces whose functions are others than those of torch by the same name.
OTHER_NAMESPACES = ("masked.", "fft.", "sparse.", "_refs.", "signal.")


def name_of(op):
    return op.name + (f"/{op.variant_test_name}" if op.variant_test_name else "")


def functions_of(op, known):
    """The names by which dlc has the function of the entry, `known` being all names of dlc."""
    if op.name.startswith(OTHER_NAMESPACES):
        return []
    if op.name == "linalg.norm":  # torch.norm, which is dlc's, takes other arguments
        return []
    names = [name.split(".")[-1] for name in [op.name, *(alias.name for alias in op.aliases)]
             if not name.startswith(OTHER_NAMESPACES)]
    return [name for name in dict.fromkeys(names) if name in known and name not in DRAWING]


def is_spelled(op, known):
    return (op.name in REFLECTED or op.name in METHODS or op.name in PROPERTIES or
            op.name == "__getitem__" or bool(functions_of(op, known)))


def literal(value):
    if value is None:
        return "None"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if math.isnan(value):
            return 'float("nan")'
        return repr(value) if math.isfinite(value) else f'float("{value}")'
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, torch.dtype):
        if value not in NAMES:
            raise Skipped(f"the dtype {value}")
        return spelled(NAMES[value])
    raise Skipped(f"arguments of type {type(value).__name__}")


class Speller:
    """Spells arguments, and collects the tensors among them as inputs."""

    def __init__(self):
        self.inputs = []

    def term(self, value):
        if isinstance(value, torch.Tensor):
            self.inputs.append(holds(value))
            return f"@{len(self.inputs) - 1}"
        if isinstance(value, tuple):
            return f"({', '.join(map(self.term, value))}{',' if len(value) == 1 else ''})"
        if isinstance(value, list):
            return f"[{', '.join(map(self.term, value))}]"
        return literal(value)

    def arguments(self, positional, named):
        terms = [self.term(value) for value in positional]
        for name, value in named.items():
            if name in ("generator", "out"):
                raise Skipped(f"the argument {name}")
            if name == "layout" and value not in (None, torch.strided):
                raise Skipped("sparse tensors")
            if name not in IGNORED and name != "layout":
                terms.append(f"{name}={self.term(value)}")
        return ", ".join(terms)

    def subscript(self, index):
        parts = []
        # A list that holds more than numbers is a tuple to PyTorch 1.13.
        if isinstance(index, list) and not all(isinstance(part, int) for part in index):
            index = tuple(index)
        for part in index if isinstance(index, tuple) else (index,):
            if isinstance(part, slice):
                ends = ["" if end is None else literal(end) for end in (part.start, part.stop)]
                step = "" if part.step is None else ":" + literal(part.step)
                parts.append(":".join(ends) + step)
            elif part is Ellipsis:
                parts.append("...")
            else:
                parts.append(self.term(torch.tensor(part) if isinstance(part, list) else part))
        return ", ".join(parts)


def is_training(op, sample):
    """Whether the sample draws random numbers or counts statistics, as in training."""
    name, named = op.name.split(".")[-1], sample.kwargs
    if name in RANDOM:
        return named.get("training", RANDOM[name])
    return bool(named.get("training") and name in ("batch_norm", "instance_norm") or
                named.get("max_norm") is not None or named.get("dropout_p"))


def call_of(op, sample, form, known):
    """The text of the call and its inputs. `form` chooses among the ways to write it."""
    speller, name = Speller(), op.name.split(".")[-1]
    positional, named, x = list(sample.args), dict(sample.kwargs), sample.input
    if is_training(op, sample):
        raise Skipped("training")
    if name == "unique" and not named.get("sorted", True):
        raise Skipped("an order that PyTorch leaves open")
    if name == "__getitem__":
        return f"{speller.term(x)}[{speller.subscript(positional[0])}]", speller.inputs
    if op.name in REFLECTED:
        x = speller.term(x)
        return f"({speller.term(positional[0])}) {REFLECTED[op.name]} {x}", speller.inputs
    if op.name in PROPERTIES:
        return f"{speller.term(x)}.{op.name}", speller.inputs
    if op.name in METHODS:
        x = speller.term(x)
        return f"{x}.{op.name}({speller.arguments(positional, named)})", speller.inputs
    names = functions_of(op, known)
    if name == "einsum":
        positional = [positional[0], list(x)] if form % 2 else [positional[0], *x]
        return f"einsum({speller.arguments(positional, named)})", speller.inputs
    # In op_db the tensor whose gradient is tested comes first, whatever the order of arguments.
    if name == "where":
        positional = [positional[0], x, *positional[1:]]
        return f"where({speller.arguments(positional, named)})", speller.inputs
    if name in ("embedding", "embedding_bag"):
        positional = [positional[0], x, *positional[1:]]
        return f"{name}({speller.arguments(positional, named)})", speller.inputs
    is_operand = (len(positional) == 1 and not named and
                  (isinstance(positional[0], (torch.Tensor, float)) or type(positional[0]) is int))
    if form % 3 == 1 and op.name in OPERATORS and is_operand and isinstance(x, torch.Tensor):
        x = speller.term(x)
        return f"{x} {OPERATORS[op.name]} ({speller.term(positional[0])})", speller.inputs
    chosen = names[form // 3 % len(names)]
    if form % 3 == 2 and isinstance(x, torch.Tensor) and hasattr(torch.Tensor, chosen) and \
            not op.name.startswith(("nn.", "linalg.", "special.")):
        x = speller.term(x)
        return f"{x}.{chosen}({speller.arguments(positional, named)})", speller.inputs
    return f"{chosen}({speller.arguments([x, *positional], named)})", speller.inputs


def spelled_case(op, sample, form, known, kind, dtype):
    call, inputs = call_of(op, sample, form, known)
    return Case(name_of(op), kind, dtype, call, inputs)
