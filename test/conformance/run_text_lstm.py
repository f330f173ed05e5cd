#!/usr/bin/env python3
"""The text classifiers of examples/text_lstm at their real size against torch.nn in f64:
one-directional, and bidirectional with a length for each row; and their bits, which no number of
threads changes."""
import os
import subprocess
import sys

import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

from cases import Cases, Failure
from dlc_tool import BUILD, ROOT, compile_model, expect_close, run_model
from torch_oracle import read_safetensors

FOLDER = os.path.join(ROOT, "examples", "text_lstm")
OUT = os.path.join(BUILD, "examples")
WORDS, WIDTH, HIDDEN, CLASSES = 5000, 100, 128, 4
SHAPES = {"cpu": ((1, 1), (1, 37), (5, 17), (33, 64)), "cuda-emu": ((2, 5),)}


class Oracle(nn.Module):
    def __init__(self, name, layers, bidirectional):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.lstm = nn.LSTM(WIDTH, HIDDEN, num_layers=layers, batch_first=True,
                            bidirectional=bidirectional)
        self.fc = nn.Linear(HIDDEN * (1 + bidirectional), CLASSES)
        weights = read_safetensors(os.path.join(OUT, name + ".safetensors"))
        self.load_state_dict(
            {key: torch.from_numpy(np.array(value)) for key, value in weights.items()})
        self.double()

    def forward(self, tokens, lengths=None):
        x = self.embedding(tokens)
        if lengths is not None:
            x = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        _, (h, _) = self.lstm(x)
        return self.fc(torch.cat([h[-2], h[-1]], 1) if self.lstm.bidirectional else h[-1])


def inputs_of(batch, length, has_lengths):
    random = np.random.RandomState(batch + length)
    inputs = {"tokens": random.randint(0, WORDS, (batch, length))}
    if has_lengths:
        inputs["lengths"] = random.randint(1, length + 1, batch)
        for row, count in zip(inputs["tokens"], inputs["lengths"]):
            row[count:] = 0
    return inputs


def one_model(cases, name, layers, bidirectional):
    package = os.path.join(OUT, name + ".bin")
    with cases.case(f"{name}: compile"):
        compile_model(os.path.join(FOLDER, name + ".dl"), package,
                      os.path.join(OUT, name + ".safetensors"))
    oracle = Oracle(name, layers, bidirectional)
    for device, shapes in SHAPES.items():
        for batch, length in shapes:
            with cases.case(f"{name}: {batch} texts of {length} words on {device} against PyTorch"):
                inputs = inputs_of(batch, length, bidirectional)
                actual, = run_model(package, inputs, ["logits"], "--device", device)
                with torch.no_grad():
                    expected = oracle(*map(torch.from_numpy, inputs.values())).numpy()
                # f32 through up to 128 steps that each forget: a few units of the last place of
                # logits near 1.
                expect_close(actual, expected, 1e-5, 2e-6)
    with cases.case(f"{name}: 1 and 2 threads, the same bits"):
        inputs = inputs_of(33, 20, bidirectional)
        one, two = (run_model(package, inputs, ["logits"], "--device", "cpu", "--threads",
                              threads)[0] for threads in (1, 2))
        if one.tobytes() != two.tobytes():
            raise Failure(f"{int((one != two).sum())} of {one.size} values differ")


def main():
    os.makedirs(OUT, exist_ok=True)
    subprocess.run([sys.executable, os.path.join(FOLDER, "weights.py"), OUT], check=True)
    cases = Cases()
    one_model(cases, "text_lstm", 1, False)
    one_model(cases, "text_bilstm", 2, True)
    return cases.finish()


sys.exit(main())
