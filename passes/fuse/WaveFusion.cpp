//===- WaveFusion.cpp - Layers of recurrences whose steps run in waves --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/StackedLayers.h"
#include "passes/fuse/FusionSteps.h"

using namespace mlir;

namespace dlc {

/// The recurrences of a group that may have more layers, from the lowest one on: one by itself, or
/// a stack. None of any other group.
static SmallVector<RecurrentOpInterface> layersOf(const PlannedFusion &group) {
  SmallVector<RecurrentOpInterface> layers;
  if (!group.isKernel || group.weightOnly || group.updated)
    return layers;
  for (Operation *op : group.ops) {
    if (op->hasAttr("dl.no_fuse"))
      return {};
    if (auto layer = dyn_cast<RecurrentOpInterface>(op))
      layers.push_back(layer);
  }
  bool isStack = group.ops.size() == 2 * layers.size() - 1;
  return layers.size() == 1 || (isStack && areStacked(layers))
             ? layers
             : SmallVector<RecurrentOpInterface>();
}

/// Returns true if `op` reads a value that is there only after `earlier`, apart from operand
/// `allowed`.
static bool waitsFor(FusionPlan &plan, PlannedFusion &earlier, Operation *op, unsigned allowed) {
  for (OpOperand &operand : op->getOpOperands()) {
    PlannedFusion *group = plan.groupOf(operand.get());
    if (operand.getOperandNumber() != allowed && group &&
        (group == &earlier || plan.depends(*group, earlier)))
      return true;
  }
  return false;
}

/// Why `upper`, a layer by itself whose gates are a product of what a layer gives, does not run in
/// waves with that; nullopt where it has joined it.
static std::optional<dl::NotFused> joinBelow(FusionPlan &plan, PlannedFusion &upper,
                                             RecurrentOpInterface layer,
                                             const ScheduleOracle &oracle) {
  dl::LinearOp product = productOfGates(layer);
  PlannedFusion &between = *plan.groupOf(product.getResult()),
                &lower = *plan.groupOf(product.getX());
  if (product->hasAttr("dl.no_fuse"))
    return dl::NotFused::no_fuse;
  if (auto notFused = whyNotInWaves(layer))
    return notFused;
  SmallVector<RecurrentOpInterface> layers = layersOf(lower);
  if (layers.empty() || layers.back() != layerBelow(layer))
    return dl::NotFused::layer_shared;
  if (between.ops.size() != 1 || plan.isReadByOthers(product, {&upper, &between}))
    return dl::NotFused::layer_read;
  unsigned gates = layer.getRecurrence().gates, x = product.getXMutable().getOperandNumber();
  if (waitsFor(plan, lower, layer, gates) || waitsFor(plan, lower, product, x))
    return dl::NotFused::layer_end;
  layers.push_back(layer);
  if (!oracle.runsInWaves(layers))
    return dl::NotFused::slower_waves;
  SmallVector<Value> results(upper.results.begin(), upper.results.end());
  for (Value result : lower.results)
    if (plan.isReadByOthers(result, {&between}))
      results.push_back(result);
  plan.join(between, upper, upper.results);
  plan.join(lower, upper, results);
  return std::nullopt;
}

unsigned joinLayers(FusionPlan &plan, FusionEdges &edges, const ScheduleOracle &oracle) {
  unsigned joined = 0;
  for (PlannedFusion *group : llvm::to_vector(plan.getOrder())) {
    SmallVector<RecurrentOpInterface> layers = layersOf(*group);
    if (layers.size() != 1 || !layerBelow(layers.front()))
      continue;
    if (auto notFused = joinBelow(plan, *group, layers.front(), oracle))
      edges[{layers.front(), layers.front()->getOperand(layers.front().getRecurrence().gates)}] =
          *notFused;
    else
      ++joined;
  }
  return joined;
}

} // namespace dlc
