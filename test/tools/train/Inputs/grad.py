"""grad.py FOLDER: what dlc grad writes: the step as text and as IR, its parts, what its states begin
with, and what each layer becomes in training."""

import re

import numpy as np
from samples import LOSS, TEXT, dlc, expect, read, safetensors, suite, write

# The step as text is a model.
run = dlc("grad", "m.dl", "--loss", LOSS, "--optimizer", "Adam(lr=1e-3)", "-o", "step.dl")
expect("grad", (run.returncode, run.stderr), (0, ""))
expect("the step compiles", dlc("compile", "step.dl", "-q", "-o", "step.bin").returncode, 0)
text = read("step.dl").decode()
expect(
    "its states",
    re.findall(r"state (\w+):", text),
    [
        "generator",
        "optimizer_step",
        *(
            f"{layer}_{name}{state}"
            for layer in "ab"
            for name in ("weight", "bias")
            for state in ("", "_exp_avg", "_exp_avg_sq")
        ),
    ],
)

write(
    "steps.dl",
    TEXT.replace("a: Linear(4, 8)", "a: GRU(4, 8, batch_first=true)").replace(
        "relu(a(x))", "a(stack([x, x], 1))[0][:, 1]"
    ),
)
run = dlc("grad", "steps.dl", "--loss", LOSS, "-o", "steps.step.dl")
expect(
    "a step without a text",
    (run.returncode, run.stderr),
    (
        3,
        "error: the step has a dl.gru_steps, which the language cannot write; 'dlc train' runs it, "
        "and -o FILE.mlir writes it\n",
    ),
)
run = dlc("grad", "steps.dl", "--loss", LOSS, "-o", "steps.mlir", "--first-states", "steps.st")
expect("a step as IR", (run.returncode, run.stderr), (0, ""))
run = dlc("compile", "steps.mlir", "--compile-from=import", "-q", "-o", "steps.bin")
expect("and its package", (run.returncode, run.stderr), (0, ""))


def states_of(*more, output="states.mlir", model="m.dl"):
    """What the states of a step begin with, by name."""
    run = dlc(
        "grad",
        model,
        "--loss",
        LOSS,
        "-o",
        output,
        "--first-states",
        "first.safetensors",
        "--force",
        *more,
    )
    if run.returncode:
        return run.stderr
    return safetensors.load("first.safetensors")[0]


write(
    "norm.dl",
    TEXT.replace("dropout: Dropout(0.25)", "n: BatchNorm1d(8)")
    .replace("dropout(", "n(")
    .replace("n(relu(a(x)))", "relu(n(a(x)))"),
)
names = [f"{layer}.{kind}" for layer in "ab" for kind in ("weight", "bias")]
averages = ["n.running_mean", "n.running_var"]
norms = ["n.weight", "n.bias"]
expect("first states", sorted(states_of()), sorted(names))
first, second = states_of("--seed", "1"), states_of("--seed", "2")
expect("of another seed", np.array_equal(first["a.weight"], second["a.weight"]), False)
expect("of a norm", sorted(states_of(model="norm.dl")), sorted([*names, *norms, *averages]))
expect(
    "of a norm that stays",
    sorted(states_of("--norms", "stored", model="norm.dl")),
    sorted([*names, *norms]),
)
expect(
    "of an evaluation",
    sorted(states_of("--part", "evaluation", model="norm.dl")),
    sorted([*names, *norms, *averages]),
)
states_of("--part", "evaluation", model="norm.dl", output="evaluation.dl")
text = read("evaluation.dl").decode()
expect("an evaluation", ("batch_norm(" in text, " - 0.001 *" in text), (True, False))


# A dropout drops what its layer says.
for layer, drops in (("Identity()", False), ("Dropout2d(0.5)", True), ("AlphaDropout(0.5)", True)):
    write(
        "drops.dl",
        TEXT.replace("Dropout(0.25)", layer).replace(
            "dropout(relu(a(x)))", "dropout(relu(a(x))[:, :, None, None])[:, :, 0, 0]"
        ),
    )
    run = dlc("grad", "drops.dl", "--loss", LOSS, "-o", "drops.step.dl", "--force")
    text = read("drops.step.dl").decode()
    expect(layer, (run.returncode, "random_bits" in text), (0, drops))
    if layer.startswith("Dropout2d"):
        expect("whole channels", "random_bits(generator, [N, 8, 1, 1])" in text, True)

run = dlc("grad", "m.dl", "--loss", LOSS, "--part", "update", "--scale-loss", "-o", "u.mlir")
expect(
    "half a step of a scaled loss",
    (run.returncode, run.stderr),
    (2, "error: --scale-loss needs a whole step; expected none with --part update\n"),
)
for part in ("gradients", "update"):
    run = dlc("grad", "m.dl", "--loss", LOSS, "--part", part, "-o", part + ".dl", "--force")
    text = read(part + ".dl").decode()
    expect(
        f"the {part} of a step",
        (run.returncode, "a_weight_grad" in text, "state" in text),
        (0, True, part == "gradients"),  # of the dropout
    )

# Images change in training alone.
write(
    "images.dl",
    "dl 1\ndim N\nmodel I {\n  a: Linear(64, 3)\n  forward(x: f32[N,1,8,8]) -> (y: f32[N,3]) {\n"
    "    x = random_horizontal_flip(random_crop(x, 2))\n    y = a(flatten(x, 1))\n  }\n}\n",
)
for part, draws in (("step", True), ("evaluation", False)):
    run = dlc(
        "grad", "images.dl", "--loss", LOSS, "--part", part, "-o", "images.step.dl", "--force"
    )
    text = read("images.step.dl").decode()
    expect(f"images in a {part}", (run.returncode, "random_bits" in text), (0, draws))

suite.finish()
