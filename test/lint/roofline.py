"""Each op has a row in test/bench/op_rows.txt: how far it is from what the processor can do is
measured, or the row names the op that stands for it."""
import os
import re

from docs import records
from tree import Tree

TABLE = "test/bench/op_rows.txt"
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def ops(tree):
    """The names of all ops of the dialect."""
    return sorted(record["opName"] for path, record in records(tree).values()
                  if path.startswith("ir/dl/") and "Op" in record["!superclasses"])


def missing(with_rows):
    """The ops of this checkout that are not among `with_rows`."""
    return [op for op in ops(Tree.tracked(ROOT)) if op not in with_rows]


def check(tree):
    if TABLE not in tree.paths:
        return []
    try:
        known = ops(tree)
    except (OSError, ValueError) as error:
        return [str(error)]
    rows = [(number, re.split(r"[/|]", line)[0].strip())
            for number, line in enumerate(tree.text(TABLE).splitlines(), 1)
            if line.strip() and not line.startswith("#")]
    have = {op for _, op in rows}
    return ([
        f"{TABLE}: no row for the op '{op}'; add one (its first lines say how)"
        for op in known if op not in have
    ] + [f"{TABLE}:{number}: '{op}' is no op of ir/dl" for number, op in rows if op not in known])


RECORD = """include "mlir/IR/OpBase.td"
def My_Dialect : Dialect { let name = "my"; let cppNamespace = "::my"; }
def My_AOp : Op<My_Dialect, "a"> { let summary = "adds"; let description = [{ Adds. }]; }
"""
CLEAN = {"ir/dl/A.td": RECORD, TABLE: "# rows\na | a(x) | x f32[8]\na/small | a(x) | x f32[1]\n"}
PLANTED = [({TABLE: "# rows\n"}, "no row for the op 'a'"),
           ({TABLE: CLEAN[TABLE] + "b/whole | b(x) | x i32[8]\n"},
            "op_rows.txt:4: 'b' is no op of ir/dl")]
