//===- FoldConstants.cpp - Compute what is made of dl.full alone -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/dl/DLOps.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"

#define DEBUG_TYPE "fold-constants"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_FOLDCONSTANTS
#include "passes/Passes.h.inc"

namespace {
class FoldConstants : public impl::FoldConstantsBase<FoldConstants> {
  void runOnOperation() override;
};
} // namespace

/// The value of the last op of `block`, if all of its ops fold to constants without a libm of this machine.
static Attribute foldBlock(Block &block, Value result) {
  DenseMap<Value, Attribute> known;
  for (Operation &op : block) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      known[constant] = constant.getValue();
      continue;
    }
    // Of the math ops only the square root is rounded correctly everywhere.
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

/// The one number that `op` computes at every index; null where there is none.
static TypedAttr uniformValue(LoopNestOpInterface op) {
  LoopNest nest = op.getLoopNest();
  if (!nest.isMap() || nest.indexDims.any())
    return {};
  Block block;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToEnd(&block); // the block has no parent to tell the context
  SmallVector<Value> args;
  for (Access &access : nest.results) {
    auto full = op->getOperand(access.operand).getDefiningOp<dl::FullOp>();
    if (!full || access.checked)
      return {};
    args.push_back(arith::ConstantOp::create(builder, op.getLoc(), full.getFill()));
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

void FoldConstants::runOnOperation() {
  getOperation().walk([&](LoopNestOpInterface op) {
    if (op->hasTrait<OpTrait::ConstantLike>())
      return;
    TypedAttr value = uniformValue(op);
    if (!value)
      return;
    OpBuilder builder(op);
    auto full = dl::FullOp::create(builder, op.getLoc(), op->getResult(0).getType(), value);
    op->getResult(0).replaceAllUsesWith(full);
    op->erase();
    ++numFolded;
  });
}

} // namespace dlc
