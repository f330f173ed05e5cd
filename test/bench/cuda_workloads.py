"""What the compiler estimates that the runs take on an H100 that people wait for, beside what is to be reached, what it took when a GPU
was last at hand, and the best of PyTorch there. Part of `tools/scripts/bench cuda`.

    cuda_workloads.py [--kernels] [NAME...]    those whose name contains one; --kernels prints the plan of each kernel, too

Times are of the GPU alone, in a CUDA graph. `measured` and `PyTorch` are milliseconds on an H100 on 2026-11-23 (PyTorch's best of a CUDA
graph and torch.compile). Nothing here was measured on the machine that prints it: estimates are the cost model's (ir/machine)."""
import argparse
import json
import math
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "test", "conformance"))
import networks  # noqa: E402
from dlc_tool import dlc  # noqa: E402

BYTES = {"f16": 2, "f32": 4, "i64": 8}


def op(signature, result, body):
    return f"dl 1\nmodel Op {{\n  forward({signature}) -> ({result}) {{\n    {body}\n  }}\n}}\n"


def network(name, dtype="f16", **constants):
    """The text of an example, or of a file of workloads/, with other constants, numbers for its dims, and of another dtype."""
    own = networks.Network(f"test/bench/workloads/{name}.dl")
    text = networks.text_of(networks.NETWORKS.get(name, own), dtype).replace("dtype=f32", f"dtype={dtype}")
    for name, value in constants.items():
        text, count = re.subn(rf"^(const|dim) {name} = .*$", rf"const {name} = {value}", text, flags=re.M)
        assert count == 1, name
    return re.sub(r"^weights [^{\n]*\n", "", text, flags=re.M)


def lstm(batch):
    return op(f"x: f16[{batch},128,512]", f"y: f16[{batch},128,1024]", "y, _ = rnn(x)").replace(
        "  forward", "  rnn: LSTM(512, 1024, 2, batch_first=true)\n  forward")


def linear(transposed):
    weight, body = ("4096,4096", "y = linear(x, w)") if transposed else ("4096,4096", "y = x @ w")
    return op(f"x: f16[1,4096], w: f16[{weight}]", "y: f16[1,4096]", body)


def attention(batch, heads, queries, keys, width, causal=False):
    return op(f"q: f16[{batch},{heads},{queries},{width}], k: f16[{batch},{heads},{keys},{width}], v: f16[{batch},{heads},{keys},{width}]",
              f"y: f16[{batch},{heads},{queries},{width}]", f"y = scaled_dot_product_attention(q, k, v{', is_causal=true' * causal})")


def conv(batch, channels, outputs, size, kernel, stride=1, groups=1):
    after = (size + 2 * (kernel // 2) - kernel) // stride + 1
    layer = f"  conv: Conv2d({channels}, {outputs}, kernel_size={kernel}, stride={stride}, padding={kernel // 2}, groups={groups})\n"
    return op(f"x: f16[{batch},{channels},{size},{size}]", f"y: f16[{batch},{outputs},{after},{after}]", "y = relu(conv(x))").replace(
        "  forward", layer + "  forward")


MLP = """dl 1
model Mlp {
  a: Linear(784, 512)
  b: Linear(512, 256)
  c: Linear(256, 10)
  forward(x: f16[1,784]) -> (y: f16[1,10]) {
    y = c(relu(b(relu(a(x)))))
  }
}
"""
BIG = "f16[8192,8192]"
# name: text, milliseconds measured, to be reached, of PyTorch (None: not measured)
TABLE = {
    "LSTM 2x1024, 128 steps, f16, batch 1": (lstm(1), 66.6, 0.50, 1.13),
    "LSTM 2x1024, 128 steps, f16, batch 32": (lstm(32), 157, 0.90, 1.53),
    "Llama-like, 1 token, f16": (network("llama"), 9.25, 0.40, 0.62),
    "Llama-like, 128 tokens, f16": (network("llama", T=128), 2.19, 0.55, 0.72),
    "linear 1x4096x4096, f16, [out, in]": (linear(True), 0.020, 0.0135, None),
    "product 1x4096x4096, f16, [in, out]": (linear(False), 0.199, 0.0135, None),
    "attention 4x16x2048x64, f16": (attention(4, 16, 2048, 2048, 64), 0.576, 0.160, 0.164),
    "attention 4x16x2048x128 causal, f16": (attention(4, 16, 2048, 2048, 128, True), 0.409, 0.150, 0.171),
    "attention of 1 query, 32 heads, 8192x128, f16": (attention(1, 32, 1, 8192, 128), 0.175, 0.052, 0.054),
    "ViT-B/16, f16, batch 1": (network("vit_b_16"), 1.23, 0.40, 0.64),
    "ViT-B/16, f16, batch 32": (network("vit_b_16", N=32), 7.98, 2.4, 3.4),
    "BERT-base, 1x128, f16": (network("bert", N=1, T=128), None, 0.40, 0.69),
    "ResNet-50, f16, batch 1": (network("resnet50", N=1), 0.357, 0.25, 0.39),
    "ResNet-50, f16, batch 32": (network("resnet50", N=32), 2.40, 1.25, 1.53),
    "ConvNeXt-T, f16, batch 1": (network("convnext_tiny"), 0.67, 0.37, 0.56),
    "VGG-16, f16, batch 1": (network("vgg16", N=1, CLASSES=1000), 0.55, 0.32, 0.45),
    "conv 32x256x14x14, 3x3, f16": (conv(32, 256, 256, 14, 3), 0.089, 0.030, 0.030),
    "conv 32x3x224x224, 7x7 / 2, f16": (conv(32, 3, 64, 224, 7, 2), 0.368, 0.120, 0.198),
    "depthwise 32x96x56x56, 3x3, f16": (conv(32, 96, 96, 56, 3, groups=96), 0.134, 0.045, 0.059),
    "sum of 64 Mi, f32": (op("x: f32[8192,8192]", "y: f32[]", "y = sum(x)"), 0.140, 0.098, 0.095),
    "softmax 32768x512, f16": (op("x: f16[32768,512]", "y: f16[32768,512]", "y = softmax(x, dim=-1)"), 0.046, 0.030, 0.036),
    "gelu chain of 64 Mi, f16": (op(f"x: {BIG}, y: {BIG}", f"z: {BIG}", "z = gelu(x * 1.5 + y) * sigmoid(y)"), 0.31, 0.150, 0.54),
    "MNIST CNN, f32, batch 1": (network("mnist", "f32", N=1), 0.032, 0.018, 0.064),
    "MLP 784-512-256-10, f16, batch 1": (MLP, 0.009, 0.005, 0.015),
}


def save_zeros(model, path):
    """Weights without a value: plans do not read them. The file has holes where they lie."""
    header, offset = {}, 0
    for name, (dims, dtype) in networks.asked_weights(model).items():
        size = math.prod(dims) * BYTES[dtype]
        header[name] = {"dtype": dtype.upper(), "shape": dims, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + offset)
    return bool(header)


def kernels_of(text, folder):
    """What `dlc inspect` says of the kernels of a model."""
    model, weights, package = (os.path.join(folder, name) for name in ("model.dl", "model.safetensors", "model.bin"))
    with open(model, "w", encoding="utf-8") as file:
        file.write(text)
    flags = ["--weights", weights] if save_zeros(model, weights) else []
    dlc("compile", model, *flags, "--target", "cuda", "-q", "-o", package)
    return json.loads(dlc("inspect", package, "--json"))["programs"][0]["kernels"]


def on_hopper(kernels):
    """Those that a run launches on an H100: with the kernels for sm_90a in place of those that they replace there."""
    replaced = {kernel["in_place_of"]: kernel for kernel in kernels if kernel.get("where") == "on sm_90a"}
    return [{**replaced.get(kernel["name"], kernel), "launches": kernel["launches"]} for kernel in kernels if kernel["launches"]]


def number(value):
    return f"{value:9.4f}" if value is not None else f"{'-':>9s}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    print("Estimates for an H100, ms")
    print(f"  {'workload':47s}{'launches':>9s}{'estimate':>9s}{'goal':>9s}{'measured':>9s}{'PyTorch':>9s}")
    met = missed = 0
    for name, (text, measured, goal, peer) in TABLE.items():
        if options.names and not any(part in name for part in options.names):
            continue
        with tempfile.TemporaryDirectory() as folder:
            kernels = on_hopper(kernels_of(text, folder))
        estimate = sum(kernel["launches"] * kernel["plan"]["modelled_ns"] for kernel in kernels) * 1e-6
        met, missed = met + (estimate <= goal), missed + (estimate > goal)
        print(f"  {name:47s}{sum(kernel['launches'] for kernel in kernels):9d}{number(estimate)}{number(goal)}{number(measured)}{number(peer)}"
              + ("" if estimate <= goal else f"  {estimate / goal:.2f} of the goal"), flush=True)
        for kernel in kernels if options.kernels else ():
            plan = kernel["plan"]
            print(f"    {kernel['launches']:3d} x {plan['modelled_ns'] * 1e-3:9.2f} us  {plan['schedule']:24s} {kernel['name']}  {plan['numbers']}")
    print(f"  {met} estimates reach their goal, {missed} do not")


if __name__ == "__main__":
    main()
