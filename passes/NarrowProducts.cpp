//===- NarrowProducts.cpp - Operands of integer products in few bits -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/analysis/FusionLegality.h"
#include "ir/analysis/IntegerRange.h"
#include "ir/dl/DLOps.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/TypeUtilities.h"

#define DEBUG_TYPE "narrow-products"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_NARROWPRODUCTS
#include "passes/Passes.h.inc"

namespace {

class NarrowProducts : public impl::NarrowProductsBase<NarrowProducts> {
  void runOnOperation() override;

  Type storedType(Value operand);
  void narrow(OpOperand &operand, Type stored);

  IntegerRanges ranges;
  WeightDependence weights;
  /// Casts made so far, so that each value is narrowed once.
  llvm::DenseMap<std::pair<Value, Type>, Value> narrowed;
};

} // namespace

/// The type that `operand` of a product is stored in; null where it needs more than 16 bits.
Type NarrowProducts::storedType(Value operand) {
  std::optional<IntegerRange> range = ranges.of(operand);
  if (!range)
    return {};
  MLIRContext *context = operand.getContext();
  Type i8 = IntegerType::get(context, 8), u8 = IntegerType::get(context, 8, IntegerType::Unsigned),
       i16 = IntegerType::get(context, 16);
  if (weights.dependsOnWeightsAlone(operand))
    for (Type type : {i8, u8})
      if (range->isWithin(*rangeOfType(type)))
        return type;
  return range->isWithin(*rangeOfType(i16)) ? i16 : Type();
}

/// `x` in `type`, by a cast before `builder`'s place where it has another.
static Value castTo(OpBuilder &builder, Value x, Type type) {
  if (getElementTypeOrSelf(x.getType()) == type)
    return x;
  return dl::CastOp::create(builder, x.getLoc(), x, TypeAttr::get(type));
}

void NarrowProducts::narrow(OpOperand &operand, Type stored) {
  Value value = operand.get();
  Type wide = getElementTypeOrSelf(value.getType());
  // A value that is cast already is stored, or cast once more, from before that.
  Value source = widenedFrom(value);
  if (!source)
    source = value;
  OpBuilder builder(operand.getOwner());
  Value &known = narrowed[{source, stored}];
  if (!known) {
    builder.setInsertionPointAfterValue(source);
    known = castTo(builder, source, stored);
    // The wide numbers need no memory where all that reads them can read the narrow ones.
    if (source == value)
      for (OpOperand &use : llvm::make_early_inc_range(value.getUses())) {
        Operation *reader = use.getOwner();
        if (reader == known.getDefiningOp() || &use == &operand || !isFusible(reader) ||
            standsAlone(reader))
          continue;
        builder.setInsertionPoint(reader);
        use.set(castTo(builder, known, wide));
      }
  }
  // A cast of its own for each product, which its kernel takes in.
  builder.setInsertionPoint(operand.getOwner());
  operand.set(castTo(builder, known, wide));
}

void NarrowProducts::runOnOperation() {
  ranges = {};
  weights = {};
  narrowed.clear();
  // The products of the model as it is: narrowing adds none.
  std::vector<std::pair<LoopNestOpInterface, LoopNest>> products;
  getOperation().walk([&](LoopNestOpInterface op) {
    if (!getElementTypeOrSelf(op->getResult(0).getType()).isSignlessInteger(32))
      return;
    LoopNest nest = op.getLoopNest();
    if (nest.isProduct && nest.terms.size() == 2)
      products.emplace_back(op, std::move(nest));
  });
  for (auto &[op, nest] : products) {
    SmallVector<std::pair<OpOperand *, Type>, 2> operands;
    for (const Access &access : nest.terms) {
      OpOperand &operand = op->getOpOperand(access.operand);
      operands.emplace_back(&operand, storedType(operand.get()));
    }
    if (llvm::any_of(operands, [](const auto &operand) { return !operand.second; }))
      continue;
    for (auto [operand, type] : operands)
      narrow(*operand, type);
    ++numNarrowed;
  }
  for (auto &[key, value] : narrowed) {
    (void)value;
    // The wide cast that a product read has no reader left.
    for (Operation *user : llvm::make_early_inc_range(key.first.getUsers()))
      if (isa<dl::CastOp>(user) && user->use_empty())
        user->erase();
  }
}

} // namespace dlc
