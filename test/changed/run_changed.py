#!/usr/bin/env python3
"""Runs the tests that a change asks for, by the paths of its files, after building what they need.

    run_changed.py [REV]          the difference of the working tree, new files too, to REV (HEAD)
    run_changed.py --list [REV]   the tests alone, a line each

The last line is "N passed, N failed"."""

import argparse
import json
import os
import re
import subprocess
import sys
import time

from selection import select

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("DLC_BUILD_DIR", os.path.join(ROOT, "build"))
LIT = os.path.join(os.environ.get("DLC_LLVM", "/usr/lib/llvm-22"), "bin", "lit")
#: Rows of these voices alone: the others repeat them under other orders and sizes.
VOICES = ("reference", "cpu", "cuda")


def git(*arguments):
    return subprocess.run(
        ["git", "-C", ROOT, *arguments], text=True, check=True, stdout=subprocess.PIPE
    ).stdout


def changes(revision):
    """Path -> the numbers of the lines that changed since `revision`."""
    found, path = {}, None
    for line in git("diff", "-U0", "--no-renames", revision).splitlines():
        if line.startswith("+++ "):
            path = line[6:] if line.startswith("+++ b/") else None
        elif line.startswith("--- a/"):
            found.setdefault(line[6:], set())
        elif path and (hunk := re.match(r"@@ \S+ \+(\d+)(?:,(\d+))? @@", line)):
            first, count = int(hunk.group(1)), int(hunk.group(2) or 1)
            found.setdefault(path, set()).update(range(first, first + max(count, 1)))
    for path in git("ls-files", "--others", "--exclude-standard").splitlines():
        found[path] = set()
    return found


class Steps:
    """Commands in turn; each tells what it was and how long it took."""

    def __init__(self):
        self.passed = self.failed = 0

    def run(self, title, command, counts=None, **environment):
        """`counts` reads (passed, failed) from what a command printed; by default its last line."""
        begin = time.monotonic()
        done = subprocess.run(
            command,
            text=True,
            errors="replace",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
        )
        passed, failed = (counts or _last_counts)(done.stdout)
        if done.returncode and not failed:
            failed = 1
        self.passed, self.failed = self.passed + passed, self.failed + failed
        if failed:
            print(done.stdout[-6000:])
        verdict = f"{passed} passed, {failed} failed" if passed or failed else "done"
        print(f"-- {title}: {verdict}, {time.monotonic() - begin:.1f} s", flush=True)
        return not failed


def _last_counts(text):
    found = re.findall(r"^(\d+) passed, (\d+) failed$", text, re.M)
    return tuple(map(int, found[-1])) if found else (0, 0)


def run_lit(steps, paths):
    report = os.path.join(BUILD, "test-logs", "changed.json")
    os.makedirs(os.path.dirname(report), exist_ok=True)

    def counts(_):
        with open(report, encoding="utf-8") as file:
            codes = [test["code"] for test in json.load(file)["tests"]]
        return codes.count("PASS"), sum(code not in ("PASS", "UNSUPPORTED") for code in codes)

    chosen = "|".join(f" {re.escape(path)}" + ("$" if "." in path else "/") for path in paths)
    steps.run(
        "lit " + " ".join(paths),
        [
            LIT,
            "-qv",
            "--allow-empty-runs",
            "-o",
            report,
            "--filter",
            f"(?:^|::)(?:{chosen})",
            os.path.join(BUILD, "test"),
        ],
        counts,
    )


def rows_of(files):
    """The ops that files of numeric rows name."""
    text = "import sys; sys.path.insert(0, sys.argv[1]); from rows import ROWS\n"
    text += "print(*sorted({row.op for row in ROWS}))"
    numeric = os.path.join(ROOT, "test", "numeric")
    known = subprocess.run(
        [sys.executable, "-c", text, numeric], text=True, stdout=subprocess.PIPE, check=True
    ).stdout.split()
    named = set()
    for file in files:
        with open(os.path.join(numeric, "rows", file), encoding="utf-8") as source:
            named |= set(re.findall(r'"(\w+)"', source.read()))
    return named & set(known)


def run_all(selection):
    steps = Steps()
    steps.run("lint", [sys.executable, os.path.join(ROOT, "test", "lint", "run")])
    programs = sorted({program for program, _ in selection.unit})
    tools = ["dlc", "dlc-opt", "dlc-translate", "numeric-reference"]
    needed = tools if selection.lit or selection.suites or selection.ops else []
    if needed + programs and not steps.run("build", ["ninja", "-C", BUILD, *needed, *programs]):
        return steps
    if selection.lit:
        run_lit(steps, sorted(selection.lit))
    if selection.suites:
        runner = os.path.join(ROOT, "test", "suites", "run_suites.py")
        steps.run("suites", [sys.executable, runner, *sorted(selection.suites)])
    for program, test in sorted(selection.unit):
        steps.run(
            f"{program} {test}",
            [os.path.join(BUILD, "bin", "unit", program), "--gtest_filter=" + test],
            lambda text: (
                len(re.findall(r"^\[       OK \]", text, re.M)),
                len(set(re.findall(r"^\[  FAILED  \] (\S+)", text, re.M))),
            ),
        )
    ops = selection.ops | (rows_of(sorted(selection.rows)) if selection.rows else set())
    if ops:
        numeric = [sys.executable, os.path.join(ROOT, "test", "numeric", "run.py")]
        numeric += [word for voice in VOICES for word in ("--voice", voice)]
        steps.run(
            "numeric " + " ".join(sorted(ops)),
            numeric + [word for op in sorted(ops) for word in ("--op", op)],
            DLC_REQUIRE_TORCH="1",
        )
    if selection.aten:
        python = os.path.join(BUILD, "python-aten", "bin", "python")
        steps.run(
            "aten",
            [python, os.path.join(ROOT, "test", "aten", "run_aten.py"), *sorted(selection.aten)],
        )
    if selection.docs:
        steps.run("docs", [os.path.join(ROOT, "tools", "scripts", "checks", "27-docs")])
    return steps


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("revision", nargs="?", default="HEAD", metavar="REV")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    selection = select(ROOT, changes(options.revision))
    if options.list:
        print(*selection.lines(), sep="\n")
        return 0
    steps = run_all(selection)
    print(f"{steps.passed} passed, {steps.failed} failed")
    return steps.failed > 0


if __name__ == "__main__":
    sys.exit(main())
