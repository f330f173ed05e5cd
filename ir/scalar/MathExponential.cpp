//===- MathExponential.cpp - e^x and its relatives as arithmetic -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   exp, exp2, expm1  additive, after Cody and Waite: x = n ln 2 + r with ln 2 in two parts; 2^n
//                     goes in by two factors, so that results overflow and underflow as they should
//   tanh              odd polynomial below 0.5625, else 1 - 2 / (e^2x + 1)
//   sigmoid           1 / (1 + e^-x), x bounded
//===------------------------------------------------------------------------------------------===//
#include "ir/scalar/MathExpander.h"

#include <numbers>

namespace dlc {

namespace c = coefficients;

Expander::Reduced Expander::reduceExponent(Value x) {
  Value magic = number(format.magic);
  Value shifted = fma(x, number(isSingle ? c::log2eSingle : c::log2eDouble), magic);
  Value n = sub(shifted, magic);
  // n * ln2High is exact, and so is the difference: the two are close.
  Value r = fma(n, number(isSingle ? -c::ln2HighSingle : -c::ln2HighDouble), x);
  r = fma(n, number(isSingle ? -c::ln2LowSingle : -c::ln2LowDouble), r);
  return {r, asInt(shifted)};
}

std::pair<Value, Value> Expander::reducedExp(Value x) {
  auto [r, n] = reduceExponent(x);
  return {fma(mul(r, r), polynomial(c::expSingle, c::expDouble, r), r), n};
}

Value Expander::expOfRest(Value r) {
  Value one = number(1.0);
  return fma(fma(polynomial(c::expSingle, c::expDouble, r), r, one), r, one);
}

Value Expander::exp(Value x) {
  auto [r, n] = reduceExponent(atMost(atLeast(x, format.expLow), format.expHigh));
  return scale(expOfRest(r), n);
}

Value Expander::exp2(Value x) {
  x = atMost(atLeast(x, isSingle ? -151.0 : -1076.0), isSingle ? 129.0 : 1025.0);
  Value magic = number(format.magic), shifted = add(x, magic), n = sub(shifted, magic);
  Value r = mul(sub(x, n), number(std::numbers::ln2)); // the difference is exact
  return scale(expOfRest(r), asInt(shifted));
}

Value Expander::expm1(Value x) {
  // Below `low` the result rounds to -1.
  Value bounded = atMost(atLeast(x, isSingle ? -20.0 : -40.0), format.expHigh);
  Value magic = number(format.magic);
  Value shifted = fma(bounded, number(c::log2eSingle, c::log2eDouble), magic);
  Value n = sub(shifted, magic);
  // r in two parts: where n is 1 or -1, what is lost would be half of the result's last place.
  Value near = fma(n, number(-c::ln2HighSingle, -c::ln2HighDouble), bounded);
  Value lowPart = number(-c::ln2LowSingle, -c::ln2LowDouble);
  Value r = fma(n, lowPart, near), lost = fma(n, lowPart, sub(near, r));
  Value rest = polynomial(c::expSingle, c::expDouble, r);
  Value tail = fma(lost, add(number(1.0), r), mul(mul(r, r), rest)); // h = r + tail
  // 2^n (1 + h) - 1, halved on the way: 2^128 is not a number of single precision.
  Value power = powerOfTwo(make<arith::SubIOp>(asInt(shifted), integer(1)));
  Value result = fma(r, power, sub(power, number(0.5)));
  Value missing = fma(r, power, sub(sub(power, number(0.5)), result));
  result = add(result, fma(tail, power, missing));
  result = add(result, result);
  result = select(equal(n, number(0.0)), add(r, tail), result);
  return select(equal(x, number(0.0)), x, result); // keeps the sign of zero
}

Value Expander::tanh(Value x) {
  Value size = math::AbsFOp::create(builder, loc, x);
  Value square = mul(size, size);
  Value near = isSingle ? polynomial(c::tanhSingle, square) : polynomial(c::tanhDouble, square);
  near = fma(mul(size, square), near, size);
  // From here on the result rounds to 1.
  Value bounded = atMost(size, isSingle ? 10.0 : 20.0);
  Value power = boundedExp(add(bounded, bounded));
  Value one = number(1.0), above = add(power, one);
  Value far =
      isSingle ? fma(number(-2.0), reciprocal(above), one) : sub(one, div(number(2.0), above));
  return withSign(select(less(size, number(0.5625)), near, far), x);
}

Value Expander::sigmoid(Value x) {
  Value one = number(1.0);
  if (!isSingle)
    return div(one, add(one, exp(neg(x))));
  // e^87 is less than 2^126. From there on the result is 1 / (1 + e^87), a normal number that is
  // too small beside x to be told from 0.
  Value power = boundedExp(atMost(atLeast(neg(x), -87.0), 87.0));
  return reciprocal(add(power, one));
}

} // namespace dlc
