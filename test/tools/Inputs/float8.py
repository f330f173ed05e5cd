"""float8.py FOLDER: products of e4m3, of dlc compile --quantize fp8 and of dlc quantize, against
NumPy: rounding to nearest even, 448 beyond it, NaN, and what both commands refuse."""
import os
import sys

import numpy as np
from packed_arrays import load
from weight_cases import Suite, dlc, numbers, save

suite = Suite(sys.argv[1])
expect = suite.expect
F = np.float32
SAMPLES, K, N = 32, 45, 33
MODEL = f"""dl 1

dim B = 1..64

model Floats {{
  fc: Linear({K}, {N})
  turned: Parameter({K}, 20)
  conv: Conv2d(3, 9, kernel_size=3, padding=1)

  forward(x: f32[B,{K}], p: f32[B,3,5,5]) -> (y: f32[B,{N}], z: f32[B,20], v: f32[B,9,5,5]) {{
    y = fc(x)
    z = x @ turned
    v = conv(p)
  }}
}}

weights "floats.safetensors"
"""
ARRAYS = {
    "fc.weight": numbers(N, K), "fc.bias": numbers(N), "turned": numbers(K, 20),
    "conv.weight": numbers(9, 3, 3, 3), "conv.bias": numbers(9)
}
ARRAYS["fc.weight"][7] = 0  # a channel of zeros
random = np.random.RandomState(11)
x = (random.randn(SAMPLES, K) * np.exp(2 * random.randn(SAMPLES, K))).astype(F)
p = random.randn(SAMPLES, 3, 5, 5).astype(F)


def e4m3(values):
    """The nearest numbers of e4m3, ties to even, 448 beyond it; f64."""
    size = np.minimum(np.abs(values.astype(np.float64)), 448)
    exponent = np.maximum(np.floor(np.log2(np.maximum(size, 1e-30))), -6)
    step = np.exp2(exponent - 3)
    return np.copysign(np.rint(size / step) * step, values)


def activation(values, largest):
    scale = F(largest / 448)
    return e4m3(values * F(1 / scale.astype(np.float64))), float(scale)


def weight(values):
    """Of a weight [N, ...]."""
    axes = tuple(range(1, values.ndim))
    scale = np.maximum(np.abs(values).max(axes, keepdims=True), F(1e-30)) / F(448)
    return e4m3(values / scale), scale.astype(np.float64)


def linear(x, largest, values, bias):
    (q, s), (r, t) = activation(x, largest), weight(values)
    return q @ r.T * s * t[:, 0] + bias, np.abs(q) @ np.abs(r).T * s * t[:, 0] + np.abs(bias)


def convolution(x, largest, values, bias):
    (q, s), (r, t) = activation(x, largest), weight(values)
    padded = np.pad(q, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    shape = (1, -1, 1, 1)
    total = [
        np.einsum("bcijhw,nchw->bnij", op(windows), op(r)) * s * t.reshape(shape)
        for op in (lambda a: a, np.abs)
    ]
    return total[0] + bias.reshape(shape), total[1] + np.abs(bias).reshape(shape)


def expected(x, p):
    return {
        "y": linear(x, most_x, ARRAYS["fc.weight"],
                    ARRAYS["fc.bias"]), "z": linear(x, most_x,
                                                    np.ascontiguousarray(ARRAYS["turned"].T), 0.0),
        "v": convolution(p, most_p, ARRAYS["conv.weight"], ARRAYS["conv.bias"])
    }


def run(package, device, x, p):
    np.save("x.npy", x)
    np.save("p.npy", p)
    outputs = [part for name in "yzv" for part in ("--output", f"{name}=@{name}.npy")]
    done = dlc("run", package, "--device", device, "--input", "x=@x.npy", "--input", "p=@p.npy",
               *outputs)
    expect(f"{package} on {device}", done.returncode, 0)
    return {name: np.load(f"{name}.npy") for name in "yzv"}


def quiet(what, *arguments):
    done = dlc(*arguments)
    expect(what, (done.returncode, done.stderr), (0, ""))


with open("floats.dl", "w", encoding="utf-8") as out:
    out.write(MODEL)
save("floats.safetensors", ARRAYS)
np.savez("data.npz", x=x, p=p)
most_x, most_p = np.abs(x).max().astype(np.float64), np.abs(p).max().astype(np.float64)
quiet("compile", "compile", "floats.dl", "--quantize", "fp8", "--calib", "data.npz", "-q", "-o",
      "floats.bin")
quiet("quantize", "quantize", "floats.dl", "--scheme", "fp8", "--calib", "data.npz", "-q", "-o",
      "text.dl")
quiet("compile the text", "compile", "text.dl", "-q", "-o", "text.bin")
# Beyond the data of calibration, too.
for name, scale in (("its own data", 1), ("larger data", 3)):
    want = expected(x * F(scale), p * F(scale))
    for package in ("floats.bin", "text.bin"):
        for device in ("cpu", "cuda-emu"):
            got = run(package, device, x * F(scale), p * F(scale))
            for output, (value, bound) in want.items():
                off = (np.abs(got[output] - value) / bound).max()
                expect(f"{output} of {package} on {device}, {name}: {off:.1e}", bool(off < 1e-5),
                       True)
codes = load("text.safetensors")
expect("codes are bytes", {
    name: (array.dtype.name, array.shape)
    for name, array in codes.items() if name.endswith(".codes")
}, {
    "fc.weight.codes": ("uint8",
                        (N, K)), "turned.codes": ("uint8",
                                                  (K, 20)), "conv.weight.codes": ("uint8",
                                                                                  (9, 3, 3, 3))
})
broken = x.copy()
broken[1, 4], broken[2, 4], broken[3, 4] = np.nan, np.inf, -np.inf
got = run("floats.bin", "cpu", broken, p)["y"]
expect("NaN stays in its row",
       (bool(np.isnan(got[1]).all()), bool(np.isfinite(np.delete(got, 1, 0)).all())), (True, True))
value, bound = linear(
    np.clip(broken, -most_x, most_x).astype(F), most_x, ARRAYS["fc.weight"], ARRAYS["fc.bias"])
expect("infinities become the largest number",
       bool((np.abs(got - value)[2:4] / bound[2:4]).max() < 1e-5), True)
table = dlc("compile", "floats.dl", "--quantize", "fp8", "--calib", "data.npz", "-o",
            "floats.bin").stderr.splitlines()
expect("table", (table[0].split(), table[-1]),
       (["Layer", "Op", "Range", "seen", "Range", "kept", "SNR", "Gain"
         ], "fp8: 3 of 3 products, calibrated on 32 samples by minmax"))
# The CPU multiplies them in f32: there they only cost time.
table = dlc("compile", "floats.dl", "--quantize", "fp8", "--quantize-where", "faster", "--calib",
            "data.npz", "-o", "faster.bin").stderr.splitlines()
expect("where it is faster",
       (all("cpu: kept in f32" in line for line in table[1:-1]), table[-1].split(",")[0]),
       (True, "fp8: 3 of 3 products; 0 of them on cpu"))


def refused(what, status, said, *arguments):
    done = dlc(*arguments)
    expect(what, (done.returncode, said in done.stderr or done.stderr), (status, True))


for command, flag, output in (("compile", "--quantize", "no.bin"), ("quantize", "--scheme",
                                                                    "no.dl")):
    refused(f"{command} without data", 2,
            f"{flag} fp8 needs to see what the model reads; add --calib FILE.npz", command,
            "floats.dl", flag, "fp8", "-o", output)
refused(
    "a method", 2,
    "--calib-method chooses the range of 256 even steps; floats of 8 bits take in all that was seen: expected none with "
    "--quantize fp8", "compile", "floats.dl", "--quantize", "fp8", "--calib", "data.npz",
    "--calib-method", "entropy", "-o", "no.bin")
expect("nothing was written", [path for path in ("no.bin", "no.dl") if os.path.exists(path)], [])
suite.finish()
