//===- ParallelKernels.cpp - Work on many kernels at a time -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/plan/ParallelKernels.h"

#include "mlir/IR/Threading.h"
#include "llvm/Support/CrashRecoveryContext.h"

#include <atomic>
#include <cstdlib>

using namespace mlir;

namespace dlc::codegen {

LogicalResult forEachKernel(MLIRContext *context, size_t count,
                            llvm::function_ref<LogicalResult(size_t)> work) {
  std::atomic<bool> hasFailed = false, hasCrashed = false;
  parallelForEach(context, llvm::seq<size_t>(0, count), [&](size_t number) {
    llvm::CrashRecoveryContext recovery; // those of the caller are of its thread
    auto call = [&] {
      if (failed(work(number)))
        hasFailed = true;
    };
    if (!recovery.RunSafely(call))
      hasCrashed = true;
  });
  if (hasCrashed)
    std::abort();
  return failure(hasFailed);
}

} // namespace dlc::codegen
