"""PyTorch's higher-order ops as the language's branches and loops: torch.cond, switch, and the ops
that only call a graph. `loops.py` has the loops."""

import torch

from . import subgraph
from ..failure import ExportFailure
from .subgraph import as_tensor, held_graph, inside, name_sizes, operands_of, run, truth

#: "cond" -> function of the program and the node. It returns the texts of the results, None for
#: those that nothing uses.
OPS = {}


def op(*names):
    """Declares a function to write these ops."""

    def declare(function):
        for name in names:
            OPS[name] = function
        return function

    return declare


def higher_order(program, node):
    """Writes a higher-order op."""
    name = node.target.name()
    _fill()
    if name not in OPS:
        raise ExportFailure(f"{_title(node)}: dlc has no row for it", node)
    try:
        found = OPS[name](program, node)
    except ExportFailure as failure:
        raise ExportFailure(f"{_title(node)}: {failure}", node) from None
    program.scope.values[node] = found
    held = node.meta.get("val")
    for value, text in zip(held, found) if isinstance(found, list) else [(held, found)]:
        if text is not None and isinstance(value, (torch.Tensor, torch.SymInt)):
            name_sizes(program, value, text)


def why_not(node, of_node):
    """Why dlc cannot take a higher-order op; None where it can. `of_node` says it of the nodes of
    its graphs."""
    from .. import registered

    _fill()
    if node.target.name() not in OPS:
        return f"{_title(node)}: dlc has no row for it"
    if node.target.name() == "auto_functionalized_v2":
        return registered.why_not_changing(node)
    for graph in _graphs(node):
        for inner in graph.graph.nodes:
            why = inner.op == "call_function" and of_node(inner)
            if why:
                return f"{_title(node)}: {why}"
    return None


def _title(node):
    return f"torch.ops.higher_order.{node.target.name()}"


def _fill():
    from .. import registered  # noqa: F401  (they fill OPS)
    from . import flexible, loops  # noqa: F401


def _graphs(node):
    """The graphs that a higher-order op is called with."""
    return [held_graph(given) for given in node.all_input_nodes if subgraph.is_graph(given)]


def graph_of(program, node):
    """The graph that an argument names, in the module that the scope is of."""
    if not isinstance(node, torch.fx.Node) or node.op != "get_attr":
        raise ExportFailure("a graph that the program does not hold")
    return held_graph(node, program.scope.graph)


def uses(node, count):
    """Which results of a higher-order op something takes."""
    taken = {user.args[1] for user in node.users if user.target.__name__ == "getitem"}
    other = any(user.target.__name__ != "getitem" for user in node.users if user.op != "output")
    return [other or position in taken for position in range(count)]


def given_number(program, value, text, used):
    """A result that the graph around takes for a number, as the dim that it is."""
    if not used or not isinstance(value, (int, torch.SymInt)) or isinstance(value, bool):
        return text
    if isinstance(value, int):
        return str(value)
    return program.emit(f"dim_of({text}{program.limits(value.node.expr)})", "number")


@op("cond")
def _cond(program, node):
    condition, first, second, operands = node.args
    return _branches(program, node, [(condition, first), (None, second)], operands)


@op("switch")
def _switch(program, node):
    """A run whose index is outside of the branches is refused, as PyTorch does."""
    index, branches, operands = node.args
    tensor = as_tensor(program, index)
    place = program.emit(f"dim_of(reshape({tensor}, []), most={len(branches) - 1})", "branch")
    place = f"scalar_tensor({place}, dtype=i64)"
    asked = [(f"{place} <= {number}", graph) for number, graph in enumerate(branches[:-1])]
    return _branches(program, node, [*asked, (None, branches[-1])], operands)


def _branches(program, node, branches, operands):
    """An `if` of several branches, whose conditions are nodes or texts, and None for the last."""
    held = node.meta["val"]
    used = uses(node, len(held))
    names = [program.fresh("branch") if is_used else None for is_used in used]
    given = operands_of(program, operands)
    graphs = [graph_of(program, graph) for _, graph in branches]
    texts = [
        condition if condition is None or isinstance(condition, str) else truth(program, condition)
        for condition, _ in branches
    ]
    depth = len(texts) - 1
    for level, (text, graph) in enumerate(zip(texts, graphs)):
        if text is not None:
            program.line("  " * level + f"if {text} {{")
        with inside(program, graph, min(level + 1, depth)):
            results = run(program, graph, given)
            for name, value in zip(names, results):
                if name is not None:
                    program.line(f"{name} = {as_tensor(program, value)}")
        if text is not None:
            program.line("  " * level + "} else {")
    for level in reversed(range(depth)):
        program.line("  " * level + "}")
    return [
        given_number(program, value, name, is_used)
        for value, name, is_used in zip(held, names, used)
    ]


def _called(program, node, graph, operands):
    """What a graph gives that is called where it stands."""
    graph = graph_of(program, graph)
    given = operands_of(program, operands)
    with inside(program, graph, 0):
        results = run(program, graph, given)
        texts = [None if value is None else _text(program, value) for value in results]
    held = node.meta.get("val")
    return texts if isinstance(held, (list, tuple)) else texts[0]


@op("wrap", "tag_activation_checkpoint", "wrap_activation_checkpoint")
def _wrap(program, node):
    graph, *operands = node.args
    return _called(program, node, graph, operands)


@op("invoke_subgraph")
def _invoke_subgraph(program, node):
    graph, _, *operands = node.args
    return _called(program, node, graph, operands)


@op("hints_wrapper", "strict_mode", "run_const_graph")
def _hints(program, node):
    graph, operands, *rest = node.args
    if any(isinstance(value, dict) and value for value in rest[:1]):
        raise ExportFailure("arguments of a graph by name")
    return _called(program, node, graph, operands)


@op("wrap_with_set_grad_enabled")
def _set_grad(program, node):
    _, graph, *operands = node.args
    return _called(program, node, graph, operands)


@op("wrap_with_autocast")
def _autocast(program, node):
    """Its graph has no casts: it is as it says only where autocast is switched off."""
    _, _, is_enabled, _, graph, *operands = node.args
    if is_enabled:
        raise ExportFailure("autocast that the graph does not have written out as casts")
    return _called(program, node, graph, operands)


@op("with_effects")
def _with_effects(program, node):
    """Of checks, which dlc does itself where its kernels need them."""
    from ..program import CHECKS

    target = node.args[1]
    if not isinstance(target, torch._ops.OpOverload) or target._schema.name not in CHECKS:
        raise ExportFailure(f"{target}, which does more than give results")
    return [None] * len(node.meta["val"])


def _text(program, value):
    held = value.meta.get("val") if isinstance(value, torch.fx.Node) else value
    return truth(program, value) if isinstance(held, torch.SymBool) else program.value(value)
