//===- DLOrder.td - Running sums, and ops that put elements in order --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Long dims, and those whose size is not known, are worked on line by line (ir/interfaces/Lines.h):
// running sums in n additions, orders by a radix sort on the CPU and a bitonic one on CUDA. A few
// elements are compared each with each, and summed each for itself: those are loops, which fuse
// with the ops around them.
#ifndef DLC_IR_DL_DLORDER_TD
#define DLC_IR_DL_DLORDER_TD

include "ir/dl/base/DLBase.td"
include "ir/interfaces/Lines.td"

/// An inferred op over the lines of its operand.
class DL_LineOp<string mnemonic>
    : DL_InferredOp<mnemonic, "", [DeclareOpInterfaceMethods<LineOpInterface>]>;

def DL_CumsumOp : DL_DecomposedOp<"cumsum", "cumsum(Tensor x, int dim, ScalarType? dtype=None)"> {
  let summary = "The sum of each element and those before it along a dim";
  let description = [{
    Integers and bools are summed as i64. With `dtype`, each element is converted first; floats of
    16 bits are summed in f32. Becomes `dl.running_sum`, or `dl.prefix_sum` of up to 64 elements:
    the order of the additions depends on the dims alone. A sum of i elements is off by at most i u
    times the sum of their sizes, u being 2^-24 of f32 and 2^-53 of f64. PyTorch: `torch.cumsum`.
    ```mlir
    %y = dl.cumsum %x {dim = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_Tensor:$x, I64Attr:$dim, OptionalAttr<TypeAttr>:$dtype);
  let results = (outs DL_NumberTensor:$y);
}

def DL_PrefixSumOp : DL_LoopOp<"prefix_sum", "", ["emitTerm"]> {
  let summary = "For each place of a dim, the sum of the elements up to it";
  let description = [{
    Each sum is its own loop over the dim: n^2 additions for n elements, of which there are few.
    PyTorch: `torch.cumsum`.
    ```mlir
    %y = dl.prefix_sum %x {dim = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, I64Attr:$dim);
  let results = (outs DL_NumberTensor:$y);
}

def DL_RunningSumOp : DL_LineOp<"running_sum"> {
  let summary = "For each place of a dim, the sum of the elements up to it, in one walk over them";
  let description = [{
    n additions for n elements. On the CPU each sum is the one before plus an element; on CUDA a
    block adds 256 elements as a tree, then the sum of those before. PyTorch: `torch.cumsum`.
    ```mlir
    %y = dl.running_sum %x {dim = 1 : i64} : (tensor<4x800xf32>) -> tensor<4x800xf32>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, I64Attr:$dim);
  let results = (outs DL_NumberTensor:$y);
}

def DL_OrderOp : DL_LineOp<"order"> {
  let summary = "Positions of the first `count` elements along a dim in sorted order";
  let description = [{
    The first `count` of them: the smallest (with `descending`, the largest), equal ones in the
    order of their places. NaN is larger than any number and equal to itself; -0 equals +0. 0 where
    the dim has fewer elements than `count`; a dim has fewer than 2^31. On the CPU a radix sort: n
    steps for each byte of the dtype, after one that leaves out most of what `count` does not ask
    for. On CUDA a bitonic sort, n log^2 n, by one block for each line: in shared memory up to 4096
    elements or while `count` is at most 2048. PyTorch: `torch.argsort(x, stable=True)`, cut off.
    ```mlir
    %y = dl.order %x {dim = 1 : i64, descending = true, count = affine_map<() -> (5)>} :
        (tensor<4x800xf32>) -> tensor<4x5xi64>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, I64Attr:$dim, BoolAttr:$descending,
                       AffineMapAttr:$count);
  let results = (outs RankedTensorOf<[I64]>:$y);
}

def DL_RankOp : DL_LoopOp<"rank", "", ["emitTerm"]> {
  let summary = "The place that each element takes when a dim is sorted";
  let description = [{
    The number of elements along `dim` that are smaller (with `descending`, larger), and of the
    equal ones before it. NaN is larger than any number and equal to itself; -0 equals +0. PyTorch:
    `torch.argsort(torch.argsort(x, stable=True))`.
    ```mlir
    %y = dl.rank %x {dim = 1 : i64, descending = false} : (tensor<4x8xf32>) -> tensor<4x8xi64>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, I64Attr:$dim, BoolAttr:$descending);
  let results = (outs RankedTensorOf<[I64]>:$y);
}

def DL_PlacesOp : DL_LoopOp<"places", "", ["emitTerm"]> {
  let summary = "Where along a dim each of the first ranks stands";
  let description = [{
    `ranks` holds each of the numbers 0 to n - 1 once along `dim`; the result is the inverse, its
    first `count` along the dim. PyTorch: `torch.argsort(ranks)`, cut off.
    ```mlir
    %y = dl.places %ranks {dim = 1 : i64, count = affine_map<() -> (3)>} : (tensor<4x8xi64>) ->
        tensor<4x3xi64>
    ```
  }];
  let arguments = (ins RankedTensorOf<[I64]>:$ranks, I64Attr:$dim, AffineMapAttr:$count);
  let results = (outs RankedTensorOf<[I64]>:$y);
}

def DL_SortOp : DL_DecomposedOp<"sort",
    "sort(Tensor x, int dim=-1, bool descending=False, bool stable=False) -> (Tensor values, Tensor indices)"> {
  let summary = "The elements along a dim in order, and where they stood";
  let description = [{
    Equal elements keep their order whether `stable` or not; NaN is the largest. Becomes `dl.order`
    and `dl.gather`, or `dl.rank`, `dl.places` and `dl.gather` of up to 16 elements. PyTorch:
    `torch.sort`.
    ```mlir
    %values, %indices = dl.sort %x {dim = 1 : i64} : (tensor<4x8xf32>) ->
        (tensor<4x8xf32>, tensor<4x8xi64>)
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, DefaultValuedAttr<I64Attr, "-1">:$dim,
      DefaultValuedAttr<BoolAttr, "false">:$descending,
      DefaultValuedAttr<BoolAttr, "false">:$stable);
  let results = (outs DL_NumberTensor:$values, RankedTensorOf<[I64]>:$indices);
}

def DL_ArgsortOp : DL_DecomposedOp<"argsort",
    "argsort(Tensor x, int dim=-1, bool descending=False, bool stable=False)"> {
  let summary = "Where the elements along a dim stand, in their order";
  let description = [{
    Equal elements keep their order whether `stable` or not; NaN is the largest. Becomes `dl.order`,
    or `dl.rank` and `dl.places` of up to 16 elements. PyTorch: `torch.argsort`.
    ```mlir
    %y = dl.argsort %x {dim = 1 : i64, descending = true} : (tensor<4x8xf32>) -> tensor<4x8xi64>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, DefaultValuedAttr<I64Attr, "-1">:$dim,
      DefaultValuedAttr<BoolAttr, "false">:$descending,
      DefaultValuedAttr<BoolAttr, "false">:$stable);
  let results = (outs RankedTensorOf<[I64]>:$y);
}

def DL_TopkOp : DL_DecomposedOp<"topk",
    "topk(Tensor x, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)"> {
  let summary = "The k largest elements along a dim, and where they stand";
  let description = [{
    Or the k smallest ones; in order whether `sorted` or not. Of equal elements those that come
    first are taken, in their order; NaN is the largest. Becomes `dl.order` and `dl.gather`, or
    `dl.rank`, `dl.places` and `dl.gather` of up to 16 elements. PyTorch: `torch.topk`.
    ```mlir
    %values, %indices = dl.topk %x {k = 3 : i64, dim = 1 : i64} : (tensor<4x8xf32>) ->
        (tensor<4x3xf32>, tensor<4x3xi64>)
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, I64Attr:$k, DefaultValuedAttr<I64Attr, "-1">:$dim,
      DefaultValuedAttr<BoolAttr, "true">:$largest, DefaultValuedAttr<BoolAttr, "true">:$sorted);
  let results = (outs DL_NumberTensor:$values, RankedTensorOf<[I64]>:$indices);
}

#endif // DLC_IR_DL_DLORDER_TD
