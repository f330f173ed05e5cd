"""ONNX files by PyTorch's tracing exporter, for the tests and figures that are about such files."""

import inspect
import os
import warnings

OPSET = 17  # the newest that the tracing exporter of PyTorch 1.13 to 2.x writes


def export_onnx(module, inputs, folder, outputs=None, dynamic=None):
    """The path of an ONNX file of `module` in `folder`, named after its class. `inputs`: examples
    by name, in the order of forward's parameters; `outputs`: names; `dynamic`: {"x": {0: "N"}}."""
    import torch

    path = os.path.join(folder, type(module).__name__ + ".onnx")
    parameters = inspect.signature(torch.onnx.export).parameters
    fused = getattr(torch.backends, "mha", None)  # of PyTorch 2
    was_fused = fused and fused.get_fastpath_enabled()
    try:
        # Fused kernels for attention, which the exporter does not know: PyTorch 1.13 takes them
        # under no_grad.
        if fused:
            fused.set_fastpath_enabled(False)
        with warnings.catch_warnings():
            # PyTorch 2.9 says that its tracing exporter is the older one.
            warnings.simplefilter("ignore", DeprecationWarning)
            torch.onnx.export(
                module.eval(),
                tuple(inputs.values()),
                path,
                input_names=list(inputs),
                output_names=outputs,
                opset_version=OPSET,
                dynamic_axes={name: dict(dims) for name, dims in (dynamic or {}).items()},
                **({"dynamo": False} if "dynamo" in parameters else {}),
            )
    finally:
        if fused:
            fused.set_fastpath_enabled(was_fused)
    return path
