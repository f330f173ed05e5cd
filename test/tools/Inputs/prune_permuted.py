"""prune_permuted.py FOLDER: channels that change places before two of each four weights become
zero: the model gives what it gives with the same zeros in its own order; and what keeps its order.
"""
import json
import os
import sys

import numpy as np
from channel_graphs import GRAPHS, WHOLE, X, outputs_of, setup
from weight_cases import Suite, dlc, safetensors

suite = Suite(sys.argv[1])
expect = suite.expect
np.savez("c.npz", x=X)
PRUNE = ("prune", "m.dl", "--pattern", "2:4", "-o", "p.dl", "--force", "--report", "r.json")
# No sum over a multiple of four.
ODD = ("flatten before linear", "reshape and transpose")
MORE = {
    "two columns of a linear layer for each": (
        """a: Conv2d(3, 8, kernel_size=3)
f: Linear(16, 12)
g: Linear(12, 4)""",
        "h = max_pool2d(relu(a(x)), kernel_size=[3, 6])\n    y = g(relu(f(flatten(h, start_dim=1))))",
        4)
}


def pruned(*flags):
    run = dlc(*PRUNE, *flags)
    expect(f"prune {' '.join(flags)}", (run.returncode, run.stderr), (0, ""))
    with open("r.json", encoding="utf-8") as report:
        return safetensors.load("p.safetensors")[0], json.load(report)


gains = []
for what, (layers, code, outputs) in {**GRAPHS, **MORE}.items():
    arrays = setup(layers, code, outputs)
    if what in ODD:
        run = dlc(*PRUNE, "--permute")
        expect(what, (run.returncode, "no multiple of 4" in run.stderr), (1, True))
        continue
    for flags in ([], ["--calib", "c.npz", "--method",
                       "wanda"])[:2 if what in ("a chain", "residual additions", "gates") else 1]:
        after, report = pruned("--permute", *flags)
        gains.append(report["reordering"]["kept_after"] - report["reordering"]["kept_before"])
        sparse = {entry["name"]: "left_alone" not in entry for entry in report["weights"]}
        expect(f"{what}: some weight has zeros", any(sparse.values()), True)
        # All numbers are different, so that it shows which of them are left.
        masked = {}
        for name, whole in arrays.items():
            left = np.isin(whole, after[name])
            masked[name] = np.where(left, whole, np.float32(0))
            expect(
                f"{what}: numbers of {name}",
                np.array_equal(np.sort(masked[name], axis=None), np.sort(after[name], axis=None)),
                True)
            expect(f"{what}: zeros of {name}", left.mean(), 0.5 if sparse.get(name) else 1.0)
        fours = {
            name: after[name].reshape(after[name].shape[0], -1, 4, *after[name].shape[2:])
            for name, is_sparse in sparse.items() if is_sparse
        }
        expect(f"{what}: two of each four",
               all(((numbers != 0).sum(2) == 2).all() for numbers in fours.values()), True)
        reordered = outputs_of("p.dl", expect)
        setup(layers, code, outputs, lambda _, masked=masked: masked)
        expected = outputs_of("m.dl", expect)
        setup(layers, code, outputs)
        error = np.abs(reordered - expected).max() / np.abs(expected).max()
        expect(f"{what} {flags}: outputs ({error:.1e})", bool(error < 2e-6), True)
expect(f"zeros never cost more than in the model's own order: {gains}", min(gains) >= 0, True)
expect(f"and less in most models: {gains}",
       sum(gain > 0.005 for gain in gains) > len(gains) / 2, True)

# The best order that there is: four channels of large weights, apart from one another.
layers, code, outputs = GRAPHS["a chain"]


def uneven(arrays):
    arrays["b.weight"] = np.sign(arrays["b.weight"]) * np.array([9, 8, 7, 6, .4, .3, .2, .1],
                                                                np.float32)[:, None, None]
    return arrays


arrays = setup(layers, code, outputs, uneven)
after, report = pruned("--permute")
expect("the four large channels are kept",
       sorted(np.unique(np.abs(after["b.weight"][after["b.weight"] != 0]))), [6, 7, 8, 9])
expect("in the model's own order two are", report["reordering"]["kept_before"] < 0.7, True)
table = dlc("prune", "m.dl", "--pattern", "2:4", "--permute", "-o", "q.dl").stdout.splitlines()[-1]
kept = (100 * report["reordering"][f"kept_{when}"] for when in ("after", "before"))
expect(
    "the last line", table,
    "channels that changed places: %d; the zeros leave %.2f %% of the weights' worth, %.2f %% in their own order"
    % (report["reordering"]["channels"], *kept))
# SparseGPT on data, in that order: most of what the layer gives is left.
_, own = pruned("--calib", "c.npz")
_, other = pruned("--permute", "--calib", "c.npz")
errors = [
    next(entry["output_error"] for entry in report["weights"] if entry["name"] == "b.weight")
    for report in (own, other)
]
expect(f"sparsegpt: less of the output changes: {errors}", errors[1] < 0.5 * errors[0], True)

# What needs its channels as they are, and what --skip names, keeps them: the same bytes as without.
for what, (layers, code,
           outputs), flags in (("a softmax over channels", WHOLE["a softmax over channels"], []),
                               ("a layer that stays", GRAPHS["a chain"], ["--skip", "a"])):
    setup(layers, code, outputs)
    plain, _ = pruned(*flags)
    after, report = pruned("--permute", *flags)
    expect(f"{what}: channels", report["reordering"]["channels"], 0)
    expect(f"{what}: numbers", all(np.array_equal(plain[name], after[name]) for name in plain),
           True)

before = sorted(os.listdir("."))
run = dlc("prune", "m.dl", "--sparsity", "0.5", "--permute", "-o", "no.dl")
expect("another pattern", (run.returncode, run.stderr), (
    2,
    "error: --permute gives channels an order for two zeros of each four; expected --pattern 2:4 with it\n"
))
expect("no file is written", sorted(os.listdir(".")), before)
suite.finish()
