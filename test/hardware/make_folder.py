#!/usr/bin/env python3
"""Makes the folder that verifies dlc on a machine with a GPU (tools/scripts/gpu-check): tools, compiled models, inputs and
expected outputs, and the command `check` in it. The words' answers are the emulator's; all others are PyTorch's, in f64.

    make_folder.py FOLDER [--part N]

--part N takes every Nth group of numeric rows and leaves out the large benchmarks: what CI makes."""
import argparse
import collections
import concurrent.futures
import datetime
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TEST = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(TEST, "numeric"))
sys.path.insert(0, os.path.join(TEST, "conformance"))
import numpy as np  # noqa: E402
import torch  # noqa: E402

import accuracy as acc  # noqa: E402
import benchmarks  # noqa: E402
import networks  # noqa: E402
import oracles  # noqa: E402
from cases import Failure  # noqa: E402
from dlc_tool import BUILD, ROOT, dlc, run_tool  # noqa: E402
from modules import Case, module_text, to_bytes  # noqa: E402
from rows import ROWS  # noqa: E402
from rows.row import EVERY16  # noqa: E402
from torch_oracle import read_safetensors  # noqa: E402

# Rows of one model: a case is verified as a whole, so few; each model carries the device headers, so not too few.
CHUNK = 20
LIMIT = 60 << 20
LARGEST = 20_000
JOBS = int(os.environ.get("DLC_JOBS", os.cpu_count()))
DTYPES = ("f32", "f16", "bf16")
# How far a network's outputs may lie from the exact ones, in roundings of the largest value: weights, activations and sums
# of up to twenty layers are each rounded.
ROUNDINGS = {"f32": 300, "f16": 40, "bf16": 40}
# Of each row four sizes: none or one, within a vector, a whole tile, and one beyond the largest tile.
def picked(sizes):
    sizes = list(sizes)
    wanted = [sizes[0], min(sizes, key=lambda n: abs(n - 9)), min(sizes, key=lambda n: abs(n - 64)), sizes[-1]]
    return sorted(set(wanted))


def bearable(cases, sizes):
    """Without the sizes at which the arrays of all cases have more than LARGEST elements; the smallest size stays."""
    def elements(n):
        return sum(int(np.prod(case.dims(shape, n))) for case in cases for shape in (*case.row.inputs, case.row.result))
    return [n for n in sizes if n == sizes[0] or elements(n) <= LARGEST]


class Plan:
    """Writes plan.txt, inputs.bin and expected.bin as CaseMain.cpp reads them."""

    def __init__(self, folder):
        os.makedirs(folder)
        self.folder = folder
        self.lines, self.inputs, self.expected = [], [], []

    def run(self, label):
        self.lines.append(f"run {label}")

    def input(self, dtype, tensor):
        self.lines.append(f"in {spelt(dtype)} {' '.join(map(str, tensor.shape))}".rstrip())
        self.inputs.append(to_bytes(tensor, dtype))

    def output(self, name, dtype, expected, allowed):
        """`allowed`: None for exact values, else how far each may lie off."""
        dims = " ".join(map(str, expected.shape))
        name = re.sub(r"\s+", "_", name)
        rule = "exact" if allowed is None or dtype not in acc.FORMATS else "bound"
        self.lines.append(f"out {rule} {name} {spelt(dtype)} {dims}".rstrip())
        exact = np.ascontiguousarray(expected)
        if dtype not in acc.FORMATS:
            self.expected.append(to_bytes(torch.from_numpy(exact).to(acc.TORCH[dtype])))
            return
        nearest = acc.rounded(exact, dtype)
        if rule == "exact":
            self.expected.append(to_bytes(torch.from_numpy(nearest).to(acc.TORCH[dtype])))
            return
        with np.errstate(all="ignore"):
            allowed = np.broadcast_to(np.asarray(allowed, np.float64), exact.shape)
            if dtype == "f64":
                self.expected.append(exact.astype(np.float64).tobytes())
            else:  # the nearest value of the format stands for the exact one, which the bound makes up for
                off = np.abs(exact - nearest)
                allowed = np.where(np.isfinite(off), allowed + off, allowed)
                self.expected.append(nearest.astype(np.float32).tobytes())
            self.expected.append(np.nextafter(allowed.astype(np.float32), np.float32(np.inf)).tobytes())

    def write(self):
        for name, pieces in (("inputs.bin", self.inputs), ("expected.bin", self.expected)):
            with open(os.path.join(self.folder, name), "wb") as out:
                out.writelines(pieces)
        with open(os.path.join(self.folder, "plan.txt"), "w", encoding="utf-8") as out:
            out.write("\n".join(self.lines) + "\n")


def spelt(dtype):
    """As dlc_dtype_name spells it."""
    return {"ui8": "u8", "i1": "bool"}.get(dtype, dtype)


def kernels_of(package):
    """What `dlc inspect` says of the CUDA kernels in a model."""
    facts = json.loads(dlc("inspect", package, "--json"))
    program, = (program for program in facts["programs"] if program["target"] == "cuda")
    return [{key: kernel[key] for key in ("name", "kind", "text_sha256", "launches_at_load")} for kernel in program["kernels"]]


def numeric_case(folder, phase, sizes, cases, flags=()):
    plan = Plan(folder)
    for n in bearable(cases, picked(sizes)):
        plan.run(f"N = {n}")
        results = []
        for case in cases:
            inputs = case.inputs(n)
            for tensor, (dtype, _) in zip(inputs, case.kinds):
                plan.input(dtype, tensor)
            wide, expected = case.expected(inputs)
            allowed = None
            bound = acc.in_tf32(case.row.bound) if flags and case.row.bound else case.row.bound
            if bound is not None and case.result_dtype in acc.FORMATS and expected.size:
                with np.errstate(all="ignore"):
                    allowed = bound(expected, wide, case.result_dtype)
            results.append((case.name, case.result_dtype, expected, allowed))
        for result in results:
            plan.output(*result)
    plan.write()
    source = os.path.join(folder, "model.mlir")
    with open(source, "w", encoding="utf-8") as out:
        out.write(module_text(cases, sizes))
    dlc("compile", source, "--compile-from=" + phase, "--target", "cuda", *flags, "-q", "-o", os.path.join(folder, "model.bin"))
    os.remove(source)


def numeric_jobs(folder, part):
    groups = collections.defaultdict(list)
    for row in ROWS:
        if tuple(row.sizes) == (EVERY16,):
            continue
        for dtype in row.dtypes:
            if dtype in acc.HELD or row.result_dtype in acc.HELD:  # computed as the others are
                continue
            case = Case(row, dtype)
            groups[row.phase, tuple(row.sizes), ()].append(case)
            is_product = hasattr(row.bound, "magnitude") or row.bound is None and row.values == "whole"
            if dtype == "f32" and is_product:
                groups[row.phase, tuple(row.sizes), ("--precision", "tf32")].append(case)
    chunks = [(phase, sizes, flags, members[i:i + CHUNK])
              for (phase, sizes, flags), members in groups.items() for i in range(0, len(members), CHUNK)]
    for number, (phase, sizes, flags, members) in enumerate(chunks):
        if number % part == 0:
            ops = sorted({case.row.op for case in members})
            name = f"rows{number:03}" + ("-tf32" if flags else "")
            title = f"{', '.join(ops[:4])}{', ...' if len(ops) > 4 else ''}{' in tf32' if flags else ''}"
            yield name, title, numeric_case, (os.path.join(folder, "cases", name), phase, sizes, members, flags)


def stored_in(weights, dtype):
    """Weights as the model keeps them, in f64."""
    return {name: torch.from_numpy(np.array(value)).to(acc.TORCH[dtype]).double() for name, value in weights.items()}


def network_case(folder, network, dtype):
    """A network at reduced size, batches of 1 and 3, in one dtype."""
    plan = Plan(folder)
    plain = networks.write(network, folder, "f32", network.reduced)
    model = networks.write(network, folder, dtype, network.reduced)
    path = networks.save_weights(plain, os.path.join(folder, "weights.safetensors"))
    weights = stored_in(read_safetensors(path), dtype)
    if dtype != "f32":
        networks.safetensors.save(path, {name: value.float().numpy() for name, value in weights.items()})
    dlc("compile", model, "--weights", path, "--target", "cuda", "-q", "-o", os.path.join(folder, "model.bin"))
    for batch in (1, 3):
        plan.run(f"batch {batch}")
        inputs = oracles.INPUTS[network.name](np.random.RandomState(batch), batch, network.reduced)
        for name, value in inputs.items():
            tensor = torch.from_numpy(np.array(value))
            if tensor.is_floating_point():
                tensor = tensor.to(acc.TORCH[dtype])
                inputs[name] = tensor.double().numpy()
            plan.input(dtype if tensor.is_floating_point() else "i64", tensor)
        outputs = oracles.expected(network.name, plain, path, weights, network.reduced, inputs)
        for name, value in zip(oracles.outputs_of(network.name), outputs):
            plan.output(name, dtype, value, np.full(value.shape, ROUNDINGS[dtype] * acc.unit(dtype) * np.abs(value).max()))
    plan.write()
    for file in {plain, model, path}:
        os.remove(file)


# Those whose weights fit into the folder at their reduced size, and in which dtypes.
SMALL = {"digits": DTYPES, "mnist": ("f32", "f16"), "keras_mnist": ("bf16",), "matmul": DTYPES, "resnet50": DTYPES, "mobilenet_v2": DTYPES,
         "bert": DTYPES, "gpt2": DTYPES, "text_lstm": ("f32", "bf16"), "text_bilstm": ("f16",)}


def network_jobs(folder, part):
    for position, (name, dtypes) in enumerate(SMALL.items()):
        for number, dtype in enumerate(dtypes):
            if part > 1 and (name not in ("digits", "bert", "text_lstm", "resnet50") or (position + number) % 3):
                continue
            yield (f"{name}-{dtype}", f"the network {name} in {dtype}", network_case,
                   (os.path.join(folder, "cases", f"{name}-{dtype}"), networks.NETWORKS[name], dtype))


def build_cases(folder, part):
    """The manifest's entries; sentences about what could not be made."""
    jobs = list(numeric_jobs(folder, part)) + list(network_jobs(folder, part))
    torch.set_num_threads(1)
    entries, problems = [], []

    def make(job):
        name, title, function, arguments = job
        try:
            function(*arguments)
            place = os.path.join(folder, "cases", name)
            entry = {"name": name, "title": title, "kernels": kernels_of(os.path.join(place, "model.bin"))}
            for file in os.listdir(place):
                benchmarks.pack(os.path.join(place, file))
            return entry
        except Failure as failure:
            shutil.rmtree(os.path.join(folder, "cases", name), ignore_errors=True)
            return f"{name} ({title}): {failure}"

    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for result in pool.map(make, jobs):
            (entries if isinstance(result, dict) else problems).append(result)
    return entries, problems


def record_words(folder):
    tool = os.path.join(folder, "bin", "gpu-words")
    answers = os.path.join(folder, "words")
    os.makedirs(answers)
    environment = {**os.environ, "DLC_LIBCUDA": os.path.join(BUILD, "lib", "libdlc_cuda_emu.so"),
                   "DLC_LIBNVRTC": os.path.join(BUILD, "lib", "libdlc_nvrtc_emu.so"), "DLC_CACHE_DIR": ""}
    run = subprocess.run([tool, "--record", answers], env=environment, capture_output=True, text=True)
    if run.returncode:
        raise Failure(f"gpu-words --record ended with {run.returncode}: {run.stdout[-2000:]}{run.stderr[-1000:]}")
    words = []
    for line in run_tool(tool, "--list").splitlines():
        name, needs_hopper, digest, used = line.split("\t")
        words.append({"name": name, "needs_hopper": needs_hopper == "1", "text_sha256": digest,
                      "words": [word for word in used.split(",") if word]})
    return words


def vocabulary():
    """Every word that device code may call; the macros of dlc_wgmma.cuh make theirs."""
    words = set()
    for name in ("dlc_device.cuh", "dlc_math.cuh", "dlc_async.cuh", "dlc_mma.cuh", "dlc_wgmma.cuh"):
        with open(os.path.join(ROOT, "codegen", "kernels", name), encoding="utf-8") as source:
            words |= set(re.findall(r"^(?:template <[^;{]*> )?DLC_DEV [^({=;]*?(\w+)\(", source.read(), re.M))
    return words


def commit():
    run = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return run.stdout.strip() or "unknown"


def copy_tools(folder):
    os.makedirs(os.path.join(folder, "bin"))
    for source, name in (("dlc-portable", "dlc"), ("gpu-words", "gpu-words"), ("gpu-case", "gpu-case"),
                         ("gpu-calibrate", "gpu-calibrate")):
        path = os.path.join(BUILD, "bin", source)
        if not os.path.exists(path):
            raise Failure(f"{path} is not built: build the target dlc-gpu-check")
        shutil.copy(path, os.path.join(folder, "bin", name))
    shutil.copy(os.path.join(HERE, "check.py"), os.path.join(folder, "check"))
    os.chmod(os.path.join(folder, "check"), 0o755)


def size_of(folder):
    return sum(os.path.getsize(os.path.join(place, name)) for place, _, names in os.walk(folder) for name in names)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--part", type=int, default=1)
    options = parser.parse_args()
    folder = os.path.abspath(options.folder)
    if os.path.exists(folder) and os.listdir(folder):
        if not os.path.exists(os.path.join(folder, "manifest.json")):
            sys.exit(f"error: {folder} is not empty and was not made by this script; name another folder")
        shutil.rmtree(folder)
    try:
        os.makedirs(folder, exist_ok=True)
        copy_tools(folder)
        words = record_words(folder)
        cases, problems = build_cases(folder, options.part)
        benches = benchmarks.build(folder, options.part > 1)
    except Failure as failure:
        sys.exit(f"error: {failure}")
    untested = sorted(vocabulary() - {word for case in words for word in case["words"]})
    manifest = {"format": 1, "commit": commit(), "made": datetime.date.today().isoformat(), "part": options.part,
                "words": words, "words_without_a_case": untested, "cases": cases, "benchmarks": benches}
    with open(os.path.join(folder, "manifest.json"), "w", encoding="utf-8") as out:
        json.dump(manifest, out, indent=1)
    for problem in problems:
        print(f"FAILED {problem}")
    kernels = {kernel["text_sha256"] for case in cases for kernel in case["kernels"]}
    size = size_of(folder)
    print(f"{folder}: {len(words)} cases of words, {len(cases)} of kernels, {len(kernels)} different kernels, "
          f"{len(benches)} benchmarks, {size / 2**20:.1f} MB")
    if untested:
        print(f"remark: words that no case runs: {', '.join(untested)}")
    if size > LIMIT:
        print(f"FAILED the folder is larger than {LIMIT >> 20} MB")
    return bool(problems) or size > LIMIT


sys.exit(main())
