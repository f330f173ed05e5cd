//===- DLResize.td - Images and sequences at other sizes --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_DLRESIZE_TD
#define DLC_IR_DL_DLRESIZE_TD

include "ir/dl/base/DLBase.td"

def DL_InterpolateOp : DL_LoopOp<"interpolate", [{interpolate(Tensor x, SymInt[]? size=None, float[]? scale_factor=None, str mode='nearest', bool? align_corners=None, bool? recompute_scale_factor=None)
upsample(Tensor x, SymInt[]? size=None, float[]? scale_factor=None, str mode='nearest', bool? align_corners=None)}],
    ["emitResult", "emitCoordinate"]> {
  let precision = "follow";
  let summary = "The dims after [N, C] brought to another size";
  let description = [{
    Either `size`, or `scale_factor` is given: one number for all of these dims, or one for each.
    `mode` is nearest, nearest-exact, linear (x [N, C, L]), bilinear or bicubic (x [N, C, H, W]) or
    trilinear (x [N, C, D, H, W]). Source positions are computed in f32 (f64 of f64), as PyTorch
    does, so that nearest picks the same elements. PyTorch: `torch.nn.functional.interpolate`.
    ```mlir
    %y = dl.interpolate %x {scale_factor = array<f64: 2.0>, mode = "bilinear"} :
        (tensor<1x8x3x5xf32>) -> tensor<1x8x6x10xf32>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, OptionalAttr<AffineMapAttr>:$size,
                       OptionalAttr<DenseF64ArrayAttr>:$scale_factor,
      DefaultValuedStrAttr<StrAttr, "nearest">:$mode, OptionalAttr<BoolAttr>:$align_corners,
      OptionalAttr<BoolAttr>:$recompute_scale_factor);
  let results = (outs DL_NumberTensor:$y);
}

#endif // DLC_IR_DL_DLRESIZE_TD
