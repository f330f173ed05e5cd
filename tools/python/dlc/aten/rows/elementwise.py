"""Rows of ops on each element."""

import torch

from ..call import dtype_text, number_text
from ..table import row, same

same(
    "abs acos acosh asin asinh atan atanh bitwise_not ceil cos cosh erf erfc exp exp2 expm1 floor isinf isnan isfinite log "
    "log10 log1p log2 logical_not neg positive reciprocal relu relu6 round.default rsqrt sigmoid signbit sin sinc sinh "
    "sqrt tan tanh trunc frac deg2rad rad2deg silu mish hardswish hardsigmoid selu logit nan_to_num xlogy.Tensor "
    "angle"
)
same("gelu hardtanh leaky_relu softplus softshrink hardshrink threshold celu glu prelu")

#: Ops of two operands, which promote their dtypes. The language's functions have the same names.
_OF_TENSOR_OR_NUMBER = (
    """add sub mul fmod remainder copysign bitwise_and bitwise_or bitwise_xor __lshift__ __rshift__
    eq ne lt le gt ge""".split()
)
_OF_TENSORS = (
    "maximum minimum atan2 hypot logaddexp logaddexp2 fmax fmin heaviside floor_divide".split()
)
_LOGIC = "logical_and logical_or logical_xor".split()
_OPERATORS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
}


_ALIASES = {
    "__lshift__": "bitwise_left_shift",
    "__rshift__": "bitwise_right_shift",
    "__and__": "bitwise_and",
    "__or__": "bitwise_or",
    "__xor__": "bitwise_xor",
    "min": "minimum",
    "max": "maximum",
}


def operand(call, value, dtype):
    """An operand as a tensor or number of `dtype`, whatever it was."""
    if call.is_tensor(value):
        text = call.fitting(value)
        return text if call.meta(value).dtype == dtype else f"to({text}, {dtype_text(dtype)})"
    if isinstance(value, torch.fx.Node) and not isinstance(
        call.meta(value), (torch.SymFloat, float)
    ):
        return f"scalar_tensor({call.text(value)}, dtype={dtype_text(dtype)})"
    if isinstance(value, torch.fx.Node):
        return f"to({call.text(value)}, {dtype_text(dtype)})"
    if dtype.is_floating_point:
        return number_text(float(value))
    return number_text(bool(value) if dtype == torch.bool else value)


def common_dtype(call, *values):
    """The dtype in which PyTorch computes with these operands."""
    held = [call.meta(value) if isinstance(value, torch.fx.Node) else value for value in values]
    held = [
        (
            1
            if isinstance(value, torch.SymInt)
            else 1.0 if isinstance(value, torch.SymFloat) else value
        )
        for value in held
    ]
    found = torch.result_type(held[0], held[1]) if len(held) > 1 else held[0].dtype
    return found


def _scaled(call, dtype):
    """`other` times alpha."""
    other = operand(call, call["values"] if call.name == "heaviside" else call["other"], dtype)
    alpha = call.get("alpha", 1)
    if alpha == 1:
        return other
    return f"{other} * {operand(call, alpha, dtype)}"


def _binary(call):
    """Operands that are cast to what PyTorch computes in."""
    name = _ALIASES.get(call.name, call.name)
    x, other = call["self"], call["values"] if name == "heaviside" else call["other"]
    dtype = common_dtype(call, x, other) if name not in _LOGIC else None
    if dtype is None:
        left, right = (call.fitting(value) for value in (x, other))
    else:
        left, right = operand(call, x, dtype), _scaled(call, dtype)
    if not call.is_tensor(x) and not call.is_tensor(other):
        left = f"tensor({left})"
    sign = _OPERATORS.get(name)
    if not sign:
        left, right = (
            _whole(call, value, text, dtype) for value, text in ((x, left), (other, right))
        )
        return f"{name}({left}, {right})"
    if dtype == torch.bool and name in ("add", "mul"):
        sign = "|" if name == "add" else "&"
    return f"{left} {sign} {f'({right})' if ' ' in right else right}"


def _whole(call, value, text, dtype):
    """A number as a tensor, for functions that take none."""
    if isinstance(value, torch.fx.Node) or dtype is None:
        return text
    return f"tensor({text}, dtype={dtype_text(dtype)})"


row(
    *(f"{name}.{kind}" for name in _OF_TENSOR_OR_NUMBER for kind in ("Tensor", "Scalar")),
    *_OF_TENSORS,
    *_LOGIC,
    "bitwise_left_shift.Tensor",
    "bitwise_left_shift.Tensor_Scalar",
    "bitwise_right_shift.Tensor",
    "bitwise_right_shift.Tensor_Scalar",
    "bitwise_left_shift.Scalar_Tensor",
    "bitwise_right_shift.Scalar_Tensor",
    "bitwise_and.Scalar_Tensor",
    "bitwise_or.Scalar_Tensor",
    "bitwise_xor.Scalar_Tensor",
    "remainder.Scalar_Tensor",
    "floor_divide.Scalar",
    *(f"__{name}__.{kind}" for name in ("and", "or", "xor") for kind in ("Tensor", "Scalar")),
    "min.other",
    "max.other",
)(_binary)


@row("rsub.Tensor", "rsub.Scalar")
def _rsub(call):
    dtype = call.meta().dtype
    return f"{operand(call, call['other'], dtype)} - {operand(call, call['self'], dtype)} * {operand(call, call['alpha'], dtype)}"


@row("div.Tensor", "div.Scalar", "true_divide.Tensor")
def _div(call):
    dtype = call.meta().dtype
    return f"{operand(call, call['self'], dtype)} / {operand(call, call['other'], dtype)}"


@row("div.Tensor_mode", "div.Scalar_mode")
def _div_mode(call):
    dtype = call.meta().dtype
    left, right = operand(call, call["self"], dtype), operand(call, call["other"], dtype)
    right = _whole(call, call["other"], right, dtype)
    mode = call["rounding_mode"]
    return f"{left} / {right}" if mode is None else f'div({left}, {right}, rounding_mode="{mode}")'


@row("pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar")
def _pow(call):
    dtype = call.meta().dtype
    base, exponent = operand(call, call["self"], dtype), call["exponent"]
    if not call.is_tensor(call["self"]):
        base = f"tensor({base}, dtype={dtype_text(dtype)})"
    # A float exponent of an integer power stays the number that it is.
    text = (
        operand(call, exponent, dtype)
        if isinstance(exponent, torch.fx.Node)
        else number_text(exponent)
    )
    return f"pow({base}, {text})"


@row("prims::convert_element_type")
def _convert(call):
    dtype = call.meta().dtype
    return (
        call("a")
        if dtype == call.meta(call["a"]).dtype
        else f"to({call('a')}, {dtype_text(dtype)})"
    )


@row("_to_copy", "to.dtype", "to.dtype_layout", "to.device", "to.other", "type_as")
def _to(call):
    """PyTorch traces some numbers as tensors."""
    dtype = call.meta().dtype
    if isinstance(call["self"], (int, float)):
        return f"tensor({operand(call, call['self'], dtype)}, dtype={dtype_text(dtype)})"
    return (
        call("self")
        if dtype == call.meta(call["self"]).dtype
        else f"to({call('self')}, {dtype_text(dtype)})"
    )


@row(
    "clone",
    "alias",
    "detach",
    "contiguous",
    "lift_fresh_copy",
    "lift",
    "lift_fresh",
    "detach_",
    "resolve_conj",
    "resolve_neg",
    "_conj",
    "conj",
    "conj_physical",
    "real",
    "alias_copy",
    "detach_copy",
)
def _itself(call):
    if call.meta(call["self"]).is_complex():
        call.refuse("complex numbers, which dlc does not compute with")
    return call("self")


@row("copy")
def _copy(call):
    text = operand(call, call["src"], call.meta().dtype)
    return (
        text
        if call.shape(call["src"]) == call.shape(call.node)
        else f"expand({text}, {call.sizes(call.shape(call.node))})"
    )


@row("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def _where(call):
    dtype = call.meta().dtype
    condition = call("condition")
    if call.meta(call["condition"]).dtype != torch.bool:
        condition = f"to({condition}, bool)"
    texts = (
        _whole(call, call[name], operand(call, call[name], dtype), dtype)
        for name in ("self", "other")
    )
    return call.function("where", condition, *texts)


@row(
    "clamp",
    "clamp_min",
    "clamp_max",
    "clamp.Tensor",
    "clamp_min.Tensor",
    "clamp_max.Tensor",
    "clip",
    "clip.Tensor",
)
def _clamp(call):
    dtype = call.meta().dtype
    limits = {
        name: operand(call, call[name], dtype)
        for name in ("min", "max")
        if call.get(name) is not None
    }
    return call.function("clamp", operand(call, call["self"], dtype), **limits)


@row("sign", "sgn", "square")
def _of_bools_too(call):
    """A bool is its own sign; its square is an integer."""
    dtype, x = call.meta().dtype, call["self"]
    return call("self") if dtype == torch.bool else f"{call.name}({operand(call, x, dtype)})"


@row("log_sigmoid")
def _log_sigmoid(call):
    return f"logsigmoid({call('self')})"


@row("xlogy.Scalar_Other", "xlogy.Scalar_Self")
def _xlogy(call):
    dtype = call.meta().dtype
    texts = (
        _whole(call, call[name], operand(call, call[name], dtype), dtype)
        for name in ("self", "other")
    )
    return call.function("xlogy", *texts)


@row("elu")
def _elu(call):
    x = call("self")
    if call["scale"] == 1 and call["input_scale"] == 1:
        return call.function("elu", x, alpha=number_text(call["alpha"]))
    scale, factor = number_text(call["scale"]), number_text(call["alpha"] * call["scale"])
    return (
        f"where({x} > 0, {x} * {scale}, expm1({x} * {number_text(call['input_scale'])}) * {factor})"
    )


@row("masked_fill.Scalar", "masked_fill.Tensor")
def _masked_fill(call):
    dtype = call.meta().dtype
    value = _whole(call, call["value"], operand(call, call["value"], dtype), dtype)
    return f"where({call('mask')}, {value}, {call('self')})"


@row("ldexp.Tensor")
def _ldexp(call):
    dtype = call.meta().dtype
    return f"{operand(call, call['self'], dtype)} * pow(tensor(2.0, dtype={dtype_text(dtype)}), {operand(call, call['other'], dtype)})"


@row("round.decimals")
def _round(call):
    if call["decimals"] == 0:
        return f"round({call('self')})"
    scale = number_text(float(10 ** abs(call["decimals"])))
    first, last = ("*", "/") if call["decimals"] > 0 else ("/", "*")
    return f"round({call('self')} {first} {scale}) {last} {scale}"


@row("addcmul", "addcdiv")
def _addc(call):
    dtype = call.meta().dtype
    sign = "*" if call.name == "addcmul" else "/"
    one, two = operand(call, call["tensor1"], dtype), operand(call, call["tensor2"], dtype)
    product = f"{one} {sign} {two}"
    if call["value"] != 1:
        product = f"{operand(call, call['value'], dtype)} * ({product})"
    return f"{operand(call, call['self'], dtype)} + {product}"


@row("lerp.Scalar", "lerp.Tensor")
def _lerp(call):
    return f"lerp({call('self')}, {call('end')}, {call('weight')})"
