"""outputs.py FOLDER: the files that dlc run writes, as NumPy reads them."""
import os
import sys
import zipfile

import numpy as np
from weight_cases import Suite, dlc

suite = Suite(sys.argv[1])
expect = suite.expect
with open("m.dl", "w", encoding="utf-8") as out:
    out.write("dl 1\ndim N = 1..8\nmodel M {\n  state last: f32[3]\n"
              "  forward(x: f32[N,3]) -> (root: f32[N,3], best: i64[N], half: f16[3], low: bf16[3]) {\n"
              "    root = sqrt(x)\n    best = argmax(x, dim=1)\n    half = to(last + sum(x, dim=0), f16)\n"
              "    low = to(last, bf16)\n    last = select(x, 0, 0)\n  }\n}\n")
expect("compile", dlc("compile", "m.dl", "-q", "--target", "cpu", "-o", "m.bin").returncode, 0)
X = np.array([[1, 4, 9], [16, 25, 0]], np.float32)
np.save("x.npy", X)
WANTED = {"root": np.sqrt(X), "best": np.array([2, 1]), "half": X.sum(axis=0).astype(np.float16)}
ALL = {"root", "best", "half"}


def run(*arguments, x="x.npy"):
    return dlc("run", "m.bin", "--device", "cpu", "--input", f"@{x}", *arguments)


def refused(what, status, why, *arguments, **options):
    before = sorted(os.listdir("."))
    result = run(*arguments, **options)
    expect(what, (result.returncode, result.stdout, result.stderr), (status, "", f"error: {why}\n"))
    expect(what + ": nothing is written", sorted(os.listdir(".")), before)


def outputs(*texts):
    return [word for text in texts for word in ("--output", text)]


def holds(what, path, names, *texts):
    result = run(*outputs(*texts))
    expect(what, (result.returncode, result.stdout, result.stderr), (0, "", ""))
    with np.load(path) as archive:
        expect(what + ": the names", archive.files, names)
        for name in names:
            expect(f"{what}: {name}", (archive[name].dtype, archive[name].tolist()),
                   (WANTED[name].dtype, WANTED[name].tolist()))
    with zipfile.ZipFile(path) as archive:
        expect(what + ": the sums", archive.testzip(), None)
        expect(what + ": the members",
               [(i.filename, i.compress_type, i.date_time) for i in archive.infolist()],
               [(name + ".npy", zipfile.ZIP_STORED, (1980, 1, 1, 0, 0, 0)) for name in names])


# Archives hold the outputs that are named for them, in this order.
holds("one output", "one.npz", ["root"], "root=@one.npz")
holds("three outputs", "three.npz", ["half", "root", "best"], "half=@three.npz",
      "root=@./three.npz", "best=@three.npz")
holds("an archive and an array", "two.npz", ["root", "best"], "root=@two.npz", "half=@half.npy",
      "best=@two.npz")
expect("the array beside it", np.load("half.npy").tolist(), WANTED["half"].tolist())
os.symlink("two.npz", "link.npz")
holds("an archive by two names", "two.npz", ["best", "half"], "best=@link.npz", "half=@two.npz")
expect("the link stays", os.path.islink("link.npz"), True)
with open("three.npz", "rb") as file:
    before = file.read()
holds("the same bytes again", "three.npz", ["half", "root", "best"], "half=@three.npz",
      "root=@three.npz", "best=@three.npz")
with open("three.npz", "rb") as file:
    expect("the same bytes", file.read() == before, True)
result = run("--expected-output", "root=@three.npz", "--expected-output", "best=@three.npz")
expect("what was written is as expected", (result.returncode, result.stdout),
       (0, "root: as expected\nbest: as expected\n"))

# Without a name: all of them, and npy has no bf16.
refused("all outputs", 5,
        "cannot write 'all.npz': array 'low': npy has no dtype bf16; cast the output to f32",
        *outputs("@all.npz"))
with open("m.dl", encoding="utf-8") as file:
    text = file.read()
with open("m.dl", "w", encoding="utf-8") as out:
    out.write(
        text.replace("low: bf16[3]", "low: i32[3]").replace("to(last, bf16)", "to(last, i32)"))
expect("compile again",
       dlc("compile", "m.dl", "-q", "--target", "cpu", "-o", "m.bin").returncode, 0)
WANTED["low"] = np.zeros(3, np.int32)
holds("all outputs, by no name", "all.npz", ["root", "best", "half", "low"], "@all.npz")
result = run("--expected-output", "@all.npz")
expect("all of them as expected", (result.returncode, result.stdout, result.stderr),
       (0, "".join(f"{name}: as expected\n" for name in WANTED), ""))
np.savez("less.npz", root=WANTED["root"], best=WANTED["best"] + 1)
result = run("--expected-output", "@less.npz")
expect("less than all", (result.returncode, result.stderr.splitlines()[-1]),
       (2, "error: 'less.npz' has no array 'half'; it holds: root, best"))

# A name that ends in neither .npy nor .npz is refused before the model is read, and so is one file
# for two.
for name in ("y.txt", "y", "y.bin", "y.npy.gz", "y.NPZ"):
    refused(name, 2,
            f"--output 'root=@{name}': dlc writes .npy and .npz files; expected NAME=@FILE.npy or NAME=@FILE.npz, or '@-' for "
            "standard output", *outputs("root=@" + name), x="none.npy")
refused(
    "one npy for two", 2,
    "--output: './y.npy' is named for two outputs, and an .npy file holds one; an .npz holds several",
    *outputs("root=@y.npy", "best=@./y.npy"))
refused("an output twice", 2, "--output: output 'root' is named twice for 'y.npz'; name it once",
        *outputs("@y.npz", "root=@y.npz"))
refused("no name", 2,
        "the model has several outputs; name the one that is meant: root, best, half, low",
        *outputs("@y.npy"))
expect("a device", run(*outputs("root=@/dev/null", "best=@/dev/null")).returncode, 0)

# NaN in an output: how many, and where the first is; with --steps the first index is the step.
Y = X.copy()
Y[1, 0] = -1
np.save("nan.npy", Y)
result = run(x="nan.npy")
expect("one NaN", (result.returncode, result.stderr),
       (0, "warning: output 'root' holds 1 NaN among its 6 numbers, the first at [1, 0]\n"))
Y[0] = np.nan
np.save("nan.npy", np.stack([X, Y]))
result = run("--steps", *outputs("@nan.npz"), x="nan.npy")
expect("NaN in steps", (result.returncode, result.stdout, result.stderr), (0, "", (
    "warning: output 'root' holds 4 NaNs among its 12 numbers, the first at [1, 0, 0]\n"
    "warning: output 'half' holds 3 NaNs among its 6 numbers, the first at [1, 0]\n")))
with np.load("nan.npz") as archive:
    expect("NaN is written", int(np.isnan(archive["root"]).sum()), 4)
result = run("--expected-output", "root=@nan.npz", "--steps", x="nan.npy")
expect("NaN as expected", (result.returncode, result.stdout), (0, "root: as expected\n"))
suite.finish()
