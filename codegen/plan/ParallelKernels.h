//===- ParallelKernels.h - Work on many kernels at a time ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_PLAN_PARALLELKERNELS_H
#define DLC_CODEGEN_PLAN_PARALLELKERNELS_H

#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace dlc::codegen {

/// Calls `work` for the numbers below `count`, on the threads of `context`, or in order on the
/// caller's where that has none. A call changes only what no other one reads: the kernel that it is
/// for, and ops that belong to no block yet. All calls are made, whichever of them fail, and errors
/// come in the order of the numbers, so that the number of threads shows nowhere. A call that
/// crashes where crashes are caught (llvm::CrashRecoveryContext) does so again on the caller's
/// thread.
mlir::LogicalResult forEachKernel(mlir::MLIRContext *context, size_t count,
                                  llvm::function_ref<mlir::LogicalResult(size_t)> work);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_PLAN_PARALLELKERNELS_H
