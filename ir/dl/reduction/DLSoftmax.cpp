//===- DLSoftmax.cpp - softmax and its logarithm ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"
#include "ir/dl/reduction/DLReduction.h"

using namespace mlir;

namespace dlc::dl {

static LogicalResult inferAlongDim(StringRef op, std::optional<Location> location, Value x,
                                   int64_t dim, SmallVectorImpl<Type> &types) {
  auto type = cast<RankedTensorType>(x.getType());
  if (!wrapDim(location, op, dim, type.getRank()))
    return failure();
  types.push_back(makeTensor(getDims(type), type.getElementType()));
  return success();
}

/// Stages max and sum over `dim`; the result reads x at its own index.
static LoopNest softmaxNest(Value x, int64_t dim) {
  auto type = cast<RankedTensorType>(x.getType());
  MLIRContext *context = type.getContext();
  int64_t rank = type.getRank();
  if (dim < 0)
    dim += rank;
  LoopNest nest;
  nest.parallel = getDims(type);
  nest.indexDims.resize(rank);
  nest.reduction = {nest.parallel[dim]};
  nest.stages = {Combiner::max, Combiner::add};
  SmallVector<AffineExpr> map;
  for (int64_t position = 0; position < rank; ++position)
    map.push_back(getAffineDimExpr(position == dim ? rank : position, context));
  nest.terms.push_back({0, AffineMap::get(rank + 1, kMaxSymbols, map, context)});
  nest.results.push_back({0, identityAccess(rank, context)});
  return nest;
}

/// Stage 0: x. Stage 1: exp(x - largest).
static Value softmaxTerm(BodyContext &context, unsigned stage, ValueRange args, ValueRange accs) {
  if (stage == 0)
    return args.front();
  Scalar x(context.builder, context.loc, args.front(), ScalarKind::floating);
  return exp(x - Scalar(context.builder, context.loc, accs[0], ScalarKind::floating)).value();
}

LogicalResult SoftmaxOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                          Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferAlongDim(getOperationName(), location, adaptor.getX(), adaptor.getDim(), types);
}
LoopNest SoftmaxOp::getLoopNest() { return softmaxNest(getX(), getDim()); }
Value SoftmaxOp::emitTerm(BodyContext &context, unsigned stage, ValueRange args, ValueRange accs) {
  return softmaxTerm(context, stage, args, accs);
}
Value SoftmaxOp::emitResult(BodyContext &context, ValueRange args, ValueRange accs) {
  auto scalar = [&](Value value) {
    return Scalar(context.builder, context.loc, value, ScalarKind::floating);
  };
  // One division for a row: the reciprocal does not depend on the element.
  return (exp(scalar(args[0]) - scalar(accs[0])) * (1.0 / scalar(accs[1]))).value();
}

LogicalResult LogSoftmaxOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                             Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferAlongDim(getOperationName(), location, adaptor.getX(), adaptor.getDim(), types);
}
LoopNest LogSoftmaxOp::getLoopNest() { return softmaxNest(getX(), getDim()); }
Value LogSoftmaxOp::emitTerm(BodyContext &context, unsigned stage, ValueRange args,
                             ValueRange accs) {
  return softmaxTerm(context, stage, args, accs);
}
Value LogSoftmaxOp::emitResult(BodyContext &context, ValueRange args, ValueRange accs) {
  auto scalar = [&](Value value) {
    return Scalar(context.builder, context.loc, value, ScalarKind::floating);
  };
  return (scalar(args[0]) - scalar(accs[0]) - log(scalar(accs[1]))).value();
}
} // namespace dlc::dl
