//===- VerticalFusion.cpp - Producers in the kernels of their consumers ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/analysis/UnpackedWeights.h"
#include "ir/analysis/view/ViewLayout.h"
#include "passes/fuse/FusionSteps.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace dlc {
namespace {

class VerticalFusion {
public:
  VerticalFusion(bool isSeparate, FusionEdges &edges) : isSeparate(isSeparate), edges(edges) {}
  std::vector<FusionGroup> run(Block &block);

private:
  void copyRepetitions(Block &block);
  void copyUnpacking(Block &block);
  void group(Operation *op);
  void takeIn(FusionGroup &merged, Value operand, int64_t places,
              llvm::function_ref<std::string(const FusionGroup &)> whyNot);
  /// A permutation that took nothing in, and that leaves the bytes where they are, is no kernel.
  bool isView(const FusionGroup &group) const {
    return !isSeparate && group.ops.size() == 1 && keepsBytes(group.ops.front());
  }
  void add(FusionGroup group) {
    numberOf[group.ops.back()] = groups.size();
    groups.push_back(std::move(group));
  }

  bool isSeparate;
  FusionEdges &edges;
  /// In the order of their last ops. One that another has taken in has no ops any more.
  std::vector<FusionGroup> groups;
  llvm::DenseMap<Operation *, unsigned> numberOf; // in `groups`, by the last op
  WeightDependence weights;
  /// Each part of what one reader computes of weights in few bits.
  llvm::DenseSet<Operation *> unpacking;
};

} // namespace

/// Gives each user of a number or a repetition a copy of its own, so that none is ever stored for
/// sharing's sake.
void VerticalFusion::copyRepetitions(Block &block) {
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
void VerticalFusion::copyUnpacking(Block &block) {
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

/// Adds the group that computes `operand` to `merged`, which reads it in so many places, unless
/// there is a reason against it.
void VerticalFusion::takeIn(FusionGroup &merged, Value operand, int64_t places,
                            llvm::function_ref<std::string(const FusionGroup &)> whyNot) {
  Value source = pastViews(operand);
  auto number = numberOf.find(source.getDefiningOp());
  while (number != numberOf.end() && isView(groups[number->second])) {
    source = pastViews(source.getDefiningOp()->getOperand(0));
    number = numberOf.find(source.getDefiningOp());
  }
  if (!source.getDefiningOp() || number == numberOf.end())
    return;
  FusionGroup &producer = groups[number->second];
  std::string why = isSeparate          ? "each op is to be a kernel of its own"
                    : source != operand ? "its reader sees it with other dims, through a view"
                                        : whyNot(producer);
  if (!why.empty()) {
    edges[{merged.ops.front(), operand}] = std::move(why);
    return;
  }
  if (producer.root)
    merged.root = producer.root;
  merged.ops.append(producer.ops);
  merged.addBodies(producer, places);
  producer.ops.clear();
  numberOf.erase(number);
}

void VerticalFusion::group(Operation *op) {
  FusionGroup merged;
  merged.ops = {op};
  merged.unpacks = unpacking.contains(op);
  merged.weightOnly = weights.dependsOnWeightsAlone(op->getResult(0));
  llvm::SetVector<Value> operands(op->operand_begin(), op->operand_end());
  if (standsAlone(op)) {
    merged.isAlone = true;
    for (Value operand : operands)
      takeIn(merged, operand, /*places=*/1, [&](const FusionGroup &) { return whyAlone(op); });
  } else if (auto attention = dyn_cast<dl::AttentionOp>(op)) {
    merged.root = op;
    for (Value operand : operands)
      takeIn(merged, operand, /*places=*/1, [&](const FusionGroup &producer) {
        return whyNotFuse(producer, operand, merged, attention);
      });
  } else {
    auto loops = cast<LoopNestOpInterface>(op);
    LoopNest nest = loops.getLoopNest();
    if (!nest.isMap())
      merged.root = op;
    for (Value operand : operands)
      takeIn(merged, operand, placesRead(op, nest, operand), [&](const FusionGroup &producer) {
        return whyNotFuse(producer, operand, merged, loops, nest);
      });
  }
  llvm::sort(merged.ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  add(std::move(merged));
}

std::vector<FusionGroup> VerticalFusion::run(Block &block) {
  if (!isSeparate) {
    copyUnpacking(block);
    copyRepetitions(block);
  }
  for (Operation &op : block)
    if (isFusible(&op))
      group(&op);
  std::erase_if(groups,
                [&](const FusionGroup &group) { return group.ops.empty() || isView(group); });
  return std::move(groups);
}

std::vector<FusionGroup> fuseProducers(Block &block, bool isSeparate, FusionEdges &edges) {
  return VerticalFusion(isSeparate, edges).run(block);
}

} // namespace dlc
