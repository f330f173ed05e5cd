#!/usr/bin/env python3
"""Complex numbers and Fourier transforms compiled by dlc, against eager PyTorch: through
torch.export on the CPU and the emulated GPU, and as the backend of torch.compile. On demand: it
needs the package `dlc`.

  PYTHONPATH=build/python python3 test/aten/run_complex.py           all of them
  PYTHONPATH=build/python python3 test/aten/run_complex.py PART...   names that have a PART in them
"""

import sys

import torch

import complex_modules as numbers
import fourier_modules as fourier
from module_cases import Checks, Of

ROWS = {"x": {0: "N"}}


def rows(*counts, shape=(4,)):
    torch.manual_seed(1)
    return [(torch.randn(count, *shape),) for count in counts]


def check_numbers(checks):
    for keeps in ("buffer", "attribute", "none"):
        calls = [(torch.randn(2, 6, 16),), (torch.randn(3, 11, 16),), (torch.randn(2, 64, 16),)]
        sized = {"x": {0: "B", 1: "T"}}
        checks.both(f"rotary embedding, {keeps}", numbers.Rotary(keeps), calls, sized)
    checks.both("a complex parameter", numbers.Weight(), rows(3, 5), ROWS)
    for name, function in {
        "arithmetic": numbers.arithmetic,
        "quotients": numbers.quotients,
        "functions": numbers.functions,
        "polar": numbers.polar,
        "large numbers": numbers.large,
        "other precisions": numbers.double,
        "broadcasts": numbers.broadcast,
        "shapes": numbers.shapes,
        "joins": numbers.joins,
        "sums": numbers.sums,
        "matrix products": numbers.products,
        "pairs at the edges": numbers.edges,
        "parts that are written": numbers.written,
        "norms": numbers.norms,
        "complex numbers in a branch": numbers.in_branch,
        "complex numbers in a loop": numbers.in_loop,
        "complex numbers in a scan": numbers.in_scan,
    }.items():
        checks.both(name, Of(function), rows(3, 5), ROWS)
    checks.both("a size that a run shows", Of(numbers.one_step), rows(6, shape=(2, 4)))
    checks.compiled("a complex buffer", numbers.Kept(), rows(3))
    checks.compiled("results that share memory", numbers.shared, rows(3))


def check_transforms(checks):
    for name, function in {
        "rfft": fourier.rfft,
        "irfft": fourier.irfft,
        "fft": fourier.fft,
        "many dims": fourier.many_dims,
        "FNet": fourier.mixed,
    }.items():
        checks.exported(name, Of(function), rows(3, 5, shape=(6, 8)), ROWS)
        checks.compiled(name, function, rows(3, shape=(6, 8)), dynamic=False)
        checks.compiled(name + " of odd sizes", function, rows(2, shape=(5, 9)), dynamic=False)
    for size in (1, 2, 400, 512, 1030, 2048, 1031, 2053):
        checks.exported(
            f"{size} elements", Of(fourier.long), rows(2, shape=(size,)), emulated=size < 600
        )
    checks.exported("4096 elements", Of(fourier.long), rows(2, shape=(4096,)), emulated=False)
    checks.both("a long convolution", Of(fourier.convolved), rows(2, shape=(60,)))
    checks.exported("stft", Of(fourier.stft), rows(2, 3, shape=(64,)), {"x": {0: "N", 1: "L"}})
    checks.exported(
        "stft of other lengths",
        Of(fourier.stft),
        [(torch.randn(2, 64),), (torch.randn(2, 101),)],
        {"x": {1: "L"}},
    )
    checks.compiled("stft", fourier.stft, [(torch.randn(2, 64),), (torch.randn(3, 101),)])
    checks.both("a spectrum", Of(fourier.spectrum), rows(2, shape=(80,)))
    checks.both("an inverse stft", Of(fourier.inverse_stft), rows(2, shape=(80,)))


def check_edges(checks):
    inputs = [(torch.randn(n, dtype=torch.complex64).conj(),) for n in (3, 5)]
    checks.compiled("a complex input", numbers.Size(), inputs)
    checks.refused("a complex input", numbers.Size(), inputs[0], "a tensor of complex64")
    checks.refused(
        "a complex result", Of(numbers.complex_result), rows(3)[0], "a tensor of complex64"
    )
    checks.refused(
        "a function without a row",
        Of(numbers.unknown),
        rows(3)[0],
        "torch.ops.aten.tan.default: complex numbers",
    )
    checks.refused(
        "a dim that varies",
        Of(fourier.rfft),
        rows(3, shape=(8,))[0],
        "whose size varies; limit it to 4096",
        {"x": {1: "L"}},
    )
    checks.both("a dim of at most 400", Of(fourier.limited), rows(2, shape=(8,)), {"x": {1: "L"}})
    checks.refused(
        "2000000 elements", Of(fourier.rfft), rows(1, shape=(2000000,))[0], "dlc takes 1 to 1048576"
    )
    checks.compiled("a complex result", numbers.complex_result, rows(3, 5))
    checks.compiled(
        "a function without a row",
        numbers.unknown,
        rows(3, 5),
        "torch.ops.aten.tan: dlc has no row for it of complex",
    )


def main():
    checks = Checks(sys.argv[1:])
    check_numbers(checks)
    check_transforms(checks)
    check_edges(checks)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
