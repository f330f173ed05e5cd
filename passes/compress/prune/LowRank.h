//===- LowRank.h - A weight as the product of two narrow ones -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The best w' of rank r for y = x w^T is u u^T w, where u holds the r first left singular vectors
// of w L, with L L^T = x^T x. Without x, L is the identity: the plain singular value decomposition.
// It is found by one-sided Jacobi rotations (Hestenes 1958), which take any two rows apart until
// all are orthogonal.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_COMPRESS_PRUNE_LOWRANK_H
#define DLC_PASSES_COMPRESS_PRUNE_LOWRANK_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace dlc {

struct LowRankFactors {
  std::vector<double> left;  // rows x rank, with orthonormal columns
  std::vector<double> right; // rank x columns
  double lost = 0;           // the part of the squares of x w^T that is not in the product
};

/// The squares of the singular values of w L, the largest first; as for factorLowRank.
std::vector<double> singularSquares(llvm::ArrayRef<double> weights, int64_t rows,
                                    llvm::ArrayRef<double> moment, double dampening);

/// A weight that may be factored.
struct RankedWeight {
  int64_t rows, columns;
  std::vector<double> squares; // of singularSquares
};

/// The rank of each weight, or 0 where it stays whole, with which no more than this share of the
/// numbers of all is left, and the parts of their squares that are lost are least in sum, as far as
/// one price for a number, the same for all weights, can say. Nothing where rank 1 of all is too
/// much.
std::optional<std::vector<int64_t>> chooseRanks(llvm::ArrayRef<RankedWeight> weights, double share);

/// `weights` is rows x columns. `moment` is x^T x, columns x columns, or empty; `dampening` times
/// the mean of its diagonal is added to the diagonal. `rank` is from 1 to `rows`.
LowRankFactors factorLowRank(llvm::ArrayRef<double> weights, int64_t rows,
                             llvm::ArrayRef<double> moment, double dampening, int64_t rank);

} // namespace dlc

#endif // DLC_PASSES_COMPRESS_PRUNE_LOWRANK_H
