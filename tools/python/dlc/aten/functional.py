"""A program of torch.export without ops that write their operands, where little is to be done.

PyTorch's own way (run_decompositions) traces the program once more, which takes longer than the
export. It is needed for ops that the table has no row for, for graphs in graphs, and for what
writes inputs, buffers, or parts of a tensor that something else reads."""

import math
import operator

import torch

from .program import is_check
from .table import ROWS, name_of

#: Functions of numbers in graphs: Python's and PyTorch's.
_OF_SIZES = {
    function
    for module, start in ((operator, ""), (math, ""), (torch, "sym_"))
    for name, function in vars(module).items()
    if callable(function) and name.startswith(start) and not isinstance(function, type)
}


def make_functional(program):
    """Replaces ops in place by those that give a new tensor. Returns whether the program has rows
    for all of its ops and writes no tensor now; otherwise it is as it was."""
    graph = program.graph
    kinds = {node: _kind(node) for node in graph.nodes if node.op == "call_function"}
    if None in kinds.values():
        return False
    writes = [node for node, kind in kinds.items() if kind == "write"]
    same = {}  # of each result of a write the tensor that it is
    for node in writes:
        same[node] = same.get(node.args[0], node.args[0])
    place = {node: number for number, node in enumerate(graph.nodes)}
    sharing = {}  # the tensors of each memory
    for node in graph.nodes:
        sharing.setdefault(_memory(node), []).append(node)
    if not all(_is_alone(node, sharing[_memory(node.args[0])], same, place) for node in writes):
        return False
    latest = {}  # of each tensor that is written the value that it has by then
    for node in graph.nodes:
        for own in node.all_input_nodes:
            if (tensor := same.get(own, own)) in latest:
                node.replace_input_with(own, latest[tensor])
        if node in same:
            latest[same[node]] = node
            node.target = _functional_of(node)
    graph.eliminate_dead_code()
    program.graph_module.recompile()
    return True


def _kind(node):
    """Whether an op reads its operands alone ("read") or writes the first one ("write"); None where
    PyTorch must take it apart."""
    target = node.target
    if not isinstance(target, torch._ops.OpOverload):
        return "read" if target in _OF_SIZES else None
    if target is torch.ops.aten.sym_size.int or is_check(node):
        return "read"
    if target is torch.ops.aten.batch_norm.default and node.args[5] and node.args[3] is not None:
        return None  # it changes the running statistics, which its schema does not say
    if target._schema.is_mutable:
        return "write" if _functional_of(node) else None
    return "read" if name_of(target) in ROWS else None


def _functional_of(node):
    """The overload that computes what `node` writes, where the table has a row for it and the
    dtypes are those of the first operand, so that nothing is converted."""
    schema = node.target._schema
    namespace, _, name = schema.name.partition("::")
    written = [
        argument.alias_info is not None and argument.alias_info.is_write
        for argument in schema.arguments
    ]
    if namespace != "aten" or not name.endswith("_") or not written[0] or any(written[1:]):
        return None
    packet = getattr(torch.ops.aten, name[:-1], None)
    overload = getattr(packet, node.target._overloadname, None)
    dtype = node.args[0].meta["val"].dtype
    operands = [own.meta.get("val") for own in node.all_input_nodes]
    is_alike = all(value.dtype == dtype for value in operands if isinstance(value, torch.Tensor))
    return overload if overload and is_alike and name_of(overload) in ROWS else None


def _is_alone(write, sharing, same, place):
    """Whether no tensor of `sharing`, those that have the memory which `write` writes, was given to
    the program, and none but the written one is read after the write."""
    for node in sharing:
        if place[node] >= place[write]:
            continue
        if node.op != "call_function":
            return False
        is_read_later = any(place[user] > place[write] for user in node.users)
        if same.get(node, node) is not same[write] and is_read_later:
            return False
    return True


def _memory(node):
    """What stands for the memory of a tensor; None of other values."""
    value = node.meta.get("val")
    return value.untyped_storage()._cdata if isinstance(value, torch.Tensor) else None
