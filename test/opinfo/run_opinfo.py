#!/usr/bin/env python3
"""PyTorch's own database of operators (op_db) and layers (module_db) over dlc: its samples, extreme
values and the inputs that it refuses, against PyTorch in double precision; and functions of
torchvision that choose boxes.

    run_opinfo.py                 one in PARTS of the entries (cases.py): on the CPU,
                                  some on the interpreter and on the emulated GPU, too
    run_opinfo.py --all           all of them
    run_opinfo.py --only OP       those of one operator or layer, as op_db, or dlc, names it; may be
                                  repeated
    run_opinfo.py --device cpu|cuda-emu|reference      every sample on this one alone; may be
                                                       repeated
    run_opinfo.py --seed N        other samples

The last line is "N passed, N failed"."""
import argparse
import collections
import concurrent.futures
import os
import re
import sys
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("numeric", "conformance"):
    sys.path.insert(0, os.path.join(os.path.dirname(HERE), folder))
import torch  # noqa: E402

from cases import Cases, Failure, split  # noqa: E402
from dlc_tool import dlc  # noqa: E402

PARTS = 16
BATCH = 24                            # cases of a model
DEVICES = {"cpu": 1, "reference": 4, "cuda-emu": 8}  # one of how many cases
# Entries that have no samples for dlc: all of them train, or hold complex numbers.
UNJUDGED = {"nn.functional.batch_norm/without_cudnn", "nn.functional.silu/complex"}
JOBS = int(os.environ.get("DLC_JOBS", os.cpu_count()))


def names(of):
    return set(re.findall(r"^(\w+)\(", dlc("list", of), re.M))


class Judge:
    def __init__(self, cases, devices, is_whole):
        from lists import Listed
        from voices import Cpu, Cuda, Reference
        voices = {"cpu": Cpu, "cuda-emu": Cuda, "reference": Reference}
        self.cases, self.is_whole = cases, is_whole
        self.devices = [(name, voices[name](), step) for name, step in devices.items()]
        self.refused, self.accepted, self.excused = map(
            Listed, ("refused.txt", "accepted.txt", "excused.txt"))
        self.passed = collections.Counter()

    def known_refusals(self, refused):
        for case, message in refused:
            reason = self.refused.reason(case.entry, message)
            if reason:
                self.cases.leave_out(1, f"refused: {reason}")
            else:
                with self.cases.case(case.name):
                    raise Failure(f"is refused: {message}")

    def judge(self, entry, cases, errors):
        """Runs the cases; returns what is left to do with their results. Runs beside other entries.
        """
        from batch import divided, run
        taken, refused = divided(cases)
        accepted, correctly = divided(errors)
        done = []
        for name, voice, step in self.devices:
            chosen = [
                case for number, case in enumerate(taken)
                if number % step == 0 and self.runs_on(case, name)
            ]
            for first in range(0, len(chosen), BATCH):
                part = chosen[first:first + BATCH]
                done += [(name, case, values) for case, values in zip(part, run(part, voice))]
        return entry, refused, accepted, correctly, done

    @staticmethod
    def runs_on(case, device):
        from batch import is_counted
        if is_counted(case):  # the interpreter's harness and NumPy have no such
            return device != "reference" and not any(x.dtype == torch.bfloat16 for x in case.inputs)
        return device != "reference" or not case.weights

    def report(self, entry, refused, accepted, correctly, done):
        from batch import mismatch, model_text
        self.known_refusals(refused)
        for case, _ in correctly:
            with self.cases.case(f"{case.name} is refused"):
                pass
            self.passed[entry] += 1
        for case in accepted:
            reason = self.accepted.reason(entry, f"{case.call} {case.expects}")
            if reason:
                self.cases.leave_out(1, f"accepted: {reason}")
                continue
            with self.cases.case(case.name):
                raise Failure(
                    f"is taken, though PyTorch says: {case.expects}\n{model_text([case])[0]}")
        for device, case, values in done:
            problem = mismatch(case, values)
            reason = problem and self.excused.reason(entry, f"{case.dtype} {case.call} {problem}")
            if reason:
                self.cases.leave_out(1, f"excused: {reason}")
                continue
            with self.cases.case(f"{case.name} on {device}"):
                if problem:
                    raise Failure(
                        f"{problem}\n{model_text([case])[0]}inputs {describe(case.inputs)}")
            self.passed[entry] += not problem

    def finish(self, entries):
        """Each entry was judged, and each line of the lists about them is met."""
        for entry in sorted(entries):
            with self.cases.case(f"{entry} is judged"):
                if not self.passed[entry] and entry not in UNJUDGED and not any(
                        line[0] == entry for line in self.refused.lines):
                    raise Failure("no sample of it ran")
        if not self.is_whole:
            return
        for listed in (self.refused, self.accepted, self.excused):
            for line in listed.not_met(entries):
                with self.cases.case(f"{listed.name}, {line[0]}: {line[1]}"):
                    raise Failure("no sample meets this line; take it off the list")


def describe(inputs):
    texts = [str(x.tolist()) for x in inputs]
    return ", ".join(text if len(text) < 400 else text[:400] + "..." for text in texts)


def census(op_db, module_db, functions, layers):
    """Prints what dlc lacks of the database, and what is in dlc alone."""
    from spelling import functions_of, is_spelled, name_of
    named = {name for op in op_db for name in functions_of(op, functions)}
    lacking = sorted({op.name for op in op_db if not is_spelled(op, functions)})
    print(f"{len(functions & named)} of {len(functions)} functions of dlc have entries in op_db; without: "
          f"{', '.join(sorted(functions - named))}")
    print(f"{len(lacking)} entries of op_db are functions that dlc lacks: {', '.join(lacking)}")
    without = sorted(
        info.name.split(".")[-1] for info in module_db if info.name.split(".")[-1] not in layers)
    print(f"{len(without)} layers of module_db that dlc lacks: {', '.join(without)}")
    return [(name_of(op), op) for op in op_db if is_spelled(op, functions)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--only", action="append")
    parser.add_argument("--device", action="append", choices=list(DEVICES))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    cases = Cases()
    try:
        import expecttest  # noqa: F401  which the database imports
    except ImportError:
        cases.leave_out(
            1, "PyTorch's database needs the package expecttest: tools/scripts/setup --tests")
        return cases.finish()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.common_modules import module_db

    import layers
    import vision
    from samples import Samples
    from spelling import functions_of, name_of
    functions, known_layers = names("ops"), names("layers")
    entries = census(op_db, module_db, functions, known_layers)
    entries += [(info.name, info) for info in module_db if info.name.split(".")[-1] in known_layers]
    entries += [(name, None) for name in vision.names()]
    if options.only:
        entries = [(name, op) for name, op in entries if {
            name,
            name.split("/")[0],
            name.split("/")[0].split(".")[-1], *(
                functions_of(op, functions) if hasattr(op, "aliases") else [])
        } & set(options.only)]
    elif not options.all:
        taken = set(split([name for name, _ in entries], PARTS)[0])
        cases.leave_out(
            sum(name not in taken for name, _ in entries),
            "entries of another seed: --all takes them")
        entries = [entry for entry in entries if entry[0] in taken]
    devices = dict.fromkeys(options.device, 1) if options.device else DEVICES
    judge = Judge(cases, devices, options.seed == 0 and "cpu" in devices)
    samples = Samples(functions, options.seed, lambda reason: cases.leave_out(1, reason))
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        futures = collections.deque()
        for name, op in entries:
            if op is None:
                made = vision.cases_of(name, options.seed), []
            elif hasattr(op, "module_cls"):
                made = layers.cases_of(op, options.seed, samples.leave_out), []
            else:
                made = samples.own(op) + samples.extreme(op), samples.errors(op)
            futures.append(pool.submit(judge.judge, name, *made))
            while futures and (futures[0].done() or len(futures) > 2 * JOBS):
                judge.report(*futures.popleft().result())
        while futures:
            judge.report(*futures.popleft().result())
    judge.finish({name for name, _ in entries})
    return cases.finish()


if __name__ == "__main__":
    sys.exit(main())
