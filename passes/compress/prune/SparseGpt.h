//===- SparseGpt.h - Zeros whose error the other weights take over -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The change that zeros in w make to y = x w^T is least where the other weights change with
// them. With H = x^T x, zero in column k of a row costs w_k^2 / [H^-1]_kk, and the rest of the row
// becomes w - w_k / [H^-1]_kk * [H^-1]_k (Optimal Brain Surgeon, Hassibi and Stork 1993). SparseGPT
// (Frantar and Alistarh 2023) does so column by column for all rows at once, and lets only columns
// that come later change, so that all rows share one factor of H^-1.
//===----------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_COMPRESS_SPARSEGPT_H
#define DLC_PASSES_COMPRESS_SPARSEGPT_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace dlc {

struct SparseGptOptions {
  /// The share of zeros in each block of columns; nothing: two of each four columns that follow one
  /// another, whose number is then a multiple of four.
  std::optional<double> share;
  int64_t block = 128;     // columns whose zeros are chosen together
  double dampening = 0.01; // of the mean of H's diagonal, added to all of it
};

/// Makes numbers of `weights` zero, which is rows x columns, and changes the others for it. `moment`
/// is H, columns x columns: x^T x in any unit. Columns of which H says that they are always 0 become
/// zero; they count as chosen.
void sparseGpt(llvm::MutableArrayRef<double> weights, int64_t rows, llvm::ArrayRef<double> moment,
               const SparseGptOptions &options);

/// For the numbers of `weights` that are not zero now the values that give the least squares of
/// (weights - target) x^T, by conjugate gradients from what they are; zeros stay.
void fitWeights(llvm::MutableArrayRef<double> weights, llvm::ArrayRef<double> target, int64_t rows,
                llvm::ArrayRef<double> moment, double dampening);

} // namespace dlc

#endif // DLC_PASSES_COMPRESS_SPARSEGPT_H
