//===- DLDims.cpp - Types and decompositions of ops that change the list of dims ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"

using namespace mlir;

namespace dlc::dl {

//===- expand ---------------------------------------------------------------------------------===//

/// `x` broadcast to `dims`, -1 meaning that a dim stays.
static LogicalResult inferExpand(StringRef op, std::optional<Location> location, Value x, Dims dims,
                                 SmallVectorImpl<Type> &types) {
  Dims from = dimsOf(x);
  bool fits = from.size() <= dims.size();
  for (size_t i = 0; fits && i < dims.size(); ++i) {
    AffineExpr &dim = dims[dims.size() - 1 - i];
    if (i < from.size() && isConstant(dim, -1))
      dim = from[from.size() - 1 - i];
    AffineExpr before = i < from.size() ? from[from.size() - 1 - i] : dim;
    fits = asConstant(dim).value_or(0) >= 0 && (before == dim || isConstant(before, 1));
  }
  if (!fits) {
    std::string wanted;
    for (AffineExpr dim : dims)
      wanted += (wanted.empty() ? "" : ", ") + text(dim, x);
    return emitOptionalError(location, "'", op, "' cannot bring ", text(x), " to [", wanted,
                             "]; expected equal dims, -1, or dims of size 1 that are repeated");
  }
  types.push_back(makeTensor(dims, typeOf(x).getElementType()));
  return success();
}

LogicalResult ExpandOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferExpand(getOperationName(), location, adaptor.getX(),
                     Dims(adaptor.getSize().getResults()), types);
}
SmallVector<Value> ExpandOp::decompose(Builder &b) { return {b.broadcast(getX(), dimsOf(getY()))}; }

LogicalResult ExpandAsOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                           Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferExpand(getOperationName(), location, adaptor.getX(), dimsOf(adaptor.getOther()),
                     types);
}
SmallVector<Value> ExpandAsOp::decompose(Builder &b) {
  return {b.broadcast(getX(), dimsOf(getY()))};
}

//===- squeeze, unsqueeze, unflatten ----------------------------------------------------------===//

/// The sizes that a dim of `x` may have; nothing where they are not known.
static std::optional<Range> rangeWithin(Value x, Dim dim) {
  Region *region = x.getParentRegion();
  auto module = region ? region->getParentOfType<ModuleOp>() : ModuleOp();
  return rangeOf(dim, module ? symbolRanges(module) : SmallVector<Range>());
}

/// Whether `dims`, which may count from the end, has `dim`; it has all where it is empty.
static bool isNamed(ArrayRef<int64_t> dims, int64_t dim, int64_t rank) {
  return dims.empty() || llvm::is_contained(dims, dim) || llvm::is_contained(dims, dim - rank);
}

LogicalResult SqueezeOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                          Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  llvm::SmallBitVector named(x.getRank());
  for (int64_t dim : adaptor.getDim())
    if (!wrapDim(location, getOperationName(), dim, x.getRank()))
      return failure();
  for (int64_t dim = 0; dim < x.getRank(); ++dim)
    named[dim] = isNamed(adaptor.getDim(), dim, x.getRank());
  Dims dims;
  for (auto [position, dim] : llvm::enumerate(getDims(x))) {
    auto range = named.test(position) ? rangeWithin(adaptor.getX(), dim) : std::nullopt;
    if (named.test(position) && !asConstant(dim) && !(range && (range->min > 1 || range->max <= 1)))
      return emitOptionalError(location, "'", getOperationName(), "' of ", text(adaptor.getX()),
                               " would drop dim ", position,
                               " where it is 1 and keep it elsewhere; name dims of static size");
    if (!range || range->min != 1 || range->max != 1)
      dims.push_back(dim);
  }
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}
SmallVector<Value> SqueezeOp::decompose(Builder &b) {
  Value x = getX();
  for (auto [position, dim] : llvm::enumerate(dimsOf(x)))
    if (!asConstant(dim) && isNamed(getDim(), position, dimsOf(x).size()))
      if (auto range = rangeWithin(getX(), dim); range && range->min == 1 && range->max == 1)
        x = b.make<SliceOp>(x, static_cast<uint64_t>(position), b.getI64IntegerAttr(0),
                            b.getI64IntegerAttr(1), uint64_t(1));
  return {b.reshape(x, dimsOf(getY()))};
}

LogicalResult UnsqueezeOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  auto dim = wrapDim(location, getOperationName(), adaptor.getDim(), x.getRank() + 1);
  if (!dim)
    return failure();
  Dims dims = getDims(x);
  dims.insert(dims.begin() + *dim, constantDim(1, context));
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}
SmallVector<Value> UnsqueezeOp::decompose(Builder &b) {
  return {b.reshape(getX(), dimsOf(getY()))};
}

LogicalResult UnflattenOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  StringRef name = getOperationName();
  auto dim = wrapDim(location, name, adaptor.getDim(), x.getRank());
  if (!dim)
    return failure();
  Dims sizes(adaptor.getSizes().getResults()), dims = getDims(x);
  AffineExpr whole = dims[*dim], known = constantDim(1, context);
  AffineExpr *open = nullptr;
  for (AffineExpr &size : sizes) {
    if (isConstant(size, -1) && open)
      return emitOptionalError(location, "'", name, "' leaves two sizes open; only one may be -1");
    if (isConstant(size, -1))
      open = &size;
    else
      known = normalize(known * size);
  }
  if (open && isConstant(known, 0))
    return emitOptionalError(location, "'", name, "' cannot tell a size of -1 beside a size of 0");
  if (open) {
    *open = normalize(whole.floorDiv(known));
    known = normalize(known * *open);
  }
  if (known != whole)
    return emitOptionalError(location, "'", name, "' cuts dim ", *dim, " of ", text(adaptor.getX()),
                             " into sizes whose product is ", text(known, adaptor.getOperands()),
                             "; expected ", text(whole, adaptor.getOperands()));
  dims.erase(dims.begin() + *dim);
  dims.insert(dims.begin() + *dim, sizes.begin(), sizes.end());
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}
SmallVector<Value> UnflattenOp::decompose(Builder &b) {
  return {b.reshape(getX(), dimsOf(getY()))};
}

//===- movedim, t -----------------------------------------------------------------------------===//

/// Which dim of x each dim of the result is; nullopt, after an error, where the lists do not say.
static std::optional<SmallVector<int64_t>> movedOrder(StringRef op,
                                                      std::optional<Location> location,
                                                      ArrayRef<int64_t> source,
                                                      ArrayRef<int64_t> destination, int64_t rank) {
  if (source.size() != destination.size()) {
    (void)emitOptionalError(location, "'", op, "' moves ", source.size(), " dims to ",
                            destination.size(), " positions; expected as many");
    return std::nullopt;
  }
  SmallVector<int64_t> order(rank, -1);
  llvm::SmallBitVector moved(rank);
  for (auto [from, to] : llvm::zip(source, destination)) {
    auto dim = wrapDim(location, op, from, rank), place = wrapDim(location, op, to, rank);
    if (!dim || !place)
      return std::nullopt;
    if (moved.test(*dim) || order[*place] >= 0) {
      (void)emitOptionalError(location, "'", op, "' names dim ", moved.test(*dim) ? from : to,
                              " twice");
      return std::nullopt;
    }
    moved.set(*dim);
    order[*place] = *dim;
  }
  int64_t next = 0;
  for (int64_t &dim : order) {
    if (dim >= 0)
      continue;
    while (moved.test(next))
      ++next;
    dim = next++;
  }
  return order;
}

LogicalResult MovedimOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                          Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  auto order = movedOrder(getOperationName(), location, adaptor.getSource(),
                          adaptor.getDestination(), x.getRank());
  if (!order)
    return failure();
  Dims dims;
  for (int64_t dim : *order)
    dims.push_back(getDims(x)[dim]);
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}
SmallVector<Value> MovedimOp::decompose(Builder &b) {
  return {b.permute(getX(), *movedOrder("", std::nullopt, getSource(), getDestination(),
                                        typeOf(getX()).getRank()))};
}

LogicalResult TOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                    Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  if (x.getRank() > 2)
    return emitOptionalError(location, "'", getOperationName(), "' of ", text(adaptor.getX()),
                             "; expected at most two dims (transpose names them)");
  Dims dims = getDims(x);
  std::reverse(dims.begin(), dims.end());
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}
SmallVector<Value> TOp::decompose(Builder &b) {
  return {typeOf(getX()).getRank() < 2 ? Value(getX()) : b.permute(getX(), {1, 0})};
}

} // namespace dlc::dl
