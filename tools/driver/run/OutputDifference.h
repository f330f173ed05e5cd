//===- OutputDifference.h - How far results lie from what is expected ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Figures of an output over a whole data set. Batches are added one by one and none is kept; all is
// computed in f64.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_RUN_OUTPUTDIFFERENCE_H
#define DLC_TOOLS_DRIVER_RUN_OUTPUTDIFFERENCE_H

#include "tools/driver/run/Tensors.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dlc {

/// A part of a data set: `rows` samples from number `first` on.
struct SampleRange {
  int64_t first, rows;
};

class OutputDifference {
public:
  /// Adds what a batch gave; the dims must be equal, the dtypes need not. An output whose first dim
  /// is the rows of the range has a sample in each row; another one belongs to the batch as a
  /// whole.
  void add(const HostTensor &actual, const HostTensor &expected, SampleRange range);

  int64_t numElements() const { return count; }
  /// Elements that are NaN on either side. They are in none of the figures below.
  int64_t numNaN() const { return nans; }
  /// Elements that are infinite on one side only, or of other sign. They are in none of the figures
  /// below.
  int64_t numUnlikeInfinities() const { return infinities; }
  bool isFinite() const { return nans == 0 && infinities == 0; }

  /// The largest |actual - expected|.
  double maxAbsolute() const { return largestError; }
  /// The same as a part of the largest |expected|; infinite where that is 0 and something differs.
  double maxRelative() const;
  /// Signal to noise in dB, 10 log10(sum expected^2 / sum (actual - expected)^2); infinite where
  /// nothing differs.
  double signalToNoise() const;
  /// The cosine of the angle between both as vectors; 1 where both are 0, 0 where one of them is.
  double cosine() const;
  /// "[3, 2]: 0.5, expected 0.25": the element that is furthest off, its sample first, or the first
  /// one that is not finite where one is. Empty where nothing differs.
  const std::string &worst() const { return isFinite() ? worstError : firstNotFinite; }

private:
  int64_t count = 0, nans = 0, infinities = 0;
  double largestError = 0, largestExpected = 0;
  double actualSquares = 0, expectedSquares = 0, errorSquares = 0, products = 0;
  std::string worstError, firstNotFinite;
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_RUN_OUTPUTDIFFERENCE_H
