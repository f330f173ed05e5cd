//===- PrefixSort.h - A line sorted by the first bits of its keys -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_SCHEDULE_LINES_PREFIXSORT_H
#define DLC_CODEGEN_CPU_SCHEDULE_LINES_PREFIXSORT_H

#include "codegen/cpu/schedule/lines/OrderMemory.h"

namespace dlc::codegen {

/// Sorts by as many of the first bits in which keys differ as fit beside a place in 32 bits, with a
/// NetworkSort. What the other bits decide is then out of order: a few elements are inserted where
/// they belong; where there are many, another sort has to do it all.
class PrefixSort {
public:
  /// Elements of the longest line for which the bits that are left tell enough apart.
  static constexpr int64_t kLongest = 4096;

  PrefixSort(CpuKernel &k, const OrderMemory &memory) : k(k), memory(memory) {}
  /// Whether the first `count` words, that have their places, were sorted and given to `result`: an
  /// i1. `least`: the lowest key, `range`: the difference of the highest one (i64, below 2^32). At
  /// most kLongest of them; the first half of memory.words stays.
  mlir::Value sort(mlir::Value count, mlir::Value least, mlir::Value range,
                   const OrderResult &result);

  /// Elements of memory.network that a line of at most `longest` elements takes.
  static int64_t wordsOfNetwork(std::optional<int64_t> longest);

private:
  void fill(mlir::Value count, mlir::Value length, mlir::Value least, mlir::Value dropped,
            mlir::Value placeBits);
  mlir::Value collect(mlir::Value count, mlir::Value rows, mlir::Value placeBits);
  void insert(mlir::Value listed);
  mlir::Value wordAt(mlir::Value rank);
  mlir::Value bitsOf(mlir::Value number);
  mlir::Value number(int64_t value);
  mlir::Value minus(mlir::Value a, mlir::Value b);

  CpuKernel &k;
  const OrderMemory &memory;
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CPU_SCHEDULE_LINES_PREFIXSORT_H
