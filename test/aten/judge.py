"""What dlc makes of samples, against eager PyTorch."""

import dataclasses
import os
import re
import subprocess
import tempfile
import warnings

import torch

import dlc
from dlc import compiler
from dlc.aten import weights
from dlc.aten.failure import ExportFailure

import graphs

TIMEOUT = 120  # seconds of a compilation
#: Relative and absolute bounds of results, for their dtypes.
BOUNDS = {
    torch.float64: (1e-9, 1e-10),
    torch.float32: (1e-4, 1e-5),
    torch.float16: (1e-2, 1e-3),
    torch.bfloat16: (5e-2, 1e-2),
}


@dataclasses.dataclass
class Outcome:
    """What came of one sample: `kind` is passed, wrong, refused or untraced (by PyTorch)."""

    sample: object
    way: str
    kind: str
    message: str = ""
    overloads: tuple = ()
    text: str = ""


class Refused(Exception):
    """The compiler takes no program of the samples."""


def run(text, program, tensors):
    """Compiles the text and runs it on the tensors, in the order of its inputs. The results, and
    whether random numbers are in them."""
    with tempfile.TemporaryDirectory(prefix="dlc-aten-") as folder:
        path, package = os.path.join(folder, "samples.dl"), os.path.join(folder, "samples.bin")
        if program.weights:
            weights.write(os.path.join(folder, "samples.safetensors"), program.weights)
            text += 'weights "samples.safetensors"\n'
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        command = [compiler.find_tool(), "compile", path, "-q", "-o", package, "--target", "cpu"]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT
            )
        except subprocess.TimeoutExpired:
            raise Refused(f"dlc compile takes more than {TIMEOUT} s") from None
        if done.returncode:
            said = done.stderr.replace(folder + os.sep, "").strip()
            end = "" if done.returncode > 0 else f" (ended by signal {-done.returncode})"
            raise Refused(f"dlc compile{end}: {said[:600]}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model = dlc.load(package, device="cpu")
                found = model(*tensors)
            except dlc.Error as error:
                raise Refused(f"a run: {error}") from None
    found = found if isinstance(found, (tuple, list)) else [found]
    # A model without inputs gives arrays.
    draws = any(state.name == "generator" for state in model.states)
    return [x if isinstance(x, torch.Tensor) else torch.from_numpy(x) for x in found], draws


def _close(ours, theirs, exact, bounds):
    """Whether finite elements agree; `exact()` gives them in double precision, or None."""
    relative, absolute = bounds
    far = (ours - theirs).abs() - relative * theirs.abs()
    if not bool((far > absolute).any()):
        return True
    right = exact()
    if right is None or right.shape != theirs.shape or not bool(right.isfinite().all()):
        return False
    own = (theirs - right).abs().max()
    return not bool(((ours - right).abs() > absolute + relative * right.abs() + 4 * own).any())


def mismatch(ours, theirs, exact):
    """What differs between two tensors; an empty text where nothing does."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return (
            f"{str(ours.dtype)[6:]}{list(ours.shape)}, "
            f"expected {str(theirs.dtype)[6:]}{list(theirs.shape)}"
        )
    if not theirs.is_floating_point():
        wrong = ours != theirs
    else:
        bounds = BOUNDS[theirs.dtype]
        ours, theirs = ours.double(), theirs.double()
        finite = theirs.isfinite()
        same = (ours == theirs) | (ours.isnan() & theirs.isnan())
        wrong = (~finite | ~ours.isfinite()) & ~same
        if not wrong.any():

            def right():
                value = exact()
                return value.double()[finite] if value is not None else None

            if _close(ours[finite], theirs[finite], right, bounds):
                return ""
            relative, absolute = bounds
            wrong = finite & ~((ours - theirs).abs() <= absolute + relative * theirs.abs())
    if not wrong.any():
        return ""
    first = tuple(torch.nonzero(wrong)[0].tolist()) if wrong.dim() else ()
    return (
        f"{int(wrong.sum())} of {wrong.numel()} values are wrong; "
        f"at {list(first)}: {ours[first].item()}, expected {theirs[first].item()}"
    )


def _compared(sample, found, expected, draws):
    """What differs between the results of a sample; of random numbers their types alone, for
    draws.py has their distributions."""
    for number, (ours, theirs) in enumerate(zip(found, expected)):
        if sample.is_undefined or draws:
            is_same = ours.shape == theirs.shape and ours.dtype == theirs.dtype
            problem = "" if is_same else f"{ours.dtype}{list(ours.shape)}"
        else:

            def exact(number=number):
                results = sample.exact()
                return results[number] if results and number < len(results) else None

            problem = mismatch(ours, theirs, exact)
        if problem:
            return f"result {number}: {problem}"
    return ""


def _without_place(failure):
    """A message without the line of the module, which is one of graphs.py."""
    return re.sub(r" \(\S+graphs\.py:\d+: .*\)$", "", str(failure))


def _divided(samples):
    """Samples by their dtypes; of one dtype each by itself."""
    dtypes = list(dict.fromkeys(sample.dtype for sample in samples))
    if len(dtypes) == 1:
        return [[sample] for sample in samples]
    return [[sample for sample in samples if sample.dtype == dtype] for dtype in dtypes]


class Judge:
    """Judges samples in one way, together where they can be."""

    def __init__(self):
        self.compiled = 0

    def together(self, samples, way, seen):
        """An Outcome for each sample. `seen`: texts whose samples have passed, which are not run
        again."""
        try:
            source = graphs.source_of(samples, way)
            overloads = tuple(graphs.overloads_of(source))
            text, program = graphs.program_of(source)
            if not program.weights and text in seen:
                return [Outcome(sample, way, "passed", "", overloads) for sample in samples]
            self.compiled += 1
            found, draws = run(text, program, [x.clone() for s in samples for x in s.tensors])
        except graphs.CannotTrace as why:
            failed = Outcome(samples[0], way, "untraced", str(why))
        except ExportFailure as why:
            failed = Outcome(samples[0], way, "refused", _without_place(why), overloads)
        except Refused as why:
            failed = Outcome(samples[0], way, "refused", str(why), overloads, text)
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            failed = Outcome(samples[0], way, "refused", f"an error of the rows: {why}", overloads)
        else:
            outcomes = self._outcomes(samples, way, found, draws, overloads, text)
            if all(outcome.kind == "passed" for outcome in outcomes):
                seen.add(text)
            return outcomes
        if len(samples) == 1:
            return [failed]
        return [outcome for part in _divided(samples) for outcome in self.together(part, way, seen)]

    @staticmethod
    def _outcomes(samples, way, found, draws, overloads, text):
        results = [sample.expected() for sample in samples]
        # What a graph changes in place comes first.
        outcomes, begin = [], len(found) - sum(map(len, results))
        for sample, expected in zip(samples, results):
            problem = _compared(sample, found[begin : begin + len(expected)], expected, draws)
            begin += len(expected)
            kind = "wrong" if problem else "passed"
            outcomes.append(Outcome(sample, way, kind, problem, overloads, text))
        return outcomes
