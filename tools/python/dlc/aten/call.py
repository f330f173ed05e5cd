"""A call of an ATen op in a graph, as the rows of the table see it."""

import math

import torch

from .failure import ExportFailure
from .sizes import plain

DTYPES = {
    torch.float64: "f64",
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.int16: "i16",
    torch.int8: "i8",
    torch.uint8: "u8",
    torch.bool: "bool",
}
for _name, _text in (
    ("uint16", "u16"),
    ("uint32", "u32"),
    ("uint64", "u64"),
    ("float8_e4m3fn", "f8e4m3fn"),
    ("float8_e5m2", "f8e5m2"),
    ("float8_e4m3fnuz", "f8e4m3fnuz"),
    ("float8_e5m2fnuz", "f8e5m2fnuz"),
):
    if hasattr(torch, _name):
        DTYPES[getattr(torch, _name)] = _text

#: Arguments of ATen that say where and how a tensor lies, which is the compiler's to choose, or
#: what only training reads.
_PLACES = {
    "layout",
    "cudnn_enable",
    "device",
    "pin_memory",
    "memory_format",
    "generator",
    "non_blocking",
    "cudnn_enabled",
    "implicit",
    "sparse_grad",
}


def dtype_text(dtype):
    if dtype not in DTYPES:
        raise ExportFailure(
            f"a tensor of {str(dtype).replace('torch.', '')}: dlc has no such dtype"
        )
    return DTYPES[dtype]


def number_text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)


class Call:
    """One node of a graph. `arguments` are those of its schema by name, those left out with their
    defaults."""

    def __init__(self, program, node):
        self.program, self.node = program, node
        self.schema = node.target._schema
        self.name = self.schema.name.split("::")[1]
        self.arguments, self.given = {}, set()
        for position, argument in enumerate(self.schema.arguments):
            if position < len(node.args) and not argument.kwarg_only:
                self.arguments[argument.name] = node.args[position]
            elif argument.name in node.kwargs:
                self.arguments[argument.name] = node.kwargs[argument.name]
            else:
                self.arguments[argument.name] = argument.default_value
                continue
            self.given.add(argument.name)

    def __getitem__(self, name):
        return self.arguments[name]

    def get(self, name, default=None):
        return self.arguments.get(name, default)

    # The types and sizes of values.

    def meta(self, value=None):
        """The fake tensor (or the number) of a node; that of the result without one."""
        return (self.node if value is None else value).meta["val"]

    def is_tensor(self, value):
        return isinstance(value, torch.fx.Node) and isinstance(value.meta.get("val"), torch.Tensor)

    def shape(self, value):
        """Of numbers and sympy expressions."""
        return [plain(size) for size in self.meta(value).shape]

    def is_empty(self, value):
        """Whether a tensor is known to have no elements."""
        return any(isinstance(size, int) and size == 0 for size in self.shape(value))

    def rank(self, value):
        return self.meta(value).dim()

    def dim(self, name="dim", of="self"):
        """The dim that an argument names, 0 or more."""
        return self.arguments[name] % max(self.rank(self.arguments[of]), 1)

    # Texts.

    def text(self, value):
        """A value of the graph as an expression."""
        return self.program.value(value)

    def __call__(self, name):
        """An argument as an expression."""
        return self.text(self.arguments[name])

    def optional(self, name):
        """An argument as an expression; None where it is None."""
        return self(name) if self.arguments[name] is not None else None

    def size(self, value):
        return self.program.size(value)

    def sizes(self, values):
        return "[" + ", ".join(map(self.size, values)) + "]"

    def expected(self, value, shape):
        """A tensor whose sizes are those of `shape`, which a run checks where PyTorch has another
        symbol for one."""
        own = self.shape(value)
        if len(own) == len(shape) and any(self.size(a) != self.size(b) for a, b in zip(own, shape)):
            return f"expect_dims({self.text(value)}, {self.sizes(shape)})"
        return self.text(value)

    def fitting(self, value):
        """An operand as an expression. If the op is elementwise, a run checks the sizes that PyTorch
        has computed in another way than those of the result."""
        text = self.text(value)
        if torch.Tag.pointwise not in self.node.target.tags or not self.is_tensor(value):
            return text
        own, result = self.shape(value), self.meta()
        wanted = [plain(size) for size in result.shape] if isinstance(result, torch.Tensor) else []
        pairs = list(zip(own, wanted[len(wanted) - len(own) :]))
        if len(pairs) != len(own):
            return text
        sizes = [a if isinstance(a, int) else b for a, b in pairs]
        if all(isinstance(a, int) or self.size(a) == self.size(b) for a, b in pairs):
            return text
        return f"expect_dims({text}, {self.sizes(sizes)})"

    def emit(self, text, name=None):
        """Adds a line that computes `text`; the name of the value."""
        return self.program.emit(text, name or self.name)

    def results(self, text, count):
        """The names of the results of a function that gives `count` of them; "_" for those that
        nothing uses."""
        return self.program.emit_many(text, self.name, [self.is_used(i) for i in range(count)])

    def is_used(self, position):
        """Whether something takes result `position` of an op of several."""
        return any(
            user.args[1] == position
            for user in self.node.users
            if user.op == "call_function" and user.args[0] is self.node
        )

    def same(self, renamed=None):
        """Calls the function of the same name with the arguments that differ from their defaults.
        """
        texts, by_name = [], False
        for argument in self.schema.arguments:
            value = self.arguments[argument.name]
            if argument.name in _PLACES:
                continue
            is_left_out = (
                argument.name not in self.given
                or (value == [] and "stride" in argument.name)
                or (
                    argument.has_default_value()
                    and not self.is_tensor(value)
                    and value == argument.default_value
                )
            )
            if is_left_out and (argument.has_default_value() or value == []):
                by_name = True
                continue
            name = (renamed or {}).get(argument.name, argument.name)
            text = self.text(value)
            texts.append(f"{name}={text}" if by_name or argument.kwarg_only else text)
        text = f"{self.name.strip('_')}({', '.join(texts)})"
        count = len(self.schema.returns)
        return text if count == 1 else self.results(text, count)

    def function(self, name, *texts, **named):
        """A call's text; named arguments that are None are left out."""
        by_name = [f"{key}={text}" for key, text in named.items() if text is not None]
        return f"{name}({', '.join([*texts, *by_name])})"

    def refuse(self, why):
        raise ExportFailure(f"{self.name_in_torch()}: {why}")

    def name_in_torch(self):
        return f"torch.ops.{self.schema.name.replace('::', '.')}.{self.node.target._overloadname}"
