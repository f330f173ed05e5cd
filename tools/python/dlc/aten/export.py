"""From a torch.nn.Module to a .dl file and its weights, by torch.export."""

import contextlib
import io
import logging
import os
import re
import warnings

import torch
from torch._dynamo.exc import UserError
from torch._functorch import config as functorch
from torch.fx.experimental import _config as symbolic_config
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from torch.utils import _pytree as pytree
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges

from . import encoder, functional, held, kept, source, subclasses, weights
from .dynamic import AutoShapes, DynamicShapes
from .failure import CallFailure, ExportFailure
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
    table = {**torch._decomp.core_aten_decompositions(), **encoder.DECOMPOSITIONS}
    return {
        overload: function for overload, function in table.items() if name_of(overload) not in ROWS
    }


def exported_program(module, structure, shapes=None):
    """The functional program of a module; `structure`: of its arguments; `shapes`: a
    DynamicShapes. A module that is in training mode as a whole is exported in evaluation mode;
    parts that are in training mode below one that is not stay so."""
    subclasses.check(
        module, structure.labels, pytree.tree_leaves((structure.args, structure.named))
    )
    trained = [part for part in module.modules() if part.training]
    if module.training:
        module.eval()
    try:
        with warnings.catch_warnings(), _quiet(), torch.no_grad():
            warnings.simplefilter("ignore")
            with kept.whole(), held.unchanged(module), subclasses.packed(module):
                if shapes:
                    shapes.settle(
                        lambda: leaves_of(_traced(module, structure, shapes, _OF_NUMBERS))
                    )
                program = _traced(module, structure, shapes)
                structure.parts = subclasses.names_of_parts(module)
            return _decomposed(program)
    finally:
        for part in trained:  # one by one: some parts may have been in evaluation mode
            part.training = True


@contextlib.contextmanager
def _quiet():
    """Without what PyTorch logs of sizes that it decides by the example, which a run checks, and
    without the graphs that it prints where it decides none and is asked again."""
    logger = logging.getLogger("torch.fx.experimental.symbolic_shapes")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        logger.setLevel(level)


def _decomposed(program):
    held.adopt(program)
    if functional.make_functional(program):
        return program
    try:
        with held.apart(program) as restore:
            return restore(program.run_decompositions(decompositions()))
    except Exception as error:  # whatever PyTorch raises, among it assertions of its own
        raise ExportFailure(_explained(str(error))) from None


#: How torch.export is asked, one way after another: whether sizes of 0 and 1 are like others, and
#: whether the example decides where the data decide what the module's Python does. A run then
#: checks that its own data decide alike.
_WAYS = ((True, False), (False, False), (True, True), (False, True))
#: Those in which 0 and 1 are not like other sizes.
_OF_NUMBERS = tuple(way for way in _WAYS if not way[0])


def _traced(module, structure, shapes, ways=_WAYS):
    """torch.export's program, with the ranges of dims that PyTorch finds."""
    failures = []
    for is_oblivious, follows_example in ways:
        if follows_example and not any(
            isinstance(one, GuardOnDataDependentSymNode) for one in failures
        ):
            break
        try:
            program = _exported(module, structure, shapes, is_oblivious, follows_example)
            if shapes:
                shapes.takes_one = is_oblivious
            return program
        except (*_EXPORT_ERRORS, ExportFailure) as error:
            failures.append(error)
    shown = failures[min(1, len(failures) - 1)]
    raise shown if isinstance(shown, ExportFailure) else ExportFailure(_explained(str(shown)))


_EXPORT_ERRORS = (UserError, GuardOnDataDependentSymNode, RuntimeError, TypeError, ValueError)


def _exported(module, structure, shapes, is_oblivious, follows_example):
    """A program in one way, with ranges and steps of dims that PyTorch suggests."""
    if shapes:
        shapes.forget()
    for _ in range(4):
        try:
            with _oblivious(is_oblivious), functorch.patch(
                fake_tensor_propagate_real_tensors=follows_example
            ):
                return torch.export.export(
                    module,
                    structure.args,
                    structure.named,
                    dynamic_shapes=shapes and shapes.of_parameters(),
                    strict=False,
                )
        except UserError as error:
            if not shapes or not shapes.narrow(str(error)):
                raise
    raise ExportFailure("PyTorch finds no range of the dims that the module can keep")


def _oblivious(is_so):
    if is_so and hasattr(symbolic_config, "backed_size_oblivious"):
        return symbolic_config.patch(backed_size_oblivious=True)
    return contextlib.nullcontext()


def _explained(message):
    """PyTorch's message without its advice on PyTorch's own options."""
    lines = [
        line for line in message.splitlines() if line.strip() and not re.search(
            r"TORCH_LOGS|TORCHDYNAMO|draft_export|docs\.google|Suggested fixes|For more information|extended logs|C\+\+ stack",
            line,
        )
    ]
    return "PyTorch cannot export the module: " + "\n".join(lines[:12])


def symbols_of(program, shapes):
    """The names of dims by sympy symbol, as the caller chose them."""
    values = leaves_of(program)
    found = shapes.symbols(values) if shapes else {}
    for value in values:
        for size in value.shape if isinstance(value, torch.Tensor) else ():
            for symbol in size.node.expr.free_symbols if not isinstance(size, int) else ():
                found.setdefault(symbol, str(symbol))
    return found


def leaves_of(program):
    """The fake tensors, numbers and constants that are the arguments of a program."""
    placeholders = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    users = [
        placeholders.get(spec.arg.name)
        for spec in program.graph_signature.input_specs
        if spec.kind.name == "USER_INPUT"
    ]
    return [node.meta.get("val") if node is not None else None for node in users]


def _take_one(ranges):
    """Lets sizes be once their factor, as 4 of 4*s: PyTorch lets s begin at 2 whatever the range of
    4*s is, also if it takes 1 as any other size."""
    for expr, found in list(ranges.items()):
        factor, rest = expr.as_coeff_Mul()
        if rest.is_Symbol and factor > 1 and found.lower <= factor and ranges[rest].lower == 2:
            ranges[rest] = ValueRanges(1, ranges[rest].upper)


def write(module, example, folder, outputs=None, dynamic=None, keeps_states=True, names=None):
    """Writes NAME.dl and NAME.safetensors of a module into `folder`. The path of the first, and the
    Structure of its arguments and results. `names` are those of the inputs, by place; without them
    they are those of forward's parameters."""
    structure = Structure(module, example)
    shapes = None
    if dynamic:
        if isinstance(dynamic, str) and dynamic != "auto":
            raise CallFailure(
                f'dynamic is {dynamic!r}; expected "auto", or names of dims: {{"x": {{0: "N"}}}}'
            )
        shapes = AutoShapes(structure) if dynamic == "auto" else DynamicShapes(structure, dynamic)
    program = exported_program(module, structure, shapes)
    structure.of_results(program)
    name = re.sub(r"\W", "_", type(module).__name__)
    results = [*(outputs or ()), *structure.outputs[len(outputs or ()) :]]
    symbols = symbols_of(program, shapes)
    found = source.of_export(program, names or structure.labels, structure.parts)
    for symbol, dim in symbols.items():
        if symbol in found.ranges and not (shapes and dim in shapes.empty):
            # PyTorch has no opinion of empty tensors; one may be passed where the example has one.
            found.ranges[symbol] &= ValueRanges(1, int_oo)
    if shapes and shapes.takes_one:
        _take_one(found.ranges)
    made = Program(found, name, results, symbols, keeps_states)
    text = made.text()
    structure.remark = shapes.remark() if dynamic == "auto" else None
    structure.states = dict(made.tensors.states)
    structure.targets = {name: made.tensors.targets[name] for name in made.weights
                         if name in made.tensors.targets}
    structure.buffers = {
        name: tensor.clone() if tensor.any() else tensor.new_zeros(()).expand(tensor.shape)
        for name, tensor in made.tensors.buffers.items()
    }
    structure.changed = [made.input_names[target] for target in structure.changed]
    path = os.path.join(folder, name + ".dl")
    if made.weights:
        weights.write(os.path.join(folder, name + ".safetensors"), made.weights)
        text += f'weights "{name}.safetensors"\n'
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    return path, structure
