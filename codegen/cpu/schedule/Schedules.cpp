//===- Schedules.cpp - The table of CPU schedules -----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/Schedule.h"

#include "codegen/cpu/schedule/recurrent/RecurrentSteps.h"
#include "codegen/plan/SortKey.h"
#include "ir/analysis/CostModel.h"
#include "ir/machine/CpuModel.h"

#include <cmath>

using namespace mlir;

namespace dlc::codegen {

CpuPlanQuestion::CpuPlanQuestion(dlx::KernelOp kernel, ArrayRef<dl::Range> symbols)
    : kernel(kernel), math(kernel.getContext(), symbols), emitter(kernel, math, nullptr),
      symbols(symbols) {
  emitter.laneTests.emplace();
}

/// An extent without an upper bound counts as this many elements.
static constexpr int64_t kUsualExtent = 4096;

double CpuPlanQuestion::usual(AffineExpr expr) const {
  return double(usualOrMiddle(expr, symbols).value_or(kUsualExtent));
}

double CpuPlanQuestion::operations() {
  double operations = usual(costOf(kernel.getBodyBlock()).flops);
  for (auto attention : kernel.getBodyBlock().getOps<dl::AttentionOp>())
    operations += usual(costOf(attention.getBodyBlock()).flops);
  return operations;
}

double CpuPlanQuestion::nanosecondsOnce() {
  return std::max(kAvx512Vnni.nanosecondsToMove(usual(costOf(kernel.getBodyBlock()).bytes)),
                  operations() / (2 * kAvx512Vnni.looseFloats));
}

static dlx::PlanAttr planOf(CpuPlanQuestion &question, StringRef schedule, double ns) {
  return dlx::PlanAttr::get(question.kernel.getContext(), schedule, ns, {});
}

template <dlx::KernelKind kind> static dlx::PlanAttr matchKind(CpuPlanQuestion &question) {
  return question.kind() == kind ? planOf(question, stringifyEnum(kind), question.nanosecondsOnce())
                                 : dlx::PlanAttr();
}

static dlx::PlanAttr matchMap(CpuPlanQuestion &question) {
  return question.hasLoops() && !question.emitter.getRoot()
             ? planOf(question, "map", question.nanosecondsOnce())
             : dlx::PlanAttr();
}

static dlx::PlanAttr matchJoined(CpuPlanQuestion &question) {
  return question.hasLoops() && isJoinedMap(question.emitter)
             ? planOf(question, "joined", question.nanosecondsOnce())
             : dlx::PlanAttr();
}

static dlx::PlanAttr matchAttention(CpuPlanQuestion &question) {
  if (question.kind() != dlx::KernelKind::attention)
    return {};
  return planOf(question, "attention", question.operations() / (2 * kAvx512Vnni.floatProducts));
}

static dlx::PlanAttr matchWindows(CpuPlanQuestion &question) {
  return question.hasLoops() && isWindowProduct(question.emitter, question.math)
             ? planOf(question, "windows", question.nanosecondsOnce())
             : dlx::PlanAttr();
}

/// Reductions, windows, and products whose second factor does not lie in panels.
static dlx::PlanAttr matchRows(CpuPlanQuestion &question) {
  if (!question.hasLoops() || !question.emitter.getRoot() ||
      question.kind() == dlx::KernelKind::block_sparse)
    return {};
  return planOf(question, "reduce", question.nanosecondsOnce());
}

static dlx::PlanAttr matchRecurrentRows(CpuPlanQuestion &question) {
  return question.kind() == dlx::KernelKind::recurrent
             ? planOf(question, "recurrent_rows", question.nanosecondsOnce())
             : dlx::PlanAttr();
}

/// On one core it takes as long as rows do. Where there are many rows, or a step is short, threads
/// gain less by sharing units than they lose by meeting after each step.
static dlx::PlanAttr matchUnits(CpuPlanQuestion &question) {
  if (question.kind() != dlx::KernelKind::recurrent)
    return {};
  Recurrence r = recurrenceOf(question.kernel).getRecurrence();
  if (r.projection) // its units alone do not give the outputs
    return {};
  double factor = isWorthSharing(r, question.usual(r.rows)) ? 1 : kAvx512Vnni.meetings;
  return planOf(question, "recurrent_units", factor * question.nanosecondsOnce());
}

/// The build of a schedule whose plans have no numbers.
template <CpuLaunch (*schedule)(CpuKernel &)>
static CpuLaunch buildOnlyWay(CpuKernel &kernel, dlx::PlanAttr) {
  return schedule(kernel);
}

static const CpuSchedule kSchedules[] = {
    {"joined", matchJoined, buildOnlyWay<scheduleJoined>},
    {"map", matchMap, buildOnlyWay<scheduleMap>},
    {"block_sparse", matchKind<dlx::KernelKind::block_sparse>, buildOnlyWay<scheduleBlockSparse>},
    {"attention", matchAttention, buildOnlyWay<scheduleAttention>},
    kPanelSchedule,
    {"windows", matchWindows, buildOnlyWay<scheduleWindows>},
    {"reduce", matchRows, buildOnlyWay<scheduleReduction>},
    {"recurrent_units", matchUnits, buildOnlyWay<scheduleRecurrentUnits>},
    {"recurrent_rows", matchRecurrentRows, buildOnlyWay<scheduleRecurrentRows>},
    {"lines", matchKind<dlx::KernelKind::lines>, buildOnlyWay<scheduleLines>}};

ArrayRef<CpuSchedule> cpuSchedules() { return kSchedules; }

} // namespace dlc::codegen
