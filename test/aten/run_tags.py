#!/usr/bin/env python3
"""The table of ATen's overloads against PyTorch's list of core overloads (torch.Tag.core) and
dlc's list of functions. Each core overload has a row, or a reason in table.WITHOUT, or is read by
program.py itself; each row is an overload of this PyTorch, or of one that versions.txt names; each
row of `same` is a function that `dlc list ops` prints.

    run_tags.py

The last line is "N passed, M failed"."""

import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "conformance"))
import torch  # noqa: E402

from cases import Cases, Failure  # noqa: E402
from dlc_tool import dlc  # noqa: E402

#: Overloads that program.py reads itself: they give sizes, or a number that a tensor holds.
OF_PROGRAM = {"sym_size.int", "sym_numel.default", "_local_scalar_dense.default"}


def overloads(namespace):
    """The overloads of this PyTorch by their names in the table."""
    from dlc.aten.table import name_of

    found = {}
    for full in torch._C._dispatch_get_all_op_names():
        space, _, rest = full.partition("::")
        name, _, overload = rest.partition(".")
        if space != namespace:
            continue
        try:
            held = getattr(getattr(getattr(torch.ops, space), name), overload or "default")
        except (AttributeError, RuntimeError):
            continue  # of TorchScript alone
        found[name_of(held)] = held
    return found


def versions():
    """The overloads that other PyTorches have, by name, with what versions.txt says of each."""
    found = {}
    with open(os.path.join(HERE, "versions.txt"), encoding="utf-8") as file:
        for line in map(str.strip, file):
            if line and not line.startswith("#"):
                name, _, said = line.partition(": ")
                found[name] = said
    return found


def check_core(cases, known, rows, without):
    for name, overload in sorted(known.items()):
        if torch.Tag.core not in overload.tags:
            continue
        with cases.case(f"core {name}"):
            if (name in rows) + (name in without) + (name in OF_PROGRAM) == 0:
                raise Failure("has no row, and table.WITHOUT gives no reason")
    for name in sorted(without):
        with cases.case(f"without {name}"):
            if name in rows:
                raise Failure("has a row; take it out of table.WITHOUT")
            # PyTorch registers ops of other namespaces when they are first called.
            if name not in known and "::" not in name:
                raise Failure("this PyTorch has no such overload; take it out of table.WITHOUT")


def check_rows(cases, known, rows):
    other = versions()
    for name in sorted(rows):
        with cases.case(f"row {name}"):
            # Packages register theirs when they are imported.
            is_of_package = name.split("::")[0] in ("torchvision", "transformers")
            if name not in known and name not in other and not is_of_package:
                raise Failure(
                    "this PyTorch has no such overload, and versions.txt does not name it"
                )
    for name, said in other.items():
        with cases.case(f"versions.txt, {name}"):
            if not re.search(r"PyTorch (before )?2\.\d+", said):
                raise Failure(f"says '{said}'; expected the version of PyTorch that has it")
            if name not in rows or name in known and "before" in said:
                raise Failure("is not needed; take it off the list")


def check_same(cases, same):
    functions = set(re.findall(r"^(\w+)\(", dlc("list", "ops"), re.M))
    for name in sorted(same):
        with cases.case(f"same {name}"):
            function = name.split("::")[-1].partition(".")[0].strip("_")
            if function not in functions:
                raise Failure(f"dlc list ops has no function '{function}'")


def main():
    from dlc.aten import kept, program  # noqa: F401  (they fill the table and register dlc's ops)
    from dlc.aten.table import ROWS, SAME, WITHOUT

    cases = Cases()
    known = {}
    for namespace in ("aten", "prims", "dlc"):
        known.update(overloads(namespace))
    check_core(cases, known, ROWS, WITHOUT)
    check_rows(cases, known, ROWS)
    check_same(cases, SAME)
    return cases.finish()


if __name__ == "__main__":
    sys.exit(main())
