"""Compilation: the compiler runs as a process of its own, and what it says becomes an exception or
a warning."""
from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _runtime
from .errors import Code, CompileError, CompileWarning, Error
from .model import Model, load

if TYPE_CHECKING:
    import numpy as np

    Shapes = Mapping[str, Sequence[int]]
    Path = str | os.PathLike[str]
    Arrays = Mapping[str, np.ndarray]

#: Options of `dlc compile` that take one value as it is.
_VALUES = {
    "model": "--model", "precision": "--precision", "max_error": "--max-error",
    "error_metric": "--error-metric", "io": "--io", "quantize": "--quantize", "group": "--group",
    "calib_method": "--calib-method", "calib_batch": "--calib-batch", "report": "--report",
    "plans": "--plans", "dump_dir": "--dump-dir"
}
#: Options that take shapes of inputs, and options that may be repeated.
_SHAPES = {
    "shapes": "--shapes", "min_shapes": "--min-shapes", "max_shapes": "--max-shapes",
    "opt_shapes": "--opt-shapes"
}
_LISTS = {"keep_f32": "--keep-f32"}


def find_tool() -> str:
    """The dlc that compiles: DLC_TOOL, the one in the wheel, that of the build beside this package,
    or the one in PATH."""
    package = os.path.dirname(os.path.abspath(_runtime.__file__))
    beside = [
        os.path.join(package, "bin", "dlc"),
        os.path.join(package, os.pardir, os.pardir, "bin", "dlc")
    ]
    found = os.environ.get("DLC_TOOL") or next(filter(os.path.exists, beside),
                                               None) or shutil.which("dlc")
    if not found:
        raise Error("this dlc has no compiler: install the wheel, or name a dlc in DLC_TOOL",
                    Code.UNSUPPORTED)
    return found


def run_tool(arguments: Sequence[str], rename: Mapping[str, str] | None = None) -> None:
    """Runs dlc. Raises its messages as an error, or issues them as a warning if it succeeds.
    `rename` replaces paths in the messages."""
    command = [find_tool(), *arguments]
    try:
        run = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, text=True, errors="replace")
    except OSError as error:
        raise Error(f"cannot start the compiler '{command[0]}': {error.strerror}",
                    Code.DEVICE) from None
    said = run.stderr.strip()
    for old, new in (rename or {}).items():
        said = said.replace(old, new)
    if run.returncode < 0:
        said += f"\n\nthe compiler was ended by {signal.Signals(-run.returncode).name}"
    if run.returncode:
        known = run.returncode in Code.__members__.values()
        raise CompileError(said.strip(), run.returncode if known else Code.INTERNAL)
    if said:
        warnings.warn(said, CompileWarning, stacklevel=3)


def _shape_text(name: str, shapes: Shapes) -> str:
    if not isinstance(shapes, dict):
        raise Error(
            f"{name}: expected shapes by name, as in {{'x': (8, 3, 224, 224)}}, got a {type(shapes).__name__}",
            Code.USAGE)
    return ",".join(f"{value}:{'x'.join(map(str, shape))}" for value, shape in shapes.items())


def _array_file(folder: str, name: str, arrays: Arrays) -> str:
    import numpy as np
    path = os.path.join(folder, name + ".npz")
    np.savez(path, **{key: np.asarray(array) for key, array in arrays.items()})
    return path


def _arguments(options: dict[str, Any], folder: str) -> list[str]:
    """The options of the command line; those that are found are taken out of `options`."""
    found: list[str] = []
    for name, flag in _VALUES.items():
        if (value := options.pop(name, None)) is not None:
            found += [flag, os.fspath(value) if isinstance(value, os.PathLike) else str(value)]
    for name, flag in _SHAPES.items():
        if value := options.pop(name, None):
            found += [flag, _shape_text(name, value)]
    for name, flag in _LISTS.items():
        value = options.pop(name, None) or []
        for item in [value] if isinstance(value, str) else value:
            found += [flag, item]
    weights = options.pop("weights", None)
    if isinstance(weights, dict):
        weights = _array_file(folder, "weights", weights)
    for path in weights if isinstance(weights, (list, tuple)) else [weights] if weights else []:
        found += ["--weights", os.fspath(path)]
    if (calib := options.pop("calib", None)) is not None:
        found += [
            "--calib",
            _array_file(folder, "calib", calib) if isinstance(calib, dict) else os.fspath(calib)
        ]
    for name, output in (options.pop("states", None) or {}).items():
        found += ["--state", f"{name}={output}"]
    for number, (name, array) in enumerate((options.pop("const_inputs", None) or {}).items()):
        import numpy as np
        path = os.path.join(folder, f"const{number}.npy")
        np.save(path, np.asarray(array))
        found += ["--const-input", f"{name}=@{path}"]
    return found


def _is_torch_module(source: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(source, torch.nn.Module)


def _export_torch(source: Any, options: dict[str, Any], folder: str) -> str:
    """The .dl file of a torch.nn.Module."""
    import torch
    example, states = options.pop("example"), options.pop("states")
    if not hasattr(getattr(torch, "export", None), "default_decompositions"):
        raise Error(f"dlc.compile takes modules of PyTorch 2.5 and later, this is {torch.__version__}: write an ONNX file by "
                    "torch.onnx.export and compile that", Code.UNSUPPORTED)
    if example is None:
        raise Error("a torch.nn.Module needs an example of its inputs: dlc.compile(module, x)",
                    Code.USAGE)
    if states not in (None, "keep", "refuse"):
        raise Error(f"states of a torch.nn.Module are 'keep' or 'refuse', got {states!r}",
                    Code.USAGE)
    from .aten import export
    from .aten.failure import CallFailure, ExportFailure
    try:
        path, options["structure"] = export.write(source, example, folder, options.pop("outputs"),
                                                  options.pop("dynamic"), states != "refuse")
    except ExportFailure as failure:
        raise Error(str(failure),
                    Code.USAGE if isinstance(failure, CallFailure) else Code.UNSUPPORTED) from None
    if options["structure"].remark:
        warnings.warn(options["structure"].remark, CompileWarning, stacklevel=4)
    return path


def _is_keras_model(source: Any) -> bool:
    keras = sys.modules.get("keras")
    return keras is not None and isinstance(source, keras.Model)


def _keras_text(source: Any, options: dict[str, Any], folder: str) -> str:
    """The .dl file of a Keras model; its weights become those of the options, unless there are
    some."""
    from . import keras_import, keras_text
    saved, path = os.path.join(folder, "model.keras"), os.path.join(folder, "model.dl")
    source.save(saved)
    weights, config = keras_import.read(saved, None)
    with open(path, "w", encoding="utf-8") as out:
        out.write(keras_text.text_of(config))
    options["weights"] = options["weights"] or weights
    return path


def _source_path(source: Any, options: dict[str, Any], folder: str) -> tuple[str, dict[str, str]]:
    """The file to compile, and what its path is called in messages."""
    if _is_torch_module(source):
        path = _export_torch(source, options, folder)
        return path, {path: type(source).__name__}
    for name in ("example", "outputs", "dynamic"):
        if options.pop(name) is not None:
            raise Error(
                f"{name} belongs to a torch.nn.Module; the source is a {type(source).__name__}",
                Code.USAGE)
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source), {}
    if _is_keras_model(source):
        from . import keras_graph
        try:
            path = _keras_text(source, options, folder)
        except keras_graph.ImportFailure as error:
            raise Error(str(error), Code.USAGE) from None
        return path, {path: source.name}
    if hasattr(source, "SerializeToString") and hasattr(source, "graph"):
        name, data = source.graph.name or "ModelProto", source.SerializeToString()
    elif isinstance(source, bytes):
        name, data = "bytes", source
    else:
        raise Error(f"cannot compile a {type(source).__name__}; expected the path of a .dl or .onnx file, an onnx.ModelProto or its bytes, "
                    "a torch.nn.Module or a keras.Model", Code.USAGE)
    path = os.path.join(folder, "model.onnx")
    with open(path, "wb") as out:
        out.write(data)
    return path, {path: name}


def register_op(
        name: str,
        function: Callable[..., str | Sequence[str]] | str | Sequence[str] | None = None) -> Any:
    """Registers how dlc writes an op of PyTorch that it does not know, such as a
    torch.library.custom_op.

    name         "mylib::twice", or with its overload "mylib::twice.default", which is the one that
                 is meant without
    function     returns the text of an expression in dlc's language, or a tuple of texts for an op
                 of several results. Its arguments are those of the op. A tensor is a text that
                 names it, a list of tensors a list of such texts; a size that varies is a text, and
                 a dtype is one ("f32"). Numbers, strings, None and lists of these are themselves.
                 The new value of an argument that the op changes is a result, too, after the
                 others. Instead of a function it may be a text, or a tuple of texts, with the names
                 of the op's arguments: "x * factor".

    Without `function` it is a decorator. A later registration of the same op replaces the first."""
    if function is None:
        def declare(made: Any) -> Any:
            register_op(name, made)
            return made
        return declare
    import torch
    if not hasattr(getattr(torch, "export", None), "default_decompositions"):
        raise Error("register_op needs PyTorch 2.5 or newer", Code.UNSUPPORTED)
    from .aten import registered
    registered.register_op(name, function)
    return None


def _default_target(device: str) -> str:
    return "cpu" if device == "cpu" else "cuda" if device.startswith("cuda") else "cpu,cuda"


def compile(
    source: Any,
    example: Any = None,
    *,
    output: Path | None = None,
    target: str | Sequence[str] | None = None,
    device: str = "auto",
    dynamic: Mapping[str, Mapping[int, str]] | str | None = None,
    outputs: Sequence[str] | None = None,
    dynamo: bool | None = None,
    shapes: Shapes | None = None,
    min_shapes: Shapes | None = None,
    max_shapes: Shapes | None = None,
    opt_shapes: Shapes | None = None,
    model: str | None = None,
    weights: Path | Sequence[Path] | Arrays | None = None,
    const_inputs: Arrays | None = None,
    states: Mapping[str, str] | None = None,
    precision: str | None = None,
    max_error: float | None = None,
    error_metric: str | None = None,
    io: str | None = None,
    keep_f32: str | Sequence[str] | None = None,
    quantize: str | None = None,
    group: int | None = None,
    calib: Path | Arrays | None = None,
    calib_method: str | None = None,
    calib_batch: int | None = None,
    report: Path | None = None,
    plans: Path | None = None,
    dump_dir: Path | None = None,
    **load_options: Any,
) -> Model:
    """Compiles a model and loads it.

    source       the path of a .dl or .onnx file, an onnx.ModelProto or its bytes, a
                 torch.nn.Module, or a keras.Model
    example      of a module's inputs: a tensor, a tuple of them, or a dict by the names of
                 forward's parameters. Shapes and dtypes count
    output       file to keep, for dlc.load and `dlc run`; without it the model lives in this
                 process alone
    target       "cpu", "cuda", and GPUs such as "sm_90a" whose kernels are compiled now. Default:
                 what `device` needs
    device       where it is loaded: "cpu", "cuda", "cuda:1", or "auto": cuda where it is usable
    dynamic      dims of a module's inputs that may change: {"x": {0: "N"}}; "auto": all those that
                 PyTorch does not make numbers
    outputs      names for a module's results
    dynamo       chose one of PyTorch's ONNX exporters in older versions of dlc; a module goes by
                 torch.export whatever it is
    shapes       shapes of inputs, {"x": (8, 3, 224, 224)}: the symbolic dims that they give become
                 numbers; min_shapes and max_shapes narrow their ranges, opt_shapes are those to be
                 fast for
    weights      safetensors or npz files instead of those that a .dl names, or arrays by name
    const_inputs arrays that take the place of inputs of an ONNX model which must be known: a shape,
                 axes
    states       {input: output} of an ONNX model: the input stays in it from run to run, and the
                 output is its next value

    model, precision, max_error, error_metric, io, keep_f32, quantize, group, calib, calib_method,
    calib_batch, report, plans and dump_dir are documented in `dlc compile --help`; calib may also
    be a dict of arrays. Other options are passed to dlc.load. Raises dlc.CompileError with all
    errors of the model; warnings are issued as dlc.CompileWarning."""
    options = {
        name: value for name, value in locals().items()
        if name not in ("source", "output", "target", "device", "dynamo", "load_options")
    }
    targets = target or _default_target(device)
    with tempfile.TemporaryDirectory(prefix="dlc-") as folder:
        path, rename = _source_path(source, options, folder)
        # The file is mapped: it may go once it is loaded.
        package = os.path.join(folder, "model.bin") if output is None else os.fspath(output)
        structure = options.pop("structure", None)
        run_tool([
            "compile", path, "-q", "-o", package, "--target",
            targets if isinstance(targets, str) else ",".join(targets),
            *_arguments(options, folder)
        ], rename)
        made = load(package, device=device, **load_options)
        if structure is None:
            return made
        from .aten.module_model import ModuleModel
        return ModuleModel(made, structure)
