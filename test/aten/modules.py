"""torch.nn.Module through dlc.compile: arguments, results, dims, states and weights, against eager
PyTorch."""

import collections
import contextlib
import io
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
from models import ROOT, Failure, dlc, expect, run  # noqa: E402

torch.manual_seed(0)


def compiled(module, example, **options):
    """On the CPU, without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", dlc.CompileWarning)
        return dlc.compile(module, example, device="cpu", **options)


def close(found, wanted, what="results"):
    same = type(found) is type(wanted)
    if isinstance(wanted, torch.Tensor):
        same = same and found.shape == wanted.shape and found.dtype == wanted.dtype
        same = same and torch.allclose(found, wanted, rtol=1e-4, atol=1e-5, equal_nan=True)
    elif isinstance(wanted, dict):
        expect(list(found), list(wanted))
        return [close(found[key], wanted[key], f"{what}['{key}']") for key in wanted]
    elif isinstance(wanted, (tuple, list)):
        same = same and len(found) == len(wanted)
        if same:
            return [close(a, b, f"{what}[{i}]") for i, (a, b) in enumerate(zip(found, wanted))]
    else:
        same = same and found == wanted
    if not same:
        raise Failure(f"{what}: {found}, eager PyTorch gives {wanted}")
    return None


def compare(module, example, *calls, **options):
    """The module and its model at the example and at other arguments."""
    model = compiled(module.eval(), example, **options)
    for arguments in (example, *calls):
        arguments = arguments if isinstance(arguments, tuple) else (arguments,)
        with torch.no_grad():
            close(model(*arguments), module(*arguments))
    return model


def refused(module, example, sentence, **options):
    try:
        dlc.compile(module.eval(), example, device="cpu", **options)
    except dlc.Error as error:
        if sentence not in str(error):
            raise Failure(f"'{error}', expected '{sentence}'") from None
        return
    raise Failure("nothing was refused")


class Sliced(nn.Module):
    def forward(self, x):
        return x[:, -3:], x[:, :3], x[:, : x.shape[1] // 2], x[:, 1:-1]


def test_slices_of_dynamic_dims():
    model = compare(
        Sliced(),
        torch.randn(2, 8, 4),
        *(torch.randn(n, t, 4) for n, t in ((1, 3), (5, 7), (3, 40))),
        dynamic={"x": {0: "N", 1: "T"}},
    )
    expect([str(value.shape) for value in model.inputs], ["('N', 'T', 4)"])


def test_example_of_one_row():
    class Net(nn.Linear):
        pass

    model = compare(
        Net(4, 3), torch.randn(1, 4), torch.randn(7, 4), dynamic={"input": {0: "batch"}}
    )
    expect(model.inputs[0].shape, ("batch", 4))


class Heads(nn.Module):
    def forward(self, x):
        return x.reshape(x.shape[0], 4, x.shape[1] // 4).sum(-1)


def test_steps():
    """A dim that must be a multiple is one."""
    model = compare(Heads(), torch.randn(2, 8), torch.randn(3, 40), dynamic={"x": {1: "C", 0: "N"}})
    with torch.no_grad():
        try:
            model(torch.randn(2, 9))
        except dlc.Error as error:
            expect(error.code, dlc.Code.USAGE)
        else:
            raise Failure("a dim of 9 was taken for a multiple of 4")


def test_names():
    """A dim is one size wherever its name stands, and an output has the name that it is given."""

    class Joins(nn.Module):
        def forward(self, x, pairs):
            add = x + 1
            return add.sum(0), torch.cat([torch.cat(pair, 1) for pair in pairs], 1) @ add[:, :2]

    def arguments(p):
        return torch.randn(p, 4), [(torch.randn(3, 0), torch.randn(3, p)), (torch.randn(3, 0),) * 2]

    dims = {"x": {0: "P"}, "pairs": [({}, {1: "P"}), None]}
    model = compare(Joins(), arguments(5), arguments(2), dynamic=dims, outputs=["add", "y"])
    expect([value.name for value in model.outputs], ["add", "y"])
    expect(str(model.inputs[0]), "x: f32[P,4]")


def test_example_without_elements():
    """Where the example has no elements a call may have none, and otherwise it has some."""

    class Longer(nn.Module):
        def forward(self, past, x):
            return torch.cat([past, x]) * 2

    past, x = torch.randn(0, 3), torch.randn(2, 3)
    dims = {"past": {0: "P"}, "x": {0: "T"}}
    model = compare(Longer(), (past, x), (torch.randn(7, 3), x), dynamic=dims)
    expect([value.min_shape for value in model.inputs], [(0, 3), (1, 3)])


def test_dims_that_cannot_be_dynamic():
    refused(
        nn.Linear(4, 3),
        torch.randn(2, 4),
        "PyTorch cannot keep C dynamic: the module needs it to be 4",
        dynamic={"input": {1: "C"}},
    )
    for dynamic, sentence in (
        ({"y": {0: "N"}}, "dynamic names y; the inputs are input"),
        ({"input": {5: "N"}}, "dynamic has dim 5 of a tensor of 2 dims"),
        ({"input": {0: "a b"}}, "dynamic has the name 'a b'; expected letters, digits and '_'"),
        ({"input": [0]}, 'dynamic has [0]; expected names by dim, as in {0: "N"}'),
    ):
        refused(nn.Linear(4, 3), torch.randn(2, 4), sentence, dynamic=dynamic)


class ReadSize(nn.Module):
    def forward(self, x, n):
        k = n.item()
        torch._check(k >= 0)
        torch._check(k <= x.shape[0])
        return x[:k] * 2, torch.nonzero(x[:, 0] > 0)


def test_sizes_that_data_say():
    x = torch.randn(9, 3)
    compare(ReadSize(), (x, torch.tensor(4)), (x, torch.tensor(9)), (x, torch.tensor(1)))


class Followed(nn.Module):
    def forward(self, x):
        return x * 2 if bool((x > 0).any()) else x - 1


def test_quiet():
    """What PyTorch prints of values that its export does not know is no news: it is asked again."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        compiled(Decides(), torch.ones(4))
    expect(said.getvalue(), "")


class Decides(nn.Module):
    def forward(self, x):
        return x * 2 if bool((x > 0).any()) else x - 1


def test_branches_that_the_example_decides():
    """A run whose data decide otherwise is refused."""
    model = compare(Followed(), torch.ones(4), torch.tensor([-1.0, 2.0, -3.0, 0.0]))
    try:
        model(-torch.ones(4))
    except dlc.Error as error:
        expect("does not take" in str(error) or "computed" in str(error), True)
    else:
        raise Failure("the other branch was taken for this one")


Pair = collections.namedtuple("Pair", "first second")


class Trees(nn.Module):
    def forward(self, pair, table, *more, scale=1.0, mask=None):
        first = pair.first * scale + table["a"]
        if mask is not None:
            first = first.masked_fill(mask, 0.0)
        return {"first": first, "rest": [pair.second - more[0], (table["b"][0], None, 3)]}


def test_trees():
    t = torch.randn
    module = Trees().eval()
    example = (Pair(t(2, 3), t(2, 3)), {"a": t(3), "b": [t(4)]}, t(2, 3))
    compare(module, example, (Pair(t(2, 3), t(2, 3)), {"a": t(3), "b": [t(4)]}, t(2, 3)))
    named = {"pair": example[0], "table": example[1], "scale": 2.0, "mask": torch.eye(2, 3) > 0}
    try:
        compiled(Trees(), named)
    except dlc.Error as error:
        raise Failure(str(error)) from None
    except IndexError:
        pass  # forward itself needs one more


def test_other_constants():
    model = compiled(nn.Identity(), torch.ones(2))
    with torch.no_grad():
        close(model(torch.ones(2)), torch.ones(2))

    class Scaled(nn.Module):
        def forward(self, x, scale=1.0):
            return x * scale

    model = compiled(Scaled(), {"x": torch.ones(2), "scale": 3.0})
    close(model(torch.ones(2), scale=3.0), torch.full((2,), 3.0))
    try:
        model(torch.ones(2), scale=4.0)
    except dlc.Error as error:
        expect(str(error), "'scale' is 4.0; the model was compiled for 3.0, which is a part of it")
    else:
        raise Failure("a constant of the model was taken for another")


class Rows(nn.Module):
    """Needs 1 channel, an even number of rows, and at most 64 columns."""

    def __init__(self):
        super().__init__()
        self.conv, self.bias = nn.Conv2d(1, 2, 3, padding=1), nn.Parameter(torch.randn(64))

    def forward(self, x, y):
        rows = self.conv(x).unflatten(2, (2, -1)).sum(2) + self.bias[: x.shape[3]]
        return rows, y * 2


def auto(module, example, *calls):
    """The shapes of the inputs under dynamic="auto", and what a warning says."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model = dlc.compile(module.eval(), example, device="cpu", dynamic="auto")
    for arguments in (example, *calls):
        arguments = arguments if isinstance(arguments, tuple) else (arguments,)
        with torch.no_grad():
            close(model(*arguments), module(*arguments))
    said = [str(one.message) for one in found if one.category is dlc.CompileWarning]
    return [str(value) for value in model.inputs], said


def test_auto_dims():
    t = torch.randn
    begin = 'dynamic="auto": these dims are numbers, which PyTorch needs for the module: '
    shapes, said = auto(
        Rows(), (t(1, 1, 8, 9), t(3)), (t(4, 1, 4, 64), t(1)), (t(1, 1, 6, 1), t(9))
    )
    expect(shapes, ["x: f32[x_0,1,2*x_2_part,x_3]", "y: f32[y_0]"])
    expect(said, [begin + "x[1] = 1"])
    shapes, said = auto(Of2(torch.add), (t(1, 4), t(1, 4)), (t(5, 2), t(5, 2)))
    expect((shapes, said), (["x: f32[x_0,x_1]", "y: f32[x_0,x_1]"], []))
    shapes, said = auto(nn.LSTM(4, 5), t(6, 1, 4), t(1, 3, 4))
    expect((shapes, said), (["input: f32[input_0,input_1,4]"], [begin + "input[2] = 4"]))
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    shapes, said = auto(layer, t(1, 5, 16), t(3, 1, 16))
    expect((shapes, said), (["src: f32[src_0,src_1,16]"], [begin + "src[2] = 16"]))
    refused(layer, t(1, 5, 16), "dynamic is 'all'; expected \"auto\", or names", dynamic="all")


class Of2(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x, y):
        return self.function(x, y)


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(3))
        self.register_buffer("turn", torch.tensor(5))

    def forward(self, x):
        self.seen.add_(x.sum(0))
        self.turn += 1
        return self.seen / self.turn


def test_states():
    module, x = Counter().eval(), torch.randn(2, 3)
    model = compiled(module, x)
    expect(module.turn.item(), 5)  # compiling changes nothing
    for _ in range(3):
        close(model(x), module(x))
    model.reset()
    close(model(x), Counter().eval()(x))
    refused(Counter(), x, "forward changes the buffer 'seen'", states="refuse")


def test_states_back():
    """What the states hold goes back into the module."""

    class Keeps(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("rows", torch.zeros(2, 3, dtype=torch.bfloat16))
            self.register_buffer("scale", torch.full((3,), 2.0))
            self.register_buffer("seen", torch.zeros(2, dtype=torch.bool))
            self.inner = Counter()

        def forward(self, x):
            self.rows.add_(x.to(torch.bfloat16))
            self.scale.mul_(2.0)
            self.seen |= x[:, 0] > 0
            return self.inner(x) * self.scale + self.rows

    module, x = Keeps().eval(), torch.randn(2, 3)
    changed = ("rows", "scale", "seen", "inner.seen", "inner.turn")
    model = compiled(module, x)
    other = model.clone()
    for runs in range(3):
        wanted = {name: module.state_dict()[name] for name in changed}
        found = model.state_dict()
        close({name: found[name] for name in changed}, wanted)
        expect(len(found), len(changed))
        close(model(x), module(x))
    restored = Keeps().eval()
    restored.load_state_dict(model.state_dict(), strict=False)
    close(restored(x), model(x))
    close(other(x), Keeps().eval()(x))
    model.reset()
    close(model.state_dict()["scale"], torch.full((3,), 2.0))


class Held:
    """A cache that is no module."""

    def __init__(self):
        self.rows, self.count = torch.zeros(4, 3), torch.tensor(0)


def test_tensors_outside_of_modules():
    """Those that forward changes are states, whether or not they are buffers, too."""

    class Keeps(nn.Module):
        def __init__(self, has_buffers):
            super().__init__()
            self.held, self.embedding = Held(), nn.Embedding(8, 3)
            self.tied = self.embedding.weight
            if has_buffers:
                self.register_buffer("rows", self.held.rows)

        def forward(self, ids):
            self.held.rows.index_copy_(
                0, torch.arange(2) + self.held.count % 4, self.embedding(ids)
            )
            self.held.count.add_(2)
            return self.held.rows @ self.tied.T

    for has_buffers in (False, True):
        module, ids = Keeps(has_buffers).eval(), torch.tensor([1, 5])
        model = compiled(module, ids)
        expect(module.held.count.item(), 0)
        for _ in range(3):
            with torch.no_grad():
                close(model(ids), module(ids))


def test_training_flags():
    """Parts of a module that are in evaluation mode, such as frozen batch norms, stay so."""
    module = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout(0.5))
    module[1].eval()
    compiled(module, torch.randn(2, 3))
    expect([part.training for part in module.modules()], [True, True, False, True])


def test_ops_in_place():
    """Values that are written, beside views of them that are read before and afterwards."""

    class InPlace(nn.Module):
        def __init__(self, number):
            super().__init__()
            self.number, self.fc = number, nn.Linear(3, 3)

        def forward(self, x):
            y = self.fc(x)
            return getattr(self, f"case_{self.number}")(x, y)

        def case_0(self, x, y):  # one after another, and the first name again
            z = y.relu_()
            y.add_(1.0)
            w = z.mul_(x)
            return y * z + w

        def case_1(self, x, y):  # a view from before sees what is written
            row = y[0]
            y.relu_()
            return row + y

        def case_2(self, x, y):  # a view is written
            y[:, 1].fill_(2.0)
            y[0].mul_(3.0)
            return y + x

        def case_3(self, x, y):  # what was read before keeps its value
            before = y + 0.0
            y.clamp_(min=0.0)
            return before - y

        def case_4(self, x, y):  # f16 written by f32 stays f16
            half = y.to(torch.float16)
            half.add_(x)
            return half

        def case_5(self, x, y):  # the input's memory
            flat = x.view(-1)
            y.copy_(x)
            return y.sub_(flat[0]), flat.contiguous().reshape(2, 3)

        def case_6(self, x, y):  # what may be the same memory
            same = y.contiguous()
            y.neg_()
            return same, y.t().contiguous().neg_()

    for number in range(7):
        compare(InPlace(number), torch.randn(2, 3), torch.randn(2, 3))


class Changes(nn.Module):
    def forward(self, x, y):
        x.add_(y)
        return x * 2


def test_changed_inputs():
    model = compiled(Changes(), (torch.zeros(2, 3), torch.ones(3)))
    x, y = torch.randn(2, 3), torch.randn(3)
    ours, theirs = x.clone(), x.clone()
    close(model(ours, y), Changes()(theirs, y))
    close(ours, theirs, "the changed input")


def test_tied_weights():
    """One that has two names is stored once."""

    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.head = nn.Embedding(300, 16), nn.Linear(16, 300, bias=False)
            self.head.weight = self.embedding.weight

        def forward(self, ids):
            return self.head(self.embedding(ids))

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "tied.bin")
        compare(Tied(), torch.tensor([[1, 2, 299]]), output=path)
        if os.path.getsize(path) > 2 * 300 * 16 * 4 + 60000:
            raise Failure(f"{os.path.getsize(path)} bytes for 19,200 of weights")


def test_recurrent_layers():
    class Packed(nn.Module):
        def __init__(self, kind):
            super().__init__()
            self.layer = kind(4, 5, 2, batch_first=True, bidirectional=True)

        def forward(self, x, lengths):
            packed = nn.utils.rnn.pack_padded_sequence(x, lengths, True, enforce_sorted=False)
            padded, _ = nn.utils.rnn.pad_packed_sequence(self.layer(packed)[0], True, -1.0)
            return padded

    x = torch.randn(3, 6, 4)
    for kind in (nn.LSTM, nn.GRU, nn.RNN):
        layer = kind(4, 5, 2, batch_first=True, bidirectional=True)
        compare(
            layer,
            x,
            torch.randn(2, 9, 4),
            torch.randn(1, 1, 4),
            dynamic={"input": {0: "N", 1: "T"}},
        )
        lengths = (torch.tensor([4, 6, 2]), torch.tensor([1, 3, 3]))
        compare(Packed(kind), (x, lengths[0]), (x, lengths[1]))


def test_hidden_queries():
    """A query that may look at nothing gives zeros, as in PyTorch."""

    class Masked(nn.Module):
        def forward(self, q, k, v, mask):
            return nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    q, k, v = (torch.randn(2, 4, 5, 8) for _ in range(3))
    mask = torch.rand(2, 1, 5, 5) > 0.3
    mask[0, 0, 2] = False
    compare(Masked(), (q, k, v, mask))
    compare(Masked(), (q, k, v, torch.zeros(2, 1, 5, 5).masked_fill(~mask, float("-inf"))))


class Stage(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.first = nn.LayerNorm(width), nn.Linear(width, 2 * width)
        self.second = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.second(torch.relu(self.first(self.norm(x))))


def test_text():
    """tools/scripts/export_torch.py writes modules that repeat as a block and a loop."""
    sys.path.insert(0, os.path.join(ROOT, "tools", "scripts"))
    import export_torch

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.stages = nn.Sequential(*(Stage(8) for _ in range(4)))
            self.head = nn.Linear(8, 3)

        def forward(self, x):
            return self.head(self.stages(x))

    net = Net().eval()
    x = torch.randn(5, 8)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "net.dl")
        export_torch.export(net, {"x": x[:2]}, path, outputs=["y"], dynamic={"x": {0: "N"}})
        with open(path, encoding="utf-8") as text:
            lines = text.read().splitlines()
        if not any("block" in line for line in lines) or not any(
            "for i in" in line for line in lines
        ):
            raise Failure("\n".join(lines))
        model = dlc.compile(path, device="cpu")
        with torch.no_grad():
            close(model(x), net(x))
        expect([value.name for value in (*model.inputs, *model.outputs)], ["x", "y"])


def test_page():
    """The program of docs/python.md that compiles a module."""
    with open(os.path.join(ROOT, "docs", "python.md"), encoding="utf-8") as source:
        blocks = re.findall(r"^```python\n(.*?)^```", source.read(), re.M | re.S)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(10, 4)

        def forward(self, ids, mask):
            return self.table(ids).masked_fill(mask.unsqueeze(-1), 0.0)

    ids = torch.tensor([[1, 2, 9]])
    names = {"dlc": dlc, "net": Net().eval(), "ids": ids, "mask": ids == 2}
    exec(next(block for block in blocks if "(ids, mask)" in block), names)  # noqa: S102
    with torch.no_grad():
        close(names["logits"], names["net"](ids, names["mask"]))


def test_convolutions_as_they_are_written():
    """Padding by a word, and weights by direction and length: no second trace takes them apart."""
    norm = torch.nn.utils.parametrizations.weight_norm
    for module, x in (
        (nn.Conv2d(3, 4, (4, 3), padding="same", dilation=(1, 2)), torch.randn(2, 3, 9, 8)),
        (nn.Conv1d(3, 4, 4, stride=2, padding="valid"), torch.randn(2, 3, 9)),
        (nn.Conv1d(3, 4, 3, padding="same"), torch.randn(3, 9)),
        (nn.Conv3d(2, 3, 2, padding="same"), torch.randn(1, 2, 4, 5, 6)),
        (norm(nn.Linear(4, 3)), torch.randn(2, 4)),
        (norm(nn.Conv1d(4, 3, 3), dim=None), torch.randn(2, 4, 8)),
    ):
        close(dlc.compile(module.eval(), x)(x), module(x).detach())


def test_what_is_refused():
    class Complex(nn.Module):
        def forward(self, x):
            return torch.linalg.eigvals(x).real

    refused(Complex(), torch.eye(3), "torch.ops.aten.linalg_eig.default")
    refused(nn.Dropout(), None, "needs an example of its inputs")

    class Random(nn.Module):
        def forward(self, x):
            return torch.poisson(x)

    refused(Random(), torch.ones(3), "draws numbers of a distribution that dlc does not have")


if __name__ == "__main__":
    sys.exit(run(sys.modules[__name__]))
