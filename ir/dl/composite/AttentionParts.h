//===- AttentionParts.h - What the body of an attention consists of -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_DL_COMPOSITE_ATTENTIONPARTS_H
#define DLC_IR_DL_COMPOSITE_ATTENTIONPARTS_H

#include "ir/dl/DLOps.h"

#include <array>
#include <optional>
#include <string>

namespace dlc::dl {

/// The parts of the body of a dl.attention, or of a copy of it.
struct AttentionParts {
  /// Sums of query times key, and of weight times value.
  LoopNestOpInterface scoresOp, sumOp;
  SoftmaxOp softmax;
  /// The operand of the softmax without the causal mask: the result of scoresOp, or of maps that
  /// read it.
  mlir::Value scores;
  /// The dim of `scores` that the softmax runs along: the keys.
  unsigned keyDim = 0;
  /// Which term of scoresOp is the query and which the key, and which of sumOp the weights and
  /// which the value.
  unsigned queryTerm = 0, keyTerm = 1, weightsTerm = 0, valueTerm = 1;
  /// True where the weights are rounded to e4m3 between the softmax and sumOp, and by which
  /// positive number they are multiplied before that.
  bool hasFloat8Weights = false;
  double weightsFactor = 1;
  /// With a causal mask: over the dims of `scores`, the last key that is seen. Null without.
  mlir::AffineExpr lastSeen;

  /// The tensors of e4m3 that query, key and value are cast from, in this order, where all are and
  /// the weights are rounded to e4m3, too; else nullopt.
  std::optional<std::array<mlir::Value, 3>> float8Operands() const;
  /// Whether `scores` are what scoresOp computes times a positive number, which may be 1.
  bool areScaledAlone() const;
  /// What term `term` of a product reads.
  static mlir::Value operandOf(LoopNestOpInterface product, unsigned term);
};

/// Reads a body that ends in dl.yield. Empty where it is one of an attention; else a sentence's
/// end, about the op that has it, that says what is missing.
std::string readParts(mlir::Block &body, AttentionParts &parts);

/// A copy of an attention's body in the place of the op.
struct ExpandedAttention {
  AttentionParts
      parts; // with `lastSeen`; what adds the causal mask stands between `scores` and the softmax
  mlir::Value y;
};
/// Copies the body of `op` to the place of `builder`. The op itself stays.
ExpandedAttention expand(AttentionOp op, mlir::OpBuilder &builder);

/// The value that `value` stands for where it is an argument of an attention's body; else itself.
mlir::Value outsideAttention(mlir::Value value);

} // namespace dlc::dl

#endif // DLC_IR_DL_COMPOSITE_ATTENTIONPARTS_H
