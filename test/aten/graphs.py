"""The functional graphs that PyTorch makes of samples: torch.export's, and AOTAutograd's."""

import functools
import warnings

import torch
from torch._functorch.aot_autograd import aot_export_module
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from dlc.aten import export, kept
from dlc.aten.program import Program
from dlc.aten.source import Source, of_export
from dlc.aten.table import name_of

WAYS = ("export", "aot")


@functools.cache
def _table(way):
    if way == "aot":
        return export.decompositions_of_aot()
    return dict(export.decompositions().items())


class CannotTrace(Exception):
    """PyTorch itself makes no graph of a sample."""


class Joined(torch.nn.Module):
    """Several samples as one module, whose results are those of all."""

    def __init__(self, samples):
        super().__init__()
        self.samples = samples

    def forward(self, *tensors):
        found, begin = [], 0
        for sample in self.samples:
            end = begin + len(sample.tensors)
            found += sample(tensors[begin:end])
            begin = end
        return tuple(found)


def _exported(samples):
    module, tensors = Joined(samples).eval(), _tensors(samples)
    with torch.no_grad(), kept.whole():
        program = torch.export.export(module, tuple(tensors), strict=False)
    program = program.run_decompositions(dict(_table("export")))
    names = [f"x{number}" for number in range(len(tensors))]
    return of_export(program, names)


def _of_aot(samples):
    """As AOTAutograd makes it: ops that are composed of others are taken apart."""
    mode = FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True, static_shapes=True)
    with torch.no_grad(), mode:
        tensors = [mode.from_tensor(x, static_shapes=True) for x in _tensors(samples)]
        graph, signature = aot_export_module(
            Joined(samples),
            tensors,
            trace_joint=False,
            decompositions=_table("aot"),
        )
    # Tokens, which keep effects in order, come first.
    nodes = [node for node in graph.graph.nodes if node.op == "placeholder"]
    nodes = nodes[len(signature.input_tokens) :]
    output = next(node for node in graph.graph.nodes if node.op == "output").args[0]
    output = output[len(signature.output_tokens) :]
    return Source(
        graph,
        {node: f"x{number}" for number, node in enumerate(nodes)},
        {},
        [("output", None, node) for node in output],
        dict(mode.shape_env.var_to_range),
    )


def _tensors(samples):
    return [x.clone() for sample in samples for x in sample.tensors]


def source_of(samples, way):
    """The Source of the samples together. CannotTrace where PyTorch makes none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _exported(samples) if way == "export" else _of_aot(samples)
        except Exception as error:
            text = str(error).strip().splitlines() or [""]
            raise CannotTrace(f"{type(error).__name__}: {text[0][:160]}") from None


def overloads_of(source):
    """The names of the overloads that a graph calls, in order."""
    return list(
        dict.fromkeys(
            name_of(node.target)
            for node in source.graph_module.graph.nodes
            if isinstance(node.target, torch._ops.OpOverload)
        )
    )


def program_of(source):
    """The text of the graph and its Program. ExportFailure where a row is missing or refuses."""
    names = [f"y{number}" for number in range(len(source.results))]
    program = Program(source, "Samples", names, {})
    return program.text(), program
