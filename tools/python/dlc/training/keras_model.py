"""keras.Model: its loss, metrics and optimizer are those that it was compiled with, unless the
caller gives others."""
from __future__ import annotations

import fnmatch
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import keras_graph, keras_import, keras_text
from ..errors import Code, Error
from . import optimizers
from .model_file import FileSource
from .program import Source

_CLIPPED = "clamp({p}, 1e-7, 0.9999999)"
#: Keras's names of losses and metrics: of values of the model, and of its logits.
_BINARY = (f"binary_cross_entropy({_CLIPPED}, {{t}})",
           "binary_cross_entropy_with_logits({p}, {t})")
_SPARSE = ("nll_loss(log(clamp({p} / sum({p}, -1, keepdim=true), 1e-7, 0.9999999)), {t})",
           "cross_entropy({p}, {t})")
_CATEGORICAL = (
    "mean(sum(-log(clamp({p} / sum({p}, -1, keepdim=true), 1e-7, 0.9999999)) * {t}, -1))",
    "mean(sum(-log_softmax({p}, -1) * {t}, -1))")
_LOSSES = {
    "sparse_categorical_crossentropy": _SPARSE,
    "categorical_crossentropy": _CATEGORICAL,
    "binary_crossentropy": _BINARY,
    "mean_squared_error": ("mse_loss({p}, {t})", ) * 2,
    "mean_absolute_error": ("l1_loss({p}, {t})", ) * 2,
    "huber": ("huber_loss({p}, {t})", ) * 2,
}
_SHORT = {"mse": "mean_squared_error", "mae": "mean_absolute_error", "huber_loss": "huber",
          "crossentropy": "categorical_crossentropy", "acc": "accuracy",
          "mean_squared_error": "mean_squared_error"}
_ACCURACIES = {
    "sparse_categorical_crossentropy": "accuracy({p}, {t})",
    "categorical_crossentropy": "mean(to(argmax({p}, -1) == argmax({t}, -1), f32))",
    "binary_crossentropy": "mean(to(({p} > 0.5) == ({t} > 0.5), f32))",
}


def _name_of(value: Any) -> str:
    """ "sparse_categorical_crossentropy" of a text, a function or an object of Keras."""
    name = value if isinstance(value, str) else getattr(value, "__name__", None) or getattr(
        value, "name", None) or type(value).__name__
    name = keras_graph.snake_case(name) if name[:1].isupper() else name
    return _SHORT.get(name, name)


def _loss_text(loss: Any, output: str) -> tuple[str, str]:
    """The loss as a text, and its name."""
    name = _name_of(loss)
    config = loss.get_config() if hasattr(loss, "get_config") else {}
    inner = {**config, **getattr(loss, "_fn_kwargs", {})}  # Huber's configuration lacks delta
    if name not in _LOSSES:
        raise Error(f"the loss is {name!r}; expected {', '.join(_LOSSES)}, or a text of dlc such as "
                    f"'mse_loss({output}, target)'", Code.USAGE)
    for key, usual in (("label_smoothing", 0.0), ("ignore_class", None), ("delta", 1.0),
                       ("reduction", "sum_over_batch_size"), ("axis", -1)):
        if inner.get(key, usual) != usual:
            raise Error(f"the loss {name} has {key}={inner[key]!r}, which dlc.Trainer does not have",
                        Code.USAGE)
    return _LOSSES[name][bool(inner.get("from_logits"))].format(p=output, t="target"), name


def _metric_text(metric: Any, loss: str, output: str) -> tuple[str, str]:
    """The name, as Keras's history has it, and the text of a metric."""
    name = _name_of(metric)
    shown = metric if isinstance(metric, str) else name
    if name.endswith("accuracy"):
        kind = name.removesuffix("accuracy").rstrip("_") + "_crossentropy"
        kind = kind if kind in _ACCURACIES else loss
        if kind in _ACCURACIES:
            return shown, _ACCURACIES[kind].format(p=output, t="target")
    elif name in _LOSSES:
        return shown, _LOSSES[name][0].format(p=output, t="target")
    raise Error(f"the metric is {name!r}; expected accuracy, {', '.join(_LOSSES)}", Code.USAGE)


def _compiled_metrics(net: Any) -> list[Any]:
    held = getattr(net, "_compile_metrics", None)
    found = getattr(held, "_user_metrics", None) or []
    return list(found) if isinstance(found, (list, tuple)) else list(found.values())


class KerasSource(FileSource):
    """A Keras model to train. Its weights by name are those of dlc: conv2d.kernel."""

    def __init__(self, net: Any, loss: Any, optimizer: Any, metrics: Mapping[str, Any] | None,
                 train: Sequence[str], options: Sequence[str], folder: str) -> None:
        self.net, self.path = net, os.path.join(folder, "model.dl")
        saved, weights = os.path.join(folder, "model.keras"), os.path.join(folder, "weights.npz")
        net.save(saved)
        try:
            arrays, config = keras_import.read(saved, None)
            text = keras_text.text_of(config)
            self.graph = keras_graph.graph_of(config)
        except keras_graph.ImportFailure as error:
            raise Error(str(error), Code.USAGE) from None
        self.config = config
        with open(self.path, "w", encoding="utf-8") as out:
            out.write(text)
        np.savez(weights, **arrays)
        outputs = keras_text.outputs_of(config)
        if len(outputs) != 1:
            raise Error(f"the model has {len(outputs)} outputs; dlc.Trainer takes one of one", Code.USAGE)
        (output, ) = outputs
        loss = loss or getattr(net, "loss", None)
        if loss is None:
            raise Error("the model has no loss: compile(loss=...), or Trainer(net, loss=...)",
                        Code.USAGE)
        kind = ""
        if not isinstance(loss, str) or "(" not in loss:
            loss, kind = _loss_text(loss, output)
        if metrics is None:
            metrics = dict(_metric_text(one, kind, output) for one in _compiled_metrics(net))
        else:
            metrics = {name: one if isinstance(one, str) and "(" in one else
                       _metric_text(one, kind, output)[1] for name, one in metrics.items()}
        self.names = ["loss", *metrics]
        optimizer = optimizer or getattr(net, "optimizer", None)
        more: list[str] = []
        if optimizer is not None and not isinstance(optimizer, str):
            optimizer, more = optimizers.of_keras(optimizer)
        trained = self._trained(arrays, train)
        self.source = Source(self.path, loss, list(metrics.values()), optimizer or "SGD", trained,
                             [*options, *more, "--weights", weights], net.name)

    def _trained(self, arrays: Mapping[str, Any], train: Sequence[str]) -> list[str]:
        found = []
        layers = list(keras_graph.plain_layers(self.graph))
        for layer in layers:
            settings = layer.config
            inner = settings.get("layer", {}).get("config", {})  # of Bidirectional
            for key in ("recurrent_dropout", "dropout"):
                if rate := settings.get(key) or inner.get(key):
                    raise Error(f"layer '{layer.path}' has {key}={rate}, which dlc does not train with; "
                                "expected a Dropout layer beside it", Code.USAGE)
            if settings.get("trainable", True):
                found += [name for name in arrays if name.startswith(layer.name + ".")
                          and not name.endswith((".moving_mean", ".moving_variance"))]
        if train:
            found = [name for name in found if any(fnmatch.fnmatchcase(name, one) for one in train)]
        if not found:
            raise Error("no weight of the model is trained; expected a layer with trainable=True",
                        Code.USAGE)
        return found

    def of_evaluation(self, x: Any, y: Any, folder: str) -> Source:
        return self.source._replace(trained=[])

    def put_back(self, values: Mapping[str, Any]) -> None:
        """Through a file of weights, in which Keras finds its variables itself."""
        import h5py
        path = os.path.join(os.path.dirname(self.path), "back.weights.h5")
        self.net.save_weights(path)
        with h5py.File(path, "r+") as file:
            held = keras_import.datasets_of(file, self.config)
            for name, value in values.items():
                held[name][...] = value
        self.net.load_weights(path)
        os.remove(path)
