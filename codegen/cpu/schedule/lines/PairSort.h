//===- PairSort.h - A few elements sorted by comparing all pairs --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_SCHEDULE_LINES_PAIRSORT_H
#define DLC_CODEGEN_CPU_SCHEDULE_LINES_PAIRSORT_H

#include "codegen/cpu/schedule/lines/OrderMemory.h"

namespace dlc::codegen {

/// The rank of an element is the number of those before it: each is compared with all, one with a
/// vector of others in a step, without a branch.
class PairSort {
public:
  /// Elements up to which that is faster than other sorts.
  static constexpr int64_t kMost = 128;

  /// `longest`: the most elements that a line has, where that is known.
  PairSort(CpuKernel &k, const OrderMemory &memory, std::optional<int64_t> longest)
      : k(k), memory(memory), longest(longest.value_or(kMost)) {}
  /// Sorts the first `count` elements, at most kMost.
  void sort(mlir::Value count, const OrderResult &result);

private:
  llvm::SmallVector<mlir::Value> ranksFrom(mlir::Value first, int64_t lanes, int64_t width,
                                           mlir::Value count);
  mlir::Value isBefore(mlir::Value word, mlir::Value place, mlir::Value words, mlir::Value places);

  CpuKernel &k;
  const OrderMemory &memory;
  int64_t longest;
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CPU_SCHEDULE_LINES_PAIRSORT_H
