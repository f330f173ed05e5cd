//===- MathExponential.cpp - e^x and its relatives as arithmetic -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   exp, exp2, expm1  additive, after Cody and Waite: x = n ln 2 + r with ln 2 in two parts; 2^n goes in by two factors,
//                     so that results overflow and underflow as they should
//   tanh              odd polynomial below 0.5625, else 1 - 2 / (e^2x + 1)
//===----------------------------------------------------------------------------------------------===//
#include "ir/scalar/MathExpander.h"

#include <numbers>

namespace dlc {

namespace c = coefficients;

std::pair<Value, Value> Expander::reducedExp(Value x) {
  Value magic = number(format.magic);
  Value shifted = fma(x, number(isSingle ? c::log2eSingle : c::log2eDouble), magic);
  Value n = sub(shifted, magic);
  // n * ln2High is exact, and so is the difference: the two are close.
  Value r = fma(n, number(isSingle ? -c::ln2HighSingle : -c::ln2HighDouble), x);
  r = fma(n, number(isSingle ? -c::ln2LowSingle : -c::ln2LowDouble), r);
  Value rest = isSingle ? polynomial(c::expSingle, r) : polynomial(c::expDouble, r);
  return {fma(mul(r, r), rest, r), make<arith::SubIOp>(asInt(shifted), asInt(magic))};
}

Value Expander::exp(Value x) {
  // NaN compares false and stays.
  Value low = number(format.expLow), high = number(format.expHigh);
  x = select(less(x, low), low, x);
  x = select(less(high, x), high, x);
  auto [h, n] = reducedExp(x);
  return scale(add(number(1.0), h), n);
}

Value Expander::exp2(Value x) {
  Value low = number(-151.0, -1076.0), high = number(129.0, 1025.0);
  x = select(less(x, low), low, x);
  x = select(less(high, x), high, x);
  Value magic = number(format.magic), shifted = add(x, magic), n = sub(shifted, magic);
  Value r = mul(sub(x, n), number(std::numbers::ln2)); // the difference is exact
  Value h = fma(mul(r, r), polynomial(c::expSingle, c::expDouble, r), r);
  return scale(add(number(1.0), h), make<arith::SubIOp>(asInt(shifted), asInt(magic)));
}

Value Expander::expm1(Value x) {
  // Below `low` the result rounds to -1.
  Value low = number(-20.0, -40.0), high = number(format.expHigh);
  Value bounded = select(less(x, low), low, x);
  bounded = select(less(high, bounded), high, bounded);
  Value magic = number(format.magic);
  Value shifted = fma(bounded, number(c::log2eSingle, c::log2eDouble), magic);
  Value n = sub(shifted, magic);
  // r in two parts: where n is 1 or -1, what is lost would be half of the result's last place.
  Value near = fma(n, number(-c::ln2HighSingle, -c::ln2HighDouble), bounded);
  Value lowPart = number(-c::ln2LowSingle, -c::ln2LowDouble);
  Value r = fma(n, lowPart, near), lost = fma(n, lowPart, sub(near, r));
  Value rest = polynomial(c::expSingle, c::expDouble, r);
  Value tail = fma(lost, add(number(1.0), r), mul(mul(r, r), rest)); // h = r + tail
  Value exponent = make<arith::SubIOp>(asInt(shifted), asInt(magic));
  // 2^n (1 + h) - 1, halved on the way: 2^128 is not a number of single precision.
  Value power = powerOfTwo(make<arith::SubIOp>(exponent, integer(1)));
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
  Value end = number(isSingle ? 10.0 : 20.0);
  Value bounded = select(less(end, size), end, size);
  Value power = boundedExp(add(bounded, bounded));
  Value far = sub(number(1.0), div(number(2.0), add(power, number(1.0))));
  return withSign(select(less(size, number(0.5625)), near, far), x);
}

} // namespace dlc
