""".dl and .onnx files."""
from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import Code, Error
from ..model import Model
from .batches import leaves_of
from .program import Source


class FileSource:
    """A model in a file. Its first weights are those that it names or, with `--from-scratch` or if
    it names none, drawn."""

    def __init__(self, path: str, loss: Any, optimizer: Any, metrics: Mapping[str, Any],
                 train: Sequence[str], options: Sequence[str]) -> None:
        if not isinstance(loss, str):
            raise Error("a model in a file has its loss as a text, such as 'cross_entropy(logits, labels)'",
                        Code.USAGE)
        if not all(isinstance(one, str) for one in (optimizer or "", *metrics.values())):
            raise Error("a model in a file has its optimizer and metrics as texts, such as 'Adam(lr=1e-3)'",
                        Code.USAGE)
        self.names = ["loss", *metrics]
        self.source = Source(os.fspath(path), loss, list(metrics.values()), optimizer or "SGD",
                             list(train), list(options), "")

    def arrays(self, x: Any, y: Any) -> list[Any]:
        """Dicts are by the names of the model's inputs and targets, others in their order."""
        return [*leaves_of(x), *leaves_of(y)]

    def of_step(self, x: Any, y: Any, folder: str) -> Source:
        return self.source

    def adopt(self, model: Model) -> Model:
        return model

    def of_evaluation(self, x: Any, y: Any, folder: str) -> Source:
        return self.source

    def values(self, weights: Mapping[str, Any]) -> dict[str, Any]:
        return dict(weights)

    def key(self, name: str) -> str:
        return name

    def own_name(self, name: str) -> str | None:
        return name

    def put_back(self, values: Mapping[str, Any]) -> None:
        """There is nothing: Trainer.save writes a file."""

    def as_results(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return dict(values)
