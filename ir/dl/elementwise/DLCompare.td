//===- DLCompare.td - Comparisons, truth, bits and choices at each index ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_DLCOMPARE_TD
#define DLC_IR_DL_DLCOMPARE_TD

include "ir/dl/elementwise/DLElementwiseBase.td"

/// `longName` is how PyTorch calls it, too; empty where it does not.
class DL_CompareOp<string mnemonic, code body, string longName = "">
    : DL_BinaryOp<mnemonic, mnemonic # "(Tensor x, Tensor other)"
                      # !if(!empty(longName), "", "\n" # longName # "(Tensor x, Tensor other)"),
                  DL_Tensor, body, [], "inferPredicate"> {
  let results = (outs DL_BoolTensor:$y);
}
class DL_PredicateOp<string mnemonic, Type type, code body>
    : DL_UnaryOp<mnemonic, mnemonic # "(Tensor x)", type, body, [], "inferPredicate"> {
  let results = (outs DL_BoolTensor:$y);
}

def DL_EqOp : DL_CompareOp<"eq", "x == other"> {
  let summary = "Equality, x == other";
  let onnx = "Equal(x, other)";
  let description = [{
    A bool. NaN equals nothing. PyTorch: `torch.eq`.
    ```mlir
    %y = dl.eq %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
    ```
  }];
}
def DL_NeOp : DL_CompareOp<"ne", "x != other", "not_equal"> {
  let summary = "Inequality, x != other";
  let description = [{
    A bool. NaN differs from everything. PyTorch: `torch.ne`.
    ```mlir
    %y = dl.ne %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
    ```
  }];
}
def DL_LtOp : DL_CompareOp<"lt", "x < other", "less"> {
  let summary = "Less than, x < other";
  let onnx = "Less(x, other)";
  let description = [{
    A bool. False where either is NaN. PyTorch: `torch.lt`.
    ```mlir
    %y = dl.lt %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
    ```
  }];
}
def DL_LeOp : DL_CompareOp<"le", "x <= other", "less_equal"> {
  let summary = "Less than or equal, x <= other";
  let onnx = "LessOrEqual(x, other)";
  let description = [{
    A bool. False where either is NaN. PyTorch: `torch.le`.
    ```mlir
    %y = dl.le %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
    ```
  }];
}
def DL_GtOp : DL_CompareOp<"gt", "x > other", "greater"> {
  let summary = "Greater than, x > other";
  let onnx = "Greater(x, other)";
  let description = [{
    A bool. False where either is NaN. PyTorch: `torch.gt`.
    ```mlir
    %y = dl.gt %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
    ```
  }];
}
def DL_GeOp : DL_CompareOp<"ge", "x >= other", "greater_equal"> {
  let summary = "Greater than or equal, x >= other";
  let onnx = "GreaterOrEqual(x, other)";
  let description = [{
    A bool. False where either is NaN. PyTorch: `torch.ge`.
    ```mlir
    %y = dl.ge %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
    ```
  }];
}
def DL_LogicalAndOp : DL_CompareOp<"logical_and", "x.toBool() & other.toBool()"> {
  let summary = "Both are true";
  let onnx = "And(x, other)";
  let description = [{
    A bool; numbers are true where they differ from zero, NaN too. PyTorch: `torch.logical_and`.
    ```mlir
    %y = dl.logical_and %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
    ```
  }];
}
def DL_LogicalOrOp : DL_CompareOp<"logical_or", "x.toBool() | other.toBool()"> {
  let summary = "Either is true";
  let onnx = "Or(x, other)";
  let description = [{
    A bool; numbers are true where they differ from zero, NaN too. PyTorch: `torch.logical_or`.
    ```mlir
    %y = dl.logical_or %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
    ```
  }];
}
def DL_LogicalXorOp : DL_CompareOp<"logical_xor", "x.toBool() ^ other.toBool()"> {
  let summary = "Just one is true";
  let onnx = "Xor(x, other)";
  let description = [{
    A bool; numbers are true where they differ from zero, NaN too. PyTorch: `torch.logical_xor`.
    ```mlir
    %y = dl.logical_xor %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
    ```
  }];
}
def DL_LogicalNotOp : DL_PredicateOp<"logical_not", DL_Tensor, "!x"> {
  let summary = "Is false, or zero";
  let onnx = "Not(x)";
  let description = [{
    A bool. PyTorch: `torch.logical_not`.
    ```mlir
    %y = dl.logical_not %x : (tensor<4x8xf32>) -> tensor<4x8xi1>
    ```
  }];
}
def DL_IsNanOp : DL_PredicateOp<"isnan", DL_FloatTensor, "isNan(x)"> {
  let summary = "Is not a number";
  let onnx = "IsNaN(x)";
  let description = [{
    A bool. PyTorch: `torch.isnan`.
    ```mlir
    %y = dl.isnan %x : (tensor<4x8xf32>) -> tensor<4x8xi1>
    ```
  }];
}
def DL_IsInfOp : DL_PredicateOp<"isinf", DL_FloatTensor,
                                "abs(x) == std::numeric_limits<double>::infinity()"> {
  let summary = "Is infinite, of either sign";
  let description = [{
    A bool. PyTorch: `torch.isinf`.
    ```mlir
    %y = dl.isinf %x : (tensor<4x8xf32>) -> tensor<4x8xi1>
    ```
  }];
}
def DL_IsFiniteOp : DL_PredicateOp<"isfinite", DL_FloatTensor,
                                   "abs(x) < std::numeric_limits<double>::infinity()"> {
  let summary = "Is neither infinite nor NaN";
  let description = [{
    A bool. PyTorch: `torch.isfinite`.
    ```mlir
    %y = dl.isfinite %x : (tensor<4x8xf32>) -> tensor<4x8xi1>
    ```
  }];
}
def DL_BitwiseAndOp : DL_BinaryOp<"bitwise_and", "bitwise_and(Tensor x, Tensor other)",
                                  DL_BitsTensor, "x & other", [Commutative]> {
  let summary = "Bits set in both";
  let onnx = "BitwiseAnd(x, other)";
  let description = [{
    Of integers and bools. PyTorch: `torch.bitwise_and`.
    ```mlir
    %y = dl.bitwise_and %a, %b : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
    ```
  }];
}
def DL_BitwiseOrOp : DL_BinaryOp<"bitwise_or", "bitwise_or(Tensor x, Tensor other)", DL_BitsTensor,
                                 "x | other", [Commutative]> {
  let summary = "Bits set in either";
  let onnx = "BitwiseOr(x, other)";
  let description = [{
    Of integers and bools. PyTorch: `torch.bitwise_or`.
    ```mlir
    %y = dl.bitwise_or %a, %b : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
    ```
  }];
}
def DL_BitwiseXorOp : DL_BinaryOp<"bitwise_xor", "bitwise_xor(Tensor x, Tensor other)",
                                  DL_BitsTensor, "x ^ other", [Commutative]> {
  let summary = "Bits set in just one";
  let onnx = "BitwiseXor(x, other)";
  let description = [{
    Of integers and bools. PyTorch: `torch.bitwise_xor`.
    ```mlir
    %y = dl.bitwise_xor %a, %b : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
    ```
  }];
}
def DL_BitwiseNotOp : DL_UnaryOp<"bitwise_not", "bitwise_not(Tensor x)", DL_BitsTensor,
                                 "x ^ x.allOnes()"> {
  let summary = "Bits that are not set";
  let onnx = "BitwiseNot(x)";
  let description = [{
    Of integers and bools. PyTorch: `torch.bitwise_not`.
    ```mlir
    %y = dl.bitwise_not %x : (tensor<4x8xi32>) -> tensor<4x8xi32>
    ```
  }];
}
def DL_WhereOp : DL_TernaryOp<"where", "where(BoolTensor condition, Tensor x, Tensor other)",
    DL_Tensor, ["condition", "x", "other"], "select(condition, x, other)", "inferChoice"> {
  let summary = "One of two values, by a condition";
  let onnx = "Where(condition, x, other)";
  let description = [{
    x where the condition is true, else other. PyTorch: `torch.where`.
    ```mlir
    %y = dl.where %a, %b, %c : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_BoolTensor:$condition, DL_Tensor:$x, DL_Tensor:$other);
}
def DL_MaskedFillOp : DL_ElementwiseOp<"masked_fill",
    "masked_fill(Tensor x, BoolTensor mask, float value)",
    "select(mask, x.constant(getValue().convertToDouble()), x)", [], "inferFilled"> {
  let summary = "A number where a mask is true";
  let description = [{
    x elsewhere; x and mask are broadcast. An integer type takes the nearest number that it has.
    PyTorch: `torch.masked_fill`.
    ```mlir
    %y = dl.masked_fill %x, %mask {value = 0.0 : f64} : (tensor<4x8xf32>, tensor<4x8xi1>) ->
        tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_Tensor:$x, DL_BoolTensor:$mask, F64Attr:$value);
  let results = (outs DL_Tensor:$y);
  let scalars = [{
    Scalar x(builder, loc, args[0], ::dlc::dl::kindOf(getX()));
    Scalar mask(builder, loc, args[1], ::dlc::ScalarKind::boolean);
  }];
}

#endif // DLC_IR_DL_DLCOMPARE_TD
