#!/usr/bin/env python3
"""Every layer of the language against the torch.nn module of its name: arguments (names, order,
defaults), parameters (names and shapes of its state_dict) and results on the CPU.

PyTorch says what a layer is; the table of layers in frontend/dl/declare/layers is what dlc makes of
it."""
import inspect
import os
import re
import sys

import numpy as np
import torch
from torch import nn

from cases import Cases, Failure
from dlc_tool import BUILD, ROOT, compile_model, dlc_translate, expect_close, run_model
from layer_cases import CASES

sys.path.insert(0, os.path.join(ROOT, "examples"))
import safetensors  # noqa: E402

OUT = os.path.join(BUILD, "test-logs", "layers")
TRANSFORMER = [
    "d_model", "nhead", "dim_feedforward=2048", "dropout=0.1", "activation='relu'",
    "layer_norm_eps=1e-05", "batch_first=False", "norm_first=False", "bias=True"
]
RECURRENT = [
    "input_size", "hidden_size", "num_layers=1", "bias=True", "batch_first=False", "dropout=0.0",
    "bidirectional=False"
]
# What this PyTorch does not say by its signature, or says differently from PyTorch 2.
KNOWN = {
    "LSTM": RECURRENT + ["proj_size=0"], "GRU": RECURRENT,
    "RNN": RECURRENT[:2] + ["num_layers=1", "nonlinearity='tanh'"] + RECURRENT[3:], "Identity": [],
    "LayerNorm": ["normalized_shape", "eps=1e-05", "elementwise_affine=True", "bias=True"],
    "RMSNorm": ["normalized_shape", "eps=None", "elementwise_affine=True"],
    "Softplus": ["beta=1.0", "threshold=20.0"],
    "Hardtanh": ["min_val=-1.0", "max_val=1.0", "inplace=False"],
    "TransformerEncoderLayer": TRANSFORMER, "TransformerDecoderLayer": TRANSFORMER,
}
# Softmax without its dim is refused here: PyTorch guesses it, with a warning.
NEEDED = {("Softmax", "dim"), ("LogSoftmax", "dim"), ("Softmin", "dim")}
UNKNOWN = {"device", "dtype", "_weight"}


class RMSNorm(nn.Module):
    """torch.nn.RMSNorm, which this PyTorch has not."""

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        super().__init__()
        shape = (normalized_shape, ) if isinstance(normalized_shape,
                                                   int) else tuple(normalized_shape)
        self.dims, self.eps = tuple(range(-len(shape),
                                          0)), np.finfo(np.float32).eps if eps is None else eps
        self.weight = nn.Parameter(torch.ones(shape)) if elementwise_affine else None

    def forward(self, x):
        y = x * torch.rsqrt((x * x).mean(self.dims, keepdim=True) + self.eps)
        return y if self.weight is None else y * self.weight


def torch_kind(kind):
    return RMSNorm if kind == "RMSNorm" else getattr(nn, kind)


def torch_arguments(kind):
    if kind in KNOWN:
        return KNOWN[kind]
    arguments = []
    for name, parameter in list(inspect.signature(
            torch_kind(kind).__init__).parameters.items())[1:]:
        if name not in UNKNOWN:
            needed = parameter.default is inspect.Parameter.empty or (kind, name) in NEEDED
            arguments.append(name if needed else f"{name}={parameter.default!r}")
    return arguments


def dlc_table():
    """Kind -> its arguments as torch_arguments writes them."""
    table = {}
    for line in dlc_translate("--print-layers", os.devnull).splitlines():
        kind, arguments = re.fullmatch(r"(\w+)\((.*)\)", line).groups()
        table[kind] = [part.split(" ", 1)[1] for part in arguments.split(", ") if part]
    return table


def same_argument(ours, theirs):
    if ours == theirs:
        return True
    (name, _, value), (other, _, expected) = ours.partition("="), theirs.partition("=")
    numbers = [re.fullmatch(r"-?[\d.]+(e-?\d+)?", text) for text in (value, expected)]
    return name == other and all(numbers) and float(value) == float(expected)


def module(kind, arguments):
    layer = eval(f"kind({arguments})",
                 {"kind": torch_kind(kind), "true": True, "false": False}).double().eval()
    random = np.random.RandomState(len(kind) + len(arguments))
    for name, tensor in layer.state_dict().items():
        if tensor.is_floating_point():
            low, high = (0.5, 1.5) if name.endswith("running_var") else (-0.5, 0.5)
            tensor.copy_(
                torch.from_numpy(random.uniform(low, high, tuple(tensor.shape)).astype(np.float32)))
    return layer


def inputs_of(shapes, seed):
    random = np.random.RandomState(seed)

    def values(shape):
        if not shape or not isinstance(shape[0], tuple):
            return random.uniform(-2, 2, shape).astype(np.float32)
        shape, upper = shape
        return random.uniform(0, upper, shape).astype(np.float32) if isinstance(upper, float) else \
            random.randint(0, upper, shape).astype(np.int64)
    return [values(shape) for shape in shapes]


def masks_of(masks, seed):
    """Masks by the names of the layer's arguments; a bool one keeps the first key of each row, so
    that no row is empty."""
    random = np.random.RandomState(seed + 100)
    made = {}
    for name, (dtype, shape) in masks.items():
        made[name] = random.uniform(-2, 2, shape).astype(
            np.float32) if dtype == "f32" else random.uniform(size=shape) < 0.4
        if dtype == "bool":
            made[name][..., 0] = False
    return made


def flat(results):
    """The tensors of nested tuples; attention's missing weights are none."""
    if isinstance(results, torch.Tensor):
        return [results]
    return [tensor for part in results if part is not None for tensor in flat(part)]


def names_like(results, prefix):
    """The left side of an assignment that takes `results` apart: `y0, (y1, y2)`."""
    count = 0

    def text(part, outer):
        nonlocal count
        if isinstance(part, torch.Tensor):
            count += 1
            return f"{prefix}{count - 1}"
        inner = ", ".join("_" if element is None else text(element, False) for element in part)
        return inner if outer else f"({inner})"
    return text(results, True)


def type_text(array):
    dtype = "bool" if array.dtype == bool else "i64" if array.dtype in (np.int64,
                                                                        torch.int64) else "f32"
    return f"{dtype}[{', '.join(map(str, array.shape))}]"


def run_kind(kind, calls):
    """All calls of one kind in one model."""
    ports, results, layers, body, weights, inputs, expected = [], [], [], [], {}, {}, {}
    for index, (arguments, shapes, *more) in enumerate(calls):
        layer = module(kind, arguments)
        arrays, masks = inputs_of(shapes, index), masks_of(more[0] if more else {}, index)
        tensor_of = lambda a: torch.from_numpy(a).double(
        ) if a.dtype == np.float32 else torch.from_numpy(a)
        with torch.no_grad():
            extra = {"need_weights": False} if kind == "MultiheadAttention" else {}
            output = layer(*map(tensor_of, arrays),
                           **{name: tensor_of(mask) for name, mask in masks.items()}, **extra)
        names = [f"x{index}_{k}" for k in range(len(arrays))]
        named = {
            **dict(zip(names, arrays)),
            **{f"m{index}_{name}": mask for name, mask in masks.items()}
        }
        inputs.update(named)
        ports += [f"{name}: {type_text(array)}" for name, array in named.items()]
        names_of = names_like(output, f"y{index}_")
        for k, tensor in enumerate(flat(output)):
            expected[f"y{index}_{k}"] = tensor.numpy()
            results.append(f"y{index}_{k}: {type_text(tensor)}")
        layers.append(f"  l{index}: {kind}({arguments})".replace("'", '"'))
        extra = "".join(
            f", {name}=m{index}_{name}"
            for name in masks) + (", need_weights=false" if kind == "MultiheadAttention" else "")
        body.append(f"    {names_of} = l{index}({', '.join(names)}{extra})")
        for name, tensor in layer.state_dict().items():
            if not name.endswith("num_batches_tracked"):
                weights[f"l{index}.{name}"] = tensor.numpy().astype(np.float32)
    text = "\n".join([
        "dl 1", "model Layers {", *layers,
        f"  forward({', '.join(ports)}) -> ({', '.join(results)}) {{", *body, "  }", "}"
    ] + ([f'weights "{kind}.safetensors"'] if weights else [])) + "\n"
    path = os.path.join(OUT, kind)
    with open(path + ".dl", "w", encoding="utf-8") as out:
        out.write(text)
    # Binding compares names and shapes with those that the table computes, and refuses any that is
    # left over
    if weights:
        safetensors.save(path + ".safetensors", weights)
    compile_model(path + ".dl", path + ".bin", None, "--target", "cpu")
    for (name,
         wanted), actual in zip(expected.items(),
                                run_model(path + ".bin", inputs, list(expected), "--device",
                                          "cpu")):
        try:
            expect_close(actual, wanted, 2e-5, 1e-5)
        except Failure as failure:
            raise Failure(f"{name}: {failure}") from None


def main():
    os.makedirs(OUT, exist_ok=True)
    cases, table = Cases(), dlc_table()
    chosen = sys.argv[1:] or list(table)
    for kind in chosen:
        with cases.case(f"{kind}: arguments"):
            ours, theirs = table[kind], torch_arguments(kind)
            if len(ours) != len(theirs) or not all(map(same_argument, ours, theirs)):
                raise Failure(f"({', '.join(ours)}), in PyTorch ({', '.join(theirs)})")
        with cases.case(f"{kind}: parameters and results"):
            if kind not in CASES:
                raise Failure("no call of it stands in layer_cases.py")
            run_kind(kind, CASES[kind])
    for kind in CASES if not sys.argv[1:] else []:
        if kind not in table:
            cases.leave_out(1, f"the language has no {kind} yet")
    return cases.finish()


sys.exit(main())
