"""The table of GPU faults names tests that exist, and has a row for each fault."""
import re

TABLE = "test/emulator/FAULTS.md"
NUMBERS = range(45, 62)
ROW = re.compile(r"\| (\d+) \|.*\| ([^|]+) \|$")
TEST = re.compile(r"^TEST(?:_F|_P)?\((\w+), (\w+)\)", re.M)


def check(tree):
    if TABLE not in tree.paths:
        return []
    tests = {
        path.rsplit("/", 1)[1] for path in tree.paths
        if path.startswith("test/") and path.endswith(".test")
    }
    for path in tree.paths:
        if path.startswith("test/unit/") and path.endswith(".cpp"):
            tests |= {f"{suite}.{name}" for suite, name in TEST.findall(tree.text(path))}
    problems, seen = [], []
    for line, text in enumerate(tree.text(TABLE).splitlines(), 1):
        row = ROW.match(text)
        if not row:
            continue
        seen.append(int(row.group(1)))
        named = re.findall(r"`([^`]+)`", row.group(2))
        if not named:
            problems.append(f"{TABLE}:{line}: fault {row.group(1)} has no test; write one")
        problems += [
            f"{TABLE}:{line}: there is no test '{name}'; name one that there is" for name in named
            if name not in tests
        ]
    if seen != list(NUMBERS):
        problems.append(
            f"{TABLE}: expected a row for each of {NUMBERS.start} to {NUMBERS.stop - 1}, in order; got {seen}"
        )
    return problems


HEAD = "| no. | fault | what happens | tests |\n|---|---|---|---|\n"
ROWS = "".join(f"| {number} | no `GPU` | said | `Gpu.IsMissing`, `cuda.test` |\n"
               for number in NUMBERS)
CLEAN = {
    TABLE: HEAD + ROWS, "test/unit/A.cpp": "TEST_F(Gpu, IsMissing) {}\n", "test/tools/cuda.test": ""
}
PLANTED = [
    ({TABLE: HEAD + ROWS.replace("IsMissing", "Is", 1)}, "there is no test 'Gpu.Is'"),
    ({TABLE: HEAD + ROWS.replace("`Gpu.IsMissing`, `cuda.test`", "none", 1)},
     "fault 45 has no test"),
    ({TABLE: HEAD + ROWS.replace("| 50 |", "| 51 |", 1)}, "expected a row for each of 45 to 61"),
]
