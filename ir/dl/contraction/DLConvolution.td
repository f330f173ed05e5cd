//===- DLConvolution.td - Convolutions over one to three spatial dims -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_DLCONVOLUTION_TD
#define DLC_IR_DL_DLCONVOLUTION_TD

include "ir/dl/contraction/DLContraction.td"

/// `ones` and `zeros` are the defaults for each spatial dim.
class DL_ConvOp<string mnemonic, int rank, string torchSchema, string ones, string zeros>
    : DL_ContractionOp<mnemonic, torchSchema> {
  let batchedRank = rank;
  let arguments = (ins DL_NumberTensor:$x, DL_NumberTensor:$weight, Optional<DL_NumberTensor>:$bias,
      DefaultValuedAttr<DenseI64ArrayAttr, ones>:$stride,
      DefaultValuedAttr<DenseI64ArrayAttr, zeros>:$padding,
      DefaultValuedAttr<DenseI64ArrayAttr, ones>:$dilation,
      DefaultValuedAttr<I64Attr, "1">:$groups);
}

def DL_Conv1dOp : DL_ConvOp<"conv1d", 3,
    "conv1d(Tensor x, Tensor weight, Tensor? bias=None, int[1] stride=1, int[1] padding=0, int[1] dilation=1, int groups=1)",
    "{1}", "{0}"> {
  let summary = "1-D convolution (cross-correlation)";
  let description = [{
    x is [N, C, L], weight [K, C/groups, R], bias [K]; the result [N, K, L'] with L' = floor((L +
    padding - dilation*(R-1) - 1) / stride) + 1. `padding` is one width for both sides, or [left,
    right]. PyTorch: `torch.nn.functional.conv1d`.
    ```mlir
    %y = dl.conv1d %x, %w {stride = array<i64: 2>, padding = array<i64: 1>} :
        (tensor<8x4x100xf32>, tensor<16x4x3xf32>) -> tensor<8x16x50xf32>
    ```
  }];
}

def DL_Conv2dOp : DL_ConvOp<"conv2d", 4,
    "conv2d(Tensor x, Tensor weight, Tensor? bias=None, int[2] stride=1, int[2] padding=0, int[2] dilation=1, int groups=1)",
    "{1, 1}", "{0, 0}"> {
  let summary = "2-D convolution (cross-correlation)";
  let description = [{
    x is [N, C, H, W], weight [K, C/groups, R, S], bias [K]; the result [N, K, H', W'] with H' =
    floor((H + padding - dilation*(R-1) - 1) / stride) + 1. `padding` is [h, w], or [top, left,
    bottom, right] where the sides differ (`padding="same"` of even windows). PyTorch:
    `torch.nn.functional.conv2d`.
    ```mlir
    %y = dl.conv2d %x, %w, %b {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>} :
        (tensor<8x3x32x32xf32>, tensor<16x3x3x3xf32>, tensor<16xf32>) -> tensor<8x16x16x16xf32>
    ```
  }];
}

def DL_Conv3dOp : DL_ConvOp<"conv3d", 5,
    "conv3d(Tensor x, Tensor weight, Tensor? bias=None, int[3] stride=1, int[3] padding=0, int[3] dilation=1, int groups=1)",
    "{1, 1, 1}", "{0, 0, 0}"> {
  let summary = "3-D convolution (cross-correlation)";
  let description = [{
    x is [N, C, D, H, W], weight [K, C/groups, Q, R, S], bias [K]; otherwise as `dl.conv2d`.
    `padding` is [d, h, w], or the three widths before and then the three behind. PyTorch:
    `torch.nn.functional.conv3d`.
    ```mlir
    %y = dl.conv3d %x, %w {padding = array<i64: 1, 1, 1>} :
        (tensor<1x4x8x8x8xf32>, tensor<16x4x3x3x3xf32>) -> tensor<1x16x8x8x8xf32>
    ```
  }];
}

class DL_ConvTransposeOp<string mnemonic, int rank, string torchSchema, string ones, string zeros>
    : DL_DecomposedOp<mnemonic, torchSchema> {
  let batchedRank = rank;
  let arguments = (ins DL_NumberTensor:$x, DL_NumberTensor:$weight, Optional<DL_NumberTensor>:$bias,
      DefaultValuedAttr<DenseI64ArrayAttr, ones>:$stride,
      DefaultValuedAttr<DenseI64ArrayAttr, zeros>:$padding,
      DefaultValuedAttr<DenseI64ArrayAttr, zeros>:$output_padding,
      DefaultValuedAttr<I64Attr, "1">:$groups,
      DefaultValuedAttr<DenseI64ArrayAttr, ones>:$dilation);
  let results = (outs DL_NumberTensor:$y);
}

def DL_ConvTranspose1dOp : DL_ConvTransposeOp<"conv_transpose1d", 3,
    "conv_transpose1d(Tensor x, Tensor weight, Tensor? bias=None, int[1] stride=1, int[1] padding=0, int[1] output_padding=0, int groups=1, int[1] dilation=1)",
    "{1}", "{0}"> {
  let summary = "1-D transposed convolution";
  let description = [{
    x is [N, C, L], weight [C, K/groups, R], bias [K]; the result [N, K, L'] with L' = (L-1)*stride
    - 2*padding + dilation*(R-1) + output_padding + 1. Becomes a convolution that computes `stride`
    neighbours at once as channels, and `dl.depth_to_space`. PyTorch:
    `torch.nn.functional.conv_transpose1d`.
    ```mlir
    %y = dl.conv_transpose1d %x, %w {stride = array<i64: 2>, padding = array<i64: 1>} :
        (tensor<8x4x50xf32>, tensor<4x16x4xf32>) -> tensor<8x16x100xf32>
    ```
  }];
}

def DL_ConvTranspose2dOp : DL_ConvTransposeOp<"conv_transpose2d", 4,
    "conv_transpose2d(Tensor x, Tensor weight, Tensor? bias=None, int[2] stride=1, int[2] padding=0, int[2] output_padding=0, int groups=1, int[2] dilation=1)",
    "{1, 1}", "{0, 0}"> {
  let summary = "2-D transposed convolution";
  let description = [{
    x is [N, C, H, W], weight [C, K/groups, R, S], bias [K]; each spatial dim as that of
    `dl.conv_transpose1d`. PyTorch: `torch.nn.functional.conv_transpose2d`.
    ```mlir
    %y = dl.conv_transpose2d %x, %w {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>} :
        (tensor<8x64x4x4xf32>, tensor<64x32x4x4xf32>) -> tensor<8x32x8x8xf32>
    ```
  }];
}

def DL_ConvTranspose3dOp : DL_ConvTransposeOp<"conv_transpose3d", 5,
    "conv_transpose3d(Tensor x, Tensor weight, Tensor? bias=None, int[3] stride=1, int[3] padding=0, int[3] output_padding=0, int groups=1, int[3] dilation=1)",
    "{1, 1, 1}", "{0, 0, 0}"> {
  let summary = "3-D transposed convolution";
  let description = [{
    x is [N, C, D, H, W], weight [C, K/groups, Q, R, S], bias [K]; each spatial dim as that of
    `dl.conv_transpose1d`. PyTorch: `torch.nn.functional.conv_transpose3d`.
    ```mlir
    %y = dl.conv_transpose3d %x, %w {stride = array<i64: 2, 2, 2>} :
        (tensor<1x8x4x4x4xf32>, tensor<8x4x2x2x2xf32>) -> tensor<1x4x8x8x8xf32>
    ```
  }];
}

def DL_DepthToSpaceOp : DL_LoopOp<"depth_to_space", "", ["emitResult"]> {
  let precision = "follow";
  let summary = "Channels laid out as neighbouring pixels";
  let description = [{
    x is [N, block*K, L, ...]; the result [N, K, L*block - crop, ...], where index l of a spatial
    dim, counted before the crop, is pixel l / block of the channels of phase l mod block. `groups`
    says how phases and channels share dim 1 of x: it is (groups, phase of the first spatial dim,
    ..., K/groups). With groups = K this is PyTorch's order (`torch.nn.functional.pixel_shuffle`,
    which becomes this op); with groups = 1 channels stay neighbours. `crop` holds the widths cut
    off before each spatial dim, and then those behind.
    ```mlir
    %y = dl.depth_to_space %x {block = array<i64: 2, 2>, crop = array<i64: 1, 1, 1, 1>,
        groups = 1 : i64} :
        (tensor<8x64x5x5xf32>) -> tensor<8x16x8x8xf32>
    ```
  }];
  let arguments = (ins DL_Tensor:$x, DenseI64ArrayAttr:$block, DenseI64ArrayAttr:$crop,
                       I64Attr:$groups);
  let results = (outs DL_Tensor:$y);
}

def DL_PixelShuffleOp : DL_DecomposedOp<"pixel_shuffle",
                                        "pixel_shuffle(Tensor x, int upscale_factor)"> {
  let summary = "Channels laid out as blocks of pixels";
  let description = [{
    x is [N, C*r*r, H, W], the result [N, C, H*r, W*r]. Becomes `dl.depth_to_space`. PyTorch:
    `torch.nn.functional.pixel_shuffle`.
    ```mlir
    %y = dl.pixel_shuffle %x {upscale_factor = 2 : i64} : (tensor<8x64x5x5xf32>) ->
        tensor<8x16x10x10xf32>
    ```
  }];
  let arguments = (ins DL_Tensor:$x, I64Attr:$upscale_factor);
  let results = (outs DL_Tensor:$y);
}

#endif // DLC_IR_DL_DLCONVOLUTION_TD
