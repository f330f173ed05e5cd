//===- DLIndex.cpp - Types and loops of ops that read at positions in a tensor ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>

using namespace mlir;

namespace dlc::dl {

Value emitPosition(BodyContext &context, Value position, Value index, Value table, unsigned dim,
                   bool wraps) {
  OpBuilder &builder = context.builder;
  Type i64 = builder.getI64Type();
  Scalar at =
      Scalar(builder, context.loc, position, kindOf(index)).convertTo(i64, ScalarKind::signedInt);
  Value size = context.extent(getDims(typeOf(table))[dim]);
  Scalar extent(builder, context.loc, arith::IndexCastOp::create(builder, context.loc, i64, size),
                ScalarKind::signedInt);
  if (wraps)
    at = select(at < at.constant(0), at + extent, at);
  // What lies outside stays outside, also where an index has fewer bits.
  at = max(min(at, extent), -1.0);
  return arith::IndexCastOp::create(builder, context.loc, builder.getIndexType(), at.value());
}

/// Reads operand `index` at `indexMap`, then operand `table` at `tableMap`, its `dim` at the
/// position read before.
static LoopNest lookUpNest(Operation *op, unsigned index, ArrayRef<AffineExpr> indexMap,
                           unsigned table, ArrayRef<AffineExpr> tableMap, int64_t dim) {
  LoopNest nest;
  nest.parallel = getDims(typeOf(op->getResult(0)));
  unsigned rank = nest.parallel.size();
  nest.indexDims.resize(rank);
  auto map = [&](ArrayRef<AffineExpr> results) {
    return AffineMap::get(rank, kMaxSymbols, results, op->getContext());
  };
  Access access{table, map(tableMap), /*checked=*/true, 0.0};
  if (isa<FloatType>(typeOf(op->getOperand(table)).getElementType()))
    access.fill = std::numeric_limits<double>::quiet_NaN();
  access.computed.resize(tableMap.size());
  access.computed.set(dim);
  nest.results = {{index, map(indexMap)}, access};
  return nest;
}

/// `rank` loops, dim `dim` of the table left to the position.
static SmallVector<AffineExpr> exceptAlong(int64_t dim, int64_t rank, MLIRContext *context) {
  SmallVector<AffineExpr> map = loopsOf(context, 0, rank);
  map[dim] = constantDim(0, context);
  return map;
}

//===- gather, take_along_dim -----------------------------------------------------------------===//

LogicalResult GatherOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX()), index = typeOf(adaptor.getIndex());
  auto dim = wrapDim(location, getOperationName(), adaptor.getDim(), x.getRank());
  if (!dim)
    return failure();
  bool fits = x.getRank() == index.getRank();
  for (int64_t i = 0; fits && i < x.getRank(); ++i) {
    AffineExpr from = getDims(x)[i], to = getDims(index)[i];
    auto most = asConstant(from), size = asConstant(to);
    fits = i == *dim || from == to || (most && size && *size <= *most);
  }
  if (!fits)
    return emitOptionalError(location, "'", getOperationName(), "' along dim ", *dim, " of ",
                             text(adaptor.getX()), " has index ", text(adaptor.getIndex()),
                             "; expected the same rank and, along the other dims, no larger sizes");
  types.push_back(makeTensor(getDims(index), x.getElementType()));
  return success();
}

LoopNest GatherOp::getLoopNest() {
  int64_t rank = typeOf(getX()).getRank(), dim = *wrapDim(std::nullopt, "", getDim(), rank);
  return lookUpNest(*this, 1, loopsOf(getContext(), 0, rank), 0,
                    exceptAlong(dim, rank, getContext()), dim);
}

LogicalResult TakeAlongDimOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                               Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX()), index = typeOf(adaptor.getIndices());
  auto dim = wrapDim(location, getOperationName(), adaptor.getDim(), x.getRank());
  if (!dim)
    return failure();
  bool fits = x.getRank() == index.getRank();
  Dims dims = getDims(index);
  for (int64_t i = 0; fits && i < x.getRank(); ++i) {
    AffineExpr from = getDims(x)[i];
    fits = i == *dim || from == dims[i] || isConstant(from, 1) || isConstant(dims[i], 1);
    if (i != *dim && isConstant(dims[i], 1))
      dims[i] = from;
  }
  if (!fits)
    return emitOptionalError(
        location, "'", getOperationName(), "' along dim ", *dim, " of ", text(adaptor.getX()),
        " has indices ", text(adaptor.getIndices()),
        "; expected the same rank and, along the other dims, equal sizes or 1");
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

LoopNest TakeAlongDimOp::getLoopNest() {
  int64_t rank = typeOf(getX()).getRank(), dim = *wrapDim(std::nullopt, "", getDim(), rank);
  Dims dims = getDims(typeOf(getY()));
  auto broadcast = [&](Value operand, SmallVector<AffineExpr> map) {
    for (auto [expr, from, to] : llvm::zip(map, getDims(typeOf(operand)), dims))
      if (isConstant(from, 1) && !isConstant(to, 1))
        expr = constantDim(0, getContext());
    return map;
  };
  return lookUpNest(*this, 1, broadcast(getIndices(), loopsOf(getContext(), 0, rank)), 0,
                    broadcast(getX(), exceptAlong(dim, rank, getContext())), dim);
}

LogicalResult TakeFlatOp::inferReturnTypes(MLIRContext *context, std::optional<Location>,
                                           Adaptor adaptor, SmallVectorImpl<Type> &types) {
  types.push_back(makeTensor(product(dimsOf(adaptor.getIndices()), context),
                             typeOf(adaptor.getX()).getElementType()));
  return success();
}

SmallVector<Value> TakeFlatOp::decompose(Builder &b) {
  auto flat = [&](Value value) { return b.reshape(value, product(dimsOf(value), getContext())); };
  return {b.make<TakeAlongDimOp>(flat(getX()), flat(getIndices()), uint64_t(0))};
}

//===- index_select, embedding, x[index] ------------------------------------------------------===//

LogicalResult IndexSelectOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                              Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX()), index = typeOf(adaptor.getIndex());
  auto dim = wrapDim(location, getOperationName(), adaptor.getDim(), x.getRank());
  if (!dim)
    return failure();
  if (index.getRank() != 1)
    return emitOptionalError(location, "'", getOperationName(), "' has index ",
                             text(adaptor.getIndex()), "; expected one dim");
  Dims dims = getDims(x);
  dims[*dim] = getDims(index)[0];
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

LoopNest IndexSelectOp::getLoopNest() {
  int64_t rank = typeOf(getX()).getRank(), dim = *wrapDim(std::nullopt, "", getDim(), rank);
  return lookUpNest(*this, 1, getAffineDimExpr(dim, getContext()), 0,
                    exceptAlong(dim, rank, getContext()), dim);
}

/// The dims of `index`, then those of `table` but the first.
static RankedTensorType rowsType(RankedTensorType index, RankedTensorType table) {
  Dims dims = getDims(index), rows = getDims(table);
  dims.append(rows.begin() + 1, rows.end());
  return makeTensor(dims, table.getElementType());
}

static LoopNest rowsNest(Operation *op, unsigned index, unsigned table) {
  MLIRContext *context = op->getContext();
  int64_t outer = typeOf(op->getOperand(index)).getRank(),
          rank = typeOf(op->getResult(0)).getRank();
  SmallVector<AffineExpr> row = {constantDim(0, context)};
  llvm::append_range(row, loopsOf(context, outer, rank));
  return lookUpNest(op, index, loopsOf(context, 0, outer), table, row, 0);
}

LogicalResult EmbeddingOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto weight = typeOf(adaptor.getWeight());
  if (weight.getRank() != 2)
    return emitOptionalError(location, "'", getOperationName(), "' has weight ",
                             text(adaptor.getWeight()), "; expected [rows, width]");
  auto rows = asConstant(getDims(weight)[0]);
  int64_t padding = adaptor.getPaddingIdx().value_or(0);
  if (adaptor.getPaddingIdx() && rows && (padding < -*rows || padding >= *rows))
    return emitOptionalError(location, "'", getOperationName(), "' has padding_idx ", padding,
                             "; expected a row of ", text(adaptor.getWeight()));
  types.push_back(rowsType(typeOf(adaptor.getInput()), weight));
  return success();
}

LoopNest EmbeddingOp::getLoopNest() { return rowsNest(*this, 0, 1); }

LogicalResult IndexOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                        Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  if (x.getRank() == 0)
    return emitOptionalError(location, "'", getOperationName(), "' needs a tensor with dims, got ",
                             text(adaptor.getX()));
  types.push_back(rowsType(typeOf(adaptor.getIndex()), x));
  return success();
}

LoopNest IndexOp::getLoopNest() { return rowsNest(*this, 1, 0); }

//===- one_hot --------------------------------------------------------------------------------===//

LogicalResult OneHotOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  int64_t classes = adaptor.getNumClasses();
  if (classes < 1)
    return emitOptionalError(location, "'", getOperationName(), "' has num_classes ", classes,
                             "; expected 1 or more (dims do not depend on data)");
  Dims dims = getDims(typeOf(adaptor.getX()));
  dims.push_back(constantDim(classes, context));
  types.push_back(makeTensor(dims, IntegerType::get(context, 64)));
  return success();
}

LoopNest OneHotOp::getLoopNest() {
  LoopNest nest;
  nest.parallel = getDims(typeOf(getY()));
  unsigned rank = nest.parallel.size();
  nest.indexDims.resize(rank);
  nest.indexDims.set(rank - 1);
  nest.results.push_back(
      {0, AffineMap::get(rank, kMaxSymbols, loopsOf(getContext(), 0, rank - 1), getContext())});
  return nest;
}

Value OneHotOp::emitResult(BodyContext &context, ValueRange args, ValueRange) {
  OpBuilder &builder = context.builder;
  Type i64 = builder.getI64Type();
  Value place = arith::IndexCastOp::create(builder, context.loc, i64, context.parallel.back());
  Scalar name = Scalar(builder, context.loc, args.front(), kindOf(getX()))
                    .convertTo(i64, ScalarKind::signedInt);
  return (name == Scalar(builder, context.loc, place, ScalarKind::signedInt))
      .convertTo(i64, ScalarKind::signedInt)
      .value();
}

} // namespace dlc::dl
