//===- Recomputation.cpp - Values that each of their readers computes ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/CostModel.h"
#include "ir/machine/EstimateMargins.h"
#include "passes/fuse/FusionSteps.h"

using namespace mlir;

namespace dlc {

namespace {

class Recomputation {
public:
  Recomputation(FusionPlan &plan, FusionEdges &edges, const ScheduleOracle &oracle,
                ArrayRef<dl::Range> symbols)
      : plan(plan), edges(edges), oracle(oracle), symbols(symbols) {}

  bool recompute(PlannedFusion &group);

private:
  bool isCandidate(const PlannedFusion &group) const;
  bool canCompute(PlannedFusion &reader, const PlannedFusion &group, OpOperand &read) const;
  bool isFaster(const PlannedFusion &group, ArrayRef<OpOperand *> reads) const;
  double usual(dl::Dim dim) const;

  FusionPlan &plan;
  FusionEdges &edges;
  const ScheduleOracle &oracle;
  ArrayRef<dl::Range> symbols;
};

} // namespace

/// A map that runs with each call and gives one value, and that no dl.cat chooses among.
bool Recomputation::isCandidate(const PlannedFusion &group) const {
  return group.isKernel && !group.root && !group.isAlone && !group.weightOnly && !group.unpacks &&
         !group.inPlace && !group.updated && group.results.size() == 1 &&
         llvm::none_of(group.ops, [](Operation *op) {
           return op->hasAttr("dl.no_fuse") || isa<dl::CatOp>(op);
         });
}

/// The kernel of `reader` can compute what it reads of `group` by `read`.
bool Recomputation::canCompute(PlannedFusion &reader, const PlannedFusion &group,
                               OpOperand &read) const {
  auto loops = dyn_cast<LoopNestOpInterface>(read.getOwner());
  // A kernel cannot read what it stores in place, and an attention has the ops that it has.
  if (!loops || !reader.isKernel || reader.weightOnly || reader.updated ||
      isa_and_nonnull<dl::AttentionOp>(reader.root) ||
      (plan.writesPart(reader) && plan.readsPart(group)))
    return false;
  return !whyNotCompute(group, read.get(), reader, loops, loops.getLoopNest(), oracle);
}

/// A number that estimates take for a dim that nothing bounds.
static constexpr int64_t kUnknown = int64_t(1) << 24;

double Recomputation::usual(dl::Dim dim) const {
  return double(usualOrMiddle(dim, symbols).value_or(kUnknown));
}

/// How often the kernel that makes `read` computes each element: once for each stage and for the
/// result.
static int64_t timesComputed(OpOperand &read) {
  LoopNest nest = cast<LoopNestOpInterface>(read.getOwner()).getLoopNest();
  auto countIn = [&](ArrayRef<Access> accesses) {
    return llvm::count_if(
        accesses, [&](const Access &access) { return access.operand == read.getOperandNumber(); });
  };
  return countIn(nest.terms) * static_cast<int64_t>(nest.stages.size()) + countIn(nest.results) +
         countIn(nest.spanReads);
}

/// The estimated time of the kernel, and of what its readers read of it, is clearly longer than
/// that of reading what it reads and computing it in each reader.
bool Recomputation::isFaster(const PlannedFusion &group, ArrayRef<OpOperand *> reads) const {
  auto bytesOf = [&](Value value) {
    return usual(storedBytes(cast<RankedTensorType>(value.getType())));
  };
  double bytes = 0, operations = 0, written = bytesOf(group.results.front());
  for (Value input : group.inputs())
    bytes += bytesOf(input);
  for (Operation *op : group.ops)
    operations += usual(flopsOf(cast<LoopNestOpInterface>(op)));
  const auto readers = double(reads.size());
  double times = 0;
  for (OpOperand *read : reads)
    times += double(timesComputed(*read));
  Operation *at = group.ops.front();
  double stored = oracle.microsecondsToCompute(at, bytes + written * (1 + readers), operations),
         computed = oracle.microsecondsToCompute(at, bytes * readers, operations * times) -
                    oracle.microsecondsToCompute(at, 0, 0);
  return computed < kMargins.change * stored;
}

/// Lets each reader of what `group` computes do so itself, where all of them can and this is
/// faster.
bool Recomputation::recompute(PlannedFusion &group) {
  if (!isCandidate(group))
    return false;
  Value value = group.results.front();
  SmallVector<OpOperand *> reads;
  llvm::SmallPtrSet<PlannedFusion *, 4> readers;
  for (OpOperand &read : value.getUses()) {
    PlannedFusion *reader = plan.groupOf(read.getOwner());
    if (!readers.insert(reader).second || !canCompute(*reader, group, read))
      return false;
    reads.push_back(&read);
  }
  if (reads.size() < 2 || !isFaster(group, reads))
    return false;
  for (OpOperand *read : reads) {
    IRMapping copies;
    plan.copyInto(group, *read, copies);
    for (Operation *op : group.ops)
      for (Value operand : op->getOperands())
        if (auto edge = edges.find({op, operand}); edge != edges.end()) {
          dl::NotFused why = edge->second;
          edges[{copies.lookup(op), operand}] = why;
        }
  }
  for (Operation *op : group.ops)
    for (Value operand : op->getOperands())
      edges.erase({op, operand});
  plan.erase(group);
  return true;
}

unsigned recomputeForReaders(FusionPlan &plan, FusionEdges &edges, const ScheduleOracle &oracle,
                             ArrayRef<dl::Range> symbols) {
  Recomputation recomputation(plan, edges, oracle, symbols);
  unsigned recomputed = 0;
  // Readers first: what they compute themselves reads what is before it.
  SmallVector<PlannedFusion *> order = llvm::to_vector(plan.getOrder());
  for (PlannedFusion *group : llvm::reverse(order))
    recomputed += !group->ops.empty() && recomputation.recompute(*group);
  return recomputed;
}

} // namespace dlc
