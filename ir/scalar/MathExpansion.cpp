//===- MathExpansion.cpp - exp, log, tanh, erf and erfc as arithmetic ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each function reduces its argument, evaluates one polynomial (MathCoefficients.h) and undoes the
// reduction:
//   exp   additive, after Cody and Waite: x = n ln 2 + r with ln 2 in two parts; 2^n goes in by two
//   factors, so that
//         results overflow and underflow as they should
//   log   multiplicative: x = 2^k m with m around 1; denormals are scaled up first
//   tanh  odd polynomial below 0.5625, else 1 - 2 / (e^2x + 1)
//   erf   odd polynomial below 1, else 1 - erfc(x)
//   erfc  1 - erf(x) below 0.625, else e^(-x^2) times a polynomial; x^2 in two parts, so that e^(-x^2) keeps all digits
// Branches are selects, since lanes of a vector differ.
//
// Largest error in units of the last place, over all 2^32 inputs in single precision (tools/scripts/math-ulp) and over
// a million samples in double:
//            exp    log    tanh   erf    erfc
//   single   1.01   0.83   1.43   1.08   2.80
//   double   0.97   0.83   1.36   1.01   2.39
//===----------------------------------------------------------------------------------------------===//
#include "ir/scalar/MathExpansion.h"

#include "ir/scalar/MathCoefficients.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace dlc {
namespace {

/// What differs between the formats.
struct Format {
  unsigned bits, mantissa;
  double minNormal;
  /// Adding and subtracting it rounds to an integer, which then stands in the low bits.
  double magic;
  /// Outside these exp is 0 or infinite, and the scale factors are still finite.
  double expLow, expHigh;
};
constexpr Format single{32, 23, 0x1p-126, 0x1.8p23, -104.0, 89.0};
constexpr Format doubled{64, 52, 0x1p-1022, 0x1.8p52, -746.0, 710.0};

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

  Value exp(Value x);
  Value log(Value x);
  Value tanh(Value x);
  Value erf(Value x);
  Value erfc(Value x);

private:
  template <typename Op> Value make(Value a, Value b) {
    return Op::create(builder, loc, a, b).getResult();
  }
  Value add(Value a, Value b) { return make<arith::AddFOp>(a, b); }
  Value sub(Value a, Value b) { return make<arith::SubFOp>(a, b); }
  Value mul(Value a, Value b) { return make<arith::MulFOp>(a, b); }
  Value div(Value a, Value b) { return make<arith::DivFOp>(a, b); }
  /// a * b + c, rounded once.
  Value fma(Value a, Value b, Value c) { return math::FmaOp::create(builder, loc, a, b, c); }
  Value less(Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, a, b);
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
  /// 2^n for an integer n in the range of normal exponents.
  Value powerOfTwo(Value n) {
    int64_t bias = (int64_t(1) << (format.bits - format.mantissa - 2)) - 1;
    return asFloat(
        make<arith::ShLIOp>(make<arith::AddIOp>(n, integer(bias)), integer(format.mantissa)));
  }
  /// e^x = 2^n (1 + h): h, and n as an integer value.
  std::pair<Value, Value> reducedExp(Value x);
  /// e^x where neither it nor 2^n overflows or underflows.
  Value boundedExp(Value x) {
    auto [h, n] = reducedExp(x);
    return mul(add(number(1.0), h), powerOfTwo(n));
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

std::pair<Value, Value> Expander::reducedExp(Value x) {
  namespace c = coefficients;
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

Value Expander::log(Value x) {
  namespace c = coefficients;
  Value infinity = number(std::numeric_limits<double>::infinity());
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
  Value exponent = arith::SIToFPOp::create(builder, loc, floatType, k);
  Value f = sub(m, number(1.0)); // exact

  Value result;
  if (isSingle) {
    // f - f^2/2 + f^3 p(f), small parts first.
    Value square = mul(f, f);
    Value rest =
        fma(mul(square, f), polynomial(c::logSingle, f), mul(exponent, number(c::ln2LowSingle)));
    rest = fma(square, number(-0.5), rest);
    result = fma(exponent, number(c::ln2HighSingle), add(f, rest));
  } else {
    // With s = f / (2 + f): log(1 + f) = 2s + s^3 p = f - (f^2/2 - s (f^2/2 + s^2 p)).
    Value s = div(f, add(number(2.0), f));
    Value z = mul(s, s);
    Value halfSquare = mul(mul(f, f), number(0.5));
    Value rest = mul(s, fma(z, polynomial(c::logDouble, z), halfSquare));
    rest = fma(exponent, number(c::ln2LowDouble), rest);
    result = fma(exponent, number(c::ln2HighDouble), sub(f, sub(halfSquare, rest)));
  }
  result = select(less(x, infinity), result, x); // infinity and NaN
  result = select(less(x, number(0.0)), number(std::numeric_limits<double>::quiet_NaN()), result);
  Value isZero = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, x, number(0.0));
  return select(isZero, number(-std::numeric_limits<double>::infinity()), result);
}

Value Expander::tanh(Value x) {
  namespace c = coefficients;
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

Value Expander::erf(Value x) {
  namespace c = coefficients;
  Value size = math::AbsFOp::create(builder, loc, x);
  Value square = mul(size, size);
  Value near =
      isSingle ? polynomial(c::erfNearSingle, square) : polynomial(c::erfNearDouble, square);
  near = fma(size, near, size);
  Value one = number(1.0), end = number(isSingle ? 4.0 : 6.0);
  Value bounded = select(less(end, size), end, size);
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
  namespace c = coefficients;
  Value size = math::AbsFOp::create(builder, loc, x);
  Value square = mul(size, size);
  // 1 - erf(x) where that cancels little.
  Value near =
      isSingle ? polynomial(c::erfNearSingle, square) : polynomial(c::erfNearDouble, square);
  near = sub(number(1.0), fma(x, near, x));
  // From `end` on the result rounds to 0.
  Value end = number(isSingle ? 10.1 : 27.3), one = number(1.0), two = number(2.0);
  Value bounded = select(less(end, size), end, size);
  Value plusTwo = add(bounded, two);
  Value u = div(one, plusTwo);
  // u (1 + missing) is 1 / (x + 2) without the rounding of either.
  Value missing = fma(sub(number(0.0), u), plusTwo, one);
  missing = fma(sub(sub(plusTwo, two), bounded), u, missing);
  Value minusFourU = mul(u, number(-4.0));
  Value t = fma(minusFourU, missing, add(one, minusFourU));
  Value minusSquare = mul(bounded, sub(number(0.0), bounded));
  Value lostOfSquare = fma(bounded, bounded, minusSquare);
  auto [h, n] = reducedExp(minusSquare);
  // product * (1 + h) * (1 + missing - lostOfSquare), rounded once: 1 is added last, what rounding the product lost before.
  Value p = isSingle ? polynomial(c::erfcSingle, t) : polynomial(c::erfcDouble, t);
  Value product = mul(u, p), lostOfProduct = fma(u, p, sub(number(0.0), product));
  Value correction = fma(sub(missing, lostOfSquare), add(one, h), h);
  Value tail = scale(add(product, fma(product, correction, lostOfProduct)), n);
  Value isNegative = less(x, number(0.0));
  Value far = select(isNegative, sub(number(2.0), tail), tail);
  return select(less(size, number(0.625)), near, far);
}

class ExpandMath final : public RewritePattern {
public:
  ExpandMath(StringRef name, MLIRContext *context) : RewritePattern(name, /*benefit=*/1, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    std::optional<MathFunction> function = expandedMath(op);
    if (!function)
      return rewriter.notifyMatchFailure(op, "neither f32 nor f64");
    rewriter.replaceOp(op, expandMath(rewriter, op->getLoc(), *function, op->getOperand(0)));
    return success();
  }
};

} // namespace

std::optional<MathFunction> expandedMath(Operation *op) {
  if (op->getNumOperands() != 1)
    return std::nullopt;
  Type element = getElementTypeOrSelf(op->getOperand(0).getType());
  if (!element.isF32() && !element.isF64())
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, std::optional<MathFunction>>(op)
      .Case<math::ExpOp>([](auto) { return MathFunction::exp; })
      .Case<math::LogOp>([](auto) { return MathFunction::log; })
      .Case<math::TanhOp>([](auto) { return MathFunction::tanh; })
      .Case<math::ErfOp>([](auto) { return MathFunction::erf; })
      .Case<math::ErfcOp>([](auto) { return MathFunction::erfc; })
      .Default([](auto) { return std::nullopt; });
}

StringRef mathFunctionName(MathFunction function) {
  switch (function) {
  case MathFunction::exp:
    return "exp";
  case MathFunction::log:
    return "log";
  case MathFunction::tanh:
    return "tanh";
  case MathFunction::erf:
    return "erf";
  case MathFunction::erfc:
    return "erfc";
  }
  llvm_unreachable("all functions are named");
}

Value expandMath(OpBuilder &builder, Location loc, MathFunction function, Value argument) {
  Expander expander(builder, loc, argument.getType());
  switch (function) {
  case MathFunction::exp:
    return expander.exp(argument);
  case MathFunction::log:
    return expander.log(argument);
  case MathFunction::tanh:
    return expander.tanh(argument);
  case MathFunction::erf:
    return expander.erf(argument);
  case MathFunction::erfc:
    return expander.erfc(argument);
  }
  llvm_unreachable("all functions are expanded");
}

void populateMathExpansionPatterns(RewritePatternSet &patterns) {
  for (StringRef name : {math::ExpOp::getOperationName(), math::LogOp::getOperationName(),
                         math::TanhOp::getOperationName(), math::ErfOp::getOperationName(),
                         math::ErfcOp::getOperationName()})
    patterns.add<ExpandMath>(name, patterns.getContext());
}

func::FuncOp buildMathFunction(OpBuilder &builder, Location loc, StringRef name,
                               MathFunction function, Type type) {
  OpBuilder::InsertionGuard guard(builder);
  auto func = func::FuncOp::create(loc, name, builder.getFunctionType({type}, {type}));
  func.setPrivate();
  builder.setInsertionPointToStart(func.addEntryBlock());
  func::ReturnOp::create(builder, loc, expandMath(builder, loc, function, func.getArgument(0)));
  return func;
}

} // namespace dlc
