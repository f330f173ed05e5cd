"""How far the compiler's estimates of kernels lie from what a GPU measured, by schedule: those of the workloads in the newest
../results/workloads. Part of `tools/scripts/bench kernels`.

    errors.py [--kernels] [NAME...]    the workloads whose names contain one; --kernels prints each kernel

Each workload is compiled here. A kernel is compared where it runs by the schedule and the numbers of the measured one in its place; the
others are counted as left out. Kernels of less than a microsecond are left out, too: events do not measure them."""
import argparse
import collections
import math
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import estimates  # noqa: E402
import table  # noqa: E402

LEAST = 1.0  # microseconds
# Numbers that plans did not have yet when they were measured, with what they were then. `early` says what a kernel does before those
# before it have ended, which changes no time of its own.
DEFAULTS, IGNORED = {"parts": "1", "gathered": "0", "taps": "1"}, "early"


def plan_of(schedule, numbers):
    """The plan, to be compared with those of other versions."""
    given = dict(number.split("=") for number in numbers.split())
    given.pop(IGNORED, None)
    return schedule, {name: value for name, value in given.items() if DEFAULTS.get(name) != value}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    results, source = table.newest_results()
    if not results:
        print("no results of workloads are in test/bench/results")
        return
    print(f"Kernels of the workloads, estimated beside measured on {source['gpu']}, {source['date']}")
    errors, left_out = collections.defaultdict(list), 0
    for name, (text, _, flags) in table.chosen(options.names).items():
        with tempfile.TemporaryDirectory() as folder:
            alone = [*flags, "--chains", "never"]  # what was measured is kernels
            now = [kernel["plan"] for kernel in table.on_hopper(estimates.kernels_of(text, folder, options=alone))]
        measured = results.get(name, {}).get("dlc", {}).get("kernels", [])
        if len(now) != len(measured):  # other fusions
            left_out += len(measured)
            continue
        for kernel, plan in zip(measured, now):
            if kernel.get("us", 0) < LEAST or plan_of(plan["schedule"], plan["numbers"]) != plan_of(kernel["schedule"], kernel["numbers"]):
                left_out += 1
                continue
            estimate = plan["modelled_ns"] * 1e-3
            errors[kernel["schedule"]].append((math.log(estimate / kernel["us"]), kernel["launches"] * kernel["us"]))
            if options.kernels:
                print(f"  {estimate / kernel['us']:5.2f} {kernel['schedule']:24s}{kernel['us']:9.2f} us {kernel['name']} of {name}  "
                      f"{kernel['numbers']}")
    for schedule, found in sorted(errors.items()):
        mean = math.exp(sum(error for error, _ in found) / len(found))
        wrong = math.exp(sum(abs(error) for error, _ in found) / len(found))
        weight = sum(time for _, time in found)
        weighted = math.exp(sum(error * time for error, time in found) / weight)
        print(f"  {schedule:24s}{len(found):4d} kernels, {weight:8.0f} us: estimates are {mean:.2f} times the measurements "
              f"({weighted:.2f} weighted by time), wrong by a factor of {wrong:.2f} in the mean")
    print(f"  {left_out} kernels left out (they run by another plan now, or take less than {LEAST:g} us)")


if __name__ == "__main__":
    main()
