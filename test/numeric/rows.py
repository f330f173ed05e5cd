"""The numeric rows: for each op its dtypes, shapes, attributes, what PyTorch makes of it, and how exact it has to be.

A dim is a number or an expression over N, which takes each of `sizes` in turn while the code stays the same. `torch` gets
float inputs as float64 (from the stored values), integers as they are."""
import dataclasses
from typing import Callable, Optional, Sequence, Tuple

import torch
from torch.nn import functional as F

import accuracy as acc

FLOATS = ("f32", "f16", "bf16", "f64")
INTS = ("i8", "i16", "i32", "i64", "ui8")
NUMBERS = FLOATS + INTS
ALL = NUMBERS + ("i1",)
# Around every vector width, unroll factor and tile.
BOUNDARY = (0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129)
POSITIVE = BOUNDARY[1:]
# All bit patterns of a 16-bit format.
EVERY16 = 65536


@dataclasses.dataclass
class Row:
    op: str
    dtypes: Sequence[str]
    inputs: Sequence[Tuple]          # shapes
    result: Tuple                    # shape
    torch: Callable
    bound: Optional[Callable] = acc.exact
    attrs: str = ""                  # of the MLIR op, "{...}"
    sizes: Sequence[int] = BOUNDARY  # values of N
    values: str = "special"          # see run.py: special, normal, positive, whole, equals
    result_dtype: Optional[str] = None
    note: str = ""                   # tells rows of one op apart
    phase: str = "import"            # the phase whose output the module is
    body: Optional[Callable] = None  # (operand names, operand types, result type) -> ops that define %y

    @property
    def name(self):
        return self.op + (f" ({self.note})" if self.note else "")


ROWS = []


def row(*args, **kwargs):
    ROWS.append(Row(*args, **kwargs))


# ---- elementwise ----

PAIR = [(3, "N"), (3, "N")]
for op, function in (("add", torch.add), ("sub", torch.sub), ("mul", torch.mul)):
    row(op, NUMBERS, PAIR, (3, "N"), function)
row("div", FLOATS, PAIR, (3, "N"), torch.div)
row("maximum", NUMBERS, PAIR, (3, "N"), torch.maximum, acc.equal, values="equals")
row("minimum", NUMBERS, PAIR, (3, "N"), torch.minimum, acc.equal, values="equals")
row("neg", NUMBERS, [("N",)], ("N",), torch.neg)
row("relu", NUMBERS, [("N",)], ("N",), torch.relu, acc.equal)
row("sqrt", FLOATS, [("N",)], ("N",), torch.sqrt)
for op, function in (("exp", torch.exp), ("log", torch.log), ("tanh", torch.tanh)):
    row(op, FLOATS, [("N",)], ("N",), function, acc.ulps(2))
row("sigmoid", FLOATS, [("N",)], ("N",), torch.sigmoid, acc.composite())
row("silu", FLOATS, [("N",)], ("N",), F.silu, acc.composite())
# x / sqrt(2) is rounded once and e^(-x^2/2) scales that by x^2: more units than other composites down the tail.
row("gelu", FLOATS, [("N",)], ("N",), lambda x: x / 2 * torch.erfc(-x / 2**0.5), acc.composite(16), values="wide")
row("gelu", FLOATS, [("N",)], ("N",), lambda x: x * torch.sigmoid(2 * (2 / torch.pi)**0.5 * (x + 0.044715 * x**3)),
    acc.composite(16), attrs='{approximate = "tanh"}', values="wide", note="tanh")
row("gelu", FLOATS, [("N",)], ("N",), F.gelu, acc.composite(4, floor=1.0), values="normal", note="PyTorch's own")
for op in ("exp", "log", "tanh", "sqrt"):
    row(op, ("f16", "bf16"), [("N",)], ("N",), getattr(torch, op), acc.exact if op == "sqrt" else acc.ulps(2),
        sizes=(EVERY16,), values="every16", note="all inputs")
row("sigmoid", ("f16", "bf16"), [("N",)], ("N",), torch.sigmoid, acc.composite(), sizes=(EVERY16,), values="every16",
    note="all inputs")

for to in ALL:
    # Floats beyond an integer type have no defined value there; from float to bool everything counts.
    if to in FLOATS or to == "i1":
        row("cast", ALL, [("N",)], ("N",), lambda x, to=to: x.to(acc.TORCH[to]), attrs=f"{{dtype = {to}}}",
            result_dtype=to, note=f"to {to}")
    else:
        row("cast", INTS + ("i1",), [("N",)], ("N",), lambda x, to=to: x.to(acc.TORCH[to]), attrs=f"{{dtype = {to}}}",
            result_dtype=to, note=f"to {to}")
        row("cast", FLOATS, [("N",)], ("N",), lambda x, to=to: x.to(acc.TORCH[to]), attrs=f"{{dtype = {to}}}",
            result_dtype=to, values="bytes", note=f"floats to {to}")

# ---- what moves elements ----

MOVED = ("f32", "f16", "i8", "i64", "i1")
row("broadcast", MOVED, [("N", 1)], (4, "N", 3), lambda x: x.expand(4, -1, 3))
row("broadcast", ("f32",), [("N", 1, 5), ("N", 4, 5)], ("N", 4, 5), lambda x, y: x.expand_as(y), note="in the middle",
    body=lambda names, types, result: f"%y = dl.broadcast {names[0]} : ({types[0]}) -> {result}")
row("reshape", MOVED, [("N", 6)], ("N", 2, 3), lambda x: x.reshape(-1, 2, 3),
    attrs="{shape = affine_map<()[s0] -> (s0, 2, 3)>}")
row("reshape", ("f32",), [(4, "N", 2)], (8, "N"), lambda x: x.reshape(8, -1) if x.numel() else x.reshape(8, 0),
    attrs="{shape = affine_map<()[s0] -> (8, s0)>}", note="merged")
row("flatten", MOVED, [("N", 2, 3)], ("N", 6), lambda x: x.flatten(1), attrs="{start_dim = 1 : i64}")
row("permute", MOVED, [(2, "N", 3)], (3, 2, "N"), lambda x: x.permute(2, 0, 1), attrs="{dims = array<i64: 2, 0, 1>}")
row("transpose", MOVED, [("N", 5)], (5, "N"), lambda x: x.transpose(0, 1), attrs="{dim0 = 0 : i64, dim1 = 1 : i64}")
row("slice", MOVED, [("N", 9)], ("N", 4), lambda x: x[:, 1:8:2],
    attrs="{dim = 1 : i64, start = 1 : i64, end = 8 : i64, step = 2 : i64}")
row("slice", ("f32",), [(2, "N")], (2, "N - 2"), lambda x: x[:, 1:-1], attrs="{dim = 1 : i64, start = 1 : i64, end = -1 : i64}",
    sizes=(2,) + BOUNDARY[3:], note="of N")
row("pad", MOVED[:-1], [("N", 5)], ("N + 1", 8), lambda x: F.pad(x, [2, 1, 0, 1], value=3),
    attrs="{pad = array<i64: 2, 1, 0, 1>, value = 3.0 : f64}")
row("pad", ("f32",), [("N", 5)], ("N", 4), lambda x: F.pad(x, [-2, 1]), attrs="{pad = array<i64: -2, 1>}", note="cropping")
row("cat", MOVED, [("N", 3), ("N", 1), ("N", 4)], ("N", 8), lambda *x: torch.cat(x, 1), attrs="{dim = 1 : i64}")
row("cat", ("f32",), [("N", 2), (3, 2), ("2*N", 2)], ("3*N + 3", 2), lambda *x: torch.cat(x, 0), attrs="{dim = 0 : i64}",
    note="along N")
row("dropout", ("f32", "f16"), [("N",)], ("N",), lambda x: x, attrs="{p = 0.25 : f64}")
row("full", ("f32",), [("N", 2)], ("N", 2), lambda x: torch.full_like(x, 0.25),
    body=lambda names, types, result: f"%y = dl.full 2.500000e-01 : f32 -> {result}")
row("full", ("i32",), [("N", 2)], ("N", 2), lambda x: x * 0 - 7, note="integer",
    body=lambda names, types, result: f"%y = dl.full -7 : i32 -> {result}")


def through_channels_last(names, types, result):
    inner = result.replace("[s0, 3, 4, 5]", "[s0, 3, 4, 5], order = [0, 2, 3, 1]")
    return (f"%a = dl.convert_layout {names[0]} : ({types[0]}) -> {inner}\n%b = dl.neg %a : ({inner}) -> {inner}\n"
            f"%y = dl.convert_layout %b : ({inner}) -> {result}")


row("convert_layout", ("f32", "i8"), [("N", 3, 4, 5)], ("N", 3, 4, 5), torch.neg, body=through_channels_last,
    phase="layout")

# ---- contractions ----

SMALL = (1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129)
for values, bound in (("normal", lambda k, f: acc.contraction(k, f)), ("whole", lambda k, f: acc.exact)):
    note = "" if values == "normal" else ", whole numbers"
    dtypes = FLOATS if values == "normal" else FLOATS + ("i32", "i8")
    row("matmul", dtypes, [("N", 33), (33, 17)], ("N", 17), torch.matmul, bound(33, torch.matmul), values=values,
        note="M = N" + note)
    row("matmul", dtypes, [(5, "N"), ("N", 19)], (5, 19), torch.matmul, bound(lambda a, b: a.shape[-1], torch.matmul),
        values=values, note="K = N" + note)
    row("matmul", dtypes, [(7, 12), (12, "N")], (7, "N"), torch.matmul, bound(12, torch.matmul), values=values,
        note="N = N" + note)
    row("matmul", ("f32",), [(2, "N", 3, 5), (1, 5, 6)], (2, "N", 3, 6), torch.matmul,
        bound(5, torch.matmul), values=values, note="batched" + note)
    row("linear", dtypes, [("N", 20), (18, 20), (18,)], ("N", 18), F.linear, bound(21, F.linear), values=values,
        note="bias" + note)
    row("linear", ("f32", "f16"), [(2, 3, 64), (65, 64)], (2, 3, 65), F.linear, bound(64, F.linear), sizes=(1,),
        values=values, note="rank 3" + note)
    row("linear", ("f32",), [("N", 129), (1, 129)], ("N", 1), F.linear, bound(129, F.linear), values=values,
        note="one feature" + note)


def in_double(function):
    """`function` on integers, which PyTorch computes for floats alone; exact below 2^53, then wrapped."""
    def wrapped(*inputs):
        if inputs[0].is_floating_point():
            return function(*inputs)
        return function(*(x.double() for x in inputs)).to(torch.int64).to(inputs[0].dtype)
    return wrapped


def convolution(dtypes, x, w, result, sizes, note, bias=False, attrs="", **torch_args):
    """One row of ordinary and one of whole numbers."""
    inputs = [x, w] + ([(w[0],)] if bias else [])
    function = lambda *t: F.conv2d(*t, **torch_args)
    if "padding" in torch_args and len(torch_args["padding"]) == 4:
        top, left, bottom, right = torch_args.pop("padding")
        function = lambda x, *t: F.conv2d(F.pad(x, [left, right, top, bottom]), *t, **torch_args)
    terms = w[1] * w[2] * w[3] + bias
    row("conv2d", dtypes, inputs, result, function, acc.contraction(terms, function), attrs=attrs, sizes=sizes,
        values="normal", note=note)
    row("conv2d", dtypes[:1] + ("i32",), inputs, result, in_double(function), attrs=attrs, sizes=sizes, values="whole",
        note=note + ", whole numbers")


convolution(FLOATS, ("N", 3, 6, 7), (5, 3, 3, 3), ("N", 5, 4, 5), BOUNDARY[:10], "bias", bias=True)
convolution(("f32", "f16"), (2, 4, "N", 9), (8, 4, 3, 3), (2, 8, "N", 9), SMALL[:14], "padding",
            attrs="{padding = array<i64: 1, 1>}", padding=(1, 1))
convolution(("f32",), (1, 16, 8, "N"), (17, 16, 1, 1), (1, 17, 8, "N"), SMALL[:16], "1x1")
convolution(("f32",), (1, 2, "N", 11), (33, 2, 5, 3), (1, 33, "(N - 3) floordiv 2 + 1", 4), (5, 7, 8, 9, 15, 16, 17, 33),
            "stride", attrs="{stride = array<i64: 2, 3>, padding = array<i64: 1, 1>}", stride=(2, 3), padding=(1, 1))
convolution(("f32",), ("N", 4, 9, 10), (6, 2, 3, 2), ("N", 6, 5, 9), BOUNDARY[:8], "dilation and groups", bias=True,
            attrs="{dilation = array<i64: 2, 1>, groups = 2 : i64}", dilation=(2, 1), groups=2)
convolution(("f32", "f16"), ("N", 17, 5, 5), (17, 1, 3, 3), ("N", 17, 5, 5), BOUNDARY[:8], "depthwise",
            attrs="{padding = array<i64: 1, 1>, groups = 17 : i64}", padding=(1, 1), groups=17)
convolution(("f32",), ("N", 2, 5, 6), (3, 2, 2, 4), ("N", 3, 5, 6), BOUNDARY[:8], "uneven padding",
            attrs="{padding = array<i64: 0, 1, 1, 2>}", padding=(0, 1, 1, 2))
convolution(("f32",), (1, 64, 8, 8), (65, 64, 3, 3), (1, 65, 8, 8), (1,), "many channels",
            attrs="{padding = array<i64: 1, 1>}", padding=(1, 1))

# ---- windows ----

POOL = ("N", 3, 9, 8)
row("max_pool2d", NUMBERS, [POOL], ("N", 3, 4, 4), in_double(lambda x: F.max_pool2d(x, 2)), attrs="{kernel_size = array<i64: 2, 2>}",
    sizes=BOUNDARY[1:10], values="numbers")
row("max_pool2d", ("f32", "f16"), [POOL], ("N", 3, 5, 4), lambda x: F.max_pool2d(x, 3, 2, 1),
    attrs="{kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>}", sizes=BOUNDARY[1:10],
    note="padding")
row("max_pool2d", ("f32",), [(2, 3, "N", 8)], (2, 3, "N - 4", 4), lambda x: F.max_pool2d(x, (3, 2), (1, 2), 0, (2, 1)),
    attrs="{kernel_size = array<i64: 3, 2>, stride = array<i64: 1, 2>, dilation = array<i64: 2, 1>}",
    sizes=(5, 7, 8, 9, 15, 16, 17, 33), note="dilation")
row("max_pool2d", ("f32",), [POOL], ("N", 3, 5, 4), lambda x: F.max_pool2d(x, 2, ceil_mode=True),
    attrs="{kernel_size = array<i64: 2, 2>, ceil_mode = true}", sizes=BOUNDARY[1:6], note="ceil_mode")
row("avg_pool2d", FLOATS, [POOL], ("N", 3, 4, 4), lambda x: F.avg_pool2d(x, 2),
    acc.contraction(4, lambda x: F.avg_pool2d(x, 2)), attrs="{kernel_size = array<i64: 2, 2>}", sizes=BOUNDARY[1:10],
    values="normal")
for include in (True, False):
    function = lambda x, include=include: F.avg_pool2d(x, 3, 2, 1, count_include_pad=include)
    row("avg_pool2d", ("f32", "f16"), [POOL], ("N", 3, 5, 4), function, acc.contraction(9, function),
        attrs="{kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, "
              f"count_include_pad = {str(include).lower()}}}",
        sizes=BOUNDARY[1:10], values="normal", note="padding counted" if include else "padding left out")
row("avg_pool2d", ("f32",), [POOL], ("N", 3, 5, 4), lambda x: F.avg_pool2d(x, 2, ceil_mode=True),
    acc.contraction(4, lambda x: F.avg_pool2d(x, 2, ceil_mode=True)),
    attrs="{kernel_size = array<i64: 2, 2>, ceil_mode = true}", sizes=BOUNDARY[1:6], values="normal", note="ceil_mode")

# ---- reductions and norms ----

TOTAL = lambda x: x.sum()
row("sum", FLOATS, [(3, "N")], (3,), lambda x: x.sum(1), acc.contraction(lambda x: x.shape[1], lambda x: x.sum(1)),
    attrs="{dim = array<i64: 1>}", values="normal")
row("sum", INTS + ("i1",), [(3, "N")], (3,), lambda x: x.sum(1), attrs="{dim = array<i64: 1>}", result_dtype="i64",
    note="integers")
row("sum", ("f32",), [("N", 5, 3)], (1, 5, 1), lambda x: x.sum((0, 2), keepdim=True),
    acc.contraction(lambda x: 3 * x.shape[0], lambda x: x.sum((0, 2), keepdim=True)),
    attrs="{dim = array<i64: 0, 2>, keepdim = true}", values="normal", note="outer, keepdim")
row("sum", ("f32",), [("N", 7)], (), TOTAL, acc.contraction(lambda x: x.numel(), TOTAL), values="normal", note="all dims")
row("mean", FLOATS, [("N", 33)], ("N",), lambda x: x.mean(1), acc.contraction(34, lambda x: x.mean(1)),
    attrs="{dim = array<i64: 1>}", values="normal")
row("mean", ("f32",), [(4, "N")], (4,), lambda x: x.mean(1), acc.contraction(lambda x: x.shape[1] + 1, lambda x: x.mean(1)),
    attrs="{dim = array<i64: -1>}", values="normal", note="over N")
row("mean", ("f32", "f16"), [("N", 6, 5, 5)], ("N", 6), lambda x: x.mean((2, 3)),
    acc.contraction(26, lambda x: x.mean((2, 3))), attrs="{dim = array<i64: 2, 3>}", values="normal", note="pooling")
row("amax", NUMBERS, [(3, "N")], (3,), lambda x: x.amax(1), acc.equal, attrs="{dim = array<i64: 1>}", sizes=POSITIVE)
row("amax", ("f32",), [("N", 5)], (1, 5), lambda x: x.amax(0, keepdim=True), acc.equal,
    attrs="{dim = array<i64: 0>, keepdim = true}", sizes=POSITIVE, note="outer, keepdim")
row("argmax", NUMBERS, [(3, "N")], (3,), lambda x: x.argmax(1), attrs="{dim = 1 : i64}", sizes=POSITIVE,
    result_dtype="i64", values="equals")
row("argmax", ("f32",), [("N", 5)], (1, 5), lambda x: x.argmax(0, keepdim=True), attrs="{dim = 0 : i64, keepdim = true}",
    sizes=POSITIVE, result_dtype="i64", values="numbers", note="outer, keepdim")
row("argmax", ("f32",), [("N", 5)], (), lambda x: x.argmax(), sizes=POSITIVE, result_dtype="i64", values="numbers",
    note="all dims")
for op, function, is_log in (("softmax", torch.softmax, False), ("log_softmax", torch.log_softmax, True)):
    row(op, FLOATS, [("N", 33)], ("N", 33), lambda x, f=function: f(x, 1), acc.of_softmax(1, is_log),
        attrs="{dim = -1 : i64}", values="normal")
    row(op, ("f32",), [(3, "N")], (3, "N"), lambda x, f=function: f(x, 1), acc.of_softmax(1, is_log),
        attrs="{dim = 1 : i64}", values="normal", note="over N")
    row(op, ("f32",), [("N", 4, 3)], ("N", 4, 3), lambda x, f=function: f(x, 1), acc.of_softmax(1, is_log),
        attrs="{dim = 1 : i64}", values="normal", note="inner dim")
    row(op, ("f32",), [("N", 10)], ("N", 10), lambda x, f=function: f(x, 1), acc.of_softmax(1, is_log),
        attrs="{dim = 1 : i64}", values="special", note="special values")
NORM = lambda x, m, v, *affine: F.batch_norm(x, m, v, *affine, eps=1e-3)
row("batch_norm", FLOATS, [("N", 5, 3, 3)] + 4 * [(5,)], ("N", 5, 3, 3), NORM, acc.of_batch_norm(1e-3),
    attrs="{eps = 1.0e-3 : f64}", values="positive")
row("batch_norm", ("f32",), [("N", 9), (9,), (9,)], ("N", 9), NORM, acc.of_batch_norm(1e-3),
    attrs="{eps = 1.0e-3 : f64}", values="positive", note="not affine")
