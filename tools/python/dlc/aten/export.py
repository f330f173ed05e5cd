"""From a torch.nn.Module to a .dl file and its weights, by torch.export."""

import os
import re
import warnings

import torch
from torch.utils import _pytree as pytree

from . import kept, source, weights
from .failure import ExportFailure
from .program import Program
from .structure import Structure
from .table import ROWS, name_of


def decompositions():
    """PyTorch's decompositions of ops that the table has no row for."""
    table = torch.export.default_decompositions()
    for overload in list(table.keys()):
        if isinstance(overload, torch._ops.OpOverload) and name_of(overload) in ROWS:
            del table[overload]
    return table


def decompositions_of_aot():
    """The same for AOTAutograd."""
    table = torch._decomp.core_aten_decompositions()
    return {
        overload: function for overload, function in table.items() if name_of(overload) not in ROWS
    }


def exported_program(module, structure, shapes=None):
    """The functional program of a module in evaluation mode; `structure`: of its arguments;
    `shapes`: a DynamicShapes."""
    was_training = module.training
    module.eval()
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            with kept.whole():
                program = _traced(module, structure, shapes)
            return program.run_decompositions(decompositions())
    finally:
        module.train(was_training)


def _traced(module, structure, shapes):
    """torch.export's program, with the ranges of dims that PyTorch finds."""
    for _ in range(4):
        try:
            return torch.export.export(
                module,
                structure.args,
                structure.named,
                dynamic_shapes=shapes and shapes.of_inputs(),
                strict=False,
            )
        except torch._dynamo.exc.UserError as error:
            if not shapes or not shapes.narrow(str(error)):
                raise ExportFailure(_explained(str(error))) from None
        except (
            torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode,
            RuntimeError,
            TypeError,
            ValueError,
        ) as error:
            raise ExportFailure(_explained(str(error))) from None
    raise ExportFailure("PyTorch finds no range of the dims that the module can keep")


def _explained(message):
    """PyTorch's message without its advice on PyTorch's own options."""
    lines = [
        line
        for line in message.splitlines()
        if line.strip()
        and not re.search(
            r"TORCH_LOGS|TORCHDYNAMO|draft_export|docs\.google|Suggested fixes|For more information|extended logs|C\+\+ stack",
            line,
        )
    ]
    return "PyTorch cannot export the module: " + "\n".join(lines[:12])


class DynamicShapes:
    """The dims of arguments that may change, as the caller names them: {"x": {0: "N"}}."""

    def __init__(self, structure, dynamic):
        self.structure, self.dynamic, self.limits, self.factors, self.named = (
            structure,
            dynamic,
            {},
            {},
            [],
        )

    def of_inputs(self):
        """What torch.export takes."""
        dims = {}

        def made(symbol):
            if symbol not in dims:
                name, factor = (
                    ("_" + symbol, self.factors[symbol]) if symbol in self.factors else (symbol, 1)
                )
                least, most = self.limits.get(name, (None, None))
                dims[symbol] = torch.export.Dim(name, min=least, max=most)
                dims[symbol] = factor * dims[symbol] if factor != 1 else dims[symbol]
            return dims[symbol]

        return self.structure.shapes(self.dynamic, made)

    def widen(self):
        """PyTorch takes a size of 0 or 1 for a number: such examples get 2."""
        leaves, spec = pytree.tree_flatten((self.structure.args, self.structure.named))
        for position, dims in enumerate(self.by_leaf(len(leaves))):
            for dim in dims:
                size = leaves[position].shape[dim]
                if size < 2:
                    shape = list(leaves[position].shape)
                    shape[dim] = 2
                    leaves[position] = (
                        leaves[position].expand(shape).clone()
                        if size
                        else leaves[position].new_zeros(shape)
                    )
        self.structure.args, self.structure.named = pytree.tree_unflatten(leaves, spec)

    def by_leaf(self, count):
        """The symbols of each leaf of the arguments: {0: "N"}."""

        class Named(str):
            pass

        tree = self.structure.shapes(self.dynamic, Named)
        values = list(tree.values()) if isinstance(tree, dict) else list(tree)
        found = []

        def collect(value, dims):
            if isinstance(value, (tuple, list)):
                for part, held in zip(value, dims or [None] * len(value)):
                    collect(part, held)
            elif isinstance(value, dict):
                for key, part in value.items():
                    collect(part, (dims or {}).get(key))
            else:
                found.extend([dims or {}] * len(pytree.tree_leaves(value) or [None]))

        for value, dims in zip((*self.structure.args, *self.structure.named.values()), values):
            collect(value, dims)
        return found

    def narrow(self, message):
        """Takes the ranges and steps that PyTorch suggests; whether there are some, and none of
        them is a number."""
        _, _, fixes = message.partition("Suggested fixes:")
        found = False
        for name, text in re.findall(r"^\s*(\w+) = (.+)$", fixes, re.M):
            limits = re.fullmatch(r"Dim\('\w+'(?:, min=(\d+))?(?:, max=(\d+))?\)", text.strip())
            factor = re.fullmatch(r"(\d+)\*_(\w+)", text.strip())
            if limits:
                self.limits[name] = tuple(
                    int(limit) if limit else None for limit in limits.groups()
                )
            elif factor and factor[2] == name:
                self.factors[name] = int(factor[1])
            elif re.fullmatch(r"\d+", text.strip()):
                raise ExportFailure(
                    f"PyTorch cannot keep {name} dynamic: the module needs it to be {text.strip()}"
                )
            found = True
        return found


def symbols_of(program, structure, shapes):
    """The names of dims by sympy symbol, as the caller chose them."""
    found, names = {}, {}
    placeholders = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    users = [
        placeholders.get(spec.arg.name)
        for spec in program.graph_signature.input_specs
        if spec.kind.name == "USER_INPUT"
    ]
    values = [node.meta.get("val") if node is not None else None for node in users]
    wanted = pytree.tree_flatten((structure.args, structure.named))[0]
    for value, dims in zip(values, shapes.by_leaf(len(wanted)) if shapes else [{}] * len(wanted)):
        for dim, symbol in dims.items():
            size = value.shape[dim]
            if isinstance(size, int):
                raise ExportFailure(
                    f"PyTorch made {symbol} the number {size}: the module needs it to be so"
                )
            if size.node.expr.is_Symbol:
                found[size.node.expr] = symbol
    for value in values:
        for size in value.shape if isinstance(value, torch.Tensor) else ():
            for symbol in size.node.expr.free_symbols if not isinstance(size, int) else ():
                found.setdefault(symbol, str(symbol))
    return found


def write(module, example, folder, outputs=None, dynamic=None, keeps_states=True):
    """Writes NAME.dl and NAME.safetensors of a module into `folder`. The path of the first, and the
    Structure of its arguments and results."""
    structure = Structure(module, example)
    shapes = DynamicShapes(structure, dynamic) if dynamic else None
    if shapes:
        shapes.widen()
    program = exported_program(module, structure, shapes)
    structure.of_results(program)
    name = re.sub(r"\W", "_", type(module).__name__)
    names = [*(outputs or ()), *structure.outputs[len(outputs or ()) :]]
    made = Program(
        source.of_export(program, structure.labels),
        name,
        names,
        symbols_of(program, structure, shapes),
        keeps_states,
    )
    text = made.text()
    structure.changed = [made.input_names[target] for target in structure.changed]
    path = os.path.join(folder, name + ".dl")
    if made.weights:
        weights.write(os.path.join(folder, name + ".safetensors"), made.weights)
        text += f'weights "{name}.safetensors"\n'
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    return path, structure
