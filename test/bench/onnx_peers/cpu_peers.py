"""dlc, ONNX Runtime and OpenVINO on the CPU, on the same ONNX file: each of PEERS takes (path,
inputs, threads) and gives a function that runs once and returns the first output.
quantized_peers.py and zoo_peers.py let them take turns."""
import os
import sys
import time

import numpy as np
import onnxruntime

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import run_bench  # noqa: E402

sys.path.insert(0, os.path.join(run_bench.ROOT, "test", "conformance"))
from runtime_session import Session  # noqa: E402


def of_dlc(path, inputs, threads):
    package = path + ".bin"
    run_bench.output(run_bench.DLC, "compile", path, "-q", "--target", "cpu", "-o", package)
    session = Session(os.path.join(run_bench.BUILD, "lib", "libdlc_runtime.so"), package, "cpu",
                      threads=threads)
    return lambda: next(iter(session.run(inputs).values()))[1]


def of_onnxruntime(path, inputs, threads, level=onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.graph_optimization_level, options.log_severity_level = level, 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, inputs)[0]


def of_openvino(path, inputs, threads):
    import openvino
    compiled = openvino.Core().compile_model(
        path, "CPU", {
            "INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1,
            "INFERENCE_PRECISION_HINT": "f32"
        })
    request = compiled.create_infer_request()
    return lambda: request.infer(inputs)[compiled.output(0)]


PEERS = {"dlc": of_dlc, "ONNX Runtime": of_onnxruntime, "OpenVINO": of_openvino}


def cosine(a, b):
    a, b = (array.astype(np.float64).ravel() for array in (a, b))
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def milliseconds(run, seconds, clock):
    """Of the quickest run of a turn: others that share the machine slow some of them. `clock` gives
    seconds."""
    least, end = float("inf"), time.perf_counter() + seconds
    while least == float("inf") or time.perf_counter() < end:
        begin = clock()
        run()
        least = min(least, 1e3 * (clock() - begin))
    return least
