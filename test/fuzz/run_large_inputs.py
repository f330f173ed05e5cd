#!/usr/bin/env python3
"""Models of up to 1 MB that ask for much are decided within 2 s of processor time and 512 MB, with the limit in the error.

Loops in loops, blocks that double, deep trees, long lists, many names: text is cheap, and what it stands for is not."""
import os
import resource
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "test", "conformance"))
from cases import Cases, Failure  # noqa: E402
from dlc_tool import DLC  # noqa: E402

MAX_BYTES, MAX_SECONDS, MAX_KIB = 1 << 20, 2.0, 512 << 10
FORWARD = "forward(x: f32[2]) -> (y: f32[2]) {\n"


def model(body="", layers=""):
    return f"dl 1\nmodel M {{\n{layers}{FORWARD}{body}y = x\n}}\n}}\n"


def blocks(first, other, count):
    """`other` makes the block i from the block i - 1."""
    text = f"dl 1\nblock B0 {{ {first} }}\n"
    for i in range(1, count):
        text += f"block B{i} {{ {other.replace('PREVIOUS', f'B{i - 1}')} }}\n"
    return text + f"model M {{\nb: B{count - 1}()\n{FORWARD}y = x\n}}\n}}\n"


def lines(count, text):
    return "".join(text.replace("#", str(i)) for i in range(count))


LOOPS = "for i in 0..1000 {\n" * 200
# What is said, or None where the model is good.
INPUTS = {
    "many layers": (model(layers=lines(50000, "a#: ReLU()\n")), "more than 16384 layers"),
    "layers in loops": (model(layers="a[i][j]: ReLU() for i in 0..9999 for j in 0..9999\n"), "more than 16384 layers"),
    "blocks that double": (blocks("a: ReLU()", "a: PREVIOUS()\nb: PREVIOUS()", 60), "more than 16384 layers"),
    "blocks in blocks": (blocks("a: ReLU()", "a: PREVIOUS()", 5000), "more than 64 deep"),
    "blocks in branches": (blocks("a: ReLU()", "if true { " * 240 + "a: PREVIOUS()" + " }" * 240, 64), "1024 deep"),
    "many ops": (model(lines(140000, "x=x+1\n")), "more than 32768 ops"),
    "ops in loops": (model("for i in 0..9999 { for j in 0..9999 { x = relu(x) } }\n"), "more than 32768 ops"),
    "calls that double": (blocks("forward(x) -> (y) { y = x + 1 }",
                                 "a: PREVIOUS()\nforward(x) -> (y) { y = a(a(x)) }", 60).replace("y = x\n", "y = b(x)\n"),
                          "more than 32768 ops"),
    "statements in loops": (model(LOOPS + "z = i\n" + "}\n" * 200), "more than 1000000 steps"),
    "a long list": (model().replace("model", "const A = [" + "1," * 500000 + "]\nmodel"), "more than 4096 elements"),
    "lists that double": (model("a = (1, 2)\n" + "a = (a, a)\n" * 60), "more than 4096 elements"),
    "strings that double": (model().replace("model", "const A0 = '" + "a" * 99 + "'\n" + "".join(
        f"const A{i} = A{i - 1} + A{i - 1}\n" for i in range(1, 60)) + "model"), "more than 65536 bytes"),
    "a long name": (model("y = x" + ".a" * 500000 + "\n"), "the limit is 1024"),
    "parentheses": (model("y = " + "(" * 100000 + "\n"), "more than 256 deep"),
    "unknown names": (model(lines(80000, "a#=x\n") + lines(30, "y=b#\n")), "unknown value 'b0'"),
    "many constants": (model().replace("model", lines(45000, "const A# = #\n") + "model"), None),
    "unused values": (model(lines(80000, "a#=1\n")), None),
}


def usage():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    cases = Cases()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.dl")
        for name, (text, said) in INPUTS.items():
            with cases.case(name):
                if len(text) > MAX_BYTES:
                    raise Failure(f"the input has {len(text)} bytes, more than it may have here")
                with open(path, "w", encoding="utf-8") as out:
                    out.write(text)
                before = usage()
                run = subprocess.run([DLC, "check", "--no-weights", path], capture_output=True, text=True,
                                     errors="replace", timeout=120)
                seconds = usage() - before
                if run.returncode != (1 if said else 0) or (said and said not in run.stderr + run.stdout):
                    raise Failure(f"exit status {run.returncode}: {(run.stderr + run.stdout)[:300]}")
                if seconds > MAX_SECONDS:
                    raise Failure(f"{seconds:.2f} s of processor time; expected at most {MAX_SECONDS}")
        with cases.case("the memory of the largest of them"):
            kib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
            if kib > MAX_KIB:
                raise Failure(f"{kib} KiB; expected at most {MAX_KIB}")
    return cases.finish()


if __name__ == "__main__":
    sys.exit(main())
