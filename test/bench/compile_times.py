"""Seconds that `dlc compile` takes for each network of examples/ at its full size, and with --zoo
for networks that PyTorch exported.

  compile_times.py              the examples, over seeded weights
  compile_times.py --zoo [NAME...]   those of test/conformance/run_zoo.py; needs PyTorch, and a
                                     quarter of an hour for all

Part of tools/scripts/bench. A time is that of the whole process, weights read and model.bin
written: first by the clock, then of the processor, which says more where others use the machine;
the least of three rounds."""
import os
import subprocess
import sys
import tempfile
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "conformance"))
from dlc_tool import DLC  # noqa: E402
from import_figures import measured  # noqa: E402

TARGETS = ("cpu", "cuda", "cpu,cuda")
ROUNDS = 3


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else 'unknown processor'}, {os.cpu_count()} threads"


def row(name, command):
    """Prints the seconds for each of the targets; those of the processor for both."""
    texts = []
    for target in TARGETS:
        runs = [
            measured(*command, "-q", "--target", target, "-o", "model.bin") for _ in range(ROUNDS)
        ]
        seconds, processor = min(run[0] for run in runs), min(run[2] for run in runs)
        texts.append(f"{seconds:9.2f} ({processor:.2f})".rjust(20))
    print(f"  {name:28}" + "".join(texts), flush=True)
    return processor


def examples():
    # Its module safetensors stands in the way of the package that transformers wants
    import networks
    for network in networks.NETWORKS.values():
        if network.path.startswith("examples/"):
            model = networks.write(network, os.getcwd())
            weights = networks.save_weights(model, os.path.join(os.getcwd(), "weights.safetensors"))
            yield network.name, (DLC, "compile", model, "--weights", weights)


def zoo(names):
    import torch
    import run_zoo
    warnings.simplefilter("ignore")
    os.makedirs(run_zoo.OUT, exist_ok=True)
    every = run_zoo.networks(torch)
    for name in names or [name for name in every if name not in run_zoo.REFUSED]:
        found = run_zoo.exported(torch, name, every[name])
        if isinstance(found, str):
            print(f"  {name:28} PyTorch's exporter does not take it: {found}")
        else:
            yield name, (DLC, "compile", found[0])


def main():
    is_zoo = sys.argv[1:2] == ["--zoo"]
    print(f"Seconds to compile (of the processor), least of {ROUNDS} rounds, on {machine()}")
    print(f"  {'network':28}" + "".join(f"{target:>20}" for target in TARGETS))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        rows = sorted(row(*entry) for entry in (zoo(sys.argv[2:]) if is_zoo else examples()))
    print(f"  {len(rows)} networks for both targets: from {rows[0]:.2f} to {rows[-1]:.2f} s of a processor, half of them within "
          f"{rows[len(rows) // 2]:.2f} s")


if __name__ == "__main__":
    main()
