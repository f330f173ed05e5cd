//===- DLPatch.td - Images as the patches that a window shows, and back -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_DLPATCH_TD
#define DLC_IR_DL_DLPATCH_TD

include "ir/dl/index/DLIndex.td"

def DL_PatchesOp : DL_LoopOp<"patches", "", ["emitResult"]> {
  let precision = "follow";
  let summary = "What a window shows at each of its places";
  let description = [{
    x is [N, C, ...]; the result [N, C, window..., places...], zeros from the padding. PyTorch: what
    `torch.nn.functional.unfold` lays out in three dims.
    ```mlir
    %y = dl.patches %x {kernel_size = array<i64: 2, 2>, stride = array<i64: 2, 2>,
        padding = array<i64: 0, 0>,
        dilation = array<i64: 1, 1>} : (tensor<1x3x8x6xf32>) -> tensor<1x3x2x2x4x3xf32>
    ```
  }];
  let arguments = (ins DL_Tensor:$x, DenseI64ArrayAttr:$kernel_size, DenseI64ArrayAttr:$dilation,
                       DenseI64ArrayAttr:$padding,
      DenseI64ArrayAttr:$stride);
  let results = (outs DL_Tensor:$y);
}

def DL_OverlapAddOp : DL_LoopOp<"overlap_add", "", ["emitTerm"]> {
  let summary = "The sum of the windows that lie over each element";
  let description = [{
    x is [N, C, window..., places...], as `dl.patches` gives it; the result [N, C, output_size...].
    PyTorch: what `torch.nn.functional.fold` does to three dims.
    ```mlir
    %y = dl.overlap_add %x {output_size = affine_map<() -> (8, 6)>, dilation = array<i64: 1, 1>,
        padding = array<i64: 0, 0>,
        stride = array<i64: 2, 2>} : (tensor<1x3x2x2x4x3xf32>) -> tensor<1x3x8x6xf32>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, AffineMapAttr:$output_size, DenseI64ArrayAttr:$dilation,
                       DenseI64ArrayAttr:$padding,
      DenseI64ArrayAttr:$stride);
  let results = (outs DL_NumberTensor:$y);
}

def DL_UnfoldOp : DL_DecomposedOp<"unfold",
    "unfold(Tensor x, int[2] kernel_size, int[2] dilation=1, int[2] padding=0, int[2] stride=1)"> {
  let batchedRank = 4;
  let summary = "The patches of an image, one in each column";
  let description = [{
    x is [N, C, H, W], the result [N, C * kernel_size, places]. Becomes `dl.patches`. PyTorch:
    `torch.nn.functional.unfold`.
    ```mlir
    %y = dl.unfold %x {kernel_size = array<i64: 2, 2>, stride = array<i64: 2, 2>} :
        (tensor<1x3x8x6xf32>) -> tensor<1x12x12xf32>
    ```
  }];
  let arguments = (ins DL_Tensor:$x, DenseI64ArrayAttr:$kernel_size,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">:$dilation,
      DefaultValuedAttr<DenseI64ArrayAttr, "{0, 0}">:$padding,
      DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">:$stride);
  let results = (outs DL_Tensor:$y);
}

def DL_FoldOp : DL_DecomposedOp<"fold", [{fold(Tensor x, SymInt[] output_size, int[2] kernel_size, int[2] dilation=1, int[2] padding=0, int[2] stride=1)
col2im(Tensor x, SymInt[] output_size, int[] kernel_size, int[] dilation, int[] padding, int[] stride)}]> {
  let batchedRank = 3;
  let summary = "Patches laid over one another and added";
  let description = [{
    x is [N, C * kernel_size, places] for the places of a window of kernel_size over [N, C,
    output_size...], which is the result; col2im takes any number of dims. Becomes `dl.overlap_add`.
    PyTorch: `torch.nn.functional.fold`.
    ```mlir
    %y = dl.fold %x {output_size = affine_map<() -> (8, 6)>, kernel_size = array<i64: 2, 2>,
        stride = array<i64: 2, 2>} :
        (tensor<1x12x12xf32>) -> tensor<1x3x8x6xf32>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, AffineMapAttr:$output_size,
                       DenseI64ArrayAttr:$kernel_size,
      DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">:$dilation,
      DefaultValuedAttr<DenseI64ArrayAttr, "{0, 0}">:$padding,
      DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">:$stride);
  let results = (outs DL_NumberTensor:$y);
}

//===- The way back from a pool ---------------------------------------------------------------===//

class DL_MaxUnpoolOp<string mnemonic, int rank, string torchSchema,
                     string zeros> : DL_DecomposedOp<mnemonic, torchSchema> {
  let batchedRank = rank;
  let arguments = (ins DL_NumberTensor:$x, DL_IndexTensor:$indices, DenseI64ArrayAttr:$kernel_size,
      OptionalAttr<DenseI64ArrayAttr>:$stride, DefaultValuedAttr<DenseI64ArrayAttr, zeros>:$padding,
      OptionalAttr<AffineMapAttr>:$output_size);
  let results = (outs DL_NumberTensor:$y);
}
def DL_MaxUnpool1dOp : DL_MaxUnpoolOp<"max_unpool1d", 0,
    "max_unpool1d(Tensor x, Tensor indices, int[1] kernel_size, int[1]? stride=None, int[1] padding=0, SymInt[]? output_size=None)",
    "{0}"> {
  let summary = "The largest values of windows of a line, back where they stood";
  let description = [{
    x is [N, C, L]; otherwise as `dl.max_unpool2d`. PyTorch: `torch.nn.functional.max_unpool1d`.
    ```mlir
    %y = dl.max_unpool1d %x, %i {kernel_size = array<i64: 2>} :
        (tensor<1x3x4xf32>, tensor<1x3x4xi64>) -> tensor<1x3x8xf32>
    ```
  }];
}
def DL_MaxUnpool2dOp : DL_MaxUnpoolOp<"max_unpool2d", 0,
    "max_unpool2d(Tensor x, Tensor indices, int[2] kernel_size, int[2]? stride=None, int[2] padding=0, SymInt[]? output_size=None)",
    "{0, 0}"> {
  let summary = "The largest values of windows, back where they stood";
  let description = [{
    x and indices are [N, C, H, W], as `dl.max_pool2d_with_indices` gives them: an index counts the
    elements of the image row by row. Zeros elsewhere; of equal indices the last counts, and one
    outside the image is dropped. `output_size` is that of the image, with or without [N, C];
    without it, the least that the pool can have had. Becomes `dl.scatter`. PyTorch:
    `torch.nn.functional.max_unpool2d`.
    ```mlir
    %y = dl.max_unpool2d %x, %i {kernel_size = array<i64: 2, 2>} :
        (tensor<1x3x4x4xf32>, tensor<1x3x4x4xi64>) -> tensor<1x3x8x8xf32>
    ```
  }];
}
def DL_MaxUnpool3dOp : DL_MaxUnpoolOp<"max_unpool3d", 0,
    "max_unpool3d(Tensor x, Tensor indices, int[3] kernel_size, int[3]? stride=None, int[3] padding=0, SymInt[]? output_size=None)",
    "{0, 0, 0}"> {
  let summary = "The largest values of windows of a volume, back where they stood";
  let description = [{
    x is [N, C, D, H, W]; otherwise as `dl.max_unpool2d`. PyTorch:
    `torch.nn.functional.max_unpool3d`.
    ```mlir
    %y = dl.max_unpool3d %x, %i {kernel_size = array<i64: 2, 2, 2>} :
        (tensor<1x3x4x4x4xf32>, tensor<1x3x4x4x4xi64>) -> tensor<1x3x8x8x8xf32>
    ```
  }];
}

#endif // DLC_IR_DL_DLPATCH_TD
