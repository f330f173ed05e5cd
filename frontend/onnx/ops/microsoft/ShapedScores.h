//===- ShapedScores.h - Attention whose scores are more than products ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_ONNX_OPS_MICROSOFT_SHAPEDSCORES_H
#define DLC_FRONTEND_ONNX_OPS_MICROSOFT_SHAPEDSCORES_H

#include "frontend/onnx/Importer.h"

namespace dlc::onnx {

/// The steps that change the scores of queries and keys before the softmax, in this order.
struct ShapedScores {
  int64_t heads = 0, heldHeads = 0; // of queries, and of keys and values
  double scale = 0;                 // 0: 1 / sqrt(width)
  double cap = 0;                   // cap tanh(score / cap), if it is above 0
  bool isSmooth = false;            // one more score takes a share of each row, and has no value
  std::optional<Item> sink;         // that score for each head, [heads]; 0 without
  std::optional<Item> bias;         // added
  std::optional<Item> mask;         // without a bias: which pairs of a query and a key meet
};

/// Returns the attention of q [N, heads, T, width] to k and v [N, held heads, S, width].
Item attended(NodeImport &node, Item q, Item k, Item v, const ShapedScores &by);

} // namespace dlc::onnx

#endif // DLC_FRONTEND_ONNX_OPS_MICROSOFT_SHAPEDSCORES_H
