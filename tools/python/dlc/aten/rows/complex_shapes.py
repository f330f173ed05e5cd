"""Rows of ops that make, move, join, reduce and multiply complex tensors, as pairs."""

import torch

from . import creation, indexing, reductions, shapes  # noqa: F401  (they fill the table)
from ..call import dtype_text, number_text
from .elementwise import operand
from ..pairs import row
from ..table import ROWS, name_of

#: Rows that are right for pairs, once dims are counted from the front.
_THROUGH = """
view reshape _unsafe_view view_copy flatten.using_ints unflatten.int _reshape_alias ravel view_as
reshape_as expand expand_as broadcast_to expand_copy transpose.int swapaxes swapdims unsqueeze
squeeze squeeze.dim squeeze.dims select.int select_copy.int slice.Tensor slice_copy.Tensor narrow
split_with_sizes split_with_sizes_copy split.Tensor split_copy.Tensor split.sizes chunk
unsafe_split.Tensor unsafe_chunk unbind.int unbind_copy.int flip index_select index.Tensor
_unsafe_index.Tensor clone alias detach contiguous lift_fresh_copy lift lift_fresh detach_
resolve_conj resolve_neg alias_copy detach_copy zeros zeros_like new_zeros empty.memory_format
empty_like new_empty empty_strided new_empty_strided empty_permuted cumsum
"""


def _row_of(call):
    """The row of the same op for real tensors."""
    return ROWS[name_of(call.node.target)](call)


row(*_THROUGH.split())(_row_of)


@row("_to_copy", "to.dtype", "to.dtype_layout", "to.device", "to.other", "type_as")
@row("prims::convert_element_type")
def _to(call):
    """A real result is the real part."""
    x = call["a" if "a" in call.arguments else "self"]
    if call.is_pair(call.node):
        return call.pair(x)
    found, dtype = f"{call.text(x)}[..., 0]", call.meta().dtype
    if dtype == torch.bool:
        return f"any({call.text(x)} != 0.0, -1)"
    return found if call.meta(x).dtype == dtype else f"to({found}, {dtype_text(dtype)})"


@row("full", "full_like", "new_full", "fill.Scalar", "scalar_tensor", "ones", "ones_like")
@row("new_ones")
def _full(call):
    names = ("fill_value", "value", "s")
    value = next((call[name] for name in names if name in call.arguments), 1)
    if isinstance(value, torch.fx.Node):
        call.refuse("a complex tensor of a number that is computed")
    if not call.is_pair(call.node):
        call.refuse("a real tensor of the form of a complex one")
    return f"expand({call.pair(value)}, {call.sizes(call.shape(call.node))})"


@row("copy")
def _copy(call):
    if not call.is_pair(call.node):
        call.refuse("a complex tensor that becomes a real one")
    return f"expand({call.pair(call['src'])}, {call.sizes(call.shape(call.node))})"


@row("permute", "permute_copy")
def _permute(call):
    dims = [*call["dims"], len(call["dims"])]
    return f"permute({call('self')}, {dims})"


@row("t", "t_copy", "numpy_T")
def _t(call):
    rank = call.rank(call["self"]) - 1
    return f"permute({call('self')}, {[*reversed(range(rank)), rank]})"


@row("movedim.int", "movedim.intlist", "roll")
def _with_dims(call):
    """Only with dims that are named, which the call counts from the front."""
    rank = call.rank(call["self"]) - 1
    for name in ("source", "destination"):
        if name in call.arguments:
            value = call[name]
            call.arguments[name] = (
                value % rank if isinstance(value, int) else [dim % rank for dim in value]
            )
    if call.name == "roll" and not call["dims"]:
        call.refuse("complex numbers that are rolled through all dims")
    return _row_of(call)


@row("cat", "concat", "concatenate")
def _cat(call):
    """Without the empty tensors of one dim that PyTorch passes over."""
    parts = [
        part
        for part in call["tensors"]
        if call.node.meta["val"].dim() == 1 or list(part.meta["val"].shape) != [0]
    ]
    dim = call["dim"] % max(call.node.meta["val"].dim(), 1)
    return f"cat([{', '.join(map(call.pair, parts))}], dim={dim})"


@row("stack")
def _stack(call):
    dim = call["dim"] % call.node.meta["val"].dim()
    return f"stack([{', '.join(map(call.pair, call['tensors']))}], dim={dim})"


@row("repeat", "tile")
def _repeat(call):
    name = "repeats" if call.name == "repeat" else "dims"
    rank = call.rank(call["self"]) - 1
    given = list(call[name])
    call.arguments[name] = [1] * (rank - len(given)) + given + [1]
    return _row_of(call)


@row("constant_pad_nd", "pad")
def _pad(call):
    if call.get("value") or call.get("mode", "constant") != "constant":
        call.refuse("a border of complex numbers that is not zero")
    call.arguments["pad"] = [0, 0, *call["pad"]]
    return _row_of(call)


@row("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def _where(call):
    condition, one, two = call("condition"), call.pair(call["self"]), call.pair(call["other"])
    return f"where(unsqueeze({condition}, -1), {one}, {two})"


@row("masked_fill.Scalar")
def _masked_fill(call):
    value = call.pair(call["value"])
    return f"where(unsqueeze({call('mask')}, -1), {value}, {call.pair(call['self'])})"


@row("sum", "sum.dim_IntList", "mean", "mean.dim")
def _sum(call):
    rank = call.rank(call["self"]) - 1
    dims = call.get("dim")
    dims = [dims] if isinstance(dims, int) else list(dims or range(rank))
    if not rank:
        return call.pair(call["self"])
    call.arguments["dim"] = dims
    return _row_of(call)


@row("linalg_vector_norm")
def _vector_norm(call):
    rank, dims = call.rank(call["self"]) - 1, call["dim"]
    dims = [dims] if isinstance(dims, int) else list(dims if dims is not None else [])
    return call.function(
        "norm",
        "hypot({}, {})".format(*call.parts(call["self"])),
        p=number_text(float(call["ord"])),
        dim=str([dim % max(rank, 1) for dim in dims]),
        keepdim="true" if call["keepdim"] else None,
    )


def _products(call, left, right, multiply):
    """Of two complex tensors, as four products of real ones."""
    (a, b), (c, d) = call.parts(call[left]), call.parts(call[right])
    if b is None or d is None:
        call.refuse("a real matrix among complex ones")
    a, b, c, d = (call.emit(text, "part") for text in (a, b, c, d))
    return call.stacked(
        f"{multiply(a, c)} - {multiply(b, d)}", f"{multiply(a, d)} + {multiply(b, c)}"
    )


@row("mm", "bmm")
def _mm(call):
    return _products(call, "self", "mat2", lambda a, b: f"matmul({a}, {b})")


@row("matmul", "mv")
def _matmul(call):
    name = "vec" if call.name == "mv" else "other"
    return _products(call, "self", name, lambda a, b: f"matmul({a}, {b})")


@row("dot")
def _dot(call):
    return _products(call, "self", "tensor", lambda a, b: f"sum({a} * {b})")


@row("linear")
def _linear(call):
    found = _products(call, "input", "weight", lambda a, b: f"linear({a}, {b})")
    return found if call["bias"] is None else f"{call.emit(found)} + {call.pair(call['bias'])}"


@row("addmm", "baddbmm")
def _addmm(call):
    if call["beta"] != 1 or call["alpha"] != 1:
        call.refuse("factors of complex products")
    names = ("mat1", "mat2") if call.name == "addmm" else ("batch1", "batch2")
    found = _products(call, *names, lambda a, b: f"matmul({a}, {b})")
    return f"{call.pair(call['self'])} + {call.emit(found)}"


@row("index_put", "_unsafe_index_put", "slice_scatter", "select_scatter")
def _written(call):
    if not call.is_pair(call["values" if "values" in call.arguments else "src"]):
        call.refuse("real values that are written into a complex tensor")
    return _row_of(call)
