"""A folder holds as many files as a reader takes in at a glance."""
import collections
import os

LIMIT = 25
# Folders that are larger, with what they hold today: a number here may only become smaller.
LARGER = {
    "frontend/onnx/ops": 26,
    "test/conformance": 37,
    "test/tools": 28,
    "test/tools/Inputs": 56,
    "test/unit/runtime": 39,
    "tools/scripts/checks": 44,
}


def check(tree):
    problems = []
    sizes = collections.Counter(os.path.dirname(path) for path in tree.paths)
    for folder, count in sorted(sizes.items()):
        if count > LARGER.get(folder, LIMIT):
            problems.append(f"{folder}: {count} files; make folders of them that a newcomer would look for by name "
                            f"(limit {LARGER.get(folder, LIMIT)})")
    for folder, allowed in LARGER.items():
        if folder in sizes and sizes[folder] < allowed:
            problems.append(
                f"test/lint/folders.py: {folder} holds {sizes[folder]} files, not {allowed}: lower its number"
            )
    return problems


CLEAN = {f"ir/A{number}.h": "" for number in range(LIMIT)}
PLANTED = [
    ({f"ir/A{number}.h": "" for number in range(LIMIT + 1)}, "ir: 26 files; make folders of them"),
    ({"test/tools/Inputs/a.txt": ""}, "test/tools/Inputs holds 1 files, not 56"),
]
