"""The networks of examples/ and those that stand beside this file, in any float dtype and at
reduced sizes: their text, seeded weights for whatever it asks for, and seeded inputs. They show
that kernels compile and compute, not what was learnt."""
import fnmatch
import os
import re
import sys
import zlib
from typing import Dict, NamedTuple, Sequence, Tuple

import numpy as np

from dlc_tool import ROOT, dlc_translate

sys.path.insert(0, os.path.join(ROOT, "examples"))
import safetensors  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))


class Network(NamedTuple):
    path: str  # in the repository
    # Constants by which many repeated layers become few, every kind of kernel staying as large as
    # it is.
    shortened: Dict[str, int] = {}
    # Constants of a network that the emulator runs in seconds.
    reduced: Dict[str, int] = {}
    # Where the dtype of the signature is not yet that of the layers, as after an embedding: text
    # and what becomes of it.
    casts: Sequence[Tuple[str, str]] = ()

    @property
    def name(self):
        return os.path.splitext(os.path.basename(self.path))[0]


def example(name, file=None, **facts):
    return Network(f"examples/{name}/{file or name}.dl", **facts)


NETWORKS = {
    network.name: network for network in (
        example("digits"),
        example("mnist"),
        example("keras_mnist"),
        example("dcgan"),
        example("matmul"),
        example("resnet18"),
        example("resnet50", reduced={"SIZE": 64, "WIDTH": 8, "CLASSES": 10}),
        example("mobilenet_v2", reduced={"SIZE": 64, "W": 2, "CLASSES": 10}),
        example("vgg16", shortened={"HIDDEN": 512},
                reduced={"SIZE": 64, "W": 8, "HIDDEN": 32, "CLASSES": 5}),
        example("unet"),
        example("bert", shortened={"VOCAB": 1000, "LAYERS": 1}, reduced={
            "VOCAB": 50, "HIDDEN": 32, "LAYERS": 2, "HEADS": 4, "POSITIONS": 16
        }, casts=[("x = embeddings.LayerNorm(x)", "x = to(embeddings.LayerNorm(x), DTYPE)")]),
        example(
            "gpt2", shortened={"VOCAB": 5003, "LAYERS": 1}, reduced={
                "VOCAB": 50, "WIDTH": 32, "LAYERS": 2, "HEADS": 4, "POSITIONS": 16
            }, casts=[("x = wte(input_ids) + wpe(arange(T))",
                       "x = to(wte(input_ids) + wpe(arange(T)), DTYPE)"),
                      ("linear(ln_f(x)[:, -1], wte.weight)",
                       "linear(ln_f(x)[:, -1], to(wte.weight, DTYPE))")]),
        example("text_lstm", casts=[("lstm(embedding(tokens))",
                                     "lstm(to(embedding(tokens), DTYPE))")]),
        example("text_lstm", "text_bilstm", casts=[("lstm(embedding(tokens),",
                                                    "lstm(to(embedding(tokens), DTYPE),")]),
        Network("test/conformance/models/lenet5_mnist.dl"),
        Network("test/conformance/models/resnet20_cifar10.dl"),
        Network("test/conformance/models/silero_vad_static16k.dl"),
        Network(
            "test/conformance/models/stories260k_T64.dl",
            casts=[("x = tok_embeddings(tokens)", "x = to(tok_embeddings(tokens), DTYPE)"),
                   ("linear(norm(x), tok_embeddings.weight)",
                    "linear(norm(x), to(tok_embeddings.weight, DTYPE))")]),
    )
}


def text_of(network, dtype="f32", sizes=None):
    """The .dl text with floats of `dtype` and other values for the constants in `sizes`."""
    with open(os.path.join(ROOT, network.path), encoding="utf-8") as source:
        text = source.read()
    for constant, value in (sizes or {}).items():
        text, count = re.subn(rf"^const {constant} = .*$", f"const {constant} = {value}", text,
                              flags=re.M)
        assert count == 1, f"{network.path} has no constant {constant}"
    if dtype != "f32":
        for before, after in network.casts:
            assert before in text, f"{network.path} has no '{before}'"
            text = text.replace(before, after.replace("DTYPE", dtype))
        # Types, and casts to them that the text has itself.
        text = re.sub(r"\bf32(?=\[)|(?<=, )f32(?=\))", dtype, text)
    return text


def write(network, folder, dtype="f32", sizes=None):
    """Writes the text into `folder`; its path."""
    path = os.path.join(folder, f"{network.name}-{dtype}.dl")
    with open(path, "w", encoding="utf-8") as out:
        out.write(text_of(network, dtype, sizes))
    return path


def asked_weights(model):
    """name -> (dims as stored, dtype) of the weights that a .dl file asks for."""
    text = dlc_translate("--import-dl", model)
    found = re.findall(r'dl\.weight "([^"]+)"[^\n]* : tensor<((?:\d+x)*)(\w+)', text)
    with open(model, encoding="utf-8") as source:
        clauses = re.findall(r"^\s*transpose (.*)$", source.read(), re.M)
    transposed = [pattern for clause in clauses for pattern in re.findall(r'"([^"]+)"', clause)]

    def stored(name, dims):
        dims = tuple(map(int, dims.split("x")[:-1]))
        return dims[::-1] if any(fnmatch.fnmatch(name, pattern) for pattern in transposed) else dims

    return {name: (stored(name, dims), dtype) for name, dims, dtype in found}


def seeded_weights(model):
    """Weights that keep the size of what flows through: name -> array of f32."""
    tensors = {}
    for name, (dims, _) in asked_weights(model).items():
        random = np.random.default_rng(zlib.crc32(name.encode()))
        if name.endswith(("running_var", "moving_variance")):
            value = random.uniform(0.5, 1.5, dims)
        elif len(dims) < 2:  # scales of norms, or biases
            is_scale = name.endswith((".weight", "gamma"))
            value = random.uniform(0.8, 1.2,
                                   dims) if is_scale else 0.1 * random.standard_normal(dims)
        else:
            value = random.standard_normal(dims, np.float32) * np.float32(
                np.sqrt(1.5 / np.prod(dims[1:])))
        tensors[name] = np.asarray(value, np.float32)
    return tensors


def save_weights(model, path):
    """Writes seeded weights for the .dl file `model`. Models that ask for the same get the same,
    whatever their dtype."""
    safetensors.save(path, seeded_weights(model))
    return path
