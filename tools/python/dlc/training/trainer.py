"""The loop of training: epochs, validation, progress, the history."""
from __future__ import annotations

import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import Code, Error
from ..model import Model
from .batches import Samples, as_input, batches_of, leaves_of
from .program import Place, Program, SplitStep, WholeStep, compiled, run
from .tensors import read_metadata, read_safetensors, write_safetensors


def _source(net: Any, loss: Any, optimizer: Any, metrics: Any, train: Sequence[str],
            options: Sequence[str], dynamic: bool, folder: str) -> Any:
    named = metrics
    if isinstance(metrics, (list, tuple)):
        named = {
            one.split("(")[0] if isinstance(one, str) else getattr(one, "__name__",
                                                                  type(one).__name__): one
            for one in metrics
        }
    if "torch" in sys.modules and isinstance(net, sys.modules["torch"].nn.Module):
        from .module import ModuleSource
        return ModuleSource(net, loss, optimizer, named or {}, train, options, dynamic)
    if "keras" in sys.modules and isinstance(net, sys.modules["keras"].Model):
        from .keras_model import KerasSource
        return KerasSource(net, loss, optimizer, named, train, options, folder)
    if isinstance(net, (str, os.PathLike)):
        from .model_file import FileSource
        return FileSource(os.fspath(net), loss, optimizer, named or {}, train, options)
    raise Error(f"cannot train a {type(net).__name__}; expected a torch.nn.Module, a keras.Model or the path of a .dl or "
                ".onnx file", Code.USAGE)


class Trainer:
    """Trains a model. The step of training, forward, backward and update, is one compiled program,
    which the first batch makes.

    net          a torch.nn.Module, a keras.Model, or the path of a .dl or .onnx file
    loss         what becomes small: for a module, a function of its result and the targets such as
                 torch.nn.functional.cross_entropy, or a torch.nn loss; without one, the module's
                 result is the loss, or has it as `.loss`. For a Keras model, that of its compile().
                 For all, a text of dlc: "cross_entropy(logits, labels)"
    optimizer    a new torch.optim.Optimizer of the module; for a Keras model, that of its
                 compile(); for all, a text as `dlc train --optimizer` takes it: "AdamW(lr=1e-3)".
                 Default: SGD(lr=0.001)
    metrics      what is shown besides the loss: a list, or a dict by names, of what `loss` takes
    train        globs over the names of weights that are trained; default: all that the module or
                 the model trains
    device       "cpu", "cuda", "cuda:1", or "auto": cuda where it is usable
    threads      of the CPU; 0: one for each core that this process may use
    precision    "f16" or "bf16": values between layers in 16 bits; weights stay in f32, and for f16
                 the loss is scaled as by torch.amp.GradScaler
    seed         of the order of samples, of dropout, and of weights that are drawn
    clip_norm    the most that the norm of all gradients together may be
    clip_value   the most that a number of a gradient may be
    average      for several processes: a function that is given the gradients of each step, one
                 flat array of f32 in NumPy's memory, and averages them over the processes in place
    dynamic      False: a module's step takes batches of one size alone, that of the first
    options      other arguments of `dlc grad`, such as ["--weights", "first.safetensors"]

    A module in training mode is trained with the modes that its parts have: a batch norm on which
    eval() was called keeps its statistics. `fit` puts the trained weights into the module or Keras
    model. Raises dlc.CompileError as dlc.compile does, and dlc.Error for wrong arguments."""

    def __init__(self, net: Any, loss: Any = None, optimizer: Any = None, *, metrics: Any = None,
                 train: str | Sequence[str] = (), device: str = "auto", threads: int = 0,
                 precision: str | None = None, seed: int = 0, clip_norm: float | None = None,
                 clip_value: float | None = None,
                 average: Callable[[np.ndarray], object] | None = None, dynamic: bool = True,
                 options: Sequence[str] = ()) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="dlc-train-")
        more = [*map(str, options), "--seed", str(seed)]
        for flag, value in (("--clip-norm", clip_norm), ("--clip-value", clip_value)):
            if value is not None:
                more += [flag, repr(float(value))]
        if precision == "f16":
            more.append("--scale-loss")
        self._source = _source(net, loss, optimizer, metrics,
                               [train] if isinstance(train, str) else list(train), more, dynamic,
                               self._folder.name)
        has_gpu = device.startswith("cuda") or device == "auto" and os.access("/dev/nvidiactl",
                                                                              os.R_OK)
        self._place = Place(device, "cuda" if has_gpu else "cpu", precision, {"threads": threads})
        if average is not None and (precision == "f16" or self._place.target != "cpu"):
            raise Error("average needs the CPU, and f32 or bf16", Code.USAGE)
        self._seed, self._average = seed, average
        self._step: WholeStep | SplitStep | None = None
        self._evaluation: Program | None = None
        self._order = np.random.default_rng(seed)
        self._compiling = 0.0  # seconds so far
        #: the loss and the metrics of the last step
        self.metrics: dict[str, float] = {}
        #: of all epochs: the loss, the metrics and those of validation, by name
        self.history: dict[str, list[float]] = {}

    def step(self, x: Any, y: Any = None) -> float:
        """One step of training with a batch: x is an array, or a tuple or dict of arrays by the
        arguments of the model, and y the targets. Returns the loss before the update; `metrics`
        has all that was computed."""
        return self._take_step(x, y, 1.0)

    def _take_step(self, x: Any, y: Any, weight: float) -> float:
        if self._step is None:
            self._begin(x, y)
        assert self._step is not None
        step = self._step
        self.metrics = self._named(step.run(self._inputs(step.inputs, x, y), weight))
        return self.metrics["loss"]

    def fit(self, x: Any, y: Any = None, *, epochs: int = 1, batch_size: int = 64,
            validation_data: Any = None, shuffle: bool = True, verbose: bool = True,
            checkpoint: str | os.PathLike[str] | None = None, saves: bool = True,
            share: tuple[int, int] = (0, 1)) -> dict[str, list[float]]:
        """Trains in epochs, in each of which each sample is seen once, and puts the weights into
        the module or Keras model.

        x, y             the samples: arrays with a row for each, or trees of such; or x is an
                         iterable of batches (x, y), such as PyTorch's DataLoader
        batch_size       rows of a step; the last of an epoch has the rest
        validation_data  (x, y), or an iterable of batches: their loss and metrics are computed
                         after each epoch
        verbose          print a line after each epoch
        checkpoint       a safetensors file of all that training changes, written after each epoch.
                         If it exists, training goes on from it, with the bits of a run that was
                         not interrupted; `epochs` then counts those before it, too
        saves            False: another process writes the checkpoint
        share            (rank, processes): of several processes, this one takes as many of the rows
                         of each batch, beginning with that of its rank

        Returns the history: a list with a number for each epoch, by name ("loss", "val_loss").
        Ctrl-C puts the weights so far into the module, and is raised. After an error, such as a
        loss that is NaN, the module is as it was."""
        batches = batches_of(x, y, batch_size, share)
        validation = None
        if validation_data is not None:
            held, labels = (validation_data if isinstance(validation_data, (tuple, list))
                            and len(validation_data) == 2 else (validation_data, None))
            validation = batches_of(held, labels, batch_size)
        path = None if checkpoint is None else os.fspath(checkpoint)
        done = 0
        try:
            if path and os.path.exists(path):
                done = self._resume(path, next(iter(batches.in_order(None))))
            for epoch in range(done + 1, epochs + 1):
                self._epoch(batches, validation, shuffle, f"epoch {epoch}/{epochs}" if verbose else
                            "")
                if path and saves:
                    self._save_checkpoint(path, epoch)
        except KeyboardInterrupt:
            if self._step is not None:
                self.put_back()
            raise
        if self._step is not None:
            self.put_back()
        return self.history

    def evaluate(self, x: Any, y: Any = None, *, batch_size: int = 64) -> dict[str, float]:
        """The loss and the metrics of inference, with the weights as they are now."""
        return self._evaluated(batches_of(x, y, batch_size))

    def state_dict(self) -> dict[str, Any]:
        """The trained weights, and the buffers that training changed, by the names that they have
        in the model; of PyTorch if the model is."""
        found = {self._source.own_name(name): value for name, value in self._values().items()}
        return self._source.as_results({name: found[name] for name in found if name is not None})

    def put_back(self) -> None:
        """Puts the weights into the module or Keras model. `fit` does so, `step` does not."""
        self._source.put_back({name: value for name, value in self._values().items()
                               if self._source.own_name(name) is not None})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the trained weights to a safetensors file, which `dlc compile --weights` reads."""
        write_safetensors(os.fspath(path), {
            name: np.asarray(value) for name, value in self.state_dict().items()})

    @property
    def model(self) -> Model:
        """The compiled step. There is none before the first batch."""
        if self._step is None:
            raise Error("there is no step before the first batch; call step or fit", Code.USAGE)
        return self._step.model

    def _begin(self, x: Any, y: Any) -> None:
        begin = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="dlc-") as folder:
            source = self._source.of_step(x, y, folder)
            parts = ["step"] if self._average is None else ["gradients", "update"]
            made = [compiled(source, self._place, part) for part in parts]
        made[0] = Program(self._source.adopt(made[0].model), made[0].first)
        self._step = (WholeStep(made[0]) if self._average is None else
                      SplitStep(made[0], made[1], self._average))
        if any(state.name == "generator" for state in made[0].model.states):
            made[0].model.manual_seed(self._seed)
        self._compiling += time.perf_counter() - begin

    def _save_checkpoint(self, path: str, epochs: int) -> None:
        assert self._step is not None
        place = {"epochs": epochs, "history": self.history,
                 "order": self._order.bit_generator.state}
        write_safetensors(path, self._step.states(), {"dlc.trainer": json.dumps(place)})

    def _resume(self, path: str, batch: tuple[Any, Any]) -> int:
        """Goes on from a checkpoint; how many epochs are behind it."""
        place = read_metadata(path).get("dlc.trainer")
        if place is None:
            raise Error(f"'{path}' is no checkpoint of dlc.Trainer", Code.USAGE)
        if self._step is None:
            self._begin(*batch)
        assert self._step is not None
        states, own = read_safetensors(path), self._step.states()
        other = next((name for name in own
                      if name not in states or states[name].shape != own[name].shape), None)
        if other or len(states) != len(own):
            raise Error(f"'{path}' is a checkpoint of another model or optimizer" +
                        (f": it has no such '{other}'" if other else ""), Code.USAGE)
        self._step.set_states(states)
        held = json.loads(place)
        self.history, self._order.bit_generator.state = held["history"], held["order"]
        return held["epochs"]

    def _values(self) -> dict[str, Any]:
        if self._step is None:
            raise Error("nothing is trained yet; call step or fit", Code.USAGE)
        return self._source.values(self._step.weights())

    def _inputs(self, inputs: Sequence[Any], x: Any, y: Any) -> list[Any]:
        """The arrays of a batch as the step or the evaluation takes them."""
        arrays = self._arrays(inputs, x, y)
        if len(arrays) != len(inputs):
            raise Error(f"got {len(arrays)} arrays; the step takes {len(inputs)}: {', '.join(map(str, inputs))}",
                        Code.USAGE)
        return [as_input(array, value) for array, value in zip(arrays, inputs)]

    def _named(self, results: Sequence[float]) -> dict[str, float]:
        return dict(zip(self._source.names, results))

    def _arrays(self, inputs: Sequence[Any], x: Any, y: Any) -> list[Any]:
        named = {**(x if isinstance(x, Mapping) else {}), **(y if isinstance(y, Mapping) else {})}
        names = [value.name for value in inputs]
        if set(named) == set(names):
            return [named[name] for name in names]
        return self._source.arrays(x, y)

    def _epoch(self, batches: Any, validation: Any, shuffle: bool, title: str) -> None:
        order = None
        if shuffle and isinstance(batches, Samples):
            order = self._order.permutation(batches.count)
        sums: dict[str, float] = {}
        rows = steps = 0
        begin, compiled = time.perf_counter(), self._compiling
        for x, y in batches.in_order(order):
            self._take_step(x, y, batches.weight(steps))
            steps += 1
            if not math.isfinite(self.metrics["loss"]):
                raise Error(f"the loss is {self.metrics['loss']} in step {steps} of the epoch; a smaller lr, or clipping "
                            "of gradients, may help, and labels have to be classes of the model",
                            Code.MODEL)
            count = len(leaves_of(x)[0])
            rows += count
            for name, value in self.metrics.items():
                sums[name] = sums.get(name, 0.0) + value * count
        if not steps:
            raise Error("the epoch has no batches", Code.USAGE)
        seconds = time.perf_counter() - begin - (self._compiling - compiled)
        means = {name: value / rows for name, value in sums.items()}
        if validation is not None:
            means |= {f"val_{name}": value for name, value in self._evaluated(validation).items()}
        for name, value in means.items():
            self.history.setdefault(name, []).append(value)
        if title:
            shown = "  ".join(f"{name} {value:.4f}" for name, value in means.items())
            print(f"{title}  {shown}  {rows / max(seconds, 1e-9):.0f} samples/s  {seconds:.1f} s",
                  flush=True)

    def _evaluated(self, batches: Any) -> dict[str, float]:
        sums: dict[str, float] = {}
        rows = 0
        values: dict[str, Any] | None = None
        for x, y in batches.in_order(None):
            if self._step is None:
                self._begin(x, y)
            if self._evaluation is None:
                with tempfile.TemporaryDirectory(prefix="dlc-") as folder:
                    source = self._source.of_evaluation(x, y, folder)
                    self._evaluation = compiled(source, self._place, "evaluation")
                for name, value in self._evaluation.first.items():
                    self._evaluation.model.set_state(name, value)
            if values is None:
                values = self._values()
                for name in self._evaluation.first:
                    key = self._source.key(name)
                    if key in values:
                        self._evaluation.model.set_state(name, values[key])
            count = len(leaves_of(x)[0])
            rows += count
            model = self._evaluation.model
            found = self._named(run(model, self._inputs(model.inputs, x, y)))
            for name, value in found.items():
                sums[name] = sums.get(name, 0.0) + value * count
        if not rows:
            raise Error("there are no samples to evaluate", Code.USAGE)
        return {name: value / rows for name, value in sums.items()}
