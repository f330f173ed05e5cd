#!/usr/bin/env python3
"""Runs the Python suites of suites.txt, two at a time, and adds up their counters.

    run_suites.py [NAME]...    those whose path holds a NAME

A suite is called with a new folder, prints `FAILED ...` for a case that failed, and ends with a
line `N passed, N failed`. One that ends without this line, or with an exit status that contradicts
it, is a failed case of its own."""

import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TEST = os.path.dirname(HERE)
ROOT = os.path.dirname(TEST)
BUILD = os.environ.get("DLC_BUILD_DIR", os.path.join(ROOT, "build"))
LLVM = os.environ.get("DLC_LLVM", "/usr/lib/llvm-22")
PYTHON = os.environ.get("DLC_PYTHON", sys.executable)
#: At a time; a suite runs one dlc after another.
JOBS = 2
#: Seconds for one suite.
TIMEOUT = 600
#: The last line of a suite.
COUNTING = re.compile(r"^(suite\.finish\(\)|finish\(\)|(sys\.exit\()?cases\.run\()", re.M)
COUNTS = re.compile(r"^(\d+) passed, (\d+) failed$", re.M)


def suites(text):
    """The lines of suites.txt as (path below test/, arguments)."""
    words = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    places = {"lib": os.path.join(BUILD, "lib")}
    return [(path, [word.format(**places) for word in rest]) for path, *rest in words]


def unlisted(listed):
    """Suites, as paths below test/, that neither suites.txt nor a lit test runs."""
    found = []
    for folder, _, names in os.walk(TEST):
        if "/Inputs" not in folder:
            continue
        beside = folder[: folder.index("/Inputs")]
        tests = [name for name in os.listdir(beside) if name.endswith(".test")]
        run = "".join(read(os.path.join(beside, name)) for name in tests)
        found += [
            os.path.relpath(os.path.join(folder, name), TEST)
            for name in names
            if name.endswith(".py")
            and name not in run
            and COUNTING.search(read(os.path.join(folder, name)))
        ]
    return sorted(set(found) - set(listed))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def judge(status, output):
    """(passed, failed, sentences about a suite that contradicts itself)."""
    counts = COUNTS.findall(output)
    if not counts:
        last = output.rstrip().splitlines()[-5:]
        return 0, 1, [f"ended with status {status} and no count", *last]
    passed, failed = map(int, counts[-1])
    if passed + failed == 0:
        return 0, 1, ["ran no case"]
    if (status != 0) != (failed > 0):
        return passed, failed + 1, [f"ended with status {status}, and counts {failed} failed"]
    return passed, failed, []


def run(suite):
    path, arguments = suite
    folder = os.path.join(BUILD, "test-logs", "suites", os.path.splitext(path)[0])
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    start = time.time()
    search = [os.path.join(BUILD, "bin"), os.path.join(LLVM, "bin"), os.environ["PATH"]]
    try:
        done = subprocess.run(
            [PYTHON, os.path.join(TEST, path), folder, *arguments],
            cwd=folder,
            env={**os.environ, "PATH": os.pathsep.join(search)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=TIMEOUT,
        )
        status, output = done.returncode, done.stdout
    except subprocess.TimeoutExpired:
        status, output = None, f"did not end in {TIMEOUT} s"
    passed, failed, problems = judge(status, output)
    lines = [f"{path}: {passed} passed, {failed} failed in {time.time() - start:.1f} s"]
    lines += [f"FAILED {path}: {problem}" for problem in problems]
    if failed and not problems:
        first = output.find("FAILED")
        lines += output[max(first, 0) :].rstrip().splitlines()[:40]
    print("\n".join(lines), flush=True)
    return passed, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    names = parser.parse_args().names
    chosen = suites(read(os.path.join(HERE, "suites.txt")))
    forgotten = [] if names else unlisted(path for path, _ in chosen)
    for path in forgotten:
        print(f"FAILED {path}: no line of suites.txt and no lit test runs it")
    if names:
        chosen = [suite for suite in chosen if any(name in suite[0] for name in names)]
    if not chosen:
        parser.error(f"suites.txt has no {' and no '.join(names)}")
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        counts = list(pool.map(run, chosen))
    passed, failed = (sum(column) for column in zip(*counts))
    failed += len(forgotten)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
