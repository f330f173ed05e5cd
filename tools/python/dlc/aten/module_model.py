"""A compiled module that is called as the module is."""

from ..errors import Code, Error
from ..model import Model
from .failure import ExportFailure


class ModuleModel(Model):
    """A dlc.Model with the arguments and results of the torch.nn.Module that it was made from:
    tuples, dicts, dataclasses and constants. Inputs that the module changes in place are
    changed. `run` and the rest work on the model's own inputs and outputs, by name."""

    def __init__(self, model, structure):
        self.__dict__.update(model.__dict__)
        self._structure = structure

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
