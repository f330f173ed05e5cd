"""One name, five places: a pass Foo is passes/**/Foo.cpp, a record Foo (or FooPass), the flag
[dl-|dlx-]foo, that DEBUG_TYPE, and a test foo.mlir. And no file is named after nothing in
particular."""
import os
import re

# A helper used once lives with its user; used twice, it gets the name of the concept.
EMPTY_NAMES = {
    "util", "utils", "utility", "utilities", "helper", "helpers", "common", "misc", "uncategorized"
}
RECORD = re.compile(r'^\s*def\s+(\w+)\s*:\s*(?:Pass|InterfacePass)\s*<\s*"([^"]+)"', re.M)


def words(name):
    return [w.lower() for w in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]


def kebab(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()


def check(tree):
    problems = []
    for path in tree.paths:
        for part in path.split("/"):
            stem = part.split(".")[0]
            empty = EMPTY_NAMES.intersection(words(stem))
            if empty:
                problems.append(
                    f"{path}: '{empty.pop()}' says nothing; name the concept that lives there")
        part = path.split("/")[-1]
        if words(part.split(".")[0])[-1:] == ["base"] and not part.endswith("Base.td"):
            problems.append(f"{path}: only TableGen files are named *Base.td")
    sources = {os.path.splitext(os.path.basename(p))[0]: p for p in tree.paths
               if p.endswith(".cpp") and p.startswith(("passes/", "codegen/"))}
    tests = {
        os.path.basename(p) for p in tree.paths if p.startswith("test/") and p.endswith(".mlir")
    }
    for td in tree.paths:
        if os.path.basename(td).endswith("Passes.td"):
            for match in RECORD.finditer(tree.text(td)):
                problems += one_pass(tree, td, match.group(1), match.group(2), sources, tests)
    return problems


def one_pass(tree, td, record, flag, sources, tests):
    name = re.sub(r"Pass$", "", record)
    if re.sub(r"^(dl|dlx)-", "", flag) != kebab(name):
        yield f"{td}: pass {record} has the flag '{flag}', expected '{kebab(name)}' (or dl-, dlx- before it)"
    source = sources.get(name)
    if not source:
        yield f"{td}: pass {record} needs its own file {name}.cpp"
    else:
        debug = re.search(r'#\s*define\s+DEBUG_TYPE\s+"([^"]*)"', tree.text(source))
        if not debug or debug.group(1) != flag:
            got = f"'{debug.group(1)}'" if debug else "none"
            yield f'{source}: DEBUG_TYPE is {got}, expected the flag "{flag}"'
    if kebab(name) + ".mlir" not in tests:
        yield f"{td}: pass {record} needs a lit test {kebab(name)}.mlir (test/passes/)"


CLEAN = {
    "passes/Passes.td": 'def FormFusions : Pass<"dl-form-fusions", "ModuleOp"> {\n}\n',
    "passes/fuse/FormFusions.cpp": '#define DEBUG_TYPE "dl-form-fusions"\n',
    "test/passes/fuse/form-fusions.mlir": "// RUN: true\n",
    "ir/dl/base/DLBase.td": "",
    "tools/driver/DLXCommand.cpp": "",
}
PLANTED = [
    ({"ir/StringUtils.h": ""}, "'utils' says nothing"),
    ({"passes/common/A.cpp": ""}, "'common' says nothing"),
    ({"ir/dl/OpBase.h": ""}, "only TableGen files"),
    ({"passes/Passes.td": 'def FormFusions : Pass<"fuse-things"> {\n}\n'},
     "expected 'form-fusions'"),
    ({"passes/Passes.td": 'def PlanMemory : Pass<"plan-memory"> {\n}\n'},
     "needs its own file PlanMemory.cpp"),
    ({"passes/Passes.td": 'def PlanMemory : Pass<"plan-memory"> {\n}\n'},
     "needs a lit test plan-memory.mlir"),
    ({"passes/fuse/FormFusions.cpp": '#define DEBUG_TYPE "fusions"\n'}, "DEBUG_TYPE is 'fusions'"),
    ({"passes/fuse/FormFusions.cpp": "\n"}, "DEBUG_TYPE is none"),
]
