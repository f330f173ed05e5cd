//===- DLWindow.td - Reductions over a sliding window -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_DLWINDOW_TD
#define DLC_IR_DL_DLWINDOW_TD

include "ir/dl/base/DLBase.td"

//===- Windows that slide by a stride ---------------------------------------------------------===//

class DL_MaxPoolOp<string mnemonic, int rank, string torchSchema, string ones, string zeros>
    : DL_LoopOp<mnemonic, torchSchema, ["emitTerm"]> {
  let precision = "follow";
  let batchedRank = rank;
  let arguments = (ins DL_NumberTensor:$x, DenseI64ArrayAttr:$kernel_size,
                       OptionalAttr<DenseI64ArrayAttr>:$stride,
      DefaultValuedAttr<DenseI64ArrayAttr, zeros>:$padding,
      DefaultValuedAttr<DenseI64ArrayAttr, ones>:$dilation,
      DefaultValuedAttr<BoolAttr, "false">:$ceil_mode);
  let results = (outs DL_NumberTensor:$y);
  let extraClassDefinition = compatibleDefinition # [{
    ::mlir::Value $cppClass::emitTerm(::dlc::BodyContext &, unsigned, ::mlir::ValueRange args,
                                      ::mlir::ValueRange) {
      return args.front();
    }
  }];
}

def DL_MaxPool1dOp : DL_MaxPoolOp<"max_pool1d", 3,
    "max_pool1d(Tensor x, int[1] kernel_size, int[1]? stride=None, int[1] padding=0, int[1] dilation=1, bool ceil_mode=False, False return_indices=False)",
    "{1}", "{0}"> {
  let summary = "Largest value of each window of a line";
  let description = [{
    x is [N, C, L]; otherwise as `dl.max_pool2d`. PyTorch: `torch.nn.functional.max_pool1d`.
    ```mlir
    %y = dl.max_pool1d %x {kernel_size = array<i64: 2>} : (tensor<8x16x32xf32>) ->
        tensor<8x16x16xf32>
    ```
  }];
}
def DL_MaxPool2dOp : DL_MaxPoolOp<"max_pool2d", 4,
    "max_pool2d(Tensor x, int[2] kernel_size, int[2]? stride=None, int[2] padding=0, int[2] dilation=1, bool ceil_mode=False, False return_indices=False)",
    "{1, 1}", "{0, 0}"> {
  let summary = "Largest value of each window";
  let description = [{
    x is [N, C, H, W]; stride defaults to the window. Padding never wins; NaN does. With `ceil_mode`
    a last window may begin inside the input or its left padding and end outside. PyTorch:
    `torch.nn.functional.max_pool2d`.
    ```mlir
    %y = dl.max_pool2d %x {kernel_size = array<i64: 2, 2>} : (tensor<8x16x32x32xf32>) ->
        tensor<8x16x16x16xf32>
    ```
  }];
}
def DL_MaxPool3dOp : DL_MaxPoolOp<"max_pool3d", 5,
    "max_pool3d(Tensor x, int[3] kernel_size, int[3]? stride=None, int[3] padding=0, int[3] dilation=1, bool ceil_mode=False, False return_indices=False)",
    "{1, 1, 1}", "{0, 0, 0}"> {
  let summary = "Largest value of each window of a volume";
  let description = [{
    x is [N, C, D, H, W]; otherwise as `dl.max_pool2d`. PyTorch: `torch.nn.functional.max_pool3d`.
    ```mlir
    %y = dl.max_pool3d %x {kernel_size = array<i64: 2, 2, 2>} : (tensor<1x4x8x8x8xf32>) ->
        tensor<1x4x4x4x4xf32>
    ```
  }];
}

class DL_MaxPositionsOp<string mnemonic, string ones, string zeros>
    : DL_LoopOp<mnemonic, "", ["emitTerm", "emitResult"]> {
  let precision = "follow";
  let arguments = (ins DL_NumberTensor:$x, DenseI64ArrayAttr:$kernel_size,
                       OptionalAttr<DenseI64ArrayAttr>:$stride,
      DefaultValuedAttr<DenseI64ArrayAttr, zeros>:$padding,
      DefaultValuedAttr<DenseI64ArrayAttr, ones>:$dilation,
      DefaultValuedAttr<BoolAttr, "false">:$ceil_mode);
  let results = (outs RankedTensorOf<[I64]>:$y);
  let extraClassDefinition = compatibleDefinition # [{
    ::mlir::Value $cppClass::emitTerm(::dlc::BodyContext &, unsigned, ::mlir::ValueRange args,
                                      ::mlir::ValueRange) {
      return args.front();
    }
  }];
}
def DL_MaxPositions1dOp : DL_MaxPositionsOp<"max_positions1d", "{1}", "{0}"> {
  let summary = "Where the largest value of each window of a line stands";
  let description = [{
    x is [N, C, L]; otherwise as `dl.max_positions2d`.
    ```mlir
    %y = dl.max_positions1d %x {kernel_size = array<i64: 2>} : (tensor<8x16x32xf32>) ->
        tensor<8x16x16xi64>
    ```
  }];
}
def DL_MaxPositions2dOp : DL_MaxPositionsOp<"max_positions2d", "{1, 1}", "{0, 0}"> {
  let summary = "Where the largest value of each window stands";
  let description = [{
    The windows of `dl.max_pool2d`. A position counts the elements of an image row by row, its
    padding left out; of several largest the first counts, and NaN before all.
    ```mlir
    %y = dl.max_positions2d %x {kernel_size = array<i64: 2, 2>} : (tensor<8x16x32x32xf32>) ->
        tensor<8x16x16x16xi64>
    ```
  }];
}

class DL_MaxPoolWithIndicesOp<string mnemonic, int rank, string torchSchema, string ones,
                              string zeros>
    : DL_DecomposedOp<mnemonic, torchSchema> {
  let batchedRank = rank;
  let arguments = (ins DL_NumberTensor:$x, DenseI64ArrayAttr:$kernel_size,
                       OptionalAttr<DenseI64ArrayAttr>:$stride,
      DefaultValuedAttr<DenseI64ArrayAttr, zeros>:$padding,
      DefaultValuedAttr<DenseI64ArrayAttr, ones>:$dilation,
      DefaultValuedAttr<BoolAttr, "false">:$ceil_mode);
  let results = (outs DL_NumberTensor:$values, RankedTensorOf<[I64]>:$indices);
}
def DL_MaxPool1dWithIndicesOp : DL_MaxPoolWithIndicesOp<"max_pool1d_with_indices", 3, [{max_pool1d_with_indices(Tensor x, int[1] kernel_size, int[1]? stride=None, int[1] padding=0, int[1] dilation=1, bool ceil_mode=False) -> (Tensor values, Tensor indices)
max_pool1d(Tensor x, int[1] kernel_size, int[1]? stride=None, int[1] padding=0, int[1] dilation=1, bool ceil_mode=False, True return_indices) -> (Tensor values, Tensor indices)}],
    "{1}", "{0}"> {
  let summary = "Largest value of each window of a line, and its position";
  let description = [{
    x is [N, C, L]; otherwise as `dl.max_pool2d_with_indices`. PyTorch:
    `torch.nn.functional.max_pool1d` with return_indices.
    ```mlir
    %y, %i = dl.max_pool1d_with_indices %x {kernel_size = array<i64: 2>} :
        (tensor<8x16x32xf32>) -> (tensor<8x16x16xf32>, tensor<8x16x16xi64>)
    ```
  }];
}
def DL_MaxPool2dWithIndicesOp : DL_MaxPoolWithIndicesOp<"max_pool2d_with_indices", 4, [{max_pool2d_with_indices(Tensor x, int[2] kernel_size, int[2]? stride=None, int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor values, Tensor indices)
max_pool2d(Tensor x, int[2] kernel_size, int[2]? stride=None, int[2] padding=0, int[2] dilation=1, bool ceil_mode=False, True return_indices) -> (Tensor values, Tensor indices)}],
    "{1, 1}", "{0, 0}"> {
  let summary = "Largest value of each window, and its position";
  let description = [{
    A position counts the elements of the image row by row; of several largest values the first
    counts, of several NaN the first too (PyTorch: the last). Becomes `dl.max_pool2d` and
    `dl.max_positions2d`. PyTorch: `torch.nn.functional.max_pool2d` with return_indices.
    ```mlir
    %y, %i = dl.max_pool2d_with_indices %x {kernel_size = array<i64: 2, 2>} :
        (tensor<8x16x32x32xf32>) -> (tensor<8x16x16x16xf32>, tensor<8x16x16x16xi64>)
    ```
  }];
}

class DL_AvgPoolOp<string mnemonic, int rank, string torchSchema, string zeros>
    : DL_LoopOp<mnemonic, torchSchema, ["emitTerm", "emitResult"]> {
  let precision = "follow";
  let batchedRank = rank;
  let arguments = (ins DL_FloatTensor:$x, DenseI64ArrayAttr:$kernel_size,
                       OptionalAttr<DenseI64ArrayAttr>:$stride,
      DefaultValuedAttr<DenseI64ArrayAttr, zeros>:$padding,
      DefaultValuedAttr<BoolAttr, "false">:$ceil_mode,
      DefaultValuedAttr<BoolAttr,
                        "true">:$count_include_pad, OptionalAttr<I64Attr>:$divisor_override);
  let results = (outs DL_FloatTensor:$y);
  let extraClassDefinition = compatibleDefinition # [{
    ::mlir::Value $cppClass::emitTerm(::dlc::BodyContext &, unsigned, ::mlir::ValueRange args,
                                      ::mlir::ValueRange) {
      return args.front();
    }
  }];
}

def DL_AvgPool1dOp : DL_AvgPoolOp<"avg_pool1d", 3,
    "avg_pool1d(Tensor x, int[1] kernel_size, int[1]? stride=None, int[1] padding=0, bool ceil_mode=False, bool count_include_pad=True)",
    "{0}"> {
  let summary = "Mean of each window of a line";
  let description = [{
    x is [N, C, L]; otherwise as `dl.avg_pool2d`. PyTorch: `torch.nn.functional.avg_pool1d`.
    ```mlir
    %y = dl.avg_pool1d %x {kernel_size = array<i64: 8>} : (tensor<8x64x32xf32>) ->
        tensor<8x64x4xf32>
    ```
  }];
}
def DL_AvgPool2dOp : DL_AvgPoolOp<"avg_pool2d", 4,
    "avg_pool2d(Tensor x, int[2] kernel_size, int[2]? stride=None, int[2] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None)",
    "{0, 0}"> {
  let summary = "Mean of each window";
  let description = [{
    x is [N, C, H, W]; stride defaults to the window. The divisor counts the padding (never what
    lies beyond it), or with `count_include_pad = false` only elements of x; `divisor_override`
    takes its place. PyTorch: `torch.nn.functional.avg_pool2d`.
    ```mlir
    %y = dl.avg_pool2d %x {kernel_size = array<i64: 8, 8>} : (tensor<8x64x8x8xf32>) ->
        tensor<8x64x1x1xf32>
    ```
  }];
}
def DL_AvgPool3dOp : DL_AvgPoolOp<"avg_pool3d", 5,
    "avg_pool3d(Tensor x, int[3] kernel_size, int[3]? stride=None, int[3] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None)",
    "{0, 0, 0}"> {
  let summary = "Mean of each window of a volume";
  let description = [{
    x is [N, C, D, H, W]; otherwise as `dl.avg_pool2d`. PyTorch: `torch.nn.functional.avg_pool3d`.
    ```mlir
    %y = dl.avg_pool3d %x {kernel_size = array<i64: 2, 2, 2>} : (tensor<1x4x8x8x8xf32>) ->
        tensor<1x4x4x4x4xf32>
    ```
  }];
}

//===- Windows that divide the input into so many ---------------------------------------------===//

class DL_AdaptivePoolOp<string mnemonic, int rank, string torchSchema,
                        Type type> : DL_DecomposedOp<mnemonic, torchSchema> {
  let batchedRank = rank;
  let arguments = (ins type:$x, DenseI64ArrayAttr:$output_size);
  let results = (outs type:$y);
}

def DL_AdaptiveAvgPool1dOp : DL_AdaptivePoolOp<"adaptive_avg_pool1d", 3,
    "adaptive_avg_pool1d(Tensor x, int?[1] output_size)", DL_FloatTensor> {
  let summary = "Means over a line cut into output_size windows";
  let description = [{
    x is [N, C, L]; otherwise as `dl.adaptive_avg_pool2d`. PyTorch:
    `torch.nn.functional.adaptive_avg_pool1d`.
    ```mlir
    %y = dl.adaptive_avg_pool1d %x {output_size = array<i64: 5>} : (tensor<8x64x32xf32>) ->
        tensor<8x64x5xf32>
    ```
  }];
}
def DL_AdaptiveAvgPool2dOp : DL_AdaptivePoolOp<"adaptive_avg_pool2d", 4,
    "adaptive_avg_pool2d(Tensor x, int?[2] output_size)", DL_FloatTensor> {
  let summary = "Means over an image cut into output_size windows";
  let description = [{
    x is [N, C, H, W]. Window i of a dim of size n, cut into m, is floor(i n / m) to ceil((i+1) n /
    m); None (-1 here) leaves the dim as it is. A symbolic dim can be left, or become 1. Becomes
    `dl.avg_pool2d` where windows are alike, else means of slices. PyTorch:
    `torch.nn.functional.adaptive_avg_pool2d`.
    ```mlir
    %y = dl.adaptive_avg_pool2d %x {output_size = array<i64: 1, 1>} : (tensor<8x64x7x7xf32>) ->
        tensor<8x64x1x1xf32>
    ```
  }];
}
def DL_AdaptiveMaxPool1dOp : DL_AdaptivePoolOp<"adaptive_max_pool1d", 3,
    "adaptive_max_pool1d(Tensor x, int?[1] output_size, False return_indices=False)", DL_NumberTensor> {
  let summary = "Largest values of a line cut into output_size windows";
  let description = [{
    x is [N, C, L], windows as those of `dl.adaptive_avg_pool2d`. PyTorch:
    `torch.nn.functional.adaptive_max_pool1d`.
    ```mlir
    %y = dl.adaptive_max_pool1d %x {output_size = array<i64: 5>} : (tensor<8x64x32xf32>) ->
        tensor<8x64x5xf32>
    ```
  }];
}
def DL_AdaptiveMaxPool2dOp : DL_AdaptivePoolOp<"adaptive_max_pool2d", 4,
    "adaptive_max_pool2d(Tensor x, int?[2] output_size, False return_indices=False)", DL_NumberTensor> {
  let summary = "Largest values of an image cut into output_size windows";
  let description = [{
    x is [N, C, H, W], windows as those of `dl.adaptive_avg_pool2d`. PyTorch:
    `torch.nn.functional.adaptive_max_pool2d`.
    ```mlir
    %y = dl.adaptive_max_pool2d %x {output_size = array<i64: 2, 3>} : (tensor<8x64x7x7xf32>) ->
        tensor<8x64x2x3xf32>
    ```
  }];
}

#endif // DLC_IR_DL_DLWINDOW_TD
