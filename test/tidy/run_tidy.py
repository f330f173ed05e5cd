#!/usr/bin/env python3
"""clang-tidy over the sources of FOLDERS, by the .clang-tidy of the repository and the commands of
the build. A folder enters the list when it is clean; the others follow, by their paths or
--anywhere.

    run_tidy.py              one in PARTS of the sources (cases.py)
    run_tidy.py --all        all of them, on demand: four minutes on two cores
    run_tidy.py --anywhere   all that the build compiles: half an hour on two cores
    run_tidy.py SOURCE...    these, by their paths in the repository

The last lines are "N left out (reason)" and "N passed, N failed"."""
import argparse
import concurrent.futures
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "conformance"))
from cases import Cases, Failure, takes  # noqa: E402
from dlc_tool import BUILD, ROOT  # noqa: E402

TIDY = "clang-tidy-22"
FOLDERS = ("runtime/", "test/emulator/", "test/unit/emulator/", "test/unit/runtime/")
PARTS = 24
JOBS = int(os.environ.get("DLC_JOBS", os.cpu_count()))


def sources():
    """What the build compiles of the repository, as paths in it."""
    with open(os.path.join(BUILD, "compile_commands.json"), encoding="utf-8") as commands:
        files = {os.path.relpath(command["file"], ROOT) for command in json.load(commands)}
    generated = os.path.relpath(BUILD, ROOT) + os.sep
    return sorted(path for path in files if not path.startswith((generated, os.pardir)))


def remarks(path):
    run = subprocess.run([TIDY, "-p", BUILD, "--quiet", path], cwd=ROOT, capture_output=True,
                         text=True)
    return run.stdout.strip() or (run.stderr.strip() if run.returncode else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--anywhere", action="store_true")
    parser.add_argument("sources", nargs="*")
    options = parser.parse_args()
    cases, files = Cases(), sources()
    unknown = sorted(set(options.sources) - set(files))
    if unknown:
        parser.error(f"the build compiles no {', '.join(unknown)}")
    if not options.anywhere:
        files = [path for path in files if path.startswith(FOLDERS)]
    whole = options.all or options.anywhere
    chosen = options.sources or [
        path for path in files if whole or takes(path, PARTS)
    ]
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for path, said in zip(chosen, pool.map(remarks, chosen)):
            with cases.case(path):
                if said:
                    raise Failure(said)
    if not options.sources and len(chosen) < len(files):
        cases.leave_out(
            len(files) - len(chosen),
            f"sources of another seed, 1 in {PARTS}: checks/12-tidy --all takes them all"
        )
    sys.exit(cases.finish())


if __name__ == "__main__":
    main()
