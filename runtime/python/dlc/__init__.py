"""dlc compiles trained neural networks and runs them.

    model = dlc.compile(net, example)      # a torch.nn.Module, a .dl or .onnx file, an
                                           onnx.ModelProto
    model = dlc.load("model.bin")          # what dlc compile wrote
    y = model(x)                           # arrays of NumPy, PyTorch, JAX or anything with DLPack

docs/python.md has it all."""
from ._runtime import version as __version__
from .errors import Code, CompileError, CompileWarning, CopyWarning, Error
from .model import KernelTime, Model, Value, load

__all__ = [
    "Code", "CompileError", "CompileWarning", "CopyWarning", "Decoder", "Error", "KernelTime",
    "Model", "Trainer", "Value", "compile", "load", "register_op"
]


def __getattr__(name):
    # The compiler's side is read when it is wanted: a program that runs models does not pay for it.
    if name in ("compile", "register_op"):
        from . import compiler
        return getattr(compiler, name)
    if name == "Trainer":
        from .training.trainer import Trainer
        return Trainer
    if name == "Decoder":
        from .decoder import Decoder
        return Decoder
    raise AttributeError(f"module 'dlc' has no attribute '{name}'")
