#!/usr/bin/env python3
"""What one file for all shapes takes, beside files for one shape each: for each network with
symbolic dims, how many of its launches run by the schedule, and by the very plan, of the file that
is for that shape alone, and how large the files are without their weights. For an H100, by what the
compiler writes down; nothing runs.

  plan_figures.py              the networks of examples/
  plan_figures.py --exported   ten that PyTorch exported (test/conformance/run_zoo.py), with batches
                               to 64 and sequences to 512

Part of tools/scripts/bench shapes."""
import collections
import itertools
import json
import os
import re
import sys
import tempfile
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(HERE)), "conformance"))
from dlc_tool import dlc  # noqa: E402

# Values of a symbol: its ends, and two between them in equal ratios.
BETWEEN = (0, 1 / 3, 2 / 3, 1)
EXPORTED = ("resnet34", "mobilenet_v3_small", "vision_transformer", "bert", "distilbert", "gpt2",
            "llama", "t5_encoder", "gru_text", "yolo")
MOST = {"N": 64, "T": 512}  # of the exported ones, where the network itself has no smaller bound


def inspected(package):
    return json.loads(dlc("inspect", package, "--json"))


def holds(where, values):
    """Whether a variant serves these values on an H100: 'on sm_90a, for N*T = 9..64'."""
    for extent, least, most in re.findall(r"(?:for |and )(.+?) = (\d+)(?:\.\.(\d+))?", where):
        if not int(least) <= eval(extent, {"min": min, "max": max}, values) <= int(most or least):
            return False
    return True


def plans_of(program, values):
    """(layers, ops) -> the plans of the launches that compute them under these values."""
    kernels, taken = program["kernels"], {}
    for kernel in kernels:
        if "in_place_of" in kernel and holds(kernel["where"], values):
            taken.setdefault(kernel["in_place_of"], kernel)
    plans = collections.defaultdict(list)
    for kernel in kernels:
        if kernel["launches"]:
            plan = taken.get(kernel["name"], kernel)["plan"]
            plans[tuple(kernel["layers"]), tuple(kernel["ops"])] += [
                (plan["schedule"], plan["numbers"])
            ] * kernel["launches"]
    return plans


def dims_of(type_text, values):
    """The dims of 'f32[N,3,T+1]' under these values, as text."""
    return [
        str(eval(dim, {}, values)) for dim in type_text.partition("[")[2].rstrip("]").split(",")
        if dim
    ]


def bytes_beside_weights(package):
    return os.path.getsize(package) - inspected(package)["weight_bytes"]


def examples(folder):
    """(name, what compiles it) of each network of examples/."""
    # Its module safetensors stands in the way of the package that transformers wants
    import networks
    for name, network in networks.NETWORKS.items():
        if network.path.startswith("examples/"):
            path = networks.write(network, folder, sizes=network.shortened)
            weights = networks.save_weights(path, os.path.join(folder, "weights.safetensors"))
            yield name, ["compile", path, "--weights", weights, "-q", "--target", "cuda"]


def exported(folder):
    """The same of networks of PyTorch, their symbols bounded as people bound them."""
    import torch
    import run_zoo
    warnings.simplefilter("ignore")  # of the exporter's, about what it fixes
    os.makedirs(run_zoo.OUT, exist_ok=True)
    every = run_zoo.networks(torch)
    for name in EXPORTED:
        found = run_zoo.exported(torch, name, every[name])
        if isinstance(found, str):
            print(f"{name:20} PyTorch's exporter does not take it: {found}")
            continue
        command = ["compile", found[0], "-q", "--target", "cuda"]
        package = os.path.join(folder, "bounds.bin")
        dlc(*command, "-o", package)
        facts = inspected(package)
        most = {
            symbol["name"]: min(MOST.get(symbol["name"], symbol["max"]), symbol["max"])
            for symbol in facts["symbols"]
        }
        yield name, [*command, "--max-shapes", shapes_of(facts, most)]


def shapes_of(facts, values):
    """The shapes of all inputs under these values, as options of dlc have them."""
    return ",".join(f"{value['name']}:{'x'.join(dims_of(value['type'], values))}"
                    for value in facts["inputs"])


def figures(command, folder):
    package, fixed = os.path.join(folder, "all.bin"), os.path.join(folder, "one.bin")
    dlc(*command, "-o", package)
    facts = inspected(package)
    if "--max-shapes" in command:  # which one shape alone takes the place of
        command = command[:command.index("--max-shapes")]
    symbols = {symbol["name"]: (symbol["min"], symbol["max"]) for symbol in facts["symbols"]}
    if not symbols:
        return None
    values = {
        name: sorted(
            {max(least, round(max(1, least) * (most / max(1, least))**at)) for at in BETWEEN})
        for name, (least, most) in symbols.items()
    }
    launches = schedules = same = 0
    for combination in itertools.product(*values.values()):
        bound = dict(zip(values, combination))
        dlc(*command, "--shapes", shapes_of(facts, bound), "-o", fixed)
        ours = plans_of(facts["programs"][0], bound)
        for what, wanted in plans_of(inspected(fixed)["programs"][0], bound).items():
            have = list(ours.get(what, []))
            launches += len(wanted)
            for exact in (True, False):
                for plan in list(wanted):
                    found = next(
                        (one for one in have if (one == plan if exact else one[0] == plan[0])),
                        None)
                    if found:
                        have.remove(found)
                        wanted.remove(plan)
                        schedules += 1
                        same += exact
    return launches, schedules, same, bytes_beside_weights(package) / bytes_beside_weights(fixed)


def main():
    print(
        f"{'':20}{'launches':>10}{'same schedule':>16}{'same plan':>12}{'size':>8}   of the file for one shape"
    )
    with tempfile.TemporaryDirectory() as folder:
        for name, command in (exported if "--exported" in sys.argv else examples)(folder):
            found = figures(command, folder)
            if found:
                launches, schedules, same, size = found
                print(
                    f"{name:20}{launches:10}{100 * schedules / launches:15.1f}%{100 * same / launches:11.1f}%{size:8.2f}",
                    flush=True)


main()
