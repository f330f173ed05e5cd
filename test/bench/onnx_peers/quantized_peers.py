#!/usr/bin/env python3
"""dlc beside ONNX Runtime and OpenVINO on the same files of 8 bits:

    quantized_peers.py [--threads N] [--rounds N] [--cpu-time] [--model NAME]...

ResNet-50 (batch 1) and BERT-base (one sentence of 128 tokens) of examples/, on seeded weights,
become ONNX files, and these QDQ files by onnxruntime.quantization: u8 activations, i8 weights with
a scale for each channel. Each peer holds the f32 file and the QDQ file in memory; in each round
every one runs in turn, for --seconds, so that a change of the machine's mood meets all. Before that
its result is held against what ONNX Runtime computes of the same file with all of its optimizations
off. Times are medians over the rounds of the quickest run in each, with the least and the most
beside them; with --cpu-time they are the processor's time, which the clock's exceeds where other
processes have the processor in between. openvino may be missing, which is said. Nothing here is a
test.

Needs a Python with: pip install numpy onnx onnxruntime openvino (DLC_PEERS_PYTHON names it to
tools/scripts/bench)."""
import argparse
import os
import statistics
import subprocess
import sys
import time

try:
    import numpy as np
    import onnxruntime
    from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, QuantType,
                                          quantize_static)

    import onnx_examples
    from cpu_peers import PEERS, cosine, milliseconds, of_onnxruntime, run_bench
except ImportError as error:
    sys.exit(f"error: {error.name} is not installed; this needs a Python with: pip install numpy onnx onnxruntime openvino\n"
             "(DLC_PEERS_PYTHON=/path/to/python tools/scripts/bench quantized)")

sys.path.insert(0, os.path.join(run_bench.ROOT, "test", "conformance"))
import safetensors  # noqa: E402

OUT = run_bench.OUT
# The function that writes the ONNX file, and the kinds of nodes that are quantized: all that ONNX
# Runtime can, or the products.
MODELS = {"resnet50": (onnx_examples.resnet50, None), "bert": (onnx_examples.bert, ["MatMul"])}
CALIBRATION = 8     # seeded inputs
# With ONNX Runtime's plain result: sums of integers that are rounded once more, or once less
LEAST_COSINE = 0.99


def inputs_of(model, count):
    random = np.random.RandomState(5)
    for _ in range(count):
        if model == "resnet50":
            yield {"x": random.standard_normal((1, 3, 224, 224)).astype(np.float32)}
        else:
            yield {
                "input_ids": random.randint(0, 30522, (1, 128)), "token_type_ids": np.zeros(
                    (1, 128), np.int64), "attention_mask": np.ones((1, 128), np.float32)
            }


class Samples(CalibrationDataReader):
    def __init__(self, samples):
        self.samples = iter(samples)

    def get_next(self):
        return next(self.samples, None)


def files(model):
    """The paths of the f32 and of the QDQ file."""
    weights, plain, quantized = (os.path.join(OUT, model + end)
                                 for end in (".safetensors", ".onnx", ".qdq.onnx"))
    if not os.path.exists(weights):
        subprocess.run(
            [sys.executable,
             os.path.join(run_bench.ROOT, "examples", model, "weights.py"), OUT], check=True)
    if not os.path.exists(quantized):
        write, kinds = MODELS[model]
        write(safetensors.load(weights)[0], plain)
        quantize_static(plain, quantized, Samples(inputs_of(model, CALIBRATION)),
                        quant_format=QuantFormat.QDQ, per_channel=True,
                        activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
                        op_types_to_quantize=kinds)
    return {"f32": plain, "int8": quantized}


def measure(model, options):
    inputs = next(inputs_of(model, 1))
    runs = {}
    for form, path in files(model).items():
        expected = of_onnxruntime(path, inputs, options.threads,
                                  onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)()
        for name, make in PEERS.items():
            try:
                run = make(path, inputs, options.threads)
            except ImportError as error:
                print(f"  {name} is left out: {error.name} is not installed")
                continue
            like = cosine(run(), expected)
            if not like >= LEAST_COSINE:
                sys.exit(
                    f"error: {name} computes something else of {path}: the cosine with the plain result is {like:.4f}"
                )
            runs[form, name] = run, like
    times = {key: [] for key in runs}
    for _ in range(options.rounds):
        for key, (run, _) in runs.items():
            times[key].append(
                milliseconds(run, options.seconds,
                             time.process_time if options.cpu_time else time.perf_counter))
    threads = f"{options.threads} threads" if options.threads > 1 else "one thread"
    print(f"{model}, {threads}, {'processor time' if options.cpu_time else 'time'}")
    for form in ("f32", "int8"):
        ours = statistics.median(times[form, "dlc"])
        for name in PEERS:
            if (form, name) in times:
                own = times[form, name]
                beside = "" if name == "dlc" else f"   {statistics.median(own) / ours:.2f} times dlc's"
                print(
                    f"  {form:5s}{name:14s}{run_bench.spread(own)}   cosine {runs[form, name][1]:.5f}{beside}"
                )


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.0,
                        help="of each peer and file in each round")
    parser.add_argument("--cpu-time", action="store_true",
                        help="the processor's time of all threads, not the clock's")
    parser.add_argument("--model", action="append", choices=list(MODELS), help="default: all")
    options = parser.parse_args()
    os.makedirs(OUT, exist_ok=True)
    print(f"Processor: {run_bench.processor()}; ONNX Runtime {onnxruntime.__version__}")
    for model in options.model or MODELS:
        measure(model, options)


if __name__ == "__main__":
    main()
