#!/usr/bin/env python3
"""A package cut off at every length and flipped at every byte is refused with a sentence, or still
gives the right bits; it never crashes.

The damage is done in worker processes, each with a stretch of the file: a crash shows as a worker
that died."""
import multiprocessing
import multiprocessing.pool
import os
import subprocess
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "examples"))
sys.path.insert(0, HERE)
import safetensors  # noqa: E402
from runtime_library import Runtime  # noqa: E402

BUILD = os.environ.get("DLC_BUILD_DIR", os.path.join(ROOT, "build"))
LIBRARY = os.environ.get("DLC_RUNTIME_LIBRARY", os.path.join(BUILD, "lib", "libdlc_runtime.so"))
OUT = os.path.join(BUILD, "test-logs", "package")
SHAPE = (2, 3)
STRETCH = 2048
# Statuses that say "this file": anything else blames the wrong thing.
REFUSALS = {3, 6}


def make_package():
    os.makedirs(OUT, exist_ok=True)
    random = np.random.RandomState(3)

    def normal(*shape):
        return random.standard_normal(shape).astype(np.float32)
    safetensors.save(
        os.path.join(OUT, "small.safetensors"), {
            "conv.weight": normal(2, 1, 3, 3), "bn.weight": normal(2), "bn.bias": normal(2),
            "bn.running_mean": normal(2), "bn.running_var": np.abs(normal(2)) + np.float32(0.5),
            "fc.weight": normal(3, 8), "fc.bias": normal(3)
        })
    path = os.path.join(OUT, "small.bin")
    subprocess.run([
        os.path.join(BUILD, "bin", "dlc"), "compile",
        os.path.join(HERE, "small.dl"), "-o", path, "--weights",
        os.path.join(OUT, "small.safetensors")
    ], check=True)
    return np.fromfile(path, np.uint8)


def judge(runtime, package, data, expected, what):
    status, sentence, output = runtime.run(package, data, SHAPE)
    if status == 0:
        return [] if output.tobytes() == expected else [
            f"{what}: accepted, and the result is wrong"
        ]
    if status not in REFUSALS or not sentence:
        return [
            f"{what}: status {status}, '{sentence}'; expected a refusal of the file (3 or 6) with a sentence"
        ]
    return []


def stretch(kind, begin, end, package, data, expected, results):
    runtime, problems = Runtime(LIBRARY), []
    for offset in range(begin, end):
        if kind == "cut":
            damaged = package[:offset].copy()
            if runtime.run(damaged, data, SHAPE)[0] == 0:
                problems.append(f"cut to {offset} bytes: accepted")
            else:
                problems += judge(runtime, damaged, data, expected, f"cut to {offset} bytes")
        else:
            for bits in (0x01, 0x80, 0xFF):
                damaged = package.copy()
                damaged[offset] ^= bits
                problems += judge(runtime, damaged, data, expected,
                                  f"byte {offset} xor {bits:#04x}")
    results.put(problems[:20])  # a pipe holds so much while nobody reads


def in_worker(arguments):
    results = multiprocessing.SimpleQueue()
    worker = multiprocessing.Process(target=stretch, args=(*arguments, results))
    worker.start()
    worker.join()
    kind, begin, end = arguments[:3]
    if worker.exitcode:
        return [f"{kind} in {begin}..{end - 1}: the runtime crashed (exit code {worker.exitcode})"]
    return results.get()


def main():
    package = make_package()
    data = np.random.RandomState(4).standard_normal((2, 1, 4, 4)).astype(np.float32)
    status, sentence, output = Runtime(LIBRARY).run(package, data, SHAPE)
    if status:
        print(f"FAILED the undamaged package: status {status}: {sentence}\n0 passed, 1 failed")
        return 1
    print(f"{package.size} bytes")
    expected = output.tobytes()
    passed = failed = 0
    for kind in ("cut", "flip"):
        tasks = [(kind, begin, min(begin + STRETCH, package.size), package, data, expected)
                 for begin in range(0, package.size, STRETCH)]
        with multiprocessing.pool.ThreadPool(int(os.environ.get("DLC_JOBS", "2"))) as pool:
            for task, problems in zip(tasks, pool.imap(in_worker, tasks)):
                failed += bool(problems)
                passed += not problems
                for problem in problems[:5]:
                    print(f"FAILED {problem}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


sys.exit(main())
