//===- MathPower.cpp - Powers and remainders as arithmetic -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   pow   e^(y log x) with log x, and its product with y, to about twice the digits
//   fmod  x - trunc(x / y) y, which is exact while the quotient has fewer digits than a number;
//         before that, multiples of y scaled up by powers of 2 go, as many digits at a time
//   ipow  squares, bit by bit of the exponent
//===------------------------------------------------------------------------------------------===//
#include "ir/scalar/MathExpander.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace dlc {

namespace c = coefficients;

Value Expander::pow(Value x, Value y) {
  Value zero = number(0.0), one = number(1.0);
  Value size = abs(x);
  Sum log = preciseLog(select(less(size, infinity()), size, one));
  Sum power = twoProduct(y, log.high);
  power.low = fma(y, log.low, power.low);
  // Beyond the bounds the result is 0 or infinite, whatever the low part says.
  Value low = number(format.expLow), high = number(format.expHigh);
  Value isLow = less(power.high, low), isHigh = less(high, power.high);
  Value bounded = select(isLow, low, select(isHigh, high, power.high));
  auto [h, n] = reducedExp(bounded);
  Value rest = select(either(isLow, isHigh), zero, power.low);
  Value result = scale(add(one, fma(rest, add(one, h), h)), n);

  // Whether y is a whole number, and an odd one: beyond the mantissa all numbers are even, and so
  // is infinity.
  Value isWhole = equal(trunc(y), y), half = mul(y, number(0.5));
  Value isOdd = both(isWhole, compare(arith::CmpFPredicate::UNE, trunc(half), half));
  Value signedResult = select(isWhole, select(isOdd, neg(result), result), nan());
  result = select(less(x, zero), signedResult, result);
  // 0 and infinity give 0 or infinity, with the sign of x if y is odd.
  Value isZero = equal(size, zero), isInfinite = equal(size, infinity());
  Value grows = either(both(isZero, less(y, zero)), both(isInfinite, less(zero, y)));
  Value limit = select(grows, infinity(), zero);
  limit = select(isOdd, withSign(limit, x), limit);
  result = select(either(isZero, isInfinite), limit, result);
  result = select(either(isNan(x), isNan(y)), nan(), result);
  // Whatever the other one is.
  Value isOne = either(equal(x, one), equal(y, zero));
  isOne = either(isOne, both(equal(size, one), equal(abs(y), infinity())));
  return select(isOne, one, result);
}

Value Expander::fmod(Value x, Value y) {
  Value a = abs(x), b = abs(y);
  // Exact: the quotient may be rounded up to the next whole number, then the rest is negative.
  auto reduce = [&](Value a, Value b) {
    Value quotient = trunc(div(a, b));
    Value rest = fma(neg(quotient), b, a);
    rest = select(less(rest, number(0.0)), add(rest, b), rest);
    return select(less(a, b), a, rest);
  };
  int64_t digits = format.mantissa - 2;
  auto exponentOf = [&](Value size) {
    Value isTiny = less(size, number(format.minNormal));
    Value scaled = select(isTiny, mul(size, number(std::ldexp(1.0, format.mantissa + 1))), size);
    Value exponent = make<arith::ShRSIOp>(asInt(scaled), integer(format.mantissa));
    return make<arith::SubIOp>(exponent, select(isTiny, integer(format.mantissa + 1), integer(0)));
  };
  Value isFar = less(mul(b, number(std::ldexp(1.0, digits))), a);
  isFar = both(isFar, less(a, infinity()));
  auto slow = [&]() -> std::array<Value, 1> {
    // The exponents of two numbers differ by so much at most.
    int64_t range = isSingle ? 277 : 2098, step = isSingle ? 100 : 1000;
    Value yExponent = exponentOf(b);
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value end = arith::ConstantIndexOp::create(builder, loc, range / digits + 1);
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    auto loop = scf::ForOp::create(
        builder, loc, zero, end, one, a,
        [&](OpBuilder &inner, Location, Value, ValueRange carried) {
          OpBuilder::InsertPoint outer = builder.saveInsertionPoint();
          builder.restoreInsertionPoint(inner.saveInsertionPoint());
          Value difference = make<arith::SubIOp>(exponentOf(carried[0]), yExponent);
          Value shift =
              make<arith::MaxSIOp>(make<arith::SubIOp>(difference, integer(digits)), integer(0));
          Value scaled = b; // by three factors, each of them a number
          for (int part = 0; part < 3; ++part) {
            Value by = make<arith::MinSIOp>(shift, integer(step));
            scaled = mul(scaled, powerOfTwo(by));
            shift = make<arith::SubIOp>(shift, by);
          }
          scf::YieldOp::create(builder, loc, reduce(carried[0], scaled));
          builder.restoreInsertionPoint(outer);
        });
    return {loop.getResult(0)};
  };
  Value close = unlessAny<1>(isFar, {a}, slow)[0];
  Value rest = reduce(close, b);
  return withSign(rest, x);
}

Value expandIntegerPower(OpBuilder &builder, Location loc, Value base, Value exponent) {
  Type type = base.getType();
  unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  auto integer = [&](int64_t value) -> Value {
    TypedAttr element = builder.getIntegerAttr(getElementTypeOrSelf(type), value);
    if (auto vector = dyn_cast<VectorType>(type))
      element = DenseElementsAttr::get(vector, element);
    return arith::ConstantOp::create(builder, loc, element);
  };
  auto equal = [&](OpBuilder &b, Value x, Value y) -> Value {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x, y);
  };
  Value zero = integer(0), one = integer(1), minusOne = integer(-1);
  Value first = arith::ConstantIndexOp::create(builder, loc, 0);
  Value end = arith::ConstantIndexOp::create(builder, loc, width - 1);
  Value step = arith::ConstantIndexOp::create(builder, loc, 1);
  auto loop = scf::ForOp::create(
      builder, loc, first, end, step, ValueRange{one, base, exponent},
      [&](OpBuilder &b, Location, Value, ValueRange carried) {
        Value bit = arith::AndIOp::create(b, loc, carried[2], one);
        Value product = arith::MulIOp::create(b, loc, carried[0], carried[1]);
        Value result = arith::SelectOp::create(b, loc, equal(b, bit, one), product, carried[0]);
        Value square = arith::MulIOp::create(b, loc, carried[1], carried[1]);
        Value rest = arith::ShRSIOp::create(b, loc, carried[2], one);
        scf::YieldOp::create(b, loc, ValueRange{result, square, rest});
      });
  // A negative power is the reciprocal, rounded to zero.
  Value isOdd = equal(builder, arith::AndIOp::create(builder, loc, exponent, one), one);
  Value ofMinusOne = arith::SelectOp::create(builder, loc, isOdd, minusOne, one);
  Value small =
      arith::SelectOp::create(builder, loc, equal(builder, base, minusOne), ofMinusOne, zero);
  small = arith::SelectOp::create(builder, loc, equal(builder, base, one), one, small);
  Value isNegative = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, exponent, zero);
  return arith::SelectOp::create(builder, loc, isNegative, small, loop.getResult(0));
}

} // namespace dlc
