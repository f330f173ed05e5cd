#!/usr/bin/env python3
"""The folder of tools/scripts/gpu-check, made whole and run on the emulated GPU: it is green, it says what is wrong where
something is, and it goes on where it was stopped.

    run_check.py           one in PARTS of the cases, another part at each commit
    run_check.py --all     all cases, on demand: half an hour"""
import argparse
import glob
import gzip
import json
import math
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TEST = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(TEST, "conformance"))
from cases import Cases, Failure  # noqa: E402
from dlc_tool import BUILD, TURN, dlc  # noqa: E402

sys.path.insert(0, HERE)
import make_folder  # noqa: E402
import weights  # noqa: E402

OUT = os.path.join(BUILD, "test-logs", "gpu-check")
FOLDER, LIBRARIES = os.path.join(OUT, "folder"), os.path.join(BUILD, "lib")
PARTS = 64
EMULATOR = {"DLC_LIBCUDA": os.path.join(LIBRARIES, "libdlc_cuda_emu.so"),
            "DLC_LIBNVRTC": os.path.join(LIBRARIES, "libdlc_nvrtc_emu.so")}
# exp has a kernel of its own between two products.
THREE = """dl 1
model Three {
  forward(x: f32[6,20], w: f32[20,30], v: f32[30,10]) -> (y: f32[6,10]) {
    a = x @ w
    b = exp(a * 0.1) @no_fuse
    y = b @ v
  }
}
"""


def run(*command, expect=0, **environment):
    process = subprocess.run([str(part) for part in command], capture_output=True, text=True, errors="replace", cwd="/",
                             env={**os.environ, **environment})
    if process.returncode != expect:
        raise Failure(f"exit status {process.returncode}, expected {expect}, from {command[0]}\n"
                      f"{process.stdout[-3000:]}{process.stderr[-1000:]}")
    return process.stdout


def check(*arguments, expect=0, **environment):
    return run(sys.executable, "-S", os.path.join(FOLDER, "check"), "--emulator", LIBRARIES, "--turn", f"{TURN}/{PARTS}", *arguments,
               expect=expect, **environment)


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


def taken():
    """The names of this turn's cases, networks first."""
    with open(os.path.join(FOLDER, "manifest.json"), encoding="utf-8") as source:
        cases = json.load(source)["cases"]
    return [case["name"] for number, case in enumerate(cases) if number % PARTS == TURN % PARTS]


def same_noise():
    """Numbers that both machines make are the same."""
    place = os.path.join(OUT, "noise")
    os.makedirs(place)
    plan, expected = make_folder.Plan(), []
    plan.run("all")
    for seed, dtype in enumerate(("f64", "f32", "f16", "bf16"), start=4000000000):
        for scale, offset in ((1.75, 0), (87.5, 0), (0.3, 0.1)):
            plan.input(dtype, [7, 301], f"noise {seed} {scale} {offset}")
            expected.append(make_folder.noise(seed, scale, offset, dtype, [7, 301]))
    for dtype, low, high in (("i64", -5, 2**40), ("i8", -4, 4), ("ui8", 0, 4), ("f16", -4, 4), ("i32", -4, 4), ("i1", 0, 1)):
        plan.input(dtype, [999], f"integers 3 {low} {high}")
        expected.append(make_folder.integers(3, low, high, dtype, [999]))
    plan.write(place)
    run(os.path.join(BUILD, "bin", "gpu-case"), place, "--inputs", os.path.join(place, "made"))
    with open(os.path.join(place, "made"), "rb") as source:
        if source.read() != b"".join(map(make_folder.to_bytes, expected)):
            raise Failure("gpu-case makes other numbers than make_folder.py")


def wrong_kernel():
    """A wrong kernel is named; those before and after it are right."""
    place = os.path.join(OUT, "wrong")
    os.makedirs(place)
    model, outlined, package = (os.path.join(place, name) for name in ("model.dl", "outlined.mlir", "model.bin"))
    with open(model, "w", encoding="utf-8") as out:
        out.write(THREE)
    with open(os.path.join(place, "plan.txt"), "w", encoding="utf-8") as out:
        out.write("run one\nin f32 6 20 = noise 1 1 0\nin f32 20 30 = noise 2 1 0\nin f32 30 10 = noise 3 1 0\nout y roundings 600\n")
    dlc("compile", model, "--target", "cpu,cuda", "--compile-to=outline", "-o", outlined)
    with open(outlined, encoding="utf-8") as source:
        text = source.read()
    cuda = text.index("module @cuda")
    command = [os.path.join(BUILD, "bin", "gpu-case"), place]
    for changed, status in ((text, 0), (text[:cuda] + text[cuda:].replace("dl.exp ", "dl.tanh "), 4)):
        with open(outlined, "w", encoding="utf-8") as out:
            out.write(changed)
        dlc("compile", outlined, "--compile-from=outline", "-q", "-o", package)
        said = run(*command, expect=status, DLC_CACHE_DIR="", **EMULATOR)
        named = re.findall(r"^FAILED kernel '(\w+)'", said, re.M)
        right = set(re.findall(r"^replayed (\w+)", said, re.M))
        if len(named) != (status > 0) or any("exp" not in name and "mul" not in name for name in named):
            raise Failure(f"these kernels are named: {named}\n{said}")
        if not named and len(right) < 3 or named and (not right or right & set(named)):
            raise Failure(f"these kernels are right: {right}\n{said}")
    has(said, r"^FAILED y, one: \d+ of 60 values are wrong", r"^1 outputs, 2 wrong$")


def planted_rule():
    """A case that fails is named, and its kernels are not verified; those of others are."""
    name = "digits-f32"  # sums of f32 in other orders: the bits of the GPU are not those of the CPU
    with open(os.path.join(FOLDER, "manifest.json"), encoding="utf-8") as source:
        number = [case["name"] for case in json.load(source)["cases"]].index(name)
    path = os.path.join(FOLDER, "cases", name, "reduced.txt.gz")
    with open(path, "rb") as source:
        before = source.read()
    with open(path, "wb") as out:  # other bits are wrong, however near
        text = gzip.decompress(before).decode()
        out.write(gzip.compress(re.sub(r"^(out \S+) roundings \d+$", r"\1 within 0 -1", text, flags=re.M).encode()))
    try:
        said = check("--only", "cases", "--fresh", "--turn", f"{number % PARTS}/{PARTS}", expect=1)
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
    """Contexts are lost: each case fails with the words of the driver, and the next one still runs."""
    # Each process counts its own calls, so all fail the same way; one that is only known fails again after --fresh.
    said = check("--only", "cases", "--fresh", expect=1, DLC_EMU_FAULT="cuStreamSynchronize:1:700")
    has(said, rf"^FAILED cases {taken()[0]} .*CUDA_ERROR_ILLEGAL_ADDRESS", rf"^0 passed, {len(taken())} failed$")


def resumed():
    """Cases that were right are not run again; those that failed are."""
    said = check("--only", "cases")
    if "as found before" in said:
        raise Failure("a failed case was taken for right")
    again = check("--only", "cases")
    if again.count("as found before") != len(taken()):
        raise Failure(f"{again.count('as found before')} of {len(taken())} cases were taken from before")


def unlaunched():
    """A kernel that no run launches is not verified, though its case passes."""
    path = os.path.join(FOLDER, "results", "state")
    with open(path, encoding="utf-8") as source:
        first, *lines = source.read().splitlines()
    entries = [json.loads(line) for line in lines]
    kernel = next(kernel for _, found in entries for kernel in (found["kernels"] if "kernels" in found else []))
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
    if sum(not known["verified"] for known in kernels.values()) * 4 > len(kernels):
        raise Failure("kernels that ran do not count as verified")


def benchmarks_compile():
    """The models of the benchmarks compile, but for the largest."""
    place = os.path.join(OUT, "benchmarks")
    os.makedirs(place)
    with open(os.path.join(FOLDER, "manifest.json"), encoding="utf-8") as source:
        entries = json.load(source)["benchmarks"]
    model, package, file = (os.path.join(place, name) for name in ("model.dl", "model.bin", "weights.safetensors"))
    count = 0
    for entry in entries:
        if sum(math.prod(dims) for dims in entry["weights"].values()) > 16 << 20:
            continue
        with gzip.open(os.path.join(FOLDER, "bench", entry["file"])) as source, open(model, "wb") as out:
            shutil.copyfileobj(source, out)
        weights.write(file, entry["weights"])
        dlc("compile", model, "--target", "cuda", *entry["flags"], "-q", "-o", package, *(["--weights", file] if entry["weights"] else []))
        facts = json.loads(dlc("inspect", package, "--json"))
        if [one["name"] for one in facts["inputs"]] != [text.split("=")[0] for text in entry["inputs"]]:
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
    # Packages may hold kernels for other GPUs.
    unverified = [kernel["name"] for kernel in found["kernels"].values() if not kernel["verified"]]
    if len(unverified) * 20 > len(found["kernels"]):
        raise Failure(f"nothing failed, and yet are unverified: {', '.join(unverified)}")
    keys, cases = found["keys"], [text for text, kernel in found["kernels"].items() if kernel["kind"] != "words"]
    if keys["nvrtc"] != "none" and any(text[:16] not in keys["ptx"] for text in cases):
        raise Failure("kernels have no key")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
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
    for test in (same_noise, wrong_kernel, benchmarks_compile, *(() if options.all else (planted_rule, lost_context, resumed, unlaunched))):
        with cases.case(test.__doc__.split(":")[0].split(";")[0]):
            test()
    with cases.case("a result of the emulator goes into no repository"):
        check("--repository", OUT, expect=2)
    with cases.case("no GPU: exit status 5 and the reason"):
        said = run(sys.executable, "-S", os.path.join(FOLDER, "check"), expect=5, DLC_LIBCUDA="/nowhere/libcuda.so.1")
        has(said, r"cannot load the driver library", r"^error: no GPU can be used")
    if not options.all:
        cases.leave_out(1, f"the folder's other cases: this is 1 in {PARTS} of them, {len(taken())}; checks/46-gpu-check --all runs all")
    if cases.failed == 0:
        shutil.rmtree(OUT)
    return cases.finish()


sys.exit(main())
