//===- DLBuilder.cpp - Builds dl ops whose types follow from their operands ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"

using namespace mlir;

namespace dlc::dl {

Value Builder::cast(Value x, Type dtype) {
  return typeOf(x).getElementType() == dtype ? x : make<CastOp>(x, dtype);
}

Value Builder::broadcast(Value x, ArrayRef<AffineExpr> dims) {
  auto type = makeTensor(dims, typeOf(x).getElementType());
  return type == x.getType() ? x : BroadcastOp::create(*this, type, x).getResult();
}

Value Builder::reshape(Value x, ArrayRef<AffineExpr> dims) {
  auto type = makeTensor(dims, typeOf(x).getElementType());
  if (type == x.getType())
    return x;
  return ReshapeOp::create(*this, type, x, dimsMap(getDims(type), getContext())).getResult();
}

Value Builder::permute(Value x, ArrayRef<int64_t> order) {
  bool isIdentity = true;
  for (auto [to, from] : llvm::enumerate(order))
    isIdentity &= from == static_cast<int64_t>(to);
  return isIdentity ? x : make<PermuteOp>(x, order);
}

Value Builder::transpose(Value x, int64_t dim0, int64_t dim1) {
  int64_t rank = typeOf(x).getRank();
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(order[dim0 < 0 ? dim0 + rank : dim0], order[dim1 < 0 ? dim1 + rank : dim1]);
  return permute(x, order);
}

Value Builder::slice(Value x, int64_t dim, int64_t start, std::optional<int64_t> end,
                     int64_t step) {
  if (start == 0 && step == 1 && (!end || isConstant(dimsOf(x)[dim], *end)))
    return x;
  return make<SliceOp>(x, static_cast<uint64_t>(dim), getI64IntegerAttr(start),
                       end ? getI64IntegerAttr(*end) : IntegerAttr(), static_cast<uint64_t>(step));
}

Value Builder::pad(Value x, int64_t dim, int64_t low, int64_t high) {
  if (low == 0 && high == 0)
    return x;
  SmallVector<int64_t> widths(2 * (typeOf(x).getRank() - dim));
  widths[widths.size() - 2] = low;
  widths[widths.size() - 1] = high;
  return make<PadOp>(x, AffineMapAttr::get(constantMap(widths, getContext())),
                     getStringAttr("constant"), getF64FloatAttr(0.0));
}

Value Builder::select(Value x, int64_t dim, int64_t position) {
  std::optional<int64_t> end;
  if (position != -1) // the slice from the last one goes to the end
    end = position + 1;
  return squeeze(slice(x, dim, position, end), dim);
}

Value Builder::unsqueeze(Value x, int64_t dim) {
  Dims dims = dimsOf(x);
  dims.insert(dims.begin() + (dim < 0 ? dim + dims.size() + 1 : dim), constantDim(1, getContext()));
  return reshape(x, dims);
}

Value Builder::squeeze(Value x, int64_t dim) {
  Dims dims = dimsOf(x);
  auto position = dims.begin() + (dim < 0 ? dim + dims.size() : dim);
  assert(isConstant(*position, 1) && "only a dim of size 1 can go");
  dims.erase(position);
  return reshape(x, dims);
}

Value Builder::full(ArrayRef<AffineExpr> dims, Type dtype, double value) {
  Type compute = computeType(dtype);
  TypedAttr fill = isa<FloatType>(compute)
                       ? TypedAttr(getFloatAttr(compute, value))
                       : TypedAttr(getIntegerAttr(compute, static_cast<int64_t>(value)));
  return FullOp::create(*this, makeTensor(dims, dtype), fill).getResult();
}

Value Builder::fullLike(Value x, double value) {
  return full(dimsOf(x), typeOf(x).getElementType(), value);
}

} // namespace dlc::dl
