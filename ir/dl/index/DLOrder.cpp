//===- DLOrder.cpp - Running sums, and ops that put elements in order ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dlc::dl {

/// Elements of a dim up to which each sum is a loop of its own, and all pairs are compared by
/// loops. Along the last dim neighbours have different pairs, and are no vector: then these are
/// fewer.
static constexpr int64_t kFew = 16, kFewOfLast = 4;

static bool isAtMost(AffineExpr size, int64_t few) {
  auto constant = asConstant(size);
  return constant && *constant <= few;
}

/// For each element of the result, a loop over dim `dim` of `x`: its terms read x there, then at
/// the element's own place if `readsOwn`. The bodies read both places.
static LoopNest alongNest(Operation *op, Value x, int64_t dim, bool readsOwn) {
  MLIRContext *context = op->getContext();
  LoopNest nest;
  nest.parallel = dimsOf(op->getResult(0));
  unsigned rank = nest.parallel.size();
  dim = *wrapDim(std::nullopt, "", dim, rank);
  nest.reduction = {dimsOf(x)[dim]};
  nest.stages = {Combiner::add};
  nest.indexDims.resize(rank + 1);
  nest.indexDims.set(dim);
  nest.indexDims.set(rank);
  SmallVector<AffineExpr> map = loopsOf(context, 0, rank);
  if (readsOwn)
    nest.terms.push_back({0, AffineMap::get(rank + 1, kMaxSymbols, map, context)});
  map[dim] = getAffineDimExpr(rank, context);
  nest.terms.insert(nest.terms.begin(), {0, AffineMap::get(rank + 1, kMaxSymbols, map, context)});
  return nest;
}

static Value isIndex(BodyContext &context, arith::CmpIPredicate predicate, Value a, Value b) {
  return arith::CmpIOp::create(context.builder, context.loc, predicate, a, b);
}

/// The place along `dim` of a term, and of the element that it is for.
static std::pair<Value, Value> placesOf(BodyContext &context, int64_t dim) {
  return {context.reduction.front(),
          context.parallel[*wrapDim(std::nullopt, "", dim, context.parallel.size())]};
}

//===- cumsum ---------------------------------------------------------------------------------===//

LogicalResult CumsumOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  if (!wrapDim(location, getOperationName(), adaptor.getDim(), x.getRank()))
    return failure();
  Type sum =
      isa<FloatType>(x.getElementType()) ? x.getElementType() : IntegerType::get(context, 64);
  types.push_back(makeTensor(getDims(x), adaptor.getDtype().value_or(sum)));
  return success();
}

SmallVector<Value> CumsumOp::decompose(Builder &b) {
  Type dtype = typeOf(getY()).getElementType(), compute = dtype;
  if (isa<FloatType>(dtype))
    compute = computeType(dtype);
  int64_t dim = *wrapDim(std::nullopt, "", getDim(), typeOf(getX()).getRank());
  auto along = static_cast<uint64_t>(dim);
  Value x = b.cast(b.cast(getX(), dtype), compute);
  bool isShort = isAtMost(dimsOf(x)[dim], kFew);
  return {b.cast(isShort ? b.make<PrefixSumOp>(x, along) : b.make<RunningSumOp>(x, along), dtype)};
}

/// The sums along a dim of x: of its type.
static LogicalResult inferSums(std::optional<Location> location, StringRef op, Value x, int64_t dim,
                               SmallVectorImpl<Type> &types) {
  if (!wrapDim(location, op, dim, typeOf(x).getRank()))
    return failure();
  types.push_back(makeTensor(dimsOf(x), typeOf(x).getElementType()));
  return success();
}

LogicalResult RunningSumOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                             Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferSums(location, getOperationName(), adaptor.getX(), adaptor.getDim(), types);
}

LineWork RunningSumOp::getLineWork() {
  int64_t dim = *wrapDim(std::nullopt, "", getDim(), typeOf(getX()).getRank());
  Dim length = dimsOf(getX())[dim];
  return {LineWork::Kind::sum, static_cast<unsigned>(dim), length, length};
}

LogicalResult PrefixSumOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferSums(location, getOperationName(), adaptor.getX(), adaptor.getDim(), types);
}

LoopNest PrefixSumOp::getLoopNest() {
  return alongNest(*this, getX(), getDim(), /*readsOwn=*/false);
}

Value PrefixSumOp::emitTerm(BodyContext &context, unsigned, ValueRange args, ValueRange) {
  auto [at, own] = placesOf(context, getDim());
  Value isBefore = isIndex(context, arith::CmpIPredicate::sle, at, own);
  Value zero =
      Scalar(context.builder, context.loc, args.front(), kindOf(getX())).constant(0).value();
  return arith::SelectOp::create(context.builder, context.loc, isBefore, args.front(), zero);
}

//===- rank, places ---------------------------------------------------------------------------===//

LogicalResult RankOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                       Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  if (!wrapDim(location, getOperationName(), adaptor.getDim(), x.getRank()))
    return failure();
  types.push_back(makeTensor(getDims(x), IntegerType::get(context, 64)));
  return success();
}

LoopNest RankOp::getLoopNest() { return alongNest(*this, getX(), getDim(), /*readsOwn=*/true); }

Value RankOp::emitTerm(BodyContext &context, unsigned, ValueRange args, ValueRange) {
  OpBuilder &builder = context.builder;
  ScalarKind kind = kindOf(getX());
  Scalar other(builder, context.loc, args[0], kind), own(builder, context.loc, args[1], kind);
  Scalar precedes = getDescending() ? other > own : other < own, isEqual = other == own;
  if (other.isFloat()) {
    Scalar isLast = isNan(other), isOwnLast = isNan(own);
    precedes = precedes | (getDescending() ? isLast & !isOwnLast : isOwnLast & !isLast);
    isEqual = isEqual | (isLast & isOwnLast);
  }
  auto [at, place] = placesOf(context, getDim());
  Value isBefore = isIndex(context, arith::CmpIPredicate::slt, at, place);
  Value ties = arith::SelectOp::create(builder, context.loc, isBefore, isEqual.value(),
                                       isEqual.constant(0).value());
  Scalar counts = precedes | Scalar(builder, context.loc, ties, ScalarKind::boolean);
  return counts.convertTo(builder.getI64Type(), ScalarKind::signedInt).value();
}

/// The dims of x, `dim` of the size that `count` names; an error where that names no one size.
static std::optional<Dims> dimsCut(StringRef op, std::optional<Location> location, Value x,
                                   int64_t dim, AffineMap count) {
  auto along = wrapDim(location, op, dim, typeOf(x).getRank());
  if (!along)
    return std::nullopt;
  if (count.getNumResults() != 1 || count.getNumDims() != 0) {
    (void)emitOptionalError(location, "'", op, "' needs a count of one dim");
    return std::nullopt;
  }
  Dims dims = dimsOf(x);
  dims[*along] = normalize(count.getResult(0));
  return dims;
}

LogicalResult PlacesOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Value ranks = adaptor.getRanks();
  auto dims = dimsCut(getOperationName(), location, ranks, adaptor.getDim(), adaptor.getCount());
  if (!dims)
    return failure();
  types.push_back(makeTensor(*dims, typeOf(ranks).getElementType()));
  return success();
}

LogicalResult OrderOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                        Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto dims =
      dimsCut(getOperationName(), location, adaptor.getX(), adaptor.getDim(), adaptor.getCount());
  if (!dims)
    return failure();
  types.push_back(makeTensor(*dims, IntegerType::get(context, 64)));
  return success();
}

LineWork OrderOp::getLineWork() {
  int64_t dim = *wrapDim(std::nullopt, "", getDim(), typeOf(getX()).getRank());
  return {LineWork::Kind::order, static_cast<unsigned>(dim), dimsOf(getX())[dim],
          dimsOf(getY())[dim], getDescending()};
}

LoopNest PlacesOp::getLoopNest() {
  return alongNest(*this, getRanks(), getDim(), /*readsOwn=*/false);
}

Value PlacesOp::emitTerm(BodyContext &context, unsigned, ValueRange args, ValueRange) {
  OpBuilder &builder = context.builder;
  Type i64 = builder.getI64Type();
  auto [at, wanted] = placesOf(context, getDim());
  auto number = [&](Value index) -> Value {
    Value value = arith::IndexCastOp::create(builder, context.loc, i64, index);
    auto vector = dyn_cast<VectorType>(args.front().getType());
    return vector ? context.splat(value, vector) : value;
  };
  auto scalar = [&](Value value) {
    return Scalar(builder, context.loc, value, ScalarKind::signedInt);
  };
  return select(scalar(args.front()) == scalar(number(wanted)), scalar(number(at)), 0.0).value();
}

//===- sort, argsort, topk --------------------------------------------------------------------===//

/// Where the first `count` elements stand, in their order.
static Value firstPlaces(Builder &b, Value x, int64_t dim, bool descending, AffineExpr count) {
  auto along = static_cast<uint64_t>(dim);
  AffineMap cut = dimsMap(count, b.getContext());
  bool isLast = dim + 1 == typeOf(x).getRank();
  if (!isAtMost(dimsOf(x)[dim], isLast ? kFewOfLast : kFew))
    return b.make<OrderOp>(x, along, descending, cut);
  return b.make<PlacesOp>(b.make<RankOp>(x, along, descending), along, cut);
}

static SmallVector<Value> sorted(Builder &b, Value x, int64_t dim, bool descending,
                                 AffineExpr count) {
  Value places = firstPlaces(b, x, dim, descending, count);
  return {b.make<GatherOp>(x, places, static_cast<uint64_t>(dim)), places};
}

/// x, and the same of positions, `dim` cut to `count`.
static LogicalResult inferSorted(StringRef op, std::optional<Location> location, Value x,
                                 int64_t dim, std::optional<int64_t> count,
                                 SmallVectorImpl<Type> &types) {
  auto type = typeOf(x);
  auto along = wrapDim(location, op, dim, type.getRank());
  if (!along)
    return failure();
  Dims dims = getDims(type);
  if (count) {
    auto size = asConstant(dims[*along]);
    if (*count < 0 || (size && *count > *size))
      return emitOptionalError(location, "'", op, "' takes k = ", *count, " of dim ", *along,
                               " of ", text(x), "; expected 0 to its size");
    dims[*along] = constantDim(*count, type.getContext());
  }
  types.push_back(makeTensor(dims, type.getElementType()));
  types.push_back(makeTensor(dims, IntegerType::get(type.getContext(), 64)));
  return success();
}

LogicalResult SortOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                       Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferSorted(getOperationName(), location, adaptor.getX(), adaptor.getDim(), std::nullopt,
                     types);
}
SmallVector<Value> SortOp::decompose(Builder &b) {
  int64_t dim = *wrapDim(std::nullopt, "", getDim(), typeOf(getX()).getRank());
  return sorted(b, getX(), dim, getDescending(), dimsOf(getX())[dim]);
}

LogicalResult ArgsortOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                          Adaptor adaptor, SmallVectorImpl<Type> &types) {
  SmallVector<Type> both;
  if (failed(inferSorted(getOperationName(), location, adaptor.getX(), adaptor.getDim(),
                         std::nullopt, both)))
    return failure();
  types.push_back(both[1]);
  return success();
}
SmallVector<Value> ArgsortOp::decompose(Builder &b) {
  int64_t dim = *wrapDim(std::nullopt, "", getDim(), typeOf(getX()).getRank());
  return {firstPlaces(b, getX(), dim, getDescending(), dimsOf(getX())[dim])};
}

LogicalResult TopkOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                       Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferSorted(getOperationName(), location, adaptor.getX(), adaptor.getDim(), adaptor.getK(),
                     types);
}
SmallVector<Value> TopkOp::decompose(Builder &b) {
  int64_t dim = *wrapDim(std::nullopt, "", getDim(), typeOf(getX()).getRank());
  AffineExpr count = constantDim(static_cast<int64_t>(getK()), getContext());
  return sorted(b, getX(), dim, getLargest(), count);
}

} // namespace dlc::dl
