#!/usr/bin/env python3
"""Measures the workloads of table.py on this machine's GPU, dlc beside PyTorch with the same
weights and inputs.

    measure.py [--output FOLDER] [--compile | --without-peers] [--counters] [--plans] [--seconds N]
    [--device cuda|cpu] [NAME...]

Each result is first compared with PyTorch's in f64; what is wrong is not timed. Times are of the
GPU: several runs in one CUDA graph, its replays between two events, on both sides (dlc: gpu-bench
of the build). PyTorch runs in both layouts of images, and with --compile also by torch.compile; the
best of them counts. --counters adds what Nsight Compute says of each kernel, --plans the times of
its kernels by the other schedules that can run them. FOLDER/GPU-DATE.json has all of it beside the
compiler's estimates; a copy in ../results/workloads is what estimates.py and errors.py read. With
--device cpu results are compared on the processor and nothing is timed. Exit status: 0, 1 where
something is wrong, 2 usage, 5 no GPU."""
import argparse
import concurrent.futures
import csv
import datetime
import io
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import numpy as np  # noqa: E402
import torch  # noqa: E402

import table  # noqa: E402
import torch_peers  # noqa: E402
from cases import Failure  # noqa: E402
from dlc_tool import BUILD, DLC, dlc, run_tool  # noqa: E402
from safetensors import save  # noqa: E402

# Relative to the norm of the result in f64: roundings of weights, activations and sums.
TOLERANCE = {"f16": 2e-2, "f32": 2e-4}
# Microseconds that the events around one launch take themselves (`launch` of GpuModel.h).
LAUNCH = 4.08
# Other plans are timed where they are estimated to take at most so many times what the chosen one
# does.
WORTH_TRYING = 8
COUNTERS = {
    "gpu__time_duration.sum": "us",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "dram_percent",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "sm_percent",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed": "l2_percent",
    "launch__registers_per_thread": "registers", "launch__grid_size": "blocks",
    "launch__block_size": "threads",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "occupancy_percent"
}


class Job:
    """A workload, compiled; its files are in `folder`."""

    def __init__(self, name, folder, device):
        self.name, self.folder, self.text = name, folder, table.TABLE[name].text
        self.dtype = "f32" if "f32" in name else "f16"
        os.makedirs(folder)
        module = torch_peers.module_of(name)
        kind = torch_peers.DTYPES[self.dtype]
        self.module, self.inputs = module.to(kind), torch_peers.inputs_of(self.text)
        self.inputs = [(key, value.to(kind) if value.is_floating_point() else value)
                       for key, value in self.inputs]
        self.compile(device)

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, device):
        with open(self.path("model.dl"), "w", encoding="utf-8") as out:
            out.write(self.text)
        state = {
            key: value.numpy() for key, value in self.module.state_dict().items()
            if not key.endswith("num_batches_tracked")
        }
        if state:
            save(self.path("model.safetensors"), state)
        self.weights = ["--weights", self.path("model.safetensors")] if state else []
        with open(self.path("plan.txt"), "w", encoding="utf-8") as out:
            out.write("run\n" + "".join(
                f"in {' '.join([self.spelt(value), *map(str, value.shape)])} = {'integers 1 0 1' if value.dtype == torch.int64 else 'noise 1 0.5 0'}\n"
                for _, value in self.inputs))
        for key, value in self.inputs:
            np.save(self.path(key + ".npy"), value.numpy())
        begin = time.perf_counter()
        dlc("compile", self.path("model.dl"), *self.weights, *self.flags(device), "--target",
            device, "-q", "-o", self.path("model.bin"))
        self.compile_seconds = time.perf_counter() - begin

    def flags(self, device):
        """Those of the workload, where they are about the GPU."""
        return table.TABLE[self.name].flags if device == "cuda" else ()

    @staticmethod
    def spelt(value):
        return {torch.float32: "f32", torch.float16: "f16", torch.int64: "i64"}[value.dtype]

    def arguments(self):
        return [
            part for key, _ in self.inputs
            for part in ("--input", f"{key}=@{self.path(key + '.npy')}")
        ]

    def output(self):
        return re.search(r"forward\(.*?\) -> \(\s*(\w+):", self.text, re.S).group(1)

    def result(self, device, *flags):
        dlc("run", self.path("model.bin"), "--device", device, *flags, *self.arguments(),
            "--output", f"{self.output()}=@{self.path('result.npy')}")
        return torch.from_numpy(np.load(self.path("result.npy")).astype(np.float64))


def first(result):
    return result[0] if isinstance(result, tuple) else result


def distance(result, expected):
    """Of the whole arrays, relative to the expected one; infinite where a shape differs or a value
    is no number."""
    result = result.detach().double().cpu()
    if result.shape != expected.shape:
        return float("inf")
    found = ((result - expected).norm() / expected.norm()).item()
    return found if found == found else float("inf")


def expected_of(job, device):
    module = job.module.double().to(device)
    with torch.no_grad():
        return first(
            module(*(value.double().to(device) if value.is_floating_point() else value.to(device)
                     for _, value in job.inputs))).cpu()


#-- PyTorch ----------------------------------------------------------------------------------------

def milliseconds(replay, runs):
    """Median milliseconds of a run, `runs` of them a replay, in rounds of about 20 ms."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def of(count):
        begin.record()
        for _ in range(count):
            replay()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / count
    of(2)
    count = max(1, min(500, int(20 / max(of(2), 1e-3))))
    return statistics.median(of(count) for _ in range(9)) / runs


def graphed(function, inputs):
    """A replay of several runs of the function in one graph, how many, and the result."""
    stream = torch.cuda.Stream()
    with torch.inference_mode(), torch.cuda.stream(stream):
        for _ in range(3):
            function(*inputs)
        stream.synchronize()
        begin = time.perf_counter()
        function(*inputs)
        stream.synchronize()
        runs = 1 if time.perf_counter() - begin > 2e-3 else 10
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(runs):
                result = function(*inputs)
    return graph.replay, runs, first(result)


def torch_times(job, expected, is_compiled):
    """What the JSON says of PyTorch."""
    facts = {}
    module = job.module.to(torch_peers.DTYPES[job.dtype]).cuda()
    inputs = [value.cuda() for _, value in job.inputs]
    is_image = any(value.dim() == 4 for value in inputs) and any(
        isinstance(part, torch.nn.Conv2d) for part in module.modules())
    for layout in ("as given", "channels last") if is_image else ("as given",):
        if layout == "channels last":
            module = module.to(memory_format=torch.channels_last)
            inputs = [value.to(memory_format=torch.channels_last) for value in inputs]
        for way in ("graph", *("compiled", ) * is_compiled,
                    *("sparse", ) * hasattr(module, "as_sparse")):
            if way == "compiled" and is_image and layout == "as given":
                continue
            try:
                begin = time.perf_counter()
                function = torch.compile(module,
                                         dynamic=False) if way == "compiled" else module.as_sparse(
                                         ) if way == "sparse" else module
                replay, runs, result = graphed(function, inputs)
                replay()
                torch.cuda.synchronize()
                facts[f"{way}, {layout}"] = {
                    "ms": milliseconds(replay, runs), "error": distance(result, expected),
                    "ready_seconds": time.perf_counter() - begin
                }
                del replay
            except Exception as error:  # one peer's failure is a fact about it
                facts[f"{way}, {layout}"] = {"failed": f"{type(error).__name__}: {error}"[:300]}
            torch.cuda.empty_cache()
    return facts


#-- dlc --------------------------------------------------------------------------------------------

def own_milliseconds(folder):
    """Of a run by dlc's own kernels, batched in a graph."""
    return json.loads(run_tool(os.path.join(BUILD, "bin", "gpu-bench"), folder))["gpu_us"] / 1e3


def plans_of(package):
    return table.on_hopper(json.loads(dlc("inspect", package, "--json"))["programs"][0]["kernels"])


def bench(job, package, seconds):
    return json.loads(
        dlc("bench", package, "--device", "cuda", "--json", "--duration", seconds,
            *job.arguments()))


def kernels_of(kernels, report):
    """Of each kernel its plan, and the microseconds that it took by itself."""
    measured = {kernel["name"]: kernel for kernel in report["kernels"]}
    for kernel in kernels:
        entry = {
            "name": kernel["base"], "launches": kernel["launches"],
            "schedule": kernel["plan"]["schedule"], "numbers": kernel["plan"]["numbers"],
            "estimate_us": kernel["plan"]["modelled_ns"] * 1e-3
        }
        found = measured.get(kernel["name"], measured.get(kernel["base"]))
        if found:
            entry.update({key: found[key] for key in ("kind", "bytes", "flops")},
                         us=found["ms"] * 1e3 / found["launches"] - LAUNCH)
        yield entry


def dlc_times(job):
    """What the JSON says of dlc."""
    kernels = plans_of(job.path("model.bin"))
    report = bench(job, job.path("model.bin"), 0.3)
    return {
        "ms": own_milliseconds(job.folder), "compile_seconds": job.compile_seconds,
        "estimate_ms": table.estimate_of(kernels), "alone_ms": report["gpu_ms"]["median"],
        "wall_ms": report["latency_ms"]["median"], "first_ms": report["first_inference_ms"],
        "load_ms": report["load_ms"], "memory_bytes": report["memory_bytes"],
        "library": [kernel["name"] for kernel in report["kernels"]
                    if kernel["kind"] == "cublasLt"], "kernels": list(kernels_of(kernels, report))
    }


def counters_of(job):
    """kernel -> what Nsight Compute counts in one run by launches."""
    command = [
        "ncu", "--csv", "--page", "raw", "--clock-control", "none", "--cache-control", "none",
        "--metrics", ",".join(COUNTERS), DLC, "run",
        job.path("model.bin"), "--device", "cuda", *job.arguments()
    ]
    said = run_tool(*command)
    lines = said[said.index('"ID"'):].splitlines()
    rows = list(csv.DictReader(io.StringIO("\n".join(lines))))
    units, rows = rows[0], rows[1:]
    found = {}
    for row in rows:
        values = {}
        for metric, key in COUNTERS.items():
            scale = {"ns": 1e-3, "ms": 1e3, "s": 1e6}.get(units[metric], 1)
            values[key] = round(float(row[metric].replace(",", "")) * scale, 3)
        kernel = found.setdefault(row["Kernel Name"].split("(")[0], {**values, "us": []})
        kernel["us"].append(values["us"])
    return {
        name: {**values, "us": statistics.median(values["us"]), "launches": len(values["us"])}
        for name, values in found.items()
    }


def other_plans(job):
    """Schedule -> the kernels that it can run but did not, timed by it."""
    chosen = json.loads(dlc("inspect", job.path("model.bin"), "--json"))["programs"][0]["kernels"]
    schedules = sorted({
        other["schedule"] for kernel in chosen for other in kernel["other_plans"]
        if other["modelled_ns"] < WORTH_TRYING * kernel["plan"]["modelled_ns"]
    } - {"cublaslt"})

    def forced(schedule):
        package = job.path(schedule + ".bin")
        try:
            dlc("compile", job.path("model.dl"), *job.weights, *job.flags("cuda"), "--target",
                "cuda", "-q", "--force-plan", "*=" + schedule, "-o", package)
            return package
        except Failure as failure:
            return failure
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        packages = list(pool.map(forced, schedules))
    found = {}
    for schedule, package in zip(schedules, packages):
        try:
            if isinstance(package, Failure):
                raise package
            own = [kernel for kernel in plans_of(package) if kernel["plan"]["schedule"] == schedule]
            found[schedule] = list(kernels_of(own, bench(job, package, 0.05)))
        except Failure as failure:
            found[schedule] = str(failure)[-300:]
    return found


#-- The race ---------------------------------------------------------------------------------------

def take(job, options):
    """What the JSON says of a workload."""
    entry = {"name": job.name, "goal_ms": table.TABLE[job.name].goal}
    expected = expected_of(job, options.device)
    entry["error"] = distance(job.result(options.device), expected)
    if not entry["error"] <= TOLERANCE[job.dtype]:
        entry["wrong"] = f"is off by {entry['error']:.3g} of the norm of the result in f64"
        return entry
    if options.device == "cpu":
        return entry
    entry["dlc"] = dlc_times(job)
    entry["torch"] = {} if options.without_peers else torch_times(job, expected, options.compile)
    entry["best_peer_ms"] = min((facts["ms"] for facts in entry["torch"].values() if "ms" in facts),
                                default=None)
    if options.counters:
        entry["counters"] = counters_of(job)
    if options.plans:
        entry["plans"] = other_plans(job)
    return entry


def line(entry):
    if "wrong" in entry or "dlc" not in entry:
        return f"  {entry['name']:47s} " + (f"WRONG: {entry['wrong']}" if "wrong" in entry else
                                            f"right to {entry['error']:.1e}")
    facts, peer = entry["dlc"], entry["best_peer_ms"]
    ratio = f"{peer / facts['ms']:8.2f}" if peer else "       -"
    return (
        f"  {entry['name']:47s}{facts['ms']:9.4f}{facts['alone_ms']:9.4f}{facts['estimate_ms']:9.4f}{entry['goal_ms']:9.4f}"
        f"{peer if peer else float('nan'):9.4f}{ratio}  {entry['error']:.1e}{'  cuBLASLt' if facts['library'] else ''}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0],
                                     epilog="See the head of this file.")
    parser.add_argument("--output", default=".", metavar="FOLDER")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--seconds", type=float, default=1e9,
                        help="after so many, no further workload is begun")
    for flag in ("--compile", "--without-peers", "--counters", "--plans"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    names = list(table.chosen(options.names))
    if not names:
        parser.error(f"no workload's name contains {' or '.join(options.names)}")
    if options.device == "cuda" and not torch.cuda.is_available():
        print("error: PyTorch finds no CUDA GPU; --device cpu compares results without one",
              file=sys.stderr)
        return 5
    begin = time.time()
    gpu = torch.cuda.get_device_name() if options.device == "cuda" else "no GPU"
    entries, failed = [], 0
    with tempfile.TemporaryDirectory() as folder:
        with concurrent.futures.ThreadPoolExecutor(min(
                8, len(names))) as pool:  # while nothing is timed
            jobs = [
                pool.submit(Job, name, os.path.join(folder, str(number)), options.device)
                for number, name in enumerate(names)
            ]
            concurrent.futures.wait(jobs)
        print(
            f"{gpu}, PyTorch {torch.__version__}; milliseconds of the GPU; compiled in {time.time() - begin:.0f} s"
        )
        print(
            f"  {'workload':47s}{'dlc':>9s}{'alone':>9s}{'estimate':>9s}{'goal':>9s}{'PyTorch':>9s}{'ratio':>8s}  error",
            flush=True)
        for name, job in zip(names, jobs):
            if time.time() - begin > options.seconds:
                print(f"  {name:47s} left out: the time was over")
                continue
            try:
                entry = take(job.result(), options)
            except (Failure, RuntimeError, OSError, ValueError) as error:
                entry = {"name": name, "wrong": f"{type(error).__name__}: {error}"[:900]}
            failed += "wrong" in entry
            entries.append(entry)
            print(line(entry), flush=True)
            if options.device == "cuda":
                write(options.output, gpu, entries)
            torch.cuda.empty_cache()
    print(f"{len(entries) - failed} right, {failed} wrong, {time.time() - begin:.0f} s")
    return int(failed > 0)


def write(folder, gpu, entries):
    slug = re.sub(r"[^a-z0-9]+", "-", gpu.lower()).strip("-")
    path = os.path.join(folder, f"{slug}-{datetime.date.today().isoformat()}.json")
    facts = {
        "gpu": gpu, "torch": torch.__version__, "date": datetime.date.today().isoformat(),
        "workloads": entries
    }
    with open(path + ".new", "w", encoding="utf-8") as out:
        json.dump(facts, out, indent=1)
    os.replace(path + ".new", path)


if __name__ == "__main__":
    sys.exit(main())
