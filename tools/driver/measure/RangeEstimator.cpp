//===- RangeEstimator.cpp - The range of an activation that 8 bits shall hold -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/measure/RangeEstimator.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dlc {

/// The share of the elements that `percentile` leaves out at either end.
static constexpr double kTail = 1e-5;
/// Ranges that `entropy` and `mse` try: 100 % of the extent, 99 %, ... down to 10 %.
static constexpr int kShrinks = 91;

void RangeEstimator::observe(const float *values, size_t count) {
  double low = 0, high = 0;
  for (size_t i = 0; i < count; ++i) {
    double value = values[i];
    if (!std::isfinite(value)) {
      ++notFinite;
      continue;
    }
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (isFirst)
    average = {low, high};
  average = {0.9 * average.low + 0.1 * low, 0.9 * average.high + 0.1 * high};
  seen = {std::min(seen.low, low), std::max(seen.high, high)};
  isFirst = false;
}

void RangeEstimator::count(const float *values, size_t count) {
  bins.resize(kBins);
  double width = seen.high - seen.low;
  for (size_t i = 0; i < count && width > 0; ++i) {
    if (values[i] == 0)
      continue;
    double at = (values[i] - seen.low) / width * kBins;
    if (std::isfinite(at))
      ++bins[std::min(kBins - 1, static_cast<size_t>(std::max(at, 0.0)))];
  }
}

double RangeEstimator::centre(size_t bin) const {
  return seen.low + (seen.high - seen.low) * (static_cast<double>(bin) + 0.5) / kBins;
}

/// The range that the grid over `range` holds.
Range RangeEstimator::asGrid(Range range) const {
  range = {std::min(range.low, 0.0), std::max(range.high, 0.0)};
  const double most = std::max(-range.low, range.high);
  return isSymmetric && most > 0 ? Range{-most, most} : range;
}

/// The nearest number to `value` that 8 bits over `range` have.
double RangeEstimator::onGrid(double value, const Range &range) const {
  double scale = (range.high - range.low) / steps();
  double zero = std::round(-range.low / scale);
  return (std::clamp(std::nearbyint(value / scale) + zero, 0.0, steps()) - zero) * scale;
}

/// The sum over all elements; those of a bin count as evenly spread over it.
double RangeEstimator::squaredError(const Range &range) const {
  double sum = 0;
  double within = (seen.high - seen.low) / kBins, scale = (range.high - range.low) / steps();
  for (size_t bin = 0; bin < bins.size(); ++bin) {
    if (bins[bin] == 0)
      continue;
    double value = centre(bin);
    double error = value < range.low || value > range.high
                       ? std::pow(value - onGrid(value, range), 2) + within * within / 12
                       : scale * scale / 12;
    sum += error * static_cast<double>(bins[bin]);
  }
  return sum;
}

/// The divergence of what was seen from the same with all elements of a step spread evenly over its
/// bins that are not empty. What is cut off is added to the outermost bins of the former alone.
double RangeEstimator::divergence(const Range &range) const {
  std::vector<double> cut(kBins), step(256), filled(256);
  std::vector<size_t> stepOf(kBins);
  size_t first = kBins, last = 0;
  double scale = (range.high - range.low) / steps();
  for (size_t bin = 0; bin < kBins; ++bin)
    if (double value = centre(bin); value >= range.low && value <= range.high) {
      first = std::min(first, bin);
      last = bin;
    }
  if (first > last)
    return std::numeric_limits<double>::infinity();
  double total = 0;
  for (size_t bin = 0; bin < kBins; ++bin) {
    auto count = static_cast<double>(bins[bin]);
    size_t inside = std::clamp(bin, first, last);
    cut[inside] += count;
    total += count;
    if (inside != bin)
      continue;
    stepOf[bin] = std::clamp<size_t>(
        static_cast<size_t>(std::nearbyint((centre(bin) - range.low) / scale)), 0, 255);
    step[stepOf[bin]] += count;
    filled[stepOf[bin]] += count > 0;
  }
  double kept = 0;
  for (double count : step)
    kept += count;
  double sum = 0;
  for (size_t bin = first; bin <= last; ++bin) {
    if (cut[bin] == 0)
      continue;
    double p = cut[bin] / total;
    // A bin that holds nothing but what was cut off has no step: a small number in place of zero.
    double q = bins[bin] > 0 ? step[stepOf[bin]] / filled[stepOf[bin]] / kept : 1e-9;
    sum += p * std::log(p / q);
  }
  return sum;
}

Range RangeEstimator::percentileRange() const {
  int64_t total = 0;
  for (int64_t count : bins)
    total += count;
  auto outside = static_cast<int64_t>(kTail * static_cast<double>(total));
  size_t low = 0, high = kBins - 1;
  for (int64_t left = outside; low < high && (left -= bins[low]) >= 0;)
    ++low;
  for (int64_t left = outside; high > low && (left -= bins[high]) >= 0;)
    --high;
  double half = (seen.high - seen.low) / kBins / 2;
  return {centre(low) - half, centre(high) + half};
}

Range RangeEstimator::leastOf(double (RangeEstimator::*loss)(const Range &) const) const {
  const Range all = asGrid(seen);
  Range best = all;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kShrinks; ++i) {
    double part = 1 - 0.01 * i;
    Range range = {all.low * part, all.high * part};
    if (double found = (this->*loss)(range); found < least) {
      least = found;
      best = range;
    }
  }
  return best;
}

Range RangeEstimator::range() const {
  Range found = seen;
  if (method == RangeMethod::average)
    found = average;
  else if (bins.empty() || seen.low == seen.high)
    found = seen;
  else if (method == RangeMethod::percentile)
    found = percentileRange();
  else if (method == RangeMethod::entropy)
    found = leastOf(&RangeEstimator::divergence);
  else if (method == RangeMethod::mse)
    found = leastOf(&RangeEstimator::squaredError);
  return asGrid(found);
}

/// The nearest number of e4m3 (ties to even, 448 beyond it).
static double nearestFloat8(double value) {
  const double size = std::min(std::fabs(value), 448.0);
  // Numbers below 2^-6 have the steps of those above it; 8 steps take a number to twice itself.
  const double step = std::ldexp(1.0, std::max(size > 0 ? std::ilogb(size) : -6, -6) - 3);
  return std::copysign(std::nearbyint(size / step) * step, value);
}

double RangeEstimator::signalToNoiseOfFloat8() const {
  const double scale = std::max(-seen.low, seen.high) / 448;
  double power = 0, error = 0;
  for (size_t bin = 0; bin < bins.size(); ++bin) {
    const double value = centre(bin), off = value - nearestFloat8(value / scale) * scale;
    power += value * value * static_cast<double>(bins[bin]);
    error += off * off * static_cast<double>(bins[bin]);
  }
  return error > 0 ? 10 * std::log10(power / error) : std::numeric_limits<double>::infinity();
}

double RangeEstimator::signalToNoise(const Range &range) const {
  double power = 0;
  for (size_t bin = 0; bin < bins.size(); ++bin)
    power += centre(bin) * centre(bin) * static_cast<double>(bins[bin]);
  double error = squaredError(range);
  return error > 0 ? 10 * std::log10(power / error) : std::numeric_limits<double>::infinity();
}

} // namespace dlc
