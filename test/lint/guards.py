"""A header's guard is its path: ir/dl/base/DTypes.h has DLC_IR_DL_BASE_DTYPES_H."""

import re

#: What these hold is installed and named from this folder.
PUBLIC = "runtime/include/dlc/"
GUARD = re.compile(r"^#ifndef (\w+)\n#define \1\b", re.M)


def expected(path):
    name = re.sub(r"\W", "_", path.removeprefix(PUBLIC)).upper()
    return "DLC_" + name.removeprefix("DLC_")


def check(tree):
    problems = []
    for path in tree.code((".h", ".hpp")):
        text = tree.text(path)
        guard = GUARD.search(text)
        if guard is None and "#pragma once" not in text and "has no guard" not in text:
            problems.append(f"{path}: expected a guard, {expected(path)}")
        elif guard and guard.group(1) != expected(path):
            problems.append(f"{path}: the guard is {guard.group(1)}; expected {expected(path)}")
    return problems


GOOD = "#ifndef DLC_IR_DL_A_H\n#define DLC_IR_DL_A_H\n#endif\n"
CLEAN = {"ir/dl/A.h": GOOD, "test/emulator/B.h": "#pragma once\n"}
PLANTED = [
    ({"ir/dl/B.h": GOOD}, "expected DLC_IR_DL_B_H"),
    ({"ir/dl/A.h": "int x;\n"}, "expected a guard, DLC_IR_DL_A_H"),
]
