//===- NarrowProducts.cpp - Operands of integer products in few bits ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/FusionLegality.h"
#include "ir/analysis/IntegerRange.h"
#include "ir/dl/DLOps.h"
#include "ir/dl/contraction/DLContraction.h"
#include "ir/interfaces/ScheduleOracle.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define DEBUG_TYPE "narrow-products"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_NARROWPRODUCTS
#include "passes/Passes.h.inc"

namespace {

class NarrowProducts : public impl::NarrowProductsBase<NarrowProducts> {
  void runOnOperation() override;

  /// The numbers of an operand plus `zeroPoint`, in `type`.
  struct Storage {
    Type type;
    int64_t zeroPoint = 0;
  };

  std::optional<Storage> storageOf(Value operand, bool isFirst);
  void narrow(OpOperand &operand, const Storage &storage);
  /// Gives each operand of a product of floats of 8 bits a cast of its own.
  static void splitCasts(LoopNestOpInterface product);

  IntegerRanges ranges;
  WeightDependence weights;
  /// The tensors that are stored so far, so that each value is narrowed once.
  llvm::DenseMap<std::tuple<Value, Type, int64_t>, Value> narrowed;
};

} // namespace

/// How the first or the second operand of a product is stored; nullopt where it needs more than 16
/// bits.
std::optional<NarrowProducts::Storage> NarrowProducts::storageOf(Value operand, bool isFirst) {
  std::optional<IntegerRange> range = ranges.of(operand);
  if (!range)
    return std::nullopt;
  MLIRContext *context = operand.getContext();
  Type i8 = IntegerType::get(context, 8), u8 = IntegerType::get(context, 8, IntegerType::Unsigned),
       i16 = IntegerType::get(context, 16);
  IntegerRange bytes = *rangeOfType(u8);
  if (isFirst) {
    // As it is stored already, or else with the zero point that makes its least number 0.
    auto integers = widenedFrom(operand);
    if (integers && getElementTypeOrSelf(integers->stored) == u8 &&
        bytes.min <= integers->zeroPoint && integers->zeroPoint <= bytes.max)
      return Storage{u8, integers->zeroPoint};
    int64_t zeroPoint = std::max<int64_t>(0, -range->min);
    if (zeroPoint <= bytes.max && range->max + zeroPoint <= bytes.max)
      return Storage{u8, zeroPoint};
  } else if (range->isWithin(*rangeOfType(i8))) {
    return Storage{i8};
  } else if (weights.dependsOnWeightsAlone(operand) && range->isWithin(bytes)) {
    return Storage{u8};
  }
  return range->isWithin(*rangeOfType(i16)) ? std::optional(Storage{i16}) : std::nullopt;
}

/// `x` in `type`, by a cast before `builder`'s place where it has another.
static Value castTo(OpBuilder &builder, Value x, Type type) {
  if (getElementTypeOrSelf(x.getType()) == type)
    return x;
  return dl::CastOp::create(builder, x.getLoc(), x, TypeAttr::get(type));
}

/// A tensor of `number` in the shape of `x`.
static Value fullLike(OpBuilder &builder, Value x, int64_t number) {
  return dl::FullOp::create(builder, x.getLoc(), x.getType(),
                            builder.getIntegerAttr(getElementTypeOrSelf(x.getType()), number));
}

void NarrowProducts::narrow(OpOperand &operand, const Storage &storage) {
  Value value = operand.get();
  Type wide = getElementTypeOrSelf(value.getType());
  OpBuilder builder(operand.getOwner());
  // Gives the stored tensor as the numbers that the product multiplies. Its kernel alone reads
  // these and takes the ops in.
  auto widened = [&](Value stored) -> Value {
    Value x = castTo(builder, stored, wide);
    if (storage.zeroPoint == 0)
      return x;
    Value zeroPoint = fullLike(builder, x, storage.zeroPoint);
    return dl::SubOp::create(builder, x.getLoc(), x, zeroPoint);
  };
  // A value that was widened already is stored, or cast once more, from before that.
  auto integers = widenedFrom(value);
  Value source = integers && integers->zeroPoint == storage.zeroPoint ? integers->stored : value;
  Value &known = narrowed[{source, storage.type, storage.zeroPoint}];
  if (!known) {
    builder.setInsertionPointAfterValue(source);
    Value x = source;
    if (source == value && storage.zeroPoint != 0)
      x = dl::AddOp::create(builder, x.getLoc(), x, fullLike(builder, x, storage.zeroPoint));
    known = castTo(builder, x, storage.type);
    // The wide numbers need no memory where all that reads them can read the narrow ones.
    if (source == value)
      for (OpOperand &use : llvm::make_early_inc_range(value.getUses())) {
        Operation *reader = use.getOwner();
        if (reader == x.getDefiningOp() || reader == known.getDefiningOp() || &use == &operand ||
            !isFusible(reader) || standsAlone(reader))
          continue;
        builder.setInsertionPoint(reader);
        use.set(widened(known));
      }
  }
  builder.setInsertionPoint(operand.getOwner());
  operand.set(widened(known));
}

void NarrowProducts::splitCasts(LoopNestOpInterface product) {
  for (OpOperand &operand : product->getOpOperands()) {
    auto cast = operand.get().getDefiningOp<dl::CastOp>();
    if (!cast || cast->hasOneUse())
      continue;
    OpBuilder builder(product);
    operand.set(builder.clone(*cast)->getResult(0));
  }
}

void NarrowProducts::runOnOperation() {
  const ScheduleOracle *oracle = ScheduleOracle::of(getOperation());
  if (!oracle)
    return signalPassFailure();
  getOperation().walk([&](LoopNestOpInterface op) {
    if (dl::float8OperandsOf(op, op.getLoopNest()) && oracle->multipliesFloat8(op))
      splitCasts(op);
  });
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
    SmallVector<std::pair<OpOperand *, std::optional<Storage>>, 2> operands;
    for (auto [position, access] : llvm::enumerate(nest.terms)) {
      OpOperand &operand = op->getOpOperand(access.operand);
      operands.emplace_back(&operand, storageOf(operand.get(), /*isFirst=*/position == 0));
    }
    if (llvm::any_of(operands, [](const auto &operand) { return !operand.second; }))
      continue;
    for (auto &[operand, storage] : operands)
      narrow(*operand, *storage);
    ++numNarrowed;
  }
  // Wide numbers that a product read have no reader left.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(getOperation().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
}

} // namespace dlc
