"""Rows of ops that read and write at positions which tensors hold."""

import torch

from ..call import dtype_text, number_text
from .elementwise import operand
from .shapes import shaped, subscript
from ..table import row, same

same(
    "index_select index_add index_copy masked_scatter take_along_dim bucketize.Tensor searchsorted.Tensor "
    "isin.Tensor_Tensor"
)


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
        total = wrapped if total is None else call.emit(f"{total} * {extent} + {wrapped}", "place")
    return total


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
    """Values under a mask: some for all true elements, or one for each of these in turn."""
    x, indices = call["self"], call["indices"]
    before = indices.index(mask)
    after = call.rank(x) - before - call.rank(mask)
    wide = shaped(call, call.text(mask), [*([1] * before), *call.shape(mask), *([1] * after)])
    shape = call.shape(call["values"])
    is_for_all = len(shape) <= after or (
        isinstance(shape[-1 - after], int) and shape[-1 - after] == 1
    )
    if is_for_all:
        if len(shape) > after:
            ahead, behind = shape[: -1 - after], shape[len(shape) - after :]
            values = shaped(call, values, [*ahead, *([1] * call.rank(mask)), *behind])
        sign = "|" if call.meta().dtype == torch.bool else "+"
        if call["accumulate"]:
            values = f"{call('self')} {sign} {call.emit(values)}"
        return f"where({wide}, {values}, {call('self')})"
    if before or call["accumulate"] or len(shape) != 1 + after:
        call.refuse("values under a mask that is not of the first dims")
    if call.rank(mask) == call.rank(x):
        wide = call.expected(mask, call.shape(x))
        return f"masked_scatter({call('self')}, {wide}, {values})"
    return f"masked_scatter({call('self')}, expand({wide}, {call.sizes(call.shape(x))}), {values})"


@row("index_fill.int_Scalar", "index_fill.int_Tensor")
def _index_fill(call):
    value = operand(call, call["value"], call.meta().dtype)
    if not call.is_tensor(call["value"]):
        value = f"tensor({value}, dtype={dtype_text(call.meta().dtype)})"
    return f"index_fill({call('self')}, {call['dim']}, {call('index')}, {value})"


@row("linalg_diagonal")
def _linalg_diagonal(call):
    return call.function(
        "diagonal",
        call("A"),
        offset=str(call["offset"]),
        dim1=str(call["dim1"]),
        dim2=str(call["dim2"]),
    )


@row("isin.Tensor_Scalar", "isin.Scalar_Tensor")
def _is_number_in(call):
    sign = "!=" if call["invert"] else "=="
    if "test_element" in call.arguments:
        return f"{call('elements')} {sign} {call('test_element')}"
    found = f"any({call('test_elements')} == {call('element')})"
    return f"~{call.emit(found)}" if call["invert"] else found


@row("bucketize.Scalar", "searchsorted.Scalar")
def _place_of_number(call):
    named = {
        "right": "true" if call["right"] else None,
        "out_int32": "true" if call["out_int32"] else None,
    }
    edges = call["boundaries" if call.name == "bucketize" else "sorted_sequence"]
    value = f"tensor({call('self')}, dtype={dtype_text(call.meta(edges).dtype)})"
    if isinstance(call["self"], float) and not call.meta(edges).dtype.is_floating_point:
        value = f"tensor({call('self')})"
    texts = (value, call.text(edges))
    if call.name == "bucketize":
        return call.function(call.name, *texts, **named)
    named["side"] = call.optional("side")
    named["sorter"] = call.optional("sorter")
    return call.function(call.name, *texts[::-1], **named)


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


@row("argwhere", "nonzero", "masked_select")
def _found(call):
    """Nothing is found in a tensor without elements, whose result has a size of 0."""
    count = call.shape(call.node)[0]
    if isinstance(count, int) and count == 0:
        return f"zeros({call.sizes(call.shape(call.node))}, dtype={dtype_text(call.meta().dtype)})"
    if call.name == "masked_select":
        return f"masked_select({call('self')}, {call('mask')})"
    return f"nonzero({call('self')})"


__all__ = ["places_of", "subscript"]
