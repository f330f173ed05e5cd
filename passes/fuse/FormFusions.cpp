//===- FormFusions.cpp - Group ops into fusions, one for each kernel -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/analysis/UnpackedWeights.h"
#include "ir/dl/base/PrecisionMarks.h"
#include "ir/dl/composite/AttentionParts.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

#define DEBUG_TYPE "form-fusions"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_FORMFUSIONS
#include "passes/Passes.h.inc"

namespace {

class FormFusions : public impl::FormFusionsBase<FormFusions> {
public:
  using FormFusionsBase::FormFusionsBase;

private:
  void runOnOperation() override;

  void copyRepetitions(Block &block);
  void copyUnpacking(Block &block);
  void group(Operation *op);
  void takeIn(FusionGroup &merged, Value operand, int64_t bodies,
              llvm::function_ref<std::string(const FusionGroup &)> whyNot);
  void build(FusionGroup &group);
  void add(FusionGroup group) {
    numberOf[group.ops.back()] = groups.size();
    groups.push_back(std::move(group));
  }

  /// In the order of their last ops. One that another has taken in has no ops any more.
  std::vector<FusionGroup> groups;
  llvm::DenseMap<Operation *, unsigned> numberOf; // in `groups`, by the last op
  WeightDependence weights;
  llvm::DenseSet<Operation *>
      unpacking; // each part of what one reader computes of weights in few bits
};

} // namespace

/// Gives each user of a number or a repetition a copy of its own, so that none is ever stored for sharing's sake.
void FormFusions::copyRepetitions(Block &block) {
  // Backwards: the copies of a broadcast count as users of its operand.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (!isRepetition(&op) || op.hasOneUse() || op.use_empty())
      continue;
    for (OpOperand &use : llvm::make_early_inc_range(op.getUses())) {
      if (!isFusible(use.getOwner()) || standsAlone(use.getOwner()))
        continue; // returned or viewed: stored all the same
      Operation *copy = OpBuilder(&op).clone(op);
      use.set(copy->getResult(0));
    }
    if (op.use_empty())
      op.erase();
  }
}

/// Lets each product and each look-up of weights in few bits compute the numbers that it reads.
void FormFusions::copyUnpacking(Block &block) {
  SmallVector<OpOperand *> reads;
  for (Operation &op : block)
    for (OpOperand &operand : op.getOpOperands())
      if (isUnpacked(operand.get(), weights) && mayUnpack(operand))
        reads.push_back(&operand);
  for (OpOperand *read : reads)
    unpacking.insert_range(unpackFor(*read, weights));
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (!reads.empty() && isOpTriviallyDead(&op)) {
      weights.forget(&op);
      op.erase();
    }
}

/// Adds the group that computes `operand` to `merged`, which needs `bodies` of it, unless there is a reason against it.
void FormFusions::takeIn(FusionGroup &merged, Value operand, int64_t bodies,
                         llvm::function_ref<std::string(const FusionGroup &)> whyNot) {
  auto number = numberOf.find(operand.getDefiningOp());
  if (separate || !operand.getDefiningOp() || number == numberOf.end())
    return;
  FusionGroup &producer = groups[number->second];
  if (!whyNot(producer).empty())
    return;
  if (producer.root)
    merged.root = producer.root;
  merged.ops.append(producer.ops);
  merged.bodies += bodies * producer.bodies;
  producer.ops.clear();
  numberOf.erase(number);
}

void FormFusions::group(Operation *op) {
  FusionGroup merged;
  merged.unpacks = unpacking.contains(op);
  if (standsAlone(op)) {
    merged.ops = {op};
    merged.isAlone = true;
    merged.weightOnly = weights.dependsOnWeightsAlone(op->getResult(0));
    add(std::move(merged));
    return;
  }
  merged.ops = {op};
  merged.weightOnly = weights.dependsOnWeightsAlone(op->getResult(0));
  llvm::SetVector<Value> operands(op->operand_begin(), op->operand_end());
  if (auto attention = dyn_cast<dl::AttentionOp>(op)) {
    merged.root = op;
    for (Value operand : operands)
      takeIn(merged, operand, /*bodies=*/1, [&](const FusionGroup &producer) {
        return whyNotFuse(producer, operand, merged, attention);
      });
  } else {
    auto loops = cast<LoopNestOpInterface>(op);
    LoopNest nest = loops.getLoopNest();
    if (!nest.isMap())
      merged.root = op;
    for (Value operand : operands)
      takeIn(merged, operand, bodiesRead(op, nest, operand), [&](const FusionGroup &producer) {
        return whyNotFuse(producer, operand, merged, loops, nest);
      });
  }
  llvm::sort(merged.ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  add(std::move(merged));
}

/// What the ops `inside` read from outside of them, in the order in which `value` asks for it: of kernels of attention that are written
/// in several ways some are equal then.
static void collectInputs(Value value, const llvm::SmallPtrSetImpl<Operation *> &inside,
                          llvm::SmallPtrSetImpl<Operation *> &visited,
                          llvm::SetVector<Value> &inputs) {
  value = dl::outsideAttention(value);
  Operation *op = value.getDefiningOp();
  auto attention = dyn_cast_or_null<dl::AttentionOp>(op);
  bool isInBody = op && isa<dl::AttentionOp>(op->getParentOp());
  if (!op || !(inside.contains(op) || isInBody)) {
    inputs.insert(value);
    return;
  }
  if (!visited.insert(op).second)
    return;
  for (Value operand :
       attention ? attention.getBodyBlock().getTerminator()->getOperands() : op->getOperands())
    collectInputs(operand, inside, visited, inputs);
}

/// Moves the ops of a group into a dl.fusion at the place of its last op: every value that it reads is defined above.
void FormFusions::build(FusionGroup &group) {
  Operation *last = group.ops.back();
  llvm::SmallPtrSet<Operation *, 16> inside(llvm::from_range, group.ops);
  llvm::SetVector<Value> inputs;
  SmallVector<Location> lines;
  if (isa_and_nonnull<dl::AttentionOp>(group.root)) {
    llvm::SmallPtrSet<Operation *, 16> visited;
    for (Value result : last->getResults())
      collectInputs(result, inside, visited, inputs);
  }
  for (Operation *op : group.ops) {
    lines.push_back(op->getLoc());
    for (Value operand : op->getOperands())
      if (!inside.contains(operand.getDefiningOp()))
        inputs.insert(operand);
  }
  OpBuilder builder(last);
  auto fusion = dl::FusionOp::create(builder, FusedLoc::get(builder.getContext(), lines),
                                     last->getResultTypes(), inputs.getArrayRef());
  Block &body = fusion.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, body.addArgument(input.getType(), input.getLoc()));
  builder.setInsertionPointToEnd(&body);
  for (Operation *op : group.ops) // equal kernels are one, whatever their ops are parts of
    builder.clone(*op, mapping)->removeDiscardableAttr(dl::kRole);
  dl::YieldOp::create(
      builder, last->getLoc(),
      llvm::map_to_vector(last->getResults(), [&](Value value) { return mapping.lookup(value); }));
  last->replaceAllUsesWith(fusion);
  for (Operation *op : llvm::reverse(group.ops))
    op->erase();
  ++numFusions;
}

void FormFusions::runOnOperation() {
  Block &block = getOperation().front();
  groups.clear();
  numberOf.clear();
  weights = {};
  unpacking.clear();
  if (!separate) {
    copyUnpacking(block);
    copyRepetitions(block);
  }
  for (Operation &op : block)
    if (isFusible(&op))
      group(&op);
  for (FusionGroup &group : groups)
    if (!group.ops.empty())
      build(group);
}

} // namespace dlc
