//===- DLScatterSeek.cpp - Elements that look for the positions that name them ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"
#include "ir/dl/index/DLScatter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dlc::dl {

/// A loop over dim `dim` of index for each element of the result.
static LoopNest scatterNest(Operation *op, Value index, int64_t dim) {
  LoopNest nest;
  nest.parallel = dimsOf(op->getResult(0));
  unsigned rank = nest.parallel.size();
  nest.reduction = {dimsOf(index)[dim]};
  nest.indexDims.resize(rank + 1);
  nest.indexDims.set(dim);
  return nest;
}

/// Reads operand `number` at the loop's place along `dim`; nothing, so `fill`, where it is smaller
/// than the result.
static Access termAccess(Operation *op, const LoopNest &nest, unsigned number, int64_t dim,
                         double fill) {
  MLIRContext *context = op->getContext();
  unsigned rank = nest.parallel.size();
  SmallVector<AffineExpr> map = loopsOf(context, 0, rank);
  map[dim] = getAffineDimExpr(rank, context);
  Access access{number, AffineMap::get(rank + 1, kMaxSymbols, map, context), false, fill};
  Dims dims = dimsOf(op->getOperand(number));
  for (unsigned i = 0; i < rank; ++i)
    access.checked |= i != static_cast<unsigned>(dim) && dims[i] != nest.parallel[i];
  return access;
}

/// `position`, an element of `index`, is the result's own place along `dim`.
static Scalar namesOwnPlace(BodyContext &context, Value position, Value index, int64_t dim) {
  OpBuilder &builder = context.builder;
  Type i64 = builder.getI64Type();
  Scalar names =
      Scalar(builder, context.loc, position, kindOf(index)).convertTo(i64, ScalarKind::signedInt);
  Value place = arith::IndexCastOp::create(builder, context.loc, i64, context.parallel[dim]);
  if (auto vector = dyn_cast<VectorType>(names.value().getType()))
    place = context.splat(place, vector);
  return names == Scalar(builder, context.loc, place, ScalarKind::signedInt);
}

template <typename Op> static int64_t dimOf(Op op) {
  return *wrapDim(std::nullopt, "", op.getDim(), typeOf(op.getY()).getRank());
}

//===- scatter_source, scatter_take -----------------------------------------------------------===//

LogicalResult ScatterSourceOp::inferReturnTypes(MLIRContext *context,
                                                std::optional<Location> location, Adaptor adaptor,
                                                SmallVectorImpl<Type> &types) {
  auto index = typeOf(adaptor.getIndex());
  AffineMap size = adaptor.getSize();
  if (size.getNumResults() != index.getRank() || size.getNumDims() != 0 ||
      !wrapDim(std::nullopt, getOperationName(), adaptor.getDim(), index.getRank()))
    return emitOptionalError(location, "'", getOperationName(),
                             "' needs one of the dims of index, and a size for each");
  types.push_back(makeTensor(size.getResults(), IntegerType::get(context, 64)));
  return success();
}

LoopNest ScatterSourceOp::getLoopNest() {
  int64_t dim = dimOf(*this);
  LoopNest nest = scatterNest(*this, getIndex(), dim);
  nest.indexDims.set(nest.parallel.size());
  nest.stages = {Combiner::max};
  nest.terms = {termAccess(*this, nest, 0, dim, -1)};
  return nest;
}

Value ScatterSourceOp::emitTerm(BodyContext &context, unsigned, ValueRange args, ValueRange) {
  OpBuilder &builder = context.builder;
  Scalar isHit = namesOwnPlace(context, args.front(), getIndex(), dimOf(*this));
  Value at = arith::IndexCastOp::create(builder, context.loc, builder.getI64Type(),
                                        context.reduction.front());
  if (auto vector = dyn_cast<VectorType>(args.front().getType()))
    at = context.splat(at, VectorType::get(vector.getShape(), builder.getI64Type()));
  return select(isHit, Scalar(builder, context.loc, at, ScalarKind::signedInt), -1.0).value();
}

Value ScatterSourceOp::emitResult(BodyContext &context, ValueRange, ValueRange accs) {
  // Of no positions at all the largest is the lowest number.
  return max(Scalar(context.builder, context.loc, accs.front(), ScalarKind::signedInt), -1.0)
      .value();
}

LogicalResult ScatterTakeOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                              Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX()), src = typeOf(adaptor.getSrc());
  if (getDims(x) != getDims(typeOf(adaptor.getSource())) || src.getRank() != x.getRank() ||
      src.getElementType() != x.getElementType() ||
      !wrapDim(std::nullopt, getOperationName(), adaptor.getDim(), x.getRank()))
    return emitOptionalError(location, "'", getOperationName(),
                             "' needs x and source of equal dims, src of the rank and dtype of x");
  types.push_back(makeTensor(getDims(x), x.getElementType()));
  return success();
}

LoopNest ScatterTakeOp::getLoopNest() {
  LoopNest nest;
  nest.parallel = dimsOf(getY());
  unsigned rank = nest.parallel.size();
  int64_t dim = dimOf(*this);
  nest.indexDims.resize(rank);
  SmallVector<AffineExpr> map = loopsOf(getContext(), 0, rank);
  map[dim] = constantDim(0, getContext());
  Access access{2, AffineMap::get(rank, kMaxSymbols, map, getContext()), /*checked=*/true, 0.0};
  access.computed.resize(rank);
  access.computed.set(dim);
  AffineMap own = identityAccess(rank, getContext());
  nest.results = {{0, own}, {1, own}, access};
  return nest;
}

Value ScatterTakeOp::emitResult(BodyContext &context, ValueRange args, ValueRange) {
  Scalar source(context.builder, context.loc, args[1], ScalarKind::signedInt);
  Scalar x(context.builder, context.loc, args[0], kindOf(getX())),
      src(context.builder, context.loc, args[2], kindOf(getX()));
  return select(source < 0.0, x, src).value();
}

Value ScatterTakeOp::emitCoordinate(BodyContext &context, bool, unsigned, unsigned dim,
                                    ValueRange earlier) {
  return emitPosition(context, earlier[1], getSource(), getSrc(), dim, /*wraps=*/false);
}

//===- scatter_seek ---------------------------------------------------------------------------===//

LogicalResult ScatterSeekOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                              Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferReduced(getOperationName(), location, adaptor.getX(), adaptor.getDim(),
                      adaptor.getIndex(), adaptor.getSrc(), adaptor.getReduce(), types);
}

LoopNest ScatterSeekOp::getLoopNest() {
  int64_t dim = dimOf(*this);
  LoopNest nest = scatterNest(*this, getIndex(), dim);
  nest.stages = {scatterCombiner(getReduce())};
  // The second stage counts the positions that name a place, or says whether there is one: a count
  // may wrap.
  if (getReduce() == "mean")
    nest.stages.push_back(Combiner::add);
  else if (!getIncludeSelf())
    nest.stages.push_back(Combiner::max);
  // src first: it says how an accumulator of integers is compared.
  nest.terms = {termAccess(*this, nest, 2, dim, 0), termAccess(*this, nest, 1, dim, -1)};
  nest.results = {{0, identityAccess(nest.parallel.size(), getContext())}};
  return nest;
}

Value ScatterSeekOp::emitTerm(BodyContext &context, unsigned stage, ValueRange args, ValueRange) {
  Scalar isHit = namesOwnPlace(context, args[1], getIndex(), dimOf(*this));
  Scalar src(context.builder, context.loc, args[0], kindOf(getX()));
  if (stage == 1)
    return isHit.convertTo(src.elementType(), kindOf(getX())).value();
  switch (scatterCombiner(getReduce())) {
  case Combiner::mul:
    return select(isHit, src, 1.0).value();
  case Combiner::max:
    return select(isHit, src, src.lowest()).value();
  case Combiner::min:
    return select(isHit, src, src.highest()).value();
  default:
    return select(isHit, src, 0.0).value();
  }
}

Value ScatterSeekOp::emitResult(BodyContext &context, ValueRange args, ValueRange accs) {
  Scalar x(context.builder, context.loc, args.front(), kindOf(getX())),
      total(context.builder, context.loc, accs.front(), kindOf(getX()));
  Scalar joined = total;
  if (getIncludeSelf()) {
    Combiner combiner = scatterCombiner(getReduce());
    joined = combiner == Combiner::mul   ? x * total
             : combiner == Combiner::max ? max(x, total)
             : combiner == Combiner::min ? min(x, total)
                                         : x + total;
  }
  if (accs.size() == 1)
    return joined.value();
  Scalar count(context.builder, context.loc, accs[1], kindOf(getX()));
  if (getReduce() == "mean")
    joined = joined / max(getIncludeSelf() ? count + 1.0 : count, 1.0);
  return (getIncludeSelf() ? joined : select(count <= 0.0, x, joined)).value();
}

} // namespace dlc::dl
