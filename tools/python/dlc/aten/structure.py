"""The arguments and results of a module: trees of tuples, dicts and dataclasses with tensors and
constants in them."""

import inspect
import re

import torch
from torch.utils import _pytree as pytree

from .failure import CallFailure


def _bound(signature, args, named):
    try:
        return signature.bind(*args, **named)
    except TypeError as error:
        raise CallFailure(f"forward: {error}; it takes {signature}") from None


def _as_tensor(value):
    return (
        torch.from_numpy(value)
        if type(value).__module__ == "numpy"
        and hasattr(value, "__array_interface__")
        and value.ndim
        else value
    )


def _label(path):
    """ "x_0_key" of a path in a tree."""
    return re.sub(r"\W+", "_", pytree.keystr(path)).strip("_")


class Structure:
    """How a module is called, by an example: a tensor, a tuple of arguments, or a dict of them by
    the names of forward's parameters."""

    def __init__(self, module, example):
        self.signature = inspect.signature(module.forward)
        if isinstance(example, dict):
            unknown = sorted(set(example) - set(self.signature.parameters))
            takes_any = any(
                parameter.kind is parameter.VAR_KEYWORD
                for parameter in self.signature.parameters.values()
            )
            if unknown and not takes_any:
                raise CallFailure(
                    f"the example names {', '.join(unknown)}; forward takes {', '.join(self.signature.parameters)}"
                )
            bound = _bound(self.signature, (), example)
        else:
            bound = _bound(
                self.signature, example if isinstance(example, (tuple, list)) else (example,), {}
            )
        self.args, self.named = pytree.tree_map(_as_tensor, (bound.args, bound.kwargs))
        #: forward's parameters by name, the leaves of which are in the order of the arguments'
        self.parameters = dict(bound.arguments)
        leaves, self.spec = pytree.tree_flatten((self.args, self.named))
        self.constants = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        self.is_tensor = [isinstance(leaf, torch.Tensor) for leaf in leaves]
        self.labels = self._labels(bound)

    def _labels(self, bound):
        """A name for each leaf of the arguments."""
        found = []
        for name, value in bound.arguments.items():
            kind = self.signature.parameters[name].kind
            pairs, _ = pytree.tree_flatten_with_path(value)
            for path, _ in pairs:
                label = _label(path)
                found.append(
                    label
                    if kind is inspect.Parameter.VAR_KEYWORD and label
                    else f"{name}_{label}" if label else name
                )
        return found

    def tensors(self, args, named):
        """The tensors of a call, in the order of the model's inputs."""
        count = sum(self.is_tensor)
        if (
            len(args) == count
            and not named
            and all(isinstance(value, torch.Tensor) for value in args)
            and (count != len(self.args) or not all(self.is_tensor))
        ):
            return list(args)  # the tensors alone
        bound = _bound(self.signature, args, named)
        leaves, spec = pytree.tree_flatten((bound.args, bound.kwargs))
        if spec != self.spec:
            raise CallFailure(
                f"the arguments are {_describe(spec)}; the model was compiled for {_describe(self.spec)}"
            )
        for leaf, label, constant, is_tensor in zip(
            leaves, self.labels, self.constants, self.is_tensor
        ):
            if not is_tensor and leaf != constant:
                raise CallFailure(
                    f"'{label}' is {leaf!r}; the model was compiled for {constant!r}, which is a part of it"
                )
        return [leaf for leaf, is_tensor in zip(leaves, self.is_tensor) if is_tensor]

    def of_results(self, program):
        """Reads the results' tree from an exported program: which of them the model gives, by name.
        """
        self.out_spec = program.call_spec.out_spec
        specs = [spec for spec in program.graph_signature.output_specs]
        self.changed = [spec.target for spec in specs if spec.kind.name == "USER_INPUT_MUTATION"]
        shown = [spec.arg for spec in specs if spec.kind.name == "USER_OUTPUT"]
        #: of each leaf: whether the model gives it, and what it is if not
        self.given = [
            not isinstance(argument, torch.export.graph_signature.ConstantArgument)
            for argument in shown
        ]
        self.values = [
            None if given else argument.value for argument, given in zip(shown, self.given)
        ]
        self.order = [label for label in self.labels]
        tree = pytree.tree_unflatten(list(range(len(shown))), self.out_spec)
        pairs, _ = pytree.tree_flatten_with_path(tree)
        labels = [_label(path) for path, _ in pairs]
        if len(labels) == 1 and not labels[0]:
            labels = ["output"]
        labels = [
            "output_" + label if label[:1].isdigit() else label or "output" for label in labels
        ]
        self.outputs = [label for label, given in zip(labels, self.given) if given]

    def restored(self, found):
        """The results of the module, of the model's outputs without those of changed inputs."""
        found = iter(found)
        return pytree.tree_unflatten(
            [next(found) if given else value for given, value in zip(self.given, self.values)],
            self.out_spec,
        )


def _describe(spec):
    return re.sub(r"\s+", " ", str(pytree.tree_unflatten(["*"] * spec.num_leaves, spec)))
