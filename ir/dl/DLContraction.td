//===- DLContraction.td - Sums of products: convolution and matrix multiplication --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_DLCONTRACTION_TD
#define DLC_IR_DL_DLCONTRACTION_TD

include "ir/dl/DLBase.td"

class DL_ContractionOp<string mnemonic, string torchSchema>
    : DL_LoopOp<mnemonic, torchSchema, ["emitTerm", "emitResult"]> {
  let results = (outs DL_NumberTensor:$y);
  let extraClassDefinition = compatibleDefinition # [{
    ::mlir::Value $cppClass::emitTerm(::dlc::BodyContext &context, unsigned, ::mlir::ValueRange args,
                                      ::mlir::ValueRange) {
      return ::dlc::dl::emitProduct(context, args, getElementTypeOrSelf(getX()));
    }
    ::mlir::Value $cppClass::emitResult(::dlc::BodyContext &context, ::mlir::ValueRange args,
                                        ::mlir::ValueRange accs) {
      return ::dlc::dl::emitBias(context, args, accs, getElementTypeOrSelf(getX()));
    }
  }];
}

def DL_Conv2dOp : DL_ContractionOp<"conv2d",
    "conv2d(Tensor x, Tensor weight, Tensor? bias=None, int[2] stride=1, int[2] padding=0, int[2] dilation=1, int groups=1)"> {
  let summary = "2-D convolution (cross-correlation)";
  let description = [{
    x is [N, C, H, W], weight [K, C/groups, R, S], bias [K]; the result [N, K, H', W'] with
    H' = floor((H + padding - dilation*(R-1) - 1) / stride) + 1. `padding` is [h, w], or [top, left, bottom, right]
    where the sides differ (`padding="same"` of even windows). PyTorch: `torch.nn.functional.conv2d`.
    ```mlir
    %y = dl.conv2d %x, %w, %b {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>} :
        (tensor<8x3x32x32xf32>, tensor<16x3x3x3xf32>, tensor<16xf32>) -> tensor<8x16x16x16xf32>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, DL_NumberTensor:$weight, Optional<DL_NumberTensor>:$bias,
      DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">:$stride,
      DefaultValuedAttr<DenseI64ArrayAttr, "{0, 0}">:$padding,
      DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">:$dilation,
      DefaultValuedAttr<I64Attr, "1">:$groups);
}

def DL_LinearOp : DL_ContractionOp<"linear", "linear(Tensor x, Tensor weight, Tensor? bias=None)"> {
  let summary = "x times the transposed weight, plus bias";
  let description = [{
    x is [..., K], weight [N, K], bias [N]; the result [..., N]. PyTorch: `torch.nn.functional.linear`.
    ```mlir
    %y = dl.linear %x, %w, %b : (tensor<8x784xf32>, tensor<10x784xf32>, tensor<10xf32>) -> tensor<8x10xf32>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, DL_NumberTensor:$weight, Optional<DL_NumberTensor>:$bias);
}

def DL_MatmulOp : DL_ContractionOp<"matmul", "matmul(Tensor x, Tensor other)\nbmm(Tensor x, Tensor other)\nmm(Tensor x, Tensor other)"> {
  let summary = "Matrix product, batched over the leading dims";
  let description = [{
    x is [..., M, K], other [..., K, N]; leading dims broadcast. PyTorch: `torch.matmul` of operands of rank 2 or more.
    ```mlir
    %y = dl.matmul %a, %b : (tensor<12x64x32xf32>, tensor<12x32x64xf32>) -> tensor<12x64x64xf32>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, DL_NumberTensor:$other);
}

#endif // DLC_IR_DL_DLCONTRACTION_TD
