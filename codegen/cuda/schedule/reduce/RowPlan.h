//===- RowPlan.h - How a schedule works on the rows of a reduction ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_REDUCE_ROWPLAN_H
#define DLC_CODEGEN_CUDA_SCHEDULE_REDUCE_ROWPLAN_H

#include "codegen/cuda/schedule/PlanQuestion.h"

namespace dlc::codegen {

/// How the rows are worked on.
struct RowPlan {
  bool isAcross;   ///< a thread for each row, whose terms lie apart
  int64_t threads; ///< for a row
  int64_t kept;    ///< terms of a row that a thread keeps; 0: none
  int64_t lanes;   ///< neighbouring terms that a thread reads at once

  static RowPlan of(dlx::PlanAttr plan);
  /// The plan of kReduceSchedule, which takes `ns` nanoseconds by estimate.
  dlx::PlanAttr attribute(mlir::MLIRContext *context, double ns) const;
};

/// `isAcross`: the terms of a row lie apart.
RowPlan chooseRowPlan(KernelView &k, bool isAcross);

/// Rows at the usual sizes of the symbols.
double rowsOf(PlanQuestion &question);
/// Nanoseconds at the usual sizes.
double nanosecondsOf(PlanQuestion &question, const RowPlan &plan);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_REDUCE_ROWPLAN_H
