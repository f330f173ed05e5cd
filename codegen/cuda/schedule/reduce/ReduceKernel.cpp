//===- ReduceKernel.cpp - One warp or one block for each row ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order in which a row's terms are combined depends on its length alone: thread t takes terms
// t, t + T, ..., then lanes and warps are combined in a fixed tree. So the same input gives the
// same bits. Where terms lie together a thread takes as many neighbours as fit an access of 16
// bytes for each term.
//
// Where several stages read a row (softmax, norms) and it is short enough, each thread keeps its
// terms in registers: what comes before the root is computed once, and memory is read once. Its
// loops have few rounds and are unrolled fully.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/Schedules.h"

#include "codegen/cuda/schedule/Lanes.h"
#include "codegen/cuda/schedule/contraction/ContractionPlans.h"
#include "codegen/cuda/schedule/reduce/Accumulators.h"
#include "codegen/cuda/schedule/reduce/KeptTerms.h"
#include "codegen/cuda/schedule/reduce/ReduceLoops.h"
#include "codegen/cuda/schedule/reduce/RowPlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dlc::codegen {

/// Where each has a row of its own.
static constexpr int64_t kWarpsPerBlock = 4;

namespace {
/// The terms that a thread has of its row: what one access reads.
struct KeptAccess {
  Value tensor;
  SmallVector<AffineExpr> asTerm,
      asInner; // its index in the loop over terms, in that over the row's own dims
  Value array;
  Value current; // at the position of the loop at hand
};

class ReduceSchedule : ReduceLoops {
public:
  explicit ReduceSchedule(KernelBuilder &k) : ReduceLoops(k), k(k), terms(k) {}
  void run(const RowPlan &plan);

private:
  void keepAccesses();
  SmallVector<Value> stageOf(Accumulator &accumulator, unsigned stage);
  void results();
  void row();
  /// body(slot, first, carried) for each access of a thread to its row, `lanes` neighbours from
  /// position `first` on: those that it keeps, the first of them in `slot`, or all below the extent
  /// of `groups` (slot is null).
  using Accesses = llvm::function_ref<SmallVector<Value>(Value, Value, ValueRange)>;
  ValueRange overAccesses(bool areKept, StringRef role, ArrayRef<DimGroup> groups, ValueRange inits,
                          ArrayRef<StringRef> names, Accesses body);
  /// The same for each position, with `groups` bound to it.
  ValueRange overPositions(bool areKept, StringRef role, ArrayRef<DimGroup> groups,
                           ValueRange inits, ArrayRef<StringRef> names, Accesses body);
  /// Has each kept access at hand at `slot`: what it was read as before.
  void recall(Value slot) {
    for (KeptAccess &one : kept)
      one.current = slot ? k.read(one.array, {slot}) : Value();
  }

  KernelBuilder &k;
  int64_t threadsPerRow = 0;
  int64_t slots = 0;            // terms that a thread keeps; 0: none
  int64_t lanes = 1;            // neighbours that a thread reads at once
  Value end;                    // of the positions, where slots may lie past it
  SmallVector<KeptAccess> kept; // with `slots`
  KeptTerms terms;              // of the last stage, with `slots`
  SmallVector<Value> finished;  // of the stages so far
  Value thread;                 // within the row
};
} // namespace

/// Makes room for what the terms read. The row's own dims take the place of the reduction's where
/// they have their extents.
void ReduceSchedule::keepAccesses() {
  SmallVector<AffineExpr> loops(parallel);
  loops.append(reduction.begin(), reduction.end());
  SmallVector<AffineExpr> innerLoops(parallel);
  bool isSameRow = innerOrder.size() == nest.reduction.size();
  for (unsigned i = 0; isSameRow && i < innerOrder.size(); ++i) {
    isSameRow = nest.parallel[innerOrder[i]] == nest.reduction[i];
    innerLoops.push_back(parallel[innerOrder[i]]);
  }
  for (unsigned access = 0; access < nest.terms.size(); ++access) {
    KeptAccess one;
    std::tie(one.tensor, one.asTerm) = k.body.termAt(access, loops);
    if (isSameRow)
      one.asInner = k.body.termAt(access, innerLoops).second;
    Type element = computeType(cast<RankedTensorType>(one.tensor.getType()).getElementType());
    one.array = k.local({slots}, element, "kept");
    kept.push_back(std::move(one));
  }
  k.body.held = [this](Value tensor, ArrayRef<AffineExpr> indices) {
    for (const KeptAccess &one : kept)
      if (one.current && one.tensor == tensor &&
          (indices == ArrayRef(one.asTerm) || indices == ArrayRef(one.asInner)))
        return one.current;
    return Value();
  };
}

ValueRange ReduceSchedule::overAccesses(bool areKept, StringRef role, ArrayRef<DimGroup> groups,
                                        ValueRange inits, ArrayRef<StringRef> names,
                                        Accesses body) {
  if (!areKept)
    return k.loop(role, k.mul(thread, lanes), k.index(totalExtent(k.math, groups)),
                  threadsPerRow * lanes, inits, names, KernelBuilder::Unroll::automatic,
                  [&](Value first, ValueRange carried) { return body({}, first, carried); });
  return k.loop("j", k.index(0), k.index(slots / lanes), 1, inits, names,
                KernelBuilder::Unroll::full, [&](Value access, ValueRange carried) {
                  Value number = k.add(k.mul(access, threadsPerRow), thread);
                  Value first = k.named(k.mul(number, lanes), "r");
                  Value isInside = end ? k.less(first, end) : Value();
                  return k.chooseAll(
                      isInside, [&] { return body(k.mul(access, lanes), first, carried); },
                      carried);
                });
}

ValueRange ReduceSchedule::overPositions(bool areKept, StringRef role, ArrayRef<DimGroup> groups,
                                         ValueRange inits, ArrayRef<StringRef> names,
                                         Accesses body) {
  return overAccesses(
      areKept, role, groups, inits, names, [&](Value slot, Value first, ValueRange carried) {
        if (lanes == 1) {
          k.bindFlat(first, groups);
          return body(slot, first, carried);
        }
        auto ofLane = [&](Value lane, ValueRange inner) {
          return body(slot ? k.add(slot, lane) : slot, k.add(first, lane), inner);
        };
        if (!groups.empty() && groups.back().extent.isMultipleOf(lanes)) {
          k.bindFlat(first, groups);
          const DimGroup &last = groups.back();
          LaneRange range(k, lanes, last.variable, last.extent, k.index(last.variable));
          return SmallVector<Value>(overLanes(k, range, carried, names, ofLane));
        }
        // Neighbours in the order of the terms that lie apart among the results.
        return SmallVector<Value>(k.loop("e", k.index(0), k.index(lanes), 1, carried, names,
                                         KernelBuilder::Unroll::full,
                                         [&](Value lane, ValueRange inner) {
                                           k.bindFlat(k.add(first, lane), groups);
                                           return ofLane(lane, inner);
                                         }));
      });
}

SmallVector<Value> ReduceSchedule::stageOf(Accumulator &accumulator, unsigned stage) {
  return overPositions(slots > 0, "r", reductions, accumulator.initial(), accumulator.roles(),
                       [&](Value slot, Value position, ValueRange carried) {
                         if (stage > 0)
                           recall(slot);
                         for (KeptAccess &one : kept)
                           if (stage == 0) {
                             one.current = {};
                             one.current = k.body.emit(k.b, one.tensor, one.asTerm);
                             k.write(one.array, {slot}, one.current);
                           }
                         SmallVector<Value> stepped =
                             accumulator.step(carried, position, parallel, reduction, finished);
                         if (slot && accumulator.lastTerm() && stage + 1 == nest.stages.size())
                           terms.keep(accumulator.lastTerm(), slot, kept.front().array);
                         return stepped;
                       });
}

void ReduceSchedule::results() {
  auto result = [&](Value slot) {
    recall(slot);
    Value value = k.body.emitResult(k.b, parallel, finished);
    return slot ? terms.recall(value, slot) : value;
  };
  auto byFirst = [&](llvm::function_ref<void()> store) {
    k.when(arith::CmpIOp::create(k.b, k.loc, arith::CmpIPredicate::eq, thread, k.index(0)), store);
  };
  auto storeOne = [&] { k.store(k.resultOffset(parallel), result({})); };
  if (inner.none())
    return byFirst(storeOne);
  if (k.forEachResultOfRow([] {}))
    byFirst([&] { k.forEachResultOfRow(storeOne); });
  if (!k.forEachResult([] {}))
    return;
  bool areKept = slots > 0 && !kept.front().asInner.empty();
  bool isStoredTogether = lanes > 1 && storesLanes(k, lanes);
  if (!areKept && !isStoredTogether)
    lanes = 1; // a row's own dims may have other extents than its terms
  if (!isStoredTogether) {
    overPositions(areKept, "c", inners, {}, {},
                  [&](Value slot, Value, ValueRange) -> SmallVector<Value> {
                    k.forEachResult([&] { k.store(k.resultOffset(parallel), result(slot)); });
                    return {};
                  });
    return;
  }
  overAccesses(areKept, "c", inners, {}, {},
               [&](Value slot, Value first, ValueRange) -> SmallVector<Value> {
                 k.bindFlat(first, inners);
                 const DimGroup &last = inners.back();
                 storeLanes(k, lanes, last.variable, last.extent, k.index(last.variable), parallel,
                            [&](Value lane) { return result(slot ? k.add(slot, lane) : slot); });
                 return {};
               });
}

void ReduceSchedule::row() {
  if (slots)
    keepAccesses();
  for (unsigned stage = 0; stage < nest.stages.size(); ++stage) {
    Accumulator accumulator(k, stage);
    SmallVector<Value> partial = stageOf(accumulator, stage);
    SmallVector<Value> total = threadsPerRow > 32
                                   ? accumulator.acrossWarps(partial, threadsPerRow / 32, thread)
                                   : accumulator.acrossLanes(partial, threadsPerRow);
    finished.push_back(accumulator.finish(total));
  }
  results();
  terms.finish();
  k.body.held = {};
}

void ReduceSchedule::run(const RowPlan &plan) {
  AffineExpr count = totalExtent(k.math, rows), extent = totalExtent(k.math, reductions);
  threadsPerRow = plan.threads;
  slots = plan.kept;
  lanes = plan.lanes;
  auto length = k.largest(extent);
  if (slots && (k.smallest(extent) != length || *length != slots * threadsPerRow))
    end = k.index(extent);
  Value own = k.thread();
  if (plan.isAcross) {
    thread = k.index(0);
    Value first = k.mul(k.block(gpu::Dimension::x, "block"), kThreads);
    Value position = k.named(k.add(first, own), "row");
    k.when(k.less(position, k.index(count)), [&] {
      k.bindFlat(position, rows);
      row();
    });
    return k.finish(kThreads, {k.ceilDiv(count, kThreads)});
  }
  if (threadsPerRow > 32) {
    thread = own;
    k.bindFlat(k.block(gpu::Dimension::x, "row"), rows);
    row();
    return k.finish(threadsPerRow, {count});
  }
  thread = k.named(k.mod(own, k.index(32)), "lane");
  Value first = k.mul(k.block(gpu::Dimension::x, "block"), kWarpsPerBlock);
  Value position = k.named(k.add(first, k.div(own, k.index(32))), "row");
  // The whole warp takes the same way, so its shuffles find every lane.
  k.when(k.less(position, k.index(count)), [&] {
    k.bindFlat(position, rows);
    row();
  });
  k.finish(32 * kWarpsPerBlock, {k.ceilDiv(count, kWarpsPerBlock)});
}

static dlx::PlanAttr match(PlanQuestion &question) {
  KernelBuilder &k = question.k;
  const LoopNest &nest = k.body.getNest();
  dlx::KernelKind kind = question.kind();
  bool isContraction = kind == dlx::KernelKind::contraction;
  if (!isContraction && kind != dlx::KernelKind::reduce && kind != dlx::KernelKind::rows &&
      kind != dlx::KernelKind::block_sparse)
    return {};
  // A thread by itself leaves out what is neutral; where others would wait for it, nothing is
  // gained.
  if (!k.body.getRoot() || k.body.getPool() || nest.spanned.any())
    return {};
  // The rows of a product: where the second factor lies along the sums.
  if (isContraction && (!question.product() || question.hasSeveralResults() ||
                        !question.product()->liesAlongReduction(1)))
    return {};
  // Without dims of its own a row across memory is one element: the schedule for those serves.
  bool isAcross = standsAcross(k.body, k.math);
  if (isAcross && (isContraction || nest.innerDims().none()))
    return {};
  RowPlan plan = chooseRowPlan(k, isAcross);
  return plan.attribute(question.kernel().getContext(), nanosecondsOf(question, plan));
}

static double cost(PlanQuestion &question, dlx::PlanAttr attribute) {
  RowPlan plan = RowPlan::of(attribute);
  auto length = question.k.largest(
      dl::product(question.k.body.getNest().reduction, question.kernel().getContext()));
  if (plan.kept && (!length || *length > plan.kept * plan.threads))
    return kNeverServes;
  return nanosecondsOf(question, plan);
}

static LogicalResult build(KernelBuilder &k, dlx::PlanAttr plan) {
  ReduceSchedule(k).run(RowPlan::of(plan));
  return success();
}

constinit const Schedule kReduceSchedule = {"reduce", match, build, operandsOfProduct, cost};

} // namespace dlc::codegen
