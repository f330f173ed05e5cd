"""keep_inputs.py FOLDER: an output that is an input of the same command is refused with 2, and no
file changes."""
import os
import struct
import sys

import numpy as np
from weight_cases import ROOT, Suite, dlc, numbers, save

sys.path.insert(0, os.path.join(ROOT, "test", "frontend", "onnx", "Inputs"))
from onnx_writer import external, model, node, tensor, value  # noqa: E402

suite = Suite(sys.argv[1])
expect = suite.expect


def write(path, text):
    with open(path, "w" if isinstance(text, str) else "wb") as out:
        out.write(text)


def contents():
    """Of each file, its bytes; of each link, where it leads."""
    found = {}
    for folder, _, names in os.walk("."):
        for path in (os.path.join(folder, name) for name in names):
            if os.path.islink(path):
                found[path] = os.readlink(path)
            else:
                with open(path, "rb") as file:
                    found[path] = file.read()
    return found


def works(what, *arguments):
    run = dlc(*arguments)
    expect(what, (run.returncode, run.stderr), (0, ""))


def refused(what, *arguments, output, of=None):
    """`of`: the input that the output is, where it has another path."""
    before = contents()
    run = dlc(*arguments)
    why = f"it is '{of}', which this command reads" if of else "this command reads it"
    expect(what, (run.returncode, run.stdout, run.stderr),
           (2, "", f"error: cannot write '{output}': {why}; name another file for the output\n"))
    after = contents()
    expect(what + ": no file changes",
           sorted(path for path in before | after if before.get(path) != after.get(path)), [])


write("blocks.dl", "dl 1\nblock Twice() {\n  forward(x) -> (y) {\n    y = x + x\n  }\n}\n")
write(
    "m.dl", 'dl 1\ninclude "blocks.dl"\nmodel M {\n  fc: Linear(3, 2)\n  twice: Twice()\n'
    '  forward(x: f32[2,3]) -> (y: f32[2,2]) {\n    y = twice(fc(x))\n  }\n}\nweights "m.safetensors"\n'
)
WEIGHTS = {"fc.weight": numbers(2, 3), "fc.bias": numbers(2)}
save("m.safetensors", WEIGHTS)
save("other.npz", WEIGHTS)
os.symlink("m.dl", "link.dl")
os.symlink("link.dl", "link to link")
os.link("m.safetensors", "hard link")
os.mkdir("dump")
os.symlink("../m.dl", "dump/plan.txt")
works("compile", "compile", "m.dl", "-q", "--target", "cpu", "-o", "m.bin")

# dlc compile: the text, what it includes, its weights, each by whatever path.
COMPILE = ("compile", "m.dl", "-q", "--target", "cpu", "-o")
refused("the text", *COMPILE, "m.dl", output="m.dl")
refused("another path to the text", *COMPILE, "./m.dl", output="./m.dl", of="m.dl")
refused("a link to the text", *COMPILE, "link.dl", output="link.dl", of="m.dl")
refused("a link to a link", *COMPILE, "link to link", output="link to link", of="m.dl")
refused("the text through a link", "compile", "link.dl", "-o", "m.dl", output="m.dl", of="link.dl")
refused("an included text", *COMPILE, "blocks.dl", output="blocks.dl")
refused("weights", *COMPILE, "m.safetensors", output="m.safetensors")
refused("a hard link to weights", *COMPILE, "hard link", output="hard link", of="m.safetensors")
refused("--weights", *COMPILE, "other.npz", "--weights", "other.npz", output="other.npz")
refused("IR over a text", "compile", "m.dl", "--compile-to=fuse", "-o", "m.dl", output="m.dl")
refused("a dump", *COMPILE, "x.bin", "--dump-dir", "dump", output="dump/plan.txt", of="m.dl")
works("weights that this compile does not read", *COMPILE, "m.safetensors", "--weights",
      "other.npz")
save("m.safetensors", WEIGHTS)

# IR names the weights, and the lines of the text that kernels quote.
works("a dump", "compile", "m.dl", "-q", "--target", "cpu", "--compile-to=buffers", "-o", "m.mlir",
      "--locations")
LATE = ("compile", "m.mlir", "--compile-from=buffers", "-o")
for output in ("m.mlir", "m.safetensors", "m.dl"):
    refused("IR and its " + output, *LATE, output, output=output)
works("a dump of dumps", "compile", "m.dl", "-q", "--target", "cpu", "-o", "m.bin", "--dump-dir",
      "again")
refused("a dump of itself", "compile", "again/00-import-import.mlir", "--compile-from=import",
        "--dump-dir", "again", output="again/00-import-import.mlir")

# dlc run and dlc bench.
np.save("x.npy", numbers(2, 3))
np.savez("x.npz", x=numbers(2, 3))
RUN = ("run", "m.bin", "--device", "cpu", "--input")
works("a run", *RUN, "@x.npy", "--output", "@y.npy")
refused("an input", *RUN, "x=@x.npy", "--output", "y=@x.npy", output="x.npy")
refused("an archive of inputs", *RUN, "x=@x.npz", "--output", "y=@x.npz", output="x.npz")
os.link("m.bin", "m.npy")
refused("the model", *RUN, "random", "--output", "@m.npy", output="m.npy", of="m.bin")
os.remove("m.npy")
refused("what is expected", *RUN, "@x.npy", "--output", "@y.npy", "--expected-output", "@y.npy",
        output="y.npy")
BENCH = ("bench", "m.bin", "--device", "cpu", "--duration", "0", "--warmup", "0", "--iterations",
         "1", "--input", "@x.npy", "--trace")
refused("a trace over the model", *BENCH, "m.bin", output="m.bin")
refused("a trace over an input", *BENCH, "x.npy", output="x.npy")

# dlc refit and dlc fmt change a file in place, and no other.
refused("refit over the weights", "refit", "m.bin", "-q", "--weights", "other.npz", "-o",
        "other.npz", output="other.npz")
works("refit in place, by name", "refit", "m.bin", "-q", "--weights", "other.npz", "-o", "./m.bin")
write("loose.dl", "dl 1\nmodel M{forward(x:f32[2])->(y:f32[2]){y=x}}\n")
works("fmt in place", "fmt", "loose.dl")
with open("loose.dl", encoding="utf-8") as file:
    expect("the layout", len(file.read().splitlines()), 7)

# dlc prune: the text, what it includes, its weights, whatever --force says.
PRUNE = ("prune", "m.dl", "--sparsity", "0.5", "-q", "--force", "-o")
write("b.dl", open("m.dl", encoding="utf-8").read().replace("m.safetensors", "a.safetensors"))
save("a.safetensors", WEIGHTS)
refused("prune over the text", *PRUNE, "m.dl", output="m.dl")
refused("prune over a link to the text", *PRUNE, "link.dl", output="link.dl", of="m.dl")
refused("prune over an included text", *PRUNE, "blocks.dl", output="blocks.dl")
refused("prune over weights", "prune", "b.dl", "--sparsity", "0.5", "--force", "-o", "a.dl",
        output="a.safetensors")
refused("prune: a report over weights", *PRUNE, "new.dl", "--report", "m.safetensors",
        output="m.safetensors")
works("prune", *PRUNE, "pruned.dl")

# ONNX: the file, its external data, the numbers of an input.
write("outside.safetensors", struct.pack("<3f", 1, 2, 3))
write(
    "g.onnx",
    model([node("Add", "x, w", "a"), node("Reshape", "a, s", "y")],
          [value("x", dims=(2, 3)), value("s", "i64", dims=(1, ))], [value("y", dims=(6, ))],
          [tensor("w", "f32", [3], extra=external("outside.safetensors", offset=0, length=12))]))
np.save("s.npy", np.array([6]))
ONNX = ("g.onnx", "--const-input", "s=@s.npy", "-o")
for output in ("g.onnx", "outside.safetensors", "s.npy"):
    refused("compile: " + output, "compile", *ONNX, output, "-q", "--target", "cpu", output=output)
refused("import over external data", "import", *ONNX, "outside.dl", output="outside.safetensors")
refused("import over external data with --force", "import", *ONNX, "outside.dl", "--force",
        output="outside.safetensors")
os.symlink("g.onnx", "g.dl")
refused("import over the model", "import", *ONNX, "g.dl", "--force", output="g.dl", of="g.onnx")

# dlc import leaves what exists.
IMPORT = ("import", *ONNX, "new.dl")


def exists(what, path, *arguments):
    before = contents()
    run = dlc(*arguments)
    expect(
        what, (run.returncode, run.stderr),
        (2, f"error: '{path}' exists already; name another file, or add --force to replace it\n"))
    expect(what + ": no file changes", contents() == before, True)


works("import", *IMPORT)
exists("a text that exists", "new.dl", *IMPORT)
os.remove("new.dl")
exists("weights that exist", "new.safetensors", *IMPORT)
write("new.dl", "old")
write("new.safetensors", "old")
works("import --force", *IMPORT, "--force")
works("what it wrote", "compile", "new.dl", "-q", "--target", "cpu", "-o", "new.bin")
suite.finish()
