"""torch.nn.Module: torch.export makes its step in training mode, and its evaluation in evaluation
mode."""
from __future__ import annotations

import contextlib
import fnmatch
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from ..aten import export
from ..aten.failure import CallFailure, ExportFailure
from ..aten.module_model import ModuleModel
from ..errors import Code, Error
from ..model import Model
from . import optimizers
from .batches import leaves_of
from .program import Source


class _WithLoss(torch.nn.Module):
    """The module with its loss and metrics. Calls are (inputs, targets): a tuple of arguments or a
    dict of them, and a tuple."""

    def __init__(self, net: torch.nn.Module, loss: Any, metrics: Sequence[Callable[..., Any]]):
        super().__init__()
        self.net, self.loss = net, loss
        self.metrics = metrics if not isinstance(loss, str) else ()

    def forward(self, inputs: Any, targets: tuple[Any, ...]) -> Any:
        found = self.net(**inputs) if isinstance(inputs, Mapping) else self.net(*inputs)
        if isinstance(self.loss, str):
            return found
        loss = self.loss(found, *targets) if self.loss else getattr(found, "loss", found)
        results = {"loss": loss}
        for number, metric in enumerate(self.metrics):
            results[f"metric_{number}"] = metric(found, *targets).float().mean()
        return results


@contextlib.contextmanager
def _modes(net: torch.nn.Module) -> Iterator[None]:
    """Restores which parts of the module are in training mode."""
    before = [(part, part.training) for part in net.modules()]
    try:
        yield
    finally:
        for part, mode in before:
            part.training = mode


class ModuleSource:
    """A module to train. Its weights by name are those of its state_dict."""

    def __init__(self, net: torch.nn.Module, loss: Any, optimizer: Any, metrics: Mapping[str, Any],
                 train: Sequence[str], options: Sequence[str], dynamic: bool) -> None:
        if not isinstance(loss, str) and any(isinstance(one, str) for one in metrics.values()):
            raise Error("metrics are texts, and the loss is a function; expected both alike",
                        Code.USAGE)
        if isinstance(loss, str) and not all(isinstance(one, str) for one in metrics.values()):
            raise Error("the loss is a text, and metrics are functions; expected both alike",
                        Code.USAGE)
        self.net, self.loss, self.metrics = net, loss, list(metrics.values())
        self.names = ["loss", *metrics]
        # The exported step says which statistics its norms use.
        self.options, self.dynamic = [*options, "--norms", "stored"], dynamic
        of = None
        if isinstance(optimizer, torch.optim.Optimizer):
            of = {id(weight) for group in optimizer.param_groups for weight in group["params"]}
            optimizer = optimizers.of_torch(optimizer)
        self.optimizer = optimizer or "SGD"
        self.trained = {
            id(weight) for name, weight in net.named_parameters()
            if weight.requires_grad and (of is None or id(weight) in of) and
            (not train or any(fnmatch.fnmatchcase(name, pattern) for pattern in train))
        }
        if not self.trained:
            raise Error("no parameter of the module is to be trained; expected one that requires a gradient, that the "
                        "optimizer has and that `train` names", Code.USAGE)
        self.whole = _WithLoss(net, loss, self.metrics)
        self.step: ModuleModel | None = None

    def arrays(self, x: Any, y: Any) -> list[Any]:
        return [*leaves_of(x), *leaves_of(y)]

    def _example(self, x: Any, y: Any) -> tuple[Any, Any]:
        as_tensor = lambda value: torch.as_tensor(np.asarray(value) if not hasattr(
            value, "detach") else value)
        inputs = ({name: as_tensor(value) for name, value in x.items()} if isinstance(x, Mapping)
                  else tuple(map(as_tensor, leaves_of(x))))
        targets = () if isinstance(self.loss, str) else tuple(map(as_tensor, leaves_of(y)))
        return inputs, tuple(t.long() if t.dtype in (torch.int32, torch.uint8, torch.int16) else t
                             for t in targets)

    def _exported(self, x: Any, y: Any, folder: str) -> tuple[str, Any]:
        inputs, targets = self._example(x, y)
        names = [f"inputs_{key}" for key in (inputs if isinstance(inputs, Mapping) else
                                             range(len(inputs)))]
        names += [f"targets_{number}" for number in range(len(targets))]
        dynamic = {name: {0: "N"} for name in names} if self.dynamic else None
        try:
            return export.write(self.whole, (inputs, targets), folder, None, dynamic)
        except ExportFailure as failure:
            raise Error(str(failure), Code.USAGE if isinstance(failure, CallFailure) else
                        Code.UNSUPPORTED) from None

    def _source(self, path: str, weights: list[str]) -> Source:
        texts = self.metrics if isinstance(self.loss, str) else [
            f"metric_{number}" for number in range(len(self.metrics))
        ]
        loss = self.loss if isinstance(self.loss, str) else "loss"
        return Source(path, loss, texts, self.optimizer, weights, self.options,
                      type(self.net).__name__)

    def of_step(self, x: Any, y: Any, folder: str) -> Source:
        with _modes(self.net):
            if not self.net.training:
                self.net.train()
            self.whole.training = False  # so that torch.export keeps the modes of its parts
            path, self._structure = self._exported(x, y, folder)
        self.targets = self._structure.targets
        weights = [name for name, target in self.targets.items() if self._is_trained(target)]
        if not weights:
            raise Error("the loss depends on no parameter that is to be trained", Code.USAGE)
        return self._source(path, weights)

    def adopt(self, model: Model) -> Model:
        self.step = ModuleModel(model, self._structure)
        return self.step

    def of_evaluation(self, x: Any, y: Any, folder: str) -> Source:
        with _modes(self.net):
            self.whole.eval()
            path, structure = self._exported(x, y, folder)
        changed = self._changed()
        self._evaluated = structure.targets
        return self._source(path, [name for name, target in structure.targets.items()
                                   if self._is_trained(target) or target in changed])

    def _is_trained(self, name: str) -> bool:
        try:
            return id(self.whole.get_parameter(name)) in self.trained
        except AttributeError:
            return False  # a constant

    def _changed(self) -> dict[str, Any]:
        """The buffers that steps change."""
        assert self.step is not None
        return self.step.state_dict()

    def values(self, weights: Mapping[str, Any]) -> dict[str, Any]:
        """All that steps change, by the names in `whole`."""
        found = {self.targets[name]: value for name, value in weights.items()}
        for target, value in self._changed().items():
            value = value.float() if value.dtype == torch.bfloat16 else value
            found[target] = value.numpy()
        return found

    def key(self, name: str) -> str:
        """What `values` calls a state of the evaluation."""
        return self._evaluated[name]

    def own_name(self, target: str) -> str | None:
        """The name in the module's state_dict; None: it is not of the module."""
        return target.removeprefix("net.") if target.startswith("net.") else None

    def put_back(self, values: Mapping[str, Any]) -> None:
        held = {**dict(self.whole.named_parameters(remove_duplicate=False)),
                **dict(self.whole.named_buffers(remove_duplicate=False))}
        with torch.no_grad():
            for target, value in values.items():
                held[target].copy_(torch.as_tensor(np.array(value)))

    def as_results(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: torch.as_tensor(np.array(value)) for name, value in values.items()}
