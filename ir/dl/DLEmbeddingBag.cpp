//===- DLEmbeddingBag.cpp - Type and decomposition of embedding_bag ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every bag is a row of [B, L]: of its own positions, or of all positions with a mask that tells which ones are its. The
// second costs B times as much as a loop over offsets would, and needs no loop whose length depends on data.
//===----------------------------------------------------------------------------------------------===//
#include "ir/dl/DLBuilder.h"

#include <limits>

using namespace mlir;

namespace dlc::dl {

LogicalResult EmbeddingBagOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                               Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto input = typeOf(adaptor.getInput()), weight = typeOf(adaptor.getWeight());
  StringRef name = getOperationName(), mode = adaptor.getMode();
  Value offsets = adaptor.getOffsets(), scales = adaptor.getPerSampleWeights();
  if (weight.getRank() != 2)
    return emitOptionalError(location, "'", name, "' has weight ", text(weight),
                             "; expected [rows, width]");
  if (mode != "sum" && mode != "mean" && mode != "max")
    return emitOptionalError(location, "'", name, "' has mode = '", mode,
                             "'; expected 'sum', 'mean' or 'max'");
  if (input.getRank() != (offsets ? 1 : 2))
    return emitOptionalError(location, "'", name, "' has input ", text(input), "; expected ",
                             offsets ? "one dim, which offsets cut into bags"
                                     : "[bags, positions], or one dim together with offsets");
  if (offsets && typeOf(offsets).getRank() != 1)
    return emitOptionalError(location, "'", name, "' has offsets ", text(typeOf(offsets)),
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
    return emitOptionalError(location, "'", name, "' has per_sample_weights ", text(typeOf(scales)),
                             "; expected the dims of input ", text(input),
                             " and the dtype of weight ", text(weight));
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

namespace {
/// What the rows of a bag become, [B, L] or [B, L, D] at a time.
struct Bags {
  Builder &b;
  EmbeddingBagOp op;
  Dims rows;  // [B, L, D], or [1, L, D] where all bags see the same
  Value mask; // [B, L]; null where every position counts

  Value spread(Value x, ArrayRef<AffineExpr> dims) { return b.broadcast(x, dims); }
  void keepOnly(Value kept);
  void cutAt(Value offsets, Value input, Dim bags);
  /// The numbers of positions that count, [B, 1], in `dtype`.
  Value count(Dim bags, Type dtype);
};
} // namespace

void Bags::keepOnly(Value kept) { mask = mask ? b.make<LogicalAndOp>(mask, kept) : kept; }

/// Marks the positions from each offset to before the next one.
void Bags::cutAt(Value offsets, Value input, Dim bags) {
  MLIRContext *context = b.getContext();
  Dim length = dimsOf(input)[0], one = constantDim(1, context);
  Type i64 = b.getI64Type();
  offsets = b.cast(offsets, i64);
  Value first = offsets, next;
  if (op.getIncludeLastOffset()) {
    first = b.slice(offsets, 0, 0, -1);
    next = b.slice(offsets, 0, 1);
  } else {
    Value end =
        b.reshape(b.make<ScalarTensorOp>(dimsMap(length, context), TypeAttr::get(i64)), one);
    next = b.make<CatOp>(ValueRange{b.slice(offsets, 0, 1), end}, uint64_t(0));
  }
  Dims grid = {bags, length};
  Value position = spread(
      b.make<ArangeOp>(dimsMap(length, context), AffineMapAttr(), uint64_t(1), TypeAttr()), grid);
  auto column = [&](Value bounds) { return spread(b.reshape(bounds, {bags, one}), grid); };
  keepOnly(b.make<LogicalAndOp>(b.make<GeOp>(position, column(first)),
                                b.make<LtOp>(position, column(next))));
}

Value Bags::count(Dim bags, Type dtype) {
  MLIRContext *context = b.getContext();
  Dims one = {bags, constantDim(1, context)};
  if (mask)
    return b.make<SumOp>(b.cast(mask, dtype), ArrayRef<int64_t>{1}, true, TypeAttr());
  return spread(b.make<ScalarTensorOp>(dimsMap(rows[1], context), TypeAttr::get(dtype)), one);
}

SmallVector<Value> EmbeddingBagOp::decompose(Builder &b) {
  MLIRContext *context = getContext();
  Value input = getInput();
  Dims result = dimsOf(getY());
  Dim bags = result[0], width = result[1], one = constantDim(1, context);
  Type dtype = typeOf(getY()).getElementType(), compute = computeType(dtype);
  // Sums of 16-bit floats are rounded once.
  Value rows = b.cast(b.make<EmbeddingOp>(input, getWeight(), IntegerAttr()), compute);
  if (Value scales = getPerSampleWeights()) {
    Dims column = dimsOf(scales);
    column.push_back(one);
    rows =
        b.make<MulOp>(rows, b.broadcast(b.reshape(b.cast(scales, compute), column), dimsOf(rows)));
  }
  bool isCut = static_cast<bool>(getOffsets());
  Bags of{b, *this, isCut ? Dims{one, dimsOf(input)[0], width} : dimsOf(rows), Value()};
  rows = b.reshape(rows, of.rows);
  Dims grid = {bags, of.rows[1]}, all = {bags, of.rows[1], width};
  if (isCut)
    of.cutAt(getOffsets(), input, bags);
  if (auto absent = getPaddingIdx()) {
    int64_t row = *absent < 0 ? *absent + asConstant(dimsOf(getWeight())[0]).value_or(0) : *absent;
    Value kept = b.make<NeOp>(input, b.fullLike(input, static_cast<double>(row)));
    of.keepOnly(b.broadcast(b.reshape(kept, {isCut ? one : bags, of.rows[1]}), grid));
  }
  rows = b.broadcast(rows, all);
  bool isMax = getMode() == "max";
  if (of.mask) {
    Value kept = b.broadcast(b.unsqueeze(of.mask, -1), all);
    Value nothing = b.fullLike(rows, isMax ? -std::numeric_limits<double>::infinity() : 0.0);
    rows = b.make<WhereOp>(kept, rows, nothing);
  }
  Value y;
  auto length = asConstant(of.rows[1]);
  bool mayBeEmpty = of.mask || !length || *length == 0;
  if (length == 0)
    return {b.fullLike(getY(), 0)};
  if (isMax) {
    y = b.make<AmaxOp>(rows, ArrayRef<int64_t>{1}, false);
    if (mayBeEmpty) {
      Value count = of.count(bags, compute);
      Value some = b.make<GtOp>(count, b.fullLike(count, 0));
      y = b.make<WhereOp>(b.broadcast(some, result), y, b.fullLike(y, 0));
    }
  } else {
    y = b.make<SumOp>(rows, ArrayRef<int64_t>{1}, false, TypeAttr());
  }
  if (getMode() == "mean") {
    Value count = of.count(bags, compute);
    if (mayBeEmpty)
      count = b.make<MaximumOp>(count, b.fullLike(count, 1));
    y = b.make<DivOp>(y, b.broadcast(count, result));
  }
  return {b.cast(y, dtype)};
}

} // namespace dlc::dl
