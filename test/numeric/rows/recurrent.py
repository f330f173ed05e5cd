"""LSTM, GRU and RNN: networks as PyTorch's modules have them, their results one after another in
one vector."""
import numpy as np
import torch
from torch import nn

import accuracy as acc
from rows.row import BOUNDARY, FLOATS, POSITIVE, element_of, row

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
RESET_FIRST = {"gru_reset_first": torch.tanh,
               "gru_reset_first_relu": torch.relu}  # no modules of PyTorch


def of_recurrence(run):
    """As the record states it: each step of each layer adds (I + H + 16) u, and 2 u_out where what
    lies between layers and steps is stored in 16 bits, of the largest value."""
    def bound(y, tensors, dtype):
        scale = max(1.0, float(np.abs(y).max()) if y.size else 0.0)
        step = (run.inputs + run.hidden + 16) * acc.unit(acc.compute(dtype))
        if dtype != acc.compute(dtype):
            step += 2 * acc.unit(dtype)
        return np.full_like(y,
                            step * run.steps(tensors) * run.layers * scale) + acc.stored(dtype, y)
    return bound


class Network:
    """One configuration: a row's shapes, its ops, and PyTorch's module."""

    def __init__(self, op, steps, batch, inputs, hidden, layers=1, bidirectional=False,
                 batch_first=False, bias=True, lengths=False, initial=False, proj=0):
        self.op, self.layers, self.bias, self.proj = op, layers, bias, proj
        self.directions = 2 if bidirectional else 1
        self.batch_first, self.initial, self.lengths = batch_first, initial, lengths
        self.hidden, self.outputs = hidden, proj or hidden
        gates, cells = GATES.get(op, 3), layers * self.directions
        self.states = 2 if op == "lstm" else 1
        self.x = (steps, inputs) if batch is None else (batch, steps,
                                                        inputs) if batch_first else (steps, batch,
                                                                                     inputs)
        rows = () if batch is None else (batch,)
        self.shapes = [self.x]
        if initial:
            self.shapes += [(cells, *rows, self.outputs), (cells, *rows, hidden)][:self.states]
        for layer in range(layers):
            width = self.outputs * self.directions if layer else inputs
            for _ in range(self.directions):
                self.shapes += [(gates * hidden, width), (gates * hidden, self.outputs)]
                self.shapes += [(gates * hidden,)] * 2 if bias else []
                self.shapes += [(proj, hidden)] if proj else []
        count = steps if batch is None else f"({steps})*({batch})"
        of_state = 1 if batch is None else f"({batch})"
        sizes = [f"{count}*{self.outputs * self.directions}", f"{of_state}*{cells * self.outputs}"]
        self.result = ("+".join(sizes + [f"{of_state}*{cells * hidden}"] * (self.states - 1)),)
        if all(isinstance(dim, int) for dim in self.x):
            self.result = (eval(self.result[0]),)
        if lengths:
            self.shapes.append((batch,))
        self.kinds = {len(self.shapes) - 1: ("i64", range(1, steps + 1))} if lengths else {}
        self.inputs = inputs

    # What the bound asks for.
    def steps(self, tensors):
        return tensors[0].shape[1 if self.batch_first and tensors[0].dim() == 3 else 0]

    def params(self, tensors):
        first = 1 + self.states * self.initial
        return tensors[first:len(tensors) - self.lengths]

    def body(self, names, types, result):
        states = self.states * self.initial
        segments = [1, states, len(names) - 1 - states - self.lengths, int(self.lengths)]
        flag = lambda value: "true" if value else "false"
        element = element_of(result)
        full = lambda dims: self.typed(dims, element)
        cells = self.layers * self.directions
        rows = self.x[:-1] if len(self.x) == 3 else None
        batch = () if rows is None else (rows[0] if self.batch_first else rows[1],)
        kinds = [
            full((*self.x[:-1], self.outputs * self.directions)),
            full((cells, *batch, self.outputs)),
            full((cells, *batch, self.hidden))
        ][:1 + self.states]
        results = ["%a", "%b", "%c"][:1 + self.states]
        text = (
            f"{', '.join(results)} = dl.{self.op} {', '.join(names)} {{operandSegmentSizes = array<i32: "
            f"{', '.join(map(str, segments))}>, num_layers = {self.layers} : i64, bidirectional = {flag(self.directions == 2)}, "
            f"batch_first = {flag(self.batch_first)}}} : ({', '.join(types)}) -> ({', '.join(kinds)})\n"
        )
        flats = []
        for name, kind, dims in zip(results, kinds, [(*self.x[:-1], self.outputs * self.directions),
                                                     (cells, *batch, self.outputs),
                                                     (cells, *batch, self.hidden)]):
            flat = full(("*".join(f"({dim})" for dim in dims), ) if any(
                isinstance(dim, str) for dim in dims) else (int(np.prod(dims)), ))
            number = chr(ord(name[1]) + 3)
            text += f"%{number} = dl.reshape {name} {{shape = affine_map<() -> (-1)>}} : ({kind}) -> {flat}\n"
            flats.append((f"%{number}", flat))
        return text + (f"%y = dl.cat {', '.join(name for name, _ in flats)} {{dim = 0 : i64}} : "
                       f"({', '.join(kind for _, kind in flats)}) -> {result}")

    @staticmethod
    def typed(dims, element):
        from modules import tensor_type
        return tensor_type(dims, element)

    def torch(self, *tensors):
        """PyTorch's module; a network without rows, which it refuses, gives what its shapes say."""
        if self.op in RESET_FIRST:
            return self.reset_first(*tensors)
        kinds = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn_tanh": nn.RNN, "rnn_relu": nn.RNN}
        options = {"nonlinearity": self.op[4:]} if self.op.startswith("rnn") else {}
        if self.proj:
            options["proj_size"] = self.proj
        module = kinds[self.op](self.inputs, self.hidden, num_layers=self.layers, bias=self.bias,
                                batch_first=self.batch_first, bidirectional=self.directions == 2,
                                **options).double()
        for (name, _), value in zip(list(module.named_parameters()), self.params(tensors)):
            del module._parameters[name]
            setattr(module, name, value)  # a derivative by it may be asked for
        x, hx = tensors[0], None
        if x.dim() == 3 and x.shape[0 if self.batch_first else 1] == 0:
            return torch.zeros(0, dtype=torch.float64)
        if self.initial:
            hx = tuple(tensors[1:1 + self.states]) if self.states == 2 else tensors[1]
        if self.lengths:
            packed = nn.utils.rnn.pack_padded_sequence(x, tensors[-1], batch_first=self.batch_first,
                                                       enforce_sorted=False)
            y, finals = module(packed, hx)
            total = x.shape[1 if self.batch_first else 0]
            y, _ = nn.utils.rnn.pad_packed_sequence(y, batch_first=self.batch_first,
                                                    total_length=total)
        else:
            y, finals = module(x, hx)
        finals = finals if self.states == 2 else (finals,)
        return torch.cat([t.reshape(-1) for t in (y, *finals)])


    def reset_first(self, *tensors):
        """Step by step, as the record of gru_reset_first says."""
        x, params = tensors[0], self.params(tensors)
        if x.dim() == 2:
            x = x[:, None]
        elif self.batch_first:
            x = x.transpose(0, 1)
        length = tensors[-1] if self.lengths else torch.full((x.shape[1],), x.shape[0])
        finals = []
        for cell in range(self.layers * self.directions):
            if cell % self.directions == 0:
                below, outputs = (x if cell == 0 else torch.cat(outputs, 2)), []
            own = params[cell * (4 if self.bias else 2):][:4 if self.bias else 2]
            zeros = torch.zeros(3 * self.hidden, dtype=x.dtype)
            w_ih, w_hh, b_ih, b_hh = own if self.bias else (*own, zeros, zeros)
            h = tensors[1][cell].reshape(x.shape[1], -1).clone() if self.initial else torch.zeros(
                x.shape[1], self.hidden, dtype=x.dtype)
            y = torch.zeros(*x.shape[:2], self.hidden, dtype=x.dtype)
            for step in range(x.shape[0]):
                for row in range(x.shape[1]):
                    if step < length[row]:
                        at = length[row] - 1 - step if cell % self.directions else step
                        of_x = (w_ih @ below[at, row] + b_ih).chunk(3)
                        r, z = (torch.sigmoid(a + w @ h[row] + b)
                                for a, w, b in zip(of_x[:2], w_hh.chunk(3), b_hh.chunk(3)))
                        n = RESET_FIRST[self.op](of_x[2] + w_hh.chunk(3)[2] @ (r * h[row])
                                                 + b_hh.chunk(3)[2])
                        h[row] = (1 - z) * n + z * h[row]
                        y[at, row] = h[row]
            outputs.append(y)
            finals.append(h)
        y = torch.cat(outputs, 2)
        return torch.cat([(y.transpose(0, 1) if self.batch_first else y).reshape(-1),
                          torch.stack(finals).reshape(-1)])


def network(note, dtypes, sizes, *args, **options):
    run = Network(*args, **options)
    row(run.op, dtypes, run.shapes, run.result, run.torch, of_recurrence(run), sizes=sizes,
        values="weights", note=note, body=run.body, kinds=run.kinds)


for op in GATES:
    network("batch", FLOATS, BOUNDARY[:12], op, 5, "N", 3, 7)
    network("steps", ("f32",), POSITIVE, op, "N", 2, 3, 16, batch_first=True)
    network("lengths, both directions", ("f32", "f16"), BOUNDARY[1:11], op, 6, "N", 3, 16,
            bidirectional=True, lengths=True, initial=True)
    network("lengths, batch first", ("f32", ), (1, 2, 7, 17), op, 9, "N", 2, 7, batch_first=True,
            lengths=True)
    network("two layers, no bias", ("f32", ), (1, 4, 9), op, "N", 3, 5, 33, layers=2,
            bidirectional=True, bias=False)
    network("one unit", ("f32",), (1, 3), op, "N", 2, 1, 1)
    network("no batch", ("f32",), (1, 5), op, "N", None, 4, 9, initial=True, layers=2)
for op in RESET_FIRST:
    network("batch", FLOATS, BOUNDARY[:9], op, 5, "N", 3, 7)
    network("steps", ("f32",), POSITIVE[:12], op, "N", 2, 3, 16, batch_first=True)
    network("lengths, both directions", ("f32", "f16"), (1, 2, 7), op, 6, "N", 3, 16,
            bidirectional=True, lengths=True, initial=True)
    network("lengths, batch first", ("f32", ), (1, 2, 7), op, 9, "N", 2, 7, batch_first=True,
            lengths=True)
    network("two layers, no bias", ("f32", ), (1, 4), op, "N", 3, 5, 33, layers=2,
            bidirectional=True, bias=False)
    network("no batch", ("f32",), (1, 5), op, "N", None, 4, 9, initial=True, layers=2)
network("shared units", ("f32",), (0, 1, 5), "gru_reset_first", 3, "N", 3, 256)
network("projection", FLOATS, BOUNDARY[:8], "lstm", 4, "N", 5, 17, proj=3, initial=True)
network("projection, lengths", ("f32", ), BOUNDARY[1:8], "lstm", 5, "N", 3, 16, proj=9, layers=2,
        bidirectional=True, lengths=True, batch_first=True)
network("many units", ("f32",), (1, 6, 20), "lstm", 3, "N", 20, 130)
network("many units", ("f32",), (1, 6, 20), "gru", 3, "N", 20, 130)


# Blocks that share the units: as many of their weights as fit stay in shared memory, and the grid
# meets after each step.
for op in GATES:
    network("shared units", ("f32", "f16"), (0, 1, 5), op, 3, "N", 3, 256)
    network("shared units, lengths, both directions", ("f32", ), (2, 5), op, 4, "N", 3, 250,
            bidirectional=True, lengths=True, initial=True)
network("shared units, projection", ("f32", "bf16"), (1, 3), "lstm", 3, "N", 5, 270, proj=130,
        initial=True)
network("shared units, projection, lengths", ("f32", ), (3, ), "lstm", 4, "N", 3, 270, proj=130,
        bidirectional=True, lengths=True, batch_first=True)
network("shared units, many rows", ("f32", "f16"), (16, 17, 33), "lstm", 2, "N", 3, 264,
        initial=True)
network("shared units, rows of one buffer", ("bf16",), (1, 9), "rnn_tanh", 2, "N", 3, 2056)
network("shared units, steps", ("f32",), (1, 3), "lstm", "N", 2, 3, 128, batch_first=True)

# On tensor cores: both sides of tiles of rows, and units that fill no tile of lines.
HALVES = ("f16", "bf16")
network("tensor cores", HALVES, (1, 7, 8, 9, 15, 16, 17, 33), "lstm", 3, "N", 5, 250)
network("tensor cores", HALVES, (1, 8, 33), "rnn_relu", 3, "N", 5, 265, initial=True)
network("tensor cores, lengths, both directions", HALVES, (2, 9, 17), "gru", 4, "N", 3, 260,
        bidirectional=True, lengths=True, initial=True)
network("tensor cores, projection, lengths", HALVES, (3, 9), "lstm", 4, "N", 3, 270, proj=131,
        bidirectional=True, lengths=True, batch_first=True, initial=True)
network("tensor cores, steps", ("f16",), (1, 5), "lstm", "N", 9, 3, 256, batch_first=True, layers=2)
network("tensor cores", ("f16",), (1, 9), "gru_reset_first", 3, "N", 3, 250)

# Layers of a stack in waves, in one launch: with more layers than steps, both sides of a tile of
# rows, rows that end before others, and units that are no multiple of what a lane or a tile takes.
network("shared units, waves", ("f32", "f16"), (0, 1, 9, 17), "lstm", 3, "N", 3, 138, layers=2,
        initial=True)
for op, hidden in (("gru", 138), ("rnn_tanh", 250), ("rnn_relu", 250)):
    network("shared units, waves", ("f32", "f16"), (2, 9), op, 3, "N", 3, hidden, layers=2,
            initial=True)
network("shared units, waves, steps", ("f32", "f16", "bf16"), (1, 2, 5), "lstm", "N", 2, 3, 136,
        layers=3, bias=False, batch_first=True)
network("shared units, waves, lengths", ("f32", "f16"), (1, 4), "lstm", 4, "N", 3, 144, layers=3,
        lengths=True, initial=True)
network("shared units, waves, lengths, batch first", ("f32", "f16"), (3, ), "gru", 4, "N", 3, 138,
        layers=2, lengths=True, batch_first=True)


def lstm_step(x, h, states):
    i, f, g, o = (a + b for a, b in zip(x, h))
    c = torch.sigmoid(f) * states[1] + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def gru_step(x, h, states):
    reset, update = torch.sigmoid(x[0] + h[0]), torch.sigmoid(x[1] + h[1])
    return (1 - update) * torch.tanh(x[2] + reset * h[2]) + update * states[0],


def reset_first_step(activation):
    def step(x, h, states):
        reset, update = torch.sigmoid(x[0] + h[0]), torch.sigmoid(x[1] + h[1])
        mixed = (1 - states[2]) * activation(x[2] + h[2]) + states[2] * states[1]
        second = x[3] > 0
        return (torch.where(second, mixed,
                            reset * states[1]), torch.where(second, mixed, states[1]),
                torch.where(second, states[2], update))
    return step


STEPS = {"lstm_steps": (4, 2, lstm_step), "gru_steps": (3, 1, gru_step),
         "gru_reset_first_steps": (4, 3, reset_first_step(torch.tanh)),
         "gru_reset_first_relu_steps": (4, 3, reset_first_step(torch.relu)),
         "rnn_tanh_steps": (1, 1, lambda x, h, states: (torch.tanh(x[0] + h[0]),)),
         "rnn_relu_steps": (1, 1, lambda x, h, states: (torch.relu(x[0] + h[0]),))}
for op, (gates, count, step) in STEPS.items():
    def steps(x, weight, gates=gates, count=count, step=step):
        """Backwards over [T, N, gates * 9], from zeros."""
        states, results = [torch.zeros(x.shape[1], 9, dtype=x.dtype)] * count, []
        for now in reversed(x.unbind(0)):
            states = step(now.chunk(gates, 1), [states[0] @ w.T for w in weight], states)
            results.insert(0, states[0])
        return torch.stack(results)

    def body(names, types, result, op=op, count=count):
        final = result.replace("tensor<4x", "tensor<").replace("[4, ", "[")
        finals = [f"%{letter}" for letter in "abc"[:count]]
        return (
            f"%y, {', '.join(finals)} = dl.{op} {', '.join(names)} {{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>, "
            f"reverse = true}} : ({', '.join(types)}) -> ({', '.join([result] + [final] * count)})")

    row(op, ("f32", ), [(4, "N", gates * 9), (gates, 9, 9)], (4, "N", 9), steps,
        lambda y, tensors, dtype: np.full_like(y, 4 * 40 * acc.unit(dtype)), sizes=(0, 1, 3, 17),
        values="weights", body=body)
