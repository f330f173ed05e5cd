"""Models of few layers, in which channels hang together in each way there is: for prune_channels.py
and prune_permuted.py."""
import numpy as np
from weight_cases import dlc, numbers, save

FRAME = "dl 1\ndim N = 1..64\nmodel M {\n%s\n  forward(x: f32[N,3,8,8]) -> (y: f32[N,%d]) {\n%s\n  }\n}\nweights \"m.safetensors\"\n"
# Layers, what is computed, and how many numbers come out: each way in which channels hang together.
GRAPHS = {
    "a chain": ("""a: Conv2d(3, 8, kernel_size=3, padding=1)
b: Conv2d(8, 6, kernel_size=3)""", "y = mean(b(relu(a(x))), dim=[2, 3])", 6),
    "a batch norm and PReLU": ("""a: Conv2d(3, 8, kernel_size=3, bias=false)
n: BatchNorm2d(8)
p: PReLU(8)
b: Conv2d(8, 6, kernel_size=1)""", "y = mean(b(p(n(a(x)))), dim=[2, 3])", 6),
    "residual additions": (
        """a: Conv2d(3, 8, kernel_size=3, padding=1)
b: Conv2d(8, 5, kernel_size=3, padding=1)
c: Conv2d(5, 8, kernel_size=3, padding=1)
d: Conv2d(8, 8, kernel_size=1)
e: Linear(8, 4)""",
        "h = a(x)\n    h = relu(h + c(relu(b(h))))\n    h = h + d(h)\n    y = e(mean(h, dim=[2, 3]))",
        4),
    "a shortcut with zeros around": (
        """a: Conv2d(3, 8, kernel_size=3, padding=1)
b: Conv2d(8, 12, kernel_size=3, stride=2, padding=1)
e: Linear(12, 4)""",
        "h = relu(a(x))\n    h = relu(b(h) + pad(h[:, :, ::2, ::2], (0, 0, 0, 0, 1, 3)))\n    y = e(mean(h, dim=[2, 3]))",
        4),
    "concatenation": (
        """a: Conv2d(3, 5, kernel_size=3)
b: Conv2d(3, 7, kernel_size=3)
c: Conv2d(12, 9, kernel_size=1)
d: Conv2d(21, 4, kernel_size=1)""",
        "h = concat([a(x), relu(b(x))], dim=1)\n    h = concat([c(h), h], dim=1)\n    y = mean(d(h), dim=[2, 3])",
        4),
    "a depthwise convolution": ("""a: Conv2d(3, 8, kernel_size=1)
b: Conv2d(8, 8, kernel_size=3, groups=8)
c: Conv2d(8, 4, kernel_size=1)""", "y = mean(c(relu(b(relu(a(x))))), dim=[2, 3])", 4),
    "two channels for each": ("""a: Conv2d(3, 6, kernel_size=1)
b: Conv2d(6, 12, kernel_size=3, groups=6)
c: Conv2d(12, 4, kernel_size=1)""", "y = mean(c(relu(b(relu(a(x))))), dim=[2, 3])", 4),
    "a grouped convolution": ("""a: Conv2d(3, 12, kernel_size=3)
b: Conv2d(12, 15, kernel_size=3, groups=3)
c: Conv2d(15, 4, kernel_size=1)""", "y = mean(c(relu(b(relu(a(x))))), dim=[2, 3])", 4),
    "flatten before linear": (
        """a: Conv2d(3, 6, kernel_size=3)
f: Linear(54, 10)
g: Linear(10, 4)""",
        "h = max_pool2d(relu(a(x)), kernel_size=2)\n    y = g(relu(f(flatten(h, start_dim=1))))",
        4),
    "reshape and transpose": (
        """a: Conv2d(3, 6, kernel_size=2, stride=2)
f: Linear(6, 10)
g: Linear(10, 4)""",
        "h = transpose(reshape(a(x), [-1, 6, 16]), 1, 2)\n    y = mean(g(relu(f(h))), dim=1)", 4),
    "parts of the channels": (
        """a: Conv2d(3, 12, kernel_size=1)
b: Conv2d(5, 6, kernel_size=1)
c: Conv2d(4, 6, kernel_size=1)""",
        "h = relu(a(x))\n    y = mean(b(h[:, 2:7]) + c(h[:, 8:]), dim=[2, 3])", 6),
    "gates": ("""a: Conv2d(3, 8, kernel_size=1)
s: Linear(8, 3)
t: Linear(3, 8)
c: Conv2d(8, 4, kernel_size=1)""",
              "h = relu(a(x))\n    g = sigmoid(t(relu(s(mean(h, dim=[2, 3])))))\n"
              "    h = h * unsqueeze(unsqueeze(g, 2), 3)\n    y = mean(c(h), dim=[2, 3])", 4),
}
# Layers that keep all channels since an op mixes them or an output shows them.
WHOLE = {
    "a softmax over channels": ("a: Conv2d(3, 8, kernel_size=1)\nb: Conv2d(8, 4, kernel_size=1)",
                                "y = mean(b(softmax(a(x), dim=1)), dim=[2, 3])", 4),
    "an output": ("a: Conv2d(3, 8, kernel_size=1)", "y = mean(a(x), dim=[2, 3])", 8),
    "a norm over channels": ("a: Conv2d(3, 8, kernel_size=8)\nn: LayerNorm([8])\nb: Linear(8, 4)",
                             "y = b(n(flatten(a(x), start_dim=1)))", 4)
}
X = np.random.RandomState(1).standard_normal((40, 3, 8, 8)).astype(np.float32)


def shapes(layers):
    """The weights of the layers, by what `dlc check` misses: name -> shape."""
    found = {}
    for line in layers.splitlines():
        name, call = line.split(": ")
        kind, arguments = call.rstrip(")").split("(", 1)
        sizes = [
            int(word) for word in arguments.replace("[", "").replace("]", "").split(", ")
            if word.isdigit()
        ]
        options = dict(word.split("=") for word in arguments.split(", ") if "=" in word)
        if kind == "Conv2d":
            size = int(options["kernel_size"])
            found[name + ".weight"] = (sizes[1], sizes[0] // int(options.get("groups", 1)), size,
                                       size)
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
    arrays = {
        name: numbers(*shape, seed=index)
        for index, (name, shape) in enumerate(shapes(layers).items())
    }
    for name in arrays:
        if name.endswith("_var"):
            arrays[name] = np.abs(arrays[name]) + np.float32(0.5)
    save("m.safetensors", change(arrays))
    with open("m.dl", "w", encoding="utf-8") as out:
        out.write(FRAME % (layers.replace("\n", "\n  ").join(["  ", ""]), outputs, "    " + code))
    return arrays


def outputs_of(source, expect):
    """What the model gives for the first six of X."""
    expect(f"{source} compiles",
           dlc("compile", source, "-q", "--target", "cpu", "-o", "r.bin").stderr, "")
    np.save("x.npy", X[:6])
    run = dlc("run", "r.bin", "--device", "cpu", "--input", "x=@x.npy", "--output", "y=@y.npy")
    expect(f"{source} runs", run.stderr, "")
    return np.load("y.npy")
