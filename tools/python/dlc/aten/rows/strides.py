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


def _places(call):
    """The positions of a strided view in its tensor, row-major, as a constant; their number."""
    x = call.meta(call["self"])
    sizes, strides, offset = call["size"], call["stride"], call["storage_offset"] or 0
    numbers = (*x.shape, *sizes, *strides, offset)
    if not all(isinstance(number, int) for number in numbers) or not x.is_contiguous():
        call.refuse("strides of a tensor whose sizes vary, or that is itself a view")
    places = torch.as_strided(torch.arange(max(x.numel(), 1)), sizes, strides, offset)
    return call.program.constant(places.reshape(-1).clone(), "places"), places.numel()


@row("as_strided", "as_strided_copy")
def _as_strided(call):
    table, _ = _places(call)
    flat = f"reshape({call('self')}, [{call.meta(call['self']).numel()}])"
    return shaped(call, f"index_select({flat}, 0, {table})", call["size"])


@row("as_strided_scatter")
def _as_strided_scatter(call):
    x = call.meta(call["self"])
    table, count = _places(call)
    source = f"reshape({operand(call, call['src'], x.dtype)}, [{count}])"
    flat = f"reshape({call('self')}, [{x.numel()}])"
    return shaped(call, f"index_put({flat}, [{table}], {source})", list(x.shape))
