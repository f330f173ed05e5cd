"""Graphs within a graph: the branches, conditions and steps of PyTorch's higher-order ops."""

import contextlib
import operator

import sympy
import torch

from ..failure import ExportFailure

_RELATIONS = {
    "Equality": "==",
    "Unequality": "!=",
    "StrictLessThan": "<",
    "LessThan": "<=",
    "StrictGreaterThan": ">",
    "GreaterThan": ">=",
}


def is_graph(node):
    """Whether a node is a graph that the module of its graph holds."""
    return node.op == "get_attr" and isinstance(held_graph(node), torch.fx.GraphModule)


def held_graph(node, module=None):
    """What a get_attr node reads."""
    return operator.attrgetter(node.target)(module or node.graph.owning_module)


def results_of(graph):
    """What a subgraph gives, as a list."""
    given = next(node for node in graph.graph.nodes if node.op == "output").args[0]
    return list(given) if isinstance(given, (list, tuple)) else [given]


class Operand:
    """A value that is passed to a subgraph. `text`: the expression; `held`: its fake tensor or
    number, None where only the text is known."""

    def __init__(self, text, held=None):
        self.text, self.held = text, held


def operands_of(program, values):
    """The operands that values of the graph around are."""
    return [_operand(program, value) for value in values]


def _operand(program, value):
    held = value.meta.get("val") if isinstance(value, torch.fx.Node) else value
    if isinstance(held, torch.SymBool):
        return Operand(truth(program, value), held)
    if isinstance(value, float):
        return Operand(program.emit(f"tensor({program.value(value)}, dtype=f64)"), held)
    return Operand(program.value(value), held)


@contextlib.contextmanager
def inside(program, graph, deeper):
    """The values of a subgraph, whose lines are indented by `deeper`. What it names of sizes ends
    with it."""
    from ..program import Scope

    scope, sizes = program.scope, program.sizes
    names, known = sizes.names, sizes.known
    program.scope = Scope(graph, scope.indent + deeper)
    sizes.names, sizes.known = dict(names), dict(known)
    try:
        yield
    finally:
        program.scope, sizes.names, sizes.known = scope, names, known


def run(program, graph, operands):
    """Writes a subgraph within the scope of `inside`; its results, nodes or numbers."""
    placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
    if len(placeholders) != len(operands):
        raise ExportFailure(
            f"a graph of {len(placeholders)} arguments that is called with {len(operands)}"
        )
    for node, operand in zip(placeholders, operands):
        _bind(program, node, operand)
    program.run_nodes(graph.graph)
    return results_of(graph)


def _bind(program, node, operand):
    """Gives a placeholder its value, and its sizes their names."""
    value, held = node.meta.get("val"), operand.held
    program.scope.values[node] = operand.text
    if isinstance(value, torch.SymInt):
        _name(program, value, operand.text, held)
    elif isinstance(value, torch.Tensor):
        outer = held.shape if isinstance(held, torch.Tensor) else [None] * value.dim()
        if len(outer) != value.dim():
            raise ExportFailure("a graph that is called with a tensor of another rank")
        for dim, (size, known) in enumerate(zip(value.shape, outer)):
            _name(program, size, f"size({operand.text}, {dim})", known)


def _name(program, size, text, known):
    """Names a size of a subgraph. `known`: the same one in the graph around, None where it has
    none."""
    names = program.sizes.names
    if isinstance(size, int):
        return
    expr = size.node.expr
    other = None if known is None else _expr(known)
    if expr.is_Symbol and (expr not in names or other is not None and other != expr):
        names[expr] = text
    elif other is not None and other != expr:
        raise ExportFailure(f"a graph that was made for the size {expr} is called with {other}")


def _expr(size):
    return size.node.expr if isinstance(size, torch.SymInt) else sympy.Integer(size)


def name_sizes(program, value, text):
    """Names the sizes of a result that nothing has named yet."""
    if isinstance(value, torch.SymInt):
        sizes = [(value, text)]
    else:
        sizes = [(size, f"size({text}, {dim})") for dim, size in enumerate(value.shape)]
    for size, found in sizes:
        if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol:
            program.sizes.names.setdefault(size.node.expr, found)


def as_tensor(program, value):
    """A result or a number that is carried, as a tensor. A whole number is i64[]."""
    held = value.meta.get("val") if isinstance(value, torch.fx.Node) else value
    if isinstance(held, (bool, torch.SymBool)):
        return truth(program, value)
    if isinstance(held, (int, torch.SymInt)):
        return f"scalar_tensor({program.value(value)}, dtype=i64)"
    if isinstance(held, float):
        return f"tensor({program.value(held)}, dtype=f64)"
    if isinstance(held, (torch.Tensor, torch.SymFloat)):
        return program.value(value)
    raise ExportFailure(f"a {type(held).__name__} among what a graph gives")


def truth(program, value):
    """A condition as a tensor of one bool, or as true and false."""
    held = value.meta.get("val") if isinstance(value, torch.fx.Node) else value
    if isinstance(held, bool):
        return program.value(held)
    if isinstance(held, torch.SymBool):
        known = isinstance(value, torch.fx.Node) and program.scope.values.get(value)
        return known or relation(program, held.node.expr)
    text = program.value(value)
    if held.dtype != torch.bool:
        text = f"{text} != 0"
    return f"reshape({text}, [])" if held.dim() else text


def relation(program, expr):
    """A relation of sizes as a tensor of one bool."""
    if expr in (sympy.true, sympy.false):
        return f"tensor({'true' if expr == sympy.true else 'false'})"
    if isinstance(expr, (sympy.And, sympy.Or)):
        sign = " & " if isinstance(expr, sympy.And) else " | "
        return sign.join(f"({relation(program, part)})" for part in expr.args)
    if isinstance(expr, sympy.Not):
        return f"~({relation(program, expr.args[0])})"
    sign = _RELATIONS.get(type(expr).__name__)
    if sign is None or not all(side.is_integer for side in expr.args):
        raise ExportFailure(f"the condition {expr}, which dlc does not know of sizes")
    left, right = (f"scalar_tensor({program.sizes.text_of(side)}, dtype=i64)" for side in expr.args)
    return f"{left} {sign} {right}"
