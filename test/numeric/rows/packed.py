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
    """The weights [rows, columns] in `bits`, as ops and as numbers."""

    def __init__(self, rows, columns, bits, group=32):
        self.rows, self.columns, self.bits, self.group = rows, columns, bits, group
        self.half, self.groups = (columns + 1) // 2, 1 if bits == 8 else -(-columns // group)

    def scale(self, ops):
        wide = counting(ops, (self.rows, self.groups), "f32")
        for op, number in (("add", "1.0"), ("mul", "3.90625e-03")):
            wide = ops.add(op, [wide, ops.full(number, wide[1])], wide[1])
        return wide

    def whole(self, ops, x):
        """The first `columns` of x."""
        type = f"tensor<{self.rows}x{self.columns}x{x[1].split('x')[-1]}"
        return ops.add("slice", [x], type, f" {{dim = 1 : i64, end = {self.columns} : i64, start = 0 : i64}}") if x[1] != type else x

    def of_groups(self, ops, x):
        type = f"tensor<{self.rows}x{self.groups * self.group}x{x[1].split('x')[-1]}"
        return self.whole(ops, ops.add("repeat_interleave", [x], type, f" {{dim = 1 : i64, repeats = {self.group} : i64}}"))

    def ops(self, ops):
        wide = f"tensor<{self.rows}x{self.columns}xf32>"
        if self.bits == 8:
            codes = ops.cast(ops.constant((self.rows, self.columns), "i8"), "f32")
            return ops.add("mul", [codes, ops.add("broadcast", [self.scale(ops)], wide)], wide)
        bytes = ops.constant((self.rows, self.half), "ui8")
        low, high = (ops.add(op, [bytes, ops.bytes(number, bytes[1])], bytes[1])
                     for op, number in (("bitwise_and", "15"), ("floor_divide", "16")))
        both = ops.add("cat", [low, high], f"tensor<{self.rows}x{2 * self.half}xui8>", " {dim = 1 : i64}")
        zero = self.of_groups(ops, counting(ops, (self.rows, self.groups), "ui8"))
        steps = ops.add("sub", [ops.cast(self.whole(ops, both), "f32"), ops.cast(zero, "f32")], wide)
        return ops.add("mul", [steps, self.of_groups(ops, self.scale(ops))], wide)

    def numbers(self):
        scale = (counted((self.rows, self.groups)).double() + 1) / 256
        if self.bits == 8:
            return numbers_of((self.rows, self.columns), "i8").double() * scale

        def of_groups(x):
            return x.repeat_interleave(self.group, dim=1)[:, :self.columns]

        bytes = numbers_of((self.rows, self.half), "ui8")
        codes = torch.cat([bytes & 15, bytes >> 4], dim=1)[:, :self.columns]
        return (codes - of_groups(counted((self.rows, self.groups)))).double() * of_groups(scale)


def linear(columns, bits, rows=19, dtype="f32", batch=("N",), sizes=(0, 1, 2, 7, 49), group=32):
    weights = Packed(rows, columns, bits, group)

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
        note=f"weights of {bits} bits [{rows}, {columns}], groups of {group}")


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
