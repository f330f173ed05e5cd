"""PyTorch's results for a sample: computed in double precision from the inputs as the type under
test holds them."""
import contextlib

import torch

import bounds
from accuracy import FORMATS, TORCH, compute
from case import MAX_RANK, NAMES, Result, Skipped, holds

NARROW = (torch.float32, torch.float16, torch.bfloat16)
# Entries whose result depends on the limits or the digits of the dtype itself.
OF_THEIR_DTYPE = {"nan_to_num", "empty_like", "new_empty", "empty", "special.ndtr"}
# Entries whose elements PyTorch leaves undefined: dlc's are 0.
UNDEFINED = {"empty_like", "new_empty", "empty"}


def soft_margin_loss(x, target, reduction="mean"):
    loss = torch.log1p(torch.exp(-target * x))
    return loss if reduction == "none" else getattr(loss, reduction)()


# Functions that PyTorch computes with a loss of digits, even in double precision.
ACCURATE = {"nn.functional.soft_margin_loss": soft_margin_loss}


def mapped(value, change):
    """`value` with `change` made to each tensor and dtype that it holds."""
    if isinstance(value, (torch.Tensor, torch.dtype)):
        return change(value)
    if type(value) in (tuple, list):
        return type(value)(mapped(item, change) for item in value)
    if isinstance(value, dict):
        return {key: mapped(item, change) for key, item in value.items()}
    return value


def copied(value):
    return mapped(value, lambda v: v.detach().clone() if isinstance(v, torch.Tensor) else v)


def widened(value):
    def widen(v):
        if isinstance(v, torch.dtype):
            return torch.float64 if v in NARROW else v
        return v.detach().to(torch.float64) if v.dtype in NARROW else v.detach().clone()
    return mapped(value, widen)


@contextlib.contextmanager
def default_dtype(dtype):
    """Numbers and integers that meet floats become `dtype`."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def flat(result):
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, (tuple, list)):
        return [tensor for item in result for tensor in flat(item)]
    if isinstance(result, bool):
        return [torch.tensor(result)]
    if result is None:
        return []
    raise Skipped(f"results of type {type(result).__name__}")


def paths_of(result, path=""):
    """Returns the path of each tensor of `flat`."""
    if isinstance(result, (tuple, list)):
        return [inner for i, item in enumerate(result) for inner in paths_of(item, f"{path}[{i}]")]
    return [] if result is None else [path]


def promoted(arguments, dtype):
    """The arguments of a function of each element as PyTorch converts them before it computes in
    `dtype`."""
    digits = TORCH[compute(dtype)]

    def convert(value):
        if isinstance(value, float):
            return torch.tensor(value, dtype=digits).item()
        if type(value) in (tuple, list):
            return type(value)(map(convert, value))
        if isinstance(value, dict):
            return {key: convert(item) for key, item in value.items()}
        return value.to(TORCH[dtype]) if isinstance(
            value, torch.Tensor) and value.dtype != torch.bool else value
    return convert(arguments)


def results_of(function, sample, dtype, entry, count, is_of_elements=False):
    """The results with their bounds, and whether PyTorch gives a tuple. `dtype` is the one under
    test. PyTorch 1.13 lacks many functions of f16 on the CPU: their results are f16 where those of
    doubles are double."""
    arguments = [sample.input, list(sample.args), dict(sample.kwargs)]
    call = lambda change: (lambda x, args, named: ACCURATE.get(entry, function)
                           (x, *args, **named))(*map(change, arguments))
    plain = wide = None
    try:
        plain = call(copied)
    except Exception as error:
        if dtype not in ("f16", "bf16"):
            raise Skipped(f"PyTorch raises {type(error).__name__}") from None
    if is_of_elements:
        computed = NAMES.get(plain.dtype) if isinstance(
            plain, torch.Tensor) else dtype if plain is None else None
        if computed in FORMATS:
            arguments = promoted(arguments, computed)
    if entry not in OF_THEIR_DTYPE or plain is None:
        with default_dtype(torch.float64):
            try:
                wide = call(widened)
            except Exception as error:
                if plain is None:
                    raise Skipped(f"PyTorch raises {type(error).__name__}") from None
    is_tuple = not isinstance(plain if plain is not None else wide, (torch.Tensor, bool))
    paths = paths_of(plain if plain is not None else wide)
    plain, wide = plain if plain is None else flat(plain), wide if wide is None else flat(wide)
    shapes = [[list(x.shape) for x in results] for results in (plain, wide) if results is not None]
    if len(shapes) == 2 and shapes[0] != shapes[1]:
        wide = None
    results = []
    for i, exact in enumerate(wide if wide is not None else plain):
        held = holds(plain[i] if plain is not None else exact)
        name = NAMES[held.dtype]
        if plain is None and name == "f64":
            name = dtype
        is_float = name in FORMATS
        exact = exact.double() if is_float else held.to(torch.int64)
        exact = exact.detach().contiguous()
        results.append(
            Result(torch.zeros_like(exact) if entry in UNDEFINED else exact, name, path=paths[i]))
    if not results:
        raise Skipped("no results")
    if any(result.dtype in FORMATS for result in results):
        operands = [
            torch.as_tensor(value, dtype=torch.float64) for value in [arguments[0], *arguments[1]]
            if isinstance(value, (torch.Tensor, int, float))
        ]
        give_bounds(call, results, operands, dtype, entry, count)
    return results, is_tuple


def give_bounds(call, results, operands, dtype, entry, count):
    rule = bounds.of_entry(entry)
    if rule is not bounds.CONDITION:
        for result in results:
            result.bound, result.operands = rule, operands
        return
    shifts, format = [], bounds.format_of(entry, dtype)
    with default_dtype(torch.float64):
        for draw in range(bounds.DRAWS):
            generator = torch.Generator().manual_seed(draw)
            change = bounds.shifted(format, generator)
            try:
                shifts.append(flat(call(lambda v: mapped(widened(v), change))))
            except Exception:
                break
    for i, result in enumerate(results):
        moved = [shift[i].double() for shift in shifts if len(shift) == len(results) and
                 shift[i].shape == result.exact.shape]
        places = bounds.of_places(entry, result.exact, operands[0], format) if operands else 0.0
        result.bound = bounds.of_condition(entry, result.exact, moved, count, format, places)
