#!/usr/bin/env python3
"""What 16 and 8 bits gain on this processor: precision_figures.py [--threads N] [--rounds N]
[--model NAME]...

ResNet-50 (batch 1) and BERT-base (one sentence of 128 tokens) of examples/, on seeded weights, in
f32, bf16, f16 and int8 by the same dlc. The precisions alternate, process by process, so that a
change of the machine's mood meets all; times are medians of the rounds' medians. The share is that
of the multiply-adds that the processor could make in registers, measured in this run: of f32 by
fma, of bf16 by vdpbf16ps and of int8 by vpdpbusd where there is one, and else by fma, as f16; all
of the model counts as if it had the type. Nothing here is a test."""
import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys

import numpy as np
import run_bench

BUILD, OUT, DLC = run_bench.BUILD, run_bench.OUT, run_bench.DLC
PRECISIONS = ("f32", "bf16", "f16", "int8")
SHAPES = {"resnet50": {"x": "1x3x224x224"},
          "bert": {"input_ids": "1x128", "token_type_ids": "1x128", "attention_mask": "1x128"}}
INTEGERS = ("input_ids", "token_type_ids")


def peaks(threads):
    library = ctypes.CDLL(os.path.join(BUILD, "lib", "libmachine-peaks.so"))
    rates = {}
    for name, function in (("f32", library.dlc_bench_peak_flops),
                           ("bf16", library.dlc_bench_peak_brain_flops),
                           ("int8", library.dlc_bench_peak_byte_ops)):
        function.restype = ctypes.c_double
        rates[name] = function(threads)
    return {
        "f32": rates["f32"], "bf16": rates["bf16"] or rates["f32"], "f16": rates["f32"],
        "int8": rates["int8"] or rates["f32"]
    }


def calibration(model):
    """Eight seeded samples, as --calib takes them."""
    random, path = np.random.RandomState(1), os.path.join(OUT, model + ".calibration.npz")
    np.savez(
        path, **{
            name: random.randint(0, 1000, (8, *dims)) *
            (name == "input_ids") if name in INTEGERS else np.ones(
                (8, *dims), np.float32) if name == "attention_mask" else random.standard_normal(
                    (8, *dims)).astype(np.float32)
            for name, dims in ((name, [int(size) for size in shape.split("x")[1:]])
                               for name, shape in SHAPES[model].items())
        })
    return path


def compiled(model):
    folder = os.path.join(run_bench.ROOT, "examples", model)
    weights = os.path.join(OUT, model + ".safetensors")
    if not os.path.exists(weights):
        subprocess.run([sys.executable, os.path.join(folder, "weights.py"), OUT], check=True)
    packages = {}
    for precision in PRECISIONS:
        packages[precision] = os.path.join(OUT, f"{model}.{precision}.bin")
        run_bench.output(
            DLC, "compile", os.path.join(folder, model + ".dl"), "-o", packages[precision],
            "--weights", weights, "--target", "cpu", "--shapes",
            ",".join(":".join(shape) for shape in SHAPES[model].items()),
            *(["--quantize", "int8", "--calib", calibration(model)] if precision == "int8" else
              ["--precision", precision] if precision != "f32" else []), "-q")
    return packages


def figures(model, threads, rounds, seconds):
    packages = compiled(model)
    inputs = [
        part for name in SHAPES[model] if name in INTEGERS for part in ("--input", name + "=zeros")
    ]
    times, flops, device = {precision: [] for precision in PRECISIONS}, {}, {}
    for _ in range(rounds):
        for precision, package in packages.items():
            report = json.loads(
                run_bench.output(DLC, "bench", package, "--device", "cpu", "--threads", threads,
                                 "--duration", seconds, "--json", *inputs))
            times[precision].append(report["latency_ms"]["median"])
            flops[precision] = sum(kernel["flops"] for kernel in report["kernels"])
            device[precision] = report["device"]
    best = peaks(threads)
    print(f"{model}, {threads} threads" if threads > 1 else f"{model}, one thread")
    base = statistics.median(times["f32"])
    for precision in PRECISIONS:
        median = statistics.median(times[precision])
        rate = 1e-6 * flops["f32"] / median
        print(f"  {precision:5s}{run_bench.spread(times[precision])}   {base / median:5.2f} times f32   {rate:7.1f} GFLOP/s, "
              f"{100e9 * rate / best[precision]:.0f} % of the peak, {device[precision]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0,
                        help="of each precision in each round")
    parser.add_argument("--model", action="append", choices=list(SHAPES), help="default: all")
    options = parser.parse_args()
    os.makedirs(OUT, exist_ok=True)
    print(f"Processor: {run_bench.processor()}")
    best = peaks(options.threads)
    print(
        f"Peak: {1e-9 * best['f32']:.1f} GFLOP/s of f32, {1e-9 * best['bf16']:.1f} of bf16, {1e-9 * best['int8']:.1f} of int8"
    )
    for model in options.model or SHAPES:
        figures(model, options.threads, options.rounds, options.seconds)


if __name__ == "__main__":
    main()
