"""dlc as a backend of ONNX (onnx.backend.base), which ONNX's own test runner drives:

    import dlc.onnx_backend as backend
    outputs = backend.prepare(model, device="CPU").run([x])"""
import numpy as np
import onnx
from onnx.backend.base import Backend, BackendRep, namedtupledict

from .compiler import compile
from .errors import Code, CompileError

_DEVICES = {"CPU": "cpu", "CUDA": "cuda"}


def _device(name):
    """dlc's name of "CPU", "CUDA" or "CUDA:1"; None for what dlc does not know."""
    kind, colon, ordinal = name.partition(":")
    found = _DEVICES.get(kind.upper())
    return found and found + (colon + ordinal if found == "cuda" else "")


def _must_be_known(inputs):
    """Choices of inputs that may hold shapes, axes and their like, which dlc needs when it
    compiles: integers of at most one dim; all of at most one dim but the first input; all of at
    most one dim."""
    small = {name: array for name, array in inputs.items() if array.ndim <= 1}
    first = next(iter(inputs), None)
    yield {name: array for name, array in small.items() if array.dtype.kind in "iu"}
    yield {name: array for name, array in small.items() if name != first}
    yield small


class DlcRep(BackendRep):
    """A model that is compiled. Where inputs must be known for that, it is compiled when it gets
    them, and again when they change."""

    def __init__(self, model, device):
        given = {value.name for value in model.graph.initializer}
        self.names = [value.name for value in model.graph.input if value.name not in given]
        self.outputs = [value.name for value in model.graph.output]
        self.source, self.device, self.known = model, device, None
        self.refused = self.model = None
        try:
            self.model = compile(model, device=device)
        except CompileError as error:
            self.refused = error

    def _compile_for(self, inputs):
        for known in _must_be_known(inputs):
            signature = [(name, array.dtype.str, array.shape, array.tobytes())
                         for name, array in known.items()]
            if known and signature == self.known:
                return
            try:
                self.model = compile(self.source, device=self.device, const_inputs=known)
                self.known = signature
                return
            except CompileError:
                continue
        raise self.refused

    def run(self, inputs, **kwargs):
        """A named tuple of the outputs. `inputs`: arrays in the order of the graph's inputs, or by
        name."""
        if isinstance(inputs, dict):
            given = dict(inputs)
        else:
            inputs = inputs if isinstance(inputs, (list, tuple)) else [inputs]
            given = dict(zip(self.names, inputs))
        given = {name: np.asarray(array) for name, array in given.items()}
        if self.refused:
            self._compile_for(given)
        taken = {value.name for value in self.model.inputs}
        results = self.model.run({name: array for name, array in given.items() if name in taken})
        return namedtupledict("Outputs", self.outputs)(*(results[name] for name in self.outputs))


class DlcBackend(Backend):
    """The classmethods of onnx.backend.base.Backend. Devices are "CPU", "CUDA" and "CUDA:1"."""

    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        super().prepare(model, device, **kwargs)  # checks the model
        found = _device(device)
        if not found:
            raise CompileError(f"unknown device '{device}'; expected CPU, CUDA or CUDA:N",
                               Code.USAGE)
        return DlcRep(model, found)

    @classmethod
    def run_model(cls, model, inputs, device="CPU", **kwargs):
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node, inputs, device="CPU", outputs_info=None, **kwargs):
        """Runs one node. `outputs_info`: (dtype, shape) of each output, where the caller knows
        them."""
        inputs = [np.asarray(array) for array in inputs]
        as_type = onnx.helper.np_dtype_to_tensor_dtype
        ins = [onnx.helper.make_tensor_value_info(name, as_type(array.dtype), array.shape)
               for name, array in zip((name for name in node.input if name), inputs)]
        if outputs_info is None:
            outs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        else:
            outs = [
                onnx.helper.make_tensor_value_info(name, as_type(np.dtype(dtype)), shape)
                for name, (dtype, shape) in zip((name
                                                 for name in node.output if name), outputs_info)
            ]
        graph = onnx.helper.make_graph([node], node.op_type, ins, outs)
        return DlcRep(onnx.helper.make_model(graph), _device(device) or "cpu").run(inputs)

    @classmethod
    def supports_device(cls, device):
        return _device(device) is not None


prepare = DlcBackend.prepare
run_model = DlcBackend.run_model
run_node = DlcBackend.run_node
supports_device = DlcBackend.supports_device
