//===- MathError.cpp - erf, erfc and gelu as arithmetic ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   erf   odd polynomial below 1, else 1 - erfc(x)
//   erfc  1 - erf(x) below 0.625, else e^(-x^2) times a polynomial; x^2 in two parts, so that
//         e^(-x^2) keeps all digits
//   gelu  max(x, 0) - |x| P(-|x|), where P, the normal distribution function, is a power of two
//         whose exponent is a polynomial
//===------------------------------------------------------------------------------------------===//
#include "ir/scalar/MathExpander.h"

#include <numbers>

namespace dlc {

namespace c = coefficients;

Value Expander::erf(Value x) {
  Value size = math::AbsFOp::create(builder, loc, x);
  Value square = mul(size, size);
  Value near =
      isSingle ? polynomial(c::erfNearSingle, square) : polynomial(c::erfNearDouble, square);
  near = fma(size, near, size);
  Value one = number(1.0), bounded = atMost(size, isSingle ? 4.0 : 6.0);
  Value complement;
  if (isSingle) {
    complement = boundedExp(polynomial(c::erfFarSingle, bounded));
  } else {
    Value t = div(sub(bounded, number(2.0)), add(bounded, number(2.0)));
    complement =
        mul(boundedExp(mul(bounded, sub(number(0.0), bounded))), polynomial(c::erfFarDouble, t));
  }
  return withSign(select(less(size, one), near, sub(one, complement)), x);
}

Value Expander::erfc(Value x) {
  Value size = math::AbsFOp::create(builder, loc, x);
  Value square = mul(size, size);
  // 1 - erf(x) where that cancels little.
  Value near =
      isSingle ? polynomial(c::erfNearSingle, square) : polynomial(c::erfNearDouble, square);
  near = sub(number(1.0), fma(x, near, x));
  // From `end` on the result rounds to 0.
  Value one = number(1.0), two = number(2.0), bounded = atMost(size, isSingle ? 10.1 : 27.3);
  Value plusTwo = add(bounded, two);
  Value u = div(one, plusTwo);
  // u (1 + missing) is 1 / (x + 2) without the rounding of either.
  Value missing = fma(sub(number(0.0), u), plusTwo, one);
  missing = fma(sub(sub(plusTwo, two), bounded), u, missing);
  Value minusFourU = mul(u, number(-4.0));
  Sum level = fastTwoSum(one, minusFourU);
  Sum t = fastTwoSum(level.high, fma(minusFourU, missing, level.low));
  Value minusSquare = mul(bounded, sub(number(0.0), bounded));
  Value lostOfSquare = fma(bounded, bounded, minusSquare);
  auto [h, n] = reducedExp(minusSquare);
  // p(t), and what its last two steps lose and t is beyond its high part.
  ArrayRef<double> c = isSingle ? ArrayRef(c::erfcSingle) : ArrayRef(c::erfcDouble);
  Value first = number(c[0]), second = number(c[1]);
  Value above = polynomial(c.drop_front(2), t.high);
  Value rest = fma(above, t.high, second), lostOfRest = fma(above, t.high, sub(second, rest));
  Value p = fma(rest, t.high, first), lostOfP = fma(rest, t.high, sub(first, p));
  lostOfP = fma(rest, t.low, fma(lostOfRest, t.high, lostOfP));
  // (product + lost) * (1 + h) * (1 + missing - lostOfSquare), rounded once: 1 is added last.
  Value product = mul(u, p), lost = fma(u, lostOfP, fma(u, p, neg(product)));
  Value correction = fma(sub(missing, lostOfSquare), add(one, h), h);
  Value tail = scale(add(product, fma(product, correction, fma(lost, h, lost))), n);
  Value isNegative = less(x, number(0.0));
  Value far = select(isNegative, sub(number(2.0), tail), tail);
  return select(less(size, number(0.625)), near, far);
}

Value Expander::gelu(Value x) {
  if (!isSingle) {
    // Below -40 the result rounds to 0, and minus infinity is kept from the product with 0.
    return mul(mul(atLeast(x, -40.0), number(0.5)), erfc(mul(x, number(-std::numbers::sqrt2 / 2))));
  }
  // P is below 2^-94 from here on, too small to be seen in the result: the bound keeps its exponent
  // in range and infinity out of the product. NaN stays.
  Value size = atMost(abs(x), 10.0);
  Value t = sub(size, number(c::normalCentreSingle));
  // P(-size) is 2^(t (slope + q)) times a constant. The slope's part is exact, and q is small, so
  // that little is lost where it is rounded.
  Value slope = number(c::normalSlopeSingle), q = polynomial(c::normalExponentSingle, t);
  Value magic = number(format.magic), shifted = fma(add(q, slope), t, magic);
  Value n = sub(shifted, magic), r = fma(q, t, fma(slope, t, neg(n)));
  Value tail = timesPowerOfTwo(polynomial(c::normalPowerSingle, r), asInt(shifted));
  // max(-0, -0) is -0: the sign of zero is kept.
  return fma(neg(size), tail, make<arith::MaximumFOp>(x, number(-0.0)));
}

} // namespace dlc
