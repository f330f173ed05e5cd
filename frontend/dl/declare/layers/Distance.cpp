//===- Distance.cpp - Layers that compare two inputs --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/declare/layers/Families.h"

namespace dlc::frontend {

std::vector<LayerKind> distanceLayers() {
  return {
      {.name = "CosineSimilarity",
       .function = "cosine_similarity",
       .schema = "(int dim=1, float eps=1e-8)",
       .call = "(Tensor x1, Tensor x2)"},
      {.name = "PairwiseDistance",
       .function = "pairwise_distance",
       .schema = "(float p=2, float eps=1e-6, bool keepdim=False)",
       .call = "(Tensor x1, Tensor x2)"},
  };
}

} // namespace dlc::frontend
