//===- Cholesky.h - Factors of symmetric positive definite matrices -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Square matrices of f64, row-major and dense. The same numbers give the same bits on every
// machine.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_COMPRESS_CHOLESKY_H
#define DLC_PASSES_COMPRESS_CHOLESKY_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace dlc {

/// Replaces `matrix`, size x size, of which the lower triangle is read, by the lower triangular L
/// with L L^T = matrix; the upper triangle becomes 0. False where it is not positive definite: the
/// matrix is then spoilt.
bool factorCholesky(llvm::MutableArrayRef<double> matrix, int64_t size);

/// Replaces the lower triangular matrix by its inverse, which is one, too.
void invertTriangular(llvm::MutableArrayRef<double> lower, int64_t size);

/// Replaces `matrix`, of which the lower triangle is read, by the upper triangular U with
/// U^T U = matrix^-1, the Cholesky factor of the inverse. False as for factorCholesky.
bool factorOfInverse(llvm::MutableArrayRef<double> matrix, int64_t size);

/// The factor L of `moment`, x^T x in any unit, with `share` times the mean of its diagonal added
/// to the diagonal (1 where that is 0); ten times as much, and so on, where rounding leaves that
/// without one. `added` is what was added.
std::vector<double> dampedFactor(llvm::ArrayRef<double> moment, int64_t size, double share,
                                 double &added);

/// Replaces `vector` by the x with L L^T x = vector.
void solveCholesky(llvm::ArrayRef<double> lower, llvm::MutableArrayRef<double> vector);

} // namespace dlc

#endif // DLC_PASSES_COMPRESS_CHOLESKY_H
