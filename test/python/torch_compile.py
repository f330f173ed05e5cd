"""torch.compile(model, backend="dlc")."""
import sys
import warnings

import torch

from models import Failure, LeftOut, dlc, expect, run, warned

NEEDED = "torch.compile needs PyTorch 2.1 here"


def need():
    if not hasattr(torch, "compile") or tuple(map(int, torch.__version__.split(".")[:2])) < (2, 1):
        raise LeftOut(NEEDED)
    from dlc.torch_backend import backend
    torch._dynamo.reset()
    return backend


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.conv, self.bn, self.fc = torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Linear(144, 5)

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
        return x + torch.nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


def test_attention():
    quiet(compare, Attention().eval(), torch.randn(2, 5, 16), backend=need())


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
    expect(any("--precision" in str(one.message) and one.category is dlc.CompileWarning for one in found), True)


def test_unknown_operator():
    """What PyTorch cannot export or dlc lacks is eager's."""
    backend, x = need(), torch.randn(3, 3)
    with torch.no_grad(), warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        y = torch.compile(lambda x: torch.linalg.eigvalsh(x @ x.T) * 2, backend=backend)(x)
    expect(torch.equal(y, torch.linalg.eigvalsh(x @ x.T) * 2), True)
    expect([str(one.message).startswith("a graph runs in eager PyTorch: PyTorch cannot export it: ") for one in found
            if one.category is dlc.CompileWarning], [True])


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


def test_gradients():
    backend, net = need(), Net().eval()
    with warned("a graph runs in eager PyTorch: it records gradients, which dlc does not compute; call the model under torch.no_grad()",
                dlc.CompileWarning):
        y = torch.compile(net, backend=backend)(torch.randn(2, 1, 8, 8))
    y.sum().backward()
    expect(net.fc.weight.grad is not None, True)


def eager(function, why, *inputs):
    backend = need()
    with torch.no_grad(), warned(f"a graph runs in eager PyTorch: {why}", dlc.CompileWarning):
        torch.manual_seed(2)
        found = torch.compile(function, backend=backend)(*inputs)
    return found


def test_what_stays_in_eager():
    eager(lambda x: torch.rand(3) + x, "it draws random numbers", torch.ones(3))
    x = torch.ones(3)
    eager(lambda x: x.add_(1), "it changes a tensor in place that it is given", x)
    expect(x.tolist(), [2, 2, 2])
    y = torch.ones(2, 3)
    expect(eager(lambda x: (x * 2, x.t()), "it returns a tensor that it is given, or a view of it", y)[1].shape, (3, 2))


if __name__ == "__main__":
    sys.exit(run(sys.modules[__name__]))
