"""The dims of a module's arguments that may change, and what torch.export takes for them."""

import re

import torch
from torch.utils import _pytree as pytree

from .failure import CallFailure, ExportFailure


def _at(tree, path):
    """What lies at a path of a tree of dicts, lists and tuples; None where nothing does."""
    for key in path:
        step = getattr(key, "key", getattr(key, "idx", getattr(key, "name", None)))
        if isinstance(tree, dict):
            tree = tree.get(step)
        elif isinstance(tree, (list, tuple)) and isinstance(step, int):
            tree = tree[step] if step < len(tree) else None
        else:
            return None
    return tree


def _checked(value, dims):
    """The symbols of a tensor's dims by number."""
    is_good = isinstance(dims, dict) and all(
        isinstance(dim, int) and isinstance(name, str) for dim, name in dims.items()
    )
    if not is_good:
        raise CallFailure(f'dynamic has {dims!r}; expected names by dim, as in {{0: "N"}}')
    rank = value.dim() if isinstance(value, torch.Tensor) else 0
    for dim, name in dims.items():
        if not -rank <= dim < rank:
            raise CallFailure(f"dynamic has dim {dim} of a tensor of {rank} dims")
        if not name.isidentifier():
            raise CallFailure(f"dynamic has the name '{name}'; expected letters, digits and '_'")
    return {dim % rank: name for dim, name in dims.items()}


class DynamicShapes:
    """The caller's `dynamic`: {"x": {0: "N"}} by the names of forward's parameters or of the model's
    inputs; a tree of such dicts for a parameter that is a tree."""

    def __init__(self, structure, dynamic):
        self.structure, self.limits, self.factors = structure, {}, {}
        #: symbols of dims that are empty in the example
        self.empty = set()
        known = {*structure.parameters, *structure.labels}
        if unknown := sorted(set(dynamic) - known):
            names = ", ".join(structure.labels)
            raise CallFailure(f"dynamic names {', '.join(unknown)}; the inputs are {names}")
        pairs, self.spec = pytree.tree_flatten_with_path(structure.parameters)
        #: of each leaf of the arguments: symbols by dim
        self.leaves = [
            _checked(value, dynamic.get(label) or _at(dynamic, path) or {})
            for (path, value), label in zip(pairs, structure.labels)
        ]
        self._widen()

    def _widen(self):
        """PyTorch takes a size of 0 or 1 for a number: such examples get 2."""
        leaves, spec = pytree.tree_flatten((self.structure.args, self.structure.named))
        for position, dims in enumerate(self.leaves):
            for dim, symbol in dims.items():
                value = leaves[position]
                if value.shape[dim] == 0:
                    self.empty.add(symbol)
                if value.shape[dim] < 2:
                    shape = [*value.shape[:dim], 2, *value.shape[dim + 1 :]]
                    is_empty = value.shape[dim] == 0
                    leaves[position] = (
                        value.new_zeros(shape) if is_empty else value.expand(shape).clone()
                    )
        self.structure.args, self.structure.named = pytree.tree_unflatten(leaves, spec)

    def forget(self):
        """Begins anew, without what PyTorch has suggested."""
        self.limits, self.factors = {}, {}

    def of_parameters(self):
        """What torch.export takes: a tree of torch.export.Dim."""
        dims = {}

        def made(symbol):
            if symbol not in dims:
                factor = self.factors.get(symbol, 1)
                name = symbol if factor == 1 else "_" + symbol
                least, most = self.limits.get(name, (None, None))
                dims[symbol] = (
                    factor * torch.export.Dim(name, min=least, max=most)
                    if (factor != 1)
                    else torch.export.Dim(name, min=least, max=most)
                )
            return dims[symbol]

        leaves = [{dim: made(symbol) for dim, symbol in of.items()} or None for of in self.leaves]
        return pytree.tree_unflatten(leaves, self.spec)

    def _limit_minima(self, message):
        """Takes the limits that guards such as min(512, T) == T are, for which PyTorch suggests none."""
        found = False
        guard = r"values of (\w+) = (\S+) in .* guard torch\.sym_min\((\d+), (\S+)\) == (\S+?)\.?$"
        for name, size, most, first, second in re.findall(guard, message, re.M):
            least, before = self.limits.get(name, (None, None))
            if size == first == second and (before is None or int(most) < before):
                self.limits[name] = least, int(most)
                found = True
        return found

    def narrow(self, message):
        """Takes the ranges and steps that PyTorch suggests; whether there are some, and none of
        them is a number."""
        _, _, fixes = message.partition("Suggested fixes:")
        found = self._limit_minima(message)
        for name, text in re.findall(r"^\s*(\w+) = (.+)$", fixes, re.M):
            text = text.strip()
            limits = re.fullmatch(r"Dim\('\w+'(?:, min=(\d+))?(?:, max=(\d+))?\)", text)
            factor = re.fullmatch(r"(\d+)\*_(\w+)", text)
            if limits:
                self.limits[name] = tuple(int(one) if one else None for one in limits.groups())
            elif factor and factor[2] == name:
                self.factors[name] = int(factor[1])
            elif re.fullmatch(r"\d+", text):
                raise ExportFailure(
                    f"PyTorch cannot keep {name} dynamic: the module needs it to be {text}"
                )
            found = True
        return found
