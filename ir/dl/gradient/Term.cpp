//===- Term.cpp - Formulas of derivatives -------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/gradient/Term.h"

using namespace mlir;

namespace dlc::dl {

/// Returns both as tensors of the same dims.
static std::pair<Value, Value> aligned(const Term &a, const Term &b) {
  assert(!(a.isNumber() && b.isNumber()) && "one of the two is a tensor");
  if (a.isNumber())
    return {b.builder().fullLike(b.value(), a.getNumber()), b.value()};
  if (b.isNumber())
    return {a.value(), a.builder().fullLike(a.value(), b.getNumber())};
  Dims dims = *commonDims(a.dims(), b.dims());
  return {a.builder().broadcast(a.value(), dims), a.builder().broadcast(b.value(), dims)};
}

template <typename Op> static Term make(const Term &a, const Term &b) {
  Builder &builder = a.isNumber() ? b.builder() : a.builder();
  auto [left, right] = aligned(a, b);
  return {builder.make<Op>(left, right), builder};
}

Term operator+(const Term &a, const Term &b) { return make<AddOp>(a, b); }
Term operator-(const Term &a, const Term &b) { return make<SubOp>(a, b); }
Term operator*(const Term &a, const Term &b) { return make<MulOp>(a, b); }
Term operator/(const Term &a, const Term &b) { return make<DivOp>(a, b); }
Term operator-(const Term &a) { return a.make<NegOp>(); }
Term operator<(const Term &a, const Term &b) { return make<LtOp>(a, b); }
Term operator>(const Term &a, const Term &b) { return make<GtOp>(a, b); }
Term operator<=(const Term &a, const Term &b) { return make<LeOp>(a, b); }
Term operator>=(const Term &a, const Term &b) { return make<GeOp>(a, b); }
Term Term::equals(const Term &other) const { return dl::make<EqOp>(*this, other); }

Term where(const Term &condition, const Term &a, const Term &b) {
  Builder &builder = condition.builder();
  auto [left, right] = aligned(a, b);
  Dims dims = *commonDims(condition.dims(), dimsOf(left));
  return {builder.make<WhereOp>(builder.broadcast(condition.value(), dims),
                                builder.broadcast(left, dims), builder.broadcast(right, dims)),
          builder};
}

Term Term::transposed() const {
  return typeOf(held).getRank() < 2 ? *this : Term(b->transpose(held, -2, -1), *b);
}

Term Term::sum(ArrayRef<int64_t> axes, bool keepsDims) const {
  return axes.empty() ? *this : make<SumOp>(axes, keepsDims, TypeAttr());
}

Term Term::mean(ArrayRef<int64_t> axes) const {
  return axes.empty() ? *this : make<MeanOp>(axes, true, TypeAttr());
}

Term Term::summedTo(ArrayRef<AffineExpr> wanted) const {
  Dims dims = this->dims();
  assert(dims.size() >= wanted.size() && "a broadcast takes no dims away");
  size_t added = dims.size() - wanted.size();
  SmallVector<int64_t> summed;
  for (size_t i = 0; i < dims.size(); ++i)
    if (i < added || (isConstant(wanted[i - added], 1) && !isConstant(dims[i], 1)))
      summed.push_back(static_cast<int64_t>(i));
  return sum(summed, /*keepsDims=*/false).reshape(wanted);
}

Term Term::padded(int64_t axis, AffineExpr before, AffineExpr behind) const {
  Dims widths(2 * (typeOf(held).getRank() - axis), constantDim(0, b->getContext()));
  widths.end()[-2] = normalize(before);
  widths.end()[-1] = normalize(behind);
  if (isConstant(widths.end()[-2], 0) && isConstant(widths.end()[-1], 0))
    return *this;
  return make<PadOp>(AffineMapAttr::get(dimsMap(widths, b->getContext())),
                     b->getStringAttr("constant"), b->getF64FloatAttr(0.0));
}

Term Term::narrowed(int64_t axis, AffineExpr start, AffineExpr length) const {
  if (isConstant(normalize(start), 0) && normalize(length) == dims()[axis])
    return *this;
  MLIRContext *context = b->getContext();
  return make<PartOp>(static_cast<uint64_t>(axis), dimsMap({normalize(start)}, context),
                      dimsMap({normalize(length)}, context));
}

Term Term::power(double exponent) const { return make<PowNumberOp>(b->getF64FloatAttr(exponent)); }

} // namespace dlc::dl
