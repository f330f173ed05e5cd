#!/usr/bin/env python3
"""dlc beside ONNX Runtime and OpenVINO on networks that PyTorch exported, in f32 on the CPU, one
input each:

    zoo_peers.py [--threads N] [--rounds N] [--seconds S] [NAME...]

The networks have seeded weights and the size that people use (zoo_files.py). Each peer holds the
file in memory; in each round every one runs in turn, for --seconds, so that a change of the
machine's mood meets all. Before that its result is held against that of ONNX Runtime with all of
its optimizations off. A time is the least of the quickest runs of the rounds; beside dlc's is its
share of what the processor's multiply-adds reach, measured in the same rounds. Ratios are peer's
time over dlc's: above 1 dlc is faster. openvino may be missing, which is said. Nothing here is a
test.

Needs a Python with: pip install numpy onnx onnxruntime openvino (DLC_PEERS_PYTHON names it to
tools/scripts/bench)."""
import argparse
import ctypes
import json
import math
import os
import subprocess
import sys
import time

try:
    import numpy as np
    import onnxruntime

    from cpu_peers import PEERS, cosine, milliseconds, of_onnxruntime, run_bench
except ImportError as error:
    sys.exit(f"error: {error.name} is not installed; this needs a Python with: pip install numpy onnx onnxruntime openvino\n"
             "(DLC_PEERS_PYTHON=/path/to/python tools/scripts/bench zoo)")

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(run_bench.OUT, "zoo")
NAMES = ("resnet18", "resnet50", "resnext50_32x4d", "mobilenet_v2", "mobilenet_v3_large",
         "efficientnet_b0", "densenet121", "shufflenet_v2_x1_0", "squeezenet1_1", "convnext_tiny",
         "vit_b_16", "swin_t", "regnet_y_400mf", "inception_v3", "googlenet", "vgg16", "text_lstm",
         "bert", "gpt2")
LEAST_COSINE = 0.9999


def peak_flops(threads):
    library = ctypes.CDLL(os.path.join(run_bench.BUILD, "lib", "libmachine-peaks.so"))
    library.dlc_bench_peak_flops.restype = ctypes.c_double
    return library.dlc_bench_peak_flops(threads)


def flops_of(package):
    facts = json.loads(
        run_bench.output(run_bench.DLC, "bench", package, "--duration", "0.01", "--json"))
    return sum(kernel["flops"] for kernel in facts["kernels"])


def measure(name, options):
    """Milliseconds by peer, and dlc's share of the peak."""
    path = os.path.join(FOLDER, name + ".onnx")
    with np.load(os.path.join(FOLDER, name + ".npz")) as file:
        inputs = dict(file)
    expected = of_onnxruntime(path, inputs, options.threads,
                              onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)()
    runs = {}
    for peer, make in PEERS.items():
        try:
            run = make(path, inputs, options.threads)
        except ImportError:
            continue
        except Exception as problem:  # a library's own
            if peer == "dlc":
                raise
            told = [line for line in str(problem).splitlines() if line.strip()]
            print(f"  {name}: {peer} does not take it: {told[-1] if told else problem!r}")
            continue
        like = cosine(run(), expected)
        if not like >= LEAST_COSINE:
            sys.exit(
                f"error: {peer} computes something else of {name}: the cosine with the plain result is {like:.6f}"
            )
        runs[peer] = run
    times, peak = {peer: float("inf") for peer in runs}, 0
    for _ in range(options.rounds):
        peak = max(peak, peak_flops(options.threads))
        for peer, run in runs.items():
            times[peer] = min(times[peer], milliseconds(run, options.seconds, time.perf_counter))
    return times, flops_of(path + ".bin") / (times["dlc"] * 1e-3 * peak), peak


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.7, help="of each peer in each round")
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help="; ".join(NAMES) + " (default: all)")
    options = parser.parse_args()
    if unknown := sorted(set(options.names) - set(NAMES)):
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(NAMES)}")
    names = options.names or NAMES
    os.makedirs(FOLDER, exist_ok=True)
    exporter = os.environ.get("DLC_TORCH_PYTHON", sys.executable)
    if subprocess.run([exporter, os.path.join(HERE, "zoo_files.py"), FOLDER, *names]).returncode:
        sys.exit(
            "error: the networks could not be exported; tools/scripts/setup --tests installs PyTorch"
        )
    print(
        f"Processor: {run_bench.processor()}; {options.threads} thread{'s'[: options.threads > 1]}; ONNX Runtime {onnxruntime.__version__}; ms, peer / dlc"
    )
    print(f"  {'network':20s}{'dlc':>9s}{'peak':>6s}"
          + "".join(f"{peer:>15s}{'':6s}" for peer in PEERS if peer != "dlc") + f"{'better':>8s}")
    better, each = {}, {}
    for name in names:
        times, share, peak = measure(name, options)
        ratios = {peer: taken / times["dlc"] for peer, taken in times.items() if peer != "dlc"}
        better[name] = min(ratios.values())
        for peer, ratio in ratios.items():
            each.setdefault(peer, []).append(ratio)
        print(
            f"  {name:20s}{times['dlc']:9.2f}{share:6.0%}"
            + "".join(f"{times[peer]:15.2f}{ratios[peer]:6.2f}" if peer in
                      ratios else f"{'-':>15s}{'':6s}" for peer in PEERS if peer != "dlc")
            + f"{better[name]:8.2f}   ({peak * 1e-9:.0f} GFLOP/s)", flush=True)
    mean = lambda values: math.exp(sum(map(math.log, values)) / len(values))
    for peer, ratios in each.items():
        print(f"beside {peer}: {mean(ratios):.3f} in the geometric mean of {len(ratios)}")
    if len(each) < len(PEERS) - 1:
        print("OpenVINO is left out: it is not installed")
    print(f"beside the better of them: {mean(better.values()):.3f}; below 0.90: "
          + (", ".join(f"{name} {ratio:.2f}"
                       for name, ratio in better.items() if ratio < 0.9) or "none"))


if __name__ == "__main__":
    main()
