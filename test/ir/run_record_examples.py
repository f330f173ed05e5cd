#!/usr/bin/env python3
"""Each op's description shows an example; each example is a test: it parses, verifies, and survives
printing, in the pretty and in the generic form. An op without an example fails.

What an example leaves out is added: undefined values become arguments of a function, with the types
that the op names."""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "test", "lint"))
from docs import records  # noqa: E402
from tree import Tree  # noqa: E402

OPT = os.path.join(os.environ.get("DLC_BUILD_DIR", os.path.join(ROOT, "build")), "bin", "dlc-opt")
# Terminators stand in the example of the op that they end.
INSIDE = {"DL_YieldOp": "DL_FusionOp", "DLX_ReturnOp": "DLX_ProgramOp"}
# Ops that name another symbol stand beside the example that defines it.
BESIDE = {"DLX_LaunchOp": "DLX_KernelOp", "DLX_ProgramOp": "DLX_KernelOp"}


def top_level(text, separator):
    """`text` cut at `separator` where no bracket is open."""
    parts, depth, start, i = [], 0, 0, 0
    while i < len(text):
        if text.startswith("->", i) and separator != "->":
            i += 2
            continue
        if depth == 0 and text.startswith(separator, i):
            parts.append(text[start:i])
            i += len(separator)
            start = i
            continue
        depth += (text[i] in "([<{") - (text[i] in ")]>}" and not text.startswith("->", i - 1))
        i += 1
    return parts + [text[start:]]


def types(signature):
    """Every type of "(A, B) -> C" or "A -> B", in order."""
    found = []
    for side in top_level(signature, "->"):
        side = side.strip()
        side = side[1:-1] if side.startswith("(") and side.endswith(")") else side
        found += [part.strip() for part in top_level(side, ",") if part.strip()]
    return found


def complete(example):
    """The example as a function whose arguments are its undefined values."""
    text = " ".join(example.split()).split(" { ^")[0]
    if not re.match(r"((%\w+, )*%\w+ = )?dl[xs]?\.(?!kernel|program)", text):
        return example
    body = re.sub(r"^(%\w+, )*%\w+ = ", "", text)
    used = list(dict.fromkeys(re.findall(r"%\w+", top_level(body, " : ")[0])))
    known = types(top_level(body, " : ")[-1]) if used else []
    known += known[-1:] * (len(used) - len(known))  # one type may serve all operands
    arguments = ", ".join(f"{value}: {kind}" for value, kind in zip(used, known))
    return f"func.func @example({arguments}) {{\n{example}\nreturn\n}}"


def dlc_opt(text, *flags):
    run = subprocess.run([OPT, *flags], input=text, capture_output=True, text=True)
    if run.returncode:
        raise ValueError(run.stderr.strip()[:1500] + "\nin:\n" + text)
    return run.stdout


def round_trip(text, *flags):
    printed = dlc_opt(text, *flags)
    if dlc_opt(printed, *flags) != printed:
        raise ValueError("printing changes it:\n" + printed)
    if dlc_opt(dlc_opt(text, "--mlir-print-op-generic", *flags), *flags) != printed:
        raise ValueError("the generic form means something else:\n" + printed)


def main():
    found = {name: record for name, (path, record) in records(Tree.tracked(ROOT)).items()
             if path.startswith("ir/") and "Op" in record["!superclasses"]}
    examples = {name: "\n".join(re.findall(r"```mlir\n(.*?)```", record["description"], re.S))
                for name, record in found.items()}

    texts, problems = {}, {}
    for name, example in examples.items():
        mnemonic = found[name]["opName"]
        shown = examples[INSIDE[name]] if name in INSIDE else example
        if not example.strip():
            problems[name] = "its description has no ```mlir example"
        elif not re.search(rf"\bdl[xs]?\.{mnemonic}\b", shown):
            problems[name] = "its example does not use it"
        elif name not in INSIDE:
            texts[name] = (examples[BESIDE[name]]
                           + "\n" if name in BESIDE else "") + complete(example)
    try:  # all at once; each alone, where one of them is wrong
        round_trip("\n// -----\n".join(texts.values()), "-split-input-file")
    except ValueError:
        for name, text in texts.items():
            try:
                round_trip(text)
            except ValueError as error:
                problems[name] = str(error)
        if not problems:
            raise
    for name, problem in problems.items():
        print(f"FAILED {name}: {problem}")
    passed, failed = len(examples) - len(problems), len(problems)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


sys.exit(main())
