//===- Schedules.cpp - The table of schedules ---------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/Schedules.h"

using namespace mlir;

namespace dlc::codegen {

static constexpr const Schedule *kSchedules[] = {
    &kJoinedSchedule, &kMapSchedule,
    // Products, then other reductions; one thread a result can do most of both.
    &kWgmmaSchedule, &kRowsSchedule, &kSparseWgmmaSchedule, &kSparseTensorCoresSchedule,
    &kTensorCoresSchedule, &kFloatUnitsSchedule, &kTilesSchedule, &kLibrarySchedule,
    &kFewChannelsSchedule, &kDepthwiseSchedule, &kSplitReduceSchedule, &kReduceSchedule,
    &kDirectSchedule, &kAttentionWgmmaSchedule, &kAttentionTensorCoresSchedule,
    &kAttentionFloatUnitsSchedule,
    // A recurrence: whichever is estimated to be faster.
    &kSharedRecurrentSchedule, &kTensorRecurrentSchedule, &kRecurrentSchedule,
    // Whole lines.
    &kSortSchedule, &kScanSchedule, &kScatterSchedule, &kSuppressSchedule};

ArrayRef<const Schedule *> schedules() { return kSchedules; }

const Schedule *scheduleNamed(StringRef name) {
  const auto *found =
      llvm::find_if(kSchedules, [&](const Schedule *schedule) { return schedule->name == name; });
  return found == std::end(kSchedules) ? nullptr : *found;
}

double nanosecondsBy(dlx::PlanAttr plan, PlanQuestion &question) {
  const Schedule *schedule = scheduleNamed(plan.getSchedule());
  if (schedule->cost)
    return schedule->cost(question, plan);
  dlx::PlanAttr here = schedule->match(question);
  return here ? double(here.getNs()) : kNeverServes;
}

} // namespace dlc::codegen
