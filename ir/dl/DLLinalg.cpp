//===- DLLinalg.cpp - Products along a dim, and determinants ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/dl/DLBuilder.h"

using namespace mlir;

namespace dlc::dl {

//===- cumprod ------------------------------------------------------------------------------------===//

LogicalResult CumprodOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                          Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  if (!wrapDim(location, getOperationName(), adaptor.getDim(), x.getRank()))
    return failure();
  Type own =
      isa<FloatType>(x.getElementType()) ? x.getElementType() : IntegerType::get(context, 64);
  types.push_back(makeTensor(getDims(x), adaptor.getDtype().value_or(own)));
  return success();
}

/// Products of 1, 2, 4 ... elements that end at each: a tree of as many steps as the largest size of the dim has bits.
SmallVector<Value> CumprodOp::decompose(Builder &b) {
  Type dtype = typeOf(getY()).getElementType();
  Type compute = isa<FloatType>(dtype) ? computeType(dtype) : dtype;
  int64_t rank = typeOf(getX()).getRank(), dim = *wrapDim(std::nullopt, "", getDim(), rank);
  Dim size = dimsOf(getX())[dim];
  int64_t most = INT32_MAX;
  if (auto module = getOperation()->getParentOfType<ModuleOp>())
    if (auto range = rangeOf(size, symbolRanges(module)))
      most = std::min(range->max, most);
  Value y = b.cast(b.cast(getX(), dtype), compute);
  for (int64_t apart = 1; apart < most; apart *= 2) {
    SmallVector<int64_t> widths(2 * (rank - dim));
    widths[widths.size() - 2] = apart;
    widths[widths.size() - 1] = -apart;
    Value before = b.make<PadOp>(y, b.getDenseI64ArrayAttr(widths), b.getStringAttr("constant"),
                                 b.getF64FloatAttr(1.0));
    y = b.make<MulOp>(y, before);
  }
  return {b.cast(y, dtype)};
}

//===- det ----------------------------------------------------------------------------------------===//

/// Each step of the elimination is a dozen ops.
static constexpr int64_t kLargestMatrix = 64;

LogicalResult DetOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                      Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  Dims dims = getDims(x);
  auto size = dims.size() < 2 ? std::nullopt : asConstant(dims.back());
  if (!size || dims[dims.size() - 2] != dims.back() || *size > kLargestMatrix)
    return emitOptionalError(location, "'", getOperationName(),
                             "' needs square matrices [..., n, n] with a number n of at most ",
                             kLargestMatrix, ", got ", text(x));
  dims.pop_back_n(2);
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

/// One step: the row with the largest element of the first column gives the pivot and leaves; what remains has a row and a
/// column less. The determinant is the product of the pivots, negative for each time that another row than the first was it.
SmallVector<Value> DetOp::decompose(Builder &b) {
  MLIRContext *context = getContext();
  Type dtype = typeOf(getX()).getElementType(), compute = computeType(dtype);
  Dim one = constantDim(1, context);
  Dims batch = dimsOf(getY());
  auto shaped = [&](std::initializer_list<AffineExpr> last) {
    Dims dims = batch;
    dims.append(last.begin(), last.end());
    return dims;
  };
  Value m = b.cast(getX(), compute), det = b.full(batch, compute, 1);
  int64_t rows = batch.size(); // the dim of rows; that of columns is behind
  for (int64_t n = *asConstant(dimsOf(m).back()); n > 0; --n) {
    Dim size = constantDim(n, context);
    Value column = b.slice(m, rows + 1, 0, 1); // [..., n, 1]
    Value place =
        b.make<ArgmaxOp>(b.make<AbsOp>(column), b.getI64IntegerAttr(rows), true); // [..., 1, 1]
    Value top =
        b.make<GatherOp>(m, b.broadcast(place, shaped({one, size})), static_cast<uint64_t>(rows));
    Value first = b.slice(m, rows, 0, 1); // [..., 1, n]
    Value pivot = b.slice(top, rows + 1, 0, 1);
    Value isFirst = b.make<EqOp>(place, b.fullLike(place, 0));
    Value factor = b.make<WhereOp>(isFirst, pivot, b.make<NegOp>(pivot));
    det = b.make<MulOp>(det, b.reshape(factor, batch));
    if (n == 1)
      break;
    // The first row takes the place of the pivot's.
    Value number = b.reshape(
        b.make<ArangeOp>(dimsMap(size, context), AffineMapAttr(), uint64_t(1), TypeAttr()),
        {size, one});
    Value isPivot = b.make<EqOp>(b.broadcast(number, shaped({size, size})),
                                 b.broadcast(place, shaped({size, size})));
    Value rest =
        b.slice(b.make<WhereOp>(isPivot, b.broadcast(first, shaped({size, size})), m), rows, 1);
    Dim left = constantDim(n - 1, context);
    // Of a column of zeros the determinant is 0, whatever follows.
    Value isZero = b.make<EqOp>(pivot, b.fullLike(pivot, 0));
    Value divisor = b.make<WhereOp>(isZero, b.fullLike(pivot, 1), pivot);
    Value shares =
        b.make<DivOp>(b.slice(rest, rows + 1, 0, 1), b.broadcast(divisor, shaped({left, one})));
    Value taken = b.make<MulOp>(b.broadcast(shares, shaped({left, left})),
                                b.broadcast(b.slice(top, rows + 1, 1), shaped({left, left})));
    m = b.make<SubOp>(b.slice(rest, rows + 1, 1), taken);
  }
  return {b.cast(det, dtype)};
}

} // namespace dlc::dl
