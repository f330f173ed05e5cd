"""smoothing.py FOLDER: --smooth of dlc compile and dlc quantize against SmoothQuant's formula in
NumPy, what it gains where few channels are large, and what both commands refuse."""
import os
import sys

import numpy as np
from packed_arrays import load
from weight_cases import Suite, dlc, numbers, save

suite = Suite(sys.argv[1])
expect = suite.expect
K, N, SAMPLES = 40, 24, 64
MODEL = f"""dl 1

dim B = 1..64

model Smooth {{
  first: Linear({K}, {N})
  second: Parameter({K}, 20)
  norm: LayerNorm({N})
  third: Linear({N}, 32)
  few: Linear({N}, 17)

  forward(x: f32[B,{K}]) -> (y: f32[B,32], z: f32[B,20], v: f32[B,17]) {{
    h = norm(first(x))
    y = third(h)
    v = few(h)
    z = x @ second
  }}
}}

weights "smooth.safetensors"
"""
ARRAYS = {
    "first.weight": numbers(N, K), "first.bias": numbers(N), "second": numbers(K, 20),
    "norm.weight": 1 + numbers(N) / 4, "norm.bias": numbers(N) / 4, "third.weight": numbers(32, N),
    "third.bias": numbers(32), "few.weight": numbers(17, N), "few.bias": numbers(17)
}
ARRAYS["norm.weight"][3] *= 40
random = np.random.RandomState(3)
x = random.randn(SAMPLES, K).astype(np.float32)
x[:, 5] *= 60   # a few large channels, as large language models have them
x[:, 11] *= 90
x[:, 17] = 0    # nothing to divide
x[0, 2] = 1.5


def exact(x):
    w = {name: array.astype(np.float64) for name, array in ARRAYS.items()}
    first = x @ w["first.weight"].T + w["first.bias"]
    h = (first - first.mean(1, keepdims=True)) / np.sqrt(first.var(1, keepdims=True)
                                                         + 1e-5) * w["norm.weight"] + w["norm.bias"]
    return {
        "y": h @ w["third.weight"].T + w["third.bias"], "z": x @ w["second"],
        "v": h @ w["few.weight"].T + w["few.bias"]
    }


def run(package, device):
    outputs = [part for name in "yzv" for part in ("--output", f"{name}=@{name}.npy")]
    done = dlc("run", package, "--device", device, "--input", "x=@x.npy", *outputs)
    expect(f"{package} on {device}", (done.returncode, done.stderr), (0, ""))
    return {name: np.load(f"{name}.npy") for name in "yzv"}


def quiet(what, *arguments):
    done = dlc(*arguments)
    expect(what, (done.returncode, done.stderr), (0, ""))


def errors(got):
    return {
        name: np.sqrt(((got[name] - EXACT[name])**2).mean() / (EXACT[name]**2).mean())
        for name in EXACT
    }


with open("smooth.dl", "w", encoding="utf-8") as out:
    out.write(MODEL)
save("smooth.safetensors", ARRAYS)
np.save("x.npy", x)
np.savez("data.npz", x=x)
EXACT = exact(x.astype(np.float64))
for scheme in ("int8", "dynamic"):
    data = ["--calib", "data.npz"]
    # By cost, a product may stay in f32 on one of the two devices.
    everywhere = ["--quantize-where", "possible"] if scheme == "int8" else []
    quiet(scheme, "compile", "smooth.dl", "--quantize", scheme, *(data if scheme == "int8" else []),
          *everywhere, "-q", "-o", "plain.bin")
    plain = errors(run("plain.bin", "cpu"))
    for exponent in ("0", "0.5", "1"):
        quiet(f"{scheme} {exponent}", "compile", "smooth.dl", "--quantize", scheme, "--smooth",
              exponent, *data, *everywhere, "-q", "-o", "smooth.bin")
        results = {device: run("smooth.bin", device) for device in ("cpu", "cuda-emu")}
        for name in "yzv":
            off = np.abs(results["cpu"][name] - results["cuda-emu"][name]).max() / np.abs(
                EXACT[name]).max()
            # The last bit of what is rounded to steps may differ, and then a step.
            expect(f"{name} in {scheme}, {exponent}, on both devices: {off:.1e}", bool(off < 5e-3),
                   True)
        smooth = errors(results["cpu"])
        if exponent == "0.5":
            expect(f"{scheme} gains, {plain} to {smooth}",
                   all(smooth[name] < 0.6 * plain[name] for name in "zv"), True)
        expect(f"{scheme} {exponent} stays right: {smooth}",
               all(smooth[name] < 0.1 for name in "yzv"), True)

# The numbers that are stored are those of the formula, and the weights are rounded when they are
# multiplied.
quiet("quantize", "quantize", "smooth.dl", "--scheme", "int8", "--smooth", "0.25", "--calib",
      "data.npz", "-q", "-o", "text.dl")
quiet("compile the text", "compile", "text.dl", "-q", "-o", "text.bin")
quiet("compile", "compile", "smooth.dl", "--quantize", "int8", "--quantize-where", "possible",
      "--smooth", "0.25", "--calib", "data.npz", "-q", "-o", "smooth.bin")
one, other = run("text.bin", "cpu"), run("smooth.bin", "cpu")
expect(
    "text and package agree",
    all(np.abs(one[name] - other[name]).max() < 5e-3 * np.abs(EXACT[name]).max() for name in "yzv"),
    True)
arrays = load("text.safetensors")
largest = np.abs(x).max(0).astype(np.float64)
weights = np.maximum(np.abs(ARRAYS["first.weight"]).max(0),
                     np.abs(ARRAYS["second"]).max(1)).astype(np.float64)
scale = np.where(largest > 0, np.maximum(largest, 1e-30) ** 0.25 / weights ** 0.75, 1)
inverse = arrays["first.weight.smooth"]
expect("1 / s", bool(np.abs(inverse * scale - 1).max() < 1e-6), True)
for name, weight in (("first.weight", ARRAYS["first.weight"]), ("second", ARRAYS["second"].T)):
    scaled = (weight / inverse).astype(np.float32)
    steps = scaled / (np.abs(scaled).max(1, keepdims=True) / np.float32(127))
    codes = arrays[name + ".codes"]
    codes = codes if name == "first.weight" else codes.T
    expect(f"codes of {name}", bool(np.abs(codes - steps).max() <= 0.5001), True)
expect("names", sorted(name for name in arrays if name.endswith(".smooth")),
       ["first.weight.smooth", "third.weight.smooth"])

table = dlc("compile", "smooth.dl", "--quantize", "int8", "--quantize-where", "possible",
            "--smooth", "0.5", "--calib", "data.npz", "--target", "cpu", "-o", "smooth.bin").stderr
expect(
    "table",
    table.splitlines()[-1],
    "int8: 4 of 4 products, calibrated on 64 samples by mse; 2 activations smoothed with exponent 0.50"
)


def refused(what, status, said, *arguments):
    done = dlc(*arguments)
    expect(what, (done.returncode, said in done.stderr or done.stderr), (status, True))


refused(
    "refit", 3,
    "dlc compile MODEL --quantize int8 --smooth 0.50 --calib DATA.npz --weights NEW.safetensors",
    "refit", "smooth.bin", "--weights", "smooth.safetensors")
for command, flag, output, alone in (
    ("compile", "--quantize", "no.bin",
     "--smooth makes activations and weights fit for few bits; expected --quantize int8, dynamic, w8 or w4 with it"
     ),
    ("quantize", "--scheme", "no.dl",
     "--smooth makes activations and weights fit for few bits; expected --scheme int8, dynamic, w8 or w4 with it"
     )):
    for bad in ("1.5", "-0.1", "nan"):
        refused(f"{command} {bad}", 2,
                f"--smooth: expected auto or a number from 0 to 1, got '{bad}'", command,
                "smooth.dl", flag, "int8", "--calib", "data.npz", f"--smooth={bad}", "-o", output)
    refused(f"{command} fp8", 2, alone, command, "smooth.dl", flag, "fp8", "--calib", "data.npz",
            "--smooth", "0.5", "-o", output)
    refused(
        f"{command} without data", 2,
        "--smooth needs to see how large the channels of activations are; add --calib FILE.npz",
        command, "smooth.dl", flag, "dynamic", "--smooth", "0.5", "-o", output)
refused(
    "alone", 2,
    "--smooth makes activations and weights fit for few bits; expected --quantize int8, dynamic, w8 or w4 with it",
    "compile", "smooth.dl", "--smooth", "0.5", "-o", "no.bin")
save("infinite.safetensors", {**ARRAYS, "first.bias": np.full(N, np.inf, np.float32)})
with open("infinite.dl", "w", encoding="utf-8") as out:
    out.write(MODEL.replace("smooth.safetensors", "infinite.safetensors"))
refused(
    "NaN activations", 1,
    "--calib: on this data 'third' reads numbers that are NaN or infinite; expected finite numbers alone",
    "compile", "infinite.dl", "--quantize", "dynamic", "--smooth", "0.5", "--calib", "data.npz",
    "-o", "no.bin")
expect("nothing was written", [path for path in ("no.bin", "no.dl") if os.path.exists(path)], [])
suite.finish()
