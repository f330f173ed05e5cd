//===- Scalar.cpp - Expressions that build arith and math ops -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/scalar/Scalar.h"

#include "ir/interfaces/LoopNest.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace dlc {

ScalarKind scalarKind(Type elementType) {
  if (isa<FloatType>(elementType))
    return ScalarKind::floating;
  auto integer = cast<IntegerType>(elementType);
  if (integer.getWidth() == 1)
    return ScalarKind::boolean;
  return integer.isUnsigned() ? ScalarKind::unsignedInt : ScalarKind::signedInt;
}

Type Scalar::elementType() const { return getElementTypeOrSelf(held.getType()); }

static Value buildConstant(OpBuilder &builder, Location loc, Type type, TypedAttr element) {
  if (auto vector = dyn_cast<VectorType>(type))
    element = DenseElementsAttr::get(vector, element);
  return arith::ConstantOp::create(builder, loc, element);
}

Scalar Scalar::constant(double number) const {
  Type type = elementType();
  if (isFloat())
    return with(buildConstant(*builder, loc, held.getType(), FloatAttr::get(type, number)));
  // Saturate, so that fills such as -inf mean the extreme of an integer type.
  if (isa<IndexType>(type))
    return with(arith::ConstantIndexOp::create(*builder, loc, static_cast<int64_t>(number)));
  unsigned width = type.getIntOrFloatBitWidth();
  APInt low =
      kind == ScalarKind::signedInt ? APInt::getSignedMinValue(width) : APInt::getMinValue(width);
  APInt high =
      kind == ScalarKind::signedInt ? APInt::getSignedMaxValue(width) : APInt::getMaxValue(width);
  bool isSigned = kind == ScalarKind::signedInt;
  APInt bits(width, 0);
  if (number <= low.roundToDouble(isSigned))
    bits = low;
  else if (number >= high.roundToDouble(isSigned))
    bits = high;
  else
    bits = APInt(width,
                 number < 0 ? static_cast<uint64_t>(static_cast<int64_t>(number))
                            : static_cast<uint64_t>(number),
                 isSigned, /*implicitTrunc=*/true);
  return with(buildConstant(*builder, loc, held.getType(), IntegerAttr::get(type, bits)));
}

Scalar Scalar::highest() const { return constant(std::numeric_limits<double>::infinity()); }
Scalar Scalar::lowest() const { return constant(-std::numeric_limits<double>::infinity()); }

/// `type` with the shape of `like`.
static Type shaped(Type type, Type like) {
  if (auto vector = dyn_cast<VectorType>(like))
    return vector.clone(type);
  return type;
}

Scalar Scalar::toBool() const {
  if (kind == ScalarKind::boolean)
    return *this;
  return *this != constant(0.0);
}

Scalar Scalar::allOnes() const {
  return kind == ScalarKind::signedInt ? constant(-1.0) : highest();
}

/// A float as an integer. The IR leaves values beyond the range undefined, so they never reach its
/// conversion.
Scalar Scalar::saturatedTo(Type target, ScalarKind targetKind) const {
  bool isSigned = targetKind == ScalarKind::signedInt;
  unsigned width = target.getIntOrFloatBitWidth();
  double low = isSigned ? -std::ldexp(1.0, width - 1) : 0.0;
  double end = std::ldexp(1.0, isSigned ? width - 1 : width);
  Type type = shaped(target, held.getType());
  auto converted = [&](Scalar inside) -> Scalar {
    Value value = isSigned ? arith::FPToSIOp::create(*builder, loc, type, inside.held).getResult()
                           : arith::FPToUIOp::create(*builder, loc, type, inside.held).getResult();
    return {*builder, loc, value, targetKind};
  };
  if (width <= 16) // both ends are numbers of every float type
    return converted(select(isNan(*this), 0.0, max(min(*this, end - 1.0), low)));
  Scalar isLow = *this <= low, isHigh = *this >= end;
  Scalar isOutside = isLow | isHigh | isNan(*this);
  Scalar result = converted(select(isOutside, 0.0, *this));
  return select(isHigh, result.highest(), select(isLow, result.lowest(), result));
}

/// `value` narrowed to `type`: what it was widened from, where that has the type, so that a NaN
/// keeps its bits.
static Value narrowed(OpBuilder &builder, Location loc, Type type, Value value) {
  if (auto wide = value.getDefiningOp<arith::ExtFOp>(); wide && wide.getIn().getType() == type)
    return wide.getIn();
  return arith::TruncFOp::create(builder, loc, type, value);
}

Value bitsAs(OpBuilder &builder, Location loc, Type type, Value value) {
  if (value.getType() == type)
    return value;
  if (auto other = value.getDefiningOp<arith::BitcastOp>();
      other && other.getIn().getType() == type)
    return other.getIn();
  return arith::BitcastOp::create(builder, loc, type, value);
}

Scalar Scalar::convertTo(Type target, ScalarKind targetKind) const {
  Type from = elementType();
  if (targetKind == ScalarKind::boolean)
    return toBool();
  Scalar result(*builder, loc, held, targetKind);
  if (from == target)
    return result;
  Type type = shaped(target, held.getType());
  unsigned fromWidth = from.getIntOrFloatBitWidth(), toWidth = target.getIntOrFloatBitWidth();
  bool isSigned = kind == ScalarKind::signedInt;
  if (isFloat() && targetKind == ScalarKind::floating) {
    // Equal widths differ in format (f16, bf16): both pass through f32.
    if (fromWidth == toWidth)
      return convertTo(builder->getF32Type(), ScalarKind::floating).convertTo(target, targetKind);
    result.held = fromWidth < toWidth ? arith::ExtFOp::create(*builder, loc, type, held).getResult()
                                      : narrowed(*builder, loc, type, held);
  } else if (isFloat()) {
    return saturatedTo(target, targetKind);
  } else if (targetKind == ScalarKind::floating) {
    result.held = isSigned ? arith::SIToFPOp::create(*builder, loc, type, held).getResult()
                           : arith::UIToFPOp::create(*builder, loc, type, held).getResult();
  } else if (fromWidth < toWidth) {
    result.held = isSigned ? arith::ExtSIOp::create(*builder, loc, type, held).getResult()
                           : arith::ExtUIOp::create(*builder, loc, type, held).getResult();
  } else if (fromWidth > toWidth) {
    result.held = arith::TruncIOp::create(*builder, loc, type, held).getResult();
  }
  return result;
}

Scalar Scalar::castTo(Type elementType) const {
  ScalarKind target = scalarKind(elementType);
  Type compute = computeType(elementType);
  if (auto integer = dyn_cast<IntegerType>(elementType);
      integer && integer.getWidth() > 1 && integer.getWidth() < 8) {
    // A byte holds what the type holds: floats saturate, of integers the low bits stay.
    int64_t values = int64_t(1) << integer.getWidth(), half = values / 2;
    bool isSigned = target == ScalarKind::signedInt;
    if (isFloat()) {
      double low = isSigned ? -half : 0, high = low + values - 1;
      return max(min(*this, high), low).convertTo(compute, target);
    }
    Scalar bits = convertTo(compute, target);
    bits = bits & bits.constant(values - 1);
    return isSigned ? (bits ^ bits.constant(half)) - half : bits;
  }
  // Only floats become small ones.
  if (!isFloat() && target == ScalarKind::floating && elementType.getIntOrFloatBitWidth() <= 8)
    return convertTo(compute, target).castTo(elementType);
  if (target == ScalarKind::floating && compute != elementType)
    return convertTo(elementType, target).convertTo(compute, target);
  return convertTo(compute, target);
}

Scalar Scalar::reinterpretedAs(Type from, Type to) const {
  Type word = builder->getIntegerType(std::max(8u, from.getIntOrFloatBitWidth()));
  Scalar bits(*builder, loc, held, ScalarKind::unsignedInt);
  if (isFloat())
    bits.held = bitsAs(*builder, loc, shaped(word, held.getType()), convertTo(from, kind).held);
  else if (kind == ScalarKind::boolean)
    bits = convertTo(word, ScalarKind::unsignedInt);
  ScalarKind target = scalarKind(to);
  if (target != ScalarKind::floating)
    return bits.convertTo(computeType(to), target);
  Value value = bitsAs(*builder, loc, shaped(to, held.getType()), bits.held);
  return Scalar(*builder, loc, value, target).convertTo(computeType(to), target);
}

template <typename FloatOp, typename SignedOp, typename UnsignedOp>
Scalar Scalar::arith(Scalar other) const {
  assert(held.getType() == other.held.getType() && "operands of one type");
  switch (kind) {
  case ScalarKind::floating:
    return with(FloatOp::create(*builder, loc, held, other.held));
  case ScalarKind::signedInt:
    return with(SignedOp::create(*builder, loc, held, other.held));
  case ScalarKind::unsignedInt:
  case ScalarKind::boolean:
    return with(UnsignedOp::create(*builder, loc, held, other.held));
  }
  llvm_unreachable("unknown kind");
}

Scalar operator+(Scalar a, Scalar b) {
  if (a.kind == ScalarKind::boolean)
    return a | b;
  return a.arith<arith::AddFOp, arith::AddIOp, arith::AddIOp>(b);
}
Scalar operator-(Scalar a, Scalar b) {
  return a.arith<arith::SubFOp, arith::SubIOp, arith::SubIOp>(b);
}
Scalar operator*(Scalar a, Scalar b) {
  if (a.kind == ScalarKind::boolean)
    return a & b;
  return a.arith<arith::MulFOp, arith::MulIOp, arith::MulIOp>(b);
}
Scalar operator/(Scalar a, Scalar b) {
  return a.arith<arith::DivFOp, arith::DivSIOp, arith::DivUIOp>(b);
}
Scalar max(Scalar a, Scalar b) {
  if (a.kind == ScalarKind::boolean)
    return a | b;
  return a.arith<arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp>(b);
}
Scalar min(Scalar a, Scalar b) {
  if (a.kind == ScalarKind::boolean)
    return a & b;
  return a.arith<arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp>(b);
}
Scalar operator&(Scalar a, Scalar b) {
  return a.with(arith::AndIOp::create(*a.builder, a.loc, a.held, b.held));
}
Scalar operator|(Scalar a, Scalar b) {
  return a.with(arith::OrIOp::create(*a.builder, a.loc, a.held, b.held));
}
Scalar operator^(Scalar a, Scalar b) {
  return a.with(arith::XOrIOp::create(*a.builder, a.loc, a.held, b.held));
}

Scalar operator-(Scalar a) {
  if (a.isFloat())
    return a.with(arith::NegFOp::create(*a.builder, a.loc, a.held));
  return a.constant(0.0) - a;
}

static Value compare(OpBuilder &builder, Location loc, ScalarKind kind, Value a, Value b,
                     arith::CmpFPredicate ofFloat, arith::CmpIPredicate ofSigned,
                     arith::CmpIPredicate ofUnsigned) {
  if (kind == ScalarKind::floating)
    return arith::CmpFOp::create(builder, loc, ofFloat, a, b);
  return arith::CmpIOp::create(builder, loc, kind == ScalarKind::signedInt ? ofSigned : ofUnsigned,
                               a, b);
}

Scalar operator<(Scalar a, Scalar b) {
  // Nothing unsigned lies below zero, and NVRTC warns of such a comparison.
  if (a.kind == ScalarKind::unsignedInt && matchPattern(b.held, m_Zero())) {
    Type type = a.builder->getI1Type();
    if (auto vector = dyn_cast<VectorType>(a.held.getType()))
      type = vector.clone(type);
    return a.boolean(
        arith::ConstantOp::create(*a.builder, a.loc, a.builder->getZeroAttr(type)).getResult());
  }
  return a.boolean(compare(*a.builder, a.loc, a.kind, a.held, b.held, arith::CmpFPredicate::OLT,
                           arith::CmpIPredicate::slt, arith::CmpIPredicate::ult));
}
Scalar operator<=(Scalar a, Scalar b) {
  return a.boolean(compare(*a.builder, a.loc, a.kind, a.held, b.held, arith::CmpFPredicate::OLE,
                           arith::CmpIPredicate::sle, arith::CmpIPredicate::ule));
}
Scalar operator==(Scalar a, Scalar b) {
  return a.boolean(compare(*a.builder, a.loc, a.kind, a.held, b.held, arith::CmpFPredicate::OEQ,
                           arith::CmpIPredicate::eq, arith::CmpIPredicate::eq));
}
Scalar operator!=(Scalar a, Scalar b) {
  return a.boolean(compare(*a.builder, a.loc, a.kind, a.held, b.held, arith::CmpFPredicate::UNE,
                           arith::CmpIPredicate::ne, arith::CmpIPredicate::ne));
}
Scalar isNan(Scalar a) {
  return a.boolean(
      arith::CmpFOp::create(*a.builder, a.loc, arith::CmpFPredicate::UNO, a.held, a.held));
}
Scalar select(Scalar condition, Scalar a, Scalar b) {
  return a.with(arith::SelectOp::create(*a.builder, a.loc, condition.held, a.held, b.held));
}
Scalar abs(Scalar a) {
  if (a.isFloat())
    return a.with(math::AbsFOp::create(*a.builder, a.loc, a.held));
  if (a.kind == ScalarKind::signedInt)
    return a.with(math::AbsIOp::create(*a.builder, a.loc, a.held));
  return a;
}
Scalar exp(Scalar a) { return a.with(math::ExpOp::create(*a.builder, a.loc, a.held)); }
Scalar log(Scalar a) { return a.with(math::LogOp::create(*a.builder, a.loc, a.held)); }
Scalar sqrt(Scalar a) { return a.with(math::SqrtOp::create(*a.builder, a.loc, a.held)); }
Scalar exp2(Scalar a) { return a.with(math::Exp2Op::create(*a.builder, a.loc, a.held)); }
Scalar expm1(Scalar a) { return a.with(math::ExpM1Op::create(*a.builder, a.loc, a.held)); }
Scalar log1p(Scalar a) { return a.with(math::Log1pOp::create(*a.builder, a.loc, a.held)); }
Scalar log2(Scalar a) { return a.with(math::Log2Op::create(*a.builder, a.loc, a.held)); }
Scalar log10(Scalar a) { return a.with(math::Log10Op::create(*a.builder, a.loc, a.held)); }
Scalar sin(Scalar a) { return a.with(math::SinOp::create(*a.builder, a.loc, a.held)); }
Scalar cos(Scalar a) { return a.with(math::CosOp::create(*a.builder, a.loc, a.held)); }
Scalar tan(Scalar a) { return a.with(math::TanOp::create(*a.builder, a.loc, a.held)); }
Scalar asin(Scalar a) { return a.with(math::AsinOp::create(*a.builder, a.loc, a.held)); }
Scalar acos(Scalar a) { return a.with(math::AcosOp::create(*a.builder, a.loc, a.held)); }
Scalar atan(Scalar a) { return a.with(math::AtanOp::create(*a.builder, a.loc, a.held)); }
Scalar atan2(Scalar y, Scalar x) {
  return y.with(math::Atan2Op::create(*y.builder, y.loc, y.held, x.held));
}
Scalar tanh(Scalar a) { return a.with(math::TanhOp::create(*a.builder, a.loc, a.held)); }
Scalar erf(Scalar a) { return a.with(math::ErfOp::create(*a.builder, a.loc, a.held)); }
Scalar erfc(Scalar a) { return a.with(math::ErfcOp::create(*a.builder, a.loc, a.held)); }

template <typename Op> static Value whole(OpBuilder &builder, Location loc, Value value) {
  if (isa<FloatType>(getElementTypeOrSelf(value.getType())))
    return Op::create(builder, loc, value);
  return value;
}
Scalar floor(Scalar a) { return a.with(whole<math::FloorOp>(*a.builder, a.loc, a.held)); }
Scalar ceil(Scalar a) { return a.with(whole<math::CeilOp>(*a.builder, a.loc, a.held)); }
Scalar trunc(Scalar a) { return a.with(whole<math::TruncOp>(*a.builder, a.loc, a.held)); }
Scalar round(Scalar a) { return a.with(whole<math::RoundEvenOp>(*a.builder, a.loc, a.held)); }

//===- Powers, quotients, remainders ----------------------------------------------------------===//

Scalar pow(Scalar a, Scalar b) {
  if (a.isFloat())
    return a.with(math::PowFOp::create(*a.builder, a.loc, a.held, b.held));
  if (a.kind == ScalarKind::signedInt)
    return a.with(math::IPowIOp::create(*a.builder, a.loc, a.held, b.held));
  Type type = a.elementType();
  if (type.isInteger(64)) {
    // Powers of odd numbers repeat after 2^62 of them, of even ones nothing is left by then: a
    // signed exponent serves.
    Scalar end = b.constant(0x1p62);
    Scalar exponent = select(b < end, b, (b & (end - 1.0)) + end);
    return a.with(math::IPowIOp::create(*a.builder, a.loc, a.held, exponent.held));
  }
  // The low bits of a power depend on the low bits of its base alone, so a wider signed type
  // serves.
  Type wide = a.builder->getIntegerType(2 * type.getIntOrFloatBitWidth());
  auto widened = [&](Scalar x) { return x.convertTo(wide, ScalarKind::signedInt); };
  return pow(widened(a), widened(b)).convertTo(type, a.kind);
}

Scalar pow(Scalar a, double b) {
  if (b == 0.0)
    return a.constant(1.0);
  if (b == 1.0)
    return a;
  if (b == 2.0)
    return a * a;
  if (b == 3.0)
    return a * a * a;
  if (b == 4.0)
    return (a * a) * (a * a);
  if (a.isFloat() && (b == 0.5 || b == -0.5))
    return b > 0 ? sqrt(a) : 1.0 / sqrt(a);
  if (a.isFloat() && (b == -1.0 || b == -2.0))
    return pow(1.0 / a, -b);
  return pow(a, a.constant(b));
}

Scalar Scalar::safeDivisor() const {
  Scalar traps = *this == constant(0.0);
  if (kind == ScalarKind::signedInt)
    traps = traps | (*this == constant(-1.0));
  return select(traps, constant(1.0), *this);
}

Scalar divTrunc(Scalar a, Scalar b) {
  if (a.isFloat())
    return trunc(a / b);
  Scalar quotient = a / b.safeDivisor();
  if (a.kind == ScalarKind::signedInt)
    quotient = select(b == -1.0, -a, quotient);
  return select(b == 0.0, 0.0, quotient);
}

Scalar remTrunc(Scalar a, Scalar b) {
  if (a.isFloat())
    return a.with(arith::RemFOp::create(*a.builder, a.loc, a.held, b.held));
  Scalar divisor = b.safeDivisor();
  Value rest = a.kind == ScalarKind::signedInt
                   ? arith::RemSIOp::create(*a.builder, a.loc, a.held, divisor.held).getResult()
                   : arith::RemUIOp::create(*a.builder, a.loc, a.held, divisor.held).getResult();
  return select(b == 0.0, a, a.with(rest));
}

/// The remainder of truncated division has the other sign than the divisor: one step down.
static Scalar isAbove(Scalar rest, Scalar divisor) {
  return (rest != 0.0) & ((rest < 0.0) ^ (divisor < 0.0)) & (divisor != 0.0);
}

Scalar remFloor(Scalar a, Scalar b) {
  Scalar rest = remTrunc(a, b);
  return select(isAbove(rest, b), rest + b, rest);
}

Scalar divFloor(Scalar a, Scalar b) {
  Scalar rest = remTrunc(a, b);
  if (!a.isFloat()) {
    Scalar quotient = divTrunc(a, b);
    return select(isAbove(rest, b), quotient - 1.0, quotient);
  }
  // (a - rest) / b is a whole number but for its rounding. Of 0 the sign is that of a / b, and so
  // is what b = 0 gives.
  Scalar plain = a / b, exact = (a - rest) / b;
  exact = select(isAbove(rest, b), exact - 1.0, exact);
  Scalar whole = floor(exact);
  whole = select(exact - whole > 0.5, whole + 1.0, whole);
  whole = select(exact == 0.0, plain * 0.0, whole);
  return select(b == 0.0, plain, whole);
}

} // namespace dlc
