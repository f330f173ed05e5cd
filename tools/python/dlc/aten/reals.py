"""Real numbers that PyTorch computes of sizes and other numbers, as f64 tensors of one element."""

import sympy

from .call import number_text
from .failure import ExportFailure

_PAIRS = {
    "FloatTrueDiv": "{0} / {1}",
    "IntTrueDiv": "{0} / {1}",
    "FloatPow": "pow({0}, {1})",
    "PowByNatural": "pow({0}, {1})",
    "Pow": "pow({0}, {1})",
    "Max": "maximum({0}, {1})",
    "Min": "minimum({0}, {1})",
    "Add": "{0} + {1}",
    "Mul": "{0} * {1}",
}
_SINGLE = {"Abs": "abs", "TruncToFloat": "trunc", "ToFloat": None, "Identity": None}
#: Functions of torch.utils._sympy.functions by the end of their names.
_OPAQUE = "OpaqueUnaryFn_"


def real(program, expr):
    """The name of the value of a sympy expression."""
    if isinstance(expr, (sympy.Float, sympy.Integer, sympy.Rational)):
        return program.emit(f"tensor({number_text(float(expr))}, dtype=f64)", "number")
    if expr in program.scope.reals:
        return program.scope.reals[expr]
    if expr.is_integer:
        text = f"scalar_tensor({program.sizes.text_of(expr)}, dtype=f64)"
    else:
        text = _computed(program, expr)
    program.scope.reals[expr] = program.emit(text, "number")
    return program.scope.reals[expr]


def _computed(program, expr):
    kind = type(expr).__name__
    names = [real(program, one) for one in expr.args]
    if kind in _PAIRS and len(names) > 1:
        found = names[0]
        for other in names[1:]:
            found = program.emit(_PAIRS[kind].format(found, other), "number")
        return found
    if kind in _SINGLE or kind.startswith(_OPAQUE):
        name = _SINGLE[kind] if kind in _SINGLE else kind[len(_OPAQUE) :]
        return f"{name}({names[0]})" if name else names[0]
    raise ExportFailure(f"the number {expr}, which nothing in the graph computes that dlc knows")
