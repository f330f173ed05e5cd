"""Sizes of PyTorch's graphs, which are sympy expressions, as dims of the language."""

import sympy

from .failure import ExportFailure

#: Functions of sizes that the language has by another name than torch.utils._sympy.functions.
_FUNCTIONS = {"Max": "max", "Min": "min"}
#: Expressions that are dims of the language.
_PLAIN = set(
    """Integer NegativeOne Zero One Symbol Add Mul Pow PowByNatural FloorDiv CleanDiv Mod PythonMod
    ModularIndexing""".split()
)
#: Those whose exponents may vary, too.
_POWERS = {"Pow", "PowByNatural"}
_RELATIONS = {
    "Equality": "equal({0}, {1})",
    "Unequality": "equal(equal({0}, {1}), 0)",
    "StrictLessThan": "less({0}, {1})",
    "StrictGreaterThan": "less({1}, {0})",
    "LessThan": "equal(less({1}, {0}), 0)",
    "GreaterThan": "equal(less({0}, {1}), 0)",
}


def plain(size):
    """A size as a number or a sympy expression. Comparing these asks PyTorch for no guard, as
    comparing SymInts does."""
    if isinstance(size, int):
        return size
    expr = size.node.expr if hasattr(size, "node") else size
    return int(expr) if isinstance(expr, sympy.Integer) else expr


def is_sure(relation):
    """Whether a relation is that of a minimum or a maximum to what it is made of."""
    kind = type(relation).__name__
    if kind not in ("LessThan", "GreaterThan"):
        return False
    low, high = relation.args if kind == "LessThan" else relation.args[::-1]
    return (type(low).__name__ == "Min" and high in low.args) or (
        type(high).__name__ == "Max" and low in high.args
    )


class Sizes:
    """Writes sizes. `names` holds the dims' names by symbol; `emit(text)` adds a line to the model
    and returns the value's name."""

    def __init__(self, emit):
        self.names, self.emit, self.known = {}, emit, {}

    def text(self, size):
        """The size, a number, a SymInt or a sympy expression, as an expression of the language."""
        size = plain(size)
        return str(size) if isinstance(size, int) else self._dim(size)

    def condition(self, expr):
        """A relation of sizes as a function that gives 1 or 0."""
        kind = type(expr).__name__
        if kind in ("BooleanTrue", "BooleanFalse"):
            return "1" if kind == "BooleanTrue" else "0"
        if kind in ("And", "Or"):
            name = "min" if kind == "And" else "max"
            found = self.condition(expr.args[0])
            for other in expr.args[1:]:
                found = f"{name}({found}, {self.condition(other)})"
            return found
        if kind == "Not":
            return f"equal({self.condition(expr.args[0])}, 0)"
        if kind not in _RELATIONS or not all(arg.is_integer for arg in expr.args):
            raise ExportFailure(f"the condition {expr} on sizes, which dlc does not know")
        left, right = (self._definition(arg) for arg in expr.args)
        return _RELATIONS[kind].format(left, right)

    def text_of(self, expr):
        """The same of a sympy expression."""
        return self._dim(expr)

    def _dim(self, expr):
        if expr in self.known:
            return self.known[expr]
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
        if kind in _POWERS:
            numbers = [f"scalar_tensor({self._dim(one)}, dtype=f64)" for one in expr.args]
            text = f"dim_of(to(pow({', '.join(numbers)}), i64), most={2**31 - 1})"
            self.known[expr] = self.emit(text, "size")
            return self.known[expr]
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
        if kind == "Abs":
            inner = self._dim(expr.args[0])
            return f"max({inner}, -1*{inner})"
        if kind == "Piecewise":
            found = self._definition(expr.args[-1][0])
            for value, condition in expr.args[-2::-1]:
                found = f"select({self.condition(condition)}, {self._definition(value)}, {found})"
            return found
        if kind not in _PLAIN:
            raise ExportFailure(
                f"the size {expr}, which is computed by {kind}; dlc has no such function of sizes"
            )
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
