//===- DLSlice.td - Parts of a tensor, borders, and tensors joined ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_DLSLICE_TD
#define DLC_IR_DL_DLSLICE_TD

include "ir/dl/shape/DLShape.td"

def DL_SliceOp : DL_MoveOp<"slice",
    "slice(Tensor x, int dim=0, int? start=None, int? end=None, int step=1)"> {
  let summary = "Every step-th index of a dim from start to before end";
  let description = [{
    Negative bounds count from the end; bounds beyond the dim are clamped, as Python does. The
    bounds of a symbolic dim must lie in it over its whole range. PyTorch: `x[:, start:end:step]`.
    ```mlir
    %y = dl.slice %x {dim = 1 : i64, start = 1 : i64, step = 2 : i64} : (tensor<4x8xf32>) ->
        tensor<4x4xf32>
    ```
  }];
  let arguments = (ins DL_AnyTensor:$x, DefaultValuedAttr<I64Attr, "0">:$dim,
                       OptionalAttr<I64Attr>:$start,
      OptionalAttr<I64Attr>:$end, DefaultValuedAttr<I64Attr, "1">:$step);
  let hasFolder = 1;
  let hasVerifier = 1;
}

def DL_PartOp : DL_MoveOp<"part", ""> {
  let summary = "Indices of a dim from start on, as many as another dim says";
  let description = [{
    What `dl.narrow` becomes where its start is a dim, or its length does not end at a known
    distance from the end of the dim.
    ```mlir
    %y = dl.part %x {dim = 0 : i64, start = affine_map<() -> (2)>, length = affine_map<() ->
        (3)>} : (tensor<8x4xf32>) -> tensor<3x4xf32>
    ```
  }];
  let arguments = (ins DL_Tensor:$x, I64Attr:$dim, AffineMapAttr:$start, AffineMapAttr:$length);
  let hasVerifier = 1;
}

def DL_PadOp : DL_LoopOp<"pad", "pad(Tensor x, SymInt[] pad, str mode='constant', float value=0.0)",
                         ["emitResult", "emitCoordinate"]> {
  let precision = "follow";
  let summary = "A border of elements";
  let description = [{
    `pad` holds low and high width of the last dim, then of the one before, and so on. `mode` says
    what stands there: constant: `value`, negative widths crop, and a width may be a dim; reflect:
    the elements mirrored at the outermost one, which is not repeated; replicate: the outermost one;
    circular: those of the other end. PyTorch: `torch.nn.functional.pad`.
    ```mlir
    %y = dl.pad %x {pad = affine_map<() -> (2, 1)>} : (tensor<4x8xf32>) -> tensor<4x11xf32>
    ```
  }];
  let arguments = (ins DL_AnyTensor:$x, AffineMapAttr:$pad,
                       DefaultValuedStrAttr<StrAttr, "constant">:$mode,
      DefaultValuedAttr<F64Attr, "0.0">:$value);
  let results = (outs DL_AnyTensor:$y);
}

def DL_CatOp : DL_LoopOp<"cat",
                         "cat(Tensor[] tensors, int dim=0)\nconcat(Tensor[] tensors, int dim=0)\nconcatenate(Tensor[] tensors, int dim=0)", ["emitResult"]> {
  let precision = "follow";
  let summary = "Tensors one after another along a dim";
  let onnx = "Concat@4(tensors*, dim=axis)";
  let description = [{
    PyTorch: `torch.cat`.
    ```mlir
    %y = dl.cat %a, %b {dim = 1 : i64} : (tensor<4x8xf32>, tensor<4x2xf32>) -> tensor<4x10xf32>
    ```
  }];
  let arguments = (ins Variadic<DL_AnyTensor>:$tensors, DefaultValuedAttr<I64Attr, "0">:$dim);
  let results = (outs DL_AnyTensor:$y);
  let hasFolder = 1;
}

def DL_UpdateSliceOp : DL_LoopOp<"update_slice",
                                 "update_slice(Tensor x, int dim, IntTensor start, Tensor src)",
    ["emitResult", "emitCoordinate"]> {
  let precision = "follow";
  let summary = "x with src written along a dim, from a position that a tensor holds";
  let description = [{
    `start` is one position, or one for each index of the first dim of x. src has the dims of x,
    along `dim` perhaps fewer. A position from which src would not fit is moved to the nearest from
    which it does, as XLA's DynamicUpdateSlice does. Where x is a state, and what else reads it
    comes before, form-fusions lets the kernel write src alone. PyTorch:
    `x[:, start:start + n] = src`.
    ```mlir
    %y = dl.update_slice %x, %start, %src {dim = 1 : i64} :
        (tensor<4x8xf32>, tensor<i64>, tensor<4x2xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_AnyTensor:$x, I64Attr:$dim, RankedTensorOf<[I32, I64]>:$start,
                       DL_AnyTensor:$src);
  let results = (outs DL_AnyTensor:$y);
  let hasVerifier = 1;
}

#endif // DLC_IR_DL_DLSLICE_TD
