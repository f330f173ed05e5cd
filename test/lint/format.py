"""C++ is formatted by clang-format 22 with the .clang-format of the repository."""
import os
import re
import shutil
import subprocess

SUFFIXES = (".cpp", ".h", ".hpp", ".c", ".cuh")


def check(tree):
    tool = shutil.which("clang-format-22") or "/usr/lib/llvm-22/bin/clang-format"
    if not os.path.exists(tool):
        return ["clang-format-22 is missing: run tools/scripts/setup"]
    files = tree.code(SUFFIXES)
    if not files:
        return []
    # A planted tree lies outside the repository, so the style is named, not found.
    style = "file:" + os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                   "../../.clang-format")
    run = subprocess.run(
        [tool, "--style=" + style, "--dry-run", "-Werror", "--ferror-limit=1", *files],
        cwd=tree.root, capture_output=True, text=True)
    wrong = re.findall(r"^(\S+?):(\d+):\d+: error", run.stderr, re.M)
    if run.returncode and not wrong:
        return [run.stderr.strip()]
    return [f"{path}:{line}: not formatted; run clang-format-22 -i {path}" for path, line in wrong]


CLEAN = {"ir/A.h": "int f(int x);\n"}
PLANTED = [({"ir/B.cpp": "int   f( int x ) {return x ;}\n"}, "ir/B.cpp:1: not formatted")]
