"""Weights that change between calls of torch.compile's model, and how weights are held."""

import torch
from torch import nn

from constructs.construct import COMPILED, below, case

t = torch.randn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.fc = nn.Conv1d(2, 3, 3), nn.BatchNorm1d(3), nn.Linear(12, 4)
        self.alpha = 1.0
        self.register_buffer("shift", torch.tensor(0.5))

    def forward(self, x):
        y = torch.relu(self.norm(self.conv(x)))
        return self.fc(y.flatten(1)) * self.alpha + self.shift


def _changed(function):
    """The name of a construct says how the weights change before its second and third call."""

    def before(module, number):
        if number:
            function(module, number)

    def arguments():
        x = t(2, 2, 6)
        return [x.clone() for _ in range(3)]

    made = type(function.__name__, (Net,), {"__module__": __name__})
    case(arguments, function.__name__, ways=(COMPILED,), before=before)(made)


def _new(module, number):
    return {name: tensor * 0.9 + number for name, tensor in module.state_dict().items()}


@_changed
def in_place(module, number):
    with torch.no_grad():
        module.fc.weight.mul_(number + 1)


@_changed
def through_data(module, number):
    module.fc.weight.data.mul_(3)
    module.norm.running_mean.data.fill_(0.5 * number)


@_changed
def copied_into_data(module, number):
    for parameter in module.parameters():
        parameter.data.copy_(torch.full_like(parameter, 0.05 * number))


@_changed
def data_replaced(module, number):
    module.fc.weight.data = module.fc.weight.data * 2 + number


@_changed
def parameter_replaced(module, number):
    module.fc.weight = nn.Parameter(module.fc.weight.detach() + number)


@_changed
def state_loaded(module, number):
    module.load_state_dict({key: value.abs() for key, value in _new(module, number).items()})


@_changed
def state_assigned(module, number):
    state = {key: value.abs() for key, value in _new(module, number).items()}
    module.load_state_dict(state, assign=True)


@_changed
def through_numpy(module, number):
    module.fc.bias.detach().numpy()[:] += number
    module.conv.weight.detach().numpy()[0] *= -1


@_changed
def in_inference_mode(module, number):
    with torch.inference_mode():
        module.fc.weight.add_(number)


@_changed
def attribute_and_buffer(module, number):
    module.alpha = 0.5 * number
    module.shift.fill_(number)


@_changed
def one_element(module, number):
    module.fc.weight.data[1, 3] = 7.0 * number


@case(lambda: [below(11, 2, 3), below(11, 2, 3)])
class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(11, 6), nn.Linear(6, 11)
        self.head.weight = self.table.weight

    def forward(self, x):
        return self.head(self.table(x)), self.table.weight[x[0]]


def _untie(module, number):
    with torch.no_grad():
        module.table.weight[number] = number


case(
    lambda: [below(11, 2, 3) for _ in range(3)], "tied_and_changed", ways=(COMPILED,), before=_untie
)(Tied)


@case(lambda: [t(2, 4), t(2, 4)])
class LayersInLists(nn.Module):
    """Layers that share a weight, parameters in lists and dicts, and views of a parameter."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])
        self.layers.append(self.layers[0])
        self.scales = nn.ParameterList([nn.Parameter(t(4)) for _ in range(2)])
        self.table = nn.ParameterDict({"a": nn.Parameter(t(8, 4))})
        self.frozen = nn.Parameter(t(4), requires_grad=False)

    def forward(self, x):
        for layer, scale in zip(self.layers, (*self.scales, self.frozen)):
            x = layer(x) * scale
        first, second = self.table["a"].chunk(2)
        return x @ first + x @ second.T


@case(lambda: [t(2, 4), t(2, 4)])
class OtherLayouts(nn.Module):
    """Weights that are not contiguous, that repeat, or that have no elements."""

    def __init__(self):
        super().__init__()
        self.turned = nn.Parameter(t(6, 4).T)
        self.register_buffer("repeated", t(1, 6).expand(3, 6))
        self.register_buffer("sliced", t(6, 8)[:, ::2])
        self.register_buffer("empty", t(0, 6))

    def forward(self, x):
        y = x @ self.turned
        return torch.cat((y @ self.repeated.T, y @ self.sliced, y @ self.empty.T), 1)
