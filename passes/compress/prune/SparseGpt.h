//===- SparseGpt.h - Zeros whose error the other weights take over ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The change that zeros in w make to y = x w^T is least where the other weights change with
// them. With H = x^T x, zero in column k of a row costs w_k^2 / [H^-1]_kk, and the rest of the row
// becomes w - w_k / [H^-1]_kk * [H^-1]_k (Optimal Brain Surgeon, Hassibi and Stork 1993). SparseGPT
// (Frantar and Alistarh 2023) does so column by column for all rows at once, and lets only columns
// that come later change, so that all rows share one factor of H^-1.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_COMPRESS_PRUNE_SPARSEGPT_H
#define DLC_PASSES_COMPRESS_PRUNE_SPARSEGPT_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace dlc {

struct SparseGptOptions {
  /// The share of zeros in each block of columns; nothing: two of each four columns that follow one
  /// another, whose number is then a multiple of four.
  std::optional<double> share;
  int64_t block = 128; // columns whose zeros are chosen together
  /// With `share`: rows that follow one another and are zero in the same columns; the last ones may
  /// be fewer.
  int64_t rowsTogether = 1;
  double dampening = 0.01; // of the mean of H's diagonal, added to all of it
};

/// Makes numbers of `weights` zero, which is rows x columns, and changes the others for it.
/// `moment` is H, columns x columns: x^T x in any unit. Columns of which H says that they are
/// always 0 become zero; they count as chosen.
void sparseGpt(llvm::MutableArrayRef<double> weights, int64_t rows, llvm::ArrayRef<double> moment,
               const SparseGptOptions &options);

/// The shares of zeros of `steps` steps that end at `last`, each of which takes less than the one
/// before: the cubic schedule of Zhu and Gupta (2017), last * (1 - (1 - step / steps)^3).
std::vector<double> cubicSchedule(double last, int64_t steps);

/// Makes as many numbers of `weights` zero as the last of `shares` says, share after share: each
/// time those whose loss costs least when all others of their row take over, which they then do by
/// fitWeights. The first mask is so chosen on what was there, each other one on what the masks
/// before it have made of the rows.
void sparsifyInSteps(llvm::MutableArrayRef<double> weights, llvm::ArrayRef<double> target,
                     int64_t rows, llvm::ArrayRef<double> moment, llvm::ArrayRef<double> shares,
                     const SparseGptOptions &options);

/// For the numbers of `weights` that are not zero now the values that give the least squares of
/// (weights - target) x^T, by conjugate gradients from what they are; zeros stay.
void fitWeights(llvm::MutableArrayRef<double> weights, llvm::ArrayRef<double> target, int64_t rows,
                llvm::ArrayRef<double> moment, double dampening);

} // namespace dlc

#endif // DLC_PASSES_COMPRESS_PRUNE_SPARSEGPT_H
