//===- Recurrent.h - What an op computes step by step along time --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One description serves the interpreter, both targets' schedules and the cost model; none of them
// names a cell.
//
//   for n in rows:                                   // independent of each other
//     length = lengths ? clamp(lengths[n], 0, steps) : steps
//     states[0][0..outputs), states[1..][0..units) = initial or 0
//     for s in 0..length:
//       t = reverse ? length - 1 - s : s
//       for u in units:
//         x[g] = gates[t, n, g * units + u]          // [n, t, ...] where rowsFirst
//         h[g] = bias[g, u] + sum over k of weight[g, u, k] * states[0][k]
//         next[..][u] = step(x, h, states[..][u])    // states[0][u] only without projection
//       next[0] = projection * next[0]               // where there is one
//       states = next, y[t, n] = states[0]
//     y[length.., n] = 0, finals = states
//
// The results are y, then the final states in order.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_INTERFACES_RECURRENT_H
#define DLC_IR_INTERFACES_RECURRENT_H

#include "ir/interfaces/LoopNest.h"

namespace dlc {

struct Recurrence {
  /// Operand numbers.
  unsigned gates = 0, weight = 1;
  std::optional<unsigned> bias, projection, lengths;
  llvm::SmallVector<unsigned, 2> initial; // one for each state, or empty: zeros

  unsigned numGates = 0, numStates = 0;
  dl::Dim steps, rows;    // T, N
  int64_t units = 0;      // H
  int64_t outputs = 0;    // P; equal to units where there is no projection
  bool reverse = false;   // from the last step of each row to its first
  bool rowsFirst = false; // gates and y are [N, T, ...]
  mlir::Type elementType; // of all floats
  /// Width of state `state`: outputs for the first, units for the others.
  int64_t width(unsigned state) const { return state == 0 ? outputs : units; }
};

} // namespace dlc

#include "ir/interfaces/RecurrentInterface.h.inc"

#endif // DLC_IR_INTERFACES_RECURRENT_H
