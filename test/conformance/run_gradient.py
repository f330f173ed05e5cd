#!/usr/bin/env python3
"""ONNX's Gradient against PyTorch's autograd in f64, on the CPU: graphs of ONNX's operators, and
what the op says of values that are independent, given anew, or differentiated twice. ONNX's Adagrad,
Adam and Momentum by their formulas. The rules
themselves are tested by test/numeric/run_gradients.py.

  run_gradient.py                      all of them
  run_gradient.py --device cuda-emu    on the emulated GPU
  run_gradient.py NAME...              these alone"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import torch

sys.path.insert(
    0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "frontend", "onnx", "Inputs"))
from cases import Cases, Failure
from dlc_tool import BUILD, DLC, ROOT, expect_close
from gradient_cases import CASES
from onnx_writer import field, function, model, node, tensor, value
from run_onnx import emulate
from runtime_session import Refused, Session

DOMAIN = "ai.onnx.preview.training"
DTYPES = {
    np.dtype(np.float64): "f64",
    np.dtype(np.float32): "f32",
    np.dtype(np.float16): "f16",
    np.dtype(np.int64): "i64",
    np.dtype(bool): "bool"
}


def gradient(xs, y, outputs, zs=(), inputs=None):
    """A Gradient node; `inputs`: values for xs and zs other than the graph's own."""
    return node("Gradient", ", ".join(inputs or [*xs, *zs]), ", ".join(outputs), name="gradient",
                domain=DOMAIN, xs=list(xs), y=y, **({"zs": list(zs)} if zs else {}))


def results_of(path, data, arrays, device):
    """What a model gives for the arrays, by the names of its outputs."""
    with open(path + ".onnx", "wb") as out:
        out.write(data)
    run = subprocess.run([DLC, "compile", path + ".onnx", "--target", device, "-o", path + ".bin"],
                         capture_output=True, text=True)
    if run.returncode:
        raise Failure(f"exit status {run.returncode}: {run.stderr.strip()[-1500:]}")
    library = os.path.join(BUILD, "lib", "libdlc_runtime.so")
    try:
        with Session(library, path + ".bin", device, checked=device == "cpu") as session:
            return session.run(arrays)
    except Refused as error:
        raise Failure(f"runtime: {error}") from None


def ops_of(path):
    """The dl ops of a model."""
    run = subprocess.run([DLC, "compile", path, "--compile-to=import"], capture_output=True,
                         text=True)
    return set(re.findall(r"\bdl\.(\w+) ", run.stdout))


def run_case(case, path, device):
    random = np.random.RandomState(sum(map(ord, case.name)))
    arrays = {
        name: make(random) if callable(make) else np.array(make)
        for name, make in case.inputs.items()
    }
    leaves = {
        name: torch.tensor(array, requires_grad=array.dtype.kind == "f")
        for name, array in arrays.items()
    }
    y = case.function(*leaves.values())
    weights = random.uniform(0.5, 1.5, tuple(y.shape)).astype(arrays[case.xs[0]].dtype)
    wanted = torch.autograd.grad((y * torch.tensor(weights)).sum(),
                                 [leaves[name] for name in case.xs], create_graph=case.twice)
    if case.twice:  # of the sum of the first derivatives
        wanted = torch.autograd.grad(sum((one * one).sum() for one in wanted),
                                     [leaves[name] for name in case.xs])
    # A dim that the case names is a symbol of the model.
    declared = [
        value(name, DTYPES[array.dtype], case.dims.get(name, array.shape))
        for name, array in arrays.items()
    ]
    given = [
        *declared,
        value("weights", DTYPES[weights.dtype], case.dims.get("weights", weights.shape))
    ]
    forward = [*case.nodes, node("Mul", "y, weights", "weighted")]
    results = [f"d_{name}" for name in case.xs]
    nodes = [
        *forward,
        gradient(case.xs, "weighted", [f"first_{r}" for r in results] if case.twice else results)
    ]
    if case.twice:
        total = [node("Mul", f"first_{r}, first_{r}", f"square_{r}") for r in results]
        total += [node("ReduceSum", f"square_{r}", f"sum_{r}", keepdims=0) for r in results]
        total.append(node("Sum", ", ".join(f"sum_{r}" for r in results), "total"))
        nodes += [*total, gradient(case.xs, "total", results)]
    through = [*forward, gradient(case.xs, "weighted", results)] if case.twice else forward
    with open(path + "_through.onnx", "wb") as out:
        out.write(
            model(through, given, results if case.twice else ("weighted", ), case.tensors,
                  case.opset, opsets=[(DOMAIN, 1)]))
    data = model(nodes, given, results, case.tensors, case.opset, opsets=[(DOMAIN, 1)])
    got = results_of(path, data, {**arrays, "weights": weights}, device)
    for name, expected in zip(case.xs, wanted):
        expected = expected.detach().numpy().astype(np.float64)
        found = got[f"d_{name}"][1]
        if found.dtype != arrays[name].dtype:
            raise Failure(f"d_{name} is {found.dtype}, expected {arrays[name].dtype}")
        try:
            expect_close(found, expected, case.rtol,
                         case.rtol * max(1, float(np.abs(expected).max(initial=0))))
        except Failure as failure:
            raise Failure(f"d_{name}: {failure}") from None


def run_graph(path, device, nodes, inputs, results, wanted, tensors=(), functions=(), opsets=()):
    """A model whose results are known; inputs are scalars in f64, or arrays."""
    arrays = {name: np.asarray(number, np.float64) for name, number in inputs.items()}
    given = [value(name, "f64", array.shape) for name, array in arrays.items()]
    data = model(nodes, given, results, tensors, functions=functions, opsets=[(DOMAIN, 1), *opsets])
    got = results_of(path, data, arrays, device)
    for name, expected in zip(results, wanted):
        expect_close(got[name][1], np.asarray(expected, np.float64), 1e-12, 1e-12)


def graphs():
    """(name, arguments of run_graph): what the op says beyond its rules."""
    product = node("Mul", "a, b", "y")
    both = {"a": 3.0, "b": 5.0}
    yield "a value by itself", [gradient("a", "a", ["d"])], {"a": [2.0, 3.0]}, ["d"], [[1, 1]]
    yield "a value by an Identity of it", [node("Identity", "a", "b"),
                                           gradient("a", "b", ["d"])], {"a": 2.0}, ["d"], [1]
    yield "what it does not depend on", [product, gradient("abc", "y", ["da", "db", "dc"])
                                         ], {**both, "c": [1.0, 2.0]}, ["dc", "da"], [[0, 0], 5]
    yield "through integers", [
        node("Cast", "a", "i", to=7),
        node("Cast", "i", "y", to=11),
        gradient("a", "y", ["d"])
    ], {"a": 2.5}, ["d"], [0]
    yield "a result left out", [product, gradient("ab", "y", ["", "db"])], both, ["db"], [3]
    yield "one held constant", [product, gradient("a", "y", ["da"], zs="b")], both, ["da"], [5]
    yield "one held constant that depends on the other", [
        node("Mul", "a, a", "b"), product,
        gradient("a", "y", ["da"], zs="b")
    ], {"a": 3.0}, ["da"], [9]
    yield "one that depends on the other", [
        node("Mul", "a, a", "b"), product,
        gradient("ab", "y", ["da", "db"])
    ], {"a": 3.0}, ["da", "db"], [9, 3]
    yield "one by two names", [
        node("Identity", "a", "b"), product,
        gradient("ab", "y", ["da", "db"])
    ], {"a": 3.0}, ["da", "db"], [3, 3]
    yield "one by a name that y does not use", [
        node("Identity", "a", "b"),
        node("Mul", "a, a", "y"),
        gradient("b", "y", ["db"])
    ], {"a": 3.0}, ["db"], [0]
    yield "an intermediate value", [
        node("Exp", "a", "h"),
        node("Mul", "h, h", "y"),
        gradient(["h"], "y", ["d"])
    ], {"a": 0.0}, ["d"], [2]
    yield "other values than the graph's", [
        node("Exp", "a", "h"),
        node("Mul", "h, b", "t"),
        node("Mul", "t, h", "y"),
        gradient("hb", "y", ["dh", "db"], inputs=["c", "b"])
    ], {"a": 0.0, "b": 5.0, "c": 2.0}, ["dh", "db", "y"], [20, 4, 5]
    yield "another value of one held constant", [
        product, gradient("a", "y", ["da"], zs="b", inputs=["a", "c"])
    ], {**both, "c": 7.0}, ["da", "y"], [7, 15]
    yield "a node before the one of y", [gradient("ab", "y", ["da", "db"]),
                                         product], both, ["da", "db"], [5, 3]
    yield "numbers that would be folded", [
        node("Mul", "n, n", "m"),
        node("Mul", "m, a", "y"),
        gradient("n", "y", ["d"])
    ], {"a": 3.0}, ["d"], [12], [tensor("n", "f64", [], raw=np.float64(2).tobytes())]
    yield "an exponent that would be folded", [
        node("Pow", "a, n", "y"), gradient("n", "y", ["d"])
    ], {"a": 3.0}, ["d"], [9 * np.log(3)], [tensor("n", "f64", [], raw=np.float64(2).tobytes())]
    weight = tensor("w", "f64", [3], raw=np.array([1.0, 2.0, 3.0]).tobytes())
    yield "a weight that an Identity repeats", [
        node("Identity", "w", "v"),
        node("Mul", "v, a", "y"),
        gradient("w", "y", ["d"])
    ], {"a": [4.0, 5.0, 6.0]}, ["d"], [[4, 5, 6]], [weight]
    yield "a derivative of a derivative", [
        node("Mul", "a, a", "s"),
        node("Mul", "s, a", "y"),
        gradient("a", "y", ["d"]),
        gradient("a", "d", ["dd"]),
        gradient("a", "dd", ["ddd"])
    ], {"a": 2.0}, ["d", "dd", "ddd"], [12, 12, 6]
    body = [node("Mul", "p, q", "r"), gradient(["p"], "r", ["s"])]
    yield ("in a function", [node("F", "a, b", "y", domain="own")], both, ["y"], [5], (),
           [function("F", body, "p, q", "s") + field(9,
                                                     field(1, DOMAIN) + field(2, 1))], [("own", 1)])


def adagrad(r, t, x, g, h, decay_factor=0.0, epsilon=1e-6, norm_coefficient=0.0):
    g = norm_coefficient * x + g
    h = h + g * g
    return x - r / (1 + t * decay_factor) * g / (np.sqrt(h) + epsilon), h


def adam(r, t, x, g, v, h, alpha=0.9, beta=0.999, epsilon=1e-6, norm_coefficient=0.0,
         norm_coefficient_post=0.0):
    g = norm_coefficient * x + g
    v, h = alpha * v + (1 - alpha) * g, beta * h + (1 - beta) * g * g
    r = r * np.sqrt(1 - beta**t) / (1 - alpha**t) if t > 0 else r
    return (1 - norm_coefficient_post) * (x - r * v / (np.sqrt(h) + epsilon)), v, h


def momentum(r, t, x, g, v, alpha, beta, mode, norm_coefficient):
    g = norm_coefficient * x + g
    v = alpha * v + (beta if t > 0 else 1) * g
    return x - r * (v if mode == "standard" else g + alpha * v), v


#: ONNX's formulas of training, and attributes.
OPTIMIZERS = (
    ("Adagrad", adagrad, dict(norm_coefficient=0.01, epsilon=1e-5, decay_factor=0.1)),
    ("Adagrad", adagrad, {}),
    ("Adam", adam, dict(norm_coefficient=0.01, alpha=0.95, beta=0.1, epsilon=1e-7)),
    ("Adam", adam, dict(norm_coefficient_post=0.1)),
    ("Momentum", momentum, dict(norm_coefficient=0.01, alpha=0.95, beta=0.1, mode="standard")),
    ("Momentum", momentum, dict(norm_coefficient=0.0, alpha=0.95, beta=1.0, mode="nesterov")),
)


def optimizers():
    """Two tensors in one node, as graphs()."""
    random = np.random.default_rng(4)
    for name, function, attributes in OPTIMIZERS:
        for t in (0, 3):
            kept = {"Adagrad": 1, "Adam": 2, "Momentum": 1}[name]
            lists = [[random.uniform(0.1, 2, shape) for shape in ((2, ), (3, 2))]
                     for _ in range(2 + kept)]
            names = [f"{letter}{i}" for letter in "xgvh"[:2 + kept] for i in (0, 1)]
            outputs = [f"new_{one}" for one in names if one[0] != "g"]
            single = {  # attributes are f32
                key: float(np.float32(one)) if isinstance(one, float) else one
                for key, one in attributes.items()
            }
            wanted = [function(0.1, t, *one, **single) for one in zip(*lists)]
            yield (f"{name} {t} {attributes}", [
                node(name, ", ".join(["r", "t", *names]), ", ".join(outputs), domain=DOMAIN,
                     **attributes)
            ], {"r": 0.1, **dict(zip(names, sum(lists, [])))}, outputs,
                   [one[i] for i in range(1 + kept) for one in wanted],
                   [tensor("t", "i64", [], [t])])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--device", choices=("cpu", "cuda-emu"), default="cpu")
    arguments = parser.parse_args()
    cases, names, device = Cases(), arguments.names, "cpu"
    if arguments.device == "cuda-emu":
        emulate()
        device = "cuda"
    torch.set_default_dtype(torch.float64)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "case")
        for case in CASES:
            if names and case.name not in names:
                continue
            with cases.case(case.name):
                run_case(case, path, device)
        for name, *arguments in (*graphs(), *optimizers()):
            if not names or name in names:
                with cases.case(name):
                    run_graph(path, device, *arguments)
    return cases.finish()


sys.exit(main())
