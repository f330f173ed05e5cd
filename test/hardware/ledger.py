#!/usr/bin/env python3
"""The hardware ledger: which of the kernels that dlc emits a real GPU has confirmed
(tools/scripts/dlc-ledger).

    ledger.py [--results FOLDER] [--json] [MODEL.bin]...    without models: what this checkout makes
    of the repository's networks
                                                            in f32, tf32, f16 and bf16, and of the
                                                            numeric rows
    ledger.py --take-over RESULT.json FILE...               keys RESULT by the PTX of its texts,
                                                            which are those of FILE...: models and
                                                            .cu files of the commit that RESULT
                                                            names

A kernel is known by the SHA-256 of its PTX from NVRTC, names and comments aside
(test/nvrtc/PtxIdentity.h), for the architecture that it ran on, so that it stays verified where it
moves, is renamed or shares its headers with others. PTX differs between versions of NVRTC: keys
hold theirs, and the ledger speaks of those of NVRTC {version} (pip install
nvidia-cuda-nvrtc=={version}). Where that is not installed a kernel is known by its text and headers
without comments.

Results are the files that ./check of tools/scripts/gpu-check wrote; the emulator's do not count.
Exit status 0 whatever it finds, 1 where something cannot be made, 2 for a file that is no result.
"""
import argparse
import collections
import glob
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TEST = os.path.dirname(HERE)
for folder in ("conformance", "nvrtc"):
    sys.path.insert(0, os.path.join(TEST, folder))
from cases import Failure  # noqa: E402
from dlc_tool import BUILD, dlc  # noqa: E402

RESULTS = os.path.join(TEST, "bench", "results")
# The NVRTC whose PTX kernels are known by: that of PyTorch 2.11, with which the first result was
# taken.
PINNED = "13.0.88"
LEFT_OUT = 77  # kernel-ptx's exit status where there is no NVRTC
JOBS = int(os.environ.get("DLC_JOBS", os.cpu_count()))
SHOWN = 8
DIGITS = 16  # of a hash, which suffice among some thousand


#-- PTX --------------------------------------------------------------------------------------------

def ptx_of(files, architecture):
    """text_sha256 -> ptx_sha256 of the kernels in models and .cu files. What was compiled once is
    kept in the build folder. None where the pinned NVRTC is not installed."""
    place = os.path.join(BUILD, "ledger")
    os.makedirs(place, exist_ok=True)
    command = [
        os.path.join(BUILD, "bin", "kernel-ptx"), "--jobs",
        str(JOBS), "--arch", architecture, "--known",
        os.path.join(place, "ptx.txt"), *files
    ]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode == LEFT_OUT:
        return None
    lines = run.stdout.splitlines()
    if run.returncode or not lines or not lines[0].startswith("nvrtc "):
        raise Failure(
            f"kernel-ptx ended with {run.returncode}: {run.stdout[-2000:]}{run.stderr[-1000:]}")
    if lines[0].split()[1] != PINNED:
        return None
    return dict(line.split() for line in lines[1:])


def beside(path):
    """Where the keys of a result are that another NVRTC, or none, has keyed."""
    return path[:-len(".json")] + ".ptx.json"


def take_over(path, files):
    """Writes the keys of the result at `path` beside it. Its own file stays as the GPU's machine
    wrote it."""
    result = read_json(path)
    architecture = f"sm_{result['architecture']}" + ("a" if result["architecture"] == 90 else "")
    found = ptx_of(files, architecture)
    if found is None:
        raise Failure(f"NVRTC {PINNED} is not installed; DLC_REAL_NVRTC names its library")
    missing = sorted(set(result["kernels"]) - set(found))
    if missing:
        raise Failure(
            f"{len(missing)} of the {len(result['kernels'])} texts of {path} are in none of these files; they must be "
            f"those of commit {result['commit']}: {', '.join(result['kernels'][text]['name'] for text in missing[:5])}"
        )
    keys = {
        "format": 1, "of": os.path.basename(path), "nvrtc": PINNED, "architecture": architecture,
        "note": f"Derived, not measured: texts made again at commit {result['commit'][:12]} and compiled as far as PTX by NVRTC "
        f"{PINNED}. text_sha256 to ptx_sha256, the first {DIGITS} digits of both; what the GPU says of each text is in "
        "the other file.",
        "ptx": {text[:DIGITS]: found[text][:DIGITS] for text in sorted(result["kernels"])}
    }
    with open(beside(path), "w", encoding="utf-8") as out:
        json.dump(keys, out, indent=0)
        out.write("\n")
    print(
        f"{beside(path)}: {len(keys['ptx'])} texts, {len(set(keys['ptx'].values()))} different PTX")


#-- Results ----------------------------------------------------------------------------------------

def read_json(path):
    try:
        with open(path, encoding="utf-8") as source:
            return json.load(source)
    except ValueError as error:
        stop(path, error)


def stop(path, error):
    print(f"error: {path} is no result of ./check ({type(error).__name__}: {error}); remove it",
          file=sys.stderr)
    sys.exit(2)


class Ledger:
    """What GPUs say of keys. A key is a text_sha256, or an architecture and the begin of a
    ptx_sha256."""

    def __init__(self, folder):
        self.confirmed, self.refuted = collections.defaultdict(set), collections.defaultdict(set)
        self.architectures = set()
        self.files = 0
        # The newest word of a GPU counts: files are named by their date.
        for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
            if not path.endswith(".ptx.json"):
                self.add(path)

    def add(self, path):
        result = read_json(path)
        try:
            if result["emulated"]:
                print(
                    f"remark: {os.path.basename(path)} was written on the emulator and does not count"
                )
                return
            keys = read_json(beside(path)) if os.path.exists(beside(path)) else result.get(
                "keys", {"nvrtc": "none"})
            ptx = keys["ptx"] if keys["nvrtc"] == PINNED else {}
            for text, kernel in result["kernels"].items():
                self.say(text, kernel, result["gpu"])
                if text[:DIGITS] in ptx:
                    self.say((keys["architecture"], ptx[text[:DIGITS]]), kernel, result["gpu"])
            if ptx:
                self.architectures.add(keys["architecture"])
        except (KeyError, TypeError) as error:
            stop(path, error)
        self.files += 1

    def say(self, key, kernel, gpu):
        """A kernel that nothing launched is neither confirmed nor refuted."""
        if kernel["failed"]:
            self.refuted[key].add(gpu)
            self.confirmed[key].discard(gpu)
        elif kernel["verified"]:
            self.confirmed[key].add(gpu)
            self.refuted[key].discard(gpu)

    def gpus(self):
        return sorted({gpu for found in self.confirmed.values() for gpu in found})

    def judge(self, keys):
        """Whether a kernel known by any of `keys` is verified, and the GPUs on which it was wrong,
        which outweigh."""
        wrong = {gpu for key in keys for gpu in self.refuted.get(key, ())}
        return not wrong and any(self.confirmed.get(key) for key in keys), sorted(wrong)


#-- The kernels of this checkout -------------------------------------------------------------------

def kernels_of(package):
    """[(name, kind, text_sha256)] of a model's CUDA kernels."""
    for program in json.loads(dlc("inspect", package, "--json"))["programs"]:
        if program["target"] == "cuda":
            return [(kernel["name"], kernel["kind"], kernel["text_sha256"])
                    for kernel in program["kernels"]]
    raise Failure(f"{package} has no CUDA program; compile with --target cuda or cpu,cuda")


def report_on(ledger, name, packages):
    """One entry of the report: the kernels of these packages, each text once."""
    known = {}
    for package in packages:
        for kernel, kind, text in kernels_of(package):
            known.setdefault(text, (kernel, kind))
    by_ptx = {}
    if not all(ledger.judge([text])[0] for text in known):
        for architecture in ledger.architectures:
            found = ptx_of(packages, architecture)
            by_ptx.update({} if found is None else {architecture: found})
            if found is None:
                ledger.has_nvrtc = False
    entry = {"model": name, "kernels": len(known), "verified": [], "unverified": []}
    for text, (kernel, kind) in known.items():
        keys = [
            text, *((architecture, found[text][:DIGITS])
                    for architecture, found in by_ptx.items() if text in found)
        ]
        holds, wrong = ledger.judge(keys)
        if holds:
            entry["verified"].append(text)
        else:
            entry["unverified"].append({"name": kernel, "kind": kind, "text_sha256": text,
                                        "note": f", wrong on {', '.join(wrong)}" if wrong else ""})
    return entry


def of_networks(ledger):
    import kernel_corpus
    with tempfile.TemporaryDirectory() as folder:
        for network, precision in kernel_corpus.network_jobs():
            package = kernel_corpus.compile_network(network, precision, folder)
            yield report_on(ledger, f"{network.name} in {precision}", [package])
            os.remove(package)


def of_rows(ledger):
    import kernel_corpus
    with tempfile.TemporaryDirectory() as folder:
        packages, problems = kernel_corpus.build_rows(folder, JOBS)
        if problems:
            raise Failure("\n".join(problems))
        yield report_on(ledger, "numeric rows", packages)


def of_models(ledger, models):
    for model in models:
        yield report_on(ledger, model, [model])


def show(entries):
    """Prints the entries as they come; how many texts are verified, and how many there are."""
    known, verified = set(), set()
    for entry in entries:
        missing = entry["unverified"]
        if missing:
            names = ", ".join(f"{kernel['name']} ({kernel['kind']}{kernel['note']})"
                              for kernel in missing[:SHOWN])
            more = f", and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
            print(
                f"{entry['model']}: {len(missing)} of {entry['kernels']} unverified: {names}{more}",
                flush=True)
        else:
            print(f"{entry['model']}: all {entry['kernels']} verified", flush=True)
        verified.update(entry["verified"])
        known.update(entry["verified"], (kernel["text_sha256"] for kernel in missing))
    return len(verified), len(known)


def main():
    parser = argparse.ArgumentParser(description=__doc__.format(version=PINNED),
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--results", default=RESULTS, metavar="FOLDER")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", choices=("networks", "rows"), help="of this checkout's kernels")
    parser.add_argument("--take-over", metavar="RESULT.json")
    parser.add_argument("models", nargs="*")
    options = parser.parse_args()
    try:
        if options.take_over:
            return take_over(options.take_over, options.models)
        ledger = Ledger(options.results)
        ledger.has_nvrtc = True
        if options.models:
            groups = {"models": of_models(ledger, options.models)}
        else:
            groups = {
                name: made(ledger) for name, made in (("networks", of_networks), ("rows", of_rows))
                if options.only in (None, name)
            }
        if options.json:
            print(
                json.dumps(
                    {
                        "gpus": ledger.gpus(),
                        **{name: list(entries) for name, entries in groups.items()}
                    }, indent=1))
            return 0
        counts = {name: show(entries) for name, entries in groups.items()}
    except Failure as failure:
        sys.exit(f"error: {failure}")
    if not ledger.has_nvrtc:
        print(f"remark: NVRTC {PINNED} is not installed: kernels are known by their texts alone")
    where = f"{ledger.files} result file{'' if ledger.files == 1 else 's'} in {os.path.relpath(options.results)}"
    for name, (verified, known) in counts.items():
        print(
            f"{name}: {verified} of {known} kernels verified on hardware ({', '.join(ledger.gpus()) or 'no GPU yet'}; {where})"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
