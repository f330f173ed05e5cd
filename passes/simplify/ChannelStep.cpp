//===- ChannelStep.cpp - A product with or a sum of one number for each channel -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/simplify/ChannelStep.h"

#include "ir/dl/structure/ScaleRange.h"

using namespace mlir;

namespace dlc {

Value ChannelStep::vector(dl::Builder &builder) const {
  Value row = builder.reshape(numbers, {dl::dimsOf(x)[dim]});
  if (!isInverse)
    return row;
  return isScale ? builder.make<dl::DivOp>(builder.fullLike(row, 1), row)
                 : builder.make<dl::NegOp>(row);
}

bool isWideFloat(Value value) {
  auto type = dyn_cast<FloatType>(getElementTypeOrSelf(value));
  return type && type.getWidth() >= 32;
}

bool keepsRange(const ChannelStep &step) {
  auto unusual = unusualMagnitudes(step.numbers);
  return !unusual || (!step.isScale && unusual->most <= Magnitudes::kMost);
}

bool keepsRange(dl::BatchNormOp norm) {
  SmallVector<Value> numbers(norm.getAffine());
  numbers.push_back(norm.getRunningMean());
  return llvm::all_of(numbers, [](Value value) {
    auto unusual = unusualMagnitudes(value);
    return !unusual || unusual->most <= Magnitudes::kMost;
  });
}

Value scaleOf(dl::BatchNormOp norm, dl::Builder &builder) {
  Value variance = norm.getRunningVar();
  Value eps = builder.fullLike(variance, norm.getEps().convertToDouble());
  Value deviation = builder.make<dl::SqrtOp>(builder.make<dl::AddOp>(variance, eps));
  bool isAffine = norm.getAffine().size() == 2;
  Value gain = isAffine ? norm.getAffine()[0] : builder.fullLike(variance, 1);
  return builder.make<dl::DivOp>(gain, deviation);
}

bool sameAnnotations(Operation *a, Operation *b) {
  return !a->hasAttr("dl.no_fuse") &&
         a->getDiscardableAttrDictionary() == b->getDiscardableAttrDictionary();
}

Value alongDim(dl::Builder &builder, Value vector, ArrayRef<AffineExpr> dims, int64_t dim) {
  dl::Dims shape(dims.size() - dim, dl::constantDim(1, builder.getContext()));
  shape[0] = dims[dim];
  return builder.broadcast(builder.reshape(vector, shape), dims);
}

/// Reads which dim `value`, an operand of an elementwise op, varies along, where it is numbers that
/// are known at load.
static bool readNumbers(ChannelStep &step, Value value, WeightDependence &weights) {
  int64_t rank = dl::typeOf(value).getRank();
  // The size of what is repeated may be a symbol; that of the numbers is not.
  while (auto repeated = value.getDefiningOp<dl::BroadcastOp>())
    value = repeated.getX();
  if (value.getDefiningOp<dl::FullOp>())
    return false;
  step.numbers = value;
  dl::Dims dims = dl::dimsOf(value);
  for (auto [position, dim] : llvm::enumerate(dims)) {
    if (dl::isConstant(dim, 1))
      continue;
    if (step.dim >= 0)
      return false;
    step.dim = rank - static_cast<int64_t>(dims.size()) + static_cast<int64_t>(position);
  }
  return step.dim >= 0 && weights.dependsOnWeightsAlone(value);
}

std::optional<ChannelStep> channelStepOf(Operation *op, WeightDependence &weights) {
  if (!isa_and_nonnull<dl::MulOp, dl::DivOp, dl::AddOp, dl::SubOp>(op) ||
      !isWideFloat(op->getResult(0)))
    return std::nullopt;
  for (unsigned side : {1u, 0u}) {
    ChannelStep step;
    step.isScale = isa<dl::MulOp, dl::DivOp>(op);
    step.isInverse = isa<dl::DivOp, dl::SubOp>(op);
    step.x = op->getOperand(1 - side);
    bool mayTurn = side == 1 || !step.isInverse;
    if (mayTurn && readNumbers(step, op->getOperand(side), weights))
      return step;
  }
  return std::nullopt;
}

} // namespace dlc
