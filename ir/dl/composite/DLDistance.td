//===- DLDistance.td - How far vectors lie from one another -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each is computed in f32 where its operands are narrower, and rounded once.
#ifndef DLC_IR_DL_DLDISTANCE_TD
#define DLC_IR_DL_DLDISTANCE_TD

include "ir/dl/base/DLBase.td"

def DL_CosineSimilarityOp : DL_DecomposedOp<"cosine_similarity",
    "cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-8)"> {
  let summary = "Cosine of the angle between vectors along a dim";
  let description = [{
    sum(x1 x2) / (max(norm(x1), eps) max(norm(x2), eps)) over `dim` of the two, which broadcast to
    each other. PyTorch: `torch.nn.functional.cosine_similarity`.
    ```mlir
    %y = dl.cosine_similarity %a, %b {dim = -1 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>) ->
        tensor<4xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x1, DL_FloatTensor:$x2, DefaultValuedAttr<I64Attr, "1">:$dim,
      DefaultValuedAttr<F64Attr, "1e-8">:$eps);
  let results = (outs DL_FloatTensor:$y);
}

def DL_PairwiseDistanceOp : DL_DecomposedOp<"pairwise_distance",
    "pairwise_distance(Tensor x1, Tensor x2, float p=2, float eps=1e-6, bool keepdim=False)"> {
  let summary = "Distance between vectors along the last dim";
  let description = [{
    The p-norm of x1 - x2 + eps, which broadcast to each other. PyTorch:
    `torch.nn.functional.pairwise_distance`.
    ```mlir
    %y = dl.pairwise_distance %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x1, DL_FloatTensor:$x2, DefaultValuedAttr<F64Attr, "2.0">:$p,
      DefaultValuedAttr<F64Attr, "1e-6">:$eps, DefaultValuedAttr<BoolAttr, "false">:$keepdim);
  let results = (outs DL_FloatTensor:$y);
}

def DL_CdistOp : DL_DecomposedOp<"cdist",
    "cdist(Tensor x1, Tensor x2, float p=2, str compute_mode='use_mm_for_euclid_dist_if_necessary')"> {
  let summary = "Distances between all pairs of two sets of vectors";
  let description = [{
    x1 is [..., P, M], x2 [..., R, M], the result [..., P, R]; leading dims broadcast. The p-norm of
    each difference, whatever `compute_mode`: never the product of matrices that PyTorch uses for
    large sets, which loses digits where vectors are close. PyTorch: `torch.cdist`.
    ```mlir
    %y = dl.cdist %a, %b : (tensor<4x8xf32>, tensor<5x8xf32>) -> tensor<4x5xf32>
    ```
  }];
  let arguments = (ins DL_FloatTensor:$x1, DL_FloatTensor:$x2,
                       DefaultValuedAttr<F64Attr, "2.0">:$p);
  let results = (outs DL_FloatTensor:$y);
}

#endif // DLC_IR_DL_DLDISTANCE_TD
