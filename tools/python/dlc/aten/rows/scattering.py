"""Rows of gather and scatter."""

import torch

from ..call import dtype_text
from .elementwise import operand
from .shapes import shaped
from ..table import row


def _places(call):
    """The index of a gather or scatter, of which PyTorch takes any integers; None where it is
    empty, whatever its other dims are."""
    index = call["index"]
    if call.is_empty(index):
        return None
    is_plain = call.meta(index).dtype in (torch.int64, torch.int32)
    return call("index") if is_plain else f"to({call('index')}, i64)"


@row("gather")
def _gather(call):
    index = _places(call)
    if index is None:
        return f"zeros({call.sizes(call.shape(call.node))}, dtype={dtype_text(call.meta().dtype)})"
    return f"gather({call('self')}, {call['dim']}, {index})"


@row("scatter_add")
def _scatter_add(call):
    index = _places(call)
    if index is None:
        return call("self")
    return f"scatter_add({call('self')}, {call['dim']}, {index}, {call('src')})"


@row("scatter.src", "scatter.value", "scatter.reduce", "scatter.value_reduce")
def _scatter(call):
    dtype, index = call.meta().dtype, _places(call)
    if index is None:
        return call("self")
    source = operand(call, call["src"] if "src" in call.arguments else call["value"], dtype)
    reduce = call.get("reduce")
    return call.function(
        "scatter",
        call("self"),
        str(call["dim"]),
        index,
        source,
        reduce=f'"{reduce}"' if reduce else None,
    )


@row("scatter_reduce.two")
def _scatter_reduce(call):
    index = _places(call)
    if index is None:
        return call("self")
    return call.function(
        "scatter_reduce",
        call("self"),
        str(call["dim"]),
        index,
        call("src"),
        f'"{call["reduce"]}"',
        include_self="false" if not call["include_self"] else None,
    )


@row("index_reduce")
def _index_reduce(call):
    """The index repeated along the other dims of the source."""
    source = call["source"]
    rank, shape, index = call.rank(source), call.shape(source), call("index")
    if rank:
        sizes = [1] * rank
        sizes[call.dim(of="source")] = shape[call.dim(of="source")]
        index = f"expand({call.emit(shaped(call, index, sizes))}, {call.sizes(shape)})"
    elif call.rank(call["index"]):
        index = shaped(call, index, [])
    return call.function(
        "scatter_reduce",
        call("self"),
        str(call["dim"]),
        index,
        operand(call, source, call.meta().dtype),
        f'"{call["reduce"]}"',
        include_self="false" if not call["include_self"] else None,
    )
