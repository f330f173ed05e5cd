//===- RowPlan.cpp - How a schedule works on the rows of a reduction ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/reduce/RowPlan.h"

#include "codegen/cuda/schedule/Schedules.h"
#include "codegen/cuda/schedule/contraction/ContractionPlans.h"
#include "codegen/cuda/schedule/reduce/ReduceLoops.h"
#include "codegen/cuda/schedule/variants/ShapeSamples.h"
#include "ir/analysis/CostModel.h"
#include "ir/machine/InstructionCounts.h"

#include <cmath>

using namespace mlir;

namespace dlc::codegen {

/// Terms that a thread keeps of an access. More would spill, and take the device compiler long.
static constexpr int64_t kKeptTerms = 8;
/// Accesses that are kept.
static constexpr size_t kKeptAccesses = 2;

/// The same where they are read as vectors, which takes fewer registers for addresses: terms of all
/// accesses together.
static constexpr int64_t kKeptLanes = 16;

/// The longest row that is kept: larger blocks would have too few registers for it.
static constexpr int64_t kKeptRow = 4096;
/// Threads of a block that keeps a row, at most.
static constexpr int64_t kKeepingThreads = 512;

/// Threads for a row of `length` terms that keep it.
static int64_t threadsToKeep(int64_t length) {
  return length <= 256 ? 32 : length <= 512 ? 128 : length <= 2048 ? 256 : 512;
}
static_assert(kKeptRow <= kKeptTerms * kKeepingThreads);

RowPlan RowPlan::of(dlx::PlanAttr plan) {
  return {plan.number("across") != 0, plan.number("threads"), plan.number("kept"),
          std::max<int64_t>(1, plan.number("lanes"))};
}

dlx::PlanAttr RowPlan::attribute(MLIRContext *context, double ns) const {
  SmallVector<std::pair<StringRef, int64_t>> numbers = {{"threads", threads}};
  if (isAcross)
    numbers.push_back({"across", 1});
  if (kept)
    numbers.push_back({"kept", kept});
  if (lanes > 1)
    numbers.push_back({"lanes", lanes});
  return dlx::PlanAttr::get(context, kReduceSchedule.name, ns, numbers);
}

static bool mayKeep(KernelView &k, const ReduceLoops &loops) {
  const LoopNest &nest = loops.nest;
  return loops.isReadAgain(k) && nest.terms.size() <= kKeptAccesses &&
         llvm::none_of(nest.terms,
                       [](const Access &access) { return access.checked || access.isComputed(); });
}

RowPlan chooseRowPlan(KernelView &k, bool isAcross) {
  const RowLimits &limits = k.gpu().rows;
  ReduceLoops loops(k);
  AffineExpr extent = totalExtent(k.math, loops.reductions);
  // Threads alone read whole lines; warps and blocks are more threads. These win where rows are few
  // and long.
  auto usualRows = usualOrMiddle(totalExtent(k.math, loops.rows), k.ranges()),
       usualTerms = usualOrMiddle(extent, k.ranges());
  if (isAcross && usualTerms && *usualTerms > limits.threadColumn &&
      (!usualRows || *usualRows < k.gpu(kAmpere).multiprocessors * limits.threadColumns))
    isAcross = false;
  auto length = k.largest(extent);
  RowPlan plan = {isAcross,
                  isAcross                              ? 1
                  : length && *length <= limits.warpRow ? 32
                                                        : kThreads,
                  0, 1};
  // Vectors, but no lane of a warp without one.
  if (!isAcross)
    plan.lanes = loops.lanesOfTerms(k);
  while (plan.lanes > 1 && usualTerms && *usualTerms < 32 * plan.lanes)
    plan.lanes /= 2;
  while (plan.lanes > 1 && plan.threads > 32 && usualTerms &&
         *usualTerms < plan.threads * plan.lanes)
    plan.threads /= 2;
  if (!mayKeep(k, loops) || !length || *length < 1)
    return plan;
  // Lengths that vary may be far below the largest: threads for that one would be idle.
  bool isFixed = k.smallest(extent) == length;
  if (plan.lanes > 1) {
    int64_t most = std::max(plan.lanes, kKeptLanes / int64_t(loops.nest.terms.size()));
    int64_t threads = 32;
    while (*length > most * threads)
      threads *= 2;
    if (threads > (isFixed ? kKeepingThreads : 32))
      return plan;
    plan.threads = threads;
    plan.kept = llvm::divideCeil(*length, threads * plan.lanes) * plan.lanes;
    return plan;
  }
  if (*length > (isAcross ? kKeptTerms : isFixed ? kKeptRow : kKeptTerms * 32))
    return plan;
  if (!isAcross)
    plan.threads = threadsToKeep(*length);
  plan.kept = llvm::divideCeil(*length, plan.threads);
  return plan;
}

double rowsOf(PlanQuestion &question) {
  const LoopNest &nest = question.k.body.getNest();
  double rows = question.results();
  for (unsigned dim : nest.innerDims().set_bits())
    rows /= std::max(1.0, question.usual(nest.parallel[dim]));
  return rows;
}

double nanosecondsOf(PlanQuestion &question, const RowPlan &plan) {
  KernelView &k = question.k;
  const LoopNest &nest = k.body.getNest();
  const GpuModel &gpu = k.gpu();
  double multiprocessors = double(gpu.multiprocessors), terms = question.terms(),
         rows = rowsOf(question);
  llvm::SmallBitVector inner = nest.innerDims();
  double warps = std::max<double>(1, double(plan.threads) / 32),
         stages = double(nest.stages.size());
  double rounds = plan.isAcross ? terms : std::ceil(terms / double(plan.threads));
  // Lanes that read apart take a line of the cache each.
  double ofTerm = 0;
  for (unsigned term = 0; term < nest.terms.size(); ++term) {
    bool isApart = standsAcross(k.body, k.math) ||
                   (question.product() && !question.product()->liesAlongReduction(term));
    ofTerm += isApart && !plan.isAcross ? kInstructions.rowTermApart
                                        : kInstructions.rowTerm - kInstructions.rowLoad +
                                              kInstructions.rowLoad / double(plan.lanes);
  }
  double ofWarp = (kInstructions.row + (warps > 1 ? kInstructions.rowWarps : 0)) * stages +
                  rounds * ofTerm * stages;
  double threads = rows * double(plan.threads);
  double clocks = std::max(threads / 32 * ofWarp / (multiprocessors * gpu.schedules.issued),
                           kInstructions.row + std::ceil(rounds / double(plan.lanes)) *
                                                   gpu.clocksOfLatency / gpu.schedules.loadsAtOnce);
  double passes = 1;
  if (!plan.kept && ReduceLoops(k).isReadAgain(k))
    passes += gpu.schedules.readAgain * (stages - (inner.none() ? 1 : 0));
  return (question.nanoseconds(2 * gpu.clocksOfLatency) +
          std::max(question.nanoseconds(clocks),
                   question.nanosecondsOnce(gpu.schedules.reduce, passes))) *
         question.timeFactor();
}

} // namespace dlc::codegen
