//===- DLTwoOfFour.cpp - Matrices of which two of each four neighbours are stored ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dlc::dl {

LogicalResult ExpandTwoOfFourOp::inferReturnTypes(MLIRContext *context,
                                                  std::optional<Location> location, Adaptor adaptor,
                                                  SmallVectorImpl<Type> &types) {
  StringRef name = getOperationName();
  Dims values = getDims(typeOf(adaptor.getValues())), places = getDims(typeOf(adaptor.getPlaces()));
  // Two values of each group of four are stored; a byte of places is two groups'.
  auto stored = values.size() == 2 ? asConstant(values[1]) : std::nullopt;
  if (!stored || *stored % 4 != 0 || places != Dims{values[0], constantDim(*stored / 4, context)})
    return emitOptionalError(location, "'", name,
                             "' needs values [N, K / 2] and places [N, K / 8], K a multiple of 8, "
                             "got ",
                             text(adaptor.getValues()), " and ", text(adaptor.getPlaces()));
  types.push_back(makeTensor({values[0], constantDim(*stored * 2, context)},
                             typeOf(adaptor.getValues()).getElementType()));
  return success();
}

LoopNest ExpandTwoOfFourOp::getLoopNest() {
  MLIRContext *context = getContext();
  LoopNest nest;
  nest.parallel = dimsOf(getY());
  nest.indexDims.resize(2);
  nest.indexDims.set(1);
  const AffineExpr row = getAffineDimExpr(0, context), k = getAffineDimExpr(1, context);
  auto map = [&](AffineExpr column) {
    return AffineMap::get(2, kMaxSymbols, {row, column}, context);
  };
  nest.results = {
      {0, map(k.floorDiv(4) * 2)}, {0, map(k.floorDiv(4) * 2 + 1)}, {1, map(k.floorDiv(8))}};
  return nest;
}

Value ExpandTwoOfFourOp::emitResult(BodyContext &context, ValueRange args, ValueRange) {
  OpBuilder &builder = context.builder;
  auto constant = [&](int64_t number) {
    return arith::ConstantIndexOp::create(builder, context.loc, number);
  };
  Value k = context.parallel[1];
  Scalar first(builder, context.loc, args[0], kindOf(getValues())),
      second(builder, context.loc, args[1], kindOf(getValues()));
  Scalar places(builder, context.loc, args[2], ScalarKind::unsignedInt);
  Type type = places.elementType();
  auto integer = [&](Value index) {
    Value cast = arith::IndexCastOp::create(builder, context.loc, type, index);
    if (auto vector = dyn_cast<VectorType>(args[2].getType()))
      cast = context.splat(cast, vector);
    return Scalar(builder, context.loc, cast, ScalarKind::unsignedInt);
  };
  // Divisors are no 0: quotients need no test of them.
  auto quotient = [&](Scalar a, double b) {
    Value value = arith::DivUIOp::create(builder, context.loc, a.value(), a.constant(b).value());
    return Scalar(builder, context.loc, value, ScalarKind::unsignedInt);
  };
  // The bits of an even group are the low ones.
  Value isOdd = arith::RemUIOp::create(builder, context.loc,
                                       arith::DivUIOp::create(builder, context.loc, k, constant(4)),
                                       constant(2));
  Value inGroup = arith::RemUIOp::create(builder, context.loc, k, constant(4));
  Scalar ofGroup =
      select(integer(isOdd).toBool(), quotient(places, 16), places & places.constant(15));
  Scalar at = integer(inGroup);
  return select((ofGroup & ofGroup.constant(3)) == at, first,
                select(quotient(ofGroup, 4) == at, second, first.constant(0)))
      .value();
}

} // namespace dlc::dl
