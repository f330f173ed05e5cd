"""What computes the rows: the reference interpreter, and what dlc compiles for the CPU and for CUDA."""
import os
import subprocess
import tempfile

import numpy as np

import accuracy as acc
from modules import to_bytes

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("DLC_BUILD_DIR", os.path.join(ROOT, "build"))


class Failure(Exception):
    """A row could not be computed."""


class Missing(Exception):
    """The build does not have this voice."""


def execute(command, timeout=300):
    try:
        run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=timeout)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failure(f"{command[0]}: {error}") from None
    if run.returncode:
        raise Failure(f"exit status {run.returncode}: {(run.stderr + run.stdout).strip()[-600:]}")


class Reference:
    """The interpreter (Reference.cpp), floats unrounded."""

    def __init__(self):
        self.program = os.path.join(BUILD, "bin", "numeric", "numeric-reference")
        if not os.path.exists(self.program):
            raise Missing(f"{self.program} was not built")

    def run(self, module, cases, sizes):
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in ("module.mlir", "symbols", "inputs", "outputs")]
            with open(paths[0], "w") as file:
                file.write(module)
            with open(paths[1], "w") as file:
                file.writelines(f"{n}\n" for n in sizes)
            with open(paths[2], "wb") as file:
                for n in sizes:
                    for case in cases:
                        file.writelines(to_bytes(x) for x in case.inputs(n))
            execute([self.program, *paths])
            with open(paths[3], "rb") as file:
                data = file.read()
        results, offset = [[] for _ in cases], 0
        for n in sizes:
            for case, collected in zip(cases, results):
                dims = case.dims(case.row.result, n)
                count = int(np.prod(dims, dtype=np.int64))
                kind = np.float64 if case.result_dtype in acc.FORMATS else np.int64
                collected.append(np.frombuffer(data, kind, count, offset).reshape(dims))
                offset += 8 * count
        if offset != len(data):
            raise Failure(f"{len(data)} bytes of results, expected {offset}")
        return results


VOICES = {"reference": Reference}
