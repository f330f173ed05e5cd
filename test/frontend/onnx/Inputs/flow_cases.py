"""Compiles ONNX files whose data decide what runs, and compares runs with NumPy."""
import concurrent.futures
import os
import subprocess
import sys

import numpy as np
from onnx_writer import DTYPES, field, graph, model, tensor, value

NUMPY = {"f32": np.float32, "i64": np.int64, "bool": bool}
# The emulated GPU takes part in cases that say so.
CPU, BOTH = ("cpu",), ("cpu", "cuda-emu")
f32, i64 = np.float32, np.int64


def ints(name, *numbers):
    return tensor(name, "i64", [len(numbers)], numbers)


def scalar(name, number, dtype="i64"):
    return tensor(name, dtype, [], [number])


def reals(name, array):
    array = np.asarray(array, f32)
    return tensor(name, "f32", array.shape, array.ravel().tolist())


def x(*dims, dtype="f32", name="x"):
    return name, dtype, dims


def loose(*names, dtype="f32"):
    """Values of a graph inside a node, without dims."""
    return tuple(value(name, dtype, None) for name in names)


def sequence(name, dtype="f32"):
    return field(1, name) + field(2, field(4, field(1, field(1, field(1, DTYPES[dtype])))))


def body(nodes, inputs, outputs, tensors=()):
    """The body of a loop: the number of the step and whether it goes on come first."""
    taken = [value("i", "i64", ()), value("go", "bool", ()), *(value(n, "f32", None) if isinstance(n, str) else n for n in inputs)]
    return "graph", graph(nodes, taken, outputs, tensors)


def branch(nodes, outputs, tensors=()):
    return "graph", graph(nodes, (), outputs, tensors)


class Cases:
    def __init__(self, folder):
        self.folder = folder
        self.cases = []

    def add(self, name, nodes, inputs, tensors, reference, runs, refused=(), not_imported=None, devices=CPU, opset=17, outputs=("y",),
            options=(), within=1e-5):
        """`inputs`: (name, dtype, dims) each; `reference` gets the arrays of one of `runs` and returns an array for each output. `refused`:
        pairs of arrays and a part of what the run says of them. `not_imported`: what the import says, or parts of it."""
        self.cases.append((name, nodes, inputs, tensors, reference, runs, refused, not_imported, devices, opset, outputs, options, within))

    def run(self):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda case: self.check(*case), self.cases))
        problems = [problem for result in results for problem in result if problem]
        for problem in problems:
            print("FAILED", problem)
        print(f"{sum(len(result) for result in results) - len(problems)} passed, {len(problems)} failed")
        sys.exit(len(problems) > 0)

    def check(self, name, nodes, inputs, tensors, reference, runs, refused, not_imported, devices, opset, outputs, options, within):
        stem = os.path.join(self.folder, name)
        with open(stem + ".onnx", "wb") as out:
            out.write(model(nodes, [value(*one) for one in inputs], outputs, tensors, opset=opset))
        targets = "cpu" if devices == CPU else "cpu,cuda"
        done = command("compile", stem + ".onnx", "--target", targets, "-o", stem + ".bin", *options)
        if not_imported:
            parts = [not_imported] if isinstance(not_imported, str) else not_imported
            return ["" if done.returncode and all(part in done.stderr for part in parts) else
                    f"{name}: expected {not_imported!r}, got {done.returncode}: {done.stderr}"]
        if done.returncode:
            return [f"{name}: {done.stderr}"]
        results = []
        for given, sentence in [(one, None) for one in runs] + list(refused):
            arrays = [np.asarray(array).astype(NUMPY[dtype]) for (_, dtype, _), array in zip(inputs, given, strict=True)]
            words = []
            for (input_name, _, _), array in zip(inputs, arrays):
                np.save(f"{stem}_{input_name}.npy", array)
                words += ["--input", f"{input_name}=@{stem}_{input_name}.npy"]
            what = f"{name} at {[a.tolist() if a.size < 5 else list(a.shape) for a in arrays]}"
            for device in devices:
                done = command("run", stem + ".bin", "--device", device, *words, "--output", f"@{stem}.npz")
                if sentence is not None:
                    good = done.returncode == 2 and sentence in done.stderr
                    results.append("" if good else f"{what}: expected {sentence!r}, got {done.returncode}: {done.stderr}")
                elif done.returncode:
                    results.append(f"{what} on {device}: {done.stderr}")
                else:
                    expected = reference(*(array.item() if array.ndim == 0 else array for array in arrays))
                    expected = expected if isinstance(expected, tuple) else (expected,)
                    results += [difference(f"{what} on {device}", stem + ".npz", output, array, within)
                                for output, array in zip(outputs, expected, strict=True)]
        return results


def command(*words):
    return subprocess.run(["dlc", *words], capture_output=True, text=True)


def difference(what, path, output, expected, within):
    with np.load(path) as held:
        got = held[output]
    expected = np.asarray(expected)
    if got.shape == expected.shape and np.allclose(got, expected, rtol=within, atol=within):
        return ""
    return f"{what}: {output} is {got.shape} {got.ravel()[:6]}, expected {expected.shape} {expected.ravel()[:6]}"
