#!/usr/bin/env python3
"""Networks at the size that people use, exported by PyTorch on seeded weights, for zoo_peers.py to
time:

    zoo_files.py FOLDER NAME...    writes NAME.onnx and NAME.npz, the inputs, where they are not
                                   there yet

Needs PyTorch, torchvision and transformers (tools/scripts/setup --tests)."""
import os
import sys
import warnings

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [
    os.path.join(os.path.dirname(os.path.dirname(HERE)), name) for name in ("conformance", "aten")
]

WORDS = (1, 128)


def text_lstm(torch):
    """A classifier of texts: two layers over vectors of words, of which the last state decides."""
    class TextLstm(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = torch.nn.Embedding(20000, 128)
            self.lstm = torch.nn.LSTM(128, 256, num_layers=2, batch_first=True)
            self.classes = torch.nn.Linear(256, 4)

        def forward(self, ids):
            return self.classes(self.lstm(self.embedding(ids))[0][:, -1])

    return TextLstm()


def module_and_inputs(torch, name):
    import run_zoo
    import torch_networks
    if name == "text_lstm":
        return run_zoo.seeded_module(
            torch, lambda: text_lstm(torch)), {"ids": torch.randint(0, 20000, WORDS)}
    if name in ("bert", "gpt2"):
        module = run_zoo.seeded_module(torch, lambda: torch_networks.NETWORKS[name][0]("whole"))
        return module, {"input_ids": torch.randint(0, 20000, WORDS)}
    import torchvision.models as vision
    options = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    size = 299 if name == "inception_v3" else 224
    module = run_zoo.seeded_module(torch, lambda: vision.get_model(name, weights=None, **options))
    return module, {"x": torch.randn(1, 3, size, size)}


def main():
    folder, names = sys.argv[1], sys.argv[2:]
    missing = [name for name in names if not os.path.exists(os.path.join(folder, name + ".npz"))]
    if not missing:
        return
    import torch
    from onnx_exports import export_onnx
    warnings.simplefilter("ignore")  # of the exporter's, about what it fixes
    for name in missing:
        print(f"exporting {name}", flush=True)
        module, inputs = module_and_inputs(torch, name)
        os.replace(export_onnx(module, inputs, folder), os.path.join(folder, name + ".onnx"))
        np.savez(os.path.join(folder, name + ".npz"),
                 **{key: value.numpy() for key, value in inputs.items()})


main()
