"""docs/onnx.md lists which ONNX operators are imported, from the records and the importer's tables: tools/scripts/operators --onnx
prints it."""
import re

import os
import sys

from docs import records
from operators import stale

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "conformance"))
from refused_cases import parse  # noqa: E402

PAGE = "docs/onnx.md"
REFUSED = "test/conformance/onnx_refused.txt"
INTRO = """# ONNX operators

Printed by `tools/scripts/operators --onnx` from the records in `ir/dl` and the tables in `frontend/onnx`; do not edit.

`dlc compile model.onnx` and `dlc import model.onnx -o model.dl` take opsets OLDEST to NEWEST of ONNX, in the dtypes of the operators they
become ([operators](operators.md)). "Composed" is made of several. A form of an operator that is not imported is refused with the name of
its node, all of a model's in one run, with exit code 3. Random numbers are those of their node's `seed`, the same in each run and on each
device; without one the node is refused. `--state h0=hn` makes of an input and the output that is its next value a
[state](language.md#states), which stays in the model and is 0 at first: both have one type. `--state 'past.*=present.*'` names many."""
# ONNX's own domain.
STANDARD = """Abs Acos Acosh Add AffineGrid And ArgMax ArgMin Asin Asinh Atan Atanh Attention AveragePool BatchNormalization Bernoulli BitShift
BitwiseAnd BitwiseNot BitwiseOr BitwiseXor BlackmanWindow Cast CastLike Ceil Celu CenterCropPad Clip Col2Im Compress Concat
ConcatFromSequence Constant ConstantOfShape Conv ConvInteger ConvTranspose Cos Cosh CumProd CumSum DFT DeformConv DepthToSpace
DequantizeLinear Det Div Dropout DynamicQuantizeLinear Einsum Elu Equal Erf Exp Expand EyeLike Flatten Floor GRU Gather GatherElements
GatherND Gelu Gemm GlobalAveragePool GlobalLpPool GlobalMaxPool Greater GreaterOrEqual GridSample GroupNormalization HammingWindow
HannWindow HardSigmoid HardSwish Hardmax Identity If ImageDecoder InstanceNormalization IsInf IsNaN LRN LSTM LayerNormalization LeakyRelu
Less LessOrEqual Log LogSoftmax Loop LpNormalization LpPool MatMul MatMulInteger Max MaxPool MaxRoiPool MaxUnpool Mean
MeanVarianceNormalization MelWeightMatrix Min Mish Mod Mul Multinomial Neg NegativeLogLikelihoodLoss NonMaxSuppression NonZero Not OneHot
Optional OptionalGetElement OptionalHasElement Or PRelu Pad Pow QLinearConv QLinearMatMul QuantizeLinear RMSNormalization RNN RandomNormal
RandomNormalLike RandomUniform RandomUniformLike Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean
ReduceMin ReduceProd ReduceSum ReduceSumSquare RegexFullMatch Relu Reshape Resize ReverseSequence RoiAlign RotaryEmbedding Round STFT Scan
Scatter ScatterElements ScatterND Selu SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength SequenceMap
Shape Shrink Sigmoid Sign Sin Sinh Size Slice Softmax SoftmaxCrossEntropyLoss Softplus Softsign SpaceToDepth Split SplitToSequence Sqrt
Squeeze StringConcat StringNormalizer StringSplit Sub Sum SwiGLU Swish Tan Tanh TensorScatter TfIdfVectorizer ThresholdedRelu Tile TopK
Transpose Trilu Unique Unsqueeze Upsample Where Xor""".split()
GRADIENT = """
## Gradient

`ai.onnx.preview.training.Gradient` differentiates in reverse, and what it gives can be differentiated again. It goes through these of the
operators that a model becomes, and through whatever gives integers or bools: NAMES.
"""
CASES = """
## Test cases of ONNX that do not pass

All others of the node tests and small models that the ONNX project publishes do (`test/conformance/run_onnx.py --all --other`). These
are refused in words:
"""
REASONS = {
    "sequences and optionals are refused": r"Sequence(?!.*Lens)|Optional",
    "strings are refused": r"String|RegexFullMatch|TfIdf|ImageDecoder",
    "dlc draws numbers and truth values alone, not one of several": r"Multinomial",
}


def rules(tree):
    """(name, first opset, what it becomes)."""
    for path, record in records(tree).values():
        if path.startswith("ir/dl/"):
            for line in (record.get("onnx") or "").split("\n"):
                name = re.match(r"\s*([\w.]+)(?:@(\d+))?(?:\.\.\d+|-\d+)?\(", line)
                if name:
                    yield name.group(1), int(name.group(2) or 1), f"`{record['opName']}`"
    for path in sorted(tree.paths):
        if path.startswith("frontend/onnx/ops/") and path.endswith(".cpp"):
            for name, since in re.findall(r'\{\s*"([\w.]+)",\s*(\d+),\s*build', tree.text(path)):
                yield name, int(since), "composed"
        elif path.startswith("frontend/onnx/") and path.endswith(".cpp"):
            for name in sorted(set(re.findall(r'node\.op == "(\w+)"', tree.text(path)))):
                yield name, 1, "control flow"


def render(tree):
    imported = {}
    for name, since, result in rules(tree):
        imported.setdefault(name, []).append((since, result))
    opsets = re.search(r"kOldestOpset = (\d+), kNewestOpset = (\d+)", tree.text("frontend/onnx/Importer.h"))
    lines = [INTRO.replace("OLDEST", opsets.group(1)).replace("NEWEST", opsets.group(2)), "\n| operator | since opset | becomes |\n|---|---|---|"]
    for name in sorted(imported):
        held = sorted(set(imported[name]))
        lines.append(f"| {name} | {held[0][0]} | {', '.join(dict.fromkeys(result for _, result in held))} |")
    derived = sorted({name for path in tree.paths if path.startswith("frontend/onnx/gradient/")
                      for name in re.findall(r'\{"dl\.(\w+)",', tree.text(path))})
    if derived:
        lines.append(GRADIENT.replace("NAMES", ", ".join(f"`{name}`" for name in derived)).rstrip())
    lines.append("\n## Not imported\n")
    missing, told = [name for name in STANDARD if name not in imported], set()
    for reason, pattern in REASONS.items():
        names = [name for name in missing if re.search(pattern, name)]
        told.update(names)
        if names:
            lines.append(f"- {', '.join(names)}: {reason}.")
    rest = [name for name in missing if name not in told]
    if rest:
        lines.append(f"- {', '.join(rest)}: not yet.")
    lines.append(CASES)
    cases = {}
    for name, reason in parse(tree.text(REFUSED)).items():
        cases.setdefault(reason, []).append(name)
    lines += [f"- {reason}: {', '.join(sorted(names))}." for reason, names in cases.items()]
    return "\n".join(lines) + "\n"


def check(tree):
    return stale(tree, PAGE, render, "tools/scripts/operators --onnx")


RECORD = """include "mlir/IR/OpBase.td"
def My_Dialect : Dialect { let name = "my"; let cppNamespace = "::my"; }
class My_Op<string name> : Op<My_Dialect, name> { string onnx = ""; }
def My_AOp : My_Op<"a"> { let onnx = "Abs@13(x)"; let summary = "adds"; let description = "Adds."; }
"""
TABLE = 'rules = {{"Clip", 6, buildClip}};\n'
LISTED = "\n| operator | since opset | becomes |\n|---|---|---|\n| Abs | 13 | `a` |\n| Clip | 6 | composed |\n" + GRADIENT.replace("NAMES", "`abs`, `add`") + "\n## Not imported\n\n"


def missing_of_planted():
    """The end of the page where Abs and Clip alone are imported."""
    names = [name for name in STANDARD if name not in ("Abs", "Clip")]
    kinds = [[name for name in names if re.search(pattern, name)] for pattern in REASONS.values()]
    rest = [name for name in names if not any(name in kind for kind in kinds)]
    said = [f"- {', '.join(kind)}: {reason}." for kind, reason in zip(kinds, REASONS)]
    return "\n".join([*said, f"- {', '.join(rest)}: not yet.", CASES, "- strings: test_a, test_b."]) + "\n"


CLEAN = {"frontend/onnx/Importer.h": "kOldestOpset = 7, kNewestOpset = 9;", "ir/dl/A.td": RECORD, "frontend/onnx/ops/A.cpp": TABLE, "frontend/onnx/gradient/A.cpp": '{"dl.add", f}, {"dl.abs", f}', REFUSED: "strings:\ntest_b\ntest_a\n", PAGE: INTRO.replace("OLDEST", "7").replace("NEWEST", "9") + "\n" + LISTED + missing_of_planted()}
PLANTED = [({REFUSED: "strings:\ntest_a\n"}, "is not what tools/scripts/operators --onnx prints"),
           ({"ir/dl/A.td": RECORD.replace("Abs@13", "Abs")}, "print it again"),
           ({"frontend/onnx/ops/A.cpp": TABLE.replace("6", "7")}, "is not what tools/scripts/operators --onnx prints")]

