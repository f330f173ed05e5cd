"""prune_channels.py FOLDER: a model without some channels gives what the whole one gives where
their numbers are zero."""
import json
import os
import sys

import numpy as np
from channel_graphs import GRAPHS, WHOLE, X, outputs_of, setup
from weight_cases import Suite, dlc, numbers, safetensors, save

suite = Suite(sys.argv[1])
expect = suite.expect
np.savez("c.npz", x=X)


def kept(whole, part):
    """For each dim of the whole weight the indices that are left: its numbers are all different."""
    is_left = np.isin(whole, part)
    axes = range(whole.ndim)
    return [is_left.any(tuple(other for other in axes if other != axis)) for axis in axes]


def multiplications(report):
    return report["multiplications_after"] / report["multiplications_before"]


for what, (layers, code, outputs) in GRAPHS.items():
    arrays = setup(layers, code, outputs)
    for method in ("l2", "l1") if what in ("a chain", "residual additions", "gates") else ("l2",):
        run = dlc("prune", "m.dl", "--pattern", "channels", "--sparsity", "0.3", "--method", method,
                  "-o", "p.dl", "--force", "--report", "r.json")
        expect(f"{what}, {method}", (run.returncode, run.stderr), (0, ""))
        with open("r.json", encoding="utf-8") as report:
            expect(f"{what}: less to multiply", 0.3 <= multiplications(json.load(report)) <= 0.7,
                   True)
        pruned, _ = safetensors.load("p.safetensors")
        expect(f"{what}: names", sorted(pruned), sorted(arrays))
        masked = {}
        for name, whole in arrays.items():
            left = kept(whole, pruned[name])
            expect(f"{what}: {name}", np.array_equal(whole[np.ix_(*left)], pruned[name]), True)
            masked[name] = whole * np.einsum(
                ",".join("abcd"[:whole.ndim]) + "->"
                + "abcd"[:whole.ndim], *left) if whole.ndim > 1 else whole * left[0]
            masked[name] = masked[name].astype(np.float32)
        smaller = outputs_of("p.dl", expect)
        setup(layers, code, outputs, lambda _, masked=masked: masked)
        expected = outputs_of("m.dl", expect)
        setup(layers, code, outputs)
        error = np.abs(smaller - expected).max() / np.abs(expected).max()
        expect(f"{what}: outputs ({error:.1e})", bool(error < 2e-6), True)
for what, (layers, code, outputs) in WHOLE.items():
    setup(layers, code, outputs)
    run = dlc("prune", "m.dl", "--pattern", "channels", "--sparsity", "0.3", "-o", "no.dl")
    expect(what, (run.returncode, run.stderr), (
        1,
        "error: 'm.dl' has no channels that can be removed: all of them reach an output or an op that needs them whole, or --skip names them\n"
    ))

# With data the layers that follow take over what went: nearer to the whole model than without, and
# exactly where a channel repeats another.
layers, code, outputs = GRAPHS["residual additions"]
setup(layers, code, outputs)
whole = outputs_of("m.dl", expect)
errors = {}
for what, flags in {
        "without": [], "with": ["--calib", "c.npz", "--method", "l2"], "obs": ["--calib", "c.npz"]
}.items():
    run = dlc("prune", "m.dl", "--pattern", "channels", "--sparsity", "0.3", "-o", "p.dl",
              "--force", "-q", *flags)
    expect(f"{what} data", (run.returncode, run.stdout, run.stderr), (0, "", ""))
    errors[what] = np.linalg.norm(outputs_of("p.dl", expect) - whole) / np.linalg.norm(whole)
expect(f"data help: {errors}", errors["obs"] < errors["without"]
       and errors["with"] < 0.7 * errors["without"], True)

# A weight whose parts, or whose transpose, other layers read: what went is still right, and nothing
# is fitted there.
for call in ("linear(h, w[:, :6]) + linear(h, w[:, 6:])",
             "linear(linear(h, w[:, :6]), transpose(w[:, 6:], 0, 1))"):
    with open("s.dl", "w", encoding="utf-8") as out:
        out.write(
            "dl 1\ndim N = 1..64\nmodel S {\n  a: Linear(3, 6)\n  w: Parameter(4, 12)\n  forward(x: f32[N,3,8,8]) -> (y: f32[N,%d]) {\n"
            "    h = relu(a(mean(x, dim=[2, 3])))\n    y = %s\n  }\n}\nweights \"s.safetensors\"\n"
            % (4 if "+" in call else 6, call))
    arrays = {"a.weight": numbers(6, 3), "a.bias": numbers(6), "w": numbers(4, 12)}
    save("s.safetensors", arrays)
    run = dlc("prune", "s.dl", "--pattern", "channels", "--sparsity", "0.2", "-o", "p.dl",
              "--force", "--calib", "c.npz", "-q")
    expect(call, (run.returncode, run.stderr), (0, ""))
    pruned, _ = safetensors.load("p.safetensors")
    left = [np.isin(arrays["a.bias"], pruned["a.bias"])]  # nothing changed it
    expect(f"{call}: less is left", 0 < left[0].sum() < 6, True)
    masked = {
        **arrays, "a.weight": arrays["a.weight"] * left[0][:, None],
        "a.bias": arrays["a.bias"] * left[0]
    }
    smaller = outputs_of("p.dl", expect)
    save("s.safetensors", masked)
    expected = outputs_of("s.dl", expect)
    error = np.abs(smaller - expected).max() / np.abs(expected).max()
    expect(f"{call}: outputs ({error:.1e})", bool(error < 2e-6), True)
layers, code, outputs = GRAPHS["a chain"]


def twice(arrays):
    arrays["a.weight"][4:] = 2 * arrays["a.weight"][:4]
    arrays["a.bias"][4:] = 2 * arrays["a.bias"][:4]
    return arrays


setup(layers, code, outputs, twice)
whole = outputs_of("m.dl", expect)
run = dlc("prune", "m.dl", "--pattern", "channels", "--sparsity", "0.5", "-o", "p.dl", "--force",
          "--calib", "c.npz")
expect("channels that repeat others", (run.returncode, run.stderr), (0, ""))
expect("four are left", safetensors.load("p.safetensors")[0]["a.weight"].shape, (4, 3, 3, 3))
error = np.abs(outputs_of("p.dl", expect) - whole).max() / np.abs(whole).max()
expect(f"nothing is lost ({error:.1e})", bool(error < 0.05), True)

# Multiples, and layers that stay.
layers, code, outputs = GRAPHS["a grouped convolution"]
setup(layers, code, outputs)
run = dlc("prune", "m.dl", "--pattern", "channels", "--sparsity", "0.2", "--multiple", "2",
          "--skip", "b", "-o", "p.dl", "--force")
expect("skip", (run.returncode, run.stderr.strip()[:80]),
       (1, "error: 'm.dl' has no channels that can be removed: all of them reach an output o"))
layers, code, outputs = GRAPHS["a chain"]
setup(layers, code, outputs)
run = dlc("prune", "m.dl", "--pattern", "channels", "--sparsity", "0.2", "--multiple", "4", "-o",
          "p.dl", "--force")
expect("multiples", (run.returncode, safetensors.load("p.safetensors")[0]["a.weight"].shape),
       (0, (4, 3, 3, 3)))


# Refusals.
def wrong(what, said, status, *arguments):
    before = sorted(os.listdir("."))
    run = dlc("prune", "m.dl", *arguments, "-o", "no.dl")
    expect(what, (run.returncode, run.stdout, run.stderr.splitlines()[0]), (status, "", said))
    expect(what + ": no file is written", sorted(os.listdir(".")), before)


wrong(
    "no share",
    "error: --pattern channels needs --sparsity, the share of the multiplications to take away, such as 0.3",
    2, "--pattern", "channels")
wrong(
    "too much",
    "error: --sparsity 0.95 of the multiplications cannot go with whole channels: 87.50 % are the most; expected less",
    1, "--pattern", "channels", "--sparsity", "0.95")
wrong("a method of weights",
      "error: --method wanda does not go with --pattern channels; expected one of l2, obs, l1", 2,
      "--pattern", "channels", "--sparsity", "0.3", "--method", "wanda")
wrong(
    "obs without data",
    "error: --method obs needs to see what the layers read; add --calib FILE.npz, an array by the name of each input, "
    "one row a sample, some hundred rows", 2, "--pattern", "channels", "--sparsity", "0.3",
    "--method", "obs")
wrong("multiples of weights", "error: --multiple counts channels; expected --pattern channels", 2,
      "--sparsity", "0.3", "--multiple", "4")
wrong(
    "the report over the weights",
    "error: --report names 'no.safetensors', where the pruned weights go; name another file for the report",
    2, "--pattern", "channels", "--sparsity", "0.3", "--report", "no.safetensors")
suite.finish()
