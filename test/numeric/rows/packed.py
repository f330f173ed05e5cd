"""Products with weights of 4 and 8 bits, as quantize-weights writes them: what the codes stand for is computed where they are read."""
import math

import torch
from torch.nn import functional as F

import accuracy as acc
from rows.quantized import Ops, numbers_of
from rows.row import row


class PackedOps(Ops):
    def bytes(self, number, type):
        """A number of u8, which is written without a sign."""
        name = "%" + next(self.letters)
        self.text += f"{name} = dl.full {number} : i8 -> {type}\n"
        return name, type


def counting(ops, shape, dtype):
    """0, 1, 2 ..., there when the model is loaded."""
    count = math.prod(shape)
    line = f"tensor<{count}xi32>"
    x = ops.add("arange", [], line, f"{{end = affine_map<() -> ({count})>, dtype = i32}}")
    dims = ", ".join(map(str, shape))
    return ops.add("reshape", [ops.cast(x, dtype)], f"tensor<{dims.replace(', ', 'x')}x{dtype}>",
                   f" {{shape = affine_map<() -> ({dims})>}}")


def counted(shape):
    return torch.arange(math.prod(shape)).reshape(shape)


class Packed:
    """The weights [rows, columns] in `bits`, as ops and as numbers. `group` neighbours of a row share a scale, 0: all of them do, "tensor": all
    weights do. Asymmetric ones have zero points beside the scales."""

    def __init__(self, rows, columns, bits, group, symmetric):
        self.rows, self.columns, self.bits, self.group, self.symmetric = rows, columns, bits, group, symmetric
        self.half = (columns + 1) // 2
        self.grids = (1, 1) if group == "tensor" else (rows, -(-columns // group) if group else 1)
        self.codes = ((rows, columns), "i8" if symmetric else "ui8") if bits == 8 else ((rows, self.half), "ui8")

    def scale(self, ops):
        wide = counting(ops, self.grids, "f32")
        for op, number in (("add", "1.0"), ("mul", "3.90625e-03")):
            wide = ops.add(op, [wide, ops.full(number, wide[1])], wide[1])
        return wide

    def whole(self, ops, x):
        """The first `columns` of x."""
        type = f"tensor<{self.rows}x{self.columns}x{x[1].split('x')[-1]}"
        return ops.add("slice", [x], type, f" {{dim = 1 : i64, end = {self.columns} : i64, start = 0 : i64}}") if x[1] != type else x

    def of_groups(self, ops, x):
        element = x[1].split('x')[-1]
        if self.group in (0, "tensor"):
            return ops.add("broadcast", [x], f"tensor<{self.rows}x{self.columns}x{element}")
        type = f"tensor<{self.rows}x{self.grids[1] * self.group}x{element}"
        return self.whole(ops, ops.add("repeat_interleave", [x], type, f" {{dim = 1 : i64, repeats = {self.group} : i64}}"))

    def ops(self, ops):
        wide = f"tensor<{self.rows}x{self.columns}xf32>"
        codes = ops.constant(*self.codes)
        if self.bits == 4:
            low, high = (ops.add(op, [codes, ops.bytes(number, codes[1])], codes[1])
                         for op, number in (("bitwise_and", "15"), ("floor_divide", "16")))
            codes = self.whole(ops, ops.add("cat", [low, high], f"tensor<{self.rows}x{2 * self.half}xui8>", " {dim = 1 : i64}"))
        steps = ops.cast(codes, "f32")
        if not self.symmetric:
            zero = self.of_groups(ops, counting(ops, self.grids, "ui8"))
            steps = ops.add("sub", [steps, ops.cast(zero, "f32")], wide)
        elif self.bits == 4:
            steps = ops.add("sub", [steps, ops.full("8.0", wide)], wide)
        return ops.add("mul", [steps, self.of_groups(ops, self.scale(ops))], wide)

    def numbers(self):
        def of_groups(x):
            if self.group in (0, "tensor"):
                return x.expand(self.rows, self.columns)
            return x.repeat_interleave(self.group, dim=1)[:, :self.columns]

        codes = numbers_of(*self.codes)
        if self.bits == 4:
            codes = torch.cat([codes & 15, codes >> 4], dim=1)[:, :self.columns]
        zero = 8 * (self.bits == 4) if self.symmetric else of_groups(counted(self.grids) % 256)
        return (codes - zero).double() * of_groups((counted(self.grids).double() + 1) / 256)


def linear(columns, bits, rows=19, dtype="f32", batch=("N",), sizes=(0, 1, 2, 7, 49), group=None, symmetric=None):
    group = (0 if bits == 8 else 32) if group is None else group
    weights = Packed(rows, columns, bits, group, bits == 8 if symmetric is None else symmetric)

    def body(names, types, y):
        ops = PackedOps()
        w = weights.ops(ops)
        if dtype != "f32":
            w = ops.cast(w, dtype)
        return ops.result(ops.add("linear", [(names[0], types[0]), w], y))

    bound = acc.contraction(columns, lambda x: F.linear(x, weights.numbers().abs()))
    if dtype != "f32":  # to which weights are rounded, or not
        bound = acc.rounded_before(bound)
    row("linear", (dtype,), [(*batch, columns)], (*batch, rows), lambda x: F.linear(x, weights.numbers()), bound, sizes=sizes, values="normal", body=body,
        note=f"weights of {bits} bits [{rows}, {columns}], groups of {group}" + ", symmetric" * weights.symmetric)


for columns in (1, 2, 31, 32, 33, 45, 63, 64, 65, 96, 127, 128, 172, 257):
    linear(columns, 4)
for columns in (1, 16, 33, 64):
    linear(columns, 8)
for rows in (1, 15, 16, 17, 32, 33, 80):
    linear(64, 4, rows)
linear(128, 4, group=64)
linear(300, 4, group=128)
linear(64, 4, 33, batch=(3, "N"))
linear(64, 8, 33, batch=(3, "N"))
linear(64, 4, 33, dtype="f16")
linear(45, 8, 33, dtype="f16")
# Other grids than those of w8 and w4 by themselves.
for columns in (1, 16, 33, 64, 65):
    linear(columns, 4, symmetric=True)
    linear(columns, 8, group=16)
    linear(columns, 8, group=32, symmetric=False)
for group in (0, "tensor"):
    linear(45, 4, 33, group=group)
    linear(64, 4, 17, group=group, symmetric=True)
    linear(45, 8, 33, group=group, symmetric=False)
linear(65, 8, 33, group="tensor")


class Blocks:
    """A weight [features, columns] of which `count` blocks are stored, spread over its panels of 16 features."""

    def __init__(self, features, columns, count):
        self.features, self.columns, self.count = features, columns, count
        self.panels = -(-features // 16)
        self.starts = torch.arange(self.panels + 1) * count // self.panels
        self.places = torch.arange(count) * 7 % columns

    def counted(self, ops, count, numbers):
        """0, 1, 2 ... after each op with its number."""
        x = ops.add("arange", [], f"tensor<{count}xi32>", f"{{end = affine_map<() -> ({count})>, dtype = i32}}")
        for op, number in numbers:
            x = ops.add(op, [x, ops.full(number, x[1])], x[1])
        return x

    def stored(self, ops):
        return (self.counted(ops, self.count, [("mul", 7), ("remainder", self.columns)]),
                self.counted(ops, self.panels + 1, [("mul", self.count), ("floor_divide", self.panels)]))

    def dense(self, values):
        whole = torch.zeros(self.panels, 16, self.columns, dtype=values.dtype)
        for panel in range(self.panels):
            for block in range(self.starts[panel], self.starts[panel + 1]):
                whole[panel, :, self.places[block]] += values[block]
        return whole.reshape(-1, self.columns)[:self.features]


def block_sparse(features, columns, count, batch=("N",), bias=False, sizes=(0, 1, 2, 7, 25, 49), channels=False):
    """`channels`: a convolution of one tap and steps of 2, whose features are dim 1."""
    blocks = Blocks(features, columns, count)

    def body(names, types, y):
        ops = Ops()
        places, starts = blocks.stored(ops)
        operands = [(names[0], types[0]), (names[1], types[1]), places, starts, *zip(names[2:], types[2:])]
        dim = 1 if channels else len(batch)
        steps = ", steps = array<i64: 1, 1, 2, 2>" * channels
        return ops.result(ops.add("block_sparse_linear", operands, y, f" {{features = {features} : i64, dim = {dim} : i64{steps}}}"))

    def product(x, values, *added):
        if channels:
            return F.conv2d(x, blocks.dense(values)[:, :, None, None], *added, stride=2)
        return F.linear(x, blocks.dense(values), *added)

    shape, result = (*batch, columns), (*batch, features)
    if channels:
        shape, result = ("N", columns, 5, 6), ("N", features, 3, 3)
    most = max(1, int((blocks.starts[1:] - blocks.starts[:-1]).max()))
    row("block_sparse_linear", ("f32",), [shape, (count, 16)] + [(features,)] * bias, result, product,
        acc.contraction(most + bias, product), sizes=sizes, values="normal", body=body,
        note=f"{count} blocks of [{features}, {columns}]" + ", bias" * bias + ", channels" * channels)


for features, columns, count in ((1, 1, 1), (16, 33, 9), (30, 20, 25), (33, 64, 1), (80, 17, 60)):
    block_sparse(features, columns, count)
block_sparse(47, 40, 70, bias=True)
block_sparse(32, 40, 30, batch=(3, "N"), bias=True)
block_sparse(40, 24, 33, bias=True, channels=True, sizes=(0, 1, 3))
