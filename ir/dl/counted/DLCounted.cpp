//===- DLCounted.cpp - Ops whose results are as large as the data say ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"

using namespace mlir;

namespace dlc::dl {

static constexpr uint64_t kFirst = 0; // dim

static RankedTensorType countType(MLIRContext *context) {
  return makeTensor({}, IntegerType::get(context, 64));
}

static Value flat(Builder &b, Value x) { return b.reshape(x, product(dimsOf(x), b.getContext())); }

/// Elements that are not zero; NaN is none.
static Value truthOf(Builder &b, Value x) {
  return typeOf(x).getElementType().isInteger(1) ? x : b.make<NeOp>(x, b.fullLike(x, 0));
}

/// The numbers 0, 1, ... along dim `dim`, repeated along the others of `dims`.
static Value numbers(Builder &b, ArrayRef<AffineExpr> dims, int64_t dim, Type dtype = {}) {
  Value along = b.make<ArangeOp>(dimsMap(dims[dim], b.getContext()), AffineMapAttr(), uint64_t(1),
                                 dtype ? TypeAttr::get(dtype) : TypeAttr());
  Dims held(dims.size(), constantDim(1, b.getContext()));
  held[dim] = dims[dim];
  return b.broadcast(b.reshape(along, held), dims);
}

/// In which positions and numbers of the elements of the row `x` are computed: half of the memory
/// where that does.
static Type positionType(Builder &b, Value x) {
  Region *region = x.getParentRegion();
  auto module = region ? region->getParentOfType<ModuleOp>() : ModuleOp();
  auto range = rangeOf(dimsOf(x)[0], module ? symbolRanges(module) : SmallVector<Range>());
  bool isSmall = range && range->max <= std::numeric_limits<int32_t>::max();
  return isSmall ? b.getI32Type() : b.getI64Type();
}

namespace {
/// Of a row of elements, those that are chosen.
struct Chosen {
  Value mask;
  Value upTo; // for each element, how many are chosen up to and with it
  // For each element, where it goes among the chosen ones; of the others, where the next chosen one
  // goes
  Value places;
  Value count; // i64[]
};
} // namespace

static Value add(Builder &b, Value x, double number) {
  return b.make<AddOp>(x, b.fullLike(x, number));
}

/// Those where mask holds, in their order.
static Chosen choose(Builder &b, Value mask) {
  Type type = positionType(b, mask);
  Value ones = b.cast(mask, type), upTo = b.make<CumsumOp>(ones, kFirst, TypeAttr::get(type));
  return {mask, upTo, b.make<SubOp>(upTo, ones),
          b.make<SumOp>(ones, ArrayRef<int64_t>{0}, false, TypeAttr())};
}

/// What has the first dim of `x` alone, repeated along the others.
static Value alongSlices(Builder &b, Value row, Value x) {
  Dims dims = dimsOf(x), held(dims.size(), constantDim(1, b.getContext()));
  held[0] = dims[0];
  return b.broadcast(b.reshape(row, held), dims);
}

/// The slices of `x` along its first dim, each at its place; zeros where none is.
static Value put(Builder &b, Value x, Value places) {
  return b.make<ScatterOp>(b.fullLike(x, 0), kFirst, alongSlices(b, places, x), x, FloatAttr(),
                           StringAttr());
}

/// The chosen slices of `x`, then zeros. The others are written as zeros where a chosen one
/// follows, or none does: no step depends on the data.
static Value compact(Builder &b, Value x, const Chosen &chosen) {
  Value mask = alongSlices(b, chosen.mask, x);
  return put(b, b.make<WhereOp>(mask, x, b.fullLike(x, 0)), chosen.places);
}

//===- trim -----------------------------------------------------------------------------------===//

LogicalResult TrimOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                       Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  AffineMap size = adaptor.getSize();
  if (adaptor.getDim() >= static_cast<uint64_t>(x.getRank()) || size.getNumDims() != 0 ||
      size.getNumResults() != 1)
    return emitOptionalError(location, "'", getOperationName(),
                             "' needs one of the dims of x, and one dim as its size");
  Dims dims = getDims(x);
  dims[adaptor.getDim()] = size.getResult(0);
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

LoopNest TrimOp::getLoopNest() {
  return moveNest(*this, loopsOf(getContext(), 0, typeOf(getX()).getRank()));
}

//===- nonzero --------------------------------------------------------------------------------===//

LogicalResult NonzeroOp::inferReturnTypes(MLIRContext *context, std::optional<Location>,
                                          Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Dims dims = dimsOf(adaptor.getX());
  types.push_back(
      makeTensor({product(dims, context), constantDim(static_cast<int64_t>(dims.size()), context)},
                 IntegerType::get(context, 64)));
  types.push_back(countType(context));
  return success();
}

/// `size` in the dims and dtype of `x`.
static Value sizeLike(Builder &b, Value x, AffineExpr size) {
  Type dtype = typeOf(x).getElementType();
  if (auto constant = asConstant(size))
    return b.fullLike(x, static_cast<double>(*constant));
  return b.broadcast(b.make<ScalarTensorOp>(dimsMap(size, b.getContext()), TypeAttr::get(dtype)),
                     dimsOf(x));
}

SmallVector<Value> NonzeroOp::decompose(Builder &b) {
  Dims dims = dimsOf(getX());
  Value mask = flat(b, truthOf(b, getX()));
  Chosen chosen = choose(b, mask);
  if (dims.empty())
    return {b.full(dimsOf(getY()), b.getI64Type(), 0), chosen.count};
  // Of each element its position in the row, from which follow its indices.
  Value rest = compact(b, numbers(b, dimsOf(mask), 0, positionType(b, mask)), chosen);
  SmallVector<Value> indices(dims.size());
  for (size_t dim = dims.size(); dim-- > 0;) {
    Value index = rest;
    if (dim > 0) {
      Value size = sizeLike(b, rest, dims[dim]), whole = b.make<TruncDivideOp>(rest, size);
      index = b.make<SubOp>(rest, b.make<MulOp>(whole, size));
      rest = whole;
    }
    indices[dim] = b.cast(index, b.getI64Type());
  }
  return {b.make<StackOp>(indices, uint64_t(1)), chosen.count};
}

//===- masked_select --------------------------------------------------------------------------===//

LogicalResult MaskedSelectOp::inferReturnTypes(MLIRContext *context,
                                               std::optional<Location> location, Adaptor adaptor,
                                               SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX()), mask = typeOf(adaptor.getMask());
  auto dims = commonDims(getDims(x), getDims(mask));
  if (!dims)
    return emitOptionalError(location, "'", getOperationName(), "' has a mask of ",
                             text(adaptor.getMask()), " for ", text(adaptor.getX()),
                             "; expected dims that broadcast");
  types.push_back(makeTensor({product(*dims, context)}, x.getElementType()));
  types.push_back(countType(context));
  return success();
}

SmallVector<Value> MaskedSelectOp::decompose(Builder &b) {
  Dims dims = *commonDims(dimsOf(getX()), dimsOf(getMask()));
  Chosen chosen = choose(b, flat(b, b.broadcast(getMask(), dims)));
  return {compact(b, flat(b, b.broadcast(getX(), dims)), chosen), chosen.count};
}

//===- unique ---------------------------------------------------------------------------------===//

LogicalResult UniqueOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  Type i64 = IntegerType::get(context, 64);
  Dims values = getDims(x), inverse = values;
  AffineExpr size = product(values, context);
  if (auto given = adaptor.getDim()) {
    auto dim = wrapDim(location, getOperationName(), *given, x.getRank());
    if (!dim)
      return failure();
    size = values[*dim];
    Dims rest = values;
    rest.erase(rest.begin() + *dim);
    if (asConstant(product(rest, context)).value_or(0) < 1)
      return emitOptionalError(location, "'", getOperationName(), "' along dim ", *dim, " of ",
                               text(adaptor.getX()),
                               " needs static sizes of the other dims, none of them 0");
    inverse = {size};
  } else {
    values = {size};
  }
  types.push_back(makeTensor(values, x.getElementType()));
  types.push_back(makeTensor({size}, i64));
  types.push_back(makeTensor(inverse, i64));
  types.push_back(makeTensor({size}, i64));
  types.push_back(countType(context));
  return success();
}

namespace {
/// A row of elements in ascending order, equal ones in the order in which they stood.
struct Groups {
  Value values, from; // the elements, and where they stood
  Chosen firsts;      // those that begin a group of equal ones
  Value numbers;      // of the group of each

  Groups(Builder &b, Value x) {
    auto sort = SortOp::create(b, x, uint64_t(0), false, true);
    values = sort.getValues();
    from = sort.getIndices();
    Value iota = dl::numbers(b, dimsOf(x), 0, positionType(b, x)), before = b.pad(values, 0, 1, -1);
    firsts = choose(b, b.make<LogicalOrOp>(b.make<EqOp>(iota, b.fullLike(iota, 0)),
                                           b.make<NeOp>(values, before)));
    numbers = add(b, firsts.upTo, -1);
  }
};
} // namespace

/// For each element of the row `x` the number of the first one that equals it, and in `sorted`
/// where its value stands among the values in ascending order.
static Value firstEqual(Builder &b, Value x, Value &sorted) {
  Groups groups(b, x);
  sorted = put(b, groups.numbers, groups.from);
  return b.make<GatherOp>(compact(b, groups.from, groups.firsts), sorted, kFirst);
}

/// The same for the rows of a matrix, the order being that of their first elements that differ. NaN
/// equals nothing, but does not decide the order against another NaN; where nothing does, the first
/// row comes first.
static Value firstEqualRow(Builder &b, Value x, Value &sorted) {
  Dims dims = dimsOf(x), square = {dims[0], dims[0]}, cube = {dims[0], dims[0], dims[1]};
  Type i64 = b.getI64Type();
  Value left = b.broadcast(b.unsqueeze(x, 1), cube), right = b.broadcast(b.unsqueeze(x, 0), cube);
  auto any = [&](Value of) {
    return b.make<NeOp>(b.make<AmaxOp>(of, ArrayRef<int64_t>{2}, false), b.full(square, i64, 0));
  };
  Value differ = b.make<NeOp>(left, right), decides = differ;
  bool hasNan = isa<FloatType>(typeOf(x).getElementType());
  if (hasNan)
    decides =
        b.make<LogicalAndOp>(differ, b.make<LogicalNotOp>(b.make<LogicalAndOp>(
                                         b.make<NeOp>(left, left), b.make<NeOp>(right, right))));
  decides = b.cast(decides, i64);
  Value isOther = any(b.cast(differ, i64)), isOrdered = any(decides);
  Value place = b.make<ArgmaxOp>(decides, b.getI64IntegerAttr(2), false);
  auto at = [&](int64_t dim) {
    Value row = numbers(b, square, dim);
    Value width = b.fullLike(row, static_cast<double>(*asConstant(dims[1])));
    Value position = b.make<AddOp>(b.make<MulOp>(row, width), place);
    return b.reshape(b.make<GatherOp>(flat(b, x), flat(b, position), kFirst), square);
  };
  Value a = at(0), c = at(1), row = numbers(b, square, 0), column = numbers(b, square, 1);
  Value isLess = b.make<LtOp>(a, c);
  if (hasNan)
    isLess =
        b.make<LogicalOrOp>(isLess, b.make<LogicalAndOp>(b.make<EqOp>(a, a), b.make<NeOp>(c, c)));
  isLess = b.make<LogicalAndOp>(isLess, isOrdered);
  Value isTied = b.make<LogicalAndOp>(isOther, b.make<LogicalNotOp>(isOrdered));
  isLess = b.make<LogicalOrOp>(isLess, b.make<LogicalAndOp>(isTied, b.make<LtOp>(row, column)));
  Value isEqual =
      b.cast(b.make<LogicalOrOp>(b.make<LogicalNotOp>(isOther), b.make<EqOp>(row, column)), i64);
  Value first = b.make<ArgmaxOp>(isEqual, b.getI64IntegerAttr(0), false);
  Value isFirst = b.make<EqOp>(first, numbers(b, {dims[0]}, 0));
  Value counts = b.make<LogicalAndOp>(isLess, b.broadcast(b.unsqueeze(isFirst, 1), square));
  sorted = b.make<SumOp>(b.cast(counts, i64), ArrayRef<int64_t>{0}, false, TypeAttr());
  return first;
}

/// How often each number is among `numbers`.
static Value countsOf(Builder &b, Value numbers) {
  Value none = b.full(dimsOf(numbers), b.getI64Type(), 0);
  return b.make<ScatterAddOp>(none, kFirst, numbers, b.fullLike(none, 1));
}

/// What dl.unique gives for the elements of the row `x` in ascending order. `keys` are x, or
/// numbers that stand for them.
static SmallVector<Value> uniqueSorted(Builder &b, Value x, Value keys) {
  Groups groups(b, keys);
  Value values = keys == x ? groups.values : b.make<GatherOp>(x, groups.from, kFirst);
  Type i64 = b.getI64Type();
  return {compact(b, values, groups.firsts), compact(b, groups.from, groups.firsts),
          b.cast(put(b, groups.numbers, groups.from), i64), countsOf(b, groups.numbers),
          groups.firsts.count};
}

SmallVector<Value> UniqueOp::decompose(Builder &b) {
  Value x = getX();
  if (isConstant(dimsOf(getCounts())[0], 0)) { // neither the largest nor the first of nothing
    SmallVector<Value> results;
    for (Value result : getResults())
      results.push_back(b.fullLike(result, 0));
    return results;
  }
  Type dtype = typeOf(x).getElementType();
  int64_t dim = 0, rank = typeOf(x).getRank();
  if (getDim())
    dim = *wrapDim(std::nullopt, "", *getDim(), rank);
  Value slices = getDim() ? x : flat(b, x); // along their first dim
  SmallVector<int64_t> order, back;
  if (getDim()) {
    order = {dim};
    for (int64_t i = 0; i < rank; ++i)
      if (i != dim)
        order.push_back(i);
    back.resize(rank);
    for (auto [to, from] : llvm::enumerate(order))
      back[from] = to;
    slices = b.permute(x, order);
  }
  Dims dims = dimsOf(slices);
  Value keys = dtype.isInteger(1) ? b.cast(slices, b.getI32Type()) : slices;
  if (dims.size() == 1 && !getDim() && getSorted()) {
    SmallVector<Value> results = uniqueSorted(b, slices, keys);
    results[2] = b.reshape(results[2], dimsOf(x));
    return results;
  }
  Value sorted, first;
  if (dims.size() == 1) {
    first = firstEqual(b, keys, sorted);
  } else {
    AffineExpr width = product(ArrayRef<AffineExpr>(dims).drop_front(), getContext());
    first = firstEqualRow(b, b.reshape(keys, {dims[0], width}), sorted);
  }
  Value iota = numbers(b, {dims[0]}, 0);
  Value isFirst = b.make<EqOp>(first, iota);
  Chosen chosen = choose(b, isFirst);
  Value numberOfFirst = chosen.places, values, indices;
  if (getSorted()) {
    numberOfFirst = sorted;
    Value places = b.make<WhereOp>(isFirst, sorted, b.fullLike(sorted, -1));
    values = put(b, slices, places);
    indices = put(b, iota, places);
  } else {
    values = compact(b, slices, chosen);
    indices = compact(b, iota, chosen);
  }
  Value inverse = b.make<GatherOp>(numberOfFirst, first, kFirst);
  Value counts = countsOf(b, inverse);
  inverse = b.cast(inverse, b.getI64Type());
  return {getDim() ? b.permute(values, back) : values, indices,
          getDim() ? inverse : b.reshape(inverse, dimsOf(x)), counts, chosen.count};
}

} // namespace dlc::dl
