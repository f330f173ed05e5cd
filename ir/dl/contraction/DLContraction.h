//===- DLContraction.h - What the families of contractions share --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_CONTRACTION_DLCONTRACTION_H
#define DLC_IR_DL_CONTRACTION_DLCONTRACTION_H

#include "ir/dl/DLOps.h"
#include "ir/interfaces/LoopNest.h"

#include <array>

namespace dlc::dl {

/// All operands have one element type.
llvm::LogicalResult checkSameElement(std::optional<mlir::Location> location, llvm::StringRef op,
                                     mlir::ValueRange operands);
/// Bias, where there is one, has one number for each of `channels`.
llvm::LogicalResult checkBias(std::optional<mlir::Location> location, llvm::StringRef op,
                              mlir::Value bias, mlir::AffineExpr channels);

/// A product of two tensors as loops: `x` and `other` say which loop each dim of an operand is.
/// Loops 0 to rank-1 are the dims of the result, the ones behind are summed over. A dim of size 1
/// repeats along its loop.
struct ProductLoops {
  llvm::SmallVector<int64_t> x, other;
  int64_t rank;

  /// torch.matmul: the last dims of the operands are M, K and K, N; vectors have K alone; leading
  /// dims are aligned at the end.
  static ProductLoops matmul(int64_t xRank, int64_t otherRank);
};

/// For each dim of operand `operand` of a matrix product or convolution the dim of the result that
/// it is, -1 where it is summed over. nullopt for ops that are neither, for the bias, and for the
/// first operand of a convolution, whose windows overlap.
std::optional<llvm::SmallVector<int64_t>> resultDimsOf(mlir::Operation *product, unsigned operand);

/// The tensors of e4m3 that both operands of a product in floats are cast from; nullopt where one
/// is not. A product of two such numbers is exact in f32.
std::optional<std::array<mlir::Value, 2>> float8OperandsOf(LoopNestOpInterface product,
                                                           const LoopNest &nest);

} // namespace dlc::dl

#endif // DLC_IR_DL_CONTRACTION_DLCONTRACTION_H
