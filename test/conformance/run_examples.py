#!/usr/bin/env python3
"""The networks of examples/ against PyTorch in f64, and two promises about them: the same source gives the same file,
byte for byte, and the number of threads never changes a bit of the result."""
import os
import subprocess
import sys
import tempfile

import numpy as np

from cases import Cases, Failure
from dlc_tool import BUILD, ROOT, compile_model, expect_close, run_model
from torch_oracle import Model

EXAMPLES = os.path.join(ROOT, "examples")
OUT = os.path.join(BUILD, "examples")


class Example:
    """name; the shape of one input; the output; batch sizes to run on the cpu and on the emulated GPU."""

    def __init__(self, name, shape, output, cpu, emulated, rtol, atol):
        self.name, self.shape, self.output = name, shape, output
        self.batches = {"cpu": cpu, "cuda-emu": emulated}
        self.rtol, self.atol = rtol, atol
        self.model = os.path.join(EXAMPLES, name, name + ".dl")
        self.package = os.path.join(OUT, name + ".bin")

    def weights(self):
        """Committed for digits, made by weights.py for the others."""
        committed = os.path.join(EXAMPLES, self.name, self.name + ".safetensors")
        script = os.path.join(EXAMPLES, self.name, "weights.py")
        made = os.path.join(OUT, self.name + ".safetensors")
        if not os.path.exists(script):
            return committed
        if not os.path.exists(made):
            subprocess.run([sys.executable, script, OUT], check=True)
        return made

    def data(self, batch):
        return np.random.RandomState(batch).uniform(0, 1, (batch, *self.shape)).astype(np.float32)


ALL = [
    # Probabilities: 1e-6 absolute covers the softmax of f32 logits.
    Example("digits", (1, 8, 8), "probs", (1, 2, 3, 7, 17), (1, 3), 1e-4, 1e-6),
    Example("mnist", (1, 28, 28), "probs", (1, 5), (2,), 1e-4, 1e-6),
    # 21 layers of f32 sums against f64; the logits reach 9.
    Example("resnet18", (3, 224, 224), "logits", (1, 2), (), 1e-4, 2e-4),
]


def one_example(cases, example):
    weights = example.weights()
    with cases.case(f"{example.name}: compile"):
        compile_model(example.model, example.package, weights)
    with cases.case(f"{example.name}: two compiles, the same bytes"), tempfile.TemporaryDirectory() as folder:
        again = os.path.join(folder, "again.bin")
        compile_model(example.model, again, weights, cwd=folder)
        with open(example.package, "rb") as first, open(again, "rb") as second:
            if first.read() != second.read():
                raise Failure("the files differ")
    oracle = Model(example.model, weights)
    for device, batches in example.batches.items():
        for batch in batches:
            with cases.case(f"{example.name}: batch {batch} on {device} against PyTorch"):
                data = example.data(batch)
                actual, = run_model(example.package, {"x": data}, [example.output], "--device", device)
                expect_close(actual, oracle(data)[0], example.rtol, example.atol)
    with cases.case(f"{example.name}: 1 and 2 threads, the same bits"):
        data = example.data(2)
        one, two = (run_model(example.package, {"x": data}, [example.output], "--device", "cpu", "--threads", threads)[0]
                    for threads in (1, 2))
        if one.tobytes() != two.tobytes():
            raise Failure(f"{int((one != two).sum())} of {one.size} values differ")


def digits_accuracy(cases):
    """The figure of the quickstart, and the classes that PyTorch gives."""
    digits = ALL[0]
    sys.path.insert(0, os.path.join(EXAMPLES, "digits"))
    from digits import split
    _, _, images, labels = split()
    expected = Model(digits.model, digits.weights())(images)[0].argmax(1)
    with cases.case("digits: the unseen digits, 97 % at least, in PyTorch's classes"):
        output, = run_model(digits.package, {"x": images}, ["probs"], "--device", "cpu")
        classes = output.argmax(1)
        correct = int((classes == labels).sum())
        print(f"{correct} of {len(labels)} unseen digits")
        if correct < 0.97 * len(labels):
            raise Failure(f"{correct} of {len(labels)} are right")
        if (classes != expected).any():
            raise Failure(f"PyTorch says otherwise for images {np.flatnonzero(classes != expected).tolist()}")


def main():
    os.makedirs(OUT, exist_ok=True)
    cases = Cases()
    for example in ALL:
        one_example(cases, example)
    digits_accuracy(cases)
    return cases.finish()


sys.exit(main())
