"""Random graphs whose nodes are numeric rows: an op that has a row takes part. A seed gives a graph.

Two kinds. Exact: small whole numbers and ops that round at most once each, so that every way to compute it gives the same
bits. Smooth: floats and ops that are continuous, whose results are compared within what the graph itself makes of a tiny change
of its inputs."""
import dataclasses
import random
import re
import types
import zlib

import numpy as np
import torch

import accuracy as acc
from modules import dims_at, row_text, tensor_type, values
from rows import ROWS

SIZES = (1, 2, 3, 7, 9, 17, 33)  # of N
ALWAYS = (7, 9)                  # a row that cannot take these is left out
MOST_ELEMENTS = 1 << 16          # of a tensor at the largest N
EXACT_DTYPES = ("f32", "f64", "i64", "i32", "i8", "i1")
# Kinds of values (see numeric/modules.py) for which any number will do.
FREE = ("special", "normal", "numbers", "wide", "whole", "equals", "halves", "weights", "positive")
# Defined for some divisors, exponents and shifts only: never fed from the graph.
PARTIAL = {"pow", "floor_divide", "remainder", "fmod", "trunc_divide", "bitwise_left_shift", "bitwise_right_shift"}
# Of whole numbers they may make others: rounded at once, since the reference rounds nothing on its way.
FRACTIONS = {"div", "norm", "pow_number", "reciprocal", "sqrt", "filled"}
# What they make of small numbers is large.
GROWS = {"mul", "square", "outer", "contract", "linear", "matmul", "conv1d", "conv2d", "pow_number", "embedding_bag", "cumsum",
         "prefix_sum", "running_sum", "scatter", "scatter_reduce", "scatter_apply",
         "scatter_seek"}
# A tiny change of the input may change the result at once; at the ends of their range asin and acos rise steeply.
JUMPS = {"asin", "acos", "floor", "ceil", "round", "trunc", "frac", "sign", "fmod", "remainder", "floor_divide", "trunc_divide", "hardshrink",
         "threshold", "heaviside", "argmax", "argmin", "argsort", "sort", "topk", "rank", "places", "order", "max_positions1d", "max_positions2d",
         "unique", "masked_select",
         "cast", "interpolate", "upsample", "isfinite", "isnan", "isinf", "pow", "atan2", "digamma", "lgamma", "tan"}


@dataclasses.dataclass
class Value:
    name: str
    shape: tuple
    dtype: str

    @property
    def type(self):
        return tensor_type(self.shape, self.dtype)

    def elements(self, n):
        return int(np.prod(dims_at(self.shape, n), dtype=np.int64))


def fits(row):
    # PyTorch's own dtypes: the others are held as something else, and few ops take them.
    if any(dtype in acc.HELD for dtype in (*row.dtypes, row.result_dtype)):
        return False
    return (row.phase == "import" and row.inputs and all(n in row.sizes for n in ALWAYS) and
            all(Value("", shape, "f32").elements(max(n for n in SIZES if n in row.sizes)) <= MOST_ELEMENTS
                for shape in (*row.inputs, row.result)))


def rounds_once(row):
    return row.bound is None or row.bound is acc.equal


EXACT = [row for row in ROWS if fits(row) and rounds_once(row)]
SMOOTH = [row for row in ROWS if fits(row) and row.op not in JUMPS and "f32" in row.dtypes and
          (row.result_dtype or "f32") == "f32" and row.values in FREE]


def kind_of(row, number, dtype):
    return row.kinds.get(number, (dtype, row.values))


class Graph:
    """`text` is the module; `cases` stand for its outputs, and the first of them for its inputs, as the voices take them. While
    `changed` is a number, inputs are multiplied by numbers next to 1 that it chooses, and in `noisy_text`, which has more inputs,
    so are the results of all rows: what rounding them may do."""

    def __init__(self, seed, most_nodes=40):
        self.random = random.Random(seed)
        self.seed, self.changed = seed, None
        self.is_exact = self.random.random() < 0.5
        self.inputs, self.pool, self.lines, self.used = [], [], [], set()
        self.rows = []  # (position in lines, result)
        self.sizes = SIZES
        self.ops = []
        for _ in range(self.random.randint(1, most_nodes) if self.random.random() < 0.3 else self.random.randint(1, 12)):
            self.add_node()
        largest = max(self.sizes)
        leaves = [value for value in self.pool if value.name not in self.used] or self.pool[-1:]
        self.outputs = leaves + [v for v in self.pool if v.name in self.used and self.random.random() < 0.1]
        self.sizes = sorted({min(self.sizes), largest, self.random.choice(self.sizes)})
        self.text = self.module(self.inputs, self.lines)
        self.noise = [(Value(f"%noise{position}", value.shape, value.dtype), "noise") for position, value in self.rows
                      if value.dtype in acc.FORMATS]
        self.noisy_text = self.module(self.inputs + self.noise, self.noisy_lines())
        self.cases = [self.case(number, value) for number, value in enumerate(self.outputs)]

    def define(self, op, operands, attributes, shape, dtype):
        """A value by one op; `op` without its dialect."""
        result = Value(f"%v{len(self.lines)}", shape, dtype)
        signature = ", ".join(operand.type for operand in operands)
        names = ", ".join(operand.name for operand in operands)
        self.lines.append(f"{result.name} = dl.{op} {names}{' ' + attributes if attributes else ''} : ({signature}) -> {result.type}")
        self.used.update(operand.name for operand in operands)
        return result

    def fresh(self, shape, dtype, kind):
        if self.is_exact and kind in FREE:
            kind = "whole"
        elif kind in ("special", "equals", "halves", "numbers", "whole"):
            kind = "normal"
        value = Value(f"%x{len(self.inputs)}", shape, dtype)
        self.inputs.append((value, kind))
        return value

    def tamed(self, value, row, is_cast):
        """Small whole numbers, or numbers of size 1."""
        if value.dtype not in ("f32", "f64"):
            return value
        if self.is_exact:
            if row.op not in GROWS and not is_cast and self.random.random() < 0.5:
                return value
            value = self.define("clamp", [value], "{min = -4.0 : f64, max = 4.0 : f64}", value.shape, value.dtype)
            return self.define("round", [value], "", value.shape, value.dtype)
        if self.random.random() < 0.5:
            value = self.define("tanh", [value], "", value.shape, value.dtype)
        return value

    def adapted(self, value, shape, dtype, row, kind):
        """`value` as an operand of `shape` and `dtype`."""
        if tuple(value.shape) != tuple(shape):
            symbols = "[s0]" if any("N" in str(dim) for dim in shape) else ""
            dims = ", ".join(str(dim).replace("N", "s0") for dim in shape)
            value = self.define("reshape", [value], f"{{shape = affine_map<(){symbols} -> ({dims})>}}", shape, value.dtype)
        is_cast = value.dtype != dtype
        if is_cast:
            value = self.define("cast", [value], f"{{dtype = {dtype}}}", shape, dtype)
        value = self.tamed(value, row, is_cast)
        if kind == "positive":
            value = self.define("abs", [value], "", shape, dtype)
            value = self.define("clamp", [value], "{min = 0.125 : f64}", shape, dtype)
        return value

    def operand(self, row, number, dtype):
        shape, (dtype, kind) = row.inputs[number], kind_of(row, number, dtype)
        if kind in FREE and row.op not in PARTIAL and self.random.random() < 0.8:
            probe = Value("", shape, dtype)
            like = [value for value in self.pool[-12:] if (value.dtype == dtype or self.is_exact) and
                    all(value.elements(n) == probe.elements(n) for n in SIZES)]
            if like:
                return self.adapted(self.random.choice(like), shape, dtype, row, kind)
        return self.fresh(shape, dtype, kind)

    def add_node(self):
        rows = EXACT if self.is_exact else SMOOTH
        for attempt in range(50):
            row = self.random.choice(rows)
            dtype = self.random.choice([d for d in row.dtypes if d in EXACT_DTYPES] or ["f32"]) if self.is_exact else "f32"
            sizes = [n for n in self.sizes if n in row.sizes]
            # Rows that continue the graph are preferred.
            kinds = [Value("", shape, "f32") for shape in row.inputs]
            joins = any(value.elements(7) == kind.elements(7) for kind in kinds for value in self.pool[-12:])
            if dtype in row.dtypes and len(sizes) >= len(ALWAYS) and (joins or not self.pool or attempt > 20):
                break
        else:
            return
        self.sizes = sizes
        operands = [self.operand(row, number, dtype) for number in range(len(row.inputs))]
        result_dtype = row.result_dtype or dtype
        number = len(self.lines)
        text = row_text(row, [o.name for o in operands], [o.type for o in operands], tensor_type(row.result, result_dtype), number)
        self.lines.append(text)
        self.used.update(operand.name for operand in operands)
        value = Value(f"%y{number}", row.result, result_dtype)
        if self.is_exact and row.op in FRACTIONS and result_dtype in acc.FORMATS:
            value = self.define("round", [value], "", row.result, result_dtype)
        self.pool.append(value)
        self.rows.append((number, Value(f"%y{number}", row.result, result_dtype)))
        self.ops.append(row.op)

    def noisy_lines(self):
        lines = list(self.lines)
        for position, value in self.rows:
            if value.dtype in acc.FORMATS:
                lines[position] = re.sub(rf"{value.name}\b", f"%plain{position}", lines[position]) + (
                    f"\n{value.name} = dl.mul %plain{position}, %noise{position} : ({value.type}, {value.type}) -> {value.type}")
        return lines

    def module(self, inputs, lines):
        arguments = ", ".join(f'{value.name}: {value.type} {{dl.name = "{value.name[1:]}"}}' for value, _ in inputs)
        results = ", ".join(f'{value.type} {{dl.name = "r{i}"}}' for i, value in enumerate(self.outputs))
        lines = "\n".join("  " + line for text in lines for line in text.splitlines())
        return (f'module attributes {{dl.symbols = [#dl.symbol<"N", {min(self.sizes)}, {max(self.sizes)}>]}} {{\n'
                f"func.func @main({arguments}) -> ({results}) {{\n{lines}\n"
                f"  return {', '.join(v.name for v in self.outputs)} : {', '.join(v.type for v in self.outputs)}\n}}\n}}\n")

    def values(self, n):
        arrays = []
        for value, kind in self.inputs if self.changed is None else self.inputs + self.noise:
            generator = np.random.default_rng(zlib.crc32(f"{self.seed} {value.name} {n}".encode()))
            dims = dims_at(value.shape, n)
            array = torch.ones(dims, dtype=acc.TORCH[value.dtype]) if kind == "noise" else values(kind, value.dtype, dims, generator)
            if self.changed is not None and value.dtype in acc.FORMATS:
                change = np.random.default_rng([self.changed, len(arrays)]).choice([-1.0, 1.0], array.shape)
                array = (array.double() * (1 + 2.0**-20 * change)).to(array.dtype)
            arrays.append(array)
        return arrays

    def case(self, number, value):
        first = number == 0
        row = types.SimpleNamespace(inputs=[v.shape for v, _ in self.inputs] if first else [], result=value.shape, phase="import")
        return types.SimpleNamespace(row=row, kinds=[(v.dtype, None) for v, _ in self.inputs + self.noise], result_dtype=value.dtype,
                                     dims=dims_at, inputs=self.values if first else lambda n: [])
