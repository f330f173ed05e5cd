//===- SimulatePrecision.cpp - Layers in 16 bits by choice of an input --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/FusionLegality.h"
#include "ir/dl/base/DLBuilder.h"
#include "passes/Passes.h"
#include "passes/buffers/PrependResults.h"
#include "passes/precision/NarrowingPlan.h"
#include "passes/precision/NarrowingRules.h"

#define DEBUG_TYPE "simulate-precision"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_SIMULATEPRECISION
#include "passes/Passes.h.inc"

namespace {

class SimulatePrecision : public impl::SimulatePrecisionBase<SimulatePrecision> {
public:
  using SimulatePrecisionBase::SimulatePrecisionBase;

private:
  void runOnOperation() override;
};

/// Rewrites the ops of one plan.
class Simulation {
public:
  Simulation(func::FuncOp function, FloatType narrow, const NarrowingPlan &plan);
  void run();

private:
  Value choose(dl::Builder &builder, Value x, size_t condition);
  bool isStored(Value value);
  void simulate(const NarrowingPlan::Step &step);
  std::pair<Value, Value> extentOf(const NarrowingPlan::Layer &layer, dl::Builder &builder);

  func::FuncOp function;
  FloatType narrow;
  const NarrowingPlan &plan;
  NarrowingRules rules;
  SmallVector<Value> chosen; // of each condition that something is rounded for: a bool
  /// An operand that was rounded for a condition: each once.
  llvm::DenseMap<std::pair<Value, size_t>, Value> rounded;
  /// Results in f32 that go to memory.
  llvm::DenseSet<Value> stored;
};

} // namespace

Simulation::Simulation(func::FuncOp function, FloatType narrow, const NarrowingPlan &plan)
    : function(function), narrow(narrow), plan(plan), rules(narrow) {
  auto number = static_cast<int64_t>(plan.conditions.size());
  dl::Builder builder(function.getLoc(), function.getContext());
  auto type = RankedTensorType::get({number}, builder.getI1Type());
  NamedAttribute name = builder.getNamedAttr("dl.name", builder.getStringAttr("narrow.layers"));
  (void)function.insertArgument(0, type, builder.getDictionaryAttr(name), function.getLoc());
  chosen.resize(plan.conditions.size());
}

/// `x` rounded to 16 bits where the condition holds, else `x`.
Value Simulation::choose(dl::Builder &builder, Value x, size_t condition) {
  Value &choice = chosen[condition];
  if (!choice) {
    dl::Builder atStart(function.getLoc(), function.getContext());
    atStart.setInsertionPointToStart(&function.front());
    choice = atStart.select(function.getArgument(0), 0, static_cast<int64_t>(condition));
  }
  Value narrowed = builder.cast(builder.cast(x, narrow), builder.getF32Type());
  return builder.make<dl::WhereOp>(builder.broadcast(choice, dl::dimsOf(x)), narrowed, x);
}

/// Whether a value goes to memory, where 16 bits round it, as far as can be known before fusion: a
/// kernel takes in what one elementwise op reads and was computed last of what that op reads.
bool Simulation::isStored(Value value) {
  if (!value.hasOneUse())
    return true;
  Operation *reader = *value.user_begin();
  return !reader->hasTrait<OpTrait::Elementwise>() ||
         llvm::any_of(reader->getOperands(), [&](Value other) {
           Operation *op = other.getDefiningOp();
           return op && value.getDefiningOp()->isBeforeInBlock(op) &&
                  !rules.dependsOnWeightsAlone(other);
         });
}

void Simulation::simulate(const NarrowingPlan::Step &step) {
  Operation *op = step.op;
  // These change no number: their operands are rounded already, weights apart.
  if ((isView(op) || isRepetition(op)) && llvm::none_of(op->getOperands(), [&](Value operand) {
        return rules.dependsOnWeightsAlone(operand);
      }))
    return;
  bool readsAlone = rules.isNarrowProduct(op);
  dl::Builder builder(op);
  for (OpOperand &operand : op->getOpOperands()) {
    if (!NarrowingRules::isWide(operand.get()) ||
        !(readsAlone || rules.dependsOnWeightsAlone(operand.get())))
      continue;
    Value &value = rounded[{operand.get(), step.condition}];
    if (!value)
      value = choose(builder, operand.get(), step.condition);
    operand.set(value);
  }
  builder.setInsertionPointAfter(op);
  for (Value result : op->getResults()) {
    if (!stored.contains(result))
      continue;
    llvm::SmallPtrSet<Operation *, 4> readers(result.user_begin(), result.user_end());
    Value value = choose(builder, result, step.condition);
    result.replaceUsesWithIf(value,
                             [&](OpOperand &use) { return readers.contains(use.getOwner()); });
  }
}

/// The smallest and the largest number that the ops of a layer read, weights left out, or give.
std::pair<Value, Value> Simulation::extentOf(const NarrowingPlan::Layer &layer,
                                             dl::Builder &builder) {
  Value low, high;
  auto add = [&](Value x) {
    if (!NarrowingRules::isWide(x) || rules.dependsOnWeightsAlone(x))
      return;
    Value least = builder.make<dl::AminOp>(x), greatest = builder.make<dl::AmaxOp>(x);
    low = low ? builder.make<dl::MinimumOp>(low, least) : least;
    high = high ? builder.make<dl::MaximumOp>(high, greatest) : greatest;
  };
  for (Operation *op : layer.ops) {
    llvm::for_each(op->getOperands(), add);
    llvm::for_each(op->getResults(), add);
  }
  assert(low && "a layer in 16 bits gives numbers of f32 that depend on inputs");
  return {low, high};
}

void Simulation::run() {
  // Of the model as it is, which this changes.
  for (const NarrowingPlan::Step &step : plan.steps)
    for (Value result : step.op->getResults())
      if (NarrowingRules::isWide(result) && isStored(result))
        stored.insert(result);
  SmallVector<Value> extents;
  std::vector<std::string> names;
  dl::Builder builder(function.front().getTerminator());
  for (auto [i, layer] : llvm::enumerate(plan.layers)) {
    auto [low, high] = extentOf(layer, builder);
    extents.append({low, high});
    names.insert(names.end(), {"low." + std::to_string(i), "high." + std::to_string(i)});
  }
  for (const NarrowingPlan::Step &step : plan.steps)
    simulate(step);
  prependResults(function, extents, names);
}

void SimulatePrecision::runOnOperation() {
  func::FuncOp function = getOperation();
  FloatType type = narrowTypeNamed(function, dtype);
  if (!type)
    return signalPassFailure();
  auto kept = LayerPatterns::keptByPass(function, *keepF32);
  if (failed(kept))
    return signalPassFailure();
  if (function.isExternal())
    return;
  // Each op gets casts of its own: an attention is no longer one op in this copy of the model.
  function.walk([](dl::AttentionOp op) {
    op->replaceAllUsesWith(decompose(op));
    op->erase();
  });
  NarrowingPlan plan = planNarrowing(function, type, *kept);
  if (!plan.layers.empty())
    Simulation(function, type, plan).run();
}

} // namespace dlc
