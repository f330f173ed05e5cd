//===- DLScatter.td - Ops that write at positions which a tensor holds ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Line by line, each update is made after the one before it (dl.scatter_apply,
// ir/interfaces/Lines.h): a visit for each element of x and each update, in an order that the dims
// alone decide. A few positions along `dim` are turned around: each element of the result looks for
// those that name it, in loops that fuse with the ops around them (dl.scatter_source,
// dl.scatter_seek).
//
// A position outside the tensor names nothing: its update is dropped. index may be smaller than x
// along the other dims, and src larger than index: what has no partner is not read.
#ifndef DLC_IR_DL_DLSCATTER_TD
#define DLC_IR_DL_DLSCATTER_TD

include "ir/dl/index/DLIndex.td"
include "ir/dl/index/DLOrder.td"

def DL_ScatterOp : DL_DecomposedOp<"scatter", [{scatter(Tensor x, int dim, Tensor index, float value, str? reduce=None)
scatter(Tensor x, int dim, Tensor index, Tensor src, str? reduce=None)}]> {
  let summary = "x with the elements of src at the places along dim that index names";
  let description = [{
    Or one number `value` at each of them. Where several positions along `dim` name one place the
    last of them counts, or with `reduce` ('add', 'multiply') all, x included. Positions outside x
    are dropped. Becomes `dl.scatter_apply`, of up to 4 positions `dl.scatter_source` and
    `dl.scatter_take`, or with `reduce` `dl.scatter_reduce`. PyTorch: `torch.scatter`.
    ```mlir
    %y = dl.scatter %x, %index, %src {dim = 1 : i64} :
        (tensor<4x8xf32>, tensor<4x2xi64>, tensor<4x2xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_Tensor:$x, I64Attr:$dim, DL_IndexTensor:$index, Optional<DL_Tensor>:$src,
      OptionalAttr<F64Attr>:$value, OptionalAttr<StrAttr>:$reduce);
  let results = (outs DL_Tensor:$y);
}

def DL_ScatterAddOp : DL_DecomposedOp<"scatter_add",
                                      "scatter_add(Tensor x, int dim, Tensor index, Tensor src)"> {
  let summary = "x plus the elements of src at the places along dim that index names";
  let description = [{
    The updates of a place are added in the order in which they stand along `dim`. Becomes
    `dl.scatter_reduce`. PyTorch: `torch.scatter_add`.
    ```mlir
    %y = dl.scatter_add %x, %index, %src {dim = 1 : i64} :
        (tensor<4x8xf32>, tensor<4x2xi64>, tensor<4x2xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, I64Attr:$dim, DL_IndexTensor:$index,
                       DL_NumberTensor:$src);
  let results = (outs DL_NumberTensor:$y);
}

def DL_IndexAddOp : DL_DecomposedOp<"index_add",
    "index_add(Tensor x, int dim, Tensor index, Tensor source, float alpha=1)"> {
  let summary = "x plus the slices of source at the places along dim that index names";
  let description = [{
    index is a vector, source has the dims of x but along `dim`, where it has as many slices as
    index has elements; `alpha` is a factor of them, a whole number where they are integers.
    Positions outside x are dropped. Becomes `dl.scatter_reduce`. PyTorch: `torch.index_add`.
    ```mlir
    %y = dl.index_add %x, %index, %source {dim = 0 : i64} :
        (tensor<8x4xf32>, tensor<2xi64>, tensor<2x4xf32>) -> tensor<8x4xf32>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, I64Attr:$dim, DL_IndexTensor:$index,
                       DL_NumberTensor:$source,
      DefaultValuedAttr<F64Attr, "1.0">:$alpha);
  let results = (outs DL_NumberTensor:$y);
}

def DL_ScatterReduceOp : DL_DecomposedOp<"scatter_reduce",
    "scatter_reduce(Tensor x, int dim, Tensor index, Tensor src, str reduce, bool include_self=True)"> {
  let summary = "x combined with the elements of src at the places along dim that index names";
  let description = [{
    `reduce` is sum, prod, mean (of floats), amax or amin; without `include_self` the elements of x
    count only where no position names them. Positions outside x are dropped; floats of 16 bits are
    summed in f32. Becomes `dl.scatter_apply`, or `dl.scatter_seek` of up to 4 positions. PyTorch:
    `torch.scatter_reduce`.
    ```mlir
    %y = dl.scatter_reduce %x, %index, %src {dim = 1 : i64, reduce = "amax"} :
        (tensor<4x8xf32>, tensor<4x2xi64>, tensor<4x2xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, I64Attr:$dim, DL_IndexTensor:$index,
                       DL_NumberTensor:$src, StrAttr:$reduce,
      DefaultValuedAttr<BoolAttr, "true">:$include_self);
  let results = (outs DL_NumberTensor:$y);
}

def DL_ScatterApplyOp : DL_LineOp<"scatter_apply"> {
  let summary = "The updates of each line made in x, one after the other";
  let description = [{
    All dims are equal but `dim`, where index and src have one size and x and the result another;
    index may be of size 1 in other dims and is repeated there. Each element of src takes the place
    in the result that index names, or with `reduce` (sum, prod, amax or amin) is combined with what
    stands there, each result rounded to the dtype. Positions outside x are dropped. PyTorch:
    `torch.scatter_reduce`, `torch.index_add`.
    ```mlir
    %y = dl.scatter_apply %x, %index, %src {dim = 0 : i64, reduce = "sum"} :
        (tensor<8x4xf32>, tensor<16x1xi64>, tensor<16x4xf32>) -> tensor<8x4xf32>
    ```
  }];
  let arguments = (ins DL_Tensor:$x, DL_IndexTensor:$index, DL_Tensor:$src, I64Attr:$dim,
                       OptionalAttr<StrAttr>:$reduce);
  let results = (outs DL_Tensor:$y);
}

def DL_ScatterSeekOp : DL_LoopOp<"scatter_seek", "", ["emitTerm", "emitResult"]> {
  let summary = "As scatter_reduce, each element of x looking for the positions that name it";
  let description = [{
    Costs index.size(dim) looks for each element of x, of which there are few. PyTorch:
    `torch.scatter_reduce`.
    ```mlir
    %y = dl.scatter_seek %x, %index, %src {dim = 1 : i64, reduce = "amax"} :
        (tensor<4x8xf32>, tensor<4x2xi64>, tensor<4x2xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, DL_IndexTensor:$index, DL_NumberTensor:$src,
                       I64Attr:$dim, StrAttr:$reduce,
      DefaultValuedAttr<BoolAttr, "true">:$include_self);
  let results = (outs DL_NumberTensor:$y);
}

def DL_ScatterSourceOp : DL_LoopOp<"scatter_source", "", ["emitTerm", "emitResult"]> {
  let summary = "For each place of a dim, where the last position that names it stands";
  let description = [{
    The result is of `size`, which is that of index but along `dim`, and nowhere smaller; -1 where
    no position along `dim` names the place. Costs index.size(dim) looks for each element, of which
    there are few. PyTorch: the positions that `torch.scatter` reads.
    ```mlir
    %y = dl.scatter_source %index {dim = 1 : i64, size = affine_map<() -> (4, 8)>} :
        (tensor<4x2xi64>) -> tensor<4x8xi64>
    ```
  }];
  let arguments = (ins DL_IndexTensor:$index, I64Attr:$dim, AffineMapAttr:$size);
  let results = (outs RankedTensorOf<[I64]>:$y);
}

def DL_ScatterTakeOp : DL_LoopOp<"scatter_take", "", ["emitResult", "emitCoordinate"]> {
  let summary = "The element of src that source names along dim, of x where that is -1";
  let description = [{
    x and source have equal dims; src has their rank. PyTorch: `torch.where(source < 0, x,
    src.gather(dim, source))`.
    ```mlir
    %y = dl.scatter_take %x, %source, %src {dim = 1 : i64} :
        (tensor<4x8xf32>, tensor<4x8xi64>, tensor<4x2xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_Tensor:$x, RankedTensorOf<[I64]>:$source, DL_Tensor:$src, I64Attr:$dim);
  let results = (outs DL_Tensor:$y);
}

#endif // DLC_IR_DL_DLSCATTER_TD
