#!/usr/bin/env python3
"""dlc against what a machine has: PyTorch eager, in a CUDA graph and by torch.compile, JAX, and
cuBLAS through PyTorch, on the same models with the same weights and inputs.

    peers.py [--device cuda|cpu] [--model NAME]... [--rounds N] [--small] [--output FILE.json]

Each peer stays in memory; in each round every one runs in turn (A B C A B C), for at least 20 ms,
so that a change of clocks or of the machine's mood meets all. Before that each must agree with
PyTorch in f64. Times are medians over the rounds, with quartiles: by the host's clock from
submission to completion and, on a GPU, by its events. What a machine lacks is said and left out.
--small takes sizes that a CPU bears in seconds. dlc is that of DLC_BUILD_DIR (default: build), by
the runtime's C API. workloads/measure.py is for a GPU's own time. Exit status: 0, 1 where a peer
disagrees or fails, 2 usage, 5 where --device cuda finds no GPU."""
import argparse
import ctypes
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import traceback

try:
    import numpy as np
    import torch
    from torch import nn
except ImportError as error:
    sys.exit(
        f"error: {error.name} is not installed: the models and their reference are PyTorch's (pip install torch numpy)"
    )

HERE = os.path.dirname(os.path.abspath(__file__))
TEST = os.path.dirname(HERE)
ROOT = os.path.dirname(TEST)
BUILD = os.environ.get("DLC_BUILD_DIR", os.path.join(ROOT, "build"))
for folder in (os.path.join(TEST, "conformance"), os.path.join(TEST, "numeric"),
               os.path.join(ROOT, "examples"), os.path.join(HERE, "workloads")):
    sys.path.insert(0, folder)
import safetensors  # noqa: E402
import vision_models  # noqa: E402
from execute import ContextOptions, Tensor, describe  # noqa: E402
from torch_peers import Mnist  # noqa: E402

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
# Of the largest value: roundings of weights, activations and sums.
TOLERANCE = {"f32": 2e-3, "f16": 3e-2, "bf16": 2e-1}
LEAST = 0.02  # seconds of one peer's turn


class Product(nn.Module):
    def forward(self, a, b):
        return a @ b


class Softmax(nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1)


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.fc = nn.LSTM(100, 128, batch_first=True), nn.Linear(128, 4)

    def forward(self, x):
        _, (h, _) = self.lstm(x)
        return self.fc(h[-1])


class Recurrent(nn.Module):
    """Layers of LSTM or GRU alone, the batch first."""

    def __init__(self, kind, inputs, hidden, layers):
        super().__init__()
        self.rnn = getattr(nn, kind)(inputs, hidden, layers, batch_first=True)

    def forward(self, x):
        return self.rnn(x)[0]


def of_text(signature, body):
    return f"dl 1\nmodel Bench {{\n{body[0]}  forward({signature}) {{\n{body[1]}  }}\n}}\n"


def example(name, dtype):
    with open(os.path.join(ROOT, "examples", name, name + ".dl"), encoding="utf-8") as source:
        return source.read().replace("f32[", dtype + "[")


LSTM_TEXT = ("x: {d}[N,T,100]) -> (y: {d}[N,4]",
             ("  lstm: LSTM(100, 128, batch_first=true)\n  fc: Linear(128, 4)\n",
              "    _, (h, _) = lstm(x)\n    y = fc(h[-1])\n"))


# Kind, dtype, inputs, hidden units, layers, steps, batch: weights that fit few blocks' shared
# memory, that fit all of a large GPU's, and that fit none.
RECURRENT = (("LSTM", "f16", 512, 1024, 2, 128, 1), ("LSTM", "f16", 512, 1024, 2, 128, 32),
             ("LSTM", "f16", 512, 512, 1, 64, 1), ("LSTM", "f16", 512, 512, 1, 64, 8),
             ("LSTM", "f16", 512, 2048, 1, 128, 1), ("GRU", "f32", 256, 256, 1, 200, 1))


def recurrent(kind, dtype, inputs, hidden, layers, steps, batch):
    """An entry of models()."""
    text = of_text(
        f"x: {dtype}[{batch},{steps},{inputs}]) -> (y: {dtype}[{batch},{steps},{hidden}]",
        (f"  rnn: {kind}({inputs}, {hidden}, {layers}, batch_first=true)\n", "    y, _ = rnn(x)\n"))
    return (dtype, lambda: Recurrent(kind, inputs, hidden, layers), text, [(batch, steps, inputs)])


def models(small):
    """name -> (dtype, PyTorch module, .dl text, shapes of inputs)."""
    n, k = (64, 64) if small else (4096, 8192)
    batch, size = (1, 64) if small else (1, 224)
    constants = {"SIZE": size, "WIDTH": 8 if small else 64, "CLASSES": 10 if small else 1000}

    def product(dtype):
        return of_text(f"a: {dtype}[{n},{n}], b: {dtype}[{n},{n}]) -> (c: {dtype}[{n},{n}]",
                       ("", "    c = a @ b\n"))

    def resnet(dtype):
        text = example("resnet50", dtype)
        for constant, value in constants.items():
            text = "\n".join(
                f"const {constant} = {value}" if line.startswith(f"const {constant} =") else line
                for line in text.split("\n"))
        return text

    steps = 8 if small else 128
    lstm = lambda dtype: of_text(
        LSTM_TEXT[0].format(d=dtype).replace("N", "1").replace("T,", f"{steps},"), LSTM_TEXT[1])
    table = {}
    for dtype in ("f32", "f16", "bf16"):
        table[f"matrix product {n}^3, {dtype}"] = (dtype, Product, product(dtype), [(n, n), (n, n)])
    table[f"softmax {n}x{k}, f32"] = ("f32", Softmax,
                                      of_text(f"x: f32[{n},{k}]) -> (y: f32[{n},{k}]",
                                              ("", "    y = softmax(x, dim=-1)\n")), [(n, k)])
    for dtype in ("f32", "f16"):
        for count in (1,) if small else (1, 256):
            table[f"mnist, batch {count}, {dtype}"] = (dtype, Mnist, example("mnist", dtype),
                                                       [(count, 1, 28, 28)])
        for count in (batch,) if small else (1, 32):
            table[f"resnet50, batch {count}, {dtype}"] = (
                dtype, lambda: vision_models.ResNet50(**constants), resnet(dtype), [(count, 3, size,
                                                                                     size)])
    table[f"lstm, {steps} steps, f32"] = ("f32", Lstm, lstm("f32"), [(1, steps, 100)])
    for kind, dtype, inputs, hidden, layers, steps, batch in RECURRENT:
        if small:
            inputs, hidden, steps = inputs // 32, hidden // 32, 3
        table[f"{kind} {layers}x{hidden}, {steps} steps, batch {batch}, {dtype}"] = recurrent(
            kind, dtype, inputs, hidden, layers, steps, batch)
    return table


#-- The peers: each is made of a module and its inputs, and gives a function that runs once and wait

class Missing(Exception):
    """The machine does not have this peer."""


def synchronize(device):
    if device == "cuda":
        torch.cuda.synchronize()


def eager(job):
    def run():
        with torch.inference_mode():
            result = job.module(*job.inputs)
        synchronize(job.device)
        return result
    return run


def cuda_graph(job):
    if job.device != "cuda":
        raise Missing("CUDA graphs need --device cuda")
    stream = torch.cuda.Stream()
    with torch.inference_mode(), torch.cuda.stream(stream):
        for _ in range(3):
            job.module(*job.inputs)
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            result = job.module(*job.inputs)

    def run():
        graph.replay()
        torch.cuda.synchronize()
        return result
    return run


def compiled(job):
    if not hasattr(torch, "compile"):
        raise Missing(f"PyTorch {torch.__version__} has no torch.compile (from 2.0 on)")
    module = torch.compile(job.module, mode="max-autotune")

    def run():
        with torch.inference_mode():
            result = module(*job.inputs)
        synchronize(job.device)
        return result
    return run


def jax_jit(job):
    try:
        import jax
    except ImportError:
        raise Missing("jax is not installed") from None
    if not isinstance(job.module, (Product, Softmax)):
        raise Missing("this script has the model for PyTorch alone")
    if jax.default_backend() != {"cuda": "gpu", "cpu": "cpu"}[job.device]:
        raise Missing(f"JAX runs on {jax.default_backend()} here")
    kind = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}[job.dtype]
    inputs = [jax.numpy.asarray(tensor.float().cpu().numpy()).astype(kind) for tensor in job.inputs]
    function = jax.jit((lambda a, b: a @ b) if isinstance(job.module, Product) else (
        lambda x: jax.nn.softmax(x, -1)))

    def run():
        result = function(*inputs).block_until_ready()
        return torch.from_numpy(np.array(result.astype("float32")))
    return run


class Dlc:
    """dlc by its C API. Inputs and outputs are the host's: the GPU's own time is measured apart."""

    def __init__(self, job):
        library = os.path.join(BUILD, "lib", "libdlc_runtime.so")
        tool = os.path.join(BUILD, "bin", "dlc")
        if not os.path.exists(library) or not os.path.exists(tool):
            raise Missing(f"dlc is not built in {BUILD} (DLC_BUILD_DIR)")
        self.runtime = ctypes.CDLL(library)
        self.runtime.dlc_last_error.restype = ctypes.c_char_p
        self.folder = tempfile.TemporaryDirectory()
        paths = [
            os.path.join(self.folder.name, name)
            for name in ("model.dl", "model.safetensors", "model.bin")
        ]
        with open(paths[0], "w", encoding="utf-8") as out:
            out.write(job.text)
        state = {
            name: value.float().cpu().numpy() for name, value in job.module.state_dict().items()
            if not name.endswith("num_batches_tracked")
        }
        safetensors.save(paths[1], state)
        begin = time.perf_counter()
        run = subprocess.run([
            tool, "compile", paths[0], *(["--weights", paths[1]] if state else []), "--target",
            job.device, "-q", "-o", paths[2]
        ], capture_output=True, text=True)
        if run.returncode:
            raise RuntimeError(run.stderr.strip()[-500:])
        self.compile_seconds = time.perf_counter() - begin
        module, self.context = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("dlc_module_load", paths[2].encode(), None, ctypes.byref(module))
        options = ContextOptions(ctypes.sizeof(ContextOptions), job.device.encode(), 0, 0, 0)
        self.call("dlc_context_create", module, ctypes.byref(options), ctypes.byref(self.context))
        self.kept = [tensor.contiguous().cpu() for tensor in job.inputs]
        inputs = [
            describe(job.dtype, list(tensor.shape), tensor.data_ptr())[0] for tensor in self.kept
        ]
        self.result = torch.empty(job.expected.shape, dtype=DTYPES[job.dtype])
        output = describe(job.dtype, list(self.result.shape), self.result.data_ptr())[0]
        self.arguments = ((Tensor * len(inputs))(*inputs), ctypes.c_size_t(len(inputs)),
                          (Tensor * 1)(output), ctypes.c_size_t(1))

    def call(self, name, *arguments):
        if getattr(self.runtime, name)(*arguments):
            raise RuntimeError(f"{name}: {self.runtime.dlc_last_error().decode()}")

    def __call__(self):
        self.call("dlc_context_run", self.context, *self.arguments)
        return self.result


PEERS = {
    "dlc": Dlc, "torch eager": eager, "torch eager in a CUDA graph": cuda_graph,
    "torch.compile max-autotune": compiled, "jax.jit": jax_jit
}


class Job:
    """A model with weights and inputs on a device, and its outputs in f64."""

    def __init__(self, name, device, dtype, module, text, shapes):
        torch.manual_seed(3)
        self.name, self.device, self.dtype, self.text = name, device, dtype, text
        self.module = module().eval()
        for key, value in self.module.state_dict().items(
        ):  # what the dtype holds, so that all compute with the same
            if value.is_floating_point():
                value.copy_(value.to(DTYPES[dtype]))
        inputs = [torch.randn(shape).to(DTYPES[dtype]) for shape in shapes]
        with torch.no_grad():
            self.expected = self.module.double()(*(tensor.double() for tensor in inputs))
        self.module = self.module.to(DTYPES[dtype]).to(device)
        self.inputs = [tensor.to(device) for tensor in inputs]

    def problem(self, result):
        """A sentence where the result is not that of f64."""
        got = result.detach().double().cpu()
        if got.shape != self.expected.shape:
            return f"gives the shape {list(got.shape)}, expected {list(self.expected.shape)}"
        scale = self.expected.abs().max().item()
        error = (got - self.expected).abs().max().item()
        if not error <= TOLERANCE[self.dtype] * scale:
            return f"is off by {error:.3g} where values reach {scale:.3g}"
        return None


def turn(run, device):
    """Seconds of a run by the host's clock and by the GPU's events, in a turn of at least LEAST
    seconds."""
    count, begin, gpu = 0, time.perf_counter(), None
    if device == "cuda":
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
    while True:
        run()
        count += 1
        wall = time.perf_counter() - begin
        if wall >= LEAST:
            break
    if device == "cuda":
        last.record()
        torch.cuda.synchronize()
        gpu = first.elapsed_time(last) / 1e3 / count
    return wall / count, gpu


def spread(values):
    ordered = sorted(values)
    quarter = len(ordered) // 4
    return {
        "median": statistics.median(ordered), "low": ordered[quarter],
        "high": ordered[-1 - quarter], "rounds": len(ordered)
    }


def measure(job, rounds):
    """What the JSON says of a model."""
    ready, entry = {}, {
        "model": job.name, "dtype": job.dtype, "peers": {}, "left_out": {}, "wrong": {}
    }
    for name, make in PEERS.items():
        try:
            begin = time.perf_counter()
            run = make(job)
            problem = job.problem(run())
            first = time.perf_counter() - begin
        except Missing as reason:
            entry["left_out"][name] = str(reason)
            continue
        except Exception as error:
            if "not implemented for" in str(error):  # PyTorch's CPU in f16
                entry["left_out"][name] = str(error)
                continue
            entry["wrong"][name] = f"{type(error).__name__}: {error}".strip()[:600]
            if not isinstance(error, RuntimeError):
                traceback.print_exc()
            continue
        if problem:
            entry["wrong"][name] = problem
        else:
            ready[name] = run
            entry["peers"][name] = {"ready_seconds": first}
    times = {name: [] for name in ready}
    for _ in range(rounds):
        for name, run in ready.items():
            times[name].append(turn(run, job.device))
    for name, pairs in times.items():
        entry["peers"][name]["wall_seconds"] = spread([wall for wall, _ in pairs])
        if job.device == "cuda" and name != "dlc":  # dlc works in a stream of its own
            entry["peers"][name]["gpu_seconds"] = spread([gpu for _, gpu in pairs])
    others = [
        facts["wall_seconds"]["median"] for name, facts in entry["peers"].items() if name != "dlc"
    ]
    if "dlc" in entry["peers"] and others:
        entry["best_peer_over_dlc"] = min(others) / entry["peers"]["dlc"]["wall_seconds"]["median"]
    return entry


def report(entry):
    print(entry["model"])
    for name, facts in entry["peers"].items():
        wall = facts["wall_seconds"]
        gpu = f", {1e3 * facts['gpu_seconds']['median']:.4f} ms on the GPU" if "gpu_seconds" in facts else ""
        print(
            f"  {name:30} {1e3 * wall['median']:10.4f} ms ({1e3 * wall['low']:.4f} .. {1e3 * wall['high']:.4f}){gpu}"
        )
    for name, reason in entry["left_out"].items():
        print(f"  {name:30} left out: {reason}")
    for name, problem in entry["wrong"].items():
        print(f"  {name:30} WRONG: {problem}")
    if "best_peer_over_dlc" in entry:
        print(f"  best peer / dlc = {entry['best_peer_over_dlc']:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--device", choices=("cuda", "cpu"),
                        default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--model", action="append", help="those whose name contains this")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--output")
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        print(
            f"error: PyTorch {torch.__version__} finds no CUDA GPU; --device cpu measures on the processor",
            file=sys.stderr)
        return 5
    # Equal precision: f32 is f32 for all.
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    chosen = {name: facts for name, facts in models(options.small).items()
              if not options.model or any(part in name for part in options.model)}
    if not chosen:
        parser.error(
            f"no model's name contains {options.model}; there are: {', '.join(models(options.small))}"
        )
    machine = torch.cuda.get_device_name(
    ) if options.device == "cuda" else f"{platform.processor() or platform.machine()}, {os.cpu_count()} processors"
    print(f"{machine}; PyTorch {torch.__version__}; {options.rounds} interleaved rounds")
    entries = []
    for name, facts in chosen.items():
        entries.append(measure(Job(name, options.device, *facts), options.rounds))
        report(entries[-1])
    if options.output:
        with open(options.output, "w", encoding="utf-8") as out:
            json.dump(
                {
                    "format": 1, "device": options.device, "machine": machine,
                    "torch": torch.__version__, "small": options.small, "rounds": options.rounds,
                    "models": entries
                }, out, indent=1)
    return int(any(entry["wrong"] for entry in entries))


if __name__ == "__main__":
    sys.exit(main())
