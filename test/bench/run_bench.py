#!/usr/bin/env python3
"""The figures that dlc promises (issue "walking skeleton", point 6), measured on this machine.
Nothing here is a test: times depend on the machine, so they are printed, not judged.

Peers alternate with dlc, process by process, so that a change of the machine's mood meets both;
each figure is a median over the rounds, with the smallest and the largest beside it."""
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ["DLC_BUILD_DIR"]
OUT = os.path.join(BUILD, "bench")
DLC = os.path.join(BUILD, "bin", "dlc")
PEER = os.path.join(BUILD, "bin", "onednn-matmul")
ROUNDS, SECONDS, SIZE = 7, 0.5, 512
sys.path.insert(0, os.path.join(ROOT, "examples"))
import safetensors  # noqa: E402


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as source:
        names = re.findall(r"^model name\s*:\s*(.*)$", source.read(), re.M)
    return f"{names[0] if names else platform.processor()}, {os.cpu_count()} processors"


def output(*command, **environment):
    run = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                         env={**os.environ, **environment})
    if run.returncode:
        sys.exit(
            f"error: exit status {run.returncode} from {' '.join(map(str, command))}\n{run.stdout}{run.stderr}"
        )
    return run.stdout


def median_ms(text):
    """The median of a latency line: 'Latency: min = ... median = 1.5 ms', or the peer's 'median =
    1.5 ms'."""
    line = next((l for l in text.splitlines() if l.startswith("Latency:")), text)
    value, unit = re.search(r"median = ([\d.]+) ?(us|ms|s)?", line).groups()
    return float(value) * {"us": 1e-3, "ms": 1, "s": 1e3, None: 1}[unit]


def spread(values):
    return f"{statistics.median(values):8.3f} ms   ({min(values):.3f} .. {max(values):.3f}, {len(values)} rounds)"


def wall_ms(*command):
    begin = time.perf_counter()
    output(*command)
    return 1e3 * (time.perf_counter() - begin)


def product(title, model, weights, inputs, peer_flags, threads=2):
    package = os.path.join(OUT, os.path.basename(model) + ".bin")
    output(DLC, "compile", model, "-o", package, *(["--weights", weights] if weights else []))
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(
            median_ms(
                output(DLC, "bench", package, *inputs, "--threads", threads, "--duration",
                       SECONDS)))
        if os.path.exists(PEER):
            theirs.append(
                median_ms(output(PEER, SIZE, SECONDS, *peer_flags, OMP_NUM_THREADS=str(threads))))
    flop = 2e-6 * SIZE ** 3
    print(f"{title}, {threads} threads")
    print(f"  dlc     {spread(ours)}   {flop / statistics.median(ours):7.1f} GFLOP/s")
    if theirs:
        print(f"  oneDNN  {spread(theirs)}   {flop / statistics.median(theirs):7.1f} GFLOP/s")
        print(
            f"  dlc reaches {100 * statistics.median(theirs) / statistics.median(ours):.0f} % of oneDNN"
        )
    else:
        print("  oneDNN is not installed: run tools/scripts/setup --tests")


def start_up():
    weights = os.path.join(OUT, "mnist.safetensors")
    subprocess.run(
        [sys.executable, os.path.join(ROOT, "examples/mnist/weights.py"), OUT], check=True)
    package = os.path.join(OUT, "mnist.bin")
    model = os.path.join(ROOT, "examples/mnist/mnist.dl")
    compiles = [
        wall_ms(DLC, "compile", model, "-o", package, "--weights", weights) for _ in range(ROUNDS)
    ]
    print(f"MNIST CNN, dlc compile (whole process)\n          {spread(compiles)}")
    runs = [
        wall_ms(DLC, "run", package, "--input", "x=1x1x28x28xf32=random") for _ in range(3 * ROUNDS)
    ]
    print(f"MNIST CNN, process start to first result and exit (dlc run)\n          {spread(runs)}")


def enqueue_times():
    """Issue "asynchronous runs": an enqueue takes at most 5 us on the host. Of the MNIST network
    that start_up() compiles."""
    program, package = os.path.join(BUILD, "bin", "enqueue-time"), os.path.join(OUT, "mnist.bin")
    library = lambda name: os.path.join(BUILD, "lib", f"libdlc_{name}_emu.so")
    print("MNIST CNN, dlc_context_enqueue (goal: 5 us)")
    for title, device, environment in (("CPU", "cpu", {}),
                                       ("emulated GPU, the emulator's own time included", "cuda", {
                                           "DLC_LIBCUDA": library("cuda"),
                                           "DLC_LIBNVRTC": library("nvrtc"),
                                           "DLC_LIBCUBLASLT": library("cublaslt")
                                       })):
        for line in output(program, package, device, **environment).splitlines():
            print(f"  {title}: {line.strip()}")


def runtime_size():
    library = os.path.join(BUILD, "lib", "libdlc_runtime.so")
    with tempfile.TemporaryDirectory() as folder:
        stripped = os.path.join(folder, "stripped.so")
        subprocess.run(["strip", "-o", stripped, library], check=True)
        print(f"libdlc_runtime.so, stripped: {os.path.getsize(stripped)} bytes")


def seeded_weights(model, path):
    """Weights of the names and shapes that the model asks for; batch-norm statistics stay positive.
    """
    text = output(os.path.join(BUILD, "bin", "dlc-translate"), "--import-dl", model)
    random, tensors = np.random.RandomState(5), {}
    for name, dims in re.findall(r'dl\.weight "([^"]+)" : tensor<((?:\d+x)*)f32>', text):
        shape = tuple(map(int, dims.split("x")[:-1]))
        value = random.uniform(
            0.5, 1.5,
            shape) if name.endswith("running_var") else 0.05 * random.standard_normal(shape)
        tensors[name] = value.astype(np.float32)
    safetensors.save(path, tensors)


def compile_times(title, name):
    """Issue "the language", point 6: <= 5 s to compile, <= 300 ms to check."""
    model = os.path.join(ROOT, "examples", name, name + ".dl")
    weights, package = os.path.join(OUT, name + ".safetensors"), os.path.join(OUT, name + ".bin")
    seeded_weights(model, weights)
    compiles = [
        wall_ms(DLC, "compile", model, "-o", package, "--weights", weights) for _ in range(ROUNDS)
    ]
    checks = [wall_ms(DLC, "check", model, "--weights", weights) for _ in range(ROUNDS)]
    print(f"{title}, dlc compile (whole process)\n          {spread(compiles)}")
    print(f"{title}, dlc check\n          {spread(checks)}")


def main():
    os.makedirs(OUT, exist_ok=True)
    print(f"Processor: {processor()}")
    product(f"matmul {SIZE}^3, both factors inputs", os.path.join(HERE, "matmul512.dl"), None,
            ["--input", "a=512x512xf32=random", "--input", "b=512x512xf32=random"], [])
    weights = os.path.join(OUT, "linear512.safetensors")
    spread_of_weights = np.random.RandomState(512).uniform(-0.05, 0.05,
                                                           (SIZE, SIZE)).astype(np.float32)
    safetensors.save(weights, {"fc.weight": spread_of_weights})
    product(f"matmul {SIZE}^3, second factor constant (packed ahead by both)",
            os.path.join(HERE, "linear512.dl"), weights, ["--input", "a=512x512xf32=random"],
            ["packed"])
    start_up()
    enqueue_times()
    compile_times("ResNet-50", "resnet50")
    compile_times("BERT-base", "bert")
    runtime_size()


if __name__ == "__main__":
    main()
