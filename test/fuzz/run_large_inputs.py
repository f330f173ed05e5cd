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


MAX_SAID = 100000  # bytes of all messages
DIMS = "dl 1\n" + lines(20, "dim D#=1..64\n")
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
    "many dims in one": (DIMS + model()[5:].replace("x: f32[2]", "x: f32[" + "*".join(["(" + "+".join(
        f"D{i}" for i in range(20)) + ")"] * 20) + "]"),
        "this dim is made of more than 256 operations; declare a dim of its own for a part of it"),
    "dims that double": (DIMS + model()[5:].replace("model M {", "model M {\nconst A0 = D0 + D1\n" + "".join(
        f"const A{i} = A{i - 1} * A{i - 1}\n" for i in range(1, 60))), "more than 256 operations"),
    "dims of many layers": ("dl 1\ndim N = 1..64\n" + model("x = avg_pool2d(x, 3, stride=2, padding=1)\nx = cat((x, x), dim=2)\n" * 800)[5:]
                            .replace("x: f32[2]", "x: f32[1,1,N,N]"),
                            "dim 3 of a tensor is made of more than 256 operations; begin anew with a declared dim, or use fewer layers"),
    "many inputs": (model().replace("x: f32[2]", "x: f32[2]," + ",".join(f"x{i}: f32[2]" for i in range(40000))), "this list has more than 4096 elements; make it shorter"),
    "as many inputs as may be": (model().replace("x: f32[2]", "x: f32[2]," + ",".join(f"x{i}: f32[2]" for i in range(4095))), None),
    "many outputs": (model().replace("(y: f32[2])", "(" + ",".join(f"y{i}: f32[2]" for i in range(40000)) + ")"), "4096 elements"),
    "many arguments": (model("y = relu(" + ",".join(["x"] * 400000) + ")\n"), "4096 elements"),
    "many keywords": (model("y = relu(" + ",".join(f"a{i}=x" for i in range(90000)) + ")\n"), "4096 elements"),
    "many targets": (model(",".join(["a"] * 400000) + " = x\n"), "4096 elements"),
    "brackets": (model("y = " + "[" * 100000 + "\n"), "more than 256 deep"),
    "indices": (model("y = x" + "[0]" * 300000 + "\n"), "more than 256 deep"),
    "minus signs": (model("y = " + "-" * 900000 + "x\n"), "more than 256 deep"),
    "braces": (model("if true {" * 100000 + "\n"), "more than 256 deep"),
    "loops on one line": ("dl 1\nmodel M {\n" + "for i in 0..2 {" * 60000, "more than 256 deep"),
    "targets in targets": (model("(" * 100000 + "a\n"), "more than 256 deep"),
    "a long float": (model().replace("model", "const A = 0." + "1" * 900000 + "\nmodel"),
                     "this number has 900002 characters; the limit is 1024"),
    "a long integer": (model().replace("model", "const A = " + "1" * 900000 + "\nmodel"), "the limit is 1024"),
    "a line of errors": ("dl 1\n" + "$" * 900000, "'$' has no meaning here"),
    "lines of errors": ("dl 1\n" + "$\n" * 400000, "'$' has no meaning here"),
    "a long line": (model("y = " + "+".join(["zz"] * 300000) + "\n"), "more than 256 deep"),
    "a long string": (model("y = einsum('" + "a" * 60000 + "->a', x)\n"), "'einsum'"),
    "a sequential model": ("dl 1\nsequential S(x: f32[2,4]) {\n" + "Dense(4)\n" * 90000 + "}\n",
                           "the model has more than 16384 layers; make it shorter"),
    "stacked layers": (model(layers="l: LSTM(4, 4, num_layers=1000000)\n"), "num_layers is 1000000; expected at most 1024"),
    "long names that are near": (model("".join(f"{'v' * 240}{i}=x\n" for i in range(3000)) +
                                       "".join(f"y={'v' * 238}{i}q\n" for i in range(30))), "unknown value"),
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
                if len(run.stderr) > MAX_SAID:
                    raise Failure(f"{len(run.stderr)} bytes of messages; expected at most {MAX_SAID}")
                if run.returncode != (1 if said else 0) or (said and said not in run.stderr + run.stdout):
                    raise Failure(f"exit status {run.returncode}: {(run.stderr + run.stdout)[:300]}")
                if seconds > MAX_SECONDS:
                    raise Failure(f"{seconds:.2f} s of processor time; expected at most {MAX_SECONDS}")
                before = usage()
                run = subprocess.run([DLC, "fmt", "--stdout", path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=120)
                if run.returncode not in (0, 1) or usage() - before > MAX_SECONDS or len(run.stderr) > MAX_SAID:
                    raise Failure(f"dlc fmt: exit status {run.returncode}, {usage() - before:.2f} s, {len(run.stderr)} bytes of messages")
        with cases.case("the memory of the largest of them"):
            kib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
            if kib > MAX_KIB:
                raise Failure(f"{kib} KiB; expected at most {MAX_KIB}")
    return cases.finish()


if __name__ == "__main__":
    sys.exit(main())
