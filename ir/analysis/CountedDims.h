//===- CountedDims.h - Whether padding stays apart from what is real ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A counted symbol (#dl.symbol) is its largest value while the model runs, and only the elements
// below its count are real. What the caller gets is right where each real element of a value
// depends on real elements alone: this decides it from the ops' loops.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_ANALYSIS_COUNTEDDIMS_H
#define DLC_IR_ANALYSIS_COUNTEDDIMS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>

namespace dlc {

/// Whether `op` would mix elements of dims that mention `padded` symbols and lie beyond the real
/// ones, however many these are, into elements that are real, or computes with such a size as with
/// a number.
bool mixesPadding(mlir::Operation *op, const llvm::SmallBitVector &padded);

/// Tells `report` of each op of `function`, in order, that would mix padding into what is real,
/// with a sentence for the user.
void findMixedPadding(
    mlir::func::FuncOp function,
    llvm::function_ref<void(mlir::Operation *op, const std::string &sentence)> report);

} // namespace dlc

#endif // DLC_IR_ANALYSIS_COUNTEDDIMS_H
