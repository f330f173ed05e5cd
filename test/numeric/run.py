"""Runs the numeric rows: each op and dtype at boundary shapes, on every voice, against PyTorch in
double precision.

    run.py [--voice NAME]... [--op NAME]... [--list] [--checked] [--one-in N]

Voices: reference (the interpreter); cpu and cpu-avx2 (compiled, checked mode); cuda (compiled, on
the emulator); cuda-tf32 (sums of products of f32 with --precision tf32); cuda-small (recurrences on
a GPU that does not hold their weights); with --checked instead cuda-order, cuda-reverse,
cuda-random, cuda-tf32-order...: the emulator with its checker, under each of its policies. Without
--voice all of them run; one that the build does not have is counted as left out. --one-in takes one
in N rows and dtypes (cases.py); the rest is counted as left out. Without any of these the voices
cuda and cpu-avx2 take one in three rows and dtypes, reference one in two, and each schedule of cuda
runs some rows of each dtype, chosen for them or not (run_plans.py). Lines that begin with "coverage:"
say how much of all that there is has run. The last lines are "N left out (reason)" and "N passed, N
failed"."""
import argparse
import collections
import concurrent.futures
import os
import sys
import time

try:
    import torch
except ImportError:
    print("0 passed, 1 failed" if os.environ.get("DLC_REQUIRE_TORCH") else
          "1 left out (PyTorch, the oracle of the numeric rows, is not installed: tools/scripts/setup --tests)\n"
          "0 passed, 0 failed")
    sys.exit(bool(os.environ.get("DLC_REQUIRE_TORCH")))

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "conformance")]
import accuracy as acc
from modules import Case, module_text
from rows import ROWS
from cases import takes
from voices import CHECKED, VOICES, Failure, Missing

SHOWN = 60
# Rows in one module: one compile each, at as many times as there are processors.
CHUNK = 24


def name_of(case):
    return f"{case.row.name} {case.dtype}"


def results_of(voice, cases, sizes):
    """(case -> {N: array} or Failure). A module that fails is split until the culprit stands alone.
    """
    try:
        return dict(zip(cases, voice.run(module_text(cases, sizes), cases, sizes)))
    except Failure as failure:
        if len(cases) == 1:
            return {cases[0]: failure}
    half = len(cases) // 2
    return {**results_of(voice, cases[:half], sizes), **results_of(voice, cases[half:], sizes)}


def judge(voice, case, sizes, results):
    """Sentences about what is wrong, at most one for each N."""
    bound = getattr(voice, "bound", lambda bound: bound)(case.row.bound)
    if isinstance(results, Failure):
        return [str(results)] * len(sizes)
    problems = []
    for n, actual in zip(sizes, results):
        wide, expected = case.expected(case.inputs(n))
        if acc.is_float(case.result_dtype):
            actual = acc.rounded(actual, case.result_dtype)
        problem = acc.mismatch(actual, expected, wide, case.result_dtype, bound)
        if problem:
            problems.append(f"N = {n}: {problem}")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--voice", action="append", choices=[*VOICES, *CHECKED])
    parser.add_argument("--op", action="append")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--checked", action="store_true")
    parser.add_argument("--one-in", type=int, default=1, metavar="N")
    options = parser.parse_args()
    isWhole = options.one_in > 1 or options.voice or options.op
    torch.set_num_threads(1)
    if unknown := set(options.op or ()) - {row.op for row in ROWS}:
        parser.error(f"no rows of {', '.join(sorted(unknown))}")
    rows = [row for row in ROWS if not options.op or row.op in options.op]
    if options.list:
        for row in rows:
            print(f"{row.name}: {', '.join(row.dtypes)}")
        return 0
    groups = collections.defaultdict(list)
    not_its_turn = not_its_voices_turn = 0
    for case in (Case(row, dtype) for row in rows for dtype in row.dtypes):
        if takes(name_of(case), options.one_in):
            groups[case.row.phase, tuple(case.row.sizes)].append(case)
        else:
            not_its_turn += 1
    passed = failed = shown = 0
    left_out = []
    known, ran = set(), set()  # (op, dtype, voice)
    voices = {**VOICES, **CHECKED}
    for name in options.voice or (CHECKED if options.checked else VOICES):
        can_take = getattr(voices[name], "takes", lambda case: True)
        known |= {(row.op, dtype, name) for row in rows for dtype in row.dtypes
                  if can_take(Case(row, dtype))}
        own_turns = 1 if isWhole else vars(voices[name]).get("turns", 1)
        taken = {
            key: [
                case for case in cases if can_take(case) and takes(name_of(case), own_turns)
            ] for key, cases in groups.items()
        }
        not_its_voices_turn += sum(
            can_take(case) and not takes(name_of(case), own_turns)
            for cases in groups.values() for case in cases)
        total = sum(len(cases) * len(sizes) for (_, sizes), cases in taken.items())
        start, wrong = time.time(), 0
        try:
            voice = voices[name]()
        except Missing as reason:
            left_out.append(f"{total} left out ({name}: {reason})")
            continue
        chunks = [(sizes, cases[i:i + CHUNK]) for (_, sizes), cases in taken.items()
                  for i in range(0, len(cases), CHUNK)]
        with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("DLC_JOBS",
                                                                      os.cpu_count()))) as pool:
            answers = pool.map(lambda chunk: results_of(voice, chunk[1], chunk[0]), chunks)
            for (sizes, cases), answer in zip(chunks, answers):
                for case, results in answer.items():
                    ran.add((case.row.op, case.dtype, name))
                    problems = judge(voice, case, sizes, results)
                    wrong += len(problems)
                    shown += bool(problems)
                    if problems and shown <= SHOWN:
                        print(
                            f"{name}: {case.name}: {problems[0]}" +
                            (f" ({len(problems)} of {len(sizes)} sizes)"
                             if len(problems) > 1 else ""), flush=True)
        passed += total - wrong
        failed += wrong
        print(f"{name}: {total} cases, {wrong} wrong, {time.time() - start:.1f} s")
    ops, dtypes, heard = (len(set(column)) for column in zip(*known)) if known else (0, 0, 0)
    print(f"coverage: {len(ran)} of {len(known)} triples of op, dtype and voice "
          f"({ops} ops, {dtypes} dtypes, {heard} voices)")
    if not isWhole and not options.checked:
        from run_plans import cover  # it takes its rows as this program does
        ran, wrong, left = cover(enough=1)
        passed += ran
        failed += wrong
        left_out += left
    if not_its_turn:
        left_out.append(
            f"{not_its_turn} left out (rows and dtypes of another seed, 1 in {options.one_in})")
    if not_its_voices_turn:
        left_out.append(
            f"{not_its_voices_turn} left out (rows and dtypes that a voice takes with another seed)"
        )
    print(*left_out, sep="\n", end="\n" if left_out else "")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
