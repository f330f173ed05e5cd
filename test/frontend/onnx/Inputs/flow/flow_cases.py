"""Compiles ONNX files whose data decide what runs, and compares runs with NumPy."""
import concurrent.futures
import os
import subprocess
import sys

import numpy as np
INPUTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [INPUTS, os.path.join(INPUTS.split("/frontend/onnx/")[0], "conformance")]
from cases import takes  # noqa: E402
from onnx_writer import DTYPES, field, graph, model, tensor, value

NUMPY = {"f32": np.float32, "i64": np.int64, "bool": bool}
# The emulated GPU takes part in cases that say so.
CPU, BOTH = ("cpu",), ("cpu", "cuda-emu")
f32, i64 = np.float32, np.int64
# Which cases are imported as text, too.
TEXT_PARTS = 3


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
    taken = [
        value("i", "i64", ()),
        value("go", "bool", ()),
        *(value(n, "f32", None) if isinstance(n, str) else n for n in inputs)
    ]
    return "graph", graph(nodes, taken, outputs, tensors)


def branch(nodes, outputs, tensors=()):
    return "graph", graph(nodes, (), outputs, tensors)


class Cases:
    def __init__(self, folder):
        self.folder = folder
        self.cases = []

    def add(self, name, nodes, inputs, tensors, reference, runs, refused=(), not_imported=None,
            devices=CPU, opset=17, outputs=("y", ), options=(), within=1e-5, text=False):
        """`inputs`: (name, dtype, dims) each; `reference` gets the arrays of one of `runs` and
        returns an array for each output. `refused`: pairs of arrays and a part of what the run says
        of them. `not_imported`: what the import says, or parts of it. `text`: it is imported as
        text, by the seed."""
        self.cases.append((name, nodes, inputs, tensors, reference, runs, refused, not_imported,
                           devices, opset, outputs, options, within, text))

    def run(self):
        if "--write" in sys.argv:  # as seeds of a fuzzer
            for case in self.cases:
                self.write(*case)
            return
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda case: self.check(*case), self.cases))
        problems = [problem for result in results for problem in result if problem]
        for problem in problems:
            print("FAILED", problem)
        print(
            f"{sum(len(result) for result in results) - len(problems)} passed, {len(problems)} failed"
        )
        sys.exit(len(problems) > 0)

    def write(self, name, nodes, inputs, tensors, reference, runs, refused, not_imported, devices,
              opset, outputs, *_):
        stem = os.path.join(self.folder, name)
        with open(stem + ".onnx", "wb") as out:
            out.write(model(nodes, [value(*one) for one in inputs], outputs, tensors, opset=opset))
        return stem

    def check(self, name, nodes, inputs, tensors, reference, runs, refused, not_imported, devices,
              opset, outputs, options, within, text):
        stem = self.write(name, nodes, inputs, tensors, reference, runs, refused, not_imported,
                          devices, opset, outputs)
        targets = "cpu" if devices == CPU else "cpu,cuda"
        done = command("compile", stem + ".onnx", "--target", targets, "-o", stem + ".bin",
                       *options)
        if not_imported:
            parts = [not_imported] if isinstance(not_imported, str) else not_imported
            return ["" if done.returncode and all(part in done.stderr for part in parts) else
                    f"{name}: expected {not_imported!r}, got {done.returncode}: {done.stderr}"]
        if done.returncode:
            return [f"{name}: {done.stderr}"]
        results = []
        if text or takes(name, TEXT_PARTS):
            results.append(self.check_text(name, stem, inputs, runs[0], reference, outputs, within))
        for given, sentence in [(one, None) for one in runs] + list(refused):
            arrays, words = saved(stem, inputs, given)
            what = f"{name} at {[a.tolist() if a.size < 5 else list(a.shape) for a in arrays]}"
            for device in devices:
                done = command("run", stem + ".bin", "--device", device, *words, "--output",
                               f"@{stem}.npz")
                if sentence is not None:
                    good = done.returncode == 2 and sentence in done.stderr
                    results.append(
                        "" if good else
                        f"{what}: expected {sentence!r}, got {done.returncode}: {done.stderr}")
                elif done.returncode:
                    results.append(f"{what} on {device}: {done.stderr}")
                else:
                    results += [
                        difference(f"{what} on {device}", stem + ".npz", output, array, within)
                        for output, array in expected_of(reference, arrays, outputs)
                    ]
        return results

    def check_text(self, name, stem, inputs, given, reference, outputs, within):
        """The text that dlc import writes is the same model."""
        arrays, words = saved(stem, inputs, given)
        for step in (("import", stem + ".onnx", "-o", stem + ".dl"),
                     ("compile", stem + ".dl", "--target", "cpu", "-o", stem + "_text.bin"),
                     ("run", stem + "_text.bin", *words, "--output", f"@{stem}_text.npz")):
            done = command(*step)
            if done.returncode:
                return f"{name} as text: dlc {step[0]}: {done.stderr}"
        problems = [difference(f"{name} as text", stem + "_text.npz", output, array, within)
                    for output, array in expected_of(reference, arrays, outputs)]
        return "\n".join(filter(None, problems))


def saved(stem, inputs, given):
    """The arrays of a run, and the options of dlc run that read them from files."""
    arrays = [
        np.asarray(array).astype(NUMPY[dtype])
        for (_, dtype, _), array in zip(inputs, given, strict=True)
    ]
    words = []
    for (name, _, _), array in zip(inputs, arrays):
        np.save(f"{stem}_{name}.npy", array)
        words += ["--input", f"{name}=@{stem}_{name}.npy"]
    return arrays, words


def expected_of(reference, arrays, outputs):
    expected = reference(*(array.item() if array.ndim == 0 else array for array in arrays))
    return zip(outputs, expected if isinstance(expected, tuple) else (expected,), strict=True)


def command(*words):
    return subprocess.run(["dlc", *words], capture_output=True, text=True)


def softmax(v):
    e = np.exp(v - v.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def difference(what, path, output, expected, within):
    with np.load(path) as held:
        got = held[output]
    expected = np.asarray(expected)
    if got.shape == expected.shape and np.allclose(got, expected, rtol=within, atol=within):
        return ""
    return f"{what}: {output} is {got.shape} {got.ravel()[:6]}, expected {expected.shape} {expected.ravel()[:6]}"
