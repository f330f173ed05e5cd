"""The parts of a step of training as compiled models: `dlc grad`, `dlc compile`, dlc.load."""
from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..compiler import run_tool
from ..model import Model, Value, load
from .tensors import read_safetensors

if TYPE_CHECKING:
    Arrays = dict[str, np.ndarray]


class Source(NamedTuple):
    """What `dlc grad` reads."""

    path: str  #: .dl or .onnx
    loss: str
    metrics: Sequence[str]
    optimizer: str
    trained: Sequence[str]  #: globs over the names of weights; none: all
    options: Sequence[str]  #: others of the command line
    name: str  #: of the model in messages; empty: its path


class Place(NamedTuple):
    """Where programs run."""

    device: str
    target: str
    precision: str | None
    load_options: Mapping[str, Any]


class Program(NamedTuple):
    model: Model
    first: Arrays  #: what the weights begin with, by name


def _arguments(source: Source, part: str) -> list[str]:
    found = ["grad", source.path, "--loss", source.loss, "--optimizer", source.optimizer]
    for metric in source.metrics:
        found += ["--metric", metric]
    for pattern in source.trained:
        found += ["--train", pattern]
    return [*found, *source.options, "--part", part]


def compiled(source: Source, place: Place, part: str) -> Program:
    """A part of the step, as `dlc grad --part` names it."""
    rename = {source.path: source.name} if source.name else {}
    with tempfile.TemporaryDirectory(prefix="dlc-") as folder:
        ir, package, states = (os.path.join(folder, name)
                               for name in ("step.mlir", "step.bin", "states.safetensors"))
        run_tool([*_arguments(source, part), "-o", ir, "--first-states", states], rename)
        precision = ["--precision", place.precision] if place.precision else []
        run_tool(["compile", ir, "--compile-from=import", "-q", "-o", package, "--target",
                  place.target, *precision], rename)
        return Program(load(package, device=place.device, **place.load_options),
                       read_safetensors(states))


def run(model: Model, arrays: Sequence[Any]) -> tuple[float, ...]:
    """The loss and the metrics."""
    found = Model.__call__(model, *arrays)
    return tuple(map(float, found if isinstance(found, tuple) else (found, )))


def _states(model: Model) -> Arrays:
    return {value.name: np.array(model.state(value.name)) for value in model.states}


class WholeStep:
    """Forward, backward and update are one program, whose states are the weights."""

    def __init__(self, program: Program) -> None:
        self.model, self._names = program.model, list(program.first)
        for name, value in program.first.items():
            self.model.set_state(name, value)

    @property
    def inputs(self) -> tuple[Value, ...]:
        return self.model.inputs

    def run(self, arrays: Sequence[Any], weight: float) -> tuple[float, ...]:
        return run(self.model, arrays)

    def weights(self) -> Arrays:
        return {name: self.model.state(name) for name in self._names}

    def states(self) -> Arrays:
        return _states(self.model)

    def set_states(self, states: Mapping[str, np.ndarray]) -> None:
        for value in self.model.states:
            self.model.set_state(value.name, states[value.name])


class SplitStep:
    """Between gradients and update, all gradients are given to `average` as one flat array of f32,
    which it changes in place."""

    def __init__(self, gradients: Program, update: Program,
                 average: Callable[[np.ndarray], object]) -> None:
        self.model, self._update, self._average = gradients.model, update.model, average
        self._weights = {name: np.array(value) for name, value in gradients.first.items()}
        self._spare = {name: np.empty_like(value) for name, value in self._weights.items()}
        lines = 16  # numbers in a line of the cache: each gradient begins one
        sizes = {name: -(-value.size // lines) * lines for name, value in self._weights.items()}
        self._flat = np.zeros(sum(sizes.values()), np.float32)
        self._gradients: Arrays = {}
        place = 0
        for name, value in self._weights.items():
            self._gradients[name + ".grad"] = self._flat[place:place + value.size].reshape(
                value.shape)
            place += sizes[name]

    @property
    def inputs(self) -> tuple[Value, ...]:
        return self.model.inputs[:len(self.model.inputs) - len(self._weights)]

    def run(self, arrays: Sequence[Any], weight: float) -> tuple[float, ...]:
        """The gradients are multiplied by `weight` before they are averaged."""
        given = {value.name: np.asarray(array) for value, array in zip(self.inputs, arrays)}
        found = self.model.run({**given, **self._weights}, self._gradients)
        if weight != 1:
            self._flat *= weight
        self._average(self._flat)
        self._update.run({**self._gradients, **self._weights},
                         {name + ".next": value for name, value in self._spare.items()})
        self._weights, self._spare = self._spare, self._weights
        return tuple(float(value) for name, value in found.items() if name not in self._gradients)

    def weights(self) -> Arrays:
        return dict(self._weights)

    def states(self) -> Arrays:
        return {**_states(self.model), **_states(self._update),
                **{name: np.array(value) for name, value in self._weights.items()}}

    def set_states(self, states: Mapping[str, np.ndarray]) -> None:
        for model in (self.model, self._update):
            for value in model.states:
                model.set_state(value.name, states[value.name])
        for name, value in self._weights.items():
            value[...] = states[name]
