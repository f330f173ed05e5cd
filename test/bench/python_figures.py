#!/usr/bin/env python3
"""What dlc promises about its Python package, measured on this machine, each figure beside its
goal: what a call takes beyond the C API, what enqueueing a run takes its caller, what `import dlc`
takes, and how large the wheel is. Nothing here is a test: times depend on the machine, so they are
printed, not judged (test/python/speed.py and run_wheel.py judge)."""
import glob
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "test", "python"))
import speed  # noqa: E402
from models import BUILD  # noqa: E402
from run_bench import processor  # noqa: E402

ENQUEUE_GOAL = 5.0  # microseconds
WHEEL_GOAL = 40.0   # MiB


def line(what, figure, goal, unit):
    print(f"{what:60} {figure:8.2f} {unit:3}   goal: at most {goal:g} {unit}")


def calls():
    own = "a call beyond the C API, MLP of two layers on the CPU"
    python, c_api = speed.call_times(np.ones((1, 16), np.float32))
    line(f"{own}, NumPy", python - c_api, speed.LIMIT, "us")
    try:
        import torch
    except ImportError:
        print("  PyTorch is not installed: no figure of a call with its tensors")
        return
    python, c_api = speed.call_times(torch.ones(1, 16))
    allocation = speed.microseconds(lambda: torch.empty((1, 4), dtype=torch.float32))
    line(f"{own}, PyTorch", python - c_api - allocation, speed.LIMIT, "us")


def enqueues():
    """The least of bin/enqueue-time's rounds, as other work of the machine only adds to them, on
    the CPU and on a GPU where there is one."""
    with tempfile.TemporaryDirectory() as folder:
        package = os.path.join(folder, "mlp.bin")
        speed.mlp(output=package, target="cpu,cuda")
        for device in ("cpu", "cuda"):
            done = subprocess.run([os.path.join(BUILD, "bin", "enqueue-time"), package, device],
                                  capture_output=True, text=True)
            if done.returncode:
                print(
                    f"  no figure of an enqueue on {device}: {done.stderr.strip().splitlines()[-1]}"
                )
                continue
            for title, least in re.findall(r"^(.*): least = ([\d.]+) us", done.stdout, re.M):
                line(f"an enqueue, {device}, {title}", float(least), ENQUEUE_GOAL, "us")


def imports():
    took, loaded = speed.import_milliseconds()
    line(
        "import dlc" +
        (f" (which loads {', '.join(loaded)})" if loaded else ", without NumPy and PyTorch"), took,
        speed.IMPORT_LIMIT, "ms")


def wheel():
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([os.path.join(ROOT, "tools", "scripts", "wheel"), folder],
                              capture_output=True, text=True)
        made = glob.glob(os.path.join(folder, "*.whl"))
        if done.returncode or not made:
            print(
                f"  no figure of the wheel: {(done.stderr or done.stdout).strip().splitlines()[-1]}"
            )
            return
        line(f"the wheel, {os.path.basename(made[0])}",
             os.path.getsize(made[0]) / (1 << 20), WHEEL_GOAL, "MiB")


def main():
    print(f"Processor: {processor()}")
    calls()
    enqueues()
    imports()
    wheel()


if __name__ == "__main__":
    main()
