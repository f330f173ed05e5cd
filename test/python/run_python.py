#!/usr/bin/env python3
"""The Python package dlc of the build (build/python), each file of tests in a Python that has what
it needs.

    run_python.py           all of them
    run_python.py FILE...   these alone: numpy_arrays speed"""
import glob
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("DLC_BUILD_DIR", os.path.join(ROOT, "build"))
LIB = os.path.join(BUILD, "lib")
EMULATOR = {f"DLC_LIB{name.upper()}": os.path.join(LIB, f"libdlc_{file}_emu.so")
            for name, file in (("cuda", "cuda"), ("nvrtc", "nvrtc"), ("cublaslt", "cublaslt"))}
OWN = {
    name: os.path.join(BUILD, f"python-{name}", "bin", "python")
    for name in ("aten", "dlc", "keras", "torch")
}
PYTHON = os.environ.get("DLC_PYTHON", sys.executable)
TIMEOUT = 300
# File: the Python that runs it, what it must be able to import, what is set for it.
FILES = {
    "numpy_arrays": (PYTHON, "numpy", {}),
    "torch_tensors": (PYTHON, "torch", {}),
    "compiling": (OWN["aten"], "torch", {}),
    "gpu_arrays": (PYTHON, "numpy", EMULATOR),
    "shape_variants": (PYTHON, "numpy", EMULATOR),
    "cooperative_contexts": (PYTHON, "numpy", {**EMULATOR, "DLC_EMU_MULTIPROCESSORS": "2"}),
    "jax_arrays": (OWN["keras"], "jax", {"JAX_PLATFORMS": "cpu"}),
    "generation": (OWN["torch"], "numpy", {}),  # beside transformers are tokenizers
    "onnx_runner": (OWN["dlc"], "onnx", {}),
    "speed": (PYTHON, "torch", {}),
}


def run(name):
    """(what it printed, passed, failed) of a file of tests."""
    python, needs, extra = FILES[name]
    env = {**os.environ, **extra}
    probe = [python, "-c", f"import {needs}"]
    if not os.path.exists(python) or subprocess.run(probe, capture_output=True, env=env).returncode:
        return f"1 left out (no {needs} for the tests of {name}: tools/scripts/setup --tests)\n", 0, 0
    try:
        done = subprocess.run([python, os.path.join(HERE, name + ".py")], capture_output=True,
                              text=True, errors="replace", env=env, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return f"FAILED {name}: it did not end in {TIMEOUT} s\n", 0, 1
    counts = re.findall(r"^(\d+) passed, (\d+) failed$", done.stdout, re.M)
    said = re.sub(r"^\d+ passed, \d+ failed\n", "", done.stdout, flags=re.M) + done.stderr
    if not counts:
        return f"{said}FAILED {name}: it ended with {done.returncode} and without a result\n", 0, 1
    return said, *map(int, counts[-1])


def main():
    chosen = sys.argv[1:] or list(FILES)
    if unknown := set(chosen) - set(FILES):
        sys.exit(f"no file of tests is called {unknown.pop()}; there are {', '.join(FILES)}")
    if not glob.glob(os.path.join(BUILD, "python", "dlc", "_runtime.*so")):
        print(
            f"{len(chosen)} left out (the build has no Python package: it needs nanobind, which tools/scripts/setup --tests installs)"
        )
        print("0 passed, 0 failed")
        return 0
    passed = failed = 0
    for name in chosen:
        said, good, bad = run(name)
        print(f"-- {name}: {good} passed, {bad} failed\n{said}", end="", flush=True)
        passed, failed = passed + good, failed + bad
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
