"""Modules and functions that torch.export would take apart, kept whole as ops of the namespace
`dlc` while a module is exported.

A recurrent layer would be written out step by step, which fixes the length of its input; `cdist`
would be fixed to one side of a number of rows; packed sequences have sizes that PyTorch's export
cannot follow; a fused encoder gives zeros for padding, which the unfused one that is exported
does not."""

import contextlib
import sys

import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence

_LIBRARY = torch.library.Library("dlc", "DEF")
_RECURRENT = (
    "(Tensor input, Tensor[] hx, Tensor[] params, Tensor? lengths, int num_layers, bool bidirectional, bool batch_first) -> "
    "(Tensor, Tensor{})"
)
for _name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
    _LIBRARY.define(_name + _RECURRENT.format(", Tensor" if _name == "lstm" else ""))
_LIBRARY.define("cdist(Tensor x1, Tensor x2, float p) -> Tensor")
_LIBRARY.define(
    "batched_nms(Tensor boxes, Tensor scores, Tensor idxs, float iou_threshold) -> Tensor"
)
_LIBRARY.define(
    "unpacked(Tensor codes, Tensor scale, Tensor? zero, Tensor? shift, int bits) -> Tensor"
)


def _fake_recurrent(input, hx, params, lengths, num_layers, bidirectional, batch_first):
    hidden = hx[0].shape[-1]
    torch._check(input.shape[-1] == params[0].shape[1])
    output = input.new_empty((*input.shape[:-1], hidden * (2 if bidirectional else 1)))
    return (output, *(torch.empty_like(state) for state in hx))


for _name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
    torch.library.register_fake("dlc::" + _name, _fake_recurrent, lib=_LIBRARY)


@torch.library.register_fake("dlc::cdist", lib=_LIBRARY)
def _fake_cdist(x1, x2, p):
    batch = torch.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    return x1.new_empty((*batch, x1.shape[-2], x2.shape[-2]))


@torch.library.register_fake("dlc::batched_nms", lib=_LIBRARY)
def _fake_batched_nms(boxes, scores, idxs, iou_threshold):
    return boxes.new_empty(torch.library.get_ctx().new_dynamic_size(), dtype=torch.int64)


@torch.library.register_fake("dlc::unpacked", lib=_LIBRARY)
def _fake_unpacked(codes, scale, zero, shift, bits):
    return scale.new_empty((codes.shape[0], codes.shape[1] * (2 if bits == 4 else 1)))


# An export that follows the values of its example runs these on real tensors.


def _real_unpacked(codes, scale, zero, shift, bits):
    """The matrix of subclasses.Packed."""
    columns = codes.shape[1] * (2 if bits == 4 else 1)

    def of_columns(numbers):
        return numbers.repeat_interleave(columns // numbers.shape[1], dim=1)

    numbers = (torch.cat([codes & 15, codes >> 4], dim=1) if bits == 4 else codes).to(scale)
    if zero is not None:
        numbers = numbers - of_columns(zero).to(scale)
    elif bits == 4:
        numbers = numbers - 8
    numbers = numbers * of_columns(scale)
    return numbers if shift is None else numbers + of_columns(shift)


def _real_recurrent(name):
    def run(input, hx, params, lengths, num_layers, bidirectional, batch_first):
        if lengths is not None:
            raise RuntimeError("the values of packed sequences, which the export cannot follow")
        states = hx if name == "lstm" else hx[0]
        function = getattr(torch._VF, name)
        many = (num_layers * (2 if bidirectional else 1)) * 2 < len(params)
        return tuple(
            function(
                input, states, params, many, num_layers, 0.0, False, bidirectional, batch_first
            )
        )

    return run


def _real_batched_nms(boxes, scores, idxs, iou_threshold):
    import torchvision

    apart = boxes + (idxs.to(boxes) * (boxes.max() + 1))[:, None] if len(boxes) else boxes
    return torchvision.ops.nms(apart, scores, iou_threshold)


for _name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
    _LIBRARY.impl(_name, _real_recurrent(_name), "CompositeExplicitAutograd")
_LIBRARY.impl("unpacked", _real_unpacked, "CompositeExplicitAutograd")
_LIBRARY.impl("batched_nms", _real_batched_nms, "CompositeExplicitAutograd")
_LIBRARY.impl("cdist", lambda x1, x2, p: _CDIST(x1, x2, p), "CompositeExplicitAutograd")
_CDIST = torch.cdist


def _op_of(layer):
    name = {nn.LSTM: "lstm", nn.GRU: "gru"}.get(type(layer)) or "rnn_" + layer.nonlinearity
    return getattr(torch.ops.dlc, name)


def _recurrent_forward(original):
    """forward of nn.LSTM, nn.GRU and nn.RNN as one op."""

    def forward(layer, input, hx=None):
        is_plain = (
            type(layer) in (nn.LSTM, nn.GRU, nn.RNN)
            and not getattr(layer, "proj_size", 0)
            and not (layer.training and layer.dropout)
        )
        if not is_plain:
            return original(layer, input, hx)
        packed = input if isinstance(input, PackedSequence) else None
        batch_first = packed is not None or layer.batch_first
        x = packed.data if packed is not None else input
        is_batched = x.dim() == 3
        if not is_batched:
            batch_first = False
            x = x.unsqueeze(1)
        count = x.shape[0 if batch_first else 1]
        shape = (layer.num_layers * (2 if layer.bidirectional else 1), count, layer.hidden_size)
        is_lstm = type(layer) is nn.LSTM
        if hx is None:
            states = [x.new_zeros(shape) for _ in range(2 if is_lstm else 1)]
        else:
            states = list(hx) if is_lstm else [hx]
            states = states if is_batched else [state.unsqueeze(1) for state in states]
            if packed is not None and packed.sorted_indices is not None:
                states = [state.index_select(1, packed.sorted_indices) for state in states]
        weights = [getattr(layer, name) for names in layer._all_weights for name in names]
        output, *last = _op_of(layer)(
            x,
            states,
            weights,
            None if packed is None else packed.batch_sizes,
            layer.num_layers,
            layer.bidirectional,
            batch_first,
        )
        if not is_batched:
            output, last = output.squeeze(1), [state.squeeze(1) for state in last]
        if packed is not None:
            if packed.unsorted_indices is not None:
                last = [state.index_select(1, packed.unsorted_indices) for state in last]
            output = _Packed(
                output, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices
            )
        return output, tuple(last) if is_lstm else last[0]

    return forward


class _Packed(PackedSequence):
    """A padded sequence [N, T, ...] as its data, and its lengths as batch_sizes."""

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        return super(PackedSequence, cls).__new__(
            cls, data, batch_sizes, sorted_indices, unsorted_indices
        )


def _pack(input, lengths, batch_first=False, enforce_sorted=True):
    lengths = torch.as_tensor(lengths, dtype=torch.int64)
    padded = input if batch_first else input.transpose(0, 1)
    return _Packed(padded, lengths)


def _pad(sequence, batch_first=False, padding_value=0.0, total_length=None):
    padded, lengths = sequence.data, sequence.batch_sizes
    most = padded.shape[1]
    if total_length is None:
        longest = lengths.max().item()
        torch._check(longest >= 0)
        torch._check(longest <= most)
        padded = padded[:, :longest]
    elif isinstance(most, int) and isinstance(total_length, int) and total_length != most:
        more = total_length - most
        padded = (
            nn.functional.pad(padded, (0, 0, 0, more)) if more > 0 else padded[:, :total_length]
        )
    place = torch.arange(padded.shape[1]).unsqueeze(0)
    padded = torch.where(
        (place < lengths.unsqueeze(1)).unsqueeze(-1), padded, torch.full_like(padded, padding_value)
    )
    return padded if batch_first else padded.transpose(0, 1), lengths


# The code of PyTorch's functions, which modules import by name. It runs among the names of
# torch.nn.utils.rnn.


def _packing(input, lengths, batch_first=False, enforce_sorted=True):
    return _dlc_pack(input, lengths, batch_first, enforce_sorted)  # noqa: F821


def _padding(sequence, batch_first=False, padding_value=0.0, total_length=None):
    return _dlc_pad(sequence, batch_first, padding_value, total_length)  # noqa: F821


def _cdist(original):
    def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
        return torch.ops.dlc.cdist(x1, x2, float(p))

    return cdist


def _batched_nms(original):
    """torchvision's chooses its way by the number of boxes, which the data say."""

    def batched_nms(boxes, scores, idxs, iou_threshold):
        return torch.ops.dlc.batched_nms(boxes, scores, idxs, float(iou_threshold))

    return batched_nms


def _length(value):
    """len, which of a tensor would be a number."""
    return value.shape[0] if isinstance(value, torch.Tensor) else len(value)


def _encoder_forward(original):
    """PyTorch's fused encoder gives zeros for padding, where the padding is at the end."""

    def forward(encoder, src, mask=None, src_key_padding_mask=None, is_causal=None):
        output = original(encoder, src, mask, src_key_padding_mask, is_causal)
        if (
            src_key_padding_mask is None
            or mask is not None
            or src.dim() != 3
            or not _is_fused(encoder, src)
        ):
            return output
        hidden = (
            src_key_padding_mask
            if src_key_padding_mask.dtype == torch.bool
            else src_key_padding_mask != 0
        )
        at_end = (hidden[:, 1:] | ~hidden[:, :-1]).all()
        cleared = output.masked_fill((hidden & at_end).unsqueeze(-1), 0.0)
        return cleared

    return forward


def _is_fused(encoder, src):
    """Whether eager PyTorch would take its fused kernels under no_grad
    (torch.nn.TransformerEncoder.forward)."""
    layer = encoder.layers[0]
    return (
        getattr(encoder, "use_nested_tensor", False)
        and isinstance(layer, nn.TransformerEncoderLayer)
        and not layer.norm_first
        and not layer.training
        and layer.self_attn.batch_first
        and layer.self_attn._qkv_same_embed_dim
        and layer.self_attn.in_proj_bias is not None
        and bool(layer.activation_relu_or_gelu)
        and layer.norm1.eps == layer.norm2.eps
        and layer.self_attn.num_heads % 2 == 0
        and src.dtype in (torch.float32, torch.float16, torch.bfloat16)
    )


@contextlib.contextmanager
def whole():
    """Keeps them whole within it."""
    places = [
        (nn.LSTM, "forward", _recurrent_forward),
        (nn.GRU, "forward", _recurrent_forward),
        (nn.RNN, "forward", _recurrent_forward),
        (nn.TransformerEncoder, "forward", _encoder_forward),
        (torch, "cdist", _cdist),
        (nn.utils.rnn.pack_padded_sequence, "__code__", lambda _: _packing.__code__),
        (nn.utils.rnn.pad_packed_sequence, "__code__", lambda _: _padding.__code__),
    ]
    nn.utils.rnn._dlc_pack, nn.utils.rnn._dlc_pad = _pack, _pad
    for name in ("ops.poolers", "models.detection.roi_heads", "models.detection.rpn"):
        if module := sys.modules.get("torchvision." + name):
            places += [(module, "len", lambda _: _length)]
    if vision := sys.modules.get("torchvision"):
        places += [(vision.ops, "batched_nms", _batched_nms)]
        places += [(vision.ops.boxes, "batched_nms", _batched_nms)]
    held = [(place, name, getattr(place, name, None)) for place, name, _ in places]
    was_fused = torch.backends.mha.get_fastpath_enabled()
    try:
        for place, name, made in places:
            setattr(place, name, made(getattr(place, name, None)))
        torch.backends.mha.set_fastpath_enabled(False)
        yield
    finally:
        for place, name, original in held:
            setattr(place, name, original) if original else delattr(place, name)
        torch.backends.mha.set_fastpath_enabled(was_fused)
