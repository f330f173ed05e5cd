//===- PlanQuestion.cpp - A kernel as schedules are asked about it ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/PlanQuestion.h"

#include "codegen/cuda/schedule/Schedules.h"
#include "ir/analysis/CostModel.h"
#include "ir/dl/base/PrecisionMarks.h"
#include "ir/interfaces/LoopNest.h"

#include <cmath>

using namespace mlir;

namespace dlc::codegen {

/// An extent without an upper bound counts as this many elements.
static constexpr int64_t kUsualExtent = 4096;

/// Whether all products of the kernel let their factors be rounded.
static bool allowsTf32Of(dlx::KernelOp kernel) {
  bool some = false, all = true;
  kernel.walk([&](LoopNestOpInterface op) {
    if (!op.getLoopNest().isProduct)
      return;
    some = true;
    all &= op->hasAttr(dl::kTf32);
  });
  return some && all;
}

PlanQuestion::PlanQuestion(dlx::KernelOp kernel, ArrayRef<dl::Range> symbols,
                           const std::optional<ShapePart> &part)
    : k(kernel, symbols, part), allowsTf32(allowsTf32Of(kernel)), symbols(symbols) {}

PlanQuestion::PlanQuestion(PlanQuestion &whole, const ShapePart &part)
    : PlanQuestion(whole.kernel(), whole.symbols, part) {
  k.attention = whole.k.attention;
}

PlanQuestion::PlanQuestion(PlanQuestion &whole, ArrayRef<dl::Range> symbols)
    : PlanQuestion(whole.kernel(), symbols) {
  k.attention = whole.k.attention;
}

Contraction *PlanQuestion::product() {
  if (!hasLookedForProduct) {
    hasLookedForProduct = true;
    if (auto found = Contraction::of(k))
      sides.emplace(std::move(*found));
  }
  return sides ? &*sides : nullptr;
}

double PlanQuestion::usual(AffineExpr extent) {
  auto most = k.largest(extent);
  return double(most ? k.usual(extent, *most) : kUsualExtent);
}

double PlanQuestion::nanosecondsOnce(double share, double passes) {
  const GpuModel &gpu = k.gpu();
  double perNanosecond = 2 * gpu.peakFloats * double(gpu.multiprocessors) * gpu.gigahertz;
  if (const Contraction *c = product()) {
    double m = usualOf(c->m), n = usualOf(c->n), depth = usualOf(c->depth),
           batch = usualOf(c->batch);
    Type element = getElementTypeOrSelf(k.body.getRoot()->getOperand(c->nest.terms[0].operand));
    double bytes = batch * (m * depth + n * depth + m * n) *
                   std::max(1.0, element.getIntOrFloatBitWidth() / 8.0);
    return std::max(bytes / (gpu.memoryBytes * share), 2 * batch * m * n * depth / perNanosecond);
  }
  Cost cost = costOf(kernel().getBodyBlock());
  return std::max(passes * usual(cost.bytes) / (gpu.memoryBytes * share),
                  usual(cost.flops) / (perNanosecond * gpu.schedules.arithmetic));
}

double PlanQuestion::usualOf(const Side &side) {
  return std::min(usual(side.extent), double(kLongestSide));
}

double PlanQuestion::timeFactor() {
  const ScheduleRates &rates = k.gpu().schedules;
  if (kind() != dlx::KernelKind::contraction)
    return 1;
  if (!product())
    return rates.depthwise;
  return rates.floatUnits * (k.body.getNest().isWindow() ? rates.windows : 1);
}

double PlanQuestion::results() {
  if (const Contraction *c = product())
    return usualOf(c->m) * usualOf(c->n) * usualOf(c->batch);
  return usual(dl::product(k.body.getNest().parallel, kernel().getContext()));
}

double PlanQuestion::terms() {
  if (const Contraction *c = product())
    return usualOf(c->depth);
  return usual(dl::product(k.body.getNest().reduction, kernel().getContext()));
}

} // namespace dlc::codegen
