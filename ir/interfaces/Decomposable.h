//===- Decomposable.h - Ops that other ops compute ----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_INTERFACES_DECOMPOSABLE_H
#define DLC_IR_INTERFACES_DECOMPOSABLE_H

#include "mlir/IR/OpDefinition.h"

namespace dlc::dl {
class Builder;
} // namespace dlc::dl

#include "ir/interfaces/DecomposableInterface.h.inc"

namespace dlc {

/// Builds the decomposition of `op` before it and returns what replaces its results. Discardable
/// attributes of the op (annotations such as @no_fuse) are handed on to each op that is built. The
/// op itself stays.
llvm::SmallVector<mlir::Value> decompose(DecomposableOpInterface op);

/// Whether all results of `op` are tensors without elements: some dim is 0.
bool givesNoElements(mlir::Operation *op);
/// Constants in place of such results, built before `op`.
llvm::SmallVector<mlir::Value> constantsWithoutElements(mlir::Operation *op);

} // namespace dlc

#endif // DLC_IR_INTERFACES_DECOMPOSABLE_H
