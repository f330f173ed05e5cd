//===- DigitSort.h - A line sorted by the digits of its keys ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_SCHEDULE_CPU_DIGITSORT_H
#define DLC_CODEGEN_SCHEDULE_CPU_DIGITSORT_H

#include "codegen/schedule/cpu/CpuKernel.h"

namespace dlc::codegen {

/// Scratch memory of the elements of a line that are put in order. The word of an element whose key has 32 bits is that key above
/// its place; a key of 64 bits fills the word, and its place lies beside. Elements of equal keys stand by their places.
struct OrderMemory {
  mlir::Value counters; // i32, of two passes
  int64_t halfCounters; // of one
  mlir::Value words;    // i64, twice the line
  mlir::Value places;   // i32, twice the line; null where the words have them
  mlir::Value half;     // where the second one begins
};

/// A radix sort from the last digit of the keys to the first: each pass moves the elements to where the number of those with
/// lower digits says, equal ones in their order. Digits cover the bits in which the keys at hand differ, no more; elements that are
/// in order stay.
class DigitSort {
public:
  /// Calls that say where an element comes: its rank (an index), its place (i64).
  using Give = llvm::function_ref<void(mlir::Value rank, mlir::Value place)>;

  DigitSort(CpuKernel &k, const OrderMemory &memory) : k(k), memory(memory) {}
  /// Sorts the first `count` elements, one or more.
  void sort(mlir::Value count, Give give);

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
  void sortUnsorted(mlir::Value count, const Known &known, Give give);
  mlir::Value placeOf(mlir::Value word, mlir::Value at, bool isBeside);
  void pack(mlir::Value count, mlir::Value least);
  void sortBy(mlir::Value count, mlir::Value base, int64_t first, mlir::Value range,
              bool movesPlaces, Give give);
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

#endif // DLC_CODEGEN_SCHEDULE_CPU_DIGITSORT_H
