"""two_of_four.py FOLDER: dlc prune --pattern 2:4 and dlc compile --sparse 2:4 against NumPy in
double precision: results on the CPU and on emulated CUDA, bytes in the file, what --explain and dlc
inspect say, and what dlc compile and dlc refit refuse."""
import os
import sys

import numpy as np

sys.path.insert(
    0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 4, "tools", "Inputs"))
from weight_cases import Suite, dlc, numbers, save  # noqa: E402

suite = Suite(sys.argv[1])
expect = suite.expect

MODEL = """dl 1

dim N = 1..64

model Pairs {
  up: Linear(512, 1024)
  given: Parameter(1024, 512)
  narrow: Linear(512, 40)
  odd: Linear(40, 20)

  forward(x: f32[N,512]) -> (y: f32[N,20], z: f32[N,512]) {
    z = relu(up(x)) @ given
    y = odd(narrow(z))
  }
}

weights "FILE"
"""
NARROW = """dl 1

model Narrow {
  given: Parameter(1024, 512, dtype=f16)

  forward(x: f32[3,1024]) -> (y: f32[3,512]) {
    y = cast(cast(x, f16) @ given, f32)
  }
}

weights "narrow.safetensors"
"""
IMAGES = """dl 1

dim N = 1..8

model Images {
  first: Conv2d(512, 1024, kernel_size=1, bias=false)
  norm: BatchNorm2d(1024)
  second: Conv2d(1024, 256, kernel_size=1)
  third: Conv2d(256, 64, kernel_size=1, stride=2)

  forward(x: f32[N,512,3,3]) -> (y: f32[N,256,3,3], z: f32[N,64,2,2]) {
    y = second(relu(norm(first(x))))
    z = third(y)
  }
}

weights "images.safetensors"
"""
IMAGE_ARRAYS = {
    "first.weight": numbers(1024, 512, 1, 1, seed=5) / 16, "norm.weight": numbers(1024),
    "norm.bias": numbers(1024), "norm.running_mean": numbers(1024),
    "norm.running_var": np.abs(numbers(1024)) + 0.5,
    "second.weight": numbers(256, 1024, 1, 1, seed=6) / 16, "second.bias": numbers(256),
    "third.weight": numbers(64, 256, 1, 1, seed=7) / 16, "third.bias": numbers(64)
}
ARRAYS = {
    "up.weight": numbers(1024, 512, seed=1) / 16, "up.bias": numbers(1024),
    "given": numbers(1024, 512, seed=2) / 16, "narrow.weight": numbers(40, 512, seed=3) / 16,
    "narrow.bias": numbers(40), "odd.weight": numbers(20, 40, seed=4), "odd.bias": numbers(20)
}


def read(path):
    """The arrays of a safetensors file of f32."""
    import json
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    return {
        name: np.frombuffer(data[slice(*entry["data_offsets"])], np.float32).reshape(entry["shape"])
        for name, entry in header.items() if name != "__metadata__"
    }


def network(arrays, x):
    a = {name: array.astype(np.float64) for name, array in arrays.items()}
    z = np.maximum(x @ a["up.weight"].T + a["up.bias"], 0) @ a["given"]
    return (z @ a["narrow.weight"].T + a["narrow.bias"]) @ a["odd.weight"].T + a["odd.bias"], z


def images(arrays, x):
    a = {name: array.astype(np.float64) for name, array in arrays.items()}

    def channel(name):
        return a[name][None, :, None, None]

    def conv(name, x):
        return np.einsum("nchw,fc->nfhw", x, a[name + ".weight"][:, :, 0, 0])

    h = (conv("first", x) - channel("norm.running_mean")) / np.sqrt(
        channel("norm.running_var") + 1e-5) * channel("norm.weight") + channel("norm.bias")
    y = conv("second", np.maximum(h, 0)) + channel("second.bias")
    return y, conv("third", y[:, :, ::2, ::2]) + channel("third.bias")


def compile_model(name, *options):
    done = dlc("compile", name + ".dl", *options)
    expect(f"compile {name} {' '.join(options)}",
           (done.returncode, "" if done.returncode == 0 else done.stderr), (0, ""))
    return done.stderr


def check(package, device, x, most, reference=lambda x: network(pruned, x)):
    np.save("x.npy", x)
    done = dlc("run", package, "--device", device, "--input", "x=@x.npy", "--output", "y=@y.npy",
               "--output", "z=@z.npy")
    expect(f"run {package} on {device}, batch {len(x)}", (done.returncode, done.stderr), (0, ""))
    if done.returncode == 0:
        for name, expected in zip("yz", reference(x.astype(np.float64))):
            off = np.abs(np.load(name + ".npy") - expected).max() / np.abs(expected).max()
            expect(f"{package} on {device}, batch {len(x)}: {name} is {off:.1e} off", off < most,
                   True)


def refused(what, status, said, *arguments):
    done = dlc(*arguments)
    expect(what, (done.returncode, said in done.stderr or done.stderr), (status, True))


with open("whole.dl", "w", encoding="utf-8") as out:
    out.write(MODEL.replace("FILE", "whole.safetensors"))
save("whole.safetensors", ARRAYS)
expect(
    "prune",
    dlc("prune", "whole.dl", "--pattern", "2:4", "--skip", "odd", "-q", "-o",
        "pairs.dl").returncode, 0)
pruned = read("pairs.safetensors")
expect("zeros", [np.count_nonzero(pruned[name] == 0) * 2 for name in ("up.weight", "given")],
       [1024 * 512] * 2)

HALF = ("--sparse", "2:4", "--precision", "f16")
said = compile_model("pairs", *HALF, "--target", "cuda", "-o", "pairs.bin")
expect("line",
       said.splitlines()[-1],
       "2:4: 2 of 4 weights as two of each four numbers; 4,194,304 bytes became 2,228,224")
compile_model("pairs", "--precision", "f16", "--target", "cuda", "-q", "-o", "dense.bin")
compile_model("pairs", "--sparse", "2:4", "--precision", "bf16", "--target", "cpu,cuda", "-q", "-o",
              "both.bin")
for batch in (1, 9, 64):
    for package, device, most in (("pairs.bin", "cuda-emu", 2e-3), ("dense.bin", "cuda-emu", 2e-3),
                                  ("both.bin", "cpu", 2e-2), ("both.bin", "cuda-emu", 2e-2)):
        check(package, device, numbers(batch, 512, seed=batch), most)
expect("quiet", compile_model("pairs", *HALF, "--target", "cuda", "-q", "-o", "quiet.bin"), "")

# Convolutions of one tap, one of them with the factors of a batch norm.
with open("images.dl", "w", encoding="utf-8") as out:
    out.write(IMAGES)
save("images.safetensors", IMAGE_ARRAYS)
expect("prune images",
       dlc("prune", "images.dl", "--pattern", "2:4", "-q", "-o", "sparse.dl").returncode, 0)
zeros = read("sparse.safetensors")
said = compile_model("sparse", *HALF, "--target", "cuda", "--explain", "-o", "sparse.bin")
line = "2:4: 2 of 3 weights as two of each four numbers; "
expect("images", line in said or said, True)
expect("kernels of images",
       dlc("inspect", "sparse.bin").stdout.count("plan: sparse_tensor_cores") >= 2, True)
line = "remark: weight 'third.weight' is multiplied whole on cuda: a convolution with a stride reads it"
expect("stride", line in said or said, True)
for batch in (1, 5):
    check("sparse.bin", "cuda-emu", numbers(batch, 512, 3, 3, seed=batch), 4e-3,
          lambda x: images(zeros, x))

# The file has the numbers and the places alone, and sparse kernels read them.
kernels = dlc("inspect", "pairs.bin").stdout
expect("inspect", "plan: sparse_tensor_cores" in kernels, True)
expect("size",
       os.path.getsize("dense.bin") - os.path.getsize("pairs.bin") > 0.9 * (4194304 - 2228224),
       True)

# Why a weight is stored so, or not.
said = compile_model("pairs", *HALF, "--target", "cuda", "--explain", "-o", "explained.bin")
for line in (
        "remark: weight 'up.weight' is stored as two of each four numbers on cuda (1.",
        "remark: weight 'given' is stored as two of each four numbers on cuda (1.",
        "remark: weight 'narrow.weight' is multiplied whole on cuda: that is not slower (0.",
        "remark: weight 'odd.weight' is multiplied whole on cuda: 200 of its 200 groups of four have more than two numbers"
):
    expect(line, line in said or said, True)

# In f32 there are no kernels; a model of f16 needs no --precision, and its file has half of the
# bytes.
said = compile_model("pairs", "--sparse", "2:4", "--target", "cuda", "--explain", "-o", "wide.bin")
line = "remark: weight 'given' is multiplied whole on cuda: products read it in another dtype than f16 and bf16"
expect("f32", line in said or said, True)
with open("narrow.dl", "w", encoding="utf-8") as out:
    out.write(NARROW)
save("narrow.safetensors", {"given": pruned["given"].astype(np.float16)})
said = compile_model("narrow", "--sparse", "2:4", "--target", "cuda", "-o", "narrow.bin")
expect("narrow",
       said.splitlines()[-1],
       "2:4: 1 of 1 weights as two of each four numbers; 1,048,576 bytes became 589,824")
x = numbers(3, 1024)
np.save("x.npy", x)
done = dlc("run", "narrow.bin", "--device", "cuda-emu", "--input", "x=@x.npy", "--output",
           "y=@y.npy")
expect("run narrow", (done.returncode, done.stderr), (0, ""))
expected = x.astype(np.float64) @ pruned["given"].astype(np.float64)
expect("narrow is right",
       np.abs(np.load("y.npy") - expected).max() < 2e-3 * np.abs(expected).max(), True)

# Other weights cannot take the place of pairs, and can where there are none.
refused(
    "refit", 3,
    "make it anew from the new weights: dlc compile MODEL --sparse 2:4 --weights NEW.safetensors",
    "refit", "pairs.bin", "--weights", "pairs.safetensors")
done = dlc("compile", "whole.dl", *HALF, "--target", "cuda", "-o", "none.bin")
expect("none",
       done.stderr.splitlines()[-1],
       "2:4: 0 of 4 weights as two of each four numbers; --explain says why")
expect("refit of none",
       dlc("refit", "none.bin", "--weights", "whole.safetensors", "-q").returncode, 0)

for what, options, message in (
    ("quantize", (*HALF, "--quantize", "w8", "--target", "cuda"),
     "--sparse 2:4 stores floats; expected it without --quantize"),
    ("target", (*HALF, "--target", "cpu"),
     "--sparse 2:4 has kernels for GPUs alone; expected cuda among the targets"),
    ("pattern", ("--sparse", "1:2", "--target", "cuda"), "'1:2' is none of none, block, 2:4")):
    refused(what, 2, message, "compile", "pairs.dl", *options, "-o", "no.bin")
compile_model("pairs", *HALF, "--target", "cuda", "-q", "--compile-to=fuse", "-o", "fused.mlir")
refused("go on", 1, ".values' were held by the compile that printed this IR", "compile",
        "fused.mlir", "--compile-from=fuse", "--target", "cuda", "-o", "no.bin")
expect("nothing was written", os.path.exists("no.bin"), False)
suite.finish()
