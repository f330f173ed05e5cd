"""docs/onnx.md lists which ONNX operators are imported, from the records and the importer's tables:
tools/scripts/operators --onnx prints it."""
import re

import os
import sys

from derivatives import with_rule
from docs import records
from operators import stale

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "conformance"))
from refused_cases import parse  # noqa: E402

PAGE = "docs/onnx.md"
HELP = "tools/driver/cli/CompileCommand.cpp"
REFUSED = "test/conformance/onnx_refused.txt"
INTRO = """# ONNX operators

Printed by `tools/scripts/operators --onnx` from the records in `ir/dl` and the tables in
`frontend/onnx`; do not edit.

`dlc compile model.onnx` and `dlc import model.onnx -o model.dl` accept ONNX opsets OLDEST to
NEWEST, in the dtypes of the operators that they become ([operators](operators.md)). "Composed"
means several dlc operators. Unsupported forms are reported with their node names, all in one run,
with exit code 3.

Nodes draw random numbers from the model's [generator](language.md#random-numbers): other numbers in
each run, which `dlc run --seed` repeats. A node with the attribute `seed` has a generator of its
own, and draws the same numbers in each run.

`--state h0=hn` makes an input a [state](language.md#states): output `hn` is its next value. The
state stays in the model and is initially 0; input and output have the same type. `--state
'past.*=present.*'` names several. If each next value is the state followed by new positions, as in
a decoder, the states become [caches](generation.md) of fixed size: `--state
'past_key_values.*=present.*[1024]'`.

Control characters in names become `_`; a note says so for inputs and outputs. The zeros of sparse
initializers are stored.

A dim without a number is a symbol with the range 1..65536, or 1..16777216 for the length of a
signal; `--shapes`, `--min-shapes` and `--max-shapes` narrow it. If a node needs a smaller range,
the range is narrowed, and a remark says so: "sequence: 4..65536: node 'select' (Gather) takes
index 3 of dim 1 of f32[N,sequence,4]". A bound that you give is kept; if it is too wide for a
node, that is an error. [Sizes](sizes.md) describes sizes that the model computes from its shapes,
and dims that must be equal.

The branch of an If and the number of steps of a Loop or Scan may depend on the data. The results of
both branches have the same rank and dtype, and so do a carried tensor before and after a step. A
tensor that a Loop stacks has the same dims in each step. A carried tensor that no step reads, or
that has a single element, may change its rank; a run in which such a loop takes no step is refused.
Sequences and optionals may be values inside a model, its branches and its loops, but not its inputs
or outputs. In a loop, and at positions that the model computes, all tensors of a sequence have the
same rank. The results of a SequenceMap over a computed length also have the same rank, because it
is a loop. In a model with states (`--state`), the import must know the sizes that shapes are made
of.

The standard, its node tests, PyTorch and ONNX Runtime differ in these points:

- A Resize by scales with `align_corners` puts the last element of the result on the last one of the
  input, as the standard's text, PyTorch and ONNX Runtime do.
- A Resize scale below 1 in a file not written by PyTorch counts the size before rounding, as the
  node tests do. The size itself is the product of f32 numbers, rounded down: 10 by 0.9 is 9, as in
  PyTorch and ONNX Runtime.
- A pytorch_half_pixel Resize to a size that is 1 only at run time takes the middle, as PyTorch
  does.
- A Gelu of minus infinity is 0 or a tiny number; the formula gives NaN.
- A Range has max(ceil((limit - start) / delta), 0) elements in double arithmetic, as in PyTorch and
  ONNX Runtime: the f32 numbers 0.3 and 0.1 give 4.
- A Loop without an initial condition ends when its body says so, as in ONNX Runtime; by the
  standard's text it takes all its steps.

The rank of a Squeeze without axes depends on the sizes at run time. dlc drops the dims that are
always 1 and assumes that other symbolic dims are 2 or more; a note says so, and `--shapes` sets
them to 1. A data-dependent dim, as of NonZero, is kept.

Operators of `com.microsoft`, which ONNX Runtime's optimizer, its quantizer and the builders of
language models write, compute what ONNX Runtime computes. The few-bit weights of MatMulNBits,
GatherBlockQuantized and QMoE keep their size in the compiled file. The caches of
GroupQueryAttention grow by the new tokens if `total_sequence_length` is the sum of these and the
past, or a symbol that can be. A past with a fixed number of positions is a buffer, into which the
new tokens are written."""
# ONNX's own domain, with the opset that first had each operator (schemas of onnx 1.23.2, opset 28).
STANDARD = """Abs:1 Acos:7 Acosh:9 Add:1 AffineGrid:20 And:1 ArgMax:1 ArgMin:1 Asin:7 Asinh:9 Atan:7
Atanh:9 Attention:23 AveragePool:1 BatchNormalization:1 Bernoulli:15 BitCast:26 BitShift:11
BitwiseAnd:18 BitwiseNot:18 BitwiseOr:18 BitwiseXor:18 BlackmanWindow:17 Cast:1 CastLike:15
CausalConvWithState:27 Ceil:1 Celu:12 CenterCropPad:18 Clip:1 Col2Im:18 Compress:9 Concat:1
ConcatFromSequence:11 Constant:1 ConstantOfShape:9 Conv:1 ConvInteger:10 ConvTranspose:1 Cos:7
Cosh:9 CumProd:26 CumSum:11 DFT:17 DeformConv:19 DepthToSpace:1 DequantizeLinear:10 Det:11 Div:1
Dropout:1 DynamicQuantizeLinear:11 Einsum:12 Elu:1 Equal:1 Erf:9 Exp:1 Expand:8 EyeLike:9 Flatten:1
Floor:1 GRU:1 Gather:1 GatherElements:11 GatherND:11 Gelu:20 Gemm:1 GlobalAveragePool:1
GlobalLpPool:1 GlobalMaxPool:1 Greater:1 GreaterOrEqual:12 GridSample:16 GroupNormalization:18
HammingWindow:17 HannWindow:17 HardSigmoid:1 HardSwish:14 Hardmax:1 Identity:1 If:1 ImageDecoder:20
InstanceNormalization:1 IsInf:10 IsNaN:9 LRN:1 LSTM:1 LayerNormalization:17 LeakyRelu:1 Less:1
LessOrEqual:12 LinearAttention:27 Log:1 LogSoftmax:1 Loop:1 LpNormalization:1 LpPool:1 MatMul:1
MatMulInteger:10 Max:1 MaxPool:1 MaxRoiPool:1 MaxUnpool:9 Mean:1 MeanVarianceNormalization:9
MelWeightMatrix:17 Min:1 Mish:18 Mod:10 Mul:1 Multinomial:7 Neg:1 NegativeLogLikelihoodLoss:12
NonMaxSuppression:10 NonZero:9 Not:1 OneHot:9 Optional:15 OptionalGetElement:15
OptionalHasElement:15 Or:1 PRelu:1 Pad:1 Pow:1 QLinearConv:10 QLinearMatMul:10 QuantizeLinear:10
RMSNormalization:23 RNN:1 RandomNormal:1 RandomNormalLike:1 RandomUniform:1 RandomUniformLike:1
Range:11 Reciprocal:1 ReduceL1:1 ReduceL2:1 ReduceLogSum:1 ReduceLogSumExp:1 ReduceMax:1
ReduceMean:1 ReduceMin:1 ReduceProd:1 ReduceSum:1 ReduceSumSquare:1 RegexFullMatch:20 Relu:1
Reshape:1 Resize:10 ReverseSequence:10 RoiAlign:10 RotaryEmbedding:23 Round:11 STFT:17 Scan:8
Scatter:9 ScatterElements:11 ScatterND:11 Selu:1 SequenceAt:11 SequenceConstruct:11 SequenceEmpty:11
SequenceErase:11 SequenceInsert:11 SequenceLength:11 SequenceMap:17 Shape:1 Shrink:9 Sigmoid:1
Sign:9 Sin:7 Sinh:9 Size:1 Slice:1 Softmax:1 SoftmaxCrossEntropyLoss:12 Softplus:1 Softsign:1
SpaceToDepth:1 Split:1 SplitToSequence:11 Sqrt:1 Squeeze:1 StringConcat:20 StringNormalizer:10
StringSplit:20 Sub:1 Sum:1 SwiGLU:28 Swish:24 Tan:7 Tanh:1 TensorScatter:24 TfIdfVectorizer:9
ThresholdedRelu:10 Tile:1 TopK:1 Transpose:1 Trilu:14 Unique:11 Unsqueeze:1 Upsample:1 Where:9
Xor:1"""
STANDARD = {name: int(opset) for name, opset in (entry.split(":") for entry in STANDARD.split())}
GRADIENT = """
## Training

`ai.onnx.preview.training.Adagrad`, `Adam` and `Momentum` are imported. `ai.onnx.preview.training.Gradient` differentiates in reverse mode; its result can be differentiated
again. It knows the derivatives of all operators on floats but those that
[operators.md](operators.md#derivatives) names.
"""
CASES = """
## Test cases of ONNX that do not pass

All other node tests and small models that the ONNX project publishes pass
(`test/conformance/run_onnx.py --all --other`). These are refused with a message:
"""
REASONS = {
    "strings are refused": r"String|RegexFullMatch|TfIdf|ImageDecoder",
}


def rules(tree):
    """(name, first opset that the rule takes, what the operator becomes); a rule that names no
    opset takes all."""
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
            text = tree.text(path)
            listed = re.findall(r"^bool isSequenceOp\(.*?^}", text, re.M | re.S)
            names = re.findall(r'"(\w+)"', listed[0]) if listed else re.findall(
                r'node\.op == "(\w+)"', text)
            for name in sorted(set(names)):
                yield name, 1, "control flow"


def opsets_of(tree):
    return re.search(r"kOldestOpset = (\d+), kNewestOpset = (\d+)",
                     tree.text("frontend/onnx/Importer.h")).groups()


def render(tree):
    imported = {}
    for name, since, result in rules(tree):
        imported.setdefault(name, []).append((since, result))
    oldest, newest = opsets_of(tree)
    lines = [
        INTRO.replace("OLDEST", oldest).replace("NEWEST", newest),
        "\n| operator | since opset | becomes |\n|---|---|---|"
    ]
    for name in sorted(imported):
        held = sorted(set(imported[name]))
        # An operator cannot be in an opset that is older than itself.
        since = max(held[0][0], STANDARD.get(name, 1))
        lines.append(
            f"| {name} | {since} | {', '.join(dict.fromkeys(result for _, result in held))} |")
    if with_rule(tree):
        lines.append(GRADIENT.rstrip())
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


def help_of_compile(tree):
    """The opsets that `dlc compile --help` names are those that the importer takes."""
    said = re.search(r"ONNX, opsets (\d+) to (\d+)", tree.text(HELP))
    taken = opsets_of(tree)
    return [] if said and said.groups() == taken else [
        f"{HELP}: expected 'ONNX, opsets {taken[0]} to {taken[1]}' in the help, the opsets of frontend/onnx/Importer.h"
    ]


def check(tree):
    return help_of_compile(tree) + stale(tree, PAGE, render, "tools/scripts/operators --onnx")


RECORD = """include "mlir/IR/OpBase.td"
def My_Dialect : Dialect { let name = "my"; let cppNamespace = "::my"; }
class My_Op<string name> : Op<My_Dialect, name> { string onnx = ""; }
def My_AOp : My_Op<"a"> { let onnx = "Abs@13(x)"; let summary = "adds"; let description = "Adds."; }
"""
TABLE = 'rules = {{"Clip", 6, buildClip}, {"Celu", 1, buildCelu}};\n'
# The rule of Celu names no opset: it has that of the operator.
LISTED = (
    "\n| operator | since opset | becomes |\n|---|---|---|\n| Abs | 13 | `a` |\n| Celu | 12 | composed |\n"
    "| Clip | 6 | composed |\n" + GRADIENT.replace("NAMES", "`a`")
    + "\n## Not imported\n\n")


def missing_of_planted():
    """The end of the page where Abs, Celu and Clip alone are imported."""
    names = [name for name in STANDARD if name not in ("Abs", "Celu", "Clip")]
    kinds = [[name for name in names if re.search(pattern, name)] for pattern in REASONS.values()]
    rest = [name for name in names if not any(name in kind for kind in kinds)]
    said = [f"- {', '.join(kind)}: {reason}." for kind, reason in zip(kinds, REASONS)]
    return "\n".join([*said, f"- {', '.join(rest)}: not yet.", CASES, "- strings: test_a, test_b."
                      ]) + "\n"


PAGE_TEXT = INTRO.replace("OLDEST", "7").replace("NEWEST",
                                                 "9") + "\n" + LISTED + missing_of_planted()
CLEAN = {
    "frontend/onnx/Importer.h": "kOldestOpset = 7, kNewestOpset = 9;", HELP: "ONNX, opsets 7 to 9",
    "ir/dl/A.td": RECORD, "frontend/onnx/ops/A.cpp": TABLE,
    "ir/dl/AGradients.cpp": "return rulesOf<AOp>();",
    REFUSED: "strings:\ntest_b\ntest_a\n", PAGE: PAGE_TEXT
}
PLANTED = [({HELP: "ONNX, opset 7 and newer"}, "expected 'ONNX, opsets 7 to 9' in the help"),
           ({REFUSED: "strings:\ntest_a\n"}, "is not what tools/scripts/operators --onnx prints"),
           ({"ir/dl/A.td": RECORD.replace("Abs@13", "Abs")}, "print it again"),
           ({PAGE: PAGE_TEXT.replace("| Celu | 12 |", "| Celu | 1 |")}, "print it again"),
           ({"frontend/onnx/ops/A.cpp": TABLE.replace("6", "7")},
            "is not what tools/scripts/operators --onnx prints")]
