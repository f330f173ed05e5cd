"""Ops of a user's own, which dlc.register_op gives rows."""

import os
import re
import sys
import tempfile
import warnings

import torch
from torch import nn

sys.path.insert(
    0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python")
)
from models import ROOT, Failure, dlc, expect, refused, run  # noqa: E402

from modules import close, compare, compiled  # noqa: E402


def own(name, real, fake=None, schema=None, changes=()):
    """Defines the op `name` by what it computes."""
    made = torch.library.custom_op(name, real, mutates_args=changes, schema=schema)
    made.register_fake(fake or real)
    return made


def _twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def _scaled(x: torch.Tensor, factor: float = 3.0, shift: int = 1) -> torch.Tensor:
    return x * factor + shift


def _parts(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x.amax(-1), x.argmax(-1)


def _joined(xs: list[torch.Tensor], sizes: list[int], bias: torch.Tensor | None) -> torch.Tensor:
    joined = torch.cat([x.reshape(sizes) for x in xs])
    return joined.clone() if bias is None else joined + bias


def _first(x: torch.Tensor, count: torch.SymInt) -> torch.Tensor:
    return x[:count] + 0


def _bump(total: torch.Tensor, x: torch.Tensor, factor: float = 1.0) -> torch.Tensor:
    total.add_(x * factor)
    return x - 1


def _stored(out: torch.Tensor, x: torch.Tensor) -> None:
    out.copy_(x.sin())


own("dlctest::twice", _twice)
own("dlctest::scaled", _scaled)
own("dlctest::parts", _parts)
own("dlctest::joined", _joined)
own("dlctest::wrong", _twice)
own("dlctest::absent", _twice)
own("dlctest::first", _first, schema="(Tensor x, SymInt count) -> Tensor")
own("dlctest::bump", _bump, lambda total, x, factor=1.0: torch.empty_like(x), changes=("total",))
own("dlctest::stored", _stored, lambda out, x: None, changes=("out",))
OPS = torch.ops.dlctest


class Of(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *values):
        return self.function(*values)


def both(function, *calls, dynamic=None):
    """A function by dlc.compile and by torch.compile, against eager PyTorch."""
    from dlc.torch_backend import backend

    compare(Of(function), *calls, **({"dynamic": dynamic} if dynamic else {}))
    torch._dynamo.reset()
    made = torch.compile(function, backend=backend)
    for arguments in calls:
        arguments = arguments if isinstance(arguments, tuple) else (arguments,)
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("error", dlc.CompileWarning)
            close(made(*arguments), function(*arguments))


def test_function():
    dlc.register_op("dlctest::twice", lambda x: f"{x} * 2.0")
    both(lambda x: OPS.twice(x + 1).relu(), torch.randn(2, 3), torch.randn(2, 3))
    dynamic = {"values_0": {0: "N"}}
    compare(Of(lambda x: OPS.twice(x)), torch.randn(4, 3), torch.randn(7, 3), dynamic=dynamic)


def test_text():
    """The arguments stand in a text by their names, those left out with their defaults."""
    dlc.register_op("dlctest::scaled.default", "relu(x) * factor - relu(-x) * factor + shift")
    both(lambda x: OPS.scaled(x, 0.5) + OPS.scaled(x, shift=-2), torch.randn(2, 3))


def test_decorator():
    @dlc.register_op("dlctest::parts")
    def parts(x):
        return f"amax({x}, -1)", f"argmax({x}, -1)"

    expect(parts("x"), ("amax(x, -1)", "argmax(x, -1)"))
    both(lambda x: OPS.parts(x * 2), torch.randn(5, 3))
    both(lambda x: OPS.parts(x * 2)[1], torch.randn(5, 3))
    # One text of several results.
    dlc.register_op("dlctest::parts", lambda x: f"max({x}, -1)")
    both(lambda x: OPS.parts(x * 2), torch.randn(5, 3))


def test_lists():
    seen = []

    @dlc.register_op("dlctest::joined")
    def joined(xs, sizes, bias):
        seen.append((len(xs), tuple(sizes), bias is None))
        text = f"cat([{', '.join(f'reshape({x}, {sizes})' for x in xs)}], dim=0)"
        return text if bias is None else f"{text} + {bias}"

    x, y, bias = torch.randn(2, 3), torch.randn(3, 2), torch.randn(6)
    both(lambda x, y, bias: OPS.joined([x, y], [1, 6], bias), (x, y, bias))
    both(lambda x, y: OPS.joined([x, y, x], [6], None), (x, y))
    expect(set(seen), {(2, (1, 6), False), (3, (6,), True)})


def test_sizes():
    """A size that varies is a text."""
    dlc.register_op("dlctest::first", lambda x, count: f"narrow({x}, 0, 0, {count}) + 0.0")
    calls = [(torch.randn(9, 3), torch.randn(n, 3)) for n in (4, 5)]
    module = Of(lambda x, y: OPS.first(torch.cat([x, y]), y.shape[0]))
    compare(module, *calls, dynamic={"values_1": {0: "N"}})
    compare(module, *calls[:1])
    half = Of(lambda x: OPS.first(x, x.shape[0] // 2 + 1))
    compare(half, *(torch.randn(n, 2) for n in (8, 9)), dynamic={"values_0": {0: "N"}})
    both_sizes = Of(
        lambda x, y: OPS.first(torch.cat([x, y]), torch.sym_max(x.shape[0], y.shape[0]))
    )
    calls = [(torch.randn(m, 2), torch.randn(n, 2)) for m, n in ((8, 3), (2, 7))]
    compare(both_sizes, *calls, dynamic={"values_0": {0: "N"}, "values_1": {0: "M"}})


def test_changed_arguments():
    """The new value of an argument is a result."""
    dlc.register_op(
        "dlctest::bump", lambda total, x, factor: (f"{x} - 1.0", f"{total} + {x} * {factor}")
    )
    dlc.register_op("dlctest::stored", "sin(x)")

    def function(x):
        total, out = x + 1, torch.empty_like(x)
        less = OPS.bump(total, x, 2.0)
        OPS.stored(out, less)
        return total, out, less

    both(function, torch.randn(2, 3))

    class Kept(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.ones(3))

        def forward(self, x):
            return OPS.bump(self.total, x) + self.total

    module, x = Kept(), torch.randn(3)
    model = compiled(module, x)
    for _ in range(3):
        close(model(x), module(x))

    def row(x):
        rows = x + 1
        OPS.stored(rows[0], x[1])
        return rows

    why = "torch.ops.dlctest.stored.default: it changes 'out', which is a view of another tensor"
    _refused(row, torch.ones(2, 3), why)


def _refused(function, example, *parts):
    """dlc.compile refuses it in a message with these parts, torch.compile warns of it."""
    from dlc.torch_backend import backend

    try:
        compiled(Of(function), example)
    except dlc.Error as error:
        said = str(error)
    else:
        raise Failure("nothing was refused")
    torch._dynamo.reset()
    with torch.no_grad(), warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        close(torch.compile(function, backend=backend)(example), function(example))
    warned = " ".join(str(one.message) for one in found if one.category is dlc.CompileWarning)
    for part in parts:
        if part not in said or part not in warned:
            raise Failure(f"'{said}', and the warning '{warned}'; expected '{part}'")


def test_wrong_texts():
    x = torch.ones(2, 3)
    title = "torch.ops.dlctest.wrong.default"
    for function, *parts in (
        (lambda x: f"{x} *", "is 'x *' of (x: f32[2,3])", "expected"),
        (lambda x: f"rleu({x})", "unknown function or layer 'rleu'; did you mean 'relu'?"),
        ("y * 2.0", "is 'y * 2.0'", "unknown"),
        (lambda x: f"sum({x}, 0)", "it gives f32[3]; expected f32[2,3], which is what PyTorch's"),
        (lambda x: f"to({x}, i64)", "it gives i64[2,3]; expected f32[2,3]"),
        (lambda x: (x, x), "gave 2 texts; expected 1"),
        (lambda x: 2.0, "gave 2.0; expected a text"),
        (lambda x: x + 1, "raised TypeError: can only concatenate str"),
        (lambda x, y: x, "raised TypeError", "missing 1 required positional argument: 'y'"),
    ):
        dlc.register_op("dlctest::wrong", function)
        _refused(lambda x: OPS.wrong(x) + 1, x, title, *parts)
    _refused(lambda x: OPS.absent(x), x, "dlctest.absent", "dlc.register_op gives it one")


def test_wrong_dims():
    """A dim that varies is checked, too."""
    dlc.register_op("dlctest::wrong", lambda x: f"cat([{x}, {x}], dim=0)")
    try:
        compiled(Of(lambda x: OPS.wrong(x)), torch.ones(4, 3), dynamic={"values_0": {0: "N"}})
    except dlc.Error as error:
        if "it gives f32[N*2,3]; expected f32[N,3]" not in str(error):
            raise Failure(str(error)) from None
    else:
        raise Failure("nothing was refused")


def test_wrong_names():
    text = "x * 2.0"
    with refused(
            "PyTorch has no op dlctest::nosuch; define it before it is registered, as by torch.library.custom_op"
    ):
        dlc.register_op("dlctest::nosuch", text)
    with refused("dlctest::twice has no overload 'Tensor'; it has default"):
        dlc.register_op("dlctest::twice.Tensor", text)
    with refused("register_op has the name 'twice'; expected \"library::op\""):
        dlc.register_op("twice", text)
    with refused("dlc has a row of its own for relu.default"):
        dlc.register_op("aten::relu", text)
    torch.library.define("dlctest::number", "(Tensor x) -> int")
    with refused("dlctest::number.default gives a int; a row can give tensors only"):
        dlc.register_op("dlctest::number", text)
    torch.library.define("dlctest::view", "(Tensor(a) x) -> Tensor(a)")
    with refused(
            "dlctest::view.default returns an argument or a view of one; define an op that returns a new tensor"
    ):
        dlc.register_op("dlctest::view", text)


def test_op_of_pytorch():
    """One that dlc has no row for, of several overloads."""
    dlc.register_op("aten::i0", lambda x: f"exp({x})")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.bin")
        model = compiled(Of(lambda x: torch.i0(x)), torch.ones(3), output=path)
        close(model(torch.ones(3)), torch.ones(3).exp())
        close(dlc.load(path, device="cpu")(torch.ones(3)), torch.ones(3).exp())


def test_page():
    """The program of docs/python.md that registers an op."""
    with open(os.path.join(ROOT, "docs", "python.md"), encoding="utf-8") as source:
        blocks = re.findall(r"^```python\n(.*?)^```", source.read(), re.M | re.S)
    names = {"dlc": dlc, "torch": torch}
    exec(next(block for block in blocks if "register_op" in block), names)  # noqa: S102
    both(lambda x: names["scaled"](x, 2.5), torch.randn(2, 3))
    dlc.register_op("mylib::scaled", "x * factor + shift")
    both(lambda x: names["scaled"](x, 2.5, shift=-1.0), torch.randn(2, 3))


if __name__ == "__main__":
    sys.exit(run(sys.modules[__name__]))
