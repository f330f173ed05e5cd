//===- DirectKernel.cpp - One thread for each element of the result -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/contraction/ContractionPlans.h"

#include "codegen/cuda/schedule/reduce/Accumulators.h"
#include "codegen/plan/Combine.h"

using namespace mlir;

namespace dlc::codegen {

/// Loops of at most so many steps are unrolled.
static constexpr int64_t kUnrolled = 9;

static LogicalResult build(KernelBuilder &k, dlx::PlanAttr) {
  const LoopNest &nest = k.body.getNest();
  SmallVector<unsigned> order = k.body.memoryOrder();
  SmallVector<AffineExpr> variables, reduction;
  for (AffineExpr extent : nest.parallel)
    variables.push_back(k.math.addLoop(extent));
  for (AffineExpr extent : nest.reduction)
    reduction.push_back(k.math.addLoop(extent));

  SmallVector<AffineExpr> addresses = {k.resultOffset(variables)};
  auto note = [&](unsigned, AffineExpr offset, bool) {
    addresses.push_back(offset);
    return true;
  };
  k.body.visitTermReads(variables, reduction, note);
  k.body.visitResultReads(variables, note);
  llvm::SmallBitVector pinned = k.pinnedDims(variables, variables, reduction);
  SmallVector<DimGroup> groups = mergeDims(k.math, order, variables, nest.parallel, addresses,
                                           pinned, resultRoles(nest.parallel.size()));
  SmallVector<AffineExpr> indices(nest.parallel.size());
  bindGroups(k.math, groups, order, indices);

  AffineExpr total = totalExtent(k.math, groups);
  Value position =
      k.named(k.add(k.mul(k.block(gpu::Dimension::x, "block"), kThreads), k.thread()), "i");
  k.when(k.less(position, k.index(total)), [&] {
    k.bindFlat(position, groups);
    // All loops of a stage, from the outermost dim on; a position counts the terms for argmax.
    SmallVector<Value> finished;
    SmallVector<std::string> roles = reductionRoles(nest.reduction.size());
    for (unsigned stage = 0; stage < nest.stages.size(); ++stage) {
      Accumulator accumulator(k, stage);
      auto nestLoops = [&](auto &self, unsigned depth, Value counted,
                           ValueRange carried) -> SmallVector<Value> {
        if (depth == nest.reduction.size())
          return accumulator.step(carried, counted, indices, reduction, finished);
        AffineExpr extent = nest.reduction[depth];
        auto size = dl::asConstant(extent);
        bool isSpanned = nest.isSpanned(depth);
        auto unroll = size && *size <= kUnrolled && !isSpanned ? KernelBuilder::Unroll::full
                                                               : KernelBuilder::Unroll::automatic;
        Span range =
            isSpanned ? k.body.emitSpan(k.b, depth, indices) : Span{k.index(0), k.index(extent)};
        ValueRange results =
            k.loop(roles[depth], range.begin, range.end, 1, carried, accumulator.roles(), unroll,
                   [&](Value variable, ValueRange inner) {
                     k.math.bindLoop(reduction[depth], variable);
                     Value count = accumulator.hasPosition()
                                       ? k.add(k.mul(counted, k.index(extent)), variable)
                                       : Value();
                     return self(self, depth + 1, count, inner);
                   });
        return SmallVector<Value>(results);
      };
      Value zero = accumulator.hasPosition() ? k.index(0) : Value();
      finished.push_back(accumulator.finish(nestLoops(nestLoops, 0, zero, accumulator.initial())));
    }
    k.forEachResult(
        [&] { k.store(k.resultOffset(indices), k.body.emitResult(k.b, indices, finished)); });
  });
  k.finish(kThreads, {k.ceilDiv(total, kThreads)});
  return success();
}

static dlx::PlanAttr match(PlanQuestion &question) {
  KernelBuilder &k = question.k;
  dlx::KernelKind kind = question.kind();
  if (!k.body.getRoot() || k.body.getPool())
    return {};
  // Rows with dims of their own, which a thread would reduce again for each of these.
  bool isRows = kind == dlx::KernelKind::reduce || kind == dlx::KernelKind::block_sparse;
  if (isRows && k.body.getNest().innerDims().any() && !k.body.getNest().spanned.any())
    return {};
  if (!isRows && kind != dlx::KernelKind::window && kind != dlx::KernelKind::contraction)
    return {};
  const GpuModel &gpu = k.gpu();
  double results = question.results(), terms = question.terms(),
         multiprocessors = double(gpu.multiprocessors);
  double loads = results * terms * double(k.body.getNest().terms.size());
  double turns = std::max(1.0, results / (multiprocessors * double(gpu.threads)));
  double clocks = std::max(loads / (multiprocessors * gpu.schedules.loads),
                           turns * terms * gpu.schedules.clocksOfTerm);
  double ns =
      question.nanoseconds(2 * gpu.clocksOfLatency) +
      std::max(question.nanoseconds(clocks), question.nanosecondsOnce(gpu.schedules.direct));
  return dlx::PlanAttr::get(question.kernel().getContext(), kDirectSchedule.name,
                            ns * question.timeFactor(), {});
}

constinit const Schedule kDirectSchedule = {"direct", match, build, operandsOfProduct};

} // namespace dlc::codegen
