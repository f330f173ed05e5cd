"""What PyTorch makes of the networks in networks.py, in f64, and seeded inputs for them.

`expected(network, model, weights, inputs)`: `model` is the .dl file in f32, whose text the plainest
networks are read from; `weights` name -> tensor in f64 as they are stored in the dtype that is
tested; `inputs` name -> array."""
import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

import keras_oracle
import vision_models
from torch_oracle import Model
from transformers_oracle import bert, gpt2


def _image(name, *dims, low=0):
    return lambda random, batch, sizes: {
        name: random.uniform(low, 1, (batch, *dims)).astype(np.float32)
    }


def _square(random, batch, sizes):
    return {"x": random.uniform(-1, 1, (batch, 3, sizes["SIZE"], sizes["SIZE"])).astype(np.float32)}


def _tokens(random, batch, sizes):
    return {"input_ids": random.randint(0, sizes["VOCAB"], (batch, 5))}


def _bert(random, batch, sizes):
    mask = np.ones((batch, 5), np.float32)
    mask[-1, 3:] = 0
    return {
        **_tokens(random, batch, sizes), "token_type_ids": random.randint(0, 2, (batch, 5)),
        "attention_mask": mask
    }


def _words(random, batch, sizes):
    return {"tokens": random.randint(0, 5000, (batch, 6))}


def _sentences(random, batch, sizes):
    inputs = {"tokens": random.randint(0, 5000, (batch, 6)), "lengths": random.randint(1, 7, batch)}
    inputs["lengths"][0] = 6
    for row, count in zip(inputs["tokens"], inputs["lengths"]):
        row[count:] = 0
    return inputs


def _factors(random, batch, sizes):
    return {
        "a": random.standard_normal((33 * batch, 72)).astype(np.float32),
        "b": random.standard_normal((72, 40)).astype(np.float32)
    }


# Network -> its inputs for a batch.
INPUTS = {
    "digits": _image("x", 1, 8, 8),
    "mnist": _image("x", 1, 28, 28),
    "keras_mnist": _image("x", 28, 28, 1),
    "dcgan": _image("x", 100, 1, 1, low=-1),
    "unet": _image("x", 3, 16, 32, low=-1),
    "lenet5_mnist": _image("input", 1, 32, 32),
    "resnet20_cifar10": _image("input", 3, 32, 32, low=-1),
    "resnet18": _image("x", 3, 224, 224, low=-1),
    "resnet50": _square,
    "mobilenet_v2": _square,
    "vgg16": _square,
    "bert": _bert,
    "gpt2": _tokens,
    "matmul": _factors,
    "text_lstm": _words,
    "text_bilstm": _sentences,
    "silero_vad_static16k": lambda random, batch, sizes: {
        "input": 0.3 * random.standard_normal(
            (1, 576)).astype(np.float32), "state": 0.3 * random.standard_normal(
                (2, 1, 128)).astype(np.float32)
    },
    "stories260k_T64": lambda random, batch, sizes: {"tokens": random.randint(0, 512, (1, 64))},
}
OUTPUTS = {
    "digits": ["probs"], "mnist": ["probs"], "keras_mnist": ["probs"], "dcgan": ["image"],
    "unet": ["logits"], "lenet5_mnist": ["logprob"], "vgg16": ["probs"], "matmul": ["c"],
    "bert": ["last_hidden_state", "pooler_output"], "silero_vad_static16k": ["output", "stateN"]
}
VISION = {"resnet50": "ResNet50", "mobilenet_v2": "MobileNetV2", "vgg16": "VGG16"}
PLAIN = ("digits", "mnist", "dcgan", "unet", "resnet18")


class _TextLstm(nn.Module):
    def __init__(self, weights, layers, bidirectional):
        super().__init__()
        self.embedding = nn.Embedding(5000, 100)
        self.lstm = nn.LSTM(100, 128, num_layers=layers, batch_first=True,
                            bidirectional=bidirectional)
        self.fc = nn.Linear(128 * (1 + bidirectional), 4)
        self.double()
        self.load_state_dict(weights)

    def forward(self, tokens, lengths=None):
        x = self.embedding(tokens)
        if lengths is not None:
            x = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        _, (h, _) = self.lstm(x)
        return self.fc(torch.cat([h[-2], h[-1]], 1) if self.lstm.bidirectional else h[-1])


def outputs_of(name):
    return OUTPUTS.get(name, ["logits"])


def has_oracle(name):
    return name in PLAIN or name in VISION or name in ("keras_mnist", "bert", "gpt2", "matmul",
                                                       "text_lstm", "text_bilstm")


def expected(name, model, weights_path, weights, sizes, inputs):
    """The outputs as arrays of f64. `weights_path` holds `weights`, in f32, for those that are read
    from the .dl."""
    tensors = [torch.from_numpy(np.array(value)) for value in inputs.values()]
    tensors = [value.double() if value.is_floating_point() else value for value in tensors]
    with torch.no_grad():
        if name in PLAIN:
            results = Model(model, weights_path)(*inputs.values())
            return [np.asarray(result, np.float64) for result in results]
        if name in VISION:
            module = getattr(vision_models, VISION[name])(**sizes).eval()
            module.load_state_dict(weights, strict=False)
            results = module.double()(*tensors)
        elif name == "keras_mnist":
            arrays = {key: value.numpy() for key, value in weights.items()}
            results = keras_oracle.run(keras_oracle.MNIST, arrays, *inputs.values())
        elif name in ("bert", "gpt2"):
            results = {"bert": bert, "gpt2": gpt2}[name](weights, sizes["HEADS"], sizes["LAYERS"],
                                                         *tensors)
        elif name == "matmul":
            results = tensors[0] @ tensors[1]
        else:
            results = _TextLstm(weights, 1 + (name == "text_bilstm"),
                                name == "text_bilstm")(*tensors)
    results = results if isinstance(results, (tuple, list)) else (results,)
    return [np.asarray(result, np.float64) for result in results]
