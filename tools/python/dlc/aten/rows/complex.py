"""Rows of arithmetic on complex tensors."""

import itertools

import torch

from ..call import dtype_text
from .elementwise import operand
from ..pairs import row


@row("view_as_real", "view_as_real_copy")
def _view_as_real(call):
    return call("self")


@row("view_as_complex", "view_as_complex_copy")
def _view_as_complex(call):
    """A run checks that the last dim is 2, where PyTorch has an expression for it."""
    if call.shape(call["self"])[-1:] == [2] and isinstance(call.shape(call["self"])[-1], int):
        return call("self")
    return f"reshape({call('self')}, {call.sizes(call.shape(call.node))})"


@row("complex")
def _complex(call):
    sizes = call.shape(call.node)[:-1]
    texts = [
        (
            call.text(call[name])
            if call.shape(call[name]) == sizes
            else f"expand({call.text(call[name])}, {call.sizes(sizes)})"
        )
        for name in ("real", "imag")
    ]
    return call.stacked(*texts)


@row("polar")
def _polar(call):
    size, angle = call("abs"), call.emit(call("angle"))
    size = call.emit(size)
    return call.stacked(f"{size} * cos({angle})", f"{size} * sin({angle})")


@row("_conj", "conj", "conj_physical", "_conj_copy")
def _conj(call):
    return f"{call('self')} * tensor([1.0, -1.0], dtype={dtype_text(call.dtype())})"


@row("real")
def _real(call):
    return f"{call('self')}[..., 0]"


@row("imag")
def _imag(call):
    return f"{call('self')}[..., 1]"


@row("abs")
def _abs(call):
    real, imaginary = call.parts(call["self"])
    return f"hypot({real}, {imaginary})"


@row("angle")
def _angle(call):
    real, imaginary = call.parts(call["self"])
    return f"atan2({imaginary}, {real})"


@row("neg")
def _neg(call):
    return f"-{call.emit(call('self'))}"


@row("add.Tensor", "add.Scalar", "sub.Tensor", "sub.Scalar")
def _add(call):
    other, alpha = call.pair(call["other"]), call.get("alpha", 1)
    if isinstance(alpha, complex):
        call.refuse("a complex alpha")
    if alpha != 1:
        other = f"{other} * {operand(call, alpha, call.dtype())}"
    return f"{call.pair(call['self'])} {'+' if call.name == 'add' else '-'} ({other})"


@row("rsub.Tensor", "rsub.Scalar")
def _rsub(call):
    if call["alpha"] != 1:
        call.refuse("an alpha")
    return f"{call.pair(call['other'])} - ({call.pair(call['self'])})"


def product(call, left, right):
    """Of two pairs, as one expression of each element."""
    left, right = call.emit(left, "pair"), call.emit(right, "pair")
    sign = f"tensor([-1.0, 1.0], dtype={dtype_text(call.dtype())})"
    return f"{left} * {right}[..., :1] + flip({left}, [-1]) * {right}[..., 1:] * {sign}"


@row("mul.Tensor", "mul.Scalar")
def _mul(call):
    x, other = call["self"], call["other"]
    for one, two in ((x, other), (other, x)):
        if not call.is_pair(two):
            return f"{call.pair(one)} * {call.scale(two)}"
    return product(call, call.pair(x), call.pair(other))


@row("div.Tensor", "div.Scalar", "true_divide.Tensor")
def _div(call):
    x, other = call["self"], call["other"]
    if not call.is_pair(other):
        return f"{call.pair(x)} / {call.scale(other)}"
    if isinstance(other, complex):
        return product(call, call.pair(x), call.pair(1 / other)) if other else call.refuse("0j")
    return quotient(call, call.parts(x), call.parts(other))


@row("reciprocal")
def _reciprocal(call):
    return quotient(call, ("1.0", None), call.parts(call["self"]))


def quotient(call, left, right):
    """Scaled by the larger part of the divisor, so that no square leaves the range."""
    (a, b), (c, d) = left, right
    most = call.emit(f"maximum(abs({c}), abs({d}))", "most")
    c, d = call.emit(f"{c} / {most}", "c"), call.emit(f"{d} / {most}", "d")
    square = call.emit(f"({c} * {c} + {d} * {d})", "square")
    real = f"{a} * {c}" if b is None else f"({a} * {c} + {b} * {d})"
    imaginary = f"-{a} * {d}" if b is None else f"({b} * {c} - {a} * {d})"
    return call.stacked(f"{real} / {square} / {most}", f"{imaginary} / {square} / {most}")


@row("exp")
def _exp(call):
    real, imaginary = call.parts(call["self"])
    size = call.emit(f"exp({real})")
    return call.stacked(f"{size} * cos({imaginary})", f"{size} * sin({imaginary})")


@row("log")
def _log(call):
    real, imaginary = call.parts(call["self"])
    return call.stacked(f"log(hypot({real}, {imaginary}))", f"atan2({imaginary}, {real})")


@row("square")
def _square(call):
    return product(call, call.pair(call["self"]), call.pair(call["self"]))


@row("pow.Tensor_Scalar")
def _pow(call):
    """Of exponents that are small whole numbers."""
    exponent = call["exponent"]
    if exponent not in (1, 2, 3, 4):
        call.refuse(f"a complex number to the power of {exponent}")
    x = found = call.emit(call.pair(call["self"]))
    for _ in range(int(exponent) - 1):
        found = call.emit(product(call, found, x))
    return found


@row("eq.Tensor", "eq.Scalar", "ne.Tensor", "ne.Scalar")
def _eq(call):
    dtype = torch.promote_types(*(_real_dtype(call, call[name]) for name in ("self", "other")))
    (a, b), (c, d) = (call.parts(call[name], dtype) for name in ("self", "other"))
    zero = "0.0"
    if call.name == "eq":
        return f"({a} == {c}) & ({b or zero} == {d or zero})"
    return f"({a} != {c}) | ({b or zero} != {d or zero})"


def _real_dtype(call, value):
    return call.meta(value).dtype if isinstance(value, torch.fx.Node) else torch.float16


@row("isnan")
def _isnan(call):
    return f"any(isnan({call('self')}), -1)"


@row("isfinite")
def _isfinite(call):
    return f"all(isfinite({call('self')}), -1)"


@row("einsum")
def _einsum(call):
    """The product of n pairs is a sum of 2^n products of their parts."""
    equation, operands = call["equation"], [call.parts(x) for x in call["tensors"]]
    sums = ["", ""]
    for chosen in itertools.product((0, 1), repeat=len(operands)):
        parts = [operand[part] for operand, part in zip(operands, chosen)]
        if None in parts:
            continue
        power = sum(chosen)  # of i
        term = f'einsum("{equation}", {", ".join(parts)})'
        sign = "-" if power % 4 > 1 else "+"
        sums[power % 2] += f" {sign} {term}"
    return call.stacked(*(text.removeprefix(" +").strip() for text in sums))
