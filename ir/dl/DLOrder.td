//===- DLOrder.td - Running sums, and ops that put elements in order ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over the whole dim for each element, in parallel: an element's place is the number of those that come before it. That
// is n^2 comparisons for n elements, and no exchange between threads; a block-wide bitonic sort would take n log^2 n of them.
#ifndef DLC_IR_DL_DLORDER_TD
#define DLC_IR_DL_DLORDER_TD

include "ir/dl/DLBase.td"

def DL_CumsumOp : DL_DecomposedOp<"cumsum", "cumsum(Tensor x, int dim, ScalarType? dtype=None)"> {
  let summary = "The sum of each element and those before it along a dim";
  let description = [{
    Integers and bools are summed as i64. With `dtype`, each element is converted first; floats of 16 bits are summed in f32.
    Becomes `dl.prefix_sum` of blocks and, where there are several, of their totals: the order of the additions depends on
    the dims alone. PyTorch: `torch.cumsum`.
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
    Each sum is its own loop over the dim: n^2 additions for n elements, which `dl.cumsum` keeps short. PyTorch:
    `torch.cumsum`.
    ```mlir
    %y = dl.prefix_sum %x {dim = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, I64Attr:$dim);
  let results = (outs DL_NumberTensor:$y);
}

def DL_RankOp : DL_LoopOp<"rank", "", ["emitTerm"]> {
  let summary = "The place that each element takes when a dim is sorted";
  let description = [{
    The number of elements along `dim` that are smaller (with `descending`, larger), and of the equal ones before it. NaN is
    larger than any number and equal to itself; -0 equals +0. PyTorch: `torch.argsort(torch.argsort(x, stable=True))`.
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
    `ranks` holds each of the numbers 0 to n - 1 once along `dim`; the result is the inverse, its first `count` along the
    dim. PyTorch: `torch.argsort(ranks)`, cut off.
    ```mlir
    %y = dl.places %ranks {dim = 1 : i64, count = affine_map<() -> (3)>} : (tensor<4x8xi64>) -> tensor<4x3xi64>
    ```
  }];
  let arguments = (ins RankedTensorOf<[I64]>:$ranks, I64Attr:$dim, AffineMapAttr:$count);
  let results = (outs RankedTensorOf<[I64]>:$y);
}

def DL_SortOp : DL_DecomposedOp<"sort",
    "sort(Tensor x, int dim=-1, bool descending=False, bool stable=False) -> (Tensor values, Tensor indices)"> {
  let summary = "The elements along a dim in order, and where they stood";
  let description = [{
    Equal elements keep their order whether `stable` or not; NaN is the largest. Becomes `dl.rank`, `dl.places` and
    `dl.gather`: n^2 comparisons along the dim. PyTorch: `torch.sort`.
    ```mlir
    %values, %indices = dl.sort %x {dim = 1 : i64} : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xi64>)
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, DefaultValuedAttr<I64Attr, "-1">:$dim,
      DefaultValuedAttr<BoolAttr, "false">:$descending, DefaultValuedAttr<BoolAttr, "false">:$stable);
  let results = (outs DL_NumberTensor:$values, RankedTensorOf<[I64]>:$indices);
}

def DL_ArgsortOp : DL_DecomposedOp<"argsort",
    "argsort(Tensor x, int dim=-1, bool descending=False, bool stable=False)"> {
  let summary = "Where the elements along a dim stand, in their order";
  let description = [{
    Equal elements keep their order whether `stable` or not; NaN is the largest. Becomes `dl.rank` and `dl.places`: n^2
    comparisons along the dim. PyTorch: `torch.argsort`.
    ```mlir
    %y = dl.argsort %x {dim = 1 : i64, descending = true} : (tensor<4x8xf32>) -> tensor<4x8xi64>
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, DefaultValuedAttr<I64Attr, "-1">:$dim,
      DefaultValuedAttr<BoolAttr, "false">:$descending, DefaultValuedAttr<BoolAttr, "false">:$stable);
  let results = (outs RankedTensorOf<[I64]>:$y);
}

def DL_TopkOp : DL_DecomposedOp<"topk",
    "topk(Tensor x, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)"> {
  let summary = "The k largest elements along a dim, and where they stand";
  let description = [{
    Or the k smallest ones; in order whether `sorted` or not. Of equal elements those that come first are taken, in their
    order; NaN is the largest. Becomes `dl.rank`, `dl.places` and `dl.gather` of blocks of the dim, then of the first of
    each: some n max(128, 4 k) comparisons, or n^2 where the dim is symbolic. PyTorch: `torch.topk`.
    ```mlir
    %values, %indices = dl.topk %x {k = 3 : i64, dim = 1 : i64} : (tensor<4x8xf32>) -> (tensor<4x3xf32>, tensor<4x3xi64>)
    ```
  }];
  let arguments = (ins DL_NumberTensor:$x, I64Attr:$k, DefaultValuedAttr<I64Attr, "-1">:$dim,
      DefaultValuedAttr<BoolAttr, "true">:$largest, DefaultValuedAttr<BoolAttr, "true">:$sorted);
  let results = (outs DL_NumberTensor:$values, RankedTensorOf<[I64]>:$indices);
}

#endif // DLC_IR_DL_DLORDER_TD
