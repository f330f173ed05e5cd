#!/usr/bin/env python3
"""Runs every GoogleTest program in bin/unit of a build, each in some shards, as many at a time as
there are processors.

    run_unit.py BUILD            kernels on the emulator under one order of threads and blocks
                                 (cases.py)
    run_unit.py BUILD --all      under each order

The last lines are "N left out (reason)" and "N passed, N failed"."""
import concurrent.futures
import glob
import json
import os
import re
import subprocess
import sys

TEST = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TEST, "conformance"))
from cases import one_of  # noqa: E402

JOBS = int(os.environ.get("DLC_JOBS", os.cpu_count()))
# A program's tests take from microseconds to many seconds: more shards than processors, so that
# none is left with all the long ones.
SHARDS = 4 * JOBS
# A kernel takes seconds under each order; the tests of the emulator itself are quick and need all
# of theirs.
SAMPLED = ["unit-codegen-cuda"]


def not_in_sample(program):
    """The tests of the suites "Policies/*" whose order, the number after the last "/", is of another
    seed."""
    listed = subprocess.run([program, "--gtest_list_tests"], text=True, stdout=subprocess.PIPE,
                            check=True).stdout
    orders, suite = {}, ""
    for line in listed.splitlines():
        words = line.split()
        if not line.startswith(" "):
            suite = words[0]
        elif suite.startswith("Policies/"):
            name, order = re.fullmatch(r"(.*)/(\d+)", words[0]).groups()
            orders.setdefault(suite + name, []).append(order)
    return [
        f"{test}/{order}" for test, found in orders.items() for order in found
        if order != one_of(test, found)
    ]


def run_shard(program, reports, shard, excluded):
    """(passed, failed, left out, what to print)"""
    name = f"{os.path.basename(program)}-{shard}"
    report = os.path.join(reports, name + ".json")
    if os.path.exists(report):
        os.remove(report)
    run = subprocess.run([program, "--gtest_output=json:" + report, "--gtest_brief=1"], text=True,
                         errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         env=dict(os.environ, GTEST_TOTAL_SHARDS=str(SHARDS),
                                  GTEST_SHARD_INDEX=str(shard), GTEST_FILTER="*" +
                                  ("-" + ":".join(excluded) if excluded else "")))
    passed = failed = left_out = 0
    if os.path.exists(report):
        with open(report) as file:
            tests = [test for suite in json.load(file)["testsuites"] for test in suite["testsuite"]]
        left_out = sum(
            test.get("result") == "SKIPPED" or test["status"] == "NOTRUN" for test in tests)
        failed = sum("failures" in test for test in tests)
        passed = len(tests) - left_out - failed
    # A program that crashed, or failed outside any test, is one failure.
    if run.returncode != 0 and failed == 0:
        failed = 1
    return passed, failed, left_out, f"{name}: exit status {run.returncode}\n{run.stdout}" if run.returncode else ""


def main():
    takes_all = "--all" in sys.argv[1:]
    build = next(argument for argument in sys.argv[1:] if argument != "--all")
    programs = [path for path in sorted(glob.glob(os.path.join(build, "bin", "unit", "*")))
                if os.path.isfile(path) and os.access(path, os.X_OK)]
    reports = os.path.join(build, "test-logs", "unit")
    os.makedirs(reports, exist_ok=True)
    excluded = {program: not_in_sample(program) for program in programs
                if os.path.basename(program) in SAMPLED and not takes_all}
    passed = failed = left_out = 0
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        shards = [pool.submit(run_shard, program, reports, shard, excluded.get(program, []))
                  for program in programs for shard in range(SHARDS)]
        for shard in shards:
            counts = shard.result()
            passed, failed, left_out = passed + counts[0], failed + counts[1], left_out + counts[2]
            if counts[3]:
                print(counts[3])
    others = sum(map(len, excluded.values()))
    if others:
        print(
            f"{others} left out (kernels under orders whose turn it is not: checks/20-unit --all takes each)"
        )
    if left_out:
        print(f"{left_out} left out (disabled or skipped by the test itself)")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


sys.exit(main())
