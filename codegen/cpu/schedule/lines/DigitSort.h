//===- DigitSort.h - A line sorted by the digits of its keys ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_SCHEDULE_LINES_DIGITSORT_H
#define DLC_CODEGEN_CPU_SCHEDULE_LINES_DIGITSORT_H

#include "codegen/cpu/schedule/lines/OrderMemory.h"

namespace dlc::codegen {

/// A radix sort from the last digit of the keys to the first: each pass moves the elements to where
/// the number of those with lower digits says, equal ones in their order. Digits cover the bits in
/// which the keys at hand differ, no more; elements that are in order stay.
class DigitSort {
public:
  DigitSort(CpuKernel &k, const OrderMemory &memory) : k(k), memory(memory) {}
  /// Sorts the first `count` elements, one or more; lines that are not long by a PrefixSort, if it
  /// can.
  void sort(mlir::Value count, const OrderResult &result);

  /// Counters that a line of at most `longest` elements takes.
  static int64_t counters(std::optional<int64_t> longest);

private:
  /// What the digits of a sort are: bits of a word less `base`, null where that is 0.
  struct Digits {
    mlir::Value base, mask; // i64
    mlir::Value values;     // how many there are, an index
  };
  /// What is known of all words before they are sorted.
  struct Known {
    mlir::Value least, most, areSorted;
  };
  Known look(mlir::Value count);
  void sortUnsorted(mlir::Value count, const Known &known, const OrderResult &result);
  void sortPacked(mlir::Value count, mlir::Value base, mlir::Value least, mlir::Value range,
                  const OrderResult &result);
  mlir::Value placeOf(mlir::Value word, mlir::Value at, bool isBeside);
  void pack(mlir::Value count, mlir::Value least);
  void sortBy(mlir::Value count, mlir::Value base, int64_t first, mlir::Value range,
              bool movesPlaces, const OrderResult &result);
  mlir::Value counterOf(mlir::Value word, mlir::Value shift, const Digits &digits,
                        mlir::Value first);
  mlir::Value countOne(mlir::Value at);
  void clear(mlir::Value first, const Digits &digits);
  void addUp(mlir::Value first, const Digits &digits);

  mlir::Value toIndex(mlir::Value number);
  mlir::Value number(int64_t value);
  mlir::Value load(mlir::Value memory, mlir::Value at);
  void store(mlir::Value value, mlir::Value memory, mlir::Value at);

  CpuKernel &k;
  const OrderMemory &memory;
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CPU_SCHEDULE_LINES_DIGITSORT_H
