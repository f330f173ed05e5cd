//===- DLSuppression.cpp - The best of boxes that overlap ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The greedy choice as it is defined, one box of each image and class in a step; what a step computes is parallel over images,
// classes and boxes.
//===----------------------------------------------------------------------------------------------===//
#include "ir/dl/DLBuilder.h"

#include <limits>

using namespace mlir;

namespace dlc::dl {

/// Steps, each of which is some kernels.
static constexpr int64_t kMostSteps = 512;

static FailureOr<int64_t> stepsOf(StringRef op, std::optional<Location> location,
                                  AffineExpr numBoxes, std::optional<int64_t> most) {
  auto size = asConstant(numBoxes);
  int64_t steps = most && size ? std::min(*most, *size) : most.value_or(size.value_or(-1));
  if (steps >= 0 && steps <= kMostSteps)
    return steps;
  return emitOptionalError(location, "'", op, "' takes one box of a class after the other, up to ",
                           kMostSteps, " of them, got ",
                           steps < 0 ? text(numBoxes) : std::to_string(steps),
                           "; pass the best of them alone, as by topk");
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
    return emitOptionalError(location, "'", getOperationName(), "' has boxes ", text(boxes),
                             " and scores ", text(scores),
                             "; expected [images,n,4] and [images,classes,n] of one dtype, and "
                             "thresholds of one element");
  auto steps = stepsOf(getOperationName(), location, box[1], adaptor.getMost());
  if (failed(steps))
    return failure();
  types.push_back(makeTensor(
      {product({box[0], score[1], constantDim(*steps, context)}, context), constantDim(3, context)},
      IntegerType::get(context, 64)));
  types.push_back(makeTensor({}, IntegerType::get(context, 64)));
  return success();
}

/// y1, x1, y2, x2 (in any order of the axes) and the area, [images, n, 5].
static Value cornersOf(Builder &b, Value boxes, bool isCenter) {
  Value part[4];
  for (int64_t i = 0; i < 4; ++i)
    part[i] = b.slice(boxes, 2, i, i + 1);
  Value low[2], high[2];
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
  Value area = b.make<MulOp>(b.make<SubOp>(high[0], low[0]), b.make<SubOp>(high[1], low[1]));
  return b.make<CatOp>(ValueRange{low[0], low[1], high[0], high[1], area}, uint64_t(2));
}

/// Joined along their last dim, few at a time.
static Value joined(Builder &b, SmallVector<Value> parts, uint64_t dim) {
  constexpr size_t kAtOnce = 16;
  while (parts.size() > 1) {
    SmallVector<Value> fewer;
    for (size_t i = 0; i < parts.size(); i += kAtOnce)
      fewer.push_back(b.make<CatOp>(
          ValueRange(ArrayRef(parts).slice(i, std::min(kAtOnce, parts.size() - i))), dim));
    parts = std::move(fewer);
  }
  return parts.front();
}

SmallVector<Value> NonMaxSuppressionOp::decompose(Builder &b) {
  Type compute = computeType(typeOf(getBoxes()).getElementType()), i64 = b.getI64Type();
  Dims dims = dimsOf(getScores()); // images, classes, boxes
  int64_t steps = *stepsOf("", std::nullopt, dims[2], getMost());
  if (steps == 0)
    return {b.full(dimsOf(getY()), i64, 0), b.full({}, i64, 0)};
  AffineExpr one = constantDim(1, getContext()), five = constantDim(5, getContext());
  Dims single = {dims[0], dims[1], one};
  auto number = [&](Value given, double otherwise, Type type, ArrayRef<AffineExpr> to) {
    if (!given)
      return b.full(to, type, otherwise);
    return b.broadcast(b.reshape(b.cast(given, type), {one, one, one}), to);
  };
  constexpr double kOut = -std::numeric_limits<double>::infinity();
  Value scores = b.cast(getScores(), compute), out = b.fullLike(scores, kOut);
  if (Value least = getScoreThreshold())
    scores = b.make<WhereOp>(b.make<GtOp>(scores, number(least, 0, compute, dims)), scores, out);
  Value threshold = number(getIouThreshold(), 0, compute, dims);
  // One table for all classes, which the steps read at the boxes that they take.
  Value corners = cornersOf(b, b.cast(getBoxes(), compute), getCenterPointBox());
  Value table = b.broadcast(b.unsqueeze(corners, 1), {dims[0], dims[1], dims[2], five});
  auto column = [&](Value of, int64_t k) { return b.broadcast(b.select(of, 3, k), dims); };
  Value places = b.broadcast(b.reshape(b.make<ArangeOp>(dimsMap(dims[2], getContext()),
                                                        AffineMapAttr(), uint64_t(1), TypeAttr()),
                                       {one, one, dims[2]}),
                             dims);
  SmallVector<Value> taken, valid;
  for (int64_t step = 0; step < steps; ++step) {
    Value best = b.make<ArgmaxOp>(scores, b.getI64IntegerAttr(2), true);
    Value score = b.make<GatherOp>(scores, best, uint64_t(2));
    Value isTaken = b.make<NeOp>(score, b.fullLike(score, kOut));
    if (Value limit = getLimit()) {
      Value most = number(limit, 0, i64, single);
      isTaken = b.make<LogicalAndOp>(
          isTaken, b.make<GtOp>(most, b.fullLike(most, static_cast<double>(step))));
    }
    taken.push_back(best);
    valid.push_back(isTaken);
    if (step + 1 == steps)
      break;
    Dims row = {dims[0], dims[1], one, five};
    Value box = b.make<GatherOp>(table, b.broadcast(b.unsqueeze(best, 3), row), uint64_t(2));
    auto overlap = [&](int64_t axis) {
      Value low = b.make<MaximumOp>(column(table, axis), column(box, axis));
      Value high = b.make<MinimumOp>(column(table, axis + 2), column(box, axis + 2));
      return b.make<MaximumOp>(b.make<SubOp>(high, low), b.fullLike(scores, 0));
    };
    Value common = b.make<MulOp>(overlap(0), overlap(1));
    Value whole = b.make<SubOp>(b.make<AddOp>(column(table, 4), column(box, 4)), common);
    // Of boxes without area 0 / 0, which lies above nothing.
    Value isNear = b.make<GtOp>(b.make<DivOp>(common, whole), threshold);
    Value isBest = b.make<EqOp>(places, b.broadcast(best, dims));
    scores = b.make<WhereOp>(b.make<LogicalOrOp>(isNear, isBest), out, scores);
  }
  Value all = joined(b, taken, 2), real = joined(b, valid, 2);
  Dims chosen = dimsOf(all);
  auto flat = [&](Value value) { return b.reshape(value, product(chosen, getContext())); };
  auto counted = [&](int64_t dim) {
    Dims along(3, one);
    along[dim] = chosen[dim];
    Value iota = b.make<ArangeOp>(dimsMap(chosen[dim], getContext()), AffineMapAttr(), uint64_t(1),
                                  TypeAttr());
    return flat(b.broadcast(b.reshape(iota, along), chosen));
  };
  Value rows = b.make<StackOp>(ValueRange{counted(0), counted(1), flat(all)}, uint64_t(1));
  // Those that were taken move to the front.
  Value ones = b.cast(flat(real), i64);
  Value after = b.make<CumsumOp>(ones, uint64_t(0), TypeAttr());
  Value to = b.make<SubOp>(b.make<MulOp>(after, ones), b.fullLike(ones, 1));
  Value index = b.broadcast(b.unsqueeze(to, 1), dimsOf(rows));
  Value y =
      b.make<ScatterOp>(b.fullLike(rows, 0), uint64_t(0), index, rows, FloatAttr(), StringAttr());
  return {y, b.make<SumOp>(ones, ArrayRef<int64_t>{0}, false, TypeAttr())};
}

//===- nms ----------------------------------------------------------------------------------------===//

LogicalResult NmsOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                      Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto boxes = typeOf(adaptor.getBoxes()), scores = typeOf(adaptor.getScores());
  Dims box = getDims(boxes), score = getDims(scores);
  if (box.size() != 2 || score.size() != 1 || box[0] != score[0] || !isConstant(box[1], 4) ||
      boxes.getElementType() != scores.getElementType())
    return emitOptionalError(location, "'", getOperationName(), "' has boxes ", text(boxes),
                             " and scores ", text(scores), "; expected [n,4] and [n] of one dtype");
  auto steps = stepsOf(getOperationName(), location, box[0], std::nullopt);
  if (failed(steps))
    return failure();
  Type i64 = IntegerType::get(context, 64);
  types.push_back(makeTensor({constantDim(*steps, context)}, i64));
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

} // namespace dlc::dl
