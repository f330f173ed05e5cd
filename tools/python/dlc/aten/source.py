"""What a model is made from: a functional graph, what its placeholders and results are, and the
ranges of its sizes."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch


@dataclasses.dataclass
class Source:
    """`inputs`: for each placeholder that is an input of the model, its name; `weights`: for each
    that holds a tensor of the module, its name and that tensor; `results`: (kind, name, node) in
    order, where the kind is "output", "state" (the next value of the weight of that name) or
    "changed" (the input of that name after the run); `ranges`: by sympy symbol; `takes_pairs`:
    whether complex inputs and results are passed as pairs; `orders`: for results that the model gives
    with their dims in another order, that order."""

    graph_module: torch.fx.GraphModule
    inputs: dict[torch.fx.Node, str]
    weights: dict[torch.fx.Node, tuple[str, torch.Tensor]]
    results: list[tuple[str, str | None, Any]]
    ranges: dict[Any, Any]
    takes_pairs: bool = False
    orders: dict[torch.fx.Node, list[int]] = dataclasses.field(default_factory=dict)


def of_export(program, names, parts=None):
    """Of a functional torch.export.ExportedProgram; `names` are for its inputs, in their order;
    `parts` are other names for some weights."""
    from .failure import ExportFailure

    signature, names = program.graph_signature, iter(names)
    tensors = {**program.state_dict, **program.constants}
    specs = {spec.arg.name: spec for spec in signature.input_specs if hasattr(spec.arg, "name")}
    inputs, weights = {}, {}
    for node in program.graph.nodes:
        if node.op != "placeholder":
            continue
        spec = specs[node.name]
        kind = spec.kind.name
        if kind == "USER_INPUT":
            name = next(names, node.name)
            if node.meta.get("val") is not None and not isinstance(
                node.meta["val"], (int, float, bool, str)
            ):
                inputs[node] = name
        elif kind in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR"):
            name = (parts or {}).get(spec.target, spec.target)
            weights[node] = name, tensors[spec.target].detach()
        elif kind != "TOKEN":
            raise ExportFailure(f"an input of the kind {kind.lower()}, which dlc does not take")
    output = next(node for node in program.graph.nodes if node.op == "output")
    kinds = {
        "BUFFER_MUTATION": "state",
        "PARAMETER_MUTATION": "state",
        "USER_INPUT_MUTATION": "changed",
        "USER_OUTPUT": "output",
    }
    results = [
        (kinds[spec.kind.name], spec.target, node)
        for spec, node in zip(signature.output_specs, output.args[0])
        if spec.kind.name in kinds
    ]
    return Source(program.graph_module, inputs, weights, results, dict(program.range_constraints))
