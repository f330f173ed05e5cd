"""The backend "dlc" of torch.compile, for inference: torch.compile(model, backend="dlc").

TorchDynamo splits the model into graphs and runs what lies between them itself. Each graph is compiled for each set of shapes that it is
called with. A graph that dlc does not take runs in eager PyTorch, and a dlc.CompileWarning says why: one that records gradients, changes
its inputs in place, draws random numbers, or holds an operator that dlc lacks."""
import warnings

import torch

from .compiler import compile
from .errors import CompileWarning, Error

#: Compiled models that a graph keeps, for as many sets of shapes and versions of its weights.
KEPT = 16


class _Fixed(torch.nn.Module):
    """A graph with its parameters, buffers and numbers in it: forward takes the other tensors."""

    def __init__(self, graph, arguments):
        super().__init__()
        self.graph, self.is_fixed = graph, [_is_fixed(argument) for argument in arguments]
        self.values = [argument.detach() if isinstance(argument, torch.Tensor) else argument
                       for argument, is_fixed in zip(arguments, self.is_fixed) if is_fixed]

    def forward(self, *inputs):
        fixed, free = iter(self.values), iter(inputs)
        return tuple(self.graph(*(next(fixed) if is_fixed else next(free) for is_fixed in self.is_fixed)))


def _is_fixed(argument):
    """Whether an argument is a number, a parameter or a buffer. Newer PyTorch hands parameters and buffers of the model to its graphs."""
    return (not isinstance(argument, torch.Tensor) or isinstance(argument, torch.nn.Parameter)
            or getattr(argument, "_dynamo_static_input_type", None) is not None)


def _version(tensor):
    """Counts the changes of a tensor in place, where PyTorch counts them."""
    return None if tensor.is_inference() else tensor._version


def _same(one, other):
    return torch.equal(one, other) or one.is_floating_point() and torch.allclose(one, other, rtol=0, atol=0, equal_nan=True)


def _place(tensor):
    storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
    return storage.data_ptr()


def _why_not(graph, arguments):
    """Why dlc must leave this graph to PyTorch; None where nothing is known. Runs it twice on copies of its arguments."""
    given = [argument for argument in arguments if isinstance(argument, torch.Tensor)]
    held = [*graph.parameters(), *graph.buffers()]
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in given + held):
        return "it records gradients, which dlc does not compute; call the model under torch.no_grad()"
    trial = [argument.detach().clone() if isinstance(argument, torch.Tensor) else argument for argument in arguments]
    copies = [argument for argument in trial if isinstance(argument, torch.Tensor)]
    before = [_version(tensor) for tensor in held]
    with torch.no_grad():
        results = graph(*trial)
        if before != [_version(tensor) for tensor in held] or not all(map(_same, given, copies)):
            return "it changes a tensor in place that it is given"
        again = graph(*trial)
    if not isinstance(results, (tuple, list)) or not all(isinstance(found, torch.Tensor) for found in results):
        return "it returns something else than tensors"
    places = {_place(tensor) for tensor in held + copies}
    if any(_place(found) in places for found in results):
        return "it returns a tensor that it is given, or a view of it"
    return None if all(map(_same, results, again)) else "it draws random numbers"


class _Graph:
    """A graph of TorchDynamo's, compiled for each set of shapes."""

    def __init__(self, graph, options):
        self.graph, self.options = graph, options
        self.models = {}  # None: PyTorch runs it

    def _compiled(self, arguments):
        why = _why_not(self.graph, arguments)
        if why is None:
            free = tuple(argument for argument in arguments if not _is_fixed(argument))
            on_gpu = next((argument.device for argument in free if argument.is_cuda), None)
            device = f"cuda:{on_gpu.index or 0}" if on_gpu else "cpu"
            try:
                with torch.no_grad():
                    return compile(_Fixed(self.graph, arguments), free, **{"device": device, "dynamo": False, **self.options})
            except Error as error:
                why = str(error)
            except (RuntimeError, torch.onnx.errors.OnnxExporterError) as error:
                why = f"PyTorch cannot export it: {error}"
        warnings.warn(f"a graph runs in eager PyTorch: {why}", CompileWarning, stacklevel=4)
        return None

    def _key(self, arguments):
        """What a compiled model depends on. What is fixed may have been changed in place since."""
        held = (*self.graph.parameters(), *self.graph.buffers())
        return tuple((argument.shape, argument.dtype, argument.device) if not _is_fixed(argument) else
                     (argument.data_ptr(), _version(argument)) if isinstance(argument, torch.Tensor) else argument
                     for argument in arguments) + tuple(map(_version, held))

    def __call__(self, *arguments):
        key = self._key(arguments)
        if key not in self.models:
            if len(self.models) == KEPT:
                self.models.pop(next(iter(self.models)))
            self.models[key] = self._compiled(arguments)
        model = self.models[key]
        if model is None:
            return self.graph(*arguments)
        found = model(*(argument.detach().contiguous() for argument in arguments if not _is_fixed(argument)))
        return found if isinstance(found, tuple) else (found,)


def backend(graph, example_inputs, *, options=None):
    """What torch.compile calls for each graph. `options` are keywords of dlc.compile: torch.compile(model, backend=backend,
    options={"precision": "f16"})."""
    return _Graph(graph, options or {})
