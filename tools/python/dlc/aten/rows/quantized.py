"""Rows of weights in few bits."""

from ..call import dtype_text, number_text
from ..table import row


@row("dlc::unpacked")
def _unpacked(call):
    """Of subclasses.py, in the form that `dlc quantize` writes."""
    dtype, codes, zero = dtype_text(call.meta().dtype), call("codes"), call.optional("zero")
    is_packed = call["bits"] == 4
    if is_packed:
        low, high = call.emit(f"bitwise_and({codes}, 15)"), call.emit(f"floor_divide({codes}, 16)")
        codes = call.emit(f"cat([{low}, {high}], dim=1)", "codes")
    text = f"to({codes}, {dtype})"
    if zero is not None:
        zero = call.emit(_of_columns(call, "zero"), "zero")
        text = f"{text} - to({zero}, {dtype})"
    elif is_packed:
        text += " - 8.0"
    scale = call.emit(_of_columns(call, "scale"), "scale")
    text = f"{call.emit(text, 'steps')} * {scale}"
    if call["shift"] is not None:
        text += f" + {call.emit(_of_columns(call, 'shift'), 'shift')}"
    return text


def _of_columns(call, name):
    """A number for each group of columns as one for each column."""
    groups, columns = call.shape(call[name])[1], call.shape(call.node)[1]
    if groups == 1:
        return call(name)
    return f"repeat_interleave({call(name)}, repeats={columns // groups}, dim=1)"


@row("_int_mm")
def _product_of_bytes(call):
    factors = (f"to({call(name)}, i32)" for name in ("self", "mat2"))
    return f"matmul({', '.join(factors)})"


@row(
    "fake_quantize_per_tensor_affine_cachemask",
    "fake_quantize_per_tensor_affine",
    "fake_quantize_per_channel_affine_cachemask",
    "fake_quantize_per_channel_affine",
)
def _fake_quantized(call):
    """Numbers at the steps of a scale, of a tensor or of each channel."""
    x, axis = call["self"], call.get("axis")
    scale, zero = call["scale"], call["zero_point"]
    if axis is None:
        scale, zero = number_text(float(scale)), number_text(float(zero))
    else:
        sizes = [1] * call.rank(x)
        sizes[axis] = call.shape(x)[axis]
        scale = call.emit(f"reshape({call.text(scale)}, {call.sizes(sizes)})", "scale")
        zero = (
            f"reshape(to({call.text(zero)}, {dtype_text(call.meta(x).dtype)}), {call.sizes(sizes)})"
        )
        zero = call.emit(zero, "zero")
    steps = call.emit(f"round({call('self')} * (1.0 / {scale})) + {zero}", "steps")
    steps = call.emit(f"clamp({steps}, {call['quant_min']}.0, {call['quant_max']}.0)", "steps")
    found = f"({steps} - {zero}) * {scale}"
    return [call.emit(found), None] if len(call.schema.returns) > 1 else found
