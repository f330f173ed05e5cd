#!/usr/bin/env python3
"""Random ONNX models whose data decide what runs (branches, loops, sequences, computed sizes),
against NumPy.

    run_flow.py [--count N] [--seed S] [--cuda N] [--text N] [--validated N]
                                       models S, S + 1, ... on the CPU, and the first of them on
                                       emulated CUDA, through the text that dlc import writes, and
                                       with each pass checked by the interpreter; without --seed the
                                       models of the run's seed (cases.py)
    run_flow.py --seed S --print       the model
    run_flow.py --seed S --save FILE   the model as ONNX, and FILE.npz with inputs and outputs of
                                       its first run
    run_flow.py --seed S --reduce      a smaller model with the same fault

A model that dlc refuses for a documented limit is left out; more than one in FEW is a failure. The
last line is "N passed, N failed"."""
import argparse
import collections
import concurrent.futures
import copy
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in (os.path.join(HERE, "flow"), os.path.join(os.path.dirname(HERE), "conformance"),
               os.path.join(os.path.dirname(HERE), "numeric")):
    sys.path.insert(0, folder)
from cases import SEED, Cases, Failure  # noqa: E402
from dlc_tool import DLC, TIMEOUT  # noqa: E402
from generate import candidate  # noqa: E402
from reduce import reduced  # noqa: E402

COUNT = 40
PARTS = 2000 // COUNT
JOBS = int(os.environ.get("DLC_JOBS", os.cpu_count()))
FEW = 10
FILES = {"f32": np.float32, "i64": np.int64, "bool": np.bool_}
# What docs/onnx.md says that dlc does not take, and sequences that begin empty where nothing in
# sight is put into them.
LIMITS = [
    "the number of dims of an empty sequence's elements is not known; dlc needs one that is put into it",
    "dlc takes such sequences of one rank",
    "dlc takes results of one rank and dtype",
]
# Messages about texts that the language refuses, as docs/sizes.md says: it does not see that two
# sizes of loops are equal, or how large one may become.
TEXT_LIMITS = [
    "expected equal dims",
    "dims that are equal for some sizes alone need these sizes",
    r"may have more than 2\^56 elements",
]


class Refused(Exception):
    """dlc does not take the model."""


def tool(*words):
    try:
        done = subprocess.run([DLC, *words], capture_output=True, text=True, errors="replace",
                              timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        raise Failure(f"'dlc {words[0]}' took more than {TIMEOUT} s") from None
    return done.returncode, done.stderr.strip()


def compiled(source, package, limits, *words):
    status, said = tool("compile", source, "-q", "-o", package, *words)
    if (status == 3 and not re.search("internal|assert|Stack dump", said)) or (status == 1 and any(
            re.search(limit, said) for limit in limits)):
        raise Refused(said)
    if status:
        raise Failure(f"dlc compile {' '.join(words)} ended with {status}: {said[-600:]}")


def difference(model, value, got, wanted, allowed):
    """None, or what is wrong with an output."""
    if got.shape != wanted.shape:
        known = all(not isinstance(dim, int) or dim == size
                    for dim, size in zip(value.type.dims, got.shape))
        if value.name in model.loose and got.ndim == wanted.ndim and got.shape[0] == wanted.shape[
                0] == 0 and known:
            return None
        return f"has the shape {list(got.shape)}, expected {list(wanted.shape)}"
    wrong = got != wanted if allowed is None else ~(np.abs(got - wanted) <= allowed)
    if not wrong.any():
        return None
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{int(wrong.sum())} of {got.size} elements differ, first at {list(at)}: {got[at]!r}, expected {wanted[at]!r}"


def compare(case, folder, package, device):
    """A list of sentences."""
    problems = []
    for number, (arrays, expected, allowances) in enumerate(case.runs):
        words = []
        for value, array in zip(case.model.inputs, arrays):
            path = os.path.join(folder, value.name + ".npy")
            np.save(path, np.asarray(array, FILES[value.type.dtype]))
            words += ["--input", f"{value.name}=@{path}"]
        results = os.path.join(folder, "results.npz")
        status, said = tool("run", package, "--device", device, *words, "--output", "@" + results)
        where = f"{device}, run {number}"
        if status:
            problems.append(f"{where} ended with {status}: {said[-400:]}")
            continue
        with np.load(results) as held:
            for value, wanted, allowed in zip(case.model.outputs, expected, allowances):
                # In the text, an output that is an input has another name.
                name = value.name if value.name in held else value.name + "_2"
                problem = difference(case.model, value, held[name], wanted, allowed)
                if problem:
                    problems.append(f"{where}, {value.name}: {problem}")
    return problems


def check(case, cuda=False, text=False, validated=False):
    with tempfile.TemporaryDirectory() as folder:
        source, package = (os.path.join(folder, name) for name in ("model.onnx", "model.bin"))
        with open(source, "wb") as file:
            file.write(case.model.file())
        compiled(source, package, [], "--target", "cpu,cuda" if cuda else "cpu",
                 *(["--validate-passes"] if validated else []))
        problems = compare(case, folder, package, "cpu")
        if cuda:
            problems += compare(case, folder, package, "cuda-emu")
        if text:
            written = os.path.join(folder, "model.dl")
            status, said = tool("import", source, "-o", written)
            if status:
                raise Failure(f"dlc import ended with {status}: {said[-600:]}")
            compiled(
                written, package, TEXT_LIMITS, "--target", "cpu",
                *(["--weights", os.path.join(folder, "model.safetensors")] if os.path.exists(
                    os.path.join(folder, "model.safetensors")) else []))
            problems += ["as text, " + problem for problem in compare(case, folder, package, "cpu")]
        return problems


def refusal(said):
    """A message without the names and numbers of its model."""
    lines = [line for line in said.splitlines() if "node '" in line] or said.splitlines()
    return re.sub(r"\d+", "#", re.sub(r"'[^']*'", "'...'", lines[-1].split("node ", 1)[-1]))[:200]


def save(case, path):
    with open(path, "wb") as file:
        file.write(case.model.file())
    arrays, expected, _ = case.runs[0]
    pairs = list(zip(case.model.inputs, arrays)) + list(zip(case.model.outputs, expected))
    np.savez(path + ".npz",
             **{value.name: np.asarray(array, FILES[value.type.dtype]) for value, array in pairs})


def problems_of(case, options):
    try:
        return check(case, options.cuda > 0, options.text > 0, options.validated > 0)
    except Refused as refused:
        return [str(refused)]
    except Failure as failure:
        return [str(failure)]


def fault(problems):
    """The kind of the first of the problems."""
    return re.sub(r"run \d|\d+|'[^']*'|t\d+|\[[^]]*\]", "", problems[0])[-60:] if problems else None


def smallest(options):
    """Prints a smaller model with the same fault."""
    whole = candidate(options.seed)
    problems = problems_of(whole, options)
    if not problems:
        print("the model is right")
        return 0
    print(*problems, sep="\n")
    start = whole
    for number in range(len(whole.data)):
        case = copy.deepcopy(whole)
        case.data = case.data[number:number + 1]
        case.judge()
        if problems_of(case, options):
            start = case
            break
    for output in start.model.outputs:
        case = copy.deepcopy(start)
        case.model.keep([output])
        case.judge()
        if fault(problems_of(case, options)) == fault(problems_of(start, options)):
            start = case
            break
    wanted = fault(problems_of(start, options))
    case = reduced(start, lambda changed: fault(problems_of(changed, options)) == wanted)
    print(
        case.model.text(), *[
            f"{value.name}: {array.tolist()}"
            for value, array in zip(case.model.inputs, case.data[0])
        ], *problems_of(case, options), sep="\n")
    if options.save:
        save(case, options.save)
    return 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=SEED % PARTS * COUNT)
    for name, count in (("cuda", 10), ("text", 10), ("validated", 10)):
        parser.add_argument("--" + name, type=int, default=count)
    parser.add_argument("--print", action="store_true")
    parser.add_argument("--save")
    parser.add_argument("--reduce", action="store_true")
    options = parser.parse_args()
    if options.reduce:
        return smallest(options)
    if options.print or options.save:
        case = candidate(options.seed)
        if options.save:
            save(case, options.save)
        print(case.model.text())
        return 0

    def work(number):
        case = candidate(options.seed + number)
        try:
            return check(case, number < options.cuda, number < options.text, number
                         < options.validated), None
        except Refused as refused:
            return [], str(refused)
        except Failure as failure:
            return [str(failure)], None

    cases, refusals, limits = Cases(), collections.Counter(), 0
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for number, (problems, refused) in enumerate(pool.map(work, range(options.count))):
            if refused and any(re.search(limit, refused) for limit in LIMITS + TEXT_LIMITS):
                refusals[refusal(refused)] += 1
                limits += 1
                continue
            with cases.case(f"model {options.seed + number}"):
                if refused:
                    raise Failure(f"is refused: {refusal(refused)}\n{refused}")
                if problems:
                    raise Failure(
                        "\n  ".join(problems[:4]) +
                        f"\n  test/random/run_flow.py --seed {options.seed + number} --reduce shows where"
                    )
    for message, count in refusals.most_common():
        print(f"{count} refused: {message}")
    with cases.case("few models are refused"):
        if limits * FEW > max(options.count, FEW):
            raise Failure(f"{limits} of {options.count} are refused, expected at most one in {FEW}")
    if limits:
        cases.leave_out(limits, "beyond documented limits")
    return cases.finish()


if __name__ == "__main__":
    sys.exit(main())
