"""Random graphs whose nodes are numeric rows: an op that has a row takes part. A seed gives a
graph.

Two kinds. Exact: small whole numbers and ops that round at most once each, so that every way to
compute it gives the same bits. Smooth: floats and ops that are continuous, whose results are
compared within what the graph itself makes of tiny changes of its inputs and, on the way, of what
each row may be off."""
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
MOST_ELEMENTS = 1 << 16          # of a tensor at the largest N
EXACT_DTYPES = ("f32", "f64", "i64", "i32", "i8", "i1")
# Kinds of values (see numeric/modules.py) for which any number will do.
FREE = ("special", "normal", "numbers", "wide", "whole", "equals", "halves", "weights", "positive")
# Defined for some divisors, exponents and shifts only: never fed from the graph.
PARTIAL = {
    "pow", "floor_divide", "remainder", "fmod", "trunc_divide", "bitwise_left_shift",
    "bitwise_right_shift"
}
# Of whole numbers they may make others: rounded at once, since the reference rounds nothing on its
# way.
FRACTIONS = {"div", "norm", "pow_number", "reciprocal", "sqrt", "filled"}
# What they make of small numbers, or of two next to each other, is just any.
WILD = {"bitcast"}
# What they make of small numbers is large.
GROWS = {
    "mul", "square", "outer", "contract", "linear", "matmul", "conv1d", "conv2d", "pow_number",
    "embedding_bag", "cumsum", "prefix_sum", "running_sum", "scatter", "scatter_reduce",
    "scatter_apply", "scatter_seek", "conv3d", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "einsum", "addmm", "cumprod", "det", "deform_conv2d", "deform_patches",
    "fold", "overlap_add", "resample", "upfirdn2d", "scaled_dot_product_attention", "roi_align"
}
# A tiny change of the input may change the result at once.
JUMPS = {
    "floor", "ceil", "round", "trunc", "frac", "sign", "fmod", "remainder", "floor_divide",
    "trunc_divide", "hardshrink", "threshold", "heaviside", "argmax", "argmin", "argsort", "sort",
    "topk", "rank", "places", "order", "max_positions1d", "max_positions2d", "unique",
    "masked_select", "non_max_suppression", "nms", "suppress", "cast", "interpolate", "upsample",
    "grid_sample", "isfinite", "isnan", "isinf"
}
# Where the functions are defined and rise no more than a few times as fast as their arguments: what
# the graph feeds them is cut to that.
DOMAINS = {
    "asin": (-0.9, 0.9), "acos": (-0.9, 0.9), "atanh": (-0.9, 0.9), "tan": (-1.25, 1.25),
    "digamma": (0.25, 8), "lgamma": (0.25, 8), "log1p": (-0.9, 8), "atan2": (0.25, 8)
}


class Changed(int):
    """A value of N in a run of `noisy_text`: number `change` of those runs."""

    def __new__(cls, n, change):
        number = super().__new__(cls, n)
        number.change = change
        return number


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


def sizes_of(row):
    """The values of N that a row takes: any where it has no N."""
    depends = any("N" in str(dim) for shape in (*row.inputs, row.result) for dim in shape)
    return [n for n in SIZES if n in row.sizes or not depends]


def fits(row):
    # PyTorch's own dtypes: the others are held as something else, and few ops take them.
    if any(dtype in acc.HELD for dtype in (*row.dtypes, row.result_dtype)):
        return False
    return (not row.is_composed and row.phase == "import" and row.op not in WILD and sizes_of(row)
            and all(
                Value("", shape, "f32").elements(max(sizes_of(row))) <= MOST_ELEMENTS
                for shape in (*row.inputs, row.result)))


def rounds_once(row):
    return row.bound is None or row.bound is acc.equal


def by_op(rows):
    """A list of rows for each op, so that an op with many rows is as rare as one with few."""
    ops = {}
    for row in rows:
        ops.setdefault(row.op, []).append(row)
    return list(ops.values())


EXACT = by_op(row for row in ROWS if fits(row) and rounds_once(row))
SMOOTH = by_op(
    row for row in ROWS if fits(row) and row.op not in JUMPS and "f32" in row.dtypes and
    (row.result_dtype or "f32") == "f32" and (row.values in FREE or isinstance(row.values, list)))
TANH = next(row for row in ROWS if row.op == "tanh")


def kind_of(row, number, dtype):
    return row.kinds.get(number, (dtype, row.values))


class Graph:
    """`text` is the module; `cases` stand for its outputs, and the first of them for its inputs, as
    the voices take them.

    For a Changed N, inputs are multiplied by numbers next to 1, and in `noisy_text`, which has more
    inputs, something is added to the results of all rows: what rounding them may do, and what they
    may be off by (`off`, for each size an array for each row; see `offs`). `watched_text` returns
    all values that `offs` needs, with `watched_cases`."""

    def __init__(self, seed, most_nodes=40):
        self.random = random.Random(seed)
        self.seed, self.off = seed, None
        self.is_exact = self.random.random() < 0.5
        self.inputs, self.pool, self.lines, self.used = [], [], [], set()
        self.rows = []  # (position in lines, result, row, operands)
        self.sizes = SIZES
        self.ops = []
        self.add_nodes(most_nodes)
        largest = max(self.sizes)
        leaves = [value for value in self.pool if value.name not in self.used] or self.pool[-1:]
        self.outputs = leaves + [
            v for v in self.pool if v.name in self.used and self.random.random() < 0.1
        ]
        self.sizes = sorted({min(self.sizes), largest, self.random.choice(self.sizes)})
        self.text = self.module(self.inputs, self.lines)
        self.rows = [entry for entry in self.rows if entry[1].dtype in acc.FORMATS]
        self.noise = [(Value(f"%noise{position}", value.shape, value.dtype), "noise")
                      for position, value, _, _ in self.rows]
        self.noisy_text = self.module(self.inputs + self.noise, self.noisy_lines())
        self.cases = [self.case(number, value) for number, value in enumerate(self.outputs)]
        self.watched = {
            value.name: value for _, result, _, operands in self.rows
            for value in (result, *operands)
        }
        self.watched_text = self.module(self.inputs, self.lines,
                                        [*self.outputs, *self.watched.values()])
        self.watched_cases = self.cases + [self.case(1, value) for value in self.watched.values()]

    def add_nodes(self, most_nodes):
        for _ in range(
                self.random.randint(1, most_nodes) if self.random.random() <
                0.3 else self.random.randint(1, 12)):
            row, dtype, sizes = self.fitting_row()
            if row:
                self.sizes = sizes
                self.add_node(
                    row, dtype,
                    [self.operand(row, number, dtype) for number in range(len(row.inputs))])

    def define(self, op, operands, attributes, shape, dtype):
        """A value by one op; `op` without its dialect."""
        result = Value(f"%v{len(self.lines)}", shape, dtype)
        signature = ", ".join(operand.type for operand in operands)
        names = ", ".join(operand.name for operand in operands)
        self.lines.append(
            f"{result.name} = dl.{op} {names}{' ' + attributes if attributes else ''} : ({signature}) -> {result.type}"
        )
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
            value = self.define("clamp", [value], "{min = -4.0 : f64, max = 4.0 : f64}",
                                value.shape, value.dtype)
            return self.define("round", [value], "", value.shape, value.dtype)
        if self.random.random() < 0.5:
            operand, number = value, len(self.lines)
            value = self.define("tanh", [value], "", value.shape, value.dtype)
            self.rows.append((number, value, TANH, [operand]))
        return value

    def adapted(self, value, shape, dtype, row, kind):
        """`value` as an operand of `shape` and `dtype`."""
        if tuple(value.shape) != tuple(shape):
            symbols = "[s0]" if any("N" in str(dim) for dim in shape) else ""
            dims = ", ".join(str(dim).replace("N", "s0") for dim in shape)
            value = self.define("reshape", [value],
                                f"{{shape = affine_map<(){symbols} -> ({dims})>}}", shape,
                                value.dtype)
        is_cast = value.dtype != dtype
        if is_cast:
            value = self.define("cast", [value], f"{{dtype = {dtype}}}", shape, dtype)
        value = self.tamed(value, row, is_cast)
        if kind == "positive":
            value = self.define("abs", [value], "", shape, dtype)
            value = self.define("clamp", [value], "{min = 0.125 : f64}", shape, dtype)
        if row.op in DOMAINS and not self.is_exact:
            low, high = DOMAINS[row.op]
            value = self.define("clamp", [value],
                                f"{{min = {float(low)} : f64, max = {float(high)} : f64}}", shape,
                                dtype)
        return value

    def operand(self, row, number, dtype):
        shape, (dtype, kind) = row.inputs[number], kind_of(row, number, dtype)
        if kind in FREE and row.op not in PARTIAL and self.random.random() < 0.8:
            probe = Value("", shape, dtype)
            like = [
                value for value in self.pool[-12:]
                if (value.dtype == dtype or self.is_exact) and all(
                    value.elements(n) == probe.elements(n) for n in SIZES)
            ]
            if like:
                return self.adapted(self.random.choice(like), shape, dtype, row, kind)
        return self.fresh(shape, dtype, kind)

    def fitting_row(self):
        """A row, its dtype and the sizes of N that it leaves; nothing where none was found."""
        rows = EXACT if self.is_exact else SMOOTH
        for attempt in range(50):
            row = self.random.choice(self.random.choice(rows))
            dtype = self.random.choice([d for d in row.dtypes if d in EXACT_DTYPES]
                                       or ["f32"]) if self.is_exact else "f32"
            sizes = [n for n in self.sizes if n in sizes_of(row)]
            # Rows that continue the graph are preferred.
            kinds = [Value("", shape, "f32") for shape in row.inputs]
            joins = any(
                value.elements(7) == kind.elements(7) for kind in kinds
                for value in self.pool[-12:])
            # One kernel serves all sizes: few graphs keep one alone.
            most = 1 if self.random.random() < 0.1 else 2
            if dtype in row.dtypes and len(sizes) >= most and (joins or not self.pool
                                                               or attempt > 20):
                return row, dtype, sizes
        return None, None, None

    def add_node(self, row, dtype, operands):
        result_dtype = row.result_dtype or dtype
        number = len(self.lines)
        text = row_text(row, [o.name for o in operands], [o.type for o in operands],
                        tensor_type(row.result, result_dtype), number)
        self.lines.append(text)
        self.used.update(operand.name for operand in operands)
        value = Value(f"%y{number}", row.result, result_dtype)
        if self.is_exact and row.op in FRACTIONS and result_dtype in acc.FORMATS:
            value = self.define("round", [value], "", row.result, result_dtype)
        self.pool.append(value)
        self.rows.append((number, Value(f"%y{number}", row.result, result_dtype), row, operands))
        self.ops.append(row.op)

    def noisy_lines(self):
        lines = list(self.lines)
        for position, value, _, _ in self.rows:
            lines[position] = re.sub(rf"{value.name}\b", f"%plain{position}", lines[position]) + (
                f"\n{value.name} = dl.add %plain{position}, %noise{position} : ({value.type}, {value.type}) -> {value.type}"
            )
        return lines

    def offs(self, results):
        """For each size, for each row, how far its result may be off: its own bound at the values
        that it has here, and roundings."""
        watched = dict(zip(self.watched, results[len(self.outputs):]))
        offs = []
        for j, _ in enumerate(self.sizes):
            offs.append([])
            for _, value, row, operands in self.rows:
                exact = watched[value.name][j]
                with np.errstate(all="ignore"):
                    off = 2.0**-20 * np.abs(exact)
                    if row.bound is not None:
                        given = [
                            torch.from_numpy(np.array(watched[operand.name][j]))
                            for operand in operands
                        ]
                        off = np.maximum(off, row.bound(exact, given, value.dtype))
                    offs[-1].append(np.nan_to_num(off, nan=0.0, posinf=acc.LARGEST[value.dtype]))
        return offs

    def module(self, inputs, lines, outputs=None):
        outputs = outputs or self.outputs
        arguments = ", ".join(f'{value.name}: {value.type} {{dl.name = "{value.name[1:]}"}}'
                              for value, _ in inputs)
        results = ", ".join(f'{value.type} {{dl.name = "r{i}"}}' for i, value in enumerate(outputs))
        lines = "\n".join("  " + line for text in lines for line in text.splitlines())
        return (
            f'module attributes {{dl.symbols = [#dl.symbol<"N", {min(self.sizes)}, {max(self.sizes)}>]}} {{\n'
            f"func.func @main({arguments}) -> ({results}) {{\n{lines}\n"
            f"  return {', '.join(v.name for v in outputs)} : {', '.join(v.type for v in outputs)}\n}}\n}}\n"
        )

    def values(self, n):
        arrays, changed = [], getattr(n, "change", None)
        for value, kind in self.inputs if changed is None else self.inputs + self.noise:
            generator = np.random.default_rng(zlib.crc32(f"{self.seed} {value.name} {n}".encode()))
            dims = dims_at(value.shape, n)
            change = np.random.default_rng([changed or 0, len(arrays)]).choice([-1.0, 1.0], dims)
            if kind == "noise":
                off = self.off[self.sizes.index(n)][len(arrays) - len(self.inputs)]
                array = torch.from_numpy(np.array(off * change)).to(acc.TORCH[value.dtype])
            else:
                array = values(kind, value.dtype, dims, generator)
                if changed is not None and value.dtype in acc.FORMATS:
                    array = (array.double() * (1 + 2.0**-20 * change)).to(array.dtype)
            arrays.append(array)
        return arrays

    def case(self, number, value):
        first = number == 0
        row = types.SimpleNamespace(inputs=[v.shape for v, _ in self.inputs] if first else [],
                                    result=value.shape, phase="import")
        return types.SimpleNamespace(row=row, kinds=[
            (v.dtype, None) for v, _ in self.inputs + self.noise
        ], result_dtype=value.dtype, dims=dims_at, inputs=self.values if first else lambda n: [])


class Chain(Graph):
    """Smooth rows of one operand, by name, each on the result of the one before."""

    def __init__(self, names):
        self.names = names
        super().__init__(0)

    def add_nodes(self, _):
        self.is_exact = False
        for name in self.names:
            row = next(row for row in ROWS if row.name == name)
            self.sizes = [n for n in self.sizes if n in sizes_of(row)]
            self.add_node(row, "f32", self.pool[-1:]
                          or [self.fresh(row.inputs[0], "f32", row.values)])
