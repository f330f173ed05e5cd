#!/usr/bin/env python3
"""What trained networks keep of their accuracy when --precision makes them narrower: top-1 of classifiers on real images against
that of f32, with McNemar's test on the images that change sides, and the cross entropy of a language model on other text.

    run_accuracy.py    f16 and bf16 against f32, on the CPU; prints a table

Needs the corpus (DLC_CORPUS); without it every case is counted as left out."""
import os
import sys
from math import comb
from typing import Callable, NamedTuple

import numpy as np

from cases import Cases, Failure
from corpus_data import CORPUS, cifar, large_mnist, mnist, normalised_cifar, shakespeare
from dlc_tool import BUILD, compile_model
from runtime_session import Session

OUT = os.path.join(BUILD, "test-logs", "accuracy")
LIBRARY = os.path.join(BUILD, "lib", "libdlc_runtime.so")
PRECISIONS = ("f16", "bf16")
# Images before these are for calibration.
MNIST_FIRST, CIFAR_FIRST = 1000, 500
# Images in one run of a model whose batch is symbolic.
BATCH = 100
MOST_POINTS_LOST = 0.3      # of top-1, in percent
LEAST_PROBABILITY = 0.05    # of McNemar's test, that the sides changed by chance
MOST_ENTROPY_GAINED = 0.005  # as a part of f32's


class Classifier(NamedTuple):
    data: Callable
    first: int
    batch: int = BATCH


CLASSIFIERS = {"lenet5_mnist": Classifier(large_mnist, MNIST_FIRST), "mnist_cnn_cntk": Classifier(mnist, MNIST_FIRST, 1),
               "resnet20_cifar10": Classifier(normalised_cifar, CIFAR_FIRST), "mlperf_resnet8_cifar10": Classifier(cifar, CIFAR_FIRST)}
LANGUAGE_MODEL = "stories260k_dyn"
COUNT = (len(CLASSIFIERS) + 1) * len(PRECISIONS)


def compiled(name, precision):
    package = os.path.join(OUT, f"{name}-{precision}.bin")
    compile_model(os.path.join(CORPUS, "models", name, "model.onnx"), package, None, "--precision", precision, "--target", "cpu", "-q")
    return package


def run_all(package, arrays):
    """The first output for each of the `arrays`, each the only input of a run."""
    with Session(LIBRARY, package, "cpu") as session:
        (name, _), (output, _) = session.values("input")[0], session.values("output")[0]
        return [session.run({name: array})[output][1] for array in arrays]


def classes(name, precision, images, batch):
    parts = [images[i:i + batch] for i in range(0, len(images), batch)]
    return np.concatenate(run_all(compiled(name, precision), parts)).reshape(len(images), -1).argmax(1)


def chance(gained, lost):
    """McNemar's exact test: how likely so uneven a split of the images that changed sides is, if either side is as likely."""
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


def classifier(cases, name, rows):
    images, labels = (part[CLASSIFIERS[name].first:] for part in CLASSIFIERS[name].data())
    before = classes(name, "f32", images, CLASSIFIERS[name].batch) == labels
    rows.append((name, "f32", f"{100 * before.mean():.2f} % of {len(labels)}", "", ""))
    for precision in PRECISIONS:
        with cases.case(f"{name} in {precision}"):
            after = classes(name, precision, images, CLASSIFIERS[name].batch) == labels
            gained, lost = int((after & ~before).sum()), int((before & ~after).sum())
            p = chance(gained, lost)
            rows.append((name, precision, f"{100 * after.mean():.2f} %", f"{gained} right, {lost} wrong now", f"p = {p:.2f}"))
            points = 100 * (before.mean() - after.mean())
            if points > MOST_POINTS_LOST or p < LEAST_PROBABILITY:
                raise Failure(f"{points:.2f} points less than f32; {gained} images are right now, {lost} wrong: p = {p:.3f}")


def language_model(cases, rows):
    text = shakespeare()
    before = cross_entropy(compiled(LANGUAGE_MODEL, "f32"), text)
    rows.append((LANGUAGE_MODEL, "f32", f"{before:.4f} nats", "", ""))
    for precision in PRECISIONS:
        with cases.case(f"{LANGUAGE_MODEL} in {precision}"):
            after = cross_entropy(compiled(LANGUAGE_MODEL, precision), text)
            change = after / before - 1
            rows.append((LANGUAGE_MODEL, precision, f"{after:.4f} nats", f"{100 * change:+.3f} %", ""))
            if not change <= MOST_ENTROPY_GAINED:
                raise Failure(f"{after:.4f} nats, {100 * change:.2f} % more than f32's {before:.4f}")


def main():
    cases, rows = Cases(), []
    if not os.path.isdir(CORPUS):
        cases.leave_out(COUNT, "the corpus, DLC_CORPUS, is absent")
        return cases.finish()
    os.makedirs(OUT, exist_ok=True)
    for name in CLASSIFIERS:
        classifier(cases, name, rows)
    language_model(cases, rows)
    print("| network | precision | top-1, or cross entropy | against f32 | McNemar |\n|---|---|---|---|---|")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    return cases.finish()


sys.exit(main())
