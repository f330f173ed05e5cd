"""Trained ONNX files as people deploy them (DLC_CORPUS/real) beside ONNX Runtime: whether dlc takes
them, the seconds that this takes, whether all results agree, and milliseconds of a run. Files of a
folder that is given are measured so, too: dims that vary get sizes that ONNX Runtime takes. What is
left out, or not taken, is counted in the last lines.

    python model_peers.py [--threads 1] [FOLDER]
"""
import argparse
import glob
import os
import sys
import time

try:
    import numpy as np
    import onnxruntime

    from cpu_peers import milliseconds, run_bench

    sys.path.insert(0, os.path.join(run_bench.BUILD, "python"))
    import dlc
except ImportError as error:
    sys.exit(f"error: {error.name} is not installed; this needs a Python with: pip install numpy onnx onnxruntime\n"
             "(DLC_PEERS_PYTHON=/path/to/python tools/scripts/bench models)")

DTYPES = {
    "tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16,
    "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": np.bool_,
    "tensor(uint8)": np.uint8, "tensor(int8)": np.int8
}
# First dim, last dims of two and three, and of images, that vary.
SIZES = [(1, 512, 320), (2, 576, 96), (1, 16000, 64), (2, 8000, 192), (1, 64, 48)]
TOLERANCE = 2e-3  # of the largest magnitude: a spectrogram's logarithm is steep


def inputs_of(session, sizes, largest, random):
    """Numbers below `largest` for integers; None where ONNX Runtime has an input that is no plain
    tensor."""
    batch, length, side = sizes
    made = {}
    for value in session.get_inputs():
        if value.type not in DTYPES:
            return None
        dtype, rank = DTYPES[value.type], len(value.shape)
        is_batch = [
            axis == 0 and (rank > 1 or "len" in value.name) or "state" in value.name
            for axis in range(rank)
        ]
        dims = [
            size if isinstance(size, int) and size > 0 else
            batch if is_batch[axis] else side if rank >= 4 else length
            for axis, size in enumerate(value.shape)
        ]
        if np.issubdtype(dtype, np.floating):
            made[value.name] = np.asarray(random.standard_normal(dims) * 0.3).astype(dtype)
        elif value.name == "sr":
            made[value.name] = np.full(dims, 16000, dtype)
        elif "len" in value.name:
            made[value.name] = np.full(dims, length, dtype)
        else:
            made[value.name] = np.asarray(random.integers(0, largest, dims)).astype(dtype)
    return made


def taken_by(session, sizes, random):
    """Inputs that ONNX Runtime takes, and its results; None where it takes none. Integers may be
    bytes or flags."""
    for largest in (100, 2):
        inputs = inputs_of(session, sizes, largest, random)
        try:
            return inputs, session.run(None, inputs) if inputs else None
        except Exception:  # a library's own: it does not take these sizes
            continue
    return None, None


def difference(ours, theirs):
    """Of the largest magnitude; infinite where shapes, integers or places of NaN differ."""
    if ours.shape != theirs.shape:
        return float("inf")
    if theirs.dtype.kind != "f":
        return 0.0 if (ours == theirs).all() else float("inf")
    if (np.isnan(ours) != np.isnan(theirs)).any():
        return float("inf")
    finite = np.isfinite(theirs)
    if not finite.any():
        return 0.0
    largest = max(np.abs(theirs[finite]).max(), 1e-5)
    return float(np.abs(ours[finite].astype(np.float64) - theirs[finite]).max() / largest)


class Outcome:
    def __init__(self):
        self.taken = self.refused = self.differ = self.left_out = 0


def measure(path, options, outcome):
    name = os.path.basename(path)
    package = os.path.join(run_bench.OUT, name + ".bin")
    seconds = float("inf")
    try:
        for _ in range(2):  # the first one may read the compiler from the disk
            begin = time.perf_counter()
            run_bench.output(run_bench.DLC, "compile", path, "-q", "--target", "cpu", "-o", package)
            seconds = min(seconds, time.perf_counter() - begin)
    except SystemExit as problem:
        outcome.refused += 1
        print(f"  {name:50s} not taken: {str(problem).splitlines()[-1] if str(problem) else ''}")
        return
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = options.threads
    settings.inter_op_num_threads, settings.log_severity_level = 1, 4
    theirs = onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
    random, shown = np.random.default_rng(0), 0
    with dlc.load(package, device="cpu", threads=options.threads) as ours:
        for sizes in SIZES:
            inputs, expected = taken_by(theirs, sizes, random)
            if expected is None:
                continue
            try:
                results = ours.run(inputs)
            except dlc.Error as problem:
                outcome.refused += 1
                print(f"  {name:50s} {sizes} refused: {problem}")
                return
            worst = max(
                difference(results[value.name], one)
                for value, one in zip(theirs.get_outputs(), expected))
            outcome.taken += worst <= TOLERANCE
            outcome.differ += worst > TOLERANCE
            times = {"dlc": float("inf"), "theirs": float("inf")}
            for _ in range(options.rounds):
                times["dlc"] = min(
                    times["dlc"],
                    milliseconds(lambda: ours.run(inputs), options.seconds, time.perf_counter))
                times["theirs"] = min(
                    times["theirs"],
                    milliseconds(lambda: theirs.run(None, inputs), options.seconds,
                                 time.perf_counter))
            dims = " ".join("x".join(map(str, array.shape)) or "()" for array in inputs.values())
            print(f"  {name if not shown else '':50s}{seconds:7.1f}  {dims:28.28s}{worst:9.1e}{times['dlc']:10.3f}"
                  f"{times['theirs']:10.3f}{times['theirs'] / times['dlc']:7.2f}", flush=True)
            shown += 1
            if shown == 2:
                return
    outcome.left_out += not shown


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.2,
                        help="of each of the two in each round")
    parser.add_argument("folder", nargs="?", help="of .onnx files (default: those of the corpus)")
    options = parser.parse_args()
    corpus = os.environ.get("DLC_CORPUS",
                            os.path.join(os.path.dirname(run_bench.ROOT), "shared", "corpus"))
    folder = options.folder or os.path.join(corpus, "real")
    paths = sorted(glob.glob(os.path.join(folder, "*.onnx")))
    if not paths:
        print(f"0 models: {folder} has no .onnx files; set DLC_CORPUS")
        return
    os.makedirs(run_bench.OUT, exist_ok=True)
    print(
        f"Processor: {run_bench.processor()}; threads {options.threads}; ONNX Runtime {onnxruntime.__version__}; times in ms"
    )
    print(
        f"  {'file':50s}{'compile':>7s}  {'inputs':28s}{'differs':>9s}{'dlc':>10s}{'ONNX R.':>10s}{'ratio':>7s}"
    )
    outcome = Outcome()
    for path in paths:
        measure(path, options, outcome)
    print(f"{len(paths)} models: {outcome.taken} runs agree, {outcome.differ} differ; {outcome.refused} models not taken; "
          f"{outcome.left_out} left out, for which no sizes were found")
    sys.exit(1 if outcome.differ or outcome.refused else 0)


if __name__ == "__main__":
    main()
