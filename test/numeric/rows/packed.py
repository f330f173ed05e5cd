"""Products with weights of 4 and 8 bits, as quantize-weights writes them: what the codes stand for
is computed where they are read."""
import math

import torch
from torch.nn import functional as F

import accuracy as acc
from rows.quantized import Ops, numbers_of
from rows.row import element_of, row


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
    """The weights [rows, columns] in `bits`, as ops and as numbers. `group` neighbours of a row
    share a scale, 0: all of them do, "tensor": all weights do. Asymmetric ones have zero points
    beside the scales."""

    def __init__(self, rows, columns, bits, group, symmetric):
        self.rows, self.columns, self.bits = rows, columns, bits
        self.group, self.symmetric = group, symmetric
        self.half = (columns + 1) // 2
        self.grids = (1, 1) if group == "tensor" else (rows, -(-columns // group) if group else 1)
        self.codes = ((rows, columns),
                      "i8" if symmetric else "ui8") if bits == 8 else ((rows, self.half), "ui8")

    def scale(self, ops):
        wide = counting(ops, self.grids, "f32")
        for op, number in (("add", "1.0"), ("mul", "3.90625e-03")):
            wide = ops.add(op, [wide, ops.full(number, wide[1])], wide[1])
        return wide

    def whole(self, ops, x):
        """The first `columns` of x."""
        type = f"tensor<{self.rows}x{self.columns}x{x[1].split('x')[-1]}"
        return ops.add("slice", [x], type,
                       f" {{dim = 1 : i64, end = {self.columns} : i64, start = 0 : i64}}"
                       ) if x[1] != type else x

    def of_groups(self, ops, x):
        element = x[1].split('x')[-1]
        if self.group in (0, "tensor"):
            return ops.add("broadcast", [x], f"tensor<{self.rows}x{self.columns}x{element}")
        type = f"tensor<{self.rows}x{self.grids[1] * self.group}x{element}"
        return self.whole(
            ops,
            ops.add("repeat_interleave", [x], type,
                    f" {{dim = 1 : i64, repeats = {self.group} : i64}}"))

    def ops(self, ops):
        wide = f"tensor<{self.rows}x{self.columns}xf32>"
        codes = ops.constant(*self.codes)
        if self.bits == 4:
            low, high = (ops.add(op, [codes, ops.bytes(number, codes[1])], codes[1])
                         for op, number in (("bitwise_and", "15"), ("floor_divide", "16")))
            codes = self.whole(
                ops,
                ops.add("cat", [low, high], f"tensor<{self.rows}x{2 * self.half}xui8>",
                        " {dim = 1 : i64}"))
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


def linear(columns, bits, rows=19, dtype="f32", batch=("N", ), sizes=(0, 1, 2, 7, 49), group=None,
           symmetric=None):
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
    row(
        "linear", (dtype, ), [(*batch, columns)], (*batch, rows),
        lambda x: F.linear(x, weights.numbers()), bound, sizes=sizes, values="normal", body=body,
        note=f"weights of {bits} bits [{rows}, {columns}], groups of {group}"
        + ", symmetric" * weights.symmetric)


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
    """A weight [features, columns] of which `count` blocks are stored, spread over its panels of 16
    features."""

    def __init__(self, features, columns, count):
        self.features, self.columns, self.count = features, columns, count
        self.panels = -(-features // 16)
        self.starts = torch.arange(self.panels + 1) * count // self.panels
        self.places = torch.arange(count) * 7 % columns

    def counted(self, ops, count, numbers):
        """0, 1, 2 ... after each op with its number."""
        x = ops.add("arange", [], f"tensor<{count}xi32>",
                    f"{{end = affine_map<() -> ({count})>, dtype = i32}}")
        for op, number in numbers:
            x = ops.add(op, [x, ops.full(number, x[1])], x[1])
        return x

    def stored(self, ops):
        return (self.counted(ops, self.count, [("mul", 7), ("remainder", self.columns)]),
                self.counted(ops, self.panels + 1, [("mul", self.count),
                                                    ("floor_divide", self.panels)]))

    def dense(self, values):
        whole = torch.zeros(self.panels, 16, self.columns, dtype=values.dtype)
        for panel in range(self.panels):
            for block in range(self.starts[panel], self.starts[panel + 1]):
                whole[panel, :, self.places[block]] += values[block]
        return whole.reshape(-1, self.columns)[:self.features]


def block_sparse(features, columns, count, batch=("N", ), bias=False, sizes=(0, 1, 2, 7, 25, 49),
                 channels=False):
    """`channels`: a convolution of one tap and steps of 2, whose features are dim 1."""
    blocks = Blocks(features, columns, count)

    def body(names, types, y):
        ops = Ops()
        places, starts = blocks.stored(ops)
        operands = [(names[0], types[0]), (names[1], types[1]), places, starts,
                    *zip(names[2:], types[2:])]
        dim = 1 if channels else len(batch)
        steps = ", steps = array<i64: 1, 1, 2, 2>" * channels
        return ops.result(
            ops.add("block_sparse_linear", operands, y,
                    f" {{features = {features} : i64, dim = {dim} : i64{steps}}}"))

    def product(x, values, *added):
        if channels:
            return F.conv2d(x, blocks.dense(values)[:, :, None, None], *added, stride=2)
        return F.linear(x, blocks.dense(values), *added)

    shape, result = (*batch, columns), (*batch, features)
    if channels:
        shape, result = ("N", columns, 5, 6), ("N", features, 3, 3)
    most = max(1, int((blocks.starts[1:] - blocks.starts[:-1]).max()))
    row(
        "block_sparse_linear", ("f32", ), [shape,
                                           (count, 16)] + [(features, )] * bias, result, product,
        acc.contraction(most + bias, product), sizes=sizes, values="normal", body=body,
        note=f"{count} blocks of [{features}, {columns}]" + ", bias" * bias
        + ", channels" * channels)


for features, columns, count in ((1, 1, 1), (16, 33, 9), (30, 20, 25), (33, 64, 1), (80, 17, 60)):
    block_sparse(features, columns, count)
block_sparse(47, 40, 70, bias=True)
block_sparse(32, 40, 30, batch=(3, "N"), bias=True)
block_sparse(40, 24, 33, bias=True, channels=True, sizes=(0, 1, 3))


class TwoOfFour:
    """A matrix [rows, columns] of which two of each four neighbours are stored. `isOrdered`: the
    places of a pair ascend, as sparse tensor cores want them; else they are any."""

    def __init__(self, rows, columns, isOrdered=True):
        self.rows, self.columns, self.isOrdered = rows, columns, isOrdered
        self.values = torch.arange(rows * columns // 2).reshape(rows, columns // 2) * 29 % 17 - 8
        groups = torch.arange(rows * columns // 4)
        # The first place is 0, 1 or 2, and the second one is after it.
        self.first = (groups * 5 + groups // 16) % 3 if isOrdered else groups * 7 % 4
        self.second = self.first + 1 + (groups // 3) % 3 * (
            self.first == 0) % 3 if isOrdered else groups // 5 % 4

    def numbers(self):
        whole = torch.zeros(self.rows * self.columns // 4, 4, dtype=torch.int64)
        values = self.values.reshape(-1, 2)
        at = torch.arange(len(whole))
        whole[at, self.second] = values[:, 1]
        whole[at, self.first] = values[:, 0]
        return whole.reshape(self.rows, self.columns)

    def ops(self, ops, dtype):
        def counted(count, numbers):
            x = ops.add("arange", [], f"tensor<{count}xi32>",
                        f"{{end = affine_map<() -> ({count})>, dtype = i32}}")
            for op, number in numbers:
                x = ops.add(op, [x, ops.full(number, x[1])], x[1])
            return x

        def reshaped(x, *dims):
            dims_text = ", ".join(map(str, dims))
            return ops.add("reshape", [x],
                           f"tensor<{dims_text.replace(', ', 'x')}x{element_of(x[1])}>",
                           f" {{shape = affine_map<() -> ({dims_text})>}}")

        def both(op, a, b):
            return ops.add(op, [a, b], a[1])

        values = counted(self.rows * self.columns // 2, [("mul", 29), ("remainder", 17),
                                                         ("sub", 8)])
        values = reshaped(ops.cast(values, dtype), self.rows, self.columns // 2)
        count = self.rows * self.columns // 4
        if self.isOrdered:
            first = both(
                "remainder",
                both("add", counted(count, [("mul", 5)]), counted(count, [("floor_divide", 16)])),
                ops.full(3, f"tensor<{count}xi32>"))
            isZero = ops.cast(ops.add("eq", [first, ops.full(0, first[1])], f"tensor<{count}xi1>"),
                              "i32")
            more = both(
                "remainder",
                both("mul", counted(count, [("floor_divide", 3), ("remainder", 3)]), isZero),
                ops.full(3, first[1]))
            second = both("add", both("add", first, ops.full(1, first[1])), more)
        else:
            first, second = counted(count,
                                    [("mul", 7),
                                     ("remainder", 4)]), counted(count, [("floor_divide", 5),
                                                                         ("remainder", 4)])
        nibbles = reshaped(both("add", first, both("mul", second, ops.full(4, first[1]))),
                           count // 2, 2)
        low, high = (reshaped(
            ops.add("slice", [nibbles], f"tensor<{count // 2}x1xi32>",
                    f" {{dim = 1 : i64, end = {i + 1} : i64, start = {i} : i64}}"), count // 2)
                     for i in (0, 1))
        places = both("add", low, both("mul", high, ops.full(16, low[1])))
        places = reshaped(ops.cast(places, "ui8"), self.rows, self.columns // 8)
        return values, places

    def expand(self, ops, dtype):
        return ops.add("expand_two_of_four", list(self.ops(ops, dtype)),
                       f"tensor<{self.rows}x{self.columns}x{dtype}>")


def two_of_four(rows, columns, dtype="f16", batch=("N", ), sizes=(0, 1, 2, 7, 8, 9, 33, 130),
                bias=False):
    weights = TwoOfFour(rows, columns)

    def body(names, types, y):
        ops = Ops()
        operands = [(names[0], types[0]), weights.expand(ops, dtype), *zip(names[1:], types[1:])]
        return ops.result(ops.add("linear", operands, y))

    def product(x, *added):
        return F.linear(x, weights.numbers().to(x.dtype), *added)

    row(
        "linear", (dtype, ), [(*batch, columns)] + [(rows, )] * bias, (*batch, rows), product,
        acc.contraction(columns + bias,
                        lambda x, *added: F.linear(x,
                                                   weights.numbers().abs().to(x.dtype), *added)),
        sizes=sizes, values="normal", body=body,
        note=f"two of four of [{rows}, {columns}]" + ", bias" * bias)


for rows, columns in ((1, 64), (16, 64), (40, 128), (129, 192), (130, 320), (48, 1024)):
    two_of_four(rows, columns)
two_of_four(72, 256, bias=True, batch=(3, "N"))
two_of_four(96, 128, dtype="bf16")
two_of_four(24, 72)  # sums without whole steps of sparse tensor cores
two_of_four(24, 64, dtype="f32")


def expanded(rows, columns, dtype, isOrdered):
    """The matrix and a number."""
    matrix = TwoOfFour(rows, columns, isOrdered)

    def body(names, types, y):
        ops = Ops()
        return ops.result(ops.add("add", [matrix.expand(ops, dtype), (names[0], types[0])], y))

    row("expand_two_of_four", (dtype, ), [(rows, columns)], (rows, columns),
        lambda x: matrix.numbers().to(x.dtype) + x, acc.exact, values="normal", body=body,
        note="places in order" if isOrdered else "places in any order")


for rows, columns in ((1, 8), (3, 16), (17, 40), (5, 128)):
    for isOrdered in (True, False):
        expanded(rows, columns, "f32", isOrdered)
