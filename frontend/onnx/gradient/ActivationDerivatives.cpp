//===- ActivationDerivatives.cpp - Of activation functions --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/gradient/Derivation.h"

#include <numbers>

using namespace mlir;

namespace dlc::onnx {

/// Of x f(scale x), f a sigmoid: f + x scale f (1 - f)
static Term gate(const Term &x, const Term &f, const Term &slope) {
  return f + x * slope * f * (1.0 - f);
}

static void deriveGelu(Derivation &d) {
  auto form = d.op->getAttrOfType<StringAttr>("approximate");
  Term x = d.x();
  if (form && form.getValue() == "tanh") { // x sigmoid(a (x + b x^3))
    constexpr double kA = 1.59576912160573071176, kB = 0.044715;
    Term square = x * x;
    Term f = (x * (square * (kA * kB) + kA)).call("sigmoid");
    d.add(0, d.dy() * gate(x, f, square * (3 * kA * kB) + kA));
    return;
  }
  constexpr double kRoot = std::numbers::sqrt2 / 2;
  Term part = 0.5 * (x * -kRoot).call("erfc");
  Term density = (-0.5 * x * x).call("exp") * (std::numbers::inv_sqrtpi * kRoot);
  d.add(0, d.dy() * (part + x * density));
}

/// scale x above 0, else scale alpha (e^(x / width) - 1)
static void deriveElu(Derivation &d, double alpha, double width = 1, double scale = 1) {
  Term grown = (width == 1 ? d.x() : d.x() / width).call("exp") * (scale * alpha / width);
  d.add(0, where(d.x() > 0.0, scale == 1 ? d.dy() : d.dy() * scale, d.dy() * grown));
}

static void deriveMish(Derivation &d) {
  Term x = d.x(), squashed = x.call("softplus").call("tanh");
  d.add(0, d.dy() * (squashed + x * x.call("sigmoid") * (1.0 - squashed * squashed)));
}

/// sigmoid(beta x), and 1 above the threshold.
static void deriveSoftplus(Derivation &d) {
  double beta = d.real("beta", 1), threshold = d.real("threshold", 20);
  Term z = beta == 1 ? d.x() : d.x() * beta;
  d.add(0, where(z > threshold, d.dy(), d.dy() * z.call("sigmoid")));
}

static void deriveHardswish(Derivation &d) {
  Term slope = d.dy() * (d.x() / 3.0 + 0.5);
  d.add(0, where(d.x() < -3.0, 0.0, where(d.x() <= 3.0, slope, d.dy())));
}

llvm::ArrayRef<DerivativeRule> activationDerivatives() {
  static const DerivativeRule rules[] = {
      {"dl.sigmoid", [](Derivation &d) { d.add(0, d.dy() * (d.y() * (1.0 - d.y()))); }},
      {"dl.relu", [](Derivation &d) { d.add(0, where(d.x() <= 0.0, 0.0, d.dy())); }},
      {"dl.gelu", deriveGelu},
      {"dl.silu",
       [](Derivation &d) { d.add(0, d.dy() * gate(d.x(), d.x().call("sigmoid"), 1.0)); }},
      {"dl.leaky_relu",
       [](Derivation &d) {
         d.add(0, where(d.x() > 0.0, d.dy(), d.dy() * d.real("negative_slope", 0.01)));
       }},
      {"dl.mish", deriveMish},
      {"dl.softsign",
       [](Derivation &d) { d.add(0, d.dy() / (1.0 + d.x().call("abs")).call("square")); }},
      {"dl.hardswish", deriveHardswish},
      {"dl.elu", [](Derivation &d) { deriveElu(d, d.real("alpha", 1)); }},
      {"dl.celu", [](Derivation &d) { deriveElu(d, d.real("alpha", 1), d.real("alpha", 1)); }},
      {"dl.selu",
       [](Derivation &d) {
         deriveElu(d, 1.6732632423543772848170429916717, 1, 1.0507009873554804934193349852946);
       }},
      {"dl.softplus", deriveSoftplus},
  };
  return rules;
}

} // namespace dlc::onnx
