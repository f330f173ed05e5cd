#!/usr/bin/env python3
"""What trained networks keep of their accuracy when --precision makes them narrower, --quantize
makes integers of them or stores their weights in few bits, or dlc prune makes weights zero: top-1
of classifiers on real images against that of f32, with McNemar's test on the images that change
sides, and the cross entropy of a language model on other text, and on a story that it tells itself.

    run_accuracy.py                      each form against f32, and one pruned network, on the CPU;
                                         prints a table
    run_accuracy.py --methods            int8 by each --calib-method, and with its means corrected
    run_accuracy.py --grids              int8 with each grid of activations and granularity of
                                         weights
    run_accuracy.py --network NAME       this one alone
    run_accuracy.py --prune-curve        every classifier at each sparsity and by each method,
                                         without training after it

Needs the corpus (DLC_CORPUS); without it every case is counted as left out."""
import argparse
import json
import os
import sys
from math import comb
from typing import Callable, NamedTuple

import numpy as np

from cases import Cases, Failure
from corpus_data import (CORPUS, cifar, enlarged_cifar, large_mnist, later_shakespeare, mnist,
                         normalised_cifar, own_story, shakespeare)
from dlc_tool import BUILD, compile_model, dlc
from runtime_session import Session

OUT = os.path.join(BUILD, "test-logs", "accuracy")
LIBRARY = os.path.join(BUILD, "lib", "libdlc_runtime.so")
# How a network is made smaller: flags of dlc compile; mixed, int8 and fp8 get --calib beside them.
FORMS = {
    "f16": ["--precision", "f16"], "bf16": ["--precision", "bf16"],
    "mixed": ["--precision", "mixed", "--max-error",
              "1e-3"], "int8": ["--quantize", "int8"], "fp8": ["--quantize", "fp8"]
}
METHODS = ("minmax", "average", "percentile", "entropy", "mse")
# Images before these are for calibration.
MNIST_FIRST, CIFAR_FIRST = 1000, 500
# As many of them show what a layer costs in 16 bits; each layer is measured on all.
MIXED_SAMPLES = 100
# Images in one run of a model whose batch is symbolic.
BATCH = 100
MOST_POINTS_LOST = {"int8": 0.5, "fp8": 0.7}  # of top-1, in percent; 0.3 for all others
# Its first convolution reads pixels from 0 to 255, of whose 8 bits e4m3 keeps 4.
MOST_OF_PIXELS_LOST = {("mlperf_resnet8_cifar10", "fp8"): 9}
# Of McNemar's test, that the sides changed by chance; int8 and fp8 may be worse
LEAST_PROBABILITY = 0.05
MOST_ENTROPY_GAINED = 0.005  # as a part of f32's


class Classifier(NamedTuple):
    data: Callable
    first: int
    batch: int = BATCH


CLASSIFIERS = {
    "lenet5_mnist": Classifier(large_mnist,
                               MNIST_FIRST), "mnist_cnn_cntk": Classifier(mnist, MNIST_FIRST, 1),
    "resnet20_cifar10": Classifier(normalised_cifar, CIFAR_FIRST),
    "mlperf_resnet8_cifar10": Classifier(cifar, CIFAR_FIRST)
}
# A network without labelled images: what it answers in f32 is right. Its images before the number
# are for calibration; and the forms, with the part of the answers that may change, in percent.
ANSWERING, ANSWERING_FIRST = "mlperf_vww_mobilenetv1", 100
ANSWERING_FORMS = {"int8": 1.5}
GRIDS = {
    "activations asymmetric, weights by channel": [],
    "activations symmetric, weights by channel": ["--activation-grid", "symmetric"],
    "activations asymmetric, weights by tensor": ["--granularity", "tensor"],
    "activations symmetric, weights by tensor": [
        "--activation-grid", "symmetric", "--granularity", "tensor"
    ]
}
GRID_FORMS = {
    f"int8, {name}": [*FORMS["int8"], "--quantize-where", "possible", *flags]
    for name, flags in GRIDS.items()
}
LANGUAGE_MODEL = "stories260k_dyn"
# The last four get --calib.
SCALED = "w4 by gptq, activations scaled"
FITTED, WIDE = "w4 by gptq", "w4 by gptq, last layer in w8"
HEADLESS = "w4 by gptq, last layer in f32"
TEXT_FORMS = {
    "f16": FORMS["f16"], "bf16": FORMS["bf16"], "dynamic": ["--quantize",
                                                            "dynamic"], "w8": ["--quantize", "w8"],
    "w4": ["--quantize", "w4"], FITTED: ["--quantize",
                                         "w4"], SCALED: ["--quantize", "w4", "--smooth", "auto"],
    WIDE: ["--quantize", "w4", "--keep-w8",
           "/output/*"], HEADLESS: ["--quantize", "w4", "--keep-f32", "/output/*"]
}
# Weights of the language model on each grid, rounded to nearest: printed by tools/scripts/bench
# accuracy.
WEIGHT_GRIDS = {
    f"{bits}, {granularity}, {grid}": ["--quantize", bits, *flags, "--weight-grid", grid]
    for bits, choices in (("w8", ("channel", "tensor", "group 64")),
                          ("w4", ("channel", "tensor", "group 128", "group 64", "group 32",
                                  "group 16"))) for granularity in choices
    for grid in ("symmetric", "asymmetric") for flags in
    [["--group", granularity.split()[1]] if " " in granularity else ["--granularity", granularity]]
}
# Each text, and what of f32's cross entropy a form may add to it.
TEXTS = {
    "Shakespeare": (shakespeare,
                    {"w4": 0.02, FITTED: 0.01, SCALED: 0.01, WIDE: 0.01, HEADLESS: 0.01}),
    "its own story": (own_story, {
        "dynamic": 0.02, "w8": 0.01, "w4": 0.25, FITTED: 0.12, SCALED: 0.15, WIDE: 0.06,
        HEADLESS: 0.06
    })
}
MOST_OF_BYTES = {"w8": 0.28, "w4": 0.2, FITTED: 0.2, SCALED: 0.2, WIDE: 0.2,
                 HEADLESS: 0.2}  # of the same weights in f32
# Arguments of dlc prune: the curve, and what networks must keep in each run, in points of top-1.
SPARSITIES = (0.3, 0.5, 0.7, 0.8, 0.9)
METHODS_OF = {
    "global": ("magnitude", "wanda"), "layer": ("magnitude", "wanda", "sparsegpt"),
    "2:4": ("magnitude", "wanda", "sparsegpt"), "2:4 --permute": ("magnitude", "sparsegpt"),
    "layer --steps 4": ("sparsegpt", ), "layer --allocation sensitivity": ("sparsegpt", ),
    "layer --allocation sensitivity --steps 4": ("sparsegpt", ), "block": ("magnitude",
                                                                           "sparsegpt"),
    "block --allocation sensitivity --steps 4": ("sparsegpt", ), "channels": ("l2", "obs")
}
PRUNED = {("lenet5_mnist", "global", 0.5, "magnitude"): 1.0,
          ("lenet5_mnist", "2:4", 0.5, "magnitude"): 1.0,
          ("lenet5_mnist", "2:4", 0.5, "sparsegpt"): 0.3,
          ("lenet5_mnist", "2:4 --permute", 0.5, "magnitude"): 1.0,
          ("lenet5_mnist", "layer", 0.8, "sparsegpt"): 1.5,
          ("lenet5_mnist", "channels", 0.3, "obs"): 0.5,
          ("lenet5_mnist", "low-rank", 0.5, "svd"): 1.0,
          ("lenet5_mnist", "layer --allocation sensitivity --steps 4", 0.9, "sparsegpt"): 1.0}
COUNT = len(CLASSIFIERS) * len(FORMS) + len(ANSWERING_FORMS) + len(TEXT_FORMS) * len(TEXTS) + len(
    PRUNED)


def source(name):
    return os.path.join(CORPUS, "models", name, "model.onnx")


def compiled(name, form, *flags):
    package = os.path.join(OUT, f"{name}-{form}.bin")
    compile_model(source(name), package, None, *flags, "--target", "cpu", "-q")
    return package


def pruned(name, pattern, sparsity, method):
    """The package of the pruned network, and the share of its weights that is zero, or gone."""
    path = os.path.join(
        OUT, f"{name}-{pattern.replace(':', 'of').replace(' ', '')}-{sparsity}-{method}")
    data = [] if method in ("magnitude", "l1",
                            "l2") else ["--calib",
                                        calibration_data(name, compiled(name, "f32"))]
    dlc("prune", source(name), "--pattern", *pattern.split(), "--sparsity", sparsity, "--method",
        method, *data, "-o", path + ".dl", "--report", path + ".json", "--force", "-q")
    compile_model(path + ".dl", path + ".bin", None, "--target", "cpu", "-q")
    with open(path + ".json", encoding="utf-8") as file:
        report = json.load(file)
    if "all" in report:
        return path + ".bin", report["all"]["zeros_after"] / report["all"]["numbers"]
    return path + ".bin", 1 - report["numbers_after"] / report["numbers_before"]


def run_all(package, arrays):
    """The first output for each of the `arrays`, each the only input of a run."""
    with Session(LIBRARY, package, "cpu") as session:
        (name, _), (output, _) = session.values("input")[0], session.values("output")[0]
        return [session.run({name: array})[output][1] for array in arrays]


def classes(package, images, batch):
    parts = [images[i:i + batch] for i in range(0, len(images), batch)]
    return np.concatenate(run_all(package, parts)).reshape(len(images), -1).argmax(1)


def judged(name, package):
    """For each image of the network's data whether it is classified right."""
    images, labels = (part[CLASSIFIERS[name].first:] for part in CLASSIFIERS[name].data())
    return classes(package, images, CLASSIFIERS[name].batch) == labels


def chance(gained, lost):
    """McNemar's exact test: how likely so uneven a split of the images that changed sides is, if
    either side is as likely."""
    total = gained + lost
    tail = sum(comb(total, k) for k in range(min(gained, lost) + 1)) / 2 ** total
    return min(1.0, 2 * tail)


def cross_entropy(package, text):
    """Mean of -log p(next token), in nats."""
    sums = count = 0
    for tokens, logits in zip(text, run_all(package, [row[None] for row in text])):
        logits = logits.reshape(-1, logits.shape[-1])[:-1].astype(np.float64)
        top = logits.max(1, keepdims=True)
        logs = logits - top - np.log(np.exp(logits - top).sum(1, keepdims=True))
        sums -= logs[np.arange(len(tokens) - 1), tokens[1:]].sum()
        count += len(tokens) - 1
    return sums / count


def calibration_data(name, package, most=None):
    """An .npz of the network's images for calibration, `most` of them at most, by the name of the
    package's input."""
    path = os.path.join(OUT, f"{name}-calibration-{most or 'all'}.npz")
    images = CLASSIFIERS[name].data()[0][:CLASSIFIERS[name].first][:most]
    with Session(LIBRARY, package, "cpu") as session:
        np.savez(path, **{session.values("input")[0][0]: images.astype(np.float32)})
    return path


def classifier(cases, name, rows, forms):
    package = compiled(name, "f32")
    before = judged(name, package)
    rows.append((name, "f32", f"{100 * before.mean():.2f} % of {len(before)}", "", ""))
    for form, flags in forms.items():
        with cases.case(f"{name} in {form}"):
            if "--quantize" in flags or "mixed" in flags:
                flags = flags + [
                    "--calib",
                    calibration_data(name, package, MIXED_SAMPLES if "mixed" in flags else None)
                ]
            after = judged(name, compiled(name, form, *flags))
            gained, lost = int((after & ~before).sum()), int((before & ~after).sum())
            p = chance(gained, lost)
            rows.append((name, form, f"{100 * after.mean():.2f} %",
                         f"{gained} right, {lost} wrong now", f"p = {p:.2f}"))
            points = 100 * (before.mean() - after.mean())
            name_of_form = form.split(" ")[0].rstrip(",")
            most = MOST_OF_PIXELS_LOST.get((name, form), MOST_POINTS_LOST.get(name_of_form, 0.3))
            if points > most or (name_of_form not in MOST_POINTS_LOST and p < LEAST_PROBABILITY):
                raise Failure(
                    f"{points:.2f} points less than f32; {gained} images are right now, {lost} wrong: p = {p:.3f}"
                )


def kept_answers(cases, rows):
    images = enlarged_cifar()
    package = compiled(ANSWERING, "f32")
    data = os.path.join(OUT, f"{ANSWERING}-calibration.npz")
    with Session(LIBRARY, package, "cpu") as session:
        np.savez(data, **{session.values("input")[0][0]: images[:ANSWERING_FIRST]})
    images = images[ANSWERING_FIRST:]
    before = classes(package, images, 1)
    rows.append((ANSWERING, "f32",
                 f"{len(images)} answers, {100 * before.mean():.1f} % of them of class 1", "", ""))
    for form, most in ANSWERING_FORMS.items():
        with cases.case(f"{ANSWERING} keeps its answers in {form}"):
            changed = 100 * (classes(compiled(ANSWERING, form, *FORMS[form], "--calib", data),
                                     images, 1) != before).mean()
            rows.append((ANSWERING, form, f"{100 - changed:.2f} % of the answers of f32", "", ""))
            if changed > most:
                raise Failure(f"{changed:.2f} % of the answers change; expected {most} at most")


def text_package(form, flags):
    """The package, and the part of their bytes that weights in few bits take."""
    report = os.path.join(OUT, LANGUAGE_MODEL + "-report.json")
    if form in (FITTED, SCALED, WIDE, HEADLESS):
        path = os.path.join(OUT, LANGUAGE_MODEL + "-calibration.npz")
        np.savez(path, tokens=later_shakespeare())
        flags = [*flags, "--calib", path]
    if form not in MOST_OF_BYTES and form not in WEIGHT_GRIDS:
        return compiled(LANGUAGE_MODEL, form, *flags), 1
    package = compiled(LANGUAGE_MODEL,
                       form.replace(",", "").replace(" ", "-"), *flags, "--report", report)
    with open(report, encoding="utf-8") as file:
        bytes = json.load(file)
    return package, bytes["bytes_after"] / bytes["bytes_before"]


def language_model(cases, rows):
    whole = compiled(LANGUAGE_MODEL, "f32")
    packages = {}
    for name, (read, bounds) in TEXTS.items():
        text = read()
        before = cross_entropy(whole, text)
        rows.append((f"{LANGUAGE_MODEL}, {name}", "f32", f"{before:.4f} nats", "", ""))
        for form, flags in TEXT_FORMS.items():
            with cases.case(f"{LANGUAGE_MODEL} in {form} on {name}"):
                if form not in packages:
                    packages[form] = text_package(form, flags)
                package, part = packages[form]
                after = cross_entropy(package, text)
                change = after / before - 1
                rows.append((f"{LANGUAGE_MODEL}, {name}", form, f"{after:.4f} nats",
                             f"{100 * change:+.3f} %", ""))
                if not change <= bounds.get(form, MOST_ENTROPY_GAINED):
                    raise Failure(
                        f"{after:.4f} nats, {100 * change:.2f} % more than f32's {before:.4f}")
                if part > MOST_OF_BYTES.get(form, 1):
                    raise Failure(f"the weights take {100 * part:.1f} % of the bytes of f32")


def pruned_classifiers(cases, rows):
    before = {}
    for (name, pattern, sparsity, method), most_lost in PRUNED.items():
        with cases.case(f"{name} pruned, {pattern} by {method}"):
            if name not in before:
                before[name] = judged(name, compiled(name, "f32")).mean()
            package, gone = pruned(name, pattern, sparsity, method)
            after = judged(name, package).mean()
            rows.append((name, f"pruned, {pattern} by {method}", f"{100 * after:.2f} %",
                         f"{100 * gone:.1f} % of the weights are zero or gone", ""))
            if not 100 * (before[name] - after) <= most_lost:
                raise Failure(
                    f"{100 * (before[name] - after):.2f} points less than before; expected {most_lost} at most"
                )


def prune_curve(names):
    print("| network | all weights | pattern | method | "
          + " | ".join(f"{100 * sparsity:.0f} %" for sparsity in SPARSITIES) + " |")
    print("|---|---|---|---|" + "---|" * len(SPARSITIES))
    for name in names:
        whole = 100 * judged(name, compiled(name, "f32")).mean()
        for pattern, methods in METHODS_OF.items():
            for method in methods:
                cells = []
                for sparsity in SPARSITIES:
                    if (pattern.startswith("2:4") and sparsity != 0.5) or (pattern == "channels"
                                                                           and sparsity > 0.5):
                        cells.append("")
                        continue
                    package, zeros = pruned(name, pattern, sparsity, method)
                    cells.append(f"{100 * judged(name, package).mean():.2f}")
                    if pattern != "channels" and abs(
                            zeros - sparsity) > 0.005:  # where layers are left alone
                        cells[-1] += f" ({100 * zeros:.0f} % zeros)"
                print(f"| {name} | {whole:.2f} | {pattern} | {method} | {' | '.join(cells)} |",
                      flush=True)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--methods", action="store_true", help="int8 by each --calib-method")
    parser.add_argument("--grids", action="store_true", help="int8 with each grid and granularity")
    parser.add_argument("--network", action="append",
                        choices=[*CLASSIFIERS, ANSWERING, LANGUAGE_MODEL])
    parser.add_argument("--prune-curve", action="store_true",
                        help="every classifier at each sparsity")
    options = parser.parse_args()
    cases, rows = Cases(), []
    if not os.path.isdir(CORPUS):
        cases.leave_out(COUNT, "the corpus, DLC_CORPUS, is absent")
        return cases.finish()
    os.makedirs(OUT, exist_ok=True)
    if options.prune_curve:
        return prune_curve(options.network or CLASSIFIERS)
    by_method = {
        f"int8 by {method}": [
            *FORMS["int8"], "--quantize-where", "possible", "--calib-method", method
        ] for method in METHODS
    }
    by_method["int8 with its means corrected"] = [
        *FORMS["int8"], "--quantize-where", "possible", "--bias-correction"
    ]
    for name in CLASSIFIERS:
        if name in (options.network or CLASSIFIERS):
            classifier(cases, name, rows,
                       by_method if options.methods else GRID_FORMS if options.grids else FORMS)
    is_whole = not options.methods and not options.grids
    if is_whole and ANSWERING in (options.network or [ANSWERING]):
        kept_answers(cases, rows)
    if is_whole and LANGUAGE_MODEL in (options.network or [LANGUAGE_MODEL]):
        language_model(cases, rows)
    if is_whole and not options.network:
        pruned_classifiers(cases, rows)
    print(
        "| network | form | top-1, or cross entropy | against f32 | McNemar |\n|---|---|---|---|---|"
    )
    for row in rows:
        print(f"| {' | '.join(row)} |")
    return cases.finish()


if __name__ == "__main__":
    sys.exit(main())
