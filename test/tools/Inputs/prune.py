"""prune.py FOLDER: dlc prune against NumPy: which numbers become zero, in which files, and what
stays as it was."""
import json
import os
import struct
import sys

import numpy as np
from weight_cases import ROOT, Suite, dlc, numbers, safetensors, save

sys.path.insert(0, os.path.join(ROOT, "test", "frontend", "onnx", "Inputs"))
from onnx_writer import model, node, tensor, value  # noqa: E402

suite = Suite(sys.argv[1])
expect = suite.expect
TYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "I64": np.int64}


def write(path, text):
    with open(path, "w" if isinstance(text, str) else "wb") as out:
        out.write(text)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def header(path):
    data = read(path)
    return data[8:8 + struct.unpack("<Q", data[:8])[0]]


def load_bytes(data):
    """Name -> array, in the order of the file."""
    start = 8 + struct.unpack("<Q", data[:8])[0]
    found = {}
    for name, entry in json.loads(data[8:start]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            found[name] = np.frombuffer(data[start + begin:start + end],
                                        TYPES[entry["dtype"]]).reshape(entry["shape"])
    return found


def load(path):
    return load_bytes(read(path))


def smallest(arrays, share):
    """The arrays with this share of all their numbers zero; of equal ones the first."""
    flat = np.concatenate([array.ravel() for array in arrays]).astype(np.float64)
    flat[np.argsort(np.abs(flat), kind="stable")[:round(share * flat.size)]] = 0
    parts = np.split(flat, np.cumsum([array.size for array in arrays])[:-1])
    return [part.reshape(array.shape).astype(array.dtype) for part, array in zip(parts, arrays)]


def two_of_four(array, axis):
    moved = np.moveaxis(array, axis, -1)
    groups = moved.reshape(-1, 4).copy()
    for group in groups:
        group[np.argsort(np.abs(group), kind="stable")[:2]] = 0
    return np.moveaxis(groups.reshape(moved.shape), -1, axis)


def prune(what, source, *arguments, status=0, said="", output="p.dl"):
    """What it prints."""
    for path in ("p.dl", "p.safetensors"):
        if os.path.exists(path):
            os.remove(path)
    run = dlc("prune", source, "-o", output, *arguments)
    expect(what, (run.returncode, run.stderr), (status, said))
    return run.stdout


def same(what, got, expected):
    expect(what + ": names and order", list(got), list(expected))
    for name, array in expected.items():
        equal = name in got and got[name].dtype == array.dtype and np.array_equal(got[name], array)
        expect(f"{what}: {name}", equal, True)


def wrong(what, said, status, *arguments):
    before = sorted(os.listdir("."))
    run = dlc("prune", *arguments)
    expect(what, (run.returncode, run.stdout, run.stderr.splitlines()), (status, "", [said]))
    expect(what + ": no file is written", sorted(os.listdir(".")), before)


MODEL = """# Each kind of weight: products, and others.
dl 1
dim N = 1..8

model M {
  embed: Embedding(10, 4)   # no product
  conv: Conv2d(3, 8, kernel_size=3)
  deep: Conv2d(8, 8, kernel_size=3, groups=8)
  point: Conv2d(8, 12, kernel_size=1)
  norm: BatchNorm2d(12)
  attend: MultiheadAttention(12, 2, batch_first=True)
  plain: Parameter(12, 8)
  fc: Linear(8, 8)
  scale: Parameter(8)

  forward(x: f32[N,3,7,7], ids: i64[N]) -> (y: f32[N,8], e: f32[N,4]) {
    h = norm(point(deep(conv(x))))
    h = permute(flatten(h, start_dim=2), dims=[0, 2, 1])
    h, _ = attend(h, h, h)
    h = matmul(mean(h, dim=1), plain)
    y = fc(fc(h)) * scale
    e = embed(ids)
  }
}
weights  'm.safetensors'   # with its own spacing
"""
ARRAYS = {
    "fc.weight": numbers(8, 8), "fc.bias": numbers(8), "embed.weight": numbers(10, 4),
    "conv.weight": numbers(8, 3, 3, 3), "conv.bias": numbers(8), "deep.weight": numbers(8, 1, 3, 3),
    "deep.bias": numbers(8), "point.weight": numbers(12, 8, 1, 1), "point.bias": numbers(12),
    "plain": numbers(12, 8), "scale": numbers(8), "attend.in_proj_weight": numbers(36, 12),
    "attend.in_proj_bias": numbers(36), "attend.out_proj.weight": numbers(12, 12),
    "attend.out_proj.bias": numbers(12), **{
        "norm." + name: numbers(12) for name in ("weight", "bias", "running_mean")
    }, "norm.running_var": abs(numbers(12))
}
ARRAYS["conv.weight"][1] = 0.25  # equal ones
ARRAYS["deep.weight"][2] = -0.0
PRODUCTS = [
    "conv.weight", "deep.weight", "point.weight", "attend.in_proj_weight", "attend.out_proj.weight",
    "plain", "fc.weight"
]
write("m.dl", MODEL)
safetensors.save("m.safetensors", ARRAYS, {"format": "pt"})

# Each weight by itself.
table = prune("layer", "m.dl", "--pattern", "layer", "--sparsity", "0.3", "--report", "r.json")
expected = {
    name: smallest([array], 0.3)[0] if name in PRODUCTS else array
    for name, array in ARRAYS.items()
}
same("layer", load("p.safetensors"), expected)
expect("the header, metadata and all", header("p.safetensors"), header("m.safetensors"))
expect("the text", read("p.dl").decode(), MODEL.replace("'m.safetensors'", '"p.safetensors"'))
report = json.loads(read("r.json"))
rows = {row["name"]: row for row in report["weights"]}
expect("rows of the table", [line.split()[0] for line in table.splitlines()],
       ["weight", *rows, "all"])
expect("weights of the report", sorted(rows), sorted(PRODUCTS))
for name in PRODUCTS:
    before, after = ARRAYS[name].astype(np.float64), expected[name].astype(np.float64)
    row = rows[name]
    expect(f"report: {name}",
           (row["numbers"], row["zeros_before"], row["zeros_after"], row["dtype"], row["dims"]),
           (before.size, int((before == 0).sum()), int(
               (after == 0).sum()), "f32", "x".join(map(str, before.shape))))
    removed = np.linalg.norm(before - after) / np.linalg.norm(before)
    expect(f"report: removed of {name}", abs(row["removed_share"] - removed) < 1e-6, True)
count = sum(ARRAYS[name].size for name in PRODUCTS)
expect("report: all", report["all"]["numbers"], count)
COMPILE = ("compile", "m.dl", "-q", "--target", "cpu", "-o")
expect("the new model is right", dlc("check", "-q", "p.dl").returncode, 0)
expect("a compile", dlc(*COMPILE, "m.bin").returncode, 0)
expect("a compile with the new weights",
       dlc(*COMPILE, "p.bin", "--weights", "p.safetensors").returncode, 0)
expect("refit takes them", dlc("refit", "m.bin", "-q", "--weights", "p.safetensors").returncode, 0)
expect("both are one", read("m.bin") == read("p.bin"), True)

# One threshold over all.
first = prune("global", "m.dl", "--sparsity", "0.6")
expected = {**ARRAYS, **dict(zip(rows, smallest([ARRAYS[name] for name in rows], 0.6)))}
same("global", load("p.safetensors"), expected)
expect("exactly the share", sum(int((load("p.safetensors")[name] == 0).sum()) for name in PRODUCTS),
       round(0.6 * count))
again = prune("global, by its name", "m.dl", "--sparsity", "0.6", "--pattern", "global")
expect("the same table", again, first)
expect("nothing is printed", prune("quiet", "m.dl", "--sparsity", "0.6", "-q"), "")

# Two of four along what one sum reads.
table = prune("2:4", "m.dl", "--pattern", "2:4")
AXES = {
    "point.weight": 1, "attend.in_proj_weight": 1, "attend.out_proj.weight": 1, "plain": 0,
    "fc.weight": 1
}
same("2:4", load("p.safetensors"), {
    name: two_of_four(array, AXES[name]) if name in AXES else array
    for name, array in ARRAYS.items()
})
for name, length in (("conv.weight", 3), ("deep.weight", 1)):
    row = next(line for line in table.splitlines() if line.startswith(name))
    expect(f"{name} is left alone",
           row.split("left alone: ")[-1], f"sums over {length}, no multiple of 4")
prune("2:4 with its share", "m.dl", "--pattern", "2:4", "--sparsity", "0.5")
wide = {"c.weight": numbers(4, 8, 3, 2, seed=5)}
save("w.safetensors", wide)
write("w.dl", 'dl 1\nmodel M {\n  c: Conv2d(8, 4, kernel_size=[3,2], bias=False)\n  forward(x: f32[1,8,4,4]) -> (y: f32[1,4,2,3]) {\n'
      '    y = c(x)\n  }\n}\nweights "w.safetensors"\n')
prune("2:4 of channels", "w.dl", "--pattern", "2:4")
same("2:4 of channels", load("p.safetensors"), {"c.weight": two_of_four(wide["c.weight"], 1)})


# Blocks of one column of 16 rows of what products read; the last rows are fewer, and of groups of
# channels each has its own.
def smallest_blocks(matrix, share, high=16):
    """The rows of `matrix` lie along dim 0."""
    flat = matrix.reshape(len(matrix), -1).copy()
    blocks = [(flat[first:first + high, column].astype(np.float64)**2).sum()
              for first in range(0, len(flat), high) for column in range(flat.shape[1])]
    taken, width = 0, flat.shape[1]
    for block in np.argsort(blocks, kind="stable"):
        rows = slice(block // width * high, (block // width + 1) * high)
        size = flat[rows, block % width].size
        if taken + size / 2 <= share * flat.size:
            flat[rows, block % width] = 0
            taken += size
    return flat.reshape(matrix.shape)


prune("block", "m.dl", "--pattern", "block", "--sparsity", "0.5")
expected = {
    name: smallest_blocks(ARRAYS[name], 0.5) for name in PRODUCTS
    if name not in ("plain", "deep.weight")
}
expected["attend.in_proj_weight"] = smallest_blocks(ARRAYS["attend.in_proj_weight"], 0.5,
                                                    12)  # three products of 12 rows each
expected["plain"] = smallest_blocks(ARRAYS["plain"].T, 0.5).T
expected["deep.weight"] = smallest([ARRAYS["deep.weight"]],
                                   0.5)[0]  # a row a group: blocks of one number
same("block", load("p.safetensors"),
     {name: expected.get(name, array) for name, array in ARRAYS.items()})
# Weights that are moved before they are multiplied with; the axis is None where the sums read no
# regular runs.
MOVED = {
    "linear(x, reshape(w, [6, 8]))": ((6, 2, 4), "rows"),
    "linear(x, permute(reshape(w, [8, 6]), dims=[1, 0]))": ((2, 4, 6), "columns"),
    "transpose(matmul(w, transpose(x, 0, 1)), 0, 1)": ((6, 8), 1),
    "einsum('bk,kn->bn', x, w)": ((8, 6), 0), "addmm(x[:,:6], x, w)": ((8, 6), 0),
    "linear(x, w[2:8])": ((10, 8), 1), "linear(x, w[:,1:9])": ((6, 12), None),
    "linear(x, w) + linear(x, transpose(w, 0, 1))": ((8, 8), None)
}
for call, (shape, axis) in MOVED.items():
    w = numbers(*shape)
    save("v0.safetensors", {"w": w})
    columns = 8 if "8, 8" in str(shape) else 6
    write("v0.dl", f"dl 1\nmodel V {{\n  w: Parameter({', '.join(map(str, shape))})\n  forward(x: f32[3,8]) -> (y: f32[3,{columns}]) {{\n"
          f'    y = {call}\n  }}\n}}\nweights "v0.safetensors"\n')
    if axis is None:
        wrong(call,
              "error: no weight of 'v0.dl' can be pruned: w (its sums read it in no regular runs)",
              1, "v0.dl", "--pattern", "2:4", "-o", "no.dl")
        continue
    prune(call, "v0.dl", "--pattern", "2:4")
    seen = w.reshape(6, 8) if axis == "rows" else w.reshape(8, 6) if axis == "columns" else w
    same(call, load("p.safetensors"),
         {"w": two_of_four(seen, {"rows": 1, "columns": 0}.get(axis, axis)).reshape(shape)})

# Layers that stay: by path, by op.
prune("skip", "m.dl", "--pattern", "layer", "--sparsity", "0.5", "--skip", "attend*", "--skip",
      "conv2d")
zeros = {name: int((array == 0).sum()) for name, array in load("p.safetensors").items()}
expect("what was skipped", {name: zeros[name] for name in PRODUCTS}, {
    name: 48 if name == "plain" else 32 if name == "fc.weight" else int((ARRAYS[name] == 0).sum())
    for name in PRODUCTS
})

prune("skip a weight", "m.dl", "--pattern", "layer", "--sparsity", "0.5", "--skip",
      "*.in_proj_weight")
expect("the layer's other weight", int(
    (load("p.safetensors")["attend.out_proj.weight"] == 0).sum()), 72)
expect(
    "the weight",
    np.array_equal(load("p.safetensors")["attend.in_proj_weight"], ARRAYS["attend.in_proj_weight"]),
    True)
save("small.safetensors", {**ARRAYS, "conv.weight": ARRAYS["conv.weight"] / 1000})
write("small.dl", MODEL.replace("m.safetensors", "small.safetensors"))
prune(
    "a layer that is nothing then", "small.dl", "--sparsity", "0.5",
    said="warning: nothing is left of conv.weight; keep it by --skip, or prune each weight alike by --pattern layer\n"
)

# Other dtypes keep their bits; a weight that is stored [in,out] is read so; names have rules.
SMALL = """dl 1
model S {
  one: Linear(8, 4)
  two: Linear(8, 4)
  forward(x: %s[2,8]) -> (y: %s[2,4]) {
    y = one(x) + two(x)
  }
}
weights "s.safetensors" {
  prefix "net."
  transpose "one.weight"
  rename "zwei" -> "two"
}
"""
for dtype, kind in (("f16", np.float16), ("f64", np.float64)):
    stored = {
        "net.one.weight": numbers(8, 4).astype(kind), "net.one.bias": numbers(4).astype(kind),
        "net.zwei.weight": numbers(4, 8,
                                   seed=3).astype(kind), "net.zwei.bias": numbers(4).astype(kind)
    }
    save("s.safetensors", stored)
    write("s.dl", SMALL % (dtype, dtype))
    prune(dtype, "s.dl", "--pattern", "2:4")
    same(
        dtype, load("p.safetensors"), {
            **stored, "net.one.weight": two_of_four(stored["net.one.weight"], 0),
            "net.zwei.weight": two_of_four(stored["net.zwei.weight"], 1)
        })
    expect(f"{dtype}: the rules",
           read("p.dl").decode(), (SMALL % (dtype, dtype)).replace("s.safetensors",
                                                                   "p.safetensors"))

# A weight of two layers is pruned once; one that is an embedding too stays.
TIED = """dl 1
model T {
  wte: Embedding(12, 8)
  a: Linear(8, 8, bias=False)
  b: Linear(8, 8, bias=False)
  head: Linear(8, 12, bias=False)
  forward(ids: i64[3]) -> (y: f32[3,12]) {
    y = head(b(a(wte(ids))))
  }
}
weights "t1.npz", "t2.npz" {
  tie "head.weight" = "wte.weight"
  tie "b.weight" = "a.weight"
}
"""
write("t.dl", TIED)
tied = {"a.weight": numbers(8, 8)}
save("t1.npz", tied)
save("t2.npz", {"wte.weight": numbers(12, 8)})
table = prune("tied", "t.dl", "--sparsity", "0.25")
expect("the rows", [line.split()[0] for line in table.splitlines()],
       ["weight", "wte.weight", "a.weight", "all"])
expect("an embedding", table.splitlines()[1].split("left alone: ")[-1], "also read by embedding")
same("the first file", load("p-1.safetensors"), {"a.weight": smallest([tied["a.weight"]], 0.25)[0]})
same("the second file", load("p-2.safetensors"), {"wte.weight": numbers(12, 8)})
expect("both names",
       read("p.dl").decode(),
       TIED.replace('"t1.npz", "t2.npz"', '"p-1.safetensors", "p-2.safetensors"'))
expect("both files are read", dlc("check", "-q", "p.dl").returncode, 0)

# ONNX: what dlc import writes, pruned.
weights = {
    "k": numbers(8, 4, 3, 3, seed=1), "g": numbers(8, 12, seed=2),
    "onnx::MatMul_9": numbers(12, 16, seed=4)
}
write(
    "g.onnx",
    model([
        node("Conv", "x, k", "a", pads=[1, 1, 1, 1]),
        node("GlobalAveragePool", "a", "b"),
        node("Flatten", "b", "c"),
        node("Gemm", "c, g, bias", "d"),
        node("Relu", "d", "r"),
        node("MatMul", "r, onnx::MatMul_9", "m"),
        node("Add", "m, fc.bias", "y")
    ], [value("x", dims=("N", 4, 5, 5))], [value("y", dims=("N", 16))], [
        *(tensor(name, "f32", array.shape, list(map(float, array.ravel())))
          for name, array in weights.items()),
        tensor("bias", "f32", [12], list(map(float, numbers(12)))),
        tensor("fc.bias", "f32", [16], list(map(float, numbers(16))))
    ]))
expect("import", dlc("import", "g.onnx", "-o", "g.dl").returncode, 0)
for pattern, share in (("global", ["--sparsity", "0.4"]), ("layer", ["--sparsity",
                                                                     "0.4"]), ("2:4", [])):
    said = prune(f"ONNX {pattern}", "g.onnx", "--pattern", pattern, *share)
    text, file = read("p.dl"), read("p.safetensors")
    expect(f"ONNX {pattern}: three weights", len(said.splitlines()), 5)
    expect(f"ONNX {pattern}: as the imported text, the table",
           prune("imported", "g.dl", "--pattern", pattern, *share), said)
    expect(f"ONNX {pattern}: as the imported text, the files",
           (read("p.dl") == text, read("p.safetensors") == file), (True, True))
same("ONNX 2:4", load("p.safetensors"),
     {"k": two_of_four(weights["k"], 1), "g": two_of_four(weights["g"], 0), "bias": numbers(12),
      "fc.weight": two_of_four(weights["onnx::MatMul_9"].T, 1), "fc.bias": numbers(16)})

for pattern in ("channels", "low-rank"):
    said = prune(f"ONNX {pattern}", "g.onnx", "--pattern", pattern, "--sparsity", "0.4")
    file = read("p.safetensors")
    expect(f"ONNX {pattern}: it is right", dlc("check", "-q", "p.dl").stderr, "")
    prune(f"imported {pattern}", "g.dl", "--pattern", pattern, "--sparsity", "0.4")
    # The text has a layer with a bias, where ONNX has a product and a sum.
    shapes = [{name.replace("fc.1.bias", "fc.bias"): array.shape for name, array in arrays.items()}
              for arrays in (load("p.safetensors"), load_bytes(file))]
    expect(f"ONNX {pattern}: as the imported text", *shapes)

prune("ONNX: a layer of the text", "g.onnx", "--pattern", "layer", "--sparsity", "0.5", "--skip",
      "fc")
expect("it stays", np.array_equal(load("p.safetensors")["fc.weight"], weights["onnx::MatMul_9"].T),
       True)

# Refusals.
SHARE = "expected a share above 0 and below 1, such as 0.5 for every other weight, got '"
for share in ("0", "1", "-0.5", "1.5", "nan", "inf", "100%", "half"):
    wrong(f"a sparsity of {share}",
          f"error: --sparsity: {SHARE}{share}'; 'dlc prune --help' explains it", 2, "m.dl",
          "--sparsity=" + share, "-o", "no.dl")
wrong(
    "no sparsity",
    "error: --pattern global needs --sparsity, the share of the weights to make zero, such as 0.5",
    2, "m.dl", "-o", "no.dl")
wrong(
    "2:4 with another share",
    "error: --pattern 2:4 makes two of each four weights zero, which is --sparsity 0.5; leave --sparsity out",
    2, "m.dl", "--pattern", "2:4", "--sparsity", "0.7", "-o", "no.dl")
wrong(
    "an allocation of one threshold",
    "error: --allocation divides the zeros among layers that could all have the same share; expected --pattern layer or block with it",
    2, "m.dl", "--sparsity", "0.5", "--allocation", "sensitivity", "-o", "no.dl")
wrong(
    "steps of 2:4",
    "error: --steps raises the share of zeros of each layer step by step; expected --pattern layer or block with it",
    2, "m.dl", "--pattern", "2:4", "--steps", "4", "-o", "no.dl")
wrong(
    "an allocation without data",
    "error: --allocation sensitivity measures what zeros change of a layer's output; expected --method sparsegpt with it, "
    "which is the default with --calib FILE.npz", 2, "m.dl", "--sparsity", "0.5", "--pattern",
    "layer", "--allocation", "sensitivity", "-o", "no.dl")
wrong("steps without data",
      "error: --steps lets the weights that are left take over between two masks; expected --method sparsegpt with it, which is the "
      "default with --calib FILE.npz", 2,
      "m.dl", "--sparsity", "0.5", "--pattern", "block", "--steps", "2", "-o", "no.dl")
wrong("no step", "error: --steps: Value 0 not in range 1 to 64; 'dlc prune --help' explains it", 2,
      "m.dl", "--sparsity", "0.5", "--pattern", "layer", "--steps", "0", "-o", "no.dl")
wrong(
    "an unknown allocation",
    "error: --allocation: 'even' is none of uniform, sensitivity; 'dlc prune --help' explains it",
    2, "m.dl", "--sparsity", "0.5", "--allocation", "even", "-o", "no.dl")
wrong(
    "a pattern",
    "error: --pattern: 'blocks' is none of global, layer, block, 2:4, channels, low-rank; did you mean 'block'? 'dlc prune --help' explains it",
    2, "m.dl", "--pattern", "blocks", "-o", "no.dl")
wrong("an ending", "error: -o names 'no.txt'; expected a .dl file", 2, "m.dl", "--sparsity", "0.5",
      "-o", "no.txt")
write("m.mlir", "")
wrong("IR", "error: 'm.mlir' is no .dl or .onnx file; IR needs 'dlc compile --compile-from=PHASE'",
      2, "m.mlir", "--sparsity", "0.5", "-o", "no.dl")
wrong("a glob", "error: --skip: '[' is no pattern: invalid glob pattern, unmatched '['", 2, "m.dl",
      "--sparsity", "0.5", "--skip", "[", "-o", "no.dl")
wrong("a layer that is not there",
      "error: --skip: 'head*' matches no layer, node or op of the model; it has conv, deep, point, attend, attend.out_proj, plain, fc, conv.weight, "
      "deep.weight, point.weight, attend.in_proj_weight, attend.out_proj.weight and 2 more",
      2, "m.dl", "--sparsity", "0.5", "--skip", "head*", "-o", "no.dl")
write(
    "none.dl",
    "dl 1\nmodel M {\n  n: Parameter(4)\n  forward(x: f32[4]) -> (y: f32[4]) {\n    y = x * n\n  }\n}\nweights \"n.safetensors\"\n"
)
save("n.safetensors", {"n": numbers(4)})
wrong(
    "no product",
    "error: 'none.dl' has no weight that a matrix product or a convolution multiplies with; there is nothing to prune",
    1, "none.dl", "--sparsity", "0.5", "-o", "no.dl")
write("free.dl", "dl 1\nmodel M {\n  forward(x: f32[4]) -> (y: f32[4]) {\n    y = x * x\n  }\n}\n")
wrong(
    "no weight",
    "error: 'free.dl' has no weight that a matrix product or a convolution multiplies with; there is nothing to prune",
    1, "free.dl", "--sparsity", "0.5", "-o", "no.dl")
save("w3.safetensors", {"c.weight": numbers(4, 6, 3, 2)})
write(
    "w3.dl",
    read("w.dl").decode().replace("Conv2d(8", "Conv2d(6").replace("[1,8",
                                                                  "[1,6").replace('"w.', '"w3.'))
wrong("nothing left",
      "error: no weight of 'w3.dl' can be pruned: c.weight (sums over 6, no multiple of 4)", 1,
      "w3.dl", "--pattern", "2:4", "-o", "no.dl")
wrong("all skipped", "error: no weight of 'w3.dl' can be pruned: c.weight (named by --skip)", 1,
      "w3.dl", "--sparsity", "0.5", "--skip", "c", "-o", "no.dl")
wrong("a state of a text",
      "error: --state belongs to an ONNX model; a .dl model declares its states", 2, "m.dl",
      "--sparsity", "0.5", "--state", "a=b", "-o", "no.dl")
wrong("numbers for a text", "error: --const-input belongs to an ONNX model; 'm.dl' is none", 2,
      "m.dl", "--sparsity", "0.5", "--const-input", "a=@b.npy", "-o", "no.dl")
wrong("the report over the text",
      "error: --report and -o name one file, 'no.dl'; name another for the report", 2, "m.dl",
      "--sparsity", "0.5", "-o", "no.dl", "--report", "./no.dl")
wrong(
    "the report over the weights",
    "error: --report names 'no.safetensors', where the pruned weights go; name another file for the report",
    2, "m.dl", "--sparsity", "0.5", "-o", "no.dl", "--report", "no.safetensors")
os.mkdir("other")
write("part.dl",
      'dl 1\ninclude "blocks.dl"\nmodel M {\n  fc: Linear(4, 4)\n  forward(x: f32[2,4]) -> (y: f32[2,4]) {\n    y = fc(x)\n  }\n}\n'
      'weights "part.safetensors"\n')
write("blocks.dl", "dl 1\nblock Twice() {\n  forward(x) -> (y) {\n    y = x + x\n  }\n}\n")
save("part.safetensors", {"fc.weight": numbers(4, 4), "fc.bias": numbers(4)})
wrong("a text that includes others elsewhere",
      "error: 'part.dl' includes files of its folder; write the pruned model there too: -o no.dl",
      2, "part.dl", "--sparsity", "0.5", "-o", "other/no.dl")
prune("in another folder", "m.dl", "--sparsity", "0.5", "-q", output="other/p.dl")
expect("the weights go there", sorted(os.listdir("other")), ["p.dl", "p.safetensors"])

# Files that exist stay.
wrong("a text that exists",
      "error: 'm.dl' exists already; name another file, or add --force to replace it", 2, "w.dl",
      "--sparsity", "0.5", "-o", "m.dl")
write("v.safetensors", "kept")
wrong("weights that exist",
      "error: 'v.safetensors' exists already; name another file, or add --force to replace it", 2,
      "w.dl", "--sparsity", "0.5", "-o", "v.dl")
prune("--force", "w.dl", "--sparsity", "0.5", "--force", "-q", output="v.dl")
expect("it was replaced", list(load("v.safetensors")), ["c.weight"])
suite.finish()
