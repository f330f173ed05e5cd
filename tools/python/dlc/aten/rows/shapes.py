"""Rows of ops that move, cut, join and repeat."""

import torch

from ..call import dtype_text
from .elementwise import operand
from ..sizes import plain
from ..table import row, same

same(
    "permute transpose.int t unsqueeze squeeze squeeze.dim squeeze.dims flip roll diagonal diag_embed tril triu "
    "pixel_shuffle pixel_unshuffle movedim.int movedim.intlist swapaxes swapdims trace diag rot90 fliplr flipud diagonal_scatter"
)

_END = 2**63 - 1
#: Terms of a size beyond which it becomes one of its own.
_MANY = 16


@row("unfold", "unfold_copy")
def _unfold(call):
    """By the names of the arguments: torch.nn.functional.unfold has others."""
    if not call.rank(call["self"]):
        return f"reshape({call('self')}, [{call['size']}])"
    named = {name: str(call[name]) for name in ("dimension", "size", "step")}
    return call.function("unfold", call("self"), **named)


def shaped(call, text, sizes):
    return f"reshape({text}, {call.sizes(sizes)})"


@row(
    "view",
    "reshape",
    "_unsafe_view",
    "view_copy",
    "flatten.using_ints",
    "unflatten.int",
    "_reshape_alias",
    "ravel",
    "view_as",
    "reshape_as",
)
def _reshape(call):
    x = call["self"]
    return (
        call("self")
        if call.shape(x) == call.shape(call.node)
        else shaped(call, call("self"), call.shape(call.node))
    )


@row("permute_copy")
def _permute_copy(call):
    return f"permute({call('self')}, {call('dims')})"


@row("expand", "expand_as", "broadcast_to", "expand_copy")
def _expand(call):
    x = call["self"]
    return (
        call("self")
        if call.shape(x) == call.shape(call.node)
        else f"expand({call('self')}, {call.sizes(call.shape(call.node))})"
    )


@row("repeat", "tile")
def _repeat(call):
    """Each dim becomes two, of which the first is as long as it is repeated."""
    repeats = call["repeats"] if call.name == "repeat" else call["dims"]
    if all(isinstance(number, int) for number in repeats):
        return f"{call.name}({call('self')}, {call.sizes(repeats)})"
    dims = [1] * (len(repeats) - call.rank(call["self"])) + call.shape(call["self"])
    apart = call.emit(shaped(call, call("self"), [size for dim in dims for size in (1, dim)]))
    wide = call.emit(
        f"expand({apart}, {call.sizes([size for pair in zip(repeats, dims) for size in pair])})"
    )
    return shaped(call, wide, call.shape(call.node))


def subscript(call, text, dim, index):
    """`text[:, :, index]`."""
    return f"{text}[{', '.join([':'] * dim + [index])}]"


@row("select.int", "select_copy.int")
def _select(call):
    return subscript(call, call("self"), call.dim(), call.size(call["index"]))


def bounds(call, start, end, size, step=1):
    """ "2:5" of a slice's bounds; an empty text for the whole of a dim."""
    start = 0 if start is None else start
    is_end = end is None or (
        isinstance(end, int) and (end == _END or isinstance(size, int) and end >= size)
    )
    first, last = "" if isinstance(start, int) and start == 0 else call.size(start), (
        "" if is_end else call.size(end)
    )
    return (
        ""
        if not first and not last and step == 1
        else f"{first}:{last}" + (f":{step}" if step != 1 else "")
    )


@row("slice.Tensor", "slice_copy.Tensor", "narrow", "narrow_copy")
def _slice(call):
    """Where sizes are symbols the part has just the size that PyTorch says."""
    dim = call.dim()
    size, made = call.shape(call["self"])[dim], call.shape(call.node)[dim]
    if call.name in ("narrow", "narrow_copy"):
        start, end, step = call["start"], call.program.sum_of(call["start"], call["length"]), 1
    else:
        start, end, step = call["start"] or 0, call["end"], call["step"]
    is_whole = end is None or (isinstance(end, int) and end == _END)
    if size == made and step == 1:
        return call("self")
    if step == 1 and not (isinstance(size, int) and isinstance(made, int)):
        first = 0 if isinstance(start, int) and start == 0 else size - made if is_whole else None
        if first is None and not isinstance(start, int):
            first = start
        if call.size(size).isdigit():
            size = int(call.size(size))
        if first is not None:
            part = f"narrow({call('self')}, {dim}, {call.size(first)}, {call.size(made)})"
            if not isinstance(size, int) or call.program.most(made) <= size:
                return part
            # The part ends where the dim ends; a run compares its size with what PyTorch says.
            part = subscript(call, call("self"), dim, bounds(call, start, end, size, step))
            return f"expect_dims({part}, {call.sizes(call.shape(call.node))})"
    found = bounds(call, start, end, size, step)
    return subscript(call, call("self"), dim, found) if found else call("self")


@row("slice_scatter")
def _slice_scatter(call):
    dim, x = call.dim(), call["self"]
    size = call.shape(x)[dim]
    start, end, step = call["start"] or 0, call["end"], call["step"]
    source = operand(call, call["src"], call.meta().dtype)
    if not bounds(call, start, end, size, step):
        return source
    if all(isinstance(bound, (int, type(None))) for bound in (start, end)):
        limits = {"start": str(start), "end": None if end is None or end == _END else str(end)}
        return call.function(
            "slice_scatter", call("self"), source, dim=str(dim), step=str(step), **limits
        )
    if step != 1:
        call.refuse("a step with bounds that are computed")
    parts = []
    if not isinstance(start, int) or start:
        parts.append(subscript(call, call("self"), dim, f":{call.size(start)}"))
    parts.append(source)
    if end is not None and end != _END:
        parts.append(subscript(call, call("self"), dim, f"{call.size(end)}:"))
    return f"expect_dims(cat([{', '.join(parts)}], dim={dim}), {call.sizes(call.shape(call.node))})"


@row("select_scatter")
def _select_scatter(call):
    """A place that is computed may count from the end, too."""
    if isinstance(call["index"], int):
        return call.same()
    dim, size = call.dim(), call.size(call.shape(call["self"])[call.dim()])
    place = call.emit(f"scalar_tensor({call.size(call['index'])}, dtype=i64)", "place")
    place = call.emit(f"reshape(where({place} < 0, {place} + {size}, {place}), [1])", "place")
    source = operand(call, call["src"], call.meta().dtype)
    return f"index_copy({call('self')}, {dim}, {place}, unsqueeze({source}, {dim}))"


@row("cat", "concat", "concatenate")
def _cat(call):
    """Without the empty tensors of one dim that PyTorch passes over."""
    dtype = call.meta().dtype
    parts = [
        part
        for part in call["tensors"]
        if not (call.rank(part) == 1 and call.shape(part) == [0] and call.rank(call.node) != 1)
    ]
    dim = call["dim"] % max(call.rank(call.node), 1)
    sizes = call.shape(call.node)
    texts = [_fitting(call, part, operand(call, part, dtype), dim, sizes) for part in parts]
    if len(texts) == 1:
        return texts[0]
    total = sizes[dim]
    if isinstance(total, int) or len(total.args) < _MANY:
        return f"cat([{', '.join(texts)}], dim={dim})"
    # A sum of many sizes is read as one, and a part of the model may have no more than 64 of them.
    along = [call.shape(part)[dim] for part in parts]
    while len(texts) > _MANY:
        groups = range(0, len(texts), _MANY)
        sums = [call.program.total_of(along[i : i + _MANY]) for i in groups]
        texts = [
            call.emit(_cat_of(call, texts[i : i + _MANY], dim, sizes, size))
            for i, size in zip(groups, sums)
        ]
        along = sums
    return _cat_of(call, texts, dim, sizes, call.program.total_of(along))


def _fitting(call, part, text, dim, sizes):
    """A part that is joined along `dim`, whose other sizes a run checks if PyTorch has computed
    them in another way."""
    own = call.shape(part)
    differ = [
        other
        for other, (a, b) in enumerate(zip(own, sizes))
        if other != dim and not (isinstance(a, int) and isinstance(b, int)) and a != b
    ]
    if not differ:
        return text
    return f"expect_dims({text}, {call.sizes([*sizes[:dim], own[dim], *sizes[dim + 1 :]])})"


def _cat_of(call, texts, dim, sizes, size):
    """Tensors along `dim`, where their sizes sum up to `size`."""
    dims = [*sizes[:dim], size, *sizes[dim + 1 :]]
    return f"expect_dims(cat([{', '.join(texts)}], dim={dim}), {call.sizes(dims)})"


@row("stack")
def _stack(call):
    dtype = call.meta().dtype
    return f"stack([{', '.join(operand(call, part, dtype) for part in call['tensors'])}], dim={call['dim']})"


def _parts(call, sizes):
    """The parts of a dim that something uses."""
    dim, start, found = call.dim(), 0, []
    for position, size in enumerate(sizes):
        end = call.program.sum_of(start, size)
        if call.is_used(position):
            is_last = position == len(sizes) - 1
            first = "" if isinstance(start, int) and start == 0 else call.size(start)
            index = f"{first}:{'' if is_last else call.size(end)}"
            text = call("self") if index == ":" else subscript(call, call("self"), dim, index)
            found.append(call.emit(text))
        else:
            found.append(None)
        start = end
    return found


@row(
    "split_with_sizes",
    "split_with_sizes_copy",
    "split.Tensor",
    "split.sizes",
    "chunk",
    "tensor_split.sections",
    "split_copy.Tensor",
    "unsafe_split.Tensor",
    "unsafe_chunk",
    "tensor_split.indices",
)
def _split(call):
    dim = call.dim()
    return _parts(call, [plain(value.shape[dim]) for value in call.meta()])


@row("unbind.int", "unbind_copy.int")
def _unbind(call):
    dim = call.dim()
    return [
        call.emit(subscript(call, call("self"), dim, str(i))) if call.is_used(i) else None
        for i in range(len(call.meta()))
    ]


@row(
    "constant_pad_nd",
    "pad",
    "reflection_pad1d",
    "reflection_pad2d",
    "reflection_pad3d",
    "replication_pad1d",
    "replication_pad2d",
    "replication_pad3d",
)
def _pad(call):
    widths = call["pad"] if "pad" in call.arguments else call["padding"]
    mode = call.get("mode") or {"r": "reflect" if "reflection" in call.name else "replicate"}.get(
        call.name[0], "constant"
    )
    if all(isinstance(width, int) and width == 0 for width in widths):
        return call("self")
    value = call.get("value") or 0
    if not isinstance(value, torch.fx.Node):
        value = float(value) if call.meta().dtype.is_floating_point else value
    if call.meta().dtype == torch.bool and value:
        text = f"to({call('self')}, u8)"
        return f"to(pad({text}, {call.sizes(widths)}, value={int(value)}), bool)"
    return call.function(
        "pad",
        call("self"),
        call.sizes(widths),
        mode=f'"{mode}"' if mode != "constant" else None,
        value=call.text(value) if value else None,
    )


@row("repeat_interleave.self_int")
def _repeat_interleave(call):
    dim = None if call["dim"] is None else str(call["dim"])
    return call.function("repeat_interleave", call("self"), call.text(call["repeats"]), dim=dim)


@row("meshgrid", "meshgrid.indexing")
def _meshgrid(call):
    tensors, shape = call["tensors"], [plain(size) for size in call.meta()[0].shape]
    is_xy = call.get("indexing") == "xy"
    found = []
    for position, tensor in enumerate(tensors):
        place = {0: 1, 1: 0}.get(position, position) if is_xy and len(tensors) > 1 else position
        sizes = [1] * len(shape)
        sizes[place] = shape[place]
        found.append(
            call.emit(f"expand({shaped(call, call.text(tensor), sizes)}, {call.sizes(shape)})")
            if call.is_used(position)
            else None
        )
    return found


@row("atleast_1d", "atleast_2d", "atleast_3d")
def _atleast(call):
    return shaped(call, call("self"), call.shape(call.node))


@row("one_hot")
def _one_hot(call):
    sizes = call.shape(call.node)
    return f"to(unsqueeze({call('self')}, -1) == arange({call.size(sizes[-1])}), {dtype_text(torch.int64)})"
