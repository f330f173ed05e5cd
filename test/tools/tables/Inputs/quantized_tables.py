"""quantized_tables.py FOLDER: tables of look-ups in integers, by dlc compile --quantize and dlc
quantize and as ONNX files of other tools have them, against NumPy: results on the CPU and on
emulated CUDA, bytes in the file, what is made of them at load, and what reports say."""
import json
import os
import re
import sys

import numpy as np

TESTS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__)))))
sys.path[:0] = [
    os.path.join(TESTS, "tools", "Inputs"),
    os.path.join(TESTS, "frontend", "onnx", "Inputs")
]
from onnx_writer import model, node, tensor, value  # noqa: E402
from weight_cases import Suite, dlc, numbers, save  # noqa: E402

suite = Suite(sys.argv[1])
expect = suite.expect
ROWS, WIDTH = 700, 400  # more bytes of f32 than the caches of the cost model hold
with open("words.dl", "w", encoding="utf-8") as out:
    out.write(f"""dl 1
dim N = 1..64
model Words {{
  words: Embedding({ROWS}, {WIDTH})
  fc: Linear({WIDTH}, 24)
  forward(x: i64[N]) -> (rows: f32[N,{WIDTH}], y: f32[N,24]) {{
    rows = words(x)
    y = fc(rows)
  }}
}}
weights "words.safetensors"
""")
ARRAYS = {
    "words.weight": numbers(ROWS, WIDTH), "fc.weight": numbers(24, WIDTH), "fc.bias": numbers(24)
}
ARRAYS["words.weight"][7] = 0
save("words.safetensors", ARRAYS)
X = np.array([0, ROWS - 1, 7, 7, 300, -1, ROWS], np.int64)
INSIDE = (X >= 0) & (X < ROWS)
np.save("x.npy", X)
np.savez("c.npz", x=np.arange(64) * 10)
TABLE = ARRAYS["words.weight"].astype(np.float64)
STEP = np.abs(ARRAYS["words.weight"]).max(axis=1, keepdims=True) / np.float32(127)


def rows_of(package, device, name="rows"):
    done = dlc("run", package, "--device", device, "--input", "x=@x.npy", "--output",
               f"{name}=@out.npy")
    return np.load("out.npy") if done.returncode == 0 else done.stderr


def quiet(what, *arguments):
    done = dlc(*arguments)
    expect(what, (done.returncode, done.stderr), (0, ""))


def check(package, steps, most_bytes):
    """Each number within half a step (of `steps` to the largest of its row), and places outside of
    the table NaN; the sizes as parts of f32's."""
    for device in ("cpu", "cuda-emu"):
        got = rows_of(package, device)
        if isinstance(got, str):
            expect(f"{package} on {device}", got, "")
            continue
        errors = np.abs(got[INSIDE] - TABLE[X[INSIDE]]) / np.maximum(
            np.abs(TABLE[X[INSIDE]]).max(axis=1, keepdims=True), 1e-30)
        # A file that refit may change has f32 rows, which the CPU reads as they are.
        keeps = package == "int8.bin" and device == "cpu"
        expect(f"{package} on {device}: off by {errors.max():.4f}",
               errors.max() == 0 if keeps else bool(0 < errors.max() < 0.51 / steps), True)
        expect(f"{package} on {device}: outside", bool(np.isnan(got[~INSIDE]).all()), True)
    part = os.path.getsize(package) / os.path.getsize("words.safetensors")
    expect(f"bytes of {package}: {part:.3f}", bool(part < most_bytes), True)
    for program in json.loads(dlc("inspect", package, "--json").stdout)["programs"]:
        made = int(re.search(r"\d+", program["persistent"]).group())
        expect(f"{package} on {program['target']}: {made} bytes made at load", made
               < 0.45 * 4 * ROWS * WIDTH, True)


# A scale for each row, which cuts off ends in w8 and w4 where that is less of an error; tables have
# 8 bits in w4, too.
CODE = 0.15  # of the programs, beside this small table
INT8 = ("--quantize", "int8", "--calib", "c.npz")
for name, flags, steps, most_bytes in (("w8", ("--quantize", "w8"), 50,
                                        0.27 + CODE), ("w4", ("--quantize", "w4"), 50, 0.27 + CODE),
                                       ("int8", INT8, 127, 1.3 + CODE),
                                       ("bytes", (*INT8, "--no-refit"), 127, 0.27 + CODE),
                                       ("dynamic", ("--quantize", "dynamic", "--no-refit"), 127,
                                        0.27 + CODE)):
    quiet(name, "compile", "words.dl", *flags, "-q", "-o", f"{name}.bin")
    check(f"{name}.bin", steps, most_bytes)
for scheme, flags, steps, most_bytes in (("w8", (), 50, 0.27), ("w4", (), 50, 0.27),
                                         ("int8", ("--calib", "c.npz"), 127, 0.27), ("dynamic", (),
                                                                                     127, 0.27)):
    quiet(f"quantize {scheme}", "quantize", "words.dl", "--scheme", scheme, *flags, "-q", "-o",
          f"{scheme}-text.dl")
    part = os.path.getsize(f"{scheme}-text.safetensors") / os.path.getsize("words.safetensors")
    expect(f"bytes of {scheme}: {part:.3f}", bool(part < most_bytes), True)
    quiet(f"compile {scheme}", "compile", f"{scheme}-text.dl", "-q", "-o", f"{scheme}-text.bin")
    check(f"{scheme}-text.bin", steps, most_bytes + CODE)
exact = np.rint(ARRAYS["words.weight"] / np.where(STEP > 0, STEP, 1)).astype(np.int8) * STEP
expect("rows of int8", np.array_equal(rows_of("bytes.bin", "cpu")[INSIDE], exact[X[INSIDE]]), True)

# New weights take the place of the old ones.
ARRAYS["words.weight"] = ARRAYS["words.weight"][::-1].copy()
save("turned.safetensors", ARRAYS)
quiet("refit", "refit", "int8.bin", "--weights", "turned.safetensors", "-q", "-o", "turned.bin")
expect("rows of the refit",
       np.array_equal(rows_of("turned.bin", "cuda-emu")[INSIDE], exact[::-1][X[INSIDE]]), True)
expect("rows of f32 of the refit",
       np.array_equal(rows_of("turned.bin", "cpu")[INSIDE], ARRAYS["words.weight"][X[INSIDE]]),
       True)

# Reports say that the CPU keeps the table in a file that dlc refit may change.
for what, flags, said in (
    ("for the CPU", ("--target", "cpu"),
     "words  embedding  kept in f32: the file has it in f32 for dlc refit, of which the CPU reads the "
     "rows that it needs; --no-refit stores bytes"),
    ("on both", (),
     f"words  embedding  int8, a scale for each row of {ROWS}x{WIDTH}; on cpu: kept in f32, the file has it in f32 "
     "for dlc refit, of which the CPU reads the rows that it needs; --no-refit stores bytes"),
    ("of bytes", ("--target", "cpu", "--no-refit"),
     f"words  embedding  int8, a scale for each row of {ROWS}x{WIDTH}"),
    ("kept", ("--no-refit", "--keep-f32", "words"),
     "words  embedding  kept in f32: --keep-f32 names it")):
    table = dlc("compile", "words.dl", *INT8, *flags, "--report", "report.json", "-o",
                "told.bin").stderr
    expect(f"the table {what}", said in table or table, True)
    row = json.load(open("report.json", encoding="utf-8"))["layers"][0]
    expect(f"the report {what}", (row["layer"], row["type"], row["rows"], row["columns"]),
           ("words", "int8" if "int8" in said else "f32", ROWS, WIDTH))
    expect(
        f"the ledger line {what}",
        table.splitlines()[-1],
        f"int8: 1 of 1 products, {int('int8' in said)} of 1 tables, calibrated on 64 samples by mse"
    )

# ONNX: a Gather of what DequantizeLinear makes of bytes, with a zero point for each row or one for
# all.
for name, shape, zeros in (("rows", (ROWS,), np.arange(ROWS) % 5), ("one", (), np.array(3))):
    codes = np.random.RandomState(2).randint(0, 256, (ROWS, WIDTH))
    scales = np.asarray(np.random.RandomState(3).random_sample(shape), np.float32) + np.float32(0.5)
    tensors = [
        tensor("q", "u8", codes.shape, [int(n) for n in codes.reshape(-1)]),
        tensor("s", "f32", shape, [float(n) for n in np.ravel(scales)]),
        tensor("z", "u8", shape, [int(n) for n in np.ravel(zeros)])
    ]
    with open(f"{name}.onnx", "wb") as out:
        out.write(
            model([
                node("DequantizeLinear", "q,s,z", "t", axis=0),
                node("Gather", "t,x", "y", axis=0)
            ], [value("x", "i64", ("N", ))], [value("y", "f32", ("N", WIDTH))], tensors, opset=13))
    quiet(f"ONNX, {name}", "compile", f"{name}.onnx", "-q", "-o", f"{name}.bin")
    whole = (codes - np.broadcast_to(zeros.reshape(-1, 1), codes.shape)) * scales.reshape(
        -1, 1).astype(np.float64)
    places = np.where(INSIDE, X, 0)
    np.save("x.npy", places)
    for device in ("cpu", "cuda-emu"):
        got = rows_of(f"{name}.bin", device, "y")
        expect(
            f"ONNX, {name} on {device}",
            isinstance(got, str) or bool(
                np.abs(got / np.where(whole[places], whole[places], 1)
                       - (whole[places] != 0)).max() < 1e-6), True)
    for program in json.loads(dlc("inspect", f"{name}.bin", "--json").stdout)["programs"]:
        made = int(re.search(r"\d+", program["persistent"]).group())
        expect(f"ONNX, {name} on {program['target']}: {made} bytes made at load", made
               < 2 * ROWS * WIDTH, True)
    np.save("x.npy", X)

# Tables that stay, and why.
for name, rows in (("kept", ROWS), ("few", 8)):
    with open(f"{name}.dl", "w", encoding="utf-8") as out:
        out.write(f"""dl 1
dim N = 1..64
model Kept {{
  short: Embedding({ROWS}, 8)
  tied: Embedding({rows}, {WIDTH})
  fc: Linear({WIDTH}, {WIDTH})
  forward(x: i64[N]) -> (rows: f32[N,8], y: f32[N,{rows}]) {{
    rows = short(x)
    y = linear(fc(tied(x)), tied.weight)
  }}
}}
weights "{name}.safetensors"
""")
    save(
        f"{name}.safetensors", {
            "short.weight": numbers(ROWS, 8), "tied.weight": numbers(rows, WIDTH),
            "fc.weight": numbers(WIDTH, WIDTH), "fc.bias": numbers(WIDTH)
        })
for scheme in ("w8", "dynamic"):
    table = dlc("compile", "kept.dl", "--quantize", scheme, "-o", "told.bin").stderr
    expect(f"short rows in {scheme}",
           "kept in f32: a row has 8 numbers, too few to pay for a scale" in table or table, True)
table = dlc("compile", "kept.dl", "--quantize", "dynamic", "--keep-f32", "kept.dl:9:9", "-o",
            "told.bin").stderr
expect("a product that --keep-f32 names",
       "tied         embedding  kept in f32: --keep-f32 names it" in table or table, True)
table = dlc("compile", "few.dl", "--quantize", "dynamic", "-o", "told.bin").stderr
expect(
    "a product that stays",
    "tied        embedding  kept in f32: also read by linear, which stays in f32" in table or table,
    True)
table = dlc("compile", "kept.dl", *INT8, "--smooth", "0.5", "-o", "told.bin").stderr
expect("a product with a factor", "tied         embedding  kept in f32: also read by div" in table
       or table, True)
expect(
    "wide ranges",
    bool(
        re.search(
            r"kept.dl:9:9  linear     -\d{2,}\.\d{3} \.\. \d{2,}\.\d{3} +-\d{2,}\.\d{3} \.\. ",
            table)) or table, True)
suite.finish()
