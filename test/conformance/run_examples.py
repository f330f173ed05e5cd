#!/usr/bin/env python3
"""The networks of examples/ against PyTorch in f64, and two promises about them: the same source
gives the same file, byte for byte, and the number of threads never changes a bit of the result."""
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import torch

import keras_oracle
from cases import Cases, Failure
from dlc_tool import BUILD, ROOT, compile_model, dlc, expect_close, run_model
from torch_oracle import Model, read_safetensors
from transformers_oracle import bert, gpt2

EXAMPLES = os.path.join(ROOT, "examples")
OUT = os.path.join(BUILD, "examples")


class Example:
    """name; the shape of one input; the output; batch sizes to run on the cpu and on the emulated
    GPU."""

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

    def oracle(self, weights):
        return Model(self.model, weights)

    def data(self, batch):
        return np.random.RandomState(batch).uniform(0, 1, (batch, *self.shape)).astype(np.float32)


ALL = [
    # Probabilities: 1e-6 absolute covers the softmax of f32 logits.
    Example("digits", (1, 8, 8), "probs", (1, 2, 3, 7, 17), (1, 3), 1e-4, 1e-6),
    Example("mnist", (1, 28, 28), "probs", (1, 5), (2,), 1e-4, 1e-6),
    # 5 layers of f32 sums, and tanh.
    Example("dcgan", (100, 1, 1), "image", (1, 3), (1,), 1e-4, 1e-5),
    # 21 layers of f32 sums against f64; the logits reach 9.
    Example("resnet18", (3, 224, 224), "logits", (1, 2), (), 1e-4, 2e-4),
    # 19 layers of f32 sums, and upsampling whose weights are rounded at the size of the image.
    Example("unet", (3, 32, 48), "logits", (1, 2), (), 1e-4, 5e-5),
]


class KerasExample(Example):
    """A sequential model: channels last, and Keras's layers as its oracle."""

    def oracle(self, weights):
        tensors = {name: np.array(value) for name, value in read_safetensors(weights).items()}
        return lambda data: (keras_oracle.run(keras_oracle.MNIST, tensors, data),)


ALL.append(KerasExample("keras_mnist", (28, 28, 1), "probs", (1, 5), (2,), 1e-4, 1e-6))


def one_example(cases, example):
    weights = example.weights()
    with cases.case(f"{example.name}: compile"):
        compile_model(example.model, example.package, weights)
    with cases.case(f"{example.name}: two compiles, the same bytes"), tempfile.TemporaryDirectory(
    ) as folder:
        again = os.path.join(folder, "again.bin")
        compile_model(example.model, again, weights, cwd=folder)
        with open(example.package, "rb") as first, open(again, "rb") as second:
            if first.read() != second.read():
                raise Failure("the files differ")
    oracle = example.oracle(weights)
    for device, batches in example.batches.items():
        for batch in batches:
            with cases.case(f"{example.name}: batch {batch} on {device} against PyTorch"):
                data = example.data(batch)
                actual, = run_model(example.package, {"x": data}, [example.output], "--device",
                                    device)
                expect_close(actual, oracle(data)[0], example.rtol, example.atol)
    with cases.case(f"{example.name}: 1 and 2 threads, the same bits"):
        data = example.data(2)
        one, two = (run_model(example.package, {"x": data}, [example.output], "--device", "cpu",
                              "--threads", threads)[0] for threads in (1, 2))
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
            raise Failure(
                f"PyTorch says otherwise for images {np.flatnonzero(classes != expected).tolist()}")


def reduced(name, sizes):
    """Writes NAME.dl with other values for its constants, and weights for it; gives both and the
    weights in f64."""
    with open(os.path.join(EXAMPLES, name, name + ".dl"), encoding="utf-8") as source:
        text = source.read()
    for constant, value in sizes.items():
        text, count = re.subn(rf"^const {constant} = .*$", f"const {constant} = {value}", text,
                              flags=re.M)
        if count != 1:
            raise Failure(f"{name}.dl has no constant {constant}")
    folder = os.path.join(OUT, name + "-small")
    os.makedirs(folder, exist_ok=True)
    model = os.path.join(folder, name + ".dl")
    with open(model, "w", encoding="utf-8") as out:
        out.write(text)
    subprocess.run([sys.executable, os.path.join(EXAMPLES, name, "weights.py"), folder,
                    *(f"{constant}={value}" for constant, value in sizes.items())], check=True)
    weights = {key: torch.from_numpy(np.array(value)).double() for key, value in
               read_safetensors(os.path.join(folder, name + ".safetensors")).items()}
    return model, weights


def transformer(cases, name, sizes, oracle, inputs_of, outputs):
    """The example at a reduced size against PyTorch in f64; at its real size it is checked."""
    with cases.case(f"{name}: check at its real size"):
        dlc("check", "--no-weights", os.path.join(EXAMPLES, name, name + ".dl"))
    with cases.case(f"{name}: compile at a reduced size"):
        model, weights = reduced(name, sizes)
        package = os.path.join(OUT, name + "-small.bin")
        compile_model(model, package)
    for device, shapes in {"cpu": ((1, 1), (2, 7), (3, 16)), "cuda-emu": ((2, 5),)}.items():
        for batch, length in shapes:
            with cases.case(f"{name}: {batch} x {length} tokens on {device} against PyTorch"):
                inputs = inputs_of(np.random.RandomState(length), batch, length, sizes)
                actual = run_model(package, inputs, outputs, "--device", device)
                tensors = [torch.from_numpy(value) for value in inputs.values()]
                expected = oracle(weights, sizes["HEADS"], sizes["LAYERS"], *tensors)
                expected = expected if isinstance(expected, tuple) else (expected,)
                for one, other in zip(actual, expected):
                    # Values of layer norms, near 1, through two layers of f32 sums of up to 128
                    # terms.
                    expect_close(one, other.numpy(), 1e-4, 1e-5)


def bert_inputs(random, batch, length, sizes):
    mask = np.ones((batch, length), np.float32)
    mask[-1, (length + 1) // 2:] = 0
    return {"input_ids": random.randint(0, sizes["VOCAB"], (batch, length)),
            "token_type_ids": random.randint(0, 2, (batch, length)), "attention_mask": mask}


def gpt2_inputs(random, batch, length, sizes):
    return {"input_ids": random.randint(0, sizes["VOCAB"], (batch, length))}


def matrix_product(cases):
    """Both operands are inputs, all dims symbols: one package, many shapes."""
    package = os.path.join(OUT, "matmul.bin")
    with cases.case("matmul: compile"):
        compile_model(os.path.join(EXAMPLES, "matmul", "matmul.dl"), package)
    random = np.random.RandomState(5)
    for device, m, k, n in (("cpu", 1, 1, 1), ("cpu", 7, 33, 65), ("cpu", 200, 300, 100),
                            ("cuda-emu", 33, 17, 40)):
        with cases.case(f"matmul: {m}x{k} by {k}x{n} on {device}"):
            a, b = (random.standard_normal(shape).astype(np.float32) for shape in ((m, k), (k, n)))
            actual, = run_model(package, {"a": a, "b": b}, ["c"], "--device", device)
            wide = [x.astype(np.float64) for x in (a, b)]
            bound = (k + 2) * 2.0**-24 * (np.abs(wide[0]) @ np.abs(wide[1])) + 2.0**-24
            if not (np.abs(actual - wide[0] @ wide[1]) <= bound).all():
                raise Failure("values lie further off than the sums allow")


def main():
    os.makedirs(OUT, exist_ok=True)
    cases = Cases()
    for example in ALL:
        one_example(cases, example)
    digits_accuracy(cases)
    transformer(cases, "bert",
                {"VOCAB": 50, "HIDDEN": 32, "LAYERS": 2, "HEADS": 4, "POSITIONS": 16}, bert,
                bert_inputs, ("last_hidden_state", "pooler_output"))
    transformer(cases, "gpt2", {"VOCAB": 50, "WIDTH": 32, "LAYERS": 2, "HEADS": 4, "POSITIONS": 16},
                gpt2, gpt2_inputs, ("logits", ))
    matrix_product(cases)
    return cases.finish()


sys.exit(main())
