#!/usr/bin/env python3
"""Sequential models against Keras's documented meaning (keras_oracle.py): each layer with its
arguments, on the CPU.

The weights of a case are named and shaped as Keras has them; binding refuses a name or shape that
dlc sees otherwise."""
import os
import re
import sys

import numpy as np

from cases import Cases
from dlc_tool import BUILD, ROOT, compile_model, expect_close, run_model
from keras_oracle import run

sys.path.insert(0, os.path.join(ROOT, "examples"))
import safetensors  # noqa: E402

OUT = os.path.join(BUILD, "test-logs", "keras")
BN = {"gamma": (4,), "beta": (4,), "moving_mean": (4,), "moving_variance": (4,)}
IMAGE = (2, 7, 8, 4)
# Title: the input's shape, or (shape, upper) for integers below `upper`; and the layers with the
# shapes of their weights.
CASES = {
    "dense": ((3, 5), [("Dense", "7, activation='relu'", {"kernel": (5, 7), "bias": (7, )}),
                       ("Dense", "units=4, use_bias=False", {"kernel": (7, 4)}),
                       ("Dense", "3, activation='softmax'", {"kernel": (4, 3), "bias": (3, )})]),
    "dense on the last of three dims": ((2, 3, 5), [("Dense", "4, activation='tanh'",
                                                     {"kernel": (5, 4), "bias": (4, )})]),
    "conv2d valid": (IMAGE,
                     [("Conv2D", "3, 3", {"kernel": (3, 3, 4, 3), "bias": (3, )}),
                      ("Conv2D", "filters=2, kernel_size=(2, 3), activation='relu', use_bias=False",
                       {"kernel": (2, 3, 3, 2)})]),
    "conv2d same, even window": (IMAGE, [("Conv2D", "3, (2, 4), padding='same'",
                                          {"kernel": (2, 4, 4, 3), "bias": (3, )})]),
    "conv2d same, strides: the odd element of the border behind": (IMAGE, [
        ("Conv2D", "3, 3, strides=2, padding='same'", {"kernel": (3, 3, 4, 3), "bias": (3, )}),
        ("Conv2D", "5, 2, strides=(2, 1), padding='same'", {"kernel": (2, 2, 3, 5), "bias": (5, )})
    ]),
    "conv2d dilated, in groups": (IMAGE,
                                  [("Conv2D", "6, 3, dilation_rate=2, groups=2, padding='same'",
                                    {"kernel": (3, 3, 2, 6), "bias": (6, )})]),
    "conv2d then softmax over channels": (IMAGE, [("Conv2D", "3, 1, activation='softmax'",
                                                   {"kernel": (1, 1, 4, 3), "bias": (3, )})]),
    "conv1d": ((2, 9, 4), [("Conv1D", "3, 4, padding='same'", {"kernel": (4, 4, 3), "bias": (3, )}),
                           ("Conv1D", "5, 3, strides=2", {"kernel": (3, 3, 5), "bias": (5, )})]),
    "conv1d causal": ((2, 9, 4), [("Conv1D", "3, 3, padding='causal', dilation_rate=2",
                                   {"kernel": (3, 4, 3), "bias": (3, )})]),
    "depthwise conv2d": (IMAGE,
                         [("DepthwiseConv2D", "3, depth_multiplier=2, padding='same', strides=2",
                           {"kernel": (3, 3, 4, 2), "bias": (8, )})]),
    "separable conv2d": (IMAGE, [
        ("SeparableConv2D", "5, 3, activation='relu'",
         {"depthwise_kernel": (3, 3, 4, 1), "pointwise_kernel": (1, 1, 4, 5), "bias": (5, )})
    ]),
    "conv2d transpose, same": (IMAGE, [("Conv2DTranspose", "3, 3, strides=2, padding='same'",
                                        {"kernel": (3, 3, 3, 4), "bias": (3, )}),
                                       ("Conv2DTranspose", "2, 4, strides=2, padding='same'",
                                        {"kernel": (4, 4, 2, 3), "bias": (2, )})]),
    "conv2d transpose, valid": (IMAGE, [
        ("Conv2DTranspose", "3, 3, strides=2", {"kernel": (3, 3, 3, 4), "bias": (3, )}),
        ("Conv2DTranspose", "2, 1, strides=2, use_bias=False", {"kernel": (1, 1, 2, 3)})
    ]),
    "max pooling": (IMAGE, [("MaxPooling2D", "", {}),
                            ("MaxPooling2D", "pool_size=(2, 1), strides=1", {})]),
    "max pooling same": (IMAGE, [("MaxPooling2D", "2, padding='same'", {}),
                                 ("MaxPooling2D", "3, strides=2, padding='same'", {})]),
    "max pooling same, strides 1": (IMAGE, [("MaxPooling2D", "2, strides=1, padding='same'", {})]),
    "average pooling": (IMAGE, [("AveragePooling2D", "2", {})]),
    "average pooling same": (IMAGE, [("AveragePooling2D", "3, strides=2, padding='same'", {}),
                                     ("AveragePooling2D", "3, strides=1, padding='same'", {})]),
    "1-d pooling": ((2, 9, 4), [("MaxPooling1D", "2, padding='same'", {}),
                                ("AveragePooling1D", "2", {})]),
    "global average pooling": (IMAGE, [("GlobalAveragePooling2D", "", {})]),
    "global average pooling, dims kept": (IMAGE, [("GlobalAveragePooling2D", "keepdims=True", {})]),
    "global max pooling": (IMAGE, [("GlobalMaxPooling2D", "", {})]),
    "1-d global pooling": ((2, 9, 4), [("GlobalAveragePooling1D", "", {})]),
    "flatten in Keras's order": (IMAGE, [("Conv2D", "3, 2", {"kernel": (2, 2, 4, 3),
                                                             "bias": (3, )}), ("Flatten", "", {}),
                                         ("Dense", "5", {"kernel": (6 * 7 * 3, 5),
                                                         "bias": (5, )})]),
    "reshape and permute": ((3, 6), [("Reshape", "(2, 3)", {}), ("Permute", "(2, 1)", {})]),
    "batch normalization of images": (IMAGE, [("BatchNormalization", "", BN)]),
    "batch normalization without scale": (IMAGE,
                                          [("BatchNormalization", "scale=False, epsilon=0.01",
                                            {leaf: BN[leaf] for leaf in BN if leaf != "gamma"})]),
    "batch normalization without center": ((3, 4), [
        ("BatchNormalization", "center=False", {leaf: BN[leaf] for leaf in BN if leaf != "beta"})
    ]),
    "layer normalization": ((2, 3, 4), [("LayerNormalization", "", {"gamma": (4, ), "beta": (4, )}),
                                        ("LayerNormalization", "epsilon=0.01, center=False",
                                         {"gamma": (4, )})]),
    "embedding": (((2, 5), 11), [("Embedding", "11, 4", {"embeddings": (11, 4)}),
                                 ("GlobalAveragePooling1D", "", {})]),
    "lstm": ((2, 5, 3), [("LSTM", "4, return_sequences=True",
                          {"kernel": (3, 16), "recurrent_kernel": (4, 16), "bias": (16, )}),
                         ("LSTM", "units=2, use_bias=False",
                          {"kernel": (4, 8), "recurrent_kernel": (2, 8)})]),
    "gru": ((2, 5, 3), [("GRU", "4, return_sequences=True",
                         {"kernel": (3, 12), "recurrent_kernel": (4, 12), "bias": (2, 12)}),
                        ("GRU", "2, use_bias=False", {"kernel": (4, 6),
                                                      "recurrent_kernel": (2, 6)})]),
    "simple rnn": ((2, 5, 3), [("SimpleRNN", "4, return_sequences=True",
                                {"kernel": (3, 4), "recurrent_kernel": (4, 4), "bias": (4, )}),
                               ("SimpleRNN", "2, activation='relu'",
                                {"kernel": (4, 2), "recurrent_kernel": (2, 2), "bias": (2, )})]),
    "bidirectional": ((2, 5, 3), [("Bidirectional", "LSTM(4, return_sequences=True)", {
        f"{way}_lstm.{leaf}": shape for way in ("forward", "backward")
        for leaf, shape in (("kernel", (3, 16)), ("recurrent_kernel", (4, 16)), ("bias", (16, )))
    }),
                                  ("Bidirectional", "GRU(2)", {
                                      f"{way}_gru.{leaf}": shape for way in ("forward", "backward")
                                      for leaf, shape in (("kernel", (8, 6)), ("recurrent_kernel",
                                                                               (2, 6)), ("bias",
                                                                                         (2, 6)))
                                  })]),
    "time distributed": ((2, 3, 5), [
        ("TimeDistributed", "Dense(4, activation='relu')",
         {"dense.kernel": (5, 4), "dense.bias": (4, )}),
        ("TimeDistributed", "Dense(2, use_bias=False)", {"dense.kernel": (4, 2)}),
        ("LSTM", "3", {"kernel": (2, 12), "recurrent_kernel": (3, 12), "bias": (12, )})
    ]),
    "time distributed images": ((2, 3, 6, 7, 2),
                                [("TimeDistributed", "Conv2D(3, 3, padding='same')",
                                  {"conv2d.kernel": (3, 3, 2, 3), "conv2d.bias": (3, )}),
                                 ("TimeDistributed", "MaxPooling2D()", {}),
                                 ("TimeDistributed", "Flatten()", {}),
                                 ("Dense", "4", {"kernel": (27, 4), "bias": (4, )})]),
    "zero padding": (IMAGE, [("ZeroPadding2D", "", {}), ("ZeroPadding2D", "(2, 1)", {}),
                             ("ZeroPadding2D", "((0, 1), (2, 0))", {})]),
    "up sampling": ((2, 3, 4, 2), [("UpSampling2D", "(2, 3)", {})]),
    "up sampling, bilinear": ((2, 3, 4, 2), [("UpSampling2D", "size=2, interpolation='bilinear'",
                                              {})]),
    "activation layers": ((3, 7), [("ReLU", "", {}), ("Rescaling", "0.5, offset=-1.0", {}),
                                   ("LeakyReLU", "", {}), ("ELU", "alpha=0.5", {}),
                                   ("ReLU", "max_value=0.4", {}), ("Softmax", "", {})]),
    "dropout": ((3, 7), [("Dropout", "0.5", {}), ("Activation", "'hard_sigmoid'", {})]),
    **{
        f"activation {name}": ((3, 7), [("Activation", repr(name), {})])
       for name in ("relu", "sigmoid", "tanh", "softmax", "log_softmax", "softplus", "softsign",
                    "elu", "selu", "gelu", "swish", "exponential", "relu6", "leaky_relu", "mish",
                    "linear")
    },
}

# What stands in Bidirectional(...) and TimeDistributed(...): the kind, its automatic name, and the
# arguments.
WRAPPED = {
    kind: (lambda *a, kind=kind, name=name, **k: ((kind, name, *a), k))
    for kind, name in (("LSTM", "lstm"), ("GRU", "gru"), ("Dense", "dense"), ("Conv2D", "conv2d"),
                       ("MaxPooling2D", "max_pooling2d"), ("Flatten", "flatten"))
}


def automatic_name(kind, counts):
    """What Keras does with the name of a class."""
    name = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", kind)
    name = re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()
    counts[name] = counts.get(name, -1) + 1
    return f"{name}_{counts[name]}" if counts[name] else name


def one(title, shape, layers):
    random = np.random.RandomState(len(title))
    if isinstance(shape[0], tuple):
        x = random.randint(0, shape[1], shape[0]).astype(np.int64)
    else:
        x = random.uniform(-2, 2, shape).astype(np.float32)
    counts, weights, network, lines = {}, {}, [], []
    for kind, arguments, leaves in layers:
        name = automatic_name(kind, counts)
        positional, named = eval(f"(lambda *a, **k: (a, k))({arguments})", WRAPPED)
        if kind in ("Bidirectional", "TimeDistributed"):
            (positional, named), = positional
        network.append((kind, name, positional, named))
        text = arguments.replace("True", "true").replace("False", "false").replace("'", '"')
        lines.append(f"  {kind}({text})")
        for leaf, sizes in leaves.items():
            low, high = (0.5, 1.5) if leaf == "moving_variance" else (-0.5, 0.5)
            weights[f"{name}.{leaf}"] = random.uniform(low, high, sizes).astype(np.float32)
    layout = {4: " layout NHWC", 5: " layout NDHWC"}.get(x.ndim, "")
    dtype = "i64" if x.dtype == np.int64 else "f32"
    path = os.path.join(OUT, re.sub(r"\W+", "_", title))
    with open(path + ".dl", "w", encoding="utf-8") as out:
        out.write("\n".join([
            "dl 1", f"sequential Case(x: {dtype}{list(x.shape)}{layout}) {{", *lines, "}",
            f'weights "{os.path.basename(path)}.safetensors"' if weights else "", ""
        ]))
    if weights:
        safetensors.save(path + ".safetensors", weights)
    compile_model(path + ".dl", path + ".bin", None, "--target", "cpu")
    actual, = run_model(path + ".bin", {"x": x}, [network[-1][1]], "--device", "cpu")
    expect_close(actual, run(network, weights, x), 2e-5, 1e-5)


def main():
    os.makedirs(OUT, exist_ok=True)
    cases = Cases()
    for title, (shape, layers) in CASES.items():
        if not sys.argv[1:] or any(word in title for word in sys.argv[1:]):
            with cases.case(title):
                one(title, shape, layers)
    return cases.finish()


sys.exit(main())
