"""What the compiler estimates that the workloads of table.py take on an H100, beside what is to be
reached, and what measure.py found when a GPU was last at hand, of dlc and of PyTorch. Part of
`tools/scripts/bench cuda`.

    estimates.py [--kernels] [NAME...]    those whose name contains one; --kernels prints the plan
                                          of each kernel, too

After them stands the kernel that each workload waits for longest: what its machine code takes, and
what it took on that GPU where it had the same plan. That needs NVRTC, as dlc finds it. Times are of
the GPU alone, in a CUDA graph. Nothing here was measured on the machine that prints it: estimates
are the cost model's (ir/machine)."""
import argparse
import json
import math
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import table  # noqa: E402
import networks  # noqa: E402
import resources  # noqa: E402
from dlc_tool import dlc  # noqa: E402

BYTES = {"f16": 2, "f32": 4, "i64": 8}


def save_zeros(model, path):
    """Weights without a value: plans do not read them. The file has holes where they lie."""
    header, offset = {}, 0
    for name, (dims, dtype) in networks.asked_weights(model).items():
        size = math.prod(dims) * BYTES[dtype]
        header[name] = {
            "dtype": dtype.upper(), "shape": dims, "data_offsets": [offset, offset + size]
        }
        offset += size
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + offset)
    return bool(header)


def kernels_of(text, folder, target="cuda", options=()):
    """What `dlc inspect` says of the kernels of a model."""
    model, weights, package = (os.path.join(folder, name)
                               for name in ("model.dl", "model.safetensors", "model.bin"))
    with open(model, "w", encoding="utf-8") as file:
        file.write(text)
    flags = ["--weights", weights] if save_zeros(model, weights) else []
    dlc("compile", model, *flags, *options, "--target", target, "-q", "-o", package)
    return json.loads(dlc("inspect", package, "--json"))["programs"][0]["kernels"]


def has_nvrtc():
    """Whether dlc compiles to machine code here."""
    return "compiles for" in dlc("doctor", "--device", "cpu")


def longest_of(name, kernels, package, measured):
    """A row of the table of kernels: that on which a run waits longest."""
    kernel = max(kernels, key=lambda one: one["launches"] * one["plan"]["modelled_ns"])
    code, plan = resources.resources_of(package)[kernel["name"]], kernel["plan"]
    took = [one["us"] for one in measured if (one["schedule"], one["numbers"], one["name"]) ==
            (plan["schedule"], plan["numbers"], kernel["base"])]
    return (
        f"  {name:47s}{plan['schedule']:23s}{kernel['launches']:4d} x{plan['modelled_ns'] * 1e-3:9.2f}"
        + (f"{took[0]:10.2f}" if took else f"{'-':>10s}") +
        f"{code.registers:10d}{code.stack:7d}{kernel['shared_bytes'] / 1024:8.1f}{code.instructions:9d}"
    )


def number(value):
    return f"{value:9.4f}" if value is not None else f"{'-':>9s}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--kernels", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    results, source = table.newest_results()
    print("Estimates for an H100, ms"
          + (f"; measured on {source['gpu']}, {source['date']}" if source else ""))
    print(
        f"  {'workload':47s}{'launches':>9s}{'estimate':>9s}{'goal':>9s}{'measured':>9s}{'PyTorch':>9s}"
    )
    met = missed = 0
    longest, target = [], "cuda,sm_90a" if has_nvrtc() else "cuda"
    for name, (text, goal, flags) in table.chosen(options.names).items():
        with tempfile.TemporaryDirectory() as folder:
            kernels = table.on_hopper(kernels_of(text, folder, target, flags))
            if target != "cuda":
                longest.append(longest_of(name, kernels, os.path.join(folder, "model.bin"),
                                          results.get(name, {}).get("dlc", {}).get("kernels", [])))
        estimate = table.estimate_of(kernels)
        met, missed = met + (estimate <= goal), missed + (estimate > goal)
        known = results.get(name, {})
        print(f"  {name:47s}{sum(kernel['launches'] for kernel in kernels):9d}{number(estimate)}{number(goal)}"
              f"{number(known.get('dlc', {}).get('ms'))}{number(known.get('best_peer_ms'))}"
              + ("" if estimate <= goal else f"  {estimate / goal:.2f} of the goal"), flush=True)
        for kernel in kernels if options.kernels else ():
            plan = kernel["plan"]
            print(
                f"    {kernel['launches']:3d} x {plan['modelled_ns'] * 1e-3:9.2f} us  {plan['schedule']:24s} {kernel['name']}  {plan['numbers']}"
            )
    print(f"  {met} estimates reach their goal, {missed} do not")
    if not longest:
        print("Registers and instructions of kernels need NVRTC, which is not installed here")
        return
    print(
        "The kernel that each waits for longest, compiled for sm_90a; us of a launch, bytes of stack, KiB of shared memory"
    )
    print(f"  {'workload':47s}{'plan':23s}{'estimate':>15s}{'measured':>10s}{'registers':>10s}{'stack':>7s}{'shared':>8s}"
          f"{'instructions':>13s}")
    print("\n".join(longest))


if __name__ == "__main__":
    main()
