"""bad_arrays.py FOLDER: arrays that `dlc run` cannot take: of another dtype, shape or name,
damaged, hostile; and those that it converts."""
import io
import os
import resource
import struct
import sys
import time
import zipfile
import zlib

import numpy as np
from weight_cases import Suite, dlc, numbers, save

suite = Suite(sys.argv[1])
expect = suite.expect
MODEL = """dl 1
dim N = {range}
model M {{
  conv: Conv2d(1, 2, 3)
  fc: Linear(8, 3)
  forward(images: f32[N,1,4,4], scale: f32[3], steps: i64[N]) -> (probs: f32[N,3], total: f32[3], best: i64[N], next: i64[N]) {{
    probs = softmax(fc(flatten(relu(conv(images)), start_dim=1)), dim=-1) * scale
    total = sum(probs, dim=0)
    best = argmax(probs, dim=1)
    next = steps + 1
  }}
}}
weights "w.safetensors"
"""
WEIGHTS = {
    "conv.weight": numbers(2, 1, 3, 3), "conv.bias": numbers(2), "fc.weight": numbers(3, 8),
    "fc.bias": numbers(3)
}
save("w.safetensors", WEIGHTS)
for name, bounds in (("m", "1..8"), ("zero", "0..8")):
    with open(name + ".dl", "w", encoding="utf-8") as out:
        out.write(MODEL.format(range=bounds))
    expect(f"compile {name}", dlc("compile", "-q", name + ".dl", "-o", name + ".bin").returncode, 0)
IMAGES = np.random.RandomState(1).standard_normal((2, 1, 4, 4)).astype(np.float32)
GOOD = {"images": IMAGES, "scale": np.arange(1, 4, dtype=np.float32), "steps": np.array([5, -6])}
np.savez("good.npz", **GOOD)
HAS = "images, scale, steps"


def run(*inputs, package="m.bin", device="cpu", outputs=()):
    arguments = [word for text in inputs for word in ("--input", text)]
    return dlc("run", package, "--device", device, *arguments, *outputs)


def says(what, status, stderr, *inputs, **options):
    result = run(*inputs, **options)
    expect(what, (result.returncode, result.stdout, result.stderr),
           (status, "", stderr and f"error: {stderr}\n"))


def with_images(file):
    return f"images=@{file}", "scale=@good.npz", "steps=@good.npz"


def reading(images="images.npy", **others):
    return [
        f"images=@{images}",
        *(f"{name}=@{others.get(name, 'good.npz')}" for name in ("scale", "steps"))
    ]


# What is converted gives the numbers of the plain array.
PROBS = ("--output", "probs=@probs.npy", "--output", "next=@next.npy")
expect("the plain arrays", run(*reading("good.npz"), outputs=PROBS).returncode, 0)
probs, after = np.load("probs.npy"), np.load("next.npy")
expect("integers", after.tolist(), [6, -5])
for what, convert in (("Fortran order", np.asfortranarray),
                      ("big-endian", lambda x: x.astype(x.dtype.newbyteorder(">"))),
                      ("both", lambda x: np.asfortranarray(x.astype(x.dtype.newbyteorder(">"))))):
    for name, array in GOOD.items():
        np.save(name + ".npy", convert(array))
    np.savez_compressed("all.npz", **{name: convert(array) for name, array in GOOD.items()})
    for device in ("cpu", "cuda-emu"):
        for kind, inputs in (("npy", reading(scale="scale.npy", steps="steps.npy")),
                             ("npz", reading("all.npz", scale="all.npz", steps="all.npz"))):
            for name in ("probs", "next"):
                os.remove(name + ".npy")
            result = run(*inputs, outputs=PROBS, device=device)
            expect(f"{what}, {kind}, {device}", (result.returncode, result.stderr), (0, ""))
            expect(f"{what}, {kind}, {device}: the numbers",
                   (bool(np.allclose(np.load("probs.npy"), probs, 1e-6,
                                     1e-7)), np.load("next.npy").tolist()), (True, [6, -5]))

# dtype and shape.
for code, dtype in ((np.float64, "f64"), (np.float16, "f16"), (np.int64, "i64"), (np.bool_,
                                                                                  "bool")):
    np.save("other.npy", IMAGES.astype(code))
    says(
        f"{dtype} images", 2,
        f"input 'images' is f32[N,1,4,4] (N = 1..8), but 'other.npy' holds {dtype}[2,1,4,4]; save it as f32",
        *reading("other.npy"))
SIGNATURE = "'images' is f32[N,1,4,4] with N in 1..8"
for shape, why in (((2, 4, 4), "input 'images': expected 4 dims, got 3; " + SIGNATURE),
                   ((2, 1, 4, 5), "input 'images', dim 3: expected 4, got 5; " + SIGNATURE),
                   ((9, 1, 4, 4), "input 'images', dim 0: expected 1 to 8, got 9; " + SIGNATURE),
                   ((0, 1, 4, 4), "input 'images', dim 0: expected 1 to 8, got 0; " + SIGNATURE),
                   ((3, 1, 4, 4), "input 'steps', dim 0: expected 3, got 2: N = 3 by input 'images', dim 0; 'steps' is i64[N] with N "
                    "in 1..8"),
                   ((1,) * 33, None),
                   ((1,) * 20, "input 'images' is f32[N,1,4,4] (N = 1..8), but 'other.npy' holds "
                                       "f32[" + ",".join("1" * 20) + "]")):
    if why:
        np.save("other.npy", np.zeros(shape, np.float32))
        says(f"images of {list(shape)}", 2, why, *reading("other.npy"))
says("a huge shape", 2, "input 'images', dim 0: expected 1 to 8, got 99999999; " + SIGNATURE,
     "images=99999999x1x4x4xf32=random", "scale=zeros", "steps=zeros")
with open("any.dl", "w", encoding="utf-8") as out:
    out.write(
        "dl 1\ndim N = 1..1000000\nmodel M {\n  forward(x: u8[N,N]) -> (y: u8[N,N]) {\n    y = relu(x)\n  }\n}\n"
    )
expect("compile any",
       dlc("compile", "-q", "any.dl", "--target", "cpu", "-o", "any.bin").returncode, 0)
says("more than the memory", 5,
     "output 'y', u8[900000,900000], does not fit into the memory of this machine",
     "x=900000x900000xu8=random", package="any.bin")

# Names.
says("a misspelt input", 2,
     f"the model has no input 'imagse'; did you mean 'images'? It has: {HAS}", "imagse=random")
says("an unknown input", 2, f"the model has no input 'mask'; it has: {HAS}", *reading("good.npz"),
     "mask=zeros")
says("no name", 2, f"the model has several inputs; name the one that is meant: {HAS}", "@good.npz")
says(
    "a missing input", 2,
    "input 'steps', i64[N] (N = 1..8), is not given; add --input steps=@FILE.npy or --input steps=random",
    "images=random", "scale=random")
says("an input given twice", 2, "input 'images' is given twice", "images=random", "images=zeros")
says("a misspelt output", 2,
     "the model has no output 'probz'; did you mean 'probs'? It has: probs, total, best, next",
     *reading("good.npz"), outputs=("--output", "probz=@y.npy"))
np.savez("near.npz", image=IMAGES, other=IMAGES)
says("a misspelt array", 2,
     "'near.npz' has no array 'images'; did you mean 'image'? It holds: image, other",
     *reading("near.npz"))
np.savez("far.npz", **{f"a{i}": np.zeros(1) for i in range(300)})
says(
    "many arrays", 2,
    "'far.npz' has no array 'images'; it holds: a0, a1, a2, a3, a4, a5, a6, a7, a8, a9 and 290 others",
    *reading("far.npz"))
np.savez("empty.npz")
says("no arrays", 2, "'empty.npz' has no array 'images'; it holds: none", *reading("empty.npz"))

# Files that are no arrays of numbers, or damaged: 6.
np.save("object.npy", np.array([[1, "two"]], dtype=object), allow_pickle=True)
says(
    "objects", 6,
    "'object.npy': byte 24: the array holds Python objects, which dlc never loads; save it with a numeric dtype",
    *reading("object.npy"))
np.savez("object.npz", images=np.array([[1, "two"]], dtype=object))
says("objects in an archive", 6,
     "'object.npz:images': byte 24: the array holds Python objects, which dlc never loads; save it with a "
     "numeric dtype", *reading("object.npz"))
np.save("text.npy", np.array(["a", "b"]))
says(
    "strings", 6,
    "'text.npy': byte 25: the dtype '<U1' is not supported; expected float16/32/64, (u)int8 to 64 or bool",
    *reading("text.npy"))
np.save("fields.npy", np.zeros(3, [("a", "f4")]))
says(
    "structures", 6,
    "'fields.npy': byte 21: the array has structured elements; save each field as an array of its own",
    *reading("fields.npy"))
np.save("complex.npy", np.zeros(3, np.complex64))
says(
    "complex numbers", 6,
    "'complex.npy': byte 25: the dtype '<c8' is not supported; expected float16/32/64, (u)int8 to 64 or bool",
    *reading("complex.npy"))
np.save("wide.npy", np.zeros((2, 1, 4, 4), np.uint32))
says(
    "another dtype", 2,
    "input 'images' is f32[N,1,4,4] (N = 1..8), but 'wide.npy' holds u32[2,1,4,4]; save it as f32",
    *reading("wide.npy"))
np.save("cut.npy", IMAGES)
os.truncate("cut.npy", 200)
says(
    "truncated", 6,
    "'cut.npy': byte 128: f32[2,1,4,4] needs 128 bytes, the file holds 72; it is damaged or truncated",
    *reading("cut.npy"))
with open("zip.npy", "wb") as out:
    out.write(open("good.npz", "rb").read())
says("an archive as an array", 6,
     "'zip.npy': byte 0: this is a zip archive (npz?), expected npy; name the array in it, or save it with "
     "numpy.save", *reading("zip.npy"))
says("no file", 5, "cannot read 'none.npy': No such file or directory", *reading("none.npy"))
says("a folder", 5, "cannot read '.': it is a directory; expected a file", *reading("."))

# Archives that unpack to much more than they are. Names that leave a folder are names: nothing is
# written by them.
np.savez("escape.npz", **{"../../../etc/passwd": IMAGES, "/images": IMAGES})
says(
    "paths that escape", 2,
    "'escape.npz' has no array 'images'; did you mean '/images'? It holds: ../../../etc/passwd, /images",
    *reading("escape.npz"))


def npy(count):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f4", "fortran_order": False, "shape": (count, )})
    return header.getvalue()


def archive(path, members):
    """Members as (name, bytes, declared size or None): deflated, the directory as told."""
    body, directory = b"", b""
    for name, data, declared in members:
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        packed = packer.compress(data) + packer.flush()
        size = len(data) if declared is None else declared
        fixed = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 0x21, zlib.crc32(data), len(packed), size,
                            len(name), 0)
        directory += b"PK\1\2" + struct.pack("<H", 20) + fixed + struct.pack(
            "<HHHII", 0, 0, 0, 0, len(body)) + name.encode()
        body += b"PK\3\4" + fixed + name.encode() + packed
    with open(path, "wb") as out:
        out.write(body + directory + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, len(
            members), len(members), len(directory), len(body), 0))


MIB = 1 << 20
ZEROS = bytes(64 * MIB)
ARRAY = npy(16 * MIB + MIB) + ZEROS + bytes(4 * MIB)
archive("bomb.npz", [("images.npy", ARRAY, None)])
archive("bombs.npz", [(f"a{i}.npy", npy(8 * MIB) + ZEROS[:32 * MIB], None)
                      for i in range(8)] + [("images.npy", npy(1) + bytes(4), None)])
archive("less.npz", [("images.npy", npy(8 * MIB) + ZEROS[:32 * MIB], 200)])
archive("more.npz", [("images.npy", npy(8 * MIB) + ZEROS[:MIB], len(npy(8 * MIB)) + 32 * MIB)])
archive("allowed.npz", [("images.npy", npy(8 * MIB) + ZEROS[:32 * MIB], None)])
with zipfile.ZipFile("nested.npz", "w", zipfile.ZIP_DEFLATED) as out:
    out.write("bomb.npz", "images.npy")
LIMIT = "the limit above 64 MiB is a factor of 100. Save it with numpy.savez, uncompressed"


def size_of(path):
    with zipfile.ZipFile(path) as file:
        return file.infolist()[0].header_offset, sum(i.compress_size for i in file.infolist()), sum(
            i.file_size for i in file.infolist())


def directory_of(path):
    with zipfile.ZipFile(path) as file:
        return file.start_dir


_, packed, unpacked = size_of("bomb.npz")
_, many_packed, many_unpacked = size_of("bombs.npz")
BOMBS = {
    "bomb.npz": (
        6,
        f"byte {directory_of('bomb.npz')}: array 'images.npy' would unpack from {packed} to {unpacked} bytes; {LIMIT}"
    ),
    "bombs.npz": (
        6,
        f"byte {directory_of('bombs.npz')}: the archive would unpack from {many_packed} to {many_unpacked} bytes; {LIMIT}"
    ),
    "less.npz": (
        6,
        "byte 40: array 'images' does not unpack to the 200 bytes that the directory promises; the file is damaged"
    ),
    "more.npz": (2, None),
    "allowed.npz": (2, None),
    "nested.npz": (6, None),
}
for path, (status, why) in BOMBS.items():
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    result = run(*reading(path))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    expect(f"{path}: {result.stderr}", result.returncode, status)
    if why:
        expect(f"{path}: what is said", result.stderr, f"error: '{path}': {why}\n")
    expect(f"{path}: time", seconds <= 2, True)
    with open("bomb.dl", "w", encoding="utf-8") as out:
        out.write(MODEL.format(range="1..8").replace("w.safetensors", path))
    before = used
    result = dlc("compile", "bomb.dl", "-o", "bomb.bin")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    expect(f"{path} as weights",
           (result.returncode, "error: " in result.stderr, os.path.exists("bomb.bin")),
           (1, True, False))
    seconds = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    expect(f"{path} as weights: time", seconds <= 2, True)
kib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
expect(f"the memory of all of it, {kib} KiB", kib <= 512 << 10, True)

# An empty batch runs where the dim may be 0: empty results, sums of nothing.
np.save("none.npy", np.zeros((0, 1, 4, 4), np.float32))
np.save("nosteps.npy", np.zeros(0, np.int64))
for device in ("cpu", "cuda-emu"):
    result = run(*reading("none.npy", steps="nosteps.npy"), package="zero.bin", device=device)
    expect(
        f"an empty batch on {device}", (result.returncode, result.stdout, result.stderr),
        (0,
         "probs: f32[0,3]\ntotal: f32[3]  min = 0 max = 0 mean = 0\nbest: i64[0]\nnext: i64[0]\n",
         ""))
    result = run(*reading("good.npz"), package="zero.bin", device=device,
                 outputs=("--expected-output", "probs=@probs.npy"))
    expect(f"a batch of 2 of the same package on {device}", (result.returncode, result.stdout),
           (0, "probs: as expected\n"))

# NaN among the weights: a warning at compile, NaN in the results.
broken = {name: value.copy() for name, value in WEIGHTS.items()}
broken["fc.bias"][1] = np.nan
save("nan.safetensors", broken)
result = dlc("compile", "m.dl", "--weights", "nan.safetensors", "-o", "nan.bin")
expect("NaN weights", (result.returncode, result.stderr.splitlines()[:1]), (0, [
    "m.dl:5:3: warning: weight 'fc.bias' holds 1 NaN among its 3 numbers in 'nan.safetensors'"
]))
result = run(*reading("good.npz"), package="nan.bin")
expect("NaN results", (result.returncode, result.stdout.splitlines()[0]),
       (0, "probs: f32[2,3]  NaN: 6"))
suite.finish()
