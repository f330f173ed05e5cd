"""The runs that people wait for on a GPU: each as text, with what is to be reached on an H100. What
they took when a GPU was last at hand, dlc and PyTorch, is in the newest ../results/workloads, which
measure.py writes."""
import glob
import json
import os
import re
import sys
from typing import NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
TEST = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TEST, "conformance"))
import networks  # noqa: E402


class Workload(NamedTuple):
    text: str
    goal: float  # milliseconds of the GPU, in a CUDA graph
    flags: tuple = ()  # of dlc compile


def op(signature, result, body):
    return f"dl 1\nmodel Op {{\n  forward({signature}) -> ({result}) {{\n    {body}\n  }}\n}}\n"


def network(name, dtype="f16", **constants):
    """The text of an example, or of a file of this folder, with other constants, numbers for its
    dims, and of another dtype."""
    own = networks.Network(f"test/bench/workloads/{name}.dl")
    text = networks.text_of(networks.NETWORKS.get(name, own),
                            dtype).replace("dtype=f32", f"dtype={dtype}")
    for name, value in constants.items():
        text, count = re.subn(rf"^(const|dim) {name} = .*$", rf"const {name} = {value}", text,
                              flags=re.M)
        assert count == 1, name
    return re.sub(r"^weights [^{\n]*\n", "", text, flags=re.M)


def lstm(batch):
    return op(f"x: f16[{batch},128,512]", f"y: f16[{batch},128,1024]", "y, _ = rnn(x)").replace(
        "  forward", "  rnn: LSTM(512, 1024, 2, batch_first=true)\n  forward")


def linear(transposed):
    weight, body = ("4096,4096", "y = linear(x, w)") if transposed else ("4096,4096", "y = x @ w")
    return op(f"x: f16[1,4096], w: f16[{weight}]", "y: f16[1,4096]", body)


def two_of_four(rows):
    """A layer of which two of each four weights are zero."""
    return op(f"x: f16[{rows},4096]", f"y: f16[{rows},4096]", "y = layer(x)").replace(
        "  forward", "  layer: Linear(4096, 4096, bias=false)\n  forward")


def narrow_product(to_narrow, wide, scale):
    """A product of two matrices of f16 that are rounded to fewer bits, each by a kernel of its own.
    """
    x, w = (f"cast({to_narrow.format(name)}, {wide})" for name in ("x", "w"))
    return op("x: f16[4096,4096], w: f16[4096,4096]", "y: f16[4096,4096]",
              f"y = cast(cast(linear({x}, {w}), f32) * {scale}, f16)")


def narrow_attention(batch, heads, length, width):
    """Query, key and value of f16 that are rounded to e4m3, and weights that are, as parts of 256.
    """
    dims = f"f16[{batch},{heads},{length},{width}]"
    q, k, v = (f"cast(cast({name}, f8e4m3fn), f32)" for name in "qkv")
    return op(f"q: {dims}, k: {dims}, v: {dims}", f"y: {dims}",
              f"w = softmax(matmul({q}, transpose({k}, -2, -1)) * {width ** -0.5}, dim=-1) * 256.0\n    "
              f"y = cast(matmul(cast(cast(w, f8e4m3fn), f32), {v}) * {1 / 256}, f16)")


def attention(batch, heads, queries, keys, width, causal=False):
    return op(
        f"q: f16[{batch},{heads},{queries},{width}], k: f16[{batch},{heads},{keys},{width}], v: f16[{batch},{heads},{keys},{width}]",
        f"y: f16[{batch},{heads},{queries},{width}]",
        f"y = scaled_dot_product_attention(q, k, v{', is_causal=true' * causal})")


def conv(batch, channels, outputs, size, kernel, stride=1, groups=1):
    after = (size + 2 * (kernel // 2) - kernel) // stride + 1
    layer = f"  conv: Conv2d({channels}, {outputs}, kernel_size={kernel}, stride={stride}, padding={kernel // 2}, groups={groups})\n"
    return op(f"x: f16[{batch},{channels},{size},{size}]",
              f"y: f16[{batch},{outputs},{after},{after}]",
              "y = relu(conv(x))").replace("  forward", layer + "  forward")


def first_of_video(videos):
    """The first layer of R3D: 16 frames, three of them under each window."""
    return op(
        f"x: f16[{videos},3,16,112,112]", f"y: f16[{videos},64,16,56,56]", "y = relu(conv(x))"
    ).replace(
        "  forward",
        "  conv: Conv3d(3, 64, kernel_size=(3, 7, 7), stride=(1, 2, 2), padding=(1, 3, 3))\n  forward"
    )


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
SMALL_MLP = ("dl 1\nmodel SmallMlp {\n" + "".join(f"  l{i}: Linear(64, 64)\n" for i in range(8))
             + "  forward(x: f16[1,64]) -> (y: f16[1,64]) {\n    y = x\n"
             + "".join(f"    y = relu(l{i}(y))\n" for i in range(8)) + "  }\n}\n")
SPARSE = ("--sparse", "2:4")
BIG = "f16[8192,8192]"
TABLE = {
    name: Workload(*row) for name, row in {
        "LSTM 2x1024, 128 steps, f16, batch 1": (lstm(1), 0.50),
        "LSTM 2x1024, 128 steps, f16, batch 32": (lstm(32), 0.90),
        "Llama-like, 1 token, f16": (network("llama"), 0.40),
        "Llama-like, 128 tokens, f16": (network("llama", T=128), 0.55),
        "linear 1x4096x4096, f16, [out, in]": (linear(True), 0.0135),
        "product 1x4096x4096, f16, [in, out]": (linear(False), 0.0135),
        "linear 1x4096x4096, 2:4, f16": (two_of_four(1), 0.0090, SPARSE),
        "linear 4096x4096x4096, 2:4, f16": (two_of_four(4096), 0.160, SPARSE),
        "product of e4m3 4096x4096x4096, f16": (narrow_product("cast({}, f8e4m3fn)", "f32", 1.0),
                                                0.140),
        "product of s8 4096x4096x4096, f16": (
            narrow_product("cast(round({} * 32.0), i8)", "i32", 2.0**-10), 0.140),
        "attention 4x16x2048x64, f16": (attention(4, 16, 2048, 2048, 64), 0.160),
        "attention 4x16x2048x128 causal, f16": (attention(4, 16, 2048, 2048, 128, True), 0.150),
        "attention of e4m3 4x16x2048x128, f16": (narrow_attention(4, 16, 2048, 128), 0.300),
        "attention of 1 query, 32 heads, 8192x128, f16": (attention(1, 32, 1, 8192, 128), 0.052),
        "ViT-B/16, f16, batch 1": (network("vit_b_16"), 0.40),
        "ViT-B/16, f16, batch 32": (network("vit_b_16", N=32), 2.4),
        "BERT-base, 1x128, f16": (network("bert", N=1, T=128), 0.40),
        "ResNet-50, f16, batch 1": (network("resnet50", N=1), 0.25),
        "ResNet-50, f16, batch 32": (network("resnet50", N=32), 1.25),
        "MobileNetV2, f16, batch 1": (network("mobilenet_v2", N=1), 0.14),
        "MobileNetV2, f16, batch 32": (network("mobilenet_v2", N=32), 0.80),
        "ConvNeXt-T, f16, batch 1": (network("convnext_tiny"), 0.37),
        "VGG-16, f16, batch 1": (network("vgg16", N=1, CLASSES=1000), 0.32),
        "conv 32x256x14x14, 3x3, f16": (conv(32, 256, 256, 14, 3), 0.030),
        "conv 32x3x224x224, 7x7 / 2, f16": (conv(32, 3, 64, 224, 7, 2), 0.120),
        "conv 4x3x16x112x112, 3x7x7 / 1x2x2, f16": (first_of_video(4), 0.100),
        "depthwise 32x96x56x56, 3x3, f16": (conv(32, 96, 96, 56, 3, groups=96), 0.045),
        "sum of 64 Mi, f32": (op("x: f32[8192,8192]", "y: f32[]", "y = sum(x)"), 0.098),
        "softmax 32768x512, f16": (
            op("x: f16[32768,512]", "y: f16[32768,512]", "y = softmax(x, dim=-1)"), 0.030),
        "gelu chain of 64 Mi, f16": (
            op(f"x: {BIG}, y: {BIG}", f"z: {BIG}", "z = gelu(x * 1.5 + y) * sigmoid(y)"), 0.150),
        "MNIST CNN, f32, batch 1": (network("mnist", "f32", N=1), 0.018),
        "MLP 784-512-256-10, f16, batch 1": (MLP, 0.005),
        "8 layers of 64, f16, batch 1": (SMALL_MLP, 0.006),
    }.items()
}


def chosen(parts):
    """The workloads whose names contain one of `parts`; all of them where there are none."""
    return {
        name: workload for name, workload in TABLE.items()
        if not parts or any(part in name for part in parts)
    }


def newest_results():
    """name -> what measure.py last wrote down of it, and the file; empty where there is none."""
    files = sorted(glob.glob(os.path.join(os.path.dirname(HERE), "results", "workloads", "*.json")),
                   key=lambda path: path[-15:])
    if not files:
        return {}, None
    with open(files[-1], encoding="utf-8") as source:
        found = json.load(source)
    return {entry["name"]: entry for entry in found["workloads"]}, found


# Microseconds from a kernel of a graph to the next one (`nextLaunch` of GpuModel.h).
NEXT_LAUNCH = 0.67


def estimate_of(kernels):
    """Milliseconds of a run that launches what on_hopper() gave, one kernel after the other in a
    graph."""
    return sum(kernel["launches"] * (kernel["plan"]["modelled_ns"] * 1e-3 + NEXT_LAUNCH)
               for kernel in kernels) * 1e-3


def on_hopper(kernels):
    """Of what `dlc inspect` says of kernels, those that a run launches on an H100: with the kernels
    for sm_90a, and chains, in place of those that they replace there."""
    replaced = {
        kernel["in_place_of"]: kernel for kernel in kernels
        if "in_place_of" in kernel and kernel["where"] == "on sm_90a"
    }
    launches = {kernel["name"]: kernel["launches"] for kernel in kernels}
    for chain in kernels:
        if chain.get("where") in ("on sm_90", "on each GPU") and "stages" in chain:
            launches[chain["name"]] += 1
            for stage in chain["stages"]:
                launches[stage] -= 1
    return [{
        **replaced.get(kernel["name"], kernel), "launches": launches[kernel["name"]],
        "base": kernel["name"]
    } for kernel in kernels if launches[kernel["name"]]]
