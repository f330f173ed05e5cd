//===- DLOrder.cpp - Running sums, and ops that put elements in order ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/dl/DLBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dlc::dl {

/// Elements of a dim that one loop sums; longer dims are cut up.
static constexpr int64_t kSumBlock = 32;
/// Elements among which the first ones are looked for at once, or four times as many as these.
static constexpr int64_t kOrderBlock = 128;

/// For each element of the result, a loop over dim `dim` of `x`: its terms read x there, then at the element's own place if
/// `readsOwn`. The bodies read both places.
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

//===- cumsum -------------------------------------------------------------------------------------===//

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
  int64_t dim = *wrapDim(std::nullopt, "", getDim(), typeOf(getX()).getRank());
  Dims dims = dimsOf(getX());
  auto size = asConstant(dims[dim]);
  if (isa<FloatType>(dtype))
    compute = computeType(dtype);
  Value x = b.cast(b.cast(getX(), dtype), compute);
  if (!size || *size <= 2 * kSumBlock)
    return {b.cast(b.make<PrefixSumOp>(x, static_cast<uint64_t>(dim)), dtype)};
  // Sums within blocks, and before each of them the sum of all blocks to its left.
  int64_t blocks = (*size + kSumBlock - 1) / kSumBlock;
  Dims cut = dims;
  cut[dim] = b.getAffineConstantExpr(blocks);
  cut.insert(cut.begin() + dim + 1, b.getAffineConstantExpr(kSumBlock));
  x = b.reshape(b.pad(x, dim, 0, blocks * kSumBlock - *size), cut);
  Value within = b.make<PrefixSumOp>(x, static_cast<uint64_t>(dim + 1));
  Value totals = b.make<CumsumOp>(b.select(within, dim + 1, kSumBlock - 1),
                                  static_cast<uint64_t>(dim), TypeAttr());
  Value before = b.broadcast(b.unsqueeze(b.pad(totals, dim, 1, -1), dim + 1), cut);
  Dims padded = dims;
  padded[dim] = b.getAffineConstantExpr(blocks * kSumBlock);
  Value y = b.reshape(b.make<AddOp>(within, before), padded);
  return {b.cast(b.slice(y, dim, 0, size), dtype)};
}

LogicalResult PrefixSumOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  if (!wrapDim(location, getOperationName(), adaptor.getDim(), x.getRank()))
    return failure();
  types.push_back(makeTensor(getDims(x), x.getElementType()));
  return success();
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

//===- rank, places -------------------------------------------------------------------------------===//

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

LogicalResult PlacesOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto ranks = typeOf(adaptor.getRanks());
  auto dim = wrapDim(location, getOperationName(), adaptor.getDim(), ranks.getRank());
  if (!dim)
    return failure();
  Dims dims = getDims(ranks);
  AffineMap count = adaptor.getCount();
  if (count.getNumResults() != 1 || count.getNumDims() != 0)
    return emitOptionalError(location, "'", getOperationName(), "' needs a count of one dim");
  dims[*dim] = normalize(count.getResult(0));
  types.push_back(makeTensor(dims, ranks.getElementType()));
  return success();
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

//===- sort, argsort, topk ------------------------------------------------------------------------===//

/// Where the first `count` elements stand, in their order.
static Value firstPlaces(Builder &b, Value x, int64_t dim, bool descending, AffineExpr count) {
  Value ranks = b.make<RankOp>(x, static_cast<uint64_t>(dim), descending);
  return b.make<PlacesOp>(ranks, static_cast<uint64_t>(dim), dimsMap(count, b.getContext()));
}

static SmallVector<Value> sorted(Builder &b, Value x, int64_t dim, bool descending,
                                 AffineExpr count) {
  Value places = firstPlaces(b, x, dim, descending, count);
  return {b.make<GatherOp>(x, places, static_cast<uint64_t>(dim)), places};
}

/// The first `count` of a long dim: those of its blocks, in which all of them are, then the first of these. Blocks follow each
/// other as their elements did, so equal elements stay in order.
static SmallVector<Value> firstOfBlocks(Builder &b, Value x, int64_t dim, bool descending,
                                        int64_t count) {
  Dims dims = dimsOf(x);
  int64_t size = asConstant(dims[dim]).value_or(0), width = std::max(kOrderBlock, 4 * count);
  auto number = [&](int64_t value) { return b.getAffineConstantExpr(value); };
  if (size < 4 * width)
    return sorted(b, x, dim, descending, number(count));
  int64_t blocks = size / width, rest = size - blocks * width;
  Dims cut = dims, joined = dims;
  cut[dim] = number(blocks);
  cut.insert(cut.begin() + dim + 1, number(width));
  joined[dim] = number(blocks * count);
  Value whole = b.reshape(b.slice(x, dim, 0, blocks * width), cut);
  SmallVector<Value> best = sorted(b, whole, dim + 1, descending, number(count));
  // Places in the blocks become places in the dim.
  Dims along(cut.size(), number(1));
  along[dim] = number(blocks);
  AffineExpr end = number(blocks * width);
  Value first = b.make<ArangeOp>(dimsMap(end, b.getContext()), AffineMapAttr(),
                                 static_cast<uint64_t>(width), TypeAttr());
  first = b.broadcast(b.reshape(first, along), dimsOf(best[1]));
  Value values = b.reshape(best[0], joined),
        places = b.reshape(b.make<AddOp>(best[1], first), joined);
  if (rest > 0) {
    SmallVector<Value> last = sorted(b, b.slice(x, dim, blocks * width, size), dim, descending,
                                     number(std::min(rest, count)));
    Value shift = b.fullLike(last[1], static_cast<double>(blocks * width));
    auto at = static_cast<uint64_t>(dim);
    values = b.make<CatOp>(ValueRange{values, last[0]}, at);
    places = b.make<CatOp>(ValueRange{places, b.make<AddOp>(last[1], shift)}, at);
  }
  SmallVector<Value> all = firstOfBlocks(b, values, dim, descending, count);
  return {all[0], b.make<GatherOp>(places, all[1], static_cast<uint64_t>(dim))};
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
                               " of ", text(type), "; expected 0 to its size");
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
  return firstOfBlocks(b, getX(), dim, getLargest(), static_cast<int64_t>(getK()));
}

} // namespace dlc::dl
