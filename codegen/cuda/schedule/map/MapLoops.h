//===- MapLoops.h - The loops of a map over its result, grouped ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_MAP_MAPLOOPS_H
#define DLC_CODEGEN_CUDA_SCHEDULE_MAP_MAPLOOPS_H

#include "codegen/cuda/schedule/DimGroups.h"
#include "codegen/cuda/schedule/KernelView.h"

namespace dlc::codegen {

/// Dims of the result of a kernel without a root, those that are neighbours to every access as one.
struct MapLoops {
  explicit MapLoops(KernelView &k);

  /// Results that fit an access of 16 bytes, or of 32 for wider ones.
  static int64_t lanesOf(const KernelView &k) { return k.resultBits() <= 16 ? 8 : 4; }

  llvm::SmallVector<unsigned> order; // dims of the result, outermost in memory first
  llvm::SmallVector<DimGroup> groups;
  llvm::SmallVector<mlir::AffineExpr> indices; // of the result's dims, over the groups' variables
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_MAP_MAPLOOPS_H
