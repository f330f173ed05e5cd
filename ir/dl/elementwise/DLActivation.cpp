//===- DLActivation.cpp - Types and loops of activations ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/DLOps.h"

using namespace mlir;

namespace dlc::dl {

LogicalResult GeluOp::verify() {
  if (getApproximate() != "none" && getApproximate() != "tanh")
    return emitOpError("has approximate = '") << getApproximate() << "'; expected 'none' or 'tanh'";
  return success();
}

LogicalResult SoftshrinkOp::verify() {
  if (!(getLambd().convertToDouble() >= 0))
    return emitOpError("has lambd = ") << text(getLambd()) << "; expected 0 or more";
  return success();
}

//===- prelu ----------------------------------------------------------------------------------===//

LogicalResult PreluOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                        Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  auto weight = cast<RankedTensorType>(adaptor.getWeight().getType());
  Dims slopes = getDims(weight);
  AffineExpr channels = x.getRank() > 1 ? getDims(x)[1] : constantDim(1, x.getContext());
  bool isOne = weight.getRank() == 0 || isConstant(slopes[0], 1);
  if (weight.getElementType() != x.getElementType() || weight.getRank() > 1 ||
      (!isOne && slopes[0] != channels))
    return emitOptionalError(location, "'", getOperationName(), "' needs a weight of 1 or ",
                             text(channels, adaptor.getOperands()), " ", x.getElementType(),
                             " elements, got ", text(adaptor.getWeight()));
  types.push_back(makeTensor(getDims(x), x.getElementType()));
  return success();
}

LoopNest PreluOp::getLoopNest() {
  LoopNest nest = elementwiseNest(*this);
  MLIRContext *context = getContext();
  Dims slopes = getDims(cast<RankedTensorType>(getWeight().getType()));
  SmallVector<AffineExpr> channel; // none of a weight without dims
  if (!slopes.empty())
    channel.push_back(isConstant(slopes[0], 1) ? getAffineConstantExpr(0, context)
                                               : getAffineDimExpr(1, context));
  nest.results[1].map = AffineMap::get(nest.parallel.size(), kMaxSymbols, channel, context);
  return nest;
}

Value PreluOp::emitResult(BodyContext &context, ValueRange args, ValueRange) {
  Scalar x(context.builder, context.loc, args[0], ScalarKind::floating);
  Scalar weight(context.builder, context.loc, args[1], ScalarKind::floating);
  return select(x > 0.0, x, weight * x).value();
}

//===- glu ------------------------------------------------------------------------------------===//

LogicalResult GluOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                      Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  auto dim = wrapDim(location, getOperationName(), adaptor.getDim(), x.getRank());
  if (!dim)
    return failure();
  Dims dims = getDims(x);
  if (normalize(dims[*dim] % 2) != constantDim(0, x.getContext()))
    return emitOptionalError(location, "'", getOperationName(), "' halves dim ", *dim, " of ",
                             text(adaptor.getX()), "; expected an even size");
  dims[*dim] = normalize(dims[*dim].floorDiv(2));
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

LoopNest GluOp::getLoopNest() {
  LoopNest nest = elementwiseNest(*this);
  int64_t rank = nest.parallel.size(), dim = getDim();
  if (dim < 0)
    dim += rank;
  SmallVector<AffineExpr> indices(identityAccess(rank, getContext()).getResults());
  indices[dim] = indices[dim] + nest.parallel[dim];
  nest.results.push_back({0, AffineMap::get(rank, kMaxSymbols, indices, getContext())});
  return nest;
}

Value GluOp::emitResult(BodyContext &context, ValueRange args, ValueRange) {
  Scalar x(context.builder, context.loc, args[0], ScalarKind::floating);
  Scalar gate(context.builder, context.loc, args[1], ScalarKind::floating);
  return (x / (1.0 + exp(-gate))).value();
}

} // namespace dlc::dl
