//===- Reasons.h - What dlc tells of its decisions ----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_DL_STRUCTURE_REASONS_H
#define DLC_IR_DL_STRUCTURE_REASONS_H

#include "ir/dl/DLDialect.h"

namespace dlc::dl {

/// The two parts of what `dlc explain` prints of a decision.
struct Reason {
  /// The end of a sentence that says why something is not as a reader may expect.
  llvm::StringRef why;
  /// The way to change it: a user's next step in the imperative, or "nothing" and why.
  llvm::StringRef change;
};

Reason reasonOf(NotFused notFused);
Reason reasonOf(Converted converted);

} // namespace dlc::dl

#endif // DLC_IR_DL_STRUCTURE_REASONS_H
