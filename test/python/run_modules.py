#!/usr/bin/env python3
"""The networks of test/conformance/run_zoo.py (torchvision, transformers, recurrent ones,
detectors; reduced, with seeded weights) through dlc.compile(module, example, dynamic=...), at the
sizes of the example and, where dims are symbols, at others by the same model, against PyTorch in
double precision. The small ones run on the emulated GPU too. On demand, some minutes: it needs
PyTorch 2.5 or newer with torchvision and transformers, which Debian 12 lacks.

  python3 -m venv VENV && VENV/bin/pip install torch torchvision transformers numpy
  VENV/bin/python test/python/run_modules.py             all of them
  VENV/bin/python test/python/run_modules.py NAME...     these alone
  VENV/bin/python test/python/run_modules.py --list      their names

A network that torch.export does not take is left out with what PyTorch says, and counted."""

import argparse
import inspect
import logging
import os
import sys
import tempfile
import time
import warnings

from models import TEST, Cases, Failure, LeftOut, dlc

sys.path.insert(0, os.path.join(TEST, "conformance"))

BOUND = 2e-3  # of the largest element: deep networks of random weights, in f32
# The emulator runs these in seconds.
EMULATED = ("bert", "gpt2", "llama", "gru_text", "yolo")


def larger(torch, inputs, dynamic):
    """The inputs with one more of each symbolic dim, or None where there is none."""
    if not dynamic:
        return None
    grown = {}
    for name, value in inputs.items():
        for dim in dynamic.get(name, {}):
            value = torch.cat((value, value.narrow(dim, 0, 1)), dim)
        grown[name] = value
    return grown


def expected(torch, module, inputs):
    """PyTorch's results in f64; in f32 of a network whose own code knows f32 alone."""
    from run_zoo import flat

    wide = [value.double() if value.is_floating_point() else value for value in inputs.values()]
    with torch.no_grad():
        try:
            return flat(module.double()(*wide))
        except RuntimeError:
            return flat(module.float()(*inputs.values()))
        finally:
            module.float()


def compare(device, got, inputs, wanted):
    sizes = ", ".join("x".join(map(str, value.shape)) for value in inputs.values())
    if [value.shape for value in got] != [value.shape for value in wanted]:
        raise Failure(
            f"shapes {[value.shape for value in got]} at {sizes}, PyTorch's are "
            f"{[value.shape for value in wanted]}"
        )
    for ours, theirs in zip(got, wanted):
        far = abs(ours - theirs).max(initial=0) / (abs(theirs).max(initial=0) + 1e-9)
        if not far <= BOUND:
            raise Failure(f"{far:.1e} of the largest element off PyTorch's at {sizes} on {device}")


def by_place(module, inputs, dynamic):
    """The dynamic dims by the names of the model's inputs: the zoo's are those of its own."""
    names = []
    for parameter in inspect.signature(module.forward).parameters.values():
        is_many = parameter.kind is parameter.VAR_POSITIONAL
        count = len(inputs) - len(names) if is_many else 1
        names += [f"{parameter.name}_{i}" if is_many else parameter.name for i in range(count)]
    return {name: dims for name, key in zip(names, inputs) if (dims := (dynamic or {}).get(key))}


def check(torch, name, network):
    from dlc_tool import run_model
    from run_zoo import flat, seeded_module

    make, inputs_of, dynamic = network
    module = seeded_module(torch, make)
    inputs = inputs_of()
    wanted = [(inputs, expected(torch, module, inputs))]
    if grown := larger(torch, inputs, dynamic):
        try:
            wanted.append((grown, expected(torch, module, grown)))
        except RuntimeError:
            pass  # a size that the network itself does not take
    devices = ("cpu", "cuda-emu") if name in EMULATED else ("cpu",)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.bin")
        try:
            model = dlc.compile(
                module,
                tuple(inputs.values()),
                dynamic=by_place(module, inputs, dynamic),
                output=path,
                device="cpu",
                target="cpu,cuda" if len(devices) > 1 else "cpu",
            )
        except dlc.Error as error:
            if "PyTorch cannot" in str(error):
                raise LeftOut(f"{name}: {str(error).splitlines()[0][:200]}") from None
            raise Failure(str(error)) from None
        print(f"   {name}: {time.monotonic() - began:.1f} s to a loaded model")
        for given, values in wanted:
            with torch.no_grad():
                compare("cpu", flat(model(*given.values())), given, values)
            if len(devices) > 1:
                arrays = dict(zip((value.name for value in model.inputs), given.values()))
                names = [value.name for value in model.outputs]
                got = run_model(
                    path,
                    {key: value.numpy() for key, value in arrays.items()},
                    names,
                    "--device",
                    "cuda-emu",
                )
                compare("cuda-emu", got, given, values)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true", help="print the names")
    options = parser.parse_args()
    try:
        import torch
        import torchvision  # noqa: F401
        import transformers  # noqa: F401
        from run_zoo import networks
    except ImportError as error:
        sys.exit(f"{error}; --help tells what this needs")
    for logger in ("torch", "transformers"):
        logging.getLogger(logger).setLevel(logging.CRITICAL)
    warnings.simplefilter("ignore")
    zoo, cases = networks(torch), Cases()
    if options.list:
        sys.exit(print("\n".join(sorted(zoo))))
    if unknown := sorted(set(options.names) - set(zoo)):
        parser.error(f"there is no {', '.join(unknown)}; --list prints what there is")
    for name in options.names or zoo:
        with cases.case(name):
            try:
                check(torch, name, zoo[name])
            except LeftOut as reason:
                cases.leave_out(1, str(reason))
                cases.passed -= 1
    return cases.finish()


if __name__ == "__main__":
    sys.exit(main())
