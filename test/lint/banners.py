"""Each source file opens with what it is for, and with its licence."""
import re

# The public C headers keep to C comments.
BANNER = re.compile(r"^(?://|/\*)===-+ (\S+) - \S.*===(?://)?$")
LICENCE = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"


def check(tree):
    problems = []
    for path in tree.code():
        head = tree.text(path).split("\n", 6)[:6]
        banner = BANNER.match(head[0])
        name = path.rsplit("/", 1)[-1]
        if not banner:
            problems.append(
                f"{path}:1: expected the banner '//===- {name} - one line purpose ---*- C++ -*-===//'"
            )
        elif banner.group(1) != name:
            problems.append(f"{path}:1: the banner names '{banner.group(1)}', the file is '{name}'")
        if not any(LICENCE in line for line in head):
            problems.append(f"{path}: expected '// {LICENCE}' below the banner")
    return problems


GOOD = "//===- A.h - what it is for ---*- C++ -*-===//\n// " + LICENCE + "\n"
CLEAN = {"ir/A.h": GOOD,
         "runtime/a.h": "/*===- a.h - the C API ---===\n * " + LICENCE + "\n */\n"}
PLANTED = [
    ({"ir/A.h": "// A header.\n// " + LICENCE + "\n"}, "expected the banner"),
    ({"ir/B.h": GOOD}, "the banner names 'A.h'"),
    ({"ir/A.h": GOOD.splitlines()[0] + "\nint x;\n"}, "expected '// SPDX"),
]
