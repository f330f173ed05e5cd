//===- MatrixWeights.h - Weights that products read as matrices ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_COMPRESS_SPARSE_MATRIXWEIGHTS_H
#define DLC_PASSES_COMPRESS_SPARSE_MATRIXWEIGHTS_H

#include "ir/dl/DLOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

namespace dlc {

/// The suffix of a weight's name in the name of the numbers that are stored of it.
inline constexpr llvm::StringLiteral kValuesSuffix = ".values";

/// One product with a weight as the rows of a matrix.
struct MatrixProduct {
  mlir::Operation *op;
  unsigned dim;                     // of x that is summed over, and of the rows in the result
  llvm::SmallVector<int64_t> steps; // along the dims of x; empty: all 1
  mlir::Value scale;                // [rows, 1, ...], which multiplies the weight first; or null
};

/// A weight of f32, f16 or bf16 that products read as a matrix [rows, columns], where sums run
/// along the columns: as it is, or cast.
struct MatrixWeight {
  dl::WeightOp op;
  bool isTransposed = false; // it lies as [columns, rows]
  int64_t rows = 0, columns = 0;
  mlir::Type element; // that products multiply
  /// In which the weight lies in its file.
  mlir::Type stored() const {
    return mlir::cast<mlir::RankedTensorType>(op->getResult(0).getType()).getElementType();
  }
  std::vector<MatrixProduct> products;
  /// Why nothing else can take the matrix's place, a part of a sentence; empty where something can.
  std::string whyDense;

  /// Where the number at `row` and `column` lies in the weight.
  int64_t placeOf(int64_t row, int64_t column) const {
    return isTransposed ? column * rows + row : row * columns + column;
  }
};

/// Each dl.weight of these dtypes that a linear layer, a matrix product or a convolution multiplies
/// by, in program order: also through a permute, through the factor for each row that
/// fold-batch-norm leaves, and after these through a cast.
std::vector<MatrixWeight> findMatrixWeights(mlir::func::FuncOp function);

/// Rows that share the numbers of a product; nullopt where the data say how many. Symbols have
/// their usual sizes, else their smallest.
std::optional<double> rowsOf(const MatrixProduct &product);

} // namespace dlc

#endif // DLC_PASSES_COMPRESS_SPARSE_MATRIXWEIGHTS_H
