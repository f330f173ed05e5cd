//===- AssignLayouts.cpp - Where each tensor lies in memory -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/DLOps.h"
#include "passes/Passes.h"
#include "passes/layout/LayoutChoice.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#define DEBUG_TYPE "assign-layouts"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "passes/Passes.h.inc"

namespace {

class AssignLayouts : public impl::AssignLayoutsBase<AssignLayouts> {
  void runOnOperation() override;

  /// Makes `operand` read its value in `layout`. `producer` is the rule of the op that computes the
  /// value; null for what comes from outside, or of weights alone.
  void require(OpOperand &operand, const dl::Layout &layout, const LayoutRule *producer);

  /// Converts made so far, so that each value is converted once.
  llvm::DenseMap<std::pair<Value, Type>, Value> converted;
};

} // namespace

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Why `operand` does not read its value where it lies.
static dl::Converted whyConverted(const OpOperand &operand, const LayoutRule *producer) {
  if (isa<BlockArgument>(operand.get()))
    return dl::Converted::taken;
  if (operand.getOwner()->hasTrait<OpTrait::IsTerminator>())
    return dl::Converted::returned;
  return producer && producer->result ? dl::Converted::fixed : dl::Converted::cheapest;
}

void AssignLayouts::require(OpOperand &operand, const dl::Layout &layout,
                            const LayoutRule *producer) {
  Value value = operand.get();
  auto type = dl::withLayout(typeOf(value), layout);
  if (type == value.getType())
    return;
  Value &convert = converted[{value, type}];
  if (!convert) {
    OpBuilder builder(operand.getOwner());
    builder.setInsertionPointAfterValue(value);
    auto why = dl::ConvertedAttr::get(&getContext(), whyConverted(operand, producer));
    convert = dl::ConvertLayoutOp::create(builder, operand.getOwner()->getLoc(), type, value, why);
    ++numConverts;
  }
  operand.set(convert);
}

void AssignLayouts::runOnOperation() {
  const ScheduleOracle *oracle = ScheduleOracle::of(getOperation());
  if (!oracle)
    return signalPassFailure();
  converted.clear();
  Block &block = getOperation().front();
  LayoutChoice choice(block, *oracle);
  for (Operation &op : block)
    for (Value result : op.getResults())
      result.setType(dl::withLayout(typeOf(result), choice.layoutOf(result)));
  for (Operation &op : llvm::make_early_inc_range(block)) {
    const LayoutRule *rule = choice.ruleOf(&op);
    if (!rule)
      continue;
    dl::Layout result = op.getNumResults() > 0 ? choice.layoutOf(op.getResult(0)) : dl::Layout();
    for (OpOperand &operand : op.getOpOperands()) {
      Operation *producer = operand.get().getDefiningOp();
      // Other ops read what lies otherwise where it lies.
      unsigned number = operand.getOperandNumber();
      OperandRule::Kind kind = rule->operands[number].kind;
      bool isBound = kind == OperandRule::fixed ||
                     (kind == OperandRule::likeResult && rule->mayBeRowMajor) ||
                     isa<dl::ReshapeOp>(op);
      if (isBound)
        if (auto wanted = rule->wanted(&op, number, result))
          require(operand, *wanted, producer ? choice.ruleOf(producer) : nullptr);
    }
  }
}

} // namespace dlc
