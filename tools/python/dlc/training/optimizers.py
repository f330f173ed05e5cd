"""Optimizers of PyTorch and Keras as calls of `dlc train --optimizer`."""
from __future__ import annotations

from typing import Any

from ..errors import Code, Error

#: By PyTorch's name: the arguments that dlc has.
_TORCH = {
    "SGD": ("lr", "momentum", "dampening", "weight_decay", "nesterov"),
    "Adam": ("lr", "betas", "eps", "weight_decay"),
    "AdamW": ("lr", "betas", "eps", "weight_decay"),
    "RMSprop": ("lr", "alpha", "eps", "weight_decay"),
    "Adagrad": ("lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps"),
    "Adadelta": ("lr", "rho", "eps", "weight_decay"),
}
#: Arguments that change how it computes, and not what.
_WITHOUT_EFFECT = {"foreach", "fused", "capturable", "differentiable", "decoupled_weight_decay"}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(map(_text, value)) + "]"
    return repr(float(value))


def _call(name: str, arguments: dict[str, Any]) -> str:
    return f"{name}({', '.join(f'{key}={_text(value)}' for key, value in arguments.items())})"


def of_torch(optimizer: Any) -> str:
    """The call of a torch.optim.Optimizer."""
    name = type(optimizer).__name__
    if name not in _TORCH:
        raise Error(f"the optimizer is a {name}; expected {', '.join(_TORCH)}, or a text such as 'Lion(lr=1e-4)'",
                    Code.USAGE)
    groups = optimizer.param_groups
    settings = [{key: value for key, value in group.items() if key != "params"} for group in groups]
    if any(one != settings[0] for one in settings):
        raise Error(f"the {name} has groups of parameters with other arguments each; expected one for all",
                    Code.USAGE)
    if any(float(held.get("step", 1)) for held in optimizer.state.values()):
        raise Error(f"the {name} has taken steps; expected a new one", Code.USAGE)
    found = {}
    for key, value in settings[0].items():
        if key in _TORCH[name]:
            found[key] = value
        elif value and key not in _WITHOUT_EFFECT:
            raise Error(f"the {name} has {key}={value!r}, which dlc does not have", Code.USAGE)
    if name == "SGD" and not found.get("momentum"):
        found = {key: found[key] for key in ("lr", "weight_decay")}
    return _call(name, found)


def of_keras(optimizer: Any) -> tuple[str, list[str]]:
    """The call of a keras.optimizers.Optimizer, and options of the command line beside it."""
    config = optimizer.get_config()
    name = type(optimizer).__name__
    rate = config.get("learning_rate")
    if not isinstance(rate, (int, float)):
        raise Error(f"the {name} has a schedule as its learning_rate; expected a number, or a text for dlc such as "
                    "'Adam(lr=1e-3 * cosine_decay(step, 5000))'", Code.USAGE)
    for key in ("amsgrad", "centered", "use_ema", "loss_scale_factor",
                "gradient_accumulation_steps"):
        if config.get(key):
            raise Error(f"the {name} has {key}={config[key]!r}, which dlc does not have", Code.USAGE)
    options = []
    for key, flag in (("global_clipnorm", "--clip-norm"), ("clipvalue", "--clip-value")):
        if config.get(key):
            options += [flag, repr(float(config[key]))]
    if config.get("clipnorm"):
        raise Error(f"the {name} clips each gradient by its own norm (clipnorm); expected global_clipnorm",
                    Code.USAGE)
    decay = config.get("weight_decay") or 0.0
    if decay and name != "AdamW":
        raise Error(f"the {name} has weight_decay={decay!r}; expected AdamW", Code.USAGE)
    if name == "SGD":
        found = {"lr": rate}
        if config.get("momentum"):
            found |= {"momentum": config["momentum"], "nesterov": config["nesterov"]}
    elif name in ("Adam", "AdamW"):
        found = {"lr": rate, "betas": (config["beta_1"], config["beta_2"]),
                 "eps": config["epsilon"], "keras_eps": True, "weight_decay": decay}
    elif name == "RMSprop" and not config.get("momentum"):
        found = {"lr": rate, "alpha": config["rho"], "eps": config["epsilon"], "keras_eps": True}
    elif name == "Adagrad":
        found = {"lr": rate, "initial_accumulator_value": config["initial_accumulator_value"],
                 "eps": config["epsilon"], "keras_eps": True}
    else:
        raise Error(f"the optimizer is a {name}; expected SGD, Adam, AdamW, RMSprop or Adagrad, or a text such as "
                    "'Lion(lr=1e-4)'", Code.USAGE)
    return _call(name, found), options
