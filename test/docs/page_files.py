"""The files that the commands of the pages read, made by name."""
import os
import shutil
import subprocess
import sys

import numpy as np

import safetensors
from onnx_writer import model, node, tensor, value

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("DLC_BUILD_DIR", os.path.join(ROOT, "build"))
DLC = os.path.join(BUILD, "bin", "dlc")
DIGITS = os.path.join(ROOT, "examples", "digits")
# Sections in which fewer images do: those that the emulator runs.
SETTINGS = {"On a GPU": {"images": 2}}

MODEL = """dl 1

dim N = 1..64

model Model {
  conv: Conv2d(3, 4, kernel_size=3, stride=4)

  forward(x: f32[N,3,224,224]) -> (y: f32[N,4]) {
    y = mean(relu(conv(x)), dim=[2, 3])
  }
}

weights "model.safetensors"
"""
ENCODER = """dl 1

dim N = 1..64

model Encoder {
  up: Linear(512, 1024)
  down: Linear(1024, 512)

  forward(x: f32[N,512]) -> (y: f32[N,512]) {
    y = x + down(gelu(up(x)))
  }
}

weights "encoder.safetensors"
"""
STREAM = """dl 1

dim N = 1..4

model Stream {
  state sum: f32[N,8]

  forward(x: f32[N,8]) -> (y: f32[N,8]) {
    sum = sum + x
    y = sum
  }
}
"""


def write(folder, name, data):
    with open(os.path.join(folder, name), "wb") as out:
        out.write(data if isinstance(data, bytes) else data.encode())


def compiled(source, name):
    """A maker of `name` from `source`."""
    def make(folder, **settings):
        if not os.path.exists(os.path.join(folder, source)):
            FILES[source](folder, **settings)
        subprocess.run([DLC, "compile", source, "-q", "-o", name], cwd=folder, check=True)
    return make


NORM = """dl 1

model Norm {
  forward(x: f32[8,256]) -> (y: f32[8,256]) {
    y = relu(x * rsqrt(mean(x * x, dim=-1, keepdim=true) + 1e-6))
  }
}
"""


def digits(folder, **_):
    for name in ("digits.dl", "digits.safetensors"):
        shutil.copy(os.path.join(DIGITS, name), folder)


def broken(folder, **_):
    digits(folder)
    with open(os.path.join(DIGITS, "digits.dl"), encoding="utf-8") as source:
        write(folder, "broken.dl",
              source.read().replace("Linear(512", "Linear(513").replace("relu(bn1", "rleu(bn1"))


def images(folder, images=None, **_):
    subprocess.run(
        [os.environ.get("DLC_PYTHON", sys.executable),
         os.path.join(DIGITS, "images.py"), folder], check=True, stdout=subprocess.DEVNULL)
    if images:
        path = os.path.join(folder, "images.npy")
        np.save(path, np.load(path)[:images])


def samples(name, count=None):
    """A maker of the archive `name`: the first `count` of the unseen digits, or all of them, by the
    name of the model's input."""
    def make(folder, **settings):
        if not os.path.exists(os.path.join(folder, "images.npy")):
            images(folder, **settings)
        np.savez(os.path.join(folder, name), x=np.load(os.path.join(folder, "images.npy"))[:count])
    return make


def plainModel(folder, **_):
    random = np.random.default_rng(1)
    safetensors.save(
        os.path.join(folder, "model.safetensors"), {
            "conv.weight": random.standard_normal(
                (4, 3, 3, 3), np.float32), "conv.bias": np.zeros(4, np.float32)
        })
    write(folder, "model.dl", MODEL)


def encoder(folder, **_):
    random = np.random.default_rng(1)
    safetensors.save(
        os.path.join(folder, "encoder.safetensors"), {
            "up.weight": random.standard_normal((1024, 512), np.float32), "up.bias": np.zeros(
                1024, np.float32), "down.weight": random.standard_normal(
                    (512, 1024), np.float32), "down.bias": np.zeros(512, np.float32)
        })
    write(folder, "encoder.dl", ENCODER)


def onnxModel(folder, **_):
    weight = tensor("w", "f32", (4, 3, 3, 3), list(np.linspace(-1, 1, 108)))
    write(
        folder, "model.onnx",
        model([node("Conv", "x, w", "h", strides=[4, 4]),
               node("GlobalAveragePool", "h", "y")], [value("x", dims=("N", 3, 224, 224))],
              tensors=[weight]))


def decoder(folder, **_):
    """One layer of attention over its own inputs, with the past of keys and values that exporters
    give."""
    table = np.random.default_rng(1).standard_normal((4000, 8), np.float32)
    tensors = [
        tensor("table", "f32", (4000, 8), raw=table.tobytes()),
        tensor("turned", "f32", (8, 4000), raw=table.T.tobytes()),
        tensor("heads", "i64", (1, ), [1])
    ]
    past = [f"past_key_values.0.{kind}" for kind in ("key", "value")]
    present = [f"present.0.{kind}" for kind in ("key", "value")]
    nodes = [
        node("Gather", "table, input_ids", "h"),
        node("Unsqueeze", "h, heads", "q"),
        *(node("Concat", f"{old}, q", new, axis=2) for old, new in zip(past, present)),
        node("Transpose", present[0], "k", perm=[0, 1, 3, 2]),
        node("MatMul", "q, k", "scores"),
        node("Softmax", "scores", "weights", axis=-1),
        node("MatMul", f"weights, {present[1]}", "read"),
        node("Squeeze", "read, heads", "y"),
        node("MatMul", "y, turned", "logits")
    ]
    write(
        folder, "gpt2.onnx",
        model(nodes, [
            value("input_ids", "i64",
                  ("N", "T")), *(value(name, dims=("N", 1, "P", 8)) for name in past)
        ], ("logits", *present), tensors))


def gpt2(folder, **_):
    decoder(folder)
    subprocess.run([
        DLC, "compile", "gpt2.onnx", "-q", "--state", "past_key_values.*=present.*[1024]", "-o",
        "gpt2.bin"
    ], cwd=folder, check=True)


def kerasModel(folder, **_):
    own = os.path.join(BUILD, "python-keras", "bin", "python")
    text = (
        "import keras; m = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4, name='fc')]); m.save('model.keras')"
    )
    subprocess.run([own, "-c", text], cwd=folder, check=True,
                   env={**os.environ, "KERAS_BACKEND": "jax"}, stderr=subprocess.DEVNULL)


FILES = {
    "digits.dl": digits,
    "digits.bin": compiled("digits.dl", "digits.bin"),
    "broken.dl": broken,
    "images.npy": images,
    "train.npz": images,
    "labels.npy": images,
    "calibration.npz": images,
    "digits.npz": samples("digits.npz"),
    "few.npz": samples("few.npz", 16),
    "model.dl": plainModel,
    "encoder.dl": encoder,
    "model.bin": compiled("model.dl", "model.bin"),
    "model.safetensors": plainModel,
    "model.onnx": onnxModel,
    "model.keras": kerasModel,
    "gpt2.onnx": decoder,
    "gpt2.bin": gpt2,
    "tokenizer.json": lambda folder, **_: shutil.copy(
        os.path.join(ROOT, "test", "unit", "tools", "text", "tokenizers", "gpt2.json"),
        os.path.join(folder, "tokenizer.json")),
    "prompt.txt": lambda folder, **_: write(folder, "prompt.txt", "Once upon a time"),
    "norm.dl": lambda folder, **_: write(folder, "norm.dl", NORM),
    "stream.dl": lambda folder, **_: write(folder, "stream.dl", STREAM),
    "stream.bin": compiled("stream.dl", "stream.bin"),
    "x.npy": lambda folder, **_: np.save(os.path.join(folder, "x.npy"),
                                         np.ones((1, 3, 224, 224), np.float32)),
    "chunks.npy": lambda folder, **_: np.save(os.path.join(folder, "chunks.npy"),
                                              np.ones((3, 2, 8), np.float32)),
}
