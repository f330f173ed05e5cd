"""What the issue "CUDA" promises and a machine without a GPU can measure: launches and modelled
bytes of a run, what NVRTC takes for each kind of kernel, the first result from a cold and a warm
cache, seconds on the emulator and how fast that is. Part of tools/scripts/bench."""
import collections
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TEST = os.path.dirname(HERE)
for folder in ("conformance", "nvrtc"):
    sys.path.insert(0, os.path.join(TEST, folder))
import kernel_corpus  # noqa: E402
import networks  # noqa: E402
from dlc_tool import BUILD, DLC, dlc  # noqa: E402

# Goals of the issue: launches of a run, milliseconds of NVRTC by kind of kernel, seconds.
LAUNCHES = {"mnist": 6, "resnet50": 60}
NVRTC_MS = {"map": 50, "reduce": 80, "contraction": 400}
COLD_MS, WARM_MS, RESNET_SECONDS = 1000, 150, 10
ROUNDS = 5
INPUTS = {"mnist": ["x=1x1x28x28xf32=random"], "resnet50": ["x=1x3x224x224xf32=random"],
          "text_lstm": ["tokens=1x64xi64=zeros"], "digits": ["x=1x1x8x8xf32=random"]}


def verdict(value, goal, unit):
    """"met", or by how much it is missed."""
    if value <= goal:
        return f"goal {goal} {unit}: met"
    return f"goal {goal} {unit}: MISSED by {value - goal:.4g} {unit} ({100 * (value / goal - 1):.0f} %)"


def compiled(name, folder):
    """A network at its real size over seeded weights, for CUDA alone."""
    network = networks.NETWORKS[name]
    model, package = networks.write(network, folder), os.path.join(folder, name + ".bin")
    weights = networks.save_weights(model, os.path.join(folder, name + ".safetensors"))
    dlc("compile", model, "--weights", weights, "--target", "cuda", "-q", "-o", package)
    os.remove(weights)
    return package


def emulated(package, name, iterations):
    """What `dlc bench` measures on the emulator."""
    inputs = [part for text in INPUTS[name] for part in ("--input", text)]
    return json.loads(
        dlc("bench", package, "--device", "cuda-emu", "--iterations", iterations, "--warmup", 0,
            "--duration", 0, "--json", *inputs))


def launches(folder):
    print("Launches of a run, and the bytes that its kernels must move at least (modelled)")
    for name in ("mnist", "resnet50", "text_lstm"):
        package = compiled(name, folder)
        run = emulated(package, name, 2)
        count = sum(kernel["launches"] for kernel in run["kernels"])
        size = sum(kernel["bytes"] for kernel in run["kernels"])
        seconds = run["latency_ms"]["min"] / 1e3
        goal = f"; {verdict(count, LAUNCHES[name], 'launches')}" if name in LAUNCHES else ""
        print(
            f"  {name:10} {count:4} launches, {size / 1e6:9.3f} MB, {seconds:7.3f} s on the emulator{goal}"
        )
        if name == "resnet50":
            print(
                f"             emulated at batch 1: {verdict(round(seconds, 3), RESNET_SECONDS, 's')}"
            )
        os.remove(package)


def nvrtc_times(folder):
    """Each text alone, so that the threads of others do not count."""
    packages = [
        kernel_corpus.compile_network(networks.NETWORKS[name], precision, folder)
        for name in ("digits", "mnist", "resnet50", "bert", "text_lstm")
        for precision in ("f32", "f16")
    ]
    table = os.path.join(folder, "nvrtc.json")
    run = subprocess.run([
        os.path.join(BUILD, "bin", "nvrtc-check"), "--jobs", "1", "--quiet", "--json", table,
        *packages
    ], capture_output=True, text=True)
    for package in packages:
        os.remove(package)
    if run.returncode == 77:
        print("NVRTC is not installed (DLC_REAL_NVRTC names its library): its times are left out")
        return
    times = collections.defaultdict(list)
    with open(table, encoding="utf-8") as source:
        for entry in json.load(source):
            if entry["arch"] == "sm_90a":
                times[entry["kind"]].append((entry["ms"], entry["source"]))
    print("NVRTC for sm_90a, a kernel at a time, time of the processor")
    for kind, values in sorted(times.items()):
        median, (most, worst) = statistics.median(ms for ms, _ in values), max(values)
        goal = "" if kind not in NVRTC_MS else f"; {verdict(round(median), NVRTC_MS[kind], 'ms')}"
        over = sum(ms > NVRTC_MS.get(kind, 1e9) for ms, _ in values)
        print(
            f"  {kind:12} {len(values):4} kernels, median {median:4.0f} ms, at most {most:4.0f} ms ({worst}){goal}"
            + (f"; {over} of them above it" if over else ""))


def compile_seconds(target, cache):
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "DLC_CACHE_DIR": cache or os.path.join(folder, "cache")}
        if os.environ.get("DLC_REAL_NVRTC"):
            environment["DLC_LIBNVRTC"] = os.environ["DLC_REAL_NVRTC"]
        model = os.path.join(os.path.dirname(TEST), "examples", "digits", "digits.dl")
        run = subprocess.run([
            DLC, "compile", model, "--target", target, "-q", "-o",
            os.path.join(folder, "digits.bin")
        ], capture_output=True, text=True, env=environment)
    return time.perf_counter() - begin if run.returncode == 0 else None


def first_results(folder):
    package = os.path.join(folder, "digits.bin")
    dlc("compile", os.path.join(os.path.dirname(TEST), "examples", "digits", "digits.dl"),
        "--target", "cuda", "-q", "-o", package)
    emulated(package, "digits", 1)  # the emulator's own compiler has seen the kernels from here on
    runs = [emulated(package, "digits", 1) for _ in range(ROUNDS)]
    warm = statistics.median(run["load_ms"] + run["first_inference_ms"] for run in runs)
    print(
        "Digit CNN, first result (load, first run; without the creation of a GPU's context, which the emulator does not have)"
    )
    print(
        f"  warm cache   {warm:7.1f} ms, on the emulator; {verdict(round(warm, 1), WARM_MS, 'ms')}")
    # Another cache each time: all of its kernels by NVRTC on all threads, the loading of NVRTC
    # included.
    whole = [compile_seconds("sm_90a", None) for _ in range(ROUNDS)]
    if None in whole:
        print("  cold cache   left out: NVRTC is not installed")
        return
    nvrtc = 1e3 * (statistics.median(whole)
                   - statistics.median(compile_seconds("cuda", "") for _ in range(ROUNDS)))
    print(f"  cold cache   {warm + nvrtc:7.1f} ms: the same and {nvrtc:.0f} ms of NVRTC for sm_90a on {os.cpu_count()} threads; "
          f"{verdict(round(warm + nvrtc, 1), COLD_MS, 'ms')}")


def emulator_speed():
    """One worker, by processor time: five kernels of the kinds that the emulator meets."""
    print("The emulator, one worker, unchecked")
    run = subprocess.run([os.path.join(BUILD, "bin", "emulator-bench")], capture_output=True,
                         text=True, check=True, env={**os.environ, "DLC_EMU_WORKERS": "1"})
    print("\n".join("  " + line for line in run.stdout.splitlines() if "/s  (" in line))


def main():
    missing = [
        name for name in ("libdlc_cuda_emu.so", "libdlc_nvrtc_emu.so")
        if not os.path.exists(os.path.join(BUILD, "lib", name))
    ]
    if missing:
        sys.exit(f"error: {', '.join(missing)} not built: tools/scripts/build")
    with tempfile.TemporaryDirectory() as folder:
        launches(folder)
        nvrtc_times(folder)
        first_results(folder)
    emulator_speed()


if __name__ == "__main__":
    main()
