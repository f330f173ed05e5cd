//===- MultiOutputFusion.cpp - A value and what a map makes of it, by one kernel ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/fuse/FusionSteps.h"

using namespace mlir;

namespace dlc {

static RankedTensorType typeOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()); }

/// All reads of `value` and of what becomes of it are made at the reader's own index, and a result
/// of the reader is made of it.
static bool readsAtOwnIndex(const PlannedFusion &reader, Value value) {
  llvm::SmallPtrSet<Value, 16> derived = {value};
  for (Operation *op : reader.ops) {
    auto loops = dyn_cast<LoopNestOpInterface>(op);
    if (!loops)
      return false;
    LoopNest nest = loops.getLoopNest();
    for (const Access &access : nest.results) {
      Value operand = op->getOperand(access.operand);
      if (!derived.contains(operand))
        continue;
      if (access.checked || access.isComputed() || dl::getDims(typeOf(operand)) != nest.parallel)
        return false;
      for (auto [position, index] : llvm::enumerate(access.map.getResults()))
        if (index != getAffineDimExpr(position, op->getContext()))
          return false;
      derived.insert(op->getResult(0));
    }
  }
  return llvm::any_of(reader.results, [&](Value result) { return derived.contains(result); });
}

/// The user asked for a kernel of its own.
static bool isKeptOut(const PlannedFusion &group) {
  return llvm::any_of(group.ops, [](Operation *op) { return op->hasAttr("dl.no_fuse"); });
}

/// Results that a kernel of maps stores at most.
static constexpr size_t kMostResults = 4;

/// A kernel whose results may lie where the schedule likes, and that runs with each call, may have
/// a part in this: a product with one result, maps with several.
static bool isCandidate(const PlannedFusion &group) {
  return group.isKernel && !group.isAlone && !group.weightOnly && !group.updated &&
         !group.inPlace && group.results.size() <= (group.root ? 1 : kMostResults - 1) &&
         !isKeptOut(group);
}

static bool joinReader(FusionPlan &plan, PlannedFusion &reader, const ScheduleOracle &oracle) {
  if (reader.root || !isCandidate(reader))
    return false;
  RankedTensorType after = typeOf(reader.results.front());
  for (Value value : reader.inputs()) {
    PlannedFusion *writer = plan.groupOf(value);
    if (!writer || !isCandidate(*writer) || !oracle.storesSeveral(writer->ops))
      continue;
    SmallVector<Value, 2> results(reader.results);
    for (Value other : writer->results)
      if (plan.isReadByOthers(other, {&reader}))
        results.push_back(other);
    if (results.size() > kMostResults || (writer->root && reader.results.size() > 1))
      continue;
    RankedTensorType before = typeOf(value);
    if (plan.writesPart(*writer) ||
        (plan.writesPart(reader) && (results.size() > 1 || plan.readsPart(*writer))))
      continue;
    if (dl::getDims(before) != dl::getDims(after) ||
        (results.size() > 1 && dl::getLayout(before) != dl::getLayout(after)) ||
        !readsAtOwnIndex(reader, value))
      continue;
    // The kernel computes the values that a result is made of once for each result that it stores.
    if (whyTooLarge(*writer, reader, results.size()) || plan.dependsThroughOther(reader, *writer))
      continue;
    plan.join(*writer, reader, results);
    return true;
  }
  return false;
}

unsigned joinReaders(FusionPlan &plan, const ScheduleOracle &oracle) {
  unsigned joined = 0;
  for (PlannedFusion *group : llvm::to_vector(plan.getOrder()))
    while (!group->ops.empty() && joinReader(plan, *group, oracle))
      ++joined;
  return joined;
}

} // namespace dlc
