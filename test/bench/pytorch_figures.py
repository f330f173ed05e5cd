"""Networks at the size that people use from a torch.nn.Module to a loaded model, and their calls,
printed beside PyTorch: seconds of torch.export and of `dlc compile` of the text alone, of
dlc.compile as a whole, and of torch.compile's first call by dlc and by Inductor; milliseconds of a
call by dlc, in eager PyTorch and by Inductor. Each on as many threads as there are processors.

  bench pytorch [NAME...] [--no-inductor]
  bench pytorch --zoo [NAME...]     many other networks, by dlc.compile alone
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
    """The first tensor that a network gives."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x):
        found = self.network(x)
        while not isinstance(found, torch.Tensor):
            found = next(iter(found.values())) if isinstance(found, dict) else found[0]
        return found


def vision(name):
    import torchvision

    def make():
        made = torchvision.models
        for part in name.split("."):
            made = getattr(made, part)
        made = made(weights=None, weights_backbone=None) if "." in name else made()
        size = 299 if name == "inception_v3" else 224
        net = made if name.startswith(("res", "mobile", "efficient", "vit")) else First(made)
        return net, torch.randn(1, 3, size, size), {0: "N"}

    return make


def text(model, config, **sizes):
    import transformers

    def make():
        made = getattr(transformers, model)(getattr(transformers, config)(**sizes))
        ids = torch.randint(0, 1000, (1, 128))
        wrap = First if model.startswith("Bert") else Logits
        return wrap(made), ids, {0: "N", 1: "T"}

    return make


def others(model, config, x, dims, wrap=First, **sizes):
    """A network of transformers with the sizes that its configuration has."""

    def make():
        import transformers

        made = getattr(transformers, model)(getattr(transformers, config)(**sizes))
        return wrap(made), x(), dims

    return make


class Decoded(torch.nn.Module):
    """A network that writes a text to what it is given, with the tokens so far."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x):
        tokens = torch.ones(x.shape[0], 8, dtype=torch.int64)
        return self.network(x, decoder_input_ids=tokens, use_cache=False)[0]


def decoded(*arguments, **sizes):
    return others(*arguments, wrap=Decoded, **sizes)


def image(size=224):
    return lambda: torch.randn(1, 3, size, size)


def video():
    import torchvision

    return First(torchvision.models.video.s3d()), torch.randn(1, 3, 16, 224, 224), {0: "N"}


def zoo():
    """Other networks at the size that people use."""
    tokens, sound = (lambda: torch.randint(0, 1000, (1, 128))), (lambda: torch.randn(1, 16000))
    batch, text_dims = {0: "N"}, {0: "N", 1: "T"}
    found = {
        name: vision(name)
        for name in (
            "alexnet vgg16 googlenet inception_v3 densenet121 squeezenet1_1 shufflenet_v2_x1_0 "
            "mnasnet1_0 regnet_y_400mf convnext_tiny swin_t swin_v2_t maxvit_t"
        ).split()
    }
    found.update(
        {
            name: vision(f"segmentation.{name}")
            for name in ("fcn_resnet50", "deeplabv3_resnet50", "lraspp_mobilenet_v3_large")
        }
    )
    found.update(
        {
            "s3d": video,
            "wav2vec2": others("Wav2Vec2Model", "Wav2Vec2Config", sound, text_dims),
            "hubert": others("HubertModel", "HubertConfig", sound, text_dims),
            "dinov2": others("Dinov2Model", "Dinov2Config", image(), batch),
            "dpt": others("DPTForDepthEstimation", "DPTConfig", image(384), batch),
            "segformer": others("SegformerModel", "SegformerConfig", image(), batch),
            "clip_vision": others("CLIPVisionModel", "CLIPVisionConfig", image(), batch),
            "siglip_vision": others("SiglipVisionModel", "SiglipVisionConfig", image(), batch),
            "deberta_v2": others(
                "DebertaV2Model", "DebertaV2Config", tokens, batch, num_hidden_layers=6
            ),
            "distilbert": others("DistilBertModel", "DistilBertConfig", tokens, text_dims),
            "albert": others(
                "AlbertModel",
                "AlbertConfig",
                tokens,
                text_dims,
                hidden_size=768,
                num_attention_heads=12,
            ),
            "electra": others("ElectraModel", "ElectraConfig", tokens, text_dims),
            "mpnet": others("MPNetModel", "MPNetConfig", tokens, text_dims),
            "modernbert": others(
                "ModernBertModel", "ModernBertConfig", tokens, text_dims, num_hidden_layers=6
            ),
            "t5_encoder": others("T5EncoderModel", "T5Config", tokens, text_dims),
            "t5": decoded("T5Model", "T5Config", tokens, text_dims),
            "bart": decoded(
                "BartModel", "BartConfig", tokens, text_dims, encoder_layers=6, decoder_layers=6
            ),
            "whisper": decoded(
                "WhisperModel", "WhisperConfig", lambda: torch.randn(1, 80, 3000), batch
            ),
            "mamba": others("MambaModel", "MambaConfig", tokens, batch, num_hidden_layers=8),
            "llama": others(
                "LlamaModel",
                "LlamaConfig",
                tokens,
                text_dims,
                num_hidden_layers=3,
                hidden_size=2048,
                intermediate_size=5632,
                num_attention_heads=32,
                num_key_value_heads=4,
            ),
            "qwen3": others(
                "Qwen3Model",
                "Qwen3Config",
                tokens,
                text_dims,
                num_hidden_layers=4,
                hidden_size=1024,
                intermediate_size=3072,
                num_attention_heads=16,
                num_key_value_heads=8,
            ),
            "gemma3": others(
                "Gemma3TextModel",
                "Gemma3TextConfig",
                tokens,
                text_dims,
                num_hidden_layers=6,
                hidden_size=640,
                intermediate_size=2048,
                num_attention_heads=4,
                num_key_value_heads=1,
            ),
        }
    )
    return found


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


def compiled(make):
    """The network, its example, seconds of torch.export, of `dlc compile` of its text, and of
    dlc.compile as a whole, and the model."""
    net, x, dims = make()
    net.eval()
    shapes = ({dim: torch.export.Dim.AUTO for dim in dims},) if dims else None
    wide = x.expand(2, *x.shape[1:]).clone() if dims else x
    try:
        exported = seconds(lambda: torch.export.export(net, (wide,), dynamic_shapes=shapes))[0]
    except Exception:  # what PyTorch takes only as dlc asks it
        exported = float("nan")
    alone = compiled_alone(net, x, dims)
    whole, model = seconds(
        lambda: dlc.compile(net, x, dynamic={_parameter(net): dims}, device="cpu")
    )
    return net, x, exported, alone, whole, model


def distance(found, wanted):
    """The largest difference over the largest element."""
    return ((found - wanted).abs().max() / (wanted.abs().max() + 1e-9)).item()


def measure_alone(name, make):
    """A line of a network of the zoo."""
    try:
        net, x, exported, alone, whole, model = compiled(make)
        far = distance(model(x), net(x))
    except (
        Exception
    ) as error:  # whatever PyTorch, transformers or dlc raise: it is what the table says
        print(f"{name:20} {type(error).__name__}: {' '.join(str(error).split())[:300]}", flush=True)
        return
    limit = EXPORT_SHARE * exported + COMPILE_SHARE * alone
    print(
        f"{name:20} {exported:7.1f} {alone:8.1f} {whole:7.1f} {whole / limit:6.2f} {far:9.1e} "
        f"{milliseconds(lambda: model(x)):8.1f} {milliseconds(lambda: net(x)):8.1f}",
        flush=True,
    )


def measure(name, make, with_inductor):
    net, x, exported, alone, whole, model = compiled(make)
    far = distance(model(x), net(x))
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
    parser.add_argument(
        "--zoo",
        action="store_true",
        help="other networks, by dlc.compile alone, beside eager PyTorch",
    )
    options = parser.parse_args()
    os.environ["DLC_TORCH_CACHE"] = ""
    warnings.simplefilter("ignore")
    known = zoo() if options.zoo else networks()
    if unknown := sorted(set(options.names) - set(known)):
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(known)}")
    torch.manual_seed(0)
    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads")
    if options.zoo:
        print(
            f"{'':20} {'seconds':>7} {'dlc':>8} {'dlc.':>7} {'of':>6} {'off':>9} {'ms of a call':>17}\n"
            f"{'':20} {'export':>7} {'compile':>8} {'compile':>7} {'limit':>6} {'eager':>9} {'model':>8} "
            f"{'eager':>8}"
        )
        with torch.no_grad():
            for name in options.names or known:
                measure_alone(name, known[name])
        return
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
