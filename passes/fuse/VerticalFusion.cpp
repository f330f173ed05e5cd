//===- VerticalFusion.cpp - Producers in the kernels of their consumers -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/UnpackedWeights.h"
#include "ir/analysis/view/ViewLayout.h"
#include "ir/dl/shape/ConcatParts.h"
#include "passes/fuse/FusionSteps.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace dlc {

/// Copies of a move for its readers: what moves of moves read might be copied without end.
static constexpr unsigned kMostCopies = 16;

namespace {

class VerticalFusion {
public:
  VerticalFusion(bool isSeparate, const ScheduleOracle &oracle, FusionEdges &edges)
      : isSeparate(isSeparate), oracle(oracle), edges(edges) {}
  std::vector<FusionGroup> run(Block &block);

private:
  void copyRepetitions(Block &block);
  void copyUnpacking(Block &block);
  void copyMoves(Block &block);
  std::optional<dl::NotFused> whyNotInPlace(dl::CatOp cat);
  bool choosesAlongRows(const FusionGroup &producer, Value value, const LoopNest &nest) const;
  void group(Operation *op);
  void takeIn(FusionGroup &merged, Value operand, int64_t places,
              llvm::function_ref<std::optional<dl::NotFused>(const FusionGroup &)> whyNot);
  /// Returns true if the group is one permutation that leaves the bytes where they are: a view
  /// needs no kernel.
  bool isView(const FusionGroup &group) const {
    return !isSeparate && group.ops.size() == 1 && keepsBytes(group.ops.front());
  }
  void add(FusionGroup group) {
    numberOf[group.ops.back()] = groups.size();
    groups.push_back(std::move(group));
  }

  bool isSeparate;
  const ScheduleOracle &oracle;
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

/// Lets each reader of a move make it itself, where all of them only move or join what they read:
/// it is neither stored nor loaded then.
void VerticalFusion::copyMoves(Block &block) {
  auto isKeptOut = [](Operation *op) { return op->hasAttr("dl.no_fuse"); };
  auto movesOn = [&](Operation *user) {
    return (isa<dl::CatOp>(user) || (isFusible(user) && onlyMoves(user))) && !isKeptOut(user);
  };
  // Backwards: the copies of a move count as readers of its operand.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (!isFusible(&op) || !onlyMoves(&op) || isKeptOut(&op) || op.use_empty() || op.hasOneUse() ||
        llvm::hasNItemsOrMore(op.getUses(), kMostCopies + 1) ||
        !llvm::all_of(op.getUsers(), movesOn) || weights.dependsOnWeightsAlone(op.getResult(0)))
      continue;
    for (OpOperand &use : llvm::make_early_inc_range(llvm::drop_begin(op.getUses())))
      use.set(OpBuilder(&op).clone(op)->getResult(0));
  }
}

/// Why the kernels that compute the tensors of `cat` do not write them where they lie in its
/// result; nullopt where they do. If all of them were only moved, the dl.cat would move them: one
/// kernel in place of several.
std::optional<dl::NotFused> VerticalFusion::whyNotInPlace(dl::CatOp cat) {
  if (isSeparate)
    return dl::NotFused::separate;
  if (cat->hasAttr("dl.no_fuse"))
    return dl::NotFused::no_fuse;
  if (weights.dependsOnWeightsAlone(cat.getY()))
    return dl::NotFused::at_load;
  SmallVector<const FusionGroup *> producers;
  bool isComputed = false;
  for (Value tensor : cat.getTensors()) {
    auto number = numberOf.find(tensor.getDefiningOp());
    if (!tensor.getDefiningOp() || number == numberOf.end())
      return dl::NotFused::part_not_computed;
    const FusionGroup &producer = groups[number->second];
    if (producer.isAlone || producer.weightOnly || isView(producer))
      return dl::NotFused::part_not_computed;
    producers.push_back(&producer);
    isComputed |=
        !llvm::all_of(producer.ops, onlyMoves) || tensor.getDefiningOp()->hasAttr("dl.no_fuse");
  }
  // A kernel does not read the buffer that it writes.
  for (const FusionGroup *producer : producers)
    for (Operation *op : producer->ops)
      for (Value operand : op->getOperands())
        if (llvm::is_contained(cat.getTensors(), operand))
          return dl::NotFused::part_reads_part;
  return isComputed ? whyNotWriteParts(cat, oracle.alignmentOfParts())
                    : dl::NotFused::part_not_computed;
}

/// `producer`, whose value `value` is, joins tensors along rows that a reduction, a window or a
/// contraction with the loops `nest` walks, each element of which would choose among them.
bool VerticalFusion::choosesAlongRows(const FusionGroup &producer, Value value,
                                      const LoopNest &nest) const {
  if (nest.isMap() || producer.unpacks || oracle.reducesJoined())
    return false;
  auto type = cast<RankedTensorType>(value.getType());
  dl::Layout layout = dl::getLayout(type);
  int64_t inner = layout.order.empty() ? type.getRank() - 1 : layout.order.back();
  for (Operation *op : producer.ops) {
    auto cat = dyn_cast<dl::CatOp>(op);
    if (!cat)
      continue;
    int64_t dim = dl::joinedDim(cat);
    if (dl::getDims(cast<RankedTensorType>(cat.getType())).size() != size_t(type.getRank()) ||
        dim == inner)
      return true;
    for (const Access &access : nest.terms)
      for (unsigned loop = nest.parallel.size(); loop < access.map.getNumDims(); ++loop)
        if (access.map.getNumResults() == size_t(type.getRank()) &&
            access.map.getResult(dim).isFunctionOfDim(loop))
          return true;
  }
  return false;
}

/// Adds the group that computes `operand` to `merged`, which reads it in so many places, unless
/// there is a reason against it.
void VerticalFusion::takeIn(
    FusionGroup &merged, Value operand, int64_t places,
    llvm::function_ref<std::optional<dl::NotFused>(const FusionGroup &)> whyNot) {
  Value source = pastViews(operand);
  auto number = numberOf.find(source.getDefiningOp());
  while (number != numberOf.end() && isView(groups[number->second])) {
    source = pastViews(source.getDefiningOp()->getOperand(0));
    number = numberOf.find(source.getDefiningOp());
  }
  if (!source.getDefiningOp() || number == numberOf.end())
    return;
  FusionGroup &producer = groups[number->second];
  std::optional<dl::NotFused> notFused = isSeparate          ? dl::NotFused::separate
                                         : source != operand ? dl::NotFused::reshaped
                                         : producer.inPlace  ? dl::NotFused::in_place
                                                             : whyNot(producer);
  if (notFused) {
    edges[{merged.ops.front(), operand}] = *notFused;
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
        return whyNotFuse(producer, operand, merged, attention, oracle);
      });
  } else {
    auto loops = cast<LoopNestOpInterface>(op);
    LoopNest nest = loops.getLoopNest();
    if (!nest.isMap())
      merged.root = op;
    std::optional<dl::NotFused> notInPlace;
    if (auto cat = dyn_cast<dl::CatOp>(op)) {
      notInPlace = whyNotInPlace(cat);
      merged.inPlace = !notInPlace;
    }
    if (merged.inPlace)
      operands.clear();
    for (Value operand : operands)
      takeIn(merged, operand, placesRead(op, nest, operand), [&](const FusionGroup &producer) {
        auto notFused = whyNotFuse(producer, operand, merged, loops, nest, oracle);
        if (!notFused && choosesAlongRows(producer, operand, nest))
          return std::optional(dl::NotFused::joined_rows);
        // A dl.cat would rather have its tensors written in place than compute them.
        return notFused && notInPlace ? notInPlace : notFused;
      });
  }
  llvm::sort(merged.ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  add(std::move(merged));
}

std::vector<FusionGroup> VerticalFusion::run(Block &block) {
  if (!isSeparate) {
    copyUnpacking(block);
    copyRepetitions(block);
    copyMoves(block);
  }
  for (Operation &op : block)
    if (isFusible(&op))
      group(&op);
  std::erase_if(groups,
                [&](const FusionGroup &group) { return group.ops.empty() || isView(group); });
  return std::move(groups);
}

std::vector<FusionGroup> fuseProducers(Block &block, bool isSeparate, const ScheduleOracle &oracle,
                                       FusionEdges &edges) {
  return VerticalFusion(isSeparate, oracle, edges).run(block);
}

} // namespace dlc
