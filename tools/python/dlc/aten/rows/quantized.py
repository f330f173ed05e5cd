"""Rows of weights in few bits."""

from ..call import dtype_text
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
