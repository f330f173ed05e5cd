//===- KeptTerms.h - Terms of a reduction that its results compute again ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_REDUCE_KEPTTERMS_H
#define DLC_CODEGEN_CUDA_SCHEDULE_REDUCE_KEPTTERMS_H

#include "codegen/cuda/schedule/KernelBuilder.h"

namespace dlc::codegen {

/// The terms of one stage in a thread's registers, for the results of a row that have the same
/// function of the same element in them, as exp(x - largest) is in those of a softmax. Terms
/// without a function of math are not kept.
class KeptTerms {
public:
  explicit KeptTerms(KernelBuilder &k) : k(k) {}

  /// Keeps `term`, which was just built, in `slot` of as many as `beside` has, a local array that
  /// lies outside the loops.
  void keep(mlir::Value term, mlir::Value slot, mlir::Value beside);
  /// `value`, which was just built, with the kept term of `slot` in place of what the block at hand
  /// computes a second time.
  mlir::Value recall(mlir::Value value, mlir::Value slot);
  /// Takes away what nothing recalled.
  void finish();

private:
  KernelBuilder &k;
  mlir::Value term, array;
  bool isRecalled = false;
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_REDUCE_KEPTTERMS_H
