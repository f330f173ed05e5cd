"""bias_correction.py FOLDER: --bias-correction of dlc compile and dlc quantize: the mean error of
each channel on the data of calibration, before and after, and what both commands refuse."""
import os
import sys

import numpy as np
from packed_arrays import load
from weight_cases import Suite, dlc, numbers, save

suite = Suite(sys.argv[1])
expect = suite.expect
SAMPLES = 96
MODEL = """dl 1

dim B = 1..64

model Means {
  conv: Conv2d(3, 24, kernel_size=3, padding=1)
  fc: Linear(48, 20, bias=false)
  turned: Parameter(48, 17)

  forward(x: f32[B,3,6,6], t: f32[B,5,48]) -> (y: f32[B,24,6,6], z: f32[B,5,20], v: f32[B,5,17]) {
    y = conv(x)
    z = fc(t)
    v = t @ turned
  }
}

weights "means.safetensors"
"""
ARRAYS = {
    "conv.weight": numbers(24, 3, 3, 3), "conv.bias": numbers(24), "fc.weight": numbers(20, 48),
    "turned": numbers(48, 17)
}
random = np.random.RandomState(7)
# Long tails on one side, which percentile cuts off: the means move.
x = np.exp(random.randn(SAMPLES, 3, 6, 6)).astype(np.float32)
t = np.exp(random.randn(SAMPLES, 5, 48)).astype(np.float32)


def run(package, device="cpu"):
    parts = []
    for begin in range(0, SAMPLES, 48):
        np.save("x.npy", x[begin:begin + 48])
        np.save("t.npy", t[begin:begin + 48])
        outputs = [part for name in "yzv" for part in ("--output", f"{name}=@{name}.npy")]
        done = dlc("run", package, "--device", device, "--input", "x=@x.npy", "--input", "t=@t.npy",
                   *outputs)
        expect(f"{package} on {device}", (done.returncode, done.stderr), (0, ""))
        parts.append({name: np.load(f"{name}.npy") for name in "yzv"})
    return {
        name: np.concatenate([part[name] for part in parts]).astype(np.float64) for name in "yzv"
    }


def means(got):
    """Of each channel, the mean error, in units of the largest mean magnitude of a channel."""
    axes = {"y": (0, 2, 3), "z": (0, 1), "v": (0, 1)}
    return {
        name: np.abs((got[name] - EXACT[name]).mean(axes[name])).max() / np.abs(EXACT[name]).mean()
        for name in "yzv"
    }


def quiet(what, *arguments):
    done = dlc(*arguments)
    expect(what, (done.returncode, done.stderr), (0, ""))


with open("means.dl", "w", encoding="utf-8") as out:
    out.write(MODEL)
save("means.safetensors", ARRAYS)
np.savez("data.npz", x=x, t=t)
quiet("f32", "compile", "means.dl", "--target", "cpu", "-q", "-o", "f32.bin")
EXACT = run("f32.bin")
FLAGS = ("--quantize", "int8", "--calib", "data.npz")
quiet("int8", "compile", "means.dl", *FLAGS, "-q", "-o", "plain.bin")
quiet("corrected", "compile", "means.dl", *FLAGS, "--bias-correction", "-q", "-o", "corrected.bin")
before = means(run("plain.bin"))
for device in ("cpu", "cuda-emu"):
    after = means(run("corrected.bin", device))
    expect(f"means on {device}: {before} to {after}",
           all(after[name] < 0.02 * before[name] + 1e-6 for name in "yzv"), True)
quiet("other batches", "compile", "means.dl", *FLAGS, "--bias-correction", "--calib-batch", "7",
      "-q", "-o", "batches.bin")
after = means(run("batches.bin"))
expect(f"means by other batches: {after}",
       all(after[name] < 0.02 * before[name] + 1e-6 for name in "yzv"), True)
quiet("quantize", "quantize", "means.dl", "--scheme", "int8", "--calib", "data.npz",
      "--bias-correction", "-q", "-o", "text.dl")
quiet("compile the text", "compile", "text.dl", "-q", "-o", "text.bin")
after = means(run("text.bin"))
expect(f"means of the text: {after}",
       all(after[name] < 0.02 * before[name] + 1e-6 for name in "yzv"), True)
expect("names", sorted(name for name in load("text.safetensors") if name.endswith(".correction")),
       ["conv.weight.correction", "fc.weight.correction", "turned.correction"])
# A product that stays in f32 has no error.
table = dlc("compile", "means.dl", *FLAGS, "--bias-correction", "--keep-f32", "fc", "--target",
            "cpu", "--report", "report.json", "-o", "kept.bin").stderr
expect("table",
       table.splitlines()[-1],
       "int8: 2 of 3 products, calibrated on 96 samples by mse; means corrected")
expect("report", '"bias_correction": "measured"' in open("report.json", encoding="utf-8").read(),
       True)
after = run("kept.bin")
expect("kept", bool(np.abs(after["z"] - EXACT["z"]).max() < 1e-5 * np.abs(EXACT["z"]).max()), True)


def refused(what, status, said, *arguments):
    done = dlc(*arguments)
    expect(what, (done.returncode, said in done.stderr or done.stderr), (status, True))


refused(
    "refit", 3,
    "dlc compile MODEL --quantize int8 --bias-correction --calib DATA.npz --weights NEW.safetensors",
    "refit", "corrected.bin", "--weights", "means.safetensors")
for scheme in ("dynamic", "w4"):
    for command, flag, output, said in (
        ("compile", "--quantize", "no.bin",
         "--bias-correction takes back what 8 bits do to means; expected --quantize int8 with it"),
        ("quantize", "--scheme", "no.dl",
         "--bias-correction takes back what 8 bits do to means; expected --scheme int8 with it")):
        refused(f"{command} {scheme}", 2, said, command, "means.dl", flag, scheme,
                "--bias-correction", "-o", output)
refused("alone", 2,
        "--bias-correction takes back what 8 bits do to means; expected --quantize int8 with it",
        "compile", "means.dl", "--bias-correction", "-o", "no.bin")
expect("nothing was written", [path for path in ("no.bin", "no.dl") if os.path.exists(path)], [])
suite.finish()
