//===- DLExtreme.cpp - Largest and smallest elements, and where they are ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"
#include "ir/dl/reduction/DLReduction.h"

using namespace mlir;

namespace dlc::dl {

/// Extreme elements of `value` along `dims`, one tensor for each dtype of `elements`.
static LogicalResult inferExtreme(StringRef op, std::optional<Location> location, Value value,
                                  ArrayRef<int64_t> dims, bool keepdim, ArrayRef<Type> elements,
                                  SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(value.getType());
  if (failed(refuseEmpty(op, location, value, dims)))
    return failure();
  for (Type element : elements)
    if (failed(inferReduction(op, location, x, dims, keepdim, element, types)))
      return failure();
  return success();
}

/// The dtype of positions.
static Type positionType(MLIRContext *context) { return IntegerType::get(context, 64); }

static SmallVector<int64_t, 1> asList(std::optional<int64_t> dim) {
  return dim ? SmallVector<int64_t, 1>{*dim} : SmallVector<int64_t, 1>{};
}

//===- One or the other -----------------------------------------------------------------------===//

LogicalResult AmaxOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                       Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferExtreme(getOperationName(), location, adaptor.getX(), adaptor.getDim(),
                      adaptor.getKeepdim(), typeOf(adaptor.getX()).getElementType(), types);
}
LoopNest AmaxOp::getLoopNest() {
  return reductionNest(getX(), getType(), getDim(), getKeepdim(), Combiner::max);
}
Value AmaxOp::emitTerm(BodyContext &, unsigned, ValueRange args, ValueRange) {
  return args.front();
}

LogicalResult AminOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                       Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferExtreme(getOperationName(), location, adaptor.getX(), adaptor.getDim(),
                      adaptor.getKeepdim(), typeOf(adaptor.getX()).getElementType(), types);
}
LoopNest AminOp::getLoopNest() {
  return reductionNest(getX(), getType(), getDim(), getKeepdim(), Combiner::min);
}
Value AminOp::emitTerm(BodyContext &, unsigned, ValueRange args, ValueRange) {
  return args.front();
}

LogicalResult ArgmaxOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferExtreme(getOperationName(), location, adaptor.getX(), asList(adaptor.getDim()),
                      adaptor.getKeepdim(), positionType(context), types);
}
LoopNest ArgmaxOp::getLoopNest() {
  return reductionNest(getX(), getType(), asList(getDim()), getKeepdim(), Combiner::argmax);
}
Value ArgmaxOp::emitTerm(BodyContext &, unsigned, ValueRange args, ValueRange) {
  return args.front();
}

LogicalResult ArgminOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferExtreme(getOperationName(), location, adaptor.getX(), asList(adaptor.getDim()),
                      adaptor.getKeepdim(), positionType(context), types);
}
LoopNest ArgminOp::getLoopNest() {
  return reductionNest(getX(), getType(), asList(getDim()), getKeepdim(), Combiner::argmin);
}
Value ArgminOp::emitTerm(BodyContext &, unsigned, ValueRange args, ValueRange) {
  return args.front();
}

//===- Both -----------------------------------------------------------------------------------===//

LogicalResult MaxDimOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  int64_t dim = adaptor.getDim();
  return inferExtreme(getOperationName(), location, adaptor.getX(), dim, adaptor.getKeepdim(),
                      {typeOf(adaptor.getX()).getElementType(), positionType(context)}, types);
}

SmallVector<Value> MaxDimOp::decompose(Builder &builder) {
  int64_t dim = getDim();
  return {builder.make<AmaxOp>(getX(), dim, getKeepdim()),
          builder.make<ArgmaxOp>(getX(), getDimAttr(), getKeepdim())};
}

LogicalResult MinDimOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  int64_t dim = adaptor.getDim();
  return inferExtreme(getOperationName(), location, adaptor.getX(), dim, adaptor.getKeepdim(),
                      {typeOf(adaptor.getX()).getElementType(), positionType(context)}, types);
}

SmallVector<Value> MinDimOp::decompose(Builder &builder) {
  int64_t dim = getDim();
  return {builder.make<AminOp>(getX(), dim, getKeepdim()),
          builder.make<ArgminOp>(getX(), getDimAttr(), getKeepdim())};
}
} // namespace dlc::dl
