#!/usr/bin/env python3
"""Makes the folder that verifies dlc on a machine with a GPU (tools/scripts/gpu-check): the
compiler as one static program, a few tools, models as source, what to feed them, and the command
`check` in it, which compiles them there and compares GPU and CPU.

    make_folder.py FOLDER

The words' answers are the emulator's. How far a numeric row's result may lie from the CPU's follows
from what PyTorch computes here, in f64, from the same inputs."""
import argparse
import collections
import concurrent.futures
import datetime
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
TEST = os.path.dirname(HERE)
for folder in ("numeric", "conformance", "nvrtc"):
    sys.path.insert(0, os.path.join(TEST, folder))
import numpy as np  # noqa: E402
import torch  # noqa: E402

import accuracy as acc  # noqa: E402
import benchmarks  # noqa: E402
import kernel_corpus  # noqa: E402
import networks  # noqa: E402
import oracles  # noqa: E402
from cases import Failure  # noqa: E402
from dlc_tool import BUILD, ROOT, run_tool  # noqa: E402
from modules import LIMITS, Case, for_targets, module_text, to_bytes, values  # noqa: E402
from rows import ROWS  # noqa: E402
from rows.row import EVERY16  # noqa: E402

# Rows of one model: a case is verified as a whole, so few; each is a compile of its own, so not too
# few.
CHUNK = 20
LIMIT = 30 << 20
LARGEST = 20_000
JOBS = int(os.environ.get("DLC_JOBS", os.cpu_count()))
# How far a network's outputs may lie from the CPU's, in roundings of the largest value: weights,
# activations and sums of up to twenty layers are each rounded, on both sides.
ROUNDINGS = {"f32": 600, "tf32": 80, "f16": 80, "bf16": 80}
TF32_BITS = 11


# Of each row four sizes: none or one, within a vector, a whole tile, and one beyond the largest
# tile.
def picked(sizes):
    sizes = list(sizes)
    wanted = [
        sizes[0],
        min(sizes, key=lambda n: abs(n - 9)),
        min(sizes, key=lambda n: abs(n - 64)), sizes[-1]
    ]
    return sorted(set(wanted))


def bearable(cases, sizes):
    """Of the picked sizes those at which the arrays of all cases have at most LARGEST elements. The
    smallest size stays, and where that is 0 and alone, so does the next one: with none of
    everything hardly a kernel has anything to do."""
    def elements(n):
        return sum(
            int(np.prod(case.dims(shape, n))) for case in cases
            for shape in (*case.row.inputs, case.row.result))
    few = picked(sizes)
    kept = [n for n in few if n == few[0] or elements(n) <= LARGEST]
    return kept if kept != [0] else sorted(sizes)[:2]


#-- Inputs that the other machine makes itself (CasePlan.cpp) --------------------------------------

def scrambled(seed, count):
    """splitmix64, as CasePlan.cpp has it."""
    with np.errstate(over="ignore"):
        z = (np.uint64(seed) << np.uint64(32)) + (np.arange(count, dtype=np.uint64)
                                                  + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def stored(numbers, dtype, dims):
    if dtype == "f16":
        narrow = numbers.astype(np.float32)
        numbers = np.where(
            np.abs(narrow) < np.float32(6.2e-5), np.copysign(np.float32(0), narrow), narrow)
    elif dtype == "bf16":
        numbers = numbers.astype(np.float32)
    return torch.from_numpy(np.ascontiguousarray(numbers.reshape(dims))).to(acc.TORCH[dtype])


def noise(seed, scale, offset, dtype, dims):
    bits = scrambled(seed, int(np.prod(dims, dtype=np.int64)))
    total = sum((bits >> np.uint64(shift)) & np.uint64(0xFFFF) for shift in (0, 16, 32, 48))
    numbers = scale * (total.astype(np.float64) / 65536 - 2)
    return stored(np.abs(numbers) + offset if offset > 0 else numbers, dtype, dims)


def integers(seed, low, high, dtype, dims):
    bits = scrambled(seed, int(np.prod(dims, dtype=np.int64)))
    return stored(np.int64(low) + (bits % np.uint64(high - low + 1)).astype(np.int64), dtype, dims)


# kind of values -> factor and offset of noise of about that size
NOISE = {
    "normal": (1.75, 0), "wide": (7, 0), "numbers": (87.5, 0), "positive": (1.75, 0.1),
    "weights": (1, 0)
}


def made_there(kind, dtype, dims, seed):
    """(how plan.txt says it, the tensor) where the kind of values needs no file; else None."""
    if not isinstance(kind, str) or dtype in acc.SMALL_FLOATS:
        return None
    if dtype in acc.FORMATS and kind in NOISE:
        scale, offset = NOISE[kind]
        if kind == "weights":
            scale /= float(np.sqrt(dims[-1])) if dims[-1] else 1
        return f"noise {seed} {scale!r} {offset!r}", noise(seed, scale, offset, dtype, dims)
    if kind == "whole" and dtype != "i1":
        low = -4 if dtype in acc.FORMATS else max(LIMITS[dtype][0], -4)
        return f"integers {seed} {low} 4", integers(seed, low, 4, dtype, dims)
    return None


#-- Cases ------------------------------------------------------------------------------------------

class Plan:
    """Writes plan.txt and inputs.bin as CasePlan.h describes them."""

    def __init__(self, rounding_bits=None):
        self.lines = [f"rounding {rounding_bits}"] if rounding_bits else []
        self.inputs = []

    def run(self, label):
        self.lines.append(f"run {label}")

    def input(self, dtype, dims, source, data=b""):
        self.lines.append(f"in {' '.join([spelt(dtype), *map(str, dims)])} = {source}")
        self.inputs.append(data)

    def output(self, name, rule):
        self.lines.append(f"out {re.sub(r'[^!-~]+', '_', name)} {rule}")

    def write(self, folder, name="plan.txt"):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
            out.write("\n".join(self.lines) + "\n")
        data = b"".join(self.inputs)
        if data:
            with open(os.path.join(folder, "inputs.bin"), "wb") as out:
                out.write(data)


def spelt(dtype):
    """As dlc_dtype_name spells it."""
    return {"ui8": "u8", "i1": "bool"}.get(dtype, dtype)


def rule_of(case, inputs, flags):
    """How far the GPU's values may lie from the CPU's: each lies within the row's bound of the
    exact ones. One line for all elements: a part that grows with the value, so that most bounds are
    kept, and what small values need beside it."""
    bound = acc.in_tf32(case.row.bound) if flags and case.row.bound else case.row.bound
    if bound is None or case.result_dtype not in acc.FORMATS:
        return "exact"
    wide, expected = case.expected(inputs)
    with np.errstate(all="ignore"):
        allowed = 2 * np.broadcast_to(
            np.asarray(bound(expected, wide, case.result_dtype), np.float64), expected.shape)
        size = np.abs(expected)
        finite = np.isfinite(allowed) & np.isfinite(size)
        allowed, size = allowed[finite], size[finite]
        if not allowed.size:
            return "within 0 0"
        large = size >= max(np.median(size), np.finfo(np.float64).tiny)
        relative = float((allowed[large] / size[large]).max()) if large.any() else 0.0
        relative = min(relative, 64 * acc.unit(case.result_dtype)) if np.isfinite(relative) else 0.0
        absolute = float(np.maximum(allowed - relative * size, 0).max())
    # The CPU's value replaces the exact one in the part that grows.
    return f"within {relative * (1 + 2**-7)!r} {absolute!r}"


def numeric_case(folder, phase, sizes, cases, flags=()):
    plan = Plan(TF32_BITS if flags else None)
    for n in bearable(cases, sizes):
        plan.run(f"N = {n}")
        rules = []
        for case in cases:
            generator = np.random.default_rng(zlib.crc32(f"{case.name} {n}".encode()))
            inputs = []
            for number, (shape, (dtype, kind)) in enumerate(zip(case.row.inputs, case.kinds)):
                dims = case.dims(shape, n)
                made = made_there(kind, dtype, dims,
                                  zlib.crc32(f"{case.name} {n} {number}".encode()))
                if made:
                    source, tensor = made
                    plan.input(dtype, dims, source)
                else:
                    tensor = values(kind, dtype, dims, generator)
                    plan.input(dtype, dims, "file", to_bytes(tensor, dtype))
                inputs.append(tensor)
            rules.append((case.name, rule_of(case, inputs, flags)))
        for rule in rules:
            plan.output(*rule)
    plan.write(folder)
    with open(os.path.join(folder, "model.mlir"), "w", encoding="utf-8") as out:
        out.write(for_targets(module_text(cases, sizes), phase))


def numeric_jobs():
    """(name, facts for the manifest, function, its arguments behind the folder)."""
    groups = collections.defaultdict(list)
    for row in ROWS:
        if tuple(row.sizes) == (EVERY16,):
            continue
        for dtype in row.dtypes:
            if dtype in acc.HELD or row.result_dtype in acc.HELD:  # computed as the others are
                continue
            case = Case(row, dtype)
            groups[row.phase, tuple(row.sizes), ()].append(case)
            is_product = hasattr(row.bound,
                                 "magnitude") or row.bound is None and row.values == "whole"
            if dtype == "f32" and is_product:
                groups[row.phase, tuple(row.sizes), ("--precision", "tf32")].append(case)
    chunks = [(phase, sizes, flags, members[i:i + CHUNK])
              for (phase, sizes, flags), members in groups.items()
              for i in range(0, len(members), CHUNK)]
    for number, (phase, sizes, flags, members) in enumerate(chunks):
        ops = sorted({case.row.op for case in members})
        title = f"{', '.join(ops[:4])}{', ...' if len(ops) > 4 else ''}{' in tf32' if flags else ''}"
        facts = {
            "name": f"rows{number:03}" + ("-tf32" if flags else ""), "title": title,
            "sources": ["model.mlir"], "flags": ["--compile-from=" + phase, *flags]
        }
        yield facts, numeric_case, (phase, sizes, members, flags)


def constants_of(text):
    return {name: int(value) for name, value in re.findall(r"^const (\w+) = (\d+)\s*$", text, re.M)}


# Networks whose sequences may have any length: beside that of the conformance tests these, so that
# the variants of their kernels for few rows, some and many run, too.
LENGTHS = {"bert": (1, 20, 128), "gpt2": (1, 20, 128), "text_lstm": (1, 20), "text_bilstm": (1, 20)}
# Elements of an input, above which the emulator runs a network for one batch alone.
MANY = 20_000


def network_plan(network, precision, dtype, sizes, is_reduced):
    """Batches of 1 and 3 of inputs like those of the conformance tests, and sequences of other
    lengths."""
    plan = Plan(TF32_BITS if precision == "tf32" else None)
    known = constants_of(networks.text_of(network, "f32", sizes))
    lengths = sorted(
        {min(length, known.get("POSITIONS", length)) for length in LENGTHS.get(network.name, ())})
    for batch, length in (*((1, length) for length in lengths), (1, None), (3, None)):
        inputs = oracles.INPUTS[network.name](np.random.RandomState(batch), batch, known)
        if length is not None:
            inputs = {
                name: np.resize(value,
                                (batch, length)) if value.ndim == 2 else np.minimum(value, length)
                for name, value in inputs.items()
            }
        if is_reduced and batch > 1 and max(value.size
                                            for value in inputs.values()) // batch > MANY:
            continue
        plan.run(f"batch {batch}" + (f", length {length}" if length is not None else ""))
        for number, value in enumerate(inputs.values()):
            is_float = value.dtype.kind == "f"
            seed = 100 * batch + number
            if is_float and not np.array_equal(value, np.round(value)):
                source = f"noise {seed} {0.5 * float(np.abs(value).max())!r} 0"
            else:
                source = f"integers {seed} {int(value.min())} {int(value.max())}"
            plan.input(dtype if is_float else "i64", value.shape, source)
        for name in oracles.outputs_of(network.name):
            plan.output(name, f"roundings {ROUNDINGS[precision]}")
    return plan


def network_case(folder, network, precision):
    """At the sizes at which dlc-ledger counts its kernels, and at those that the emulator bears."""
    dtype, _ = kernel_corpus.PRECISIONS[precision]
    weights = {}
    for form, sizes in (("model", network.shortened), ("reduced",
                                                       {**network.shortened, **network.reduced})):
        path = os.path.join(folder, form + ".dl")
        os.rename(networks.write(network, folder, dtype, sizes), path)
        plan = network_plan(network, precision, dtype, sizes, form == "reduced")
        plan.write(folder, {"model": "plan.txt", "reduced": "reduced.txt"}[form])
        weights[form] = {
            name: list(dims) for name, (dims, _) in networks.asked_weights(path).items()
        }
    return {"weights": weights["model"], "reduced_weights": weights["reduced"]}


def network_jobs():
    for network, precision in kernel_corpus.network_jobs():
        facts = {
            "name": f"{network.name}-{precision}",
            "title": f"the network {network.name} in {precision}",
            "sources": ["model.dl", "reduced.dl"], "flags": kernel_corpus.PRECISIONS[precision][1]
        }
        yield facts, network_case, (network, precision)


# Layers that a cluster computes in one launch: more columns than it takes at once, a norm, a
# softmax.
CHAIN = """dl 1
model Chain {
  a: Linear(96, 128)
  b: Linear(128, 304)
  n: LayerNorm(304)
  c: Linear(304, 12)
  forward(x: DTYPE[1,96]) -> (y: DTYPE[1,12]) {
    y = softmax(c(tanh(n(relu(b(relu(a(x))))))), dim=-1)
  }
}
"""


def chain_case(folder, dtype):
    path = os.path.join(folder, "model.dl")
    with open(path, "w", encoding="utf-8") as file:
        file.write(CHAIN.replace("DTYPE", dtype))
    plan = Plan(None)
    plan.run("batch 1")
    plan.input(dtype, (1, 96), "noise 1 0.5 0")
    plan.output("y", f"roundings {ROUNDINGS[dtype]}")
    plan.write(folder, "plan.txt")
    return {
        "weights": {name: list(dims) for name, (dims, _) in networks.asked_weights(path).items()}
    }


def chain_jobs():
    for dtype in ("f32", "f16", "bf16"):
        facts = {
            "name": f"chain-{dtype}", "title": f"a chain of kernels in {dtype}",
            "sources": ["model.dl"], "flags": ["--chains", "always"]
        }
        yield facts, chain_case, (dtype,)


def build_cases(folder):
    """The manifest's entries; sentences about what could not be made."""
    torch.set_num_threads(1)
    entries, problems = [], []

    def make(job):
        facts, function, arguments = job
        place = os.path.join(folder, "cases", facts["name"])
        os.makedirs(place)
        try:
            facts.update(function(place, *arguments) or {})
            for file in os.listdir(place):
                pack(os.path.join(place, file))
            return facts
        except Failure as failure:
            shutil.rmtree(place)
            return f"{facts['name']} ({facts['title']}): {failure}"

    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for result in pool.map(make, [*network_jobs(), *chain_jobs(), *numeric_jobs()]):
            (entries if isinstance(result, dict) else problems).append(result)
    return entries, problems


def pack(path):
    """A file is kept compressed."""
    with open(path, "rb") as source, gzip.GzipFile(path + ".gz", "wb", compresslevel=9,
                                                   mtime=0) as out:
        shutil.copyfileobj(source, out, 1 << 20)
    os.remove(path)


def record_words(folder):
    tool = os.path.join(folder, "tools", "gpu-words")
    answers = os.path.join(folder, "tools", "words")
    os.makedirs(answers)
    environment = {
        **os.environ, "DLC_LIBCUDA": os.path.join(BUILD, "lib", "libdlc_cuda_emu.so"),
        "DLC_LIBNVRTC": os.path.join(BUILD, "lib", "libdlc_nvrtc_emu.so"), "DLC_CACHE_DIR": ""
    }
    for place in (os.path.join(HERE, "kernels"), os.path.join(TEST, "unit", "emulator", "kernels")):
        for name in os.listdir(place):
            shutil.copy(os.path.join(place, name), answers)
    run = subprocess.run([tool, "--record", answers], env=environment, capture_output=True,
                         text=True)
    if run.returncode:
        raise Failure(
            f"gpu-words --record ended with {run.returncode}: {run.stdout[-2000:]}{run.stderr[-1000:]}"
        )
    words = []
    for line in run_tool(tool, "--list").splitlines():
        name, needs_hopper, digest, used = line.split("\t")
        words.append({"name": name, "needs_hopper": needs_hopper == "1", "text_sha256": digest,
                      "words": [word for word in used.split(",") if word]})
    return words


def vocabulary():
    """Every word that device code may call; the macros of dlc_wgmma.cuh make theirs."""
    words = set()
    for name in ("dlc_device.cuh", "dlc_math.cuh", "dlc_async.cuh", "dlc_cluster.cuh",
                 "dlc_mma.cuh", "dlc_wgmma.cuh"):
        with open(os.path.join(ROOT, "codegen", "cuda", "device", name),
                  encoding="utf-8") as source:
            words |= set(
                re.findall(r"^(?:template <[^;{]*> )?DLC_DEV [^({=;]*?(\w+)\(", source.read(),
                           re.M))
    return words


def commit():
    run = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return run.stdout.strip() or "unknown"


TOOLS = ("dlc-static", "gpu-words", "gpu-case", "gpu-bench", "gpu-calibrate", "kernel-ptx")


def copy_tools(folder):
    os.makedirs(os.path.join(folder, "tools"))
    for name in TOOLS:
        path = os.path.join(BUILD, "bin", name)
        if not os.path.exists(path):
            raise Failure(
                f"{path} is not built: build the target dlc-gpu-check with -DDLC_STATIC_COMPILER=ON"
            )
        shutil.copy(path, os.path.join(folder, "tools", name.replace("-static", "")))
    for name in ("check", "weights", "measure"):
        shutil.copy(os.path.join(HERE, name + ".py"),
                    os.path.join(folder, name + ("" if name == "check" else ".py")))
    os.chmod(os.path.join(folder, "check"), 0o755)


def pack_tools(folder):
    """tools.tar.xz, with the words' texts and answers."""
    with tarfile.open(os.path.join(folder, "tools.tar.xz"), "w:xz", preset=2) as out:
        out.add(os.path.join(folder, "tools"), "tools")
    shutil.rmtree(os.path.join(folder, "tools"))


def size_of(folder):
    return sum(
        os.path.getsize(os.path.join(place, name)) for place, _, names in os.walk(folder)
        for name in names)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder")
    options = parser.parse_args()
    folder = os.path.abspath(options.folder)
    if os.path.exists(folder) and os.listdir(folder):
        if not os.path.exists(os.path.join(folder, "manifest.json")):
            sys.exit(
                f"error: {folder} is not empty and was not made by this script; name another folder"
            )
        shutil.rmtree(folder)
    try:
        os.makedirs(folder, exist_ok=True)
        copy_tools(folder)
        words = record_words(folder)
        pack_tools(folder)
        cases, problems = build_cases(folder)
        benches = benchmarks.build(folder)
    except Failure as failure:
        sys.exit(f"error: {failure}")
    untested = sorted(vocabulary() - {word for case in words for word in case["words"]})
    manifest = {
        "format": 2, "commit": commit(), "made": datetime.date.today().isoformat(), "words": words,
        "words_without_a_case": untested, "cases": cases, "benchmarks": benches
    }
    with open(os.path.join(folder, "manifest.json"), "w", encoding="utf-8") as out:
        json.dump(manifest, out, indent=0)
    for problem in problems:
        print(f"FAILED {problem}")
    size = size_of(folder)
    print(
        f"{folder}: {len(words)} cases of words, {len(cases)} of kernels, {len(benches)} benchmarks, {size / 2**20:.1f} MB"
    )
    if untested:
        print(f"remark: words that no case runs: {', '.join(untested)}")
    if size > LIMIT:
        print(f"FAILED the folder is larger than {LIMIT >> 20} MB")
    return bool(problems) or size > LIMIT


if __name__ == "__main__":
    sys.exit(main())
