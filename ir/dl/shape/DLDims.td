//===- DLDims.td - Ops that add, drop, repeat and reorder dims --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each becomes a broadcast, a reshape or a permute.
#ifndef DLC_IR_DL_DLDIMS_TD
#define DLC_IR_DL_DLDIMS_TD

include "ir/dl/base/DLBase.td"

class DL_DimsOp<string mnemonic, string torchSchema> : DL_DecomposedOp<mnemonic, torchSchema> {
  let results = (outs DL_AnyTensor:$y);
}

def DL_ExpandOp : DL_DimsOp<"expand",
    "expand(Tensor x, SymInt[] size)\nbroadcast_to(Tensor x, SymInt[] size)"> {
  let summary = "Dims of size 1 repeated, new leading dims";
  let description = [{
    -1 keeps a dim. Becomes `dl.broadcast`. PyTorch: `Tensor.expand`, `torch.broadcast_to`.
    ```mlir
    %y = dl.expand %x {size = affine_map<() -> (4, -1, 16)>} : (tensor<8x1xf32>) ->
        tensor<4x8x16xf32>
    ```
  }];
  let arguments = (ins DL_AnyTensor:$x, AffineMapAttr:$size);
}

def DL_ExpandAsOp : DL_DimsOp<"expand_as", "expand_as(Tensor x, Tensor other)"> {
  let summary = "x repeated to the dims of other";
  let description = [{
    Becomes `dl.broadcast`. PyTorch: `Tensor.expand_as`.
    ```mlir
    %y = dl.expand_as %x, %other : (tensor<8x1xf32>, tensor<8x16xi32>) -> tensor<8x16xf32>
    ```
  }];
  let arguments = (ins DL_AnyTensor:$x, DL_AnyTensor:$other);
}

def DL_SqueezeOp : DL_DimsOp<"squeeze", "squeeze(Tensor x, int[] dim=[])"> {
  let summary = "Without dims of size 1";
  let description = [{
    Without all of them where `dim` is empty; a named dim of another size stays. A dim whose size is
    symbolic cannot be told. Becomes `dl.reshape`. PyTorch: `torch.squeeze`.
    ```mlir
    %y = dl.squeeze %x {dim = array<i64: 1>} : (tensor<4x1x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_AnyTensor:$x, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$dim);
}

def DL_UnsqueezeOp : DL_DimsOp<"unsqueeze", "unsqueeze(Tensor x, int dim)"> {
  let summary = "A new dim of size 1";
  let description = [{
    It stands at position `dim` of the result. Becomes `dl.reshape`. PyTorch: `torch.unsqueeze`.
    ```mlir
    %y = dl.unsqueeze %x {dim = -1 : i64} : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    ```
  }];
  let arguments = (ins DL_AnyTensor:$x, I64Attr:$dim);
}

def DL_UnflattenOp : DL_DimsOp<"unflatten", "unflatten(Tensor x, int dim, SymInt[] sizes)"> {
  let summary = "A dim cut into several";
  let description = [{
    One of `sizes` may be -1. Becomes `dl.reshape`. PyTorch: `torch.unflatten`.
    ```mlir
    %y = dl.unflatten %x {dim = 1 : i64, sizes = affine_map<() -> (2, -1)>} :
        (tensor<4x8xf32>) -> tensor<4x2x4xf32>
    ```
  }];
  let arguments = (ins DL_AnyTensor:$x, I64Attr:$dim, AffineMapAttr:$sizes);
}

def DL_MovedimOp : DL_DimsOp<"movedim", [{movedim(Tensor x, int[1] source, int[1] destination)
movedim(Tensor x, int[] source, int[] destination)
moveaxis(Tensor x, int[1] source, int[1] destination)
moveaxis(Tensor x, int[] source, int[] destination)}]> {
  let summary = "Dims moved to other positions";
  let description = [{
    The others keep their order. Becomes `dl.permute`. PyTorch: `torch.movedim`.
    ```mlir
    %y = dl.movedim %x {source = array<i64: 1>, destination = array<i64: -1>} :
        (tensor<4x8x2xf32>) -> tensor<4x2x8xf32>
    ```
  }];
  let arguments = (ins DL_AnyTensor:$x, DenseI64ArrayAttr:$source, DenseI64ArrayAttr:$destination);
}

def DL_TOp : DL_DimsOp<"t", "t(Tensor x)"> {
  let summary = "The transpose of a matrix";
  let description = [{
    A tensor of less than two dims stays as it is. Becomes `dl.permute`. PyTorch: `torch.t`.
    ```mlir
    %y = dl.t %x : (tensor<4x8xf32>) -> tensor<8x4xf32>
    ```
  }];
  let arguments = (ins DL_AnyTensor:$x);
}

#endif // DLC_IR_DL_DLDIMS_TD
