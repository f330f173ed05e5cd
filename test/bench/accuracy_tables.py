#!/usr/bin/env python3
"""Prints the tables of docs/compression.md on what networks keep of their accuracy, measured here:
in 16 bits and in integers, with weights in few bits, by each method of calibration, on each grid,
and with zeros for weights.

    accuracy_tables.py            all but the last; minutes
    accuracy_tables.py --curve    the pruned networks too; more than an hour

Needs the corpus (DLC_CORPUS). test/conformance/run_accuracy.py holds the same figures to their
bounds."""
import argparse
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "conformance"))
import run_accuracy as accuracy  # noqa: E402


def changed(before, after):
    """What became of the images: "1 right and 2 wrong now, p = 1.00"."""
    gained, lost = int((after & ~before).sum()), int((before & ~after).sum())
    sides = " and ".join(f"{count} {side}" for count, side in ((gained, "right"), (lost, "wrong"))
                         if count)
    return f"{sides} now, p = {accuracy.chance(gained, lost):.2f}" if sides else "none changed"


def of_classifier(name, whole, form, flags):
    """For each image whether the network in this form is right."""
    if "--quantize" in flags or "mixed" in flags:
        most = accuracy.MIXED_SAMPLES if "mixed" in flags else None
        flags = [*flags, "--calib", accuracy.calibration_data(name, whole, most)]
    return accuracy.judged(name, accuracy.compiled(name, form.replace(" ", "-"), *flags))


def row(cells):
    print(f"| {' | '.join(cells)} |", flush=True)


def heading(cells):
    row(cells)
    print("|" + "---|" * len(cells))


def forms_of_classifiers():
    heading(["network", "f32", *accuracy.FORMS])
    for name in accuracy.CLASSIFIERS:
        whole = accuracy.compiled(name, "f32")
        before = accuracy.judged(name, whole)
        cells = [f"{name}, {len(before):,} images", f"{100 * before.mean():.2f} %"]
        for form, flags in accuracy.FORMS.items():
            after = of_classifier(name, whole, form, flags)
            cells.append(f"{100 * after.mean():.2f} %, {changed(before, after)}")
        row(cells)


def forms_of_language_model():
    whole = accuracy.compiled(accuracy.LANGUAGE_MODEL, "f32")
    texts = {name: read() for name, (read, _) in accuracy.TEXTS.items()}
    before = {name: accuracy.cross_entropy(whole, text) for name, text in texts.items()}
    heading([accuracy.LANGUAGE_MODEL, *texts, "bytes of weights in few bits, of f32"])
    row(["f32", *(f"{nats:.4f} nats" for nats in before.values()), ""])
    for form, flags in accuracy.TEXT_FORMS.items():
        package, part = accuracy.text_package(form, flags)
        cells = [form]
        for name, text in texts.items():
            after = accuracy.cross_entropy(package, text)
            cells.append(f"{after:.4f} nats, {100 * (after / before[name] - 1):+.2f} %")
        row([*cells, f"{100 * part:.1f} %" if "--quantize" in flags else ""])


def methods_of_calibration():
    heading(["int8, in percent", *accuracy.METHODS])
    for name in accuracy.CLASSIFIERS:
        whole = accuracy.compiled(name, "f32")
        row([
            name,
            *(f"{100 * of_classifier(name, whole, f'int8 by {method}', [*accuracy.FORMS['int8'], '--calib-method', method]).mean():.2f}"
              for method in accuracy.METHODS)
        ])


def grids_of_classifiers():
    heading(["int8, in percent", *accuracy.GRIDS])
    for name in accuracy.CLASSIFIERS:
        whole = accuracy.compiled(name, "f32")
        row([
            name, *(f"{100 * of_classifier(name, whole, form, flags).mean():.2f}"
                    for form, flags in accuracy.GRID_FORMS.items())
        ])


def grids_of_language_model():
    texts = {name: read() for name, (read, _) in accuracy.TEXTS.items()}
    before = {
        name: accuracy.cross_entropy(accuracy.compiled(accuracy.LANGUAGE_MODEL, "f32"), text)
        for name, text in texts.items()
    }
    heading([
        accuracy.LANGUAGE_MODEL, *(f"{name}, {grid}" for name in texts
                                   for grid in ("symmetric", "asymmetric")), "these weights"
    ])
    for name in dict.fromkeys(form.rsplit(", ", 1)[0] for form in accuracy.WEIGHT_GRIDS):
        forms = {grid: f"{name}, {grid}" for grid in ("symmetric", "asymmetric")}
        packages = {
            grid: accuracy.text_package(form, accuracy.WEIGHT_GRIDS[form])
            for grid, form in forms.items()
        }
        row([
            name,
            *(f"{100 * (accuracy.cross_entropy(packages[grid][0], text) / before[of] - 1):+.2f} %"
              for of, text in texts.items() for grid in forms),
            " and ".join(f"{100 * part:.1f}" for _, part in packages.values()) + " %"
        ])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--curve", action="store_true", help="the pruned networks too")
    options = parser.parse_args()
    if not os.path.isdir(accuracy.CORPUS):
        sys.exit("accuracy_tables.py: the corpus, DLC_CORPUS, is absent")
    os.makedirs(accuracy.OUT, exist_ok=True)
    forms_of_classifiers()
    print()
    forms_of_language_model()
    print()
    methods_of_calibration()
    print()
    grids_of_classifiers()
    print()
    grids_of_language_model()
    if options.curve:
        print()
        accuracy.prune_curve(accuracy.CLASSIFIERS)
    return 0


sys.exit(main())
