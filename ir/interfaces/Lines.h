//===- Lines.h - What an op computes line by line along one dim ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One description serves the interpreter, both targets' schedules and the cost model; none of them names an op. A line is
// what remains of a tensor when all indices but one are held; lines do not depend on each other.
//
//   order: result[i] = the place in the line of the element that comes i-th, for i below `count`. Smaller elements first
//     (with `descending` larger ones), equal ones by their places; -0 equals +0; NaN equals NaN and is above all numbers. Where
//     the line is shorter than `count`, 0 for the rest.
//   sum: result[i] = x[0] + ... + x[i], integers wrapping. The order of the additions depends on the dims alone.
//===----------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_INTERFACES_LINES_H
#define DLC_IR_INTERFACES_LINES_H

#include "ir/dl/DLTypes.h"

#include "mlir/IR/OpDefinition.h"

namespace dlc {

struct LineWork {
  enum class Kind { order, sum };
  Kind kind;
  unsigned dim;   // of operand 0 and of the result, whose other dims are equal
  dl::Dim length; // of the operand's lines
  dl::Dim count;  // of the result's
  bool descending = false;
};

} // namespace dlc

#include "ir/interfaces/LinesInterface.h.inc"

#endif // DLC_IR_INTERFACES_LINES_H
