"""The dtypes that PyTorch 1.13 does not have: unsigned integers of 16 to 64 bits through the rows
of u8, and conversions to and from floats of 8 and 4 bits and integers of 4 and 2, over all their
values."""
import dataclasses

import numpy as np
import torch

import accuracy as acc
import small_floats
from modules import LIMITS, from_bytes, tensor_type, to_bytes
from rows.elementwise import converted
from rows.row import ALL, BOUNDARY, EVERY16, FLOATS, INTS, ROWS, row

UNSIGNED, SMALL = acc.UNSIGNED, acc.SMALL_FLOATS + acc.SMALL_INTS
# Where a kernel for u8 shows what one for wider unsigned integers does: each operator of bodies,
# each combiner, each kind of kernel.
LIKE_BYTES = ("add", "sub", "mul", "neg", "abs", "sign", "square", "maximum", "minimum", "clamp",
              "clamp_tensor", "pow", "trunc_divide", "floor_divide", "remainder", "fmod", "eq",
              "ne", "lt", "le", "gt", "ge", "where", "bitwise_and", "bitwise_or", "bitwise_xor",
              "bitwise_not", "logical_not", "relu", "sum", "prod", "amax", "amin", "argmax",
              "matmul", "cumsum", "max_pool2d", "gather", "conv2d")
SIZES = (0, 1, 17, 65)
for like in [
        r for r in ROWS
        if r.op in LIKE_BYTES and "ui8" in r.dtypes and r.phase == "import" and not r.body
]:
    if set(SIZES) <= set(like.sizes) or set(SIZES[1:]) <= set(like.sizes):
        ROWS.append(
            dataclasses.replace(like, dtypes=UNSIGNED, sizes=[n for n in SIZES if n in like.sizes],
                                note=(like.note + ", " if like.note else "") + "wide unsigned"))


def wide(x):
    """u64, which is held as its bits, as Python's numbers."""
    return [int(n) % 2**64 for n in x.reshape(-1).tolist()]


def over_words(function, dtype=torch.int64):
    """`function` on each tuple of numbers, the result wrapped to 64 bits."""
    def each(*inputs):
        results = [function(*numbers) for numbers in zip(*(wide(x) for x in inputs))]
        if dtype == torch.int64:
            results = [(n + 2**63) % 2**64 - 2**63 for n in results]
        return torch.tensor(results, dtype=dtype).reshape(inputs[0].shape)
    return each


HIGH = [2**63, 2**64 - 1, 2**63 + 1, 2**53 + 2**40, 2**63 - 1, 2**32, 12345678901234567890, 3, 1, 0]
HIGH = [n - 2**64 if n >= 2**63 else n for n in HIGH]
PAIR = [(3, "N"), (3, "N")]
for op, function in (("add", lambda a, b: a + b), ("mul", lambda a, b: a * b), ("maximum", max),
                     ("minimum", min), ("eq", lambda a, b: a == b), ("lt", lambda a, b: a < b),
                     ("ge", lambda a, b: a >= b), ("trunc_divide", lambda a, b: a // b if b else 0),
                     ("remainder", lambda a, b: a % b
                      if b else a), ("pow", lambda a, b: pow(a, b, 2**64))):
    row(op, ("ui64", ), PAIR, (3, "N"), over_words(function), values=HIGH, sizes=SIZES,
        note="beyond 2^63", result_dtype="i1" if op in ("eq", "lt", "ge") else None)
row("amax", ("ui64", ), [(3, "N")], (3, ),
    lambda x: torch.tensor([(max(wide(line)) + 2**63) % 2**64 - 2**63 for line in x]),
    attrs="{dim = array<i64: 1>}", values=HIGH, sizes=SIZES[1:], note="beyond 2^63")
row("cast", ("ui64", ), [("N", )], ("N", ),
    over_words(lambda n: float(np.float32(np.uint64(n))), torch.float64), attrs="{dtype = f32}",
    result_dtype="f32", values=HIGH, sizes=SIZES, note="u64 to f32")
row(
    "cast", ("f32", "f64"), [("N", )], ("N", ),
    lambda x: torch.tensor([(min(max(int(n), 0), 2**64 - 1) + 2**63) % 2**64 - 2**63
                            for n in x.tolist()], dtype=torch.int64), attrs="{dtype = ui64}",
    result_dtype="ui64",
    values=[0.0, 0.9, 2.0**63, 1.5 * 2.0**63, 2.0**64, 1e30, -1.0, 2.0**53,
            7.5], sizes=SIZES, note="floats beyond 2^63 to u64")


def to_integer(x, to):
    """As the language says: floats to the nearest number that the type has, NaN to 0; integers lose
    their high bits."""
    low, high = LIMITS[to]
    if x.is_floating_point():
        return x.nan_to_num(0.0, float("inf"), float("-inf")).clamp(low, high).trunc().long()
    bits = x.long() & (high - low)
    return torch.where(bits > high, bits - (high - low + 1), bits)


def convert(x, to):
    if to in acc.SMALL_FLOATS:
        return torch.from_numpy(small_floats.rounded(x.double().numpy(), to))
    if to in acc.SMALL_INTS or to in ("ui16", "ui32"):
        return to_integer(x, to)
    return converted(x, to)


def cast(dtypes, to, n, values, note, **more):
    row("cast", dtypes, [("N", )], ("N", ), lambda x, to=to: convert(x, to),
        attrs=f"{{dtype = {to}}}", result_dtype=to, sizes=n, values=values, note=note, **more)


for to in ("ui16", "ui32", *SMALL):
    cast(INTS + ("i1", "ui16", "ui32"), to, SIZES, "special", f"to {to}")
    if to in acc.SMALL_FLOATS:
        cast(FLOATS, to, (0, 1, 33, 4096), list(small_floats.hard(to)), f"to {to}")
        cast(("f16", "bf16"), to, (EVERY16,), "every16", f"each to {to}")
    else:
        cast(FLOATS, to, SIZES, [
            -1e9, -9.5, -8.5, -8.0, -2.5, -1.9, -1.0, -0.5, 0.0, 0.9, 1.0, 1.9, 2.5, 3.9, 7.9, 8.0,
            15.9, 16.0, 65535.0, 65536.0, 1e9,
            float("inf"),
            float("-inf"),
            float("nan")
        ], f"to {to}")
for to in ALL + ("ui16", "ui32"):
    cast(SMALL, to, (256,), "every", f"small to {to}")
for to in SMALL:
    cast([dtype for dtype in SMALL if dtype != to], to, (256,), "every", f"small to {to}")
for to in ALL:
    cast(("ui16", "ui32"), to, SIZES, "special", f"unsigned to {to}")

# Elements of a byte move as bytes do.
MOVED = ("ui16", "ui64", *SMALL)
row("permute", MOVED, [("N", 6)], (6, "N"), lambda x: x.permute(1, 0),
    attrs="{dims = array<i64: 1, 0>}", sizes=SIZES, note="dtypes")
row("broadcast", MOVED, [("N", 1)], (4, "N", 3), lambda x: x.expand(4, -1, 3), sizes=SIZES,
    note="dtypes")
row("cat", MOVED, [("N", 3), ("N", 2)], ("N", 5), lambda a, b: torch.cat((a, b), 1),
    attrs="{dim = 1 : i64}", sizes=SIZES, note="dtypes")
row("reshape", MOVED, [("N", 6)], ("N", 2, 3), lambda x: x.reshape(-1, 2, 3), sizes=SIZES,
    note="dtypes", attrs="{shape = affine_map<()[s0] -> (s0, 2, 3)>}")


def reinterpreted(x, dtype, to):
    elements = torch.from_numpy(from_bytes(to_bytes(x, dtype), to, tuple(x.shape)))
    return elements != 0 if to == "i1" else elements


def there_and_back(through, ops):
    """x as bits of `through`, which `ops` move as such, and back."""
    def body(names, types, result):
        (x,), (type,) = names, types
        dtype = type[type.rindex("x") + 1:].split(",")[0].rstrip(">")
        moved = tensor_type(("N", 3), through), tensor_type((3, "N"), through)
        return (f"%t = dl.bitcast {x} {{dtype = {through}{ops}}} : ({type}) -> {moved[0]}\n"
                f"%u = dl.permute %t {{dims = array<i64: 1, 0>}} : ({moved[0]}) -> {moved[1]}\n"
                f"%y = dl.bitcast %u {{dtype = {dtype}{ops}}} : ({moved[1]}) -> {result}")
    return body


for group in (("i8", "ui8", "i1", *(f for f in acc.SMALL_FLOATS if f[1] == "8")),
              ("i16", "ui16", "f16", "bf16"), ("i32", "ui32", "f32"), ("i64", "ui64", "f64")):
    for dtype in group:
        for to in group:
            row("bitcast", (dtype, ), [("N", )], ("N", ),
                lambda x, dtype=dtype, to=to: reinterpreted(x, dtype, to), raw=True,
                attrs=f"{{dtype = {to}}}", result_dtype=to,
                values="every" if dtype in acc.SMALL_FLOATS else "bits",
                sizes=(0, 1, 2, 17, 129, 1024), note=f"{dtype} to {to}")
        if acc.is_float(dtype):
            for ops, note in (("", "in one kernel"), (", dl.no_fuse", "kept in memory")):
                row("bitcast", group[:2], [("N", 3)], (3, "N"), lambda x: x.permute(1, 0),
                    sizes=(1, 17, 129, 1024), body=there_and_back(dtype, ops),
                    note=f"{dtype} and back, {note}")
