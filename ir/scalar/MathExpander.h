//===- MathExpander.h - Builds functions out of arithmetic --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the parts of the expansion share: one file for each family of functions. Only they include
// this.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_SCALAR_MATHEXPANDER_H
#define DLC_IR_SCALAR_MATHEXPANDER_H

#include "ir/scalar/MathCoefficients.h"
#include "ir/scalar/ScalarFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

#include <array>
#include <cmath>
#include <limits>

namespace dlc {

using namespace mlir;

/// What differs between the formats.
struct Format {
  unsigned bits, mantissa;
  double minNormal;
  /// Adding and subtracting it rounds to an integer, which then stands in the low bits.
  double magic;
  /// Outside these exp is 0 or infinite, and the scale factors are still finite.
  double expLow, expHigh;
};
inline constexpr Format single{32, 23, 0x1p-126, 0x1.8p23, -104.0, 89.0};
inline constexpr Format doubled{64, 52, 0x1p-1022, 0x1.8p52, -746.0, 710.0};

/// Appends the ops. Floats are of the argument's type, integers of the same width and shape.
class Expander {
public:
  Expander(OpBuilder &builder, Location loc, Type type)
      : builder(builder), loc(loc), floatType(type), isSingle(getElementTypeOrSelf(type).isF32()),
        format(isSingle ? single : doubled) {
    intType = builder.getIntegerType(format.bits);
    if (auto vector = dyn_cast<VectorType>(type))
      intType = vector.clone(intType);
  }

  // MathExponential.cpp
  Value exp(Value x);
  Value exp2(Value x);
  Value expm1(Value x);
  Value tanh(Value x);
  Value sigmoid(Value x);
  // MathLogarithm.cpp
  Value log(Value x);
  Value log2(Value x);
  Value log10(Value x);
  Value log1p(Value x);
  // MathError.cpp
  Value erf(Value x);
  Value erfc(Value x);
  Value gelu(Value x);
  // MathTrigonometry.cpp
  Value sin(Value x) { return sinOrCos(x, false); }
  Value cos(Value x) { return sinOrCos(x, true); }
  Value tan(Value x);
  Value asin(Value x);
  Value acos(Value x);
  Value atan(Value x);
  Value atan2(Value y, Value x);
  // MathPower.cpp
  Value pow(Value x, Value y);
  Value fmod(Value x, Value y);

private:
  /// An unevaluated sum, the second part at most half a unit in the last place of the first.
  struct Sum {
    Value high, low;
  };
  template <typename Op> Value make(Value a, Value b) {
    return Op::create(builder, loc, a, b).getResult();
  }
  Value add(Value a, Value b) { return make<arith::AddFOp>(a, b); }
  Value sub(Value a, Value b) { return make<arith::SubFOp>(a, b); }
  Value mul(Value a, Value b) { return make<arith::MulFOp>(a, b); }
  /// 1 / a for 1 <= a <= 2^126 and NaN, in single precision.
  Value reciprocal(Value a) { return dls::ReciprocalOp::create(builder, loc, a); }
  Value div(Value a, Value b) { return make<arith::DivFOp>(a, b); }
  /// a * b + c, rounded once.
  Value fma(Value a, Value b, Value c) { return math::FmaOp::create(builder, loc, a, b, c); }
  Value neg(Value a) { return arith::NegFOp::create(builder, loc, a); }
  Value abs(Value a) { return math::AbsFOp::create(builder, loc, a); }
  Value sqrt(Value a) { return math::SqrtOp::create(builder, loc, a); }
  Value round(Value a) { return math::RoundEvenOp::create(builder, loc, a); }
  Value trunc(Value a) { return math::TruncOp::create(builder, loc, a); }
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, predicate, a, b);
  }
  Value less(Value a, Value b) { return compare(arith::CmpFPredicate::OLT, a, b); }
  Value equal(Value a, Value b) { return compare(arith::CmpFPredicate::OEQ, a, b); }
  Value isNan(Value a) { return compare(arith::CmpFPredicate::UNO, a, a); }
  Value either(Value a, Value b) { return make<arith::OrIOp>(a, b); }
  Value both(Value a, Value b) { return make<arith::AndIOp>(a, b); }
  Value infinity() { return number(std::numeric_limits<double>::infinity()); }
  Value nan() { return number(std::numeric_limits<double>::quiet_NaN()); }
  /// One of two numbers that depends on the format.
  Value number(double ofSingle, double ofDouble) { return number(isSingle ? ofSingle : ofDouble); }
  /// Exact, where a is not the smaller one in magnitude.
  Sum fastTwoSum(Value a, Value b) {
    Value sum = add(a, b);
    return {sum, sub(b, sub(sum, a))};
  }
  Sum twoSum(Value a, Value b) {
    Value sum = add(a, b), part = sub(sum, a);
    return {sum, add(sub(a, sub(sum, part)), sub(b, part))};
  }
  Sum twoProduct(Value a, Value b) {
    Value product = mul(a, b);
    return {product, fma(a, b, neg(product))};
  }
  Sum product(Sum a, Sum b) {
    Sum product = twoProduct(a.high, b.high);
    product.low = fma(a.high, b.low, fma(a.low, b.high, product.low));
    return product;
  }
  Value select(Value c, Value a, Value b) { return arith::SelectOp::create(builder, loc, c, a, b); }
  Value asInt(Value a) { return arith::BitcastOp::create(builder, loc, intType, a); }
  Value asFloat(Value a) { return arith::BitcastOp::create(builder, loc, floatType, a); }
  Value constant(Type type, TypedAttr element) {
    if (auto vector = dyn_cast<VectorType>(type))
      element = DenseElementsAttr::get(vector, element);
    return arith::ConstantOp::create(builder, loc, element);
  }
  Value number(double value) {
    return constant(floatType, FloatAttr::get(getElementTypeOrSelf(floatType), value));
  }
  Value integer(int64_t value) {
    return constant(intType, IntegerAttr::get(getElementTypeOrSelf(intType), value));
  }

  /// p(x) by Horner's rule, low orders first.
  Value polynomial(ArrayRef<double> coefficients, Value x) {
    Value sum = number(coefficients.back());
    for (double c : llvm::reverse(coefficients.drop_back()))
      sum = fma(sum, x, number(c));
    return sum;
  }
  /// 2^n for an integer n in the range of normal exponents. Only the lowest bits of n count: what
  /// `format.magic` adds is not among them, nor is half of it. (The shift comes first, because it
  /// and the addition are one instruction on a GPU.)
  Value powerOfTwo(Value n) {
    int64_t bias = (int64_t(1) << (format.bits - format.mantissa - 2)) - 1;
    return asFloat(make<arith::AddIOp>(make<arith::ShLIOp>(n, integer(format.mantissa)),
                                       integer(bias << format.mantissa)));
  }
  /// a 2^n for normal numbers a and a 2^n, n as in powerOfTwo. NaN becomes any number.
  Value timesPowerOfTwo(Value a, Value n) {
    return asFloat(make<arith::AddIOp>(asInt(a), make<arith::ShLIOp>(n, integer(format.mantissa))));
  }
  /// x, but no less or no more than a number other than 0; NaN stays. GPUs have an instruction for
  /// it in single precision alone.
  Value atLeast(Value x, double low) {
    return isSingle ? make<arith::MaximumFOp>(x, number(low))
                    : select(less(x, number(low)), number(low), x);
  }
  Value atMost(Value x, double high) {
    return isSingle ? make<arith::MinimumFOp>(x, number(high))
                    : select(less(number(high), x), number(high), x);
  }
  template <size_t M, size_t N>
  Value polynomial(const double (&ofSingle)[M], const double (&ofDouble)[N], Value x) {
    return isSingle ? polynomial(ArrayRef(ofSingle), x) : polynomial(ArrayRef(ofDouble), x);
  }
  /// `fast`, but what `slow` builds in the lanes where `isSlow` is true; that is skipped where no
  /// lane needs it.
  template <size_t N>
  SmallVector<Value, N> unlessAny(Value isSlow, std::array<Value, N> fast,
                                  llvm::function_ref<std::array<Value, N>()> slow);
  /// x = 2^k m with m in [sqrt(1/2), sqrt(2)): k as an integer and as a float, and f = m - 1,
  /// exact.
  struct Split {
    Value exponent, k, f;
  };
  Split split(Value x);
  /// What log(1 + f) is beyond f.
  Value logRest(Value f);
  Value logInBase(Value x, Sum ofTwo, Sum inverse);
  /// `result`, but the limits of log(x) where x is not a positive number.
  Value withLimitsOfLog(Value x, Value result);
  /// log(x) of a positive number to about twice the digits.
  Sum preciseLog(Value x);
  /// The multiple n of pi / 2 nearest to x, modulo 4, as an integer, and x - n pi / 2.
  struct Angle {
    Value quadrant, high, low;
  };
  Angle reduceAngle(Value x);
  std::array<Value, 3> reduceLargeSingle(Value x);
  std::array<Value, 3> reduceLargeDouble(Value x);
  Sum sinOf(const Angle &angle);
  Sum cosOf(const Angle &angle);
  Value quotient(Sum above, Sum below);
  Value sinOrCos(Value x, bool isCos);
  Value asinRest(Value square);
  /// The angle of (x, y) for numbers that are not negative: base * pi / 4 + rest.
  struct Direction {
    Value base, rest;
  };
  Direction direction(Value y, Value x);
  Value angleOf(Value base, Value rest);
  /// e^x = 2^n e^r with |r| <= ln(2)/2: r, and n as powerOfTwo takes it.
  struct Reduced {
    Value r, n;
  };
  Reduced reduceExponent(Value x);
  /// e^x = 2^n (1 + h): h, and n as powerOfTwo takes it.
  std::pair<Value, Value> reducedExp(Value x);
  /// e^r for |r| <= ln(2)/2.
  Value expOfRest(Value r);
  /// e^x where neither it nor 2^n overflows or underflows.
  Value boundedExp(Value x) {
    auto [r, n] = reduceExponent(x);
    return mul(expOfRest(r), powerOfTwo(n));
  }
  /// a 2^n by two factors, so that it overflows and underflows as it should.
  Value scale(Value a, Value n) {
    Value half = make<arith::ShRSIOp>(n, integer(1));
    Value otherHalf = make<arith::SubIOp>(n, half);
    return mul(mul(a, powerOfTwo(half)), powerOfTwo(otherHalf));
  }
  /// |y| with the sign of x.
  Value withSign(Value y, Value signOf) {
    int64_t signBit = isSingle ? int64_t(std::numeric_limits<int32_t>::min())
                               : std::numeric_limits<int64_t>::min();
    return asFloat(
        make<arith::OrIOp>(asInt(y), make<arith::AndIOp>(asInt(signOf), integer(signBit))));
  }

  OpBuilder &builder;
  Location loc;
  Type floatType, intType;
  bool isSingle;
  const Format &format;
};

/// base to a power, wrapping; both integers of one type, or vectors of them. MathPower.cpp
Value expandIntegerPower(OpBuilder &builder, Location loc, Value base, Value exponent);

} // namespace dlc

#endif // DLC_IR_SCALAR_MATHEXPANDER_H
