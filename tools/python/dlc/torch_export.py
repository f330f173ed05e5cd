"""From a torch.nn.Module to an ONNX file, by PyTorch's own exporters. Uses nothing else of dlc."""
import importlib.util
import inspect
import os
import re
import warnings

OPSET = 17  # the newest that the tracing exporter of PyTorch 1.13 to 2.x writes
DYNAMO_OPSET = 18  # the oldest that the exporter over torch.export writes


class ExportError(Exception):
    """What the user can do something about."""


def has_dynamo():
    """Whether this PyTorch has the exporter over torch.export, and the package that it needs."""
    import torch
    return ("dynamo" in inspect.signature(torch.onnx.export).parameters and hasattr(torch, "export")
            and importlib.util.find_spec("onnxscript") is not None)


def has_programs():
    """Whether this PyTorch has torch.export with decompositions that can be chosen: 2.5 and later."""
    import torch
    return hasattr(getattr(torch, "export", None), "default_decompositions")


def named_inputs(module, example):
    """{"x": tensor} from a tensor, a sequence of them, or a dict by name, which forward's parameters must have; in their order."""
    import torch
    parameters = [parameter for parameter in inspect.signature(module.forward).parameters.values()
                  if parameter.kind is not parameter.VAR_KEYWORD]
    names = [parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_POSITIONAL]
    if isinstance(example, dict):
        unknown = sorted(set(example) - set(names))
        if unknown:
            raise ExportError(f"the example names {', '.join(unknown)}; forward takes {', '.join(names)}")
        given = {name: example[name] for name in names if name in example}
        skipped = names[:len(given)] != list(given)
        if skipped:
            raise ExportError(f"the example gives {', '.join(given)}; expected forward's first parameters without a gap: "
                              f"{', '.join(names)}")
    else:
        values = list(example) if isinstance(example, (tuple, list)) else [example]
        names += [f"input{i}" for i in range(len(names), len(values))]
        given = dict(zip(names, values))
    for name, value in given.items():
        if not isinstance(value, torch.Tensor):
            raise ExportError(f"the example of '{name}' is a {type(value).__name__}; expected a torch.Tensor")
    return given


def _name_dims(path, axes):
    """Gives the dims of an ONNX file the names that the caller chose: PyTorch 2.5 and 2.6 call them s0, s1. `axes`: {"x": {0: "N"}}."""
    import onnx  # onnxscript needs it, so it is there
    model = onnx.load(path, load_external_data=False)
    names = {value.type.tensor_type.shape.dim[dim].dim_param: symbol
             for value in model.graph.input for dim, symbol in axes.get(value.name, {}).items()}
    for value in (*model.graph.input, *model.graph.output, *model.graph.value_info):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_param = re.sub(r"[A-Za-z_]\w*", lambda word: names.get(word[0], word[0]), dim.dim_param)
    onnx.save(model, path)


def export_onnx(module, inputs, folder, outputs=None, dynamic=None, dynamo=False):
    """The path of an ONNX file that PyTorch's exporter writes into `folder`, named after the module's class. `inputs`: examples by name,
    in the order of forward's parameters; `outputs`: names; `dynamic`: {"x": {0: "N"}}; `dynamo`: take the exporter over torch.export,
    which follows more of Python than the tracing one."""
    import torch
    axes = {name: dict(dims) for name, dims in (dynamic or {}).items()}
    unknown = sorted(set(axes) - set(inputs) - set(outputs or ()))
    if unknown:
        raise ExportError(f"dynamic names {', '.join(unknown)}; the inputs are {', '.join(inputs)}")
    options = {"opset_version": OPSET, "dynamic_axes": axes}
    if dynamo:
        symbols = {symbol: torch.export.Dim(symbol) for dims in axes.values() for symbol in dims.values()}
        shapes = tuple({dim: symbols[symbol] for dim, symbol in axes.get(name, {}).items()} or None for name in inputs)
        options = {"opset_version": DYNAMO_OPSET, "dynamic_shapes": shapes if axes else None, "dynamo": True, "verbose": False}
    elif "dynamo" in inspect.signature(torch.onnx.export).parameters:
        options["dynamo"] = False
    path = os.path.join(folder, type(module).__name__ + ".onnx")
    was_training = module.training
    module.eval()
    fused = getattr(torch.backends, "mha", None)  # of PyTorch 2
    was_fused = fused and fused.get_fastpath_enabled()
    try:
        # Fused kernels for attention, which the exporter does not know: PyTorch 1.13 takes them under no_grad.
        if fused:
            fused.set_fastpath_enabled(False)
        with warnings.catch_warnings():
            # PyTorch 2.9 says that its tracing exporter is the older one.
            warnings.simplefilter("ignore", DeprecationWarning)
            torch.onnx.export(module, tuple(inputs.values()), path, input_names=list(inputs), output_names=outputs, **options)
        if dynamo and axes:
            _name_dims(path, axes)
    finally:
        module.train(was_training)
        if fused:
            fused.set_fastpath_enabled(was_fused)
    return path
