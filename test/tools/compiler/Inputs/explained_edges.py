"""Each edge between two kernels has one reason why the kernels are two, and each convert of a
layout one why it is there: in the IR after fuse, and in what `dlc explain` prints, which says of
each what would change it.

The edges are counted here anew, by the values that fusions read: what another fusion writes,
through reshapes and concatenations."""
import json
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(
    0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(HERE))), "conformance"))
import networks  # noqa: E402
from dlc_tool import dlc  # noqa: E402

NAMES = ("resnet50", "bert", "mobilenet_v2", "unet")
OP = re.compile(r"^ +(%\w+)(?::(\d+))? = (dl\.[\w.]+)(.*)$")
EDGE = re.compile(r'#dl\.edge<input = (\d+), reader = "(\w+)", producer = "(\w+)", why = (\w+)>')


class Program:
    """The ops of one target's function that are not in fusions."""

    def __init__(self, text):
        self.ops = {}  # result -> (op, operands, the reasons by the number of the input)
        self.converts = {}  # result of a fusion -> how many converts are in it
        fusion = None
        function = re.search(r"^ *func\.func .*", text, re.M)
        indent = re.match(" *", function.group()).group() + "  "
        self.arguments = re.findall(r"(%\w+): tensor", function.group())
        for line in text[function.end():].splitlines():
            found = OP.match(line)
            if fusion and "dl.convert_layout" in line and "#dl<converted" in line:
                self.converts[fusion] = self.converts.get(fusion, 0) + 1
            if not found or not line.startswith(indent + "%"):
                continue
            fusion = found.group(1)
            result, count, op, rest = found.groups()
            operands = re.findall(r"%\w+(?:#\d+)?", rest.partition(" : ")[0].partition("{")[0])
            reasons = {int(number): why for number, _, _, why in EDGE.findall(line)}
            for name in [f"{result}#{i}" for i in range(int(count))] if count else [result]:
                self.ops[name] = (op, operands, reasons, line)
        self.needs_inputs = {}

    def writers(self, value):
        """The fusions that write what `value` is: those of a concatenation are several."""
        op, operands, _, _ = self.ops.get(value, ("", (), {}, ""))
        if op == "dl.fusion":
            return [value]
        if op in ("dl.reshape", "dl.cat"):
            return [writer for operand in operands for writer in self.writers(operand)]
        return []

    def runs_with_inputs(self, value):
        """Whether the value depends on an argument or its shape; what does not is computed once at
        load."""
        if value not in self.needs_inputs:
            _, operands, _, line = self.ops.get(value, ("", (), {}, ""))
            self.needs_inputs[value] = value in self.arguments or bool(re.search(
                r"[<x]\?x", line)) or any(map(self.runs_with_inputs, operands))
        return self.needs_inputs[value]

    def fusions(self):
        seen = set()
        for value, (op, operands, reasons, line) in self.ops.items():
            if op == "dl.fusion" and line not in seen:
                seen.add(line)
                yield value, operands, reasons


def check(target, text, explained):
    """Compares the edges of a program with its reasons, and with the launches of what
    `dlc explain --json` says."""
    program, edges, converts = Program(text), 0, 0
    for value, operands, reasons in program.fusions():
        read = {number for number, operand in enumerate(operands) if program.writers(operand)}
        if read != set(reasons):
            sys.exit(
                f"{target}: {value} reads fusions by its inputs {sorted(read)}, and has reasons for {sorted(reasons)}"
            )
        if program.runs_with_inputs(value):
            edges += len(read)
            converts += program.converts.get(value.partition("#")[0], 0)
    said = sum(edge["launches"] for kernel in explained["kernels"] for edge in kernel["not_fused"])
    if not edges or said != edges:
        sys.exit(f"{target}: {edges} edges, and reasons for {said}")
    said = sum(kernel["launches"] * len(kernel["converts"]) for kernel in explained["kernels"])
    if said != converts:
        sys.exit(f"{target}: {converts} converts, and reasons for {said}")
    for reason in [
            reason for kernel in explained["kernels"]
            for reason in kernel["not_fused"] + kernel["converts"]
    ]:
        if not reason["why"] or not reason["change"]:
            sys.exit(f"{target}: not the whole of a reason: {reason}")
    return f"{edges} edges, {converts} converts"


def main():
    for name in NAMES:
        with tempfile.TemporaryDirectory() as folder:
            network = networks.NETWORKS[name]
            path = networks.write(network, folder, sizes=network.reduced)
            weights = networks.save_weights(path, os.path.join(folder, "weights.safetensors"))
            fused, package = os.path.join(folder, "fused.mlir"), os.path.join(folder, "model.bin")
            dlc("compile", path, "--weights", weights, "-q", "--compile-to", "fuse", "-o", fused)
            dlc("compile", path, "--weights", weights, "-q", "-o", package)
            with open(fused, encoding="utf-8") as source:
                parts = re.split(r"^  module @(cpu|cuda) ", source.read(), flags=re.M)
            programs = {
                program["target"]: program
                for program in json.loads(dlc("explain", package, "--json"))["programs"]
            }
            counts = [
                f"{target} {check(target, text, programs[target])}"
                for target, text in zip(parts[1::2], parts[2::2])
            ]
            print(f"{name}: {'; '.join(counts)}", flush=True)


main()
