"""Rows of ops that networks are built of: products, convolutions, attention, recurrent layers."""

import torch

from ..call import dtype_text, number_text
from .elementwise import operand
from ..table import row, same

same(
    "mm bmm matmul mv dot kron conv1d conv2d conv3d "
    "conv_transpose1d conv_transpose2d.input conv_transpose3d.input pdist col2im"
)


@row("convolution", "_convolution", "convolution_overrideable")
def _convolution(call):
    rank, is_transposed = call.rank(call["input"]) - 2, call["transposed"]
    return call.function(
        f"conv_transpose{rank}d" if is_transposed else f"conv{rank}d",
        call("input"),
        call("weight"),
        call("bias"),
        stride=call("stride"),
        padding=call("padding"),
        output_padding=call("output_padding") if is_transposed else None,
        groups=call("groups"),
        dilation=call("dilation"),
    )


@row("conv1d.padding", "conv2d.padding", "conv3d.padding")
def _padded_convolution(call):
    """Padding by a word: "valid", or "same", which has one more element at the end where the number
    is odd."""
    kernel = call.shape(call["weight"])[2:]
    stride, dilation = (
        list(call[name]) * (len(kernel) // len(call[name])) for name in ("stride", "dilation")
    )
    totals = [step * (size - 1) for step, size in zip(dilation, kernel)]
    totals = totals if call["padding"] == "same" else [0] * len(kernel)
    x, padding = call("input"), [total // 2 for total in totals]
    if any(total % 2 for total in totals):
        sides = [side for total in reversed(totals) for side in (total // 2, total - total // 2)]
        x, padding = call.emit(f"pad({x}, {sides})"), [0] * len(kernel)
    return call.function(
        call.name,
        x,
        call("weight"),
        call("bias"),
        stride=str(stride),
        padding=str(padding),
        dilation=str(dilation),
        groups=call("groups"),
    )


@row("linear")
def _linear(call):
    """A weight of one dim is a vector."""
    if call.rank(call["weight"]) == 2:
        return call.same()
    text = f"matmul({call('input')}, {call('weight')})"
    return f"{call.emit(text)} + {call('bias')}" if call["bias"] is not None else text


@row("mm.dtype", "bmm.dtype")
def _wide_product(call):
    """Of operands that are cast to the dtype of the result."""
    dtype = call.meta().dtype
    return call.function("matmul", *(operand(call, call[name], dtype) for name in ("self", "mat2")))


@row("outer", "ger")
def _outer(call):
    dtype = call.meta().dtype
    x, other = operand(call, call["self"], dtype), operand(call, call["vec2"], dtype)
    return f"unsqueeze({x}, 1) {'&' if dtype == torch.bool else '*'} {other}"


@row("addmm", "addbmm", "baddbmm", "addmv", "addr")
def _sum_of_product(call):
    """PyTorch drops the fractions of factors of integers."""
    dtype = call.meta().dtype
    tensors = [
        operand(call, call[argument.name], dtype)
        for argument in call.schema.arguments
        if not argument.kwarg_only
    ]
    factors = [call["beta"], call["alpha"]]
    if not dtype.is_floating_point:
        factors = [int(factor) for factor in factors]
    if dtype == torch.bool:
        return _sum_of_bools(call, tensors, factors)
    named = zip(("beta", "alpha"), factors)
    return call.function(
        call.name, *tensors, **{name: number_text(n) for name, n in named if n != 1}
    )


def _sum_of_bools(call, tensors, factors):
    if call.name != "addr":
        call.refuse("a product of bools")
    product = f"unsqueeze({tensors[1]}, 1) & {tensors[2]}"
    parts = [text for text, factor in zip((tensors[0], product), factors) if factor]
    text = " | ".join(f"({part})" for part in parts) or "tensor(false)"
    return f"expand({call.emit(text)}, {call.sizes(call.shape(call.node))})"


@row(
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_cudnn_attention",
    "_scaled_dot_product_attention_math",
    "_scaled_dot_product_fused_attention_overrideable",
    "_scaled_dot_product_attention_math_for_mps",
)
def _fused_attention(call):
    return [call.emit(_attention(call))] + [None] * (len(call.schema.returns) - 1)


@row("scaled_dot_product_attention")
def _attention(call):
    """A query that may look at nothing gives zeros."""
    if call.get("dropout_p"):
        call.refuse("dropout draws random numbers in training mode; call eval() on the module")
    mask = call.get("attn_mask", call.get("attn_bias"))
    scale = call.get("scale")
    query, key, value = (call.shape(call[name]) for name in ("query", "key", "value"))
    is_grouped = call.get("enable_gqa") or (
        len(query) > 2
        and isinstance(query[-3], int)
        and isinstance(key[-3], int)
        and key[-3] not in (1, query[-3])
    )
    # The key has the batch of the query, and the value the rows of the key.
    key = [*query[:-3], *key[-3:]] if len(query) == len(key) > 3 else key
    text = call.function(
        "scaled_dot_product_attention",
        call("query"),
        call.expected(call["key"], [*key[:-1], query[-1]]),
        call.expected(call["value"], [*key[:-1], value[-1]] if len(value) == len(key) else value),
        attn_mask=call.text(mask) if mask is not None else None,
        is_causal="true" if call["is_causal"] else None,
        scale=number_text(scale) if scale is not None else None,
        enable_gqa="true" if is_grouped else None,
    )
    if mask is None:
        return text
    dtype = call.meta(call["query"]).dtype
    hidden = f"~any({call.text(mask)}, -1, keepdim=true)"
    if call.meta(mask).dtype != torch.bool:
        hidden = f'all({call.text(mask)} == float("-inf"), -1, keepdim=true)'
    none = f"tensor(0.0, dtype={dtype_text(dtype)})"
    return call.function("where", call.emit(hidden, "hidden"), none, call.emit(text))


def _state(call, name):
    return f"[{', '.join(map(call.text, call[name]))}]"


@row("lstm.input")
def _lstm(call):
    _no_training_dropout(call)
    text = call.function(
        "lstm",
        call("input"),
        _state(call, "hx"),
        _state(call, "params"),
        num_layers=str(call["num_layers"]),
        bidirectional="true" if call["bidirectional"] else None,
        batch_first="true" if call["batch_first"] else None,
    )
    return call.results(text, 3)


@row("gru.input", "rnn_tanh.input", "rnn_relu.input")
def _gru(call):
    _no_training_dropout(call)
    text = call.function(
        call.name,
        call("input"),
        call("hx"),
        _state(call, "params"),
        num_layers=str(call["num_layers"]),
        bidirectional="true" if call["bidirectional"] else None,
        batch_first="true" if call["batch_first"] else None,
    )
    return call.results(text, 2)


def _no_training_dropout(call):
    if call["train"] and call["dropout"]:
        call.refuse("dropout draws random numbers in training mode; call eval() on the module")


@row("lstm_cell")
def _lstm_cell(call):
    text = call.function(
        "lstm_cell",
        call("input"),
        _state(call, "hx"),
        call("w_ih"),
        call("w_hh"),
        b_ih=call.optional("b_ih"),
        b_hh=call.optional("b_hh"),
    )
    return call.results(text, 2)


@row("gru_cell", "rnn_tanh_cell", "rnn_relu_cell")
def _cell(call):
    return call.function(
        call.name,
        call("input"),
        call("hx"),
        call("w_ih"),
        call("w_hh"),
        b_ih=call.optional("b_ih"),
        b_hh=call.optional("b_hh"),
    )


@row("dlc::lstm", "dlc::gru", "dlc::rnn_tanh", "dlc::rnn_relu")
def _recurrent(call):
    """Of kept.py."""
    is_lstm = call.name == "lstm"
    states = _state(call, "hx") if is_lstm else call.text(call["hx"][0])
    text = call.function(
        call.name,
        call("input"),
        states,
        _state(call, "params"),
        lengths=call.optional("lengths"),
        num_layers=str(call["num_layers"]),
        bidirectional="true" if call["bidirectional"] else None,
        batch_first="true" if call["batch_first"] else None,
    )
    return call.results(text, 3 if is_lstm else 2)


@row("_cdist_forward", "dlc::cdist", "cdist")
def _cdist(call):
    return call.function("cdist", call("x1"), call("x2"), p=number_text(float(call["p"])))


@row("_pdist_forward")
def _pdist(call):
    return call.function("pdist", call("self"), p=number_text(float(call["p"])))


@row("transformers::grouped_mm_fallback")
def _grouped_product(call):
    """Rows of x by the matrix of their group; `offs` are the ends of the groups, which are read."""
    x, weight = call.shape(call["input"]), call.shape(call["weight"])
    if len(x) != 2 or len(weight) != 3 or not isinstance(weight[0], int) or weight[0] > 32:
        call.refuse("groups of more than 32 matrices, or of other ranks")
    parts, start = [], "0"
    for group in range(weight[0]):
        end = call.emit(f"dim_of({call('offs')}[{group}], most={2**31 - 1})", "end")
        rows = call.emit(f"narrow({call('input')}, 0, {start}, {end} - {start})", "rows")
        parts.append(call.emit(f"{rows} @ {call('weight')}[{group}]", "part"))
        start = end
    text = f"cat([{', '.join(parts)}], dim=0)"
    return f"expect_dims({text}, {call.sizes(call.shape(call.node))})"
