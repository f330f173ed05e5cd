//===- DLLinalg.cpp - Products along a dim, and determinants ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"

using namespace mlir;

namespace dlc::dl {

//===- cumprod --------------------------------------------------------------------------------===//

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

/// Products of 1, 2, 4 ... elements that end at each: a tree of as many steps as the largest size
/// of the dim has bits.
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
    Value before = b.make<PadOp>(y, AffineMapAttr::get(constantMap(widths, b.getContext())),
                                 b.getStringAttr("constant"), b.getF64FloatAttr(1.0));
    y = b.make<MulOp>(y, before);
  }
  return {b.cast(y, dtype)};
}

//===- det ------------------------------------------------------------------------------------===//

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
                             kLargestMatrix, ", got ", text(adaptor.getX()));
  dims.pop_back_n(2);
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

/// From so many matrices on, neighbours in memory are of different matrices: all of these do the
/// same at the same time, while rows and columns get shorter and shorter.
static constexpr int64_t kManyMatrices = 8;

/// One step: the row with the largest element of the first column gives the pivot and leaves; what
/// remains has a row and a column less. The determinant is the product of the pivots, negative for
/// each time that another row than the first was it.
SmallVector<Value> DetOp::decompose(Builder &b) {
  MLIRContext *context = getContext();
  Type dtype = typeOf(getX()).getElementType(), compute = computeType(dtype);
  Dim one = constantDim(1, context);
  Dims batch = dimsOf(getY());
  Value m = b.cast(getX(), compute), det = b.full(batch, compute, 1);
  int64_t rank = batch.size() + 2, rows = rank - 2; // the dim of rows; that of columns is behind
  bool isMany = asConstant(product(batch, context)).value_or(kManyMatrices) >= kManyMatrices;
  if (isMany && !batch.empty()) {
    SmallVector<int64_t> order = {rows, rows + 1};
    llvm::append_range(order, llvm::seq<int64_t>(0, rows));
    m = b.permute(m, order);
    rows = 0;
  }
  int64_t columns = rows + 1;
  auto shaped = [&](Dim height, Dim width) {
    Dims dims = batch;
    Dim own[] = {height, width};
    dims.insert(dims.begin() + rows, std::begin(own), std::end(own));
    return dims;
  };
  for (int64_t n = *asConstant(dimsOf(m)[rows]); n > 0; --n) {
    Dim size = constantDim(n, context), left = constantDim(n - 1, context);
    Value column = b.slice(m, columns, 0, 1);                                               // n x 1
    Value place = b.make<ArgmaxOp>(b.make<AbsOp>(column), b.getI64IntegerAttr(rows), true); // 1 x 1
    Value numbers =
        b.make<ArangeOp>(dimsMap(size, context), AffineMapAttr(), uint64_t(1), TypeAttr());
    Dims upright(rank, one);
    upright[rows] = size;
    Value isPivot = b.make<EqOp>(b.broadcast(b.reshape(numbers, upright), shaped(size, size)),
                                 b.broadcast(place, shaped(size, size)));
    // The only one of a sum that is not 0: at places that differ from matrix to matrix nothing is
    // read.
    Value top = b.make<SumOp>(b.make<WhereOp>(isPivot, m, b.fullLike(m, 0)),
                              ArrayRef<int64_t>{rows}, true, TypeAttr()); // 1 x n
    Value pivot = b.slice(top, columns, 0, 1);
    Value isFirst = b.make<EqOp>(place, b.fullLike(place, 0));
    Value factor = b.make<WhereOp>(isFirst, pivot, b.make<NegOp>(pivot));
    det = b.make<MulOp>(det, b.reshape(factor, batch));
    if (n == 1)
      break;
    // The first row takes the place of the pivot's.
    Value first = b.broadcast(b.slice(m, rows, 0, 1), shaped(size, size));
    Value rest = b.slice(b.make<WhereOp>(isPivot, first, m), rows, 1);
    // Of a column of zeros the determinant is 0, whatever follows.
    Value isZero = b.make<EqOp>(pivot, b.fullLike(pivot, 0));
    Value divisor = b.make<WhereOp>(isZero, b.fullLike(pivot, 1), pivot);
    Value shares =
        b.make<DivOp>(b.slice(rest, columns, 0, 1), b.broadcast(divisor, shaped(left, one)));
    Value taken = b.make<MulOp>(b.broadcast(shares, shaped(left, left)),
                                b.broadcast(b.slice(top, columns, 1), shaped(left, left)));
    m = b.make<SubOp>(b.slice(rest, columns, 1), taken);
  }
  return {b.cast(det, dtype)};
}

} // namespace dlc::dl
