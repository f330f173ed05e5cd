"""PyTorch's loops as those of the language: while_loop, scan, map and associative_scan."""

import re

import torch

from ..call import dtype_text
from .control import given_number, graph_of, op, uses
from ..failure import ExportFailure
from ..pairs import pair_of
from .subgraph import Operand, as_tensor, inside, operands_of, run, truth
from ..table import name_of

#: A loop of a known number of steps is written out where its steps have no more ops in all.
_WRITTEN_OUT = 128


@op("while_loop")
def _while(program, node):
    """The condition is asked of what is carried before the loop, and again after each step."""
    condition, body, carried, others = node.args
    condition, body = graph_of(program, condition), graph_of(program, body)
    others = operands_of(program, others)
    held = node.meta["val"]
    used = uses(node, len(held))
    names = _carried(program, carried, used)
    start = len(program.lines)
    asked = _asked(program, condition, names, others, 0)
    lines = program.lines[start:]
    is_short = not lines or len(lines) == 1 and lines[0].strip().startswith(f"{asked} = ")
    if is_short:
        asked = lines[0].partition(" = ")[2] if lines else asked
        del program.lines[start:]
    else:
        first, asked = asked, program.fresh("more")
        program.line(f"{asked} = {first}")
    program.line(f"while {asked} {{")
    with inside(program, body, 1):
        results = run(program, body, _operands(program, body, names) + others)
        _assign(program, names, [as_tensor(program, value) for value in results])
    if not is_short:
        found = _asked(program, condition, names, others, 1)
        program.line(f"  {asked} = {found}")
    program.line("}")
    return [
        given_number(program, value, name, is_used)
        for value, name, is_used in zip(held, names, used)
    ]


def _carried(program, values, used):
    """Names of what a loop carries, with their values from before it. Those that begin with "_" are
    for values that only the steps read, of which the language would warn."""
    names = []
    for value, is_used in zip(values, used):
        text = value.text if isinstance(value, Operand) else as_tensor(program, value)
        names.append(("" if is_used else "_") + program.fresh("carried"))
        program.line(f"{names[-1]} = {text}")
    return names


def _operands(program, graph, names):
    """Carried values as operands of the condition or the step. Numbers become dims, within the
    scope of the graph."""
    placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
    found = []
    for node, name in zip(placeholders, names):
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt):
            limits = program.limits(value.node.expr)
            found.append(Operand(program.emit(f"dim_of({name}{limits})", "number")))
        elif isinstance(value, torch.Tensor):
            found.append(Operand(name))
        else:
            raise ExportFailure(f"a loop that carries a {type(value).__name__}")
    return found


def _asked(program, condition, names, others, deeper):
    """The condition of a loop."""
    with inside(program, condition, deeper):
        results = run(program, condition, _operands(program, condition, names) + others)
        return truth(program, results[0])


def _assign(program, names, texts):
    """Gives what is carried its next values, all at once."""
    texts = list(texts)
    for position, text in enumerate(texts):
        if set(names[:position]) & set(re.findall(r"\w+", text)):
            texts[position] = program.fresh("next")
            program.line(f"{texts[position]} = {text}")
    for name, text in zip(names, texts):
        if name != text:
            program.line(f"{name} = {text}")


class _Steps:
    """The steps of a loop over the first dim of tensors. `values`: the tensors as operands."""

    def __init__(self, program, node, graph, values, first=0):
        self.program, self.node, self.graph = program, node, graph
        self.values, self.first = values, first
        self.length = values[0].held.shape[0]

    def is_written_out(self):
        ops = sum(node.op == "call_function" for node in self.graph.graph.nodes)
        return isinstance(self.length, int) and self.length * max(ops, 1) <= _WRITTEN_OUT

    def parts(self, index):
        """The operands of one step."""
        return [
            Operand(self.program.emit(f"{value.text}[{index}]", "part")) for value in self.values
        ]

    def header(self):
        """ "for i in 0..N {", and the name of the index."""
        index = self.program.fresh("i")
        end = self.program.size(self.length)
        if not re.fullmatch(r"[A-Za-z_]\w*", end):
            end = self.program.emit(f"scalar_tensor({end}, dtype=i64)", "steps")
        self.program.line(f"for {index} in {self.first}..{end} {{")
        return index


@op("scan")
def _scan(program, node):
    graph, init, values, others = node.args
    return _stepped(program, node, graph_of(program, graph), init, values, others)


@op("map_impl")
def _map(program, node):
    graph, values, others = node.args
    return _stepped(program, node, graph_of(program, graph), [], values, others)


def _stepped(program, node, graph, init, values, others):
    """The last of what is carried, and what each step gives, along a new first dim."""
    others = operands_of(program, others)
    steps = _Steps(program, node, graph, operands_of(program, values))
    held = node.meta["val"]
    used = uses(node, len(held))
    if steps.is_written_out():
        return _written_out(program, steps, init, others, used[len(init) :])
    names = _carried(program, init, used)
    rows = _rows(program, held[len(init) :], used[len(init) :])
    index = steps.header()
    with inside(program, graph, 1):
        carried = _operands(program, graph, names)
        results = run(program, graph, [*carried, *steps.parts(index), *others])
        for name, value in zip(rows, results[len(init) :]):
            if name:
                part = f"unsqueeze({program.value(value)}, 0)"
                program.line(f"{name} = update_slice({name}, 0, {index}, {part})")
        _assign(program, names, [as_tensor(program, value) for value in results[: len(init)]])
    program.line("}")
    return [*names, *rows]


def _rows(program, held, used):
    """Tensors that the steps of a loop write row by row."""
    found = []
    for value, is_used in zip(held, used):
        found.append(program.fresh("rows") if is_used else None)
        if is_used:
            value = pair_of(value)
            sizes = ", ".join(map(program.size, value.shape))
            program.line(f"{found[-1]} = zeros([{sizes}], dtype={dtype_text(value.dtype)})")
    return found


def _written_out(program, steps, init, others, used):
    """A loop of few steps, without the loop."""
    if not steps.length:
        raise ExportFailure("a loop of no steps")
    carried = operands_of(program, init)
    parts = [[] for _ in used]
    for index in range(steps.length):
        given = [*carried, *steps.parts(index), *others]
        with inside(program, steps.graph, 0):
            results = run(program, steps.graph, given)
            carried = operands_of(program, results[: len(init)])
            for found, value in zip(parts, results[len(init) :]):
                found.append(program.value(value))
    rows = [
        f"stack([{', '.join(texts)}], dim=0)" if is_used else None
        for texts, is_used in zip(parts, used)
    ]
    return [
        *(operand.text for operand in carried),
        *(program.emit(text, "rows") if text else None for text in rows),
    ]


@op("associative_scan")
def _associative_scan(program, node):
    """Step by step: the first row as it is, then each with what has been before."""
    graph, values, others = node.args
    graph, count = graph_of(program, graph), len(values)
    others, values = operands_of(program, others), operands_of(program, values)
    held, used = node.meta["val"], uses(node, count)
    short = {"add.Tensor": "cumsum", "mul.Tensor": "cumprod"}.get(_only_op(graph))
    if short and count == 1 and held[0].dtype.is_floating_point:
        return [program.emit(f"{short}({values[0].text}, 0)", short)]
    steps = _Steps(program, node, graph, values, first=1)
    rows, parts = _rows(program, held, used), steps.parts(0)
    names = _carried(program, parts, [False] * count)
    for value, row in zip(parts, rows):
        if row:
            program.line(f"{row} = update_slice({row}, 0, 0, unsqueeze({value.text}, 0))")
    index = steps.header()
    with inside(program, graph, 1):
        given = [*_operands(program, graph, names), *steps.parts(index), *others]
        texts = [as_tensor(program, value) for value in run(program, graph, given)]
        for row, text in zip(rows, texts):
            if row:
                part = f"unsqueeze({text}, 0)"
                program.line(f"{row} = update_slice({row}, 0, {index}, {part})")
        _assign(program, names, texts)
    program.line("}")
    return rows


def _only_op(graph):
    """ "mul.Tensor" of a graph that only gives this of its two arguments; None of others."""
    nodes = [node for node in graph.graph.nodes if node.op == "call_function"]
    placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
    is_plain = (
        len(nodes) == 1
        and isinstance(nodes[0].target, torch._ops.OpOverload)
        and list(nodes[0].args) == placeholders[:2]
        and not nodes[0].kwargs
    )
    return name_of(nodes[0].target) if is_plain else None
