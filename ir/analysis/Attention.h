//===- Attention.h - Two matrix products with a softmax between them -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// scaled_dot_product_attention is defined by ops that users also write by hand. What is found here is one or the other:
// a kernel of the three need not store the scores.
//===----------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_ANALYSIS_ATTENTION_H
#define DLC_IR_ANALYSIS_ATTENTION_H

#include "ir/interfaces/LoopNest.h"

namespace dlc {

struct Attention {
  /// Sums of query times key, and of weight times value.
  LoopNestOpInterface scoresOp, sumOp;
  /// What the softmax is taken of, scoresOp's result and maps behind it, without the causal mask.
  mlir::Value scores;
  /// The dim of `scores` that the softmax runs along: the keys.
  unsigned keyDim = 0;
  /// Which term of scoresOp is the query and which the key, and which of sumOp the weights and which the value.
  unsigned queryTerm = 0, keyTerm = 1, weightsTerm = 0, valueTerm = 1;
  /// With a causal mask: over the dims of `scores`, the last key that is seen. Null without.
  mlir::AffineExpr lastSeen;
};

/// Widest head, of query and key and of value.
inline constexpr int64_t kMostHeadWidth = 256;

/// The attention that `block` computes: two products, one softmax and maps; f32, f16 or bf16 of static head widths up to
/// kMostHeadWidth. nullopt where it is anything else.
std::optional<Attention> findAttention(mlir::Block &block);

} // namespace dlc

#endif // DLC_IR_ANALYSIS_ATTENTION_H
