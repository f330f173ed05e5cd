//===- MagnitudeMask.h - Which weights are the smallest -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain arrays of numbers: what a model does with them is PrunableWeights.h's subject.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_COMPRESS_PRUNE_MAGNITUDEMASK_H
#define DLC_PASSES_COMPRESS_PRUNE_MAGNITUDEMASK_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace dlc {

enum class FloatStorage { f16, bf16, f32, f64 };

/// The numbers of a weight where they are stored, little-endian and dense. Copies refer to the same
/// numbers.
struct StoredNumbers {
  FloatStorage type;
  llvm::MutableArrayRef<uint8_t> bytes;

  unsigned width() const; // bytes of a number
  uint64_t size() const { return bytes.size() / width(); }
  double at(uint64_t position) const;
  /// Rounds to the nearest number of the type, ties to even.
  void set(uint64_t position, double number) const;
};

/// The numbers that one sum reads: `length` of them, `stride` numbers apart. Storage is blocks of
/// length * stride numbers, each of `stride` such runs.
struct SumRuns {
  uint64_t length, stride;
};

/// For each number whether it becomes zero.
using ZeroMask = std::vector<bool>;

/// The masks of the share of all numbers that is smallest in magnitude, the count rounded to the
/// nearest whole number. Numbers that are zero already count; among equal ones the earlier weights
/// and positions come first, so that the count is met exactly. NaN is larger than any number.
std::vector<ZeroMask> smallestNumbers(llvm::ArrayRef<StoredNumbers> weights, double share);

/// The mask of the two smallest of each four neighbours along `runs`, whose length must be a
/// multiple of four and whose blocks must divide the weight; of equal ones the earlier.
ZeroMask smallestTwoOfFour(const StoredNumbers &weight, SumRuns runs);

/// The effect of zeros on one weight or on several.
struct ZeroEffect {
  uint64_t numbers = 0, zerosBefore = 0, zerosAfter = 0;
  double squares = 0, removedSquares = 0; // sums over all numbers and over those that became zero

  /// The Euclidean length of what was removed as a share of that of the whole; 0 where all is zero.
  double removedShare() const;
  ZeroEffect &operator+=(const ZeroEffect &other);
};

/// Makes the numbers of the mask +0. An empty mask changes nothing.
ZeroEffect makeZero(StoredNumbers weight, const ZeroMask &mask);

/// The effect of a change that made zeros among others: `before` has the numbers that were there.
ZeroEffect effectOf(StoredNumbers weight, llvm::ArrayRef<double> before);

} // namespace dlc

#endif // DLC_PASSES_COMPRESS_PRUNE_MAGNITUDEMASK_H
