#!/usr/bin/env python3
"""The folder of tools/scripts/gpu-check, made whole and run on the emulated GPU: it is green, it
says what is wrong where something is, and it goes on where it was stopped.

    run_check.py           one in PARTS of the cases (cases.py)
    run_check.py --all     all cases, on demand: half an hour"""
import argparse
import glob
import gzip
import json
import math
import os
import re
import shutil
import sys
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
TEST = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(TEST, "conformance"))
from cases import SEED, Cases, Failure, takes  # noqa: E402
from dlc_tool import BUILD, dlc  # noqa: E402

sys.path.insert(0, HERE)
import weights  # noqa: E402
from case_tests import LIBRARIES, OUT, TESTS, has, run  # noqa: E402

FOLDER = os.path.join(OUT, "folder")
PARTS = 64


def check(*arguments, expect=0, **environment):
    return run(sys.executable, "-S", os.path.join(FOLDER, "check"), "--emulator", LIBRARIES,
               "--turn", f"{SEED}/{PARTS}", *arguments, expect=expect, **environment)


def result():
    path, = glob.glob(os.path.join(FOLDER, "results", "*.json"))
    if not os.path.basename(path).startswith("emulator-"):
        raise Failure(f"{path} does not say that it is the emulator's")
    with open(path, encoding="utf-8") as source:
        found = json.load(source)
    if found["emulated"] is not True:
        raise Failure("the result does not say that it is the emulator's")
    return found


def taken():
    """The names of this turn's cases, networks first."""
    with open(os.path.join(FOLDER, "manifest.json"), encoding="utf-8") as source:
        cases = json.load(source)["cases"]
    return [case["name"] for case in cases if takes(case["name"], PARTS)]


def planted_rule():
    """A case that fails is named, and its kernels are not verified; those of others are."""
    name = "digits-f32"  # sums of f32 in other orders: the bits of the GPU are not those of the CPU
    path = os.path.join(FOLDER, "cases", name, "reduced.txt.gz")
    with open(path, "rb") as source:
        before = source.read()
    with open(path, "wb") as out:  # other bits are wrong, however near
        text = gzip.decompress(before).decode()
        out.write(
            gzip.compress(
                re.sub(r"^(out \S+) roundings \d+$", r"\1 within 0 -1", text, flags=re.M).encode()))
    try:
        turn = -zlib.crc32(name.encode()) % PARTS
        said = check("--only", "cases", "--fresh", "--turn", f"{turn}/{PARTS}", expect=1)
    finally:
        with open(path, "wb") as out:
            out.write(before)
    has(said, rf"^FAILED cases {name} .*values are wrong: value \d+ is ", r"^\d+ passed, 1 failed$")
    kernels = result()["kernels"].values()
    own = [kernel for kernel in kernels if f"cases/{name}" in kernel["failed"]]
    if not own or any(kernel["verified"] for kernel in own):
        raise Failure("kernels of the failed case count as verified")
    if not any(kernel["verified"] for kernel in kernels):
        raise Failure("nothing else is verified")


def lost_context():
    """Contexts are lost: each case fails with the words of the driver, and the next one still runs.
    """
    # Each process counts its own calls, so all fail the same way; one that is only known fails
    # again after --fresh.
    said = check("--only", "cases", "--fresh", expect=1, DLC_EMU_FAULT="cuStreamSynchronize:1:700")
    has(said, rf"^FAILED cases {taken()[0]} .*CUDA_ERROR_ILLEGAL_ADDRESS",
        rf"^0 passed, {len(taken())} failed$")


def resumed():
    """Cases that were right are not run again; those that failed are."""
    said = check("--only", "cases")
    if "as found before" in said:
        raise Failure("a failed case was taken for right")
    again = check("--only", "cases")
    if again.count("as found before") != len(taken()):
        raise Failure(
            f"{again.count('as found before')} of {len(taken())} cases were taken from before")


def unlaunched():
    """A kernel that no run launches is not verified, though its case passes."""
    path = os.path.join(FOLDER, "results", "state")
    with open(path, encoding="utf-8") as source:
        first, *lines = source.read().splitlines()
    entries = [json.loads(line) for line in lines]
    kernel = next(kernel for _, found in entries
                  for kernel in (found["kernels"] if "kernels" in found else []))
    for _, found in entries:
        for each in found.get("kernels", []):
            if each["text_sha256"] == kernel["text_sha256"]:
                each["ran"] = False
    with open(path, "w", encoding="utf-8") as out:
        out.write("\n".join([first, *map(json.dumps, entries)]) + "\n")
    check("--only", "cases")
    kernels = result()["kernels"]
    if kernels[kernel["text_sha256"]]["verified"]:
        raise Failure("a kernel that nothing launched counts as verified")
    # A kernel with variants has one for all GPUs, which often runs nowhere.
    ran = {
        each["text_sha256"] for _, found in entries for each in found.get("kernels", [])
        if each["ran"]
    }
    missing = [text for text in ran if not kernels[text]["verified"]]
    if missing or len(ran) < 2:
        raise Failure(f"{len(missing)} of {len(ran)} kernels that ran do not count as verified")


def benchmarks_compile():
    """The models of the benchmarks compile, but for the largest."""
    place = os.path.join(OUT, "benchmarks")
    os.makedirs(place)
    with open(os.path.join(FOLDER, "manifest.json"), encoding="utf-8") as source:
        entries = json.load(source)["benchmarks"]
    model, package, file = (os.path.join(place, name)
                            for name in ("model.dl", "model.bin", "weights.safetensors"))
    count = 0
    for entry in entries:
        if sum(math.prod(dims) for dims in entry["weights"].values()) > 16 << 20:
            continue
        with gzip.open(os.path.join(FOLDER, "bench", entry["file"])) as source, open(model,
                                                                                     "wb") as out:
            shutil.copyfileobj(source, out)
        weights.write(file, entry["weights"])
        dlc("compile", model, "--target", "cuda", *entry["flags"], "-q", "-o", package,
            *(["--weights", file] if entry["weights"] else []))
        facts = json.loads(dlc("inspect", package, "--json"))
        if [one["name"]
                for one in facts["inputs"]] != [text.split("=")[0] for text in entry["inputs"]]:
            raise Failure(f"{entry['name']} is fed {entry['inputs']}")
        count += 1
    if count * 2 < len(entries):
        raise Failure(f"only {count} of {len(entries)} were compiled")


def whole_result():
    found = result()
    if not found["benchmarks"] or "grid_barrier_us" not in found["calibration"]:
        raise Failure("no benchmarks, or no calibration")
    if found["benchmarks"][0]["name"] != "empty kernel":
        raise Failure("no row of an empty kernel")
    # Packages may hold kernels for other GPUs, and variants for shapes that a case does not have.
    serving_all = [
        kernel for kernel in found["kernels"].values() if kernel["failed"] or not kernel["variant"]
    ]
    unverified = [kernel["name"] for kernel in serving_all if not kernel["verified"]]
    if len(unverified) * 20 > len(serving_all):
        raise Failure(f"nothing failed, and yet are unverified: {', '.join(unverified)}")
    keys, cases = found["keys"], [
        text for text, kernel in found["kernels"].items() if kernel["kind"] != "words"
    ]
    if keys["nvrtc"] != "none" and any(text[:16] not in keys["ptx"] for text in cases):
        raise Failure("kernels have no key")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    global PARTS
    if options.all:
        PARTS = 1
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(OUT)
    cases = Cases()
    with cases.case("make the folder"):
        print(run(sys.executable, os.path.join(HERE, "make_folder.py"), FOLDER))
    with cases.case("./check is green on the emulator"):
        said = check(*(["--minutes", 120] if options.all else []))
        print(said)
        has(said, r"^[1-9]\d* passed, 0 failed$")
        whole_result()
    for test in (*TESTS, benchmarks_compile, *(() if options.all else
                                               (planted_rule, lost_context, resumed, unlaunched))):
        with cases.case(test.__doc__.split(":")[0].split(";")[0]):
            test()
    with cases.case("a result of the emulator goes into no repository"):
        check("--repository", OUT, expect=2)
    with cases.case("no GPU: exit status 5 and the reason"):
        said = run(sys.executable, "-S", os.path.join(FOLDER, "check"), expect=5,
                   DLC_LIBCUDA="/nowhere/libcuda.so.1")
        has(said, r"cannot load the driver library", r"^error: no GPU can be used")
    if not options.all:
        cases.leave_out(
            1,
            f"the folder's other cases: this is 1 in {PARTS} of them, {len(taken())}; checks/46-gpu-check --all runs all"
        )
    if cases.failed == 0:
        shutil.rmtree(OUT)
    return cases.finish()


sys.exit(main())
