"""Rows of ops that make tensors from sizes and numbers."""

import torch

from ..call import dtype_text, number_text
from .elementwise import operand
from ..table import row


def _filled(call, value):
    """Of the result's sizes and dtype."""
    dtype = call.meta().dtype
    if isinstance(value, torch.fx.Node):
        scalar = call.text(value)
        if not isinstance(call.meta(value), (torch.Tensor, torch.SymFloat)):
            scalar = f"scalar_tensor({scalar}, dtype={dtype_text(dtype)})"
        return f"expand(to({scalar}, {dtype_text(dtype)}), {call.sizes(call.shape(call.node))})"
    value = (
        float(value)
        if dtype.is_floating_point
        else bool(value) if dtype == torch.bool else int(value)
    )
    return f"full({call.sizes(call.shape(call.node))}, {number_text(value)}, dtype={dtype_text(dtype)})"


@row("full", "full_like", "new_full", "fill.Scalar")
def _full(call):
    return _filled(call, call["fill_value"] if "fill_value" in call.arguments else call["value"])


@row("fill.Tensor")
def _fill(call):
    return f"expand(to({call('value')}, {dtype_text(call.meta().dtype)}), {call.sizes(call.shape(call.node))})"


@row(
    "zeros",
    "zeros_like",
    "new_zeros",
    "empty.memory_format",
    "empty_like",
    "new_empty",
    "empty_strided",
    "new_empty_strided",
    "empty_permuted",
)
def _zeros(call):
    return _filled(call, 0)


@row("ones", "ones_like", "new_ones")
def _ones(call):
    return _filled(call, 1)


@row("scalar_tensor")
def _scalar_tensor(call):
    return _filled(call, call["s"])


@row("arange", "arange.start", "arange.start_step")
def _arange(call):
    dtype = call.meta().dtype
    bounds = [call.get("start", 0), call["end"]]
    step = call.get("step", 1)
    if isinstance(step, torch.fx.Node):
        wide = torch.float64 if dtype.is_floating_point else dtype
        count = call.size(call.shape(call.node)[0])
        steps = f"arange({count}, dtype={dtype_text(wide)}) * {operand(call, step, wide)}"
        return f"to({steps} + {operand(call, bounds[0], wide)}, {dtype_text(dtype)})"
    if not dtype.is_floating_point and any(isinstance(n, float) for n in (*bounds, step)):
        # PyTorch drops the fractions after it has counted the elements.
        count, start = call.size(call.shape(call.node)[0]), bounds[0]
        if not all(isinstance(number, (int, float)) for number in (start, step)):
            call.refuse("bounds or steps that are computed")
        return f"arange({count}, dtype={dtype_text(dtype)}) * {int(step)} + {int(start)}"
    if any(isinstance(bound, float) for bound in (*bounds, step)):
        bounds = [float(bound) if isinstance(bound, int) else bound for bound in bounds]
        step = float(step) if isinstance(step, int) else step
    return call.function(
        "arange",
        *map(call.text, bounds),
        step=number_text(step) if step != 1 else None,
        dtype=dtype_text(dtype),
    )


@row("linspace")
def _linspace(call):
    """Of a number of steps that is known."""
    if not all(isinstance(call[name], (int, float)) for name in ("start", "end", "steps")):
        call.refuse("bounds or steps that are computed")
    dtype = call.meta().dtype
    if not dtype.is_floating_point:
        bounds = call["start"], call["end"], call["steps"]
        return call.program.constant(torch.linspace(*bounds, dtype=dtype), "linspace")
    return call.function(
        "linspace",
        *(number_text(float(call[name])) for name in ("start", "end")),
        str(call["steps"]),
        dtype=dtype_text(dtype),
    )


@row("eye", "eye.m")
def _eye(call):
    rows, columns = map(call.size, call.shape(call.node))
    return f"to(unsqueeze(arange({rows}), 1) == arange({columns}), {dtype_text(call.meta().dtype)})"


@row("tril_indices", "triu_indices")
def _triangle(call):
    return call.function(
        call.name,
        *(str(call[name]) for name in ("row", "col", "offset")),
        dtype=dtype_text(call.meta().dtype),
    )
