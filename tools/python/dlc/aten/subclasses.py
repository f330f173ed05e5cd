"""Tensors of other classes and layouts: quantized weights of torchao as dlc stores them, and what
is refused by name.

torch.export takes a tensor of several tensors apart by itself and writes out what it computes. So a
weight of 8 bits with a scale for each row needs nothing here. Weights of fewer bits, or with a
scale for each group, become a `Packed`, whose codes the kernels unpack as they read them."""

import contextlib
import re

import torch

from .failure import ExportFailure

#: What to do with a tensor that dlc does not take, by its kind.
_ADVICE = {
    "DTensor": "a DTensor, and dlc compiles for one device; call full_tensor() on it",
    "NestedTensor": "a nested tensor; pass a padded tensor (torch.nested.to_padded_tensor) and its "
    "lengths or a mask",
    "MaskedTensor": "a MaskedTensor; pass get_data() and get_mask() as two tensors",
    "quantized": "a tensor of PyTorch's quantized dtypes; call dequantize() on it, or quantize the "
    "module by torchao or by dlc.compile(..., quantize=...)",
    "mkldnn": "in the layout of mkldnn; call to_dense() on it",
}


def _kind(tensor):
    """The kind of a tensor that dlc does not take; None where it does."""
    names = {one.__name__ for one in type(tensor).__mro__}
    if "DTensor" in names or "MaskedTensor" in names:
        return "DTensor" if "DTensor" in names else "MaskedTensor"
    if "NestedTensor" in names or tensor.is_nested:
        return "NestedTensor"
    if tensor.is_quantized:
        return "quantized"
    if tensor.is_mkldnn:
        return "mkldnn"
    return "sparse" if tensor.layout is not torch.strided else None


def _check(what, tensor):
    kind = _kind(tensor)
    if kind == "sparse":
        layout = str(tensor.layout).replace("torch.", "")
        raise ExportFailure(
            f"{what} is in the layout {layout}, and dlc takes dense tensors; call to_dense() on it"
        )
    if kind:
        raise ExportFailure(f"{what} is {_ADVICE[kind]}")
    if type(tensor).__name__ == "Int4TilePackedTo4dTensor":
        raise ExportFailure(
            f"{what} is an Int4TilePackedTo4dTensor, in the order of one CUDA kernel; quantize with "
            'int4_packing_format="plain"'
        )


def check(module, labels, values):
    """Refuses tensors of a module and of its example that dlc does not take. `labels` are the names
    of the `values` of the example."""
    for label, value in zip(labels, values):
        if isinstance(value, torch.Tensor):
            _check(f"the input '{label}'", value)
    for name, tensor in (*module.named_parameters(), *module.named_buffers()):
        _check(f"the weight '{name}'", tensor)


class Packed(torch.nn.Module):
    """A matrix (q - zero) * scale + shift of whole numbers q, of -8 to 7 if `bits` is 4 and of i8
    if it is 8. Scale, zero and shift are for groups of neighbours of a row; zero or shift may be
    None. Codes of 4 bits and their zeros are 8 higher, as u8; a byte has column j in its low bits
    and column j + K/2 in its high ones."""

    def __init__(self, codes, scale, zero, shift, bits):
        super().__init__()
        for name, tensor in (("codes", codes), ("scale", scale), ("zero", zero), ("shift", shift)):
            self.register_buffer(name, tensor)
        self.bits = bits

    def forward(self):
        return torch.ops.dlc.unpacked(self.codes, self.scale, self.zero, self.shift, self.bits)


def _packed(codes, scale, zero=None, shift=None, fits=True):
    """A Packed of whole numbers; `fits`: whether they are of 4 bits."""
    if not fits or codes.shape[1] % 2:
        return Packed(codes, scale, zero, shift, 8)
    low, high = (codes + 8).to(torch.uint8).chunk(2, dim=1)
    return Packed(
        low | high << 4, scale, None if zero is None else (zero + 8).to(torch.uint8), shift, 4
    )


def _of_intx(weight):
    """Of torchao's IntxUnpackedToInt8Tensor; None where torch.export writes it as well."""
    rows, group = weight.block_size if weight.dim() == 2 else (0, 0)
    if (
        rows != 1
        or weight.activation_quantization is not None
        or weight.dtype != weight.scale.dtype
    ):
        return None
    bits = int(re.search(r"\d+$", str(weight.target_dtype))[0])
    zero = weight.zero_point
    if not torch.any(zero):
        zero = None
    elif zero.dtype != torch.int8 or (bits <= 4 and not bool(((zero >= -8) & (zero < 8)).all())):
        return None
    return _packed(weight.qdata, weight.scale, zero, fits=bits <= 4)


def _of_int4(weight):
    """Of torchao's Int4Tensor: two columns to a byte, and scales of one group after another."""
    if weight.dim() != 2 or weight.act_pre_scale is not None:
        return None
    if weight.activation_dtype != torch.bfloat16:
        return None
    nibbles = torch.stack([weight.qdata & 15, weight.qdata >> 4 & 15], dim=-1).flatten(-2)
    codes = torch.where(nibbles > 7, nibbles - 16, nibbles).to(torch.int8)
    shift = weight.zero_point.t().contiguous()
    return _packed(codes, weight.scale.t().contiguous(), None, shift if torch.any(shift) else None)


_PACKED = {"IntxUnpackedToInt8Tensor": _of_intx, "Int4Tensor": _of_int4}


def _computing(kind, names):
    """A class of modules whose parameters of these names are computed by their parts."""

    def of(name):
        return property(lambda module: module._modules[_PREFIX + name]())

    return type(kind.__name__, (kind,), {name: of(name) for name in names})


#: The prefix of the names of modules that stand for weights.
_PREFIX = "packed_"


@contextlib.contextmanager
def packed(module):
    """Within it quantized weights of torchao are Packed ones where that is more compact."""
    held, made = [], {}
    for part in module.modules():
        for name, weight in part._parameters.items():
            make = _PACKED.get(type(weight).__name__)
            if make is not None and id(weight) not in made:
                made[id(weight)] = make(weight)
            if made.get(id(weight)) is not None:
                held.append((part, name, weight))
    kinds = {part: type(part) for part, _, _ in held}
    places = {part: list(part._parameters.items()) for part in kinds}
    try:
        for part, name, weight in held:
            del part._parameters[name]
            part._modules[_PREFIX + name] = made[id(weight)]
        for part, kind in kinds.items():
            part.__class__ = _computing(kind, [name for of, name, _ in held if of is part])
        yield
    finally:
        for part, kind in kinds.items():
            part.__class__ = kind
            part._parameters.clear()
            part._parameters.update(places[part])
        for part, name, _ in held:
            part._modules.pop(_PREFIX + name, None)


def names_of_parts(module):
    """Names for the tensors that weights are made of, by torch.export's names for them."""
    found = {}
    for path, part in module.named_modules(remove_duplicate=False):
        before = path + "." if path else ""
        for name, weight in part._parameters.items():
            if hasattr(weight, "__tensor_flatten__"):
                for position, inner in enumerate(weight.__tensor_flatten__()[0]):
                    exported = f"{before}parametrizations.{name}.original{position}"
                    found[exported] = f"{before}{name}.{inner}"
        for name, inner in part._modules.items():
            if isinstance(inner, Packed):
                for key in inner._buffers:
                    found[f"{before}{name}.{key}"] = f"{before}{name[len(_PREFIX):]}.{key}"
    return found
