"""Products of quantized tensors. Of integers, as they are imported from ONNX: each operand cast to
i32, less its zero point. Exact, whatever instructions a target multiplies them with. Of e4m3, as
dlc compile --quantize fp8 makes them: each operand cast to the type of the result. Products are
exact in f32; Hopper's tensor cores add 128 steps of k with some 14 bits (dlc_sums90.cuh states the
bound), which small whole numbers do not need."""
import math

import torch
from torch.nn import functional as F

import accuracy as acc
from rows.row import element_of, row, with_element

DEPTHS = (0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 65)
LOWEST = {"i8": -128, "ui8": 0}
E4M3 = "f8E4M3FN"
FEW = [float(number) for number in range(-3, 4)]  # whose sums have few bits
# Instructions of a slab, terms of each, and where an H100 cuts these off.
CUT_OFF = 4 * 34 * 2.0 ** -13


class Ops:
    """The text of ops, one after the other; values take the letters that the function gives numbers
    to."""

    def __init__(self):
        self.text = ""
        # Not those by which graphs of several ops call their values (v, w, x), nor y, the result.
        self.letters = iter("abcdefghijklmnopqrstuzABCDEFGHIJKLMNOPQRSTUVWXYZ")

    def add(self, op, operands, result, attributes=""):
        """`operands`: (name, type). The same of the result, %y where it is the last one."""
        name = "%" + next(self.letters)
        names, types = (", ".join(part) for part in zip(*operands)) if operands else ("", "")
        self.text += f"{name} = dl.{op} {names}{attributes} : ({types}) -> {result}\n"
        return name, result

    def full(self, number, type):
        name = "%" + next(self.letters)
        self.text += f"{name} = dl.full {number} : {element_of(type)} -> {type}\n"
        return name, type

    def cast(self, x, dtype):
        return self.add("cast", [x], with_element(x[1], dtype), f" {{dtype = {dtype}}}")

    def centered(self, x, zero):
        """x less its zero point, in i32."""
        wide = self.cast(x, "i32")
        return self.add("sub", [wide, self.full(zero, wide[1])], wide[1]) if zero else wide

    def constant(self, shape, dtype):
        """What numbers_of(shape, dtype) gives, there when the model is loaded."""
        count = math.prod(shape)
        line = f"tensor<{count}xi32>"
        x = self.add("arange", [], line, f"{{end = affine_map<() -> ({count})>, dtype = i32}}")
        for op, number in (("mul", 37), ("remainder", 256), ("add", LOWEST[dtype])):
            x = self.add(op, [x, self.full(number, line)], line)
        dims = ", ".join(map(str, shape))
        return self.add("reshape", [self.cast(x, dtype)],
                        f"tensor<{dims.replace(', ', 'x')}x{dtype}>",
                        f" {{shape = affine_map<() -> ({dims})>}}")

    def result(self, x):
        """All ops, of which the last one gives %y."""
        return self.text.replace(f"{x[0]} =", "%y =")


def numbers_of(shape, dtype):
    return (torch.arange(math.prod(shape)) * 37 % 256 + LOWEST[dtype]).reshape(shape)


def whole(product, *operands):
    """A product of integers by PyTorch's of doubles."""
    return product(*(x.double() for x in operands)).to(torch.int64)


def given_matrices(dtype, zero, other, other_zero):
    """Both operands are inputs."""
    def body(names, types, y):
        ops = Ops()
        x, w = ops.centered((names[0], types[0]), zero), ops.centered((names[1], types[1]),
                                                                      other_zero)
        return ops.result(ops.add("matmul", [x, w], y))

    row("matmul", (dtype, ), [(7, "N"),
                              ("N", 19)], (7, 19), lambda x, w: whole(torch.matmul,
                                                                      x.int() - zero,
                                                                      w.int() - other_zero),
        sizes=DEPTHS, kinds={1: (other, "special")}, result_dtype="i32", body=body,
        note=f"quantized, zero points {zero} and {other_zero} of {other}")


def turned_matrix(dtype, zero):
    """y = (x - zero).T @ w: neighbours in the sums of x are apart in memory."""
    def body(names, types, y):
        ops = Ops()
        x, w = ops.centered((names[0], types[0]), zero), ops.centered((names[1], types[1]), 0)
        return ops.result(
            ops.add(
                "contract", [x, w], y,
                " {x_loops = array<i64: 2, 0>, other_loops = array<i64: 2, 1>, rank = 2 : i64}"))

    row("contract", (dtype, ), [("N", 7), ("N", 19)], (7, 19),
        lambda x, w: whole(torch.matmul,
                           (x.int() - zero).T, w.int()), sizes=DEPTHS, kinds={1: ("i8", "special")},
        result_dtype="i32", body=body, note=f"quantized, zero point {zero}, turned")


def constant_matrix(dtype, zero, other, depth, sizes=(0, 1, 2, 7, 49)):
    """y = (x - zero) @ w, w [depth, 33]."""
    def body(names, types, y):
        ops = Ops()
        x, w = ops.centered((names[0], types[0]),
                            zero), ops.centered(ops.constant((depth, 33), other), 0)
        return ops.result(ops.add("matmul", [x, w], y))

    row("matmul", (dtype, ), [("N", depth)], ("N", 33),
        lambda x: whole(torch.matmul,
                        x.int() - zero, numbers_of(
                            (depth, 33), other)), sizes=sizes, result_dtype="i32", body=body,
        note=f"quantized, zero point {zero}, constant {other} [{depth}, 33]")


def constant_rows(dtype, zero, other, depth, filters, sizes=(0, 1, 2, 7, 49)):
    """y = (x - zero) @ w.T, w [filters, depth]: tensor cores of a GPU take both operands as they
    lie."""
    def body(names, types, y):
        ops = Ops()
        x, w = ops.centered((names[0], types[0]),
                            zero), ops.centered(ops.constant((filters, depth), other), 0)
        return ops.result(ops.add("linear", [x, w], y))

    row("linear", (dtype, ), [("N", depth)], ("N", filters),
        lambda x: whole(F.linear,
                        x.int() - zero, numbers_of(
                            (filters, depth), other)), sizes=sizes, result_dtype="i32", body=body,
        note=f"quantized, zero point {zero}, constant {other} [{filters}, {depth}]")


def convolution(dtype, zero, channels, kernel, weight_zero=0, filters=20):
    """What pads an image is 0 after the zero point is taken off. A result of u8, as a convolution
    of ONNX gives it."""
    shape = (filters, channels, kernel, kernel)

    def body(names, types, y):
        ops = Ops()
        x, w = ops.centered((names[0], types[0]), zero), ops.centered(ops.constant(shape, "i8"),
                                                                      weight_zero)
        sums = ops.add("conv2d", [x, w], with_element(y, "i32"), " {padding = array<i64: 1, 1>}")
        wide = ops.cast(sums, "f32")
        scaled = ops.add("mul", [wide, ops.full("9.765625e-04", wide[1])], wide[1])
        return ops.result(ops.cast(ops.add("round", [scaled], scaled[1]), "ui8"))

    def function(x):
        sums = whole(lambda x, w: F.conv2d(x, w, padding=1),
                     x.int() - zero,
                     numbers_of(shape, "i8") - weight_zero)
        return (sums.double() / 1024).round().clamp(0, 255).to(torch.int64)

    size = f"N - {kernel - 3}" if kernel > 3 else f"N + {3 - kernel}" if kernel < 3 else "N"
    row(
        "conv2d", (dtype, ), [(2, channels, "N", 6)], (2, filters, size, 9 - kernel), function,
        sizes=(1, 2, 3, 7, 8), result_dtype="ui8", body=body,
        note=f"quantized, zero points {zero} and {weight_zero}, {channels} channels, kernel {kernel}"
    )


def float8(terms, magnitude):
    """As of a contraction in f32, and what a slab's sum may lose."""
    usual = acc.contraction(terms, magnitude)

    def bound(y, inputs, dtype):
        return usual(y, inputs, dtype) + CUT_OFF * magnitude(*(x.abs() for x in inputs)).numpy()
    return bound


def product(op, attributes=""):
    def body(names, types, y):
        ops = Ops()
        operands = [ops.cast(pair, element_of(y)) for pair in zip(names, types)]
        return ops.result(ops.add(op, operands, y, attributes))
    return body


def both(op, shapes, result, function, terms, sizes, attributes="", results=("f32",), note=""):
    """A row of whole numbers, bound as in f32, and one of others."""
    for dtype in results:
        for name, values, bound in (("few", FEW, acc.contraction(terms, function)),
                                    ("normal", "normal", float8(terms, function))):
            row(op, (E4M3, ), shapes, result, function, bound, sizes=sizes, values=values,
                kinds={1: (E4M3, values)}, result_dtype=dtype, body=product(op, attributes),
                note=f"e4m3 to {dtype}, {name}{note}")


for combination in (("ui8", 0, "i8", 0), ("ui8", 128, "i8", 0), ("ui8", 255, "ui8", 128),
                    ("i8", 0, "i8", 0), ("i8", -128, "ui8", 0), ("i8", 127, "i8", -128)):
    given_matrices(*combination)
turned_matrix("ui8", 77)
for depth in (1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33):
    constant_matrix("ui8", 128, "i8", depth)
constant_matrix("i8", -128, "ui8", 33)
constant_matrix("ui8", 255, "ui8", 40, sizes=(1, 6, 12, 18, 50))
for depth in (4, 8, 16, 48, 64, 65, 144):
    constant_rows("ui8", 128, "i8", depth, 40)
constant_rows("ui8", 255, "ui8", 80, 24)
constant_rows("i8", 3, "i8", 96, 33)
constant_rows("ui8", 7, "i8", 2112, 16, sizes=(1, 8, 33))
for channels in (1, 2, 3, 5, 8, 16, 17, 32):
    convolution("ui8", 100, channels, 3)
convolution("i8", -128, 9, 3, weight_zero=-5)
convolution("ui8", 0, 16, 1)
both("matmul", [(7, "N"), ("N", 19)], (7, 19), torch.matmul, lambda x, w: x.shape[1],
     (*DEPTHS, 129))
for columns, depth in ((40, 16), (24, 80), (33, 72), (136, 272)):
    both("linear", [("N", depth), (columns, depth)], ("N", columns), F.linear, depth,
         (0, 1, 7, 17, 65, 129), results=("f32", "f16", "bf16") if depth == 80 else ("f32", ),
         note=f", [{columns}, {depth}]")
for channels in (3, 16, 33):
    both("conv2d", [(2, channels, "N", 6),
                    (20, channels, 3, 3)], (2, 20, "N", 6), lambda x, w: F.conv2d(x, w, padding=1),
         9 * channels, (1, 2, 3, 8), " {padding = array<i64: 1, 1>}", note=f", {channels} channels")
