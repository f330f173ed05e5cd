"""Updates of weights, by the formulas of PyTorch's documentation."""

import torch

from rows.library.called import UNIT, pair

STEP = ("i64", [1, 2, 7])


def decayed(p, g, decay):
    return g + decay * p


def sgd(p, g, buffer, step):
    g = decayed(p, g, 0.1)
    buffer = torch.where(step == 1, g, 0.9 * buffer + 0.7 * g)
    return p - 0.05 * (g + 0.9 * buffer), buffer


def moments(g, mean, square, step, eps=1e-6, keras_eps=0.0):
    mean, square = 0.8 * mean + 0.2 * g, 0.95 * square + 0.05 * g * g
    root = (square.sqrt() + keras_eps) / (1 - 0.95**step) ** 0.5 + eps
    return 0.01 / (1 - 0.8**step) * mean / root, mean, square


def keras_adam(p, g, mean, square, step):
    change, mean, square = moments(g, mean, square, step, 0.0, 0.05)
    return p - change, mean, square


def keras_adamw(p, g, mean, square, step):
    change, mean, square = moments(g, mean, square, step, 0.0, 0.05)
    return p * (1 - 0.01 * 0.1) - change, mean, square


def keras_rmsprop(p, g, square):
    square = 0.9 * square + 0.1 * g * g
    return p - 0.01 * g / (square + 0.05).sqrt(), square


def keras_adagrad(p, g, total, step):
    total = torch.where(step == 1, 0.3, total) + g * g
    return p - 0.05 * g / (total + 0.05).sqrt(), total


def adam(p, g, mean, square, step):
    change, mean, square = moments(decayed(p, g, 0.1), mean, square, step)
    return p - change, mean, square


def adamw(p, g, mean, square, step):
    change, mean, square = moments(g, mean, square, step)
    return p * (1 - 0.01 * 0.1) - change, mean, square


def rmsprop(p, g, square):
    g = decayed(p, g, 0.1)
    square = 0.9 * square + 0.1 * g * g
    return p - 0.01 * g / (square.sqrt() + 1e-8), square


def adagrad(p, g, total, step):
    g = decayed(p, g, 0.1)
    total = torch.where(step == 1, 0.3, total) + g * g
    return p - 0.05 / (1 + (step - 1) * 0.2) * g / (total.sqrt() + 1e-10), total


def adadelta(p, g, square, deltas):
    g = decayed(p, g, 0.1)
    square = 0.8 * square + 0.2 * g * g
    delta = (deltas + 1e-6).sqrt() / (square + 1e-6).sqrt() * g
    return p - 0.5 * delta, square, 0.8 * deltas + 0.2 * delta * delta


def lion(p, g, mean):
    change = torch.sign(0.9 * mean + 0.1 * g)
    return p * (1 - 0.01 * 0.1) - 0.01 * change, 0.99 * mean + 0.01 * g


ADAM = "lr=0.01, betas=[0.8, 0.95], eps=1e-6, weight_decay=0.1"
KERAS = "eps=0.05, keras_eps=true"
KERAS_ADAM = f"lr=0.01, betas=[0.8, 0.95], {KERAS}"
for name, arguments, function, tensors, kinds in (
    ("adam", f"x4, {KERAS_ADAM}", keras_adam, 4, {3: ("f32", UNIT), 4: STEP}),
    (
        "adamw",
        f"x4, {KERAS_ADAM}, weight_decay=0.1",
        keras_adamw,
        4,
        {3: ("f32", UNIT), 4: STEP},
    ),
    ("rmsprop", f"lr=0.01, alpha=0.9, {KERAS}", keras_rmsprop, 3, {2: ("f32", UNIT)}),
    (
        "adagrad",
        f"x3, lr=0.05, initial_accumulator_value=0.3, {KERAS}",
        keras_adagrad,
        3,
        {2: ("f32", UNIT), 3: STEP},
    ),
    (
        "sgd",
        "x3, lr=0.05, momentum=0.9, dampening=0.3, weight_decay=0.1, nesterov=true",
        sgd,
        3,
        {3: STEP},
    ),
    ("adam", f"x4, {ADAM}", adam, 4, {3: ("f32", UNIT), 4: STEP}),
    ("adamw", f"x4, {ADAM}", adamw, 4, {3: ("f32", UNIT), 4: STEP}),
    ("rmsprop", "lr=0.01, alpha=0.9, weight_decay=0.1", rmsprop, 3, {2: ("f32", UNIT)}),
    (
        "adagrad",
        "x3, lr=0.05, lr_decay=0.2, weight_decay=0.1, initial_accumulator_value=0.3",
        adagrad,
        3,
        {2: ("f32", UNIT), 3: STEP},
    ),
    (
        "adadelta",
        "lr=0.5, rho=0.8, weight_decay=0.1",
        adadelta,
        4,
        {2: ("f32", UNIT), 3: ("f32", UNIT)},
    ),
    ("lion", "lr=0.01, weight_decay=0.1", lion, 3, {}),
):
    given = ", ".join(f"x{i}" for i in range(tensors))
    shapes = tensors * (("N", 5),) + ((),) * (STEP in kinds.values())
    for number in range(tensors - 1):
        pair(
            name,
            f"{name}({given}, {arguments})[{number}]",
            lambda *t, function=function, number=number: function(*t)[number],
            shapes=shapes,
            result=("N", 5),
            dtypes=("f32",),
            kinds=kinds,
            note=f"result {number}" + (" as of Keras" if KERAS in arguments else ""),
        )
pair(
    "sgd",
    "sgd(x0, x1, lr=0.05, weight_decay=0.1)",
    lambda p, g: p - 0.05 * decayed(p, g, 0.1),
    shapes=2 * (("N", 5),),
    result=("N", 5),
    note="without momentum",
)


# Factors of schedules, by PyTorch's own over as many steps.
def schedule(name, call, make, steps):
    def factors(step):
        weight = torch.nn.Parameter(torch.zeros(1))
        optimizer = torch.optim.SGD([weight], lr=1.0)
        scheduler = make(optimizer)
        found = []
        for _ in range(max(steps)):
            found.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            scheduler.step()
        return torch.tensor(found, dtype=torch.float64)[step.long() - 1]

    pair(
        name,
        call,
        factors,
        shapes=(("N",),),
        result=("N",),
        dtypes=("i64",),
        result_dtype="f32",
        kinds={0: ("i64", steps)},
        note=call,
    )


LR = torch.optim.lr_scheduler
FIRST = [1, 2, 3, 7, 10, 12]
schedule("cosine_decay", "cosine_decay(x0, 12)", lambda o: LR.CosineAnnealingLR(o, 12), FIRST)
schedule(
    "cosine_decay",
    "cosine_decay(x0, 12, minimum=0.1)",
    lambda o: LR.CosineAnnealingLR(o, 12, eta_min=0.1),
    FIRST,
)
schedule(
    "linear_decay",
    "linear_decay(x0, 12, minimum=0.25)",
    lambda o: LR.LinearLR(o, 1.0, 0.25, 12),
    [*FIRST, 13, 20],
)
schedule("step_decay", "step_decay(x0, 3, gamma=0.5)", lambda o: LR.StepLR(o, 3, 0.5), FIRST)
schedule(
    "exponential_decay", "exponential_decay(x0, 0.9)", lambda o: LR.ExponentialLR(o, 0.9), FIRST
)
schedule("warmup", "warmup(x0, 5)", lambda o: LR.LinearLR(o, 0.2, 1.0, 4), FIRST)
schedule(
    "one_cycle",
    "one_cycle(x0, 20)",
    lambda o: LR.OneCycleLR(o, 1.0, total_steps=20),
    [*FIRST, 5, 6, 15, 20],
)
