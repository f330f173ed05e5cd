"""Seconds of a processor that a build of dlc from nothing takes: by folder, and of its slowest ten
steps; then the seconds until a new dlc is there after one file changed.

  build_times.py [TARGET...]      the targets to build (default: dlc)
  build_times.py --keep FOLDER    in this folder, which stays

Part of tools/scripts/bench. The compiler cache is not used. A step is a process of the compiler;
mlir-tblgen and the linker are not counted."""

import argparse
import collections
import os
import resource
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LLVM = os.environ.get("DLC_LLVM", "/usr/lib/llvm-22")
JOBS = os.environ.get("DLC_JOBS", str(os.cpu_count()))
#: The file to which each step appends its time: the launcher's only argument but the command.
TIMES = "DLC_BUILD_TIMES"
#: What a developer changes, and how long a new dlc may take then.
TOUCHED = {"passes/layout/AssignLayouts.cpp": 15, "codegen/cuda/schedule/map/MapKernel.cpp": 20}
MOST_SECONDS, MOST_OF_A_FILE = 1500, 40


def launch(command):
    """Runs a step of the build and notes the seconds of a processor that it took."""
    code = subprocess.run(command, check=False).returncode
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = command[command.index("-o") + 1] if "-o" in command else command[0]
    with open(os.environ[TIMES], "a", encoding="utf-8") as file:
        file.write(f"{used.ru_utime + used.ru_stime:.2f} {output}\n")
    return code


def ninja(folder, targets, times):
    begin = time.monotonic()
    subprocess.run(
        ["ninja", "-C", folder, "-j", JOBS, *targets],
        check=True,
        stdout=subprocess.DEVNULL,
        env={**os.environ, TIMES: times, "CCACHE_DISABLE": "1"},
    )
    return time.monotonic() - begin


def configure(folder):
    launcher = f"{sys.executable};-S;{os.path.abspath(__file__)};--launch"
    subprocess.run(
        ["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"]
        + [f"-DCMAKE_C_COMPILER={LLVM}/bin/clang", f"-DCMAKE_CXX_COMPILER={LLVM}/bin/clang++"]
        + [f"-DCMAKE_C_COMPILER_LAUNCHER={launcher}", f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"],
        check=True,
        stdout=subprocess.DEVNULL,
    )


def read(times):
    """[(seconds, path below the repository's root)], the slowest first."""
    steps = []
    with open(times, encoding="utf-8") as file:
        for line in file:
            seconds, output = line.rstrip("\n").split(" ", 1)
            folder, _, rest = output.partition("/CMakeFiles/")
            name = rest.split(".dir/", 1)[-1].removesuffix(".o")
            steps.append((float(seconds), f"{folder}/{name}" if rest else output))
    return sorted(steps, reverse=True)


def report(steps, wall):
    total = sum(seconds for seconds, _ in steps)
    print(
        f"from nothing: {total:.0f} s of a processor (goal {MOST_SECONDS}), {wall:.0f} s by the "
        f"clock with {JOBS} jobs, {len(steps)} steps"
    )
    folders = collections.Counter()
    for seconds, path in steps:
        folders[path.split("/")[0]] += seconds
    for folder, seconds in folders.most_common():
        print(f"  {seconds:7.0f} s  {folder}")
    print(f"slowest (goal {MOST_OF_A_FILE} s):")
    for seconds, path in steps[:10]:
        print(f"  {seconds:7.1f} s  {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("targets", nargs="*", default=["dlc"], metavar="TARGET")
    parser.add_argument("--keep", metavar="FOLDER")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as other:
        folder = options.keep or other
        times = os.path.join(folder, "times.txt")
        configure(folder)
        wall = ninja(folder, options.targets, times)
        report(read(times), wall)
        for path, goal in TOUCHED.items():
            os.utime(os.path.join(ROOT, path))
            seconds = ninja(folder, options.targets, times)
            print(f"after a change of {path}: {seconds:.0f} s (goal {goal})")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--launch"]:
        sys.exit(launch(sys.argv[2:]))
    main()
