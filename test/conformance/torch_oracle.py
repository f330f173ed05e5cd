"""What PyTorch makes of a .dl file: an oracle that shares no code with dlc, not even the parser.

The first part of the language reads almost like Python: layers become torch.nn modules that hold
the file's weights, and each line of `forward` is evaluated as a Python expression over torch
functions. It is for files of our own only."""
import json
import re
import struct

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

DTYPES = {
    "F64": "f8", "F32": "f4", "F16": "f2", "I64": "i8", "I32": "i4", "I8": "i1", "U8": "u1",
    "BOOL": "?"
}
LAYER = re.compile(r"^\s*([A-Za-z_][\w.]*)\s*:\s*([A-Z]\w*)\((.*)\)\s*$", re.M)
FORWARD = re.compile(r"forward\s*\((.*?)\)\s*->\s*\((.*?)\)\s*\{(.*?)\}", re.S)
FUNCTIONS = {
    "relu": F.relu,
    "gelu": F.gelu,
    "softmax": F.softmax,
    "log_softmax": F.log_softmax,
    "max_pool2d": F.max_pool2d,
    "avg_pool2d": F.avg_pool2d,
    "pad": F.pad,
    "flatten": torch.flatten,
    "reshape": torch.reshape,
    "transpose": torch.transpose,
    "cat": torch.cat,
    "sum": torch.sum,
    "mean": torch.mean,
    "max": torch.amax,
    "argmax": torch.argmax,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "exp": torch.exp,
    "log": torch.log,
    "sqrt": torch.sqrt,
    "interpolate": F.interpolate,
    "matmul": torch.matmul,
    "linear": F.linear,
    "true": True,
    "false": False,
}


def read_safetensors(path):
    with open(path, "rb") as source:
        data = source.read()
    length = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:8 + length]).items():
        if name != "__metadata__":
            begin, end = (8 + length + offset for offset in entry["data_offsets"])
            tensors[name] = np.frombuffer(data[begin:end],
                                          DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def statements(body):
    """The statements of a forward, one a line each, however its lines are broken: a bracket that is
    open goes on."""
    statement = ""
    for line in filter(None, map(str.strip, body.splitlines())):
        statement += (" " if statement else "") + line
        if statement.count("(") == statement.count(")") and statement.count("[") == statement.count(
                "]"):
            yield statement
            statement = ""


class Model:
    """A .dl model in PyTorch. `dtype` is what it computes in: float64 makes it a reference for
    float32."""

    def __init__(self, dl_path, weights_path, dtype=torch.float64):
        with open(dl_path, encoding="utf-8") as source:
            text = re.sub(r"#.*", "", source.read())
        self.dtype = dtype
        weights = read_safetensors(weights_path)
        self.layers = {}
        for name, kind, arguments in LAYER.findall(text):
            layer = eval(f"nn.{kind}({arguments})", {"nn": nn, "true": True, "false": False})
            state = {leaf: torch.from_numpy(np.array(weights.pop(f"{name}.{leaf}")))
                     for leaf in layer.state_dict() if leaf != "num_batches_tracked"}
            layer.load_state_dict(state, strict=False)
            self.layers[name] = layer.to(dtype).eval()
        if weights:
            raise ValueError(f"{weights_path}: not used by {dl_path}: {', '.join(weights)}")
        parameters, results, body = FORWARD.search(text).groups()
        self.inputs, self.outputs = (re.findall(r"(\w+)\s*:", part)
                                     for part in (parameters, results))
        # A layer's name has dots, so a call of one becomes a look-up.
        names = "|".join(re.escape(name) for name in sorted(self.layers, key=len, reverse=True))
        self.body = []
        for statement in statements(body):
            target, expression = statement.split("=", 1)
            expression = re.sub(rf"(?<![\w.])({names})\(", r'layers["\1"](', expression)
            self.body.append((target.strip(), compile(expression.strip(), dl_path, "eval")))

    def __call__(self, *inputs):
        values = dict(FUNCTIONS, layers=self.layers)
        for name, value in zip(self.inputs, inputs):
            tensor = torch.from_numpy(np.array(value))
            values[name] = tensor.to(self.dtype) if tensor.is_floating_point() else tensor
        with torch.no_grad():
            for target, expression in self.body:
                values[target] = eval(expression, values)
        return [values[name].numpy() for name in self.outputs]
