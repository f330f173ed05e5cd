"""docs/operators.md lists the operators of the language as their records have them:
tools/scripts/operators prints it."""
import re

from derivatives import section
from docs import records

PAGE = "docs/operators.md"
LIBRARY = "frontend/dl/library/"  # functions that are written in the language
OPS = "ir/dl/DLOps.td"  # the page has the families in its order
INTRO = """# Operators of `dl 1`

Printed by `tools/scripts/operators` from the records in `ir/dl` and the functions in
`frontend/dl/library`; do not edit.

Calls are written in PyTorch's schema syntax. `int[2]` takes one integer or two, `?` allows `None`,
`SymInt[]` allows symbols, a `BoolTensor` is a condition, and an `IntTensor` may be an integer.
`True return_indices` is an argument that must be true in this form of the call.

A number or a dim may take the place of a tensor. Elementwise operators broadcast and promote dtypes
as PyTorch's do; functions of real numbers take integers as f32. Convolutions and pools also take
one image without a batch dim. Layers (`Conv2d(...)`) take the same arguments after their sizes, as
in `torch.nn`."""
DTYPES = {
    "DL_FloatTensor": "floats", "DL_NumberTensor": "floats, integers", "DL_Tensor": "all",
    "DL_AnyTensor": "all, small ones too", "DL_BitsTensor": "integers, bool",
    "DL_BoolTensor": "bool"
}


def dtypes(record):
    """Of the first tensor that is no condition."""
    kinds = [DTYPES.get(argument["printable"]) for argument, _ in record["arguments"]["args"]]
    known = [kind for kind in kinds if kind and kind != "bool"] or [kind for kind in kinds if kind]
    return known[0] if known else "as given"


def escaped(text):
    """Text of a table's cell."""
    return text.replace("|", "\\|")


def render(tree):
    families = {}
    for path, record in records(tree).values():
        schema = re.search(r'kSchema = R"\((.*?)\)";',
                           record.get("extraClassDeclaration") or "", re.S)
        if not (path.startswith("ir/dl/") and "Op" in record["!superclasses"] and schema
                and schema.group(1).strip()):
            continue
        calls = "<br>".join(f"`{call.strip()}`" for call in schema.group(1).strip().splitlines())
        names = re.search(r"PyTorch:\s+((?:`[^`]+`(?:,\s+|\s+of\s+\w+\s+\w+,?\s*)?)+)",
                          record["description"])
        named = "<br>".join(re.findall(r"`[^`]+`", names.group(1))) if names else ""
        cell = escaped(record['summary'].strip())
        families.setdefault(path, []).append(f"| {calls} | {dtypes(record)} | {cell} | {named} |")
    lines = [INTRO]
    included = re.findall(r'^include "([^"]+)"', tree.text(OPS) if OPS in tree.paths else "", re.M)
    for path in sorted(
            families, key=lambda path: (included.index(path)
                                        if path in included else len(included), path)):
        title = re.match(r"//===- \S+ - (.*?)[ -]*===//", tree.text(path))
        lines.append(
            f"\n## {title.group(1) if title else path}\n\n| call | dtypes | what it is | PyTorch |\n|---|---|---|---|"
        )
        lines += families[path]
    for path in sorted(path for path in tree.paths
                       if path.startswith(LIBRARY) and path.endswith(".dl")):
        text = tree.text(path)
        title = re.match(r"# (.*)", text)
        lines.append(
            f"\n## {title.group(1) if title else path}\n\n| call | what it is |\n|---|---|")
        lines += [
            f"| `{call}` | {escaped(summary)} |"
            for summary, call in re.findall(r"^# (.*)\n(?!_)(\w+\(.*) \{$", text, re.M)
        ]
    return "\n".join(lines) + "\n" + section(tree)


def stale(tree, page, render_page, command):
    """The problem of a printed page that is not what `command` prints now."""
    if page not in tree.paths:
        return []
    try:
        current = render_page(tree)
    except (OSError, ValueError) as error:
        return [str(error)]
    return [] if tree.text(page) == current else [
        f"{page} is not what {command} prints; print it again"
    ]


def check(tree):
    return stale(tree, PAGE, render, "tools/scripts/operators")


RECORD = """include "mlir/IR/OpBase.td"
def My_Dialect : Dialect { let name = "my"; let cppNamespace = "::my"; }
def DL_FloatTensor : RankedTensorOf<[F32]>;
def My_AOp : Op<My_Dialect, "a"> {
  let summary = "adds"; let description = [{ Adds. PyTorch: `torch.a`. }];
  let arguments = (ins DL_FloatTensor:$x);
  let extraClassDeclaration = "static constexpr ::llvm::StringLiteral kSchema = R\\"(a(Tensor x))\\";";
}
"""
TABLE = "\n## ir/dl/A.td\n\n| call | dtypes | what it is | PyTorch |\n|---|---|---|---|\n| `a(Tensor x)` | floats | adds | `torch.a` |\n"
SOURCE = """# Others

# adds one
b(Tensor x) {
  y = x + 1
}
"""
MORE = "\n## Others\n\n| call | what it is |\n|---|---|\n| `b(Tensor x)` | adds one |\n"
CLEAN = {"ir/dl/A.td": RECORD, LIBRARY + "others.dl": SOURCE, PAGE: INTRO + "\n" + TABLE + MORE}
PLANTED = [({PAGE: INTRO + "\n" + TABLE.replace("adds", "subtracts") + MORE},
            "is not what tools/scripts/operators prints"),
           ({LIBRARY + "others.dl": SOURCE.replace("adds one", "adds two")}, "print it again"),
           ({"ir/dl/A.td": RECORD.replace("a(Tensor x)",
                                          "a(Tensor x, Tensor other)")}, "print it again")]
