//===- DLExtreme.cpp - Largest and smallest elements, and where they are ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/dl/DLBuilder.h"
#include "ir/dl/DLReduction.h"

using namespace mlir;

namespace dlc::dl {

//===- One or the other ---------------------------------------------------------------------------===//

LogicalResult AmaxOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                       Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  if (failed(refuseEmpty(getOperationName(), location, x, adaptor.getDim())))
    return failure();
  return inferReduction(getOperationName(), location, x, adaptor.getDim(), adaptor.getKeepdim(),
                        x.getElementType(), types);
}
LoopNest AmaxOp::getLoopNest() {
  return reductionNest(getX(), getType(), getDim(), getKeepdim(), Combiner::max);
}
Value AmaxOp::emitTerm(BodyContext &, unsigned, ValueRange args, ValueRange) {
  return args.front();
}

LogicalResult AminOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                       Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  if (failed(refuseEmpty(getOperationName(), location, x, adaptor.getDim())))
    return failure();
  return inferReduction(getOperationName(), location, x, adaptor.getDim(), adaptor.getKeepdim(),
                        x.getElementType(), types);
}
LoopNest AminOp::getLoopNest() {
  return reductionNest(getX(), getType(), getDim(), getKeepdim(), Combiner::min);
}
Value AminOp::emitTerm(BodyContext &, unsigned, ValueRange args, ValueRange) {
  return args.front();
}

static SmallVector<int64_t, 1> asList(std::optional<int64_t> dim) {
  return dim ? SmallVector<int64_t, 1>{*dim} : SmallVector<int64_t, 1>{};
}

/// Type of the positions of largest or smallest elements.
static LogicalResult inferPosition(StringRef op, std::optional<Location> location, Value x,
                                   std::optional<int64_t> dim, bool keepdim,
                                   SmallVectorImpl<Type> &types) {
  auto type = cast<RankedTensorType>(x.getType());
  auto dims = asList(dim);
  if (failed(refuseEmpty(op, location, type, dims)))
    return failure();
  return inferReduction(op, location, type, dims, keepdim, IntegerType::get(type.getContext(), 64),
                        types);
}

LogicalResult ArgmaxOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferPosition(getOperationName(), location, adaptor.getX(), adaptor.getDim(),
                       adaptor.getKeepdim(), types);
}
LoopNest ArgmaxOp::getLoopNest() {
  return reductionNest(getX(), getType(), asList(getDim()), getKeepdim(), Combiner::argmax);
}
Value ArgmaxOp::emitTerm(BodyContext &, unsigned, ValueRange args, ValueRange) {
  return args.front();
}

LogicalResult ArgminOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferPosition(getOperationName(), location, adaptor.getX(), adaptor.getDim(),
                       adaptor.getKeepdim(), types);
}
LoopNest ArgminOp::getLoopNest() {
  return reductionNest(getX(), getType(), asList(getDim()), getKeepdim(), Combiner::argmin);
}
Value ArgminOp::emitTerm(BodyContext &, unsigned, ValueRange args, ValueRange) {
  return args.front();
}

//===- Both ---------------------------------------------------------------------------------------===//

/// The extreme elements along `dim`, and their positions.
static LogicalResult inferExtreme(StringRef op, std::optional<Location> location, Value value,
                                  int64_t dim, bool keepdim, SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(value.getType());
  if (failed(refuseEmpty(op, location, x, dim)))
    return failure();
  for (Type element : {x.getElementType(), Type(IntegerType::get(x.getContext(), 64))})
    if (failed(inferReduction(op, location, x, dim, keepdim, element, types)))
      return failure();
  return success();
}

LogicalResult MaxDimOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferExtreme(getOperationName(), location, adaptor.getX(), adaptor.getDim(),
                      adaptor.getKeepdim(), types);
}

SmallVector<Value> MaxDimOp::decompose(Builder &builder) {
  int64_t dim = getDim();
  return {builder.make<AmaxOp>(getX(), dim, getKeepdim()),
          builder.make<ArgmaxOp>(getX(), getDimAttr(), getKeepdim())};
}

LogicalResult MinDimOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferExtreme(getOperationName(), location, adaptor.getX(), adaptor.getDim(),
                      adaptor.getKeepdim(), types);
}

SmallVector<Value> MinDimOp::decompose(Builder &builder) {
  int64_t dim = getDim();
  return {builder.make<AminOp>(getX(), dim, getKeepdim()),
          builder.make<ArgminOp>(getX(), getDimAttr(), getKeepdim())};
}
} // namespace dlc::dl
