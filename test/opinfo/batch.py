"""Many cases as one model: which of them dlc refuses, and what the interpreter, the CPU and the
emulated GPU make of the rest."""
import json
import os
import re
import subprocess
import tempfile
import types

import numpy as np
import torch

import accuracy as acc
from case import NAMES, port_type
from cases import Failure
from dlc_tool import DLC, TIMEOUT, compile_model, dlc, run_model
from voices import Failure as CannotRun

# Functions with data-dependent dims: the first of each result, but for what counted_dims says of
# unique.
COUNTED = {
    "nonzero", "argwhere", "masked_select", "unique", "nms", "batched_nms", "remove_small_boxes"
}

# Functions whose indices may name any of equal elements.
TIED = {"kthvalue", "median", "nanmedian", "topk", "sort", "argsort", "max", "min"}


def counted_dims(case, result):
    name = case.entry.split(".")[-1]
    if case.kind == "error" or name not in COUNTED or not case.results[result].exact.dim():
        return ()
    if name != "unique":
        return (0,)
    dim = re.search(r"dim=(-?\d+)", case.call)
    if result == 0:
        return (int(dim.group(1)) % max(case.results[0].exact.dim(), 1) if dim else 0,)
    return () if result == 1 and "return_inverse=true" in case.call else (0,)


def is_counted(case):
    return any(counted_dims(case, i) for i in range(len(case.results)))


def model_text(cases):
    """A model that computes all cases, and for each of its lines the number of its case."""
    ports, results, members, body = [], [], [], []
    for number, case in enumerate(cases):
        ports += [f"x{number}_{i}: {port_type(x.shape, NAMES[x.dtype])}"
                  for i, x in enumerate(case.inputs)]
        if case.member:
            members.append((f"  layer{number}: {case.member}", number))
        names = [f"y{number}_{i}" for i in range(len(case.results))]
        results += [f"{name}: {port_type(result.exact.shape, result.dtype, counted_dims(case, i))}"
                    for i, (name, result) in enumerate(zip(names, case.results))]
        if case.is_tuple or not names:
            body.append((f"    all{number} = {case.text(number)}", number))
            body += [(f"    {name} = all{number}{result.path}", number)
                     for name, result in zip(names, case.results)]
        else:
            body.append((f"    {names[0]} = {case.text(number)}", number))
    if not results:
        ports, results = [*ports, "x: f32[1]"], ["y: f32[1]"]
        body.append(("    y = relu(x)", None))
    head = f"  forward({', '.join(ports)}) -> ({', '.join(results)}) {{"
    lines = [("dl 1", None), ("model Samples {", None), *members, (head, None), *body,
             ("  }", None), ("}", None)]
    return "\n".join(text for text, _ in lines) + "\n", [number for _, number in lines]


def findings(text, lines):
    """dlc's errors by the number of the case that each is about."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "samples.dl")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        run = subprocess.run([DLC, "check", "--json", "--no-weights", path], capture_output=True,
                             text=True, errors="replace", timeout=TIMEOUT, check=False)
    if run.returncode == 0:
        return {}
    found = {}
    try:
        said = json.loads(run.stdout)["diagnostics"]
    except (ValueError, KeyError):
        return None
    for one in said:
        number = lines[one["line"] - 1] if one["severity"] == "error" else None
        named = re.search(r"'[xy](\d+)_\d+'", one["message"])
        if number is None and named and one["severity"] == "error":
            number = int(named.group(1))
        if number is not None:
            found.setdefault(number, one["message"])
    return found or None


def divided(cases):
    """Returns the cases that dlc takes, and (case, message) of the others."""
    taken, refused = list(cases), []
    while taken:
        found = findings(*model_text(taken))
        if found is None:  # an error that names no case, or a crash
            if len(taken) == 1:
                return [], [*refused, (taken[0], "dlc check fails and names no line")]
            halves = [divided(part) for part in (taken[:len(taken) // 2], taken[len(taken) // 2:])]
            return sum((half[0] for half in halves), []), sum((half[1] for half in halves), refused)
        if not found:
            break
        refused += [(taken[number], message) for number, message in found.items()]
        taken = [case for number, case in enumerate(taken) if number not in found]
    return taken, refused


class Port:
    """A result and the inputs of its case as a voice of numeric rows takes them."""

    def __init__(self, inputs, result):
        self.tensors, self.result_dtype = inputs, result.dtype
        self.kinds = [(NAMES[x.dtype], None) for x in inputs]
        self.row = types.SimpleNamespace(inputs=[list(x.shape) for x in inputs],
                                         result=list(result.exact.shape), phase="import")

    def dims(self, shape, _):
        return shape

    def inputs(self, _):
        return self.tensors


def run_once(cases, voice):
    """For each case its results as float64 or int64, or a message."""
    text, _ = model_text(cases)
    weights = {
        f"layer{number}.{name}": value for number, case in enumerate(cases)
        for name, value in case.weights.items()
    }
    with tempfile.TemporaryDirectory() as folder:
        path, flags = os.path.join(folder, "samples.dl"), []
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        if weights:
            np.savez(os.path.join(folder, "weights.npz"), **weights)
            flags = ["--weights", os.path.join(folder, "weights.npz")]
        if any(map(is_counted, cases)) or weights:
            return run_package(cases, path, flags, voice, folder)
        ports = [
            Port(case.inputs if i == 0 else [], result) for case in cases
            for i, result in enumerate(case.results)
        ]
        values = iter(voice.run(dlc("compile", path, "--compile-to=import", *flags), ports, [0]))
    return [[next(values)[0] for _ in case.results] for case in cases]


def run_package(cases, path, flags, voice, folder):
    """The same by `dlc run`, which cuts counted dims."""
    inputs = {
        f"x{number}_{i}": x.numpy() for number, case in enumerate(cases)
        for i, x in enumerate(case.inputs)
    }
    outputs = [
        f"y{number}_{i}" for number, case in enumerate(cases) for i in range(len(case.results))
    ]
    package = os.path.join(folder, "samples.bin")
    target, device = voice.target, "cuda-emu" if voice.target == "cuda" else "cpu"
    compile_model(path, package, None, "--target", target, "-q", *flags)
    values = iter(run_model(package, inputs, outputs, "--device", device))
    wide = lambda x: x.astype(np.float64 if x.dtype.kind == "f" else np.int64)
    return [[wide(next(values)) for _ in case.results] for case in cases]


def run(cases, voice):
    """The same, where the failure of one case leaves the others alone."""
    try:
        return run_once(cases, voice)
    except (Failure, CannotRun) as failure:
        if len(cases) == 1:
            return [str(failure)]
    half = len(cases) // 2
    return run(cases[:half], voice) + run(cases[half:], voice)


def is_tie(case, values, number):
    """Whether an index that is not PyTorch's names an equal element, in functions that leave open
    which of equals they name."""
    if case.entry.split("/")[0] not in TIED or case.results[number].dtype != "i64":
        return False
    x, got, exact = case.inputs[0], torch.from_numpy(np.asarray(
        values[number])), case.results[number].exact
    for dim in range(x.dim()):
        one, other = [
            index if index.dim() == x.dim() else index.unsqueeze(dim) for index in (got, exact)
        ]
        if all(size <= x.shape[i] for i, size in enumerate(one.shape)
               if i != dim) and one.numel() and \
                0 <= int(one.min()) and int(one.max()) < x.shape[dim] and int(
                    other.max()) < x.shape[dim] and \
                np.array_equal(x.gather(dim, one).double(), x.gather(dim, other).double(),
                               equal_nan=True):
            return True
    return False


def mismatch(case, values):
    """None, or a sentence about the results that are wrong."""
    if isinstance(values, str):
        return values
    problems = []
    for i, (result, value) in enumerate(zip(case.results, values)):
        if acc.is_float(result.dtype):
            value = acc.rounded(value, result.dtype)
        said = acc.mismatch(np.asarray(value), result.exact.numpy(), result.operands, result.dtype,
                            result.bound)
        if said and not is_tie(case, values, i):
            problems.append(f"result {i} ({result.dtype}): {said}")
    return "; ".join(problems) or None
