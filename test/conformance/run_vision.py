#!/usr/bin/env python3
"""ResNet-50, MobileNetV2 and VGG16 of examples/ against PyTorch: results at reduced size, on the
CPU and the emulated GPU; names and shapes of all parameters at real size."""
import os
import re
import subprocess
import sys

import numpy as np
import torch

import vision_models
from cases import Cases, Failure
from dlc_tool import BUILD, ROOT, compile_model, dlc_translate, expect_close, run_model
from torch_oracle import read_safetensors

OUT = os.path.join(BUILD, "test-logs", "vision")
# Name: the module, the output, the constants of the reduced model, and bounds.
MODELS = {
    "resnet50": ("ResNet50", "logits", {"SIZE": 64, "WIDTH": 8, "CLASSES": 10}, 1e-4, 1e-4),
    "mobilenet_v2": ("MobileNetV2", "logits", {"SIZE": 64, "W": 2, "CLASSES": 10}, 1e-4, 1e-4),
    "vgg16": ("VGG16", "probs", {"SIZE": 64, "W": 8, "HIDDEN": 32, "CLASSES": 5}, 1e-4, 1e-6),
}


def text_of(name):
    with open(os.path.join(ROOT, "examples", name, name + ".dl"), encoding="utf-8") as source:
        return source.read()


def make_weights(name, *arguments):
    """What the example's weights.py writes into OUT; its exit status and its last line."""
    run = subprocess.run(
        [sys.executable,
         os.path.join(ROOT, "examples", name, "weights.py"), OUT, *arguments], capture_output=True,
        text=True)
    return run.returncode, run.stderr.strip().rsplit("\n", 1)[-1]


def checkpoint(name, module, sizes):
    """A state_dict that torch.save wrote gives the same weights; one of another shape is refused by
    name."""
    path, made = os.path.join(OUT, name + ".pth"), os.path.join(OUT, name + ".safetensors")
    torch.save(module.state_dict(), path)
    with open(made, "rb") as file:
        before = file.read()
    os.remove(made)
    constants = [f"{constant}={value}" for constant, value in sizes.items()]
    if make_weights(name, path, *constants) != (0, ""):
        raise Failure("weights.py refuses the state_dict of the model")
    with open(made, "rb") as file:
        if file.read() != before:
            raise Failure("the state_dict gives other weights")
    status, said = make_weights(name, path, *constants, "CLASSES=3")
    if status != 1 or not said.startswith("set the model's constants"):
        raise Failure(f"CLASSES=3: exit status {status}: {said}")


def reduced(cases, name, kind, output, sizes, rtol, atol):
    text = text_of(name)
    for constant, value in sizes.items():
        text, count = re.subn(rf"^const {constant} = \d+$", f"const {constant} = {value}", text,
                              flags=re.M)
        if count != 1:
            raise Failure(f"{name}.dl has no constant {constant}")
    path = os.path.join(OUT, name)
    with open(path + ".dl", "w", encoding="utf-8") as out:
        out.write(text)
    module = getattr(vision_models, kind)(**sizes).eval()
    with cases.case(f"{name}: seeded weights at reduced size"):
        if make_weights(name,
                        *(f"{constant}={value}" for constant, value in sizes.items())) != (0, ""):
            raise Failure("weights.py has failed")
    tensors = read_safetensors(path + ".safetensors")
    missing, extra = module.load_state_dict(
        {key: torch.from_numpy(np.array(value)) for key, value in tensors.items()}, strict=False)
    with cases.case(f"{name}: weights.py writes the names of the module"):
        if extra or [key for key in missing if not key.endswith("num_batches_tracked")]:
            raise Failure(f"missing {missing[:4]}, too many {extra[:4]}")
    with cases.case(f"{name}: weights from a checkpoint"):
        checkpoint(name, module, sizes)
    module.double()
    with cases.case(f"{name}: compile at reduced size"):
        compile_model(path + ".dl", path + ".bin")
    for device, batch in (("cpu", 1), ("cpu", 3), ("cuda-emu", 1)):
        with cases.case(f"{name}: batch {batch} on {device} against PyTorch"):
            x = np.random.RandomState(batch).uniform(
                -1, 1, (batch, 3, sizes["SIZE"], sizes["SIZE"])).astype(np.float32)
            with torch.no_grad():
                expected = module(torch.from_numpy(x).double()).numpy()
            actual, = run_model(path + ".bin", {"x": x}, [output], "--device", device)
            expect_close(actual, expected, rtol, atol)


def real(name, kind):
    """Parameters at real size: what the imported model asks for, against the module's state_dict.
    """
    asked = {}
    for weight, type_ in re.findall(
            r'dl\.weight "([^"]+)" : tensor<([\dx]+)xf32>',
            dlc_translate("--import-dl", os.path.join(ROOT, "examples", name, name + ".dl"))):
        asked[weight] = tuple(map(int, type_.split("x")))
    expected = {
        key: tuple(tensor.shape)
        for key, tensor in getattr(vision_models, kind)().state_dict().items()
        if not key.endswith("num_batches_tracked")
    }
    if asked != expected:
        differing = sorted(set(asked.items()) ^ set(expected.items()))
        raise Failure(f"{len(differing)} differences, such as {differing[:4]}")


def main():
    os.makedirs(OUT, exist_ok=True)
    cases = Cases()
    for name, (kind, *rest) in MODELS.items():
        with cases.case(f"{name}: all parameters at real size"):
            real(name, kind)
        reduced(cases, name, kind, *rest)
    return cases.finish()


sys.exit(main())
