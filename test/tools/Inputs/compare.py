"""compare.py FOLDER: what dlc compare and dlc verify say of the trained digits, against NumPy."""
import json
import os
import re
import sys

import numpy as np
from weight_cases import DIGITS, Suite, dlc, make_digits, safetensors

weights = os.path.join(DIGITS, "digits.safetensors")
suite = Suite(sys.argv[1])
make_digits("f32", "f16", "bf16")
expect = suite.expect
images, labels = np.load("images.npy"), np.load("labels.npy")
np.savez("images.npz", x=images)


def probabilities(model):
    run = dlc("run", model, "--device", "cpu", "--input", "x=@images.npy", "--output", "@probs.npy")
    expect(f"run {model}", (run.returncode, run.stderr), (0, ""))
    return np.load("probs.npy").astype(np.float64)


def on_cpu(*arguments):
    return dlc(*arguments, "--device", "cpu", "--data", "images.npz")


def near(what, got, wanted, tolerance=1e-6):
    expect(what, abs(got - wanted) <= tolerance * max(1, abs(wanted)), True)


# A planted fault: some weights of the second convolution are off, as a broken conversion would
# leave them.
with open(weights, "rb") as file:
    size = int.from_bytes(file.read(8), "little")
    header, data = json.loads(file.read(size)), file.read()
changed = {
    name: np.frombuffer(data[slice(*entry["data_offsets"])],
                        np.float32).reshape(entry["shape"]).copy()
    for name, entry in header.items() if name != "__metadata__"
}
changed["conv2.weight"][7] *= -1
changed["conv2.weight"][11] = 0
changed["fc2.bias"][3] += 4
safetensors.save("faulty.safetensors", changed)
refit = dlc("refit", "f32.bin", "--weights", "faulty.safetensors", "-q", "-o", "faulty.bin")
expect("refit", (refit.returncode, refit.stderr), (0, ""))

before = probabilities("f32.bin")
for model in "f16.bin", "faulty.bin":
    after = probabilities(model)
    run = on_cpu("compare", "f32.bin", model, "--labels", "labels.npy", "--json")
    expect(f"{model}: compare", (run.returncode, run.stderr), (0, ""))
    report = json.loads(run.stdout)
    expect(f"{model}: samples", (report["samples"], report["left_out"], report["runs"]),
           (597, 0, 10))
    (found,) = report["outputs"]
    error = after - before
    near(f"{model}: max abs", found["max_abs"], abs(error).max())
    near(f"{model}: max rel", found["max_rel"], abs(error).max() / abs(before).max())
    near(f"{model}: SQNR", found["sqnr_db"], 10 * np.log10((before**2).sum() / (error**2).sum()))
    near(f"{model}: cosine", found["cosine"], (before * after).sum() / np.sqrt((before**2).sum() *
                                                                               (after**2).sum()))
    near(f"{model}: top-1", found["same_top1"], (before.argmax(1) == after.argmax(1)).mean())
    was, now = before.argmax(1) == labels, after.argmax(1) == labels
    sides = found["labels"]
    expect(f"{model}: sides",
           [sides[key] for key in ("right_before", "right_after", "to_right", "to_wrong")],
           [was.sum(), now.sum(), (now & ~was).sum(), (was & ~now).sum()])
    worst = np.unravel_index(abs(error).argmax(), error.shape)
    expect(f"{model}: worst place", found["worst"].split(":")[0], f"[{worst[0]}, {worst[1]}]")
    expect(
        f"{model}: one place for one batch and for many",
        json.loads(on_cpu("compare", "f32.bin", model, "--json", "--batch",
                          "1000").stdout)["outputs"][0]["worst"], found["worst"])

run = on_cpu("compare", "f32.bin", "f16.bin", "--labels", "labels.npy", "--max-error", "0.01")
expect("compare f16", (run.returncode, run.stderr), (0, ""))
table = re.sub(r" on cpu \(.*\)", "", run.stdout).splitlines()
expect("the table begins", table[:3], ["a: f32.bin", "b: f16.bin", "597 samples in 10 runs"])
expect("its head", table[3].split(), "output max abs max rel SQNR dB cosine same top-1".split())
expect("its rest", table[5:8], [
    "Accuracy of a: 99.50 % (594 of 597)", "Accuracy of b: 99.50 % (594 of 597)",
    "Changed sides: 0 to right, 0 to wrong; McNemar's p = 1.00"
])
expect("the bound",
       bool(re.fullmatch(r"probs: the relative error, 0\.00\d+, is within 0\.01", table[8])), True)

# Every measure finds the fault, in a comparison and by both kinds of reference, and says by how
# much.
TIMES = r"[\d.e+]+, [\d.e+]+ times the bound of "
PLACE = r"; furthest off at \[\d+, \d\]: [\d.e-]+, expected [\d.e-]+"
np.savez("expected.npz", probs=before)
for metric, most, what in (("rel", "0.01", "relative error"), ("abs", "0.01", "absolute error"),
                           ("cosine", "0.0001", "distance 1 - cosine"),
                           ("top1", "0.003", "part of answers that differ")):
    bound = ("--metric", metric, "--max-error", most)
    for command in (("compare", "f32.bin", "faulty.bin"), ("verify", "faulty.bin", "--reference",
                                                           "f32.bin"),
                    ("verify", "faulty.bin", "--reference", "expected.npz")):
        run = on_cpu(*command, *bound)
        message = run.stderr.rstrip("\n")
        pattern = f"error: output 'probs': the {what} is {TIMES}{most}{PLACE}"
        expect(f"{command}, {metric}",
               (run.returncode, message if not re.fullmatch(pattern, message) else ""), (4, ""))
    expect(f"f16 within {metric}", on_cpu("compare", "f32.bin", "f16.bin", *bound).returncode, 0)
    expect(f"f16 verified by {metric}",
           on_cpu("verify", "f16.bin", "--reference", "f32.bin", *bound).returncode, 0)
run = on_cpu("compare", "f32.bin", "faulty.bin", "--labels", "labels.npy", "--metric", "top1",
             "--max-error", "0.003")
expect("accuracy lost",
       (run.returncode, "error: output 'probs': the loss of accuracy is " in run.stderr), (4, True))
run = on_cpu("compare", "faulty.bin", "f32.bin", "--labels", "labels.npy", "--metric", "top1",
             "--max-error", "0.003")
expect("accuracy gained", (run.returncode, run.stderr), (0, ""))

# Without a bound of one's own verify has one by the dtype of the output: f32 is held to 1e-4, and
# where either model stores values in 16 bits to the bound of that. The faulty model is one of f32.
for model, reference, bound in (("f16.bin", "f32.bin", "0.005"), ("f32.bin", "f16.bin", "0.005"),
                                ("f16.bin", "expected.npz", "0.005"), ("bf16.bin", "f16.bin",
                                                                       "0.04")):
    run = on_cpu("verify", model, "--reference", reference)
    expect(f"{model} by its own bound",
           (run.returncode, run.stdout.rstrip().endswith(f"is within {bound}")), (0, True))
run = on_cpu("verify", "faulty.bin", "--reference", "f32.bin")
expect("a model of f32 by its own bound",
       (run.returncode, "times the bound of 0.0001;" in run.stderr), (4, True))
for reference in "cpu", "expected.npz", "probs.npy":
    np.save("probs.npy", before)
    run = on_cpu("verify", "f32.bin", "--reference", reference)
    expect(f"itself by {reference}", (run.returncode, run.stderr, run.stdout.splitlines()[-1]),
           (0, "", "probs: the relative error, 0, is within 0.0001"))

# The emulated GPU against the CPU, and a fault in one of them.
emulated = ("--device", "cuda-emu", "--batch", "16", "--data", "few.npz")
np.savez("few.npz", x=images[:32])
run = dlc("verify", "f32.bin", "--reference", "cpu", *emulated)
expect("the emulated GPU", (run.returncode, "is within 0.0001" in run.stdout), (0, True))
expect("its sources", [line.split(" on ")[1].split(" ")[0] for line in run.stdout.splitlines()[:2]],
       ["cpu", "cuda:0"])
run = dlc("verify", "faulty.bin", "--reference", "f32.bin", *emulated)
expect("a fault on the emulated GPU", run.returncode, 4)
run = dlc("compare", "f32.bin", "f32.bin", "--device", "cpu", "--device-b", "cuda-emu", "--data",
          "few.npz", "--max-error", "1e-4")
expect("two devices", (run.returncode, run.stderr), (0, ""))

# Random inputs where there are no data.
run = dlc("compare", "f32.bin", "f16.bin", "--device", "cpu", "--max-error", "0.1")
expect("no data", (run.returncode, run.stderr, run.stdout.splitlines()[2]),
       (0, "warning: no --data is given: 16 random inputs say little about what real ones give\n",
        "16 samples in 16 runs"))
suite.finish()
