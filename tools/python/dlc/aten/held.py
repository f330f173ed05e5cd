"""Tensors that a program of torch.export holds twice, or outside of a module.

A cache of transformers is no module: torch.export sees its tensors as constants, also where the
module has registered the same tensors as buffers. A constant that the program changes is a buffer,
and one that is a buffer of the module is that buffer."""

import contextlib

import torch


@contextlib.contextmanager
def unchanged(module):
    """Keeps the values of tensors with one element in objects that are no modules: while PyTorch
    exports a module it computes with such, and changes them."""
    found = {}
    for part in module.modules():
        own = {
            k: v for k, v in vars(part).items() if k not in ("_parameters", "_buffers", "_modules")
        }
        _find_numbers(own, found, _DEEPEST)
    values = [(tensor, tensor._version, tensor.detach().clone()) for tensor in found.values()]
    try:
        yield
    finally:
        with torch.no_grad():
            for tensor, version, value in values:
                if tensor._version != version:
                    tensor.copy_(value)


_DEEPEST = 6  # a cache holds a list of layers, each of which holds tensors


def _find_numbers(value, found, depth):
    """Adds to `found`, by identity, the tensors of one element in `value` and what it holds."""
    if isinstance(value, torch.Tensor):
        # PyTorch itself refuses to write a tensor of inference mode.
        if type(value) is torch.Tensor and value.numel() == 1 and not value.is_inference():
            found[id(value)] = value
        return
    if not depth or isinstance(value, (torch.nn.Module, type, str, bytes)) or callable(value):
        return
    if isinstance(value, dict):
        inner = list(value.values())
    elif isinstance(value, (list, tuple)):
        inner = value
    else:
        inner = list(getattr(value, "__dict__", {}).values())
    for one in inner:
        _find_numbers(one, found, depth - 1)


def adopt(program):
    """Makes each constant of a program the buffer or parameter that is the same tensor, or else a
    buffer of its own."""
    signature = program.graph_signature
    nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    owners, specs = {}, []
    for spec in signature.input_specs:
        if spec.kind.name in ("PARAMETER", "BUFFER"):
            owners.setdefault(id(_tensor(program, spec.target)), spec)
    for spec in signature.input_specs:
        if spec.kind.name == "CONSTANT_TENSOR":
            node = nodes[spec.arg.name]
            owner = owners.setdefault(id(_tensor(program, spec.target)), spec)
            if owner is not spec:
                node.replace_all_uses_with(nodes[owner.arg.name])
                program.graph.erase_node(node)
                program.constants.pop(spec.target)
                continue
            spec.kind, spec.persistent = type(spec.kind).BUFFER, False
        specs.append(spec)
    signature.input_specs[:] = specs
    program.graph_module.recompile()


def _tensor(program, target):
    tensors = program.state_dict if target in program.state_dict else program.constants
    return tensors[target]


@contextlib.contextmanager
def apart(program):
    """Gives each name of a program's tensors a tensor of its own for a while, as of tied weights:
    PyTorch 2.15 decomposes no program that has one twice and changes buffers. The added ones have
    no data: what is made of the program gets its own by the function that this yields."""
    seen, tied = set(), {}
    tensors = program.state_dict
    for name, tensor in tensors.items():
        if id(tensor) in seen:
            tied[name] = tensor
        seen.add(id(tensor))
    for name, tensor in tied.items():
        alone = torch.empty_like(tensor)
        is_parameter = isinstance(tensor, torch.nn.Parameter)
        tensors[name] = torch.nn.Parameter(alone, False) if is_parameter else alone

    def restore(made):
        made.state_dict.update(tied)
        return made

    try:
        yield restore
    finally:
        tensors.update(tied)
