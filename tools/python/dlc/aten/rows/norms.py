"""Rows of norms."""

import torch

from ..call import dtype_text, number_text
from .elementwise import operand
from ..table import row, same

same("rms_norm")


def _affine(call, name, *texts, **named):
    """A norm with the weight and the bias of its channels. One of these alone is applied after
    it."""
    dtype = call.meta(call["input"]).dtype
    weight, bias = (
        operand(call, call[part], dtype) if call.get(part) is not None else None
        for part in ("weight", "bias")
    )
    is_whole = bool(weight) == bool(bias)
    if is_whole:
        named.update(weight=weight, bias=bias)
    text = call.function(name, call("input"), *texts, **named, eps=_eps(call))
    if is_whole:
        return text
    shape = [1, -1] + [1] * (call.rank(call["input"]) - 2)
    sign = "*" if weight else "+"
    return f"{call.emit(text)} {sign} reshape({weight or bias}, {shape})"


def _eps(call):
    return number_text(call["epsilon"] if "epsilon" in call.arguments else call["eps"])


def _zeros_of(call, position):
    """A result that PyTorch leaves empty; None where nothing uses it."""
    if not call.is_used(position):
        return None
    value = call.meta()[position]
    if value.numel():
        call.refuse("statistics of a norm that computes none")
    return call.emit(f"zeros({call.sizes(value.shape)}, dtype={dtype_text(value.dtype)})")


@row(
    "_native_batch_norm_legit_no_training",
    "_batch_norm_no_update",
    "batch_norm",
    "native_batch_norm",
    "cudnn_batch_norm",
    "_native_batch_norm_legit",
    "_native_batch_norm_legit.no_stats",
    "_native_batch_norm_legit_functional",
    "_batch_norm_with_update_functional",
)
def _batch_norm(call):
    default = call.name.startswith("_batch_norm_with")
    is_training = call.get("training", default)
    if is_training or call.get("running_mean") is None:
        return _training_norm(call)
    dtype = call.meta(call["input"]).dtype
    mean, variance = (operand(call, call[name], dtype) for name in ("running_mean", "running_var"))
    text = _affine(call, "batch_norm", mean, variance)
    if call.name == "batch_norm":
        return text
    found = [call.emit(text)]
    if call.name.endswith("_functional"):
        found += [_zeros_of(call, 1), _zeros_of(call, 2)]
        return found + [call("running_mean"), call("running_var")]
    return found + [_zeros_of(call, i) for i in range(1, len(call.schema.returns))]


@row("_weight_norm")
def _weight_norm(call):
    """A weight by its direction and its length over the dims but one; over all where that is -1."""
    v, dim = call("v"), call["dim"]
    dims = [other for other in range(call.rank(call["v"])) if other != dim]
    return f"{v} * ({call('g')} / sqrt(sum(square({v}), {dims}, true)))"


def _training_norm(call):
    """By the statistics of the batch, which change the running ones where there are some."""
    mean, is_functional = call.get("running_mean"), call.name.endswith("_functional")
    if mean is not None and not is_functional:
        call.refuse("a batch norm that changes its running statistics; call eval() on the module")
    x, rank = call["input"], call.rank(call["input"])
    wide = torch.float32 if call.meta(x).dtype in (torch.float16, torch.bfloat16) else None
    wide = wide or call.meta(x).dtype
    dims = [dim for dim in range(rank) if dim != 1]
    text = operand(call, x, wide)
    names = call.program.emit_many(f"var_mean({text}, {dims}, correction=0)", "batch", [True] * 2)
    variance, mean = names
    dtype = call.meta(x).dtype
    result = call.emit(
        _affine(
            call,
            "batch_norm",
            *(
                f"to({name}, {dtype_text(dtype)})" if wide != dtype else name
                for name in (mean, variance)
            ),
        )
    )
    if call.name == "batch_norm":
        return result
    deviation = f"rsqrt({variance} + {_eps(call)})"
    found = [result, _as_result(call, 1, mean), _as_result(call, 2, deviation)]
    if len(call.schema.returns) - 2 * is_functional == 4:
        found.append(_zeros_of(call, 3))
    return found + (_running(call, text, dims, mean) if is_functional else [])


def _running(call, text, dims, mean):
    """The running statistics after a step."""
    momentum = call["momentum"]
    kept, part = number_text(1 - momentum), number_text(float(momentum))
    variance = call.emit(f"var({text}, {dims}, correction=1)", "spread")
    count = len(call.schema.returns)
    return [
        _as_result(call, count - 2, f"{call('running_mean')} * {kept} + {mean} * {part}"),
        _as_result(call, count - 1, f"{call('running_var')} * {kept} + {variance} * {part}"),
    ]


def _as_result(call, position, text):
    """A value in the dtype of a result."""
    return call.emit(f"to({call.emit(text)}, {dtype_text(call.meta()[position].dtype)})", "result")


def _moments(call, text, dims):
    """The mean and the inverse deviation over dims of `text`, where something uses them."""
    found = []
    for position in (1, 2):
        if not call.is_used(position):
            found.append(None)
            continue
        value = call.meta()[position]
        moment = call.emit(
            f"mean({text}, {dims})" if position == 1 else f"var({text}, {dims}, correction=0)"
        )
        if position == 2:
            moment = call.emit(f"rsqrt({moment} + {_eps(call)})", "deviation")
        found.append(call.emit(f"reshape({moment}, {call.sizes(value.shape)})", "moment"))
    return found


def _moment_dtype(call):
    dtype = call.meta()[1].dtype
    return operand(call, call["input"], dtype)


@row("layer_norm", "native_layer_norm")
def _layer_norm(call):
    """A bias without a weight is added."""
    weight, bias = call.optional("weight"), call.optional("bias")
    text = call.function(
        "layer_norm",
        call("input"),
        call.sizes(call["normalized_shape"]),
        weight=weight,
        bias=bias if weight else None,
        eps=_eps(call),
    )
    if bias and not weight:
        text = f"{call.emit(text)} + {bias}"
    if call.name == "layer_norm":
        return text
    rank, count = call.rank(call["input"]), len(call["normalized_shape"])
    dims = list(range(rank - count, rank))
    return [call.emit(text), *_moments(call, _moment_dtype(call), dims)]


@row("group_norm")
def _group_norm(call):
    return _affine(call, "group_norm", str(call["num_groups"]))


@row("native_group_norm")
def _native_group_norm(call):
    text = _affine(call, "group_norm", str(call["group"]))
    x = call.shape(call["input"])
    rest = call.program.product_of([x[1] // call["group"], *x[2:]])
    sizes = call.sizes([x[0], call["group"], rest])
    groups = f"reshape({_moment_dtype(call)}, {sizes})"
    return [call.emit(text), *_moments(call, groups, [2])]


@row("_fused_rms_norm")
def _fused_rms_norm(call):
    text = call.function(
        "rms_norm",
        call("input"),
        call("normalized_shape"),
        weight=call.optional("weight"),
        eps=number_text(call["eps"]) if call["eps"] is not None else None,
    )
    if call.is_used(1):
        call.refuse("the inverse root of a norm, which only training reads")
    return [call.emit(text), None]


@row("instance_norm")
def _instance_norm(call):
    named = {}
    if not call["use_input_stats"]:
        named.update(
            running_mean=call.optional("running_mean"),
            running_var=call.optional("running_var"),
            use_input_stats="false",
        )
    return _affine(call, "instance_norm", **named)
