"""Casts to floats of 8 bits, with saturation and without, against the standard's table. float8.py
FOLDER; the last line is "N passed, N failed"."""
import math
import os
import subprocess
import sys

import numpy as np

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from onnx_writer import model, node, tensor, value

folder = sys.argv[1]
# Number in ONNX, bits of the mantissa, exponent of the smallest normal number, largest number;
# whether there are infinities and -0.
TYPES = {"f8e4m3fn": (17, 3, -6, 448, False, True), "f8e4m3fnuz": (18, 3, -7, 240, False, False),
         "f8e5m2": (19, 2, -14, 57344, True, True), "f8e5m2fnuz": (20, 2, -15, 57344, False, False)}
SOURCES = {
    "f32": np.float32, "f16": np.float16, "f64": np.float64, "i64": np.int64, "i32": np.int32
}
NUMBERS = {"f32": 1, "f16": 10, "f64": 11, "i64": 7, "i32": 6}


def expected(x, name, saturates):
    """x rounded to nearest, ties to even, as if the exponent had no end; what is then beyond the
    largest number."""
    _, mantissa, smallest, largest, hasInfinity, hasMinusZero = TYPES[name]
    if math.isnan(x):
        return math.nan
    size = abs(x)
    if 0 < size < math.inf:
        step = 2.0**(max(math.frexp(size)[1] - 1, smallest) - mantissa)
        size = round(size / step) * step
    if size > largest:
        size = largest if saturates else math.inf if hasInfinity else math.nan
    return math.copysign(size, x) if size or hasMinusZero else 0.0


def points(name, dtype):
    """All numbers of the type and the middles between them, each with its neighbours in `dtype`;
    what is beyond."""
    _, mantissa, smallest, largest, _, _ = TYPES[name]
    steps = 2**(mantissa + 1)
    found = {
        k * 2.0**(e - mantissa - 1) for e in range(smallest, 17) for k in range(steps, 2 * steps)
    }
    found |= {k * 2.0**(smallest - mantissa - 1) for k in range(steps)} | {2.0**20, 2.0**40}
    if np.issubdtype(dtype, np.integer):
        limit = np.iinfo(dtype)
        return np.array([
            n for size in found for near in (size - 1, size, size + 1)
            for n in (near, -near) if limit.min <= n <= limit.max
        ], dtype)
    with np.errstate(over="ignore"):
        sizes = np.array(sorted(found) + [1e-45, 1e-40, 1e38, math.inf], dtype)
    sizes = np.concatenate(
        [sizes, np.nextafter(sizes, dtype(0)),
         np.nextafter(sizes, dtype(math.inf))])
    return np.concatenate([sizes, -sizes, np.array([math.nan], dtype)])


def same(got, wanted):
    return (np.isnan(got) & np.isnan(wanted)) | ((got == wanted) &
                                                 (np.signbit(got) == np.signbit(wanted)))


passed = failed = 0
for name, (number, *_) in TYPES.items():
    for source, dtype in SOURCES.items():
        x = points(name, dtype)
        zero = tensor("zero", number, [1], raw=b"\0")
        nodes, wanted = [], {}
        for saturates in (0, 1):
            # 0.25 to divide by is exact.
            ways = {"cast": node("Cast", "x", f"cast{saturates}", to=number, saturate=saturates),
                    "like": node("CastLike", "x, zero", f"like{saturates}", saturate=saturates)}
            if source in ("f32", "f16"):
                ways["quantize"] = node("QuantizeLinear", "x, quarter, zero0",
                                        f"quantize{saturates}", saturate=saturates)
            with np.errstate(over="ignore"):
                scaled = {"quantize": x / dtype(0.25) if "quantize" in ways else x}
            for way, made in ways.items():
                nodes += [made, node("Cast", f"{way}{saturates}", f"{way}{saturates}_y", to=1)]
                wanted[f"{way}{saturates}_y"] = np.array(
                    [expected(float(one), name, saturates) for one in scaled.get(way, x)],
                    np.float32)
        quarter = tensor("quarter", NUMBERS[source], [], raw=np.array(0.25, dtype).tobytes())
        path = os.path.join(folder, f"{name}_{source}")
        with open(path + ".onnx", "wb") as out:
            out.write(
                model(nodes, [value("x", NUMBERS[source], x.shape)], list(wanted),
                      [zero, tensor("zero0", number, [], raw=b"\0"), quarter], opset=21))
        np.save(path + ".npy", x)
        for command in ([
                "dlc", "compile", path + ".onnx", "--target", "cpu", "-o", path + ".bin"
        ], ["dlc", "run", path + ".bin", "--input", f"x=@{path}.npy", "--output", f"@{path}.npz"]):
            subprocess.run(command, check=True)
        results = np.load(path + ".npz")
        for key, wants in wanted.items():
            wrong = np.flatnonzero(~same(results[key], wants))
            passed, failed = passed + (not wrong.size), failed + bool(wrong.size)
            for at in wrong[:3]:
                print(
                    f"FAILED {name} of {source}, {key}: {x[at]!r} gives {results[key][at]}, expected {wants[at]}"
                )
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
