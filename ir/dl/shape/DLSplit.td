//===- DLSplit.td - Ops that take a tensor apart along a dim, and stack -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each becomes slices, reshapes and cat.
#ifndef DLC_IR_DL_DLSPLIT_TD
#define DLC_IR_DL_DLSPLIT_TD

include "ir/dl/base/DLBase.td"

def DL_SelectOp : DL_DecomposedOp<"select", "select(Tensor x, int dim, int index)"> {
  let summary = "One index of a dim, which goes";
  let description = [{
    Negative indices count from the end. PyTorch: `torch.select`, `x[:, index]`.
    ```mlir
    %y = dl.select %x {dim = 1 : i64, index = -1 : i64} : (tensor<4x8x2xf32>) -> tensor<4x2xf32>
    ```
  }];
  let arguments = (ins DL_AnyTensor:$x, I64Attr:$dim, I64Attr:$index);
  let results = (outs DL_AnyTensor:$y);
  let hasVerifier = 1;
}

def DL_NarrowOp : DL_DecomposedOp<"narrow",
                                  "narrow(Tensor x, int dim, SymInt start, SymInt length)"> {
  let summary = "Indices of a dim from start on, length of them";
  let description = [{
    A negative start, which is a number, counts from the end. PyTorch: `torch.narrow`.
    ```mlir
    %y = dl.narrow %x {dim = 1 : i64, start = affine_map<() -> (2)>, length = affine_map<() ->
        (3)>} : (tensor<4x8xf32>) -> tensor<4x3xf32>
    ```
  }];
  let arguments = (ins DL_AnyTensor:$x, I64Attr:$dim, AffineMapAttr:$start, AffineMapAttr:$length);
  let results = (outs DL_AnyTensor:$y);
  let hasVerifier = 1;
}

class DL_SplitLikeOp<string mnemonic, string torchSchema> : DL_DecomposedOp<mnemonic, torchSchema> {
  let results = (outs Variadic<DL_AnyTensor>:$results);
}

def DL_SplitOp : DL_SplitLikeOp<"split", [{split(Tensor x, int split_size, int dim=0) -> Tensor[]
split(Tensor x, int[] split_size_or_sections, int dim=0) -> Tensor[]}]> {
  let summary = "Pieces of a dim, of equal or of given sizes";
  let description = [{
    With one size the last piece may be smaller; several sizes fill the dim. PyTorch: `torch.split`.
    ```mlir
    %a, %b = dl.split %x {dim = 1 : i64, split_size = 5 : i64} : (tensor<4x8xf32>) ->
        (tensor<4x5xf32>, tensor<4x3xf32>)
    ```
  }];
  let arguments = (ins DL_AnyTensor:$x, OptionalAttr<I64Attr>:$split_size,
      DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$split_size_or_sections,
      DefaultValuedAttr<I64Attr, "0">:$dim);
}

def DL_ChunkOp : DL_SplitLikeOp<"chunk", "chunk(Tensor x, int chunks, int dim=0) -> Tensor[]"> {
  let summary = "At most so many pieces of a dim, of equal sizes but the last";
  let description = [{
    PyTorch: `torch.chunk`.
    ```mlir
    %a, %b = dl.chunk %x {chunks = 2 : i64, dim = 1 : i64} : (tensor<4x8xf32>) ->
        (tensor<4x4xf32>, tensor<4x4xf32>)
    ```
  }];
  let arguments = (ins DL_AnyTensor:$x, I64Attr:$chunks, DefaultValuedAttr<I64Attr, "0">:$dim);
}

def DL_UnbindOp : DL_SplitLikeOp<"unbind", "unbind(Tensor x, int dim=0) -> Tensor[]"> {
  let summary = "Each index of a dim by itself";
  let description = [{
    PyTorch: `torch.unbind`.
    ```mlir
    %a, %b = dl.unbind %x : (tensor<2x8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    ```
  }];
  let arguments = (ins DL_AnyTensor:$x, DefaultValuedAttr<I64Attr, "0">:$dim);
}

def DL_MeshgridOp : DL_SplitLikeOp<"meshgrid",
                                   "meshgrid(Tensor[] tensors, str indexing='ij') -> Tensor[]"> {
  let summary = "The coordinates of a grid";
  let description = [{
    Each tensor of one dim is repeated along the dims of the others. With `indexing = "xy"` the
    first two dims are exchanged. PyTorch: `torch.meshgrid`.
    ```mlir
    %a, %b = dl.meshgrid %x, %y : (tensor<4xf32>, tensor<8xf32>) ->
        (tensor<4x8xf32>, tensor<4x8xf32>)
    ```
  }];
  let arguments = (ins Variadic<DL_AnyTensor>:$tensors,
                       DefaultValuedStrAttr<StrAttr, "ij">:$indexing);
}

def DL_StackOp : DL_DecomposedOp<"stack", "stack(Tensor[] tensors, int dim=0)"> {
  let summary = "Tensors of equal dims along a new dim";
  let description = [{
    PyTorch: `torch.stack`.
    ```mlir
    %y = dl.stack %a, %b {dim = 1 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x2x8xf32>
    ```
  }];
  let arguments = (ins Variadic<DL_AnyTensor>:$tensors, DefaultValuedAttr<I64Attr, "0">:$dim);
  let results = (outs DL_AnyTensor:$y);
}

class DL_StackLikeOp<string mnemonic, string torchSchema> : DL_DecomposedOp<mnemonic, torchSchema> {
  let arguments = (ins Variadic<DL_AnyTensor>:$tensors);
  let results = (outs DL_AnyTensor:$y);
}

def DL_HstackOp : DL_StackLikeOp<"hstack", "hstack(Tensor[] tensors)"> {
  let summary = "Tensors side by side";
  let description = [{
    Along dim 1, vectors and numbers along dim 0. Becomes `dl.cat`. PyTorch: `torch.hstack`.
    ```mlir
    %y = dl.hstack %a, %b : (tensor<4x8xf32>, tensor<4x2xf32>) -> tensor<4x10xf32>
    ```
  }];
}

def DL_VstackOp : DL_StackLikeOp<"vstack",
                                 "vstack(Tensor[] tensors)\nrow_stack(Tensor[] tensors)"> {
  let summary = "Tensors one below the other";
  let description = [{
    Along dim 0; a vector is a row. Becomes `dl.cat`. PyTorch: `torch.vstack`.
    ```mlir
    %y = dl.vstack %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<5x8xf32>
    ```
  }];
}

def DL_DstackOp : DL_StackLikeOp<"dstack", "dstack(Tensor[] tensors)"> {
  let summary = "Tensors one after the other in depth";
  let description = [{
    Along dim 2; a vector [N] is [1, N, 1], a matrix [M, N] is [M, N, 1]. Becomes `dl.cat`. PyTorch:
    `torch.dstack`.
    ```mlir
    %y = dl.dstack %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8x2xf32>
    ```
  }];
}

def DL_ColumnStackOp : DL_StackLikeOp<"column_stack", "column_stack(Tensor[] tensors)"> {
  let summary = "Tensors side by side, vectors as columns";
  let description = [{
    Along dim 1. Becomes `dl.cat`. PyTorch: `torch.column_stack`.
    ```mlir
    %y = dl.column_stack %a, %b : (tensor<4xf32>, tensor<4x8xf32>) -> tensor<4x9xf32>
    ```
  }];
}

#endif // DLC_IR_DL_DLSPLIT_TD
