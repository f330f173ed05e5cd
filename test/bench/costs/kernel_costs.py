"""Holds what `dlc inspect` says that kernels take against what a GPU measured.

    kernel_costs.py KERNELS.tsv [--fit]

Products of f16 by tensor cores have a file of their own, tiles-*.csv. Each line of this one is a
schedule, a workload with its layers, signature and body, and the microseconds that its kernel took.
The workload is compiled here for the GPUs that a package is for by itself, and the estimate of the
kernel that runs by this schedule is printed beside the measurement, the launch added. A workload
that no longer runs by that schedule is left out, and counted. --fit prints for each schedule the
factor by which its estimates are wrong: their geometric mean, without the workload itself where the
error of a workload is judged."""
import argparse
import collections
import csv
import json
import math
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(ROOT, "test", "conformance"))
import networks  # noqa: E402
from dlc_tool import dlc  # noqa: E402

# Microseconds of a launch between two events (`launch` of GpuModel.h), which the measurements have
# in them.
LAUNCH = 4.08


def estimated(row, folder):
    """Microseconds that the compiler says; None where no kernel runs by the row's schedule."""
    model, package = os.path.join(folder, "m.dl"), os.path.join(folder, "m.bin")
    with open(model, "w", encoding="utf-8") as out:
        layers = "".join(f"  {layer}\n" for layer in (row["layers"] or "").split(";") if layer)
        out.write(
            f"dl 1\n\nmodel Measured {{\n{layers}  forward({row['signature']}) {{\n    {row['body']}\n  }}\n}}\n"
        )
    weights = []
    if row["layers"]:
        weights = ["--weights", networks.save_weights(model, os.path.join(folder, "w.safetensors"))]
    dlc("compile", model, *weights, "--target", "cuda", "-q", "-o", package)
    kernels = json.loads(dlc("inspect", package, "--json"))["programs"][0]["kernels"]
    plans = [kernel["plan"] for kernel in kernels]
    if row["schedule"] == "cublaslt":  # a call in the place of a kernel, which has another plan
        plans = [plan for kernel in kernels for plan in kernel["other_plans"]]
    own = [plan["modelled_ns"] for plan in plans if plan["schedule"] == row["schedule"]]
    return max(own) / 1000 if own else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("file")
    parser.add_argument("--fit", action="store_true")
    options = parser.parse_args()
    with open(options.file, encoding="utf-8") as source:
        rows = list(
            csv.DictReader((line for line in source if not line.startswith("#")), delimiter="\t"))
    errors, left_out = collections.defaultdict(list), 0
    with tempfile.TemporaryDirectory() as folder:
        for row in rows:
            said = estimated(row, folder)
            if said is None:
                left_out += 1
                print(f"{row['schedule']:24} {row['workload']:36} no kernel runs by it now")
                continue
            measured = float(row["microseconds"])
            ratio = (said + LAUNCH) / measured
            errors[row["schedule"]].append((row["workload"], ratio))
            print(
                f"{row['schedule']:24} {row['workload']:36} measured {measured:9.1f} us, estimated {said + LAUNCH:9.1f}, {ratio:5.2f}"
            )
    print()
    everything = []
    for schedule, found in sorted(errors.items()):
        logs = [math.log(ratio) for _, ratio in found]
        mean = sum(logs) / len(logs)
        spread = math.exp(sum(abs(log) for log in logs) / len(logs))
        everything += logs
        print(
            f"{schedule:24} {len(found)} workloads: estimates are {math.exp(mean):.2f} times the measurements, wrong by a factor of "
            f"{spread:.2f} in the mean"
            + (f"; multiply them by {math.exp(-mean):.2f}" if options.fit else ""))
    print(
        f"all: wrong by a factor of {math.exp(sum(map(abs, everything)) / len(everything)):.2f} in the mean; {left_out} left out"
    )


main()
