//===- DLCounted.td - Ops whose results are as large as the data say --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each gives results of the largest size that they may have, zeros behind the real elements, and
// how many are real: DLBase.td, `counted`. The frontends cut the results by dl.trim to a counted
// symbol (#dl.symbol).
#ifndef DLC_IR_DL_DLCOUNTED_TD
#define DLC_IR_DL_DLCOUNTED_TD

include "ir/dl/index/DLOrder.td"
include "ir/dl/shape/DLShape.td"

def DL_I64Tensor : RankedTensorOf<[I64]>;

def DL_TrimOp : DL_MoveOp<"trim", ""> {
  let summary = "The first elements of a dim, as many as a counted symbol says";
  let description = [{
    `size` is the symbol, whose value while the model runs is that of the dim: nothing is left out
    before the outputs are handed to the caller. PyTorch: `x[:count]`.
    ```mlir
    %y = dl.trim %x {dim = 0 : i64, size = affine_map<()[s0] -> (s0)>} : (tensor<8x2xi64>) ->
        tensor<?x2xi64, #dl.t<[s0, 2]>>
    ```
  }];
  let arguments = (ins DL_AnyTensor:$x, I64Attr:$dim, AffineMapAttr:$size);
}

class DL_CountedOp<string mnemonic, string torchSchema> : DL_DecomposedOp<mnemonic, torchSchema>;

def DL_NonzeroOp : DL_CountedOp<"nonzero",
                                "nonzero(Tensor x, False as_tuple=False)\nargwhere(Tensor x)"> {
  let summary = "Indices of the nonzero elements, one row each";
  let counted = "y:0";
  let description = [{
    In row-major order; NaN is not zero. As many rows as x has elements, zeros behind the real ones,
    and how many these are. Becomes `dl.cumsum` and `dl.scatter`. PyTorch: `torch.nonzero`,
    `torch.argwhere`.
    ```mlir
    %y, %count = dl.nonzero %x : (tensor<4x8xf32>) -> (tensor<32x2xi64>, tensor<i64>)
    ```
  }];
  let arguments = (ins DL_Tensor:$x);
  let results = (outs DL_I64Tensor:$y, DL_I64Tensor:$count);
}

def DL_MaskedSelectOp : DL_CountedOp<"masked_select", "masked_select(Tensor x, BoolTensor mask)"> {
  let summary = "The elements of x where mask holds, in one dim";
  let counted = "y:0";
  let description = [{
    In row-major order, x and mask broadcast to each other. As many elements as these dims have,
    zeros behind the real ones, and how many these are. Becomes `dl.cumsum` and `dl.scatter`.
    PyTorch: `torch.masked_select`.
    ```mlir
    %y, %count = dl.masked_select %x, %mask : (tensor<4x8xf32>, tensor<4x8xi1>) ->
        (tensor<32xf32>, tensor<i64>)
    ```
  }];
  let arguments = (ins DL_Tensor:$x, DL_BoolTensor:$mask);
  let results = (outs DL_Tensor:$y, DL_I64Tensor:$count);
}

def DL_UniqueOp : DL_CountedOp<"unique", [{unique(Tensor x, bool sorted=True, False return_inverse=False, False return_counts=False, int? dim=None)
unique(Tensor x, bool sorted=True, True return_inverse, False return_counts=False, int? dim=None) -> (Tensor values, Tensor inverse)
unique(Tensor x, bool sorted=True, False return_inverse=False, True return_counts, int? dim=None) -> (Tensor values, Tensor counts)
unique(Tensor x, bool sorted=True, True return_inverse, True return_counts, int? dim=None) -> (Tensor values, Tensor inverse, Tensor counts)
unique_all(Tensor x, bool sorted=True, int? dim=None) -> (Tensor values, Tensor indices, Tensor inverse, Tensor counts)}]> {
  let summary = "The different elements, or slices along a dim, of x";
  let counted = "values:dim indices:0 inverse counts:0";
  let description = [{
    In ascending order, or not `sorted` in the order in which they come first. `indices` are where
    each comes first, `inverse` where each element of x stands among the values (in the dims of x
    without `dim`, in one dim with it), `counts` how often each value occurs. NaN is the largest,
    and each NaN differs from all others. Values are padded along `dim` with zeros, indices and
    counts along their only dim. Without `dim` becomes `dl.sort`, `dl.cumsum` and `dl.scatter`; with
    `dim`, n^2 comparisons of n slices. PyTorch: `torch.unique`; with indices the array API's
    `unique_all`.
    ```mlir
    %values, %indices, %inverse, %counts, %count = dl.unique %x :
        (tensor<4x8xi64>) ->
            (tensor<32xi64>, tensor<32xi64>, tensor<4x8xi64>, tensor<32xi64>, tensor<i64>)
    ```
  }];
  let arguments = (ins DL_Tensor:$x, DefaultValuedAttr<BoolAttr, "true">:$sorted,
                       OptionalAttr<I64Attr>:$dim);
  let results = (outs DL_Tensor:$values, DL_I64Tensor:$indices, DL_I64Tensor:$inverse,
                      DL_I64Tensor:$counts,
      DL_I64Tensor:$count);
}

def DL_NonMaxSuppressionOp : DL_DecomposedOp<"non_max_suppression",
    "non_max_suppression(Tensor boxes, Tensor scores, Tensor? iou_threshold=None, Tensor? score_threshold=None, Tensor? limit=None, int? most=None, bool center_point_box=False)",
    [AttrSizedOperandSegments]> {
  let summary = "Non-maximum suppression per image and class";
  let counted = "y:0";
  let description = [{
    boxes is [images, n, 4], scores [images, classes, n]. Of each image and class the box of the
    best score is taken, those whose intersection over union with it lies above `iou_threshold` (0
    without) are dropped, and so on, up to `limit` or `most` times. Boxes of scores not above
    `score_threshold`, or of -inf, do not take part. `iou_threshold`, `score_threshold` and `limit`
    are tensors of one element. A box is two opposite corners, or with `center_point_box` the center
    x and y, width and height. The result is rows of image, class and box, zeros behind the real
    ones, and how many these are; it has room for `most` boxes of each image and class, or n where
    that is smaller or `most` above 4096 for a dynamic n. Becomes `dl.order` and `dl.suppress`.
    PyTorch: `torchvision.ops.batched_nms`.
    ```mlir
    %y, %count = dl.non_max_suppression %boxes, %scores {most = 2 : i64,
        operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} :
        (tensor<1x8x4xf32>, tensor<1x3x8xf32>) -> (tensor<6x3xi64>, tensor<i64>)
    ```
  }];
  let arguments = (ins DL_FloatTensor:$boxes, DL_FloatTensor:$scores,
                       Optional<DL_FloatTensor>:$iou_threshold,
      Optional<DL_FloatTensor>:$score_threshold, Optional<DL_NumberTensor>:$limit,
      OptionalAttr<I64Attr>:$most,
      DefaultValuedAttr<BoolAttr, "false">:$center_point_box);
  let results = (outs DL_I64Tensor:$y, DL_I64Tensor:$count);
}

def DL_NmsOp : DL_CountedOp<"nms", "nms(Tensor boxes, Tensor scores, float iou_threshold)"> {
  let summary = "The boxes that overlap none of a better score, best first";
  let counted = "y:0";
  let description = [{
    boxes is [n, 4], two opposite corners each, scores [n]. The result is the numbers of those that
    are kept, zeros behind the real ones, and how many these are; boxes of a score of -inf are not
    kept. Becomes `dl.non_max_suppression`. PyTorch: `torchvision.ops.nms`.
    ```mlir
    %y, %count = dl.nms %boxes, %scores {iou_threshold = 0.5 : f64} :
        (tensor<8x4xf32>, tensor<8xf32>) -> (tensor<8xi64>, tensor<i64>)
    ```
  }];
  let arguments = (ins DL_FloatTensor:$boxes, DL_FloatTensor:$scores, F64Attr:$iou_threshold);
  let results = (outs DL_I64Tensor:$y, DL_I64Tensor:$count);
}

def DL_SuppressOp : DL_LineOp<"suppress"> {
  let summary = "Along the last dim, the places of boxes that overlap none taken before them";
  let description = [{
    In the order of the places in `order`, one box after the other is taken whose `takes_part` is
    set and whose intersection over union with none of the taken ones lies above `threshold`, which
    has one element, until `count` are: their places, then -1. A place outside of the line takes no
    part. `low0` to `high1` are the corners; a box without area overlaps none. The dims of order and
    takes_part are equal; the corners are repeated along their dims of 1. Of most lines few boxes
    are looked at; at most n * count / 2 pairs are compared: on the CPU 16 taken boxes at a time; on
    CUDA by one block for each line, 256 boxes at a time with those taken before them. PyTorch:
    `torchvision.ops.nms`, to which scores give the order.
    ```mlir
    %y = dl.suppress %o, %a, %b, %c, %d, %t, %m {count = affine_map<() -> (5)>} :
        (tensor<4x80xi64>, tensor<1x80xf32>, tensor<1x80xf32>, tensor<1x80xf32>, tensor<1x80xf32>,
            tensor<1xf32>,
         tensor<4x80xi1>) -> tensor<4x5xi64>
    ```
  }];
  let arguments = (ins DL_I64Tensor:$order, DL_FloatTensor:$low0, DL_FloatTensor:$low1,
                       DL_FloatTensor:$high0,
      DL_FloatTensor:$high1, DL_FloatTensor:$threshold, DL_BoolTensor:$takes_part,
      AffineMapAttr:$count);
  let results = (outs DL_I64Tensor:$y);
}

#endif // DLC_IR_DL_DLCOUNTED_TD
