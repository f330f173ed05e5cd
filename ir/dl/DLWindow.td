//===- DLWindow.td - Reductions over a sliding window ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_DLWINDOW_TD
#define DLC_IR_DL_DLWINDOW_TD

include "ir/dl/DLBase.td"

def DL_MaxPool2dOp : DL_LoopOp<"max_pool2d",
    "max_pool2d(Tensor x, int[2] kernel_size, int[2]? stride=None, int[2] padding=0, int[2] dilation=1, bool ceil_mode=False)",
    ["emitTerm"]> {
  let summary = "Largest value of each window";
  let description = [{
    x is [N, C, H, W]; stride defaults to the window. Padding never wins; NaN does. With `ceil_mode` a last window may
    begin inside the input or its left padding and end outside. PyTorch: `torch.nn.functional.max_pool2d`.
    ```mlir
    %y = dl.max_pool2d %x {kernel_size = array<i64: 2, 2>} : (tensor<8x16x32x32xf32>) -> tensor<8x16x16x16xf32>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, DenseI64ArrayAttr:$kernel_size,
      OptionalAttr<DenseI64ArrayAttr>:$stride,
      DefaultValuedAttr<DenseI64ArrayAttr, "{0, 0}">:$padding,
      DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">:$dilation,
      DefaultValuedAttr<BoolAttr, "false">:$ceil_mode);
  let results = (outs DL_NumberTensor:$y);
}

def DL_AvgPool2dOp : DL_LoopOp<"avg_pool2d",
    "avg_pool2d(Tensor x, int[2] kernel_size, int[2]? stride=None, int[2] padding=0, bool ceil_mode=False, bool count_include_pad=True)",
    ["emitTerm", "emitResult"]> {
  let summary = "Mean of each window";
  let description = [{
    x is [N, C, H, W]; stride defaults to the window. The divisor counts the padding (never what lies beyond it), or with
    `count_include_pad = false` only elements of x. PyTorch: `torch.nn.functional.avg_pool2d`.
    ```mlir
    %y = dl.avg_pool2d %x {kernel_size = array<i64: 8, 8>} : (tensor<8x64x8x8xf32>) -> tensor<8x64x1x1xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, DenseI64ArrayAttr:$kernel_size,
      OptionalAttr<DenseI64ArrayAttr>:$stride,
      DefaultValuedAttr<DenseI64ArrayAttr, "{0, 0}">:$padding,
      DefaultValuedAttr<BoolAttr, "false">:$ceil_mode,
      DefaultValuedAttr<BoolAttr, "true">:$count_include_pad);
  let results = (outs DL_FloatTensor:$y);
}

#endif // DLC_IR_DL_DLWINDOW_TD
