#!/usr/bin/env python3
"""Models of up to 1 MB that ask for much are compiled, or refused with the limit in the error,
within 2 s of processor time and 512 MB; models of 10,000 nodes are compiled within 5 s.

Loops in loops, blocks that double, deep trees, long lists, many names, values that are used twice
by what is used twice: text is cheap, and what it stands for is not."""
import os
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "test", "conformance"))
sys.path.insert(0, os.path.join(ROOT, "test", "frontend", "onnx", "Inputs"))
import onnx_writer as onnx  # noqa: E402
from cases import Cases, Failure  # noqa: E402
from dlc_tool import DLC  # noqa: E402

MAX_BYTES, MAX_SECONDS, MAX_KIB = 1 << 20, 2.0, 512 << 10
# Of a model of so many nodes, which takes 2.3 s; twice that beside other work
MAX_SECONDS_OF_10000 = 5
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
    "layers in loops": (model(layers="a[i][j]: ReLU() for i in 0..9999 for j in 0..9999\n"),
                        "more than 16384 layers"),
    "blocks that double": (blocks("a: ReLU()", "a: PREVIOUS()\nb: PREVIOUS()",
                                  60), "more than 16384 layers"),
    "blocks in blocks": (blocks("a: ReLU()", "a: PREVIOUS()", 5000), "more than 64 deep"),
    "blocks in branches": (blocks("a: ReLU()", "if true { " * 240 + "a: PREVIOUS()" + " }" * 240,
                                  64), "1024 deep"),
    "many ops": (model(lines(140000, "x=x+1\n")), "more than 32768 ops"),
    "ops in loops": (model("for i in 0..9999 { for j in 0..9999 { x = relu(x) } }\n"),
                     "more than 32768 ops"),
    "calls that double": (blocks("forward(x) -> (y) { y = x + 1 }",
                                 "a: PREVIOUS()\nforward(x) -> (y) { y = a(a(x)) }",
                                 60).replace("y = x\n", "y = b(x)\n"), "more than 32768 ops"),
    "statements in loops": (model(LOOPS + "z = i\n" + "}\n" * 200), "more than 1000000 steps"),
    "a long list": (model().replace("model", "const A = [" + "1," * 500000 + "]\nmodel"),
                    "more than 4096 elements"),
    "lists that double": (model("a = (1, 2)\n" + "a = (a, a)\n" * 60), "more than 4096 elements"),
    "strings that double": (model().replace(
        "model", "const A0 = '" + "a" * 99 + "'\n" + "".join(f"const A{i} = A{i - 1} + A{i - 1}\n"
                                                             for i in range(1, 60)) + "model"),
                            "more than 65536 bytes"),
    "a long name": (model("y = x" + ".a" * 500000 + "\n"), "the limit is 1024"),
    "parentheses": (model("y = " + "(" * 100000 + "\n"), "more than 256 deep"),
    "unknown names": (model(lines(80000, "a#=x\n") + lines(30, "y=b#\n")), "unknown value 'b0'"),
    "many dims in one": (
        DIMS + model()[5:].replace(
            "x: f32[2]",
            "x: f32[" + "*".join(["(" + "+".join(f"D{i}" for i in range(20)) + ")"] * 20) + "]"),
        "this dim is made of more than 256 operations; declare a dim of its own for a part of it"),
    "dims that double": (DIMS + model()[5:].replace(
        "model M {",
        "model M {\nconst A0 = D0 + D1\n" + "".join(f"const A{i} = A{i - 1} * A{i - 1}\n"
                                                    for i in range(1, 60))),
                         "more than 256 operations"),
    "dims of many layers": (
        "dl 1\ndim N = 1..64\n"
        + model("x = avg_pool2d(x, 3, stride=4, padding=1)\nx = cat((x, x, x), dim=3)\n"
                * 800)[5:].replace("x: f32[2]", "x: f32[1,1,N,N]"),
        "dim 3 of a tensor is made of more than 256 operations; begin anew with a declared dim, or use fewer layers"
    ),
    "many inputs": (model().replace("x: f32[2]",
                                    "x: f32[2]," + ",".join(f"x{i}: f32[2]" for i in range(40000))),
                    "this list has more than 4096 elements; make it shorter"),
    "as many inputs as may be": (model().replace(
        "x: f32[2]", "x: f32[2]," + ",".join(f"x{i}: f32[2]" for i in range(4095))), None),
    "many outputs": (model().replace("(y: f32[2])",
                                     "(" + ",".join(f"y{i}: f32[2]"
                                                    for i in range(40000)) + ")"), "4096 elements"),
    "many arguments": (model("y = relu(" + ",".join(["x"] * 400000) + ")\n"), "4096 elements"),
    "many keywords": (model("y = relu(" + ",".join(f"a{i}=x" for i in range(90000)) + ")\n"),
                      "4096 elements"),
    "many targets": (model(",".join(["a"] * 400000) + " = x\n"), "4096 elements"),
    "brackets": (model("y = " + "[" * 100000 + "\n"), "more than 256 deep"),
    "indices": (model("y = x" + "[0]" * 300000 + "\n"), "more than 256 deep"),
    "minus signs": (model("y = " + "-" * 900000 + "x\n"), "more than 256 deep"),
    "braces": (model("if true {" * 100000 + "\n"), "more than 256 deep"),
    "loops on one line": ("dl 1\nmodel M {\n" + "for i in 0..2 {" * 60000, "more than 256 deep"),
    "targets in targets": (model("(" * 100000 + "a\n"), "more than 256 deep"),
    "a long float": (model().replace("model", "const A = 0." + "1" * 900000 + "\nmodel"),
                     "this number has 900002 characters; the limit is 1024"),
    "a long integer": (model().replace("model", "const A = " + "1" * 900000 + "\nmodel"),
                       "the limit is 1024"),
    "a line of errors": ("dl 1\n" + "$" * 900000, "'$' has no meaning here"),
    "lines of errors": ("dl 1\n" + "$\n" * 400000, "'$' has no meaning here"),
    "a long line": (model("y = " + "+".join(["zz"] * 300000) + "\n"), "more than 256 deep"),
    "a long string": (model("y = einsum('" + "a" * 60000 + "->a', x)\n"), "'einsum'"),
    "a sequential model": ("dl 1\nsequential S(x: f32[2,4]) {\n" + "Dense(4)\n" * 90000 + "}\n",
                           "the model has more than 16384 layers; make it shorter"),
    "stacked layers": (model(layers="l: LSTM(4, 4, num_layers=1000000)\n"),
                       "num_layers is 1000000; expected at most 1024"),
    "long names that are near": (model("".join(f"{'v' * 240}{i}=x\n" for i in range(3000))
                                       + "".join(f"y={'v' * 238}{i}q\n"
                                                 for i in range(30))), "unknown value"),
    "many constants": (model().replace("model",
                                       lines(45000, "const A# = #\n") + "model"), None),
    "unused values": (model(lines(80000, "a#=1\n")), None),
}


# Few lines that stand for much work: a value is used twice by what is used twice, 40 times over.
LADDERS = {
    "a sum of itself": "x = x + x",
    "two products": "x = x * w + w * x",
    "two maps of one value": "x = relu(x) + exp(x)",
    "a choice of itself": "x = where(x > w, x, x * x)",
    "a broadcast row": "x = x + x[0:1]",
    "a shifted value": "x = x + roll(x, 3, 1)",
    "a mirrored value": "x = x + flip(x, [0])",
    "a padded value": "x = pad(x, [1, 0])[:, 0:64] + x",
    "Fibonacci": "t = x + w\nx = w\nw = t",
    "a gate of a repetition": "x = glu(repeat(x, [1, 2]), dim=1)",
    "an element found by its place": "x = take_along_dim(x, argsort(x, dim=1), dim=1) + x",
}
STATIC_LADDERS = {
    "a transpose": "x = x + transpose(x, 0, 1)",
    "a concat of itself": "x = cat((x, x), dim=0)[32:96]",
    "a concat of its halves": "x = cat((x[32:64], x[0:32]), dim=0) + x",
}
BEHIND = {
    "before a reduction": ("", "softmax(x, dim=1)"),
    "before a product": ("", "x @ transpose(x, 0, 1)"),
    "after a product": ("x = x @ w", "x"),
    "after a concat": ("x = cat((x[0:32], w[32:64]), dim=0)", "x"),
}


def ladder(step, rows=64, first="", last="x", head=""):
    tensor = f"f32[{rows},64]"
    return (f"dl 1\n{head}model M {{\n"
            f"forward(x: {tensor}, w: {tensor}) -> (y: {tensor}) {{\n{first}\n"
            f"for i in 0..40 {{\n{step}\n}}\ny = {last}\n}}\n}}\n")


def halves(count):
    """Gates of gates: each reads the one before in two places."""
    return (f"dl 1\nmodel M {{\nforward(x: f32[2,{1 << count}]) -> (y: f32[2,1]) {{\n"
            f"for i in 0..{count} {{ x = glu(x, dim=1) }}\ny = x\n}}\n}}\n")


def onnx_model(nodes, x, y, shape, tensors):
    return onnx.model(nodes, [onnx.value(x, "f32", shape)], [onnx.value(y, "f32", shape)], tensors,
                      opset=13)


def chain(count, nodes, shape, tensors=()):
    """An ONNX model of `count` nodes in a row, by turns those of `nodes`: (op, its other operand,
    attributes). Node i computes t(i + 1) of ti."""
    made = []
    for i in range(count):
        op, second, attributes = nodes[i % len(nodes)]
        operands = f"t{i}" + second.replace("#", str(i))
        made.append(onnx.node(op, operands, f"t{i + 1}", f"n{i}", **attributes))
    return onnx_model(made, "t0", f"t{count}", shape, tensors)


def weights(count, shape):
    """One tensor w, or w0, w1, ... for `count` nodes."""
    size = 1
    for dim in shape:
        size *= dim
    names = ["w"] if count is None else [f"w{i}" for i in range(count)]
    return [onnx.tensor(name, "f32", shape, [0.01 * (i + 1)] * size)
            for i, name in enumerate(names)]


def sums(count):
    """`count` sums of x and a weight each, which are summed up."""
    names = [f"t{i}" for i in range(count)]
    nodes = [onnx.node("Add", f"x,w{i}", name, f"n{i}") for i, name in enumerate(names)]
    while len(names) > 1:
        groups = [names[i:i + 16] for i in range(0, len(names), 16)]
        names = [f"s{len(nodes) + i}" for i in range(len(groups))]
        nodes += [onnx.node("Sum", ",".join(group), name, name)
                  for group, name in zip(groups, names)]
    return onnx_model(nodes, "x", names[0], (1, 4), weights(count, (1, 4)))


def compiled():
    """Name, file name, content and most seconds of processor time of each model that is good."""
    for name, step in {**LADDERS, **STATIC_LADDERS}.items():
        yield name, "m.dl", ladder(step), MAX_SECONDS
    for name, step in LADDERS.items():
        yield f"{name}, symbolic", "m.dl", ladder(step, "N", head="dim N = 1..99\n"), MAX_SECONDS
    for name, (first, last) in BEHIND.items():
        for what in ("a sum of itself", "two products"):
            text = ladder(LADDERS[what], first=first, last=last)
            yield f"{what} {name}", "m.dl", text, MAX_SECONDS
    yield "gates of gates", "m.dl", halves(20), MAX_SECONDS
    count, relu, same = 10000, ("Relu", "", {}), (4, 64)
    conv = ("Conv", ",w", {"pads": [1, 1, 1, 1]})
    one = weights(None, (64,))
    chains = {
        "Add of itself": lambda: chain(count, [("Add", ",t#", {})], same),
        "Add and Relu": lambda: chain(count, [relu, ("Add", ",w", {})], same, one),
        "Softmax and Relu": lambda: chain(count, [relu, ("Softmax", "", {})], same),
        "MatMul": lambda: chain(count, [("MatMul", ",w", {})], (4, 16), weights(None, (16, 16))),
        "MatMul, each with a weight": lambda: chain(count, [("MatMul", ",w#", {})], (4, 4),
                                                    weights(count, (4, 4))),
        "Conv": lambda: chain(count, [conv], (1, 4, 8, 8), weights(None, (4, 4, 3, 3))),
        "Add, each with a weight": lambda: chain(count, [("Add", ",w#", {})], (4,),
                                                 weights(count, (4,))),
        "sums side by side": lambda: sums(count),
    }
    for name, make in chains.items():
        yield f"{count} nodes: {name}", "m.onnx", make(), MAX_SECONDS_OF_10000


def run(*command):
    """Exit status, messages, what is printed, seconds of processor time and KiB of memory."""
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as printed:
        process = subprocess.Popen(command, stdout=printed, stderr=said)
        timer = threading.Timer(120, process.kill)
        timer.start()
        _, status, used = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for file in (said, printed):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
        return process.returncode, *texts, used.ru_utime + used.ru_stime, used.ru_maxrss


def expect(command, statuses, most=MAX_SECONDS, said=""):
    status, messages, printed, seconds, kib = run(*command)
    what = f"dlc {command[1]}"
    if len(messages) > MAX_SAID:
        raise Failure(f"{what}: {len(messages)} bytes of messages; expected at most {MAX_SAID}")
    if status not in statuses or said not in messages + printed:
        raise Failure(f"{what}: exit status {status}: {(messages + printed)[:300]}")
    if seconds > most:
        raise Failure(f"{what}: {seconds:.2f} s of processor time; expected at most {most}")
    if kib > MAX_KIB:
        raise Failure(f"{what}: {kib} KiB; expected at most {MAX_KIB}")


def main():
    cases = Cases()
    with tempfile.TemporaryDirectory() as folder:
        path, output = os.path.join(folder, "m.dl"), os.path.join(folder, "m.bin")

        def put(name, content):
            with open(os.path.join(folder, name), "wb") as out:
                out.write(content if isinstance(content, bytes) else content.encode())
            return os.path.join(folder, name)

        for name, (text, said) in INPUTS.items():
            with cases.case(name):
                if len(text) > MAX_BYTES:
                    raise Failure(f"the input has {len(text)} bytes, more than it may have here")
                put("m.dl", text)
                statuses = (1,) if said else (0,)
                expect([DLC, "check", "--no-weights", path], statuses, said=said or "")
                expect([DLC, "compile", "--quiet", path, "-o", output], statuses, said=said or "")
                expect([DLC, "fmt", "--stdout", path], (0, 1))
        for name, file, content, most in compiled():
            with cases.case(name):
                expect([DLC, "compile", "--quiet", put(file, content), "-o", output], (0,), most)
    return cases.finish()


if __name__ == "__main__":
    sys.exit(main())
