"""Networks at the size that people use from a torch.nn.Module to a loaded model, and their calls,
printed beside PyTorch: seconds of torch.export and of `dlc compile` of the text alone, of
dlc.compile as a whole, and of torch.compile's first call by dlc and by Inductor; milliseconds of a
call by dlc, in eager PyTorch and by Inductor. Each on as many threads as there are processors.

  bench pytorch [NAME...] [--no-inductor]
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("DLC_BUILD_DIR", os.path.join(ROOT, "build"))
sys.path.insert(0, os.path.join(BUILD, "python"))
import torch  # noqa: E402

import dlc  # noqa: E402

#: Of PyTorch's own time and of dlc's, the largest that a whole compilation should take.
EXPORT_SHARE, COMPILE_SHARE = 2.0, 1.2


class Logits(torch.nn.Module):
    """The first result of a network of transformers for tokens of any number."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, ids):
        return self.network(ids, use_cache=False)[0]


class First(torch.nn.Module):
    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x):
        return self.network(x)[0]


def vision(name):
    import torchvision

    def make():
        return getattr(torchvision.models, name)(), torch.randn(1, 3, 224, 224), {0: "N"}

    return make


def text(model, config, **sizes):
    import transformers

    def make():
        made = getattr(transformers, model)(getattr(transformers, config)(**sizes))
        ids = torch.randint(0, 1000, (1, 128))
        wrap = First if model.startswith("Bert") else Logits
        return wrap(made), ids, {0: "N", 1: "T"}

    return make


def networks():
    return {
        "resnet18": vision("resnet18"),
        "resnet50": vision("resnet50"),
        "mobilenet_v3_large": vision("mobilenet_v3_large"),
        "efficientnet_b0": vision("efficientnet_b0"),
        "vit_b_16": vision("vit_b_16"),
        "bert-base": text("BertModel", "BertConfig"),
        "gpt2": text("GPT2LMHeadModel", "GPT2Config"),
    }


def seconds(function):
    began = time.monotonic()
    result = function()
    return time.monotonic() - began, result


def milliseconds(function):
    """The median of calls for about a second."""
    function()
    times, end = [], time.monotonic() + 1
    while time.monotonic() < end or len(times) < 5:
        times.append(seconds(function)[0])
    return 1e3 * sorted(times)[len(times) // 2]


def compiled_alone(net, x, dims):
    """Seconds of `dlc compile` of a network's text."""
    from dlc import compiler
    from dlc.aten import export

    with tempfile.TemporaryDirectory() as folder:
        path, _ = export.write(net, x, folder, dynamic={_parameter(net): dims})
        command = [compiler.find_tool(), "compile", path, "-q", "--target", "cpu", "-o"]
        return seconds(lambda: subprocess.run([*command, path + ".bin"], check=True))[0]


def _parameter(net):
    return list(net.forward.__code__.co_varnames)[1]


def backend_figures(net, x, backend):
    """Seconds of the first call, milliseconds of the next ones."""
    torch._dynamo.reset()
    made = torch.compile(net, backend=backend)
    return seconds(lambda: made(x))[0], milliseconds(lambda: made(x))


def measure(name, make, with_inductor):
    net, x, dims = make()
    net.eval()
    shapes = ({dim: torch.export.Dim.AUTO for dim in dims},)
    wide = x.expand(2, *x.shape[1:]).clone()
    exported = seconds(lambda: torch.export.export(net, (wide,), dynamic_shapes=shapes))[0]
    alone = compiled_alone(net, x, dims)
    whole, model = seconds(
        lambda: dlc.compile(net, x, dynamic={_parameter(net): dims}, device="cpu")
    )
    wanted = net(x)
    far = ((model(x) - wanted).abs().max() / (wanted.abs().max() + 1e-9)).item()
    assert far < 1e-3, f"{name} is {far:.1e} off eager PyTorch"
    from dlc.torch_backend import backend

    first, call = backend_figures(net, x, backend)
    eager = milliseconds(lambda: net(x))
    inductor = backend_figures(net, x, "inductor") if with_inductor else (float("nan"),) * 2
    limit = EXPORT_SHARE * exported + COMPILE_SHARE * alone
    print(
        f"{name:20} {exported:7.1f} {alone:8.1f} {whole:7.1f} {whole / limit:6.2f} "
        f"{first:9.1f} {inductor[0]:9.1f} {milliseconds(lambda: model(x)):8.1f} {call:8.1f} "
        f"{eager:8.1f} {inductor[1]:8.1f}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--no-inductor", action="store_true", help="leave Inductor out")
    options = parser.parse_args()
    os.environ["DLC_TORCH_CACHE"] = ""
    warnings.simplefilter("ignore")
    known = networks()
    if unknown := sorted(set(options.names) - set(known)):
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(known)}")
    torch.manual_seed(0)
    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads")
    print(
        f"{'':20} {'seconds':>7} {'dlc':>8} {'dlc.':>7} {'of':>6} {'first call':>9}"
        f"{'':>10} {'ms of a call':>17}\n"
        f"{'':20} {'export':>7} {'compile':>8} {'compile':>7} {'limit':>6} {'dlc':>9} "
        f"{'inductor':>9} {'model':>8} {'backend':>8} {'eager':>8} {'inductor':>8}"
    )
    with torch.no_grad():
        for name in options.names or known:
            measure(name, known[name], not options.no_inductor)


if __name__ == "__main__":
    main()
