"""Rows of ops that count elements, or that give as many as they find."""

import torch

from ..call import dtype_text, number_text
from .elementwise import operand
from .shapes import shaped
from ..table import row


def _edges(call, text, dtype):
    """The smallest and the largest element that count, and the edges of the bins."""
    low, high, bins = call["min"], call["max"], call["bins"]
    if low != high:
        table = torch.linspace(float(low), float(high), bins + 1, dtype=dtype)
        return number_text(low), number_text(high), call.program.constant(table, "edges")
    if call.is_empty(call["self"]):
        lowest, highest = f"tensor({float(low) - 1})", f"tensor({float(high) + 1})"
    else:
        first, last = call.emit(f"min({text})", "first"), call.emit(f"max({text})", "last")
        lowest = call.emit(f"where({first} == {last}, {first} - 1, {first})", "lowest")
        highest = call.emit(f"where({first} == {last}, {last} + 1, {last})", "highest")
    steps = f"arange({bins + 1}, dtype={dtype_text(dtype)}) / {bins}"
    edges = call.emit(f"{lowest} + ({highest} - {lowest}) * ({steps})", "edges")
    return lowest, highest, edges


@row("histc")
def _histogram(call):
    """Elements outside of the limits, and NaN, count nowhere; the last bin has its upper edge."""
    dtype, bins = call.meta().dtype, call["bins"]
    if not dtype.is_floating_point:
        call.refuse("a histogram of integers")
    text = call.emit(f"reshape({call('self')}, [-1])")
    low, high, edges = _edges(call, text, dtype)
    counted = call.emit(
        f"to(({text} >= {low}) & ({text} <= {high}), {dtype_text(dtype)})", "counted"
    )
    place = f"searchsorted({edges}, {text}, right=true) - 1"
    place = call.emit(f"clamp({place}, min=0, max={bins - 1})", "place")
    return f"scatter_add(zeros({bins}, dtype={dtype_text(dtype)}), 0, {place}, {counted})"


@row("bincount")
def _bin_count(call):
    """As many bins as the largest element asks for."""
    x, dtype, least = call["self"], call.meta().dtype, call["minlength"]
    size, text = call.shape(call.node)[0], call("self")
    if isinstance(size, int):
        count = str(size)
    else:
        largest = f"to(max({text}), i64) + 1"
        largest = f"clamp({largest}, min={call.size(least)})" if least != 0 else largest
        count = call.program.counted_size(call.node, call.emit(largest, "bins"))
    ones = f"ones({call.sizes(call.shape(x))}, dtype={dtype_text(dtype)})"
    weights = operand(call, call["weights"], dtype) if call["weights"] is not None else ones
    return f"scatter_add(zeros({count}, dtype={dtype_text(dtype)}), 0, to({text}, i64), {weights})"


@row("repeat_interleave.Tensor")
def _repeated_places(call):
    """0 as often as the first number says, then 1, and so on."""
    size, repeats = call.shape(call.node)[0], f"to({call('repeats')}, i64)"
    ends = call.emit(f"cumsum({repeats}, 0)", "ends")
    if isinstance(size, int) or call["output_size"] is not None:
        count = call.size(size)
    else:
        count = call.program.counted_size(call.node, call.emit(f"sum({repeats})", "count"))
    dtype = dtype_text(call.meta().dtype)
    return f"to(searchsorted({ends}, arange({count}), right=true), {dtype})"


@row("nonzero_static")
def _nonzero_static(call):
    """The first places; rows of the fill value where there are fewer."""
    x, size, fill = call["self"], call["size"], call["fill_value"]
    dims, rank = call.shape(x), call.rank(x)
    if not all(isinstance(number, int) for number in (*dims, size)) or not rank or not size:
        call.refuse("sizes that vary, or a tensor without dims")
    count = call.meta(x).numel()
    mask = f"reshape({call('self')}, [-1])"
    if call.meta(x).dtype != torch.bool:
        mask = f"{mask} != 0"
    mask = call.emit(f"to({mask}, i64)", "found")
    order = call.emit(f"cumsum({mask}, 0) - 1", "order")
    target = call.emit(
        f"where(({mask} == 1) & ({order} < {size}), {order}, tensor({size}))", "target"
    )
    places = call.emit(f"scatter(zeros({size + 1}, dtype=i64), 0, {target}, arange({count}))")
    places = call.emit(f"{places}[:{size}]", "places")
    columns, step = [], 1
    for extent in reversed(dims):
        columns.insert(0, call.emit(f"{places} // {step} % {extent}", "column"))
        step *= extent
    is_real = f"unsqueeze(arange({size}) < sum({mask}), 1)"
    return f"where({is_real}, stack([{', '.join(columns)}], dim=1), tensor({fill}))"


@row("unique_consecutive")
def _runs(call):
    """The first element of each run of equal ones."""
    if call["dim"] is not None:
        call.refuse("slices along a dim")
    x = call["self"]
    count = call.program.product_of(call.shape(x))
    if isinstance(count, int) and count == 0:
        call.refuse("a tensor without elements")
    flat = call.emit(f"reshape({call('self')}, [-1])")
    begins = call.emit(f"cat([tensor([true]), {flat}[1:] != {flat}[:-1]], dim=0)", "begins")
    values = call.emit(f"masked_select({flat}, {begins})", "runs")
    number = call.emit(f"cumsum(to({begins}, i64), 0) - 1", "number")
    inverse = lengths = None
    if call.is_used(1) and call["return_inverse"]:
        inverse = call.emit(shaped(call, number, call.shape(x)), "inverse")
    if call.is_used(2) and call["return_counts"]:
        wide = f"zeros({call.size(count)}, dtype=i64)"
        ones = f"ones({call.size(count)}, dtype=i64)"
        wide = call.emit(f"scatter_add({wide}, 0, {number}, {ones})", "lengths")
        lengths = call.emit(f"head({wide}, sum(to({begins}, i64)))", "lengths")
    empty = None
    if call.is_used(1) and not inverse or call.is_used(2) and not lengths:
        empty = call.emit("zeros([0], dtype=i64)", "none")
    return [values, inverse or empty, lengths or empty]
