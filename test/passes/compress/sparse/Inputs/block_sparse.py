"""block_sparse.py FOLDER: dlc compile --sparse block on models whose weights have blocks of zeros,
against NumPy in double precision: results on the CPU and on emulated CUDA, bytes in the file, what
--explain and dlc inspect say, and what dlc compile and dlc refit refuse."""
import os
import sys

import numpy as np

sys.path.insert(
    0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 4, "tools", "Inputs"))
from weight_cases import Suite, dlc, numbers, save  # noqa: E402

suite = Suite(sys.argv[1])
expect = suite.expect


def pruned(rows, columns, share, seed):
    """A weight of which this share of the blocks, 16 rows of one column, is zero."""
    weight = numbers(rows, columns, seed=seed)
    zero = np.random.RandomState(seed).random_sample((-(-rows // 16), columns)) < share
    weight[np.repeat(zero, 16, axis=0)[:rows]] = 0
    return weight


MODEL = """dl 1

dim N = 1..64

model Pruned {
  up: Linear(77, 150)
  zeros: Linear(150, 48)
  down: Linear(48, 77, bias=false)
  dense: Linear(77, 20)
  given: Parameter(77, 40)

  forward(x: f32[N,77]) -> (y: f32[N,20], z: f32[N,40]) {
    h = x + down(relu(zeros(gelu(up(x)))) + 1.0)
    y = dense(h)
    z = h @ given
  }
}

weights "pruned.safetensors"
"""
ARRAYS = {
    "up.weight": pruned(150, 77, 0.8, 1), "up.bias": numbers(150), "zeros.weight": np.zeros(
        (48, 150), np.float32), "zeros.bias": numbers(48), "down.weight": pruned(77, 48, 0.7, 2),
    "dense.weight": numbers(20, 77), "dense.bias": numbers(20),
    "given": np.ascontiguousarray(pruned(40, 77, 0.9, 3).T)
}

IMAGES = """dl 1

dim N = 1..8

model Images {
  first: Conv2d(48, 64, kernel_size=1, bias=false)
  norm: BatchNorm2d(64)
  second: Conv2d(64, 40, kernel_size=1, stride=2)
  third: Conv2d(64, 16, kernel_size=3, padding=1)

  forward(x: f32[N,48,9,8]) -> (y: f32[N,40,5,4], z: f32[N,16,9,8]) {
    h = relu(norm(first(x)))
    y = second(h)
    z = third(h)
  }
}

weights "images.safetensors"
"""
IMAGE_ARRAYS = {
    "first.weight": pruned(64, 48, 0.75,
                           4)[:, :, None,
                              None], "norm.weight": numbers(64), "norm.bias": numbers(64),
    "norm.running_mean": numbers(64), "norm.running_var": np.abs(numbers(64)) + 0.5,
    "second.weight": pruned(40, 64, 0.8, 5)[:, :, None, None], "second.bias": numbers(40),
    "third.weight": pruned(16, 64 * 9, 0.9, 6).reshape(16, 64, 3, 3), "third.bias": numbers(16)
}


def erf(x):
    """The error function by its series, for |x| below 6."""
    term = total = x
    for n in range(1, 200):
        term = term * -x * x / n
        total = total + term / (2 * n + 1)
    return total * 2 / np.sqrt(np.pi)


def network(x):
    a = {name: array.astype(np.float64) for name, array in ARRAYS.items()}
    h = x @ a["up.weight"].T + a["up.bias"]
    h = h * (1 + erf(np.clip(h / np.sqrt(2), -5, 5))) / 2
    h = np.maximum(h @ a["zeros.weight"].T + a["zeros.bias"], 0) + 1
    h = x + h @ a["down.weight"].T
    return h @ a["dense.weight"].T + a["dense.bias"], h @ a["given"]


def images(x):
    a = {name: array.astype(np.float64) for name, array in IMAGE_ARRAYS.items()}
    h = np.einsum("nchw,fc->nfhw", x, a["first.weight"][:, :, 0, 0])

    def channel(name):
        return a[name][None, :, None, None]

    h = (h - channel("norm.running_mean")) / np.sqrt(channel("norm.running_var") + 1e-5) * channel(
        "norm.weight") + channel("norm.bias")
    h = np.maximum(h, 0)
    padded = np.pad(h, ((0, 0), (0, 0), (1, 1), (1, 1)))
    z = sum(
        np.einsum("nchw,fc->nfhw", padded[:, :, r:r + 9, s:s + 8], a["third.weight"][:, :, r, s])
        for r in range(3) for s in range(3))
    return np.einsum("nchw,fc->nfhw", h[:, :, ::2, ::2],
                     a["second.weight"][:, :, 0,
                                        0]) + channel("second.bias"), z + channel("third.bias")


def write(name, text, arrays):
    with open(name + ".dl", "w", encoding="utf-8") as out:
        out.write(text)
    save(name + ".safetensors", arrays)


def compile_model(name, *options):
    done = dlc("compile", name + ".dl", *options)
    expect(f"compile {name} {' '.join(options)}", done.returncode, 0)
    return done.stderr


def check(package, device, x, reference):
    np.save("x.npy", x)
    done = dlc("run", package, "--device", device, "--input", "x=@x.npy", "--output", "y=@y.npy",
               "--output", "z=@z.npy")
    expect(f"run {package} on {device}, batch {len(x)}", (done.returncode, done.stderr), (0, ""))
    if done.returncode == 0:
        for name, expected in zip("yz", reference(x.astype(np.float64))):
            off = np.abs(np.load(name + ".npy") - expected).max() / np.abs(expected).max()
            expect(f"{package} on {device}, batch {len(x)}: {name} is {off:.1e} off", off < 1e-5,
                   True)


def refused(what, status, said, *arguments):
    done = dlc(*arguments)
    expect(what, (done.returncode, said in done.stderr or done.stderr), (status, True))


write("pruned", MODEL, ARRAYS)
write("images", IMAGES, IMAGE_ARRAYS)

said = compile_model("pruned", "--target", "cpu", "--sparse", "block", "-o", "blocks.bin")
expect("line",
       said.splitlines()[-1].split(";")[0], "block: 4 of 5 weights without their blocks of zeros")
compile_model("pruned", "--target", "cpu", "-q", "-o", "dense.bin")
compile_model("pruned", "--target", "cpu,cuda", "--sparse", "block", "-q", "-o", "both.bin")
for batch in (1, 5, 49):
    for package, device in (("blocks.bin", "cpu"), ("dense.bin", "cpu"), ("both.bin", "cpu"),
                            ("both.bin", "cuda-emu")):
        check(package, device, numbers(batch, 77), network)
compile_model("images", "--target", "cpu,cuda", "--sparse", "block", "-q", "-o", "images.bin")
for batch, device in ((1, "cpu"), (3, "cpu"), (2, "cuda-emu")):
    check("images.bin", device, numbers(batch, 48, 9, 8), images)
expect("quiet",
       compile_model("pruned", "--target", "cpu", "--sparse", "block", "-q", "-o", "quiet.bin"), "")

# The file has the blocks alone: less than half of the bytes of the weights.
kernels = dlc("inspect", "blocks.bin").stdout
expect("inspect", sum(" block_sparse " in line for line in kernels.splitlines()), 4)
expect(
    "size",
    os.path.getsize("dense.bin") - os.path.getsize("blocks.bin") > 0.6 * 4 *
    (150 * 77 + 48 * 150 + 77 * 48 + 40 * 77) - 40000, True)

# Why a weight is stored so, or not.
said = compile_model("images", "--target", "cpu", "--sparse", "block", "--explain", "-o",
                     "explained.bin")
for line in (
        "remark: weight 'first.weight' is stored without its blocks of zeros on cpu: ",
        "remark: weight 'second.weight' is stored without",
        "remark: weight 'third.weight' is multiplied whole on cpu: a convolution of several taps reads it"
):
    expect(line, line in said or said, True)
said = compile_model("pruned", "--target", "cpu", "--sparse", "block", "--explain", "-o",
                     "explained.bin")
line = "remark: weight 'dense.weight' is multiplied whole on cpu: too few of its blocks are zero, 0.0 % ("
expect(line, line in said or said, True)

# Other weights cannot take the place of blocks, even of the same ones, and can where there are
# none.
refused(
    "refit", 3,
    "'blocks.bin' holds weights in few bits, or without their blocks of zeros, as they were when it was compiled; make it anew from the "
    "new weights: dlc compile MODEL --sparse block --weights NEW.safetensors", "refit",
    "blocks.bin", "--weights", "pruned.safetensors")
save("full.safetensors", {name: numbers(*array.shape) for name, array in ARRAYS.items()})
done = dlc("compile", "pruned.dl", "--weights", "full.safetensors", "--target", "cpu", "--sparse",
           "block", "-o", "none.bin")
expect("none",
       done.stderr.splitlines()[-1],
       "block: 0 of 5 weights without their blocks of zeros; --explain says why")
expect("refit of none",
       dlc("refit", "none.bin", "--weights", "full.safetensors", "-q").returncode, 0)

for what, options, message in (
    ("quantize", ("--quantize", "w8"),
     "--sparse block stores floats; expected it without --quantize"),
    ("precision", ("--precision", "f16"),
     "--sparse block multiplies blocks of f32; expected it without --precision f16"),
    ("target", ("--target", "cuda"),
     "--sparse block has kernels for CPUs alone; expected cpu among the targets")):
    refused(what, 2, message, "compile", "pruned.dl", "--sparse", "block", *options, "-o", "no.bin")
compile_model("pruned", "--target", "cpu", "--compile-to=layout", "-o", "layout.mlir")
refused(
    "phase", 2,
    "--sparse block counts zeros before phase 'compress', which lies before the rest of --compile-from=layout",
    "compile", "layout.mlir", "--compile-from=layout", "--sparse", "block", "-o", "no.bin")
compile_model("pruned", "--target", "cpu", "--sparse", "block", "-q", "--compile-to=fuse", "-o",
              "fused.mlir")
refused("go on", 1, ".values' were held by the compile that printed this IR", "compile",
        "fused.mlir", "--compile-from=fuse", "--target", "cpu", "-o", "no.bin")
expect("nothing was written", os.path.exists("no.bin"), False)
suite.finish()
