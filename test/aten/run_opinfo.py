#!/usr/bin/env python3
"""PyTorch's own database of operators (op_db) over the table of ATen's overloads: for each entry
a few samples, as torch.export and AOTAutograd write them, compiled together, run on the CPU and
compared with eager PyTorch.

    run_opinfo.py                  all entries
    run_opinfo.py NAME...          these: add, nn.functional.pad/constant, or a part after a dot
    run_opinfo.py --turn 2/16      the second of 16 parts of the database
    run_opinfo.py --seed N         other samples
    run_opinfo.py --dtype float16  samples of this dtype
    run_opinfo.py --verbose        the texts of what is wrong, too

It needs PyTorch 2.5 or newer with expecttest, and the dlc package of a build in PYTHONPATH.
opinfo/refused.txt and excused.txt say what is known; where all entries are judged, a line that nothing
meets is a failure. The last line is "N passed, M failed"."""

import argparse
import collections
import os
import sys
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("opinfo", "conformance", "aten"):
    sys.path.insert(0, os.path.join(os.path.dirname(HERE), folder))
import torch  # noqa: E402

from cases import Cases, Failure  # noqa: E402


class Report:
    """Counts what came of samples, by entry and by overload."""

    def __init__(self, cases, is_verbose):
        from lists import Listed

        self.cases, self.is_verbose = cases, is_verbose
        self.refused, self.excused = (
            Listed(os.path.join(HERE, "opinfo", name)) for name in ("refused.txt", "excused.txt")
        )
        self.by_overload = collections.defaultdict(collections.Counter)
        self.reasons = collections.defaultdict(collections.Counter)

    def entry(self, name, outcomes):
        """One case for each way and dtype of an entry."""
        from lists import normalized

        ways = collections.defaultdict(list)
        for outcome in outcomes:
            self.count(outcome)
            ways[f"{outcome.sample.dtype} {outcome.way}"].append(outcome)
        for way, found in ways.items():
            problems, known = {}, 0
            for outcome in found:
                problem = self.problem(name, outcome)
                known += problem is None
                if problem:
                    problems.setdefault(normalized(outcome.message), problem)
            if known == len(found):
                continue
            with self.cases.case(f"{name} {way}"):
                if problems:
                    raise Failure("\n".join(problems.values()))

    def problem(self, name, outcome):
        """What is wrong and not known; an empty text where nothing is, None where it is known."""
        if outcome.kind == "passed":
            return ""
        if outcome.kind == "untraced":
            self.cases.leave_out(1, "samples of which PyTorch makes no graph")
            return None
        listed = self.refused if outcome.kind == "refused" else self.excused
        reason = listed.reason(name, f"{outcome.sample.dtype} {outcome.message}")
        if reason:
            self.cases.leave_out(1, f"{outcome.kind}: {reason}")
            return None
        text = f"\n{outcome.text}" if self.is_verbose else ""
        return f"{outcome.kind}: {outcome.message} ({outcome.sample.described()}){text}"

    def count(self, outcome):
        if outcome.kind == "untraced":
            return
        for overload in outcome.overloads:
            if outcome.kind == "refused" and f".{overload.replace('::', '.')}:" not in (
                f".{outcome.message}".replace("torch.ops.aten.", ".").replace("torch.ops.", ".")
            ):
                continue
            self.by_overload[overload][outcome.kind] += 1
            if outcome.kind != "passed":
                self.reasons[overload][outcome.message.splitlines()[0][:150]] += 1

    def overloads(self):
        """Prints for each overload how many samples passed, and why others did not."""
        from dlc.aten.table import ROWS

        for overload, counts in sorted(self.by_overload.items()):
            shown = ", ".join(f"{count} {kind}" for kind, count in counts.items())
            print(f"{overload}: {shown}" + ("" if overload in ROWS else " (no row)"))
            for reason, _ in self.reasons[overload].most_common(2):
                print(f"    {reason}")
        judged = [name for name, counts in self.by_overload.items() if counts["passed"]]
        rows = sum(name in ROWS for name in judged)
        print(f"{rows} of {len(ROWS)} rows have passed with a sample")

    def finish(self):
        """Each line of the lists is met by a sample."""
        for listed in (self.refused, self.excused):
            for line in listed.lines:
                if line not in listed.met:
                    with self.cases.case(f"{os.path.basename(listed.name)}, {line[0]}: {line[1]}"):
                        raise Failure("no sample meets this line; take it off the list")


def chosen(op_db, options):
    from samples import name_of

    if options.names:
        wanted = set(options.names)
        return [op for op in op_db if wanted & {op.name, name_of(op), op.name.rpartition(".")[2]}]
    if options.turn:
        number, count = map(int, options.turn.split("/"))
        return op_db[(number - 1) % count :: count]
    return op_db


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--turn")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dtype", action="append", type=lambda name: getattr(torch, name))
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    from torch.testing._internal.common_methods_invocations import op_db

    import samples
    from graphs import WAYS
    from judge import Judge

    cases, judge = Cases(), Judge()
    report = Report(cases, options.verbose)
    for op in chosen(op_db, options):
        found, outcomes, seen = [], [], set()
        for dtype in options.dtype or samples.COUNTS:
            if dtype not in op.dtypes:
                continue
            try:
                made = samples.of(op, dtype, options.seed)
                made = [sample for sample in made if sample.expected()]
            except Exception as error:
                cases.leave_out(
                    1, f"entries whose samples PyTorch refuses ({type(error).__name__})"
                )
                continue
            found += made
        for way in WAYS if found else ():
            outcomes += judge.together(found, way, seen)
        report.entry(samples.name_of(op), outcomes)
    report.overloads()
    if not (options.names or options.turn or options.seed or options.dtype):
        report.finish()
    print(f"{judge.compiled} compilations")
    return cases.finish()


if __name__ == "__main__":
    sys.exit(main())
