"""Each edge between two kernels has one reason why the kernels are two: in the IR after fuse, and in what `dlc explain` prints.

The edges are counted here anew, by the values that fusions read: what another fusion writes, through reshapes and concatenations."""
import json
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(HERE))), "conformance"))
import networks  # noqa: E402
from dlc_tool import dlc  # noqa: E402

NAMES = ("resnet50", "bert", "mobilenet_v2")
OP = re.compile(r"^ +(%\w+)(?::(\d+))? = (dl\.[\w.]+)(.*)$")
EDGE = re.compile(r'#dl\.edge<input = (\d+), reader = "(\w+)", producer = "(\w+)", why = "([^"]+)">')


class Program:
    """The ops of one target's function that are not in fusions."""

    def __init__(self, text):
        self.ops = {}  # result -> (op, operands, the reasons by the number of the input)
        function = re.search(r"^ *func\.func .*", text, re.M)
        indent = re.match(" *", function.group()).group() + "  "
        self.arguments = re.findall(r"(%\w+): tensor", function.group())
        for line in text[function.end():].splitlines():
            found = OP.match(line)
            if not found or not line.startswith(indent + "%"):
                continue
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
        """Whether the value depends on an argument or its shape; what does not is computed once at load."""
        if value not in self.needs_inputs:
            _, operands, _, line = self.ops.get(value, ("", (), {}, ""))
            self.needs_inputs[value] = value in self.arguments or bool(re.search(r"[<x]\?x", line)) or any(
                map(self.runs_with_inputs, operands))
        return self.needs_inputs[value]

    def fusions(self):
        seen = set()
        for value, (op, operands, reasons, line) in self.ops.items():
            if op == "dl.fusion" and line not in seen:
                seen.add(line)
                yield value, operands, reasons


def check(target, text, explained):
    """Compares the edges of a program with its reasons, and with the launches of what `dlc explain --json` says."""
    program, edges = Program(text), 0
    for value, operands, reasons in program.fusions():
        read = {number for number, operand in enumerate(operands) if program.writers(operand)}
        if read != set(reasons):
            sys.exit(f"{target}: {value} reads fusions by its inputs {sorted(read)}, and has reasons for {sorted(reasons)}")
        if program.runs_with_inputs(value):
            edges += len(read)
    said = sum(edge["launches"] for kernel in explained["kernels"] for edge in kernel["not_fused"])
    if not edges or said != edges:
        sys.exit(f"{target}: {edges} edges, and reasons for {said}")
    return edges


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
            programs = {program["target"]: program for program in json.loads(dlc("explain", package, "--json"))["programs"]}
            counts = [f"{target} {check(target, text, programs[target])}" for target, text in zip(parts[1::2], parts[2::2])]
            print(f"{name}: edges {', '.join(counts)}", flush=True)


main()
