#!/usr/bin/env python3
"""25 networks of test/conformance/run_zoo.py (torchvision, transformers, recurrent ones, detectors; reduced, with seeded weights) through
both ONNX exporters of a current PyTorch: the one over torch.export (dynamo) with dynamic_shapes, and the tracing one with dynamic_axes.
Each file is compiled by dlc and compared with PyTorch in double precision at the sizes of the example and, where dims are symbols, at
other sizes by the same package; the small ones run on the emulated GPU too. On demand, a quarter of an hour: it needs a PyTorch that Debian lacks.

  python3 -m venv VENV && VENV/bin/pip install torch torchvision transformers onnx onnxscript
  VENV/bin/python test/python/run_exporters.py                       all of them
  VENV/bin/python test/python/run_exporters.py NAME... [--exporter dynamo|tracing]
  VENV/bin/python test/python/run_exporters.py --list                their names

A network that an exporter itself cannot export is left out, named with what PyTorch says, and counted; it never passes."""

import argparse
import contextlib
import logging
import os
import sys
import time
import warnings

TEST = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [
    os.path.join(TEST, "conformance"),
    os.path.join(os.path.dirname(TEST), "tools", "python", "dlc"),
]
import numpy as np  # noqa: E402

from cases import Cases, Failure  # noqa: E402
from dlc_tool import BUILD, compile_model, run_model  # noqa: E402

OUT = os.path.join(BUILD, "test-logs", "exporters")
BOUND = 2e-3  # of the largest element: deep networks of random weights, in f32
VISION = (
    "resnet34",
    "mobilenet_v3_small",
    "efficientnet_b0",
    "convnext_tiny",
    "densenet121",
    "vision_transformer",
    "swin_t",
    "lraspp_mobilenet_v3_large",
    "ssdlite",
    "yolo",
    "unet3d",
)
TEXT = (
    "bert",
    "deberta_v2",
    "gpt2",
    "llama",
    "qwen2",
    "gemma2",
    "mistral",
    "t5",
    "bart",
    "whisper",
    "clip",
    "crnn",
    "gru_text",
    "translator",
)
# The emulator runs these in seconds.
EMULATED = ("bert", "gpt2", "llama", "gru_text", "yolo")
# Where no mask is given, transformers looks for texts that are packed by an operator that the tracing exporter lacks.
MASKED = ("gpt2", "llama", "qwen2", "gemma2", "mistral", "whisper")
# Name: dims that the tracing exporter writes as numbers, so that its file is of one size (ONNX Runtime refuses others too).
FIXED = {"translator": ("S", "T")}


def masked(torch, module):
    """The network of the zoo, called with a mask that hides nothing."""

    class Masked(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.network = module.network

        def forward(self, ids):
            return self.network(ids, attention_mask=torch.ones_like(ids), use_cache=False)[0]

    class MaskedTarget(Masked):
        def forward(self, ids, target):
            return self.network(
                **{module.first: ids},
                decoder_input_ids=target,
                decoder_attention_mask=torch.ones_like(target),
                use_cache=False,
            )[0]

    return (MaskedTarget() if hasattr(module, "first") else Masked()).eval()


@contextlib.contextmanager
def quiet():
    """Sends what the exporters print of a network that they cannot take (whole graphs, from C++ too) nowhere."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        kept = {number: os.dup(number) for number in (1, 2)}
        try:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            for number in kept:
                os.dup2(nowhere.fileno(), number)
            yield
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            for number, before in kept.items():
                os.dup2(before, number)
                os.close(before)


def reason(error):
    """The first sentence of what lies below an exporter's exception."""
    while error.__cause__:
        error = error.__cause__
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:160] if str(error).strip() else 'no message'}"


def larger(torch, inputs, dynamic):
    """The inputs with one more of each symbolic dim, or None where there is none."""
    if not dynamic:
        return None
    grown = {}
    for name, value in inputs.items():
        for dim in dynamic.get(name, {}):
            value = torch.cat((value, value.narrow(dim, 0, 1)), dim)
        grown[name] = value
    return grown


def expected(module, inputs):
    """PyTorch's results in f64; in f32 of a network whose own code knows f32 alone."""
    import torch
    from run_zoo import flat

    with torch.no_grad():
        try:
            return flat(
                module.double()(
                    *(
                        value.double() if value.is_floating_point() else value
                        for value in inputs.values()
                    )
                )
            )
        except RuntimeError:
            return flat(module.float()(*inputs.values()))
        finally:
            module.float()


def compare(package, outputs, device, inputs, wanted):
    got = run_model(
        package,
        {name: value.numpy() for name, value in inputs.items()},
        outputs,
        "--device",
        device,
    )
    if [array.shape for array in got] != [array.shape for array in wanted]:
        raise Failure(
            f"shapes {[array.shape for array in got]}, PyTorch's are {[array.shape for array in wanted]}"
        )
    for ours, theirs in zip(got, wanted):
        far = np.abs(ours - theirs).max(initial=0) / (np.abs(theirs).max(initial=0) + 1e-9)
        if not far <= BOUND:
            sizes = ", ".join("x".join(map(str, value.shape)) for value in inputs.values())
            raise Failure(f"{far:.1e} of the largest element off PyTorch's at {sizes} on {device}")


def check(torch, cases, name, network, exporter):
    import onnx
    from run_zoo import seeded_module
    from torch_export import export_onnx

    make, inputs_of, dynamic = network
    module = seeded_module(torch, make)
    if exporter == "tracing":
        if name in MASKED:
            module = masked(torch, module)
        dynamic = {
            key: {dim: symbol for dim, symbol in dims.items() if symbol not in FIXED.get(name, ())}
            for key, dims in (dynamic or {}).items()
        }
    inputs, title = inputs_of(), f"{name}, {exporter}"
    began = time.monotonic()
    try:
        with quiet():
            path = export_onnx(module, inputs, OUT, dynamic=dynamic, dynamo=exporter == "dynamo")
    except Exception as error:
        cases.leave_out(1, f"PyTorch's {exporter} exporter does not take {name}: {reason(error)}")
        return
    kept = os.path.join(OUT, f"{name}-{exporter}.onnx")
    model = onnx.load(path)
    onnx.save(model, kept)  # its weights in it, not beside it
    outputs = [output.name for output in model.graph.output]
    for written in (path, path + ".data"):
        if os.path.exists(written):
            os.unlink(written)
    exported = time.monotonic() - began
    devices = ("cpu", "cuda-emu") if name in EMULATED else ("cpu",)
    package = kept[: -len(".onnx")] + ".bin"
    with cases.case(title):
        compile_model(kept, package, None, *(() if len(devices) > 1 else ("--target", "cpu")))
        sizes = [inputs] + [grown for grown in [larger(torch, inputs, dynamic)] if grown]
        for device in devices:
            for given in sizes:
                compare(package, outputs, device, given, expected(module, given))
        os.unlink(package)
        print(
            f"   {title}: exported in {exported:.0f} s, the rest took {time.monotonic() - began - exported:.0f} s"
        )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--exporter", choices=("dynamo", "tracing"), action="append")
    parser.add_argument("--list", action="store_true", help="print the names")
    options = parser.parse_args()
    if options.list:
        sys.exit(print("\n".join(VISION + TEXT)))
    if unknown := sorted(set(options.names) - set(VISION + TEXT)):
        parser.error(f"there is no {', '.join(unknown)}; --list prints what there is")
    try:
        import torch
        import torchvision  # noqa: F401
        import transformers  # noqa: F401
        from run_zoo import networks
        from torch_export import has_dynamo
    except ImportError as error:
        sys.exit(f"{error}; --help tells what this needs")
    if not has_dynamo():
        sys.exit(
            f"PyTorch {torch.__version__} has no exporter over torch.export, or onnxscript is missing; --help tells what this needs"
        )
    for logger in ("torch", "onnxscript", "transformers"):
        logging.getLogger(logger).setLevel(logging.CRITICAL)
    warnings.simplefilter("ignore")  # of the exporters', about what they fix
    os.makedirs(OUT, exist_ok=True)
    zoo, cases = networks(torch), Cases()
    for name in options.names or VISION + TEXT:
        for exporter in options.exporter or ("dynamo", "tracing"):
            check(torch, cases, name, zoo[name], exporter)
    return cases.finish()


if __name__ == "__main__":
    sys.exit(main())
