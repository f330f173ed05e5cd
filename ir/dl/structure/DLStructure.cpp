//===- DLStructure.cpp - Weights, constants, layouts and fusions --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/DLOps.h"

#include "ir/analysis/PooledProduct.h"
#include "ir/analysis/RowKernel.h"
#include "ir/analysis/SideBySide.h"
#include "ir/analysis/StackedLayers.h"
#include "ir/dl/structure/Reasons.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dlc::dl {

//===- full -----------------------------------------------------------------------------------===//

LogicalResult FullOp::verify() {
  Type expected = computeType(getElementTypeOrSelf(getType()));
  if (getFill().getType() != expected)
    return emitOpError("fills ") << getType() << " with a number of type " << getFill().getType()
                                 << "; expected " << expected;
  return success();
}

LoopNest FullOp::getLoopNest() { return elementwiseNest(*this); }

Value FullOp::emitResult(BodyContext &context, ValueRange, ValueRange) {
  return arith::ConstantOp::create(context.builder, context.loc, getFill());
}

OpFoldResult FullOp::fold(FoldAdaptor) { return getFill(); }

//===- convert_layout -------------------------------------------------------------------------===//

LogicalResult ConvertLayoutOp::verify() {
  if (!sameShapeAndElement(getX().getType(), getType()))
    return emitOpError("may change the layout alone, got ")
           << getX().getType() << " and " << getType();
  return success();
}

LoopNest ConvertLayoutOp::getLoopNest() { return elementwiseNest(*this); }
Value ConvertLayoutOp::emitResult(BodyContext &, ValueRange args, ValueRange) {
  return args.front();
}

OpFoldResult ConvertLayoutOp::fold(FoldAdaptor) {
  if (getX().getType() == getType())
    return getX();
  if (auto inner = getX().getDefiningOp<ConvertLayoutOp>();
      inner && inner.getX().getType() == getType())
    return inner.getX();
  return {};
}

//===- fusion ---------------------------------------------------------------------------------===//

LoopNestOpInterface FusionOp::getRoot() {
  for (auto op : getBodyBlock().getOps<LoopNestOpInterface>())
    if (!op.getLoopNest().isMap())
      return op;
  return {};
}

/// The update of one of the body's arguments that nothing else in it reads, whose result is the
/// only one; null else.
static UpdateSliceOp updateOf(FusionOp fusion) {
  OperandRange values = cast<YieldOp>(fusion.getBodyBlock().getTerminator()).getValues();
  auto update =
      values.size() == 1 ? values.front().getDefiningOp<UpdateSliceOp>() : UpdateSliceOp();
  auto x = update ? dyn_cast<BlockArgument>(update.getX()) : BlockArgument();
  return x && x.hasOneUse() && x.getOwner() == &fusion.getBodyBlock() ? update : UpdateSliceOp();
}

Value FusionOp::getUpdatedInput() {
  UpdateSliceOp update = updateOf(*this);
  return update ? getInputs()[cast<BlockArgument>(update.getX()).getArgNumber()] : Value();
}

/// Several results are stored at one index each.
static LogicalResult verifySeveral(FusionOp fusion) {
  auto typeOf = [](Value value) { return cast<RankedTensorType>(value.getType()); };
  RankedTensorType first = typeOf(fusion.getOutputs().front());
  for (Value output : fusion.getOutputs().drop_front())
    if (getDims(typeOf(output)) != getDims(first) || getLayout(typeOf(output)) != getLayout(first))
      return fusion.emitOpError("stores ")
             << first << " and " << output.getType()
             << "; expected the same dims and layout, since one kernel stores both at one index";
  return success();
}

static LogicalResult verifyEdges(FusionOp fusion) {
  if (!fusion.getEdges())
    return success();
  for (auto edge : fusion.getEdges()->getAsRange<FusionEdgeAttr>()) {
    auto inputs = static_cast<int64_t>(fusion.getInputs().size());
    if (edge.getInput() < 0 || edge.getInput() >= inputs)
      return fusion.emitOpError("has an edge for input ")
             << edge.getInput() << "; expected one of its " << inputs;
    Value source = fusion.getInputs()[edge.getInput()];
    while (isa_and_nonnull<ReshapeOp, PermuteOp>(source.getDefiningOp())) // views
      source = source.getDefiningOp()->getOperand(0);
    if (!isa_and_nonnull<FusionOp, CatOp>(source.getDefiningOp()))
      return fusion.emitOpError("has an edge for input ")
             << edge.getInput() << ", which no other fusion writes";
  }
  return success();
}

/// Layers of a stack: each reads a product of what the one before it gives, and apart from these
/// they read the inputs of the fusion.
static LogicalResult verifyStack(FusionOp fusion) {
  auto isInput = llvm::IsaPred<BlockArgument>;
  RecurrentOpInterface below;
  for (Operation &op : fusion.getBodyBlock().without_terminator()) {
    bool isLayer = isa<RecurrentOpInterface>(op);
    unsigned inside = below ? 1 : 0;
    bool isBetween = isa<LinearOp>(op) && op.hasOneUse() && !isa<YieldOp>(*op.user_begin());
    if (!(isLayer || isBetween) || !llvm::all_of(op.getOperands().drop_front(inside), isInput) ||
        llvm::count_if(op.getOperands(), isInput) + inside != op.getNumOperands())
      return op.emitOpError("is not part of a stack of layers in one fusion; expected recurrences, "
                            "each of which reads one linear product of the y of that before it, "
                            "and inputs of the fusion");
    auto layer = dyn_cast<RecurrentOpInterface>(op);
    if (!layer)
      continue;
    if (below && layerBelow(layer) != below)
      return op.emitOpError("does not read a product of the layer before it in its fusion");
    if (auto notFused = below ? whyNotInWaves(layer) : std::nullopt)
      return op.emitOpError("is in one fusion with the layer below: ") << reasonOf(*notFused).why;
    below = layer;
  }
  return success();
}

/// `op`, the first of its body that stands alone, is all of it, or all are recurrences side by
/// side, or layers of a stack.
static LogicalResult verifyAlone(FusionOp fusion, Operation &op) {
  auto ops = fusion.getBodyBlock().without_terminator();
  if (llvm::hasSingleElement(ops))
    return success();
  auto first = dyn_cast<RecurrentOpInterface>(op);
  if (first && llvm::any_of(ops, llvm::IsaPred<LinearOp>))
    return verifyStack(fusion);
  if (!first || !llvm::all_of(ops, llvm::IsaPred<RecurrentOpInterface>))
    return op.emitOpError("shares a fusion with other ops; it is a kernel of its own");
  for (auto other : fusion.getBodyBlock().getOps<RecurrentOpInterface>())
    if (!haveOneShape(first, other) ||
        !llvm::all_of(other->getOperands(), llvm::IsaPred<BlockArgument>))
      return other->emitOpError("shares a fusion with a recurrence of another shape, or reads it; "
                                "expected one shape and inputs of the fusion alone");
  return success();
}

LogicalResult FusionOp::verify() {
  Block &block = getBodyBlock();
  if (block.getArgumentTypes() != getInputs().getTypes())
    return emitOpError("has a body whose arguments differ from its inputs");
  auto yield = cast<YieldOp>(block.getTerminator());
  if (yield.getValues().getTypes() != getOutputs().getTypes())
    return emitOpError("has a body that yields other types than its outputs");
  unsigned roots = 0;
  bool isAlone = false;
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator()) {
    ops.push_back(&op);
    if (isa<RecurrentOpInterface, LineOpInterface>(op)) {
      if (failed(verifyAlone(*this, op)))
        return failure();
      isAlone = true;
      break; // that was about all of them
    }
    if (isa<AttentionOp>(op)) {
      ++roots;
      continue;
    }
    auto loops = dyn_cast<LoopNestOpInterface>(op);
    if (!loops)
      return op.emitOpError("cannot be part of a fusion: it is not computed by loops");
    roots += !loops.getLoopNest().isMap();
  }
  if (getRows()) {
    if (isAlone || getInPlace() || !findRowKernel(ops, yield.getValues()))
      return emitOpError(
          "does not reduce the rows of one tensor; expected reductions of the same "
          "rows, maps of these, and results with the elements of the rows or one for "
          "each row");
    return verifyEdges(*this);
  }
  bool isPooled = roots == 2 && yield.getValues().size() == 1 &&
                  findPooledProduct(ops, yield.getValues().front());
  if (roots > 1 && !isPooled)
    return emitOpError("has ") << roots
                               << " ops with stages or attentions; expected one at most, the root, "
                                  "a product and the pooling of its results, or 'rows'";
  if (getInPlace() && (roots > 0 || !updateOf(*this)))
    return emitOpError("is in place, which a fusion that gives one dl.update_slice of an input "
                       "may be, where nothing else in it reads the input");
  if (!isAlone && getOutputs().size() > 1 && failed(verifySeveral(*this)))
    return failure();
  return verifyEdges(*this);
}

} // namespace dlc::dl
