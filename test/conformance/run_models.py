#!/usr/bin/env python3
"""The corpus's trained ONNX models (DLC_CORPUS), compiled from their model.onnx: stored vectors,
streams with state carried from step to step, and texts. Three verdicts are counted apart: pass,
fail, and unsupported (exit code 3), which is never a pass.

  run_models.py                    the models of models_passing.txt: none of them may fail
  run_models.py --all              every model, and the whole of each stream and text
  run_models.py --device cuda-emu  on the emulated GPU
  run_models.py --emulated 6       on the CPU, and one in 6 of them on the emulated GPU (cases.py)
  run_models.py --json FILE        the verdicts
  run_models.py NAME...            these models alone

The tolerance is that of the model's SOURCE.md: its stored values lie as far from f64 arithmetic as
it says; ours may lie as far on the other side, and 1e-4 of a value further."""
import argparse
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from multiprocessing import Pipe, Process
from typing import NamedTuple

import numpy as np

from dlc_tool import BUILD, DLC
from onnx_files import graph_of
from run_onnx import emulate
from runtime_session import Refused, Session
from cases import split

HERE = os.path.dirname(os.path.abspath(__file__))
LIST = os.path.join(HERE, "models_passing.txt")
CORPUS = os.environ.get("DLC_CORPUS", "")
MODELS = os.path.join(CORPUS, "models")
RTOL = 1e-4
TIMEOUT = 300
STEPS = 20  # of a stream or text, unless all of it is asked for


class Wrong(Exception):
    """What differs."""


class Stream(NamedTuple):
    """Frames into input 0 one by one; state comes back from output 1 into input 1."""
    source: str  # the model whose stream.npz it is
    frames: tuple  # the shape of input 0
    state: tuple
    output: str = "output"
    others: tuple = ()  # the inputs behind


STREAMS = {
    "dtln_stage1_lstm": Stream("dtln_stage1_lstm", (1, 1, 257), (1, 2, 128, 2)),
    "dtln_stage2_lstm": Stream("dtln_stage2_lstm", (1, 1, 512), (1, 2, 128, 2)),
    "silero_vad_static16k": Stream("silero_vad_static16k", (1, 576), (2, 1, 128), "prob"),
    "silero_vad_op15_if": Stream("silero_vad_static16k", (1, 576), (2, 1, 128), "prob",
                                 (np.array(16000), )),
}
# Models of symbolic dims whose shape conditions ask for numbers.
SHAPES = {"silero_vad_op15_if": "input:1x576,state:2x1x128"}
# Models whose SOURCE.md names another tolerance than the difference of two engines.
ATOL = {"squeezenet_fp16": 2e-3}
# Files beside a model that are to be refused: every op that is not ONNX's any more named, with exit
# code 3.
REFUSED = {"fns_candy_std": ("original_experimental_ops.onnx", ("ImageScaler", "Crop", "Affine"))}


def own_error(folder):
    """The most that the stored values lie from another engine's, as SOURCE.md says."""
    with open(os.path.join(folder, "SOURCE.md"), encoding="utf-8") as source:
        text = source.read()
    numbers = [
        float(number)
        for line in re.findall(r"(?:second engine.*set|differs by at most) (\[.*\])", text)
        for number in re.findall(r"'([^']+)'", line)
    ]
    if not numbers:
        raise Wrong("SOURCE.md says nothing of how exact the stored values are")
    return max(numbers)


def expect_close(what, got, wanted, atol, rtol=RTOL):
    if got.shape != wanted.shape:
        raise Wrong(f"{what} is {list(got.shape)}, expected {list(wanted.shape)}")
    got, wanted = got.astype(np.float64), wanted.astype(np.float64)
    excess = np.abs(got - wanted) - rtol * np.abs(wanted)
    if not np.all(excess <= atol):
        worst = np.unravel_index(np.argmax(np.where(np.isnan(excess), np.inf, excess)),
                                 excess.shape)
        raise Wrong(
            f"{what}: {int((~(excess <= atol)).sum())} of {excess.size} values differ by more than {rtol} relative + "
            f"{atol:.2g}; worst at {[int(i) for i in worst]}: {got[worst]!r}, expected {wanted[worst]!r}"
        )


class Runner:
    """A model's graph, by the order of its inputs and outputs."""

    def __init__(self, session, model):
        self.session = session
        self.inputs, self.outputs, _ = graph_of(model)

    def __call__(self, arrays):
        got = self.session.run(dict(zip(self.inputs, arrays)))
        return [got[name][1] for name in self.outputs]


def load(folder, kind):
    arrays = []
    while os.path.exists(path := os.path.join(folder, f"{kind}_{len(arrays)}.npy")):
        arrays.append(np.load(path))
    return arrays


def vectors(run, name, folder):
    sets = [folder] + sorted(
        os.path.join(folder, entry)
        for entry in os.listdir(folder) if entry.startswith("test_data_set_"))
    atol = ATOL.get(name, 2 * own_error(folder))
    for position, place in enumerate(sets):
        got = run(load(place, "input"))
        for index, wanted in enumerate(load(place, "output")):
            f32 = os.path.join(place,
                               f"output_{index}_fp32.npy")  # of f16 models: their arithmetic in f64
            expect_close(f"set {position}, output {index}", got[index],
                         np.load(f32) if os.path.exists(f32) else wanted, atol)


def stream(run, name, steps):
    of = STREAMS[name]
    stored = np.load(os.path.join(MODELS, of.source, "stream.npz"))
    frames, wanted = stored["input"], stored[of.output]
    state = np.zeros(of.state, np.float32)
    got = []
    for frame in frames[:steps]:
        result, state = run([frame.reshape(of.frames), state, *of.others])
        got.append(result.reshape(wanted.shape[1:]))
    # Differences of a step are those of the steps before, too.
    expect_close(f"{len(got)} steps of the stream", np.stack(got), wanted[:steps], 1e-4, 1e-3)


def text_of(tokens, path):
    """What llama2.c prints: tokens after the first by their bytes."""
    with open(path, "rb") as source:
        data = source.read()
    pieces, at = [], 4
    while at < len(data):
        length, = struct.unpack_from("<i", data, at + 4)
        pieces.append(data[at + 8:at + 8 + length])
        at += 8 + length
    said = b""
    for before, token in zip(tokens, tokens[1:]):
        piece = pieces[token]
        if before == 1:
            piece = piece.removeprefix(b" ")
        byte = re.fullmatch(rb"<0x([0-9A-F]{2})>", piece)
        said += bytes([int(byte.group(1), 16)]) if byte else piece
    return said


def text(run, name, steps):
    """Greedy decoding. A model of 64 tokens gets the first of them and says the next, position by
    position."""
    folder = os.path.join(MODELS, name)
    wanted = np.load(os.path.join(folder, "expected_tokens.npy"))
    is_static = name == "stories260k_T64"
    count = min(len(wanted), 64 if is_static else len(wanted), steps or len(wanted))
    tokens = [int(wanted[0])]
    while len(tokens) < count:
        fed = tokens + [0] * (64 - len(tokens)) if is_static else tokens
        logits, = run([np.array([fed], np.int64)])
        tokens.append(int(logits[0, len(tokens) - 1].argmax()))
    if tokens != wanted[:count].tolist():
        raise Wrong(
            f"the text of {count} tokens differs: {tokens}, expected {wanted[:count].tolist()}")
    with open(os.path.join(folder, "expected_text.txt"), "rb") as source:
        expected = source.read()
    said = text_of(tokens, os.path.join(MODELS, "stories260k_T64", "tok512.bin"))
    if not said or not (said.strip() == expected.strip()
                        if count == len(wanted) else expected.startswith(said)):
        raise Wrong(f"the text is {said!r}, expected {expected!r}")


def compile_model(model, package, device, shapes=None):
    """Exit status and what was said."""
    command = [
        DLC, "compile", model, "--target", "cpu" if device == "cpu" else "cuda", "-o", package,
        *(["--shapes", shapes] if shapes else [])
    ]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                          timeout=TIMEOUT)
    return done.returncode, done.stderr.strip()[-3000:]


def check(name, device, steps):
    """(verdict, sentence)"""
    folder = os.path.join(MODELS, name)
    with tempfile.TemporaryDirectory() as scratch:
        package = os.path.join(scratch, "model.bin")
        model = os.path.join(folder, "model.onnx")
        code, said = compile_model(model, package, device, SHAPES.get(name))
        if code:
            return ("unsupported" if code == 3 else "fail"), f"exit {code}: {said}"
        with Session(os.path.join(BUILD, "lib", "libdlc_runtime.so"), package,
                     "cpu" if device == "cpu" else "cuda", checked=False) as session:
            run = Runner(session, model)
            vectors(run, name, folder)
            if name in STREAMS:
                stream(run, name, steps)
            if os.path.exists(os.path.join(folder, "expected_tokens.npy")):
                text(run, name, steps)
        if name in REFUSED:
            other, ops = REFUSED[name]
            code, said = compile_model(os.path.join(folder, other), package, device)
            if code != 3 or not all(f"'{op}'" in said for op in ops):
                raise Wrong(
                    f"{other} is to be refused with exit code 3 and all of {', '.join(ops)} named, got {code}: {said}"
                )
    return "pass", ""


def work(out, name, device, steps):
    began = time.monotonic()
    try:
        verdict, said = check(name, device, steps)
    except Wrong as error:
        verdict, said = "fail", str(error)
    except Refused as error:
        verdict, said = "fail", f"runtime: {error}"
    except Exception:
        verdict, said = "fail", traceback.format_exc()
    out.send({"verdict": verdict, "said": said, "seconds": round(time.monotonic() - began, 2)})


def run_all(names, device, steps, jobs):
    """Results by name; a model that ends its process fails."""
    results, running, waiting = {}, [], list(names)
    while waiting or running:
        while waiting and len(running) < jobs:
            name = waiting.pop(0)
            read, write = Pipe(duplex=False)
            child = Process(target=work, args=(write, name, device, steps))
            child.start()
            write.close()
            running.append((name, child, read))
        name, child, read = running.pop(0)
        try:
            results[name] = read.recv()
        except EOFError:
            child.join()
            results[name] = {
                "verdict": "fail", "said": f"the process ended with status {child.exitcode}",
                "seconds": 0
            }
        child.join()
        result = results[name]
        print(
            f"{result['verdict']} {name} ({result['seconds']} s){': ' if result['said'] else ''}{result['said']}",
            flush=True)
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--device", choices=("cpu", "cuda-emu"), default="cpu")
    parser.add_argument("--json")
    parser.add_argument("--emulated", type=int)
    arguments = parser.parse_args()
    if not os.path.isdir(MODELS):
        print("1 left out (no corpus of trained models: set DLC_CORPUS)\n0 passed, 0 failed")
        return 0
    if arguments.device == "cuda-emu":
        emulate()
    with open(LIST, encoding="utf-8") as source:
        lines = [line.split() for line in source if line.strip() and not line.startswith("#")]
    # A line: the model, and the devices that it passes on.
    passing = [words[0] for words in lines if arguments.device in words[1:]]
    there = sorted(name for name in os.listdir(MODELS)
                   if os.path.exists(os.path.join(MODELS, name, "model.onnx")))
    chosen = arguments.names or (there if arguments.all else passing)
    results = run_all(chosen, arguments.device, None if arguments.all or arguments.names else STEPS,
                      int(os.environ.get("DLC_JOBS", os.cpu_count())))
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as out:
            json.dump({"device": arguments.device, "results": results}, out, indent=1,
                      sort_keys=True)
    if arguments.emulated:
        emulate()
        sample, _ = split([words[0] for words in lines if "cuda-emu" in words[1:]],
                          arguments.emulated)
        print(f"on the emulated GPU: {', '.join(sample)}")
        again = run_all(sample, "cuda-emu", STEPS, int(os.environ.get("DLC_JOBS", os.cpu_count())))
        results.update({f"{name} on cuda-emu": result for name, result in again.items()})
    count = lambda verdict: sum(result["verdict"] == verdict for result in results.values())
    required = set(arguments.names or passing)
    broken = [
        name for name, result in results.items()
        if result["verdict"] != "pass" and name.split(" ")[0] in required
    ]
    for name in broken:
        print(f"FAILED {name}")
    print(
        f"{arguments.device}: {count('pass')} pass, {count('fail')} fail, {count('unsupported')} unsupported, of {len(results)}"
    )
    print(f"{count('pass')} passed, {len(broken)} failed")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
