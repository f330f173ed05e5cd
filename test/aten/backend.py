"""torch.compile(model, backend="dlc")."""

import logging
import os
import subprocess
import sys
import tempfile
import time
import warnings

import torch

sys.path.insert(
    0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python")
)
from models import Failure, dlc, expect, run, warned  # noqa: E402

logging.getLogger("torch").setLevel(logging.ERROR)  # of graph breaks, which are meant
os.environ["DLC_TORCH_CACHE"] = ""


def need():
    from dlc.torch_backend import backend

    torch._dynamo.reset()
    return backend


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.conv, self.bn, self.fc = (
            torch.nn.Conv2d(1, 4, 3),
            torch.nn.BatchNorm2d(4),
            torch.nn.Linear(144, 5),
        )

    def forward(self, x):
        return torch.softmax(self.fc(torch.relu(self.bn(self.conv(x))).flatten(1)), -1)


class Broken(Net):
    def forward(self, x):
        y = super().forward(x)
        print(end="")  # a graph break
        return y * 2 if float(y.sum()) > 0 else y


def compare(net, *inputs, backend, calls=1):
    with torch.no_grad():
        expected, made = net(*inputs), torch.compile(net, backend=backend)
        for _ in range(calls):
            found = made(*inputs)
    if not torch.allclose(found, expected, rtol=1e-4, atol=1e-5):
        raise Failure(f"{found}, expected {expected}")
    return made


def counting(backend):
    """The backend, and the graphs that dlc ran of it."""
    graphs = []

    def counted(graph, inputs, **options):
        made = backend(graph, inputs, **options)
        graphs.append(made)
        return made

    return counted, graphs


def quiet(function, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error", dlc.CompileWarning)  # nothing runs in eager PyTorch
        return function(*arguments, **options)


def test_network():
    backend = need()
    made = quiet(compare, Net().eval(), torch.randn(2, 1, 8, 8), backend=backend, calls=3)
    with torch.no_grad():
        expect(made(torch.randn(5, 1, 8, 8)).shape, (5, 5))  # other shapes


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.projections, self.norm = torch.nn.Linear(16, 48), torch.nn.LayerNorm(16)

    def forward(self, x):
        q, k, v = self.projections(self.norm(x)).unflatten(-1, (3, 2, 8)).permute(2, 0, 3, 1, 4)
        return x + torch.nn.functional.scaled_dot_product_attention(q, k, v).transpose(
            1, 2
        ).flatten(2)


def test_attention():
    quiet(compare, Attention().eval(), torch.randn(2, 5, 16), backend=need())


def test_fused_layers():
    """The layers that PyTorch fuses in evaluation mode, with each of their masks."""
    x, causal = torch.randn(2, 6, 16), torch.triu(torch.full((6, 6), -torch.inf), 1)
    padding = torch.zeros(2, 6).masked_fill(torch.arange(6) >= torch.tensor([[4], [6]]), -torch.inf)
    for number in range(8):
        layer = torch.nn.TransformerEncoderLayer(
            *(16, 4, 32),
            batch_first=True,
            norm_first=number % 2 == 1,
            activation="gelu" if number < 4 else "relu",
        )
        masks = {"src_mask": causal if number % 4 > 1 else None}
        masks["src_key_padding_mask"] = padding if number in (1, 3, 4) else None

        def net(x, layer=layer.eval(), masks=masks):
            return layer(x, **masks)

        quiet(compare, net, x, backend=need())
    attention = torch.nn.MultiheadAttention(16, 4, batch_first=True).eval()
    with torch.no_grad():
        found = quiet(torch.compile(attention, backend=need()), x, x, x)
        for one, wanted in zip(found, attention(x, x, x), strict=True):
            expect(torch.allclose(one, wanted, rtol=1e-4, atol=1e-5), True)


def test_inference_mode():
    backend, net, x = need(), Net().eval(), torch.randn(2, 1, 8, 8)
    with torch.inference_mode():
        found = quiet(torch.compile(net, backend=backend), x)
        if not torch.allclose(found, net(x), rtol=1e-4, atol=1e-5):
            raise Failure("another result under torch.inference_mode()")


def test_options():
    backend = need()
    model = torch.compile(Net().eval(), backend=backend, options={"precision": "nosuch"})
    with torch.no_grad(), warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model(torch.randn(2, 1, 8, 8))
    expect(
        any(
            "--precision" in str(one.message) and one.category is dlc.CompileWarning
            for one in found
        ),
        True,
    )


def test_unknown_operator():
    """What dlc lacks is eager's; what lies around it is dlc's."""
    backend, graphs = counting(need())
    x = torch.randn(3, 3)
    with torch.no_grad(), warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        y = torch.compile(lambda x: torch.linalg.eigvalsh(x @ x.T + 1) * 2, backend=backend)(x)
    expect(torch.allclose(y, torch.linalg.eigvalsh(x @ x.T + 1) * 2, atol=1e-5), True)
    said = [str(one.message) for one in found if one.category is dlc.CompileWarning]
    expect(
        said,
        [
            "eager PyTorch runs torch.ops.aten._linalg_eigh: a factorization, which dlc does not have"
        ],
    )
    expect([sum(piece is not None for piece in graph.models.values()) for graph in graphs], [2])


def test_graph_break():
    backend, graphs = counting(need())
    quiet(compare, Broken().eval(), torch.randn(2, 1, 8, 8), backend=backend)
    expect(len(graphs) >= 2, True)


def test_changed_weights():
    """A weight that is changed in place after the first call counts."""
    net, backend = Net().eval(), need()
    x = torch.randn(2, 1, 8, 8)
    made = quiet(compare, net, x, backend=backend)
    with torch.no_grad():
        net.fc.weight.mul_(3)
        if not torch.allclose(made(x), net(x), rtol=1e-4, atol=1e-5):
            raise Failure("the compiled model has the old weights")


def test_weights_changed_unseen():
    """PyTorch counts no change through .data or NumPy."""
    net, x = Net().eval(), torch.randn(2, 1, 8, 8)
    made = quiet(compare, net, x, backend=need())
    with torch.no_grad():
        for change in (
            lambda: net.fc.weight.data.mul_(3),
            lambda: net.fc.bias.detach().numpy().fill(2),
            lambda: net.bn.running_mean.data.add_(1),
        ):
            change()
            if not torch.allclose(made(x), net(x), rtol=1e-4, atol=1e-5):
                raise Failure("the compiled model has the old weights")


def test_weights_that_keep_changing():
    """A weight that changes a second time is passed in each call: nothing is compiled again."""
    torch._dynamo.reset()
    backend, graphs = counting(need())
    net, x = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 2)).eval(), torch.ones(
        3, 4
    )
    made = torch.compile(net, backend=backend)
    compiled = []
    with torch.no_grad():
        for _ in range(6):
            close(quiet(made, x), net(x))
            (piece,) = [piece for graph in graphs for piece in graph.models.values()]
            compiled.append(piece.compiled[-1][1])
            net[0].weight += 0.5
        expect(len({id(model) for model in compiled}), 3)
        # The other weights are still watched.
        net[1].bias += 1
        close(quiet(made, x), net(x))
        expect(len(piece.source.weights), 3)


def test_one_graph_for_all_sizes():
    class Rows(torch.nn.Module):
        def forward(self, x):
            return x[:, -3:] * x.shape[1], torch.softmax(x, 1)

    torch._dynamo.reset()
    backend, graphs = counting(need())
    made = torch.compile(Rows(), backend=backend, dynamic=True)
    with torch.no_grad():
        for rows in (5, 6, 9, 40, 3):
            x = torch.randn(2, rows)
            for found, wanted in zip(quiet(made, x), Rows()(x)):
                if not torch.allclose(found, wanted, atol=1e-5):
                    raise Failure(f"another result for {rows} rows")
    pieces = [piece for graph in graphs for piece in graph.models.values()]
    expect([len(piece.compiled) for piece in pieces], [1] * len(pieces))


def test_numbers():
    """A Python number that changes counts."""
    made = torch.compile(lambda x, s: x * s + s, backend=need())
    with torch.no_grad():
        for scale in (2.0, 3.5, -1.0, 4):
            close(quiet(made, torch.ones(3), scale), torch.ones(3) * scale + scale)


def close(found, wanted):
    if not torch.allclose(found, wanted, rtol=1e-4, atol=1e-5):
        raise Failure(f"{found}, expected {wanted}")


def test_disk_cache():
    """A second process takes the compiled graph from the disk."""
    script = (
        "import torch, time, sys; sys.path[:0] = %r\n"
        "from dlc.torch_backend import backend\n"
        "torch.manual_seed(0); net = torch.nn.Linear(8, 8).eval(); made = torch.compile(net, backend=backend)\n"
        "with torch.no_grad(): made(torch.ones(2, 8))\n" % sys.path
    )
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "DLC_TORCH_CACHE": folder}
        for _ in range(2):
            done = subprocess.run(
                [sys.executable, "-c", script], env=env, capture_output=True, text=True
            )
            expect(done.returncode, 0)
            names = os.listdir(folder)
            expect(len(names), 1)
            times = os.stat(os.path.join(folder, names[0])).st_mtime_ns
            time.sleep(0.01)
        expect(os.stat(os.path.join(folder, names[0])).st_mtime_ns, times)


def test_gradients():
    backend, net = need(), Net().eval()
    with warned(
        "eager PyTorch runs a graph: it records gradients, which dlc does not compute; call the model "
        "under torch.no_grad()",
        dlc.CompileWarning,
    ):
        y = torch.compile(net, backend=backend)(torch.randn(2, 1, 8, 8))
    y.sum().backward()
    expect(net.fc.weight.grad is not None, True)


def test_random_numbers():
    """They are PyTorch's, from its generator."""
    backend = need()
    why = "draws random numbers from PyTorch's generator"
    with torch.no_grad(), warned(
        f"eager PyTorch runs torch.ops.aten.rand: {why}", dlc.CompileWarning
    ):
        torch.manual_seed(2)
        found = torch.compile(lambda x: torch.rand(3) + x, backend=backend)(torch.ones(3))
    torch.manual_seed(2)
    close(found, torch.rand(3) + 1)


def test_views_and_changes():
    """What a graph changes or returns of its inputs is kept outside of it."""
    backend, x, y = need(), torch.ones(3), torch.ones(2, 3)
    with torch.no_grad():
        close(
            quiet(torch.compile(lambda x: x.add_(1) * 2, backend=backend), x), torch.full((3,), 4.0)
        )
        expect(x.tolist(), [2, 2, 2])
        twice, turned = quiet(torch.compile(lambda x: (x * 2, x.t()), backend=backend), y)
        turned.mul_(5)
        close(y, torch.full((2, 3), 5.0))
        # Results that share memory go on sharing it.
        whole, row = quiet(torch.compile(lambda x: ((a := x + 1), a[0]), backend=backend), y)
        row.zero_()
        close(whole[0], torch.zeros(3))
        close(twice, torch.full((2, 3), 2.0))


if __name__ == "__main__":
    sys.exit(run(sys.modules[__name__]))
