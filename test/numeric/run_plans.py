"""Runs numeric rows by each plan that can run them, chosen or not, on the CPU and the emulated GPU:
a changed constant of the cost model must not change silently which schedules are tested. run.py
does that for some rows of each schedule and dtype, by the seed (cases.py).

    run_plans.py [--all] [--plan NAME]...

With --all every row by every plan. A table says how many kernels of each dtype ran by each
schedule. The last lines are "N left out (reason)" and "N passed, N failed"."""
import argparse
import collections
import concurrent.futures
import json
import os
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from modules import Case, module_text
from rows import ROWS
from run import judge, results_of
from cases import SEED, one_of
from voices import Cpu, Cuda, CudaTf32, Failure

# Rows in one module, of one dtype.
CHUNK = 12
SHOWN = 40
# Schedules for sm_90a, which take a kernel's place there and are none of its other plans, by the
# kernel's kind and its dtypes.
FOR_HOPPER = {
    "contraction": (("wgmma", ("f16", "bf16", "tf32", "f8E4M3FN", "ui8", "i8")), ("sparse_wgmma",
                                                                                  ("f16", "bf16"))),
    "attention": (("attention_wgmma", ("f16", "bf16", "f8E4M3FN")), )
}


# Numbers of plans that estimates do not choose, of which each chunk of rows runs by some.
NUMBERS = {
    ("cpu", "panels"): ("group=1:rows=24", "group=4:rows=32", "by_groups=1:group=2:rows=24",
                        "by_groups=1:group=4:rows=64", "group=2:rows=96")
}


def by_plan(base, plan):
    """The voice `base` with every kernel that `plan` can run run by it."""
    class Forced(base):
        flags = [*base.flags, *(["--force-plan", "*=" + plan] if plan else [])]
    return Forced()


def kernels_of(voice, cases, sizes):
    package = voice.package(module_text(cases, sizes), cases[0].row.phase)
    facts = json.loads(
        subprocess.run([voice.dlc, "inspect", package, "--json"], capture_output=True, text=True,
                       check=True).stdout)
    return [kernel for program in facts["programs"] for kernel in program["kernels"]]


def chunks():
    """(voice, its name in the table, sizes, cases of one dtype), those of this turn first."""
    groups = collections.defaultdict(list)
    for row in ROWS:
        for dtype in row.dtypes:
            case = Case(row, dtype)
            for voice in (Cpu, Cuda, CudaTf32):
                if getattr(voice, "takes", lambda case: True)(case):
                    groups[voice, dtype, row.phase, tuple(row.sizes)].append(case)
    pieces = [(voice, "tf32" if voice is CudaTf32 else dtype, sizes, cases[i:i + CHUNK])
              for (voice, dtype, _, sizes), cases in groups.items()
              for i in range(0, len(cases), CHUNK)]
    first = SEED * 7919 % max(1, len(pieces))
    return pieces[first:] + pieces[:first]


class Coverage:
    """What has run by which plan of which target. `enough`: kernels of a plan and dtype after which
    no more rows are taken for them; None: all."""

    def __init__(self, enough, only=()):
        self.enough, self.only, self.lock = enough, only, threading.Lock()
        self.ran, self.available = collections.Counter(), collections.Counter()
        self.passed = self.failed = self.left = 0
        self.said = []

    def wrong(self, sentence, count=1):
        with self.lock:
            self.failed += count
            self.said.append(sentence)

    def take(self, chunk):
        base, dtype, sizes, cases = chunk
        try:
            kernels = kernels_of(by_plan(base, None), cases, sizes)
        except Failure as failure:
            return self.wrong(f"{cases[0].name} and those after it: {failure}")
        plans = {kernel["plan"]["schedule"] for kernel in kernels
                 if "in_place_of" not in kernel and "stages" not in kernel}
        plans |= {other["schedule"] for kernel in kernels for other in kernel["other_plans"]}
        self.available.update((base.target, plan, dtype) for plan in plans)
        hopper = {
            one for kernel in kernels if base.target == "cuda"
            for one in FOR_HOPPER.get(kernel["kind"], ())
        }
        for plan in sorted(plans | {plan for plan, dtypes in hopper if dtype in dtypes}):
            if self.only and plan not in self.only:
                continue
            if self.enough is not None and self.ran[base.target, plan, dtype] >= self.enough:
                self.left += len(cases)
                continue
            numbers = NUMBERS.get((base.target, plan))
            chosen = plan + ":" + one_of(cases[0].name, numbers) if numbers else plan
            self.run(by_plan(base, chosen), plan, dtype, sizes, cases)

    def run(self, voice, plan, dtype, sizes, cases):
        try:
            count = sum(plan in (kernel["plan"]["schedule"],
                                 kernel.get("cublaslt_unasked") and "cublaslt")
                        for kernel in kernels_of(voice, cases, sizes))
        except Failure as failure:
            return self.wrong(f"{plan}: {cases[0].name} and those after it: {failure}")
        with self.lock:
            self.ran[voice.target, plan, dtype] += count
        if not count:
            return None
        self.available[voice.target, plan, dtype] += 1
        for case, results in results_of(voice, cases, sizes).items():
            problems = judge(voice, case, sizes, results)
            if problems:
                self.wrong(f"{plan}: {case.name}: {problems[0]}", len(problems))
            with self.lock:
                self.passed += len(sizes) - len(problems)

    def finish(self):
        """(passed, failed, sentences about what was left out), after the table and what was wrong.
        """
        for target, plan, dtype in sorted(self.available):
            if not self.ran[target, plan, dtype] and (not self.only or plan in self.only):
                self.wrong(f"{plan} of {target} can run {dtype}, and no row did")
        print(*self.said[:SHOWN], sep="\n", end="\n" if self.said else "")
        dtypes = sorted({dtype for _, _, dtype in self.available})
        for target, plan in sorted({(target, plan) for target, plan, _ in self.available}):
            counts = (f"{dtype}:{self.ran[target, plan, dtype]}" for dtype in dtypes
                      if (target, plan, dtype) in self.available)
            print(f"{target:6}{plan:24}" + " ".join(counts))
        ran = sum(self.ran[one] > 0 for one in self.available)
        print(f"coverage: {ran} of {len(self.available)} pairs of schedule and dtype")
        left = [
            f"{self.left} left out (rows by schedules that had run their dtype: test/numeric/run_plans.py --all runs all)"
        ]
        return self.passed, self.failed, left if self.left else []


def cover(enough, only=()):
    coverage = Coverage(enough, only)
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("DLC_JOBS",
                                                                  os.cpu_count()))) as pool:
        for done in [pool.submit(coverage.take, chunk) for chunk in chunks()]:
            done.result()
    return coverage.finish()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--plan", action="append", default=[])
    options = parser.parse_args()
    passed, failed, left_out = cover(None if options.all else 1, options.plan)
    print(*left_out, sep="\n", end="\n" if left_out else "")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
