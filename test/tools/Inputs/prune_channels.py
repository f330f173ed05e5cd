"""prune_channels.py FOLDER: a model without some channels gives what the whole one gives where their numbers are zero."""
import json
import os
import sys

import numpy as np
from weight_cases import Suite, dlc, numbers, safetensors, save

suite = Suite(sys.argv[1])
expect = suite.expect
FRAME = "dl 1\ndim N = 1..64\nmodel M {\n%s\n  forward(x: f32[N,3,8,8]) -> (y: f32[N,%d]) {\n%s\n  }\n}\nweights \"m.safetensors\"\n"
# Layers, what is computed, and how many numbers come out: each way in which channels hang together.
GRAPHS = {
    "a chain": ("""a: Conv2d(3, 8, kernel_size=3, padding=1)
b: Conv2d(8, 6, kernel_size=3)""", "y = mean(b(relu(a(x))), dim=[2, 3])", 6),
    "a batch norm and PReLU": ("""a: Conv2d(3, 8, kernel_size=3, bias=false)
n: BatchNorm2d(8)
p: PReLU(8)
b: Conv2d(8, 6, kernel_size=1)""", "y = mean(b(p(n(a(x)))), dim=[2, 3])", 6),
    "residual additions": ("""a: Conv2d(3, 8, kernel_size=3, padding=1)
b: Conv2d(8, 5, kernel_size=3, padding=1)
c: Conv2d(5, 8, kernel_size=3, padding=1)
d: Conv2d(8, 8, kernel_size=1)
e: Linear(8, 4)""", "h = a(x)\n    h = relu(h + c(relu(b(h))))\n    h = h + d(h)\n    y = e(mean(h, dim=[2, 3]))", 4),
    "a shortcut with zeros around": ("""a: Conv2d(3, 8, kernel_size=3, padding=1)
b: Conv2d(8, 12, kernel_size=3, stride=2, padding=1)
e: Linear(12, 4)""", "h = relu(a(x))\n    h = relu(b(h) + pad(h[:, :, ::2, ::2], (0, 0, 0, 0, 1, 3)))\n    y = e(mean(h, dim=[2, 3]))", 4),
    "concatenation": ("""a: Conv2d(3, 5, kernel_size=3)
b: Conv2d(3, 7, kernel_size=3)
c: Conv2d(12, 9, kernel_size=1)
d: Conv2d(21, 4, kernel_size=1)""", "h = concat([a(x), relu(b(x))], dim=1)\n    h = concat([c(h), h], dim=1)\n    y = mean(d(h), dim=[2, 3])", 4),
    "a depthwise convolution": ("""a: Conv2d(3, 8, kernel_size=1)
b: Conv2d(8, 8, kernel_size=3, groups=8)
c: Conv2d(8, 4, kernel_size=1)""", "y = mean(c(relu(b(relu(a(x))))), dim=[2, 3])", 4),
    "two channels for each": ("""a: Conv2d(3, 6, kernel_size=1)
b: Conv2d(6, 12, kernel_size=3, groups=6)
c: Conv2d(12, 4, kernel_size=1)""", "y = mean(c(relu(b(relu(a(x))))), dim=[2, 3])", 4),
    "a grouped convolution": ("""a: Conv2d(3, 12, kernel_size=3)
b: Conv2d(12, 15, kernel_size=3, groups=3)
c: Conv2d(15, 4, kernel_size=1)""", "y = mean(c(relu(b(relu(a(x))))), dim=[2, 3])", 4),
    "flatten before linear": ("""a: Conv2d(3, 6, kernel_size=3)
f: Linear(54, 10)
g: Linear(10, 4)""", "h = max_pool2d(relu(a(x)), kernel_size=2)\n    y = g(relu(f(flatten(h, start_dim=1))))", 4),
    "reshape and transpose": ("""a: Conv2d(3, 6, kernel_size=2, stride=2)
f: Linear(6, 10)
g: Linear(10, 4)""", "h = transpose(reshape(a(x), [-1, 6, 16]), 1, 2)\n    y = mean(g(relu(f(h))), dim=1)", 4),
    "parts of the channels": ("""a: Conv2d(3, 12, kernel_size=1)
b: Conv2d(5, 6, kernel_size=1)
c: Conv2d(4, 6, kernel_size=1)""", "h = relu(a(x))\n    y = mean(b(h[:, 2:7]) + c(h[:, 8:]), dim=[2, 3])", 6),
    "gates": ("""a: Conv2d(3, 8, kernel_size=1)
s: Linear(8, 3)
t: Linear(3, 8)
c: Conv2d(8, 4, kernel_size=1)""", "h = relu(a(x))\n    g = sigmoid(t(relu(s(mean(h, dim=[2, 3])))))\n"
              "    h = h * unsqueeze(unsqueeze(g, 2), 3)\n    y = mean(c(h), dim=[2, 3])", 4),
}
# Layers that keep all channels since an op mixes them or an output shows them.
WHOLE = {"a softmax over channels": ("a: Conv2d(3, 8, kernel_size=1)\nb: Conv2d(8, 4, kernel_size=1)", "y = mean(b(softmax(a(x), dim=1)), dim=[2, 3])", 4),
         "an output": ("a: Conv2d(3, 8, kernel_size=1)", "y = mean(a(x), dim=[2, 3])", 8),
         "a norm over channels": ("a: Conv2d(3, 8, kernel_size=8)\nn: LayerNorm([8])\nb: Linear(8, 4)", "y = b(n(flatten(a(x), start_dim=1)))", 4)}
X = np.random.RandomState(1).standard_normal((40, 3, 8, 8)).astype(np.float32)
np.save("x.npy", X[:6])
np.savez("c.npz", x=X)


def shapes(layers):
    """The weights of the layers, by what `dlc check` misses: name -> shape."""
    found = {}
    for line in layers.splitlines():
        name, call = line.split(": ")
        kind, arguments = call.rstrip(")").split("(", 1)
        sizes = [int(word) for word in arguments.replace("[", "").replace("]", "").split(", ") if word.isdigit()]
        options = dict(word.split("=") for word in arguments.split(", ") if "=" in word)
        if kind == "Conv2d":
            size = int(options["kernel_size"])
            found[name + ".weight"] = (sizes[1], sizes[0] // int(options.get("groups", 1)), size, size)
        elif kind == "Linear":
            found[name + ".weight"] = (sizes[1], sizes[0])
        else:
            found[name + ".weight"] = (sizes[0],)
        if kind != "PReLU" and options.get("bias") != "false":
            found[name + ".bias"] = (found[name + ".weight"][0],)
        if kind == "BatchNorm2d":
            found[name + ".running_mean"] = found[name + ".running_var"] = (sizes[0],)
    return found


def setup(layers, code, outputs, change=lambda arrays: arrays):
    arrays = {name: numbers(*shape, seed=index) for index, (name, shape) in enumerate(shapes(layers).items())}
    for name in arrays:
        if name.endswith("_var"):
            arrays[name] = np.abs(arrays[name]) + np.float32(0.5)
    save("m.safetensors", change(arrays))
    with open("m.dl", "w", encoding="utf-8") as out:
        out.write(FRAME % (layers.replace("\n", "\n  ").join(["  ", ""]), outputs, "    " + code))
    return arrays


def outputs_of(source):
    expect(f"{source} compiles", dlc("compile", source, "-q", "--target", "cpu", "-o", "r.bin").stderr, "")
    run = dlc("run", "r.bin", "--device", "cpu", "--input", "x=@x.npy", "--output", "y=@y.npy")
    expect(f"{source} runs", run.stderr, "")
    return np.load("y.npy")


def kept(whole, part):
    """For each dim of the whole weight the indices that are left: its numbers are all different."""
    is_left = np.isin(whole, part)
    axes = range(whole.ndim)
    return [is_left.any(tuple(other for other in axes if other != axis)) for axis in axes]


def multiplications(report):
    return report["multiplications_after"] / report["multiplications_before"]


for what, (layers, code, outputs) in GRAPHS.items():
    arrays = setup(layers, code, outputs)
    for method in ("l2", "l1"):
        run = dlc("prune", "m.dl", "--pattern", "channels", "--sparsity", "0.3", "--method", method, "-o", "p.dl", "--force", "--report", "r.json")
        expect(f"{what}, {method}", (run.returncode, run.stderr), (0, ""))
        with open("r.json", encoding="utf-8") as report:
            expect(f"{what}: less to multiply", 0.3 <= multiplications(json.load(report)) <= 0.7, True)
        pruned, _ = safetensors.load("p.safetensors")
        expect(f"{what}: names", sorted(pruned), sorted(arrays))
        masked = {}
        for name, whole in arrays.items():
            left = kept(whole, pruned[name])
            expect(f"{what}: {name}", np.array_equal(whole[np.ix_(*left)], pruned[name]), True)
            masked[name] = whole * np.einsum(",".join("abcd"[:whole.ndim]) + "->" + "abcd"[:whole.ndim], *left) if whole.ndim > 1 else whole * left[0]
            masked[name] = masked[name].astype(np.float32)
        smaller = outputs_of("p.dl")
        setup(layers, code, outputs, lambda _, masked=masked: masked)
        expected = outputs_of("m.dl")
        setup(layers, code, outputs)
        error = np.abs(smaller - expected).max() / np.abs(expected).max()
        expect(f"{what}: outputs ({error:.1e})", bool(error < 2e-6), True)
for what, (layers, code, outputs) in WHOLE.items():
    setup(layers, code, outputs)
    run = dlc("prune", "m.dl", "--pattern", "channels", "--sparsity", "0.3", "-o", "no.dl")
    expect(what, (run.returncode, run.stderr),
           (1, "error: 'm.dl' has no channels that can be removed: all of them reach an output or an op that needs them whole, or --skip names them\n"))

# With data the layers that follow take over what went: nearer to the whole model than without, and exactly where a channel repeats
# another.
layers, code, outputs = GRAPHS["residual additions"]
setup(layers, code, outputs)
whole = outputs_of("m.dl")
errors = {}
for what, flags in {"without": [], "with": ["--calib", "c.npz", "--method", "l2"], "obs": ["--calib", "c.npz"]}.items():
    run = dlc("prune", "m.dl", "--pattern", "channels", "--sparsity", "0.3", "-o", "p.dl", "--force", "-q", *flags)
    expect(f"{what} data", (run.returncode, run.stdout, run.stderr), (0, "", ""))
    errors[what] = np.linalg.norm(outputs_of("p.dl") - whole) / np.linalg.norm(whole)
expect(f"data help: {errors}", errors["obs"] < errors["without"] and errors["with"] < 0.7 * errors["without"], True)

# A weight whose parts, or whose transpose, other layers read: what went is still right, and nothing is fitted there.
for call in ("linear(h, w[:, :6]) + linear(h, w[:, 6:])", "linear(linear(h, w[:, :6]), transpose(w[:, 6:], 0, 1))"):
    with open("s.dl", "w", encoding="utf-8") as out:
        out.write("dl 1\ndim N = 1..64\nmodel S {\n  a: Linear(3, 6)\n  w: Parameter(4, 12)\n  forward(x: f32[N,3,8,8]) -> (y: f32[N,%d]) {\n"
                  "    h = relu(a(mean(x, dim=[2, 3])))\n    y = %s\n  }\n}\nweights \"s.safetensors\"\n" % (4 if "+" in call else 6, call))
    arrays = {"a.weight": numbers(6, 3), "a.bias": numbers(6), "w": numbers(4, 12)}
    save("s.safetensors", arrays)
    run = dlc("prune", "s.dl", "--pattern", "channels", "--sparsity", "0.2", "-o", "p.dl", "--force", "--calib", "c.npz", "-q")
    expect(call, (run.returncode, run.stderr), (0, ""))
    pruned, _ = safetensors.load("p.safetensors")
    left = [np.isin(arrays["a.bias"], pruned["a.bias"])]  # nothing changed it
    expect(f"{call}: less is left", 0 < left[0].sum() < 6, True)
    masked = {**arrays, "a.weight": arrays["a.weight"] * left[0][:, None], "a.bias": arrays["a.bias"] * left[0]}
    smaller = outputs_of("p.dl")
    save("s.safetensors", masked)
    expected = outputs_of("s.dl")
    error = np.abs(smaller - expected).max() / np.abs(expected).max()
    expect(f"{call}: outputs ({error:.1e})", bool(error < 2e-6), True)
layers, code, outputs = GRAPHS["a chain"]


def twice(arrays):
    arrays["a.weight"][4:] = 2 * arrays["a.weight"][:4]
    arrays["a.bias"][4:] = 2 * arrays["a.bias"][:4]
    return arrays


setup(layers, code, outputs, twice)
whole = outputs_of("m.dl")
run = dlc("prune", "m.dl", "--pattern", "channels", "--sparsity", "0.5", "-o", "p.dl", "--force", "--calib", "c.npz")
expect("channels that repeat others", (run.returncode, run.stderr), (0, ""))
expect("four are left", safetensors.load("p.safetensors")[0]["a.weight"].shape, (4, 3, 3, 3))
error = np.abs(outputs_of("p.dl") - whole).max() / np.abs(whole).max()
expect(f"nothing is lost ({error:.1e})", bool(error < 0.05), True)

# Multiples, and layers that stay.
layers, code, outputs = GRAPHS["a grouped convolution"]
setup(layers, code, outputs)
run = dlc("prune", "m.dl", "--pattern", "channels", "--sparsity", "0.2", "--multiple", "2", "--skip", "b", "-o", "p.dl", "--force")
expect("skip", (run.returncode, run.stderr.strip()[:80]), (1, "error: 'm.dl' has no channels that can be removed: all of them reach an output o"))
layers, code, outputs = GRAPHS["a chain"]
setup(layers, code, outputs)
run = dlc("prune", "m.dl", "--pattern", "channels", "--sparsity", "0.2", "--multiple", "4", "-o", "p.dl", "--force")
expect("multiples", (run.returncode, safetensors.load("p.safetensors")[0]["a.weight"].shape), (0, (4, 3, 3, 3)))


# Refusals.
def wrong(what, said, status, *arguments):
    before = sorted(os.listdir("."))
    run = dlc("prune", "m.dl", *arguments, "-o", "no.dl")
    expect(what, (run.returncode, run.stdout, run.stderr.splitlines()[0]), (status, "", said))
    expect(what + ": no file is written", sorted(os.listdir(".")), before)


wrong("no share", "error: --pattern channels needs --sparsity, the share of the multiplications to take away, such as 0.3", 2, "--pattern", "channels")
wrong("too much", "error: --sparsity 0.95 of the multiplications cannot go with whole channels: 87.50 % are the most; expected less", 1,
      "--pattern", "channels", "--sparsity", "0.95")
wrong("a method of weights", "error: --method wanda does not go with --pattern channels; expected one of l2, obs, l1", 2,
      "--pattern", "channels", "--sparsity", "0.3", "--method", "wanda")
wrong("obs without data", "error: --method obs needs to see what the layers read; add --calib FILE.npz, an array by the name of each input, "
      "one row a sample, some hundred rows", 2, "--pattern", "channels", "--sparsity", "0.3", "--method", "obs")
wrong("multiples of weights", "error: --multiple counts channels; expected --pattern channels", 2, "--sparsity", "0.3", "--multiple", "4")
wrong("the report over the weights", "error: --report names 'no.safetensors', where the pruned weights go; name another file for the report", 2,
      "--pattern", "channels", "--sparsity", "0.3", "--report", "no.safetensors")
suite.finish()
