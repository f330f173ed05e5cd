//===- NarrowingPlan.cpp - The layers that one may keep out of 16 bits, each by itself --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/precision/NarrowingPlan.h"

#include "ir/analysis/SourcePlaces.h"
#include "ir/dl/composite/AttentionParts.h"
#include "passes/precision/NarrowingRules.h"

#include "llvm/ADT/StringMap.h"

#include <map>
#include <set>

using namespace mlir;

namespace dlc {
namespace {

/// Makes the plan, op by op.
class Planner {
public:
  Planner(FloatType narrow, const LayerPatterns &kept)
      : narrow(narrow), kept(kept), rules(narrow) {}
  void add(Operation &op);
  NarrowingPlan plan;

private:
  using Condition = std::vector<unsigned>;
  Condition conditionOf(Operation &op);

  FloatType narrow;
  const LayerPatterns &kept;
  NarrowingRules rules;
  llvm::StringMap<unsigned> layerOf;
  std::map<Condition, size_t> known;
  /// Of the values that ops of the plan have made.
  llvm::DenseMap<Value, size_t> conditions;
};

} // namespace

/// Returns the union of the operands' conditions, or the op's own layer if they have none.
Planner::Condition Planner::conditionOf(Operation &op) {
  std::set<unsigned> layers;
  for (Value operand : op.getOperands())
    if (auto found = conditions.find(dl::outsideAttention(operand));
        found != conditions.end() && !rules.isNarrowProduct(&op))
      layers.insert(plan.conditions[found->second].begin(), plan.conditions[found->second].end());
  if (!layers.empty())
    return {layers.begin(), layers.end()};
  std::string name = shownNameOf(op);
  auto [layer, isNew] = layerOf.insert({name, plan.layers.size()});
  if (isNew)
    plan.layers.push_back({name, {}});
  plan.layers[layer->second].ops.push_back(&op);
  return {layer->second};
}

void Planner::add(Operation &op) {
  // As if the ops of its body stood here.
  if (auto attention = dyn_cast<dl::AttentionOp>(op)) {
    for (Operation &part : attention.getBodyBlock().without_terminator())
      add(part);
    Value y = attention.getBodyBlock().getTerminator()->getOperand(0);
    if (rules.isNarrowBorn(y))
      rules.noteNarrow(attention.getY());
    if (auto found = conditions.find(y); found != conditions.end())
      conditions[attention.getY()] = found->second;
    return;
  }
  // The user's own cast: its result is as good as its operand, whatever is kept.
  if (auto cast = dyn_cast<dl::CastOp>(op);
      cast && NarrowingRules::isWide(cast) && getElementTypeOrSelf(cast.getX()) == narrow) {
    rules.noteNarrow(cast);
    return;
  }
  if (!rules.runsNarrow(&op) || kept.matches(&op))
    return;
  auto [condition, isNew] = known.insert({conditionOf(op), plan.conditions.size()});
  if (isNew)
    plan.conditions.push_back(condition->first);
  plan.steps.push_back({&op, condition->second});
  for (Value result : op.getResults())
    if (NarrowingRules::isWide(result)) {
      rules.noteNarrow(result);
      conditions[result] = condition->second;
    }
}

NarrowingPlan planNarrowing(func::FuncOp function, FloatType narrow, const LayerPatterns &kept) {
  Planner planner(narrow, kept);
  for (Operation &op : function.front())
    planner.add(op);
  return std::move(planner.plan);
}

} // namespace dlc
