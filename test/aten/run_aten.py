#!/usr/bin/env python3
"""PyTorch's own graphs through dlc, on a current PyTorch: the files of tests beside this one, a
sample of PyTorch's database at the overload, and some networks, each in a process of its own.

  run_aten.py               those of the run's seed
  run_aten.py FILE...       these alone: modules backend tags opinfo networks ...
  run_aten.py --networks    every network of test/conformance/run_zoo.py, by both ways
  run_aten.py --opinfo      the whole database
  run_aten.py --constructs  every construct of test/aten/constructs

The sample is that of the run's seed (test/conformance/cases.py)."""

import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("DLC_BUILD_DIR", os.path.join(ROOT, "build"))
TIMEOUT = 1500
sys.path.insert(0, os.path.join(ROOT, "test", "conformance"))
from cases import SEED, split  # noqa: E402

#: A run takes one in so many of the database, of the larger files of tests, and of the networks.
PARTS = 24
#: Files that every run takes.
OWN = ("modules", "own_ops", "subclass_tensors", "draws", "backend")
#: The same, of which it runs a sample by itself.
SAMPLED = ("constructs",)
BY_SEED = ("control", "complex", "flexible", "decoders", "exported")
TRAINED = "resnet34 convnext_tiny densenet121 vision_transformer gpt2 bert t5 gru_text".split()
NETWORKS = "resnet34 bert gpt2 gru_text translator ssdlite mixtral".split()


def commands():
    """The command of each file of tests."""
    python = os.path.join(ROOT, "test", "python")
    found = {name: [os.path.join(HERE, name + ".py")] for name in OWN}
    for name in (*SAMPLED, "tags", *BY_SEED):
        found[name] = [os.path.join(HERE, f"run_{name}.py")]
    found["opinfo"] = [os.path.join(HERE, "run_opinfo.py"), "--turn", f"{SEED % PARTS}/{PARTS}"]
    for name in ("trainer", "processes"):
        found[name] = [os.path.join(HERE, "training", f"run_{name}.py")]
    share, _ = split(TRAINED, 2)
    found["gradients"] = [os.path.join(HERE, "training", "run_gradients.py"), *share]
    share, _ = split(NETWORKS, 3)
    found["networks"] = [os.path.join(python, "run_modules.py"), *share]
    return found


def of_seed(known):
    """The files that a run takes."""
    others = set(BY_SEED) - {BY_SEED[SEED % len(BY_SEED)]}
    return [name for name in known if name not in others]


def run(name, command):
    """(passed, failed) of a file of tests; prints what it said."""
    env = {
        **os.environ,
        "CUDA_VISIBLE_DEVICES": "",
        "DLC_TORCH_CACHE": "",
        "PYTHONPATH": os.path.join(BUILD, "python"),
    }
    print(f"-- {name}", flush=True)
    try:
        done = subprocess.run(
            [sys.executable, *command], capture_output=True, text=True, env=env, timeout=TIMEOUT
        )
    except subprocess.TimeoutExpired:
        print(f"FAILED {name}: it did not end in {TIMEOUT} s")
        return 0, 1
    counts = re.findall(r"^(\d+) passed, (\d+) failed$", done.stdout, re.M)
    sys.stdout.write(re.sub(r"^\d+ passed, \d+ failed\n", "", done.stdout, flags=re.M))
    if not counts or (done.returncode and not int(counts[-1][1])):
        print(f"{done.stderr[-4000:]}\nFAILED {name}: it ended with {done.returncode}")
        return 0, 1
    if int(counts[-1][1]):
        sys.stdout.write(done.stderr[-4000:])
    return tuple(map(int, counts[-1]))


def main():
    try:
        import torch

        is_current = hasattr(torch.export, "default_decompositions")
    except (ImportError, AttributeError):
        is_current = False
    if not is_current:
        print("1 left out (PyTorch's own graphs need PyTorch 2.5: tools/scripts/setup --tests)")
        print("0 passed, 0 failed")
        return 0
    known, chosen = commands(), sys.argv[1:]
    if chosen == ["--networks"]:
        python = os.path.join(ROOT, "test", "python")
        names = ("modules", "torch_compile")
        known = {name: [os.path.join(python, f"run_{name}.py")] for name in names}
        chosen = list(known)
    elif chosen == ["--opinfo"]:
        known = {"opinfo": known["opinfo"][:1]}
        chosen = list(known)
    elif chosen == ["--constructs"]:
        known = {"constructs": [*known["constructs"], "--all"]}
        chosen = list(known)
    if unknown := set(chosen) - set(known):
        sys.exit(f"no file of tests is called {unknown.pop()}; there are {', '.join(known)}")
    passed = failed = 0
    for name in chosen or of_seed(known):
        good, bad = run(name, known[name])
        passed, failed = passed + good, failed + bad
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
