//===- ElementwiseDerivatives.cpp - Of arithmetic and functions at each index -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands have the dims of the result: what is repeated for them is a dl.broadcast before the op.
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/gradient/Derivation.h"

#include <cmath>
#include <numbers>

using namespace mlir;

namespace dlc::onnx {

/// Constant between its steps, or of the dims of the operand alone.
static void deriveStep(Derivation &) {}

/// The lesser or greater of two, each half where they are equal.
static void deriveExtreme(Derivation &d, StringRef isOther) {
  Term half = where(d.x(0).call("eq", {d.x(1).item}), d.dy() * 0.5, d.dy());
  d.add(0, where(d.x(0).call(isOther, {d.x(1).item}), 0.0, half));
  d.add(1, where(d.x(1).call(isOther, {d.x(0).item}), 0.0, half));
}
static void deriveMaximum(Derivation &d) { deriveExtreme(d, "lt"); }
static void deriveMinimum(Derivation &d) { deriveExtreme(d, "gt"); }

/// 1 at the bounds, too.
static void deriveClamp(Derivation &d) {
  double infinity = std::numeric_limits<double>::infinity();
  double low = d.real("min", -infinity), high = d.real("max", infinity);
  Term dx = d.dy();
  if (low != -infinity)
    dx = where(d.x() < low, 0.0, dx);
  if (high != infinity)
    dx = where(d.x() > high, 0.0, dx);
  d.add(0, dx);
}

/// 0 in place of 0 log 0, and of e 0^(e - 1) where e is 0.
static void derivePow(Derivation &d) {
  Term x = d.x(0), e = d.x(1);
  Term slope = e * x.call("pow", {(e - 1.0).item});
  d.add(0, where(e.call("eq", {item(0.0)}), 0.0, d.dy() * slope));
  Term growth = d.y() * x.call("log");
  Term isZero = x.call("eq", {item(0.0)}).call("logical_and", {e.call("ge", {item(0.0)}).item});
  d.add(1, d.dy() * where(isZero, 0.0, growth));
}

static void derivePowNumber(Derivation &d) {
  double e = d.real("exponent", 1);
  if (e == 0)
    return;
  d.add(0, e == 1 ? d.dy() : d.dy() * (e * d.x().call("pow", {item(e - 1)})));
}

static void deriveCast(Derivation &d) { d.add(0, d.dy()); }

llvm::ArrayRef<DerivativeRule> elementwiseDerivatives() {
  static const DerivativeRule rules[] = {
      {"dl.add",
       [](Derivation &d) {
         d.add(0, d.dy());
         d.add(1, d.dy());
       }},
      {"dl.sub",
       [](Derivation &d) {
         d.add(0, d.dy());
         d.add(1, -d.dy());
       }},
      {"dl.mul",
       [](Derivation &d) {
         d.add(0, d.dy() * d.x(1));
         d.add(1, d.dy() * d.x(0));
       }},
      {"dl.div",
       [](Derivation &d) {
         Term dx = d.dy() / d.x(1);
         d.add(0, dx);
         d.add(1, -dx * d.y());
       }},
      {"dl.maximum", deriveMaximum},
      {"dl.minimum", deriveMinimum},
      {"dl.neg", [](Derivation &d) { d.add(0, -d.dy()); }},
      {"dl.abs", [](Derivation &d) { d.add(0, d.dy() * d.x().call("sign")); }},
      {"dl.sign", deriveStep},
      {"dl.floor", deriveStep},
      {"dl.ceil", deriveStep},
      {"dl.round", deriveStep},
      {"dl.zeros_like", deriveStep},
      {"dl.ones_like", deriveStep},
      {"dl.floor_divide", deriveStep},
      {"dl.trunc_divide", deriveStep},
      {"dl.remainder",
       [](Derivation &d) {
         Term whole =
             d.x(0).call("div", {d.x(1).item}, {{"rounding_mode", item(StringRef("floor"))}});
         d.add(0, d.dy());
         d.add(1, -d.dy() * whole);
       }},
      {"dl.fmod",
       [](Derivation &d) {
         Term whole =
             d.x(0).call("div", {d.x(1).item}, {{"rounding_mode", item(StringRef("trunc"))}});
         d.add(0, d.dy());
         d.add(1, -d.dy() * whole);
       }},
      {"dl.reciprocal", [](Derivation &d) { d.add(0, -d.dy() * d.y() * d.y()); }},
      {"dl.square", [](Derivation &d) { d.add(0, d.dy() * (2.0 * d.x())); }},
      {"dl.clamp", deriveClamp},
      {"dl.where",
       [](Derivation &d) {
         d.add(1, where(d.x(0), d.dy(), 0.0));
         d.add(2, where(d.x(0), 0.0, d.dy()));
       }},
      {"dl.cast", deriveCast},
      {"dl.exp", [](Derivation &d) { d.add(0, d.dy() * d.y()); }},
      {"dl.log", [](Derivation &d) { d.add(0, d.dy() / d.x()); }},
      {"dl.sqrt", [](Derivation &d) { d.add(0, d.dy() / (2.0 * d.y())); }},
      {"dl.rsqrt", [](Derivation &d) { d.add(0, -0.5 * d.dy() * (d.y() * d.y() * d.y())); }},
      {"dl.pow", derivePow},
      {"dl.pow_number", derivePowNumber},
      {"dl.sin", [](Derivation &d) { d.add(0, d.dy() * d.x().call("cos")); }},
      {"dl.cos", [](Derivation &d) { d.add(0, -d.dy() * d.x().call("sin")); }},
      {"dl.tan", [](Derivation &d) { d.add(0, d.dy() * (1.0 + d.y() * d.y())); }},
      {"dl.asin", [](Derivation &d) { d.add(0, d.dy() * (1.0 - d.x() * d.x()).call("rsqrt")); }},
      {"dl.acos", [](Derivation &d) { d.add(0, -d.dy() * (1.0 - d.x() * d.x()).call("rsqrt")); }},
      {"dl.atan", [](Derivation &d) { d.add(0, d.dy() / (1.0 + d.x() * d.x())); }},
      {"dl.sinh", [](Derivation &d) { d.add(0, d.dy() * d.x().call("cosh")); }},
      {"dl.cosh", [](Derivation &d) { d.add(0, d.dy() * d.x().call("sinh")); }},
      {"dl.tanh", [](Derivation &d) { d.add(0, d.dy() * (1.0 - d.y() * d.y())); }},
      {"dl.asinh", [](Derivation &d) { d.add(0, d.dy() * (1.0 + d.x() * d.x()).call("rsqrt")); }},
      {"dl.acosh", [](Derivation &d) { d.add(0, d.dy() * (d.x() * d.x() - 1.0).call("rsqrt")); }},
      {"dl.atanh", [](Derivation &d) { d.add(0, d.dy() / (1.0 - d.x() * d.x())); }},
      {"dl.erf",
       [](Derivation &d) {
         d.add(0, d.dy() * (2 * std::numbers::inv_sqrtpi * (-d.x().call("square")).call("exp")));
       }},
      {"dl.erfc",
       [](Derivation &d) {
         d.add(0, d.dy() * (-2 * std::numbers::inv_sqrtpi * (-d.x().call("square")).call("exp")));
       }},
  };
  return rules;
}

} // namespace dlc::onnx
