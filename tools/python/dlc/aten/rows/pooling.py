"""Rows of pools."""

import math

import torch

from ..table import row, same

same(
    "avg_pool1d avg_pool2d avg_pool3d max_pool2d max_pool1d max_pool3d max_pool2d_with_indices "
    "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d _adaptive_avg_pool2d "
    "_adaptive_avg_pool3d"
)


@row("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def _adaptive_max_pool(call):
    if call.is_used(1):
        return _positions_of_pool(call)
    return [call.emit(f"{call.name}({call('self')}, {call('output_size')})"), None]


def _positions_of_pool(call):
    """The elements of all windows side by side, of static sizes. A window that is shorter than
    others repeats its last element."""
    sizes, rank = call["output_size"], len(call["output_size"])
    own, ahead = call.shape(call["self"])[-rank:], call.shape(call["self"])[:-rank]
    if not all(isinstance(number, int) for number in (*own, *sizes)):
        call.refuse("the positions of an adaptive pool of sizes that vary")
    places = torch.zeros([1, 1], dtype=torch.int64)
    for extent, count in zip(own, sizes):
        starts = [i * extent // count for i in range(count)]
        ends = [-(-(i + 1) * extent // count) for i in range(count)]
        width = max(end - start for start, end in zip(starts, ends))
        windows = [
            [min(start + k, end - 1) for k in range(width)] for start, end in zip(starts, ends)
        ]
        one = torch.tensor(windows)
        both = places[:, None, :, None] * extent + one[None, :, None, :]
        places = both.reshape(places.shape[0] * count, -1)
    table = call.program.constant(places.reshape(-1).contiguous(), "places")
    flat = call.emit(f"reshape({call('self')}, {call.sizes([*ahead, math.prod(own)])})")
    shape = call.sizes([*ahead, *places.shape])
    windows = call.emit(f"reshape(index_select({flat}, -1, {table}), {shape})", "windows")
    values, local = call.program.emit_many(f"max({windows}, -1)", call.name, [True, True])
    first = f"arange({places.shape[0]}) * {places.shape[1]}"
    held = call.emit(f"index({table}, {local} + {first})", "positions")
    whole = call.sizes([*ahead, *sizes])
    return [call.emit(f"reshape({text}, {whole})", call.name) for text in (values, held)]


@row("max_pool3d_with_indices")
def _max_pool3d(call):
    if call.is_used(1):
        call.refuse("the positions of a pool of volumes, which dlc does not give")
    text = call.function(
        "max_pool3d",
        call("self"),
        call("kernel_size"),
        stride=call("stride") if call["stride"] else None,
        padding=call("padding"),
        dilation=call("dilation"),
        ceil_mode="true" if call["ceil_mode"] else None,
    )
    return [call.emit(text), None]
