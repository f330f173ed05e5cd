"""Matrix products by the emulated cuBLASLt and by dlc's own kernels, against sums in f64: of every
type, transposed, in batches, under dims that are open."""
import json
import sys

import numpy as np

from weight_cases import Suite, dlc

suite = Suite(sys.argv[1])
random = np.random.RandomState(3)
ROUNDING = {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}

# Name -> (type of a, type of b, the product, type of y, the same by NumPy, whether the rows of 33
# lie where a library can copy).
PRODUCTS = {
    "plain": ("[N,64]", "[64,96]", "matmul(p, q)", "[N,96]", lambda a, b: a @ b, True),
    "linear": ("[N,64]", "[96,64]", "linear(p, q)", "[N,96]", lambda a, b: a @ b.T, True),
    "across": ("[64,N]", "[64,96]", "matmul(t(p), q)", "[N,96]", lambda a, b: a.T @ b, False),
    "stack": ("[3,N,64]", "[3,64,96]", "matmul(p, q)", "[3,N,96]", lambda a, b: a @ b, True),
    "shared": ("[3,N,64]", "[64,96]", "matmul(p, q)", "[3,N,96]", lambda a, b: a @ b, True),
    "grams": ("[3,N,64]", "[3,96,64]", "einsum('bnk,bmk->bnm', p, q)", "[3,N,96]",
              lambda a, b: a @ b.transpose(0, 2, 1), True),
    "depth": ("[40,N]", "[N,96]", "matmul(p, q)", "[40,96]", lambda a, b: a @ b, False),
    "turned": ("[N,64]", "[64,96]", "einsum('nk,km->mn', p, q)", "[96,N]", lambda a, b:
               (a @ b).T, False),
}


def stored(x, dtype):
    if dtype == "f16":
        return x.astype(np.float16).astype(np.float64)
    if dtype == "bf16":
        bits = x.astype(np.float32).view(np.uint32)
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16).astype(np.uint32).view(
            np.float32).astype(np.float64)
    return x.astype(np.float64)


def model(name, dtype):
    a, b, product, y, _, _ = PRODUCTS[name]
    casts = [f"{new} = to({old}, {dtype}) @no_fuse" for new, old in (("p", "a"), ("q", "b"))]
    if dtype == "f32":
        casts = ["p = a", "q = b"]
    body = "\n    ".join([
        *casts, f"c = {product} @no_fuse", "y = to(c, f32) @no_fuse" if dtype != "f32" else "y = c"
    ])
    return f"dl 1\n\ndim N = 1..512\n\nmodel M {{\n  forward(a: f32{a}, b: f32{b}) -> (y: f32{y}) {{\n    {body}\n  }}\n}}\n"


def shape(text, rows):
    return tuple(rows if dim == "N" else int(dim) for dim in text[1:-1].split(","))


def who(*arguments):
    """How often cuBLASLt is called in a run."""
    bench = dlc("bench", *arguments, "--device", "cuda-emu", "--duration", "0", "--warmup", "0",
                "--iterations", "1", "--json")
    assert bench.returncode == 0, bench.stderr
    return sum(kernel["launches"] for kernel in json.loads(bench.stdout)["kernels"]
               if kernel["kind"] == "cublasLt")


def one(name, dtype, precision="f32"):
    package = f"{name}_{dtype}_{precision}.bin"
    with open("m.dl", "w", encoding="utf-8") as out:
        out.write(model(name, dtype))
    compiled = dlc("compile", "-q", "m.dl", "--target", "cuda", "--precision", precision, "-o",
                   package)
    suite.expect(f"{package}: compile", (compiled.returncode, compiled.stderr), (0, ""))
    a_type, b_type, _, _, product, any_rows = PRODUCTS[name]
    for rows, by_library in ((40, True), (33, any_rows)):
        a, b = (random.standard_normal(shape(text, rows)).astype(np.float32)
                for text in (a_type, b_type))
        np.savez("in.npz", a=a, b=b)
        a, b = stored(a, dtype), stored(b, dtype)
        exact, sizes = product(a, b), product(np.abs(a), np.abs(b))
        depth = 64 if name != "depth" else rows
        bound = (depth + 2) * 2.0**-24 * sizes + ROUNDING[dtype] * np.abs(exact) * (1 + 2.0**-10)
        if precision == "tf32":
            bound += 2.0**-10 * sizes
        inputs = ["--input", "a=@in.npz", "--input", "b=@in.npz"]
        for option in ("--cublas", "--no-cublas"):
            run = dlc("run", package, "--device", "cuda-emu", option, *inputs, "--output",
                      "y=@y.npy")
            suite.expect(f"{package}, {rows} rows, {option}", (run.returncode, run.stderr), (0, ""))
            suite.expect(f"{package}, {rows} rows, {option}: values",
                         bool((np.abs(np.load("y.npy") - exact) <= bound).all()), True)
        calls = [who(package, option, *inputs) for option in ("--cublas", "--no-cublas")]
        suite.expect(f"{package}, {rows} rows: calls", calls, [int(by_library), 0])


for name in PRODUCTS:
    one(name, "f32")
for dtype in ("f16", "bf16"):
    for name in ("plain", "linear", "stack"):
        one(name, dtype)
one("plain", "f32", "tf32")

# Small numbers are exact, whoever adds them.
a, b = (random.randint(-4, 5, size).astype(np.float32) for size in ((24, 64), (64, 96)))
np.savez("whole.npz", a=a, b=b, y=a @ b)
for option in ("--cublas", "--no-cublas"):
    run = dlc("run", "plain_f32_f32.bin", "--device", "cuda-emu", option, "--input", "a=@whole.npz",
              "--input", "b=@whole.npz", "--expected-output", "y=@whole.npz", "--atol", "0",
              "--rtol", "0")
    suite.expect(f"whole numbers {option}", (run.returncode, run.stderr), (0, ""))

# Unasked it takes those for which it was estimated to be faster: none of these.
large = ["--input", "a=512x64xf32=random", "--input", "b=64x96xf32=random"]
suite.expect("too small", who("plain_f32_f32.bin", *large), 0)
with open("large.dl", "w", encoding="utf-8") as out:
    out.write(
        "dl 1\n\nmodel M {\n  forward(a: f32[256,256], b: f32[256,256]) -> (y: f32[256,256]) {\n    y = a @ b\n  }\n}\n"
    )
suite.expect("large: compile",
             dlc("compile", "-q", "large.dl", "--target", "cuda", "-o", "small.bin").stderr, "")
suite.expect("small", who("small.bin"), 0)
suite.expect(
    "wanted: compile",
    dlc("compile", "-q", "large.dl", "--target", "cuda", "--force-plan", "matmul=cublaslt", "-o",
        "large.bin").stderr, "")
suite.expect("wanted", who("large.bin"), 1)
suite.expect("turned off", who("large.bin", "--no-cublas"), 0)

# A product with something behind it is dlc's own.
with open("fused.dl", "w", encoding="utf-8") as out:
    out.write(
        "dl 1\n\nmodel M {\n  forward(a: f32[256,256], b: f32[256,256]) -> (y: f32[256,256]) {\n    y = relu(a @ b)\n  }\n}\n"
    )
suite.expect("fused: compile",
             dlc("compile", "-q", "fused.dl", "--target", "cuda", "-o", "fused.bin").stderr, "")
suite.expect("fused", who("fused.bin", "--cublas"), 0)

both = dlc("run", "large.bin", "--cublas", "--no-cublas", "--input", "random").stderr
suite.expect(
    "both options",
    "--cublas and --no-cublas exclude each other; give one of them; 'dlc run --help' explains it"
    in both, True)
suite.finish()
