//===- ActivationGradients.cpp - Derivatives of activation functions ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/gradient/Derivation.h"

#include <numbers>

using namespace mlir;

namespace dlc::dl {

static void derive(Derivation &d, SigmoidOp) { d.add(0, d.dy() * (d.y() * (1.0 - d.y()))); }
static void derive(Derivation &d, ReluOp) { d.add(0, where(d.x() <= 0.0, 0.0, d.dy())); }

/// Returns the slope of x f(z), where f is a sigmoid and `slope` is the derivative of z by x.
static Term gate(const Term &x, const Term &f, const Term &slope) {
  return f + x * slope * f * (1.0 - f);
}

static void derive(Derivation &d, SiluOp) {
  Term f = d.x().make<SigmoidOp>();
  d.add(0, d.dy() * (f + d.x() * f * (1.0 - f)));
}

static void derive(Derivation &d, GeluOp op) {
  Term x = d.x();
  if (op.getApproximate() == "tanh") { // x sigmoid(a (x + b x^3))
    constexpr double kA = 1.59576912160573071176, kB = 0.044715;
    Term square = x * x;
    Term f = (x * (square * (kA * kB) + kA)).make<SigmoidOp>();
    d.add(0, d.dy() * gate(x, f, square * (3 * kA * kB) + kA));
    return;
  }
  constexpr double kRoot = std::numbers::sqrt2 / 2;
  Term part = 0.5 * (x * -kRoot).make<ErfcOp>();
  Term density = (-0.5 * x * x).make<ExpOp>() * (std::numbers::inv_sqrtpi * kRoot);
  d.add(0, d.dy() * (part + x * density));
}

static void derive(Derivation &d, LeakyReluOp op) {
  double slope = op.getNegativeSlope().convertToDouble();
  d.add(0, where(d.x() > 0.0, d.dy(), d.dy() * slope));
}

/// The function is scale x above 0, and scale alpha (e^(x / width) - 1) below.
static void deriveElu(Derivation &d, double alpha, double width = 1, double scale = 1) {
  Term grown = (width == 1 ? d.x() : d.x() / width).make<ExpOp>() * (scale * alpha / width);
  d.add(0, where(d.x() > 0.0, scale == 1 ? d.dy() : d.dy() * scale, d.dy() * grown));
}
static void derive(Derivation &d, EluOp op) { deriveElu(d, op.getAlpha().convertToDouble()); }
static void derive(Derivation &d, CeluOp op) {
  double alpha = op.getAlpha().convertToDouble();
  deriveElu(d, alpha, alpha);
}
static void derive(Derivation &d, SeluOp) {
  deriveElu(d, 1.6732632423543772848170429916717, 1, 1.0507009873554804934193349852946);
}

static void derive(Derivation &d, MishOp) {
  Term x = d.x(), squashed = x.make<SoftplusOp>(d.b.getF64FloatAttr(1), d.b.getF64FloatAttr(20));
  squashed = squashed.make<TanhOp>();
  d.add(0, d.dy() * (squashed + x * x.make<SigmoidOp>() * (1.0 - squashed * squashed)));
}

/// The slope is sigmoid(beta x), and 1 above the threshold.
static void derive(Derivation &d, SoftplusOp op) {
  double beta = op.getBeta().convertToDouble(), threshold = op.getThreshold().convertToDouble();
  Term z = beta == 1 ? d.x() : d.x() * beta;
  d.add(0, where(z > threshold, d.dy(), d.dy() * z.make<SigmoidOp>()));
}

static void derive(Derivation &d, SoftsignOp) {
  d.add(0, d.dy() / (1.0 + d.x().make<AbsOp>()).make<SquareOp>());
}

static void derive(Derivation &d, HardswishOp) {
  Term slope = d.dy() * (d.x() / 3.0 + 0.5);
  d.add(0, where(d.x() < -3.0, 0.0, where(d.x() <= 3.0, slope, d.dy())));
}

/// The gradient is `dy` between the bounds, and 0 at the bounds and outside.
static void deriveBetween(Derivation &d, double low, double high, const Term &dy) {
  d.add(0, where(d.x() <= low, 0.0, where(d.x() >= high, 0.0, dy)));
}
static void derive(Derivation &d, Relu6Op) { deriveBetween(d, 0, 6, d.dy()); }
static void derive(Derivation &d, HardsigmoidOp) { deriveBetween(d, -3, 3, d.dy() / 6.0); }
static void derive(Derivation &d, HardtanhOp op) {
  deriveBetween(d, op.getMinVal().convertToDouble(), op.getMaxVal().convertToDouble(), d.dy());
}

static void deriveShrink(Derivation &d, double lambda) {
  d.add(0, where(d.x().make<AbsOp>() <= lambda, 0.0, d.dy()));
}
static void derive(Derivation &d, SoftshrinkOp op) {
  deriveShrink(d, op.getLambd().convertToDouble());
}
static void derive(Derivation &d, HardshrinkOp op) {
  deriveShrink(d, op.getLambd().convertToDouble());
}

static void derive(Derivation &d, ThresholdOp op) {
  d.add(0, where(d.x() <= op.getThreshold().convertToDouble(), 0.0, d.dy()));
}
static void derive(Derivation &d, LogSigmoidOp) { d.add(0, d.dy() * (-d.x()).make<SigmoidOp>()); }
static void derive(Derivation &d, TanhshrinkOp) {
  Term squashed = d.x().make<TanhOp>();
  d.add(0, d.dy() * squashed * squashed);
}

/// The weight has one slope, or one for each channel.
static void derive(Derivation &d, PreluOp) {
  Dims channels(d.rank(), d.dim(1));
  if (d.rank() > 1)
    channels[1] = d.dims(1).empty() ? d.dim(1) : d.dims(1)[0];
  Term isPositive = d.x() > 0.0;
  if (d.wants(0))
    d.add(0, where(isPositive, d.dy(), d.dy() * d.x(1).reshape(channels)));
  if (d.wants(1))
    d.add(1, where(isPositive, 0.0, d.dy() * d.x()).summedTo(channels).reshape(d.dims(1)));
}

static void derive(Derivation &d, GluOp op) {
  int64_t axis = d.axis(op.getDim());
  AffineExpr half = d.dy().dims()[axis];
  Term x = d.x().narrowed(axis, d.dim(0), half), f = d.x().narrowed(axis, half, half);
  f = f.make<SigmoidOp>();
  Term left = (d.dy() * f).padded(axis, d.dim(0), half);
  d.add(0, left + (d.dy() * x * f * (1.0 - f)).padded(axis, half, d.dim(0)));
}

ArrayRef<GradientRule> activationGradients() {
  return rulesOf<SigmoidOp, ReluOp, SiluOp, GeluOp, LeakyReluOp, EluOp, CeluOp, SeluOp, MishOp,
                 SoftplusOp, SoftsignOp, HardswishOp, Relu6Op, HardsigmoidOp, HardtanhOp,
                 SoftshrinkOp, HardshrinkOp, ThresholdOp, LogSigmoidOp, TanhshrinkOp, PreluOp,
                 GluOp>();
}

} // namespace dlc::dl
