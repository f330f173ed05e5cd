#!/usr/bin/env python3
"""The folder of tools/scripts/gpu-check on the emulated GPU: it is green, it says what is wrong where something is, it goes on
where it was stopped, and the ledger reads what it writes.

    run_check.py           one in PART of the kernels' cases, another part at each commit
    run_check.py --all     the whole folder, on demand: some minutes"""
import argparse
import glob
import gzip
import json
import os
import re
import shutil
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TEST = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(TEST, "conformance"))
from cases import Cases, Failure  # noqa: E402
from dlc_tool import BUILD  # noqa: E402

OUT = os.path.join(BUILD, "test-logs", "gpu-check")
FOLDER, LIBRARIES = os.path.join(OUT, "folder"), os.path.join(BUILD, "lib")
PART = 48


def run(*command, expect=0, **environment):
    process = subprocess.run([str(part) for part in command], capture_output=True, text=True, errors="replace", cwd="/",
                             env={**os.environ, **environment})
    if process.returncode != expect:
        raise Failure(f"exit status {process.returncode}, expected {expect}, from {command[0]}\n"
                      f"{process.stdout[-3000:]}{process.stderr[-1000:]}")
    return process.stdout


def check(*arguments, expect=0, **environment):
    return run(sys.executable, "-S", os.path.join(FOLDER, "check"), "--emulator", LIBRARIES, *arguments, expect=expect,
               **environment)


def result():
    path, = glob.glob(os.path.join(FOLDER, "results", "*.json"))
    if not os.path.basename(path).startswith("emulator-"):
        raise Failure(f"{path} does not say that it is the emulator's")
    with open(path, encoding="utf-8") as source:
        found = json.load(source)
    if found["emulated"] is not True:
        raise Failure("the result does not say that it is the emulator's")
    return found


def has(text, *patterns):
    for pattern in patterns:
        if not re.search(pattern, text, re.M):
            raise Failure(f"expected '{pattern}' in\n{text[-3000:]}")


def planted_value():
    """One expected value is changed: the case fails by name, its kernels are not verified, the others are."""
    case = min(glob.glob(os.path.join(FOLDER, "cases", "digits-*")))
    path = os.path.join(case, "expected.bin.gz")
    with open(path, "rb") as source:
        before = source.read()
    with open(path, "wb") as out:
        out.write(gzip.compress(struct.pack("<f", 4.0) + gzip.decompress(before)[4:]))  # no probability
    try:
        said = check("--only", "cases", "--fresh", expect=1)
    finally:
        with open(path, "wb") as out:
            out.write(before)
    has(said, rf"^FAILED cases {os.path.basename(case)} .*values are wrong: value 0 is .*, expected 4", r"^\d+ passed, 1 failed$")
    with open(os.path.join(FOLDER, "manifest.json"), encoding="utf-8") as source:
        manifest = json.load(source)
    entry, = (entry for entry in manifest["cases"] if entry["name"] == os.path.basename(case))
    kernels = result()["kernels"]
    if any(kernels[kernel["text_sha256"]]["verified"] for kernel in entry["kernels"]):
        raise Failure("kernels of the failed case count as verified")
    if not any(kernel["verified"] for kernel in kernels.values()):
        raise Failure("nothing else is verified")


def unlaunched():
    """A kernel of a package that no run launches is not verified, though the case passes."""
    path = os.path.join(FOLDER, "manifest.json")
    with open(path, encoding="utf-8") as source:
        before = source.read()
    manifest = json.loads(before)
    manifest["cases"][0]["kernels"].append({"name": "dlc_other", "kind": "map", "text_sha256": "0" * 64, "launches_at_load": 0})
    with open(path, "w", encoding="utf-8") as out:
        json.dump(manifest, out)
    try:
        check("--only", "cases")
        kernels = result()["kernels"]
    finally:
        with open(path, "w", encoding="utf-8") as out:
            out.write(before)
    if kernels["0" * 64]["verified"]:
        raise Failure("a kernel that nothing launched counts as verified")
    if not all(kernels[kernel["text_sha256"]]["verified"] for kernel in manifest["cases"][0]["kernels"][:1]):
        raise Failure("a kernel that ran does not count as verified")


def lost_context():
    """Contexts are lost: each case fails with the words of the driver, and the next one still runs."""
    names = [os.path.basename(path) for path in sorted(glob.glob(os.path.join(FOLDER, "cases", "*")))]
    # Each process counts its own calls, so all fail the same way; one that is only known fails again after --fresh.
    said = check("--only", "cases", "--fresh", expect=1, DLC_EMU_FAULT="cuStreamSynchronize:1:700")
    has(said, rf"^FAILED cases {names[0]} .*CUDA_ERROR_ILLEGAL_ADDRESS", rf"^0 passed, {len(names)} failed$")


def resumed():
    """Cases that were right are not run again; those that failed are."""
    said = check("--only", "cases")
    if "as found before" in said:
        raise Failure("a failed case was taken for right")
    again = check("--only", "cases")
    count = len(glob.glob(os.path.join(FOLDER, "cases", "*")))
    if again.count("as found before") != count:
        raise Failure(f"{again.count('as found before')} of {count} cases were taken from before")


def ledger():
    """Emulated results do not count; the same from a GPU does; a text that changed is unverified."""
    place = os.path.join(OUT, "results")
    os.makedirs(place)
    model = os.path.join(OUT, "model.bin")
    with gzip.open(glob.glob(os.path.join(FOLDER, "cases", "digits-*", "model.bin.gz"))[0]) as source, open(model, "wb") as out:
        shutil.copyfileobj(source, out)
    found = result()
    target = os.path.join(place, "some-gpu-2026-01-01.json")

    def said(content):
        with open(target, "w", encoding="utf-8") as out:
            json.dump(content, out)
        return run(sys.executable, os.path.join(HERE, "ledger.py"), "--results", place, model)

    has(said(found), r"written on the emulator and does not count", r"^0 of (\d+) kernels verified on hardware \(no GPU yet; 0 result files")
    real = {**found, "emulated": False, "gpu": "Some GPU"}
    has(said(real), r"^(\d+) of \1 kernels verified on hardware \(Some GPU; 1 result file ", r": all \d+ verified$")
    identity = next(kernel["text_sha256"] for kernel in json.loads(run(os.path.join(FOLDER, "bin", "dlc"), "inspect", model, "--json"))[
        "programs"][0]["kernels"])
    changed = {key: value for key, value in found["kernels"].items() if key != identity}
    has(said({**real, "kernels": changed}), r": 1 of \d+ unverified: \w+ \(\w+\)$", r"^\d+ of \d+ kernels verified")
    wrong = {**found["kernels"], identity: {**found["kernels"][identity], "verified": False}}
    has(said({**real, "kernels": wrong}), r"unverified: \w+ \(\w+, wrong on Some GPU\)$")
    with open(target, "w", encoding="utf-8") as out:
        out.write("{}")
    run(sys.executable, os.path.join(HERE, "ledger.py"), "--results", place, model, expect=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(OUT)
    cases = Cases()
    with cases.case("make the folder"):
        print(run(sys.executable, os.path.join(HERE, "make_folder.py"), FOLDER, *([] if options.all else ["--part", PART])))
    with cases.case("./check is green on the emulator"):
        said = check(*(["--minutes", 60] if options.all else []))
        print(said)
        has(said, r"^[1-9]\d* passed, 0 failed$")
        found = result()
        if not found["benchmarks"] or "grid_barrier_us" not in found["calibration"]:
            raise Failure("no benchmarks, or no calibration")
        # Packages also hold kernels for GPUs and shapes that no case has.
        unverified = [kernel["name"] for kernel in found["kernels"].values() if not kernel["verified"]]
        if len(unverified) * 10 > len(found["kernels"]):
            raise Failure(f"nothing failed, and yet are unverified: {', '.join(unverified)}")
    with cases.case("a result of the emulator goes into no repository"):
        check("--repository", OUT, expect=2)
    if not options.all:
        for test in (planted_value, lost_context, resumed, unlaunched, ledger):
            with cases.case(test.__doc__.split(":")[0].split(";")[0]):
                test()
    with cases.case("no GPU: exit status 5 and the reason"):
        said = run(sys.executable, "-S", os.path.join(FOLDER, "check"), expect=5, DLC_LIBCUDA="/nowhere/libcuda.so.1")
        has(said, r"cannot load the driver library", r"^error: no GPU can be used")
    if not options.all:
        left = len(glob.glob(os.path.join(FOLDER, "cases", "*")))
        cases.leave_out(1, f"the folder's other cases: this is 1 in {PART} of them, {left}; checks/46-gpu-check --all runs all")
    if cases.failed == 0:
        shutil.rmtree(OUT)
    return cases.finish()


sys.exit(main())
