"""Ops whose results are joined: their kernels write parts of one buffer (in-place concatenation).
"""
import numpy as np
import torch

from modules import row_text, tensor_type
from rows.row import ROWS, element_of, row

# One op of each kind of schedule, and the dims along which its results are joined.
JOINED = {"linear": (0, 1), "matmul": (0, 1),
          "conv1d": (1,), "conv2d": (0, 1, 3), "conv3d": (1,), "conv_transpose2d": (1,),
          "max_pool2d": (1, 2), "avg_pool2d": (1,),
          "sum": (0,), "amax": (0,), "argmax": (0,), "softmax": (0, 1), "layer_norm": (0, 1),
          "scaled_dot_product_attention": (0, 1),
          "relu": (0,), "add": (0,), "permute": (0, 1), "broadcast": (0, 1, 2), "slice": (0,),
          "gather": (0,), "interpolate": (1, 3)}
SIZES = (1, 2, 8, 33)


def doubled(shape, dim):
    size = shape[dim]
    both = 2 * size if isinstance(size, int) else f"({size}) * 2"
    return (*shape[:dim], both, *shape[dim + 1:])


def of_halves(bound, count, dim):
    """The bound of each half, of which each has `count` inputs."""
    def both(y, inputs, dtype):
        first, second = np.split(y, 2, dim)
        bounds = [bound(first, inputs[:count], dtype), bound(second, inputs[count:], dtype)]
        return np.concatenate(bounds, dim)
    if hasattr(bound, "magnitude"):
        both.magnitude = twice(bound.magnitude, count, dim)
    return both


def twice(function, count, dim):
    return lambda *inputs: torch.cat((function(*inputs[:count]), function(*inputs[count:])), dim)


def joined(half, dim):
    """The row `half` on two lists of inputs, its two results joined."""
    count = len(half.inputs)

    def body(names, types, result):
        type = tensor_type(half.result, element_of(result))
        return "\n".join([
            row_text(half, names[:count], types[:count], type, "a"),
            row_text(half, names[count:], types[count:], type, "b"),
            f"%y = dl.cat %ya, %yb {{dim = {dim} : i64}} : ({type}, {type}) -> {result}"
        ])

    note = f"joined along {dim}"
    row(half.op, [dtype for dtype in ("f32", "f16") if dtype in half.dtypes],
        [*half.inputs, *half.inputs], doubled(half.result, dim), twice(half.torch, count, dim),
        half.bound and of_halves(half.bound, count, dim),
        sizes=[n for n in half.sizes if n in SIZES] or half.sizes[:2], values=half.values,
        result_dtype=half.result_dtype, note=f"{half.note}, {note}" if half.note else note,
        kinds={**half.kinds, **{i + count: kind for i, kind in half.kinds.items()}}, raw=half.raw,
        body=body)


def read_elsewhere(half, dim):
    """The row `half` on two lists of inputs, its two results joined and, apart from that, negated
    and joined: the kernels of the second dl.cat read parts of the first."""
    count = len(half.inputs)

    def body(names, types, result):
        type = tensor_type(half.result, element_of(result))
        return "\n".join([
            row_text(half, names[:count], types[:count], type, "a"),
            row_text(half, names[count:], types[count:], type,
                     "b"), *(f"%n{part} = dl.neg %y{part} : ({type}) -> {type}" for part in "ab"),
            f"%c = dl.cat %ya, %yb {{dim = {dim} : i64}} : ({type}, {type}) -> {result}",
            f"%d = dl.cat %na, %nb {{dim = {dim} : i64}} : ({type}, {type}) -> {result}",
            f"%y = dl.maximum %c, %d : ({result}, {result}) -> {result}"
        ])

    bound = half.bound and of_halves(half.bound, count, dim)
    torch_twice = twice(half.torch, count, dim)
    row(half.op, [dtype for dtype in ("f32", "f16") if dtype in half.dtypes],
        [*half.inputs, *half.inputs], doubled(half.result, dim),
        lambda *inputs: torch_twice(*inputs).abs(), bound,
        sizes=[n for n in half.sizes if n in SIZES] or half.sizes[:2], values="normal",
        note=f"joined along {dim}, and read elsewhere", kinds={
            **half.kinds, **{i + count: kind for i, kind in half.kinds.items()}},
        raw=half.raw, body=body)


def first_row(op, rank):
    """The first row of `op` in f32 with a result of at least `rank` dims."""
    return next(row for row in ROWS if row.op == op and "f32" in row.dtypes and
                row.phase == "import" and len(row.result) >= rank)


for op, dims in JOINED.items():
    half = first_row(op, max(dims) + 1)
    for dim in dims:
        joined(half, dim)
        if op in ("linear", "conv2d", "max_pool2d", "softmax", "relu"):
            read_elsewhere(half, dim)
