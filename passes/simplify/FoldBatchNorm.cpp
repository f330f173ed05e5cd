//===- FoldBatchNorm.cpp - Batch norms become part of the weights before them ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/analysis/FusionLegality.h"
#include "ir/dl/DLOps.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"

#define DEBUG_TYPE "fold-batch-norm"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_FOLDBATCHNORM
#include "passes/Passes.h.inc"

namespace {

class FoldBatchNorm : public impl::FoldBatchNormBase<FoldBatchNorm> {
  void runOnOperation() override;
};

/// Builds dl ops on weights at one place; all values are of one element type.
struct WeightMath {
  OpBuilder &builder;
  Location loc;

  Value number(double value, RankedTensorType like) {
    auto type = cast<FloatType>(computeType(like.getElementType()));
    return dl::FullOp::create(builder, loc, like,
                              cast<TypedAttr>(builder.getFloatAttr(type, value)));
  }
  /// `perChannel` [C] times each of `weight`'s slices along dim 0.
  Value scale(Value weight, Value perChannel) {
    auto type = cast<RankedTensorType>(weight.getType());
    dl::Dims dims(type.getRank(), dl::constantDim(1, builder.getContext()));
    dims[0] = dl::getDims(type)[0];
    auto column = dl::makeTensor(dims, type.getElementType());
    Value shaped = dl::ReshapeOp::create(builder, loc, column, perChannel,
                                         dl::dimsMap(dims, builder.getContext()));
    return dl::MulOp::create(builder, loc, weight,
                             dl::BroadcastOp::create(builder, loc, type, shaped));
  }
};

} // namespace

/// The contraction whose channels (dim 0 of its weight) are dim 1 of its result, so that a batch norm scales its weight.
static Operation *scalableProducer(dl::BatchNormOp norm) {
  Operation *op = norm.getX().getDefiningOp();
  if (!op || !op->hasOneUse())
    return nullptr;
  if (isa<dl::Conv2dOp>(op))
    return op;
  // Of a linear layer, the features are dim 1 for [N, K] inputs alone.
  if (isa<dl::LinearOp>(op) && cast<RankedTensorType>(op->getResult(0).getType()).getRank() == 2)
    return op;
  return nullptr;
}

static bool fold(dl::BatchNormOp norm, WeightDependence &known) {
  Operation *producer = scalableProducer(norm);
  // A fold in half precision would round every weight once more.
  if (!producer || getElementTypeOrSelf(norm).getIntOrFloatBitWidth() < 32)
    return false;
  ValueRange parameters = norm->getOperands().drop_front(),
             weights = producer->getOperands().drop_front();
  auto isWeight = [&](Value value) { return known.dependsOnWeightsAlone(value); };
  if (!llvm::all_of(parameters, isWeight) || !llvm::all_of(weights, isWeight))
    return false;

  OpBuilder builder(norm);
  WeightMath math{builder, norm.getLoc()};
  Value mean = norm.getRunningMean(), variance = norm.getRunningVar();
  auto vector = cast<RankedTensorType>(variance.getType());
  Value eps = math.number(norm.getEps().convertToDouble(), vector);
  Value deviation =
      dl::SqrtOp::create(builder, math.loc, dl::AddOp::create(builder, math.loc, variance, eps));
  bool affine = norm.getAffine().size() == 2;
  Value gain = affine ? norm.getAffine()[0] : math.number(1.0, vector);
  Value scale = dl::DivOp::create(builder, math.loc, gain, deviation);
  // (bias - mean) * scale + shift
  Value bias = weights.size() > 1 ? Value(dl::SubOp::create(builder, math.loc, weights[1], mean))
                                  : Value(dl::NegOp::create(builder, math.loc, mean));
  bias = dl::MulOp::create(builder, math.loc, bias, scale);
  if (affine)
    bias = dl::AddOp::create(builder, math.loc, bias, norm.getAffine()[1]);
  Value weight = math.scale(weights[0], scale);

  Location loc = FusedLoc::get(builder.getContext(), {producer->getLoc(), norm.getLoc()});
  OperationState state(loc, producer->getName(), ValueRange{producer->getOperand(0), weight, bias},
                       producer->getResultTypes(), producer->getAttrs());
  Operation *folded = builder.create(state);
  norm.getResult().replaceAllUsesWith(folded->getResult(0));
  known.forget(norm);
  known.forget(producer);
  norm.erase();
  producer->erase();
  return true;
}

void FoldBatchNorm::runOnOperation() {
  WeightDependence known;
  for (auto norm : llvm::make_early_inc_range(getOperation().getOps<dl::BatchNormOp>()))
    if (fold(norm, known))
      ++numFolded;
}

} // namespace dlc
