"""The dlc of the build as Python functions. Whatever it refuses becomes a Failure that quotes it.
"""
import os
import subprocess
import tempfile

import numpy as np

from cases import Failure

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("DLC_BUILD_DIR", os.path.join(ROOT, "build"))
DLC = os.environ.get("DLC_TOOL", os.path.join(BUILD, "bin", "dlc"))
TRANSLATE = os.path.join(BUILD, "bin", "dlc-translate")
TIMEOUT = 300


def run_tool(*command, cwd=None, timeout=TIMEOUT):
    command = [*map(str, command)]
    try:
        run = subprocess.run(command, capture_output=True, text=True, errors="replace",
                             timeout=timeout, cwd=cwd)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failure(f"{' '.join(command)}: {error}") from None
    if run.returncode:
        said = (run.stderr + run.stdout).strip()[-1500:]
        raise Failure(f"exit status {run.returncode} from {' '.join(command)}\n{said}")
    return run.stdout


def dlc(*arguments, cwd=None):
    return run_tool(DLC, *arguments, cwd=cwd)


def dlc_translate(*arguments):
    return run_tool(TRANSLATE, *arguments)


def compile_model(model, output, weights=None, *flags, cwd=None):
    dlc("compile", model, "-o", output, *(["--weights", weights] if weights else []), *flags,
        cwd=cwd)
    if not os.path.getsize(output):
        raise Failure(f"{output} is empty")


def run_model(package, inputs, outputs, *flags):
    """Runs `inputs` (name -> array) and returns the arrays named in `outputs`."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = []
        for name, array in inputs.items():
            np.save(os.path.join(folder, f"in_{name}.npy"), array)
            arguments += ["--input", f"{name}=@{folder}/in_{name}.npy"]
        for name in outputs:
            arguments += ["--output", f"{name}=@{folder}/out_{name}.npy"]
        dlc("run", package, *arguments, *flags)
        return [np.load(os.path.join(folder, f"out_{name}.npy")) for name in outputs]


def expect_close(actual, expected, rtol, atol):
    """|actual - expected| <= atol + rtol |expected|, element by element; NaN is never close."""
    if actual.shape != expected.shape:
        raise Failure(f"shape {list(actual.shape)}, expected {list(expected.shape)}")
    excess = np.abs(actual.astype(np.float64) - expected) - rtol * np.abs(expected)
    if not np.all(excess <= atol):
        worst = np.unravel_index(np.argmax(np.where(np.isnan(excess), np.inf, excess)),
                                 excess.shape)
        index = [int(i) for i in worst]
        raise Failure(
            f"{int((~(excess <= atol)).sum())} of {excess.size} values differ by more than {rtol} relative "
            f"+ {atol}; worst at {index}: {actual[worst]!r}, expected {expected[worst]!r}")
