//===- SideBySide.cpp - Recurrences that one kernel can run -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/SideBySide.h"

namespace dlc {

bool haveOneShape(RecurrentOpInterface a, RecurrentOpInterface b) {
  Recurrence first = a.getRecurrence(), second = b.getRecurrence();
  // The operands that there are, by their numbers: types alone do not tell a bias from a state.
  return a->getName() == b->getName() && a->getOperandTypes() == b->getOperandTypes() &&
         a->getResultTypes() == b->getResultTypes() && first.bias == second.bias &&
         first.projection == second.projection && first.initial == second.initial &&
         first.lengths == second.lengths && first.rowsFirst == second.rowsFirst;
}

} // namespace dlc
