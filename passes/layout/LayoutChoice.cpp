//===- LayoutChoice.cpp - The layouts that move the fewest bytes --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/layout/LayoutChoice.h"

#include "ir/analysis/CostModel.h"
#include "ir/analysis/view/ViewLayout.h"

using namespace mlir;

namespace dlc {

/// Layouts of one value that are compared.
static constexpr size_t kMostCandidates = 4;
/// Bytes of a tensor whose size no range of symbols bounds: enough for a launch not to count.
static constexpr int64_t kUnknownBytes = int64_t(1) << 24;
/// Where a permutation is next to a convert, it moves the bytes to where the convert would.
static constexpr float kMovesAnyway = 0.99F;

LayoutChoice::LayoutChoice(Block &block, const ScheduleOracle &oracle)
    : oracle(oracle), symbols(dl::symbolRanges(block.getParentOp()->getParentOfType<ModuleOp>())) {
  findRules(block);
  collectForward();
  collectBackward();
  decide();
}

const LayoutRule *LayoutChoice::ruleOf(Operation *op) const {
  auto found = rules.find(op);
  return found == rules.end() ? nullptr : &found->second;
}

void LayoutChoice::findRules(Block &block) {
  WeightDependence weights;
  for (Operation &op : block) {
    bool isConstant = op.getNumResults() > 0 && llvm::all_of(op.getResults(), [&](Value value) {
                        return weights.dependsOnWeightsAlone(value);
                      });
    if (!isConstant)
      rules.insert({&op, layoutRuleOf(&op, oracle)});
  }
}

ArrayRef<dl::Layout> LayoutChoice::candidatesOf(Value value) const {
  static const dl::Layout kRowMajor;
  auto found = candidates.find(value);
  return found == candidates.end() ? ArrayRef(kRowMajor) : ArrayRef(found->second);
}

void LayoutChoice::add(Value value, const dl::Layout &layout) {
  Layouts &known = candidates[value];
  if (known.size() < kMostCandidates && !llvm::is_contained(known, layout))
    known.push_back(layout);
}

/// Layouts that come with what an op reads go before row-major order: a convert comes as late as it
/// can, where fewer ops are left to do it.
void LayoutChoice::collectForward() {
  for (auto &[op, rule] : rules) {
    for (Value result : op->getResults()) {
      if (rule.result) {
        candidates[result] = {*rule.result};
        if (rule.mayBeRowMajor)
          add(result, {});
        continue;
      }
      for (OpOperand &operand : op->getOpOperands())
        for (const dl::Layout &from : Layouts(candidatesOf(operand.get())))
          if (auto layout = rule.carried(op, operand.getOperandNumber(), from);
              layout && !layout->isRowMajor())
            add(result, *layout);
      Layouts &known = candidates[result];
      if (known.size() == kMostCandidates)
        known.pop_back();
      known.push_back({});
    }
  }
}

/// Layouts that a reader wants come after those that an operand has.
void LayoutChoice::collectBackward() {
  for (auto &[op, rule] : llvm::reverse(rules))
    for (OpOperand &operand : op->getOpOperands()) {
      Operation *producer = operand.get().getDefiningOp();
      const LayoutRule *from = producer ? ruleOf(producer) : nullptr;
      if (!from || from->result || !from->isMap)
        continue;
      Layouts results = {dl::Layout()};
      if (op->getNumResults() > 0)
        results = Layouts(candidatesOf(op->getResult(0)));
      for (const dl::Layout &result : results) {
        auto layout = rule.wanted(op, operand.getOperandNumber(), result);
        // A reshape cannot move bytes.
        bool isPossible = layout && (!isa<dl::ReshapeOp>(producer) ||
                                     layoutOfOperand(producer, *layout).has_value());
        if (isPossible)
          add(operand.get(), *layout);
      }
    }
}

double LayoutChoice::microsecondsToMove(Value value) const {
  dl::Dim bytes = storedBytes(cast<RankedTensorType>(value.getType()));
  return oracle.microsecondsToMove(rules.front().first,
                                   usualOrMiddle(bytes, symbols).value_or(kUnknownBytes));
}

/// Charges the op of `operand` for reading it in another layout than it wants.
void LayoutChoice::addRead(OpOperand &operand, const LayoutRule &rule) {
  Operation *op = operand.getOwner();
  Value value = operand.get();
  unsigned number = operand.getOperandNumber();
  Operation *producer = value.getDefiningOp();
  if (rule.operands[number].kind == OperandRule::anything ||
      (producer && (!ruleOf(producer) || isRepetition(producer))))
    return;
  Value result = op->getNumResults() > 0 ? op->getResult(0) : Value();
  ArrayRef<dl::Layout> from = candidatesOf(value);
  Layouts to = {dl::Layout()};
  if (result)
    to = Layouts(candidatesOf(result));
  auto cost = static_cast<float>(microsecondsToMove(value));
  if (isa<dl::PermuteOp>(op))
    cost *= kMovesAnyway;
  SmallVector<float, 9> costs;
  for (const dl::Layout &layout : from)
    for (const dl::Layout &other : to) {
      auto wanted = rule.wanted(op, number, other);
      costs.push_back(wanted && *wanted != layout ? cost : 0);
    }
  bool isFree = variables.contains(value), decides = result && variables.contains(result);
  if (isFree && decides) {
    problem.addPair(variables.lookup(value), variables.lookup(result), costs);
  } else if (isFree || decides) {
    Value one = isFree ? value : result;
    for (auto [choice, price] : llvm::enumerate(costs))
      problem.addCost(variables.lookup(one), choice, price);
  }
}

void LayoutChoice::decide() {
  for (auto &[op, rule] : rules)
    for (Value result : op->getResults()) {
      size_t count = candidatesOf(result).size();
      if (count > 1)
        variables[result] = problem.addVariable(SmallVector<float, 4>(count, 0));
    }
  for (auto &[op, rule] : rules)
    for (OpOperand &operand : op->getOpOperands())
      addRead(operand, rule);
  std::vector<unsigned> choices = problem.solve();
  for (auto &[op, rule] : rules)
    for (Value result : op->getResults()) {
      auto variable = variables.find(result);
      chosen[result] =
          candidatesOf(result)[variable == variables.end() ? 0 : choices[variable->second]];
    }
}

} // namespace dlc
