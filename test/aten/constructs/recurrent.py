"""Recurrent layers: layers, directions, projections, packed sequences, cells."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from constructs.construct import ROWS, case, ints

t = torch.randn


class Layer(nn.Module):
    """A layer of 3 features; its state has `names` parts, and `count` layers and directions."""

    kind, options = nn.LSTM, {}

    def __init__(self):
        super().__init__()
        self.layer = self.kind(3, 4, **self.options)

    def forward(self, x):
        return self.layer(x)


class Begun(Layer):
    def forward(self, x, h):
        return self.layer(x, h)


class BegunLSTM(Layer):
    def forward(self, x, h, c):
        return self.layer(x, (h, c))


def sizes(*pairs, layers=None):
    """Calls with time before batch, and a state of `layers` layers if it is given."""
    begun = [() if layers is None else (t(layers, n, 4),) for _, n in pairs]
    return [(t(length, n, 3), *state) for (length, n), state in zip(pairs, begun)]


TIMED = {"x": {0: "T", 1: "N"}}
STATED = {**TIMED, "h": {1: "N"}}


def _layer(name, base, kind, dynamic=None, layers=None, **options):
    pairs = ((6, 2), (1, 1), (3, 1), (14, 5)) if dynamic else ((6, 2), (6, 2), (4, 2))

    def arguments():
        found = sizes(*pairs, layers=layers)
        return [(*call, t(*call[1].shape)) for call in found] if base is BegunLSTM else found

    made = type(name, (base,), {"kind": kind, "options": options, "__module__": __name__})
    case(arguments, name, dynamic=dynamic)(made)


_layer("gru", Layer, nn.GRU, TIMED)
_layer("gru_without_bias", Layer, nn.GRU, bias=False)
_layer("gru_two_layers_both_directions", Begun, nn.GRU, STATED, 4, num_layers=2, bidirectional=True)
_layer("rnn_both_directions", Begun, nn.RNN, STATED, 2, nonlinearity="relu", bidirectional=True)
_layer("rnn_two_layers", Layer, nn.RNN, num_layers=2)
_layer("lstm", Layer, nn.LSTM, TIMED)
_layer(
    *("lstm_two_layers_both_directions", BegunLSTM, nn.LSTM, {**STATED, "c": {1: "N"}}, 4),
    num_layers=2,
    bidirectional=True,
)
_layer("lstm_projected", Layer, nn.LSTM, proj_size=2)
_layer("lstm_projected_both_directions", Layer, nn.LSTM, proj_size=2, bidirectional=True)


@case(lambda: [t(6, 3), t(6, 3), t(2, 3)])
class OneSequence(Layer):
    pass


@case(
    lambda: [(t(n, length, 3),) for n, length in ((2, 5), (1, 1), (4, 9))],
    dynamic={"x": {0: "N", 1: "T"}},
)
class BothWaysByHand(nn.Module):
    def __init__(self):
        super().__init__()
        self.forth = nn.GRU(3, 4, batch_first=True)
        self.back = nn.LSTM(3, 4, batch_first=True)

    def forward(self, x):
        back, _ = self.back(x.flip(1))
        return torch.cat((self.forth(x)[0], back.flip(1)), 2)


class Packed(nn.Module):
    kind, both, is_sorted, value, whole = nn.LSTM, True, False, 0.0, True

    def __init__(self):
        super().__init__()
        self.layer = self.kind(3, 4, 2, batch_first=True, bidirectional=self.both)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, True, enforce_sorted=self.is_sorted)
        found, state = self.layer(packed)
        total = x.shape[1] if self.whole else None
        return *pad_packed_sequence(found, True, self.value, total), state


def _packed(name, *lengths, dynamic=None, **fields):
    def arguments():
        return [(t(len(kept), max(kept) if dynamic else 7, 3), ints(*kept)) for kept in lengths]

    made = type(name, (Packed,), {**fields, "__module__": __name__})
    case(arguments, name, dynamic=dynamic)(made)


_packed("packed_lstm", (7, 2, 4), (1, 7, 3), (5, 5, 7))
_packed(
    *("packed_gru_of_any_size", (7, 2, 4), (3,), (1, 9, 4, 2, 9)),
    dynamic={"x": {0: "N", 1: "T"}, "lengths": {0: "N"}},
    kind=nn.GRU,
)
_packed("packed_in_order", (7, 4, 4), (7, 7, 1), both=False, is_sorted=True)
_packed("packed_with_another_value", (7, 2, 4), (1, 7, 3), kind=nn.GRU, value=-5.5)
_packed("packed_rnn_to_the_longest", (7, 2, 4), (1, 5, 3), kind=nn.RNN, whole=False, both=False)


@case(lambda: [(t(n, 5, 3),) for n in (3, 1, 6)], dynamic=ROWS)
class Cells(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.GRUCell(3, 4), nn.LSTMCell(4, 5)
        self.third = nn.RNNCell(5, 2, nonlinearity="relu")

    def forward(self, x):
        first, second, third = x.new_ones(x.shape[0], 4), None, None
        steps = []
        for step in x.unbind(1):
            first = self.first(step, first)
            second = self.second(first, second)
            third = self.third(second[0], third)
            steps.append(third)
        return torch.stack(steps, 1), second[1]


@case(lambda: [(t(2, 3), t(2, 4)) for _ in range(3)])
class OneStep(nn.Module):
    """A state that the caller carries."""

    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.GRUCell(3, 4), nn.Linear(4, 3)

    def forward(self, x, state):
        state = self.cell(x, state)
        return self.head(state), state
