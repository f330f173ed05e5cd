"""How far the compiler's estimates of kernels lie from what a GPU measured, by schedule: those of
the workloads in the newest ../results/workloads. Part of `tools/scripts/bench kernels`.

    errors.py [--kernels] [NAME...]    the workloads whose names contain one; --kernels prints each
                                       kernel

Each workload is compiled here. Where a kernel would run by another plan now, it is compiled once
more by the one that was measured. What cannot run by that any more, or is fused otherwise, is
counted as left out; so are kernels of less than a microsecond, which events do not measure."""
import argparse
import collections
import math
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import estimates  # noqa: E402
import table  # noqa: E402
from cases import Failure  # noqa: E402

LEAST = 1.0  # microseconds
# Numbers that plans did not have yet when they were measured, with what they were then, by
# schedule. `early` says what a kernel does before those before it have ended, which changes no time
# of its own.
DEFAULTS = {
    "wgmma": {"parts": "1", "gathered": "0", "taps": "1", "pingpong": "0"},
    "attention_tensor_cores": {"parts": "1"}
}
IGNORED = "early"


def plan_of(plan):
    """(schedule, numbers), to be compared with those of other versions."""
    numbers = {
        **DEFAULTS.get(plan["schedule"], {}),
        **dict(number.split("=") for number in plan["numbers"].split())
    }
    numbers.pop(IGNORED, None)
    return plan["schedule"], numbers


def is_compared(kernel, plan):
    return plan_of(kernel) == plan_of(plan) and kernel["us"] >= LEAST


def plans_now(text, flags, forced=()):
    """The plans of the kernels of a run, in order, each by its name; those in `forced`, NAME=PLAN,
    where they can."""
    options = [*flags, "--chains", "never"]  # what was measured is kernels
    for entry in forced:
        options += ["--force-plan", entry]
    with tempfile.TemporaryDirectory() as folder:
        return [(kernel["base"], kernel["plan"])
                for kernel in table.on_hopper(estimates.kernels_of(text, folder, options=options))]


def plans_as_measured(text, flags, measured):
    """The same, by the plans that were measured where kernels can run by them."""
    now, forced = plans_now(text, flags), []
    if len(now) != len(measured):  # other fusions
        return []
    for kernel, (name, plan) in zip(measured, now):
        if kernel["us"] >= LEAST and not is_compared(kernel, plan):
            schedule, numbers = plan_of(kernel)
            forced.append(":".join([
                f"{name.removeprefix('dlc_')}={schedule}",
                *(f"{key}={value}" for key, value in numbers.items())
            ]))
    while forced:
        try:
            return [plan for _, plan in plans_now(text, flags, forced)]
        # The compiler names the first that it refuses, after the line of its arguments
        except Failure as failure:
            words = re.findall(r"\w+", str(failure).partition("\n")[2])
            forced.remove(
                next((entry for entry in forced if entry.split("=")[0] in words), forced[0]))
    return [plan for _, plan in now]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--kernels", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    results, source = table.newest_results()
    if not results:
        print("no results of workloads are in test/bench/results")
        return
    print(
        f"Kernels of the workloads, estimated beside measured on {source['gpu']}, {source['date']}")
    errors, left_out = collections.defaultdict(list), collections.Counter()
    for name, (text, _, flags) in table.chosen(options.names).items():
        measured = results.get(name, {}).get("dlc", {}).get("kernels", [])
        plans = plans_as_measured(text, flags, measured)
        if not plans:
            left_out["are fused otherwise now"] += len(measured)
        for kernel, plan in zip(measured, plans):
            if not is_compared(kernel, plan):
                left_out[f"take less than {LEAST:g} us" if kernel["us"] <
                         LEAST else "cannot run by that plan now"] += 1
                continue
            estimate = plan["modelled_ns"] * 1e-3
            errors[kernel["schedule"]].append(
                (math.log(estimate / kernel["us"]), kernel["launches"] * kernel["us"]))
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
    for reason, count in sorted(left_out.items()):
        print(f"  {count} kernels left out: they {reason}")


if __name__ == "__main__":
    main()
