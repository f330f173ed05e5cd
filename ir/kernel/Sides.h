//===- Sides.h - The roles of the loops in a product of two factors -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A matmul, a batched matmul and a convolution are one loop nest. Each loop over the result belongs
// to the rows, the columns or the batch, and the loops of the sum are the depth.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_KERNEL_SIDES_H
#define DLC_IR_KERNEL_SIDES_H

#include "ir/interfaces/LoopNest.h"

namespace dlc {

namespace dl {
struct AttentionParts;
} // namespace dl

/// Which loops over the result are rows, columns and batch, by their numbers in LoopNest::parallel.
/// Each loop is in one of these three.
struct Sides {
  /// Loops that do not move the second factor.
  llvm::SmallBitVector rows;
  /// Loops that move only the second factor.
  llvm::SmallBitVector columns;
  /// Loops that move both factors.
  llvm::SmallBitVector batch;
  /// The loops of the rows that do not move the first factor either: all their results are equal.
  llvm::SmallBitVector repeated;
  /// The loops of the batch that are not an index of the first factor, but choose its group of
  /// channels. A grouped convolution is many small products, not one of matrices.
  llvm::SmallBitVector groups;
};

/// Returns the sides of the product `nest`; nullopt if `nest` is not a product of two factors. The
/// nest of a pooled product (ir/analysis/PooledProduct.h) is one. `first` is the term that counts
/// as the first factor.
std::optional<Sides> findSides(const LoopNest &nest, unsigned first = 0);

/// Returns the sides of an attention by the dims of its result: queries are rows, dims of only the
/// value are columns. Heads, and dims that neither weights nor value have, are the batch.
Sides findSides(const dl::AttentionParts &parts);

/// How a product reads a matrix as its second factor.
struct MatrixSides {
  unsigned column;   // the dim of the result that is a dim of the matrix
  bool isTransposed; // the matrix is [depth, columns], not [columns, depth]
};

/// Returns how `product`, a dl.linear, dl.matmul or dl.contract, reads its second factor; nullopt
/// for other ops, and if that factor is not a matrix with one dim of the result and one of the sum.
std::optional<MatrixSides> findMatrix(mlir::Operation *product);

} // namespace dlc

#endif // DLC_IR_KERNEL_SIDES_H
