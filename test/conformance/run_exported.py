#!/usr/bin/env python3
"""Networks that PyTorch exports: torchvision's ResNet-50 and MobileNetV2, BERT and GPT-2 of transformers, PyTorch's own
TransformerEncoder, with seeded weights, go through tools/scripts/export_torch.py, dlc compile and dlc run, and give what PyTorch
gives. On the emulated GPU they run reduced. Detectors as small_detectors.py has them go from an image to boxes, scores and labels.

  run_exported.py           at the size that people use on the CPU, reduced on both devices
  run_exported.py NAME...   these alone"""
import importlib.util
import inspect
import os
import subprocess
import sys
import warnings

import numpy as np

from cases import Cases, Failure
from dlc_tool import BUILD, DLC, ROOT, compile_model, dlc, expect_close, run_model

OUT = os.path.join(BUILD, "test-logs", "exported")
SCRIPT = os.path.join(ROOT, "tools", "scripts", "export_torch.py")
MAX_LINES = 150  # of the text of a network that repeats itself


def script():
    spec = importlib.util.spec_from_file_location("export_torch", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def resnet50(size):
    from torchvision.models import resnet
    return (resnet.resnet50() if size == "whole" else
            resnet.ResNet(resnet.Bottleneck, [2, 2, 2, 2], num_classes=10, width_per_group=8))


def mobilenet_v2(size):
    from torchvision.models import mobilenet_v2 as make
    return make() if size == "whole" else make(num_classes=10, width_mult=0.25)


def bert(size):
    from transformers import BertConfig, BertModel
    reduced = {"hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 100,
               "max_position_embeddings": 64}
    return BertModel(BertConfig(**({} if size == "whole" else reduced)))


def gpt2(size):
    from transformers import GPT2Config, GPT2LMHeadModel
    reduced = {"n_embd": 64, "n_layer": 3, "n_head": 4, "vocab_size": 100, "n_positions": 64}
    return GPT2LMHeadModel(GPT2Config(use_cache=False, **({} if size == "whole" else reduced)))


def encoder(size):
    from torch import nn
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), 6 if size == "whole" else 2)


def embedded(shape, generator):
    return image((*shape, 64), generator)


def image(shape, generator):
    return {"x": generator.standard_normal(shape, dtype=np.float32)}


def text(shape, generator):
    return {"input_ids": generator.integers(0, 100, shape)}


def masked_text(shape, generator):
    lengths = np.arange(shape[1])[None, :] < generator.integers(1, shape[1] + 1, (shape[0], 1))
    return {**text(shape, generator), "attention_mask": lengths.astype(np.int64)}


# Name: the module, its inputs, shapes of the example, of the whole and of the reduced network, the outputs, the symbols.
BATCH, LENGTH = {0: "N"}, {0: "N", 1: "T"}
NETWORKS = {
    "resnet50": (resnet50, image, (1, 3, 224, 224), (2, 3, 64, 64), ["logits"], {"x": BATCH}),
    "mobilenet_v2": (mobilenet_v2, image, (1, 3, 224, 224), (2, 3, 64, 64), ["logits"], {"x": BATCH}),
    "bert": (bert, masked_text, (1, 24), (2, 16), ["hidden", "pooled"], {"input_ids": LENGTH, "attention_mask": LENGTH}),
    "gpt2": (gpt2, text, (1, 24), (2, 16), ["logits"], {"input_ids": LENGTH}),
    "encoder": (encoder, embedded, (1, 24), (2, 16), ["y"], {"x": LENGTH}),
}


DETECTORS = ("ssd", "ssd_of_many_classes", "yolo", "retinanet", "faster_rcnn")


def expected(torch, module, inputs):
    """PyTorch's answer in f64."""
    with torch.no_grad():
        results = module.double().eval()(*(torch.from_numpy(value.astype(np.float64) if value.dtype.kind == "f" else value)
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
        given = {key: torch.from_numpy(value) for key, value in inputs_of(example, generator).items()}
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


def detector(cases, torch, name):
    """From an image to boxes, scores and labels, as many as there are, in PyTorch's order."""
    import small_detectors
    torch.manual_seed(3)
    module = small_detectors.DETECTORS[name]().eval()
    images = [torch.rand(1, 3, 64, 64), torch.rand(1, 3, 64, 64) * 0.2]
    outputs = ["boxes", "scores", "labels"]
    path = os.path.join(OUT, name)
    with cases.case(f"{name}: export and compile"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the exporter's, about what it fixes
            # torchvision 0.14 leaves the coordinates of RoiAlign, which are others from opset 16 on, to that default.
            torch.onnx.export(module, (images[0],), path + ".onnx", input_names=["x"], output_names=outputs, opset_version=15,
                              **({"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}))
        compile_model(path + ".onnx", path + ".bin")
        dlc("import", path + ".onnx", "-o", path + ".dl", "--force")
        dlc("check", path + ".dl")
    runs = [("cpu", ".bin", image) for image in images] + [("cuda-emu", ".bin", images[0])]
    if name == "yolo":  # the quickest to compile
        compile_model(path + ".dl", path + "-text.bin", None, "--target", "cpu")
        runs.append(("cpu", "-text.bin", images[1]))
    for place, (device, package, image) in enumerate(runs):
        with cases.case(f"{name}: image {place} on {device}{', from its text' if 'text' in package else ''}"):
            results = run_model(path + package, {"x": image.numpy()}, outputs, "--device", device)
            with torch.no_grad():
                wanted = [result.numpy() for result in module(image)]
            for got, theirs in zip(results, wanted):
                expect_close(got, theirs, 1e-4, 1e-4 * float(np.abs(theirs).max(initial=0)))


def refusals(cases):
    """What the script says where it cannot."""
    given = ["--input", "x=1x3x8x8xf32", "-o", os.path.join(OUT, "no.dl")]
    for arguments, message in (
            (["torch.nn:Missing", *given], "error: 'torch.nn' has no 'Missing'"),
            (["nowhere:Net", *given], "error: cannot load 'nowhere': No module named 'nowhere'"),
            (["torch.nn", *given], "error: expected MODULE:NAME, as in torchvision.models:resnet50, got 'torch.nn'"),
            (["torch:Size", *given], "error: 'torch:Size' gives a Size, expected a torch.nn.Module"),
            (["torch.nn:ReLU", "--input", "x=3", "-o", "no.dl"], "error: --input: expected NAME=SHAPExDTYPE"),
            (["torch.nn:ReLU", *given, "--dynamic", "x=N"], "error: --dynamic: expected INPUT:DIM=SYMBOL, as in x:0=N, got 'x=N'"),
            (["torch.nn:ReLU", *given, "--dynamic", "y:0=N"], "error: dynamic names y; the inputs are x"),
            (["torch.nn:ReLU", "--input", "x=3xf32", "-o", "no.txt"], "error: -o names 'no.txt'; expected a .dl file")):
        with cases.case(f"refused: {message[7:40]}"):
            run = subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, cwd=OUT,
                                 env={**os.environ, "DLC_TOOL": DLC})
            if run.returncode != 1 or message not in run.stderr:
                raise Failure(f"exit status {run.returncode}: {run.stderr.strip()[-300:]}")


def main():
    known = [*NETWORKS, *DETECTORS]
    names = sys.argv[1:] or known
    unknown = sorted(set(names) - set(known))
    if unknown:
        sys.exit(f"there is no {', '.join(unknown)}; networks are {', '.join(known)}")
    import torch
    os.makedirs(OUT, exist_ok=True)
    os.environ["DLC_TOOL"] = DLC
    cases, export = Cases(), script().export
    missing = [name for name in ("torchvision", "transformers") if importlib.util.find_spec(name) is None]
    if missing:
        cases.leave_out(len(names), f"networks, because this Python has no {' and no '.join(missing)}: tools/scripts/setup --tests")
        names = []
    for name in names:
        if name in DETECTORS:
            detector(cases, torch, name)
            continue
        for size in ("reduced", "whole"):
            network(cases, torch, export, name, size)
    refusals(cases)
    sys.exit(cases.finish())


if __name__ == "__main__":
    main()
