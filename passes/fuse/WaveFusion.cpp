//===- WaveFusion.cpp - Layers of recurrences whose steps run in waves -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
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
/// waves with that; empty where it has joined it.
static std::string joinBelow(FusionPlan &plan, PlannedFusion &upper, RecurrentOpInterface layer,
                             const ScheduleOracle &oracle) {
  dl::LinearOp product = productOfGates(layer);
  PlannedFusion &between = *plan.groupOf(product.getResult()),
                &lower = *plan.groupOf(product.getX());
  if (product->hasAttr("dl.no_fuse"))
    return "the model asks for a kernel of its own";
  if (std::string why = whyNotInWaves(layer); !why.empty())
    return why;
  SmallVector<RecurrentOpInterface> layers = layersOf(lower);
  if (layers.empty() || layers.back() != layerBelow(layer))
    return "the layer below shares its kernel with others";
  if (between.ops.size() != 1 || plan.isReadByOthers(product, {&upper, &between}))
    return "others read the product between the layers, or are computed with it";
  unsigned gates = layer.getRecurrence().gates, x = product.getXMutable().getOperandNumber();
  if (waitsFor(plan, lower, layer, gates) || waitsFor(plan, lower, product, x))
    return "it needs more of the layer below than y, after the last step";
  layers.push_back(layer);
  if (!oracle.runsInWaves(layers))
    return "its steps take less time after those of the layer below than in waves with them";
  SmallVector<Value> results(upper.results.begin(), upper.results.end());
  for (Value result : lower.results)
    if (plan.isReadByOthers(result, {&between}))
      results.push_back(result);
  plan.join(between, upper, upper.results);
  plan.join(lower, upper, results);
  return "";
}

unsigned joinLayers(FusionPlan &plan, FusionEdges &edges, const ScheduleOracle &oracle) {
  unsigned joined = 0;
  for (PlannedFusion *group : llvm::to_vector(plan.getOrder())) {
    SmallVector<RecurrentOpInterface> layers = layersOf(*group);
    if (layers.size() != 1 || !layerBelow(layers.front()))
      continue;
    std::string why = joinBelow(plan, *group, layers.front(), oracle);
    if (why.empty())
      ++joined;
    else
      edges[{layers.front(), layers.front()->getOperand(layers.front().getRecurrence().gates)}] =
          std::move(why);
  }
  return joined;
}

} // namespace dlc
