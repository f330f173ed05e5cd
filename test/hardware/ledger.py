#!/usr/bin/env python3
"""The hardware ledger: which of the kernels that dlc emits a real GPU has confirmed (tools/scripts/dlc-ledger).

    ledger.py [--results FOLDER] [--json] [MODEL.bin]...

Without models: all networks of the repository, in f32, tf32, f16 and bf16. A kernel is known by the SHA-256 of its text without
comments and of the device headers, so a change of either makes it unverified again. Results are the files that ./check of
tools/scripts/gpu-check wrote; the emulator's do not count. Exit status 0 whatever it finds, 2 for a file that is no result."""
import argparse
import collections
import glob
import json
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TEST = os.path.dirname(HERE)
for folder in ("conformance", "nvrtc"):
    sys.path.insert(0, os.path.join(TEST, folder))
from cases import Failure  # noqa: E402
from dlc_tool import dlc  # noqa: E402

RESULTS = os.path.join(TEST, "bench", "results")
SHOWN = 8


def read_results(folder):
    """text_sha256 -> GPUs that confirm it, and those on which it failed: a failure anywhere outweighs."""
    confirmed, refuted = collections.defaultdict(set), collections.defaultdict(set)
    files = sorted(glob.glob(os.path.join(folder, "*.json")))
    taken = 0
    for path in files:
        try:
            with open(path, encoding="utf-8") as source:
                result = json.load(source)
            emulated, kernels, gpu = result["emulated"], result["kernels"], result["gpu"]
        except (ValueError, KeyError, TypeError) as error:
            sys.exit(f"error: {path} is no result of ./check ({type(error).__name__}: {error}); remove it")
        if emulated:
            print(f"remark: {os.path.basename(path)} was written on the emulator and does not count")
            continue
        taken += 1
        # The newest word of a GPU counts: files are named by their date.
        for identity, kernel in kernels.items():
            (confirmed if kernel["verified"] else refuted)[identity].add(gpu)
            (refuted if kernel["verified"] else confirmed)[identity].discard(gpu)
    return confirmed, refuted, taken


def kernels_of(package):
    """[(name, kind, text_sha256)] of a model's CUDA kernels."""
    for program in json.loads(dlc("inspect", package, "--json"))["programs"]:
        if program["target"] == "cuda":
            return [(kernel["name"], kernel["kind"], kernel["text_sha256"]) for kernel in program["kernels"]]
    raise Failure(f"{package} has no CUDA program; compile with --target cuda or cpu,cuda")


def repository_models():
    """name -> kernels of every network in every precision."""
    import kernel_corpus
    with tempfile.TemporaryDirectory() as folder:
        for network, precision in kernel_corpus.network_jobs():
            package = kernel_corpus.compile_network(network, precision, folder)
            yield f"{network.name} in {precision}", kernels_of(package)
            os.remove(package)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", default=RESULTS)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("models", nargs="*")
    options = parser.parse_args()
    confirmed, refuted, files = read_results(options.results)
    known, verified, report = {}, set(), []
    try:
        models = ((model, kernels_of(model)) for model in options.models) if options.models else repository_models()
        for model, kernels in models:
            missing = []
            for name, kind, identity in kernels:
                known.setdefault(identity, name)
                if confirmed[identity] and not refuted[identity]:
                    verified.add(identity)
                else:
                    failed = f", wrong on {', '.join(sorted(refuted[identity]))}" if refuted[identity] else ""
                    missing.append({"name": name, "kind": kind, "text_sha256": identity, "note": failed})
            report.append({"model": model, "kernels": len(kernels), "unverified": missing})
    except Failure as failure:
        sys.exit(f"error: {failure}")
    gpus = sorted({gpu for found in confirmed.values() for gpu in found})
    if options.json:
        print(json.dumps({"verified": len(verified), "kernels": len(known), "gpus": gpus, "models": report}, indent=1))
        return 0
    for entry in report:
        missing = entry["unverified"]
        if missing:
            names = ", ".join(f"{kernel['name']} ({kernel['kind']}{kernel['note']})" for kernel in missing[:SHOWN])
            more = f", and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
            print(f"{entry['model']}: {len(missing)} of {entry['kernels']} unverified: {names}{more}")
        else:
            print(f"{entry['model']}: all {entry['kernels']} verified")
    where = f"{files} result file{'' if files == 1 else 's'} in {os.path.relpath(options.results)}"
    print(f"{len(verified)} of {len(known)} kernels verified on hardware ({', '.join(gpus) or 'no GPU yet'}; {where})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
