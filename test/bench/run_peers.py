#!/usr/bin/env python3
"""The benchmarks against peers, without a GPU: they run on the processor at small sizes, say what
is missing, and let nothing wrong be timed."""
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "conformance"))
from cases import Cases, Failure  # noqa: E402

import torch  # noqa: E402


def run(*arguments, script="peers.py", expect=0, **environment):
    process = subprocess.run(
        [sys.executable, os.path.join(HERE, script), *arguments], capture_output=True, text=True,
        env={**os.environ, **environment})
    if process.returncode != expect:
        raise Failure(
            f"exit status {process.returncode}, expected {expect}\n{process.stdout[-1500:]}{process.stderr[-1500:]}"
        )
    return process.stdout + process.stderr


def small(folder):
    path = os.path.join(folder, "peers.json")
    run("--device", "cpu", "--small", "--rounds", "3", "--output", path)
    with open(path, encoding="utf-8") as source:
        found = json.load(source)
    if len(found["models"]) < 8:
        raise Failure(f"{len(found['models'])} models")
    for entry in found["models"]:
        if entry["wrong"]:
            raise Failure(f"{entry['model']}: {entry['wrong']}")
        ours = entry["peers"].get("dlc", {}).get("wall_seconds")
        if not ours or ours["rounds"] != 3 or not 0 < ours["low"] <= ours["median"] <= ours["high"]:
            raise Failure(f"{entry['model']}: no times of dlc: {entry['peers']}")
        if "torch eager in a CUDA graph" not in entry["left_out"]:
            raise Failure("it does not say that CUDA graphs are missing here")
    if not any("torch eager" in entry["peers"] and entry["best_peer_over_dlc"] > 0
               for entry in found["models"]):
        raise Failure("no model was measured beside PyTorch")


def gate(folder):
    """A compiled model that computes something else is no result: its time is not taken."""
    tool = os.path.join(folder, "bin")
    os.makedirs(tool)
    build = os.environ.get("DLC_BUILD_DIR",
                           os.path.join(os.path.dirname(os.path.dirname(HERE)), "build"))
    os.symlink(os.path.join(build, "lib"), os.path.join(folder, "lib"))
    with open(os.path.join(tool, "dlc"), "w", encoding="utf-8") as out:
        out.write(
            f'#!/bin/bash\nsed -i "s/softmax(x, dim=-1)/softmax(x, dim=0)/" "$2"\nexec {build}/bin/dlc "$@"\n'
        )
    os.chmod(os.path.join(tool, "dlc"), 0o755)
    said = run("--device", "cpu", "--small", "--rounds", "1", "--model", "softmax", expect=1,
               DLC_BUILD_DIR=folder)
    if "WRONG: is off by" not in said or "best peer" in said:
        raise Failure(said)


def workloads():
    """Two of the workloads that a GPU is measured with agree with PyTorch, and each has its module.
    """
    sys.path.insert(0, os.path.join(HERE, "workloads"))
    import table
    import torch_peers
    said = run("--device", "cpu", "MLP", "MNIST", script="workloads/measure.py")
    if "2 right, 0 wrong" not in said:
        raise Failure(said)
    for name, workload in table.TABLE.items():
        if sum(1 for pattern, _ in torch_peers.MODULES
               if re.match(pattern, name)) == 0 or not torch_peers.inputs_of(workload.text):
            raise Failure(f"'{name}' has no module or no inputs")


def machine_code():
    """What the kernels of a workload take, where NVRTC compiles them."""
    said = run("MLP", script="workloads/estimates.py")
    row = re.search(r"^  MLP .* (?:rows|chain) +1 x +[\d.]+ +\S+ +(\d+) +0 +[\d.]+ +(\d+)$", said,
                    re.M)
    if not (row and 16 <= int(row[1]) <= 255
            and int(row[2]) > 50) and "need NVRTC, which is not installed here" not in said:
        raise Failure(said)


def main():
    cases = Cases()
    with tempfile.TemporaryDirectory() as folder:
        with cases.case("all models at small sizes on the processor"):
            small(folder)
    with tempfile.TemporaryDirectory() as folder:
        with cases.case("what computes something else is not timed"):
            gate(folder)
    with cases.case("workloads on the processor"):
        workloads()
    with cases.case("estimates and machine code of a workload"):
        machine_code()
    with cases.case("a workload that there is not"):
        if "no workload's name contains" not in run("nothing", script="workloads/measure.py",
                                                    expect=2):
            raise Failure("another message")
    with cases.case("a model that there is not"):
        if "no model's name contains" not in run("--device", "cpu", "--model", "nothing", expect=2):
            raise Failure("another message")
    if torch.cuda.is_available():
        cases.leave_out(1, "what it says without a GPU: there is one")
    else:
        with cases.case("--device cuda without a GPU"):
            if "finds no CUDA GPU" not in run("--device", "cuda", expect=5):
                raise Failure("another message")
            if "finds no CUDA GPU" not in run("MLP", script="workloads/measure.py", expect=5):
                raise Failure("another message")
    return cases.finish()


sys.exit(main())
