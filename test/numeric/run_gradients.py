"""Derivatives of the ops that have numeric rows, against PyTorch's autograd in double precision: the
pass differentiate on each row whose op has a rule (ir/dl/gradient), run by the interpreter in f64.

    run_gradients.py [--op NAME]...

What is differentiated is the sum of the result times numbers that are inputs, so that elements are
worth different amounts. A rule that no row goes through is a failure. The last lines are "N left
out (reason)" and "N passed, N failed"."""

import argparse
import collections
import copy
import dataclasses
import concurrent.futures
import glob
import os
import re
import sys
import tempfile
import types
import zlib

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "conformance")]
import accuracy as acc
from modules import Case, dims_at, row_text, tensor_type, values
from rows import ROWS
from voices import Failure, Reference, built, execute

ROOT = os.path.dirname(os.path.dirname(HERE))
# Of a row's numbers, those at which a function has a derivative: a kind of values (modules.py).
SMOOTH = ("normal", "positive", "weights")
NARROW = {"asin", "acos", "atanh", "erfinv"}
RELATIVE = 1e-6  # numbers in formulas are f32
# Forms whose derivative dlc does not know, with the words of its message.
UNKNOWN = {
    **{
        f"lstm ({note})": "'lstm_steps' with a projection; dlc knows those without"
        for note in (
            "projection",
            "projection, lengths",
            "shared units, projection",
            "shared units, projection, lengths",
        )
    },
    # The derivative by x of the derivative by a weight.
    **{
        f"{op} ({note}{ending})": "a convolution by "
        for op, note in (
            ("conv2d", "N channels"),
            ("conv2d", "N channels, padding"),
            ("conv2d", "N channels, dilation"),
            ("conv2d", "N channels of each group"),
            ("conv2d", "N channels of each group, depthwise"),
            ("conv2d", "window of N"),
            ("conv1d", "window of N"),
        )
        for ending in ("", ", whole numbers", ", joined along 1")
    },
    "scatter (multiply)": "'scatter' by multiply; dlc knows that without reduce",
    "scatter_reduce (prod)": "'scatter_reduce' by prod; dlc knows those by sum",
    "scatter_reduce (prod, without x)": "'scatter_reduce' by prod; dlc knows those by sum",
}
MOST_SIZES, MOST_ELEMENTS = 3, 1 << 15
JOBS = int(os.environ.get("DLC_JOBS", os.cpu_count()))


def scattered(row, x, index, src=None):
    """PyTorch's derivative of several values at one place: each is worth what the place is."""
    dim = int(re.search(r"dim = (-?\d+)", row.attrs).group(1))
    size = x.shape[dim]
    wider = [1 if i == dim % x.dim() else n for i, n in enumerate(x.shape)]
    room = torch.cat([x, x.new_zeros(wider)], dim)  # what is written outside goes to its end
    index = torch.where((index >= 0) & (index < size), index, size).long()
    written = room.scatter(dim, index, 3.0) if src is None else room.scatter(dim, index, src)
    return written.narrow(dim, 0, size)


def batch_normed(row, x, mean, variance, weight=None, bias=None):
    eps = float(re.search(r"eps = ([^ ,}]+)", row.attrs).group(1)) if "eps" in row.attrs else 1e-5
    of_channel = lambda v: v.reshape(1, -1, *[1] * (x.dim() - 2))
    y = (x - of_channel(mean)) / torch.sqrt(of_channel(variance) + eps)
    return y if weight is None else y * of_channel(weight) + of_channel(bias)


def unpooled(row, x, index):
    """As scattered()."""
    y = row.torch(x.detach(), index)
    places = index.reshape(*index.shape[:2], -1).long()
    flat = x.new_zeros(*y.shape[:2], y[0, 0].numel())
    written = flat.scatter_add(2, places, x.reshape(places.shape)).reshape(y.shape)
    return y + written - written.detach()


# No row has floats on both sides; test/passes/differentiate has one.
ELSEWHERE = {"cast"}
# In the place of the rows' functions that autograd does not know.
REFERENCES = {
    "log1p": lambda row, x: torch.log1p(x),
    "fmod": lambda row, x, other: torch.fmod(x, other),
    "remainder": lambda row, x, other: torch.remainder(x, other),
    "floor_divide": lambda row, x, other: torch.floor(x / other).detach() + 0 * (x + other),
    "batch_norm": batch_normed,
    "scatter": scattered,
    "max_unpool1d": unpooled,
    "max_unpool2d": unpooled,
    "max_unpool3d": unpooled,
}


def rules():
    """The ops that have a rule, from the tables beside the ops."""
    names = {}
    for path in glob.glob(os.path.join(ROOT, "ir", "dl", "*", "*.td")):
        with open(path) as file:
            names.update(re.findall(r"def DL_(\w+)Op\s*:\s*\w+<\s*\"(\w+)\"", file.read()))
    ops = set()
    for path in glob.glob(os.path.join(ROOT, "ir", "dl", "*", "*Gradients.cpp")):
        with open(path) as file:
            listed = re.search(r"rulesOf<(.*?)>\(\)", file.read(), re.S).group(1)
        ops.update(names[name.strip()[: -len("Op")]] for name in listed.split(","))
    return ops


def parts():
    """The ops without a rule that other ops compute: differentiated as these."""
    bases, ops = {}, []
    for path in glob.glob(os.path.join(ROOT, "ir", "dl", "*", "*.td")):
        with open(path) as file:
            text = file.read()
        bases.update(re.findall(r"class (DL_\w+)<[^{]*?>\s*:\s*(DL_\w+)<", text))
        ops += re.findall(r"def DL_\w+\s*:\s*(DL_\w+)<\s*\"(\w+)\"", text)

    def is_made(base):
        return base == "DL_DecomposedOp" or (base in bases and is_made(bases[base]))

    return {op for base, op in ops if is_made(base)} - rules()


class Derived(Case):
    """A row, its result times weights, and the derivatives by its floats and by the weights."""

    def __init__(self, row):
        super().__init__(row, "f32")
        self.kinds = [
            (dtype, kind if kind in SMOOTH or not acc.is_float(dtype) else "normal")
            for dtype, kind in self.kinds
        ]
        self.floats = [i for i, (dtype, _) in enumerate(self.kinds) if acc.is_float(dtype)]
        self.sizes = [
            n
            for n in row.sizes
            if n > 0
            and max(int(np.prod(self.dims(shape, n))) for shape in (*row.inputs, row.result))
            <= MOST_ELEMENTS
        ][:MOST_SIZES]

    def values(self, n):
        """The inputs, then the weights."""
        generator = np.random.default_rng(zlib.crc32(f"{self.name} {n}".encode()))
        arrays = [
            values(kind, dtype, self.dims(shape, n), generator)
            for shape, (dtype, kind) in zip(self.row.inputs, self.kinds)
        ]
        if self.row.op in NARROW:
            arrays = [
                array.clamp(-0.9, 0.9) if array.is_floating_point() else array for array in arrays
            ]
        return [*arrays, values("normal", "f32", self.dims(self.row.result, n), generator)]

    def module(self):
        given = [
            tensor_type(shape, dtype) for shape, (dtype, _) in zip(self.row.inputs, self.kinds)
        ]
        result = tensor_type(self.row.result, self.result_dtype)
        names = [f"%x{i}" for i in range(len(given))]
        arguments = ", ".join(
            f"{name}: {type}" for name, type in zip([*names, "%w"], [*given, result])
        )
        text = row_text(self.row, names, given, result, 0)
        return (
            f'module attributes {{dl.symbols = [#dl.symbol<"N", {min(self.sizes)}, '
            f"{max(self.sizes)}>]}} {{\nfunc.func @main({arguments}) -> {result} {{\n{text}\n"
            f"  %z = dl.mul %y0, %w : ({result}, {result}) -> {result}\n"
            f"  return %z : {result}\n}}\n}}\n"
        )

    def cases(self):
        """As voices take them: the first has all inputs; one for each derivative."""
        shapes = [self.row.inputs[i] for i in self.floats] + [self.row.result]
        kinds = [*self.kinds, ("f32", None)]
        inputs = [*self.row.inputs, self.row.result]
        return [
            types.SimpleNamespace(
                row=types.SimpleNamespace(inputs=inputs if number == 0 else [], result=shape),
                kinds=kinds,
                result_dtype="f32",
                dims=self.dims,
                inputs=self.values if number == 0 else lambda n: [],
            )
            for number, shape in enumerate(shapes)
        ]

    def expected(self, n):
        wide = [x.double().requires_grad_() if x.is_floating_point() else x for x in self.values(n)]
        reference = REFERENCES.get(self.row.op)
        y = reference(self.row, *wide[:-1]) if reference else self.row.torch(*wide[:-1])
        if not torch.is_tensor(y) or y.dtype != torch.float64:
            return None
        floats = [wide[i] for i in self.floats] + [wide[-1]]
        gradients = torch.autograd.grad((y * wide[-1]).sum(), floats, allow_unused=True)
        return [
            (torch.zeros_like(x) if g is None else g).numpy() for x, g in zip(floats, gradients)
        ]


def differentiated(text):
    with tempfile.TemporaryDirectory() as folder:
        source, derived = (os.path.join(folder, name) for name in ("row.mlir", "derived.mlir"))
        with open(source, "w") as file:
            file.write(text)
        execute(
            [
                built("bin", "dlc-opt"),
                source,
                "-pass-pipeline=builtin.module(func.func(differentiate,decompose-ops))",
                "-o",
                derived,
            ]
        )
        with open(derived) as file:
            return file.read()


def network_at(row, n):
    """The row of a recurrent network (rows/recurrent.py) where N is a number."""
    network = copy.copy(row.torch.__self__)
    network.x = tuple(dims_at(network.x, n))
    network.shapes = [tuple(dims_at(shape, n)) for shape in network.shapes]
    network.result = tuple(dims_at(network.result, n))
    return dataclasses.replace(
        row,
        inputs=network.shapes,
        result=network.result,
        torch=network.torch,
        body=network.body,
        sizes=(n,),
        note=f"{row.note}, N = {n}",
    )


def check(case, voice):
    """A list of sentences; None where PyTorch's function of the row has no derivative, the name of
    an op where dlc has none of it, as docs/operators.md says."""
    try:
        wanted = [case.expected(n) for n in case.sizes]
    except (RuntimeError, TypeError):
        return None
    if not wanted or None in wanted:
        return None
    unknown = UNKNOWN.get(case.name.removesuffix(" f32"))
    try:
        results = voice.run(differentiated(case.module()), case.cases(), case.sizes)
    except Failure as failure:
        if unknown and unknown in str(failure):
            return []
        if "give the number of steps by --shapes" in str(failure) and isinstance(
            case.row.torch, types.MethodType
        ):  # as the user would
            return [
                problem
                for n in case.sizes
                for problem in check(Derived(network_at(case.row, n)), voice) or []
            ]
        missing = re.search(r"has no derivative that dlc knows: it is '(\w+)'", str(failure))
        return missing.group(1) if missing and case.row.op not in rules() else [str(failure)]
    if unknown:
        return [f'expected the message "{unknown}"']
    problems = []
    for operand, pieces in enumerate(results):
        for j, n in enumerate(case.sizes):
            exact = wanted[j][operand]
            bound = RELATIVE * (np.abs(exact[np.isfinite(exact)]).max(initial=0) + 1)
            wrong = ~(
                (np.abs(pieces[j] - exact) <= bound)
                | (pieces[j] == exact)
                | (np.isnan(pieces[j]) & np.isnan(exact))
            )
            if wrong.any():
                at = tuple(int(i) for i in np.argwhere(wrong)[0])
                problems.append(
                    f"N = {n}, operand {operand}: {int(wrong.sum())} of {exact.size} "
                    f"differ, first at {list(at)}: {pieces[j][at]!r}, expected "
                    f"{exact[at]!r}"
                )
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--op", action="append", default=[])
    options = parser.parse_args()
    torch.set_num_threads(1)
    ops = {op for op in rules() | parts() if not options.op or op in options.op}
    cases = [
        Derived(row)
        for row in ROWS
        if row.op in ops
        and "f32" in row.dtypes
        and (row.result_dtype or "f32") == "f32"
        and row.phase == "import"
        and not row.raw
    ]
    voice, met = Reference(), collections.Counter()
    passed = failed = left = 0
    missing = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for case, problems in zip(cases, pool.map(lambda case: check(case, voice), cases)):
            if problems is None:
                left += 1
                continue
            if isinstance(problems, str):
                missing[problems] += 1
                continue
            met[case.row.op] += 1
            passed, failed = passed + (not problems), failed + bool(problems)
            if problems:
                print(f"FAILED {case.name}: {problems[0]}")
    for op in sorted((ops & rules()) - set(met) - ELSEWHERE):
        failed += 1
        print(f"FAILED {op}: no row goes through its rule")
    for op, count in sorted(missing.items()):
        print(f"{count} left out (dlc has no derivative of {op})")
    if left:
        print(f"{left} left out (PyTorch has no derivative of the rows' functions)")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
