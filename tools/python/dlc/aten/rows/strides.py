"""Rows of ops that look at the memory of a tensor: its strides, its size and its bits."""

import torch

from ..call import dtype_text
from .elementwise import operand
from .shapes import shaped
from ..table import row


@row("view.dtype")
def _view_dtype(call):
    dtype = call.meta().dtype
    if dtype == call.meta(call["self"]).dtype:
        return call("self")
    own = call.meta(call["self"]).dtype
    if own.itemsize != dtype.itemsize or torch.bool in (own, dtype):
        call.refuse("the bits of a tensor as a dtype of another size")
    return f"bitcast({call('self')}, {dtype_text(dtype)})"


@row("resize")
def _resize(call):
    """The first elements; PyTorch leaves those open that a larger size adds."""
    x, sizes = call["self"], call.shape(call.node)
    if not all(isinstance(size, int) for size in (*call.shape(x), *sizes)):
        call.refuse("sizes that vary")
    count, wanted = call.meta(x).numel(), call.meta().numel()
    if wanted > count:
        call.refuse("a size that is larger than the tensor")
    flat = call.emit(f"reshape({call('self')}, [-1])")
    return shaped(call, flat if wanted == count else f"{flat}[:{wanted}]", sizes)


@row("as_strided", "as_strided_copy")
def _as_strided(call):
    """Of static sizes: the elements at positions that are known."""
    x = call.meta(call["self"])
    sizes, strides, offset = call["size"], call["stride"], call["storage_offset"] or 0
    if (
        not all(isinstance(n, int) for n in (*x.shape, *sizes, *strides, offset))
        or not x.is_contiguous()
    ):
        call.refuse("strides of a tensor whose sizes vary, or that is itself a view")
    places = torch.as_strided(torch.arange(max(x.numel(), 1)), sizes, strides, offset)
    table = call.program.constant(places.reshape(-1).clone(), "places")
    return shaped(call, f"index_select(reshape({call('self')}, [{x.numel()}]), 0, {table})", sizes)


@row("as_strided_scatter")
def _as_strided_scatter(call):
    """The same elements, written."""
    x = call.meta(call["self"])
    sizes, strides, offset = call["size"], call["stride"], call["storage_offset"] or 0
    if (
        not all(isinstance(n, int) for n in (*x.shape, *sizes, *strides, offset))
        or not x.is_contiguous()
    ):
        call.refuse("strides of a tensor whose sizes vary, or that is itself a view")
    places = torch.as_strided(torch.arange(max(x.numel(), 1)), sizes, strides, offset)
    table = call.program.constant(places.reshape(-1).clone(), "places")
    source = f"reshape({operand(call, call['src'], x.dtype)}, [{places.numel()}])"
    return shaped(
        call,
        f"index_put(reshape({call('self')}, [{x.numel()}]), [{table}], {source})",
        list(x.shape),
    )
