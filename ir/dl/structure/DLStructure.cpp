//===- DLStructure.cpp - Weights, constants, layouts and fusions -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/dl/DLOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dlc::dl {

//===- full ---------------------------------------------------------------------------------------===//

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

//===- convert_layout -----------------------------------------------------------------------------===//

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

//===- fusion -------------------------------------------------------------------------------------===//

LoopNestOpInterface FusionOp::getRoot() {
  for (auto op : getBodyBlock().getOps<LoopNestOpInterface>())
    if (!op.getLoopNest().isMap())
      return op;
  return {};
}

LogicalResult FusionOp::verify() {
  Block &block = getBodyBlock();
  if (block.getArgumentTypes() != getInputs().getTypes())
    return emitOpError("has a body whose arguments differ from its inputs");
  auto yield = cast<YieldOp>(block.getTerminator());
  if (yield.getValues().getTypes() != getOutputs().getTypes())
    return emitOpError("has a body that yields other types than its outputs");
  unsigned roots = 0;
  for (Operation &op : block.without_terminator()) {
    if (isa<RecurrentOpInterface, LineOpInterface>(op)) {
      if (!llvm::hasSingleElement(block.without_terminator()))
        return op.emitOpError("shares a fusion with other ops; it is a kernel of its own");
      continue;
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
  if (roots > 1)
    return emitOpError("has ") << roots
                               << " ops with stages or attentions; at most one can be the root";
  return success();
}

} // namespace dlc::dl
