//===- ConvertPrecision.cpp - Run a model of f32 in 16 bits ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One walk in program order. A value of f32 that an op in 16 bits has made is known beside what it
// was cast from, so that the next op in 16 bits reads that, and the cast is needed by ops of f32
// alone. Inside a kernel all is f32 anyway: what is chosen here is how products read their operands
// and how values are stored between kernels.
//===----------------------------------------------------------------------------------------------===//
#include "ir/OpTable.h"
#include "ir/analysis/FusionLegality.h"
#include "ir/dl/DLBuilder.h"
#include "ir/dl/StoredPrecision.h"
#include "passes/Passes.h"
#include "passes/precision/LayerPatterns.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#define DEBUG_TYPE "convert-precision"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_CONVERTPRECISION
#include "passes/Passes.h.inc"

namespace {

class ConvertPrecision : public impl::ConvertPrecisionBase<ConvertPrecision> {
public:
  using ConvertPrecisionBase::ConvertPrecisionBase;

private:
  void runOnOperation() override;
};

/// Narrows the ops of one block.
class Narrowing {
public:
  Narrowing(FloatType narrow, const LayerPatterns &kept) : narrow(narrow), kept(kept) {}

  void run(Block &block);
  int64_t numNarrowed = 0, numKept = 0;

private:
  static bool isWide(Value value) { return getElementTypeOrSelf(value).isF32(); }
  bool runsNarrow(Operation *op);
  bool mayFollow(Operation *op);
  bool fits(const APFloat &number) const;
  bool fits(Value number) const;
  Value narrowed(Value value);
  Operation *clone(Operation *op);

  FloatType narrow;
  const LayerPatterns &kept;
  WeightDependence weights;
  /// Maps a value of f32 to the same value in 16 bits: the one that it was cast from, or a cast of it.
  llvm::DenseMap<Value, Value> narrowOf;
  /// Values of f32 that an op in 16 bits has made: reading the narrow one loses nothing.
  llvm::DenseSet<Value> isNarrowBorn;
};

} // namespace

/// False for a number that the narrow type would make 0, infinite or less precise than its other
/// numbers: the eps of a norm, the -1e9 of a mask.
bool Narrowing::fits(const APFloat &number) const {
  APFloat rounded = number;
  bool losesInfo = false;
  rounded.convert(narrow.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
  return !number.isFinite() || number.isZero() || rounded.isNormal();
}

/// The same for a tensor of one number; true for all others.
bool Narrowing::fits(Value number) const {
  while (auto repeated = number.getDefiningOp<dl::BroadcastOp>())
    number = repeated.getX();
  auto full = number.getDefiningOp<dl::FullOp>();
  auto value = full ? dyn_cast<FloatAttr>(full.getFill()) : FloatAttr();
  return !value || fits(value.getValue());
}

/// Some operand comes in 16 bits, and nothing else in f32 but weights and numbers that fit. A row of
/// a table of weights is as narrow as the table.
bool Narrowing::mayFollow(Operation *op) {
  // The numbers of an elementwise op may be its results; those of others stay within it.
  if (op->hasTrait<OpTrait::Elementwise>())
    for (NamedAttribute attribute : op->getAttrs())
      if (auto number = dyn_cast<FloatAttr>(attribute.getValue());
          number && !fits(number.getValue()))
        return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return !isWide(operand) || isNarrowBorn.contains(operand) ||
           (weights.dependsOnWeightsAlone(operand) && fits(operand));
  });
}

bool Narrowing::runsNarrow(Operation *op) {
  const OpInfo *info = opInfo(op->getName().getStringRef());
  if (!info || info->precision == dl::PrecisionRule::wide || op->getNumResults() == 0 ||
      llvm::none_of(op->getOperands(), isWide) || llvm::all_of(op->getResults(), [&](Value result) {
        return weights.dependsOnWeightsAlone(result);
      }))
    return false;
  if (info->precision == dl::PrecisionRule::follow && !mayFollow(op))
    return false;
  if (!kept.matches(op))
    return true;
  ++numKept;
  return false;
}

Value Narrowing::narrowed(Value value) {
  Value &known = narrowOf[value];
  if (!known) {
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    known = dl::CastOp::create(builder, value.getLoc(), value, narrow);
  }
  return known;
}

/// The op on narrow operands.
Operation *Narrowing::clone(Operation *op) {
  SmallVector<Value> operands = llvm::map_to_vector(op->getOperands(), [&](Value operand) {
    return isWide(operand) ? narrowed(operand) : operand;
  });
  OpBuilder builder(op);
  Operation *copy = builder.clone(*op);
  copy->setOperands(operands);
  for (Value result : copy->getResults())
    if (isWide(result))
      result.setType(dl::withElementType(cast<RankedTensorType>(result.getType()), narrow));
  return copy;
}

void Narrowing::run(Block &block) {
  SmallVector<Operation *> casts;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    // The user's own cast from 16 bits: its operand serves as well.
    if (auto cast = dyn_cast<dl::CastOp>(op);
        cast && isWide(cast) && getElementTypeOrSelf(cast.getX()) == narrow) {
      narrowOf[cast] = cast.getX();
      isNarrowBorn.insert(cast);
      continue;
    }
    if (!runsNarrow(&op))
      continue;
    Operation *copy = clone(&op);
    OpBuilder builder(&op);
    for (auto [before, after] : llvm::zip(op.getResults(), copy->getResults())) {
      Value replacement = after;
      if (before.getType() != after.getType()) {
        auto wide = dl::CastOp::create(builder, op.getLoc(), after, builder.getF32Type());
        replacement = wide;
        narrowOf[wide] = after;
        isNarrowBorn.insert(wide);
        casts.push_back(wide);
      }
      before.replaceAllUsesWith(replacement);
    }
    weights.forget(&op);
    op.erase();
    ++numNarrowed;
  }
  for (Operation *cast : llvm::reverse(casts))
    if (cast->use_empty())
      cast->erase();
}

void ConvertPrecision::runOnOperation() {
  auto type = dyn_cast_or_null<FloatType>(dl::dtypeNamed(dtype, &getContext()));
  if (!type || type.getWidth() != 16) {
    getOperation().emitError("dtype is f16 or bf16, got '") << dtype << "'";
    return signalPassFailure();
  }
  auto kept = LayerPatterns::keptByPass(getOperation(), *keepF32);
  if (failed(kept))
    return signalPassFailure();
  if (getOperation().isExternal())
    return;
  Narrowing narrowing(type, *kept);
  narrowing.run(getOperation().front());
  if (narrowing.numNarrowed)
    getOperation()->setAttr(dl::kStoredPrecision, TypeAttr::get(type));
  numNarrowed += narrowing.numNarrowed;
  numKept += narrowing.numKept;
}

} // namespace dlc
