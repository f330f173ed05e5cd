"""packed_weights.py FOLDER: weights in few bits, of dlc compile --quantize w8|w4 and of dlc
quantize, and its products of integers, against NumPy on the codes and scales that dlc quantize
writes: results on the CPU and on emulated CUDA, bytes in the file and in memory, and what both
commands refuse."""
import json
import os
import re
import sys

import numpy as np
from packed_arrays import load
from weight_cases import ROOT, Suite, dlc, numbers, save

sys.path.insert(0, os.path.join(ROOT, "test", "frontend", "onnx", "Inputs"))
from onnx_writer import model, node, tensor, value  # noqa: E402

suite = Suite(sys.argv[1])
expect = suite.expect
VOCABULARY, WIDTH, HIDDEN = 40, 64, 45


def unpacked(arrays, name, columns, group):
    """The numbers that the codes of `name` stand for, in f64."""
    codes, scale = arrays[name + ".codes"], arrays[name + ".scale"].astype(np.float64)
    if codes.dtype == np.int8 and group == 32:  # of --keep-w8
        group = 0
    shape = (1, 1) if group == "tensor" else (len(codes), -(-columns // group) if group else 1)
    is_halved = codes.dtype == np.uint8 and codes.shape[1] != columns
    expect(f"{name}: codes and scales", (codes.shape[1], scale.shape),
           ((columns + 1) // 2 if is_halved else columns, shape))

    def wide(part):
        return np.repeat(part, group, axis=1)[:, :columns] if isinstance(
            group, int) and group else np.broadcast_to(part, (len(codes), columns))

    if is_halved:
        codes = np.concatenate([codes & 15, codes >> 4], axis=1)[:, :columns]
    zero = wide(arrays[name + ".zero"].astype(
        np.int64)) if name + ".zero" in arrays else 8 if is_halved else 0
    return (codes.astype(np.int64) - zero) * wide(scale)


MODEL = f"""dl 1

dim T = 1..16

model Tied {{
  table: Embedding({VOCABULARY}, {WIDTH})
  up: Linear({WIDTH}, {HIDDEN})
  down: Linear({HIDDEN}, {WIDTH}, bias=false)

  forward(tokens: i64[T]) -> (y: f32[T,{VOCABULARY}]) {{
    x = table(tokens)
    y = linear(x + down(relu(up(x))), table.weight)
  }}
}}

weights "tied.safetensors"
"""
ARRAYS = {
    "table.weight": numbers(VOCABULARY, WIDTH), "up.weight": numbers(HIDDEN, WIDTH),
    "up.bias": numbers(HIDDEN), "down.weight": numbers(WIDTH, HIDDEN)
}
TOKENS = np.array([3, 0, 39, 7, 7, 12, 21], np.int64)


def tied(table, up, bias, down):
    x = table[TOKENS]
    return (x + np.maximum(x @ up.T + bias, 0) @ down.T) @ table.T


def run(package, device):
    out = f"{package}-{device}.npy"
    done = dlc("run", package, "--device", device, "--input", "tokens=@tokens.npy", "--output",
               f"y=@{out}")
    return np.load(out) if done.returncode == 0 else done.stderr


def close(what, got, expected):
    if isinstance(got, str):
        return expect(what, got, "")
    distance = np.abs(got - expected).max() / np.abs(expected).max()
    return expect(f"{what}: {distance:.2e}", bool(distance < 2e-6), True)


def quiet(what, *arguments):
    done = dlc(*arguments)
    expect(what, (done.returncode, done.stderr), (0, ""))


with open("tied.dl", "w", encoding="utf-8") as out:
    out.write(MODEL)
save("tied.safetensors", ARRAYS)
np.save("tokens.npy", TOKENS)
samples = np.random.RandomState(1).randint(0, VOCABULARY, (24, 16)).astype(np.int64)
np.savez("samples.npz", tokens=samples)
quiet("f32", "compile", "tied.dl", "-q", "-o", "f32.bin")
whole = os.path.getsize("tied.safetensors")
exact = tied(*(ARRAYS[name].astype(np.float64)
               for name in ("table.weight", "up.weight", "up.bias", "down.weight")))
errors = {}
for name, flags, group in (("w8", ["w8"], 0), ("w4", ["w4"], 32), ("w4-64", ["w4", "--group",
                                                                             "64"], 64),
                           ("w4-wide", ["w4", "--keep-w8", "down"],
                            32), ("w8-fitted", ["w8", "--calib", "samples.npz"],
                                  0), ("w4-fitted", ["w4", "--calib", "samples.npz"], 32)):
    quiet(f"quantize {name}", "quantize", "tied.dl", "--scheme", *flags, "-q", "-o", f"{name}.dl")
    quiet(f"compile {name}", "compile", "tied.dl", "--quantize", *flags, "-q", "-o", f"{name}.bin")
    quiet(f"compile {name}.dl", "compile", f"{name}.dl", "-q", "-o", f"{name}-text.bin")
    arrays = load(f"{name}.safetensors")
    expected = tied(unpacked(arrays, "table.weight", WIDTH, group),
                    unpacked(arrays, "up.weight", WIDTH, group), arrays["up.bias"],
                    unpacked(arrays, "down.weight", HIDDEN, group))
    errors[name] = np.sqrt(((expected - exact) ** 2).mean())
    for package in (f"{name}.bin", f"{name}-text.bin"):
        for device in ("cpu", "cuda-emu"):
            close(f"{package} on {device}", run(package, device), expected)
    part = os.path.getsize(f"{name}.safetensors") / whole
    expect(f"bytes of {name}: {part:.3f}",
           bool(part < (0.36 if "8" in name[:2] or "wide" in name else 0.27)), True)
    expect(f"8 bits in {name}",
           sorted(one for one, array in arrays.items() if array.dtype == np.int8),
           ["down.weight.codes"] if "wide" in name else sorted(
               f"{one}.weight.codes" for one in ("table", "up", "down")) if "8" in name[:2] else [])
    # Both programs keep what the file has, in panels; nobody keeps f32.
    inspected = json.loads(dlc("inspect", f"{name}.bin", "--json").stdout)
    for program in inspected["programs"]:
        made = int(re.search(r"\d+", program["persistent"]).group())
        expect(f"{name} on {program['target']}: {made} bytes made at load", made < 4 *
               (VOCABULARY + 2 * HIDDEN) * WIDTH * 0.45, True)
expect(
    f"errors {errors}", errors["w8"] < 0.2 * errors["w4"] and errors["w4-fitted"] < errors["w4"]
    and errors["w4-wide"] < errors["w4"], True)

# Other grids: the granularity, symmetric or not; each as text and in a package.
for name, flags, group, least in (("w8-groups",
                                   ["w8", "--weight-grid", "asymmetric", "--group", "16"
                                    ], 16, "w8"), ("w8-tensor", ["w8", "--granularity",
                                                                 "tensor"], "tensor", None),
                                  ("w4-symmetric", ["w4", "--weight-grid", "symmetric"], 32,
                                   None), ("w4-row", ["w4", "--granularity", "channel"], 0, None),
                                  ("w4-tensor",
                                   ["w4", "--granularity", "tensor", "--weight-grid",
                                    "symmetric"], "tensor", None), ("w4-16-fitted", [
                                        "w4", "--group", "16", "--weight-grid", "symmetric",
                                        "--calib", "samples.npz"
                                    ], 16, "w4")):
    quiet(f"quantize {name}", "quantize", "tied.dl", "--scheme", *flags, "-q", "-o", f"{name}.dl")
    quiet(f"compile {name}", "compile", "tied.dl", "--quantize", *flags, "-q", "-o", f"{name}.bin")
    quiet(f"compile {name}.dl", "compile", f"{name}.dl", "-q", "-o", f"{name}-text.bin")
    arrays = load(f"{name}.safetensors")
    expect(f"zero points of {name}", any(one.endswith(".zero") for one in arrays),
           "symmetric" not in flags and name != "w8-tensor")
    expected = tied(unpacked(arrays, "table.weight", WIDTH, group),
                    unpacked(arrays, "up.weight", WIDTH, group), arrays["up.bias"],
                    unpacked(arrays, "down.weight", HIDDEN, group))
    errors[name] = np.sqrt(((expected - exact) ** 2).mean())
    for package in (f"{name}.bin", f"{name}-text.bin"):
        for device in ("cpu", "cuda-emu"):
            close(f"{package} on {device}", run(package, device), expected)
    expect(f"{name}: finer grids have smaller errors, {errors[name]:.2e}", least is None
           or bool(errors[name] < errors[least]), True)
expect("coarser grids have larger ones",
       (bool(errors["w8"] < errors["w8-tensor"]), bool(errors["w4"] < errors["w4-row"]),
        bool(errors["w4-row"] < errors["w4-tensor"])), (True, True, True))

for flags, said in (([
        "w4", "--granularity", "tensor"
], "w4: 3 of 3 weights in 4 bits, one scale a weight, rounded to nearest"), ([
        "w4", "--granularity", "channel", "--weight-grid", "symmetric"
], "w4: 3 of 3 weights in 4 bits, one scale a row, symmetric, rounded to nearest"),
                    (["w8", "--weight-grid", "asymmetric"],
                     "w8: 3 of 3 weights in 8 bits, asymmetric, rounded to nearest"),
                    (["w8", "--group",
                      "128"], "w8: 3 of 3 weights in 8 bits, groups of 128, rounded to nearest")):
    done = dlc("quantize", "tied.dl", "--scheme", *flags, "-o", "told.dl", "--force")
    expect(f"the table of {flags}", done.stdout.splitlines()[-1].split(";")[0], said)

# The same data give the same file, however many samples run at once; f16 reads the same few bits.
quiet("batches", "compile", "tied.dl", "--quantize", "w4", "--calib", "samples.npz",
      "--calib-batch", "5", "-q", "-o", "again.bin")
expect("same bytes", open("again.bin", "rb").read() == open("w4-fitted.bin", "rb").read(), True)
quiet("f16", "compile", "tied.dl", "--quantize", "w4", "--precision", "f16", "-q", "-o",
      "w4-f16.bin")
for device in ("cpu", "cuda-emu"):
    distance = np.abs(run("w4-f16.bin", device) - run("w4.bin", "cpu")).max() / np.abs(exact).max()
    expect(f"f16 on {device}: {distance:.2e}", bool(distance < 5e-3), True)

# Products of integers, as text: the same numbers as dlc compile makes, whose codes and scales are
# those of NumPy.
quiet("quantize int8", "quantize", "tied.dl", "--scheme", "int8", "--calib", "samples.npz", "-q",
      "-o", "int8.dl")
quiet("compile int8.dl", "compile", "int8.dl", "-q", "-o", "int8-text.bin")
quiet("compile int8", "compile", "tied.dl", "--quantize", "int8", "--calib", "samples.npz",
      "--target", "cpu", "-q", "-o", "int8.bin")
for device in ("cpu", "cuda-emu"):
    close(f"int8 on {device}", run("int8-text.bin", device), run("int8.bin", "cpu"))
arrays = load("int8.safetensors")
for name in ("up.weight", "down.weight"):
    scale = np.abs(ARRAYS[name]).max(axis=1, keepdims=True) / np.float32(127)
    expect(f"codes of {name}",
           np.array_equal(arrays[name + ".codes"],
                          np.rint(ARRAYS[name] / scale).astype(np.int8)), True)
    ratio = arrays[name + ".scale"] / scale  # the scale of the activation
    expect(f"scales of {name}", bool(ratio.max() / ratio.min() < 1 + 1e-6), True)
part = os.path.getsize("int8.safetensors") / whole
expect(f"bytes of int8: {part:.3f}", bool(part < 0.38), True)
# The look-up and the product share the integers of the table.
scale = np.abs(ARRAYS["table.weight"]).max(axis=1, keepdims=True) / np.float32(127)
expect(
    "codes of the table",
    np.array_equal(arrays["table.weight.codes"],
                   np.rint(ARRAYS["table.weight"] / scale).astype(np.int8)), True)
expect("they are stored once", [name for name in arrays if name.startswith("table.weight.codes")],
       ["table.weight.codes"])
expect("scales of the table", np.array_equal(arrays["table.weight.scale"], scale), True)

# Symmetric activations are i8 without a zero point; one scale serves a whole weight: against NumPy
# from the range that the report names.
GRIDS = ("--activation-grid", "symmetric", "--granularity", "tensor", "--calib-method", "minmax")
quiet("symmetric", "compile", "tied.dl", "--quantize", "int8", "--quantize-where", "possible",
      *GRIDS, "--calib", "samples.npz", "-q", "-o", "symmetric.bin", "--report", "symmetric.json")
quiet("symmetric as text", "quantize", "tied.dl", "--scheme", "int8", *GRIDS[:4], "--calib",
      "samples.npz", "-q", "-o", "symmetric.dl")
quiet("compile it", "compile", "symmetric.dl", "-q", "-o", "symmetric-text.bin")
report = json.load(open("symmetric.json", encoding="utf-8"))
expect("the report says so", (report["activation_grid"], report["granularity"]),
       ("symmetric", "tensor"))
products = [row for row in report["layers"] if row["op"] == "linear"]
ranges = {row["layer"]: max(-row["low"], row["high"]) for row in products}
expect("ranges reach as far both ways", [row["low"] for row in products],
       [-row["high"] for row in products])


def by_integers(x, layer, weight):
    """x @ weight.T of i8 by i8, in f32 but for the sums."""
    scale, step = np.float32(ranges[layer] / 127), np.abs(weight).max() / np.float32(127)
    q = np.rint(x * np.float32(1 / np.float64(scale))).clip(-128, 127).astype(np.int64)
    return (q @ np.rint(weight / step).astype(np.int64).T).astype(np.float32) * (step * scale)


step = np.abs(ARRAYS["table.weight"]).max() / np.float32(127)
hidden = np.rint(ARRAYS["table.weight"][TOKENS] / step).astype(np.float32) * step
hidden = hidden + by_integers(
    np.maximum(by_integers(hidden, "up", ARRAYS["up.weight"]) + ARRAYS["up.bias"], 0), "down",
    ARRAYS["down.weight"])
expected = by_integers(hidden, "tied.dl:12:9", ARRAYS["table.weight"])
for device in ("cpu", "cuda-emu"):
    close(f"symmetric on {device}", run("symmetric.bin", device), expected)
arrays = load("symmetric.safetensors")
expect("one scale a weight", (arrays["up.weight.scale"].size, arrays["up.weight.codes"].dtype),
       (1, np.int8))
expect("the text runs", not isinstance(run("symmetric-text.bin", "cpu"), str), True)

# A Gemm and a MatMul of ONNX, whose weights lie as [K, N].
with open("gemm.onnx", "wb") as out:
    weights = [
        tensor(name, "f32", shape, raw=numbers(*shape).tobytes())
        for name, shape in (("a", (WIDTH, 20)), ("b", (20, )), ("c", (20, 8)))
    ]
    out.write(
        model([node("Gemm", "x, a, b", "h"),
               node("MatMul", "h, c", "y")], [value("x", dims=(3, WIDTH))], tensors=weights))
np.save("x.npy", numbers(3, WIDTH))
quiet("quantize ONNX", "quantize", "gemm.onnx", "--scheme", "w4", "-q", "-o", "gemm.dl")
quiet("compile it", "compile", "gemm.dl", "-q", "-o", "gemm.bin")
quiet("compile ONNX", "compile", "gemm.onnx", "--quantize", "w4", "-q", "-o", "gemm-onnx.bin")
arrays = load("gemm.safetensors")
a, c = (unpacked(arrays, name, columns, 32) for name, columns in (("a", WIDTH), ("c", 20)))
expected = (numbers(3, WIDTH) @ a.T + numbers(20)) @ c.T
for package in ("gemm.bin", "gemm-onnx.bin"):
    for device in ("cpu", "cuda-emu"):
        done = dlc("run", package, "--device", device, "--input", "x=@x.npy", "--output",
                   "y=@y.npy")
        close(f"{package} on {device}",
              np.load("y.npy") if done.returncode == 0 else done.stderr, expected)


def refused(what, status, said, *arguments):
    done = dlc(*arguments)
    expect(what, (done.returncode, said in done.stderr or done.stderr), (status, True))


def refusal(what, status, said, *arguments):
    """Of both commands; `said` with SCHEME in place of the option."""
    refused(f"compile: {what}", status, said.replace("SCHEME", "--quantize"), "compile",
            *arguments[:1], "--quantize", *arguments[1:], "-o", "no.bin")
    refused(f"quantize: {what}", status, said.replace("SCHEME", "--scheme"), "quantize",
            *arguments[:1], "--scheme", *arguments[1:], "-o", "no.dl")


REFIT = "holds weights in few bits, or without their blocks of zeros, as they were when it was compiled; make it anew from the new weights: " \
    "dlc compile MODEL --quantize "
refused("refit", 3, f"'w4.bin' {REFIT}w4 --weights NEW.safetensors", "refit", "w4.bin", "--weights",
        "tied.safetensors")
refused("refit", 3, f"'w8-fitted.bin' {REFIT}w8 --calib DATA.npz --weights NEW.safetensors",
        "refit", "w8-fitted.bin", "--weights", "tied.safetensors")
quiet("refit of a file of codes", "refit", "w4-text.bin", "--weights", "w4.safetensors", "-q")
refusal("scheme", 2, "SCHEME: 'w5' is none of ", "tied.dl", "w5")
refused("refit of other grids", 3,
        f"'w8-groups.bin' {REFIT}w8 --weight-grid asymmetric --group 16 --weights NEW.safetensors",
        "refit", "w8-groups.bin", "--weights", "tied.safetensors")
refusal("group", 2, "error: --group: '48' is none of 16, 32, 64, 128, 256; 'dlc ", "tied.dl", "w4",
        "--group", "48")
refused(
    "group alone", 2,
    "--group is how many weights in few bits share a scale; expected --quantize w8 or w4 with it",
    "compile", "tied.dl", "--group", "64", "-o", "no.bin")
refused("granularity alone", 2,
        "--granularity says which weights share a scale; expected --quantize with it", "compile",
        "tied.dl", "--granularity", "tensor", "-o", "no.bin")
DATA = ("--calib", "samples.npz")
refusal("group of int8", 2,
        "--group is how many weights in few bits share a scale; expected SCHEME w8 or w4 with it",
        "tied.dl", "int8", *DATA, "--group", "64")
refusal("groups of int8", 2,
        "--granularity group is for weights that are made numbers before they are multiplied; expected SCHEME w8 or w4 with it, or "
        "channel or tensor", "tied.dl", "int8", *DATA, "--granularity", "group")
refusal("group and tensor", 2,
        "--group makes groups, and --granularity tensor none; leave one of them out", "tied.dl",
        "w4", "--group", "64", "--granularity", "tensor")
refusal(
    "grid of activations of w4", 2,
    "--activation-grid says which integers activations become; expected SCHEME int8 or dynamic with it",
    "tied.dl", "w4", "--activation-grid", "symmetric")
refusal(
    "grid of weights of int8", 2,
    "--weight-grid chooses for weights that stay in memory in few bits; expected SCHEME w8 or w4 with it (the weights of "
    "products of integers are symmetric: a zero point of theirs would need the sum of each row of activations)",
    "tied.dl", "int8", *DATA, "--weight-grid", "asymmetric")
refusal("unknown grid", 2, "--weight-grid: 'even' is none of asymmetric, symmetric; 'dlc ",
        "tied.dl", "w4", "--weight-grid", "even")
refusal("unknown granularity", 2, "--granularity: 'row' is none of tensor, channel, group; 'dlc ",
        "tied.dl", "w4", "--granularity", "row")
for scheme in ("w8", "int8"):
    refused(
        f"8 bits of {scheme}", 2,
        "--keep-w8 names layers that have 8 bits where others have 4; expected --quantize w4 with it",
        "compile", "tied.dl", "--quantize", scheme, "--calib", "samples.npz", "--keep-w8", "down",
        "-o", "no.bin")
    refused(
        f"8 bits of {scheme}", 2,
        "--keep-w8 names layers that have 8 bits where others have 4; expected --scheme w4 with it",
        "quantize", "tied.dl", "--scheme", scheme, "--calib", "samples.npz", "--keep-w8", "down",
        "-o", "no.dl")
refused("refit of 8 bits", 3, f"'w4-wide.bin' {REFIT}w4 --keep-w8 'down' --weights NEW.safetensors",
        "refit", "w4-wide.bin", "--weights", "tied.safetensors")
refusal("unknown wide layer", 2, "--keep-w8: 'nobody' matches no layer", "tied.dl", "w4",
        "--keep-w8", "nobody")
refusal("bad wide glob", 2, "--keep-w8: '[a' is no pattern", "tied.dl", "w4", "--keep-w8", "[a")
refused("int8 without data", 2,
        "--scheme int8 needs to see what the model reads; add --calib FILE.npz, an array by the name of each input, one row a "
        "sample, some hundred rows", "quantize", "tied.dl", "--scheme", "int8", "-o", "no.dl")
refusal("unknown layer", 2, "--keep-f32: 'nobody' matches no layer", "tied.dl", "w4", "--keep-f32",
        "nobody")
refusal("bad glob", 2, "--keep-f32: '[a' is no pattern", "tied.dl", "w4", "--keep-f32", "[a")
refusal(
    "nothing left", 1,
    "--quantize w4: every weight stays in f32; the first, 'table.weight', because: --keep-f32 names it",
    "tied.dl", "w4", "--keep-f32", "linear")
np.savez("none.npz", tokens=samples[:0])
refusal("no data", 2, "it has no rows; expected at least one sample", "tied.dl", "w4", "--calib",
        "none.npz")
np.savez("other.npz", other=samples)
refusal("other data", 2, "other.npz", "tied.dl", "w4", "--calib", "other.npz")
refusal("no file", 5, "gone.npz", "tied.dl", "w4", "--calib", "gone.npz")

with open("nan.dl", "w", encoding="utf-8") as out:
    out.write(MODEL.replace("tied.safetensors", "nan.safetensors"))
broken = ARRAYS["up.weight"].copy()
broken[3, 5], broken[4, 5] = np.nan, np.inf
save("nan.safetensors", {**ARRAYS, "up.weight": broken})
refusal("NaN", 1,
        f"--quantize w4: 2 of the {HIDDEN * WIDTH} numbers of weight 'up.weight' are NaN or infinite; expected finite numbers, or "
        "--keep-f32 'up'", "nan.dl", "w4")
save("nan.safetensors", {**ARRAYS, "up.bias": np.full(HIDDEN, np.inf, np.float32)})
refusal(
    "NaN in between", 1,
    "--calib: on this data 'nan.dl:12:9' reads 24576 numbers that are NaN or infinite; expected finite numbers alone",
    "nan.dl", "w4", "--calib", "samples.npz")

with open("plain.dl", "w", encoding="utf-8") as out:
    out.write(
        "dl 1\n\nmodel Plain {\n  forward(x: f32[4]) -> (y: f32[4]) {\n    y = relu(x)\n  }\n}\n")
refusal(
    "no product", 1,
    "--quantize w4: no matrix product of the model multiplies by a weight of f32, and no look-up takes rows of one",
    "plain.dl", "w4")
with open("open.mlir", "w", encoding="utf-8") as out:
    out.write("""func.func @main(%x: tensor<2x16xf32> {dl.name = "x"}) -> (tensor<2x4xf32> {dl.name = "y"}) {
  %w = dl.weight "w" : tensor<4x16xf32>
  %y = dl.linear %x, %w : (tensor<2x16xf32>, tensor<4x16xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}""")
refused(
    "unbound", 1,
    "--quantize w4: weight 'w' is bound to no file; its numbers must be known: add `weights \"file.safetensors\"` to the model or "
    "pass --weights", "compile", "open.mlir", "--compile-from=import", "--quantize", "w4", "-o",
    "no.bin")
with open("moved.mlir", "w", encoding="utf-8") as out:
    out.write(
        open("open.mlir", encoding="utf-8").read().replace(
            '"w" :', '"w" {file = "tied.safetensors", offset = 999999 : i64} :'))
refused("file that is shorter now", 1,
        "weight 'w' in 'tied.safetensors' has changed since it was read; start again", "compile",
        "moved.mlir", "--compile-from=import", "--quantize", "w4", "-o", "no.bin")
with open("reasons.dl", "w", encoding="utf-8") as out:
    out.write("""dl 1
model Reasons {
  both: Parameter(32, 32)
  columns: Parameter(16, 32)
  few: Linear(15, 4, bias=false)
  added: Parameter(32, 32)
  forward(x: f32[4,32], i: i64[3]) -> (a: f32[4,32], b: f32[4,32], c: f32[3,32], d: f32[4,4], e: f32[4,32]) {
    a = linear(x, both) + x @ both
    b = x[:, 0:16] @ columns
    c = embedding(i, columns)
    d = few(x[:, 0:15])
    e = linear(x, added) + added[0:4, :]
  }
}
weights "reasons.safetensors"
""")
save(
    "reasons.safetensors", {
        "both": numbers(32, 32), "columns": numbers(16, 32), "few.weight": numbers(4, 15),
        "added": numbers(32, 32)
    })
refused(
    "reasons", 1,
    "every weight stays in f32; the first, 'both', because: products sum along both of its dims",
    "compile", "reasons.dl", "--quantize", "w8", "-o", "no.bin")
with open("reasons.dl", encoding="utf-8") as file:
    text = file.read()
with open("reasons.dl", "w", encoding="utf-8") as out:
    out.write(
        text.replace("few: Linear(15, 4, bias=false)",
                     "few: Linear(15, 4, bias=false)\n  fit: Linear(32, 4, bias=false)").replace(
                         "e = linear(x, added)", "e = fit(x)[:, 0:1] + linear(x, added)"))
save(
    "reasons.safetensors", {
        "both": numbers(32, 32), "columns": numbers(16, 32), "few.weight": numbers(4, 15),
        "added": numbers(32, 32), "fit.weight": numbers(4, 32)
    })
lines = dlc("quantize", "reasons.dl", "--scheme", "w8", "-o", "reasons-w8.dl").stdout.splitlines()
expect("reasons", [line.split("kept in f32: ")[1] for line in lines if "kept in f32: " in line], [
    "products sum along both of its dims",
    "products sum along its dim 0, and look-ups take rows of it",
    "a sum has 15 terms, too few to pay for a scale", "also read by slice"
])
expect("the one that fits", lines[-1].split(",")[0], "w8: 1 of 5 weights in 8 bits")
refused("exists", 2, "'w4.dl' exists already", "quantize", "tied.dl", "--scheme", "w4", "-o",
        "w4.dl")
refused("no text", 2, "-o names 'w4.bin'; expected a .dl file", "quantize", "tied.dl", "--scheme",
        "w4", "-o", "w4.bin")
refused("report", 2,
        "--report names 'no.safetensors', where the model goes; name another file for the report",
        "quantize", "tied.dl", "--scheme", "w4", "-o", "no.dl", "--report", "no.safetensors")
refused("const input", 2, "--const-input belongs to an ONNX model; 'tied.dl' is none", "quantize",
        "tied.dl", "--scheme", "w4", "-o", "no.dl", "--const-input", "x=@x.npy")
quiet("print", "compile", "tied.dl", "--quantize", "w4", "-q", "--compile-to=fuse", "-o",
      "fused.mlir")
refused(
    "go on", 1,
    "the numbers of 'table.weight.codes' were held by the compile that printed this IR; compile the model itself with --quantize or "
    "--sparse, or let dlc quantize write them to a file", "compile", "fused.mlir",
    "--compile-from=fuse", "-o", "no.bin")
expect("nothing was written",
       [path for path in ("no.bin", "no.dl", "no.safetensors") if os.path.exists(path)], [])

# The tables.
lines = dlc("compile", "tied.dl", "--quantize", "w4", "--keep-w8", "down", "--report",
            "report.json", "-o", "wide.bin").stderr.splitlines()
expect(
    "table of 8 bits", (lines[-2].endswith("  in 8 bits"), lines[-1].split(";")[0]),
    (True, "w4: 3 of 3 weights in 4 bits, groups of 32, 1 of them in 8 bits, rounded to nearest"))
with open("report.json", encoding="utf-8") as file:
    expect("report of 8 bits", [one["type"] for one in json.load(file)["weights"]],
           ["w4", "w4", "w8"])
table = dlc("quantize", "tied.dl", "--scheme", "w4", "--keep-f32", "down", "--report",
            "report.json", "-o", "kept.dl")
lines = table.stdout.splitlines()
expect("table", [re.sub(r"[0-9.]+ dB", "N dB", " ".join(line.split())) for line in lines], [
    "Layer Weight Dims SNR", f"tied.dl:12:9 table.weight {VOCABULARY}x{WIDTH} N dB",
    f"up up.weight {HIDDEN}x{WIDTH} N dB",
    f"down down.weight {WIDTH}x{HIDDEN} kept in f32: --keep-f32 names it",
    "w4: 2 of 3 weights in 4 bits, groups of 32, rounded to nearest; "
    f"{4 * (VOCABULARY + HIDDEN) * WIDTH:,} bytes became {(VOCABULARY + HIDDEN) * (WIDTH // 2 + 10):,}"
])
with open("report.json", encoding="utf-8") as file:
    report = json.load(file)
expect("report", (report["scheme"], report["group"], report["method"], report["bytes_after"],
                  [one["type"] for one in report["weights"]], report["weights"][2]["why"]),
       ("w4", 32, "nearest", (VOCABULARY + HIDDEN) *
        (WIDTH // 2 + 10), ["w4", "w4", "f32"], "--keep-f32 names it"))
fitted = dlc("compile", "tied.dl", "--quantize", "w4", "--calib", "samples.npz", "--report",
             "report.json", "-o", "fitted.bin")
expect(
    "fitted",
    ("SNR        SNR of outputs  Gain\n" in fitted.stderr, "fitted to 24 samples" in fitted.stderr),
    (True, True))
with open("report.json", encoding="utf-8") as file:
    report = json.load(file)
expect("report of a fit", (report["method"], report["samples"],
                           all("snr_of_outputs_db" in one for one in report["weights"])),
       ("gptq", 24, True))
suite.finish()
