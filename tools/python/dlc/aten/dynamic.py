"""The dims of a module's arguments that may change, and what torch.export takes for them."""

import contextlib
import re

import torch
from torch.utils import _pytree as pytree

from .failure import CallFailure, ExportFailure
from .sizes import plain


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
    """The caller's `dynamic`: {"x": {0: "N"}} by the names of forward's parameters or of the
    model's inputs; a tree of such dicts for a parameter that is a tree."""

    #: Whether the program that PyTorch exports takes a size of 1 as any other.
    takes_one = False

    def __init__(self, structure, dynamic):
        self.structure, self.limits, self.factors = structure, {}, {}
        #: symbols of dims that are empty in the example
        self.empty = set()
        known = {*structure.parameters, *structure.labels}
        if unknown := sorted(map(str, set(dynamic) - known)):
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

    def settle(self, export):
        """Nothing: the caller says which dims may change."""

    def symbols(self, values):
        """The names of dims by sympy symbol; `values`: the fake tensors of the leaves."""
        found = {}
        for value, dims in zip(values, self.leaves):
            for dim, symbol in dims.items():
                size = value.shape[dim]
                if isinstance(size, int):
                    raise ExportFailure(
                        f"PyTorch made {symbol} the number {size}: the module needs it to be so"
                    )
                if size.node.expr.is_Symbol:
                    found[size.node.expr] = symbol
        return found

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
        """Takes the limits that guards such as min(512, T) == T are, for which PyTorch suggests
        none."""
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
            elif re.fullmatch(r"\w+", text):
                self._keep_out(name, text)
            found = True
        return found

    def _keep_out(self, name, text):
        """A dim that must be a number, or as large as another one."""
        if text.isdigit():
            raise ExportFailure(
                f"PyTorch cannot keep {name} dynamic: the module needs it to be {text}"
            )


class AutoShapes(DynamicShapes):
    """dynamic="auto": each dim of the tensors may change that PyTorch does not make a number.
    `fixed`: (name, dim, number) of those that it does, once `symbols` has run."""

    def __init__(self, structure):
        if not hasattr(torch.export.Dim, "AUTO"):
            raise ExportFailure('dynamic="auto" needs PyTorch 2.6 or newer')
        self.structure, self.limits, self.factors = structure, {}, {}
        self.empty, self.fixed = set(), []
        #: of each leaf of the arguments: symbols by dim, None until they are found
        self.leaves = None
        self.values, self.spec = pytree.tree_flatten(structure.parameters)

    def settle(self, export):
        """Finds the dims that may change. Sizes of 1 are tried as 2, where that works."""
        given = self.structure.args, self.structure.named
        found = None
        for dims in (range(64), range(1)):
            if found is None and self._widen_ones(given, dims):
                with contextlib.suppress(ExportFailure):
                    found = export()
        if found is None:
            self.structure.args, self.structure.named = given
            found = export()
        self.structure.args, self.structure.named = given
        names = {}
        self.leaves = [
            (
                {
                    dim: names.setdefault(plain(size), f"{label}_{dim}")
                    for dim, size in enumerate(value.shape)
                    if not isinstance(plain(size), int)
                }
                if isinstance(value, torch.Tensor)
                else {}
            )
            for value, label in zip(found, self.structure.labels)
        ]
        self._widen()

    def _widen_ones(self, given, dims):
        """Makes dims of 1 among `dims` larger; whether there are some."""

        def wide(leaf):
            if not isinstance(leaf, torch.Tensor):
                return leaf
            shape = [
                2 if size == 1 and dim in dims else size for dim, size in enumerate(leaf.shape)
            ]
            return leaf if shape == list(leaf.shape) else leaf.expand(shape).clone()

        leaves, spec = pytree.tree_flatten(given)
        made = list(map(wide, leaves))
        self.structure.args, self.structure.named = pytree.tree_unflatten(made, spec)
        return any(a is not b for a, b in zip(leaves, made))

    def symbols(self, values):
        """The names of dims by sympy symbol, which are the input's with the number of the dim."""
        found, parts = {}, {}
        for value, dims, label in zip(values, self.leaves, self.structure.labels):
            for dim, size in enumerate(value.shape if isinstance(value, torch.Tensor) else ()):
                size = plain(size)
                if isinstance(size, int):
                    self.fixed.append((label, dim, size))
                elif size.is_Symbol and dim in dims:
                    found.setdefault(size, dims[dim])
                else:
                    parts.update(dict.fromkeys(size.free_symbols, f"{label}_{dim}_part"))
        return {**parts, **found}

    def of_parameters(self):
        if self.leaves is not None:
            return super().of_parameters()
        dims = [
            (
                dict.fromkeys(range(value.dim()), torch.export.Dim.AUTO) or None
                if isinstance(value, torch.Tensor)
                else None
            )
            for value in self.values
        ]
        return pytree.tree_unflatten(dims, self.spec)

    def _keep_out(self, name, text):
        """A dim that must be a number, or as large as another one."""
        for dims in self.leaves or ():
            for dim in [dim for dim, held in dims.items() if held == name]:
                if text.isdigit():
                    del dims[dim]
                else:
                    dims[dim] = text

    def remark(self):
        """What the caller should know; None if all dims may change."""
        if not self.fixed:
            return None
        dims = ", ".join(f"{label}[{dim}] = {size}" for label, dim, size in self.fixed)
        return f'dynamic="auto": these dims are numbers, which PyTorch needs for the module: {dims}'
