//===- DLReduction.cpp - Sums, statistics and truth over dims -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/reduction/DLReduction.h"
#include "ir/dl/base/DLBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SmallBitVector.h"

#include <cmath>

using namespace mlir;

namespace dlc::dl {

//===- Reductions over a set of dims ----------------------------------------------------------===//

/// The reduced dims, all of them where `dims` is empty; nullopt after an error.
static std::optional<llvm::SmallBitVector>
reducedDims(std::optional<Location> location, StringRef op, ArrayRef<int64_t> dims, int64_t rank) {
  llvm::SmallBitVector reduced(rank, dims.empty());
  for (int64_t dim : dims) {
    auto wrapped = wrapDim(location, op, dim, rank);
    if (!wrapped)
      return std::nullopt;
    if (reduced.test(*wrapped)) {
      (void)emitOptionalError(location, "'", op, "' names dim ", dim, " twice");
      return std::nullopt;
    }
    reduced.set(*wrapped);
  }
  return reduced;
}

LogicalResult inferReduction(StringRef op, std::optional<Location> location, RankedTensorType x,
                             ArrayRef<int64_t> dim, bool keepdim, Type element,
                             SmallVectorImpl<Type> &types) {
  auto reduced = reducedDims(location, op, dim, x.getRank());
  if (!reduced)
    return failure();
  Dims dims;
  for (auto [position, size] : llvm::enumerate(getDims(x))) {
    if (!reduced->test(position))
      dims.push_back(size);
    else if (keepdim)
      dims.push_back(constantDim(1, x.getContext()));
  }
  types.push_back(makeTensor(dims, element));
  return success();
}

LogicalResult refuseEmpty(StringRef op, std::optional<Location> location, Value x,
                          ArrayRef<int64_t> dim) {
  Dims dims = getDims(cast<RankedTensorType>(x.getType()));
  auto reduced = reducedDims(std::nullopt, op, dim, dims.size());
  if (!reduced)
    return success(); // reported by inferReduction
  for (unsigned position : reduced->set_bits())
    if (isConstant(dims[position], 0))
      return emitOptionalError(location, "'", op, "' over dim ", position, " of ", text(x),
                               ", which is empty");
  return success();
}

LoopNest reductionNest(Value x, Type result, ArrayRef<int64_t> dim, bool keepdim,
                       ArrayRef<Combiner> stages) {
  auto type = cast<RankedTensorType>(x.getType());
  MLIRContext *context = type.getContext();
  Dims dims = getDims(type);
  llvm::SmallBitVector reduced = *reducedDims(std::nullopt, "", dim, type.getRank());
  LoopNest nest;
  nest.parallel = getDims(cast<RankedTensorType>(result));
  nest.indexDims.resize(nest.parallel.size());
  nest.stages.assign(stages.begin(), stages.end());
  SmallVector<AffineExpr> map;
  unsigned parallel = 0;
  for (int64_t position = 0; position < type.getRank(); ++position) {
    if (!reduced.test(position)) {
      map.push_back(getAffineDimExpr(parallel++, context));
      continue;
    }
    parallel += keepdim;
    map.push_back(getAffineDimExpr(nest.parallel.size() + nest.reduction.size(), context));
    nest.reduction.push_back(dims[position]);
  }
  nest.terms.push_back({0, AffineMap::get(nest.numLoops(), kMaxSymbols, map, context)});
  return nest;
}

/// Sums of integers and bools are i64, as in PyTorch.
static Type sumType(Type element) {
  return isa<FloatType>(element) ? element : IntegerType::get(element.getContext(), 64);
}

/// An element of `x` as one of `type`.
static Value convertTerm(BodyContext &context, Value value, Value x, Type type) {
  if (getElementTypeOrSelf(x) == type)
    return value;
  return Scalar(context.builder, context.loc, value, kindOf(x)).castTo(type).value();
}

LogicalResult SumOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                      Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  return inferReduction(getOperationName(), location, x, adaptor.getDim(), adaptor.getKeepdim(),
                        adaptor.getDtype().value_or(sumType(x.getElementType())), types);
}
LoopNest SumOp::getLoopNest() {
  return reductionNest(getX(), getType(), getDim(), getKeepdim(), Combiner::add);
}
Value SumOp::emitTerm(BodyContext &context, unsigned, ValueRange args, ValueRange) {
  return convertTerm(context, args.front(), getX(), getElementTypeOrSelf(getType()));
}

LogicalResult ProdOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                       Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  return inferReduction(getOperationName(), location, x, adaptor.getDim(), adaptor.getKeepdim(),
                        sumType(x.getElementType()), types);
}
LoopNest ProdOp::getLoopNest() {
  return reductionNest(getX(), getType(), getDim(), getKeepdim(), Combiner::mul);
}
Value ProdOp::emitTerm(BodyContext &context, unsigned, ValueRange args, ValueRange) {
  return convertTerm(context, args.front(), getX(), getElementTypeOrSelf(getType()));
}

LogicalResult MeanOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                       Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  Type element = adaptor.getDtype().value_or(x.getElementType());
  if (!isa<FloatType>(element))
    return emitOptionalError(
        location, "'", getOperationName(), "' gives a float, got ", text(adaptor.getX()),
        adaptor.getDtype() ? " and an integer dtype" : "", "; say which one, as in dtype=f32");
  return inferReduction(getOperationName(), location, x, adaptor.getDim(), adaptor.getKeepdim(),
                        element, types);
}
LoopNest MeanOp::getLoopNest() {
  return reductionNest(getX(), getType(), getDim(), getKeepdim(), Combiner::add);
}
Value MeanOp::emitTerm(BodyContext &context, unsigned, ValueRange args, ValueRange) {
  return convertTerm(context, args.front(), getX(), getElementTypeOrSelf(getType()));
}
Value MeanOp::emitResult(BodyContext &context, ValueRange, ValueRange accs) {
  Scalar sum(context.builder, context.loc, accs.front(), ScalarKind::floating);
  return (sum / numTerms(context, getLoopNest().reduction, sum)).value();
}

//===- Statistics -----------------------------------------------------------------------------===//

Scalar numTerms(BodyContext &context, const Dims &reduction, Scalar like) {
  AffineExpr terms = product(reduction, context.builder.getContext());
  if (auto count = asConstant(terms))
    return like.constant(static_cast<double>(*count));
  Value integer = arith::IndexCastOp::create(context.builder, context.loc,
                                             context.builder.getI64Type(), context.extent(terms));
  Value count = Scalar(context.builder, context.loc, integer, ScalarKind::signedInt)
                    .convertTo(like.elementType(), ScalarKind::floating)
                    .value();
  if (auto vector = dyn_cast<VectorType>(like.value().getType()))
    count = context.splat(count, vector);
  return {context.builder, context.loc, count, ScalarKind::floating};
}

Value varianceTerm(BodyContext &context, unsigned stage, const Dims &reduction, ValueRange args,
                   ValueRange accs) {
  if (stage == 0)
    return args.front();
  Scalar x(context.builder, context.loc, args.front(), ScalarKind::floating);
  Scalar sum(context.builder, context.loc, accs[0], ScalarKind::floating);
  Scalar distance = x - sum / numTerms(context, reduction, sum);
  return (distance * distance).value();
}

static Scalar variance(BodyContext &context, const Dims &reduction, ValueRange accs,
                       bool isUnbiased, std::optional<int64_t> correction) {
  Scalar squares(context.builder, context.loc, accs[1], ScalarKind::floating);
  double less = correction ? static_cast<double>(*correction) : isUnbiased;
  return squares / max(numTerms(context, reduction, squares) - less, 0.0);
}

LogicalResult VarOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                      Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  return inferReduction(getOperationName(), location, x, adaptor.getDim(), adaptor.getKeepdim(),
                        x.getElementType(), types);
}
LoopNest VarOp::getLoopNest() {
  return reductionNest(getX(), getType(), getDim(), getKeepdim(), {Combiner::add, Combiner::add});
}
Value VarOp::emitTerm(BodyContext &context, unsigned stage, ValueRange args, ValueRange accs) {
  return varianceTerm(context, stage, getLoopNest().reduction, args, accs);
}
Value VarOp::emitResult(BodyContext &context, ValueRange, ValueRange accs) {
  return variance(context, getLoopNest().reduction, accs, getUnbiased(), getCorrection()).value();
}

LogicalResult StdOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                      Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  return inferReduction(getOperationName(), location, x, adaptor.getDim(), adaptor.getKeepdim(),
                        x.getElementType(), types);
}
/// A power of 2 by which numbers of at most `largest` can be multiplied so that neither their sum
/// nor the squares of their distances overflow or vanish: 1 unless they are very large or very
/// small.
static Scalar scaleOf(Scalar largest) {
  bool isDouble = largest.elementType().isF64();
  auto power = [&](int ofFloats, int ofDoubles) {
    return largest.constant(std::ldexp(1.0, isDouble ? ofDoubles : ofFloats));
  };
  return select(largest > power(50, 400), power(-80, -600),
                select(largest < power(-40, -400), power(90, 600), power(0, 0)));
}

LoopNest StdOp::getLoopNest() {
  return reductionNest(getX(), getType(), getDim(), getKeepdim(),
                       {Combiner::max, Combiner::add, Combiner::add});
}
Value StdOp::emitTerm(BodyContext &context, unsigned stage, ValueRange args, ValueRange accs) {
  Scalar x(context.builder, context.loc, args.front(), ScalarKind::floating);
  if (stage == 0)
    return abs(x).value();
  Scalar largest(context.builder, context.loc, accs.front(), ScalarKind::floating);
  return varianceTerm(context, stage - 1, getLoopNest().reduction, (x * scaleOf(largest)).value(),
                      accs.drop_front());
}
Value StdOp::emitResult(BodyContext &context, ValueRange, ValueRange accs) {
  Scalar largest(context.builder, context.loc, accs.front(), ScalarKind::floating);
  Scalar scaled =
      variance(context, getLoopNest().reduction, accs.drop_front(), getUnbiased(), getCorrection());
  return (sqrt(scaled) / scaleOf(largest)).value();
}

LogicalResult VarMeanOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                          Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  for (int result = 0; result < 2; ++result)
    if (failed(inferReduction(getOperationName(), location, x, adaptor.getDim(),
                              adaptor.getKeepdim(), x.getElementType(), types)))
      return failure();
  return success();
}
SmallVector<Value> VarMeanOp::decompose(Builder &builder) {
  return {builder.make<VarOp>(getX(), getDim(), getUnbiased(), getCorrectionAttr(), getKeepdim()),
          builder.make<MeanOp>(getX(), getDim(), getKeepdim(), TypeAttr())};
}

//===- logsumexp and norm ---------------------------------------------------------------------===//

LogicalResult LogSumExpOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  return inferReduction(getOperationName(), location, x, adaptor.getDim(), adaptor.getKeepdim(),
                        x.getElementType(), types);
}
LoopNest LogSumExpOp::getLoopNest() {
  return reductionNest(getX(), getType(), getDim(), getKeepdim(), {Combiner::max, Combiner::add});
}
/// The largest value, or 0 where that is infinite: then the terms need no shift.
static Scalar shiftOf(BodyContext &context, ValueRange accs) {
  Scalar largest(context.builder, context.loc, accs[0], ScalarKind::floating);
  return select(abs(largest) == std::numeric_limits<double>::infinity(), 0.0, largest);
}
Value LogSumExpOp::emitTerm(BodyContext &context, unsigned stage, ValueRange args,
                            ValueRange accs) {
  if (stage == 0)
    return args.front();
  Scalar x(context.builder, context.loc, args.front(), ScalarKind::floating);
  return exp(x - shiftOf(context, accs)).value();
}
Value LogSumExpOp::emitResult(BodyContext &context, ValueRange, ValueRange accs) {
  Scalar sum(context.builder, context.loc, accs[1], ScalarKind::floating);
  return (shiftOf(context, accs) + log(sum)).value();
}

LogicalResult NormOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                       Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  if (adaptor.getP().isInfinity() &&
      failed(refuseEmpty(getOperationName(), location, adaptor.getX(), adaptor.getDim())))
    return failure();
  return inferReduction(getOperationName(), location, x, adaptor.getDim(), adaptor.getKeepdim(),
                        x.getElementType(), types);
}
LoopNest NormOp::getLoopNest() {
  Combiner combiner = !getP().isInfinity()  ? Combiner::add
                      : getP().isNegative() ? Combiner::min
                                            : Combiner::max;
  return reductionNest(getX(), getType(), getDim(), getKeepdim(), combiner);
}
Value NormOp::emitTerm(BodyContext &context, unsigned, ValueRange args, ValueRange) {
  Scalar x(context.builder, context.loc, args.front(), ScalarKind::floating);
  if (getP().isInfinity())
    return abs(x).value();
  if (getP().isZero())
    return select(x == 0.0, 0.0, x.constant(1.0)).value();
  double p = getP().convertToDouble();
  return (p == 2.0 ? x * x : pow(abs(x), p)).value();
}
Value NormOp::emitResult(BodyContext &context, ValueRange, ValueRange accs) {
  Scalar sum(context.builder, context.loc, accs.front(), ScalarKind::floating);
  if (getP().isInfinity() || getP().isZero())
    return sum.value();
  return pow(sum, 1.0 / getP().convertToDouble()).value();
}

//===- Truth ----------------------------------------------------------------------------------===//

LogicalResult AnyOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                      Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferReduction(getOperationName(), location,
                        cast<RankedTensorType>(adaptor.getX().getType()), adaptor.getDim(),
                        adaptor.getKeepdim(), IntegerType::get(context, 1), types);
}
/// 1 where x is true, else 0, in a type whose extremes are reduced: bytes.
static Value truthOf(Builder &builder, Value x) {
  Value truth = builder.cast(x, builder.getI1Type());
  return builder.cast(truth, builder.getIntegerType(8, /*isSigned=*/false));
}
/// Whether any of bytes of 0 and 1 is 1. The largest of them, as many to a vector as there are
/// bytes; where there may be none, of which the largest has no meaning, their sum, which never
/// becomes 0 again.
static Value anyOf(Builder &builder, Value truth, ArrayRef<int64_t> dim, bool keepdim) {
  auto type = cast<RankedTensorType>(truth.getType());
  auto reduced = reducedDims(std::nullopt, "", dim, type.getRank());
  bool hasSome = reduced && llvm::all_of(reduced->set_bits(), [&](unsigned position) {
                   return asConstant(getDims(type)[position]).value_or(0) > 0;
                 });
  Value found = hasSome ? builder.make<AmaxOp>(truth, dim, keepdim)
                        : builder.make<SumOp>(truth, dim, keepdim, TypeAttr());
  return builder.cast(found, builder.getI1Type());
}
SmallVector<Value> AnyOp::decompose(Builder &builder) {
  return {anyOf(builder, truthOf(builder, getX()), getDim(), getKeepdim())};
}

LogicalResult AllOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                      Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferReduction(getOperationName(), location,
                        cast<RankedTensorType>(adaptor.getX().getType()), adaptor.getDim(),
                        adaptor.getKeepdim(), IntegerType::get(context, 1), types);
}
SmallVector<Value> AllOp::decompose(Builder &builder) {
  // Nothing is false.
  Value isFalse = truthOf(builder, builder.make<LogicalNotOp>(getX()));
  return {builder.make<LogicalNotOp>(anyOf(builder, isFalse, getDim(), getKeepdim()))};
}

LogicalResult CountNonzeroOp::inferReturnTypes(MLIRContext *context,
                                               std::optional<Location> location, Adaptor adaptor,
                                               SmallVectorImpl<Type> &types) {
  return inferReduction(getOperationName(), location,
                        cast<RankedTensorType>(adaptor.getX().getType()), adaptor.getDim(),
                        /*keepdim=*/false, IntegerType::get(context, 64), types);
}
SmallVector<Value> CountNonzeroOp::decompose(Builder &builder) {
  return {builder.make<SumOp>(truthOf(builder, getX()), getDim(), /*keepdim=*/false, TypeAttr())};
}

} // namespace dlc::dl
