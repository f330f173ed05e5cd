#!/usr/bin/env python3
"""Random graphs over all ops with numeric rows: what dlc compiles gives what the reference interpreter gives for the graph as
it was written.

    run_random.py [--count N] [--cuda N] [--seed S]     graphs S, S + 1, ...: on the CPU, and the first of them on emulated CUDA
    run_random.py --seed S --count 1 --print            the module of one

The last line is "N passed, N failed"."""
import argparse
import concurrent.futures
import os
import sys

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("numeric", "conformance"):
    sys.path.insert(0, os.path.join(os.path.dirname(HERE), folder))
import accuracy as acc  # noqa: E402
from cases import Cases, Failure  # noqa: E402
from graphs import Graph  # noqa: E402
from voices import Cpu, Cuda, Failure as CannotRun, Reference  # noqa: E402

CHANGES = 3
JOBS = int(os.environ.get("DLC_JOBS", os.cpu_count()))


def run(voice, graph):
    return voice.run(graph.text if graph.changed is None else graph.noisy_text, graph.cases, graph.sizes)


def allowances(graph, reference, expected):
    """For each result: how far it may be off. What tiny changes of the inputs and on the way make of it, and roundings of its own
    size, or of numbers of size 1, which cancel."""
    shifts = []
    for change in range(CHANGES):
        graph.changed = change
        shifts.append(run(reference, graph))
    graph.changed = None
    with np.errstate(all="ignore"):
        return [[16 * sum(np.abs(shift[i][j] - value) for shift in shifts) + 2.0**-17 * (np.abs(value) + np.abs(value).max(initial=1))
                 for j, value in enumerate(results)] for i, results in enumerate(expected)]


def mismatch(actual, expected, allowed, dtype):
    """None, or what is wrong with a result."""
    if actual.shape != expected.shape:
        return f"has the shape {list(actual.shape)}, expected {list(expected.shape)}"
    if dtype not in acc.FORMATS:
        wrong = actual != expected
    else:
        with np.errstate(all="ignore"):
            nearest = acc.rounded(expected, dtype)
            same = (actual == nearest) | (np.isnan(actual) & np.isnan(nearest))
            # A bound that is no number, and what may overflow, says nothing.
            wrong = ~same if allowed is None else ~(same | (np.abs(actual - expected) <= allowed) | ~np.isfinite(allowed) |
                                                    (np.abs(expected) > 1e30))
    if not wrong.any():
        return None
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    beyond = "" if allowed is None else f", may be off by {allowed[at]:.3g}"
    return f"{int(wrong.sum())} of {actual.size} values differ, first at {list(at)}: {actual[at]!r}, expected {expected[at]!r}{beyond}"


def check(graph, voices):
    """A list of sentences."""
    reference = Reference()
    expected = run(reference, graph)
    allowed = None if graph.is_exact else allowances(graph, reference, expected)
    problems = []
    for voice in voices:
        name = type(voice).__name__.lower()
        try:
            actual = run(voice, graph)
        except CannotRun as failure:
            problems.append(f"{name}: {failure}")
            continue
        for i, (value, got, wanted) in enumerate(zip(graph.outputs, actual, expected)):
            for j, n in enumerate(graph.sizes):
                problem = mismatch(got[j], wanted[j], allowed[i][j] if allowed else None, value.dtype)
                if problem:
                    problems.append(f"{name}, N = {n}, result {i} ({value.name}): {problem}")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--cuda", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--print", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.print:
        print(Graph(options.seed).text)
        return 0
    cases, seen = Cases(), {}
    cpu, cuda = Cpu(), Cuda()

    def work(number):
        graph = Graph(options.seed + number)
        try:
            return graph, check(graph, [cpu, cuda] if number < options.cuda else [cpu])
        except CannotRun as failure:
            return graph, [f"reference: {failure}"]

    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for graph, problems in pool.map(work, range(options.count)):
            for op in graph.ops:
                seen[op] = seen.get(op, 0) + 1
            with cases.case(f"graph {graph.seed}: {len(graph.ops)} ops, {'exact' if graph.is_exact else 'smooth'}"):
                if problems:
                    raise Failure("\n  ".join(problems[:4]) + f"\n  test/random/run_random.py --seed {graph.seed} --count 1 --print shows it")
    print(f"{len(seen)} ops in {sum(seen.values())} places")
    return cases.finish()


if __name__ == "__main__":
    sys.exit(main())
