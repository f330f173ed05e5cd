//===- BlockWeights.h - Weights that can be stored without their blocks of zeros --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_COMPRESS_BLOCKWEIGHTS_H
#define DLC_PASSES_COMPRESS_BLOCKWEIGHTS_H

#include "ir/dl/DLOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

namespace dlc {

/// The suffixes of a weight's name in the names of the tensors that store-blocks makes of it.
inline constexpr llvm::StringLiteral kValuesSuffix = ".values", kColumnsSuffix = ".columns",
                                     kStartsSuffix = ".starts", kPanelsSuffix = ".panels";
/// An attribute of a dl.weight whose numbers the driver has read: i64, how many of its blocks are
/// not zero.
inline constexpr llvm::StringLiteral kStoredBlocks = "dl.stored_blocks";

/// One product with a weight as the rows of a matrix.
struct BlockProduct {
  mlir::Operation *op;
  unsigned dim;                     // of x that is summed over, and of the rows in the result
  llvm::SmallVector<int64_t> steps; // along the dims of x; empty: all 1
  mlir::Value scale;                // [rows, 1, ...], which multiplies the weight first; or null
};

/// A weight of f32 that products read as a matrix [rows, columns], where sums run along the
/// columns.
struct BlockWeight {
  dl::WeightOp op;
  bool isTransposed = false; // it lies as [columns, rows]
  int64_t rows = 0, columns = 0;
  std::vector<BlockProduct> products;
  /// Why blocks cannot take its place, a part of a sentence; empty where they can.
  std::string whyDense;

  /// Blocks of BlockMask.h's size that it has.
  int64_t blocks() const;
  /// Where the number at `row` and `column` lies in the weight.
  int64_t placeOf(int64_t row, int64_t column) const {
    return isTransposed ? column * rows + row : row * columns + column;
  }
};

/// Each dl.weight of f32 that a linear layer, a matrix product or a convolution multiplies by, in
/// program order: also through a permute, and through the factor for each row that fold-batch-norm
/// leaves.
std::vector<BlockWeight> findBlockWeights(mlir::func::FuncOp function);

} // namespace dlc

#endif // DLC_PASSES_COMPRESS_BLOCKWEIGHTS_H
