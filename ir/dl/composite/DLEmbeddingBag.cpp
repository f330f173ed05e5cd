//===- DLEmbeddingBag.cpp - Type and decomposition of embedding_bag -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A bag is a row of [B, L], which is reduced along L; or offsets cut positions [L] into bags: then
// each position's row is added to, or compared with, that of the bag whose number it has.
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"

#include <limits>

using namespace mlir;

namespace dlc::dl {

LogicalResult EmbeddingBagOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                               Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto input = typeOf(adaptor.getInput()), weight = typeOf(adaptor.getWeight());
  StringRef name = getOperationName(), mode = adaptor.getMode();
  Value offsets = adaptor.getOffsets(), scales = adaptor.getPerSampleWeights();
  if (weight.getRank() != 2)
    return emitOptionalError(location, "'", name, "' has weight ", text(adaptor.getWeight()),
                             "; expected [rows, width]");
  if (mode != "sum" && mode != "mean" && mode != "max")
    return emitOptionalError(location, "'", name, "' has mode = '", mode,
                             "'; expected 'sum', 'mean' or 'max'");
  if (input.getRank() != (offsets ? 1 : 2))
    return emitOptionalError(location, "'", name, "' has input ", text(adaptor.getInput()),
                             "; expected ",
                             offsets ? "one dim, which offsets cut into bags"
                                     : "[bags, positions], or one dim together with offsets");
  if (offsets && typeOf(offsets).getRank() != 1)
    return emitOptionalError(location, "'", name, "' has offsets ", text(offsets),
                             "; expected one dim");
  if (!offsets && adaptor.getIncludeLastOffset())
    return emitOptionalError(location, "'", name,
                             "' has include_last_offset, which goes with offsets");
  if (scales && mode != "sum")
    return emitOptionalError(location, "'", name,
                             "' has per_sample_weights, which go with mode 'sum', not '", mode,
                             "'");
  if (scales &&
      !sameShapeAndElement(typeOf(scales), withElementType(input, weight.getElementType())))
    return emitOptionalError(location, "'", name, "' has per_sample_weights ", text(scales),
                             "; expected the dims of input ", text(adaptor.getInput()),
                             " and the dtype of weight ", text(adaptor.getWeight()));
  Dim bags = getDims(offsets ? typeOf(offsets) : input)[0];
  if (adaptor.getIncludeLastOffset()) {
    if (isConstant(bags, 0))
      return emitOptionalError(location, "'", name,
                               "' has no offsets; expected at least the last one");
    bags = normalize(bags - 1);
  }
  types.push_back(makeTensor({bags, getDims(weight)[1]}, weight.getElementType()));
  return success();
}

static constexpr double kLowest = -std::numeric_limits<double>::infinity();

/// Where input names a row that counts; null where each one does.
static Value countedPositions(Builder &b, EmbeddingBagOp op) {
  auto absent = op.getPaddingIdx();
  if (!absent)
    return {};
  int64_t row = *absent;
  if (row < 0)
    row += asConstant(dimsOf(op.getWeight())[0]).value_or(0);
  return b.make<NeOp>(op.getInput(), b.fullLike(op.getInput(), static_cast<double>(row)));
}

/// `y` [B, D] where `count` [B, 1] rows were summed (or compared): their mean, and 0 of none.
static Value finished(Builder &b, StringRef mode, Value y, Value count) {
  if (mode == "mean")
    return b.make<DivOp>(y, b.broadcast(b.make<MaximumOp>(count, b.fullLike(count, 1)), dimsOf(y)));
  Value some = b.make<GtOp>(count, b.fullLike(count, 0));
  return mode == "max" ? b.make<WhereOp>(b.broadcast(some, dimsOf(y)), y, b.fullLike(y, 0)) : y;
}

/// The number of the bag in which each position stands, [L]; outside of the bags where it stands in
/// none, or does not count.
static Value bagNumbers(Builder &b, EmbeddingBagOp op) {
  Value offsets = op.getOffsets(), none = b.full(dimsOf(op.getInput()), b.getI64Type(), 0);
  Value begins =
      b.make<ScatterAddOp>(none, uint64_t(0), b.make<MaximumOp>(offsets, b.fullLike(offsets, 0)),
                           b.full(dimsOf(offsets), b.getI64Type(), 1));
  Value bags = b.make<SubOp>(b.make<CumsumOp>(begins, uint64_t(0), TypeAttr()),
                             b.full(dimsOf(begins), b.getI64Type(), 1));
  Value counts = countedPositions(b, op);
  return counts ? b.make<WhereOp>(counts, bags, b.fullLike(bags, -1)) : bags;
}

/// Of `rows` [L, D], where offsets cut them into bags.
static Value reducedByNumber(Builder &b, EmbeddingBagOp op, Value rows) {
  StringRef mode = op.getMode();
  Dims dims = dimsOf(op.getY());
  Type compute = typeOf(rows).getElementType();
  bool isMax = mode == "max";
  Value bags = bagNumbers(b, op);
  Value y = b.make<ScatterReduceOp>(b.full(dims, compute, isMax ? kLowest : 0.0), uint64_t(0),
                                    b.broadcast(b.unsqueeze(bags, 1), dimsOf(rows)), rows,
                                    isMax ? "amax" : "sum", true);
  if (mode == "sum")
    return y;
  Value count = b.make<ScatterAddOp>(b.full(dims[0], b.getI64Type(), 0), uint64_t(0), bags,
                                     b.full(dimsOf(bags), b.getI64Type(), 1));
  return finished(b, mode, y, b.unsqueeze(b.cast(count, compute), 1));
}

/// Of `rows` [B, L, D], the bags being those of each B.
static Value reducedByRow(Builder &b, EmbeddingBagOp op, Value rows) {
  StringRef mode = op.getMode();
  Dims dims = dimsOf(rows);
  Type compute = typeOf(rows).getElementType();
  bool isMax = mode == "max";
  Value mask = countedPositions(b, op);
  if (mask)
    rows = b.make<WhereOp>(b.broadcast(b.unsqueeze(mask, -1), dims), rows,
                           b.fullLike(rows, isMax ? kLowest : 0.0));
  const int64_t along[] = {1};
  Value y = isMax ? b.make<AmaxOp>(rows, ArrayRef(along), false)
                  : b.make<SumOp>(rows, ArrayRef(along), false, TypeAttr());
  auto length = asConstant(dims[1]);
  if (mode == "sum" || (isMax && !mask && length))
    return y;
  Dims column = {dims[0], constantDim(1, b.getContext())};
  Value count = mask ? b.make<SumOp>(b.cast(mask, compute), ArrayRef(along), true, TypeAttr())
                     : b.broadcast(b.make<ScalarTensorOp>(dimsMap(dims[1], b.getContext()),
                                                          TypeAttr::get(compute)),
                                   column);
  return finished(b, mode, y, count);
}

SmallVector<Value> EmbeddingBagOp::decompose(Builder &b) {
  Type dtype = typeOf(getY()).getElementType(), compute = computeType(dtype);
  if (isConstant(dimsOf(getInput()).back(), 0))
    return {b.fullLike(getY(), 0)};
  // Sums of 16-bit floats are rounded once.
  Value rows = b.cast(b.make<EmbeddingOp>(getInput(), getWeight(), IntegerAttr()), compute);
  if (Value scales = getPerSampleWeights())
    rows = b.make<MulOp>(rows, b.broadcast(b.unsqueeze(b.cast(scales, compute), -1), dimsOf(rows)));
  Value y = getOffsets() ? reducedByNumber(b, *this, rows) : reducedByRow(b, *this, rows);
  return {b.cast(y, dtype)};
}

} // namespace dlc::dl
