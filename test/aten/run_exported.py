#!/usr/bin/env python3
"""The networks of torch_networks.py, with seeded weights, go through tools/scripts/export_torch.py,
dlc compile and dlc run, and give what PyTorch gives. On the emulated GPU they run reduced.

  run_exported.py           at the size that people use on the CPU, reduced on both devices
  run_exported.py NAME...   these alone"""
import importlib.util
import os
import subprocess
import sys

import numpy as np

sys.path.insert(
    0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "conformance"))
from cases import Cases, Failure  # noqa: E402
from dlc_tool import BUILD, DLC, ROOT, compile_model, expect_close, run_model  # noqa: E402
from torch_networks import NETWORKS  # noqa: E402

OUT = os.path.join(BUILD, "test-logs", "exported")
SCRIPT = os.path.join(ROOT, "tools", "scripts", "export_torch.py")
MAX_LINES = 150  # of the text of a network that repeats itself


def script():
    spec = importlib.util.spec_from_file_location("export_torch", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def expected(torch, module, inputs):
    """PyTorch's answer in f64."""
    with torch.no_grad():
        results = module.double().eval()(
            *(torch.from_numpy(value.astype(np.float64) if value.dtype.kind == "f" else value)
              for value in inputs.values()))
    module.float()
    if hasattr(results, "to_tuple"):
        results = results.to_tuple()
    return [result.numpy() for result in (results if isinstance(results, tuple) else [results])]


def network(cases, torch, export, name, size):
    make, inputs_of, whole, reduced, outputs, dynamic = NETWORKS[name]
    example = whole if size == "whole" else reduced
    torch.manual_seed(1)
    generator = np.random.default_rng(2)
    path = os.path.join(OUT, f"{name}-{size}")
    with cases.case(f"{name}, {size}: export and compile"):
        module = make(size).eval()
        for buffer_name, buffer in module.named_buffers():  # else the norms change nothing
            if buffer_name.endswith("running_mean"):
                buffer.copy_(torch.randn(buffer.shape) * 0.1)
        given = {
            key: torch.from_numpy(value) for key, value in inputs_of(example, generator).items()
        }
        export(module, given, path + ".dl", outputs, dynamic, force=True)
        compile_model(path + ".dl", path + ".bin")
    with cases.case(f"{name}, {size}: its text repeats nothing"):
        with open(path + ".dl", encoding="utf-8") as source:
            lines = len(source.readlines())
        if lines > MAX_LINES:
            raise Failure(f"{lines} lines; expected at most {MAX_LINES}")
    shapes = [("cpu", example)]
    if size != "whole":  # other sizes of the symbols, by the same package
        other = (3, *example[1:]) if len(example) == 4 else (3, example[1] - 5)
        shapes += [("cpu", other), ("cuda-emu", example)]
    for device, shape in shapes:
        with cases.case(f"{name}, {size}: {'x'.join(map(str, shape))} on {device}"):
            inputs = inputs_of(shape, generator)
            results = run_model(path + ".bin", inputs, outputs, "--device", device)
            for got, wanted in zip(results, expected(torch, module, inputs)):
                expect_close(got, wanted, 1e-4, 1e-4 * float(np.abs(wanted).max()))


def refusals(cases):
    """What the script says where it cannot."""
    given = ["--input", "x=1x3x8x8xf32", "-o", os.path.join(OUT, "no.dl")]
    for arguments, message in (([
            "torch.nn:Missing", *given
    ], "error: 'torch.nn' has no 'Missing'"), ([
            "nowhere:Net", *given
    ], "error: cannot load 'nowhere': No module named 'nowhere'"), ([
            "torch.nn", *given
    ], "error: expected MODULE:NAME, as in torchvision.models:resnet50, got 'torch.nn'"), ([
            "torch:Size", *given
    ], "error: 'torch:Size' gives a Size, expected a torch.nn.Module"), ([
            "torch.nn:ReLU", "--input", "x=3", "-o", "no.dl"
    ], "error: --input: expected NAME=SHAPExDTYPE"), ([
            "torch.nn:ReLU", *given, "--dynamic", "x=N"
    ], "error: --dynamic: expected INPUT:DIM=SYMBOL, as in x:0=N, got 'x=N'"),
                               (["torch.nn:ReLU", *given, "--dynamic",
                                 "y:0=N"], "error: dynamic names y; the inputs are x"),
                               (["torch.nn:ReLU", "--input", "x=3xf32", "-o",
                                 "no.txt"], "error: -o names 'no.txt'; expected a .dl file")):
        with cases.case(f"refused: {message[7:40]}"):
            run = subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True,
                                 text=True, cwd=OUT, env={**os.environ, "DLC_TOOL": DLC})
            if run.returncode != 1 or message not in run.stderr:
                raise Failure(f"exit status {run.returncode}: {run.stderr.strip()[-300:]}")


def main():
    names = sys.argv[1:] or list(NETWORKS)
    if unknown := sorted(set(names) - set(NETWORKS)):
        sys.exit(f"there is no {', '.join(unknown)}; networks are {', '.join(NETWORKS)}")
    import torch
    os.makedirs(OUT, exist_ok=True)
    os.environ["DLC_TOOL"] = DLC
    cases, export = Cases(), script().export
    missing = [
        name for name in ("torchvision", "transformers") if importlib.util.find_spec(name) is None
    ]
    if missing:
        cases.leave_out(
            len(names),
            f"networks, because this Python has no {' and no '.join(missing)}: tools/scripts/setup --tests"
        )
        names = []
    for name in names:
        for size in ("reduced", "whole"):
            network(cases, torch, export, name, size)
    refusals(cases)
    sys.exit(cases.finish())


if __name__ == "__main__":
    main()
