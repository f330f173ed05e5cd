//===- Embedding.cpp - Tables of vectors --------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/declare/layers/Families.h"

namespace dlc::frontend {

std::vector<LayerKind> embeddingLayers() {
  return {
      {.name = "Embedding",
       .function = "embedding",
       .schema = "(int num_embeddings, int embedding_dim, int? padding_idx=None, float? "
                 "max_norm=None, float norm_type=2.0, bool scale_grad_by_freq=False, bool "
                 "sparse=False)",
       .weights =
           [](const LayerArguments &a, LayerWeights &weights) {
             weights.add("weight", {a.size("num_embeddings"), a.size("embedding_dim")});
           },
       // max_norm would change the table, and must be None; scale_grad_by_freq changes training.
       .ignored = {"norm_type", "sparse"}},
      {.name = "EmbeddingBag",
       .function = "embedding_bag",
       .schema = "(int num_embeddings, int embedding_dim, float? max_norm=None, float "
                 "norm_type=2.0, bool scale_grad_by_freq=False, str mode='mean', bool "
                 "sparse=False, bool include_last_offset=False, int? padding_idx=None)",
       .weights =
           [](const LayerArguments &a, LayerWeights &weights) {
             weights.add("weight", {a.size("num_embeddings"), a.size("embedding_dim")});
           },
       .ignored = {"norm_type", "scale_grad_by_freq", "sparse"},
       .call = "(Tensor input, Tensor? offsets=None, Tensor? per_sample_weights=None)"},
  };
}

} // namespace dlc::frontend
