#!/usr/bin/env python3
"""The hardware ledger (tools/scripts/dlc-ledger): what it counts, and that kernels stay verified
when they are renamed."""
import copy
import glob
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TEST = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(TEST, "conformance"))
from cases import Cases, Failure  # noqa: E402
from dlc_tool import BUILD, dlc  # noqa: E402

sys.path.insert(0, HERE)
import ledger  # noqa: E402

OUT = os.path.join(BUILD, "test-logs", "ledger")
RESULTS = os.path.join(OUT, "results")
FILE = os.path.join(RESULTS, "some-gpu-2026-01-01.json")
# relu of f32 is `dlc_relu` in the one and `dlc_relu_0` in the other, with another kernel of that
# name before it.
ONE = "dl 1\nmodel One {\n  forward(x: f32[1000]) -> (y: f32[1000]) {\n    y = relu(x)\n  }\n}\n"
TWO = ("dl 1\n# Another model with the same kernel.\nmodel Two {\n  forward(x: f32[1000], h: f16[64]) -> (z: f16[64], y: f32[1000]) {\n"
       "    z = relu(h)\n    y = relu(x)\n  }\n}\n")


def model(name, text):
    source, package = (os.path.join(OUT, f"{name}.{ending}") for ending in ("dl", "bin"))
    with open(source, "w", encoding="utf-8") as out:
        out.write(text)
    dlc("compile", source, "--target", "cuda", "--chains", "never", "-q", "-o", package)
    return package


def run(*arguments, expect=0):
    process = subprocess.run(
        [sys.executable,
         os.path.join(HERE, "ledger.py"), "--results", RESULTS, *arguments], capture_output=True,
        text=True)
    if process.returncode != expect:
        raise Failure(
            f"exit status {process.returncode}, expected {expect}: {process.stdout[-2000:]}{process.stderr[-2000:]}"
        )
    return process.stdout + process.stderr


def has(text, *patterns):
    for pattern in patterns:
        if not re.search(pattern, text, re.M):
            raise Failure(f"expected '{pattern}' in\n{text[-3000:]}")


def put(content):
    with open(FILE, "w", encoding="utf-8") as out:
        json.dump(content, out)


def result_for(package):
    kernels = {
        text: {"kind": kind, "name": name, "cases": ["cases/one"], "failed": [], "verified": True}
        for name, kind, text in ledger.kernels_of(package)
    }
    return {
        "format": 1, "emulated": False, "gpu": "Some GPU", "architecture": 90, "commit": "0" * 40,
        "kernels": kernels
    }


def by_text(one):
    real = result_for(one)
    put({**real, "emulated": True})
    has(run(one), r"written on the emulator and does not count",
        r"^models: 0 of 1 kernels verified on hardware \(no GPU yet; 0 result")
    put(real)
    has(run(one), r"^models: 1 of 1 kernels verified on hardware \(Some GPU; 1 result file ",
        r": all 1 verified$")
    wrong = copy.deepcopy(real)
    kernel, = wrong["kernels"].values()
    kernel.update(verified=False, failed=["cases/one"])
    put(wrong)
    has(run(one), r"1 of 1 unverified: \w+ \(map, wrong on Some GPU\)$")
    kernel.update(failed=[], cases=[])
    put(wrong)
    has(run(one), r"1 of 1 unverified: \w+ \(map\)$")
    put({})
    has(run(one, expect=2), r"error: .*some-gpu-2026-01-01.json is no result of ./check")


def by_ptx(one, two):
    put(result_for(one))
    has(run(two), r"^models: 0 of 2 kernels verified")
    run("--take-over", FILE, one)
    has(run(two), r"^models: 1 of 2 kernels verified",
        r"1 of 2 unverified: relu \(map\)$|1 of 2 unverified: dlc_relu \(map\)$")
    with open(ledger.beside(FILE), encoding="utf-8") as source:
        keys = json.load(source)
    for change in ({"nvrtc": "12.0.1"}, {"architecture": "sm_80"}):
        with open(ledger.beside(FILE), "w", encoding="utf-8") as out:
            json.dump({**keys, **change}, out)
        has(run(two), r"^models: 0 of 2 kernels verified")
    os.remove(ledger.beside(FILE))
    # As ./check writes it.
    put({
        **result_for(one), "format": 2,
        "keys": {key: keys[key] for key in ("nvrtc", "architecture", "ptx")}
    })
    has(run(two), r"^models: 1 of 2 kernels verified")


def of_other_texts(one, two):
    put(result_for(two))
    has(run("--take-over", FILE, one, expect=1),
        r"^error: \d of the 2 texts of .* are in none of these files.* commit 0000")


def committed():
    """Each result that was taken over has a key for each of its texts."""
    for path in glob.glob(os.path.join(ledger.RESULTS, "*.ptx.json")):
        keys = ledger.read_json(path)
        if ledger.beside(os.path.join(ledger.RESULTS, keys["of"])) != path:
            raise Failure(f"{path} is not beside {keys['of']}")
        texts = {
            text[:ledger.DIGITS]
            for text in ledger.read_json(os.path.join(ledger.RESULTS, keys["of"]))["kernels"]
        }
        if texts != set(keys["ptx"]):
            raise Failure(f"{path} has other texts than {keys['of']}")
    found = ledger.Ledger(ledger.RESULTS)
    if not found.confirmed:
        raise Failure("no kernel is confirmed")


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(RESULTS)
    cases = Cases()
    one, two = model("one", ONE), model("two", TWO)
    with cases.case("a result counts by the texts in it"):
        by_text(one)
    with cases.case("the results in the repository are whole"):
        committed()
    if ledger.ptx_of([one], "sm_90a") is None:
        cases.leave_out(
            2, f"NVRTC {ledger.PINNED} is not installed; DLC_REAL_NVRTC names its library")
    else:
        with cases.case(
                "a renamed kernel stays verified, by PTX of the same NVRTC and architecture"):
            by_ptx(one, two)
        with cases.case("a result is taken over with its own texts alone"):
            of_other_texts(one, two)
    return cases.finish()


sys.exit(main())
