#!/usr/bin/env python3
"""PyTorch's higher-order ops (torch.cond, while_loop, scan, map ...) compiled by dlc, against eager
PyTorch: through torch.export on the CPU and the emulated GPU, and as the backend of torch.compile.
On demand: it needs a PyTorch with these ops (2.9 and later) and the package `dlc`.

  PYTHONPATH=build/python python3 test/aten/run_control.py           all of them
  PYTHONPATH=build/python python3 test/aten/run_control.py PART...   names that have a PART in them
"""

import sys

import torch

import branch_modules as branches
import loop_modules as loops
from module_cases import Checks, Of, Of2

ROWS = {0: "N"}


def rows(*counts, width=4):
    """Calls with matrices of so many rows, positive and negative."""
    torch.manual_seed(1)
    return [
        (sign * torch.rand(count, width) + 0.1 * sign,) for count in counts for sign in (1.0, -1.0)
    ]


def main():
    checks = Checks(sys.argv[1:])
    sized = {"x": ROWS}
    checks.both("weights in branches", branches.Layers(), rows(3, 5), sized)
    for name, function in {
        "a condition on a size": branches.on_size,
        "two results": branches.two_results,
        "captured values": branches.captured,
        "a branch in a branch": branches.nested,
        "branches one after another": branches.one_after_another,
        "a check": branches.checked,
        "a result that nothing uses": branches.one_unused,
        "a condition of one dim": branches.rank_one,
        "sizes that differ": branches.sizes_differ,
        "static sizes that differ": branches.static_sizes_differ,
        "bools": branches.bools,
        "a counted loop": loops.counted,
        "a loop until": loops.until,
        "carried values that change places": loops.swapped,
        "carried values that need each other": loops.fibonacci,
        "a loop with captured values": loops.captured_loop,
        "a carried number": loops.number_carried,
        "a number that becomes negative": loops.down,
        "two numbers": loops.two_numbers,
        "a branch in a map": loops.branch_in_map,
        "a loop in a branch": loops.loop_in_branch,
        "a branch in a loop": loops.branch_in_loop,
        "a loop in a loop": loops.loop_in_loop,
        "scan": loops.scanned,
        "scan of numbers": loops.scanned_numbers,
        "scan in reverse": loops.scanned_back,
        "scan over trees": loops.scanned_tree,
        "regions without gradients": branches.with_grad,
        "checkpoint": branches.checkpointed,
    }.items():
        checks.both(name, Of(function), rows(3, 5, 9), sized)
    checks.exported("a branch on a state", branches.Turns(), rows(3)[:1])
    checks.both("scan of a cell", loops.Recurrent(), rows(3, 7), sized)
    checks.exported("scan of four steps", Of(loops.scanned), rows(4))
    checks.exported("scan of 200 steps", Of(loops.scanned), rows(200))
    y = torch.rand(4)
    checks.both("map", Of2(loops.mapped_rows), [(x, y) for (x,) in rows(3, 6)], sized)
    for name, function in {
        "associative_scan": loops.joined,
        "associative_scan of products": loops.product,
        "associative_scan of pairs": loops.pairs,
        "nested regions": branches.regions,
    }.items():
        checks.compiled(name, function, rows(3, 5, 9))
    checks.exported("generic associative_scan", Of(loops.generic), rows(5))
    numbers = [(x, torch.tensor(n)) for (x,), n in zip(rows(3, 5), (2, 3, 4, 7))]
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        checks.compiled("a condition on a number", branches.ItsNumber(), numbers)
        checks.both("numbers", Of(branches.numbers), rows(3, 5), sized)
        checks.both("switch", Of(branches.switched), rows(3, 5), sized)
        checks.both("switch on a size", Of(branches.switched_by_size), rows(3, 5, 9), sized)
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        checks.both("picked elements", Of(branches.picked), rows(3, 5), sized)
    checks.compiled("an unknown op in a branch", branches.unknown_inside, rows(3), "eigh")
    checks.compiled("pieces with branches", branches.split_around, rows(3, 5), "eigh")
    checks.compiled("a view between pieces", branches.view_of_eager, rows(3, 5), "eigh")
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
