#!/usr/bin/env python3
"""torch.compile(model, backend="dlc") of ten networks of torchvision and ten of transformers (those
of test/conformance/run_zoo.py, reduced, with seeded weights) on the CPU, against eager PyTorch. On
demand: it needs PyTorch 2.5 or newer with torchvision and transformers, which Debian 12 lacks, and
takes a minute or two:

  python3 -m venv VENV && VENV/bin/pip install torch torchvision transformers onnx
  VENV/bin/python test/python/run_torch_compile.py           all of them
  VENV/bin/python test/python/run_torch_compile.py NAME...   these alone
  VENV/bin/python test/python/run_torch_compile.py --list    their names

The Python must be of the version that the build's package was made for. A network passes where the
results agree and dlc runs each of its graphs: one that PyTorch runs is a failure with the sentence
that says why, unless EAGER expects that sentence."""
import logging
import os
import sys
import warnings

from models import TEST, Cases, Failure, dlc

BOUND = 1e-3  # of the largest element: both compute in f32, in another order
VISION = ("alexnet", "convnext_tiny", "densenet121", "efficientnet_b0", "googlenet",
          "mobilenet_v3_small", "regnet_y_400mf", "resnet34", "shufflenet_v2_x1_0", "swin_t",
          "vision_transformer")
TEXT = ("albert", "bart", "distilbert", "electra", "gptneox", "llama", "mistral", "opt", "roberta",
        "t5", "vit")
# Name: a part of what dlc says where a graph of the network stays in eager PyTorch.
EAGER = {}


def flat(results):
    """The tensors of a result, in order."""
    if hasattr(results, "detach"):
        return [results]
    return [tensor for part in results for tensor in flat(part)]


def check(torch, make, inputs_of, expected):
    """Compares two calls; `expected`: a part of the warning of a graph that stays in eager PyTorch,
    or None."""
    torch.manual_seed(1)
    torch._dynamo.reset()
    net = make().eval()
    for name, buffer in net.named_buffers():  # else the norms change nothing
        if name.endswith("running_mean"):
            buffer.copy_(torch.randn(buffer.shape) * 0.1)
    from dlc.torch_backend import backend
    graphs = []

    def counted(graph, example, **options):
        graphs.append(backend(graph, example, **options))
        return graphs[-1]
    fast = torch.compile(net, backend=counted)
    with torch.no_grad(), warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _ in range(2):
            inputs = list(inputs_of().values())
            wanted, got = flat(net(*inputs)), flat(fast(*inputs))
            for ours, theirs in zip(got, wanted, strict=True):
                if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
                    raise Failure(
                        f"{ours.dtype}{list(ours.shape)}, eager PyTorch gives {theirs.dtype}{list(theirs.shape)}"
                    )
                far = ((ours - theirs).abs().max() / (theirs.abs().max() + 1e-9)).item()
                if not far <= BOUND:
                    raise Failure(f"{far:.1e} of the largest element off eager PyTorch's")
    said = [str(one.message) for one in found if one.category is dlc.CompileWarning]
    if not graphs:
        raise Failure("TorchDynamo handed no graph to dlc")
    if expected is None and said:
        raise Failure(f"{len(said)} of {len(graphs)} graphs: {said[0]}")
    if expected is not None and not any(expected in one for one in said):
        raise Failure(
            f"EAGER expects '{expected}'; dlc said {said or 'nothing: take it off EAGER'}")
    return len(graphs)


def main():
    try:
        import torch
        import torchvision  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        sys.exit(f"{error}; --help tells what this needs" if "--help" not in sys.argv else __doc__)
    if not hasattr(torch, "compile"):
        sys.exit(f"PyTorch {torch.__version__} has no torch.compile; expected 2.1 or newer")
    if "--help" in sys.argv or "-h" in sys.argv:
        sys.exit(print(__doc__))
    import run_zoo
    if "--list" in sys.argv:
        sys.exit(print("\n".join(VISION + TEXT)))
    if unknown := sorted(set(sys.argv[1:]) - set(VISION + TEXT)):
        sys.exit(f"there is no {', '.join(unknown)}; --list prints what there is")
    logging.getLogger("torch").setLevel(logging.ERROR)
    zoo, cases = run_zoo.networks(torch), Cases()
    for name in sys.argv[1:] or VISION + TEXT:
        make, inputs_of, _ = zoo[name]
        with cases.case(name):
            graphs = check(torch, make, inputs_of, EAGER.get(name))
            print(f"   {name}: {graphs} {'graph' if graphs == 1 else 'graphs'}"
                  + (f", in eager PyTorch: {EAGER[name]}" if name in EAGER else ""))
    return cases.finish()


if __name__ == "__main__":
    sys.exit(main())
