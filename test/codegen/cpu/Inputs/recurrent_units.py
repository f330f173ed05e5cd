"""The weights of recurrent-units.test, and its check that all ways to run the model give the same
bits."""
import os
import subprocess
import sys

import numpy as np

sys.path.insert(
    0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "..", "examples"))
import safetensors  # noqa: E402

LAYERS = {"one": (4, 64, 200), "two": (3, 200, 264)}  # gates, inputs, units


def write_weights():
    random, tensors = np.random.RandomState(3), {}
    for layer, (gates, inputs, units) in LAYERS.items():
        for name, shape in (("weight_ih_l0", (gates * units, inputs)), ("weight_hh_l0",
                                                                        (gates * units, units)),
                            ("bias_ih_l0", (gates * units, )), ("bias_hh_l0", (gates * units, ))):
            tensors[f"{layer}.{name}"] = random.uniform(-0.1, 0.1, shape).astype(np.float32)
    safetensors.save("w.safetensors", tensors)


def run(package, threads):
    subprocess.run([
        "dlc", "run", package, "--threads",
        str(threads), "--input", "x=@x.npy", "--input", "n=@n.npy", "--output", "y=@y.npy",
        "--output", "c=@c.npy"
    ], check=True, capture_output=True)
    return np.load("y.npy"), np.load("c.npy")


def check():
    random, equal = np.random.RandomState(4), 0
    for rows, steps in ((1, 32), (3, 7), (13, 2), (16, 1)):
        np.save("x.npy", random.standard_normal((rows, steps, 64)).astype(np.float32))
        np.save("n.npy", random.randint(0, steps + 1, rows))
        wanted = run("rows.bin", 1)
        for threads in (1, 2, 3):
            got = run("units.bin", threads)
            if not all(map(np.array_equal, got, wanted)) or not np.abs(wanted[0]).max() > 0:
                sys.exit(f"{rows} rows of {steps} steps by {threads} threads differ")
            equal += 1
    print(equal, "results are equal")


{"weights": write_weights, "check": check}[sys.argv[1]]()
