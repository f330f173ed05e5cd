"""Random programs over the rows of tensors: reductions of some dims, maps of the elements and of
what the reductions give. A seed gives a program; its statements are the language's and Python's
alike, so that PyTorch computes what dlc compiles."""

import random

import torch

SHAPES = [
    ((3, 5), (1,)),
    ((7, 37), (1,)),
    ((6, 2, 70), (2,)),
    ((4, 33), (1,)),
    (("N", 64), (1,)),
    (("N", 200), (1,)),
    ((2, 3, 17), (2,)),
    ((2, "N", 40), (2,)),
    ((5, "N"), (1,)),
    ((6, 9), (0,)),
    (("N", 24), (0,)),
    ((2, 7, 12), (1,)),
    ((2, 3, 4, 5), (2, 3)),
    (("N", 6, 8), (1, 2)),
    ((3, 4, 6), (0, 2)),
    ((1, 300), (1,)),
]
SIZES = (1, 2, 7, 16, 33)
DTYPES = {"f32": torch.float32, "f16": torch.float16, "f64": torch.float64}
UNARY = [
    "tanh({})",
    "sigmoid({})",
    "abs({})",
    "exp(-abs({}))",
    "({} * {})",
    "(1.5 - {})",
    "relu({})",
]
BINARY = ["({} + {})", "({} - {})", "({} * {})", "({} / (abs({}) + 0.5))", "maximum({}, {})"]
REDUCTIONS = ["mean", "sum", "amax", "amin", "var", "logsumexp"]
NAMES = {
    name: getattr(torch, name)
    for name in ("tanh", "sigmoid", "abs", "exp", "relu", "maximum", "softmax", "log_softmax")
}
NAMES |= {"true": True, "false": False}


class Program:
    """`lines` are the statements, `outputs` the names of results and whether each is an element of
    the rows, one a row with the reduced dims kept, or one a row without them."""

    def __init__(self, seed):
        self.seed, self.random = seed, random.Random(seed)
        self.shape, self.reduced = self.random.choice(SHAPES)
        self.dtype = self.random.choice(["f32"] * 4 + ["f16", "f64"])
        self.dims = self.reduced[0] if len(self.reduced) == 1 else self.reduced
        self.wide, self.rows, self.bare = ["x"], [], []
        if self.random.random() < 0.6:
            self.wide.append("r")
        self.inputs = list(self.wide)
        self.lines, self.used = [], set()
        for _ in range(self.random.randint(2, 9)):
            self.add()
        if not self.rows:
            self.reduce()
        made = [name for name, _ in self.lines]
        self.outputs = [
            name for name in made if name not in self.used or self.random.random() < 0.25
        ]

    def define(self, text, kind, *operands):
        name = f"v{len(self.lines)}"
        self.lines.append((name, text))
        self.used.update(operands)
        kind.append(name)

    def add(self):
        choice = self.random.random()
        if choice < 0.35:
            self.reduce()
        elif choice < 0.45 and len(self.reduced) == 1:
            operand = self.random.choice(self.wide)
            function = self.random.choice(["softmax", "log_softmax"])
            self.define(f"{function}({operand}, dim={self.dims})", self.wide, operand)
        elif choice < 0.65:
            kind = self.rows if self.rows and self.random.random() < 0.3 else self.wide
            operand = self.random.choice(kind)
            form = self.random.choice(UNARY)
            self.define(form.format(*[operand] * form.count("{}")), kind, operand)
        else:
            kind = self.rows if len(self.rows) > 1 and self.random.random() < 0.3 else self.wide
            left = self.random.choice(kind)
            right = self.random.choice(kind if kind is self.rows else self.wide + self.rows)
            self.define(self.random.choice(BINARY).format(left, right), kind, left, right)

    def reduce(self):
        operand = self.random.choice(self.wide)
        function = self.random.choice(REDUCTIONS)
        kept = self.random.random() < 0.75
        unbiased = ", correction=0" if function == "var" else ""
        keepdim = ", keepdim=true" if kept else ""
        self.define(
            f"{operand}.{function}({self.dims}{unbiased}{keepdim})",
            self.rows if kept else self.bare,
            operand,
        )

    def text(self):
        def dims(name):
            kept = [
                1 if i in self.reduced and name in self.rows else dim
                for i, dim in enumerate(self.shape)
                if name not in self.bare or i not in self.reduced
            ]
            return f"{name}: {self.dtype}[{','.join(map(str, kept))}]"

        symbol = f"dim N = 1..{max(SIZES)}\n" if "N" in self.shape else ""
        return (
            f"dl 1\n{symbol}model Rows {{\n"
            f"  forward({', '.join(map(dims, self.inputs))}) -> "
            f"({', '.join(map(dims, self.outputs))}) {{\n"
            + "".join(f"    {name} = {text}\n" for name, text in self.lines)
            + "  }\n}\n"
        )

    def sizes(self):
        return SIZES if "N" in self.shape else (1,)

    def values(self, n):
        generator = torch.Generator().manual_seed(1000 * self.seed + n)
        shape = [n if dim == "N" else dim for dim in self.shape]
        return {
            name: torch.randn(shape, generator=generator).to(DTYPES[self.dtype])
            for name in self.inputs
        }

    def run(self, inputs, dtype):
        """The outputs by PyTorch in f64, as rounded to `dtype` after each statement."""
        values = {name: value.double() for name, value in inputs.items()}
        for name, text in self.lines:
            value = eval(text, {"__builtins__": {}, **NAMES}, values)
            values[name] = value.to(dtype).double()
        return {name: values[name].numpy() for name in self.outputs}
