//===- ErrorFeedback.h - Rounding that makes up for its own errors ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GPTQ (Frantar, Ashkboos, Hoefler, Alistarh: "GPTQ: Accurate Post-Training Quantization for
// Generative Pre-trained Transformers", 2022). The columns of a matrix W of weights are rounded one
// after the other. The error of each moves those that are still to be rounded, so that the squared
// error of W x over the vectors x that were seen grows least. With H = sum of x x^T and U upper
// triangular, U^T U = H^-1, an error e of column j, divided by U[j][j], is taken off W[:, j + 1
// ...] times U[j][j + 1 ...].
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_COMPRESS_QUANTIZE_ERRORFEEDBACK_H
#define DLC_PASSES_COMPRESS_QUANTIZE_ERRORFEEDBACK_H

#include "passes/compress/quantize/PackedMatrix.h"

namespace dlc {

/// H of the vectors that were seen.
class SecondMoments {
public:
  explicit SecondMoments(int64_t size) : size(size), sums(size * size), magnitudes(size) {}

  /// Adds `count` vectors, one after the other. Sums are f64 and in the order of the vectors: how
  /// these are cut into calls changes no bit.
  void add(const float *vectors, int64_t count);
  /// As if its vectors had been added here.
  SecondMoments &operator+=(const SecondMoments &other);
  /// As if each number of each vector had been multiplied by that of its place in `factors`, which
  /// are at least 0.
  SecondMoments multipliedBy(llvm::ArrayRef<float> factors) const;
  /// The length of one vector.
  int64_t length() const { return size; }
  /// How many have been added.
  int64_t count() const { return seen; }
  /// How many of their numbers were NaN or infinite; these count as 0.
  int64_t numNotFinite() const { return notFinite; }
  /// The sum of |x_j| over all vectors x.
  double sumOfMagnitudes(int64_t j) const { return magnitudes[j]; }
  double at(int64_t row, int64_t column) const {
    return row < column ? sums[column * size + row] : sums[row * size + column];
  }

private:
  int64_t size, seen = 0, notFinite = 0;
  std::vector<double> sums; // the lower half, row by row
  std::vector<double> magnitudes;
};

/// U of `moments` with `damping` times the mean of its diagonal added to that, row by row, the
/// lower half
/// 0. Empty where H is 0 or so far from positive definite that damping does not help.
std::vector<double> inverseFactor(const SecondMoments &moments, double damping);

/// Writes `weights`, rows x columns (of which `moments` has as many), with error feedback, from the
/// first column to the last. The grid of a group is fitted to what the errors before it have made
/// of its weights, each counting as its column's part of H. Falls back on roundToNearest where
/// inverseFactor gives nothing.
PackedMatrix roundWithFeedback(llvm::ArrayRef<float> weights, int64_t rows, int64_t columns,
                               WeightFormat format, const SecondMoments &moments,
                               double damping = 0.01);

/// The sums over all seen x of the squares of W x and of (W - P) x.
struct OutputError {
  double squares = 0, errors = 0;
};
OutputError outputErrorOf(llvm::ArrayRef<float> weights, const PackedMatrix &packed,
                          const SecondMoments &moments);

} // namespace dlc

#endif // DLC_PASSES_COMPRESS_QUANTIZE_ERRORFEEDBACK_H
