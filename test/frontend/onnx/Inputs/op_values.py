"""Nodes of ONNX with the results that the standard's formulas give, computed by NumPy in double:
all of an opset go into one model, which dlc compiles and runs on the CPU."""
import os
import subprocess

import numpy as np
from onnx_writer import DTYPES, model, node, tensor, value

NUMPY = {
    "f64": np.float64, "f32": np.float32, "f16": np.float16, "i64": np.int64, "i32": np.int32,
    "i16": np.int16, "i8": np.int8, "u64": np.uint64, "u32": np.uint32, "u16": np.uint16,
    "u8": np.uint8, "bool": bool
}
FLOATS = ("f32", "f16", "bf16", "f64")
# The distance from 1 to the next number; f32 and f64 leave room for sums.
STEP = {"f64": 2.0**-40, "f32": 2.0**-20, "f16": 2.0**-10, "bf16": 2.0**-7}


def number_of(dtype):
    """What ONNX calls the dtype."""
    return {**DTYPES, "bf16": 16, "u32": 12, "u64": 13}[dtype]


def rounded(array, dtype):
    """The nearest numbers of `dtype`; those of bf16 as f32."""
    if dtype != "bf16":
        return np.asarray(array).astype(NUMPY[dtype])
    bits = np.asarray(array, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


class Cases:
    """`inputs` and the results are (dtype, array), None for one that is left out. `known`: which
    inputs are initializers. `within`: a dtype, by four of whose steps, relative and of the largest
    result, it may be off; without, it is the same. `attributes` may hold a `domain`."""

    def __init__(self):
        self.cases = []

    def add(self, op, inputs, expected, opset, /, known=(), within=None, **attributes):
        inputs = [None if one is None else (one[0], rounded(one[1], one[0])) for one in inputs]
        self.cases.append((op, inputs, expected, opset, known, within, attributes))

    def write(self, path, numbers):
        """The model of these cases; the arrays of its inputs."""
        nodes, values, tensors, outputs, arrays = [], [], [], [], {}
        for case in numbers:
            op, inputs, expected, opset, known, _, attributes = self.cases[case]
            names = []
            for place, given in enumerate(inputs):
                if given is None:
                    names.append("")
                    continue
                dtype, array = given
                name = f"c{case}_i{place}"
                names.append(name)
                if place in known:
                    raw = (array.view(np.uint32) >> 16).astype(
                        np.uint16) if dtype == "bf16" else array
                    tensors.append(tensor(name, number_of(dtype), array.shape, raw=raw.tobytes()))
                elif dtype == "bf16":  # .npy has none
                    arrays[name + "_wide"] = array
                    values.append(value(name + "_wide", "f32", array.shape))
                    nodes.append(node("Cast", name + "_wide", name, to=number_of("bf16")))
                else:
                    arrays[name] = array
                    values.append(value(name, number_of(dtype), array.shape))
            results = [
                "" if result is None else f"c{case}_o{place}"
                for place, result in enumerate(expected)
            ]
            nodes.append(
                node(op, ", ".join(names), ", ".join(results), name=f"c{case}", **attributes))
            for name, result in zip(results, expected):
                if result is not None and result[0] == "bf16":
                    nodes.append(node("Cast", name, name + "_wide", to=number_of("f32")))
                outputs += [name + "_wide" * (result[0] == "bf16")] if result is not None else []
        with open(path, "wb") as out:
            domains = sorted({self.cases[case][6].get("domain", "") for case in numbers} - {""})
            out.write(
                model(nodes, values, outputs, tensors, opset=opset,
                      opsets=[(domain, 1) for domain in domains]))
        return arrays, outputs

    def run(self, folder):
        """Prints what differs, and at the end "N passed, N failed"; the exit status."""
        failed = 0
        for opset in sorted({case[3] for case in self.cases}):
            numbers = [i for i, case in enumerate(self.cases) if case[3] == opset]
            path = os.path.join(folder, f"opset{opset}.onnx")
            arrays, outputs = self.write(path, numbers)
            package = path.replace(".onnx", ".bin")
            command = ["dlc", "run", package]
            for name, array in arrays.items():
                np.save(os.path.join(folder, f"{name}.npy"), array)
                command += ["--input", f"{name}=@{folder}/{name}.npy"]
            for name in outputs:
                command += ["--output", f"{name}=@{folder}/{name}.npy"]
            for step in (["dlc", "compile", path, "--target", "cpu", "-o", package], command):
                done = subprocess.run(step, capture_output=True, text=True)
                if done.returncode:
                    print(f"FAILED opset {opset}: {done.stderr.strip()}")
                    print(f"0 passed, {len(self.cases)} failed")
                    return 1
            for case in numbers:
                if problem := self.problem(case, folder):
                    failed += 1
                    op, inputs, _, _, _, _, attributes = self.cases[case]
                    given = ", ".join("-" if i is None else f"{i[0]}{list(i[1].shape)}"
                                      for i in inputs)
                    print(f"FAILED {op} of opset {opset}, {attributes}, of {given}: {problem}")
        print(f"{len(self.cases) - failed} passed, {failed} failed")
        return 1 if failed else 0

    def problem(self, case, folder):
        """None, or what is wrong with the results of a case."""
        _, _, expected, _, _, within, _ = self.cases[case]
        for place, result in enumerate(expected):
            if result is None:
                continue
            dtype, wanted = result[0], np.asarray(result[1])
            got = np.load(
                os.path.join(folder, f"c{case}_o{place}" + "_wide" * (dtype == "bf16") + ".npy"))
            held = NUMPY["f32" if dtype == "bf16" else dtype]
            if got.dtype != held or got.shape != wanted.shape:
                return f"result {place} is {got.dtype}{list(got.shape)}, expected {dtype}{list(wanted.shape)}"
            if within is None:
                close = (got == rounded(wanted, dtype)) | (got != got) & (wanted != wanted)
            else:
                wide, wanted = got.astype(np.float64), wanted.astype(np.float64)
                scale = np.abs(wanted) + np.max(np.abs(wanted), initial=0,
                                                where=np.isfinite(wanted))
                with np.errstate(invalid="ignore"):
                    close = (wide == wanted) | (wide != wide) & (wanted != wanted) | (
                        np.abs(wide - wanted) <= 4 * STEP[within] * scale)
            if not np.all(close):
                return f"result {place} is {got.tolist()}, expected {wanted.tolist()}"
        return None
