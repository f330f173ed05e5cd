"""Runs dlc on models and weight files made here, and compares what it says letter by letter."""
import os
import subprocess
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "examples"))
import safetensors  # noqa: E402

LINEAR = """dl 1
model M {
  enc.fc: Linear(3, 4)
  head: Linear(4, 2)
  forward(x: f32[2,3]) -> (y: f32[2,2]) {
    y = head(relu(enc.fc(x)))
  }
}
"""
SHAPES = {"enc.fc.weight": (4, 3), "enc.fc.bias": (4,), "head.weight": (2, 4), "head.bias": (2,)}


def numbers(*shape, seed=0):
    return np.random.RandomState(seed + sum(shape)).standard_normal(shape).astype(np.float32)


def tensors(rename=lambda name: name, seed=0, **changes):
    """The tensors of LINEAR under other names; `changes` (with __ for .) replace or, where None,
    remove some."""
    result = {rename(name): numbers(*shape, seed=seed) for name, shape in SHAPES.items()}
    for name, value in changes.items():
        name = name.replace("__", ".")
        if value is None:
            del result[name]
        else:
            result[name] = value
    return result


def save(path, arrays):
    if path.endswith(".npz"):
        np.savez_compressed(path, **arrays)
    else:
        safetensors.save(path, arrays)


def dlc(*arguments):
    return subprocess.run(["dlc", *arguments], capture_output=True, text=True, errors="replace")


DIGITS = os.path.join(ROOT, "examples", "digits")


def make_digits(*types):
    """Makes TYPE.bin of the trained digits for each of `types`, images.npy and labels.npy, in the
    current folder."""
    subprocess.run([sys.executable, os.path.join(DIGITS, "images.py"), "."], check=True)
    for name in types:
        run = dlc("compile", os.path.join(DIGITS, "digits.dl"), "-q", "--precision", name, "-o",
                  name + ".bin")
        if run.returncode:
            sys.exit(f"FAILED {name}.bin: {run.stderr}")


class Suite:
    """Counts cases; `finish` ends the process, and says what failed."""

    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        os.chdir(folder)
        self.passed, self.failed = 0, []

    def expect(self, what, got, expected):
        if got == expected:
            self.passed += 1
        else:
            self.failed.append(f"{what}\n  expected: {expected}\n  got:      {got}")

    def check(self, what, model, files, findings, status=1, *arguments):
        """`dlc check` on the model: its findings without the lines that are quoted from the model.
        """
        with open("m.dl", "w", encoding="utf-8") as out:
            out.write(model)
        for path, arrays in files.items():
            save(path, arrays)
        run = dlc("check", "-q", "m.dl", *arguments)
        lines = [line for line in run.stderr.splitlines()
                 if line.startswith(("m.dl:", "error:", "  weight ", "  '"))]
        self.expect(what, (run.returncode, lines), (status, findings))

    def finish(self):
        for problem in self.failed:
            print("FAILED " + problem)
        print(f"{self.passed} passed, {len(self.failed)} failed")
        sys.exit(bool(self.failed))
