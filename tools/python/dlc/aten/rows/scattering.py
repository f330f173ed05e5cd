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
    x, text = call["self"], call("self")
    if dims := _differ(call, x, call.dim() if call.rank(x) else None):
        text = _cut(call, text, call.shape(x), dims)
    return f"gather({text}, {call['dim']}, {index})"


def _differ(call, value, along=None):
    """The dims of `value`, other than `along`, of which nobody knows that the index has no more
    elements there."""
    pairs = zip(call.shape(value), call.shape(call["index"]))
    return [
        dim
        for dim, (own, wanted) in enumerate(pairs)
        if dim != along
        and call.size(own) != call.size(wanted)
        and not (isinstance(own, int) and isinstance(wanted, int))
    ]


def _cut(call, text, shape, dims):
    """A tensor of so many elements along some dims as the index has, which a run checks."""
    sizes = [
        wanted if dim in dims else own
        for dim, (own, wanted) in enumerate(zip(shape, call.shape(call["index"])))
    ]
    parts = [f":{call.size(size)}" if dim in dims else ":" for dim, size in enumerate(sizes)]
    return call.emit(f"expect_dims({text}[{', '.join(parts)}], {call.sizes(sizes)})")


def _source(call):
    """What is scattered: a number, or a tensor that the index fits in."""
    source = call["src"] if "src" in call.arguments else call["value"]
    text = operand(call, source, call.meta().dtype)
    if not call.is_tensor(source) or not (dims := _differ(call, source)):
        return text
    return _cut(call, text, call.shape(source), dims)


def _scattered(call, name, *rest, **named):
    """A scatter into the part of the operand that the index reaches along the other dims."""
    index = _places(call)
    if index is None:
        return call("self")
    dims = _differ(call, call["self"], call.dim() if call.rank(call["self"]) else None)
    source = _source(call)

    def into(text, cut):
        if len(cut) == len(dims):
            return call.function(name, text, str(call["dim"]), index, source, *rest, **named)
        dim = dims[len(cut)]
        shape = [
            wanted if other in cut else own
            for other, (own, wanted) in enumerate(
                zip(call.shape(call["self"]), call.shape(call["index"]))
            )
        ]
        part = into(_cut(call, text, shape, [dim]), [*cut, dim])
        return f"update_slice({text}, {dim}, 0, {call.emit(part)})"

    return into(call("self"), [])


@row("scatter_add")
def _scatter_add(call):
    return _scattered(call, "scatter_add")


@row("scatter.src", "scatter.value", "scatter.reduce", "scatter.value_reduce")
def _scatter(call):
    reduce = call.get("reduce")
    return _scattered(call, "scatter", reduce=f'"{reduce}"' if reduce else None)


@row("scatter_reduce.two")
def _scatter_reduce(call):
    return _scattered(
        call,
        "scatter_reduce",
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
