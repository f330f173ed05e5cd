//===- DLLinalg.td - Products along a dim, and determinants -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_DLLINALG_TD
#define DLC_IR_DL_DLLINALG_TD

include "ir/dl/base/DLBase.td"

def DL_CumprodOp : DL_DecomposedOp<"cumprod",
                                   "cumprod(Tensor x, int dim, ScalarType? dtype=None)"> {
  let summary = "Products of all elements up to each along a dim";
  let description = [{
    Integers and bools are multiplied as i64. With `dtype`, each element is converted first. Becomes
    products of elements 1, 2, 4 ... apart. PyTorch: `torch.cumprod`.
    ```mlir
    %y = dl.cumprod %x {dim = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_Tensor:$x, I64Attr:$dim, OptionalAttr<TypeAttr>:$dtype);
  let results = (outs DL_NumberTensor:$y);
}

def DL_DetOp : DL_DecomposedOp<"det", "det(Tensor x)"> {
  let summary = "Determinants of square matrices";
  let onnx = "Det@11(x)";
  let description = [{
    x is [..., n, n], n a number up to 64. Elimination with the largest element of each column as
    pivot. PyTorch: `torch.det`.
    ```mlir
    %y = dl.det %x : (tensor<4x3x3xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x);
  let results = (outs DL_FloatTensor:$y);
}

#endif // DLC_IR_DL_DLLINALG_TD
