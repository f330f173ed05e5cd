"""Each op and each pass says what it does: a summary and a description, neither empty nor a promise
to write one."""
import json
import os
import re
import shutil
import subprocess

FOLDERS = ("ir/", "passes/", "codegen/")
KINDS = {"Op": "op", "PassBase": "pass"}


def records(tree):
    """name -> (path, record with all inherited fields resolved), of every definition in our
    TableGen files.

    A file that another one includes is read through that one: it need not stand alone."""
    files = {p: tree.text(p) for p in tree.paths if p.startswith(FOLDERS) and p.endswith(".td")}
    included = {
        name for text in files.values() for name in re.findall(r'^include "([^"]+)"', text, re.M)
    }
    found = {}
    for root in files:
        if root not in included:
            found.update(read(tree, root))
    defined = {}
    for path, text in files.items():
        for name in re.findall(r"^\s*def\s+(\w+)", text, re.M):
            if name in found:
                defined[name] = path, found[name]
    return defined


def read(tree, path):
    tool = shutil.which("llvm-tblgen-22") or "/usr/lib/llvm-22/bin/llvm-tblgen"
    include = os.path.join(os.path.dirname(os.path.realpath(tool)), "../include")
    run = subprocess.run([tool, "--dump-json", "-I", include, "-I", tree.root, tree.full(path)],
                         capture_output=True, text=True)
    if run.returncode:
        reason = run.stderr.strip().splitlines()[:1] or ["llvm-tblgen failed"]
        raise ValueError(f"{path}: llvm-tblgen could not read it: {reason[0]}")
    return json.loads(run.stdout)


def empty(text):
    return not text or not text.strip() or re.fullmatch(r"\W*(TODO|FIXME|TBD)\b.*", text.strip(),
                                                        re.S | re.I)


def check(tree):
    try:
        found = records(tree)
    except (OSError, ValueError) as error:
        return [str(error)]
    problems = []
    for name, (path, record) in found.items():
        for kind in [KINDS[c] for c in record["!superclasses"] if c in KINDS]:
            problems += [f"{path}: {kind} {name} has no {field}"
                         for field in ("summary", "description") if empty(record.get(field))]
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
