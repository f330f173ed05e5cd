//===- OutputDifference.cpp - How far results lie from what is expected -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/run/OutputDifference.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <limits>

namespace dlc {

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

static std::string number(double value) {
  char text[32];
  snprintf(text, sizeof(text), "%.7g", value);
  return std::isnan(value) ? "nan" : text; // the sign of a NaN says nothing
}

/// "[3, 2]: 0.5, expected 0.25", the sample's number first.
static std::string place(const HostTensor &actual, int64_t position, double value, double expected,
                         SampleRange range) {
  std::vector<int64_t> index(actual.dims.size());
  for (size_t dim = index.size(); dim-- > 0;) {
    index[dim] = position % actual.dims[dim];
    position /= actual.dims[dim];
  }
  if (!index.empty() && actual.dims[0] == range.rows)
    index[0] += range.first;
  else
    index.insert(index.begin(), range.first);
  std::string text;
  for (int64_t one : index)
    text += (text.empty() ? "[" : ", ") + std::to_string(one);
  return text + "]: " + number(value) + ", expected " + number(expected);
}

void OutputDifference::add(const HostTensor &actual, const HostTensor &expected,
                           SampleRange range) {
  assert(actual.dims == expected.dims && "only arrays of the same dims have a difference");
  int64_t size = actual.size();
  count += size;
  int64_t worstPosition = -1;
  for (int64_t i = 0; i < size; ++i) {
    double value = actual.at(i), reference = expected.at(i);
    if (!std::isfinite(value) || !std::isfinite(reference)) {
      if (value == reference) // the same infinity is no difference, and no number to add
        continue;
      ++(std::isnan(value) || std::isnan(reference) ? nans : infinities);
      if (firstNotFinite.empty())
        firstNotFinite = place(actual, i, value, reference, range);
      continue;
    }
    double error = value - reference;
    if (std::abs(error) > largestError) {
      largestError = std::abs(error);
      worstPosition = i;
    }
    largestExpected = std::max(largestExpected, std::abs(reference));
    actualSquares += value * value;
    expectedSquares += reference * reference;
    errorSquares += error * error;
    products += value * reference;
  }
  if (worstPosition >= 0)
    worstError =
        place(actual, worstPosition, actual.at(worstPosition), expected.at(worstPosition), range);
}

double OutputDifference::maxRelative() const {
  return largestError == 0 ? 0 : largestExpected == 0 ? kInfinity : largestError / largestExpected;
}

double OutputDifference::signalToNoise() const {
  return errorSquares == 0 ? kInfinity : 10 * std::log10(expectedSquares / errorSquares);
}

double OutputDifference::cosine() const {
  if (actualSquares == 0 || expectedSquares == 0)
    return actualSquares == expectedSquares ? 1 : 0;
  // Rounding of the sums may lead out of what a cosine can be.
  return std::clamp(products / (std::sqrt(actualSquares) * std::sqrt(expectedSquares)), -1.0, 1.0);
}

} // namespace dlc
