//===- DLRandom.cpp - Type and loops of random bits ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"
#include "ir/scalar/Philox.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dlc::dl {

LogicalResult RandomBitsOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                             Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto type = typeOf(adaptor.getGenerator());
  if (type.getRank() != 1 || !isConstant(getDims(type)[0], 2))
    return emitOptionalError(location, "'", getOperationName(), "' has generator ",
                             text(adaptor.getGenerator()), "; expected i64[2], a seed and a count");
  for (AffineExpr dim : adaptor.getSize().getResults())
    if (asConstant(dim).value_or(0) < 0)
      return emitOptionalError(location, "'", getOperationName(), "' has dim ", *asConstant(dim),
                               "; expected 0 or more");
  types.push_back(makeTensor(adaptor.getSize().getResults(),
                             IntegerType::get(context, 32, IntegerType::Unsigned)));
  return success();
}

LogicalResult RandomBitsOp::verify() {
  if (getWord() > 3)
    return mlir::emitError(getLoc()) << "'" << getOperationName() << "' has word "
                                     << static_cast<int64_t>(getWord()) << "; expected 0 to 3";
  return success();
}

LoopNest RandomBitsOp::getLoopNest() {
  LoopNest nest;
  nest.parallel = dimsOf(getY());
  for (int64_t element : {0, 1})
    nest.results.push_back(
        {0, AffineMap::get(nest.parallel.size(), 0, getAffineConstantExpr(element, getContext()))});
  nest.indexDims.resize(nest.parallel.size(), true);
  nest.readsPlace = true;
  return nest;
}

Value RandomBitsOp::emitResult(BodyContext &context, ValueRange args, ValueRange) {
  OpBuilder &builder = context.builder;
  Type i64 = builder.getI64Type();
  Value place = context.placeIn(dimsOf(getY()));
  auto lanes = dyn_cast<VectorType>(place.getType());
  place = arith::IndexCastOp::create(builder, context.loc, lanes ? lanes.clone(i64) : i64, place);
  auto scalar = [&](Value value) {
    if (lanes && !isa<VectorType>(value.getType()))
      value = context.splat(value, lanes.clone(i64));
    return Scalar(builder, context.loc, value, ScalarKind::signedInt);
  };
  Scalar count = scalar(args[1]);
  return philox(scalar(place), count + count.constant(static_cast<double>(getDraw())),
                scalar(args[0]), getWord())
      .value();
}

} // namespace dlc::dl
