//===- DLArrange.cpp - Types and loops of ops that shift, turn, repeat and mask -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dlc::dl {

/// i modulo a size that may be 0: then there is no i.
static AffineExpr modulo(AffineExpr index, AffineExpr size) {
  return isConstant(size, 0) ? index : index % size;
}

//===- roll, flip -----------------------------------------------------------------------------===//

LogicalResult RollOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                       Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  ArrayRef<int64_t> shifts = adaptor.getShifts(), dims = adaptor.getDims();
  if (dims.empty() ? shifts.size() != 1 : shifts.size() != dims.size())
    return emitOptionalError(location, "'", getOperationName(), "' has ", shifts.size(),
                             " shifts for ", dims.size(), " dims; expected one for each");
  for (int64_t dim : dims)
    if (!wrapDim(location, getOperationName(), dim, x.getRank()))
      return failure();
  types.push_back(makeTensor(dl::getDims(x), x.getElementType()));
  return success();
}

/// The index before `shift` of the one at `index` after it.
static AffineExpr unrolled(AffineExpr index, int64_t shift, AffineExpr size) {
  auto extent = asConstant(size);
  if (!extent)
    return modulo(index - shift, size);
  return *extent == 0 ? index : (index + (*extent - llvm::mod(shift, *extent))) % size;
}

LoopNest RollOp::getLoopNest() {
  Dims dims = dimsOf(getX());
  SmallVector<AffineExpr> map = loopsOf(getContext(), 0, dims.size());
  if (getDims().empty()) {
    // The row-major position, shifted, and cut up again.
    AffineExpr position = constantDim(0, getContext());
    for (auto [index, size] : llvm::zip(map, dims))
      position = position * size + index;
    position = unrolled(position, getShifts().front(), product(dims, getContext()));
    for (size_t dim = dims.size(); dim-- > 0;) {
      map[dim] = dim == 0 ? position : modulo(position, dims[dim]);
      if (!isConstant(dims[dim], 0))
        position = position.floorDiv(dims[dim]);
    }
    return moveNest(*this, map);
  }
  for (auto [shift, named] : llvm::zip(getShifts(), getDims())) {
    int64_t dim = *wrapDim(std::nullopt, "", named, dims.size());
    map[dim] = unrolled(map[dim], shift, dims[dim]);
  }
  return moveNest(*this, map);
}

LogicalResult FlipOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                       Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  llvm::SmallBitVector seen(x.getRank());
  for (int64_t dim : adaptor.getDims()) {
    auto wrapped = wrapDim(location, getOperationName(), dim, x.getRank());
    if (!wrapped)
      return failure();
    if (seen.test(*wrapped))
      return emitOptionalError(location, "'", getOperationName(), "' names dim ", dim, " twice");
    seen.set(*wrapped);
  }
  types.push_back(makeTensor(dl::getDims(x), x.getElementType()));
  return success();
}

LoopNest FlipOp::getLoopNest() {
  Dims dims = dimsOf(getX());
  SmallVector<AffineExpr> map = loopsOf(getContext(), 0, dims.size());
  for (int64_t named : getDims()) {
    int64_t dim = *wrapDim(std::nullopt, "", named, dims.size());
    map[dim] = dims[dim] - 1 - map[dim];
  }
  return moveNest(*this, map);
}

//===- repeat, repeat_interleave --------------------------------------------------------------===//

LogicalResult RepeatOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  SmallVector<int64_t> repeats(adaptor.getRepeats());
  Dims dims = getDims(x);
  dims.insert(dims.begin(), std::max<int64_t>(repeats.size() - x.getRank(), 0),
              constantDim(1, context));
  repeats.insert(repeats.begin(), dims.size() - repeats.size(), 1);
  for (auto [dim, count] : llvm::zip(dims, repeats)) {
    if (count < 0)
      return emitOptionalError(location, "'", getOperationName(), "' repeats a dim ", count,
                               " times; expected 0 or more");
    dim = normalize(dim * count);
  }
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

LoopNest RepeatOp::getLoopNest() {
  Dims from = dimsOf(getX()), to = dimsOf(getY());
  SmallVector<AffineExpr> map = loopsOf(getContext(), to.size() - from.size(), to.size());
  for (auto [index, before, after] :
       llvm::zip(map, from, ArrayRef(to).drop_front(to.size() - from.size())))
    if (before != after)
      index = modulo(index, before);
  return moveNest(*this, map);
}

LogicalResult RepeatInterleaveOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                   Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  auto dim = wrapDim(location, getOperationName(), adaptor.getDim(), x.getRank());
  if (!dim)
    return failure();
  int64_t repeats = adaptor.getRepeats();
  if (repeats < 0)
    return emitOptionalError(location, "'", getOperationName(), "' has repeats = ", repeats,
                             "; expected 0 or more");
  Dims dims = getDims(x);
  dims[*dim] = normalize(dims[*dim] * repeats);
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

LoopNest RepeatInterleaveOp::getLoopNest() {
  int64_t rank = dimsOf(getX()).size(), dim = *wrapDim(std::nullopt, "", getDim(), rank);
  SmallVector<AffineExpr> map = loopsOf(getContext(), 0, rank);
  map[dim] = map[dim].floorDiv(std::max<int64_t>(getRepeats(), 1));
  return moveNest(*this, map);
}

//===- unfold ---------------------------------------------------------------------------------===//

LogicalResult UnfoldDimOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  int64_t size = adaptor.getSize(), step = adaptor.getStep();
  auto dim = wrapDim(location, getOperationName(), adaptor.getDimension(), x.getRank());
  if (!dim)
    return failure();
  Dims dims = getDims(x);
  auto whole = asConstant(dims[*dim]);
  if (size < 0 || step < 1 || (whole && size > *whole))
    return emitOptionalError(
        location, "'", getOperationName(), "' of dim ", *dim, " of ", text(adaptor.getX()),
        " has size ", size, " and step ", step,
        "; expected a size from 0 to that of the dim, and a step of 1 or more");
  dims[*dim] = normalize((dims[*dim] - size).floorDiv(step) + 1);
  dims.push_back(constantDim(size, context));
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

LoopNest UnfoldDimOp::getLoopNest() {
  int64_t rank = dimsOf(getX()).size(), dim = *wrapDim(std::nullopt, "", getDimension(), rank);
  SmallVector<AffineExpr> map = loopsOf(getContext(), 0, rank);
  map[dim] = map[dim] * getStep() + getAffineDimExpr(rank, getContext());
  return moveNest(*this, map);
}

//===- pixel_unshuffle ------------------------------------------------------------------------===//

LogicalResult PixelUnshuffleOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                 Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  int64_t factor = adaptor.getDownscaleFactor();
  if (x.getRank() < 3 || factor < 1)
    return emitOptionalError(location, "'", getOperationName(), "' of ", text(adaptor.getX()),
                             " has factor ", factor, "; expected x [..., C, H, W] and 1 or more");
  Dims dims = getDims(x);
  MutableArrayRef<AffineExpr> last = MutableArrayRef<AffineExpr>(dims).take_back(3);
  last[0] = normalize(last[0] * (factor * factor));
  for (AffineExpr &dim : last.drop_front()) {
    AffineExpr whole = dim;
    dim = normalize(dim.floorDiv(factor));
    if (normalize(dim * factor) != whole)
      return emitOptionalError(location, "'", getOperationName(), "' of ", text(adaptor.getX()),
                               " needs a height and width that are multiples of ", factor);
  }
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}
LoopNest PixelUnshuffleOp::getLoopNest() {
  int64_t rank = dimsOf(getX()).size(), r = getDownscaleFactor();
  SmallVector<AffineExpr> map = loopsOf(getContext(), 0, rank);
  AffineExpr &c = map[rank - 3], &h = map[rank - 2], &w = map[rank - 1];
  h = h * r + (c % (r * r)).floorDiv(r), w = w * r + c % r;
  c = c.floorDiv(r * r);
  return moveNest(*this, map);
}

//===- tril, triu -----------------------------------------------------------------------------===//

LogicalResult inferTriangle(StringRef op, std::optional<Location> location, Value x,
                            SmallVectorImpl<Type> &types) {
  auto type = typeOf(x);
  if (type.getRank() < 2)
    return emitOptionalError(location, "'", op, "' needs x [..., H, W], got ", text(x));
  types.push_back(makeTensor(getDims(type), type.getElementType()));
  return success();
}

LoopNest triangleNest(Operation *op) {
  LoopNest nest = elementwiseNest(op);
  unsigned rank = nest.parallel.size();
  nest.indexDims.set(rank - 2, rank);
  return nest;
}

Value emitTriangle(BodyContext &context, Value value, Value x, int64_t diagonal,
                   arith::CmpIPredicate kept) {
  OpBuilder &builder = context.builder;
  unsigned rank = context.parallel.size();
  Value row = context.parallel[rank - 2], column = context.parallel[rank - 1];
  Value shift = arith::ConstantIndexOp::create(builder, context.loc, diagonal);
  Value last = arith::AddIOp::create(builder, context.loc, row, shift);
  Value keeps = arith::CmpIOp::create(builder, context.loc, kept, column, last);
  Value zero = Scalar(builder, context.loc, value, kindOf(x)).constant(0).value();
  return arith::SelectOp::create(builder, context.loc, keeps, value, zero);
}

} // namespace dlc::dl
