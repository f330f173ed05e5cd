"""Files whose sizes are known when they run: each is compiled once, by the sizes that it declares,
and runs at several."""
import os
import subprocess
import sys

import numpy as np
from onnx_writer import model, tensor, value

random = np.random.default_rng(5)
folder = sys.argv[1]
passed = failed = 0


def ints(name, *numbers):
    return tensor(name, "i64", [len(numbers)], numbers) if len(numbers) != 1 else tensor(
        name, "i64", [1], numbers)


def scalar(name, number, dtype="i64"):
    return tensor(name, dtype, [], [number])


def run(command):
    return subprocess.run(command, capture_output=True, text=True)


def report(name, problem):
    global passed, failed
    passed, failed = passed + (not problem), failed + bool(problem)
    if problem:
        print(f"FAILED {name}: {problem}")


def case(name, nodes, inputs, tensors, reference, sizes, refused=(), notes=(), within=1e-5,
         opset=17, opsets=()):
    """`inputs`: (name, dtype, dims) each; `reference` gets arrays and gives the result. `sizes`:
    lists of shapes, one for each input, at which it runs, and `refused` those that the run refuses,
    each with a part of the sentence. `notes`: what the import says."""
    path = os.path.join(folder, name)
    with open(path + ".onnx", "wb") as out:
        out.write(
            model(nodes, [value(*one) for one in inputs], ("y", ), tensors, opset=opset,
                  opsets=opsets))
    done = run(["dlc", "compile", path + ".onnx", "--target", "cpu", "-o", path + ".bin"])
    if done.returncode:
        return report(name, done.stderr)
    for note in notes:
        report(f"{name}, note",
               "" if note in done.stderr else f"expected {note!r} in: {done.stderr}")
    # The text that import writes means the same.
    done = run(["dlc", "import", path + ".onnx", "-o", path
                + ".dl"]) if not done.returncode else done
    if not done.returncode:
        done = run(["dlc", "compile", path + ".dl", "--target", "cpu", "-o", path + "_text.bin"])
    report(f"{name}, as text", done.stderr if done.returncode else "")
    packages = [path + ".bin"] + ([] if done.returncode else [path + "_text.bin"])
    for shapes, sentence in [(one, None) for one in sizes] + list(refused):
        arrays = []
        for (given, dtype, _), shape in zip(inputs, shapes):
            drawn = shape if isinstance(shape, np.ndarray) else random.standard_normal(shape)
            arrays.append(
                np.asarray(drawn).astype(
                    {"f32": np.float32, "i64": np.int64, "i32": np.int32, "bool": bool}[dtype]))
        command = []
        for (given, _, _), array in zip(inputs, arrays):
            np.save(f"{path}_{given}.npy", array)
            command += ["--input", f"{given}=@{path}_{given}.npy"]
        what = f"{name} at {[list(a.shape) for a in arrays]}"
        for package in packages:
            done = run(["dlc", "run", package, *command, "--output", f"y=@{path}_y.npy"])
            if sentence is not None:
                report(
                    what, "" if done.returncode == 2 and sentence in done.stderr else
                    f"expected a refusal with {sentence!r}, got {done.returncode}: {done.stderr}")
                continue
            if done.returncode:
                report(what, done.stderr)
                continue
            got, expected = np.load(path + "_y.npy"), np.asarray(reference(*arrays))
            good = got.shape == expected.shape and np.allclose(got, expected, rtol=within,
                                                               atol=within)
            report(
                what, "" if good else
                f"got {got.shape} {got.ravel()[:6]}, expected {expected.shape} {expected.ravel()[:6]}"
            )


def x(*dims, dtype="f32", name="x"):
    return name, dtype, dims


def finish():
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)
