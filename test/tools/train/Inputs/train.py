"""train.py FOLDER: what dlc train writes and says: results on a terminal and in files,
what a seed fixes, Ctrl-C, and each message about data, losses and optimizers."""

import gzip
import json
import os
import pty
import re
import signal
import subprocess

import numpy as np
from samples import LOSS, TEXT, dlc, expect, labels, read, safetensors, save, suite, write, x
from onnx_writer import model, node, tensor, value  # isort: skip

with gzip.open("labels.gz", "wb") as out:  # as MNIST's own
    out.write(bytes([0, 0, 8, 1, 0, 0, 0, 60]) + labels.astype(np.uint8).tobytes())


def train(*more, model="m.dl", data="train.npz", loss=LOSS, output="w.safetensors"):
    return dlc(
        "train",
        model,
        *(["--data", data] if data else []),
        "--loss",
        loss,
        "-o",
        output,
        "--force",
        *more,
    )


def learns(*more, **changes):
    run = train("--optimizer", "Adam(lr=0.02)", "--epochs", "4", "--batch", "16", *more, **changes)
    assert run.returncode == 0, run.stderr
    return run.stdout


# What is printed, and what --log has.
lines = learns(
    "--metric", "accuracy(y, labels)", "--validate", "train.npz", "--log", "log.jsonl"
).splitlines()
NUMBER = r"\d+\.\d{4}"
expect(
    "a line an epoch",
    [
        re.fullmatch(
            rf"epoch \d/4  loss {NUMBER}  accuracy {NUMBER}  val_loss {NUMBER}  val_accuracy {NUMBER}"
            r"  \d+ samples/s  \d+\.\d s",
            line,
        )
        is not None
        for line in lines
    ],
    [True] * 4,
)
with open("log.jsonl", encoding="utf-8") as file:
    log = [json.loads(line) for line in file]
expect(
    "the keys of the log",
    sorted(log[0]),
    ["accuracy", "epoch", "loss", "seconds", "steps", "val_accuracy", "val_loss"],
)
expect("it learns", log[-1]["val_loss"] < 0.9 * log[0]["loss"], True)
expect(
    "the weights",
    {name: array.shape for name, array in safetensors.load("w.safetensors")[0].items()},
    {"a.weight": (8, 4), "a.bias": (8,), "b.weight": (3, 8), "b.bias": (3,)},
)
expect(
    "they bind",
    dlc("compile", "m.dl", "--weights", "w.safetensors", "-q", "-o", "m.bin").returncode,
    0,
)

# The same seed, the same bits; arrays from files of their own and labels of a byte are the same
# data.
first = read("w.safetensors")
for what, changes in (
    ("the same again", {}),
    ("labels in bytes", {"data": "bytes.npz"}),
    ("arrays apart", {"data": None}),
):
    learns(
        *(
            ["--data", "x=x.npy", "--data", "labels=labels.gz"]
            if not changes.get("data", "n")
            else []
        ),
        "--threads",
        "2",
        output="again.safetensors",
        **changes,
    )
    expect(what, read("again.safetensors") == first, True)
learns("--seed", "1", output="again.safetensors")
expect("another seed", read("again.safetensors") == first, False)

# Weights begin as the model's file has them. A step of length 0 leaves them so.
STILL = ("--optimizer", "SGD(lr=0.0)", "--batch", "16")
learns(output="first.safetensors")
held = safetensors.load("first.safetensors")[0]
write("named.dl", TEXT + 'weights "first.safetensors"\n')
write(
    "net.onnx",
    model(
        [node("Gemm", "x,w,b", "y", transB=1)],
        [value("x", dims=("N", 4))],
        ["y"],
        [
            tensor("w", "f32", (3, 4), raw=(x[:3] / 2).tobytes()),
            tensor("b", "f32", (3,), raw=x[0, :3].tobytes()),
        ],
    ),
    "wb",
)
for name, wanted, more in (
    ("m.dl", held, ("--weights", "first.safetensors")),
    ("named.dl", held, ()),
    ("named.dl", {name: held[name] for name in ("b.weight", "b.bias")}, ("--train", "b.*")),
    ("net.onnx", {"w": x[:3] / 2, "b": x[0, :3]}, ()),
):
    run = train(*STILL, *more, model=name, output="still.safetensors")
    expect(f"{name} {' '.join(more)}", (run.returncode, run.stderr), (0, ""))
    found = safetensors.load("still.safetensors")[0]
    expect("its names", sorted(found), sorted(wanted))
    expect("its bits", all(np.array_equal(found[name], wanted[name]) for name in found), True)
train(*STILL, "--from-scratch", model="named.dl", output="new.safetensors")
train(*STILL, output="drawn.safetensors")
expect("from scratch", read("new.safetensors") == read("drawn.safetensors"), True)

# A terminal gets a bar; Ctrl-C ends the run, with the weights so far.
write("wide.dl", TEXT.replace("4, 8", "4, 1024").replace("8, 3", "1024, 3"))
WIDE = ["train", "wide.dl", "--data", "train.npz", "--loss", LOSS, "--batch", "4"]


def interrupted(*more):
    """What a terminal shows of a run that Ctrl-C ends."""
    screen, terminal = pty.openpty()
    process = subprocess.Popen(
        ["dlc", *WIDE, "--epochs", "100000", "-o", "wide.safetensors", "--force", *more],
        stdout=subprocess.PIPE,
        stderr=terminal,
    )
    shown = b""
    while b" s left" not in shown or not os.path.exists("wide.safetensors"):
        shown += os.read(screen, 4096)
    process.send_signal(signal.SIGINT)
    process.stdout.read()
    expect("its status", process.wait(), 0)
    shown += os.read(screen, 1 << 20)
    os.close(terminal)
    return shown


shown = interrupted()
expect(
    "a bar",
    re.search(rb"\r\d+/100000 \[=* *\] \d+/15  loss \d+\.\d{4}  \d+/s  \d+ s left", shown)
    is not None,
    True,
)
expect(
    "what it says",
    b"interrupted; the weights so far are in 'wide.safetensors', and --weights begins with them"
    in shown,
    True,
)
expect("what it saved", len(safetensors.load("wide.safetensors")[0]), 4)
os.remove("wide.safetensors")
expect(
    "how it goes on",
    b"interrupted; the weights so far are in 'wide.safetensors', and --resume "
    b"'stop.safetensors' goes on" in interrupted("--checkpoint", "stop.safetensors"),
    True,
)
epochs = str(safetensors.load("stop.safetensors")[0]["dlc.place"][0])
for output, more in (("on.w", ["--resume", "stop.safetensors"]), ("at.w", [])):
    dlc(*WIDE, "--epochs", epochs, "-o", output + ".safetensors", *more)
expect(
    "the bits of a run that Ctrl-C ended",
    read("on.w.safetensors") == read("at.w.safetensors"),
    True,
)

# A run that goes on gives the bits of one that was not interrupted.
ADAM = ("--optimizer", "Adam(lr=0.02)", "--batch", "16")
train(*ADAM, "--epochs", "4", "--checkpoint", "whole.safetensors", output="whole.w.safetensors")
train(*ADAM, "--epochs", "2", "--checkpoint", "part.safetensors", output="part.w.safetensors")
run = train(
    *ADAM,
    "--epochs",
    "4",
    "--resume",
    "part.safetensors",
    "--checkpoint",
    "rest.safetensors",
    output="rest.w.safetensors",
)
expect("the rest", [line[:9] for line in run.stdout.splitlines()], ["epoch 3/4", "epoch 4/4"])
for name in ("", ".w"):
    expect(f"the bits{name}", read(f"rest{name}.safetensors"), read(f"whole{name}.safetensors"))


# What is refused: a whole message each.
def refuses(what, status, message, *more, **changes):
    run = train(*more, **changes)
    start = "" if message.startswith("--optimizer:") else "error: "
    expect(what, (run.returncode, run.stderr.splitlines()[:1]), (status, [start + message]))


refuses(
    "an optimizer",
    2,
    "--optimizer 'Adm' is not known; dlc has Adam, AdamW, SGD, RMSprop, "
    "Adagrad, Adadelta, Lion; did you mean 'Adam'?",
    "--optimizer",
    "Adm(lr=1)",
)
refuses("no bracket", 2, "--optimizer 'Adam(lr=1' lacks its ')'", "--optimizer", "Adam(lr=1")
refuses(
    "an argument of it",
    2,
    "--optimizer:21:78: error: 'adam' has no argument 'rate'; it takes "
    "param, grad, exp_avg, exp_avg_sq, step, lr, betas, eps, weight_decay, keras_eps",
    "--optimizer",
    "Adam(rate=1)",
)
refuses(
    "a target without a type",
    2,
    "--loss: 'z' is no input or output of the model, 'x', 'y', and its type is not known; a "
    "target has one by --target 'z: f32[N]'",
    loss="mean(z)",
)
refuses(
    "no type",
    2,
    "--target 'labels' is no name and type; expected such as 'labels: i64[N]'",
    "--target",
    "labels",
)
refuses(
    "another target", 2, "--target names 'q', which the loss does not read", "--target", "q: i64[N]"
)
refuses(
    "no weights",
    2,
    "--loss 'mean(x)' depends on no weight that is trained; expected one of an "
    "output of the model",
    loss="mean(x)",
)
refuses(
    "no such weight",
    2,
    "--train 'c.*' matches no weight; the model has a.weight, a.bias, b.weight, b.bias",
    "--train",
    "c.*",
)
write("plain.dl", "dl 1\nmodel P {\n  forward(x: f32[4]) -> (y: f32[4]) {\n    y = x\n  }\n}\n")
refuses(
    "a model without weights",
    2,
    "the model has no weights in f32 to train",
    model="plain.dl",
    loss="mean(y)",
)
write(
    "counted.dl",
    "dl 1\nmodel C {\n  a: Linear(4, 8)\n  forward(x: f32[3,4]) -> (y: f32[3,8], "
    "z: i64[?,2]) {\n    y = a(x)\n    z = nonzero(y)\n  }\n}\n",
)
save("four.npz", {"x": x})
expect(
    "beside sizes that the data decide",
    train("--batch", "3", model="counted.dl", data="four.npz", loss="mean(y)").returncode,
    0,
)
write(
    "inner.dl",
    "dl 1\nmodel C {\n  a: Linear(4, 8)\n  forward(x: f32[3,4]) -> (y: f32[]) {\n"
    "    h = a(x)\n    y = mean(h) + mean(to(nonzero(x), f32))\n  }\n}\n",
)
refuses(
    "a loss of them",
    3,
    "--loss 'y' needs sizes that the data decide; dlc trains models whose "
    "sizes follow from those of their inputs",
    model="inner.dl",
    data="four.npz",
    loss="y",
)
# Layers that training makes something else of, and dlc does not.
for what, layer, said in (
    (
        "dropout between layers",
        "LSTM(8, 8, num_layers=2, dropout=0.2)",
        "in training it drops elements between its layers, which dlc does not do; expected a layer without",
    ),
    (
        "random slopes",
        "RReLU()",
        "in training it draws its slopes, which dlc does not do; expected a layer without",
    ),
    (
        "an average of all batches",
        "BatchNorm1d(8, momentum=None)",
        "in training it keeps its statistics in a way that dlc does not have; expected a batch norm with a number as momentum, or --norms stored",
    ),
):
    call = "dropout(relu(a(x))[None])[0][0]" if "LSTM" in layer else "dropout(relu(a(x)))"
    write("other.dl", TEXT.replace("Dropout(0.25)", layer).replace("dropout(relu(a(x)))", call))
    run = train(model="other.dl")
    expect(
        what,
        (run.returncode, run.stderr.splitlines()[0].split(": ", 1)[-1]),
        (3, "error: " + said),
    )

save("far.npz", {"x": x, "labels": labels.astype(np.float32)[:, None] * np.ones(3) * 3e4})
run = train(
    *("--precision", "f16", "--batch", "60", "--epochs", "2"),
    loss="mse_loss(y, labels)",
    data="far.npz",
)
expect(
    "steps that overflow",
    (run.returncode, run.stderr.splitlines()[:1]),
    (
        0,
        [
            "remark: 1 steps of epoch 1 overflowed in 16 bits and changed nothing; the scale of "
            "the loss was halved"
        ],
    ),
)
refuses(
    "sizes that the data decide",
    2,
    "--loss: 'z' is no input or output of the model, 'x', 'y', "
    "and its type is not known; a target has one by --target 'z: f32[N]'",
    model="counted.dl",
    loss="mean(z)",
)
refuses("an output file", 2, "-o names 'w.bin'; expected a .safetensors file", output="w.bin")
refuses(
    "no archive",
    2,
    "'x.npy' is not an .npz; expected one with an array for each input, or INPUT=FILE.npy",
    data="x.npy",
)
refuses(
    "an input without data",
    2,
    "no --data for the input 'labels', which is i64[N] (N = 1..64); "
    "expected an .npz that has it, or 'labels=FILE.npy'",
    data="x=x.npy",
)
save("halves.npz", {"x": x, "labels": labels + 0.5})
refuses(
    "labels that are no integers",
    2,
    "halves.npz: array 'labels' is f64[60]; the input is i64[N] (N = 1..64)",
    data="halves.npz",
)
save("rows.npz", {"x": x[:50], "labels": labels})
refuses(
    "other numbers of rows",
    2,
    "array 'labels' is i64[60], but 'x' has 50 rows; expected as many in each",
    data="rows.npz",
)
save("width.npz", {"x": x[:, :3], "labels": labels})
refuses(
    "other rows",
    2,
    "width.npz: array 'x' is f32[60,3]; a row of the input 'x' has 4 numbers",
    data="width.npz",
)
save(
    "nan.npz",
    {"x": np.where(np.arange(60)[:, None] == 7, np.nan, x).astype(np.float32), "labels": labels},
)
refuses(
    "NaN in the data",
    2,
    "nan.npz: array 'x' is f32[60,4]; row 7 holds a number that is not finite",
    data="nan.npz",
)
save("classes.npz", {"x": x, "labels": np.where(np.arange(60) == 9, 3, labels)})
refuses(
    "a class that is none",
    2,
    "classes.npz: array 'labels' is i64[60]; row 9 holds the class "
    "3; expected 0 to 2, or -100 for none",
    data="classes.npz",
)
save("none.npz", {"x": x[:0], "labels": labels[:0]})
refuses("no rows", 2, "none.npz: array 'x' is f32[0,4]; expected one row a sample", data="none.npz")
refuses(
    "a batch that the model does not take",
    2,
    "--batch is 65; the model takes 1 to 64 samples in a run",
    "--batch",
    "65",
)
save("few.npz", {"x": x[:5], "labels": labels[:5]})
refuses(
    "a batch larger than the data",
    2,
    "--batch is 8, and the data have 5 samples; expected at most as many",
    "--batch",
    "8",
    data="few.npz",
)
write(
    "long.dl",
    TEXT.replace("dim N", "dim T = 1..9\ndim N")
    .replace("f32[N,4]", "f32[N,T,4]")
    .replace("f32[N,3]", "f32[N,T,3]"),
)
refuses(
    "two dims that vary",
    2,
    "the input 'x' is f32[N,T,4] (N = 1..64, T = 1..9), of which more "
    "than the first dim varies; fix it by --shapes",
    "--target",
    "labels: i64[N]",
    model="long.dl",
    loss="cross_entropy(mean(y, 1), labels)",
)
write(
    "scalar.dl",
    "dl 1\nmodel S {\n  a: Linear(4, 8)\n  forward(x: f32[3,4], s: f32[]) -> (y: "
    "f32[3,8]) {\n    y = a(x) * s\n  }\n}\n",
)
save("scalar.npz", {"x": x, "s": np.float32(1)})
refuses(
    "no samples",
    3,
    "the input 's' has no dim for samples",
    "--batch",
    "3",
    model="scalar.dl",
    loss="mean(y)",
    data="scalar.npz",
)
refuses(
    "a loss that is NaN",
    1,
    "the loss is NaN in step 2 of epoch 1; a smaller lr, or clipping "
    "of gradients, may help. Nothing is saved of this epoch",
    "--optimizer",
    "SGD(lr=1e38)",
    "--batch",
    "20",
)
ADAM = ("--optimizer", "Adam(lr=0.02)")
EXPECTED = "; expected a checkpoint of the same model, --train and --optimizer"
refuses(
    "no checkpoint",
    2,
    "'w.safetensors' is no checkpoint of dlc train; --weights begins with the weights of a file",
    *ADAM,
    "--resume",
    "w.safetensors",
)
refuses(
    "a file that is not there",
    5,
    "cannot read 'q.safetensors': No such file or directory",
    *ADAM,
    "--resume",
    "q.safetensors",
)
refuses(
    "another optimizer",
    2,
    "'part.safetensors' has 'optimizer.step', which this training does not keep" + EXPECTED,
    "--resume",
    "part.safetensors",
)
refuses(
    "a richer optimizer",
    2,
    "'part.safetensors' has no 'a.weight.momentum_buffer'" + EXPECTED,
    "--optimizer",
    "SGD(momentum=0.9)",
    "--resume",
    "part.safetensors",
)
refuses(
    "another model",
    2,
    "'part.safetensors' has another 'a.weight' than f32[1024,4]" + EXPECTED,
    *ADAM,
    "--resume",
    "part.safetensors",
    model="wide.dl",
)
refuses(
    "another seed",
    2,
    "'part.safetensors' was begun with --seed 0; expected the same",
    *ADAM,
    "--resume",
    "part.safetensors",
    "--seed",
    "1",
)
refuses(
    "weights and none",
    2,
    "--from-scratch draws the first weights, and --weights reads them; expected one of the two",
    "--from-scratch",
    "--weights",
    "w.safetensors",
)
refuses(
    "one file for both",
    2,
    "-o and --checkpoint name one file, 'w.safetensors'",
    "--checkpoint",
    "w.safetensors",
)
os.environ["TMPDIR"] = "/nonexistent"
refuses("no room for files", 5, "cannot make a folder for compiled steps")
suite.finish()
