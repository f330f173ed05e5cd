"""Typed values, scopes of nodes, what NumPy computes for them, and their ONNX file."""
import dataclasses
import os
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.append(os.path.join(ROOT, "test", "frontend", "onnx", "Inputs"))
import onnx_writer as writer  # noqa: E402

NUMPY = {"f32": np.float64, "i64": np.int64, "bool": np.bool_}
MOST_ELEMENTS, MOST_STEPS = 20000, 400
# Relative changes of real results in a noisy run.
NOISE = 2.0**-22


class TooLarge(Exception):
    """The generator does not use these inputs."""


@dataclasses.dataclass(frozen=True)
class Tensor:
    """`dims` are numbers and tokens: equal tokens are equal sizes. Elements are from `low` to
    `high`; `is_whole`: whole numbers or truth values, which f32 holds exactly."""
    dtype: str
    dims: tuple
    low: float
    high: float
    is_whole: bool = True

    @property
    def rank(self):
        return len(self.dims)


@dataclasses.dataclass(frozen=True)
class Listed:
    """A sequence of `least` or more tensors, of exactly `count` if that is known; dims that differ
    are None."""
    element: Tensor
    least: int
    count: int | None = None


@dataclasses.dataclass(frozen=True)
class Value:
    name: str
    type: Tensor | Listed


@dataclasses.dataclass
class Body:
    """The graph inside a node."""
    scope: "Scope"
    inputs: list
    outputs: list


@dataclasses.dataclass
class Node:
    op: str
    inputs: list  # of values; None: left out
    outputs: list
    attributes: dict
    compute: object  # (environment, node, *arrays) -> an array, or a tuple for several outputs

    def bodies(self):
        return [held for held in self.attributes.values() if isinstance(held, Body)]


class Scope:
    def __init__(self, model, outer=None):
        self.model, self.outer = model, outer
        self.depth = outer.depth + 1 if outer else 0
        self.values, self.nodes, self.constants = [], [], []

    def visible(self):
        return (self.outer.visible() if self.outer else []) + self.values

    def add(self, op, inputs, types, compute, **attributes):
        """A node; returns its value, or a list of values for a list of types."""
        several = isinstance(types, list)
        outputs = [Value(self.model.name("t"), type) for type in (types if several else [types])]
        node = Node(op, inputs, outputs, attributes, compute)
        if not node.bodies():
            node.compute = lambda _, __, *arrays: compute(*arrays)
        self.nodes.append(node)
        self.values += outputs
        return outputs if several else outputs[0]

    def constant(self, numbers, dtype="i64"):
        array = np.asarray(numbers, NUMPY[dtype])
        low, high = (float(array.min()), float(array.max())) if array.size else (0.0, 0.0)
        is_whole = dtype != "f32" or bool((array == np.round(array)).all())
        value = Value(self.model.name("c"), Tensor(dtype, array.shape, low, high, is_whole))
        self.constants.append((value, array))
        return value

    def run(self, environment):
        for value, array in self.constants:
            environment[value.name] = array
        for node in self.nodes:
            self.model.steps += 1
            arrays = [environment[value.name] if value else None for value in node.inputs]
            results = node.compute(environment, node, *arrays)
            results = results if len(node.outputs) > 1 else (results,)
            for value, result in zip(node.outputs, results, strict=True):
                environment[value.name] = self.checked(value, result)

    def checked(self, value, result):
        if isinstance(value.type, Listed):
            if len(result) > 40 or sum(array.size for array in result) > MOST_ELEMENTS:
                raise TooLarge
            return list(result)
        result = np.asarray(result).astype(NUMPY[value.type.dtype])
        if result.size > MOST_ELEMENTS or self.model.steps > MOST_STEPS:
            raise TooLarge
        static = [
            size for size, dim in zip(result.shape, value.type.dims, strict=True)
            if isinstance(dim, int) and dim != size
        ]
        assert not static, f"{value} has the shape {result.shape}"
        if self.model.noise is None:
            assert not result.size or value.type.low - 1e-3 <= result.min() and result.max(
            ) <= value.type.high + 1e-3, (f"{value} has {result.min()} to {result.max()}")
        elif not value.type.is_whole:
            result = result * (1 + NOISE * self.model.noise.choice([-1.0, 1.0], result.shape))
        return result

    def graph(self, inputs, outputs):
        """As a message of the wire format."""
        nodes = [self.node_bytes(number, node) for number, node in enumerate(self.nodes)]
        tensors = []
        for value, array in self.constants:
            numbers = array.ravel().tolist()
            raw = b"" if not numbers else None
            tensors.append(
                writer.tensor(value.name, value.type.dtype, array.shape, numbers, raw=raw))
        return writer.graph(nodes, inputs, [value.name for value in outputs], tensors)

    def node_bytes(self, number, node):
        attributes = {}
        for name, held in node.attributes.items():
            if isinstance(held, Body):
                held = "graph", held.scope.graph(
                    [self.model.declared(value) for value in held.inputs], held.outputs)
            attributes[name] = held
        names = [
            ",".join(value.name if value else "" for value in values)
            for values in (node.inputs, node.outputs)
        ]
        return writer.node(node.op, *names, name=f"{node.op}_{node.outputs[0].name}", **attributes)

    def prune(self, outputs):
        """Leaves the nodes that `outputs` need."""
        needed, nodes = {value.name for value in outputs}, []
        for node in reversed(self.nodes):
            if any(value.name in needed for value in node.outputs):
                nodes.append(node)
                needed |= read_names(node)
        self.nodes = nodes[::-1]
        self.constants = [entry for entry in self.constants if entry[0].name in needed]

    def text(self, indent=""):
        lines = [
            f"{indent}{value.name} = {array.tolist()} of {value.type.dtype}{list(array.shape)}"
            for value, array in self.constants
        ]
        for node in self.nodes:
            plain = {
                name: held for name, held in node.attributes.items() if not isinstance(held, Body)
            }
            words = ", ".join(value.name if value else "-" for value in node.inputs)
            lines.append(
                f"{indent}{', '.join(shown(value) for value in node.outputs)} = {node.op}({words}){plain or ''}"
            )
            for name, held in node.attributes.items():
                if isinstance(held, Body):
                    lines.append(f"{indent}  {name}({', '.join(map(shown, held.inputs))})")
                    lines += held.scope.text(indent + "    ")
                    lines.append(
                        f"{indent}    -> {', '.join(value.name for value in held.outputs)}")
        return lines


def shown(value):
    if isinstance(value.type, Listed):
        return f"{value.name}: sequence of {value.type.element.dtype}{list(value.type.element.dims)}"
    return f"{value.name}: {value.type.dtype}{list(value.type.dims)}"


class Model:
    """A graph under construction, and runs of it."""

    def __init__(self, random):
        self.random = random
        self.opset = random.choice([17, 18, 21])
        self.ranges = {}
        self.names = self.steps = 0
        self.noise = None
        self.inputs, self.outputs = [], []
        self.loose = set()  # outputs whose dims are open where they have no element
        self.main = Scope(self)

    def name(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def token(self, low, high):
        name = self.name("d")
        self.ranges[name] = (low, high)
        return name

    def range(self, dim):
        return self.ranges[dim] if isinstance(dim, str) else (dim, dim)

    def declared(self, value):
        """An input of a graph inside a node: with its rank and known dims, or without."""
        if isinstance(value.type, Listed):
            held = writer.field(1, writer.field(1, writer.DTYPES[value.type.element.dtype]))
            return writer.field(1, value.name) + writer.field(
                2, writer.field(4, writer.field(1, held)))
        dims = [dim if isinstance(dim, int) else None for dim in value.type.dims]
        return writer.value(value.name, value.type.dtype,
                            dims if zlib_even(value.name) or not dims else None)

    def file(self):
        inputs = [
            writer.value(value.name, value.type.dtype, value.type.dims) for value in self.inputs
        ]
        graph = self.main.graph(inputs, self.outputs)
        return writer.field(1, 8) + writer.field(8, writer.field(2, self.opset)) + writer.field(
            7, graph)

    def run(self, arrays, noise=None):
        """The outputs for the inputs `arrays`; `noise`: a generator of changes."""
        self.noise, self.steps = noise, 0
        environment = dict(zip([value.name for value in self.inputs], arrays))
        self.main.run(environment)
        return [environment[value.name] for value in self.outputs]

    def keep(self, outputs):
        """Leaves `outputs`, and the nodes of the main graph that they need."""
        self.outputs = outputs
        self.main.prune(outputs)

    def text(self):
        inputs = ", ".join(map(shown, self.inputs))
        return "\n".join([f"opset {self.opset}", f"inputs {inputs}", *self.main.text(),
                          f"outputs {', '.join(map(shown, self.outputs))}"])


def zlib_even(name):
    """A choice that a name makes, equal in each run."""
    return sum(map(ord, name)) % 2 == 0


def read_names(node):
    """The names that a node and the graphs inside it read."""
    names = {value.name for value in node.inputs if value}
    for body in node.bodies():
        names |= {value.name for value in body.outputs}
        for inner in body.scope.nodes:
            names |= read_names(inner)
    return names
