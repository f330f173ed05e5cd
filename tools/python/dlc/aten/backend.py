"""The graphs of AOTAutograd in pieces that dlc takes, with what it does not take between them."""

import copy
import operator

import sympy
import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from .call import DTYPES, Call
from .failure import ExportFailure
from .graphs import control
from .graphs.subgraph import is_graph
from .layouts import inverse, order_of
from .pairs import COMPLEX, is_complex, takes_pairs
from .program import CHECKS, Program
from .rows.random import draws
from .source import Source
from .table import ROWS, WITHOUT, name_of, why_none


def static_positions(graph):
    """Which placeholders hold parameters and buffers, by AOTAutograd's own word."""
    context = torch._guards.TracingContext.try_get()
    found = context.fw_metadata.static_input_indices if context and context.fw_metadata else []
    return {
        position
        for position, node in enumerate(
            node for node in graph.graph.nodes if node.op == "placeholder"
        )
        if position in set(found) and isinstance(node.meta.get("val"), torch.Tensor)
    }


def _tensors(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _tensors(part)


def why_not(node):
    """Why dlc cannot take a node; None where it can."""
    target = node.target
    if isinstance(target, torch._ops.HigherOrderOperator):
        return control.why_not(node, why_not)
    if not isinstance(target, torch._ops.OpOverload):
        return (
            None
            if target is operator.getitem or _is_size(node)
            else f"{target}: dlc has no row for it"
        )
    if target._schema.name in CHECKS or _is_size(node) and not node.meta.get("unbacked_bindings"):
        return None
    name, title = name_of(target), f"torch.ops.{target._schema.name.replace('::', '.')}"
    rows = COMPLEX if takes_pairs(node) else ROWS
    if name not in rows and target._schema.name not in ("aten::_local_scalar_dense", "aten::item"):
        return f"{title}: {_without(name, rows)}"
    if draws(Call(None, node)):
        return f"{title}: draws random numbers from PyTorch's generator"
    values = [
        node.meta.get("val"),
        *(argument.meta.get("val") for argument in node.all_input_nodes),
    ]
    for tensor in (tensor for value in values for tensor in _tensors(value)):
        dtype = tensor.dtype.to_real() if tensor.is_complex() else tensor.dtype
        if dtype not in DTYPES:
            return f"{title}: a tensor of {str(tensor.dtype).replace('torch.', '')}"
        if tensor.layout != torch.strided:
            return f"{title}: a sparse tensor"
    return None


def _without(name, rows):
    if rows is COMPLEX:
        return WITHOUT.get(name, "dlc has no row for it of complex numbers")
    return why_none(name)


def _is_size(node):
    return isinstance(
        node.meta.get("val"), (int, float, bool, torch.SymInt, torch.SymFloat, torch.SymBool)
    )


def _base(node):
    """What a result is a view of; itself, where it is none."""
    while (
        node.op == "call_function"
        and isinstance(node.target, torch._ops.OpOverload)
        and _is_view(node.target)
        and isinstance(node.args[0], torch.fx.Node)
    ):
        node = node.args[0]
    return node


def _is_view(overload):
    returned = overload._schema.returns
    return (
        len(returned) == 1
        and returned[0].alias_info is not None
        and not returned[0].alias_info.is_write
    )


class _Support(OperatorSupportBase):
    def __init__(self, refused):
        self.refused = refused

    def is_node_supported(self, submodules, node):
        """A graph belongs to the op that is called with it."""
        if is_graph(node):
            return self.refused.isdisjoint(node.users)
        return node.op == "call_function" and node not in self.refused


class PieceSource:
    """A functional graph with the places of its weights and inputs among its arguments."""

    def __init__(self, graph, static):
        self.graph = graph
        nodes = [node for node in graph.graph.nodes if node.op == "placeholder"]
        tensors = [
            node.meta.get("val") for position, node in enumerate(nodes) if position not in static
        ]
        known = {
            size.node.expr
            for tensor in tensors
            if isinstance(tensor, torch.Tensor)
            for size in tensor.shape
            if not isinstance(size, int) and size.node.expr.is_Symbol
        }
        self.nodes, self.weights, self.inputs = nodes, [], []
        for position, node in enumerate(nodes):
            value = node.meta.get("val")
            is_known = isinstance(value, torch.SymInt) and (
                value.node.expr in known or isinstance(value.node.expr, sympy.Integer)
            )
            if position in static:
                self.weights.append(position)
            elif (
                isinstance(value, (torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool))
                and not is_known
                and any(user.op != "output" for user in node.users)
            ):
                self.inputs.append(position)
        output = next(node for node in graph.graph.nodes if node.op == "output").args[0]
        self.is_single = isinstance(output, torch.fx.Node)
        self.output = [output] if self.is_single else list(output)
        bases = [_base(node) for node in self.output if isinstance(node, torch.fx.Node)]
        #: results that share memory with others or with arguments, which are made from what the
        #: model gives as PyTorch makes them
        self.views = {
            node
            for node in self.output
            if isinstance(node, torch.fx.Node)
            and (bases.count(_base(node)) > 1 or _base(node).op == "placeholder")
        }
        given = [
            _base(node) if node in self.views else node
            for node in self.output
            if isinstance(node, torch.fx.Node)
        ]
        #: what the model gives, each once; other results are arguments, numbers or None
        self.made = [node for node in dict.fromkeys(given) if node.op != "placeholder"]
        #: the order of dims in memory of those that are not contiguous
        self.orders = {
            node: order
            for node in self.made
            if isinstance(value := node.meta["val"], torch.Tensor)
            and not value.is_complex()
            and (order := order_of(value))
        }

    def passing(self, positions):
        """The same graph with these weights among its inputs."""
        other = copy.copy(self)
        other.weights = [position for position in self.weights if position not in positions]
        other.inputs = sorted([*self.inputs, *positions])
        return other

    def program(self, held):
        """The text of the graph over weights that are given."""
        ranges = {}
        for node in self.graph.graph.nodes:
            value = node.meta.get("val")
            for tensor in _tensors(value):
                if (
                    getattr(tensor, "fake_mode", None) is not None
                    and tensor.fake_mode.shape_env is not None
                ):
                    ranges = tensor.fake_mode.shape_env.var_to_range
        names = {}
        for position in self.inputs:
            value = self.nodes[position].meta["val"]
            for size in value.shape if isinstance(value, torch.Tensor) else ():
                for symbol in size.node.expr.free_symbols if not isinstance(size, int) else ():
                    names.setdefault(symbol, str(symbol))
        source = Source(
            self.graph,
            {self.nodes[position]: self.nodes[position].name for position in self.inputs},
            {
                self.nodes[position]: (f"weights.{position}", tensor.detach())
                for position, tensor in zip(self.weights, held)
            },
            [("output", None, node) for node in self.made],
            dict(ranges),
            takes_pairs=True,
            orders=self.orders,
        )
        return Program(source, "Graph", dims=names)

    def results(self, arguments, found):
        """What the graph returns, of the model's results."""
        known = dict(zip(self.nodes, arguments))
        for node, value in zip(self.made, found):
            value = value if isinstance(value, torch.Tensor) else torch.from_numpy(value)
            if is_complex(node.meta["val"]):
                value = torch.view_as_complex(value)
            if node in self.orders:
                value = value.permute(inverse(self.orders[node]))
            known[node] = value if isinstance(node.meta["val"], torch.Tensor) else value.item()
        values = [self._value(node, known) for node in self.output]
        return values[0] if self.is_single else tuple(values)

    def _value(self, node, known):
        """A result: of the model, an argument, a number, or a view of one of these."""
        if not isinstance(node, torch.fx.Node):
            return node
        if node not in known and isinstance(node.meta.get("val"), torch.SymInt):
            known[node] = self._size(node.meta["val"], known)
        if node not in known:
            arguments, named = torch.fx.map_arg(
                (node.args, node.kwargs), lambda argument: self._value(argument, known)
            )
            known[node] = node.target(*arguments, **named)
        return known[node]

    def _size(self, size, known):
        """The value of a size in this run."""
        values = {}
        for node in self.nodes:
            held = node.meta.get("val")
            sizes = (
                [(held, known[node])]
                if isinstance(held, torch.SymInt)
                else (zip(held.shape, known[node].shape) if isinstance(held, torch.Tensor) else ())
            )
            values.update(
                {
                    symbolic.node.expr: number
                    for symbolic, number in sizes
                    if isinstance(symbolic, torch.SymInt) and symbolic.node.expr.is_Symbol
                }
            )
        return int(
            size.node.expr.xreplace(
                {symbol: sympy.Integer(number) for symbol, number in values.items()}
            )
        )


class Pieces:
    """`function` runs the graph; `make(source)` gives the module that runs a piece. `reasons` say
    what eager PyTorch runs, `made` are the pieces by name."""

    def __init__(self, graph, static, make):
        self.reasons, self.made = [], {}
        placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
        fixed = {placeholders[position] for position in static}
        refused = {
            node: why
            for node in graph.graph.nodes
            if node.op == "call_function" and (why := why_not(node))
        }
        while True:
            whole, parts = self._split(graph, fixed, refused)
            failed = self._failure(parts)
            if not failed:
                break
            node, why = failed
            refused[node] = why
        for why in dict.fromkeys(refused.values()):
            self.reasons.append(why)
        for name, (source, _) in parts.items():
            self.made[name] = make(source)
        if whole is graph and len(parts) == 1:
            self.function = next(iter(self.made.values()))
            return
        for name, module in self.made.items():
            setattr(whole, name, module)
        whole.recompile()
        self.function = whole

    def _split(self, graph, fixed, refused):
        """The graph with a call for each piece, and the pieces by name, each with the nodes of the
        graph that its own nodes stand for."""
        if not refused:
            if not any(node.op == "call_function" for node in graph.graph.nodes):
                return graph, {}
            positions = {
                position
                for position, node in enumerate(
                    node for node in graph.graph.nodes if node.op == "placeholder"
                )
                if node in fixed
            }
            return graph, {
                "graph": (
                    PieceSource(graph, positions),
                    {node.name: node for node in graph.graph.nodes},
                )
            }
        names = {node.name: node for node in graph.graph.nodes}
        copy = torch.fx.GraphModule(graph, _copied(graph))
        copies = {node.name: node for node in copy.graph.nodes}
        support = _Support({copies[node.name] for node in refused})
        made = CapabilityBasedPartitioner(
            copy, support, allows_single_node_partition=True
        ).partition_and_fuse()
        parts = {}
        for node in made.graph.nodes:
            if node.op == "call_module" and node.target.startswith("fused_"):
                held = {
                    position
                    for position, argument in enumerate(node.args)
                    if names.get(argument.name) in fixed
                }
                parts[node.target] = PieceSource(getattr(made, node.target), held), names
        return made, parts

    @staticmethod
    def _failure(parts):
        """A node that no row can write, and why."""
        for source, names in parts.values():
            held = [source.nodes[position].meta["val"] for position in source.weights]
            try:
                with unset_fake_temporarily():
                    source.program(held).text()
            except ExportFailure as failure:
                if failure.node is None or failure.node.name not in names:
                    raise
                return names[failure.node.name], str(failure)
        return None


def _copied(graph):
    """A copy in which each op that takes a graph reads it by itself."""
    copy = torch.fx.Graph()
    copy.output(copy.graph_copy(graph.graph, {}))
    for node in list(copy.nodes):
        if node.op == "get_attr":
            for user in list(node.users)[1:]:
                with copy.inserting_before(user):
                    user.replace_input_with(node, copy.node_copy(node))
    return copy
