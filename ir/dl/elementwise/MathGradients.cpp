//===- MathGradients.cpp - Derivatives of functions at each index -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/gradient/Derivation.h"

#include <numbers>

using namespace mlir;

namespace dlc::dl {

static void derive(Derivation &d, ExpOp) { d.add(0, d.dy() * d.y()); }
static void derive(Derivation &d, LogOp) { d.add(0, d.dy() / d.x()); }
static void derive(Derivation &d, Log1pOp) { d.add(0, d.dy() / (d.x() + 1.0)); }
static void derive(Derivation &d, Expm1Op) { d.add(0, d.dy() * (d.y() + 1.0)); }
static void derive(Derivation &d, Exp2Op) { d.add(0, d.dy() * (d.y() * std::numbers::ln2)); }
static void derive(Derivation &d, Log2Op) { d.add(0, d.dy() / (d.x() * std::numbers::ln2)); }
static void derive(Derivation &d, Log10Op) { d.add(0, d.dy() / (d.x() * std::numbers::ln10)); }
static void derive(Derivation &d, SqrtOp) { d.add(0, d.dy() / (2.0 * d.y())); }
static void derive(Derivation &d, RsqrtOp) { d.add(0, -0.5 * d.dy() * (d.y() * d.y() * d.y())); }

/// 0 in place of 0 log 0, and of e 0^(e - 1) where e is 0.
static void derive(Derivation &d, PowOp) {
  Term x = d.x(0), e = d.x(1);
  if (d.wants(0)) {
    Term slope = e * x.make<PowOp>(e - 1.0);
    d.add(0, where(e.equals(0.0), 0.0, d.dy() * slope));
  }
  if (d.wants(1)) {
    Term growth = d.y() * x.make<LogOp>();
    Term isZero = x.equals(0.0).make<LogicalAndOp>(e >= 0.0);
    d.add(1, d.dy() * where(isZero, 0.0, growth));
  }
}

static void derive(Derivation &d, PowNumberOp op) {
  double e = op.getExponent().convertToDouble();
  if (e == 1)
    d.add(0, d.dy());
  else if (e == 2)
    d.add(0, d.dy() * (2.0 * d.x()));
  else if (e != 0)
    d.add(0, d.dy() * (e * d.x().power(e - 1)));
}

static void derive(Derivation &d, SinOp) { d.add(0, d.dy() * d.x().make<CosOp>()); }
static void derive(Derivation &d, CosOp) { d.add(0, -d.dy() * d.x().make<SinOp>()); }
static void derive(Derivation &d, TanOp) { d.add(0, d.dy() * (1.0 + d.y() * d.y())); }
static void derive(Derivation &d, AsinOp) {
  d.add(0, d.dy() * (1.0 - d.x() * d.x()).make<RsqrtOp>());
}
static void derive(Derivation &d, AcosOp) {
  d.add(0, -d.dy() * (1.0 - d.x() * d.x()).make<RsqrtOp>());
}
static void derive(Derivation &d, AtanOp) { d.add(0, d.dy() / (1.0 + d.x() * d.x())); }
static void derive(Derivation &d, Atan2Op) {
  Term part = d.dy() / (d.x(0) * d.x(0) + d.x(1) * d.x(1));
  if (d.wants(0))
    d.add(0, part * d.x(1));
  if (d.wants(1))
    d.add(1, -part * d.x(0));
}
static void derive(Derivation &d, SinhOp) { d.add(0, d.dy() * d.x().make<CoshOp>()); }
static void derive(Derivation &d, CoshOp) { d.add(0, d.dy() * d.x().make<SinhOp>()); }
static void derive(Derivation &d, TanhOp) { d.add(0, d.dy() * (1.0 - d.y() * d.y())); }
static void derive(Derivation &d, AsinhOp) {
  d.add(0, d.dy() * (1.0 + d.x() * d.x()).make<RsqrtOp>());
}
static void derive(Derivation &d, AcoshOp) {
  d.add(0, d.dy() * (d.x() * d.x() - 1.0).make<RsqrtOp>());
}
static void derive(Derivation &d, AtanhOp) { d.add(0, d.dy() / (1.0 - d.x() * d.x())); }

/// 2 / sqrt(pi) e^(-x^2)
static Term bell(const Term &x) {
  return (-x.make<SquareOp>()).make<ExpOp>() * (2 * std::numbers::inv_sqrtpi);
}
static void derive(Derivation &d, ErfOp) { d.add(0, d.dy() * bell(d.x())); }
static void derive(Derivation &d, ErfcOp) { d.add(0, -d.dy() * bell(d.x())); }

static void derive(Derivation &d, LogAddExpOp) {
  Term share = (d.x(0) - d.x(1)).make<SigmoidOp>(); // NaN of equal infinities, as PyTorch's
  if (d.wants(0))
    d.add(0, d.dy() * share);
  if (d.wants(1))
    d.add(1, d.dy() * (1.0 - share));
}

ArrayRef<GradientRule> mathGradients() {
  return rulesOf<LogAddExpOp, ExpOp, LogOp, Log1pOp, Expm1Op, Exp2Op, Log2Op, Log10Op, SqrtOp,
                 RsqrtOp, PowOp, PowNumberOp, SinOp, CosOp, TanOp, AsinOp, AcosOp, AtanOp, Atan2Op,
                 SinhOp, CoshOp, TanhOp, AsinhOp, AcoshOp, AtanhOp, ErfOp, ErfcOp>();
}

} // namespace dlc::dl
