"""dlc.Trainer with modules of PyTorch: the weights after some steps against PyTorch's own training
in double precision."""

import copy
import os
import sys
import tempfile

import torch
from torch import nn
from torch.nn import functional as F

TEST = os.path.abspath(__file__).rsplit(os.sep, 3)[0]
sys.path.insert(0, os.path.join(TEST, "python"))
from models import Failure, dlc, refused, run  # noqa: E402

from small_networks import (  # noqa: E402
    Attentive,
    BATCH,
    Convolutional,
    ROWS,
    Split,
    Text,
    close,
    compare,
    images,
    mlp,
    reference,
    rows,
    sgd,
    texts,
)  # noqa: E402


def trained_alike(net, samples, loss, optimizer, freeze=lambda net: None, bound=1e-4):
    def case():
        torch.manual_seed(7)
        own = net()
        twin = copy.deepcopy(own).double()
        freeze(own), freeze(twin)
        x, y = samples()
        trainer = dlc.Trainer(own, loss, optimizer(own), device="cpu")
        history = trainer.fit(x, y, epochs=2, batch_size=BATCH, shuffle=False, verbose=False)
        compare(own, twin, history, reference(twin, loss, optimizer(twin), x, y), bound)

    return case


OPTIMIZERS = {
    "SGD": sgd,
    "SGD with momentum": lambda net: torch.optim.SGD(
        net.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01
    ),
    "Adam": lambda net: torch.optim.Adam(net.parameters(), lr=0.01, betas=(0.8, 0.99)),
    "AdamW": lambda net: torch.optim.AdamW(net.parameters(), lr=0.01),
    "RMSprop": lambda net: torch.optim.RMSprop(net.parameters(), lr=0.01),
    "Adagrad": lambda net: torch.optim.Adagrad(net.parameters(), lr=0.01),
    "Adadelta": lambda net: torch.optim.Adadelta(net.parameters()),
}


def freeze_norm(net):
    net.norm.eval()


def freeze_conv(net):
    net.conv.requires_grad_(False)


def of_head(net):
    """The optimizer says which weights are trained."""
    return torch.optim.SGD(net.fc.parameters(), lr=0.05)


def classes():
    return rows()[0], torch.randint(0, 3, (ROWS,))


def settled(found, labels):
    weight = found.new_tensor([1.0, 2.0, 0.5])
    return F.cross_entropy(found, labels, weight, label_smoothing=0.1)


def test_validates():
    torch.manual_seed(3)
    net = Convolutional()
    twin = copy.deepcopy(net).double()
    (x, y), (v, w) = images(), images()
    metrics = {"right": lambda found, y: (found.argmax(-1) == y).float()}
    trainer = dlc.Trainer(net, F.cross_entropy, sgd(net), metrics=metrics, device="cpu")
    history = trainer.fit(
        x, y, epochs=2, batch_size=BATCH, validation_data=(v, w), shuffle=False, verbose=False
    )
    wanted = []
    optimizer = sgd(twin)
    for _ in range(2):
        reference(twin.train(), F.cross_entropy, optimizer, x, y, 1)
        with torch.no_grad():
            found = twin.eval()(v.double())
        wanted.append([F.cross_entropy(found, w), (found.argmax(-1) == w).double().mean()])
    got = torch.tensor([history["val_loss"], history["val_right"]]).T
    close(got.double(), torch.tensor(wanted), 1e-4, "validation")
    if sorted(history) != ["loss", "right", "val_loss", "val_right"]:
        raise Failure(f"the history has {sorted(history)}")
    if not net.training:
        raise Failure("the module is not in training mode any more")
    evaluated = trainer.evaluate(v, w)
    close(torch.tensor(evaluated["loss"]), torch.tensor(history["val_loss"][-1]), 1e-6, "evaluate")


def test_takes_a_DataLoader_and_steps():
    """Of a DataLoader; and those of a step."""
    torch.manual_seed(4)
    net = mlp()
    twin = copy.deepcopy(net).double()
    x, y = rows()
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), BATCH)
    trainer = dlc.Trainer(net, nn.MSELoss(), sgd(net), device="cpu")
    history = trainer.fit(loader, epochs=2, verbose=False)
    compare(net, twin, history, reference(twin, F.mse_loss, sgd(twin), x, y))
    before = net[0].weight.clone()
    loss = trainer.step(x[:5], y[:5])
    close(torch.tensor(loss), F.mse_loss(twin(x[:5].double()), y[:5].double()), 1e-4, "step")
    if not torch.equal(net[0].weight, before):
        raise Failure("a step has changed the module")
    if torch.equal(trainer.state_dict()["0.weight"], before):
        raise Failure("the state_dict is that before the step")
    trainer.put_back()
    if torch.equal(net[0].weight, before):
        raise Failure("put_back has changed nothing")


class Named(nn.Module):
    """Several arguments; it computes its loss itself."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(7, 3), nn.Linear(4, 3)

    def forward(self, a, b, labels):
        return F.mse_loss(self.first(a) + self.second(b), labels)


def test_takes_dicts_and_a_loss_of_the_module():
    torch.manual_seed(5)
    net = Named()
    twin = copy.deepcopy(net).double()
    a, b, labels = torch.randn(ROWS, 7), torch.randn(ROWS, 4), torch.randn(ROWS, 3)
    trainer = dlc.Trainer(net, optimizer="SGD(lr=0.05)", device="cpu")
    trainer.fit({"a": a, "b": b, "labels": labels}, epochs=1, batch_size=ROWS, verbose=False)
    optimizer = sgd(twin)
    twin(a.double(), b.double(), labels.double()).backward()
    optimizer.step()
    for value, wanted in zip(net.parameters(), twin.parameters()):
        close(value.double(), wanted, 1e-5, "weights")


def test_leaves_the_module_after_an_error():
    net = mlp()
    before = copy.deepcopy(net.state_dict())
    labels = torch.full((ROWS,), 7)
    try:
        dlc.Trainer(net, F.cross_entropy, sgd(net), device="cpu").fit(rows()[0], labels)
        raise Failure("classes that the model does not have were taken")
    except dlc.Error:
        pass
    if any(not before[name].equal(value) for name, value in net.state_dict().items()):
        raise Failure("the module has changed")


def test_takes_texts():
    """A loss of the language, and a schedule."""
    torch.manual_seed(6)
    net = mlp()
    x, y = torch.randn(ROWS, 7), torch.randint(0, 3, (ROWS,))
    trainer = dlc.Trainer(
        net,
        "cross_entropy(output, labels)",
        "Adam(lr=0.01 * cosine_decay(step, 100))",
        metrics=["accuracy(output, labels)"],
        train="2.*",
        device="cpu",
    )
    before = copy.deepcopy(net.state_dict())
    history = trainer.fit(x, y, epochs=30, batch_size=BATCH, verbose=False)
    if not history["loss"][-1] < 0.95 * history["loss"][0] or "accuracy" not in history:
        raise Failure(f"it has not learnt: {history}")
    changed = [name for name, value in net.state_dict().items() if not value.equal(before[name])]
    if changed != ["2.weight", "2.bias"]:
        raise Failure(f"it has trained {changed}")


def test_names_that_the_language_cannot_have():
    """Names of Python's dicts; the evaluation calls them in its own way."""

    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = nn.ModuleDict({"a-1": nn.Linear(7, 9), "forward-x": nn.BatchNorm1d(9)})
            self.last = nn.Linear(9, 3)

        def forward(self, x):
            return self.last(torch.tanh(self.parts["forward-x"](self.parts["a-1"](x))))

    torch.manual_seed(9)
    net = Odd()
    twin = copy.deepcopy(net).double()
    x, y = rows()
    trainer = dlc.Trainer(net, F.mse_loss, sgd(net), device="cpu")
    history = trainer.fit(
        x, y, epochs=2, batch_size=BATCH, shuffle=False, validation_data=(x, y), verbose=False
    )
    compare(net, twin, history, reference(twin, F.mse_loss, sgd(twin), x, y))
    with torch.no_grad():
        close(
            history["val_loss"][-1], F.mse_loss(twin.eval()(x.double()), y.double()), 1e-4, "eval"
        )


def test_drops_elements_in_training_alone():
    """Dropout draws in training, and not in evaluation; the same seed gives the same bits."""
    net = nn.Sequential(nn.Dropout(0.5), nn.Linear(64, 1))
    x, y = torch.ones(32, 64), torch.ones(32, 1)
    losses = []
    for seed in (1, 1, 2):
        trainer = dlc.Trainer(net, F.mse_loss, "SGD(lr=0.0)", seed=seed, device="cpu")
        losses.append([trainer.step(x, y) for _ in range(3)])
    if losses[0] != losses[1] or losses[0] == losses[2] or len(set(losses[0])) != 3:
        raise Failure(f"the losses are {losses}")
    plain = F.mse_loss(net.eval()(x), y)
    close(torch.tensor(trainer.evaluate(x, y)["loss"]), plain, 1e-5, "evaluation")


SPLIT = """dl 1
dim N
model Net {
  a: Linear(7, 9)
  b: Linear(9, 3)
  forward(x: f32[N,7]) -> (y: f32[N,3]) { y = b(tanh(a(x))) }
}
"""


def split_file(folder):
    path = os.path.join(folder, "net.dl")
    with open(path, "w", encoding="utf-8") as out:
        out.write(SPLIT)
    return path


def test_saves_weights():
    """They bind to a model of the language by their names."""
    folder = tempfile.mkdtemp()
    torch.manual_seed(8)
    net = Split()
    x, y = rows()
    trainer = dlc.Trainer(net, F.mse_loss, sgd(net), device="cpu")
    trainer.fit(x, y, epochs=1, verbose=False)
    path = os.path.join(folder, "trained.safetensors")
    trainer.save(path)
    model = dlc.compile(split_file(folder), weights=path, device="cpu")
    close(model(x), net(x), 1e-5, "saved weights")


def test_trains_a_file():
    """A .dl file: its weights are drawn and trained."""
    folder = tempfile.mkdtemp()
    path = split_file(folder)
    x, y = rows()
    trainer = dlc.Trainer(path, "mse_loss(y, t)", "SGD(lr=0.05)", device="cpu", seed=5)
    history = trainer.fit(x, y, epochs=3, verbose=False, validation_data=(x, y))
    if not history["val_loss"][-1] < history["val_loss"][0]:
        raise Failure(f"it has not learnt: {history}")
    held = trainer.state_dict()
    if sorted(held) != ["a.bias", "a.weight", "b.bias", "b.weight"]:
        raise Failure(f"it has trained {sorted(held)}")


def test_16_bits():
    """Learns as in f32, with weights in f32; a step of gradients that overflow changes nothing."""
    x, y = torch.randn(64, 7), torch.randint(0, 3, (64,))
    torch.manual_seed(1)
    first = mlp()
    losses = {}
    for precision in (None, "bf16", "f16"):
        net = copy.deepcopy(first)
        trainer = dlc.Trainer(
            net, F.cross_entropy, "Adam(lr=0.0005)", device="cpu", precision=precision
        )
        losses[precision] = [trainer.step(x, y) for _ in range(100)]
        if precision == "f16":
            close(trainer.model.state("optimizer.skipped"), 0, 0, "steps skipped")
    for precision in ("bf16", "f16"):
        close(losses[precision], losses[None], 5e-3, precision)
    trainer = dlc.Trainer(
        mlp(), lambda found, y: F.mse_loss(found, y), "SGD(lr=0.1)", device="cpu", precision="f16"
    )
    trainer.step(x, torch.ones(64, 3))
    before = trainer.state_dict()
    trainer.step(x, torch.full((64, 3), 3e4))
    after = trainer.state_dict()
    if any(not before[name].equal(after[name]) for name in before):
        raise Failure("a step that overflowed has changed weights")
    close(trainer.model.state("optimizer.skipped"), 1, 0, "steps skipped")
    close(trainer.model.state("optimizer.scale_exponent"), -1, 0, "the exponent of the scale")


def other_groups():
    net = mlp()
    return torch.optim.SGD(
        [{"params": net[0].parameters()}, {"params": net[2].parameters(), "lr": 0.5}], lr=0.1
    )


def used():
    net = mlp()
    optimizer = torch.optim.Adam(net.parameters())
    net(rows()[0]).sum().backward()
    optimizer.step()
    return optimizer


#: What is refused: the call, and what is said.
REFUSED = {
    "another thing": (
        lambda: dlc.Trainer(3, "mse_loss(y, t)"),
        "cannot train a int; expected a torch.nn.Module, a keras.Model or the path of a .dl or .onnx file",
    ),
    "an unknown optimizer": (
        lambda: dlc.Trainer(net := mlp(), F.mse_loss, torch.optim.Rprop(net.parameters())),
        "the optimizer is a Rprop; expected SGD, Adam, AdamW, RMSprop, Adagrad, Adadelta, or a text such as 'Lion(lr=1e-4)'",
    ),
    "groups of parameters": (
        lambda: dlc.Trainer(mlp(), F.mse_loss, other_groups()),
        "the SGD has groups of parameters with other arguments each; expected one for all",
    ),
    "a used optimizer": (
        lambda: dlc.Trainer(mlp(), F.mse_loss, used()),
        "the Adam has taken steps; expected a new one",
    ),
    "another rule": (
        lambda: dlc.Trainer(
            net := mlp(), F.mse_loss, torch.optim.Adam(net.parameters(), amsgrad=True)
        ),
        "the Adam has amsgrad=True, which dlc does not have",
    ),
    "nothing to train": (
        lambda: dlc.Trainer(mlp(), F.mse_loss, train="nosuch.*"),
        "no parameter of the module is to be trained; expected one that requires a gradient, that the optimizer has and that "
        "`train` names",
    ),
    "texts and functions": (
        lambda: dlc.Trainer(mlp(), "mse_loss(output, t)", metrics={"a": F.l1_loss}),
        "the loss is a text, and metrics are functions; expected both alike",
    ),
    "functions and texts": (
        lambda: dlc.Trainer(mlp(), F.mse_loss, metrics=["l1_loss(output, t)"]),
        "metrics are texts, and the loss is a function; expected both alike",
    ),
    "other lengths": (
        lambda: dlc.Trainer(mlp(), F.mse_loss).fit(torch.ones(4, 7), torch.ones(5, 3)),
        "x and y have 4 and 5 samples; expected as many of each",
    ),
    "no samples": (
        lambda: dlc.Trainer(mlp(), F.mse_loss).fit(torch.ones(0, 7), torch.ones(0, 3)),
        "there are no samples",
    ),
    "an iterator": (
        lambda: dlc.Trainer(mlp(), F.mse_loss).fit(iter([rows()])),
        "an iterator gives its batches once; expected an iterable that begins anew in each epoch, such as a list or a DataLoader",
    ),
    "other batches": (
        lambda: dlc.Trainer(mlp(), F.mse_loss).fit([3]),
        "expected batches of two, (inputs, targets)",
    ),
    "no batches": (
        lambda: dlc.Trainer(mlp(), F.mse_loss).fit([]),
        "the epoch has no batches",
    ),
    "no steps": (
        lambda: dlc.Trainer(mlp(), F.mse_loss).state_dict(),
        "nothing is trained yet; call step or fit",
    ),
    "no model": (
        lambda: dlc.Trainer(mlp(), F.mse_loss).model,
        "there is no step before the first batch; call step or fit",
    ),
    "an average on another device": (
        lambda: dlc.Trainer(mlp(), F.mse_loss, average=print, device="cpu", precision="f16"),
        "average needs the CPU, and f32 or bf16",
    ),
    "a function for a file": (
        lambda: dlc.Trainer("net.dl", F.mse_loss),
        "a model in a file has its loss as a text, such as 'cross_entropy(logits, labels)'",
    ),
    "an optimizer for a file": (
        lambda: dlc.Trainer("net.dl", "mse_loss(y, t)", sgd(mlp())),
        "a model in a file has its optimizer and metrics as texts, such as 'Adam(lr=1e-3)'",
    ),
    "NaN": (
        lambda: dlc.Trainer(mlp(), F.mse_loss, device="cpu").fit(
            torch.full((4, 7), float("nan")), torch.ones(4, 3), verbose=False
        ),
        "the loss is nan in step 1 of the epoch; a smaller lr, or clipping of gradients, may help, and labels have to be classes "
        "of the model",
    ),
}

#: A module, its samples, its loss and its optimizer, and what is frozen.
TRAINED = {
    **{name: (mlp, rows, F.mse_loss, optimizer) for name, optimizer in OPTIMIZERS.items()},
    "convolutional": (Convolutional, images, F.cross_entropy, sgd),
    "text": (Text, texts, F.cross_entropy, sgd),
    "encoder_with_a_tied_table": (Attentive, texts, F.cross_entropy, sgd),
    "frozen_norm": (Convolutional, images, F.cross_entropy, sgd, freeze_norm),
    "frozen_layer": (Convolutional, images, F.cross_entropy, sgd, freeze_conv),
    "what_the_optimizer_has": (Convolutional, images, F.cross_entropy, of_head),
    "a_loss_with_settings": (mlp, classes, settled, sgd),
}


def refuses(call, said):
    def test():
        code = dlc.Code.MODEL if said.startswith("the loss is nan") else dlc.Code.USAGE
        with refused(said, code):
            call()

    return test


for _name, _row in TRAINED.items():
    globals()["test_trains_" + _name.replace(" ", "_")] = trained_alike(*_row)
for _name, _row in REFUSED.items():
    globals()["test_refuses_" + _name.replace(" ", "_")] = refuses(*_row)

if __name__ == "__main__":
    sys.exit(run(sys.modules[__name__]))
