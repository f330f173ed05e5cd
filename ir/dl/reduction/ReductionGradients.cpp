//===- ReductionGradients.cpp - Derivatives of reductions ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/gradient/Derivation.h"

#include <cmath>

using namespace mlir;

namespace dlc::dl {

namespace {
/// A reduction of operand 0 along `axes`.
struct Reduced {
  SmallVector<int64_t> axes;
  Dims kept; // the dims of x, 1 where they are reduced

  Reduced(Derivation &d, ArrayRef<int64_t> dims) : axes(d.axes(dims)), kept(d.dims()) {
    for (int64_t axis : axes)
      kept[axis] = d.dim(1);
  }
  Term y(Derivation &d) const { return d.y().reshape(kept); }
  Term dy(Derivation &d) const { return d.dy().reshape(kept); }
  Term sum(const Term &of) const { return of.sum(axes, /*keepsDims=*/true); }
};
} // namespace

static void derive(Derivation &d, SumOp op) {
  d.add(0, Reduced(d, op.getDim()).dy(d).cast(d.dtype()).broadcast(d.dims()));
}

static void derive(Derivation &d, MeanOp op) {
  Reduced reduced(d, op.getDim());
  Dims over;
  for (int64_t axis : reduced.axes)
    over.push_back(d.dims()[axis]);
  Term dy = reduced.dy(d).cast(d.dtype());
  Term count = d.size(product(over, d.b.getContext()), d.dtype());
  d.add(0, (dy / count).broadcast(d.dims()));
}

/// Returns the gradient of `elements`, whose maximum or minimum is the result. Those that are equal
/// to it get equal shares.
static Term extremeShare(Derivation &d, const Reduced &reduced, const Term &elements) {
  Term isIt = elements.equals(reduced.y(d));
  return where(isIt, reduced.dy(d) / reduced.sum(isIt.cast(d.dtype())), 0.0);
}
static void derive(Derivation &d, AmaxOp op) {
  d.add(0, extremeShare(d, Reduced(d, op.getDim()), d.x()));
}
static void derive(Derivation &d, AminOp op) {
  d.add(0, extremeShare(d, Reduced(d, op.getDim()), d.x()));
}

/// The slope is the product of the other elements: the result divided by the element, unless there
/// are zeros.
static void derive(Derivation &d, ProdOp op) {
  Reduced reduced(d, op.getDim());
  Term x = d.x(), y = reduced.y(d), dy = reduced.dy(d);
  Term isZero = x.equals(0.0), zeros = reduced.sum(isZero.cast(d.dtype()));
  Term rest = where(isZero, 1.0, x).make<ProdOp>(ArrayRef<int64_t>(reduced.axes), true);
  Term alone = where(zeros.equals(1.0), dy * rest, 0.0);
  Term others = where(zeros.equals(0.0), dy * y, 0.0) / x;
  d.add(0, where(isZero, alone, others));
}

static void derive(Derivation &d, LogSumExpOp op) {
  Reduced reduced(d, op.getDim());
  d.add(0, reduced.dy(d) * (d.x() - reduced.y(d)).make<ExpOp>());
}

static void derive(Derivation &d, NormOp op) {
  Reduced reduced(d, op.getDim());
  double p = op.getP().convertToDouble();
  Term x = d.x(), y = reduced.y(d), dy = reduced.dy(d);
  if (p == 0) // counts the elements that are not 0
    return d.add(0, d.zeros(d.dims()));
  if (std::isinf(p))
    return d.add(0, x.make<SignOp>() * extremeShare(d, reduced, x.make<AbsOp>()));
  if (p == 1)
    return d.add(0, dy * x.make<SignOp>());
  Term slope = p == 2 ? x / y : x.make<SignOp>() * (x.make<AbsOp>().power(p - 1) / y.power(p - 1));
  d.add(0, where((p < 1 ? x : y).equals(0.0), 0.0, dy * slope));
}

/// Returns the derivative of the variance by each element: 2 / (n - correction) times the distance
/// from the mean.
template <typename Op> static Term varianceSlope(Derivation &d, Op op, const Reduced &reduced) {
  Dims over;
  for (int64_t axis : reduced.axes)
    over.push_back(d.dims()[axis]);
  auto correction = static_cast<double>(op.getCorrection().value_or(op.getUnbiased()));
  Term count = d.size(product(over, d.b.getContext()), d.dtype());
  Term distance = (d.x() - d.x().mean(reduced.axes)) * 2.0;
  if (count.isNumber())
    return distance / std::max(count.getNumber() - correction, 0.0);
  Term degrees = count - correction;
  return distance / where(degrees < 0.0, 0.0, degrees);
}
static void derive(Derivation &d, VarOp op) {
  Reduced reduced(d, op.getDim());
  d.add(0, reduced.dy(d) * varianceSlope(d, op, reduced));
}
static void derive(Derivation &d, StdOp op) {
  Reduced reduced(d, op.getDim());
  Term y = reduced.y(d), part = reduced.dy(d) / (2.0 * y);
  d.add(0, where(y.equals(0.0), 0.0, part) * varianceSlope(d, op, reduced));
}

static void derive(Derivation &d, SoftmaxOp op) {
  Term weighted = d.dy() * d.y();
  Term sum = weighted.sum({d.axis(op.getDim())}, /*keepsDims=*/true);
  d.add(0, weighted - d.y() * sum);
}

static void derive(Derivation &d, LogSoftmaxOp op) {
  Term sum = d.dy().sum({d.axis(op.getDim())}, /*keepsDims=*/true);
  d.add(0, d.dy() - d.y().make<ExpOp>() * sum);
}

/// The gradient is summed from the other end.
static void derive(Derivation &d, CumsumOp op) {
  int64_t axis = d.axis(op.getDim());
  auto turned = [&](const Term &x) { return x.make<FlipOp>(ArrayRef<int64_t>(axis)); };
  d.add(0, turned(turned(d.dy()).make<CumsumOp>(static_cast<uint64_t>(axis), TypeAttr())));
}

ArrayRef<GradientRule> reductionGradients() {
  return rulesOf<SumOp, MeanOp, AmaxOp, AminOp, ProdOp, LogSumExpOp, NormOp, VarOp, StdOp,
                 SoftmaxOp, LogSoftmaxOp, CumsumOp>();
}

} // namespace dlc::dl
