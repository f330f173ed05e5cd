//===- PlanParts.cpp - The kernels that one kernel becomes by its plans -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plans that the table gives for the shapes up to some size, and from it on, are compared with
// the plan for all shapes at some of these.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/variants/PlanParts.h"

#include "codegen/cuda/schedule/Schedules.h"
#include "codegen/cuda/schedule/recurrent/RecurrentElements.h"
#include "codegen/plan/PlanChoice.h"
#include "ir/machine/EstimateMargins.h"

#include <cmath>

using namespace mlir;

namespace dlc::codegen {

static constexpr size_t kMostParts = 4; // of which one may have the plan for all
/// Shapes at which plans are compared, and those that tell whether there is anything to compare.
/// Each is asked about anew, which takes some 50 microseconds.
static constexpr size_t kSamples = 36, kFewSamples = 4;
/// Values of a symbol beyond this are taken to be none that a model has.
static constexpr int64_t kLargestSampled = int64_t(1) << 26;

SmallVector<PlannedPart> planned(PlanQuestion &question, ArrayRef<ServedPart> parts,
                                 llvm::function_ref<dlx::PlanAttr(PlanQuestion &, size_t)> planOf) {
  SmallVector<PlannedPart> found;
  for (const ServedPart &part : parts) {
    dlx::PlanAttr plan;
    if (part.shapes) {
      PlanQuestion within(question, *part.shapes);
      plan = planOf(within, part.plan);
    } else {
      plan = planOf(question, part.plan);
    }
    if (plan)
      found.push_back({part.shapes, plan});
  }
  return found;
}

static bool isSame(dlx::PlanAttr a, dlx::PlanAttr b) {
  return a.getSchedule() == b.getSchedule() && a.getNumbers() == b.getNumbers();
}

/// The plan that the table gives; null where no schedule can run the kernel. A recurrence has its
/// weights as the plan `ofAll` reads them.
static dlx::PlanAttr planOf(PlanQuestion &question, dlx::PlanAttr ofAll) {
  auto needs = scheduleNamed(ofAll.getSchedule())->requirements;
  SmallVector<dlx::PlanAttr> plans;
  for (const Schedule *schedule : schedules())
    if (schedule->gpu == 0 && schedule->build &&
        (question.kind() != dlx::KernelKind::recurrent || schedule->requirements == needs))
      if (dlx::PlanAttr plan = schedule->match(question))
        plans.push_back(plan);
  return plans.empty() ? dlx::PlanAttr() : *bestOf(plans);
}

/// The extents that tell the kernel's shapes apart.
static SmallVector<AffineExpr> extentsOf(PlanQuestion &question) {
  MLIRContext *context = question.kernel().getContext();
  if (question.kind() == dlx::KernelKind::recurrent)
    return dividersOf(recurrencesOf(question.kernel()).front().getRecurrence().rows,
                      question.k.ranges());
  const LoopNest &nest = question.k.body.getNest();
  llvm::SmallBitVector inner = nest.innerDims();
  SmallVector<AffineExpr> rows;
  for (auto [dim, extent] : llvm::enumerate(nest.parallel))
    if (!inner.test(dim))
      rows.push_back(extent);
  return dividersOf({dl::product(rows, context), dl::product(nest.reduction, context)},
                    question.k.ranges());
}

/// Whether another plan than `plan` is faster at one of a few shapes, small and large ones.
static bool isWorthComparing(PlanQuestion &question, ArrayRef<AffineExpr> extents,
                             dlx::PlanAttr plan) {
  ShapeSamples samples(extents, question.k.ranges(), kFewSamples, kLargestSampled);
  if (samples.size() < 2)
    return false;
  for (size_t sample = 0; sample < samples.size(); ++sample) {
    PlanQuestion one(question, samples.symbolsAt(sample));
    dlx::PlanAttr best = planOf(one, plan);
    if (best && nanosecondsBy(plan, one) > kMargins.part * double(best.getNs()))
      return true;
  }
  return false;
}

/// `plan` for the shapes of a part, with its estimate; the schedule's own plan for these where it
/// cannot be told whether `plan` serves them. Null where there is none.
static dlx::PlanAttr planWithin(PlanQuestion &part, dlx::PlanAttr plan) {
  const Schedule *schedule = scheduleNamed(plan.getSchedule());
  if (!schedule->cost)
    return schedule->match(part);
  double ns = schedule->cost(part, plan);
  return ns == kNeverServes ? dlx::PlanAttr()
                            : dlx::PlanAttr::get(plan.getContext(), plan.getSchedule(),
                                                 plan.getNumbers(), std::llround(ns));
}

SmallVector<PlannedPart> partsByPlan(PlanQuestion &question, dlx::PlanAttr plan) {
  SmallVector<AffineExpr> extents = extentsOf(question);
  if (extents.empty() || !isWorthComparing(question, extents, plan))
    return {};
  ShapeSamples samples(extents, question.k.ranges(), kSamples, kLargestSampled);
  SmallVector<dlx::PlanAttr> plans = {plan};
  for (AffineExpr extent : extents) {
    auto range = question.k.range(extent);
    if (!range)
      continue;
    llvm::SmallSetVector<int64_t, 16> values;
    for (size_t sample = 0; sample < samples.size(); ++sample)
      values.insert(samples.valueAt(extent, sample));
    for (int64_t value : values)
      for (dl::Range some : {dl::Range{range->min, value}, dl::Range{value, range->max}}) {
        PlanQuestion part(question, ShapePart{extent, some});
        dlx::PlanAttr other = planOf(part, plan);
        if (other && llvm::none_of(plans, [&](dlx::PlanAttr one) { return isSame(one, other); }))
          plans.push_back(other);
      }
  }
  if (plans.size() < 2)
    return {};
  auto costsAt = [&](size_t sample) {
    PlanQuestion one(question, samples.symbolsAt(sample));
    std::vector<double> costs;
    for (dlx::PlanAttr other : plans)
      costs.push_back(nanosecondsBy(other, one));
    return costs;
  };
  SmallVector<PlannedPart> parts =
      planned(question, samples.divide(costsAt, extents, kMostParts),
              [&](PlanQuestion &part, size_t other) { return planWithin(part, plans[other]); });
  llvm::erase_if(parts, [&](const PlannedPart &part) { return isSame(part.plan, plan); });
  return parts;
}

} // namespace dlc::codegen
