"""Rows of ops that read and write at positions which tensors hold."""

import torch

from .call import dtype_text, number_text
from .elementwise import operand
from .shapes import shaped, subscript
from .table import row, same

same(
    "index_select gather index_add index_copy masked_select masked_scatter take_along_dim bucketize.Tensor searchsorted.Tensor "
    "isin.Tensor_Tensor nonzero scatter_add"
)


@row("embedding")
def _embedding(call):
    return f"embedding({call('indices')}, {call('weight')})"


def places_of(call, indices):
    """Pairs of a dim of x and the integer tensor that indexes it, as a text and its sizes. A mask
    of k dims indexes k dims."""
    found, dim = [], 0
    for index in indices:
        if index is None:
            dim += 1
            continue
        if call.meta(index).dtype not in (torch.bool, torch.uint8):
            found.append((dim, call.text(index), call.shape(index)))
            dim += 1
            continue
        places = call.emit(f"nonzero({call.text(index)})", "places")
        count = call.program.counted(call.node, places)
        for k in range(call.rank(index)):
            found.append((dim, call.emit(f"{places}[:, {k}]", "places"), [count]))
            dim += 1
    return found


def _broadcast(shapes):
    rank, found = max(map(len, shapes)), []
    for position in range(rank):
        sizes = [
            shape[position - rank + len(shape)]
            for shape in shapes
            if position - rank + len(shape) >= 0
        ]
        found.append(next((size for size in sizes if not (isinstance(size, int) and size == 1)), 1))
    return found


@row("index.Tensor", "_unsafe_index.Tensor")
def _index(call):
    """The dims that are indexed come first, as one; the result's dims go where PyTorch has them."""
    x = call["self"]
    rank, sizes = call.rank(x), call.shape(x)
    places = places_of(call, call["indices"])
    dims = [dim for dim, _, _ in places]
    others = [dim for dim in range(rank) if dim not in dims]
    front = (
        call("self")
        if dims + others == list(range(rank))
        else call.emit(f"permute({call('self')}, {dims + others})")
    )
    shape = _broadcast([shape for _, _, shape in places])
    if len(places) == 1:
        place = places[0][1]
    else:
        place = _joined(call, places, [sizes[dim] for dim in dims])
        first = call.program.product_of([sizes[dim] for dim in dims])
        front = call.emit(shaped(call, front, [first, *(sizes[dim] for dim in others)]))
    found = f"index({front}, {place})"
    is_together = dims == list(range(dims[0], dims[0] + len(dims)))
    if not is_together or dims[0] == 0:
        return found
    ahead = [len(shape) + i for i in range(dims[0])]
    return f"permute({found}, {ahead + list(range(len(shape))) + list(range(len(shape) + dims[0], len(shape) + len(others)))})"


def _joined(call, places, sizes):
    """One position in the product of the dims, row-major; negative positions count from the end."""
    total = None
    for (_, text, _), size in zip(places, sizes):
        extent = call.size(size)
        wrapped = call.emit(f"where({text} < 0, {text} + {extent}, {text})", "place")
        total = wrapped if total is None else f"{total} * {extent} + {wrapped}"
    return call.emit(total, "place")


@row("index_put", "_unsafe_index_put", "_index_put_impl")
def _index_put(call):
    x, indices, dtype = call["self"], call["indices"], call.meta().dtype
    values = operand(call, call["values"], dtype)
    used = [index for index in indices if index is not None]
    if len(used) == 1 and call.meta(used[0]).dtype == torch.bool:
        return _masked_put(call, used[0], values)
    places = places_of(call, indices)
    dims = [dim for dim, _, _ in places]
    others = [dim for dim in range(call.rank(x)) if dim not in dims]
    order = dims + others
    front = (
        call("self")
        if order == list(range(len(order)))
        else call.emit(f"permute({call('self')}, {order})")
    )
    # Values have the dims of the indices where x has the dims that are indexed, in front of the
    # others where those are apart.
    shape = _broadcast([shape for _, _, shape in places])
    is_together = dims == list(range(dims[0], dims[0] + len(dims)))
    before = dims[0] if is_together else 0
    full = [call.shape(x)[dim] for dim in others]
    whole = [*full[:before], *shape, *full[before:]]
    if call.shape(call["values"]) != whole:
        values = call.emit(f"expand({values}, {call.sizes(whole)})", "values")
    if before:
        values = f"permute({values}, {[before + i for i in range(len(shape))] + list(range(before)) + list(range(before + len(shape), len(whole)))})"
    text = call.function(
        "index_put",
        front,
        f"[{', '.join(text for _, text, _ in places)}]",
        values,
        accumulate="true" if call["accumulate"] else None,
    )
    if order == list(range(len(order))):
        return text
    return f"permute({text}, {[order.index(dim) for dim in range(len(order))]})"


def _masked_put(call, mask, values):
    """Values under a mask: one for all, or one for each true element in turn."""
    x, indices = call["self"], call["indices"]
    before, after = indices.index(mask), call.rank(x) - len(indices) - (call.rank(mask) - 1)
    after = call.rank(x) - indices.index(mask) - call.rank(mask)
    wide = shaped(call, call.text(mask), [*([1] * before), *call.shape(mask), *([1] * after)])
    is_one = call.rank(call["values"]) == 0 or all(
        isinstance(n, int) and n == 1 for n in call.shape(call["values"])
    )
    if is_one:
        value = shaped(call, values, []) if call.rank(call["values"]) else values
        return (
            f"where({wide}, {call('self')} + {value}, {call('self')})"
            if call["accumulate"]
            else f"where({wide}, {value}, {call('self')})"
        )
    value_shape = call.shape(call["values"])
    if before or call["accumulate"] or len(value_shape) != 1 + after:
        call.refuse("values under a mask that is not of the first dims")
    if call.rank(mask) == call.rank(x):
        wide = call.expected(mask, call.shape(x))
        return f"masked_scatter({call('self')}, {wide}, {values})"
    return f"masked_scatter({call('self')}, expand({wide}, {call.sizes(call.shape(x))}), {values})"


@row("scatter.src", "scatter.value", "scatter.reduce", "scatter.value_reduce")
def _scatter(call):
    dtype = call.meta().dtype
    source = operand(call, call["src"] if "src" in call.arguments else call["value"], dtype)
    reduce = call.get("reduce")
    return call.function(
        "scatter",
        call("self"),
        str(call["dim"]),
        call("index"),
        source,
        reduce=f'"{reduce}"' if reduce else None,
    )


@row("scatter_reduce.two")
def _scatter_reduce(call):
    return call.function(
        "scatter_reduce",
        call("self"),
        str(call["dim"]),
        call("index"),
        call("src"),
        f'"{call["reduce"]}"',
        include_self="false" if not call["include_self"] else None,
    )


@row("index_fill.int_Scalar", "index_fill.int_Tensor")
def _index_fill(call):
    value = operand(call, call["value"], call.meta().dtype)
    if not call.is_tensor(call["value"]):
        value = f"tensor({value}, dtype={dtype_text(call.meta().dtype)})"
    return f"index_fill({call('self')}, {call['dim']}, {call('index')}, {value})"


@row("sort", "sort.stable", "argsort", "argsort.stable", "msort")
def _sort(call):
    dim = call.get("dim", 0)
    text = call.function(
        "sort",
        call("self"),
        str(dim),
        descending="true" if call.get("descending") else None,
        stable="true" if call.get("stable") else None,
    )
    if call.name == "sort":
        return call.results(text, 2)
    names = call.program.emit_many(text, "sorted", [call.name == "msort", call.name == "argsort"])
    return names[call.name == "argsort"]


@row("topk")
def _topk(call):
    """The first of a sort, where their number is computed."""
    largest = None if call["largest"] else "false"
    if isinstance(call["k"], int):
        k, dim = str(call["k"]), str(call["dim"])
        return call.results(call.function("topk", call("self"), k, dim, largest=largest), 2)
    descending = "true" if call["largest"] else None
    text = call.function("sort", call("self"), str(call["dim"]), descending=descending)
    used, dim, k = [call.is_used(0), call.is_used(1)], call.dim(), call.size(call["k"])
    names = call.program.emit_many(text, "sorted", used)
    return [name and call.emit(f"narrow({name}, {dim}, 0, {k})") for name in names]


@row("_unique2", "unique_dim", "_unique")
def _unique(call):
    inverse, counts = call.get("return_inverse", False), call.get("return_counts", False)
    named = {
        "return_inverse": "true" if inverse else None,
        "return_counts": "true" if counts else None,
        "dim": str(call["dim"]) if "dim" in call.arguments else None,
    }
    text = call.function("unique", call("self"), **named)
    if not inverse and not counts:
        return [call.emit(text), None, None]
    names = call.program.emit_many(text, call.name, [True] * (1 + bool(inverse) + bool(counts)))
    rest = iter(names[1:])
    return [names[0], next(rest) if inverse else None, next(rest) if counts else None]


@row("torchvision::nms", "dlc::batched_nms")
def _nms(call):
    boxes, scores = ("boxes", "scores") if call.name == "batched_nms" else ("dets", "scores")
    more = [call("idxs")] if call.name == "batched_nms" else []
    threshold = number_text(float(call["iou_threshold"]))
    return call.function(call.name, call(boxes), call(scores), *more, threshold)


@row("linalg_diagonal")
def _linalg_diagonal(call):
    return call.function(
        "diagonal",
        call("A"),
        offset=str(call["offset"]),
        dim1=str(call["dim1"]),
        dim2=str(call["dim2"]),
    )


@row("take")
def _take(call):
    return f"index(reshape({call('self')}, [-1]), {call('index')})"


@row("put")
def _put(call):
    flat = f"reshape({call('self')}, [-1])"
    text = call.function(
        "index_put",
        flat,
        f"[reshape({call('index')}, [-1])]",
        f"reshape({call('source')}, [-1])",
        accumulate="true" if call["accumulate"] else None,
    )
    return shaped(call, text, call.shape(call.node))


@row("argwhere")
def _argwhere(call):
    return f"nonzero({call('self')})"


__all__ = ["places_of", "subscript"]
