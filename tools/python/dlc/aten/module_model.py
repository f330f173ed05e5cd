"""A compiled module that is called as the module is."""

import torch

from ..errors import Code, Error
from ..model import Model
from .failure import ExportFailure


class ModuleModel(Model):
    """A dlc.Model with the arguments and results of the torch.nn.Module that it was made from:
    tuples, dicts, dataclasses and constants. Inputs that the module changes in place are
    changed. `run` and the rest work on the model's own inputs and outputs, by name.

    Random numbers are drawn from a generator of the model's own, which begins with the seed that
    PyTorch's has when the model is made (torch.initial_seed) and again after a reset; manual_seed
    gives it another."""

    def __init__(self, model, structure):
        self.__dict__.update(model.__dict__)
        self._structure = structure
        self._seed = torch.initial_seed()
        self._begin()

    def _begin(self):
        if any(value.name == "generator" for value in self.states):
            self.manual_seed(self._seed)

    def reset(self):
        super().reset()
        self._begin()

    def __call__(self, *inputs, **named):
        structure = self._structure
        try:
            tensors = structure.tensors(inputs, named)
        except ExportFailure as failure:
            raise Error(str(failure), Code.USAGE) from None
        found = super().__call__(*tensors)
        found = found if isinstance(found, tuple) else (found,) if self.outputs else ()
        names = [value.name for value in self.inputs]
        for name, after in zip(structure.changed, found):
            tensors[names.index(name)].copy_(after)
        return structure.restored(found[len(structure.changed) :])

    def state_dict(self):
        """What the buffers that the module changes hold now, by the names that they have in the
        module: `module.load_state_dict(model.state_dict(), strict=False)` gives them back to it."""
        structure = self._structure
        names = {value.name for value in self.states}
        # Buffers that begin with other values than zeros hold these until the first run.
        has_begun = "began" not in names or bool(self.state("began"))
        return {
            buffer: self._held(structure.states[buffer], first) if has_begun else first.clone()
            for buffer, first in structure.buffers.items()
        }

    def _held(self, name, like):
        array = self.state(name)
        if array.dtype.isbuiltin != 1:  # one of ml_dtypes, which PyTorch does not know
            array = array.view(f"u{array.dtype.itemsize}")
        found = torch.as_tensor(array)
        if like.is_complex():
            return torch.view_as_complex(found)
        return found.view(like.dtype) if found.dtype != like.dtype else found

    def clone(self):
        """The same model with states of its own."""
        return ModuleModel(super().clone(), self._structure)
