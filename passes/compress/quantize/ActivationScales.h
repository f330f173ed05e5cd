//===- ActivationScales.h - Channels that matter more, rounded more finely ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AWQ (Lin, Tang, Tang, Yang, Chen, Wang, Xiao, Dang, Gan, Han: "AWQ: Activation-aware Weight
// Quantization for LLM Compression and Acceleration", 2023). Before the weights W of a product W x
// are rounded, column j is multiplied by s_j = (mean |x_j|)^a, and x_j is divided by it: the
// product is the same, and what rounding takes from a column that large numbers are multiplied by
// counts less. s is divided by the geometric mean of its largest and its smallest number.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_COMPRESS_QUANTIZE_ACTIVATIONSCALES_H
#define DLC_PASSES_COMPRESS_QUANTIZE_ACTIVATIONSCALES_H

#include "passes/compress/quantize/ErrorFeedback.h"

namespace dlc {

/// The mean |x_j| of each channel j, over all vectors that any of `moments` has seen; all have one
/// length.
std::vector<double> meanMagnitudes(llvm::ArrayRef<const SecondMoments *> moments);

/// 1 / s of each channel, for `exponent` a. Channels of zeros have 1. No s is above 10^4 or below
/// 10^-4.
std::vector<float> inverseScales(llvm::ArrayRef<double> magnitudes, double exponent);

/// Whether each number is 1: scales that change nothing.
bool areOnes(llvm::ArrayRef<float> inverse);

/// The rows of `weights`, each number divided by that of its column in `inverse`.
std::vector<float> scaledWeights(llvm::ArrayRef<float> weights, llvm::ArrayRef<float> inverse);

/// Which exponent serves the weights best that multiply one activation, or several, by the scales
/// of `magnitudes`.
class ExponentSearch {
public:
  explicit ExponentSearch(std::vector<double> magnitudes);

  /// Adds what the outputs of `weights`, rows x magnitudes.size(), lose when their scaled numbers
  /// are rounded to nearest, over the vectors of `moments`.
  void add(llvm::ArrayRef<float> weights, int64_t rows, WeightFormat format,
           const SecondMoments &moments);
  /// The exponent with the least squared error of all outputs, from 0 to 1 in steps of 0.1; of
  /// equal ones the smallest.
  double best() const;

private:
  std::vector<double> magnitudes, errors; // errors of each exponent
};

} // namespace dlc

#endif // DLC_PASSES_COMPRESS_QUANTIZE_ACTIVATIONSCALES_H
