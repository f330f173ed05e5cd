//===- ReduceLoops.h - The loops of a reduction, as its schedules take them ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_REDUCE_REDUCELOOPS_H
#define DLC_CODEGEN_CUDA_SCHEDULE_REDUCE_REDUCELOOPS_H

#include "codegen/cuda/schedule/DimGroups.h"
#include "codegen/cuda/schedule/KernelView.h"

namespace dlc::codegen {

/// Rows (parallel dims that the terms depend on), the row's own dims (those that they do not: of a
/// softmax) and terms, grouped where they are neighbours in memory; and the indices of all loops
/// over the groups' variables.
struct ReduceLoops {
  explicit ReduceLoops(KernelView &k);

  /// Whether what the terms read is read once more: by another stage, or with the row's own dims by
  /// the results.
  bool isReadAgain(const KernelView &k) const;
  /// Neighbouring terms of a row (8, 4, 2 or 1) that each read of the terms takes by one access of
  /// at most 16 bytes for its narrowest operand.
  int64_t lanesOfTerms(KernelView &k) const;
  /// Whether the results of a row are read and stored likewise, `lanes` at once.
  bool storesLanes(KernelView &k, int64_t lanes) const;

  const LoopNest &nest;
  llvm::SmallBitVector inner;
  llvm::SmallVector<unsigned> rowOrder, innerOrder, reductionOrder;
  llvm::SmallVector<DimGroup> rows, inners, reductions;
  llvm::SmallVector<mlir::AffineExpr> parallel, reduction;
};

/// True where the terms of one row lie apart and those of neighbouring rows side by side: then one
/// thread a row reads whole lines, a warp a row would read one element of each.
bool standsAcross(const BodyEmitter &body, IndexMath &math);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_REDUCE_REDUCELOOPS_H
