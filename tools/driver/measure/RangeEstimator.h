//===- RangeEstimator.h - The range of an activation that 8 bits shall hold ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 256 steps over all that was ever seen are coarse where one number in a million is large; cutting
// such numbers off makes the steps finer. The methods differ in what they cut.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_MEASURE_RANGEESTIMATOR_H
#define DLC_TOOLS_DRIVER_MEASURE_RANGEESTIMATOR_H

#include "tools/driver/base/OptionValues.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dlc {

struct Range {
  double low = 0, high = 0;
};

/// Reads the elements of one activation twice: first to find their extent, then to count them in a
/// histogram over it.
class RangeEstimator {
public:
  /// `isSymmetric`: 8 bits are -127 to 127 steps without a zero point, and not 0 to 255 with one.
  explicit RangeEstimator(RangeMethod method, bool isSymmetric = false)
      : method(method), isSymmetric(isSymmetric) {}

  /// The first reading, a batch at a time.
  void observe(const float *values, size_t count);
  /// The second.
  void count(const float *values, size_t count);

  /// After the readings: the range, which takes in 0, for activations are padded with zeros. A
  /// symmetric one reaches as far below it as above.
  Range range() const;
  /// Smallest and largest of all that were seen.
  Range extent() const { return seen; }
  /// NaN and infinities, which no range holds.
  int64_t numNotFinite() const { return notFinite; }
  /// How far, in dB, the squares of what was seen lie above those of the errors that 8 bits over
  /// `range` make. Needs the histogram; infinite where there is no error.
  double signalToNoise(const Range &range) const;
  /// The same of e4m3 with a scale that takes the largest magnitude of what was seen to 448.
  double signalToNoiseOfFloat8() const;

private:
  static constexpr size_t kBins = 4096;

  double centre(size_t bin) const;
  double steps() const { return isSymmetric ? 254 : 255; }
  Range asGrid(Range range) const;
  double onGrid(double value, const Range &range) const;
  double squaredError(const Range &range) const;
  double divergence(const Range &range) const;
  Range percentileRange() const;
  /// The best of the ranges that shrink both ends of what was seen alike.
  Range leastOf(double (RangeEstimator::*loss)(const Range &) const) const;

  RangeMethod method;
  bool isSymmetric;
  Range seen, average;
  bool isFirst = true;
  int64_t notFinite = 0;
  std::vector<int64_t> bins; // of all but zeros, which every grid holds exactly
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_MEASURE_RANGEESTIMATOR_H
