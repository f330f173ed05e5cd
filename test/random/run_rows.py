#!/usr/bin/env python3
"""Random programs over the rows of tensors, whose reductions and maps share kernels, against PyTorch
in double precision.

    run_rows.py [--count N] [--cuda N] [--seed S]   programs S, S + 1, ... on the CPU, and the first
                                                    of them on emulated CUDA; without --seed those
                                                    of the run's seed (cases.py)
    run_rows.py --seed S --print                    the program

A result may be off by what rounding each statement to the dtype of the program makes of it, some
times over, and by roundings of the largest element. The last line is "N passed, N failed"."""

import argparse
import concurrent.futures
import os
import sys
import tempfile

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "conformance"))
from cases import SEED, Cases, Failure  # noqa: E402
from dlc_tool import compile_model, dlc  # noqa: E402
from row_programs import DTYPES, Program  # noqa: E402

COUNT, PARTS = 60, 10
JOBS = int(os.environ.get("DLC_JOBS", os.cpu_count()))
# Roundings of the largest element of a result, by dtype.
ROUNDINGS = {"f32": 2.0**-18, "f16": 2.0**-9, "f64": 2.0**-44}
# Of the programs, how many at least are one kernel or two.
FUSED = 0.5


def allowed(program, inputs):
    """name -> (the exact result, how far each element may be off)."""
    exact = program.run(inputs, torch.float64)
    rounded = program.run(inputs, DTYPES[program.dtype])
    return {
        name: (
            value,
            8 * np.abs(rounded[name] - value).max()
            + ROUNDINGS[program.dtype] * (np.abs(value).max() + 1),
        )
        for name, value in exact.items()
    }


def run(program, package, device):
    for n in program.sizes():
        inputs = program.values(n)
        with tempfile.TemporaryDirectory() as folder:
            words = []
            for name, value in inputs.items():
                path = os.path.join(folder, name + ".npy")
                np.save(path, value.numpy())
                words += ["--input", f"{name}=@{path}"]
            results = os.path.join(folder, "results.npz")
            dlc("run", package, "--device", device, *words, "--output", "@" + results)
            with np.load(results) as held:
                for name, (exact, bound) in allowed(program, inputs).items():
                    got = np.asarray(held[name], np.float64)
                    if got.shape != exact.shape:
                        raise Failure(
                            f"{device}, N = {n}, {name} has the shape {got.shape}, "
                            f"expected {exact.shape}"
                        )
                    wrong = ~(np.abs(got - exact) <= bound)
                    if wrong.any():
                        at = tuple(int(i) for i in np.argwhere(wrong)[0])
                        raise Failure(
                            f"{device}, N = {n}, {name}: {int(wrong.sum())} of {got.size} elements "
                            f"differ, first at {list(at)}: {got[at]!r}, expected {exact[at]!r}, may "
                            f"be off by {bound:.3g}"
                        )


def check(program, with_cuda):
    """How many kernels the program has on the CPU."""
    with tempfile.TemporaryDirectory() as folder:
        source, package = os.path.join(folder, "rows.dl"), os.path.join(folder, "rows.bin")
        with open(source, "w") as file:
            file.write(program.text())
        compile_model(source, package, None, "-q", "--target", "cpu,cuda" if with_cuda else "cpu")
        fused = dlc("compile", source, "--target", "cpu", "--compile-to=fuse", "-o", "-")
        run(program, package, "cpu")
        if with_cuda:
            run(program, package, "cuda-emu")
    return fused.count("= dl.fusion")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--cuda", type=int, default=20)
    parser.add_argument("--seed", type=int, default=SEED % PARTS * COUNT)
    parser.add_argument("--print", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.print:
        print(Program(options.seed).text(), end="")
        return 0
    cases, few = Cases(), 0

    def work(number):
        program = Program(options.seed + number)
        try:
            return program, check(program, number < options.cuda), None
        except Failure as failure:
            return program, 0, failure

    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for program, kernels, failure in pool.map(work, range(options.count)):
            few += kernels in (1, 2)
            with cases.case(f"rows {program.seed}: {len(program.lines)} statements"):
                if failure:
                    raise Failure(
                        f"{failure}\n  test/random/run_rows.py --seed {program.seed} "
                        "--print shows it"
                    )
    print(f"{few} of {options.count} programs are one kernel or two")
    if options.count >= COUNT:
        with cases.case("reductions of one tensor share kernels"):
            if few < FUSED * options.count:
                raise Failure(
                    f"{few} of {options.count} programs are one kernel or two, expected "
                    f"{FUSED:.0%}"
                )
    return cases.finish()


if __name__ == "__main__":
    sys.exit(main())
