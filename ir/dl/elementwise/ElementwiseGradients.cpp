//===- ElementwiseGradients.cpp - Derivatives of arithmetic at each index -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands have the dims of the result: what is repeated for them is a dl.broadcast before the op.
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/gradient/Derivation.h"

using namespace mlir;

namespace dlc::dl {

static void derive(Derivation &d, AddOp) {
  d.add(0, d.dy());
  d.add(1, d.dy());
}

static void derive(Derivation &d, SubOp) {
  d.add(0, d.dy());
  if (d.wants(1))
    d.add(1, -d.dy());
}

static void derive(Derivation &d, MulOp) {
  if (d.wants(0))
    d.add(0, d.dy() * d.x(1));
  if (d.wants(1))
    d.add(1, d.dy() * d.x(0));
}

static void derive(Derivation &d, DivOp) {
  Term dx = d.dy() / d.x(1);
  d.add(0, dx);
  if (d.wants(1))
    d.add(1, -dx * d.y());
}

/// Derives a maximum or minimum. Operands that are equal get half of the gradient each. `isOther`
/// says where the second operand is the result.
static void deriveExtreme(Derivation &d, Term (*isOther)(const Term &, const Term &)) {
  Term half = where(d.x(0).equals(d.x(1)), d.dy() * 0.5, d.dy());
  d.add(0, where(isOther(d.x(0), d.x(1)), 0.0, half));
  d.add(1, where(isOther(d.x(1), d.x(0)), 0.0, half));
}
static void derive(Derivation &d, MaximumOp) { deriveExtreme(d, operator<); }
static void derive(Derivation &d, MinimumOp) { deriveExtreme(d, operator>); }

static void derive(Derivation &d, NegOp) { d.add(0, -d.dy()); }
static void derive(Derivation &d, AbsOp) { d.add(0, d.dy() * d.x().make<SignOp>()); }
static void derive(Derivation &d, ReciprocalOp) { d.add(0, -d.dy() * d.y() * d.y()); }
static void derive(Derivation &d, SquareOp) { d.add(0, d.dy() * (2.0 * d.x())); }
static void derive(Derivation &d, CastOp) { d.add(0, d.dy()); }

// These are constant between their steps, or depend on the dims of the operand alone.
static void derive(Derivation &, SignOp) {}
static void derive(Derivation &, FloorOp) {}
static void derive(Derivation &, CeilOp) {}
static void derive(Derivation &, RoundOp) {}
static void derive(Derivation &, TruncOp) {}
static void derive(Derivation &, ZerosLikeOp) {}
static void derive(Derivation &, OnesLikeOp) {}
static void derive(Derivation &, FloorDivideOp) {}
static void derive(Derivation &, TruncDivideOp) {}

static void derive(Derivation &d, RemainderOp) {
  d.add(0, d.dy());
  if (d.wants(1))
    d.add(1, -d.dy() * d.x(0).make<FloorDivideOp>(d.x(1)));
}

static void derive(Derivation &d, FmodOp) {
  d.add(0, d.dy());
  if (d.wants(1))
    d.add(1, -d.dy() * d.x(0).make<TruncDivideOp>(d.x(1)));
}

/// The slope is 1 at the bounds, too.
static void derive(Derivation &d, ClampOp op) {
  Term dx = d.dy();
  if (auto low = op.getMin())
    dx = where(d.x() < low->convertToDouble(), 0.0, dx);
  if (auto high = op.getMax())
    dx = where(d.x() > high->convertToDouble(), 0.0, dx);
  d.add(0, dx);
}

static void derive(Derivation &d, ClampTensorOp) { // min(max(x, low), high)
  Term isHigh = d.x(0).make<MaximumOp>(d.x(1).broadcast(d.dims()).value()) > d.x(2);
  Term dy = where(isHigh, 0.0, d.dy());
  d.add(0, where(d.x(0) < d.x(1), 0.0, dy).summedTo(d.dims(0)));
  if (d.wants(1))
    d.add(1, where(d.x(0) < d.x(1), dy, 0.0).summedTo(d.dims(1)));
  if (d.wants(2))
    d.add(2, where(isHigh, d.dy(), 0.0).summedTo(d.dims(2)));
}

/// Derives x + factor * other.
static void deriveScaled(Derivation &d, double factor) {
  d.add(0, d.dy());
  if (d.wants(1))
    d.add(1, d.dy() * factor);
}
static void derive(Derivation &d, AddScaledOp op) {
  deriveScaled(d, op.getAlpha().convertToDouble());
}
static void derive(Derivation &d, SubScaledOp op) {
  deriveScaled(d, -op.getAlpha().convertToDouble());
}

static void derive(Derivation &d, LerpOp) {
  if (d.wants(0))
    d.add(0, d.dy() * (1.0 - d.x(2)));
  if (d.wants(1))
    d.add(1, d.dy() * d.x(2));
  if (d.wants(2))
    d.add(2, d.dy() * (d.x(1) - d.x(0)));
}

static void derive(Derivation &d, AddcmulOp op) {
  d.add(0, d.dy());
  Term part = d.dy() * op.getValue().convertToDouble();
  if (d.wants(1))
    d.add(1, part * d.x(2));
  if (d.wants(2))
    d.add(2, part * d.x(1));
}

static void derive(Derivation &d, AddcdivOp op) {
  d.add(0, d.dy());
  Term part = d.dy() * op.getValue().convertToDouble() / d.x(2);
  d.add(1, part);
  if (d.wants(2))
    d.add(2, -part * d.x(1) / d.x(2));
}

static void derive(Derivation &d, FracOp) { d.add(0, d.dy()); }
static void derive(Derivation &d, MaskedFillOp) { d.add(0, where(d.x(1), 0.0, d.dy())); }

/// The gradient is 0 where x is not finite.
static void derive(Derivation &d, NanToNumOp) {
  Term isFinite = (d.x() - d.x()).equals(0.0);
  d.add(0, where(isFinite, d.dy(), 0.0));
}

static void derive(Derivation &d, WhereOp) {
  if (d.wants(1))
    d.add(1, where(d.x(0), d.dy(), 0.0));
  if (d.wants(2))
    d.add(2, where(d.x(0), 0.0, d.dy()));
}

ArrayRef<GradientRule> elementwiseGradients() {
  return rulesOf<AddOp, SubOp, MulOp, DivOp, MaximumOp, MinimumOp, NegOp, AbsOp, ReciprocalOp,
                 SquareOp, CastOp, SignOp, FloorOp, CeilOp, RoundOp, TruncOp, ZerosLikeOp,
                 OnesLikeOp, FloorDivideOp, TruncDivideOp, RemainderOp, FmodOp, ClampOp,
                 ClampTensorOp, AddScaledOp, SubScaledOp, LerpOp, AddcmulOp, AddcdivOp, FracOp,
                 MaskedFillOp, NanToNumOp, WhereOp>();
}

} // namespace dlc::dl
