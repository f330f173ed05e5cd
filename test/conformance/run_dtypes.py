#!/usr/bin/env python3
"""The networks of the repository in f32, f16 and bf16: on the CPU and on the emulated GPU against
PyTorch in f64 over the same stored weights, with the emulator's checker under each of its three
policies.

    run_dtypes.py          one in PARTS networks and dtypes (cases.py), under one policy
    run_dtypes.py --all    all dtypes, all policies, on demand

Networks without an oracle here have stored outputs (run_corpus.py): in 16 bits they are held
against themselves in f32."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch

import networks
import oracles
from cases import SEED, Cases, Failure, one_of, takes
from dlc_tool import BUILD, ROOT, compile_model, expect_close, run_tool
from torch_oracle import read_safetensors

sys.path.insert(
    0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "numeric"))
import accuracy as acc  # noqa: E402
from modules import from_bytes, to_bytes  # noqa: E402

OUT = os.path.join(BUILD, "test-logs", "dtypes")
DTYPES = ("f32", "f16", "bf16")
POLICIES = ("order", "reverse", "random:7")
PARTS = 6
# Networks of large images: the emulator takes minutes for one with its checker. run_examples.py
# runs them without.
LARGE = ("resnet18", "unet", "dcgan")
# Roundings of the largest value that weights, activations and sums of up to twenty layers may add
# up to.
ROUNDINGS = {"f32": 300, "f16": 40, "bf16": 40}
EXECUTE = os.path.join(ROOT, "test", "numeric", "execute.py")


def execute(package, device, inputs, outputs, **environment):
    """inputs: [(dtype, tensor)]; outputs: [(dtype, dims)]; arrays in float64 or int64."""
    with tempfile.TemporaryDirectory() as folder:
        plan, data, results = (os.path.join(folder, name) for name in ("plan", "inputs", "outputs"))
        with open(plan, "w", encoding="utf-8") as out:
            json.dump([[[(dtype, list(tensor.shape)) for dtype, tensor in inputs], outputs]], out)
        with open(data, "wb") as out:
            out.writelines(to_bytes(tensor) for _, tensor in inputs)
        run = subprocess.run([
            sys.executable, EXECUTE,
            os.path.join(BUILD, "lib", "libdlc_runtime.so"), package, device, plan, data, results
        ], capture_output=True, text=True, env={**os.environ, **environment})
        if run.returncode:
            raise Failure(
                f"exit status {run.returncode}: {(run.stderr + run.stdout).strip()[-800:]}")
        with open(results, "rb") as source:
            content = source.read()
    arrays, offset = [], 0
    for dtype, dims in outputs:
        size = int(np.prod(dims, dtype=np.int64)) * torch.empty(
            0, dtype=acc.TORCH[dtype]).element_size()
        arrays.append(from_bytes(content[offset:offset + size], dtype, dims))
        offset += size
    return arrays


class Subject:
    """A network in one dtype: compiled, with seeded weights and inputs, and what comes out in f64.
    """

    def __init__(self, network, dtype):
        self.network, self.dtype = network, dtype
        plain = networks.write(network, OUT, "f32", network.reduced)
        model = networks.write(network, OUT, dtype, network.reduced)
        path = os.path.join(OUT, f"{network.name}-{dtype}.safetensors")
        networks.save_weights(plain, path)
        weights = {name: torch.from_numpy(np.array(value)).to(acc.TORCH[dtype]).double()
                   for name, value in read_safetensors(path).items()}
        networks.safetensors.save(path,
                                  {name: value.float().numpy() for name, value in weights.items()})
        self.package = os.path.join(OUT, f"{network.name}-{dtype}.bin")
        compile_model(model, self.package, path, "--target", "cpu,cuda", "-q")
        arrays = oracles.INPUTS[network.name](np.random.RandomState(2), 2, network.reduced)
        self.inputs = []
        for name, value in arrays.items():
            tensor = torch.from_numpy(np.array(value))
            if tensor.is_floating_point():
                tensor = tensor.to(acc.TORCH[dtype])
                arrays[name] = tensor.double().numpy()
            self.inputs.append((dtype if tensor.is_floating_point() else "i64", tensor))
        if oracles.has_oracle(network.name):
            self.expected = oracles.expected(network.name, plain, path, weights, network.reduced,
                                             arrays)
        else:
            self.expected = self.in_f32(plain, path)

    def in_f32(self, model, weights):
        """By dlc's CPU code in f32, which the stored vectors confirm."""
        package = self.package + ".f32"
        compile_model(model, package, weights, "--target", "cpu", "-q")
        inputs = [("f32", tensor.float()) if dtype != "i64" else (dtype, tensor)
                  for dtype, tensor in self.inputs]
        facts = json.loads(run_tool(os.path.join(BUILD, "bin", "dlc"), "inspect", package,
                                    "--json"))
        shapes = [[
            int(dim) if dim.isdigit() else 2
            for dim in value["type"].split(" ")[0].split("[")[1].rstrip("]").split(",")
        ] for value in facts["outputs"]]
        return execute(package, "cpu", inputs, [("f32", shape) for shape in shapes])

    def check(self, device, **environment):
        outputs = [(self.dtype, list(value.shape)) for value in self.expected]
        for actual, expected in zip(
                execute(self.package, device, self.inputs, outputs, **environment), self.expected):
            # Relative to the largest value: what a layer adds up is as exact as its largest term.
            bound = ROUNDINGS[self.dtype] * acc.unit(self.dtype) * np.abs(expected).max()
            expect_close(actual, expected, 0, bound)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--network", action="append", choices=list(networks.NETWORKS))
    options = parser.parse_args()
    os.makedirs(OUT, exist_ok=True)
    torch.set_num_threads(1)
    emulator = {"DLC_LIBCUDA": os.path.join(BUILD, "lib", "libdlc_cuda_emu.so"),
                "DLC_LIBNVRTC": os.path.join(BUILD, "lib", "libdlc_nvrtc_emu.so")}
    cases, others = Cases(), 0
    for name, network in networks.NETWORKS.items():
        if options.network and name not in options.network:
            continue
        for dtype in DTYPES:
            if not options.all and not takes(f"{name} in {dtype}", PARTS):
                others += 1
                continue
            subject = None
            with cases.case(f"{name} in {dtype}: compile"):
                subject = Subject(network, dtype)
            if not subject:
                continue
            with cases.case(f"{name} in {dtype} on cpu"):
                subject.check("cpu")
            policies = POLICIES if options.all else [one_of(name, POLICIES, SEED // PARTS)]
            for policy in () if name in LARGE else policies:
                with cases.case(f"{name} in {dtype} on cuda-emu, checked, {policy}"):
                    subject.check("cuda", **emulator, DLC_EMU_CHECK="1", DLC_EMU_POLICY=policy)
            if name in LARGE and options.all:
                with cases.case(f"{name} in {dtype} on cuda-emu"):
                    subject.check("cuda", **emulator)
    if others:
        cases.leave_out(
            others,
            "networks in dtypes whose turn it is not: checks/61-dtypes --all runs them under all policies"
        )
    return cases.finish()


sys.exit(main())
