//===- DLRegion.td - Ops that read images at places which a tensor holds ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_DLREGION_TD
#define DLC_IR_DL_DLREGION_TD

include "ir/dl/base/DLBase.td"

//===- Regions --------------------------------------------------------------------------------===//

def DL_RoiAlignOp : DL_LoopOp<"roi_align",
    "roi_align(Tensor x, Tensor boxes, int[2] output_size, float spatial_scale=1.0, int sampling_ratio=-1, bool aligned=False, str mode='avg')",
    ["emitTerm", "emitResult", "emitCoordinate", "emitSpan"]> {
  let summary = "Regions of images, each cut into so many bins, the means of points in them";
  let description = [{
    x is [N, C, H, W]; a row of boxes [K, 5] is the number of an image and x1, y1, x2, y2, which
    `spatial_scale` brings to its elements. The result is [K, C, output_size]. A bin has
    `sampling_ratio` points along each side, or where that is not positive one for each element that
    it is long, rounded up, but no more than a bin of the whole image has and one. `aligned` puts
    elements at whole numbers and a half; otherwise a region is at least an element wide. `mode`
    'max' takes the largest of the four shares of any point, as ONNX has it. PyTorch:
    `torchvision.ops.roi_align`.
    ```mlir
    %y = dl.roi_align %x, %boxes {output_size = array<i64: 7, 7>, sampling_ratio = 2 : i64} :
        (tensor<2x8x16x16xf32>, tensor<4x5xf32>) -> tensor<4x8x7x7xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, DL_FloatTensor:$boxes, DenseI64ArrayAttr:$output_size,
      DefaultValuedAttr<F64Attr, "1.0">:$spatial_scale,
      DefaultValuedAttr<I64Attr, "-1">:$sampling_ratio,
      DefaultValuedAttr<BoolAttr, "false">:$aligned, DefaultValuedStrAttr<StrAttr, "avg">:$mode);
  let results = (outs DL_FloatTensor:$y);
}

def DL_RoiPoolOp : DL_LoopOp<"roi_pool",
    "roi_pool(Tensor x, Tensor boxes, int[2] output_size, float spatial_scale=1.0)",
    ["emitTerm", "emitResult", "emitCoordinate", "emitSpan"]> {
  let summary = "Regions of images, each cut into so many bins, the largest values in them";
  let onnx = "MaxRoiPool(x, boxes, output_size=pooled_shape, spatial_scale=spatial_scale)";
  let description = [{
    x is [N, C, H, W]; a row of boxes [K, 5] is the number of an image and x1, y1, x2, y2, which
    `spatial_scale` brings to its elements and which are rounded, halves away from 0. The result is
    [K, C, output_size]. Of n elements, bin i of m holds those from floor(i n / m) to ceil((i+1) n /
    m); an empty bin gives 0. PyTorch: `torchvision.ops.roi_pool`.
    ```mlir
    %y = dl.roi_pool %x, %boxes {output_size = array<i64: 7, 7>} :
        (tensor<2x8x16x16xf32>, tensor<4x5xf32>) -> tensor<4x8x7x7xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, DL_FloatTensor:$boxes, DenseI64ArrayAttr:$output_size,
      DefaultValuedAttr<F64Attr, "1.0">:$spatial_scale);
  let results = (outs DL_FloatTensor:$y);
}

//===- Grids ----------------------------------------------------------------------------------===//

def DL_GridSampleOp : DL_LoopOp<"grid_sample",
    "grid_sample(Tensor x, Tensor grid, str mode='bilinear', str padding_mode='zeros', bool? align_corners=None)",
    ["emitResult", "emitCoordinate"]> {
  let summary = "Images read at the places that a grid holds";
  let description = [{
    x is [N, C, H, W], grid [N, ..., 2], the result [N, C, ...]: a row of the grid is a place as x
    and y from -1 to 1, which are the borders of the outermost elements or, with `align_corners`,
    their middles. Likewise of sequences [N, C, L] and volumes [N, C, D, H, W]. `mode` is bilinear,
    nearest or bicubic. Beyond the image lies 0 (`padding_mode` zeros), the nearest element
    (border), or the image mirrored (reflection). NaN in a grid is -1. PyTorch:
    `torch.nn.functional.grid_sample`.
    ```mlir
    %y = dl.grid_sample %x, %grid {padding_mode = "border"} :
        (tensor<2x8x16x16xf32>, tensor<2x5x7x2xf32>) -> tensor<2x8x5x7xf32>
    ```
  }];
  let arguments = (ins DL_Tensor:$x, DL_FloatTensor:$grid,
                       DefaultValuedStrAttr<StrAttr, "bilinear">:$mode,
      DefaultValuedStrAttr<StrAttr, "zeros">:$padding_mode, OptionalAttr<BoolAttr>:$align_corners);
  let results = (outs DL_Tensor:$y);
}

//===- Deformable convolution -----------------------------------------------------------------===//

def DL_DeformPatchesOp : DL_LoopOp<"deform_patches", "", ["emitResult", "emitCoordinate"]> {
  let summary = "What a window shows whose taps are shifted one by one";
  let description = [{
    x is [N, C, H, W], offset [N, 2 * groups * R * S, OH, OW] the shifts of each tap down and to the
    right, mask [N, groups * R * S, OH, OW] its factors; the result [N, C, R, S, OH, OW].
    ```mlir
    %y = dl.deform_patches %x, %offset {kernel_size = array<i64: 3, 3>, stride = array<i64: 1, 1>,
        padding = array<i64: 0, 0>,
        dilation = array<i64: 1, 1>} : (tensor<1x4x8x8xf32>, tensor<1x18x6x6xf32>) ->
            tensor<1x4x3x3x6x6xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, DL_FloatTensor:$offset, Optional<DL_FloatTensor>:$mask,
      DenseI64ArrayAttr:$kernel_size, DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$padding,
      DenseI64ArrayAttr:$dilation);
  let results = (outs DL_FloatTensor:$y);
}

def DL_DeformConv2dOp : DL_DecomposedOp<"deform_conv2d",
    "deform_conv2d(Tensor x, Tensor offset, Tensor weight, Tensor? bias=None, int[2] stride=1, int[2] padding=0, int[2] dilation=1, Tensor? mask=None)",
    [AttrSizedOperandSegments]> {
  let summary = "2-D convolution whose taps are shifted one by one";
  let description = [{
    x is [N, C, H, W], weight [K, C/groups, R, S], offset [N, 2 * offset_groups * R * S, OH, OW]:
    for each tap its shift down and to the right; mask [N, offset_groups * R * S, OH, OW] its
    factor. x is read between its elements, 0 outside. Becomes `dl.deform_patches` and `dl.conv2d`.
    PyTorch: `torchvision.ops.deform_conv2d`.
    ```mlir
    %y = dl.deform_conv2d %x, %offset, %w {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} :
        (tensor<1x4x8x8xf32>, tensor<1x18x6x6xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x6x6xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, DL_FloatTensor:$offset, DL_FloatTensor:$weight,
                       Optional<DL_FloatTensor>:$bias,
      Optional<DL_FloatTensor>:$mask, DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">:$stride,
      DefaultValuedAttr<DenseI64ArrayAttr, "{0, 0}">:$padding,
      DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">:$dilation);
  let results = (outs DL_FloatTensor:$y);
}

//===- Filters between resolutions ------------------------------------------------------------===//

def DL_ResampleOp : DL_LoopOp<"resample", "", ["emitTerm", "emitResult"]> {
  let summary = "Upsample with zeros, filter, and downsample";
  let description = [{
    As `dl.upfirdn2d` of a filter [FH, FW]; up and down are [x, y], padding [left, right, top,
    bottom].
    ```mlir
    %y = dl.resample %x, %f {up = array<i64: 2, 2>, down = array<i64: 1, 1>,
        padding = array<i64: 2, 1, 2, 1>} :
        (tensor<1x3x8x8xf32>, tensor<4x4xf32>) -> tensor<1x3x16x16xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, DL_FloatTensor:$f, DenseI64ArrayAttr:$up,
                       DenseI64ArrayAttr:$down,
      DenseI64ArrayAttr:$padding,
      DefaultValuedAttr<BoolAttr, "false">:$flip_filter, DefaultValuedAttr<F64Attr, "1.0">:$gain);
  let results = (outs DL_FloatTensor:$y);
}

def DL_Upfirdn2dOp : DL_DecomposedOp<"upfirdn2d",
    "upfirdn2d(Tensor x, Tensor f, int[2] up=1, int[2] down=1, int[2] padding=0, bool flip_filter=False, float gain=1.0)"> {
  let summary = "Images brought to another resolution through a filter";
  let description = [{
    x is [N, C, H, W]. up - 1 zeros are put behind each element, then padding zeros around (negative
    ones crop); that is convolved with the filter f [FH, FW], or with f [F] along both dims, times
    gain; each down-th element stays. up and down are one number or [x, y], padding one, [x, y] or
    [left, right, top, bottom]. `flip_filter` correlates. Becomes `dl.resample`. PyTorch:
    `upfirdn2d` of StyleGAN.
    ```mlir
    %y = dl.upfirdn2d %x, %f {up = array<i64: 2, 2>, padding = array<i64: 2, 1, 2, 1>} :
        (tensor<1x3x8x8xf32>, tensor<4x4xf32>) -> tensor<1x3x16x16xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x, DL_FloatTensor:$f,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">:$up,
      DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">:$down,
      DefaultValuedAttr<DenseI64ArrayAttr, "{0, 0}">:$padding,
      DefaultValuedAttr<BoolAttr, "false">:$flip_filter, DefaultValuedAttr<F64Attr, "1.0">:$gain);
  let results = (outs DL_FloatTensor:$y);
}

#endif // DLC_IR_DL_DLREGION_TD
