"""activation_scales.py FOLDER: --smooth of dlc compile and dlc quantize for weights of few bits
against AWQ's formula in NumPy, what it gains where few channels are large, which activations it
leaves alone, and what both commands refuse."""
import json
import os
import sys

import numpy as np

sys.path.insert(
    0,
    os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
                 "Inputs"))
from packed_arrays import load  # noqa: E402
from weight_cases import Suite, dlc, numbers, save  # noqa: E402

suite = Suite(sys.argv[1])
expect = suite.expect
K, N, SAMPLES = 40, 32, 64
# Two products read x, two the result of the norm, and one weight multiplies two activations; a
# look-up shares the table with a product.
MODEL = f"""dl 1

dim B = 1..64

model Scaled {{
  first: Linear({K}, {N})
  second: Parameter({K}, 20)
  norm: LayerNorm({N})
  third: Linear({N}, 24)
  few: Linear({N}, 17)
  both: Linear({N}, {N}, bias=false)
  table: Embedding(30, {N})

  forward(x: f32[B,{K}], i: i64[B]) -> (y: f32[B,24], z: f32[B,20], v: f32[B,17], t: f32[B,30], u: f32[B,{N}]) {{
    a = first(x)
    h = norm(a)
    y = third(h)
    v = few(h)
    z = x @ second
    t = linear(relu(a) + table(i), table.weight)
    u = both(abs(a)) + both(sigmoid(a) * a)
  }}
}}

weights "scaled.safetensors"
"""
ARRAYS = {
    "first.weight": numbers(N, K), "first.bias": numbers(N), "second": numbers(K, 20),
    "norm.weight": 1 + numbers(N) / 4, "norm.bias": numbers(N) / 4, "third.weight": numbers(24, N),
    "third.bias": numbers(24), "few.weight": numbers(17, N), "few.bias": numbers(17),
    "both.weight": numbers(N, N, seed=4), "table.weight": numbers(30, N)
}
ARRAYS["norm.weight"][3] *= 40
ARRAYS["norm.bias"][3] *= 40
random = np.random.RandomState(3)
x = random.randn(SAMPLES, K).astype(np.float32)
x[:, 5] *= 60   # a few large channels, as large language models have them
x[:, 11] *= 90
x[:, 17] = 0    # nothing to divide
i = random.randint(0, 30, SAMPLES).astype(np.int64)
OUTPUTS = "yzvtu"
MATRICES = {
    "first.weight": K, "second": K, "third.weight": N, "few.weight": N, "both.weight": N,
    "table.weight": N
}


def results(x, w, divided=None):
    """All outputs in f64. `divided` has 1 / s of what a weight multiplies, by the weight's name."""
    w = {name: array.astype(np.float64) for name, array in w.items()}
    inverse = (divided or {}).get
    x = x.astype(np.float64)
    first = (x * inverse("first.weight", 1)) @ w["first.weight"].T + w["first.bias"]
    h = (first - first.mean(1, keepdims=True)) / np.sqrt(first.var(1, keepdims=True)
                                                         + 1e-5) * w["norm.weight"] + w["norm.bias"]
    other = first / (1 + np.exp(-first))
    read = {"x": x, "h": h, "abs": np.abs(first), "other": other}
    return {
        "y": (h * inverse("third.weight", 1)) @ w["third.weight"].T + w["third.bias"],
        "z": (x * inverse("second", 1)) @ w["second"].reshape(K, 20),
        "v": (h * inverse("few.weight", 1)) @ w["few.weight"].T + w["few.bias"],
        "t": (np.maximum(first, 0) + w["table.weight"][i]) @ w["table.weight"].T,
        "u": ((np.abs(first) + other) * inverse("both.weight", 1)) @ w["both.weight"].T
    }, read


def unpacked(arrays, name, bits, columns):
    """The numbers of a weight in few bits as [N, K], in f64."""
    codes, scale = arrays[name + ".codes"], arrays[name + ".scale"].astype(np.float64)
    if bits == 8:
        return codes.astype(np.int64) * scale
    codes = np.concatenate([codes & 15, codes >> 4], axis=1)[:, :columns].astype(np.int64)
    wide = {
        part: np.repeat(arrays[f"{name}.{part}"].astype(np.float64), 32, axis=1)[:, :columns]
        for part in ("scale", "zero")
    }
    return (codes - wide["zero"]) * wide["scale"]


def scales(*activations, exponent):
    mean = np.abs(np.concatenate(activations)).mean(0)
    powers = np.where(mean > 0, np.maximum(mean, 1e-300), np.nan) ** exponent
    return np.nan_to_num(powers / np.sqrt(np.nanmax(powers) * np.nanmin(powers)), nan=1)


def run(package, device, model="scaled"):
    outputs = [part for name in OUTPUTS for part in ("--output", f"{name}=@{name}.npy")]
    done = dlc("run", package, "--device", device, "--input", "x=@x.npy", "--input", "i=@i.npy",
               *outputs)
    expect(f"{package} on {device}", (done.returncode, done.stderr), (0, ""))
    return {name: np.load(f"{name}.npy") for name in OUTPUTS}


def quiet(what, *arguments):
    done = dlc(*arguments)
    expect(what, (done.returncode, done.stderr), (0, ""))


def errors(got):
    return {
        name: np.sqrt(((got[name] - EXACT[name])**2).mean() / (EXACT[name]**2).mean())
        for name in EXACT
    }


with open("scaled.dl", "w", encoding="utf-8") as out:
    out.write(MODEL)
save("scaled.safetensors", ARRAYS)
np.save("x.npy", x)
np.save("i.npy", i)
np.savez("data.npz", x=x, i=i)
DATA = ("--calib", "data.npz")
EXACT, READ = results(x, ARRAYS)
OF_WEIGHTS = {
    "first.weight": ("x", ), "second": ("x", ), "third.weight": ("h", ), "few.weight": ("h", ),
    "both.weight": ("abs", "other")
}

# The numbers that are stored are those of the formula, in the text and in the package, and both
# give what NumPy gives of them.
for bits, smooth in ((4, "0.5"), (8, "0.25"), (4, "auto"), (4, "1")):
    name = f"w{bits}-{smooth}"
    told = dlc("quantize", "scaled.dl", "--scheme", f"w{bits}", "--smooth", smooth, *DATA, "-o",
               f"{name}.dl", "--report", f"{name}.json")
    expect(name, (told.returncode, told.stderr), (0, ""))
    quiet(f"compile {name}", "compile", "scaled.dl", "--quantize", f"w{bits}", "--smooth", smooth,
          *DATA, "-q", "-o", f"{name}.bin")
    quiet(f"compile {name}.dl", "compile", f"{name}.dl", "-q", "-o", f"{name}-text.bin")
    report, arrays = json.load(open(f"{name}.json", encoding="utf-8")), load(f"{name}.safetensors")
    exponents = {row["weight"]: row.get("exponent") for row in report["weights"]}
    expect(f"{name}: the table is not scaled", exponents.pop("table.weight"), None)
    expect(f"{name}: the report", (report["smooth"], report["scaled"]),
           (smooth if smooth == "auto" else float(smooth), 4))
    shared = [
        exponents[one] == exponents[other]
        for one, other in (("first.weight", "second"), ("third.weight", "few.weight"))
    ]
    expect(f"{name}: one activation, one exponent", shared, [True, True])
    if smooth == "auto":
        found = sorted(exponents.values())
        expect(f"{name}: exponents {found}",
               all(0 < one <= 1 and round(one * 10, 6) % 1 == 0 for one in found), True)
        said = f"exponents {found[0]:g} to {found[-1]:g}"
    else:
        expect(f"{name}: exponents", set(exponents.values()), {float(smooth)})
        said = f"exponent {smooth}"
    last = told.stdout.splitlines()[-1]
    expect(f"{name}: the last line",
           (last.startswith(f"w{bits}: 6 of 6 weights in {bits} bits"), last.split("; ")[-1]),
           (True, f"4 activations scaled, {said}"))
    stored = {
        "first.weight": "first.weight", "second": "first.weight", "third.weight": "third.weight",
        "few.weight": "third.weight", "both.weight": "both.weight"
    }
    expect(f"{name}: factors", sorted(one for one in arrays if ".smooth" in one),
           sorted(f"{one}.smooth" for one in set(stored.values())))
    held = sum(array.nbytes for one, array in arrays.items()
               if one.endswith((".codes", ".scale", ".zero", ".smooth")))
    expect(f"{name}: bytes", report["bytes_after"], held)
    divided, weights = {}, dict(ARRAYS)
    for weight, columns in MATRICES.items():
        numbers_of = unpacked(arrays, weight,
                              bits if weight != "table.weight" else 4 if bits == 4 else 8, columns)
        weights[weight] = numbers_of.T if weight == "second" else numbers_of
        if weight not in OF_WEIGHTS:
            continue
        divided[weight] = arrays[stored[weight] + ".smooth"].astype(np.float64)
        s = scales(*(READ[one] for one in OF_WEIGHTS[weight]), exponent=exponents[weight])
        off = np.abs(divided[weight] * s - 1).max()
        expect(f"{name}: 1 / s of {weight}, {off:.1e}", bool(off < 1e-4), True)
        own = ARRAYS[weight].T if weight == "second" else ARRAYS[weight]
        read = np.concatenate([READ[one] for one in OF_WEIGHTS[weight]])
        gives = read @ own.T
        off = np.sqrt(((read @ (numbers_of * divided[weight]).T - gives)**2).mean() /
                      (gives**2).mean())
        expect(f"{name}: {weight} is itself, scaled: {off:.1e}",
               bool(off < (0.08 if bits == 4 else 0.008)), True)
    expected, _ = results(x, weights, divided)
    for package in (f"{name}.bin", f"{name}-text.bin"):
        for device in ("cpu", "cuda-emu"):
            got = run(package, device)
            for output in OUTPUTS:
                off = np.abs(got[output] - expected[output]).max() / np.abs(expected[output]).max()
                expect(f"{package} on {device}, {output}: {off:.1e}", bool(off < 5e-6), True)
# Only what no norm gives is multiplied when the model runs: x, and both factors of `both`.
expect("norms take the factors in", [
    open("w4-0.5.dl", encoding="utf-8").read().count(text)
    for text in ("norm.weight * ", "norm.bias * ")
], [1, 1])

# It gains where few channels are large, against rounding to nearest and against error feedback
# alone.
quiet("nearest", "compile", "scaled.dl", "--quantize", "w4", "-q", "-o", "nearest.bin")
quiet("feedback", "compile", "scaled.dl", "--quantize", "w4", *DATA, "-q", "-o", "feedback.bin")
nearest, feedback, auto = (errors(run(f"{name}.bin", "cpu"))
                           for name in ("nearest", "feedback", "w4-auto"))
expect(f"auto gains on nearest: {nearest} to {auto}",
       all(auto[name] < 0.6 * nearest[name] for name in "z"), True)
expect(f"auto gains on feedback: {feedback} to {auto}", bool(auto["z"] < feedback["z"]), True)
expect(f"auto stays right: {auto}", all(auto[name] < 0.2 for name in OUTPUTS), True)

# Where no channel differs, and with the exponent 0, nothing changes.
quiet("plain", "quantize", "scaled.dl", "--scheme", "w4", *DATA, "-q", "-o", "plain.dl")
quiet("exponent 0", "quantize", "scaled.dl", "--scheme", "w4", "--smooth", "0", *DATA, "-q", "-o",
      "zero.dl")
expect("exponent 0 stays",
       open("zero.safetensors", "rb").read() == open("plain.safetensors", "rb").read(), True)
EVEN = f"""dl 1

model Even {{
  fc: Linear({K}, {N})

  forward(x: f32[4,{K}]) -> (y: f32[4,{N}]) {{
    y = fc(x)
  }}
}}

weights "even.safetensors"
"""
with open("even.dl", "w", encoding="utf-8") as out:
    out.write(EVEN)
save("even.safetensors", {"fc.weight": numbers(N, K), "fc.bias": numbers(N)})
np.savez("even.npz", x=np.where(random.rand(64, K) < 0.5, -1, 1).astype(np.float32))
quiet("no scales", "quantize", "even.dl", "--scheme", "w4", "--calib", "even.npz", "-q", "-o",
      "without.dl")
for smooth in ("auto", "0.5", "1"):
    told = dlc("quantize", "even.dl", "--scheme", "w4", "--smooth", smooth, "--calib", "even.npz",
               "-o", "with.dl", "--force")
    expect(f"no channel differs, {smooth}",
           told.stdout.splitlines()[-1].split("; ")[-1], "0 activations scaled")
    expect("the same weights",
           open("with.safetensors", "rb").read() == open("without.safetensors", "rb").read(), True)
    expect("the same text",
           open("with.dl", encoding="utf-8").read().replace("with.", ""),
           open("without.dl", encoding="utf-8").read().replace("without.", ""))

# However many samples run at once, the file is the same; passes keep their bounds, and f16 reads
# the same few bits.
quiet("batches", "compile", "scaled.dl", "--quantize", "w4", "--smooth", "auto", *DATA,
      "--calib-batch", "7", "-q", "-o", "again.bin")
expect("same bytes", open("again.bin", "rb").read() == open("w4-auto.bin", "rb").read(), True)
quiet("validated", "compile", "scaled.dl", "--quantize", "w4", "--smooth", "auto", *DATA,
      "--validate-passes", "-q", "-o", "validated.bin")
quiet("f16", "compile", "scaled.dl", "--quantize", "w4", "--smooth", "auto", "--precision", "f16",
      *DATA, "-q", "-o", "f16.bin")
half, whole = run("f16.bin", "cpu"), run("w4-auto.bin", "cpu")
off = {name: np.abs(half[name] - whole[name]).max() / np.abs(whole[name]).max() for name in OUTPUTS}
expect(f"f16: {off}", all(one < 2e-2 for one in off.values()), True)
# A layer that stays in f32 reads the activation as it was.
told = dlc("compile", "scaled.dl", "--quantize", "w4", "--smooth", "0.5", "--keep-f32", "few",
           *DATA, "-o", "kept.bin")
expect("kept",
       told.stderr.splitlines()[-1].split("; ")[-1] if told.returncode == 0 else told.stderr,
       "4 activations scaled, exponent 0.5")
kept = errors(run("kept.bin", "cpu"))
expect(f"v is that of its norm: {kept['v']:.1e}", bool(kept["v"] < 0.1), True)
# An activation of which the data say how many rows it has.
with open("counted.dl", "w", encoding="utf-8") as out:
    out.write(f"""dl 1

model Counted {{
  fc: Linear({K}, {N})

  forward(x: f32[8,{K}]) -> (y: f32[?,{N}]) {{
    y = fc(x[nonzero(relu(x[:, 0]))[:, 0]])
  }}
}}

weights "even.safetensors"
""")
np.savez("counted.npz", x=x)
quiet("counted rows", "compile", "counted.dl", "--quantize", "w4", "--smooth", "0.5", "--calib",
      "counted.npz", "-q", "-o", "counted.bin")
np.save("eight.npy", x[:8])
rows = x[:8][x[:8, 0] > 0]
for device in ("cpu", "cuda-emu"):
    done = dlc("run", "counted.bin", "--device", device, "--input", "x=@eight.npy", "--output",
               "y=@y.npy")
    expected = rows @ numbers(N, K).T + numbers(N)
    got = np.load("y.npy") if done.returncode == 0 else None
    expect(
        f"counted rows on {device}", done.stderr
        or (got.shape == expected.shape
            and bool(np.abs(got - expected).max() < 0.1 * np.abs(expected).max())), True)


def refused(what, status, said, *arguments):
    done = dlc(*arguments)
    expect(what, (done.returncode, said in done.stderr or done.stderr), (status, True))


REFIT = "holds weights in few bits, or without their blocks of zeros, as they were when it was compiled; make it anew from the new weights: " \
    "dlc compile MODEL --quantize "
for name, text in (("w4-auto", "w4 --smooth auto"), ("w8-0.25", "w8 --smooth 0.25")):
    refused(f"refit of {name}", 3,
            f"'{name}.bin' {REFIT}{text} --calib DATA.npz --weights NEW.safetensors", "refit",
            f"{name}.bin", "--weights", "scaled.safetensors")
for command, flag, output in (("compile", "--quantize", "no.bin"), ("quantize", "--scheme",
                                                                    "no.dl")):
    for smooth in ("auto", "0.5"):
        refused(
            f"{command} without data", 2,
            "--smooth needs to see how large the channels of activations are; add --calib FILE.npz",
            command, "scaled.dl", flag, "w4", "--smooth", smooth, "-o", output)
        refused(
            f"{command} in fp8", 2,
            f"--smooth makes activations and weights fit for few bits; expected {flag} int8, dynamic, w8 or w4 with it",
            command, "scaled.dl", flag, "fp8", "--smooth", smooth, *DATA, "-o", output)
    for scheme in ("int8", "dynamic"):
        refused(
            f"{command} auto {scheme}", 2,
            "--smooth auto finds the exponents for weights that stay in memory in few bits; expected "
            f"{flag} w8 or w4 with it, or a number from 0 to 1, as in --smooth 0.5", command,
            "scaled.dl", flag, scheme, "--smooth", "auto", *DATA, "-o", output)
    for bad in ("1.5", "-0.1", "nan", "all", "0.5x"):
        refused(f"{command} '{bad}'", 2,
                f"--smooth: expected auto or a number from 0 to 1, got '{bad}'", command,
                "scaled.dl", flag, "w4", *DATA, f"--smooth={bad}", "-o", output)
    save("scaled.safetensors", {**ARRAYS, "first.bias": np.full(N, np.inf, np.float32)})
    for smooth in ("auto", "0.5"):
        refused(
            f"{command} of NaN activations", 1,
            "--calib: on this data 'third' reads 2048 numbers that are NaN or infinite; expected finite numbers alone",
            command, "scaled.dl", flag, "w4", "--smooth", smooth, *DATA, "-o", output)
    save("scaled.safetensors", {**ARRAYS, "few.weight": np.full((17, N), np.nan, np.float32)})
    refused(
        f"{command} of NaN weights", 1,
        f"4: {17 * N} of the {17 * N} numbers of weight 'few.weight' are NaN or infinite; expected finite numbers, or "
        "--keep-f32 'few'", command, "scaled.dl", flag, "w4", "--smooth", "auto", *DATA, "-o",
        output)
    save("scaled.safetensors", ARRAYS)
refused(
    "in f32", 2,
    "--smooth makes activations and weights fit for few bits; expected --quantize int8, dynamic, w8 or w4 with it",
    "compile", "scaled.dl", "--smooth", "auto", *DATA, "-o", "no.bin")
broken = x.copy()
broken[2, 1] = np.nan
np.savez("nan.npz", x=broken, i=i)
refused("NaN data", 2,
        "1 of its numbers are NaN and 0 are infinite, the first in row 2; expected finite numbers",
        "compile", "scaled.dl", "--quantize", "w4", "--smooth", "auto", "--calib", "nan.npz", "-o",
        "no.bin")
expect("nothing was written", [path for path in ("no.bin", "no.dl") if os.path.exists(path)], [])
suite.finish()
