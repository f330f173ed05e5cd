//===- ReshapeGroups.h - Which dims a reshape splits, joins or keeps ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_ANALYSIS_VIEW_RESHAPEGROUPS_H
#define DLC_IR_ANALYSIS_VIEW_RESHAPEGROUPS_H

#include "ir/dl/base/DLBuilder.h"

namespace dlc {

/// Neighbours of the old and of the new dims that have as many elements together.
struct DimGroup {
  unsigned fromBegin, fromEnd, toBegin, toEnd;
};

/// The smallest groups into which a reshape of `from` to `to` falls; nullopt where their products
/// cannot be compared.
std::optional<llvm::SmallVector<DimGroup>> dimGroupsOf(llvm::ArrayRef<mlir::AffineExpr> from,
                                                       llvm::ArrayRef<mlir::AffineExpr> to);

/// The dims in which what `repetition` repeats makes, repeated to `to`, a reshape of `repetition`;
/// nullopt where the dims of a group of the reshape are not repeated alike.
std::optional<dl::Dims> viewInDims(dl::BroadcastOp repetition, llvm::ArrayRef<mlir::AffineExpr> to);

/// Some dim of `value` has a size that the data say.
bool hasCountedDim(mlir::Value value);

} // namespace dlc

#endif // DLC_IR_ANALYSIS_VIEW_RESHAPEGROUPS_H
