//===- WrittenScores.h - The scores of an attention, however written ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_RAISE_WRITTENSCORES_H
#define DLC_PASSES_RAISE_WRITTENSCORES_H

#include "passes/raise/WrittenArithmetic.h"

namespace dlc {

/// The operand of the softmax: scale * product, then masked.
struct Scores {
  LoopNestOpInterface product;
  double scale = 1;
  /// Bool: what is false is hidden; float: it is added. In the dims of the op that reads it.
  mlir::Value mask;
  /// The mask hides where this bool is true.
  bool isMaskInverted = false;
  bool isCausal = false;

  bool isMasked() const { return mask || isCausal; }
};

/// Reads `value`, of which a softmax is taken, back to a product; covers all ops up to it.
std::optional<Scores> scoresOf(mlir::Value value, Covered &covered);

} // namespace dlc

#endif // DLC_PASSES_RAISE_WRITTENSCORES_H
