#!/usr/bin/env python3
"""Other people's trained networks, written as .dl, with their own weights bound by name: stored
vectors and data sets.

Needs the corpus (DLC_CORPUS); without it every case is counted as left out."""
import os
import sys
from typing import Dict, NamedTuple, Optional, Sequence

import numpy as np

from cases import Cases, Failure
from corpus_data import CORPUS, large_mnist
from dlc_tool import BUILD, ROOT, compile_model, expect_close, run_model
from onnx_weights import constants
from run_models import text_of
from run_onnx import emulate
from runtime_session import Session

sys.path.insert(0, os.path.join(ROOT, "examples"))
import safetensors  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(BUILD, "test-logs", "conformance")


class Model(NamedTuple):
    inputs: Sequence[str]  # names in the .dl, in the order of the stored input_K.npy
    outputs: Sequence[str]
    vectors: Sequence[str] = ("", "test_data_set_1")  # folders of stored vectors
    onnx_names: Optional[Dict[
        str, str]] = None  # parameter -> end of its constant's name in model.onnx, the weights then
    # The most that the stored vectors, another engine's in f32, lie from the f64 values
    own_error: float = 0.7e-5


SILERO = {
    "stft_conv.weight": "stft.forward_basis_buffer", **{
        f"conv{i + 1}.{leaf}": f"encoder.{i}.reparam_conv.{leaf}" for i in range(4)
                                                        for leaf in ("weight", "bias")
    }, **{
        f"lstm.{leaf}_l0": f"decoder.rnn.{leaf}"
          for leaf in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    }, **{f"final_conv.{leaf}": f"decoder.decoder.2.{leaf}" for leaf in ("weight", "bias")}
}
MODELS = {
    "lenet5_mnist": Model(["input"], ["logprob"]),
    "resnet20_cifar10": Model(["input"], ["logits"]),
    "stories260k_T64": Model(["tokens"], ["logits"], ("", ), own_error=1.6e-5),
    # The safetensors beside the model are of another training: PyTorch over them gives other
    # outputs than those stored.
    "silero_vad_static16k": Model(["input", "state"], ["output", "stateN"],
                                  ("", "test_data_set_1", "test_data_set_2", "test_data_set_3"),
                                  SILERO),
}
DEVICES = ("cpu", "cuda-emu")
# Ours may lie as far from the f64 values as the stored ones do, on the other side.
RTOL = 1e-4
# What PyTorch gets on these images with these weights (datasets/BASELINES.md of the corpus).
MNIST_CORRECT, MNIST_IMAGES, EMULATED_IMAGES = 4931, 5000, 200
EMULATED_TOKENS = 40
COUNT = sum(1 + len(model.vectors) * len(DEVICES) for model in MODELS.values()) + 5


def weights_of(name, model, folder):
    """The corpus's safetensors, or one made of the constants of its ONNX file."""
    if not model.onnx_names:
        return os.path.join(folder, "weights.safetensors")
    held = constants(os.path.join(folder, "model.onnx"))
    tensors = {}
    for parameter, end in model.onnx_names.items():
        tensors[parameter], = (array for key, array in held.items() if key.endswith(end))
    path = os.path.join(OUT, name + ".safetensors")
    safetensors.save(path, tensors)
    return path


def vectors(cases, name, model):
    folder = os.path.join(CORPUS, "models", name)
    package = os.path.join(OUT, name + ".bin")
    with cases.case(f"{name}: compile"):
        compile_model(os.path.join(HERE, "models", name + ".dl"), package,
                      weights_of(name, model, folder))
    for index, vector in enumerate(model.vectors):
        stored = lambda kind, k: np.load(os.path.join(folder, vector, f"{kind}_{k}.npy"))
        data = {port: stored("input", k) for k, port in enumerate(model.inputs)}
        for device in DEVICES:
            with cases.case(f"{name}: stored vector {index} on {device}"):
                for k, actual in enumerate(
                        run_model(package, data, model.outputs, "--device", device)):
                    expect_close(actual, stored("output", k), RTOL, 2 * model.own_error)


def data_set(cases):
    package = os.path.join(OUT, "lenet5_mnist.bin")
    images, labels = large_mnist()
    classes = None
    with cases.case(f"lenet5_mnist: {MNIST_CORRECT} of {MNIST_IMAGES} MNIST images on cpu"):
        output, = run_model(package, {"input": images}, ["logprob"], "--device", "cpu")
        classes = output.argmax(1)
        correct = int((classes == labels).sum())
        if len(labels) != MNIST_IMAGES or correct != MNIST_CORRECT:
            raise Failure(
                f"{correct} of {len(labels)} are right, expected {MNIST_CORRECT} of {MNIST_IMAGES}")
    sample = np.random.RandomState(200).permutation(len(labels))[:EMULATED_IMAGES]
    with cases.case(
            f"lenet5_mnist: {EMULATED_IMAGES} sampled MNIST images on cuda-emu, the classes of cpu"
    ):
        if classes is None:
            raise Failure("the cpu gave no classes to compare with")
        output, = run_model(package, {"input": images[sample]}, ["logprob"], "--device", "cuda-emu")
        different = np.flatnonzero(output.argmax(1) != classes[sample])
        if different.size:
            raise Failure(f"images {sample[different].tolist()} differ")


def cached_text(cases):
    """The whole text, token by token out of the KV cache; then the prompt at once after a reset,
    and its text goes on as before."""
    folder = os.path.join(CORPUS, "models", "stories260k_T64")
    package = os.path.join(OUT, "stories260k_cached.bin")
    with cases.case("stories260k_cached: compile"):
        compile_model(os.path.join(HERE, "models", "stories260k_cached.dl"), package,
                      os.path.join(folder, "weights.safetensors"))
    wanted = np.load(os.path.join(folder, "expected_tokens.npy"))
    with open(os.path.join(folder, "expected_text.txt"), "rb") as source:
        text = source.read()
    for device, steps in (("cpu", len(wanted)), ("cuda-emu", EMULATED_TOKENS)):
        with cases.case(f"stories260k_cached: {steps} tokens with a KV cache on {device}"):
            if device == "cuda-emu":
                emulate()
            with Session(os.path.join(BUILD, "lib", "libdlc_runtime.so"), package,
                         "cpu" if device == "cpu" else "cuda", checked=device == "cpu") as session:
                def following(*tokens):
                    _, logits = session.run({"tokens": np.array([tokens], np.int64)})["logits"]
                    return int(logits[0, -1].argmax())
                tokens = [int(wanted[0])]
                while len(tokens) < steps:
                    tokens.append(following(tokens[-1]))
                if tokens != wanted[:steps].tolist():
                    raise Failure(f"{tokens}, expected {wanted[:steps].tolist()}")
                said = text_of(tokens, os.path.join(folder, "tok512.bin"))
                if said.strip() != text.strip() and (steps == len(wanted)
                                                     or not text.startswith(said)):
                    raise Failure(f"the text is {said!r}, expected {text!r}")
                session.reset_states()
                prompt = [int(token) for token in wanted[:12]]
                if (first := following(*prompt)) != wanted[12] or (second :=
                                                                   following(first)) != wanted[13]:
                    raise Failure(
                        f"after a prompt of 12 come {first}, {second}; expected {wanted[12:14].tolist()}"
                    )


def main():
    cases = Cases()
    if not os.path.isdir(os.path.join(CORPUS, "models")):
        cases.leave_out(COUNT, f"no corpus in {CORPUS}; set DLC_CORPUS")
        return cases.finish()
    os.makedirs(OUT, exist_ok=True)
    for name, model in MODELS.items():
        vectors(cases, name, model)
    data_set(cases)
    cached_text(cases)
    assert cases.passed + cases.failed == COUNT
    return cases.finish()


sys.exit(main())
