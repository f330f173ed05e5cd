//===- FoldedElement.cpp - One element of what maps compute from numbers ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/simplify/FoldedElement.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace dlc {

/// The value of the last op of `block`, if all of its ops fold to constants without a libm of this
/// machine.
static Attribute foldBlock(Block &block, Value result) {
  DenseMap<Value, Attribute> known;
  for (Operation &op : block) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      known[constant] = constant.getValue();
      continue;
    }
    // Among the math ops only the square root is rounded correctly everywhere.
    bool exact = isa<arith::ArithDialect>(op.getDialect()) || isa<math::SqrtOp>(op);
    SmallVector<Attribute> operands;
    for (Value operand : op.getOperands())
      operands.push_back(known.lookup(operand));
    SmallVector<OpFoldResult> folded;
    if (!exact || llvm::is_contained(operands, Attribute()) || failed(op.fold(operands, folded)) ||
        folded.size() != 1)
      return {};
    auto value = dyn_cast<Value>(folded.front());
    Attribute attribute = value ? known.lookup(value) : cast<Attribute>(folded.front());
    if (!attribute)
      return {};
    known[op.getResult(0)] = attribute;
  }
  return known.lookup(result);
}

/// `value`, of a compute type, as an element of type `elementType` would hold it.
static TypedAttr roundedTo(Type elementType, TypedAttr value) {
  auto number = dyn_cast<FloatAttr>(value);
  auto type = dyn_cast<FloatType>(elementType);
  if (!number || !type || number.getType() == type)
    return value;
  APFloat rounded = number.getValue();
  bool inexact;
  rounded.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &inexact);
  rounded.convert(cast<FloatType>(number.getType()).getFloatSemantics(),
                  APFloat::rmNearestTiesToEven, &inexact);
  return FloatAttr::get(number.getType(), rounded);
}

TypedAttr foldedElement(LoopNestOpInterface op,
                        llvm::function_ref<TypedAttr(Value operand)> elementOf) {
  LoopNest nest = op.getLoopNest();
  if (!nest.isMap() || nest.indexDims.any())
    return {};
  Block block;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToEnd(&block); // the block has no parent to tell the context
  SmallVector<Value> args;
  for (Access &access : nest.results) {
    TypedAttr element = access.checked ? TypedAttr() : elementOf(op->getOperand(access.operand));
    if (!element)
      return {};
    args.push_back(arith::ConstantOp::create(builder, op.getLoc(), element));
  }
  SmallVector<Value> indices(nest.parallel.size());
  bool readsExtent = false;
  auto extent = [&](AffineExpr) -> Value {
    readsExtent = true;
    return arith::ConstantIndexOp::create(builder, op.getLoc(), 0);
  };
  BodyContext context{builder, op.getLoc(), indices, extent};
  Value result = op.emitResult(context, args, {});
  Attribute value = foldBlock(block, result);
  if (!value || readsExtent)
    return {};
  return roundedTo(getElementTypeOrSelf(op->getResult(0)), cast<TypedAttr>(value));
}

} // namespace dlc
