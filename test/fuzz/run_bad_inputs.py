#!/usr/bin/env python3
"""Bad files get a sentence and the right exit status; never a signal, a hang or an internal error.

usage: run_bad_inputs.py [CASES]      cases of each kind (default 60)

Mutants come from the example network by a fixed seed: model text with characters, words and lines
damaged; weights and arrays with headers and lengths damaged. DLC_TOOL names the dlc to try (the
sanitized one, for instance)."""
import os
import random
import struct
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "test", "conformance"))
from cases import Cases, Failure  # noqa: E402
from dlc_tool import DLC  # noqa: E402

DIGITS = os.path.join(ROOT, "examples", "digits")
TIMEOUT = 60
# 1 model error, 2 usage, 3 unsupported, 5 I/O, 6 damaged file. 0 where the mutant happens to be
# good.
STATUSES = {0, 1, 2, 3, 5, 6}
WORDS = [
    "(", ")", "{", "}", "[", "]", ",", ":", "=", "->", "..", "::", "-", "*", "/", '"', "#", "0",
    "-1", "1e400", "99999999999999999999", "0.5", "true", "None", "dl", "dim", "model", "forward",
    "weights", "N", "M", "x", "f32", "f8", "relu", "rleu", "conv1", "Conv2d", "flatten", "\\", "é",
    "\x00", "\t", "\r\n", "kernel_size=0"
]


def mutated_text(text, rng):
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(text) + 1)
        kind = rng.randrange(7)
        if kind == 0:
            text = text[:at] + text[at + rng.randrange(1, 12):]
        elif kind == 1:
            text = text[:at] + rng.choice(WORDS) + text[at:]
        elif kind == 2:
            text = text[:at]
        elif kind == 3:
            lines = text.splitlines(True)
            lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines or [""]))
            text = "".join(lines)
        elif kind == 4:
            lines = text.splitlines(True)
            if lines:
                del lines[rng.randrange(len(lines))]
            text = "".join(lines)
        elif kind == 5:
            text = text[:at] + rng.choice("([{-") * rng.choice((1, 3, 5000)) + text[at:]
        else:
            digits = [i for i, c in enumerate(text) if c.isdigit()]
            if digits:
                i = rng.choice(digits)
                text = text[:i] + rng.choice(
                    ("0", "-3", "7", "4294967297", "9223372036854775808")) + text[i + 1:]
    return text.encode("utf-8", "replace")


def mutated_bytes(data, header, rng):
    """Damages the first `header` bytes, the length, or both."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 3))):
        kind = rng.randrange(4)
        if kind == 0:
            data[rng.randrange(min(header, len(data)))] = rng.randrange(256)
        elif kind == 1:
            del data[rng.randrange(len(data)):]
        elif kind == 2:
            at = rng.randrange(min(header, len(data)))
            data[at:at] = bytes(rng.choice(b'{}[]",:0919-eF') for _ in range(rng.randrange(1, 6)))
        else:
            struct.pack_into("<Q", data, 0,
                             rng.choice((0, 1, len(data), 2**31, 2**63 - 1, 2**64 - 1)))
        if len(data) < 8:
            break
    return bytes(data)


def expect_sentence(what, *arguments):
    try:
        run = subprocess.run([DLC, *arguments], capture_output=True, text=True, errors="replace",
                             timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        raise Failure(f"{what}: still running after {TIMEOUT} s") from None
    said = run.stderr.strip()
    if run.returncode not in STATUSES:
        raise Failure(f"{what}: exit status {run.returncode}\n{said[-1500:]}")
    if run.returncode and not said:
        raise Failure(f"{what}: exit status {run.returncode} without a word")
    return run.returncode


def mutants(cases, name, count, make, arguments):
    """Writes each mutant to a file and passes it to `arguments(path)`; what fails is kept and
    named."""
    refused = 0
    for seed in range(count):
        rng = random.Random(f"{name} {seed}")
        with tempfile.NamedTemporaryFile(prefix=f"dlc-{name}-{seed}-", delete=False) as file:
            file.write(make(rng))
        with cases.case(f"{name} mutant {seed} ({file.name})"):
            refused += expect_sentence(name, *arguments(file.name)) != 0
            os.remove(file.name)
    with cases.case(f"{name}: most mutants are refused"):
        if refused < count // 3:
            raise Failure(f"only {refused} of {count}")


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    cases = Cases()
    with open(os.path.join(DIGITS, "digits.dl"), encoding="utf-8") as source:
        text = source.read()
    with open(os.path.join(DIGITS, "digits.safetensors"), "rb") as source:
        weights = source.read()
    folder = tempfile.mkdtemp()
    package, array = os.path.join(folder, "digits.bin"), os.path.join(folder, "x.npy")
    np.save(array, np.zeros((1, 1, 8, 8), np.float32))
    with open(array, "rb") as source:
        npy = source.read()
    model = os.path.join(DIGITS, "digits.dl")
    good = os.path.join(DIGITS, "digits.safetensors")
    with cases.case("the unharmed files are accepted"):
        for arguments in (("check", model), ("compile", model, "-o", package),
                          ("run", package, "--input", f"x=@{array}", "--device", "cpu")):
            if expect_sentence("unharmed", *arguments):
                raise Failure(f"dlc {' '.join(arguments)} refuses them")
    mutants(cases, "model", count, lambda rng: mutated_text(text, rng), lambda path:
            ("check", path, "--weights", good))
    mutants(cases, "weights", count, lambda rng: mutated_bytes(weights, 700, rng),
            lambda path: ("check", model, "--weights", path))
    mutants(cases, "array", count, lambda rng: mutated_bytes(npy, 128, rng),
            lambda path: ("run", package, "--input", f"x=@{path}", "--device", "cpu"))
    return cases.finish()


sys.exit(main())
