//===- ReduceKernel.cpp - One warp or one block for each row ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order in which a row's terms are combined depends on its length alone: thread t takes terms t, t + T, ..., then
// lanes and warps are combined in a fixed tree. So the same input gives the same bits.
//===----------------------------------------------------------------------------------------------===//
#include "codegen/schedule/cuda/Schedules.h"

#include "codegen/schedule/cuda/Accumulators.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dlc::codegen {

/// Rows up to this length go to a warp each, longer ones to a block.
static constexpr int64_t kWarpRow = 512;
static constexpr int64_t kWarpsPerBlock = 4; // where each has a row of its own

namespace {
class ReduceSchedule {
public:
  explicit ReduceSchedule(KernelBuilder &k)
      : k(k), nest(k.body.getNest()), inner(nest.innerDims()) {}
  void run();

private:
  void findGroups();
  void row();

  KernelBuilder &k;
  const LoopNest &nest;
  llvm::SmallBitVector inner;
  SmallVector<unsigned> rowOrder, innerOrder, reductionOrder;
  SmallVector<DimGroup> rows, inners, reductions;
  SmallVector<AffineExpr> parallel, reduction; // indices over the groups' variables
  int64_t threadsPerRow = 0;
  Value thread; // within the row
};
} // namespace

void ReduceSchedule::findGroups() {
  dl::Layout layout = dl::getLayout(k.body.getResultType());
  SmallVector<AffineExpr> variables, reductionVariables;
  for (unsigned position = 0; position < nest.parallel.size(); ++position) {
    unsigned dim = layout.order.empty() ? position : layout.order[position];
    (inner.test(dim) ? innerOrder : rowOrder).push_back(dim);
  }
  for (AffineExpr extent : nest.parallel)
    variables.push_back(k.math.addLoop(extent));
  for (unsigned dim = 0; dim < nest.reduction.size(); ++dim) {
    // Row-major, so that a flat position is what argmax counts.
    reductionOrder.push_back(dim);
    reductionVariables.push_back(k.math.addLoop(nest.reduction[dim]));
  }
  SmallVector<AffineExpr> terms, results = {k.resultOffset(variables)};
  k.body.visitTermReads(variables, reductionVariables, [&](unsigned, AffineExpr offset, bool) {
    terms.push_back(offset);
    return true;
  });
  k.body.visitResultReads(variables, [&](unsigned, AffineExpr offset, bool) {
    results.push_back(offset);
    return true;
  });
  llvm::SmallBitVector pinned = k.pinnedDims(variables, variables, reductionVariables);
  llvm::SmallBitVector pinnedReduction =
      k.pinnedDims(reductionVariables, variables, reductionVariables);
  SmallVector<std::string> roles = resultRoles(nest.parallel.size());
  reductions = mergeDims(k.math, reductionOrder, reductionVariables, nest.reduction, terms,
                         pinnedReduction, reductionRoles(nest.reduction.size()));
  inners = mergeDims(k.math, innerOrder, variables, nest.parallel, results, pinned, roles);
  SmallVector<AffineExpr> all(terms);
  all.append(results);
  rows = mergeDims(k.math, rowOrder, variables, nest.parallel, all, pinned, roles);
  parallel.resize(nest.parallel.size());
  reduction.resize(nest.reduction.size());
  bindGroups(k.math, rows, rowOrder, parallel);
  bindGroups(k.math, inners, innerOrder, parallel);
  bindGroups(k.math, reductions, reductionOrder, reduction);
}

void ReduceSchedule::row() {
  bool isBlock = threadsPerRow == kThreads;
  Value terms = k.index(totalExtent(k.math, reductions));
  SmallVector<Value> finished;
  for (unsigned stage = 0; stage < nest.stages.size(); ++stage) {
    Accumulator accumulator(k, stage);
    ValueRange partial =
        k.loop("r", thread, terms, threadsPerRow, accumulator.initial(), accumulator.roles(),
               KernelBuilder::Unroll::automatic, [&](Value position, ValueRange carried) {
                 k.bindFlat(position, reductions);
                 return accumulator.step(carried, position, parallel, reduction, finished);
               });
    SmallVector<Value> total = isBlock ? accumulator.acrossWarps(partial, kThreads / 32, thread)
                                       : accumulator.acrossLanes(partial, threadsPerRow);
    finished.push_back(accumulator.finish(total));
  }
  auto result = [&] {
    k.store(k.resultOffset(parallel), k.body.emitResult(k.b, parallel, finished));
  };
  if (inner.none()) {
    Value isFirst = arith::CmpIOp::create(k.b, k.loc, arith::CmpIPredicate::eq, thread, k.index(0));
    return k.when(isFirst, result);
  }
  k.loop("c", thread, k.index(totalExtent(k.math, inners)), threadsPerRow,
         KernelBuilder::Unroll::automatic, [&](Value position) {
           k.bindFlat(position, inners);
           result();
         });
}

void ReduceSchedule::run() {
  findGroups();
  AffineExpr count = totalExtent(k.math, rows);
  auto length = k.largest(totalExtent(k.math, reductions));
  bool isShort = length && *length <= kWarpRow;
  threadsPerRow = isShort ? 32 : kThreads;
  Value own = k.thread();
  if (!isShort) {
    thread = own;
    k.bindFlat(k.block(gpu::Dimension::x, "row"), rows);
    row();
    return k.finish(kThreads, {count});
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

/// True where the terms of one row lie apart and those of neighbouring rows side by side: then one thread a row reads
/// whole lines, a warp a row would read one element of each.
static bool favoursThreads(KernelBuilder &k) {
  const LoopNest &nest = k.body.getNest();
  if (nest.innerDims().any() || nest.reduction.empty())
    return false;
  SmallVector<AffineExpr> parallel, reduction;
  for (AffineExpr extent : nest.parallel)
    parallel.push_back(k.math.addLoop(extent));
  for (AffineExpr extent : nest.reduction)
    reduction.push_back(k.math.addLoop(extent));
  bool isUnitInRow = false, isUnitAcross = false;
  k.body.visitTermReads(parallel, reduction, [&](unsigned, AffineExpr offset, bool) {
    for (auto [variable, extent] : llvm::zip(reduction, nest.reduction))
      isUnitInRow |=
          !dl::isConstant(extent, 1) && k.math.strideAlong(offset, variable) == Stride::unit;
    for (auto [variable, extent] : llvm::zip(parallel, nest.parallel))
      isUnitAcross |=
          !dl::isConstant(extent, 1) && k.math.strideAlong(offset, variable) == Stride::unit;
    return true;
  });
  return isUnitAcross && !isUnitInRow;
}

void scheduleReduce(KernelBuilder &k) {
  if (favoursThreads(k))
    return scheduleDirect(k);
  ReduceSchedule(k).run();
}

} // namespace dlc::codegen
