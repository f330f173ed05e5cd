//===- FoldBatchNorm.cpp - Batch norms become part of the weights before them -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/Passes.h"
#include "passes/simplify/ChannelStep.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#define DEBUG_TYPE "fold-batch-norm"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_FOLDBATCHNORM
#include "passes/Passes.h.inc"

namespace {

class FoldBatchNorm : public impl::FoldBatchNormBase<FoldBatchNorm> {
  void runOnOperation() override;
};

} // namespace

/// The op between a transposed convolution and `norm`, which lays channels out as pixels; null
/// where there is none.
static dl::DepthToSpaceOp pixelsBefore(dl::BatchNormOp norm) {
  auto pixels = norm.getX().getDefiningOp<dl::DepthToSpaceOp>();
  return pixels && pixels->hasOneUse() && sameAnnotations(pixels, norm) ? pixels
                                                                        : dl::DepthToSpaceOp();
}

/// A number for each channel of the result of `pixels` becomes one for each channel of what that
/// reads, which are (groups, phases, channels of a group).
static Value perPhase(dl::Builder &b, Value vector, dl::DepthToSpaceOp pixels) {
  if (!pixels)
    return vector;
  int64_t channels = dl::typeOf(vector).getDimSize(0), groups = pixels.getGroups(),
          phases = llvm::product_of(pixels.getBlock());
  auto dims = [&](ArrayRef<int64_t> sizes) {
    return llvm::map_to_vector<4>(
        sizes, [&](int64_t size) { return dl::constantDim(size, b.getContext()); });
  };
  Value apart = b.reshape(vector, dims({groups, 1, channels / groups}));
  Value repeated = b.broadcast(apart, dims({groups, phases, channels / groups}));
  return b.reshape(repeated, dims({groups * phases * (channels / groups)}));
}

/// The product before `norm`, or before `pixels`, whose channels are dim 1 of its result, so that a
/// batch norm scales its weight.
static Operation *scalableProducer(dl::BatchNormOp norm, dl::DepthToSpaceOp pixels) {
  Operation *op = (pixels ? pixels.getX() : norm.getX()).getDefiningOp();
  if (!op || !op->hasOneUse() || !sameAnnotations(op, norm))
    return nullptr;
  if (isa<dl::Conv1dOp, dl::Conv2dOp, dl::Conv3dOp>(op))
    return op;
  // Of a linear layer, the features are dim 1 for [N, K] inputs alone.
  if (isa<dl::LinearOp>(op) && dl::typeOf(op->getResult(0)).getRank() == 2)
    return op;
  return nullptr;
}

static bool fold(dl::BatchNormOp norm, WeightDependence &known) {
  dl::DepthToSpaceOp pixels = pixelsBefore(norm);
  Operation *producer = scalableProducer(norm, pixels);
  // A fold in half precision would round every weight once more.
  if (!producer || !isWideFloat(norm) || !keepsRange(norm))
    return false;
  ValueRange parameters = norm->getOperands().drop_front(),
             weights = producer->getOperands().drop_front();
  auto isWeight = [&](Value value) { return known.dependsOnWeightsAlone(value); };
  if (!llvm::all_of(parameters, isWeight) || !llvm::all_of(weights, isWeight))
    return false;

  dl::Builder b(norm);
  auto spread = [&](Value vector) { return perPhase(b, vector, pixels); };
  Value scale = spread(scaleOf(norm, b)), mean = spread(norm.getRunningMean());
  bool affine = norm.getAffine().size() == 2;
  // (bias - mean) * scale + shift
  Value bias = weights.size() > 1 ? b.make<dl::SubOp>(weights[1], mean) : b.make<dl::NegOp>(mean);
  bias = b.make<dl::MulOp>(bias, scale);
  if (affine)
    bias = b.make<dl::AddOp>(bias, spread(norm.getAffine()[1]));
  Value weight = b.make<dl::MulOp>(weights[0], alongDim(b, scale, dl::dimsOf(weights[0]), 0));

  Location loc = FusedLoc::get(b.getContext(), {producer->getLoc(), norm.getLoc()});
  OperationState state(loc, producer->getName(), ValueRange{producer->getOperand(0), weight, bias},
                       producer->getResultTypes(), producer->getAttrs());
  Operation *folded = b.create(state);
  SmallVector<Operation *> replaced = {norm, producer};
  if (pixels) {
    Value product = folded->getResult(0);
    folded = b.clone(*pixels);
    folded->setOperand(0, product);
    replaced.insert(replaced.begin() + 1, pixels);
  }
  norm.getResult().replaceAllUsesWith(folded->getResult(0));
  for (Operation *op : replaced) {
    known.forget(op);
    op->erase();
  }
  return true;
}

void FoldBatchNorm::runOnOperation() {
  WeightDependence known;
  for (auto norm : llvm::make_early_inc_range(getOperation().getOps<dl::BatchNormOp>()))
    if (fold(norm, known))
      ++numFolded;
}

} // namespace dlc
