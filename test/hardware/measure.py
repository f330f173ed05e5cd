"""The stages of ./check that measure: models, and the parts of the GPU."""
import concurrent.futures
import gzip
import json
import os
import shutil
import time

import weights

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = os.path.join(HERE, "results", "tools")
# Where in its own time a measurement must begin.
LAST = 20


def compiled(check, entry):
    """The folder of a benchmark, compiled; a sentence where that fails."""
    place = os.path.join(HERE, "results", "work", "bench-" + entry["file"].split(".")[0])
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place)
    model, package, file = (os.path.join(place, name)
                            for name in ("model.dl", "model.bin", "weights.safetensors"))
    with gzip.open(os.path.join(HERE, "bench", entry["file"])) as source, open(model, "wb") as out:
        shutil.copyfileobj(source, out)
    with open(os.path.join(place, "plan.txt"), "w", encoding="utf-8") as out:
        out.write(entry["plan"])
    weights.write(file, entry["weights"])
    command = [
        check.machine.dlc, "compile", model, "--target", "cuda", *entry["flags"], "-q", "-o",
        package
    ]
    run = check.machine.run(command + (["--weights", file] if entry["weights"] else []))
    os.remove(file)
    return place, None if run.returncode == 0 else check.judge(run, r"error: (.*)$").detail


def bench(check, entry, place):
    """The figures of a benchmark; a sentence where it fails."""
    small = ["--small"] if check.machine.emulated else []
    batched, reports = None, {}
    if not entry.get("by_library"):
        command = [
            os.path.join(TOOLS, "gpu-bench"), place, *small,
            *(["--rotate"] if entry["rotate"] else [])
        ]
        run = check.machine.run(command)
        if run.returncode != 0:
            return None, check.judge(run, r"error: (.*)$").detail
        batched = json.loads(run.stdout)
    seconds = ["--iterations", 2, "--warmup", 0, "--duration", 0] if small else ["--duration", 0.5]
    inputs = [part for text in entry["inputs"] for part in ("--input", text)]
    library = "--cublas" if entry.get("by_library") else "--no-cublas"
    for kind, flags in (("graph", []), ("eager", ["--no-graph"])):
        run = check.machine.run([
            check.machine.dlc, "bench",
            os.path.join(place, "model.bin"), "--device", "cuda", "--json", library, *seconds,
            *flags, *inputs
        ])
        if run.returncode != 0:
            return None, check.judge(run, r"error: (.*)$").detail
        reports[kind] = json.loads(run.stdout)
    return summary(entry, batched, reports), None


def summary(entry, batched, reports):
    graph = reports["graph"]
    single = graph["gpu_ms"]["median"]
    figures = {
        "name": entry["name"],
        "launches": batched["launches"] if batched else len(graph["kernels"]),
        "gpu_ms": batched["gpu_us"] / 1e3 if batched else single,
        "gpu_ms_min": batched["gpu_us_min"] / 1e3 if batched else graph["gpu_ms"]["min"],
        "gpu_ms_alone": single, "gpu_ms_without_graph": reports["eager"]["gpu_ms"]["median"],
        "wall_ms": graph["latency_ms"]["median"], "load_ms": graph["load_ms"],
        "first_inference_ms": graph["first_inference_ms"],
        "copies": batched["copies"] if batched else 1, "kernels": graph["kernels"]
    }
    for key, source, scale in (("gb_s", "bytes", 1e6), ("tflop_s", "flops", 1e9)):
        if source in entry and figures["gpu_ms"] > 0:
            figures[key] = entry[source] / figures["gpu_ms"] / scale
    return figures


def empty_kernel(check):
    """The row to read the others against."""
    run = check.machine.run([
        os.path.join(TOOLS, "gpu-bench"), "--empty",
        *(["--small"] if check.machine.emulated else [])
    ])
    if run.returncode:
        check.record("benchmarks", "empty kernel", check.judge(run, r"error: (.*)$"))
        return []
    found = json.loads(run.stdout)
    return [{
        "name": "empty kernel", "launches": 1, "gpu_ms": found["gpu_us"] / 1e3,
        "gpu_ms_min": found["gpu_us_min"] / 1e3
    }]


def benchmarks(check):
    machine = check.machine
    entries = [
        entry for entry in check.manifest["benchmarks"] if entry["emulated"] or not machine.emulated
    ]
    for entry in check.manifest["benchmarks"]:
        if entry not in entries:
            check.leave_out(f"benchmarks: {entry['name']}", "too large for the emulator")
    check.say(f"== benchmarks: {len(entries) + 1}")
    with concurrent.futures.ThreadPoolExecutor(check.options.jobs) as pool:
        made = list(pool.map(lambda entry: compiled(check, entry), entries))
    results = empty_kernel(check)
    for entry, (place, problem) in zip(entries, made):
        if time.time() > check.deadline - LAST:
            check.leave_out(f"benchmarks: {entry['name']}", "the time was over")
            continue
        if not problem:
            figures, problem = bench(check, entry, place)
        shutil.rmtree(place)
        if problem:
            check.fail("benchmarks", entry["name"], problem)
        elif entry.get("by_library") and any(kernel["kind"] != "cublasLt"
                                             for kernel in figures["kernels"]):
            check.leave_out(f"benchmarks: {entry['name']}", "cuBLASLt is not installed, or failed")
        else:
            results.append(figures)
    for result in results:
        rate = "".join(f", {result[key]:.1f} {unit}"
                       for key, unit in (("gb_s", "GB/s"), ("tflop_s", "TFLOP/s")) if key in result)
        alone = f" ({result['gpu_ms_alone']:.4f} alone, {result['wall_ms']:.4f} in all)" if "wall_ms" in result else ""
        check.say(
            f"       {result['name']:48} {result['gpu_ms']:10.4f} ms{alone}, {result['launches']} launches{rate}"
        )
        check.counts["ok"] += 1
    check.state.keep("benchmarks", results)


def calibration(check):
    check.say("== calibration")
    run = check.machine.run(
        [os.path.join(TOOLS, "gpu-calibrate"), *(["--small"] if check.machine.emulated else [])])
    if run.returncode:
        check.record("calibration", "gpu-calibrate", check.judge(run, r"error: (.*)$"))
        return
    facts = json.loads(run.stdout)
    chain = next((bench for bench in check.state.found.get("benchmarks", [])
                  if bench["name"] == "chain of launches"), None)
    if chain:
        facts["graph_edge_us"] = 1e3 * chain["gpu_ms"] / chain["launches"]
        facts["launch_edge_us"] = 1e3 * chain["gpu_ms_without_graph"] / chain["launches"]
    for name, value in facts.items():
        check.say(f"       {name:32} {value}")
        check.counts["ok"] += 1
    for what, reason in (("cluster barrier", "no kernel of gpu-calibrate times it"),
                         ("peaks of cuBLASLt in fp8 and int8", "dlc calls it in neither")):
        check.leave_out(f"calibration: {what}", reason)
    check.state.keep("calibration", facts)
