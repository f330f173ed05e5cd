//===- PlanParts.cpp - The kernels that one kernel becomes by its plans -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plans that the table gives for the shapes up to some size, and from it on, are compared with
// the plan for all shapes at some of these.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/variants/PlanParts.h"

#include "codegen/cuda/schedule/Schedules.h"
#include "codegen/cuda/schedule/recurrent/RecurrentElements.h"
#include "codegen/cuda/schedule/variants/ShapeSamples.h"
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
  SmallVector<AffineExpr> found;
  auto add = [&](AffineExpr extent) {
    if (!dl::asConstant(extent) && growsWithSymbols(extent, question.k.ranges()) &&
        !llvm::is_contained(found, extent))
      found.push_back(extent);
  };
  if (question.kind() == dlx::KernelKind::recurrent) {
    add(recurrencesOf(question.kernel()).front().getRecurrence().rows);
    return found;
  }
  const LoopNest &nest = question.k.body.getNest();
  llvm::SmallBitVector inner = nest.innerDims();
  SmallVector<AffineExpr> rows;
  for (auto [dim, extent] : llvm::enumerate(nest.parallel))
    if (!inner.test(dim))
      rows.push_back(extent);
  add(dl::product(rows, context));
  add(dl::product(nest.reduction, context));
  return found;
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
static dlx::PlanAttr planWithin(PlanQuestion &question, const ShapePart &shapes,
                                dlx::PlanAttr plan) {
  PlanQuestion part(question, shapes);
  const Schedule *schedule = scheduleNamed(plan.getSchedule());
  if (!schedule->cost)
    return schedule->match(part);
  double ns = schedule->cost(part, plan);
  return ns == kNeverServes ? dlx::PlanAttr()
                            : dlx::PlanAttr::get(plan.getContext(), plan.getSchedule(),
                                                 plan.getNumbers(), std::llround(ns));
}

SmallVector<PlannedPart> partsByPlan(PlanQuestion &question, dlx::PlanAttr plan) {
  SmallVector<PlannedPart> parts;
  SmallVector<AffineExpr> extents = extentsOf(question);
  if (extents.empty() || !isWorthComparing(question, extents, plan))
    return parts;
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
    return parts;
  std::vector<std::vector<double>> costs;
  for (size_t sample = 0; sample < samples.size(); ++sample) {
    PlanQuestion one(question, samples.symbolsAt(sample));
    costs.emplace_back();
    for (dlx::PlanAttr other : plans)
      costs.back().push_back(nanosecondsBy(other, one));
  }
  auto [extent, divided] = samples.divide(costs, extents, std::nullopt, kMostParts);
  for (const PlanPart &part : divided) {
    if (part.plan == 0)
      continue;
    ShapePart shapes = {extent, {part.least, part.most}};
    if (dlx::PlanAttr own = planWithin(question, shapes, plans[part.plan]);
        own && !isSame(own, plan))
      parts.push_back({shapes, own});
  }
  return parts;
}

} // namespace dlc::codegen
