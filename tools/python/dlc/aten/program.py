"""From an exported program of PyTorch to the text of a model, statement by statement."""

import operator
import re

import sympy
import torch
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy

from . import pairs  # noqa: F401  (they fill the table)
from .rows import (
    absent,
    complex as complex_rows,
    complex_shapes,
    counting,
    creation,
    elementwise,
    embeddings,
    fourier,
    indexing,
    layers,
    linear_algebra,
    norms,
    order,
    pooling,
    quantized,
    random,
    reductions,
    resampling,
    scattering,
    shapes,
    special,
    strides,
)  # noqa: F401  (they fill the table)
from .call import Call, dtype_text, number_text
from .failure import ExportFailure
from .lines import used_lines
from .reals import real
from .sizes import Sizes, is_sure, plain
from .table import ROWS, name_of, why_none
from .tensors import KEYWORDS, ModuleTensors

#: Calls that only check what PyTorch assumed of sizes and values. dlc checks what its kernels need
#: when shapes are bound.
CHECKS = {
    "aten::_assert_scalar",
    "aten::_assert_async",
    "aten::sym_constrain_range",
    "aten::sym_constrain_range_for_size",
    "aten::_assert_tensor_metadata",
    "aten::_functional_assert_async",
    "aten::_functional_assert_scalar",
    "aten::_linalg_check_errors",
}

#: The largest number that is read as a size.
_LARGEST = 2**31 - 1
#: What a dim may be where nothing says it.
_LONGEST = 65536


def is_check(node):
    """Whether a call only checks: by itself, or in the order of effects."""
    target = node.target
    if str(target) == "with_effects":
        target = node.args[1]
    return isinstance(target, torch._ops.OpOverload) and target._schema.name in CHECKS


class Scope:
    """The values of one graph: those of a branch or a loop know those around it by their arguments.
    """

    def __init__(self, graph, indent):
        self.graph, self.indent, self.values = graph, indent, {}
        #: names of values by the expression that computes them: nothing is computed twice
        self.known = {}
        #: names of real numbers by the expression that computes them
        self.reals = {}


class Program:
    """The text of a model and its weights. `source`: a Source; `name`: of the model; `outputs`:
    names of its results, or None; `dims`: names of dims by sympy symbol; `keeps_states`: whether
    buffers that the module changes are kept from run to run."""

    def __init__(self, source, name, outputs=None, dims=None, keeps_states=True):
        self.source, self.name, self.outputs = source, name, outputs
        self.lines, self.taken = [], set(KEYWORDS)
        self.tensors = ModuleTensors(self, keeps_states)
        self.checks, self.module = 0, ""
        #: the ranges of sizes that the data say, which no run checks
        self.natural = {}
        #: sizes that are read from tensors
        self.read = set()
        self.sizes = Sizes(self.emit)
        self.wanted_dims = dims or {}
        self.scope = Scope(source.graph_module, 2)
        #: of the model, by the names of the placeholders
        self.input_names = {}
        #: (name, fake tensor) of the model's inputs and outputs, once `text` has run
        self.inputs, self.results = [], []

    @property
    def weights(self):
        """The tensors of the model by name, once `text` has run."""
        return self.tensors.weights

    # Names and lines.

    def fresh(self, wanted):
        """A name that nothing has yet."""
        wanted = re.sub(r"\W", "_", wanted).strip("_") or "value"
        wanted = wanted if not wanted[0].isdigit() else "v" + wanted
        name, number = wanted, 1
        while name in self.taken:
            number += 1
            name = f"{wanted}_{number}"
        self.taken.add(name)
        return name

    def line(self, text):
        self.lines.append("  " * self.scope.indent + text)

    def emit(self, text, wanted="value"):
        """Adds a statement; the name of its value. A name is returned as it is."""
        if re.fullmatch(r"[A-Za-z_][\w.]*", text):
            return text
        if text not in self.scope.known:
            self.scope.known[text] = self.fresh(wanted)
            self.line(f"{self.scope.known[text]} = {text}")
        return self.scope.known[text]

    def emit_many(self, text, wanted, used):
        """Adds a statement of several values; their names, None for those that are not used."""
        names = [self.fresh(wanted) if is_used else None for is_used in used]
        if any(names):
            self.line(f"{', '.join(name or '_' for name in names)} = {text}")
        return names

    # Values.

    def value(self, value):
        """What stands in a graph as an argument, as an expression."""
        if isinstance(value, torch.fx.Node):
            held = value.meta.get("val")
            if isinstance(held, (int, torch.SymInt)) and value not in self.scope.values:
                return self.sizes.text(held)
            if isinstance(held, (float, torch.SymFloat)) and value not in self.scope.values:
                return real(self, held.node.expr if hasattr(held, "node") else sympy.Float(held))
            return self.scope.values[value]
        if isinstance(value, torch.SymInt):
            return self.sizes.text(value)
        if isinstance(value, torch.SymFloat):
            return real(self, value.node.expr)
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(map(self.value, value))}]"
        if isinstance(value, torch.dtype):
            return dtype_text(value)
        if isinstance(value, str):
            return f'"{value}"'
        return number_text(value)

    def size(self, size):
        """A size, of a node or a shape, as an expression."""
        if isinstance(size, torch.fx.Node):
            return self.value(size)
        return self.sizes.text(size)

    @staticmethod
    def _number(size):
        return plain(size.meta["val"] if isinstance(size, torch.fx.Node) else size)

    def sum_of(self, a, b):
        return self._number(a) + self._number(b)

    def product_of(self, sizes):
        product = 1
        for size in sizes:
            product = product * self._number(size)
        return product

    def most(self, size):
        """The largest value of a size, as far as its symbols' ranges tell."""
        if isinstance(size, int):
            return size
        ranges = {symbol: self.source.ranges.get(symbol) for symbol in size.free_symbols}
        found = None if None in ranges.values() else _finite(bound_sympy(size, ranges).upper)
        return _LARGEST if found is None else found

    def total_of(self, sizes):
        """The sum of sizes, which gets a name of its own where there are several."""
        total = 0
        for size in sizes:
            total = self.sum_of(total, size)
        if len(sizes) > 1 and total not in self.sizes.known and not isinstance(total, int):
            text = " + ".join(map(self.sizes.text, sizes))
            name = self.emit(f"dim_of(scalar_tensor({text}, dtype=i64), most={_LARGEST})", "size")
            self.sizes.known[total] = name
        return total

    def constant(self, tensor, wanted):
        """A tensor that the export has made, as a weight."""
        name = self.fresh(wanted)
        self.tensors.declare(name, tensor)
        return name

    def counted(self, node, places):
        """The size that the data say of a result of `node`: that of the rows of `places`."""
        for symbol in node.meta.get("unbacked_bindings") or {}:
            if symbol not in self.sizes.names:
                self.natural[symbol] = _counted_range(node)
                self.sizes.names[symbol] = f"size({places}, 0)"
        return next(
            (plain(size) for size in node.meta["val"].shape if not isinstance(size, int)),
            node.meta["val"].shape[0],
        )

    def counted_size(self, node, text):
        """The size that the integer `text` says of the result of `node`, as a dim."""
        for symbol in node.meta.get("unbacked_bindings") or {}:
            if symbol not in self.sizes.names:
                limits = self.limits(symbol)
                self.sizes.names[symbol] = self.emit(f"dim_of({text}{limits})", "number")
        return self.sizes.text(node.meta["val"].shape[0])

    # The whole.

    def text(self):
        """The text of the .dl file; afterwards `weights` are its tensors by name."""
        graph = self.source.graph_module.graph
        for node, name in self.source.inputs.items():
            self.input_names[node.name] = self.fresh(name)
        # PyTorch may have several symbols for a dim that the caller names in several places.
        dims = {name: self.fresh(name) for name in dict.fromkeys(self.wanted_dims.values())}
        self.sizes.names.update({symbol: dims[name] for symbol, name in self.wanted_dims.items()})
        for node in self.source.inputs:
            self._input(node, self.input_names[node.name])
        self.tensors.read()
        names = self._output_names()
        self.run_nodes(graph)
        self._outputs(names)
        body = used_lines(
            self.lines,
            {name for name, _ in self.results} | set(self.tensors.states.values()) | {"began"},
        )
        words = set(re.findall(r"[A-Za-z_][\w.]*", "\n".join(body)))
        self.tensors.keep(words)
        for number, (name, _) in enumerate(self.inputs):
            if name not in words:
                body.append(f"    _unused_{number} = {name}")
        return self._file(body)

    def _input(self, node, name):
        """A number that is given at each run is a tensor of one element."""
        value = node.meta["val"]
        if isinstance(value, torch.Tensor):
            self.scope.values[node] = name
            self.inputs.append((name, self._passed(value)))
            return
        dtype = {
            torch.SymInt: torch.int64,
            torch.SymFloat: torch.float64,
            torch.SymBool: torch.bool,
        }[type(value)]
        self.inputs.append((name, torch.empty((), dtype=dtype, device="meta")))
        if isinstance(value, torch.SymInt):
            symbol = value.node.expr
            self.sizes.names[symbol] = self.emit(f"dim_of({name}{self.limits(symbol)})", "number")
        else:
            self.scope.values[node] = name
            if isinstance(value, torch.SymFloat):
                self.scope.reals[value.node.expr] = name

    def limits(self, symbol):
        """ ", most=64, least=2" of a symbol's range."""
        found = self.source.ranges.get(symbol)
        most, least = (
            (_finite(found.upper), _finite(found.lower)) if found is not None else (None, None)
        )
        most, least = _LARGEST if most is None else most, -_LARGEST if least is None else least
        return f", most={most}" + (f", least={least}" if least else "")

    # Nodes.

    def run_nodes(self, graph):
        """Writes the nodes of a graph, whose values the scope gets."""
        for node in graph.nodes:
            if node.op == "call_function":
                self._name_module(node)
                self._call(node)
            elif node.op == "get_attr":
                self._attribute(node)

    def _name_module(self, node):
        """A comment with the module that the node comes from, where it is another one's."""
        stack = list((node.meta.get("nn_module_stack") or {}).values())
        path = str(stack[-1][0]) if stack else ""
        path = path if re.fullmatch(r"[\w.]*", path) else ""
        if path != self.module:
            self.module = path
            self.line(f"# module {path}".rstrip())

    def _attribute(self, node):
        found = operator.attrgetter(node.target)(self.scope.graph)
        if isinstance(found, torch.Tensor):
            self.scope.values[node] = self.constant(found.detach(), node.name)

    def _call(self, node):
        target = node.target
        if target is operator.getitem:
            self.scope.values[node] = self._part(node)
        elif is_check(node):
            if getattr(target, "_schema", None) and target._schema.name == "aten::_assert_scalar":
                self._check(node.args[0])
        elif isinstance(target, torch._ops.OpOverload):
            self._overload(node)
        elif isinstance(target, torch._ops.HigherOrderOperator):
            from .graphs.control import higher_order

            higher_order(self, node)
        # Python's and PyTorch's functions of sizes: the value of the node is the size.

    def _part(self, node):
        """One result of an op of several."""
        made, position = node.args
        held = self.scope.values.get(made)
        if not isinstance(held, list):
            return None
        if held[position] is None and any(not is_check(user) for user in node.users):
            raise ExportFailure(
                f"torch.ops.aten.{name_of(made.target)}: its result {position}, which dlc does not "
                f"give{_where(made)}",
                made,
            )
        return held[position]

    def _overload(self, node):
        schema = node.target._schema
        value = node.meta.get("val")
        if isinstance(value, (torch.SymInt, int)) and not node.meta.get("unbacked_bindings"):
            return  # a size
        if schema.name in ("aten::_local_scalar_dense", "aten::item"):
            self._item(node, value)
            return
        name = name_of(node.target)
        is_complex = pairs.takes_pairs(node)
        if name not in ROWS and not is_complex:
            raise ExportFailure(
                f"torch.ops.{schema.name.replace('::', '.')}.{node.target._overloadname}: {why_none(name)}{_where(node)}",
                node,
            )
        try:
            found = pairs.write(self, node) if is_complex else ROWS[name](Call(self, node))
        except ExportFailure as failure:
            raise ExportFailure(f"{failure}{_where(node)}", node) from None
        self.scope.values[node] = (
            found if isinstance(found, list) else self.emit(found, schema.name.split("::")[1])
        )
        self._bind(node, value)

    def _check(self, condition):
        """What the export assumed of sizes is checked by a run, unless their ranges show it."""
        value = condition.meta.get("val") if isinstance(condition, torch.fx.Node) else condition
        if not isinstance(value, torch.SymBool):
            return
        expr = value.node.expr
        # A run sees to the ranges of other symbols.
        ranges = {
            symbol: self.natural.get(symbol) or self.source.ranges.get(symbol)
            for symbol in expr.free_symbols
        }
        if is_sure(expr):
            return
        if None in ranges.values() or bound_sympy(expr, ranges).lower != sympy.true:
            self.checks += 1
            text = self.sizes.condition(expr)
            if expr.free_symbols & (self.read | set(self.natural)):
                size = f"scalar_tensor(derived({text}), dtype=i64)"
                text = f"dim_of({size}, most=1, least=1)"
            else:
                text = f"derived({text}, least=1)"
            self.line(f"_checked_{self.checks} = {text}")

    def _item(self, node, value):
        """A number that a tensor holds: a size that is read, or the tensor itself."""
        text = self.value(node.args[0])
        symbols = list(node.meta.get("unbacked_bindings") or {})
        if isinstance(value, torch.SymBool) and symbols:
            read = f"dim_of(to({text}, i64){self.limits(symbols[0])})"
            self.sizes.names[symbols[0]] = self.emit(read, "truth")
            self.read.add(symbols[0])
        elif isinstance(value, torch.SymInt):
            symbol = value.node.expr
            self.sizes.names[symbol] = self.emit(f"dim_of({text}{self.limits(symbol)})", "number")
            self.read.add(symbol)
        else:
            self.scope.values[node] = self.emit(f"reshape({text}, [])", "item")
            if isinstance(value, torch.SymFloat):
                name = self.emit(f"to({self.scope.values[node]}, f64)", "item")
                self.scope.reals[value.node.expr] = name

    def _bind(self, node, value):
        """Names the sizes that the data say of a result."""
        bindings = node.meta.get("unbacked_bindings") or {}
        held = self.scope.values[node]
        for symbol, path in bindings.items():
            if symbol in self.sizes.names:
                continue
            position, at = 0, value
            for key in path:
                if hasattr(key, "idx") and isinstance(at, (tuple, list)):
                    position, at = key.idx, at[key.idx]
            tensor = held[position] if isinstance(held, list) else held
            for dim, size in enumerate(at.shape):
                if not isinstance(size, int) and size.node.expr == symbol:
                    self.natural[symbol] = _counted_range(node)
                    self.sizes.names[symbol] = f"size({tensor}, {dim})"
                    break

    # The end.

    def _output_names(self):
        """Names of the outputs, in their order, which no other value gets."""
        kinds = [
            (kind, target)
            for kind, target, node in self.source.results
            if kind != "state" and isinstance(node, torch.fx.Node)
        ]
        shown = sum(kind == "output" for kind, _ in kinds)
        names = iter(
            self.outputs or (["output"] if shown == 1 else [f"output_{i}" for i in range(shown)])
        )
        return [
            self.fresh(
                next(names, "output") if kind == "output" else self.input_names[target] + "_after"
            )
            for kind, target in kinds
        ]

    def _outputs(self, names):
        """Gives states and outputs their values."""
        names = iter(names)
        for kind, target, node in self.source.results:
            if kind == "state":
                self.line(f"{self.tensors.states[target]} = {self.value(node)}")
            elif isinstance(node, torch.fx.Node):
                self._output(node, next(names))
        if self.tensors.begins:
            self.line("began = tensor(true)")

    def _output(self, node, name):
        value, text = node.meta["val"], self.value(node)
        if isinstance(value, (int, torch.SymInt)):
            value, text = (
                torch.empty((), dtype=torch.int64, device="meta"),
                f"scalar_tensor({text}, dtype=i64)",
            )
        elif not isinstance(value, torch.Tensor):
            value = torch.empty((), dtype=torch.float64, device="meta")
        if order := self.source.orders.get(node):
            value, text = value.permute(order), f"permute({text}, {order})"
        self.line(f"{name} = {text}")
        self.results.append((name, self._passed(value)))

    def _passed(self, value):
        """An input or a result as the caller passes it."""
        return pairs.pair_of(value) if self.source.takes_pairs else value

    def _port(self, name, value, is_input):
        def dim(size):
            if isinstance(size, int):
                return str(size)
            return self.sizes.text(size) if is_input else "?"

        return f"{name}: {dtype_text(value.dtype)}[{','.join(map(dim, value.shape))}]"

    def _file(self, body):
        lines = [
            "dl 1",
            *self._dims(),
            f"model {self.name} {{",
            *(f"  {text}" for _, text in self.tensors.declared),
        ]
        inputs = ", ".join(self._port(*port, True) for port in self.inputs)
        outputs = ", ".join(self._port(*port, False) for port in self.results)
        return "\n".join([*lines, f"  forward({inputs}) -> ({outputs}) {{", *body, "  }", "}", ""])

    def _dims(self):
        """The dims of the inputs: a name of several symbols has what all of their ranges allow."""
        limits = {}
        for symbol, name in self.sizes.names.items():
            if (
                str(symbol).startswith("s")
                and "." not in name
                and any(_mentions(value, symbol) for _, value in self.inputs)
            ):
                before, (least, most) = limits.get(name, (0, None)), self.range_of(symbol)
                most = min(filter(None, (before[1], most)), default=None)
                limits[name] = max(before[0], least), most
        for name, (least, most) in limits.items():
            yield self.dim_line(name, least, most)

    def range_of(self, symbol):
        """The least and the largest value of a symbol; None where that has no bound."""
        found = self.source.ranges.get(symbol)
        least = _finite(found.lower) if found is not None else None
        return 1 if least is None else least, _finite(found.upper) if found is not None else None

    @staticmethod
    def dim_line(name, least, most):
        """The declaration of a dim."""
        is_usual = least == 1 and most is None
        return f"dim {name}" + ("" if is_usual else f" = {least}..{most or _LONGEST}")


def _counted_range(node):
    """From none to all elements of an op's operands."""
    most = int_oo
    counts = [
        plain(value.numel())
        for argument in node.all_input_nodes
        if isinstance(value := argument.meta.get("val"), torch.Tensor)
    ]
    if counts and all(isinstance(count, int) for count in counts):
        most = max(counts)
    return ValueRanges(0, most)


def _mentions(value, symbol):
    return any(
        not isinstance(size, int) and symbol in size.node.expr.free_symbols for size in value.shape
    )


def _finite(bound):
    """A bound of a range as a number; None where it has none."""
    try:
        number = int(bound)
    except (TypeError, ValueError, OverflowError, AttributeError):
        return None
    return number if abs(number) < 2**31 else None


def _where(node):
    """ " (net.py:12: y = x.foo())", the line of the module that made the node."""
    trace = node.meta.get("stack_trace") or ""
    found = re.findall(r'File "([^"]+)", line (\d+), in \S+\n\s*(.*)', trace)
    return f" ({found[-1][0]}:{found[-1][1]}: {found[-1][2].strip()})" if found else ""
