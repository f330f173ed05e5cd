#!/usr/bin/env python3
"""Constructs that public reports of faults are about, each by dlc.compile and by torch.compile,
against eager PyTorch.

  run_constructs.py              one construct in six, chosen by its name and the seed
  run_constructs.py --all        every construct
  run_constructs.py PART...      constructs whose names have a PART in them
  run_constructs.py --seed N     the sample of another seed

test/conformance/cases.py says what a seed is, and DLC_SEED."""

import argparse
import importlib
import logging
import os
import sys

import torch

from constructs import checks
from constructs.construct import KNOWN
from run_aten import SEED
from cases import split  # run_aten names its folder

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "constructs")
REFUSED = os.path.join(FOLDER, "refused.txt")
SHARE = 6
#: The largest part of the constructs that refused.txt may name.
MOST_REFUSED = 0.05


def load():
    for name in sorted(os.listdir(FOLDER)):
        if name.endswith(".py"):
            importlib.import_module(f"constructs.{name[:-3]}")


def read_refused():
    """A part of dlc's message for each case, "CONSTRUCT, WAY"."""
    with open(REFUSED, encoding="utf-8") as source:
        lines = [line for line in source.read().splitlines() if line and line[0] != "#"]
    return dict(line.split("\t") for line in lines)


def check_refused(run, refused):
    """refused.txt names cases that exist, and few constructs."""
    with run.case("refused.txt"):
        cases = {f"{name}, {way}" for name, known in KNOWN.items() for way in known.ways}
        if unknown := sorted(set(refused) - cases):
            raise checks.Failure(f"there is no case '{unknown[0]}'")
        count = len({case.rpartition(", ")[0] for case in refused})
        if count > MOST_REFUSED * len(KNOWN):
            raise checks.Failure(f"{count} of {len(KNOWN)} constructs are refused")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help="parts of names of constructs")
    parser.add_argument("--all", action="store_true", help="every construct")
    parser.add_argument("--seed", type=int, help="which sample [DLC_SEED]")
    options = parser.parse_args()
    seed = SEED if options.seed is None else options.seed
    logging.getLogger("torch").setLevel(logging.ERROR)  # of graph breaks, which are meant
    torch.set_num_threads(1)
    load()
    refused = read_refused()
    run = checks.ConstructChecks(refused)
    if options.parts:
        chosen = [name for name in KNOWN if any(part in name for part in options.parts)]
        if not chosen:
            parser.error(f"no construct has {' or '.join(options.parts)} in its name")
    elif options.all:
        chosen = list(KNOWN)
    else:
        print(f"seed {seed}")
        chosen, others = split(KNOWN, SHARE, seed)
        run.leave_out(others, "constructs of another seed: --all takes them")
    check_refused(run, refused)
    for name in chosen:
        run.check(KNOWN[name])
    return run.finish()


if __name__ == "__main__":
    sys.exit(main())
