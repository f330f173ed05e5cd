//===- Polynomial.cpp - Dims as sums of products ------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/Polynomial.h"

#include "ir/dl/base/DLTypes.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;

namespace dlc::dl {

/// Less, equal, greater: by kind, then by position or value, then by operands.
static int compare(AffineExpr a, AffineExpr b) {
  if (a == b)
    return 0;
  if (a.getKind() != b.getKind())
    return a.getKind() < b.getKind() ? -1 : 1;
  if (auto binary = dyn_cast<AffineBinaryOpExpr>(a)) {
    auto other = cast<AffineBinaryOpExpr>(b);
    if (int order = compare(binary.getLHS(), other.getLHS()))
      return order;
    return compare(binary.getRHS(), other.getRHS());
  }
  auto position = [](AffineExpr leaf) -> int64_t {
    if (auto constant = dyn_cast<AffineConstantExpr>(leaf))
      return constant.getValue();
    if (auto symbol = dyn_cast<AffineSymbolExpr>(leaf))
      return symbol.getPosition();
    return cast<AffineDimExpr>(leaf).getPosition();
  };
  return position(a) < position(b) ? -1 : 1;
}

bool Polynomial::Before::operator()(AffineExpr a, AffineExpr b) const { return compare(a, b) < 0; }

bool Polynomial::Before::operator()(const Factors &a, const Factors &b) const {
  // Products of more factors come first, the constant last.
  if (a.size() != b.size())
    return a.size() > b.size();
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), *this);
}

bool Polynomial::add(const Factors &factors, int64_t coefficient) {
  int64_t &sum = terms[factors];
  bool fits = !llvm::AddOverflow(sum, coefficient, sum);
  if (sum == 0)
    terms.erase(factors);
  return fits;
}

std::optional<Polynomial> Polynomial::of(AffineExpr expr) {
  Polynomial result;
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    result.add({}, constant.getValue());
    return result;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary) {
    result.add({expr}, 1);
    return result;
  }
  if (binary.getKind() != AffineExprKind::Add && binary.getKind() != AffineExprKind::Mul) {
    AffineExpr lhs = normalize(binary.getLHS()), rhs = normalize(binary.getRHS());
    if (binary.getKind() != AffineExprKind::Mod) {
      auto numerator = of(lhs), denominator = of(rhs);
      if (numerator && denominator)
        if (auto quotient = numerator->dividedExactly(*denominator))
          return quotient;
    }
    // Construction may fold it into something that is no quotient any more.
    AffineExpr factor = getAffineBinaryOpExpr(binary.getKind(), lhs, rhs);
    if (factor.getKind() != binary.getKind())
      return of(factor);
    result.add({factor}, 1);
    return result;
  }
  auto lhs = of(binary.getLHS()), rhs = of(binary.getRHS());
  if (!lhs || !rhs)
    return std::nullopt;
  if (binary.getKind() == AffineExprKind::Add) {
    for (const auto &[factors, coefficient] : rhs->terms)
      if (!lhs->add(factors, coefficient))
        return std::nullopt;
    return lhs;
  }
  for (const auto &[a, x] : lhs->terms)
    for (const auto &[b, y] : rhs->terms) {
      Factors factors = a;
      factors.insert(factors.end(), b.begin(), b.end());
      std::sort(factors.begin(), factors.end(), Before());
      int64_t coefficient;
      if (llvm::MulOverflow(x, y, coefficient) || !result.add(factors, coefficient))
        return std::nullopt;
    }
  return result;
}

AffineExpr Polynomial::toExpr(MLIRContext *context) const {
  AffineExpr sum = getAffineConstantExpr(0, context);
  for (const auto &[factors, coefficient] : terms) {
    AffineExpr product = getAffineConstantExpr(1, context);
    for (AffineExpr factor : factors)
      product = product * factor;
    sum = sum + product * coefficient;
  }
  return sum;
}

std::optional<Polynomial> Polynomial::dividedExactly(const Polynomial &divisor) const {
  if (divisor.terms.size() != 1)
    return std::nullopt;
  const auto &[below, scale] = *divisor.terms.begin();
  Polynomial quotient;
  for (const auto &[factors, coefficient] : terms) {
    if (coefficient % scale != 0 ||
        !std::includes(factors.begin(), factors.end(), below.begin(), below.end(), Before()))
      return std::nullopt;
    Factors rest;
    std::set_difference(factors.begin(), factors.end(), below.begin(), below.end(),
                        std::back_inserter(rest), Before());
    quotient.add(rest, coefficient / scale);
  }
  return quotient;
}

bool isNonlinear(AffineExpr expr) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  if (binary.getKind() != AffineExprKind::Add && !isa<AffineConstantExpr>(binary.getLHS()) &&
      !isa<AffineConstantExpr>(binary.getRHS()))
    return true;
  return isNonlinear(binary.getLHS()) || isNonlinear(binary.getRHS());
}

} // namespace dlc::dl
