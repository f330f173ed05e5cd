//===- MapKernel.cpp - Kernels without a root: a flat grid over the result ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/Lanes.h"
#include "codegen/cuda/schedule/Schedules.h"
#include "codegen/cuda/schedule/map/MapLoops.h"

using namespace mlir;

namespace dlc::codegen {

namespace {
class MapSchedule : MapLoops {
public:
  explicit MapSchedule(KernelBuilder &k) : MapLoops(k), k(k) {}
  void run();
  /// Whether neighbours of the result read what lies apart: a transpose.
  bool readsApart();

private:
  /// Lanes of one thread: as many neighbours as fit an access of 16 bytes, or 1 where rows do not
  /// hold whole vectors.
  int64_t lanes() const;
  void element();

  KernelBuilder &k;
};
} // namespace

int64_t MapSchedule::lanes() const {
  if (groups.empty())
    return 1;
  int64_t count = lanesOf(k);
  // What is written in place begins at a row of the buffer, whose rows are others than those of
  // src.
  if (k.body.isInPlace()) {
    AffineExpr inner = groups.back().variable;
    llvm::DenseMap<AffineExpr, AffineExpr> toVector = {{inner, inner * count}};
    if (!k.math.simplify(k.resultOffset(indices).replace(toVector)).isMultipleOf(count))
      return 1;
  }
  // A single row may end within a vector: its tail is scalar. Vectors of several rows must not
  // straddle them.
  return groups.size() == 1 || groups.back().extent.isMultipleOf(count) ? count : 1;
}

void MapSchedule::element() {
  k.body.bindPlace(k.b, indices);
  k.forEachResult([&] { k.store(k.resultOffset(indices), k.body.emitMap(k.b, indices)); });
}

void MapSchedule::run() {
  int64_t count = lanes();
  AffineExpr total = totalExtent(k.math, groups);
  Value thread = k.add(k.mul(k.block(gpu::Dimension::x, "block"), kThreads), k.thread());
  Value end = k.index(total);
  if (count == 1) {
    Value position = k.named(thread, "i");
    k.when(k.less(position, end), [&] {
      k.bindFlat(position, groups);
      element();
    });
  } else {
    Value first = k.named(k.mul(thread, count), "first");
    bool hasTail = !total.isMultipleOf(count);
    Value last = hasTail ? k.add(first, k.index(count - 1)) : first;
    auto whole = [&] {
      k.bindFlat(first, groups);
      // The last group's variable is bound once for each lane; the vector begins where it stands
      // now.
      Value begin = k.index(groups.back().variable);
      const DimGroup &inner = groups.back();
      k.body.bindPlace(k.b, indices);
      storeLanes(k, count, inner.variable, inner.extent, begin, indices,
                 [&](Value) { return k.body.emitMap(k.b, indices); });
    };
    auto tail = [&] {
      k.loop("i", first, end, 1, KernelBuilder::Unroll::never, [&](Value i) {
        k.math.bindLoop(groups.back().variable, i);
        element();
      });
    };
    if (hasTail)
      k.when(k.less(last, end), whole, tail);
    else
      k.when(k.less(first, end), whole);
  }
  k.finish(kThreads, {k.ceilDiv(total, kThreads * count)});
}

bool MapSchedule::readsApart() {
  bool isApart = false;
  if (!groups.empty())
    k.body.visitResultReads(indices, [&](unsigned, AffineExpr offset, bool) {
      Stride stride = k.math.strideAlong(offset, groups.back().variable);
      isApart |= stride == Stride::other;
      return true;
    });
  return isApart;
}

static dlx::PlanAttr match(PlanQuestion &question) {
  if (question.kind() != dlx::KernelKind::map)
    return {};
  const ScheduleRates &rates = question.k.gpu().schedules;
  double share = MapSchedule(question.k).readsApart() ? rates.mapApart : rates.map;
  return dlx::PlanAttr::get(question.kernel().getContext(), kMapSchedule.name,
                            question.nanoseconds(2 * question.k.gpu().clocksOfLatency) +
                                question.nanosecondsOnce(share),
                            {});
}

static LogicalResult build(KernelBuilder &k, dlx::PlanAttr) {
  MapSchedule(k).run();
  return success();
}

constinit const Schedule kMapSchedule = {"map", match, build};

} // namespace dlc::codegen
