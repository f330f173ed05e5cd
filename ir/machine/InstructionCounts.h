//===- InstructionCounts.h - What parts of kernels take to issue ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_MACHINE_INSTRUCTIONCOUNTS_H
#define DLC_IR_MACHINE_INSTRUCTIONCOUNTS_H

namespace dlc {

/// Instructions of a thread, counted in the machine code that NVRTC gives for sm_90a, without
/// multiply-adds. A multiprocessor issues four warps' a clock.
struct InstructionCounts {
  /// Convolutions of few channels: for eight taps of a filter that are stored, for eight elements
  /// of the image that are copied.
  double fewChannelsFilter = 40, fewChannelsCopy = 24;
  /// Strips of depthwise convolutions: an access with its address and tests, the way to the first,
  /// and a result's way to memory.
  double depthwiseLoad = 6, depthwiseStart = 60, depthwiseResult = 3;
  /// Rows that are reduced: each of its terms, of which the load and its address take so many
  /// where a load has one; a term whose neighbours lie apart (each takes a line of the cache); a
  /// row beside its terms; what its warps tell each other.
  double rowTerm = 6, rowLoad = 4, rowTermApart = 40, row = 80, rowWarps = 80;
};
inline constexpr InstructionCounts kInstructions;

} // namespace dlc

#endif // DLC_IR_MACHINE_INSTRUCTIONCOUNTS_H
