"""Rows as modules of dl ops: one function computes many rows, so that one compile and one run serve
them all."""
import re
import zlib

import numpy as np
import torch

import accuracy as acc
import small_floats


def dims_at(shape, n):
    """The sizes of `shape` where N is `n`."""
    python = [
        dim
        if isinstance(dim, int) else re.sub(r"(\w+|\([^()]*\)) ceildiv (\d+)", r"-(-\1 // \2)", dim)
        for dim in shape
    ]
    return [
        dim if isinstance(dim, int) else eval(dim.replace("floordiv", "//"), {"N": n})
        for dim in python
    ]


class Case:
    """A row in one dtype."""

    def __init__(self, row, dtype):
        self.row, self.dtype = row, dtype
        self.result_dtype = row.result_dtype or dtype
        self.name = f"{row.name} {dtype}"
        self.kinds = [row.kinds.get(i, (dtype, row.values)) for i in range(len(row.inputs))]

    def dims(self, shape, n):
        return dims_at(shape, n)

    def inputs(self, n):
        generator = np.random.default_rng(zlib.crc32(f"{self.name} {n}".encode()))
        return [
            values(kind, dtype, self.dims(shape, n), generator)
            for shape, (dtype, kind) in zip(self.row.inputs, self.kinds)
        ]

    def expected(self, inputs):
        """What PyTorch gives: float64 or int64."""
        wide = [x.to(torch.float64) if x.is_floating_point() else x for x in inputs]
        result = self.row.torch(*(inputs if self.row.raw else wide))
        result = result.to(
            torch.float64 if acc.is_float(self.result_dtype) else torch.int64).numpy()
        return wide, result & LIMITS[self.result_dtype][1] if self.result_dtype in (
            "ui16", "ui32") else result


def tensor_type(shape, dtype):
    sizes = "".join(f"{dim}x" if isinstance(dim, int) else "?x" for dim in shape)
    if all(isinstance(dim, int) for dim in shape):
        return f"tensor<{sizes}{dtype}>"
    dims = ", ".join(str(dim).replace("N", "s0") for dim in shape)
    return f"tensor<{sizes}{dtype}, #dl.t<[{dims}]>>"


def row_text(row, names, types, result, number):
    """The ops of a row on the operands `names`, giving %y followed by `number`; `result` is its
    type."""
    if row.body:
        text = row.body(names, types, result)
    else:
        attributes = f" {row.attrs}" if row.attrs else ""
        text = f"%y = dl.{row.op} {', '.join(names)}{attributes} : ({', '.join(types)}) -> {result}"
    # Names of values are unique in the function.
    return re.sub(r"%([a-zA-Z]+)\b", lambda m: f"%{m.group(1)}{number}", text)


def module_text(cases, sizes):
    """One function `main` over the inputs of all cases, returning one result for each."""
    arguments, results, body = [], [], []
    for number, case in enumerate(cases):
        types = [
            tensor_type(shape, dtype) for shape, (dtype, _) in zip(case.row.inputs, case.kinds)
        ]
        names = [f"%x{number}_{i}" for i in range(len(types))]
        result = tensor_type(case.row.result, case.result_dtype)
        arguments += [
            f'{name}: {type} {{dl.name = "{name[1:]}"}}' for name, type in zip(names, types)
        ]
        results.append(result)
        body.append(row_text(case.row, names, types, result, number))
    signature = ", ".join(f'{type} {{dl.name = "y{number}"}}'
                          for number, type in enumerate(results))
    returned = ", ".join(f"%y{number}" for number in range(len(cases)))
    lines = "\n".join("  " + line for text in body for line in text.splitlines())
    return (f'module attributes {{dl.symbols = [#dl.symbol<"N", {min(sizes)}, {max(sizes)}>]}} {{\n'
            f"func.func @main({', '.join(arguments)}) -> ({signature}) {{\n{lines}\n"
            f"  return {returned} : {', '.join(results)}\n}}\n}}\n")


def for_targets(text, phase):
    """The module as `phase` leaves it: from `compress` on each target has one of its own."""
    if phase in ("import", "simplify"):
        return text
    head = text.split("\n", 1)[0] + "\n"  # the symbols are those of all
    return head + "".join(
        text.replace("module", "module @" + target, 1) for target in ("cpu", "cuda")) + "}\n"


LIMITS = {
    "i8": (-128, 127), "i16": (-(2**15), 2**15 - 1), "i32": (-(2**31), 2**31 - 1),
    "i64": (-(2**63), 2**63 - 1), "ui8": (0, 255), "ui16": (0, 2**16 - 1), "ui32": (0, 2**32 - 1),
    "i4": (-8, 7), "ui4": (0, 15), "i2": (-2, 1), "ui2": (0, 3), "ui64": (0, 2**63 - 1)
}  # those above, which PyTorch does not order, have rows of their own


def values(kind, dtype, dims, generator):
    """A tensor of `dtype`: special: every number, extreme ones first; numbers: finite ones; normal:
    of size 1; wide: of size 4; positive; weights: as PyTorch initializes them, by the last dim;
    whole: small whole numbers; a list: some of its numbers; equals: few different ones; halves:
    multiples of 1/2; bytes: 0 to 127 with fractions; every16: all patterns; bits: any patterns,
    NaNs among them; every: all of a type of at most 8 bits."""
    if kind == "every":
        numbers = small_floats.TABLES[dtype] if dtype in acc.SMALL_FLOATS else np.arange(
            LIMITS[dtype][0], LIMITS[dtype][1] + 1)
        return torch.from_numpy(numbers[np.arange(int(np.prod(dims)))
                                        % len(numbers)].reshape(dims)).to(acc.TORCH[dtype])
    count = int(np.prod(dims, dtype=np.int64))
    if isinstance(kind, (list, range)):
        return torch.from_numpy(generator.choice(np.array(kind), dims)).to(acc.TORCH[dtype])
    if dtype in acc.SMALL_FLOATS:
        return torch.from_numpy(generator.choice(small_floats.TABLES[dtype], dims))
    if dtype == "i1":
        return torch.from_numpy(generator.integers(0, 2, dims).astype(bool))
    if dtype not in acc.FORMATS:
        low, high = LIMITS[dtype]
        if kind == "whole":
            low, high = max(low, -4), 4
        elif kind == "numbers":
            low, high = max(low, -(2**31)), min(high, 2**31)
        numbers = generator.integers(low, high, count, dtype=np.int64, endpoint=True)
        if kind == "bits":
            kind = "special"
        if kind == "equals":
            numbers = generator.choice(np.array([low, high, 0, 1, 5], dtype=np.int64), count)
        elif kind == "special":
            extremes = [low, high, 0, 1, high - 1][:count]
            numbers[:len(extremes)] = extremes
        return torch.from_numpy(numbers.reshape(dims)).to(acc.TORCH[dtype])
    digits, least, most = acc.FORMATS[dtype]
    if kind == "bits":
        word = {"f64": np.int64, "f32": np.int32, "f16": np.int16, "bf16": np.int16}[dtype]
        bits = generator.integers(
            np.iinfo(word).min,
            np.iinfo(word).max, count, dtype=word, endpoint=True)
        infinity = torch.tensor(float("inf"),
                                dtype=acc.TORCH[dtype]).view(torch.from_numpy(bits).dtype).item()
        bits[::3] |= word(infinity)  # NaN, but for zeros of the mantissa
        return torch.from_numpy(bits.reshape(dims)).view(acc.TORCH[dtype])
    if kind == "every16":
        bits = torch.arange(-(2**15), 2**15, dtype=torch.int16)
        assert dims == [2**16], "all patterns of a 16-bit format"
        return bits.view(acc.TORCH[dtype])
    numbers = generator.standard_normal(count)
    if kind == "positive":
        numbers = np.abs(numbers) + 0.1
    elif kind == "weights":
        numbers = generator.uniform(-1, 1, count) / np.sqrt(dims[-1])
    elif kind == "whole":
        numbers = generator.integers(-4, 4, count, endpoint=True).astype(np.float64)
    elif kind == "bytes":
        numbers = generator.uniform(0, 127, count)
    elif kind == "equals":
        numbers = generator.choice(
            np.array([-np.inf, np.inf, np.nan, -0.0, 0.0, 1.0, 1.0, 1.0, 2.0]), count)
    elif kind == "numbers":
        numbers *= 50
    elif kind == "halves":
        numbers = generator.integers(-9, 9, count, endpoint=True) / 2
    elif kind == "wide":
        numbers *= 4
    elif kind == "special":
        numbers *= np.exp2(generator.integers(-6, 6, count))
        highest = 2.0**most * (2 - 2.0 ** (1 - digits))
        tiny = 2.0 ** (least - digits + 1)
        extremes = np.array([
            np.nan, 0.0, -0.0, np.inf, -np.inf, 1.0, -1.0, highest, -highest, 2.0**least, tiny,
            -tiny, 3 * tiny, 88.7, -87.4, -103.5, 11.0, -16.5
        ])
        # Another one first each time, and some among ordinary neighbours.
        places = generator.permutation(count)[:len(extremes)]
        numbers[places] = np.roll(extremes, generator.integers(len(extremes)))[:len(places)]
    return torch.from_numpy(numbers.reshape(dims)).to(acc.TORCH[dtype])


def to_bytes(tensor, dtype=None):
    """The elements in their own format; `dtype` where PyTorch does not have it."""
    tensor = tensor.contiguous()
    if dtype in acc.SMALL_FLOATS:
        return encoded(tensor.numpy(), dtype).tobytes()
    if dtype in acc.UNSIGNED:
        return tensor.numpy().astype("<u" + str(int(dtype[2:]) // 8)).tobytes()
    if tensor.dtype in (torch.bfloat16, torch.float16):
        tensor = tensor.view(torch.int16)
    return tensor.numpy().tobytes()


def encoded(numbers, dtype):
    """The codes of numbers that a small float has."""
    table = small_floats.TABLES[dtype]
    codes = {(number, bool(np.signbit(number))): code for code, number in enumerate(table)
             if number == number}
    nan = int(np.argmax(np.isnan(table)))
    return np.array(
        [nan if n != n else codes[float(n), bool(np.signbit(n))] for n in numbers.reshape(-1)],
        np.uint8)


def from_bytes(data, dtype, dims):
    """Elements in their own format as float64 or int64."""
    if dtype in acc.SMALL_FLOATS:
        return small_floats.TABLES[dtype][np.frombuffer(data, np.uint8)].reshape(dims)
    if dtype == "bf16":
        wide = np.frombuffer(data, np.uint16).astype(np.uint32) << 16
        return wide.view(np.float32).astype(np.float64).reshape(dims)
    kinds = {
        "f64": "f8", "f32": "f4", "f16": "f2", "i64": "i8", "i32": "i4", "i16": "i2", "i8": "i1",
        "ui8": "u1", "i1": "u1", "ui16": "u2", "ui32": "u4", "ui64": "u8", "i4": "i1", "ui4": "u1",
        "i2": "i1", "ui2": "u1"
    }
    array = np.frombuffer(data, kinds[dtype]).reshape(dims)
    return array.astype(np.float64 if dtype in acc.FORMATS else np.int64)
