//===- DLReduction.h - What reductions over a set of dims have alike ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_DL_REDUCTION_DLREDUCTION_H
#define DLC_IR_DL_REDUCTION_DLREDUCTION_H

#include "ir/dl/DLOps.h"

namespace dlc::dl {

/// Adds the type of `x` reduced over the dims `dim`, all of them where there is none; with
/// `keepdim` these stay, as dims of 1. Says what is wrong where a dim is not one of x, or named
/// twice.
mlir::LogicalResult inferReduction(llvm::StringRef op, std::optional<mlir::Location> location,
                                   mlir::RankedTensorType x, llvm::ArrayRef<int64_t> dim,
                                   bool keepdim, mlir::Type element,
                                   llvm::SmallVectorImpl<mlir::Type> &types);

/// Fails, in words, where a reduced dim has no elements: the largest of none has no value.
mlir::LogicalResult refuseEmpty(llvm::StringRef op, std::optional<mlir::Location> location,
                                mlir::Value x, llvm::ArrayRef<int64_t> dim);

/// One term, the elements of `x`, in each of the stages; the dims are those that inferReduction
/// took.
LoopNest reductionNest(mlir::Value x, mlir::Type result, llvm::ArrayRef<int64_t> dim, bool keepdim,
                       llvm::ArrayRef<Combiner> stages);

} // namespace dlc::dl

#endif // DLC_IR_DL_REDUCTION_DLREDUCTION_H
