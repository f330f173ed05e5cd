#!/usr/bin/env python3
"""Every kernel of the test corpus through the real NVRTC, for sm_80, sm_90a and sm_120 (nvrtc-check
says what is demanded).

    run_nvrtc.py           one in PARTS of the kernels of all networks and numeric rows, and one in
                           SCHEDULE_PARTS of those that the tests of the schedules print
                           (cases.py)
    run_nvrtc.py --all [--from K]   all of them, on demand: three hours on two cores. One part after
                                    the other, each with its counts;
                           --from goes on at the part that an interrupted run had begun

The last lines are "N left out (reason)" and "N passed, N failed"."""
import argparse
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import kernel_corpus  # noqa: E402
from cases import SEED, Cases, Failure  # noqa: E402
from dlc_tool import BUILD, ROOT, dlc  # noqa: E402

CHECK = os.path.join(BUILD, "bin", "nvrtc-check")
OUT = os.path.join(BUILD, "test-logs", "nvrtc")
LEFT_OUT = 77  # nvrtc-check's exit status where there is no NVRTC
JOBS = int(os.environ.get("DLC_JOBS", os.cpu_count()))
PARTS = 72
SCHEDULE_PARTS = 3


class Tally:
    def __init__(self):
        self.cases = Cases()
        self.missing = self.checked = 0

    def check_parts(self, name, files, begin, *flags):
        """The same for all parts from `begin` on, each with its counts as soon as it is done."""
        for part in range(begin, PARTS):
            self.check(f"{name}, part {part} of {PARTS}", files, *flags, "--turn",
                       f"{part}/{PARTS}")

    def check(self, name, files, *flags):
        """Runs nvrtc-check; its cases count. How many it left out although there is an NVRTC."""
        start = time.time()
        run = subprocess.run([CHECK, "--jobs", str(JOBS), *flags, *files], capture_output=True,
                             text=True)
        print(f"== {name}: {time.time() - start:.1f} s\n{run.stdout}{run.stderr}", flush=True)
        counts = re.search(r"^(\d+) cases, (\d+) failures, (\d+) left out\n*\Z", run.stdout, re.M)
        if not counts:
            self.cases.failed += 1
            print(f"FAILED {name}: nvrtc-check ended with {run.returncode}")
            return 0
        total, failures, left_out = map(int, counts.groups())
        self.cases.passed += total - failures - left_out
        self.cases.failed += failures
        self.checked += total - left_out
        if run.returncode == LEFT_OUT:
            self.missing += left_out
            return 0
        return left_out


def ahead_of_time(folder):
    """Machine code for named GPUs ends up in model.bin, an ELF image a kernel, and a second compile
    takes it from the cache."""
    os.makedirs(folder)
    model = os.path.join(ROOT, "examples", "digits", "digits.dl")
    paths = [os.path.join(folder, name + ".bin") for name in ("first", "second")]
    os.environ["DLC_CACHE_DIR"] = os.path.join(folder, "cache")
    if os.environ.get("DLC_REAL_NVRTC"):
        os.environ["DLC_LIBNVRTC"] = os.environ["DLC_REAL_NVRTC"]
    for path in paths:
        dlc("compile", model, "--target", "sm_80,sm_90a,sm_120", "-o", path)
    told = re.findall(r"code for (sm_\w+):", dlc("inspect", paths[0]))
    if sorted(told) != ["sm_120", "sm_80", "sm_90a"]:
        raise Failure(f"inspect tells of code for {told}")
    first, second = (open(path, "rb").read() for path in paths)
    if first != second:
        raise Failure("the second compile gave another file")
    if first.count(b"\x7fELF") < 6:
        raise Failure(f"{first.count(chr(127).encode() + b'ELF')} ELF images")
    if sum(name.endswith(".cubin") for _, _, names in os.walk(folder) for name in names) < 6:
        raise Failure("the cache has kept fewer than 6 cubins")


def schedules(tally, turn):
    """Every kind of kernel in every dtype: what the tests of the schedules print, or a part of it.
    Returns how many are left out and how many kinds there are."""
    folder = os.path.join(OUT, "schedules")
    os.makedirs(folder)
    program = os.path.join(BUILD, "bin", "unit", "unit-codegen-cuda")
    with tally.cases.case("the schedules' tests print kernels"):
        run = subprocess.run([program, "--gtest_filter=*/0-*Planted*"], capture_output=True,
                             text=True, env=dict(os.environ, DLC_DUMP_KERNELS=folder))
        if run.returncode or not os.listdir(folder):
            raise Failure(f"exit status {run.returncode}\n{run.stdout[-1500:]}")
    arguments = []
    for kind in sorted(os.listdir(folder)):
        texts = os.path.join(folder, kind)
        arguments += [
            "--kind", kind, *(os.path.join(texts, name) for name in sorted(os.listdir(texts)))
        ]
    return tally.check("schedules", arguments, "--quiet", *turn), len(os.listdir(folder))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--all", action="store_true", help="all precisions and rows")
    parser.add_argument("--from", dest="begin", type=int, default=0, metavar="K",
                        help="with --all: go on at part K")
    options = parser.parse_args()
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(OUT)
    tally = Tally()
    tally.check("the emulator's kernels", [])
    start = time.time()
    paths, problems = kernel_corpus.build(OUT, JOBS)
    print(f"== {len(paths)} models compiled in {time.time() - start:.1f} s")
    for problem in problems:
        with tally.cases.case("compile"):
            raise Failure(problem)
    name, skipped, kinds, later = "networks and numeric rows", 0, 0, 0
    if options.all:
        tally.check_parts(name, paths, options.begin, "--quiet")
    else:
        skipped = tally.check(name, paths, "--quiet", "--json", os.path.join(OUT, "kernels.json"),
                              "--turn", f"{SEED}/{PARTS}")
    if not tally.missing:
        later, kinds = schedules(
            tally, [] if options.all else ["--turn", f"{SEED}/{SCHEDULE_PARTS}"])
        if later:
            tally.cases.leave_out(
                later,
                f"kernels of schedules of another seed, 1 in {SCHEDULE_PARTS}")
        with tally.cases.case("ahead of time: code for named GPUs"):
            ahead_of_time(os.path.join(OUT, "ahead"))
    for path in paths:
        os.remove(path)
    if skipped:
        tally.cases.leave_out(
            skipped,
            f"kernels of another seed, 1 in {PARTS}: checks/45-nvrtc --all takes them all"
        )
    if tally.missing:
        tally.cases.leave_out(tally.missing,
                              "NVRTC is not installed; DLC_REAL_NVRTC names its library")
    known = tally.checked + skipped + later + tally.missing
    print(f"coverage: {tally.checked} of {known} pairs of kernel text and architecture, "
          f"{kinds} kinds of kernel in every dtype")
    return tally.cases.finish()


sys.exit(main())
