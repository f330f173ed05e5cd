"""The models that the hardware check times, as source: the other machine compiles them, with
weights of its own making."""
import gzip
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "conformance"))
import networks  # noqa: E402

# A chain of kernels too small to matter: what one launch, and one edge of a graph, takes.
LAUNCHES = 64
SIZE = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8}


def model_text(signature, *statements, layers=()):
    return ("dl 1\nmodel Bench {\n" + "".join(f"  {line}\n" for line in layers) + "  forward("
            + signature + ") {\n" + "".join(f"    {line}\n" for line in statements) + "  }\n}\n")


def value(name, dtype, *dims):
    return {"name": name, "dtype": dtype, "dims": list(dims)}


def signature(inputs, output):
    def spelt(one):
        return f"{one['name']}: {one['dtype']}[{','.join(map(str, one['dims']))}]"
    return f"{', '.join(map(spelt, inputs))}) -> ({spelt(output)}"


def of_ops(name, inputs, output, *statements, layers=(), emulated=False, rotate=False, **facts):
    """`facts`: bytes or flops of one run where a rate is what counts; by_library: cuBLASLt's
    figure, where all others are of dlc's own kernels. `emulated`: the emulator runs it too.
    `rotate`: over more memory than the cache holds."""
    return {
        "name": name, "text": model_text(signature(inputs, output), *statements, layers=layers),
        "inputs": inputs, "emulated": emulated, "rotate": rotate, "flags": [], **facts
    }


def of_network(network, dtype, *inputs, name=None, emulated=False, flags=()):
    return {
        "name": name or f"{network} in {dtype}, {'x'.join(map(str, inputs[0]['dims']))}",
        "network": network, "dtype": dtype, "inputs": list(inputs), "emulated": emulated,
        "rotate": False, "flags": list(flags)
    }


def elementwise(name, dtype, count, statement, emulated=False):
    x, y = value("x", dtype, count), value("y", dtype, count)
    return of_ops(name, [x], y, statement, emulated=emulated, bytes=2 * SIZE[dtype] * count)


def rows(name, dtype, count, length, statement):
    x, y = value("x", dtype, count, length), value("y", dtype, count, length)
    return of_ops(name, [x], y, statement, bytes=2 * SIZE[dtype] * count * length)


def product(m, n, k, dtype, way, **facts):
    """`way`: x @ w, as a layer of ONNX has it but with w as an input; "x @ constant", as such a
    layer is; or linear, as PyTorch keeps weights. Few rows are as fast as memory gives the weights.
    """
    a, c = value("a", dtype, m, k), value("c", dtype, m, n)
    moved = SIZE[dtype] * (m * k + k * n + m * n)
    rate = {"flops": 2 * m * n * k} if m >= 64 else {"bytes": moved}
    name = f"{way}, {dtype}, {m} x {n} x {k}" + (" by cuBLASLt" if facts.get("by_library") else "")
    if way == "x @ constant":
        return of_ops(name, [a], c, f"c = a @ to(w, {dtype})", layers=[f"w: Parameter({k}, {n})"],
                      rotate=m < 64, **rate, **facts)
    w, call = (value("w", dtype, k, n),
               "c = a @ w") if way == "x @ w" else (value("w", dtype, n, k), "c = linear(a, w)")
    return of_ops(name, [a, w], c, call, rotate=m < 64, **rate, **facts)


def attention(batch, heads, queries, keys, size, causal):
    q, k, v = value("q", "f16", batch, heads, queries,
                    size), *(value(name, "f16", batch, heads, keys, size) for name in "kv")
    work = {"bytes": 2 * 2 * batch * heads * keys * size} if queries == 1 else {
        "flops": 4 * batch * heads * queries * keys * size // (2 if causal else 1)}
    return of_ops(
        f"attention, {batch} x {heads} x {queries}, {keys} keys of {size}" +
        (", causal" if causal else ""), [q, k, v], value("y", "f16", batch, heads, queries, size),
        f"y = scaled_dot_product_attention(q, k, v{', is_causal=true' if causal else ''})",
        rotate=queries == 1, **work)


def recurrent(kind, hidden, inputs, steps, batch, dtype, layers=1):
    x, y = value("x", dtype, batch, steps, inputs), value("y", dtype, batch, hidden)
    more = f", num_layers={layers}" if layers > 1 else ""
    found = "(s, _)" if kind == "LSTM" else "s"
    return of_ops(f"{kind} {layers} x {hidden} in {dtype}, {steps} steps, batch {batch}", [x], y,
                  f"_, {found} = r(x)", "y = s[-1]",
                  layers=[f"r: {kind}({inputs}, {hidden}{more}, batch_first=true)"])


def image(dtype, batch, size=224, channels=3):
    return value("x", dtype, batch, channels, size, size)


def tokens(dtype, length=128):
    return (value("input_ids", "i64", 1,
                  length), value("token_type_ids", "i64", 1,
                                 length), value("attention_mask", dtype, 1, length))


MI = 1 << 20
BENCHMARKS = [
    elementwise("pointwise, 64 Ki values", "f32", 1 << 16, "y = relu(x)", emulated=True),
    elementwise("pointwise, 64 Mi values", "f32", 64 * MI, "y = relu(x)"),
    elementwise("gelu, 64 Mi values in f16", "f16", 64 * MI, "y = gelu(x)"),
    of_ops("chain of launches", [value("x", "f32", 256)], value("y", "f32", 256), "h = x",
           *["h = relu(h + 1.0) @no_fuse"] * LAUNCHES, "y = h", emulated=True),
    rows("softmax, 8192 rows of 8192", "f32", 8192, 8192, "y = softmax(x, dim=-1)"),
    rows("softmax, 32768 rows of 512 in f16", "f16", 32768, 512, "y = softmax(x, dim=-1)"),
    rows("layer_norm, 8192 rows of 4096 in f16", "f16", 8192, 4096, "y = layer_norm(x, [4096])"),
    of_ops("sum of 64 Mi values", [value("x", "f32", 8192, 8192)], value("y", "f32"), "y = sum(x)",
           bytes=4 * 64 * MI),
    of_ops("sum of 8192 columns", [value("x", "f32", 8192, 8192)], value("y", "f32", 8192),
           "y = sum(x, dim=0)", bytes=4 * 64 * MI),
    of_ops("embedding, 8192 of 32000 rows of 2048 in f16",
           [value("i", "i64", 8192), value("w", "f16", 32000, 2048)], value("y", "f16", 8192, 2048),
           "y = embedding(i, w)", bytes=2 * 2 * 8192 * 2048),
    *(product(m, 4096, 4096, "f16", way, emulated=False) for m in (1, 8)
      for way in ("x @ w", "x @ constant", "linear")),
    product(128, 3072, 768, "f16", "linear"),
    product(4096, 4096, 4096, "bf16", "x @ w"),
    product(4096, 4096, 4096, "bf16", "x @ w", by_library=True),
    attention(1, 12, 128, 128, 64, False),
    attention(4, 16, 2048, 2048, 64, False),
    attention(4, 16, 2048, 2048, 128, True),
    attention(1, 32, 1, 8192, 128, False),
    recurrent("LSTM", 1024, 512, 128, 1, "f16", layers=2),
    recurrent("LSTM", 1024, 512, 128, 32, "f16", layers=2),
    recurrent("LSTM", 2048, 512, 128, 1, "f16"),  # more weights than all of an H100's blocks keep
    recurrent("LSTM", 512, 512, 64, 1, "f16"),
    recurrent("LSTM", 512, 512, 64, 8, "f16"),
    recurrent("GRU", 256, 128, 200, 1, "f32"),
    of_network("mnist", "f32", image("f32", 1, 28, 1), emulated=True),
    of_network("mnist", "f32", image("f32", 256, 28, 1)),
    *(of_network(name, dtype, image(dtype, batch))
      for name, dtype, batch in (("resnet50", "f32", 1), ("resnet50", "f16", 1),
                                 ("resnet50", "f16", 32), ("mobilenet_v2", "f16", 1),
                                 ("mobilenet_v2", "f16", 32), ("vgg16", "f16", 1))),
    of_network("bert", "f32", *tokens("f32")),
    of_network("bert", "f16", *tokens("f16")),
    of_network("bert", "f32", *tokens("f32"), name="bert in f32, 1x128, compiled for that",
               flags=["--shapes", "input_ids:1x128,token_type_ids:1x128,attention_mask:1x128"]),
    of_network("gpt2", "f32", value("input_ids", "i64", 1, 128)),
    of_network("gpt2", "f32", value("input_ids", "i64", 1, 128),
               name="gpt2 in f32, 1x128, compiled for that", flags=["--shapes", "input_ids:1x128"]),
    of_network("text_lstm", "f32", value("tokens", "i64", 1, 128)),
]


def plan_text(bench):
    """What gpu-bench feeds the model: indices that every table has, and noise."""
    lines = ["run"]
    for number, one in enumerate(bench["inputs"]):
        source = f"integers {number} 0 1" if one["dtype"] == "i64" else f"noise {number} 0.5 0"
        lines.append(f"in {' '.join([one['dtype'], *map(str, one['dims'])])} = {source}")
    return "\n".join(lines) + "\n"


def build(folder):
    """Writes FOLDER/bench; the manifest's entries."""
    place = os.path.join(folder, "bench")
    os.makedirs(place)
    entries = []
    for number, bench in enumerate(BENCHMARKS):
        base = os.path.join(place, str(number))
        text = bench.get("text") or networks.text_of(networks.NETWORKS[bench["network"]],
                                                     bench["dtype"])
        with tempfile.TemporaryDirectory() as temporary:
            model = os.path.join(temporary, "model.dl")
            with open(model, "w", encoding="utf-8") as out:
                out.write(text)
            weights = {
                name: list(dims) for name, (dims, _) in networks.asked_weights(model).items()
            }
            with open(model, "rb") as source, gzip.GzipFile(base + ".dl.gz", "wb", mtime=0) as out:
                shutil.copyfileobj(source, out)
        facts = {
            key: bench[key]
            for key in ("name", "emulated", "rotate", "flags", "bytes", "flops", "by_library")
            if key in bench
        }
        command_line = [
            f"{one['name']}={'x'.join(map(str, [*one['dims'], one['dtype']]))}"
            f"={'zeros' if one['dtype'] == 'i64' else 'random'}" for one in bench["inputs"]
        ]
        entries.append({
            **facts, "file": f"{number}.dl.gz", "plan": plan_text(bench), "inputs": command_line,
            "weights": weights
        })
    return entries
