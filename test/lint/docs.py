"""Each op and each pass says what it does: a summary and a description, neither empty nor a promise to write one."""
import json
import os
import re
import shutil
import subprocess

FOLDERS = ("ir/", "passes/", "codegen/")
KINDS = {"Op": "op", "PassBase": "pass"}


def records(tree, path):
    """The definitions of one TableGen file with all inherited fields resolved."""
    tool = shutil.which("llvm-tblgen-22") or "/usr/lib/llvm-22/bin/llvm-tblgen"
    include = os.path.join(os.path.dirname(os.path.realpath(tool)), "../include")
    run = subprocess.run([tool, "--dump-json", "-I", include, "-I", tree.root, "-I", os.path.dirname(tree.full(path)),
                          tree.full(path)], capture_output=True, text=True)
    if run.returncode:
        raise ValueError(run.stderr.strip().splitlines()[0] if run.stderr else "llvm-tblgen failed")
    return json.loads(run.stdout)


def empty(text):
    return not text or not text.strip() or re.fullmatch(r"\W*(TODO|FIXME|TBD)\b.*", text.strip(), re.S | re.I)


def check(tree):
    problems, seen = [], set()
    # A file is read once, through the file that includes it if there is one: umbrellas come last in no particular order,
    # so each is tried and a record is judged once.
    for path in tree.paths:
        if not (path.startswith(FOLDERS) and path.endswith(".td")):
            continue
        try:
            found = records(tree, path)
        except (OSError, ValueError) as error:
            problems.append(f"{path}: llvm-tblgen could not read it: {error}")
            continue
        own = tree.text(path)
        for name, record in found.items():
            if name.startswith("!") or name in seen or not re.search(rf"\bdef\s+{re.escape(name)}\b", own):
                continue
            kinds = [KINDS[c] for c in record["!superclasses"] if c in KINDS]
            if not kinds:
                continue
            seen.add(name)
            for field in ("summary", "description"):
                if empty(record.get(field)):
                    problems.append(f"{path}: {kinds[0]} {name} has no {field}")
    return problems


OP = '''include "mlir/IR/OpBase.td"
def My_Dialect : Dialect { let name = "my"; let cppNamespace = "::my"; }
def My_AOp : Op<My_Dialect, "a"> { let summary = "adds"; let description = [{ Adds. }]; }
'''
PASS = '''include "mlir/Pass/PassBase.td"
def DoIt : Pass<"do-it"> { let summary = "does it"; let description = [{ Does it. }]; }
'''
CLEAN = {"ir/A.td": OP, "passes/Passes.td": PASS}
PLANTED = [
    ({"ir/A.td": OP.replace('let summary = "adds"; ', "")}, "op My_AOp has no summary"),
    ({"ir/A.td": OP.replace("[{ Adds. }]", "[{ TODO }]")}, "op My_AOp has no description"),
    ({"passes/Passes.td": PASS.replace("Does it.", " ")}, "pass DoIt has no description"),
    ({"ir/A.td": OP + "def X : NoSuchClass;\n"}, "could not read it"),
]
