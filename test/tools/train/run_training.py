#!/usr/bin/env python3
"""dlc train against PyTorch in f64: a few epochs from the same weights, over the same samples in
the same order. The weights of each optimizer, loss and kind of layer, and the losses on the way.

    run_training.py [NAME]...            all of them, or these alone; those of EMULATED on the
                                         emulated GPU, too

The last line is "N passed, N failed"."""

import copy
import json
import os
import re
import subprocess
import sys
import tempfile
import types

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path[:0] = [os.path.join(ROOT, "examples"), os.path.join(ROOT, "test", "conformance")]
import safetensors  # noqa: E402
from dlc_tool import DLC  # noqa: E402

SAMPLES, BATCH, EPOCHS = 40, 16, 3  # the last batch has 8
CASES = {}
EMULATED = (
    "Adam(lr=0.01)",
    "convolutions",
    "batch norm",
    "layer norm and attention",
    "embedding",
    "LSTM",
    "one layer alone",
)


def case(
    name,
    text,
    module,
    x,
    loss,
    torch_loss,
    optimizer="SGD(lr=0.05)",
    classes=None,
    target=None,
    trained=None,
    schedule=None,
    clip=None,
    more=(),
):
    """`text` is the model in the language; `loss` and `torch_loss` the same in both. `schedule`
    makes PyTorch's scheduler of each step, `clip` clips the gradients of weights, as the arguments
    `more` do."""
    CASES[name] = types.SimpleNamespace(**{k: v for k, v in locals().items() if k != "name"})


def model(members, body, x, result, most=64):
    members = "".join(f"  {member}\n" for member in members)
    body = "".join(f"    {line}\n" for line in body)
    return (
        f"dl 1\ndim N = 1..{most}\nmodel M {{\n{members}  forward(x: {x}) -> (y: {result}) {{\n"
        f"{body}  }}\n}}\n"
    )


class Named(nn.Module):
    """Layers by the names of the text's, called as `body` says."""

    def __init__(self, body, **layers):
        super().__init__()
        self.body = body
        for name, layer in layers.items():
            self.add_module(name, layer)

    def forward(self, x):
        return self.body(self, x)


def mlp():
    text = model(
        ["a: Linear(6, 9)", "b: Linear(9, 4)"], ["y = b(tanh(a(x)))"], "f32[N,6]", "f32[N,4]"
    )
    return text, Named(lambda m, x: m.b(torch.tanh(m.a(x))), a=nn.Linear(6, 9), b=nn.Linear(9, 4))


CROSS = ("cross_entropy(y, t)", F.cross_entropy)
for call in (
    "SGD(lr=0.05)",
    "SGD(lr=0.05, weight_decay=0.1)",
    "SGD(lr=0.05, momentum=0.9)",
    "SGD(lr=0.05, momentum=0.8, dampening=0.3)",
    "SGD(lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01)",
    "Adam(lr=0.01)",
    "Adam(lr=0.01, betas=[0.8, 0.99], eps=1e-6, weight_decay=0.1)",
    "AdamW(lr=0.01)",
    "AdamW(lr=0.01, weight_decay=0.3)",
    "RMSprop(lr=0.01)",
    "RMSprop(lr=0.01, alpha=0.9, weight_decay=0.1)",
    "Adagrad(lr=0.05)",
    "Adagrad(lr=0.05, lr_decay=0.1, initial_accumulator_value=0.2)",
    "Adadelta()",
    "Adadelta(lr=0.5, rho=0.8)",
    "Lion(lr=0.002)",
    "Lion(lr=0.002, weight_decay=0.1)",
):
    case(call, *mlp(), (6,), *CROSS, optimizer=call, classes=4)
for text, function, classes, target in (
    (
        "cross_entropy(y, t, label_smoothing=0.2)",
        lambda y, t: F.cross_entropy(y, t, label_smoothing=0.2),
        4,
        None,
    ),
    (
        "cross_entropy(y, t, reduction='sum') / 40",
        lambda y, t: F.cross_entropy(y, t, reduction="sum") / 40,
        4,
        None,
    ),
    ("nll_loss(log_softmax(y, 1), t)", lambda y, t: F.nll_loss(F.log_softmax(y, 1), t), 4, None),
    ("mse_loss(y, t)", F.mse_loss, None, None),
    ("l1_loss(y, t)", F.l1_loss, None, None),
    ("smooth_l1_loss(y, t, beta=0.5)", lambda y, t: F.smooth_l1_loss(y, t, beta=0.5), None, None),
    ("huber_loss(y, t, delta=0.7)", lambda y, t: F.huber_loss(y, t, delta=0.7), None, None),
    ("binary_cross_entropy_with_logits(y, t)", F.binary_cross_entropy_with_logits, None, "share"),
    (
        "binary_cross_entropy(sigmoid(y), t)",
        lambda y, t: F.binary_cross_entropy(torch.sigmoid(y), t),
        None,
        "share",
    ),
    (
        "kl_div(log_softmax(y, 1), t, reduction='batchmean')",
        lambda y, t: F.kl_div(F.log_softmax(y, 1), t, reduction="batchmean"),
        None,
        "share",
    ),
    (
        "mse_loss(y, t) + 0.1 * mean(abs(y))",
        lambda y, t: F.mse_loss(y, t) + 0.1 * y.abs().mean(),
        None,
        None,
    ),
):
    case(text, *mlp(), (6,), text, function, classes=classes, target=target)
case(
    "convolutions",
    model(
        [
            "a: Conv2d(2, 5, kernel_size=3, padding=1)",
            "b: Conv2d(5, 6, kernel_size=3, stride=2)",
            "c: Linear(6, 4)",
        ],
        ["x = max_pool2d(relu(a(x)), kernel_size=2)", "y = c(mean(silu(b(x)), (2, 3)))"],
        "f32[N,2,14,14]",
        "f32[N,4]",
    ),
    Named(
        lambda m, x: m.c(F.silu(m.b(F.max_pool2d(F.relu(m.a(x)), 2))).mean((2, 3))),
        a=nn.Conv2d(2, 5, 3, padding=1),
        b=nn.Conv2d(5, 6, 3, stride=2),
        c=nn.Linear(6, 4),
    ),
    (2, 14, 14),
    *CROSS,
    classes=4,
)
case(
    "grouped, depthwise and transposed",
    model(
        [
            "a: Conv2d(4, 8, kernel_size=3, groups=2)",
            "b: Conv2d(8, 8, kernel_size=3, groups=8)",
            "c: ConvTranspose2d(8, 3, kernel_size=2, stride=2)",
        ],
        ["y = mean(c(gelu(b(leaky_relu(a(x))))), (2, 3))"],
        "f32[N,4,9,9]",
        "f32[N,3]",
    ),
    Named(
        lambda m, x: m.c(F.gelu(m.b(F.leaky_relu(m.a(x))))).mean((2, 3)),
        a=nn.Conv2d(4, 8, 3, groups=2),
        b=nn.Conv2d(8, 8, 3, groups=8),
        c=nn.ConvTranspose2d(8, 3, 2, stride=2),
    ),
    (4, 9, 9),
    *CROSS,
    classes=3,
)


def normed(momentum=0.1):
    """A convolution and its batch norm, before a linear layer."""
    norm = f"BatchNorm2d(6, momentum={momentum})"
    text = model(
        ["a: Conv2d(2, 6, kernel_size=3)", f"n: {norm}", "i: Identity()", "b: Linear(6, 4)"],
        ["y = b(mean(relu(i(n(a(x)))), (2, 3)))"],
        "f32[N,2,6,6]",
        "f32[N,4]",
    )
    norm = nn.BatchNorm2d(6, momentum=momentum)
    layers = {"a": nn.Conv2d(2, 6, 3), "n": norm, "b": nn.Linear(6, 4)}
    return text, Named(lambda m, x: m.b(F.relu(m.n(m.a(x))).mean((2, 3))), **layers)


case("batch norm", *normed(), (2, 6, 6), *CROSS, classes=4)
case("batch norm of another momentum", *normed(0.4), (2, 6, 6), *CROSS, classes=4)
case(
    "layer norm and attention",
    model(
        ["n: LayerNorm(8)", "q: Linear(8, 24)", "o: Linear(8, 8)", "b: Linear(8, 4)"],
        [
            "q, k, v = chunk(q(n(x)), 3, -1)",
            "a = scaled_dot_product_attention(q[:, None], k[:, None], v[:, None])[:, 0]",
            "y = b(mean(x + o(a), 1))",
        ],
        "f32[N,5,8]",
        "f32[N,4]",
    ),
    Named(
        lambda m, x: m.b(
            (
                x
                + m.o(
                    (lambda q, k, v: torch.softmax(q @ k.transpose(1, 2) / 8**0.5, -1) @ v)(
                        *m.q(m.n(x)).chunk(3, -1)
                    )
                )
            ).mean(1)
        ),
        n=nn.LayerNorm(8),
        q=nn.Linear(8, 24),
        o=nn.Linear(8, 8),
        b=nn.Linear(8, 4),
    ),
    (5, 8),
    *CROSS,
    optimizer="SGD(lr=0.05, momentum=0.9)",
    classes=4,
)
case(
    "embedding",
    model(
        ["e: Embedding(11, 7)", "b: Linear(7, 4)"], ["y = b(mean(e(x), 1))"], "i64[N,5]", "f32[N,4]"
    ),
    Named(lambda m, x: m.b(m.e(x).mean(1)), e=nn.Embedding(11, 7), b=nn.Linear(7, 4)),
    (5,),
    *CROSS,
    classes=4,
)
for padding in (2, -1):
    case(
        f"embedding with padding {padding}",
        model(
            [f"e: Embedding(11, 7, padding_idx={padding})", "b: Linear(7, 4)"],
            ["y = b(mean(e(x), 1))"],
            "i64[N,5]",
            "f32[N,4]",
        ),
        Named(
            lambda m, x: m.b(m.e(x).mean(1)),
            e=nn.Embedding(11, 7, padding_idx=padding),
            b=nn.Linear(7, 4),
        ),
        (5,),
        *CROSS,
        classes=4,
    )
for call, make in (
    (
        "SGD(lr=0.2 * cosine_decay(step, 9))",
        lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 9),
    ),
    (
        "Adam(lr=0.02 * step_decay(step, 2, gamma=0.5))",
        lambda o: torch.optim.lr_scheduler.StepLR(o, 2, 0.5),
    ),
):
    case(call, *mlp(), (6,), *CROSS, optimizer=call, classes=4, schedule=make)
case(
    "--clip-norm 0.0625",
    *mlp(),
    (6,),
    *CROSS,
    classes=4,
    more=("--clip-norm", "0.0625"),
    clip=lambda weights: torch.nn.utils.clip_grad_norm_(weights, 0.0625),
)
case(
    "--clip-value 0.0035",
    *mlp(),
    (6,),
    *CROSS,
    classes=4,
    more=("--clip-value", "0.0035"),
    clip=lambda weights: torch.nn.utils.clip_grad_value_(weights, 0.0035),
)
for kind, layer in (("LSTM", nn.LSTM), ("GRU", nn.GRU), ("RNN", nn.RNN)):
    case(
        kind,
        model(
            [
                f"r: {kind}(5, 7, num_layers=2, batch_first=True, bidirectional=True)",
                "b: Linear(14, 4)",
            ],
            ["y, _ = r(x)", "y = b(mean(y, 1))"],
            "f32[N,6,5]",
            "f32[N,4]",
        ),
        Named(
            lambda m, x: m.b(m.r(x)[0].mean(1)),
            r=layer(5, 7, num_layers=2, batch_first=True, bidirectional=True),
            b=nn.Linear(14, 4),
        ),
        (6, 5),
        *CROSS,
        classes=4,
    )
case("one layer alone", *mlp(), (6,), *CROSS, classes=4, trained="b.*")
case("a frozen base with statistics", *normed(), (2, 6, 6), *CROSS, classes=4, trained="b.*")


class Lion(torch.optim.Optimizer):
    """By its paper (arXiv 2302.06675); PyTorch 1.13 has none."""

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            first, second = group["betas"]
            for p in group["params"]:
                mean = self.state[p].setdefault("mean", torch.zeros_like(p))
                change = torch.sign(first * mean + (1 - first) * p.grad)
                p.mul_(1 - group["lr"] * group["weight_decay"]).sub_(group["lr"] * change)
                mean.mul_(second).add_((1 - second) * p.grad)


def inputs_of(x, text, generator):
    if "x: i64" in text:
        return torch.randint(0, 11, (SAMPLES, *x), generator=generator)
    return torch.randn((SAMPLES, *x), generator=generator, dtype=torch.float64)


def targets_of(classes, target, y, generator):
    if classes:
        return torch.randint(0, classes, (SAMPLES,), generator=generator)
    if target == "share":
        return torch.softmax(torch.randn(y.shape, generator=generator, dtype=torch.float64), 1)
    return torch.randn(y.shape, generator=generator, dtype=torch.float64)


def learn(trial, module, x, t):
    """PyTorch's weights, and the mean loss of each epoch."""
    for name, weight in module.named_parameters():
        weight.requires_grad = (
            trial.trained is None or re.fullmatch(trial.trained, name) is not None
        )
    name, arguments = re.fullmatch(r"(\w+)\((.*)\)", trial.optimizer).groups()
    arguments = re.sub(r" \* \w+\(step.*\)", "", arguments)  # the schedule
    make = Lion if name == "Lion" else getattr(torch.optim, name)
    optimizer = eval(
        f"make([w for w in module.parameters() if w.requires_grad], {arguments})",
        {"make": make, "module": module},
    )
    scheduler = trial.schedule and trial.schedule(optimizer)
    module.train(trial.trained is None)
    losses = []
    for _ in range(EPOCHS):
        total = 0.0
        for at in range(0, SAMPLES, BATCH):
            optimizer.zero_grad()
            value = trial.torch_loss(module(x[at : at + BATCH]), t[at : at + BATCH])
            value.backward()
            if trial.clip:
                trial.clip(module.parameters())
            optimizer.step()
            if scheduler:
                scheduler.step()
            total += value.item() * len(x[at : at + BATCH])
        losses.append(total / SAMPLES)
    return losses


def numpy_of(tensor):
    return tensor.detach().numpy().astype(np.float32 if tensor.is_floating_point() else np.int64)


def check(name, folder, device):
    trial = CASES[name]
    generator = torch.Generator().manual_seed(5)
    torch.manual_seed(3)
    module = copy.deepcopy(trial.module).double()
    for layer in module.modules():
        if isinstance(layer, nn.BatchNorm2d):
            layer.running_mean.uniform_(-0.2, 0.2)
            layer.running_var.uniform_(0.5, 1.5)
    x = inputs_of(trial.x, trial.text, generator)
    t = targets_of(trial.classes, trial.target, module.eval()(x), generator)
    weights = {
        key: numpy_of(value)
        for key, value in module.state_dict().items()
        if not key.endswith("num_batches_tracked")
    }
    paths = {
        ending: os.path.join(folder, "m." + ending)
        for ending in ("dl", "npz", "safetensors", "jsonl")
    }
    trained_path = os.path.join(folder, "trained.safetensors")
    with open(paths["dl"], "w", encoding="utf-8") as file:
        file.write(trial.text)
    np.savez(paths["npz"], x=numpy_of(x), t=numpy_of(t))
    safetensors.save(paths["safetensors"], weights)
    run = subprocess.run(
        [
            DLC,
            "train",
            paths["dl"],
            "--weights",
            paths["safetensors"],
            "--data",
            paths["npz"],
            "--loss",
            trial.loss,
            "--optimizer",
            trial.optimizer,
            "--epochs",
            str(EPOCHS),
            "--batch",
            str(BATCH),
            "--no-shuffle",
            "--device",
            device,
            "--log",
            paths["jsonl"],
            "-o",
            trained_path,
            "--force",
        ]
        + (["--train", trial.trained] if trial.trained else [])
        + list(trial.more),
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        return f"exit {run.returncode}: {run.stderr.strip()[-600:]}"
    losses = learn(trial, module, x, t)
    with open(paths["jsonl"], encoding="utf-8") as file:
        given = [json.loads(line)["loss"] for line in file]
    if not np.allclose(given, losses, rtol=2e-4, atol=1e-6):
        return f"the losses are {given}, expected {losses}"
    found, _ = safetensors.load(trained_path)
    wanted = {
        key: value
        for key, value in module.state_dict().items()
        if key in weights and (trial.trained is None or re.fullmatch(trial.trained, key))
    }
    if set(found) != set(wanted):
        return f"the file has {sorted(found)}, expected {sorted(wanted)}"
    for key, value in wanted.items():
        exact, start = value.numpy(), weights[key]
        far = np.abs(found[key] - exact).max()
        moved = np.abs(exact - start).max()
        if not far <= 2e-3 * moved + 1e-6:
            return f"{key} is {far:.3g} from PyTorch's, which moved by {moved:.3g}"
    return None


def main():
    torch.set_num_threads(1)
    names = sys.argv[1:] or list(CASES)
    runs = [
        (name, device)
        for name in names
        for device in ("cpu", "cuda-emu")
        if device == "cpu" or name in EMULATED
    ]
    passed = failed = 0
    for name, device in runs:
        with tempfile.TemporaryDirectory() as folder:
            problem = check(name, folder, device)
        passed, failed = passed + (problem is None), failed + (problem is not None)
        print(
            f"FAILED {name}, {device}: {problem}" if problem else f"ok {name}, {device}", flush=True
        )
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
