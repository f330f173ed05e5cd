#!/usr/bin/env python3
"""The ONNX project's tests (DLC_CORPUS) of nodes, and of small models ("simple/...",
"pytorch-converted/..."), compiled from their model.onnx and run. Three verdicts are counted apart:
pass, fail, and unsupported (dlc said so with exit code 3), which is never a pass. A case either
passes or stands in onnx_refused.txt with the reason why it does not; one that stands there and
passes, or fails otherwise than by being refused, is a failure too.

  run_onnx.py                      the cases of onnx_passing.txt: none of them may fail
  run_onnx.py --all                every core case, with the ops that stand in the way; --other:
                                   those beyond the core and the small models, too. Those that newly
                                   pass are named
  run_onnx.py --device cuda-emu    on the emulated GPU
  run_onnx.py --text               through the text that dlc import writes
  run_onnx.py --json FILE          the verdicts
  run_onnx.py --update             writes onnx_passing.txt anew from what passed on the CPU
  run_onnx.py NAME...              these cases alone
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import traceback

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "numeric"))
import small_floats  # noqa: E402
from dlc_tool import BUILD, DLC
from onnx_files import Unreadable, extract, graph_of, index, read_tensor, small_models
from onnx_promises import PROMISES, draws
from refused_cases import parse
from runtime_session import Refused, Session
from cases import split

HERE = os.path.dirname(os.path.abspath(__file__))
LIST = os.path.join(HERE, "onnx_passing.txt")
REFUSED = os.path.join(HERE, "onnx_refused.txt")
CORPUS = os.environ.get("DLC_CORPUS", "")
SMALL_FLOATS = {
    format[0]: small_floats.TABLES[name] for name, format in small_floats.FORMATS.items()
}
RTOL, ATOL = 1e-3, 1e-7  # upstream's
TIMEOUT = 120
# Inputs that hold shapes, axes and their like: the only ones that --const-input may give.
SHAPE_INPUTS = {
    "Reshape": (1, ), "Expand": (1, ), "Slice": (1, 2, 3, 4), "Pad": (1, 3), "Tile": (1, ),
    "Unsqueeze": (1, ), "Squeeze": (1, ), "Split": (1, ), "ConstantOfShape": (0, ),
    "Range": (0, 1, 2), "TopK": (1, ), "Resize": (1, 2, 3), "Upsample": (1, ), "OneHot": (1, ),
    "Trilu": (1, ), "CumSum": (1, ), "CumProd": (1, ), "Col2Im": (1, 2), "MaxUnpool": (2, ),
    "MelWeightMatrix": (0,
                        1), "CenterCropPad": (1, ), "BlackmanWindow": (0, ), "HammingWindow": (0, ),
    "HannWindow": (0, ), "AffineGrid": (1, ), "DFT": (1, 2), "STFT": (1, 3), "Loop": (0, 1), **{
        "Reduce" + kind: (1, ) for kind in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min",
                                            "Prod", "Sum", "SumSquare")
    }
}


def widened(dtype, array):
    """Numbers that can be compared."""
    if dtype == "bf16":
        return (array.astype(np.uint32) << 16).view(np.float32)
    if dtype in SMALL_FLOATS:
        return SMALL_FLOATS[dtype][array]
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def differences(name, got, expected):
    """None, or what is wrong with an output."""
    (dtype, array), (wanted_dtype, wanted) = got, expected
    if dtype != wanted_dtype or array.shape != wanted.shape:
        return f"{name} is {dtype}{list(array.shape)}, expected {wanted_dtype}{list(wanted.shape)}"
    ours, theirs = widened(dtype, array), widened(dtype, wanted)
    if ours.dtype.kind != "f":
        return None if np.array_equal(
            ours, theirs) else f"{name}: {int((ours != theirs).sum())} of {ours.size} differ"
    rtol = max(RTOL, {"bf16": 2 ** -7, "f16": 2 ** -9}.get(dtype, 0))
    if dtype in SMALL_FLOATS:
        close = (ours == theirs) & (np.signbit(ours)
                                    == np.signbit(theirs)) | np.isnan(ours) & np.isnan(theirs)
    else:
        with np.errstate(invalid="ignore"):
            close = np.isclose(ours, theirs, rtol=rtol, atol=ATOL, equal_nan=True)
    if close.all():
        return None
    worst = np.argwhere(~close)[0]
    return (f"{name}: {int((~close).sum())} of {close.size} differ, first at {worst.tolist()}: "
            f"{ours[tuple(worst)]!r}, expected {theirs[tuple(worst)]!r}")


def inverse_dft(x):
    """Along axis 1, in double."""
    z = np.fft.ifft(x[..., 0].astype(np.float64) + 1j * x[..., 1], axis=1)
    return np.stack([z.real, z.imag], -1)


# Stored results that are off the exact one by more than the tolerance: a transform in f32 computed
# them, whose rounding shows where the exact value is 0. We compare with the exact result, after a
# look at how far off the stored one is: (function, largest distance).
INEXACT = {"test_dft_inverse": (inverse_dft, 2e-6)}


def exact_result(case, inputs, stored):
    """The exact result of a case of INEXACT in the dtype of the stored one; of another, what is
    stored."""
    if case not in INEXACT:
        return stored
    function, distance = INEXACT[case]
    exact = function(inputs[0][2])
    if not np.all(np.abs(exact - stored) <= distance):
        raise ValueError(f"the stored result of {case} is not what INEXACT expects")
    return exact.astype(stored.dtype)


def read_case(folder, number):
    inputs, outputs = [], []
    for kind, found in (("input", inputs), ("output", outputs)):
        position = 0
        while os.path.exists(
                path := os.path.join(folder, f"test_data_set_{number}", f"{kind}_{position}.pb")):
            with open(path, "rb") as source:
                found.append(read_tensor(source.read()))
            position += 1
    return inputs, outputs


def compile_case(model, package, device, constants, as_text=False):
    """(verdict or None, sentence)"""
    if as_text:
        text = package + ".dl"
        verdict, said = tool_verdict(["import", model, "-o", text, "--force"], constants)
        return (verdict, said) if verdict else compile_case(text, package, device, {})
    return tool_verdict(
        ["compile", model, "--target", "cpu" if device == "cpu" else "cuda", "-o", package],
        constants)


def tool_verdict(arguments, constants):
    command = [DLC, *arguments]
    for name, path in constants.items():
        command += ["--const-input", f"{name}=@{path}"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, errors="replace",
                             timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return "fail", "the compiler took too long"
    if run.returncode == 0:
        return None, ""
    return "unsupported" if run.returncode == 3 else "fail", f"exit {run.returncode}: {run.stderr.strip()[-1500:]}"


def broken_promise(promise, inputs, outputs, stored):
    """None, or what is wrong with the results of an op that draws numbers, of which the stored ones
    tell no more than the types. `outputs`: (name, results of a run, those of another or None)."""
    for (name, (dtype, array), again), (_, wanted_dtype, wanted) in zip(outputs, stored):
        if dtype != wanted_dtype or array.shape != wanted.shape:
            return f"{name} is {dtype}{list(array.shape)}, expected {wanted_dtype}{list(wanted.shape)}"
        if again and not np.array_equal(array, again[1], equal_nan=array.dtype.kind == "f"):
            return f"{name}: two runs drew other numbers from one seed"
    return promise(inputs, [widened(dtype, array) for _, (dtype, array), _ in outputs])


def run_case(folder, op, device, scratch, as_text):
    """(verdict, sentence, whether --const-input was needed)"""
    model = os.path.join(folder, "model.onnx")
    names, output_names, nodes = graph_of(model)
    all_names = names
    try:
        inputs, outputs = read_case(folder, 0)
    except (Unreadable, ValueError, KeyError, StopIteration) as error:
        # Not data that dlc could take; it must still refuse the model in words.
        verdict, said = compile_case(model, os.path.join(scratch, "m.bin"), device, {})
        return ("unsupported", said,
                False) if verdict == "unsupported" else ("fail", f"data: {error}; {said}", False)
    shape_valued = {
        used[position]
        for op, used, _ in nodes for position in SHAPE_INPUTS.get(op, ()) if position < len(used)
    }
    # An op spelled out takes what the op takes.
    if folder.split("_ver")[0].endswith("_expanded"):
        shape_valued.update(names[position] for position in SHAPE_INPUTS.get(op, ())
                            if position < len(names))
    arrays = {name: array for name, (_, _, array) in zip(names, inputs)}
    constants = {}
    for position, name in enumerate(names):
        if name in shape_valued and position < len(inputs):
            _, dtype, array = inputs[position]
            path = os.path.join(scratch, f"const_{position}.npy")
            np.save(path, array.astype(bool) if dtype == "bool" else array)
            constants[name] = path
    package = os.path.join(scratch, "model.bin")
    verdict, said = compile_case(model, package, device, constants, as_text)
    if verdict:
        return verdict, said, bool(constants)
    library = os.path.join(BUILD, "lib", "libdlc_runtime.so")
    with Session(library, package, "cpu" if device == "cpu" else "cuda",
                 checked=device == "cpu") as session:
        number = 0
        if as_text:  # names are those of the language
            names = [name for name in names if name not in constants]
            renamed = dict(zip(names, (name for name, _ in session.values("input"))))
            output_names = [name for name, _ in session.values("output")]
        while os.path.isdir(os.path.join(folder, f"test_data_set_{number}")):
            inputs, outputs = read_case(folder, number)
            if not outputs or len(outputs) > len(output_names):
                return "fail", f"data set {number} stores {len(outputs)} results of {len(output_names)}", bool(
                    constants)
            arrays = {name: array for name, (_, _, array) in zip(all_names, inputs)}
            given = {renamed[name]: arrays[name] for name in names} if as_text else arrays
            got = session.run(given)
            if draws(nodes, arrays):
                if op not in PROMISES:
                    return "unchecked", f"{op} draws numbers, of which onnx_promises.py says nothing", bool(
                        constants)
                is_seeded = any("seed" in attributes for *_, attributes in nodes)
                again = session.run(given) if is_seeded else {}
                results = [(name, got[name], again.get(name)) for name in output_names]
                drawing = next((used for name, used, _ in nodes if name == op),
                               all_names)  # or an op spelled out
                if problem := broken_promise(PROMISES[op], [arrays.get(name) for name in drawing],
                                             results, outputs):
                    return "fail", problem, bool(constants)
                number += 1
                continue
            for name, (_, dtype, expected) in zip(output_names, outputs):
                expected = exact_result(os.path.basename(folder), inputs, expected)
                if problem := differences(name, got[name], (dtype, expected)):
                    return "fail", problem, bool(constants)
            number += 1
    if number == 0:
        return "fail", "it has no data", bool(constants)
    return "pass", "", bool(constants)


def work(cases, begin, step, device, out, as_text):
    """Runs cases begin, begin + step, ...: a line of JSON before and after each."""
    for position in range(begin, len(cases), step):
        name, folder, op = cases[position]
        print(json.dumps({"begin": position}), file=out, flush=True)
        with tempfile.TemporaryDirectory() as scratch:
            try:
                verdict, said, consts = run_case(folder, op, device, scratch, as_text)
            except Refused as error:
                verdict, said, consts = "fail", f"runtime: {error}", False
            except Exception:
                verdict, said, consts = "fail", traceback.format_exc(), False
        print(json.dumps({"name": name, "verdict": verdict, "said": said, "const": consts}),
              file=out, flush=True)


def run_all(cases, device, jobs, as_text=False):
    """Results by name. A case that ends its worker fails; the others go on in a new one."""
    results, workers = {}, []

    def start(begin):
        read, write = os.pipe()
        if (child := os.fork()) == 0:
            os.close(read)
            with os.fdopen(write, "w") as out:
                work(cases, begin, jobs, device, out, as_text)
            os._exit(0)
        os.close(write)
        return [os.fdopen(read), child, None]

    workers = [start(begin) for begin in range(min(jobs, len(cases)))]
    while workers:
        worker = workers.pop(0)
        line = worker[0].readline()
        if line:
            message = json.loads(line)
            if "begin" in message:
                worker[2] = message["begin"]
            else:
                results[message.pop("name")] = message
                worker[2] = None
            workers.append(worker)
            continue
        _, status = os.waitpid(worker[1], 0)
        if worker[2] is not None:
            results[cases[worker[2]][0]] = {
                "verdict": "fail", "said": f"the process ended with status {status}", "const": False
            }
            if worker[2] + jobs < len(cases):
                workers.append(start(worker[2] + jobs))
    return results


def emulate():
    for variable, library in (("DLC_LIBCUDA", "libdlc_cuda_emu.so"),
                              ("DLC_LIBNVRTC", "libdlc_nvrtc_emu.so"), ("DLC_LIBCUBLASLT",
                                                                        "libdlc_cublaslt_emu.so")):
        os.environ[variable] = os.path.join(BUILD, "lib", library)
    os.environ.setdefault("DLC_CACHE_DIR", "")


def missing_ops(results):
    """op -> how many cases name it as not imported."""
    counts = collections.Counter()
    for result in results.values():
        if result["verdict"] == "unsupported":
            for op in set(re.findall(r"does not import '([^']+)'",
                                     result["said"])) or {"(a form of an op)"}:
                counts[op] += 1
    return counts


def complaint(name, result, passes, refused):
    """What is wrong with the verdict on a case, or None. `passes`: it is listed as passing;
    `refused`: {case: reason}."""
    verdict, said = result["verdict"], result["said"]
    if name in refused:
        if verdict == "unsupported":
            return None
        return f"onnx_refused.txt lists it ({refused[name]}), but its verdict is {verdict}: {said}" + (
            "; take it off the list" if verdict == "pass" else "")
    if verdict in ("pass", "unchecked"):
        return None
    return f"{verdict}: {said}" + ("" if passes or verdict == "fail" else
                                   "; neither passes nor stands in onnx_refused.txt")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--other", action="store_true")
    parser.add_argument("--device", choices=("cpu", "cuda-emu"), default="cpu")
    parser.add_argument("--text", action="store_true")
    parser.add_argument("--one-in", type=int, default=1, metavar="N", help="one case in N")
    parser.add_argument("--json")
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    if not os.path.isdir(os.path.join(CORPUS, "onnx-backend")):
        print("1 left out (no corpus of ONNX cases: set DLC_CORPUS)\n0 passed, 0 failed")
        return 0
    if arguments.device == "cuda-emu":
        emulate()
    folder = extract(CORPUS, os.path.join(BUILD, "onnx-cases"))
    rows = index(CORPUS)
    for name in arguments.names:
        if not os.path.exists(
                os.path.join(folder, name if "/" in name else os.path.join("node", name),
                             "model.onnx")):
            parser.error(f"there is no case '{name}'")
    with open(LIST) as source:
        passing = [line.strip() for line in source if line.strip() and not line.startswith("#")]
    with open(REFUSED) as source:
        refused = parse(source.read())
    everything = arguments.all or arguments.other or arguments.update
    beyond = arguments.other or arguments.update
    chosen = arguments.names or (
        [name for name, row in rows.items() if beyond or row["core"] == "1"] +
        (small_models(folder) if beyond else []) if everything else passing)
    chosen, others = split(chosen, arguments.one_in)
    cases = [(name, os.path.join(folder, name if "/" in name else os.path.join("node", name)),
              rows.get(name, {}).get("op")) for name in chosen]
    results = run_all(cases, arguments.device, int(os.environ.get("DLC_JOBS", os.cpu_count())),
                      arguments.text)
    if arguments.json:
        with open(arguments.json, "w") as out:
            json.dump({"device": arguments.device, "results": results}, out, indent=1,
                      sort_keys=True)
    expected = set(passing) if not arguments.names else set(arguments.names)
    broken = 0
    for name in sorted(set(refused) & set(passing)):
        broken += 1
        print(f"FAILED {name}: onnx_passing.txt and onnx_refused.txt both list it")
    for name in sorted(
            set(refused)
            - set(results) if arguments.all and arguments.other and not arguments.names else ()):
        broken += 1
        print(f"FAILED {name}: onnx_refused.txt lists it, but there is no such case")
    for name in sorted(set(chosen) - set(results)):
        broken += 1
        print(f"FAILED {name}: it has no verdict: the process that ran it ended between two cases")
    for name in sorted(results):
        if problem := complaint(name, results[name], name in expected, refused):
            broken += 1
            print(f"FAILED {name}: {problem}")
    counts = collections.Counter(result["verdict"] for result in results.values())
    for kind, holds in (("core", lambda name: rows.get(name, {}).get("core") == "1"),
                        ("small models", lambda name: "/" in name),
                        ("other", lambda name: "/" not in name and rows[name]["core"] != "1")):
        of_kind = collections.Counter(result["verdict"] for name, result in results.items()
                                      if holds(name))
        if of_kind:
            print(
                f"{kind}: {of_kind['pass']} pass, {of_kind['fail']} fail, {of_kind['unsupported']} unsupported"
            )
    consts = sum(result["verdict"] == "pass" and result["const"] for result in results.values())
    if everything:
        for op, count in missing_ops(results).most_common():
            print(f"missing {op}: {count} cases")
        fresh = sorted(name for name, result in results.items()
                       if result["verdict"] == "pass" and name not in expected)
        print(f"newly passing: {' '.join(fresh)}")
    if arguments.update:
        kept = sorted(name for name, result in results.items() if result["verdict"] == "pass")
        with open(LIST, "w") as out:
            out.write(
                "# Tests of the ONNX project that pass. None may fail again; run_onnx.py --update adds those that newly do.\n"
            )
            out.writelines(name + "\n" for name in kept)
    print(f"{arguments.device}: {counts['pass']} pass ({consts} of them with --const-input), {counts['fail']} fail, "
          f"{counts['unsupported']} unsupported, of {len(results)}")
    if others:
        print(f"{others} left out (cases of another seed, 1 in {arguments.one_in})")
    if counts["unsupported"]:
        print(
            f"{counts['unsupported']} left out (refused, each with its reason in onnx_refused.txt or named above)"
        )
    if counts["unchecked"]:
        print(
            f"{counts['unchecked']} left out (they draw random numbers of which nothing is known to check)"
        )
    print(f"{counts['pass']} passed, {broken} failed")
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
