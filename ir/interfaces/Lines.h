//===- Lines.h - What an op computes line by line along one dim ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One description serves the interpreter, both targets' schedules and the cost model; none of them
// names an op. A line is what remains of a tensor when all indices but one are held; lines do not
// depend on each other.
//
//   order: result[i] = the place in the line of the element that comes i-th, for i below `count`.
//   Smaller elements first
//     (with `descending` larger ones), equal ones by their places; -0 equals +0; NaN equals NaN and
//     is above all numbers. Where the line is shorter than `count`, 0 for the rest.
//   scatter: result = x; then for i in 0..length, with place = index[i], where 0 <= place < count:
//     result[place] = combiner ? combine(result[place], src[i]) : src[i]
//     The operands are x, index and src.
//   suppress: of boxes in an order, those that overlap no better one. The operands are order, low0,
//   low1, high0, high1 (corners),
//     threshold (one element) and takesPart:
//       taken = []; for i in order: if 0 <= i < length and takesPart[i] and len(taken) < count and
//       no j in taken has
//         overlap(i, j) > threshold: append i to taken
//     with overlap = common / (area(i) + area(j) - common), where common is the product of
//     max(min(high) - max(low), 0) along both axes; NaN lies above nothing. result[i] = taken[i],
//     or -1 behind the last one.
//   sum: result[i] = x[0] + ... + x[i], integers wrapping. The order of the additions depends on
//   the dims alone.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_INTERFACES_LINES_H
#define DLC_IR_INTERFACES_LINES_H

#include "ir/interfaces/LoopNest.h"

#include "mlir/IR/OpDefinition.h"

namespace dlc {

struct LineWork {
  enum class Kind { order, sum, scatter, suppress };
  Kind kind;
  /// Of all operands and the result, but for a threshold. The other dims are equal; those of a
  /// scatter's index and of corners may be 1 instead: they are repeated.
  unsigned dim;
  dl::Dim length; // of the operand's lines; of a scatter, of those of index and src
  dl::Dim count;  // of the result's lines; of a scatter, of those of x too
  bool descending = false;
  /// add, mul, max or min of a scatter; none: the last update stays.
  std::optional<Combiner> combiner = {};
};

} // namespace dlc

#include "ir/interfaces/LinesInterface.h.inc"

#endif // DLC_IR_INTERFACES_LINES_H
