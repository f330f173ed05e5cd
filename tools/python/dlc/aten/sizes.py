"""Sizes of PyTorch's graphs, which are sympy expressions, as dims of the language."""

import sympy

from .failure import ExportFailure

#: Functions of sizes that the language has by another name than torch.utils._sympy.functions.
_FUNCTIONS = {"Max": "max", "Min": "min"}


class Sizes:
    """Writes sizes. `names` holds the dims' names by symbol; `emit(text)` adds a line to the model
    and returns the value's name."""

    def __init__(self, emit):
        self.names, self.emit, self.known = {}, emit, {}

    def text(self, size):
        """The size, an int or a SymInt, as an expression of the language."""
        return str(size) if isinstance(size, int) else self._dim(size.node.expr)

    def _dim(self, expr):
        if isinstance(expr, sympy.Integer):
            return str(int(expr))
        if isinstance(expr, sympy.Symbol):
            if expr not in self.names:
                raise ExportFailure(
                    f"the size {expr} is known to PyTorch alone: nothing in the graph computes it"
                )
            return self.names[expr]
        if isinstance(expr, sympy.Add):
            return "(" + " + ".join(map(self._dim, expr.args)) + ")"
        if isinstance(expr, sympy.Mul):
            return "*".join(map(self._dim, expr.args))
        if isinstance(expr, sympy.Pow) and isinstance(expr.exp, sympy.Integer) and expr.exp > 0:
            return "*".join([self._dim(expr.base)] * int(expr.exp))
        kind = type(expr).__name__
        if kind == "PowByNatural" and isinstance(expr.args[1], sympy.Integer):
            return "*".join([self._dim(expr.args[0])] * int(expr.args[1]))
        if kind in ("FloorDiv", "CleanDiv"):
            return f"({self._dim(expr.args[0])} // {self._dim(expr.args[1])})"
        if kind in ("Mod", "PythonMod"):
            value, divisor = map(self._dim, expr.args)
            return f"({value} - {value} // {divisor} * {divisor})"
        if kind == "ModularIndexing":
            value, divisor, modulus = map(self._dim, expr.args)
            quotient = f"({value} // {divisor})"
            return f"({quotient} - {quotient} // {modulus} * {modulus})"
        if expr not in self.known:
            self.known[expr] = self.emit(f"derived({self._definition(expr)})", "size")
        return self.known[expr]

    def _definition(self, expr):
        """What a derived dim is computed from: functions of dims and, inside, of real numbers."""
        kind = type(expr).__name__
        if kind in _FUNCTIONS:
            found = self._definition(expr.args[0])
            for other in expr.args[1:]:
                found = f"{_FUNCTIONS[kind]}({found}, {self._definition(other)})"
            return found
        real = {
            "FloorToInt": "floor",
            "CeilToInt": "ceil",
            "TruncToInt": None,
            "RoundToInt": "nearest",
        }
        if kind in real:
            inner = self._real(expr.args[0])
            return f"integer({real[kind]}({inner}))" if real[kind] else f"integer({inner})"
        return self._dim(expr)

    def _real(self, expr):
        """An expression of real numbers (f64)."""
        kind = type(expr).__name__
        if isinstance(expr, (sympy.Float, sympy.Integer, sympy.Rational)):
            return repr(float(expr))
        if kind == "ToFloat":
            return f"real({self._definition(expr.args[0])})"
        if kind in ("IntTrueDiv", "FloatTrueDiv"):
            return f"ratio({self._real(expr.args[0])}, {self._real(expr.args[1])})"
        if kind == "OpaqueUnaryFn_sqrt":
            return f"root({self._real(expr.args[0])})"
        if isinstance(expr, (sympy.Add, sympy.Mul)):
            name = "sum" if isinstance(expr, sympy.Add) else "product"
            found = self._real(expr.args[0])
            for other in expr.args[1:]:
                found = f"{name}({found}, {self._real(other)})"
            return found
        if expr.is_integer:
            return f"real({self._definition(expr)})"
        raise ExportFailure(
            f"the size {expr} is computed by {kind}, which dlc does not know of sizes"
        )
