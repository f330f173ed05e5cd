"""Rows of ops that networks are built of: products, convolutions, pools, norms, attention,
recurrent layers."""

import torch

from .call import dtype_text, number_text
from .elementwise import operand
from .table import row, same

same(
    "mm bmm matmul linear addmm baddbmm addmv addbmm mv dot kron conv1d conv2d conv3d "
    "conv_transpose1d conv_transpose2d.input conv_transpose3d.input avg_pool1d avg_pool2d avg_pool3d max_pool2d max_pool1d max_pool3d "
    "max_pool2d_with_indices adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d _adaptive_avg_pool2d "
    "_adaptive_avg_pool3d layer_norm rms_norm group_norm cdist pdist col2im addr"
)


@row("outer", "ger")
def _outer(call):
    """Of two dtypes, which PyTorch promotes."""
    dtype = call.meta().dtype
    return f"outer({operand(call, call['self'], dtype)}, {operand(call, call['vec2'], dtype)})"


@row("convolution", "_convolution", "convolution_overrideable")
def _convolution(call):
    rank = call.rank(call["input"]) - 2
    if not call["transposed"]:
        return call.function(
            f"conv{rank}d",
            call("input"),
            call("weight"),
            call("bias"),
            stride=call("stride"),
            padding=call("padding"),
            dilation=call("dilation"),
            groups=call("groups"),
        )
    return call.function(
        f"conv_transpose{rank}d",
        call("input"),
        call("weight"),
        call("bias"),
        stride=call("stride"),
        padding=call("padding"),
        output_padding=call("output_padding"),
        groups=call("groups"),
        dilation=call("dilation"),
    )


@row("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def _adaptive_max_pool(call):
    if call.is_used(1):
        call.refuse("the positions of an adaptive pool, which dlc does not give")
    return [call.emit(f"{call.name}({call('self')}, {call('output_size')})"), None]


@row(
    "_native_batch_norm_legit_no_training",
    "_batch_norm_no_update",
    "batch_norm",
    "native_batch_norm",
    "cudnn_batch_norm",
    "_native_batch_norm_legit",
    "_native_batch_norm_legit_functional",
)
def _batch_norm(call):
    is_training = call.get("training", call.get("train", False))
    mean, variance = call.get("running_mean"), call.get("running_var")
    if is_training or mean is None:
        call.refuse(
            "the statistics of the batch, which only training computes; call eval() on the module"
        )
    eps = call["epsilon"] if "epsilon" in call.arguments else call["eps"]
    dtype = call.meta(call["input"]).dtype
    weight, bias = (
        operand(call, call[name], dtype) if call[name] is not None else None
        for name in ("weight", "bias")
    )
    text = call.function(
        "batch_norm",
        call("input"),
        operand(call, mean, dtype),
        operand(call, variance, dtype),
        weight=weight,
        bias=bias,
        eps=number_text(eps),
    )
    return (
        text
        if call.name == "batch_norm"
        else [call.emit(text)] + [None] * (len(call.schema.returns) - 1)
    )


@row("native_layer_norm")
def _native_layer_norm(call):
    if call.is_used(1) or call.is_used(2):
        call.refuse("the mean and the inverse deviation of a layer norm, which only training reads")
    return [
        call.emit(
            call.function(
                "layer_norm",
                call("input"),
                call("normalized_shape"),
                weight=_given(call, "weight"),
                bias=_given(call, "bias"),
                eps=number_text(call["eps"]),
            )
        ),
        None,
        None,
    ]


@row("native_group_norm")
def _native_group_norm(call):
    if call.is_used(1) or call.is_used(2):
        call.refuse("the mean and the inverse deviation of a group norm, which only training reads")
    return [
        call.emit(
            call.function(
                "group_norm",
                call("input"),
                call("group"),
                weight=_given(call, "weight"),
                bias=_given(call, "bias"),
                eps=number_text(call["eps"]),
            )
        ),
        None,
        None,
    ]


@row("_fused_rms_norm")
def _fused_rms_norm(call):
    return [
        call.emit(
            call.function(
                "rms_norm",
                call("input"),
                call("normalized_shape"),
                weight=_given(call, "weight"),
                eps=number_text(call["eps"]) if call["eps"] is not None else None,
            )
        ),
        None,
    ]


@row("instance_norm")
def _instance_norm(call):
    named = {
        "weight": _given(call, "weight"),
        "bias": _given(call, "bias"),
        "eps": number_text(call["eps"]),
    }
    if not call["use_input_stats"]:
        named.update(
            running_mean=_given(call, "running_mean"),
            running_var=_given(call, "running_var"),
            use_input_stats="false",
        )
    return call.function("instance_norm", call("input"), **named)


def _given(call, name):
    return call(name) if call[name] is not None else None


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
    return f"where({call.emit(hidden, 'hidden')}, tensor(0.0, dtype={dtype_text(dtype)}), {call.emit(text)})"


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
        b_ih=_given(call, "b_ih"),
        b_hh=_given(call, "b_hh"),
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
        b_ih=_given(call, "b_ih"),
        b_hh=_given(call, "b_hh"),
    )


@row("embedding_bag", "embedding_bag.padding_idx", "_embedding_bag", "_embedding_bag_forward_only")
def _embedding_bag(call):
    if any(call.is_used(i) for i in (1, 2, 3)):
        call.refuse("what only the gradient of an embedding bag reads")
    padding = call.get("padding_idx")
    named = {
        "mode": f'"{("sum", "mean", "max")[call["mode"]]}"',
        "per_sample_weights": _given(call, "per_sample_weights"),
        "include_last_offset": "true" if call["include_last_offset"] else None,
        "padding_idx": str(padding) if padding is not None and padding >= 0 else None,
    }
    return [
        call.emit(
            call.function(
                "embedding_bag", call("indices"), call("weight"), call("offsets"), **named
            )
        ),
        None,
        None,
        None,
    ]


_MODES = {
    "nearest1d": "nearest",
    "nearest2d": "nearest",
    "nearest3d": "nearest",
    "linear1d": "linear",
    "bilinear2d": "bilinear",
    "bicubic2d": "bicubic",
    "trilinear3d": "trilinear",
    "_nearest_exact1d": "nearest-exact",
    "_nearest_exact2d": "nearest-exact",
    "_nearest_exact3d": "nearest-exact",
}


@row(
    *("upsample_" + mode + ".vec" for mode in _MODES if mode[0] != "_"),
    *("_upsample_" + mode[1:] + ".vec" for mode in _MODES if mode[0] == "_"),
)
def _upsample(call):
    mode = _MODES[
        call.name[len("upsample_") :] if call.name[0] != "_" else call.name[len("_upsample") :]
    ]
    size, factors = call["output_size"], call["scale_factors"]
    return call.function(
        "interpolate",
        call("input"),
        size=call.sizes(size) if size is not None else None,
        scale_factor=f"[{', '.join(map(number_text, factors))}]" if factors else None,
        mode=f'"{mode}"',
        align_corners="true" if call.get("align_corners") else None,
    )


@row("grid_sampler", "grid_sampler_2d", "grid_sampler_3d")
def _grid_sampler(call):
    mode, border = ("bilinear", "nearest", "bicubic")[call["interpolation_mode"]], (
        "zeros",
        "border",
        "reflection",
    )[call["padding_mode"]]
    return call.function(
        "grid_sample",
        call("input"),
        call("grid"),
        mode=f'"{mode}"',
        padding_mode=f'"{border}"',
        align_corners="true" if call["align_corners"] else "false",
    )


@row("torchvision::roi_align")
def _roi_align(call):
    return call.function(
        "roi_align",
        call("input"),
        call("rois"),
        call.sizes([call["pooled_height"], call["pooled_width"]]),
        spatial_scale=number_text(float(call["spatial_scale"])),
        sampling_ratio=str(call["sampling_ratio"]),
        aligned="true" if call["aligned"] else None,
    )


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


@row("affine_grid_generator")
def _affine_grid(call):
    return call.function(
        "affine_grid",
        call("theta"),
        call.sizes(call["size"]),
        align_corners="true" if call["align_corners"] else "false",
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
        lengths=_given(call, "lengths"),
        num_layers=str(call["num_layers"]),
        bidirectional="true" if call["bidirectional"] else None,
        batch_first="true" if call["batch_first"] else None,
    )
    return call.results(text, 3 if is_lstm else 2)


@row("_cdist_forward", "dlc::cdist")
def _cdist(call):
    return call.function("cdist", call("x1"), call("x2"), p=number_text(float(call["p"])))


@row("_pdist_forward")
def _pdist(call):
    return call.function("pdist", call("self"), p=number_text(float(call["p"])))
