"""Files stay short enough to be read whole: a remark above 400 lines, a failure above 800; a tool's
main has 20 at most."""
import re

SOFT, HARD, MAIN = 400, 800, 20
COUNTED = (".cpp", ".h", ".c", ".td", ".cuh", ".fbs", ".def", ".py", ".cmake", "CMakeLists.txt")
# Tests of one file may be long where each case is short, yet not beyond reading.
TEST_HARD = 1500


def lengths(tree):
    for path in tree.paths:
        text = tree.text(path) if path.endswith(COUNTED) or path.startswith(
            ("tools/scripts/", ".ci/")) else None
        if text is not None:
            yield path, text


def check(tree):
    problems = []
    for path, text in lengths(tree):
        hard = TEST_HARD if path.startswith("test/") else HARD
        count = text.count("\n")
        if count > hard:
            problems.append(f"{path}: {count} lines; split it by concept (limit {hard})")
        if path.startswith("tools/") and re.search(r"^int main\(", text, re.M):
            code = [
                line for line in text.splitlines()
                if line.strip() and not line.strip().startswith("//")
            ]
            if len(code) > MAIN:
                problems.append(
                    f"{path}: a main of {len(code)} lines; it should call the driver (limit {MAIN})"
                )
    return problems


def warn(tree):
    return [
        f"{path}: {text.count(chr(10))} lines (aim: below {SOFT})" for path, text in lengths(tree)
        if text.count("\n") > SOFT and not path.startswith("test/")
    ]


CLEAN = {
    "tools/dlc/main.cpp": "// A\n" * 30 + "int main() {\n}\n", "ir/dl/DLOps.cpp": "int x;\n" * 700
}
PLANTED = [
    ({"ir/dl/DLOps.cpp": "int x;\n" * 801}, "ir/dl/DLOps.cpp: 801 lines"),
    ({"tools/dlc/main.cpp": "int main() {\n" + "  f();\n" * 20 + "}\n"}, "a main of 22 lines"),
]
