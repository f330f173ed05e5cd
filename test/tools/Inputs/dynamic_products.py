"""dynamic_products.py FOLDER: matrix products of integers whose ranges each row has for itself, of
dlc compile --quantize dynamic and of dlc quantize, against ONNX's formula of DynamicQuantizeLinear
in NumPy: rows of all kinds on the CPU and on emulated CUDA, and what both commands refuse."""
import json
import os
import sys

import numpy as np
from weight_cases import Suite, dlc, numbers, save

suite = Suite(sys.argv[1])
expect = suite.expect
F = np.float32
K, N = 45, 33
MODEL = f"""dl 1

dim B = 1..16

model Rows {{
  wide: Linear({K}, {N})
  turned: Parameter({K}, 20)
  few: Linear({K}, 15)

  forward(x: f32[B,3,{K}]) -> (a: f32[B,3,{N}], b: f32[B,3,20], c: f32[B,3,15]) {{
    a = wide(x)
    b = x @ turned
    c = few(x)
  }}
}}

weights "rows.safetensors"
"""
ARRAYS = {
    "wide.weight": numbers(N, K), "wide.bias": numbers(N), "turned": numbers(K, 20),
    "few.weight": numbers(15, K), "few.bias": numbers(15)
}
ARRAYS["wide.weight"][7] = 0  # a channel of zeros
random = np.random.RandomState(5)
x = random.randn(5, 3, K).astype(F)
x[0, 1] = 0
x[0, 2] = np.abs(x[0, 2])     # no number below 0
x[1, 0] = -np.abs(x[1, 0])    # and none above it
x[1, 1] = 3.5                 # one number alone
x[1, 2] *= F(1e-42)           # denormal
x[2, 0] *= F(1e30)
x[2, 1] = 0
x[2, 1, 9] = -2.5
x[3, 0, 4] = np.nan
x[3, 1, 4] = np.inf
x[3, 2, 4] = -np.inf
x[4, 0] = np.arange(K) * F(0.5)  # its steps lie between two numbers of u8


def product(x, weight, bias):
    """x @ weight.T + bias by rows of u8; every step in f32 but for the sums."""
    low, high = np.minimum(x.min(-1, keepdims=True),
                           F(0)), np.maximum(x.max(-1, keepdims=True), F(0))
    scale = (high - low) / F(255)
    zero = np.nan_to_num(np.rint(-(low / scale)), nan=0, posinf=255, neginf=0).clip(0, 255)
    q = np.nan_to_num(np.rint(x / scale) + zero.astype(F), nan=0, posinf=255, neginf=0).clip(0, 255)
    steps = np.abs(weight).max(1, keepdims=True) / F(127)
    r = np.nan_to_num(np.rint(weight / steps))
    sums = (q.astype(np.int64) - zero.astype(np.int64)) @ r.astype(np.int64).T
    return sums.astype(F) * (scale * steps[:, 0]) + bias


def symmetric(x, weight, bias):
    """The same by rows of i8 without a zero point, and one scale for the weight."""
    scale, step = np.abs(x).max(-1, keepdims=True) / F(127), np.abs(weight).max() / F(127)
    q = np.nan_to_num(np.rint(x / scale), nan=0, posinf=127, neginf=-128).clip(-128, 127)
    return (q.astype(np.int64)
            @ np.rint(weight / step).astype(np.int64).T).astype(F) * (scale * step) + bias


with np.errstate(all="ignore"):
    EXPECTED, SYMMETRIC = ({
        "a": rule(x, ARRAYS["wide.weight"], ARRAYS["wide.bias"]),
        "b": rule(x, np.ascontiguousarray(ARRAYS["turned"].T),
                  F(0)), "c": x.astype(np.float64) @ ARRAYS["few.weight"].T + ARRAYS["few.bias"]
    } for rule in (product, symmetric))


def run(package, device, rows):
    np.save("x.npy", x[:rows])
    outputs = [part for name in EXPECTED for part in ("--output", f"{name}=@{name}.npy")]
    done = dlc("run", package, "--device", device, "--input", "x=@x.npy", *outputs)
    expect(f"{package} on {device}", done.returncode, 0)
    return {name: np.load(f"{name}.npy") for name in EXPECTED}


def quiet(what, *arguments):
    done = dlc(*arguments)
    expect(what, (done.returncode, done.stderr), (0, ""))


with open("rows.dl", "w", encoding="utf-8") as out:
    out.write(MODEL)
save("rows.safetensors", ARRAYS)
quiet("compile", "compile", "rows.dl", "--quantize", "dynamic", "-q", "-o", "rows.bin")
quiet("quantize", "quantize", "rows.dl", "--scheme", "dynamic", "-q", "-o", "text.dl")
quiet("compile the text", "compile", "text.dl", "-q", "-o", "text.bin")
GRIDS = ("--activation-grid", "symmetric", "--granularity", "tensor")
quiet("symmetric", "compile", "rows.dl", "--quantize", "dynamic", *GRIDS, "-q", "-o",
      "symmetric.bin")
quiet("symmetric as text", "quantize", "rows.dl", "--scheme", "dynamic", *GRIDS, "-q", "-o",
      "symmetric.dl")
quiet("compile it", "compile", "symmetric.dl", "-q", "-o", "symmetric-text.bin")
for package, rule in (("rows.bin", EXPECTED), ("text.bin", EXPECTED), ("symmetric.bin", SYMMETRIC),
                      ("symmetric-text.bin", SYMMETRIC)):
    for device in ("cpu", "cuda-emu"):
        for rows in (1, 5):
            got = run(package, device, rows)
            for name, expected in rule.items():
                expected = expected[:rows]
                finite = np.isfinite(expected)
                broken = ~np.isfinite(got[name]) if name == "c" else np.isnan(got[name])
                expect(f"{name}: NaN where a row holds NaN or infinities",
                       np.array_equal(broken, ~finite), True)
                size = np.abs(np.where(finite, expected, 0)).max(-1, keepdims=True) + F(1e-30)
                distance = np.where(finite,
                                    np.abs(got[name] - np.where(finite, expected, 0)) / size,
                                    0).max()
                expect(f"{name} of {package} on {device}: {distance:.1e}", bool(distance < 3e-6),
                       True)

# A row says nothing of another: alone it gives the same bits as in company.
alone, company = run("rows.bin", "cpu", 1), run("rows.bin", "cpu", 5)
expect("rows are alone", all(np.array_equal(alone[name], company[name][:1]) for name in EXPECTED),
       True)
# New weights find their scales and sums at load.
quiet("refit", "refit", "rows.bin", "--weights", "rows.safetensors", "-q", "-o", "refitted.bin")
expect("the same file", open("rows.bin", "rb").read() == open("refitted.bin", "rb").read(), True)
quiet("validate", "compile", "rows.dl", "--quantize", "dynamic", "--validate-passes", "-q", "-o",
      "validated.bin")

table = dlc("compile", "rows.dl", "--quantize", "dynamic", "--target", "cpu", "--report",
            "report.json", "-o", "rows.bin").stderr.splitlines()
expect("table", [" ".join(line.split()) for line in table], [
    "Layer Op Type", "wide linear int8, with the range of each row",
    "rows.dl:12:11 matmul int8, with the range of each row",
    "few linear kept in f32: its input is read for 15 results, too few to pay for finding its range",
    "dynamic: 2 of 3 products"
])
with open("report.json", encoding="utf-8") as file:
    report = json.load(file)
expect("report", (report["scheme"], [layer["type"] for layer in report["layers"]]),
       ("dynamic", ["int8", "int8", "f32"]))


def refused(what, status, said, *arguments):
    done = dlc(*arguments)
    expect(what, (done.returncode, said in done.stderr or done.stderr), (status, True))


np.savez("data.npz", x=np.ones((4, 3, K), F))
for command, flag, output, said in (
    ("compile", "--quantize", "no.bin",
     "--quantize dynamic finds ranges when the model runs and reads no data; expected --calib with --smooth alone"
     ),
    ("quantize", "--scheme", "no.dl",
     "--scheme dynamic finds ranges when the model runs and reads no data; expected --calib with --smooth alone"
     )):
    refused(f"{command}: data", 2, said, command, "rows.dl", flag, "dynamic", "--calib", "data.npz",
            "-o", output)
    refused(
        f"{command}: nothing left", 1,
        "--quantize dynamic: every product of weights stays in f32; the first, 'wide', because --keep-f32 names it",
        command, "rows.dl", flag, "dynamic", "--keep-f32", "*", "-o", output)
refused(
    "group", 2,
    "--group is how many weights in few bits share a scale; expected --quantize w8 or w4 with it",
    "compile", "rows.dl", "--quantize", "dynamic", "--group", "64", "-o", "no.bin")
with open("picture.dl", "w", encoding="utf-8") as out:
    out.write("dl 1\n\nmodel Picture {\n  conv: Conv2d(3, 16, kernel_size=3)\n  forward(x: f32[1,3,8,8]) -> (y: f32[1,16,6,6]) {\n"
              "    y = conv(x)\n  }\n}\nweights \"picture.safetensors\"\n")
save("picture.safetensors", {"conv.weight": numbers(16, 3, 3, 3), "conv.bias": numbers(16)})
refused(
    "convolution", 1,
    "the first, 'conv', because a convolution's windows have no range of their own; --quantize int8 is for these",
    "compile", "picture.dl", "--quantize", "dynamic", "-o", "no.bin")
expect("nothing was written", [path for path in ("no.bin", "no.dl") if os.path.exists(path)], [])
suite.finish()
