//===- SideBySideFusion.cpp - Recurrences that wait for nobody share a kernel -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/SideBySide.h"
#include "passes/fuse/FusionSteps.h"

using namespace mlir;

namespace dlc {

/// The recurrences of a group that may share its kernel with others; none of any other group.
static SmallVector<RecurrentOpInterface> recurrencesOf(const PlannedFusion &group) {
  SmallVector<RecurrentOpInterface> ops;
  if (!group.isKernel || group.weightOnly)
    return ops;
  for (Operation *op : group.ops) {
    auto recurrence = dyn_cast<RecurrentOpInterface>(op);
    if (!recurrence || op->hasAttr("dl.no_fuse"))
      return {};
    ops.push_back(recurrence);
  }
  return ops;
}

/// Joins `later` with the first group before it that it can run beside.
static bool joinEarlier(FusionPlan &plan, PlannedFusion &later, const ScheduleOracle &oracle) {
  SmallVector<RecurrentOpInterface> own = recurrencesOf(later);
  if (own.empty())
    return false;
  for (PlannedFusion *earlier : plan.getOrder()) {
    if (earlier == &later)
      return false;
    SmallVector<RecurrentOpInterface> all = recurrencesOf(*earlier);
    if (all.empty() || !haveOneShape(all.front(), own.front()))
      continue;
    all.append(own);
    if (plan.depends(later, *earlier) || !oracle.runsSideBySide(all))
      continue;
    SmallVector<Value> results(later.results.begin(), later.results.end());
    results.append(earlier->results);
    plan.join(*earlier, later, results);
    return true;
  }
  return false;
}

unsigned joinRecurrences(FusionPlan &plan, const ScheduleOracle &oracle) {
  unsigned joined = 0;
  for (PlannedFusion *group : llvm::to_vector(plan.getOrder()))
    joined += !group->ops.empty() && joinEarlier(plan, *group, oracle);
  return joined;
}

} // namespace dlc
