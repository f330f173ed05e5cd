"""ONNX's own test runner (onnx.backend.test) drives dlc: one in PARTS of its node tests that pass
by test/conformance/onnx_passing.txt, drawn by cases.py, and what the backend says of devices
and bad models."""
import os
import sys
import unittest
import warnings

import numpy as np
import onnx
import onnx.backend.test

from models import TEST, Cases, Failure, expect, expect_array, refused

import dlc.onnx_backend as backend

sys.path.insert(0, os.path.join(TEST, "conformance"))
from cases import takes  # noqa: E402

PARTS = 16
# Tests of ops that draw numbers, of which theirs are NumPy's; test/conformance/onnx_promises.py
# holds what can be said of ours.
DRAWS = ("test_bernoulli", "test_training_dropout")
# Its stored result is further from the exact one than the runner's tolerance;
# test/conformance/run_onnx.py compares with the exact one.
INEXACT = {"test_dft_inverse"}
X = np.array([[-1, 2], [3, -4]], np.float32)


def node_tests():
    """The chosen tests as a suite. ONNX names its cases by devices; those of other devices than the
    CPU are skipped."""
    with open(os.path.join(TEST, "conformance", "onnx_passing.txt"), encoding="utf-8") as source:
        passing = {
            line.strip()
            for line in source if line.startswith("test_") and not line.startswith(DRAWS)
        } - INEXACT
    runner = onnx.backend.test.BackendTest(backend, __name__)
    found = [
        case for group in runner.test_cases.values()
        for case in unittest.defaultTestLoader.loadTestsFromTestCase(group)
        if case.id().rsplit(".", 1)[-1].endswith("_cpu")
        and case.id().rsplit(".", 1)[-1][:-len("_cpu")] in passing
    ]
    return [
        case for case in sorted(found, key=lambda case: case.id())
        if takes(case.id().rsplit(".", 1)[-1], PARTS)
    ]


def relu():
    values = [
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 2]) for name in "xy"
    ]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "relu",
                                   values[:1], values[1:])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)],
                                  ir_version=8)


def run_model():
    for inputs in ([X], X, {"x": X}):
        expect_array(backend.prepare(relu(), "CPU").run(inputs).y, np.maximum(X, 0))
    expect_array(backend.run_model(relu(), [X])[0], np.maximum(X, 0))


def run_node():
    node = onnx.helper.make_node("Add", ["a", "b"], ["sum"])
    expect_array(backend.run_node(node, [X, X])[0], X + X)
    expect_array(backend.run_node(node, [X, X], outputs_info=[(np.float32, (2, 2))])[0], X + X)


def devices():
    expect([backend.supports_device(name) for name in ("CPU", "CUDA", "CUDA:1", "TPU")],
           [True, True, True, False])
    with refused("unknown device 'TPU'; expected CPU, CUDA or CUDA:N"):
        backend.prepare(relu(), "TPU")


def refusals():
    model = relu()
    model.graph.node[0].op_type = "NoSuchOp"
    model.graph.node[0].domain = "of.nobody"
    model.opset_import.append(onnx.helper.make_opsetid("of.nobody", 1))
    try:
        backend.prepare(model).run([X])
    except backend.CompileError as error:
        expect("NoSuchOp" in str(error), True)
        return
    raise Failure("an unknown op was compiled")


def main():
    cases = Cases()
    for function in (run_model, run_node, devices, refusals):
        with cases.case(function.__name__):
            function()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ONNX computes what it expects, infinities too
        chosen = node_tests()
    with cases.case("the runner has tests of all kinds"):
        if len(chosen) < 30:
            raise Failure(f"{len(chosen)} tests of ONNX's runner were chosen, expected at least 30")
    for test in chosen:
        with cases.case(test.id().rsplit(".", 1)[-1]), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = unittest.TestResult()
            test.run(result)
            for _, said in result.errors + result.failures:
                raise Failure(said.strip()[-800:])
            if result.skipped:
                raise Failure(f"skipped: {result.skipped[0][1]}")
    return cases.finish()


if __name__ == "__main__":
    sys.exit(main())
