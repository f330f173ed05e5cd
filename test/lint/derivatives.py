"""Each op on floats has a rule for its derivative (ir/dl/gradient), is computed by ops that have
one, or has its reason here. docs/operators.md and docs/onnx.md print what this finds."""

import re

from docs import records

NOT_YET, STORED = "not written yet", "of weights as they are stored"
REASONS = {
    "deform_patches": NOT_YET,
    "grid_sample": NOT_YET,
    "gru_reset_first_relu_steps": NOT_YET,
    "gru_reset_first_steps": NOT_YET,
    "resample": NOT_YET,
    "roi_align": NOT_YET,
    "roi_pool": NOT_YET,
    "scatter_take": NOT_YET,
    "update_slice": NOT_YET,
    "block_sparse_linear": STORED,
    "expand_two_of_four": STORED,
    "trim": "the sizes of its results depend on the data",
    "expect_dims": "it checks sizes",
    "bitcast": "it reads bits",
    "convert_layout": "made by passes that run later",
    "prefix_sum": "made by passes that run later",
    "running_sum": "made by passes that run later",
    "scatter_apply": "made by passes that run later",
    "scatter_seek": "made by passes that run later",
}
FLOATS = {"DL_FloatTensor", "DL_NumberTensor", "DL_Tensor", "DL_AnyTensor"}
PAGE = """
## Derivatives

ONNX's Gradient and the pass `differentiate` know the derivatives of all operators on floats but
these:
"""


def ops(tree):
    return [
        record
        for path, record in records(tree).values()
        if path.startswith("ir/dl/") and "Op" in record["!superclasses"] and "opName" in record
    ]


def with_rule(tree):
    names = {record["!name"].rsplit("_", 1)[-1]: record["opName"] for record in ops(tree)}
    listed = [
        re.findall(r"rulesOf<(.*?)>", tree.text(path), re.S)
        for path in tree.paths
        if path.startswith("ir/dl/") and path.endswith("Gradients.cpp")
    ]
    return sorted(names[name.strip()] for one in listed for text in one for name in text.split(","))


def on_floats(record):
    """Whether an operand and a result may be floats."""
    return all(
        any(kind["printable"] in FLOATS for kind, _ in record[part]["args"])
        for part in ("arguments", "results")
    )


def without(tree):
    """The ops on floats that are differentiated neither by a rule nor as others."""
    known = set(with_rule(tree))
    return sorted(
        record["opName"]
        for record in ops(tree)
        if on_floats(record)
        and record["opName"] not in known
        and "DL_DecomposedOp" not in record["!superclasses"]
    )


def section(tree):
    """Of docs/operators.md."""
    reasons = {}
    for name in without(tree):
        reasons.setdefault(REASONS.get(name, "?"), []).append(f"`{name}`")
    if not reasons:
        return ""
    return (
        PAGE
        + "\n"
        + "".join(f"- {', '.join(names)}: {reason}.\n" for reason, names in sorted(reasons.items()))
    )


def check(tree):
    if not any(path.startswith("ir/dl/") and path.endswith("Gradients.cpp") for path in tree.paths):
        return []
    found, defined = set(without(tree)), {record["opName"] for record in ops(tree)}
    stale = {
        name
        for name in REASONS
        if name not in found and (name in defined or "ir/dl/DLOps.td" in tree.paths)
    }
    return [
        f"op '{name}' has no rule for its derivative; write one, or say why in {__name__}.py"
        for name in sorted(found - set(REASONS))
    ] + [f"{__name__}.py has a reason for '{name}', which needs none" for name in sorted(stale)]


RECORD = """include "mlir/IR/OpBase.td"
def My_Dialect : Dialect { let name = "my"; let cppNamespace = "::my"; }
def DL_FloatTensor : RankedTensorOf<[F32]>;
def DL_BoolTensor : RankedTensorOf<[I1]>;
class DL_DecomposedOp<string name> : Op<My_Dialect, name>;
class My_FloatOp<string name> : Op<My_Dialect, name> {
  let arguments = (ins DL_FloatTensor:$x);
  let results = (outs DL_FloatTensor:$y);
}
def My_AddOp : My_FloatOp<"add">;
def My_TestOp : Op<My_Dialect, "test"> {
  let arguments = (ins DL_FloatTensor:$x);
  let results = (outs DL_BoolTensor:$y);
}
"""
RULES = "return rulesOf<AddOp>();"
CLEAN = {"ir/dl/A.td": RECORD, "ir/dl/AGradients.cpp": RULES}
PLANTED = [
    (
        {
            "ir/dl/B.td": RECORD.replace(
                'My_AddOp : My_FloatOp<"add">', 'My_AddOp : My_FloatOp<"mul">'
            ),
            "ir/dl/A.td": "",
            "ir/dl/AGradients.cpp": "",
        },
        "op 'mul' has no rule",
    ),
    (
        {
            "ir/dl/A.td": RECORD + 'def My_TrimOp : My_FloatOp<"trim">;\n',
            "ir/dl/AGradients.cpp": "return rulesOf<AddOp, TrimOp>();",
        },
        "has a reason for 'trim', which needs none",
    ),
]
