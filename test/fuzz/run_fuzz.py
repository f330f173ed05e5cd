#!/usr/bin/env python3
"""Runs fuzz targets and says what they found.

usage: run_fuzz.py BUILD [--seconds SECONDS] TARGET... | TARGET EXECUTIONS

A target passes when it ran, executed inputs and found nothing. An input that takes longer than
TIMEOUT seconds of a slow and sanitized build, or more than MEMORY megabytes, is a finding."""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "examples"))
import safetensors  # noqa: E402

TARGETS = {
    "dl": 4096, "onnx": 4096, "safetensors": 4096, "npy": 4096, "tokenizer": 8192, "model": 32000
}  # the longest input
TIMEOUT, MEMORY = 20, 512
TOKENIZERS = os.path.join(ROOT, "test", "unit", "tools", "text", "tokenizers")


def compile_seeds(folder):
    """Packages of small models, in the format of the day."""
    dlc = os.path.join(os.environ.get("DLC_BUILD_DIR", os.path.join(ROOT, "build")), "bin", "dlc")
    random = np.random.RandomState(3)
    weights = {
        "conv.weight": (2, 1, 3, 3), "bn.weight": (2, ), "bn.bias": (2, ), "bn.running_mean": (2, ),
        "bn.running_var": (2, ), "fc.weight": (3, 8), "fc.bias": (3, )
    }
    path = os.path.join(folder, "small.safetensors")
    safetensors.save(
        path, {
            name: np.abs(random.standard_normal(shape)).astype(np.float32)
            for name, shape in weights.items()
        })
    small, tiny = (os.path.join(ROOT, "test", *parts)
                   for parts in (("package", "small.dl"), ("tools", "Inputs", "tiny.dl")))
    seeds = os.path.join(folder, "seeds")
    os.makedirs(seeds)
    flow = os.path.join(HERE, "corpus", "dl", "flow.dl")
    for name, arguments in (("tiny", (tiny, "--target", "cpu")), ("both", (tiny, )),
                            ("flow", (flow, "--target", "cpu")),
                            ("small", (small, "--target", "cpu", "--weights", path))):
        subprocess.run([dlc, "compile", *arguments, "-o", os.path.join(seeds, name)], check=True)
    return seeds


def onnx_seeds(folder):
    """The models of the importer's tests, good and bad ones, and where the corpus is there, small
    ones of other people's."""
    inputs, seeds = os.path.join(ROOT, "test", "frontend", "onnx",
                                 "Inputs"), os.path.join(folder, "onnx-seeds")
    os.makedirs(seeds)
    subprocess.run([sys.executable, os.path.join(inputs, "models.py"), seeds], check=True)
    for script in ("messages.py", "flow/flow_reduced.py", "flow/flow_sequences.py",
                   "flow/flow_values.py"):
        subprocess.run([sys.executable, os.path.join(inputs, script), seeds, "--write"], check=True)
    for name in os.listdir(seeds):
        path = os.path.join(seeds, name)
        if not name.endswith(".onnx") or os.path.getsize(path) > TARGETS["onnx"]:
            (os.unlink if os.path.islink(path) or not os.path.isdir(path) else shutil.rmtree)(path)
    archive = os.path.join(os.environ.get("DLC_CORPUS", ""), "onnx-backend",
                           "onnx-node-tests.tar.xz")
    if os.path.exists(archive):
        with tarfile.open(archive) as packed:
            for number, member in enumerate(packed):
                if member.isfile() and member.name.endswith(
                        "/model.onnx") and member.size <= TARGETS["onnx"]:
                    with open(os.path.join(seeds, f"case{number}.onnx"), "wb") as seed:
                        seed.write(packed.extractfile(member).read())
    return seeds


def run(build, target, seeds, limit):
    """(executions, a second, findings)"""
    work = {kind: os.path.join(build, "fuzz", kind, target) for kind in ("corpus", "findings")}
    for folder in (*work.values(), os.path.join(build, "fuzz", "logs")):
        os.makedirs(folder, exist_ok=True)
    before = set(os.listdir(work["findings"]))
    command = [
        os.path.join(build, "bin", "fuzz", "fuzz-" + target), *limit, f"-max_len={TARGETS[target]}",
        f"-timeout={TIMEOUT}", f"-rss_limit_mb={MEMORY}",
        f"-artifact_prefix={work['findings']}{os.sep}", "-print_final_stats=1", work["corpus"],
        seeds
    ]
    dictionary = os.path.join(HERE, target + ".dict")
    if os.path.exists(dictionary):
        command.insert(1, "-dict=" + dictionary)
    log = os.path.join(build, "fuzz", "logs", target + ".log")
    with open(log, "w", encoding="utf-8") as out:
        status = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT).returncode
    with open(log, encoding="utf-8", errors="replace") as out:
        text = out.read()
    numbers = {key: int(value) for key, value in re.findall(r"stat::(\w+):\s+(\d+)", text)}
    findings = sorted(set(os.listdir(work["findings"])) - before)
    if status and not findings:
        findings = [f"exit status {status} without an input"]
    if findings:
        print("\n".join(text.splitlines()[-40:]))
    return numbers.get("number_of_executed_units", 0), numbers.get("average_exec_per_sec",
                                                                   0), findings


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--seconds", type=int)
    parser.add_argument("what", nargs="+")
    options = parser.parse_args()
    targets, limit = options.what, [f"-max_total_time={options.seconds or 60}"]
    if len(targets) == 2 and targets[1].isdigit():
        limit = ["-runs=" + targets.pop()]
    for target in targets:
        if target not in TARGETS:
            sys.exit(f"no fuzz target is called '{target}'; there are: {', '.join(TARGETS)}")
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for target in targets:
            made = {"model": compile_seeds, "onnx": onnx_seeds,
                    "tokenizer": lambda _: TOKENIZERS}.get(target)
            seeds = made(folder) if made else os.path.join(HERE, "corpus", target)
            executions, speed, findings = run(options.build, target, seeds, limit)
            good = executions > 0 and not findings
            passed += good
            failed += not good
            print(f"{target}: {executions} executions, {speed} a second, {len(findings)} findings"
                  + "".join("\n  " + name for name in findings), flush=True)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


sys.exit(main())
