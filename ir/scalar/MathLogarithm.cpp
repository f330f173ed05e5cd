//===- MathLogarithm.cpp - Logarithms as arithmetic --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Multiplicative: x = 2^k m with m around 1; denormals are scaled up first. log(m) = f + rest with
// f = m - 1 exact.
//===------------------------------------------------------------------------------------------===//
#include "ir/scalar/MathExpander.h"

namespace dlc {

namespace c = coefficients;

Expander::Split Expander::split(Value x) {
  Value isTiny = less(x, number(format.minNormal));
  Value scaled = select(isTiny, mul(x, number(std::ldexp(1.0, format.mantissa + 1))), x);
  // The exponent k for which m = x / 2^k lies in [sqrt(1/2), sqrt(2)): subtracting the bits of
  // sqrt(1/2) borrows from the exponent exactly where the mantissa is the smaller one.
  int64_t sqrtHalf = isSingle ? 0x3f3504f3 : 0x3fe6a09e667f3bcd;
  Value bits = asInt(scaled);
  Value k =
      make<arith::ShRSIOp>(make<arith::SubIOp>(bits, integer(sqrtHalf)), integer(format.mantissa));
  Value m = asFloat(make<arith::SubIOp>(bits, make<arith::ShLIOp>(k, integer(format.mantissa))));
  k = make<arith::SubIOp>(k, select(isTiny, integer(format.mantissa + 1), integer(0)));
  return {k, arith::SIToFPOp::create(builder, loc, floatType, k), sub(m, number(1.0))};
}

Value Expander::logRest(Value f) {
  if (isSingle) { // -f^2/2 + f^3 p(f)
    Value square = mul(f, f);
    return fma(square, number(-0.5), mul(mul(square, f), polynomial(c::logSingle, f)));
  }
  // With s = f / (2 + f): log(1 + f) = 2s + s^3 p = f - (f^2/2 - s (f^2/2 + s^2 p)).
  Value s = div(f, add(number(2.0), f));
  Value z = mul(s, s);
  Value halfSquare = mul(mul(f, f), number(0.5));
  return sub(mul(s, fma(z, polynomial(c::logDouble, z), halfSquare)), halfSquare);
}

Value Expander::withLimitsOfLog(Value x, Value result) {
  result = select(less(x, infinity()), result, x); // infinity and NaN
  result = select(less(x, number(0.0)), nan(), result);
  return select(equal(x, number(0.0)), neg(infinity()), result);
}

Value Expander::log(Value x) {
  Split part = split(x);
  Value rest = fma(part.k, number(c::ln2LowSingle, c::ln2LowDouble), logRest(part.f));
  Value high = number(c::ln2HighSingle, c::ln2HighDouble);
  return withLimitsOfLog(x, fma(part.k, high, add(part.f, rest)));
}

Value Expander::logInBase(Value x, Sum ofTwo, Sum inverse) {
  Split part = split(x);
  Sum log = fastTwoSum(part.f, logRest(part.f));
  Sum scaled = product(log, inverse);
  Sum sum = fastTwoSum(mul(part.k, ofTwo.high), scaled.high); // k is 0, or its part the larger one
  Value rest = fma(part.k, ofTwo.low, add(sum.low, scaled.low));
  return withLimitsOfLog(x, add(sum.high, rest));
}

Value Expander::log2(Value x) {
  return logInBase(x, {number(1.0), number(0.0)},
                   {number(c::inverseLn2HighSingle, c::inverseLn2HighDouble),
                    number(c::inverseLn2LowSingle, c::inverseLn2LowDouble)});
}

Value Expander::log10(Value x) {
  return logInBase(x,
                   {number(c::log10Of2HighSingle, c::log10Of2HighDouble),
                    number(c::log10Of2LowSingle, c::log10Of2LowDouble)},
                   {number(c::inverseLn10HighSingle, c::inverseLn10HighDouble),
                    number(c::inverseLn10LowSingle, c::inverseLn10LowDouble)});
}

Value Expander::log1p(Value x) {
  // 1 + x = u + lost, exactly. What is lost goes into f, which belongs to m = u / 2^k; beyond 2^100
  // it does not matter.
  Sum sum = twoSum(number(1.0), x);
  Split part = split(sum.high);
  Value shift = make<arith::SubIOp>(integer(0), make<arith::MinSIOp>(part.exponent, integer(100)));
  Value f = fma(sum.low, powerOfTwo(shift), part.f);
  Value rest = fma(part.k, number(c::ln2LowSingle, c::ln2LowDouble), logRest(f));
  // f may be rounded where k is not 0: fma adds the large part last.
  Value result = fma(part.k, number(c::ln2HighSingle, c::ln2HighDouble), add(f, rest));
  result = withLimitsOfLog(sum.high, result);
  result = select(less(x, infinity()), result, x); // infinity loses itself in the sum; NaN
  return select(equal(x, number(0.0)), x, result); // keeps the sign of zero
}

Expander::Sum Expander::preciseLog(Value x) {
  // With s = f / (2 + f): 2s + s^3 (2/3 + s^2 p), all but p in two parts.
  Split part = split(x);
  Sum divisor = fastTwoSum(number(2.0), part.f);
  Value s = div(part.f, divisor.high);
  Value remainder = fma(neg(s), divisor.low, fma(neg(s), divisor.high, part.f));
  Sum quotient = {s, div(remainder, divisor.high)};
  Sum square = product(quotient, quotient);
  Value tail = mul(square.high, polynomial(c::logTailSingle, c::logTailDouble, square.high));
  Sum factor = fastTwoSum(number(c::twoThirdsHighSingle, c::twoThirdsHighDouble), tail);
  factor.low = add(factor.low, number(c::twoThirdsLowSingle, c::twoThirdsLowDouble));
  Sum cubic = product(product(quotient, square), factor);
  Value two = number(2.0);
  Sum log = fastTwoSum(mul(quotient.high, two), cubic.high);
  log.low = add(fma(quotient.low, two, cubic.low), log.low);
  // k ln 2 is 0 or the larger one.
  Sum sum = fastTwoSum(mul(part.k, number(c::ln2HighSingle, c::ln2HighDouble)), log.high);
  Value low = fma(part.k, number(c::ln2LowSingle, c::ln2LowDouble), add(sum.low, log.low));
  return fastTwoSum(sum.high, low);
}

} // namespace dlc
