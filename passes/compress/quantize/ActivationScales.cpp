//===- ActivationScales.cpp - Channels that matter more, rounded more finely --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/compress/quantize/ActivationScales.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace dlc {

/// Exponents from 0 to 1 that are tried, but for 0.
static constexpr int kSteps = 10;
/// Bounds of s: what lies further apart leaves the range that f16 has for weights and activations.
static constexpr double kLeastScale = 1e-4, kMostScale = 1e4;

std::vector<double> meanMagnitudes(llvm::ArrayRef<const SecondMoments *> moments) {
  std::vector<double> means(moments.front()->length());
  double count = 0;
  for (const SecondMoments *own : moments) {
    count += static_cast<double>(own->count());
    for (size_t channel = 0; channel < means.size(); ++channel)
      means[channel] += own->sumOfMagnitudes(static_cast<int64_t>(channel));
  }
  for (double &mean : means)
    mean = count > 0 ? mean / count : 0;
  return means;
}

std::vector<float> inverseScales(llvm::ArrayRef<double> magnitudes, double exponent) {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (double magnitude : magnitudes)
    if (magnitude > 0) {
      least = std::min(least, magnitude);
      most = std::max(most, magnitude);
    }
  // The power of the geometric mean is that of the powers.
  const double middle = std::sqrt(least * most);
  std::vector<float> inverse;
  for (double magnitude : magnitudes) {
    const double scale = magnitude > 0 ? std::pow(magnitude / middle, exponent) : 1;
    inverse.push_back(static_cast<float>(1 / std::clamp(scale, kLeastScale, kMostScale)));
  }
  return inverse;
}

bool areOnes(llvm::ArrayRef<float> inverse) {
  return llvm::all_of(inverse, [](float number) { return number == 1; });
}

std::vector<float> scaledWeights(llvm::ArrayRef<float> weights, llvm::ArrayRef<float> inverse) {
  std::vector<float> scaled;
  scaled.reserve(weights.size());
  for (auto [place, number] : llvm::enumerate(weights))
    scaled.push_back(number / inverse[place % inverse.size()]);
  return scaled;
}

ExponentSearch::ExponentSearch(std::vector<double> magnitudes)
    : magnitudes(std::move(magnitudes)), errors(kSteps + 1) {}

void ExponentSearch::add(llvm::ArrayRef<float> weights, int64_t rows, WeightFormat format,
                         const SecondMoments &moments) {
  const int64_t columns = moments.length();
  assert(static_cast<int64_t>(magnitudes.size()) == columns);
  for (int step = 0; step <= kSteps; ++step) {
    const std::vector<float> inverse =
        inverseScales(magnitudes, static_cast<double>(step) / kSteps);
    const std::vector<float> scaled = scaledWeights(weights, inverse);
    errors[step] += outputErrorOf(scaled, roundToNearest(scaled, rows, columns, format),
                                  moments.multipliedBy(inverse))
                        .errors;
  }
}

double ExponentSearch::best() const {
  return static_cast<double>(llvm::min_element(errors) - errors.begin()) / kSteps;
}

} // namespace dlc
