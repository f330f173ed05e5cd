"""The parameters, buffers and constants of a module as members of a model."""

import re

import torch

from . import pairs
from .call import dtype_text
from .failure import ExportFailure

#: Words of the language that no value may be called by.
KEYWORDS = set(
    "and block bool const dim else false for forward if in include layout model none not or "
    "sequential state step true weights while None True False".split()
)


class ModuleTensors:
    """Of a Program. `declared`: names and lines of the model's members; `weights`: tensors by name;
    `states`: names of states by the name of the buffer; `buffers`: what these buffers hold now;
    `begins`: whether one of them begins with values that are not zero."""

    def __init__(self, program, keeps_states):
        self.program, self.keeps_states = program, keeps_states
        self.declared, self.weights, self.states, self.begins = [], {}, {}, False
        self.buffers = {}
        #: the names in the module's state_dict of weights by those in the text
        self.targets = {}
        #: first parts of the names of weights
        self.places = set()

    def keep(self, words):
        """Drops what has no name among `words`."""
        self.declared = [(name, text) for name, text in self.declared if name in words]
        self.weights = {name: tensor for name, tensor in self.weights.items() if name in words}

    def read(self):
        """Declares the tensors of the module that the graph reads; one that has two names once."""
        changed = {name for kind, name, _ in self.program.source.results if kind == "state"}
        seen = {}
        for node, (target, tensor) in self.program.source.weights.items():
            for size, number in zip(node.meta["val"].shape, tensor.shape):
                # Dynamo may have symbols for them.
                if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol:
                    self.program.sizes.names.setdefault(size.node.expr, str(number))
            if target in changed:
                self.program.scope.values[node] = self._state(target, tensor)
                continue
            if not node.users:
                continue
            is_real = type(tensor) in (torch.Tensor, torch.nn.Parameter)
            key = (
                (tensor.data_ptr(), tuple(tensor.shape), tensor.stride(), tensor.dtype)
                if is_real
                else id(tensor)
            )
            if key not in seen or not tensor.numel():
                seen[key] = self._name(target)
                self.targets[seen[key]] = target
                self.declare(seen[key], tensor)
            self.program.scope.values[node] = seen[key]

    def _name(self, target):
        """The name in the module's state_dict, unless the language cannot have it."""
        if target[0].isdigit() or target.split(".")[0] == "self":
            target = "m_" + target
        parts = target.split(".")
        if (
            not all(re.fullmatch(r"\w+", part) for part in parts)
            or parts[0] in KEYWORDS
            or parts[0][0].isdigit()
            or (parts[0] in self.program.taken and parts[0] not in self.places)
        ):
            return self.program.fresh("w_" + target)
        self.places.add(parts[0])
        self.program.taken.add(parts[0])
        return target

    def declare(self, name, tensor):
        tensor = pairs.as_pairs(tensor)
        dims = ", ".join(map(str, tensor.shape))
        kind = "Parameter" if tensor.is_floating_point() else "Buffer"
        comma = ", " if dims else ""
        self.declared.append(
            (name, f"{name}: {kind}({dims}{comma}dtype={dtype_text(tensor.dtype)})")
        )
        self.weights[name] = tensor

    def _state(self, target, tensor):
        """A buffer that the module changes is a state, which is zero at first: a buffer that is not
        begins with its values."""
        if not self.keeps_states:
            raise ExportFailure(
                f"forward changes the buffer '{target}'; states='keep' makes it a state of the model"
            )
        self.buffers[target] = tensor
        tensor = pairs.as_pairs(tensor)
        name = self.program.fresh(target.replace(".", "_"))
        self.declared.append(
            (name, f"state {name}: {dtype_text(tensor.dtype)}[{','.join(map(str, tensor.shape))}]")
        )
        self.states[target] = name
        if not tensor.numel() or not torch.any(tensor != 0):
            return name
        if "began" not in self.program.taken:
            self.program.taken.add("began")
            self.declared.append(("began", "state began: bool[]"))
            self.begins = True
        first = self.program.fresh(name + "_first")
        self.declare(first, tensor)
        return self.program.emit(f"where(began, {name}, {first})", name + "_now")
