//===- DLSuppression.cpp - The best of boxes that overlap ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The boxes of an image and class are put in the order of their scores, then those taken that
// overlap none taken before.
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"

#include <limits>

using namespace mlir;

namespace dlc::dl {

/// Up to how many boxes the result has room for what is asked for, though a dynamic number of boxes
/// may be smaller.
static constexpr int64_t kMostOfDynamic = 4096;

/// How many boxes of an image and class may be taken.
static AffineExpr roomOf(AffineExpr numBoxes, std::optional<int64_t> most) {
  auto size = asConstant(numBoxes);
  if (!most || (size ? *size <= *most : *most > kMostOfDynamic))
    return numBoxes;
  return constantDim(*most, numBoxes.getContext());
}

LogicalResult NonMaxSuppressionOp::inferReturnTypes(MLIRContext *context,
                                                    std::optional<Location> location,
                                                    Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto boxes = typeOf(adaptor.getBoxes()), scores = typeOf(adaptor.getScores());
  Dims box = getDims(boxes), score = getDims(scores);
  bool fits = box.size() == 3 && score.size() == 3 && box[0] == score[0] && box[1] == score[2] &&
              isConstant(box[2], 4) && boxes.getElementType() == scores.getElementType();
  for (Value number : {adaptor.getIouThreshold(), adaptor.getScoreThreshold(), adaptor.getLimit()})
    fits &= !number || isConstant(product(dimsOf(number), context), 1);
  if (!fits)
    return emitOptionalError(location, "'", getOperationName(), "' has boxes ",
                             text(adaptor.getBoxes()), " and scores ", text(adaptor.getScores()),
                             "; expected [images,n,4] and [images,classes,n] of one dtype, and "
                             "thresholds of one element");
  auto most = static_cast<int64_t>(adaptor.getMost().value_or(0));
  if (most < 0)
    return emitOptionalError(location, "'", getOperationName(), "' has most = ", most,
                             "; expected 0 or more");
  AffineExpr room = roomOf(box[1], adaptor.getMost());
  types.push_back(makeTensor({product({box[0], score[1], room}, context), constantDim(3, context)},
                             IntegerType::get(context, 64)));
  types.push_back(makeTensor({}, IntegerType::get(context, 64)));
  return success();
}

/// The corners y1, x1, y2, x2 (in any order of the axes), [images, n] each.
static SmallVector<Value> cornersOf(Builder &b, Value boxes, bool isCenter) {
  Value part[4], low[2], high[2];
  for (int64_t i = 0; i < 4; ++i)
    part[i] = b.select(boxes, 2, i);
  for (int axis : {0, 1}) {
    if (isCenter) {
      Value half = b.make<MulOp>(part[axis + 2], b.fullLike(part[axis + 2], 0.5));
      low[axis] = b.make<SubOp>(part[axis], half);
      high[axis] = b.make<AddOp>(part[axis], half);
    } else {
      low[axis] = b.make<MinimumOp>(part[axis], part[axis + 2]);
      high[axis] = b.make<MaximumOp>(part[axis], part[axis + 2]);
    }
  }
  return {low[0], low[1], high[0], high[1]};
}

SmallVector<Value> NonMaxSuppressionOp::decompose(Builder &b) {
  Type compute = computeType(typeOf(getBoxes()).getElementType()), i64 = b.getI64Type();
  Dims dims = dimsOf(getScores()), chosen = dims; // images, classes, boxes
  chosen[2] = roomOf(dims[2], getMost());
  if (isConstant(chosen[2], 0))
    return {b.full(dimsOf(getY()), i64, 0), b.full({}, i64, 0)};
  AffineExpr one = constantDim(1, getContext());
  auto number = [&](Value given, Type type, ArrayRef<AffineExpr> to) {
    return b.broadcast(b.reshape(b.cast(given, type), {one, one, one}), to);
  };
  Value scores = b.cast(getScores(), compute);
  Value takesPart =
      b.make<NeOp>(scores, b.fullLike(scores, -std::numeric_limits<double>::infinity()));
  if (Value least = getScoreThreshold())
    takesPart = b.make<LogicalAndOp>(takesPart, b.make<GtOp>(scores, number(least, compute, dims)));
  SmallVector<Value> operands = {
      b.make<OrderOp>(scores, uint64_t(2), true, dimsMap(dims[2], getContext()))};
  for (Value corner : cornersOf(b, b.cast(getBoxes(), compute), getCenterPointBox()))
    operands.push_back(b.unsqueeze(corner, 1));
  Value threshold = getIouThreshold();
  operands.push_back(threshold ? b.reshape(b.cast(threshold, compute), {one})
                               : b.full({one}, compute, 0));
  operands.push_back(takesPart);
  Value taken = b.make<SuppressOp>(operands[0], operands[1], operands[2], operands[3], operands[4],
                                   operands[5], operands[6], dimsMap(chosen[2], getContext()));
  auto counted = [&](int64_t dim) {
    Dims along(3, one);
    along[dim] = chosen[dim];
    Value iota = b.make<ArangeOp>(dimsMap(chosen[dim], getContext()), AffineMapAttr(), uint64_t(1),
                                  TypeAttr());
    return b.broadcast(b.reshape(iota, along), chosen);
  };
  Value none = b.fullLike(taken, 0), isReal = b.make<GeOp>(taken, none);
  if (getMost() && chosen[2] == dims[2])
    isReal = b.make<LogicalAndOp>(
        isReal, b.make<LtOp>(counted(2), b.fullLike(taken, static_cast<double>(*getMost()))));
  if (Value limit = getLimit())
    isReal = b.make<LogicalAndOp>(isReal, b.make<LtOp>(counted(2), number(limit, i64, chosen)));
  auto flat = [&](Value value) { return b.reshape(value, product(chosen, getContext())); };
  // What is not real goes nowhere.
  Value rows =
      b.make<StackOp>(ValueRange{flat(counted(0)), flat(counted(1)), flat(taken)}, uint64_t(1));
  // Those that were taken move to the front.
  Value ones = b.cast(flat(isReal), i64);
  Value after = b.make<CumsumOp>(ones, uint64_t(0), TypeAttr());
  Value to = b.make<SubOp>(b.make<MulOp>(after, ones), b.fullLike(ones, 1));
  Value index = b.broadcast(b.unsqueeze(to, 1), dimsOf(rows));
  Value y =
      b.make<ScatterOp>(b.fullLike(rows, 0), uint64_t(0), index, rows, FloatAttr(), StringAttr());
  return {y, b.make<SumOp>(ones, ArrayRef<int64_t>{0}, false, TypeAttr())};
}

//===- nms ------------------------------------------------------------------------------------===//

LogicalResult NmsOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                      Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto boxes = typeOf(adaptor.getBoxes()), scores = typeOf(adaptor.getScores());
  Dims box = getDims(boxes), score = getDims(scores);
  if (box.size() != 2 || score.size() != 1 || box[0] != score[0] || !isConstant(box[1], 4) ||
      boxes.getElementType() != scores.getElementType())
    return emitOptionalError(location, "'", getOperationName(), "' has boxes ",
                             text(adaptor.getBoxes()), " and scores ", text(adaptor.getScores()),
                             "; expected [n,4] and [n] of one dtype");
  Type i64 = IntegerType::get(context, 64);
  types.push_back(makeTensor({box[0]}, i64));
  types.push_back(makeTensor({}, i64));
  return success();
}

SmallVector<Value> NmsOp::decompose(Builder &b) {
  Value threshold =
      b.full({}, typeOf(getBoxes()).getElementType(), getIouThreshold().convertToDouble());
  auto all = NonMaxSuppressionOp::create(b, b.unsqueeze(getBoxes(), 0),
                                         b.unsqueeze(b.unsqueeze(getScores(), 0), 0), threshold,
                                         Value(), Value(), IntegerAttr(), false);
  return {b.select(all.getY(), 1, 2), all.getCount()};
}

//===- suppress -------------------------------------------------------------------------------===//

LogicalResult SuppressOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                           Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto first = typeOf(adaptor.getLow0());
  Dims dims = dimsOf(adaptor.getOrder()), own = getDims(first);
  AffineMap count = adaptor.getCount();
  bool fits = !dims.empty() && own.size() == dims.size() && own.back() == dims.back() &&
              count.getNumResults() == 1 && count.getNumDims() == 0;
  for (Value corner : {adaptor.getLow1(), adaptor.getHigh0(), adaptor.getHigh1()})
    fits &= typeOf(corner) == first;
  if (fits)
    for (auto [size, all] : llvm::zip(own, dims))
      fits &= size == all || isConstant(size, 1);
  if (!fits || dimsOf(adaptor.getTakesPart()) != dims ||
      typeOf(adaptor.getThreshold()).getElementType() != first.getElementType() ||
      !isConstant(product(dimsOf(adaptor.getThreshold()), context), 1))
    return emitOptionalError(
        location, "'", getOperationName(),
        "' needs an order and a mask of the same dims, corners of one type that has these dims or "
        "1 "
        "before the last, a threshold of one element, and a count of one dim, got ",
        text(adaptor.getOrder()), " and ", text(adaptor.getLow0()));
  dims.back() = normalize(count.getResult(0));
  types.push_back(makeTensor(dims, IntegerType::get(context, 64)));
  return success();
}

LineWork SuppressOp::getLineWork() {
  Dims dims = dimsOf(getOrder());
  return {LineWork::Kind::suppress, static_cast<unsigned>(dims.size() - 1), dims.back(),
          dimsOf(getY()).back()};
}

} // namespace dlc::dl
