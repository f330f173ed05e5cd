#!/usr/bin/env python3
"""Keras models through tools/scripts/import_keras.py and dlc.compile: sequential ones, one of them
for MNIST and trained here, functional ones, and models whose layers are models, in each of Keras's
formats of files, give what Keras gives. Runs in a Python with Keras (tools/scripts/setup --tests).
"""
import gzip
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np

from cases import Cases, Failure
from dlc_tool import BUILD, ROOT, compile_model, expect_close, run_model

OUT = os.path.join(BUILD, "test-logs", "keras-import")
SCRIPT = os.path.join(ROOT, "tools", "scripts", "import_keras.py")
MNIST = os.path.join(os.environ.get("DLC_CORPUS", ""), "datasets", "mnist")
TRAINED, HELD_OUT = 4000, 500
TEXT = """dl 1
dim N = 1..64
sequential Sentiment(x: i64[N,9]) -> (y: f32[N,3]) {
  Embedding(50, 8)
  Bidirectional(LSTM(6, return_sequences=true))
  inner: GRU(5)
  LayerNormalization()
  Dense(4, activation=relu, use_bias=false)
  Dense(3, activation=softmax)
}
weights "sentiment.safetensors"
"""


def run_script(*arguments):
    return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True,
                          cwd=OUT)


def imported(*arguments):
    run = run_script(*arguments)
    if run.returncode:
        raise Failure(run.stderr.strip()[-500:])


def mnist_data():
    def read(name, header):
        with gzip.open(os.path.join(MNIST, name)) as source:
            return np.frombuffer(source.read(), np.uint8, offset=header)

    images = read("t10k-first5000-images-idx3-ubyte.gz", 16).reshape(-1, 28, 28, 1).astype(
        np.float32) / 255
    return images, read("t10k-first5000-labels-idx1-ubyte.gz", 8)


def save_all(model, name):
    """The model in each format; the arguments of the script for each."""
    path = os.path.join(OUT, name)
    model.save(path + ".keras")
    model.save(path + ".h5")
    model.save_weights(path + ".weights.h5")
    with open(path + ".json", "w", encoding="utf-8") as out:
        out.write(model.to_json())
    return [[path + ".keras"], [path + ".h5"], [path + ".weights.h5", "--config", path + ".json"]]


def formats(cases, name, model, inputs, text, output, devices):
    """Every format gives the same file of weights, with which the text gives what Keras gives."""
    expected = model.predict(inputs, verbose=0)
    weights = None
    for arguments in save_all(model, name):
        with cases.case(f"{name}: {os.path.basename(arguments[0])}"):
            path = os.path.join(OUT, name + ".safetensors")
            imported(*arguments, "-o", path)
            with open(path, "rb") as source:
                held = source.read()
            weights = weights or held
            if held != weights:
                raise Failure("it gives other weights than the first format")
            compile_model(text, os.path.join(OUT, name + ".bin"), path)
            for device, count in devices:
                got, = run_model(os.path.join(OUT, name + ".bin"), {"x": inputs[:count]}, [output],
                                 "--device", device)
                expect_close(got, expected[:count], 1e-4, 1e-5)
    return expected


def mnist(cases, keras):
    layers = keras.layers
    keras.utils.set_random_seed(3)
    keras.Sequential([layers.Input((2, )),
                      layers.Dense(1)])  # so that Keras's own numbers are other ones
    model = keras.Sequential([
        layers.Input((28, 28, 1)),
        layers.Conv2D(32, 3, padding="same", activation="relu"),
        layers.Conv2D(64, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(2),
        layers.Conv2D(64, 3, padding="same", strides=2, activation="relu"),
        layers.BatchNormalization(),
        layers.MaxPooling2D(2, padding="same"),
        layers.Flatten(),
        layers.Dense(128, activation="relu"),
        layers.Dropout(0.5),
        layers.Dense(10, activation="softmax", name="head")
    ])
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    images, labels = mnist_data()
    model.fit(images[:TRAINED], labels[:TRAINED], batch_size=64, epochs=2, verbose=0)
    text = os.path.join(OUT, "keras_mnist.dl")
    shutil.copy(os.path.join(ROOT, "examples", "keras_mnist", "keras_mnist.dl"), text)
    held_out = images[TRAINED:TRAINED + HELD_OUT]
    formats(cases, "mnist", model, held_out, text, "probs", [("cpu", HELD_OUT), ("cuda-emu", 4)])
    with cases.case("mnist: digits that training never saw"):
        probs, = run_model(os.path.join(OUT, "mnist.bin"), {"x": held_out}, ["probs"])
        accuracy = float((probs.argmax(1) == labels[TRAINED:TRAINED + HELD_OUT]).mean())
        if accuracy < 0.9:
            raise Failure(f"{accuracy:.3f} are right; expected 0.9")


def sentiment(cases, keras):
    layers = keras.layers
    keras.utils.set_random_seed(5)
    model = keras.Sequential([
        layers.Input((9, ), dtype="int64"),
        layers.Embedding(50, 8),
        layers.Bidirectional(layers.LSTM(6, return_sequences=True)),
        layers.GRU(5, name="inner"),
        layers.LayerNormalization(),
        layers.Dense(4, activation="relu", use_bias=False),
        layers.Dense(3, activation="softmax")
    ])
    text = os.path.join(OUT, "sentiment.dl")
    with open(text, "w", encoding="utf-8") as out:
        out.write(TEXT)
    words = np.random.default_rng(6).integers(0, 50, (7, 9))
    formats(cases, "sentiment", model, words, text, "y", [("cpu", 7), ("cuda-emu", 3)])
    with cases.case("weights alone: names by classes"):
        run = run_script("sentiment.weights.h5", "-o", "alone.safetensors")
        if (run.returncode or "gru.recurrent_kernel [5, 15]" not in run.stdout
                or "dense.kernel [5, 4]\n" not in run.stdout):
            raise Failure(run.stdout + run.stderr)


def steps(cases, keras):
    layers = keras.layers
    keras.utils.set_random_seed(8)
    model = keras.Sequential([
        layers.Input((4, 6)), layers.TimeDistributed(layers.Dense(5, activation="relu")),
        layers.TimeDistributed(layers.Dense(3, use_bias=False), name="each"), layers.LSTM(2)])
    text = os.path.join(OUT, "steps.dl")
    with open(text, "w", encoding="utf-8") as out:
        out.write("dl 1\ndim N = 1..8\nsequential Steps(x: f32[N,4,6]) -> (y: f32[N,2]) {\n  TimeDistributed(Dense(5, activation=relu))\n"
                  "  each: TimeDistributed(Dense(3, use_bias=false))\n  LSTM(2)\n}\n")
    formats(cases, "steps", model,
            np.random.default_rng(9).standard_normal((5, 4, 6)).astype(np.float32), text, "y",
            [("cpu", 5), ("cuda-emu", 2)])


def shake(model):
    """Statistics and weights that begin as zeros and ones become others, so that they count."""
    random = np.random.default_rng(11)
    model.set_weights([
        array + 0.2 * np.abs(random.standard_normal(array.shape)) for array in model.get_weights()
    ])
    return model


def residual(keras):
    """Branches over images: sums, joins along channels, channels that are weighed, two results."""
    layers = keras.layers
    x = layers.Input((12, 10, 3), name="image")
    y = layers.Conv2D(8, 3, padding="same", activation="relu")(x)
    left = layers.BatchNormalization()(layers.Conv2D(8, 3, padding="same")(y))
    right = layers.DepthwiseConv2D(3, padding="same", use_bias=False)(y)
    y = layers.ReLU()(layers.Add()([left, right, y]))
    weight = layers.Dense(8, activation="sigmoid")(layers.GlobalAveragePooling2D()(y))
    y = layers.Multiply()([y, layers.Reshape((1, 1, 8))(weight)])
    small = layers.MaxPooling2D(2)(y)
    joined = layers.Concatenate()([layers.UpSampling2D(2)(layers.Conv2D(4, 1)(small)), y])
    tall = layers.Concatenate(axis=1)([small, layers.AveragePooling2D(2)(y)])
    mask = layers.Conv2D(1, 1, activation="sigmoid", name="mask")(joined)
    scores = layers.Dense(5, activation="softmax", name="scores")(layers.Flatten()(tall))
    return keras.Model(x, [mask, scores], name="residual")


def twins(keras):
    """Two inputs through the same layers, and each way to bring two tensors together."""
    layers = keras.layers
    a, b, other = layers.Input((6, ), name="a"), layers.Input((6, ), name="b"), layers.Input(
        (4, ), name="other-one")
    tower = [
        layers.Dense(4, activation="tanh"),
        layers.BatchNormalization(),
        layers.Dense(4, use_bias=False)
    ]
    p, q = a, b
    for layer in tower:
        p = layer(p)
    for layer in tower:
        q = layer(q)
    parts = [
        kind()([p, q]) for kind in (layers.Subtract, layers.Average, layers.Maximum, layers.Minimum,
                                    layers.Multiply)
    ]
    total = layers.Average()([*parts, other])
    return keras.Model([a, b, other],
                       [layers.Dense(3, name="y")(layers.Concatenate()([total, p + q])), total],
                       name="twins")


def reader(keras):
    """A text read by two recurrent layers, with numbers beside it."""
    layers = keras.layers
    words, numbers = layers.Input((9, ), dtype="int64", name="words"), layers.Input((3, ),
                                                                                    name="numbers")
    x = layers.Embedding(50, 8)(words)
    x = layers.Bidirectional(layers.LSTM(6, return_sequences=True), name="both")(x)
    each = layers.TimeDistributed(layers.Dense(5, activation="relu"))(x)
    y = layers.Concatenate()([layers.GRU(4)(x), layers.GlobalMaxPooling1D()(each), numbers])
    return keras.Model([words, numbers],
                       layers.Dense(2, activation="softmax")(layers.LayerNormalization()(y)))


def chain(keras):
    layers = keras.layers
    return keras.Sequential([
        layers.Input((8, 8, 2)),
        layers.Conv2D(4, 3, strides=2),
        layers.LeakyReLU(negative_slope=0.1),
        layers.Flatten(),
        layers.Dense(3, name="head")
    ], name="chain")


def headed(keras):
    """A frozen model of others below layers of one's own, as transfer learning has it."""
    layers = keras.layers
    image = layers.Input((9, 9, 3))
    y = layers.BatchNormalization()(layers.Conv2D(6, 3, strides=2, activation="relu")(image))
    base = keras.Model(image, layers.Add()([y, layers.Conv2D(6, 1)(y)]), name="base")
    base.trainable = False
    return keras.Sequential([
        layers.Input((9, 9, 3)),
        layers.Rescaling(0.5), base,
        layers.GlobalAveragePooling2D(),
        keras.Sequential([layers.Dense(5, activation="relu"),
                          layers.Dropout(0.2)]),
        layers.Dense(3, name="x")
    ], name="headed")


def towers(keras):
    """Models of two results and of models, called on two inputs: the same layers again, and their
    results compared."""
    layers = keras.layers
    image = layers.Input((8, 8, 3))
    deep = keras.Sequential([layers.Dense(4, activation="tanh"),
                             layers.Dense(4, name="same")], name="deep")
    y = deep(layers.BatchNormalization()(layers.Conv2D(4, 3)(image)))
    inner = keras.Model(image, [y, layers.GlobalAveragePooling2D()(y)], name="inner-model")
    last = keras.Sequential([layers.Input((4,)), layers.Dense(3), layers.Dense(4, name="same")])
    a, b = layers.Input((8, 8, 3), name="a"), layers.Input((8, 8, 3), name="b")
    (maps, p), (_, q) = inner(a), inner(b)
    likeness = layers.Dot(axes=-1, normalize=True, name="likeness")([last(p), last(q)])
    return keras.Model(
        [a, b],
        [likeness, maps, layers.Dense(2)(last(q)),
         layers.Conv2D(2, 1)(inner(b)[0])], name="towers")


def dialogue(keras):
    """A model of two inputs that have names, and of recurrent layers, twice within another."""
    layers = keras.layers
    ask, say = layers.Input((5, ), dtype="int64", name="ask"), layers.Input((7, ), dtype="int64",
                                                                            name="say")
    words = layers.Embedding(50, 6, name="words")
    read = keras.Sequential([
        layers.Bidirectional(layers.LSTM(4, return_sequences=True)),
        layers.TimeDistributed(layers.Dense(6))
    ], name="read")
    x, y = read(words(ask)), layers.GRU(6, return_sequences=True)(words(say))
    weights = layers.Softmax()(layers.Dot(axes=(2, 2))([x, y]))
    reader = keras.Model({"ask": ask, "say": say},
                         layers.Dot(axes=(2, 1))([weights, y]), name="reader")
    first, second = layers.Input((5, ), dtype="int64", name="first"), layers.Input(
        (7, ), dtype="int64", name="second")
    x = layers.Subtract()(
        [reader({"say": second, "ask": first}),
         reader({"say": second, "ask": first})])
    return keras.Model([first, second],
                       layers.LSTM(3)(layers.Add()([x, reader({"ask": first, "say": second})])),
                       name="dialogue")


def products(keras):
    """Dot over each kind of dims: of vectors, of sequences, of images with their channels turned
    and not."""
    layers = keras.layers
    v, w = layers.Input((4,), name="v"), layers.Input((4,), name="w")
    s, t = layers.Input((3, 4), name="s"), layers.Input((4, 5), name="t")
    image = layers.Input((5, 3, 4), name="image")
    maps = layers.Conv2D(4, 1)(image)
    dots = [([v, w], 1, False), ([v, w], -1, True), ([s, t], (2, 1), False), ([s,
                                                                               t], (-1, -2), True),
            ([v, s], (1, 2), False), ([t, v], 1, True), ([image, s], (2, 1), False),
            ([maps, layers.Conv2D(4, 1)(maps)], (3, 3), True), ([maps, image], 1, False),
            ([maps, v], (3, 1), True), ([maps, maps], (2, 2), False)]
    return keras.Model(
        [v, w, s, t, image],
        [layers.Dot(axes=axes, normalize=normalize)(pair)
         for pair, axes, normalize in dots], name="products")


def text_in(path):
    with open(path, encoding="utf-8") as source:
        return source.read()


def as_keras2(config):
    """The configuration of a functional model in the words of Keras 2, where a model that is a
    layer counts its own making as a call."""
    models = {
        layer["name"] for layer in config["config"]["layers"]
        if layer["class_name"] in ("Functional", "Sequential")
    }
    functionals = {
        layer["name"] for layer in config["config"]["layers"] if layer["class_name"] == "Functional"
    }

    def tensors(value):
        if isinstance(value, dict) and value.get("class_name") == "__keras_tensor__":
            old, call, output = value["config"]["keras_history"]
            return [[old, call + (old in models), output, {}]]
        parts = value.values() if isinstance(value,
                                             dict) else value if isinstance(value, list) else []
        return [one for part in parts for one in tensors(part)]

    layers = []
    for layer in config["config"]["layers"]:
        layer = as_keras2(layer) if layer["class_name"] == "Functional" else layer
        layers.append(
            {**layer, "inbound_nodes": [tensors(call["args"]) for call in layer["inbound_nodes"]]})
    ports = {key: [[old, call + (old in models - functionals), output] for old, call, output in
                   ([value] if isinstance(value[0], str) else value)]
             for key, value in config["config"].items() if key in ("input_layers", "output_layers")}
    return {**config, "config": {**config["config"], "layers": layers, **ports}}


def old_configuration(cases):
    """The text of a model in the words of Keras 2 is that of its twin."""
    for name in ("residual", "towers"):
        with cases.case(f"{name}: in the words of Keras 2"):
            path = os.path.join(OUT, name)
            with open(path + ".json",
                      encoding="utf-8") as source, open(path + "2.json", "w",
                                                        encoding="utf-8") as out:
                json.dump(as_keras2(json.load(source)), out)
            imported(path + ".h5", "--config", path + "2.json", "-o", path + "2.dl")
            wanted = text_in(path + ".dl").replace(f'"{name}.safetensors"',
                                                   f'"{name}2.safetensors"')
            if text_in(path + "2.dl") != wanted:
                raise Failure(f"another text, expected\n{wanted}")
            with open(path + ".safetensors", "rb") as new, open(path + "2.safetensors",
                                                                "rb") as old:
                if old.read() != new.read():
                    raise Failure("other weights")


def functional(cases, keras):
    """Text and weights of each format, and dlc.compile, give what Keras gives; the same file from
    each format."""
    sys.path.insert(0, os.path.join(BUILD, "python"))
    try:
        import dlc
    except ImportError:
        dlc = None
    random = np.random.default_rng(12)
    for make in (residual, twins, reader, chain, headed, towers, dialogue, products):
        keras.utils.set_random_seed(7)
        model, name = shake(make(keras)), make.__name__
        inputs = {}
        for value in model.inputs:
            shape = (3, *value.shape[1:])
            inputs[value.name.replace(
                "-", "_")] = (random.integers(0, 50, shape) if "int" in value.dtype else
                              random.standard_normal(shape).astype(np.float32))
        expected = model.predict(list(inputs.values()), verbose=0)
        expected = expected if isinstance(expected, list) else [expected]
        text = weights = None
        for arguments in save_all(model, name):
            with cases.case(f"{name}: {os.path.basename(arguments[0])} as text"):
                path = os.path.join(OUT, name + ".dl")
                imported(*arguments, "-o", path)
                held = b""
                if "weights " in (written := text_in(path)):
                    with open(os.path.join(OUT, name + ".safetensors"), "rb") as source:
                        held = source.read()
                if text is not None:  # what the first format gave has run
                    if written != text:
                        raise Failure(f"another text than the first format's:\n{written}\n{text}")
                    if held != weights:
                        raise Failure("it gives other weights than the first format")
                    continue
                text, weights = written, held
                outputs = re.search(r"-> \(([^)]*)\)", text)[1].split(", ")
                named = dict(zip(re.findall(r"[(,] ?(\w+): \w+\[", text), inputs.values()))
                compile_model(path, os.path.join(OUT, name + ".bin"), None)
                for device, count in (("cpu", 3), ("cuda-emu", 2)):
                    got = run_model(os.path.join(OUT, name + ".bin"),
                                    {key: array[:count] for key, array in named.items()}, outputs,
                                    "--device", device)
                    for ours, theirs in zip(got, expected, strict=True):
                        expect_close(ours, theirs[:count], 1e-4, 1e-5)
        if dlc is None:
            cases.leave_out(1, "the build has no Python package")
            continue
        with cases.case(f"{name}: dlc.compile"):
            got = dlc.compile(model, device="cpu")(*inputs.values())
            for ours, theirs in zip(got if isinstance(got, tuple) else (got, ), expected,
                                    strict=True):
                expect_close(ours, theirs, 1e-4, 1e-5)


def refusals(cases, keras):
    layers = keras.layers
    x = layers.Input((4, 8))
    each = keras.Sequential([layers.Input((8,)), layers.Dense(2)], name="each")
    keras.Model(x,
                layers.TimeDistributed(each,
                                       name="steps")(x)).save(os.path.join(OUT, "nested.keras"))
    doubled = keras.Model(x, x * 2.0, name="doubled")
    keras.Model(x, doubled(x)).save(os.path.join(OUT, "inner_number.keras"))
    inner = keras.Sequential(
        [layers.Input(
            (4, 8)), layers.EinsumDense("abc,cd->abd", (4, 3), name="sums")], name="inner")
    keras.Model(x, inner(x)).save(os.path.join(OUT, "inner_einsum.keras"))
    keras.Model(x, x * 2.0).save(os.path.join(OUT, "number.keras"))
    keras.Model(x, layers.LSTM(3, return_state=True)(x)[1]).save(os.path.join(OUT, "state.keras"))
    y = layers.Dense(2)(x)
    keras.Model(x, [y, y]).save(os.path.join(OUT, "twice.keras"))
    keras.Sequential([layers.Input((4, 8)),
                      layers.EinsumDense("abc,cd->abd",
                                         (4, 3))]).save(os.path.join(OUT, "einsum.keras"))
    keras.Sequential([layers.Input((4, 8)),
                      layers.Flatten()]).save(os.path.join(OUT, "empty.keras"))
    with open(os.path.join(OUT, "text.keras"), "w") as out:
        out.write("no model")
    for name, message in (
        ("nested.keras",
         "error: layer 'steps' wraps the model 'each'; dlc's takes one layer: wrap each layer of the model"
         ),
        ("einsum.keras",
         "error: layer 'einsum_dense' (EinsumDense) has weights, and 'sequential' has no such layer; known are Dense, Conv1D"
         ),
        ("inner_einsum.keras",
         "error: layer 'inner/sums' (EinsumDense) has weights, and 'sequential' has no such layer; known are Dense"
         ), ("empty.keras", "error: 'empty.keras' holds no weights"),
        ("text.keras", "error: cannot read 'text.keras': "),
        ("missing.keras", "error: cannot read 'missing.keras': ")):
        with cases.case(f"refused: {name}"):
            run = run_script(name, "-o", "no.safetensors")
            if run.returncode != 1 or not run.stderr.startswith(message) or os.path.exists(
                    os.path.join(OUT, "no.safetensors")):
                raise Failure(f"exit status {run.returncode}: {run.stderr[-300:]}")


def refused_texts(cases):
    """What the weights alone do not need."""
    for name, message, *more in (
        ("number.keras", "error: layer '", "' takes the number 2.0 beside tensors"),
        ("inner_number.keras", "error: layer 'doubled/", "' takes the number 2.0 beside tensors"),
        ("state.keras", "error: output 1 of layer 'lstm"),
        ("twice.keras", "error: the model gives one tensor twice"),
        ("sentiment.weights.h5",
         "error: 'sentiment.weights.h5' holds weights alone; --config model.json tells the layers"
         )):
        with cases.case(f"refused as text: {name}"):
            run = run_script(name, "-o", "no.dl")
            if run.returncode != 1 or not run.stderr.startswith(message) or not all(
                    part in run.stderr
                    for part in more) or os.path.exists(os.path.join(OUT, "no.dl")):
                raise Failure(f"exit status {run.returncode}: {run.stderr[-300:]}")


def main():
    os.makedirs(OUT, exist_ok=True)
    cases = Cases()
    if importlib.util.find_spec("keras") is None:
        cases.leave_out(56, "this Python has no Keras: tools/scripts/setup --tests")
        sys.exit(cases.finish())
    os.environ.setdefault("KERAS_BACKEND", "jax")
    import keras
    if os.path.isdir(MNIST):
        mnist(cases, keras)
    else:
        cases.leave_out(4, "no corpus of MNIST images: set DLC_CORPUS")
    sentiment(cases, keras)
    steps(cases, keras)
    functional(cases, keras)
    old_configuration(cases)
    refusals(cases, keras)
    refused_texts(cases)
    sys.path.insert(0, os.path.join(ROOT, "test", "python"))
    from keras_training import training
    from keras_programs import programs
    training(cases, keras)
    programs(cases, keras)
    sys.exit(cases.finish())


if __name__ == "__main__":
    main()
