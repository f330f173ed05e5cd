//===- DLCreate.cpp - Types and bodies of tensors made of numbers alone -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"
#include "ir/dl/base/DimNeeds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;

namespace dlc::dl {

//===- zeros, ones, full ----------------------------------------------------------------------===//

static LogicalResult inferCreated(StringRef op, std::optional<Location> location,
                                  ArrayRef<AffineExpr> dims, Type dtype,
                                  SmallVectorImpl<Type> &types) {
  for (AffineExpr dim : dims)
    if (asConstant(dim).value_or(0) < 0)
      return emitOptionalError(location, "'", op, "' has dim ", *asConstant(dim),
                               "; expected 0 or more");
  types.push_back(makeTensor(dims, dtype));
  return success();
}

static Type orF32(std::optional<Type> dtype, MLIRContext *context) {
  return dtype.value_or(Float32Type::get(context));
}

LogicalResult ZerosOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                        Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferCreated(getOperationName(), location, adaptor.getSize().getResults(),
                      orF32(adaptor.getDtype(), context), types);
}
SmallVector<Value> ZerosOp::decompose(Builder &b) { return {b.fullLike(getY(), 0)}; }

LogicalResult OnesOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                       Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferCreated(getOperationName(), location, adaptor.getSize().getResults(),
                      orF32(adaptor.getDtype(), context), types);
}
SmallVector<Value> OnesOp::decompose(Builder &b) { return {b.fullLike(getY(), 1)}; }

LogicalResult ZerosLikeOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  types.push_back(makeTensor(getDims(x), adaptor.getDtype().value_or(x.getElementType())));
  return success();
}
SmallVector<Value> ZerosLikeOp::decompose(Builder &b) { return {b.fullLike(getY(), 0)}; }

LogicalResult OnesLikeOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  types.push_back(makeTensor(getDims(x), adaptor.getDtype().value_or(x.getElementType())));
  return success();
}
SmallVector<Value> OnesLikeOp::decompose(Builder &b) { return {b.fullLike(getY(), 1)}; }

/// `number` fits in `dtype`, or is a float that PyTorch would cast.
static LogicalResult checkFill(StringRef op, std::optional<Location> location, Attribute number,
                               Type dtype) {
  auto integer = dyn_cast<IntegerType>(dtype);
  if (!integer)
    return success();
  bool fits = true;
  if (auto real = dyn_cast<FloatAttr>(number)) {
    fits = false; // PyTorch drops the fraction; who means that writes the integer
  } else if (!isa<BoolAttr>(number)) {
    int64_t value = cast<IntegerAttr>(number).getInt();
    unsigned width = integer.getWidth();
    fits = integer.isUnsigned() || width == 1 ? value >= 0 && llvm::isUIntN(width, value)
                                              : llvm::isIntN(width, value);
  }
  if (fits)
    return success();
  return emitOptionalError(location, "'", op, "' has fill_value = ", number, ", which a tensor of ",
                           text(makeTensor({}, dtype), {}), " does not hold; name a wider dtype");
}

/// `number` in every element of `type`.
static Value filled(Builder &b, Attribute number, RankedTensorType type) {
  Type compute = computeType(type.getElementType());
  double real = isa<FloatAttr>(number)  ? cast<FloatAttr>(number).getValueAsDouble()
                : isa<BoolAttr>(number) ? cast<BoolAttr>(number).getValue()
                                        : static_cast<double>(cast<IntegerAttr>(number).getInt());
  if (isa<FloatType>(compute))
    return FullOp::create(b, type, b.getFloatAttr(compute, real));
  int64_t integer = isa<BoolAttr>(number) ? cast<BoolAttr>(number).getValue()
                                          : cast<IntegerAttr>(number).getInt();
  unsigned width = compute.getIntOrFloatBitWidth();
  return FullOp::create(b, type,
                        IntegerAttr::get(compute, APInt(width, integer, /*isSigned=*/true,
                                                        /*implicitTrunc=*/true)));
}

LogicalResult FilledOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Attribute number = adaptor.getFillValueAttr();
  Type own = isa<FloatAttr>(number)  ? Type(Float32Type::get(context))
             : isa<BoolAttr>(number) ? Type(IntegerType::get(context, 1))
                                     : Type(IntegerType::get(context, 64));
  Type dtype = adaptor.getDtype().value_or(own);
  if (failed(checkFill("full", location, number, dtype)))
    return failure();
  return inferCreated("full", location, adaptor.getSize().getResults(), dtype, types);
}
SmallVector<Value> FilledOp::decompose(Builder &b) {
  return {filled(b, getFillValueAttr(), typeOf(getY()))};
}

LogicalResult FullLikeOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                           Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  Type dtype = adaptor.getDtype().value_or(x.getElementType());
  if (failed(checkFill(getOperationName(), location, adaptor.getFillValueAttr(), dtype)))
    return failure();
  types.push_back(makeTensor(getDims(x), dtype));
  return success();
}
SmallVector<Value> FullLikeOp::decompose(Builder &b) {
  return {filled(b, getFillValueAttr(), typeOf(getY()))};
}

//===- arange, eye ----------------------------------------------------------------------------===//

template <typename Op> static Dim startOf(Op op) {
  auto start = op.getStart();
  return start ? start->getResult(0) : constantDim(0, op.getEnd().getContext());
}

/// How many numbers there are; negative where the end lies before the start. The step is not 0.
template <typename Op> static Dim countOf(Op op) {
  AffineExpr start = startOf(op), end = op.getEnd().getResult(0);
  int64_t step = op.getStep();
  return step > 0 ? quotientUp(end - start, step) : quotientUp(start - end, -step);
}

LogicalResult ArangeOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  int64_t step = adaptor.getStep();
  auto start = asConstant(startOf(adaptor)), end = asConstant(adaptor.getEnd().getResult(0));
  StringRef name = getOperationName();
  if (step == 0)
    return emitOptionalError(location, "'", name, "' has step 0; expected another number");
  Dim size = countOf(adaptor);
  bool isNegative = asConstant(size).value_or(0) < 0;
  if (isNegative && start && end)
    return emitOptionalError(location, "'", name, "' cannot go from ", *start, " to ", *end,
                             " in steps of ", step);
  if (isNegative) // what has symbols the verifier shows, by the names of the op's module
    size = constantDim(0, context);
  types.push_back(makeTensor({size}, adaptor.getDtype().value_or(IntegerType::get(context, 64))));
  return success();
}

LogicalResult ArangeOp::verify() {
  Dim size = normalize(countOf(*this));
  auto steps = [&] {
    return "from " + text(startOf(*this), *this) + " to " + text(getEnd().getResult(0), *this) +
           " in steps of " + std::to_string(static_cast<int64_t>(getStep()));
  };
  if (asConstant(size).value_or(0) < 0)
    return mlir::emitError(getLoc()) << "'" << getOperationName() << "' cannot go " << steps();
  auto module = (*this)->getParentOfType<ModuleOp>();
  if (isCheckedWhenBound(size, size, module)) // needsOf has it
    return success();
  SmallVector<Range> symbols = module ? symbolRanges(module) : SmallVector<Range>();
  auto range = rangeOf(size, symbols);
  if (asConstant(size) || symbols.empty() || (range && range->min >= 0))
    return success();
  auto error = mlir::emitError(getLoc())
               << "'" << getOperationName() << "' " << steps() << " may have ";
  if (range)
    error << range->min;
  else
    error << "too many or too few";
  error << " numbers; expected 0 or more";
  adviseRange(error, {size, 0, "has " + text(size, *this) + " numbers"}, module);
  return error;
}

/// A nest that reads nothing but its own indices.
static LoopNest indexNest(Operation *op) {
  LoopNest nest;
  nest.parallel = dimsOf(op->getResult(0));
  nest.indexDims.resize(nest.parallel.size(), true);
  return nest;
}

/// The value of a dim as an i64.
static Scalar integerOf(BodyContext &context, Dim dim) {
  Value integer = arith::IndexCastOp::create(
      context.builder, context.loc, context.builder.getI64Type(), context.extent(normalize(dim)));
  return {context.builder, context.loc, integer, ScalarKind::signedInt};
}

LoopNest ArangeOp::getLoopNest() {
  LoopNest nest = indexNest(*this);
  nest.readsPlace = true;
  return nest;
}

Value ArangeOp::emitResult(BodyContext &context, ValueRange, ValueRange) {
  Type i64 = context.builder.getI64Type(), dtype = typeOf(getY()).getElementType();
  Value place = context.placeIn(dimsOf(getY()));
  auto lanes = dyn_cast<VectorType>(place.getType());
  place = arith::IndexCastOp::create(context.builder, context.loc, lanes ? lanes.clone(i64) : i64,
                                     place);
  Scalar position(context.builder, context.loc, place, ScalarKind::signedInt);
  auto spread = [&](Value number) {
    number = lanes ? context.splat(number, lanes.clone(i64)) : number;
    return Scalar(context.builder, context.loc, number, ScalarKind::signedInt);
  };
  auto number = [&](int64_t value) {
    return spread(arith::ConstantIntOp::create(context.builder, context.loc, i64, value));
  };
  Dim start = startOf(*this);
  Scalar first =
      asConstant(start) ? number(*asConstant(start)) : spread(integerOf(context, start).value());
  Scalar value = position * number(getStep()) + first;
  return value.convertTo(computeType(dtype), scalarKind(dtype)).value();
}

/// The place of the element along the only dim, as an f64.
static Scalar positionInDouble(BodyContext &context) {
  OpBuilder &builder = context.builder;
  Value index = arith::IndexCastOp::create(builder, context.loc, builder.getI64Type(),
                                           context.parallel.front());
  return Scalar(builder, context.loc, index, ScalarKind::signedInt)
      .convertTo(builder.getF64Type(), ScalarKind::floating);
}

static std::string decimal(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", value);
  return text;
}

LogicalResult FractionsOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  double start = adaptor.getStart().convertToDouble(), end = adaptor.getEnd().convertToDouble(),
         step = adaptor.getStep().convertToDouble();
  if (step == 0)
    return emitOptionalError(location, "'arange' has step 0; expected another number");
  double size = std::ceil((end - start) / step);
  if (!(size >= 0 && size < 0x1p31))
    return emitOptionalError(location, "'arange' cannot go from ", decimal(start), " to ",
                             decimal(end), " in steps of ", decimal(step));
  Type dtype = orF32(adaptor.getDtype(), context);
  if (!isa<FloatType>(dtype))
    return emitOptionalError(location, "'arange' of fractions gives floats, got dtype ",
                             StringRef(text(makeTensor({}, dtype), {})).drop_back(2),
                             "; cast the result");
  types.push_back(makeTensor(constantDim(static_cast<int64_t>(size), context), dtype));
  return success();
}

LoopNest FractionsOp::getLoopNest() { return indexNest(*this); }

Value FractionsOp::emitResult(BodyContext &context, ValueRange, ValueRange) {
  Scalar position = positionInDouble(context);
  return (position * getStep().convertToDouble() + getStart().convertToDouble())
      .convertTo(computeType(typeOf(getY()).getElementType()), ScalarKind::floating)
      .value();
}

LogicalResult LinspaceOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                           Adaptor adaptor, SmallVectorImpl<Type> &types) {
  int64_t steps = adaptor.getSteps();
  if (steps < 0 || steps > std::numeric_limits<int32_t>::max())
    return emitOptionalError(location, "'", getOperationName(), "' has steps = ", steps,
                             "; expected 0 to ", std::numeric_limits<int32_t>::max());
  Type dtype = orF32(adaptor.getDtype(), context);
  if (!isa<FloatType>(dtype))
    return emitOptionalError(location, "'", getOperationName(), "' gives floats, got dtype ",
                             StringRef(text(makeTensor({}, dtype), {})).drop_back(2),
                             "; cast the result");
  types.push_back(makeTensor(constantDim(steps, context), dtype));
  return success();
}

LoopNest LinspaceOp::getLoopNest() { return indexNest(*this); }

Value LinspaceOp::emitResult(BodyContext &context, ValueRange, ValueRange) {
  Scalar position = positionInDouble(context);
  double start = getStart().convertToDouble(), end = getEnd().convertToDouble();
  double last = static_cast<double>(getSteps()) - 1, step = last > 0 ? (end - start) / last : 0;
  // From both ends, so that each is met exactly.
  Scalar low = position * step + start, high = end - (last - position) * step;
  return select(position * 2.0 < last + 1, low, high)
      .convertTo(computeType(typeOf(getY()).getElementType()), ScalarKind::floating)
      .value();
}

LogicalResult ScalarTensorOp::inferReturnTypes(MLIRContext *context, std::optional<Location>,
                                               Adaptor adaptor, SmallVectorImpl<Type> &types) {
  types.push_back(makeTensor({}, orF32(adaptor.getDtype(), context)));
  return success();
}

LoopNest ScalarTensorOp::getLoopNest() { return indexNest(*this); }

Value ScalarTensorOp::emitResult(BodyContext &context, ValueRange, ValueRange) {
  Type dtype = typeOf(getY()).getElementType();
  return integerOf(context, getS().getResult(0))
      .convertTo(computeType(dtype), scalarKind(dtype))
      .value();
}

LogicalResult EyeOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                      Adaptor adaptor, SmallVectorImpl<Type> &types) {
  AffineExpr rows = adaptor.getN().getResult(0);
  AffineExpr columns = adaptor.getM() ? adaptor.getM()->getResult(0) : rows;
  return inferCreated(getOperationName(), location, {rows, columns},
                      orF32(adaptor.getDtype(), context), types);
}

LoopNest EyeOp::getLoopNest() { return indexNest(*this); }

Value EyeOp::emitResult(BodyContext &context, ValueRange, ValueRange) {
  Type dtype = typeOf(getY()).getElementType();
  Value isDiagonal = arith::CmpIOp::create(context.builder, context.loc, arith::CmpIPredicate::eq,
                                           context.parallel[0], context.parallel[1]);
  return Scalar(context.builder, context.loc, isDiagonal, ScalarKind::boolean)
      .convertTo(computeType(dtype), scalarKind(dtype))
      .value();
}

} // namespace dlc::dl
