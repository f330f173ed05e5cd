//===- SideBySide.h - Recurrences that one kernel can run ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_ANALYSIS_SIDEBYSIDE_H
#define DLC_IR_ANALYSIS_SIDEBYSIDE_H

#include "ir/interfaces/Recurrent.h"

namespace dlc {

/// Returns true if both are the same op on tensors of the same types, so that their steps can be
/// run together: the directions of one layer. They may differ in the direction. It does not look at
/// who reads whom.
bool haveOneShape(RecurrentOpInterface a, RecurrentOpInterface b);

} // namespace dlc

#endif // DLC_IR_ANALYSIS_SIDEBYSIDE_H
