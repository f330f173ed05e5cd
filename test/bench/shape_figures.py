#!/usr/bin/env python3
"""What a change of shape costs, each figure beside its goal: binding a shape of a model with
symbolic dims, and running many shapes in turn beside each of them alone. On CUDA also what the run
of a new shape costs beyond one that replays a graph of its own: the shape is bound, and the graph
that shapes of its form share is given its numbers. The model is GPT-2 with two narrow layers; the
CPU's figures are of this machine, those of CUDA are what the host does on the emulated driver,
which computes no kernel here. Its calls take less time than a real driver's, so how many a run
makes is printed, too. Nothing here is a test: times depend on the machine, so they are printed, not
judged."""
import ctypes
import os
import resource
import statistics
import sys
import tempfile
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
for folder in ("python", "conformance"):
    sys.path.insert(0, os.path.join(ROOT, "test", folder))
import networks  # noqa: E402
from models import BUILD, dlc  # noqa: E402
from run_bench import processor  # noqa: E402

LIBRARIES = os.path.join(BUILD, "lib")
os.environ.setdefault("DLC_LIBCUDA", os.path.join(LIBRARIES, "libdlc_cuda_emu.so"))
os.environ.setdefault("DLC_LIBNVRTC", os.path.join(LIBRARIES, "libdlc_nvrtc_emu.so"))
os.environ.setdefault("DLC_EMU_IDLE", "1")
SIZES = {"VOCAB": 500, "WIDTH": 64, "LAYERS": 2, "HEADS": 4, "POSITIONS": 256}
# Lengths whose shapes need all variants between them.
ALL_VARIANTS = (1, 2, 9, 20, 40, 100, 200, 256)
# All lengths, far apart: the runtime has forgotten nearly each when its turn comes again.
ANY_ORDER = [
    int(length)
    for length in np.random.default_rng(5).permutation(np.arange(1, SIZES["POSITIONS"] + 1))
]


def line(what, figure, goal, unit):
    print(f"{what:80} {figure:8.1f} {unit:3}   goal: at most {goal:g} {unit}", flush=True)


def microseconds(model, length):
    start = time.perf_counter()
    model.prepare({"input_ids": (1, length)})
    return (time.perf_counter() - start) * 1e6


def binding(model, device):
    for length in ALL_VARIANTS:
        model.prepare({"input_ids": (1, length)})
    new = [length for length in range(41, 96) if length not in ALL_VARIANTS]
    inside = [microseconds(model, length) for length in new]
    across = [microseconds(model, length) for length in ANY_ORDER]
    known = [microseconds(model, 60 + number % 8) for number in range(64)][8:]
    line(f"{device}: a new shape that the same variants serve", statistics.median(inside), 30, "us")
    line(f"{device}: any new shape, whatever variants serve it", statistics.median(across), 100,
         "us")
    line(f"{device}: a shape that was bound before", statistics.median(known), 30, "us")


def runs(model):
    """First, second and later runs on CUDA: time of the host and calls of the driver."""
    counted = getattr(ctypes.CDLL(os.environ["DLC_LIBCUDA"]), "dlcEmuCallCount", None)
    if counted:
        counted.restype = ctypes.c_long

    def run(length):
        ids = np.zeros((1, length), np.int64)
        before = counted() if counted else 0
        start = time.perf_counter()
        model(ids)
        passed = (time.perf_counter() - start) * 1e6
        return passed, (counted() if counted else 0) - before

    for length in reversed(ALL_VARIANTS):
        run(length)
    inside = [run(length) for length in range(41, 96)]
    second = [run(95 - number) for number in range(8)]
    own = [run(95 - number % 8) for number in range(64)]
    across = [run(length) for length in ANY_ORDER]
    usual = statistics.median(passed for passed, _ in own)
    for what, found, goal in (("a run of a new shape that the same variants serve", inside[2:], 30),
                              ("a run of any new shape", across, 100), ("the second run of a shape",
                                                                        second, 100)):
        line(f"cuda: {what}, beyond one that replays",
             statistics.median(passed for passed, _ in found) - usual, goal, "us")
    if counted:
        for what, found in (("a new shape", inside[2:]), ("the second run", second),
                            ("a run that replays", own)):
            print(
                f"cuda: calls of the driver, {what}: {statistics.median(calls for _, calls in found):g}"
            )


def turns(model):
    """Runs on the CPU in turn, beside the least time of each shape alone."""
    random = np.random.default_rng(5)
    lengths = sorted({int(length) for length in random.integers(1, 129, 12)})
    ids = {length: random.integers(0, SIZES["VOCAB"], (1, length)) for length in lengths}
    alone = {}
    for length in lengths:
        times = []
        for _ in range(20):
            start = time.perf_counter()
            model(ids[length])
            times.append(time.perf_counter() - start)
        alone[length] = statistics.median(times)
    found = {length: [] for length in lengths}
    for number in range(1000):
        if number == 100:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        length = lengths[int(random.integers(len(lengths)))]
        start = time.perf_counter()
        model(ids[length])
        found[length].append(time.perf_counter() - start)
    together = sum(statistics.median(times) for times in found.values())
    line("cpu: 1000 runs of 12 shapes in turn, of the time of each shape alone",
         100 * together / sum(alone.values()), 105, "%")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    line("cpu: what they add to the process", grown / 1024, 1, "MiB")


def main():
    print(processor())
    with tempfile.TemporaryDirectory() as folder:
        path = networks.write(networks.NETWORKS["gpt2"], folder, "f32", SIZES)
        weights = networks.save_weights(path, os.path.join(folder, "weights.safetensors"))
        for device in ("cpu", "cuda"):
            model = dlc.compile(path, weights=weights, device=device, threads=1, cache_dir="")
            binding(model, device)
            if device == "cpu":
                turns(model)
            else:
                runs(dlc.compile(path, weights=weights, device=device, threads=1, cache_dir=""))


main()
