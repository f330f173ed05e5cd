//===- DLScatter.cpp - Ops that write at positions which a tensor holds -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/index/DLScatter.h"

#include "ir/dl/base/DLBuilder.h"

using namespace mlir;

namespace dlc::dl {

/// Positions along a dim up to which each element of the result looks through them.
static constexpr int64_t kFewPositions = 4;

static bool hasFew(Value index, int64_t dim) {
  auto positions = asConstant(dimsOf(index)[dim]);
  return positions && *positions <= kFewPositions;
}

LogicalResult checkScatter(StringRef op, std::optional<Location> location, Value x, int64_t dim,
                           Value index, Value src) {
  auto xType = typeOf(x);
  auto along = wrapDim(location, op, dim, xType.getRank());
  if (!along)
    return failure();
  auto isWithin = [](Value small, Value large, std::optional<int64_t> except) {
    bool fits = typeOf(small).getRank() == typeOf(large).getRank();
    for (int64_t i = 0; fits && i < typeOf(small).getRank(); ++i) {
      AffineExpr a = dimsOf(small)[i], b = dimsOf(large)[i];
      auto size = asConstant(a), most = asConstant(b);
      fits = i == except || a == b || (size && most && *size <= *most);
    }
    return fits;
  };
  if (!isWithin(index, x, along))
    return emitOptionalError(location, "'", op, "' along dim ", *along, " of ", text(x),
                             " has index ", text(index),
                             "; expected the same rank and, along the other dims, no larger sizes");
  if (!src)
    return success();
  if (typeOf(src).getElementType() != xType.getElementType())
    return emitOptionalError(location, "'", op, "' has src ", text(src), " for ", text(x),
                             "; expected the same dtype");
  if (!isWithin(index, src, std::nullopt))
    return emitOptionalError(location, "'", op, "' has index ", text(index), " and src ", text(src),
                             "; expected the same rank and no larger sizes than those of src");
  return success();
}

template <typename Op> static int64_t dimOf(Op op) {
  return *wrapDim(std::nullopt, "", op.getDim(), typeOf(op.getY()).getRank());
}

//===- scatter_apply --------------------------------------------------------------------------===//

LogicalResult ScatterApplyOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                               Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX()), src = typeOf(adaptor.getSrc());
  Dims dims = getDims(x), index = dimsOf(adaptor.getIndex()), update = getDims(src);
  auto dim = wrapDim(location, getOperationName(), adaptor.getDim(), x.getRank());
  if (!dim)
    return failure();
  bool fits = index.size() == dims.size() && update.size() == dims.size() &&
              src.getElementType() == x.getElementType();
  for (int64_t i = 0; fits && i < x.getRank(); ++i)
    fits = i == *dim ? index[i] == update[i]
                     : update[i] == dims[i] && (index[i] == dims[i] || isConstant(index[i], 1));
  if (!fits)
    return emitOptionalError(location, "'", getOperationName(), "' along dim ", *dim, " of ",
                             text(adaptor.getX()), " has index ", text(adaptor.getIndex()),
                             " and src ", text(adaptor.getSrc()),
                             "; expected equal dims but for that one");
  auto reduce = adaptor.getReduce();
  if (reduce && !llvm::is_contained({"sum", "prod", "amax", "amin"}, *reduce))
    return emitOptionalError(location, "'", getOperationName(), "' has reduce = '", *reduce,
                             "'; expected 'sum', 'prod', 'amax' or 'amin'");
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

LineWork ScatterApplyOp::getLineWork() {
  int64_t dim = dimOf(*this);
  LineWork work{LineWork::Kind::scatter, static_cast<unsigned>(dim), dimsOf(getIndex())[dim],
                dimsOf(getX())[dim]};
  if (auto reduce = getReduce())
    work.combiner = scatterCombiner(*reduce);
  return work;
}

namespace {
/// The operands of a scatter as dl.scatter_apply wants them.
struct Updates {
  Builder &b;
  Value index, src;
  int64_t dim;

  /// x after them; an empty `reduce`: the last one of each place stays.
  Value madeIn(Value x, StringRef reduce) { return madeIn(x, src, reduce); }
  /// The same with `number` in place of all elements of src, of the dtype of x.
  Value madeIn(Value x, double number, StringRef reduce) {
    return madeIn(x, b.full(dimsOf(src), typeOf(x).getElementType(), number), reduce);
  }

private:
  Value madeIn(Value x, Value from, StringRef reduce) {
    return b.make<ScatterApplyOp>(x, index, from, static_cast<uint64_t>(dim),
                                  reduce.empty() ? StringAttr() : b.getStringAttr(reduce));
  }
};
} // namespace

/// What `index` repeats along other dims than `dim`, where it is a repetition.
static Value unrepeated(Value index, int64_t dim) {
  auto repetition = index.getDefiningOp<BroadcastOp>();
  if (!repetition)
    return index;
  Dims from = dimsOf(repetition.getX()), to = dimsOf(index);
  return from.size() == to.size() && from[dim] == to[dim] ? repetition.getX() : index;
}

/// The updates of the part of src that has positions. Places of x for which index has no element
/// get the position -1.
static Updates updatesOf(Builder &b, Value x, Value index, Value src, int64_t dim) {
  Dims whole = dimsOf(x), part = dimsOf(index);
  bool isWhole = true;
  for (auto [i, size] : llvm::enumerate(part)) {
    if (size != dimsOf(src)[i])
      src = b.slice(src, i, 0, *asConstant(size));
    isWhole &= static_cast<int64_t>(i) == dim || size == whole[i];
  }
  if (isWhole)
    return {b, unrepeated(index, dim), src, dim};
  index = b.cast(index, b.getI64Type());
  index = b.make<AddOp>(index, b.fullLike(index, 1));
  for (auto [i, size] : llvm::enumerate(part)) {
    if (static_cast<int64_t>(i) == dim || size == whole[i])
      continue;
    int64_t missing = *asConstant(whole[i]) - *asConstant(size);
    index = b.pad(index, i, 0, missing);
    src = b.pad(src, i, 0, missing);
  }
  return {b, b.make<SubOp>(index, b.fullLike(index, 1)), src, dim};
}

//===- scatter, scatter_add -------------------------------------------------------------------===//

LogicalResult ScatterOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                          Adaptor adaptor, SmallVectorImpl<Type> &types) {
  StringRef name = getOperationName();
  if (failed(checkScatter(name, location, adaptor.getX(), adaptor.getDim(), adaptor.getIndex(),
                          adaptor.getSrc())))
    return failure();
  auto x = typeOf(adaptor.getX());
  if (!adaptor.getSrc() == !adaptor.getValue())
    return emitOptionalError(location, "'", name, "' takes src or value");
  if (auto reduce = adaptor.getReduce()) {
    if (*reduce != "add" && *reduce != "multiply")
      return emitOptionalError(location, "'", name, "' has reduce = '", *reduce,
                               "'; expected 'add' or 'multiply'");
    if (x.getElementType().isInteger(1))
      return emitOptionalError(location, "'", name, "' with reduce needs numbers, got ",
                               text(adaptor.getX()));
  }
  types.push_back(makeTensor(getDims(x), x.getElementType()));
  return success();
}

SmallVector<Value> ScatterOp::decompose(Builder &b) {
  Value x = getX(), src = getSrc(), index = getIndex();
  int64_t dim = dimOf(*this);
  auto along = static_cast<uint64_t>(dim);
  if (!src)
    src = b.full(dimsOf(index), typeOf(x).getElementType(), getValue()->convertToDouble());
  if (auto reduce = getReduce())
    return {b.make<ScatterReduceOp>(x, along, index, src, *reduce == "add" ? "sum" : "prod", true)};
  if (!hasFew(index, dim))
    return {updatesOf(b, x, index, src, dim).madeIn(x, "")};
  Value source = b.make<ScatterSourceOp>(index, along, dimsMap(dimsOf(x), getContext()));
  return {b.make<ScatterTakeOp>(x, source, src, along)};
}

LogicalResult ScatterAddOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                             Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  types.push_back(makeTensor(getDims(x), x.getElementType()));
  return checkScatter(getOperationName(), location, adaptor.getX(), adaptor.getDim(),
                      adaptor.getIndex(), adaptor.getSrc());
}

SmallVector<Value> ScatterAddOp::decompose(Builder &b) {
  return {b.make<ScatterReduceOp>(getX(), getDim(), getIndex(), getSrc(), "sum", true)};
}

LogicalResult IndexAddOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                           Adaptor adaptor, SmallVectorImpl<Type> &types) {
  StringRef name = getOperationName();
  auto x = typeOf(adaptor.getX()), source = typeOf(adaptor.getSource());
  auto dim = wrapDim(location, name, adaptor.getDim(), x.getRank());
  if (!dim)
    return failure();
  Dims index = dimsOf(adaptor.getIndex()), slices = getDims(x);
  if (index.size() == 1)
    slices[*dim] = index[0];
  if (index.size() != 1 || getDims(source) != slices ||
      source.getElementType() != x.getElementType())
    return emitOptionalError(location, "'", name, "' along dim ", *dim, " of ",
                             text(adaptor.getX()), " has index ", text(adaptor.getIndex()),
                             " and source ", text(adaptor.getSource()),
                             "; expected a vector, and a slice of the dims of x for each element");
  if (!isa<FloatType>(x.getElementType()) && !adaptor.getAlpha().isInteger())
    return emitOptionalError(location, "'", name, "' of integers needs a whole number for alpha");
  types.push_back(makeTensor(getDims(x), x.getElementType()));
  return success();
}

SmallVector<Value> IndexAddOp::decompose(Builder &b) {
  int64_t dim = dimOf(*this);
  Value source = getSource();
  if (!getAlpha().isExactlyValue(1.0))
    source = b.make<MulOp>(source, b.fullLike(source, getAlpha().convertToDouble()));
  Dims line(typeOf(source).getRank(), constantDim(1, getContext()));
  line[dim] = dimsOf(getIndex())[0];
  Value index = b.broadcast(b.reshape(getIndex(), line), dimsOf(source));
  return {b.make<ScatterReduceOp>(getX(), static_cast<uint64_t>(dim), index, source, "sum", true)};
}

//===- scatter_reduce -------------------------------------------------------------------------===//

LogicalResult inferReduced(StringRef op, std::optional<Location> location, Value of, int64_t dim,
                           Value index, Value src, StringRef reduce, SmallVectorImpl<Type> &types) {
  auto x = typeOf(of);
  if (failed(checkScatter(op, location, of, dim, index, src)))
    return failure();
  if (!llvm::is_contained({"sum", "prod", "mean", "amax", "amin"}, reduce))
    return emitOptionalError(location, "'", op, "' has reduce = '", reduce,
                             "'; expected 'sum', 'prod', 'mean', 'amax' or 'amin'");
  if (reduce == "mean" && !isa<FloatType>(x.getElementType()))
    return emitOptionalError(location, "'", op, "' with reduce = 'mean' needs floats, got ",
                             text(of));
  types.push_back(makeTensor(getDims(x), x.getElementType()));
  return success();
}

LogicalResult ScatterReduceOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferReduced(getOperationName(), location, adaptor.getX(), adaptor.getDim(),
                      adaptor.getIndex(), adaptor.getSrc(), adaptor.getReduce(), types);
}

Combiner scatterCombiner(StringRef reduce) {
  return reduce == "prod"   ? Combiner::mul
         : reduce == "amax" ? Combiner::max
         : reduce == "amin" ? Combiner::min
                            : Combiner::add;
}

SmallVector<Value> ScatterReduceOp::decompose(Builder &b) {
  int64_t dim = dimOf(*this);
  StringRef reduce = getReduce();
  bool withSelf = getIncludeSelf(), isMean = reduce == "mean";
  if (hasFew(getIndex(), dim))
    return {b.make<ScatterSeekOp>(getX(), getIndex(), getSrc(), static_cast<uint64_t>(dim), reduce,
                                  withSelf)};
  Type dtype = typeOf(getX()).getElementType(), compute = dtype;
  // Sums and products of 16-bit floats are rounded once.
  if (isa<FloatType>(dtype) && reduce != "amax" && reduce != "amin")
    compute = computeType(dtype);
  Value x = b.cast(getX(), compute), y = x;
  Updates updates = updatesOf(b, x, getIndex(), b.cast(getSrc(), compute), dim);
  if (isMean) {
    // Without x the sums begin with 0, and x stands where there are none.
    Value counts = updates.madeIn(b.full(dimsOf(x), b.getI32Type(), withSelf ? 1 : 0), 1.0, "sum");
    y = updates.madeIn(withSelf ? x : b.fullLike(x, 0), "sum");
    y = b.make<DivOp>(y, b.cast(b.make<MaximumOp>(counts, b.fullLike(counts, 1)), compute));
    if (!withSelf)
      y = b.make<WhereOp>(b.make<GtOp>(counts, b.fullLike(counts, 0)), y, x);
    return {b.cast(y, dtype)};
  }
  // Without x, places that have updates begin with what changes none of them: one of these, of the
  // largest and smallest.
  if (!withSelf)
    y = reduce == "amax" || reduce == "amin" ? updates.madeIn(y, "")
                                             : updates.madeIn(y, reduce == "prod" ? 1.0 : 0.0, "");
  y = updates.madeIn(y, reduce);
  return {b.cast(y, dtype)};
}

} // namespace dlc::dl
