"""Which tests a change of files asks for: tests mirror the tree, so a source's path names them."""

import dataclasses
import os
import re

#: Unit programs by the folder whose sources they test, the longest prefix first.
UNIT_PROGRAMS = (
    ("codegen/cuda/", "unit-codegen-cuda"),
    ("codegen/", "unit-codegen"),
    ("frontend/", "unit-frontend"),
    ("ir/", "unit-ir"),
    ("passes/", "unit-passes"),
    ("runtime/", "runtime-test"),
    ("tools/driver/text/", "unit-tools-text"),
    ("tools/", "unit-tools"),
    ("test/emulator/", "emulator-test"),
)
SOURCES = (".cpp", ".h", ".td", ".def", ".cuh", ".fbs", ".dl")
LIT = (".test", ".mlir", ".dl")
#: What the Python package for PyTorch's graphs runs by.
ATEN = "tools/python/dlc/"
ATEN_FILES = ("modules", "own_ops")
OP = re.compile(r'^def \w+ : \w+<"(\w+)"', re.M)


@dataclasses.dataclass
class Selection:
    """Sets of: folders and files below test/ for lit; suites; (program, filter) of unit tests; ops
    and files of numeric rows; files of test/aten; whether docs changed."""

    lit: set = dataclasses.field(default_factory=set)
    suites: set = dataclasses.field(default_factory=set)
    unit: set = dataclasses.field(default_factory=set)
    ops: set = dataclasses.field(default_factory=set)
    rows: set = dataclasses.field(default_factory=set)
    aten: set = dataclasses.field(default_factory=set)
    docs: bool = False

    def lines(self):
        for path in sorted(self.lit):
            yield f"lit {path}"
        for path in sorted(self.suites):
            yield f"suite {path}"
        for program, test in sorted(self.unit):
            yield f"unit {program} {test}"
        for kind in ("ops", "rows", "aten"):
            for name in sorted(getattr(self, kind)):
                yield f"{kind} {name}"
        if self.docs:
            yield "docs"


def nearest_folder(root, path):
    """The folder of test/ that mirrors that of `path`, or the nearest one above it."""
    folder = os.path.dirname(path)
    while folder and not os.path.isdir(os.path.join(root, "test", folder)):
        folder = os.path.dirname(folder)
    return folder


def suites(root):
    """The suites of test/suites, as paths below test/."""
    lines = _text(os.path.join(root, "test", "suites", "suites.txt")).splitlines()
    return [line.split()[0] for line in lines if line and not line.startswith("#")]


def suites_that_read(root, path):
    """`path` itself, below test/, if it is a suite; else the suites next to it that import it."""
    known = suites(root)
    if path in known:
        return [path]
    module = re.compile(rf"\b{re.escape(os.path.splitext(os.path.basename(path))[0])}\b")
    return [
        suite
        for suite in known
        if os.path.dirname(suite) == os.path.dirname(path)
        and module.search(_text(os.path.join(root, "test", suite)))
    ]


def unit_test_of(root, path):
    """(program, filter) of the unit test of the source, or None."""
    stem = os.path.splitext(os.path.basename(path))[0]
    program = next((name for prefix, name in UNIT_PROGRAMS if path.startswith(prefix)), None)
    if program is None:
        return None
    folder = os.path.join(root, "test", "unit", path.split("/")[0])
    found = any(stem + "Test.cpp" in files for _, _, files in os.walk(folder))
    return (program, f"*{stem}*") if found else None


def of_test(root, path, selection):
    """A test that changed itself is run, and the tests that read what changed."""
    inner = path.removeprefix("test/")
    name = os.path.basename(path)
    if inner.startswith("unit/") and name.endswith("Test.cpp"):
        source = inner.removeprefix("unit/")
        program = next((p for prefix, p in UNIT_PROGRAMS if source.startswith(prefix)), None)
        if program:
            selection.unit.add((program, f"*{name.removesuffix('Test.cpp')}*"))
    elif inner.startswith("numeric/rows/"):
        selection.rows.add(inner.removeprefix("numeric/rows/"))
    elif inner.startswith("aten/") and name.endswith(".py"):
        selection.aten.add(name.removesuffix(".py").removeprefix("run_"))
    elif "/Inputs/" in path:
        selection.suites.update(suites_that_read(root, inner))
        folder = os.path.join(root, path.split("/Inputs/")[0])
        for test in sorted(os.listdir(folder)):
            if test.endswith(LIT) and name in _text(os.path.join(folder, test)):
                selection.lit.add(os.path.join(inner.split("/Inputs/")[0], test))
    elif name.endswith(LIT):
        selection.lit.add(inner)


def _text(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def touched_ops(text, lines):
    """The ops of a .td file whose records hold one of the lines, counted from 1."""
    starts = [
        (text.count("\n", 0, match.start()) + 1, match.group(1)) for match in OP.finditer(text)
    ]
    found = set()
    for line in lines:
        before = [op for start, op in starts if start <= line]
        found.update(before[-1:])
    return found


def select(root, changes):
    """`changes`: path -> numbers of the lines that changed."""
    selection = Selection()
    for path, lines in changes.items():
        if path.startswith("test/"):
            of_test(root, path, selection)
        elif path.endswith(".md"):
            selection.docs = True
        elif path.startswith(ATEN):
            selection.aten.update(ATEN_FILES)
        elif path.startswith("frontend/dl/library/"):
            name = os.path.basename(path).replace(".dl", ".py")
            if os.path.exists(os.path.join(root, "test/numeric/rows/library", name)):
                selection.rows.add("library/" + name)
            selection.lit.add("frontend")
        elif path.endswith(SOURCES):
            folder = nearest_folder(root, path)
            selection.lit.add(folder)
            selection.suites.update(
                s for s in suites(root) if folder and s.startswith(folder + "/")
            )
            selection.unit.update(filter(None, [unit_test_of(root, path)]))
            if path.endswith(".td") and os.path.exists(os.path.join(root, path)):
                selection.ops |= touched_ops(_text(os.path.join(root, path)), lines)
    selection.lit.discard("")
    return selection
