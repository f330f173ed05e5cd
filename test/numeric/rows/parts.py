"""Ops whose results are joined along a dim: their kernels write parts of one buffer (in-place concatenation)."""
import numpy as np
import torch

from modules import row_text, tensor_type
from rows.row import ROWS, element_of, row

# One op of each kind of schedule, and the dims along which its results are joined.
JOINED = {"linear": (0, 1), "matmul": (0, 1), "conv1d": (1,), "conv2d": (0, 1, 3), "conv3d": (1,), "conv_transpose2d": (1,),
          "max_pool2d": (1, 2), "avg_pool2d": (1,), "sum": (0,), "amax": (0,), "argmax": (0,), "softmax": (0, 1), "layer_norm": (0, 1),
          "scaled_dot_product_attention": (0, 1), "relu": (0,), "add": (0,), "permute": (0, 1), "broadcast": (0, 1, 2), "slice": (0,),
          "gather": (0,), "interpolate": (1, 3)}
SIZES = (1, 2, 8, 33)


def doubled(shape, dim):
    size = shape[dim]
    return (*shape[:dim], 2 * size if isinstance(size, int) else f"({size}) * 2", *shape[dim + 1:])


def of_halves(bound, count, dim):
    """The bound of each half, of which each has `count` inputs."""
    def both(y, inputs, dtype):
        first, second = np.split(y, 2, dim)
        return np.concatenate([bound(first, inputs[:count], dtype), bound(second, inputs[count:], dtype)], dim)
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
        texts = [row_text(half, names[:count], types[:count], type, "a"), row_text(half, names[count:], types[count:], type, "b")]
        return "\n".join(texts) + f"\n%y = dl.cat %ya, %yb {{dim = {dim} : i64}} : ({type}, {type}) -> {result}"

    row(half.op, [dtype for dtype in ("f32", "f16") if dtype in half.dtypes], [*half.inputs, *half.inputs], doubled(half.result, dim),
        twice(half.torch, count, dim), half.bound and of_halves(half.bound, count, dim),
        sizes=[n for n in half.sizes if n in SIZES] or half.sizes[:2], values=half.values, result_dtype=half.result_dtype,
        note=f"{half.note}, joined along {dim}" if half.note else f"joined along {dim}",
        kinds={**half.kinds, **{i + count: kind for i, kind in half.kinds.items()}}, raw=half.raw, body=body)


for op, dims in JOINED.items():
    first = next(row for row in list(ROWS) if row.op == op and "f32" in row.dtypes and row.phase == "import" and len(row.result) > max(dims))
    for dim in dims:
        joined(first, dim)
