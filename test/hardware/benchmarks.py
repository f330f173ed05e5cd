"""The models that the hardware check times. Weights do not travel: models are compiled over zeros, packed, and get random
ones from the machine that runs them (`dlc refit`)."""
import gzip
import json
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "conformance"))
import numpy as np  # noqa: E402

import networks  # noqa: E402
from dlc_tool import dlc  # noqa: E402

# A chain of kernels too small to matter: what one launch, and one edge of a graph, takes.
LAUNCHES = 64


def model_text(signature, *statements):
    return "dl 1\nmodel Bench {\n  forward(" + signature + ") {\n" + "".join(f"    {line}\n" for line in statements) + "  }\n}\n"


COPY = model_text("x: f32[67108864]) -> (y: f32[67108864]", "y = relu(x)")
SMALL_COPY = model_text("x: f32[65536]) -> (y: f32[65536]", "y = relu(x)")
SOFTMAX = model_text("x: f32[8192,8192]) -> (y: f32[8192,8192]", "y = softmax(x, dim=-1)")
GEMM = model_text("a: bf16[4096,4096], b: bf16[4096,4096]) -> (c: bf16[4096,4096]", "c = a @ b")
CHAIN = model_text("x: f32[256]) -> (y: f32[256]", "h = x", *["h = relu(h + 1.0) @no_fuse"] * LAUNCHES, "y = h")


def of_text(name, text, emulated, **facts):
    return {"name": name, "text": text, "emulated": emulated, "inputs": [], **facts}


def of_network(name, network, dtype, inputs, emulated=False, is_large=False):
    return {"name": name, "network": network, "dtype": dtype, "emulated": emulated, "inputs": inputs, "is_large": is_large}


def _images(batch, dtype):
    return [f"x={batch}x3x224x224x{dtype}=random"]


def _tokens(dtype):
    return ["input_ids=1x128xi64=zeros", "token_type_ids=1x128xi64=zeros", f"attention_mask=1x128x{dtype}=random"]


# `bytes` or `flops` of one run where a rate is what counts; `by_library`: cuBLASLt's figure, where all others are of dlc's own
# kernels; `emulated`: the emulator runs it too; `is_large`: not in the small folder that CI makes.
BENCHMARKS = [
    of_text("pointwise, 64 Mi values", COPY, False, bytes=2 * 4 * 67108864),
    of_text("softmax, 8192 x 8192", SOFTMAX, False, bytes=2 * 4 * 8192 * 8192),
    of_text("matrix product, bf16, 4096^3", GEMM, False, flops=2 * 4096**3),
    of_text("the same by cuBLASLt", GEMM, False, flops=2 * 4096**3, by_library=True),
    of_text("pointwise, 64 Ki values", SMALL_COPY, True, bytes=2 * 4 * 65536),
    of_text("chain of launches", CHAIN, True),
    of_network("mnist, batch 1", "mnist", "f32", ["x=1x1x28x28xf32=random"], emulated=True),
    of_network("mnist, batch 256", "mnist", "f32", ["x=256x1x28x28xf32=random"]),
    of_network("resnet50, batch 1", "resnet50", "f32", _images(1, "f32"), is_large=True),
    of_network("resnet50 in f16, batch 1", "resnet50", "f16", _images(1, "f16"), is_large=True),
    of_network("resnet50 in f16, batch 32", "resnet50", "f16", _images(32, "f16"), is_large=True),
    of_network("bert, 1 x 128 tokens", "bert", "f32", _tokens("f32"), is_large=True),
    of_network("bert in f16, 1 x 128 tokens", "bert", "f16", _tokens("f16"), is_large=True),
    of_network("text_lstm, 1 x 64 words", "text_lstm", "f32", ["tokens=1x64xi64=zeros"]),
    of_network("text_lstm, 1 x 128 words", "text_lstm", "f32", ["tokens=1x128xi64=zeros"]),
]


def pack(package):
    """A file is kept compressed; model.bin over zeros becomes some kilobytes."""
    with open(package, "rb") as source, gzip.GzipFile(package + ".gz", "wb", compresslevel=6, mtime=0) as out:
        shutil.copyfileobj(source, out, 1 << 20)
    os.remove(package)


def compile_one(bench, base):
    """Writes BASE.bin.gz; what the manifest says of it."""
    model, package, zeros = base + ".dl", base + ".bin", base + ".safetensors"
    weights = {}
    if "text" in bench:
        with open(model, "w", encoding="utf-8") as out:
            out.write(bench["text"])
        dlc("compile", model, "--target", "cuda", "-q", "-o", package)
    else:
        model = networks.write(networks.NETWORKS[bench["network"]], os.path.dirname(base), bench["dtype"])
        weights = {name: list(dims) for name, (dims, _) in networks.asked_weights(model).items()}
        networks.safetensors.save(zeros, {name: np.zeros(dims, np.float32) for name, dims in weights.items()})
        dlc("compile", model, "--weights", zeros, "--target", "cuda", "-q", "-o", package)
        os.remove(zeros)
    program, = json.loads(dlc("inspect", package, "--json"))["programs"]
    kernels = [{key: kernel[key] for key in ("name", "kind", "text_sha256")} for kernel in program["kernels"]]
    launches = sum(kernel["launches"] for kernel in program["kernels"])
    os.remove(model)
    pack(package)
    return {"file": os.path.basename(package) + ".gz", "weights": weights, "kernels": kernels, "launches": launches}


def build(folder, is_small):
    """Compiles into FOLDER/bench; the manifest's entries. A model that several benchmarks time is made once."""
    place = os.path.join(folder, "bench")
    os.makedirs(place)
    made, entries = {}, []
    for bench in BENCHMARKS:
        if is_small and (bench.get("is_large") or not bench["emulated"]):
            continue
        key = bench.get("text") or f"{bench['network']}-{bench['dtype']}"
        if key not in made:
            made[key] = compile_one(bench, os.path.join(place, str(len(made))))
        entries.append({**{fact: bench[fact] for fact in ("name", "emulated", "inputs", "bytes", "flops", "by_library") if fact in bench},
                        **made[key]})
    return entries
