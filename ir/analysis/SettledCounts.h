//===- SettledCounts.h - Counted dims as the numbers that they are in the run -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_ANALYSIS_SETTLEDCOUNTS_H
#define DLC_IR_ANALYSIS_SETTLEDCOUNTS_H

#include "mlir/IR/BuiltinOps.h"

namespace dlc {

/// Where a module has more than dl::kMaxSymbols symbols: puts in the place of each counted one
/// whose largest value is a number that number, which it is while the model runs. Only the outputs
/// keep such dims, cut at the end (dl.trim); symbols and counts of which no output knows go. That
/// no op mixes padding in has been made sure before (ir/analysis/CountedDims.h). Fails, reported,
/// where too many symbols are left.
llvm::LogicalResult settleCounts(mlir::ModuleOp module);

} // namespace dlc

#endif // DLC_IR_ANALYSIS_SETTLEDCOUNTS_H
