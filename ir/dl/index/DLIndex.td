//===- DLIndex.td - Ops that read at positions which a tensor holds ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A position outside the tensor reads NaN, or 0 of integers and bools: never foreign memory.
#ifndef DLC_IR_DL_DLINDEX_TD
#define DLC_IR_DL_DLINDEX_TD

include "ir/dl/base/DLBase.td"

/// An op that reads its table at positions which its index tensor holds.
class DL_LookUpOp<string mnemonic, string torchSchema>
    : DL_LoopOp<mnemonic, torchSchema, ["emitResult", "emitCoordinate"]> {
  let precision = "follow";
  let results = (outs DL_Tensor:$y);
  /// The operands that hold the elements and the positions, and whether negative positions count
  /// from the end.
  string table = "getX()";
  string index = "getIndex()";
  string wraps = "false";
  let extraClassDefinition = compatibleDefinition # [{
    ::mlir::Value $cppClass::emitResult(::dlc::BodyContext &, ::mlir::ValueRange args,
                                        ::mlir::ValueRange) {
      return args.back();
    }
    ::mlir::Value $cppClass::emitCoordinate(::dlc::BodyContext &context, bool, unsigned,
                                            unsigned dim,
                                            ::mlir::ValueRange earlier) {
      return ::dlc::dl::emitPosition(context, earlier.front(), }] #
          index # ", " # table # ", dim, " # wraps # [{);
    }
  }];
}

def DL_GatherOp : DL_LookUpOp<"gather", "gather(Tensor x, int dim, Tensor index)"> {
  let summary = "Elements of x at the positions in `index` along `dim`";
  let description = [{
    x and index have equal rank; index is nowhere larger than x but along `dim`. PyTorch:
    `torch.gather`.
    ```mlir
    %y = dl.gather %x, %index {dim = 1 : i64} : (tensor<4x8xf32>, tensor<4x2xi64>) ->
        tensor<4x2xf32>
    ```
  }];
  let arguments = (ins DL_Tensor:$x, DL_IndexTensor:$index, I64Attr:$dim);
}

def DL_TakeAlongDimOp : DL_LookUpOp<"take_along_dim",
                                    "take_along_dim(Tensor x, Tensor indices, int dim)"> {
  let summary = "As gather, x and indices broadcast along the other dims";
  let description = [{
    Negative positions count from the end. PyTorch: `torch.take_along_dim`.
    ```mlir
    %y = dl.take_along_dim %x, %indices {dim = 1 : i64} : (tensor<4x8xf32>, tensor<1x2xi64>) ->
        tensor<4x2xf32>
    ```
  }];
  let arguments = (ins DL_Tensor:$x, DL_IndexTensor:$indices, I64Attr:$dim);
  let index = "getIndices()";
  let wraps = "true";
}

def DL_TakeFlatOp : DL_DecomposedOp<"take_flat",
                                    "take_along_dim(Tensor x, Tensor indices, None dim=None)"> {
  let summary = "The elements of x, counted row by row, that indices name";
  let description = [{
    In one dim, whatever the dims of x and indices. Becomes `dl.take_along_dim`. PyTorch:
    `torch.take_along_dim` without dim.
    ```mlir
    %y = dl.take_flat %x, %indices : (tensor<4x8xf32>, tensor<3x2xi64>) -> tensor<6xf32>
    ```
  }];
  let arguments = (ins DL_Tensor:$x, DL_IndexTensor:$indices);
  let results = (outs DL_Tensor:$y);
}

def DL_IndexSelectOp : DL_LookUpOp<"index_select",
                                   "index_select(Tensor x, int dim, Tensor index)"> {
  let summary = "The slices of x along dim that index names";
  let description = [{
    PyTorch: `torch.index_select`.
    ```mlir
    %y = dl.index_select %x, %index {dim = 0 : i64} : (tensor<4x8xf32>, tensor<3xi64>) ->
        tensor<3x8xf32>
    ```
  }];
  let arguments = (ins DL_Tensor:$x, DL_IndexTensor:$index, I64Attr:$dim);
}

def DL_EmbeddingOp : DL_LookUpOp<"embedding",
    "embedding(Tensor input, Tensor weight, int? padding_idx=None, None max_norm=None, float norm_type=2.0, bool scale_grad_by_freq=False, bool sparse=False)"> {
  let summary = "The row of weight that each element of input names";
  let description = [{
    weight is [V, D]; the result is the dims of input, then D. `padding_idx` and what follows matter
    for training alone. PyTorch: `torch.nn.functional.embedding`.
    ```mlir
    %y = dl.embedding %input, %weight : (tensor<4x16xi64>, tensor<100x8xf32>) -> tensor<4x16x8xf32>
    ```
  }];
  let arguments = (ins DL_IndexTensor:$input, DL_Tensor:$weight,
                       OptionalAttr<I64Attr>:$padding_idx);
  let table = "getWeight()";
  let index = "getInput()";
}

def DL_EmbeddingBagOp : DL_DecomposedOp<"embedding_bag",
    "embedding_bag(Tensor input, Tensor weight, Tensor? offsets=None, None max_norm=None, float norm_type=2.0, bool scale_grad_by_freq=False, str mode='mean', bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int? padding_idx=None)",
    [AttrSizedOperandSegments]> {
  let summary = "Sum, mean or largest of the rows of weight that each bag names";
  let description = [{
    A bag is a row of input [B, L] or, with `offsets` [B], a part of input [L] that begins there and
    ends where the next begins; with `include_last_offset` the last offset ends the last bag and
    begins none. The result is [B, D] of weight [V, D]. `mode` is sum, mean or max;
    `per_sample_weights`, in the shape of input, scales the rows of a sum. Positions equal to
    `padding_idx` count as absent; an empty bag gives 0. Becomes `dl.embedding` and a reduction, or
    with `offsets` `dl.scatter_apply`. PyTorch: `torch.nn.functional.embedding_bag`.
    ```mlir
    %y = dl.embedding_bag %input, %weight
        {mode = "sum", operandSegmentSizes = array<i32: 1, 1, 0, 0>} :
        (tensor<4x16xi64>, tensor<100x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_IndexTensor:$input, DL_FloatTensor:$weight,
                       Optional<DL_IndexTensor>:$offsets,
      Optional<DL_FloatTensor>:$per_sample_weights, DefaultValuedStrAttr<StrAttr, "mean">:$mode,
      DefaultValuedAttr<BoolAttr,
                        "false">:$include_last_offset, OptionalAttr<I64Attr>:$padding_idx);
  let results = (outs DL_FloatTensor:$y);
}

def DL_IndexOp : DL_LookUpOp<"index", "index(Tensor x, Tensor index)"> {
  let summary = "The slices of x along its first dim that index names";
  let description = [{
    The result is the dims of index, then those of x but the first. Negative positions count from
    the end. PyTorch: `x[index]`.
    ```mlir
    %y = dl.index %x, %index : (tensor<8x3xf32>, tensor<4x2xi64>) -> tensor<4x2x3xf32>
    ```
  }];
  let arguments = (ins DL_Tensor:$x, DL_IndexTensor:$index);
  let wraps = "true";
}

def DL_OneHotOp : DL_LoopOp<"one_hot", "one_hot(Tensor x, int num_classes=-1)", ["emitResult"]> {
  let summary = "1 at the class that each element names, 0 elsewhere";
  let description = [{
    The classes are a new last dim; `num_classes` must be given, since dims do not depend on data.
    PyTorch: `torch.nn.functional.one_hot`.
    ```mlir
    %y = dl.one_hot %x {num_classes = 10 : i64} : (tensor<4xi64>) -> tensor<4x10xi64>
    ```
  }];
  let arguments = (ins DL_IndexTensor:$x, DefaultValuedAttr<I64Attr, "-1">:$num_classes);
  let results = (outs RankedTensorOf<[I64]>:$y);
}

#endif // DLC_IR_DL_DLINDEX_TD
