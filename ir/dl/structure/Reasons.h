//===- Reasons.h - What dlc tells of its decisions -------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_DL_STRUCTURE_REASONS_H
#define DLC_IR_DL_STRUCTURE_REASONS_H

#include "ir/dl/DLDialect.h"

namespace dlc::dl {

/// The two parts of what `dlc explain` prints of a decision.
struct Reason {
  /// The end of a sentence that says why something is not as a reader may expect.
  llvm::StringRef why;
  /// What would change it: what a user can do, in the imperative, or "nothing" and why.
  llvm::StringRef change;
};

Reason reasonOf(NotFused notFused);
Reason reasonOf(Converted converted);

} // namespace dlc::dl

#endif // DLC_IR_DL_STRUCTURE_REASONS_H
