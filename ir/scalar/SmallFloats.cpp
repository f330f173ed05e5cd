//===- SmallFloats.cpp - Floats of 8 and 4 bits as arithmetic -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/scalar/SmallFloats.h"

#include "ir/scalar/Scalar.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/APFloat.h"

#include <cmath>

using namespace mlir;
using llvm::APFloat;

namespace dlc {

bool isSmallFloat(Type type) { return isa<FloatType>(type) && type.getIntOrFloatBitWidth() <= 8; }

namespace {

/// What the conversions need to know of a format.
struct SmallFormat {
  explicit SmallFormat(FloatType type) : semantics(type.getFloatSemantics()) {
    bits = type.getIntOrFloatBitWidth();
    mantissa = static_cast<int>(APFloat::semanticsPrecision(semantics)) - 1;
    // Whatever the format calls its least exponent: the exponent field is 1 there.
    bias = 1 - APFloat::semanticsMinExponent(semantics);
    hasZero = APFloat::semanticsHasZero(semantics);
    hasNaN = APFloat::semanticsHasNaN(semantics);
    hasInfinity = APFloat::semanticsHasInf(semantics);
    largest = code(APFloat::getLargest(semantics));
    nan = hasNaN ? code(APFloat::getNaN(semantics)) : sign();
    infinity = hasInfinity ? code(APFloat::getInf(semantics)) : 0;
  }
  static int64_t code(const APFloat &value) {
    return static_cast<int64_t>(value.bitcastToAPInt().getZExtValue());
  }
  int64_t sign() const { return int64_t(1) << (bits - 1); }
  /// Its only NaN stands where -0 would be.
  bool hasNaNForMinusZero() const { return hasNaN && nan == sign(); }

  const llvm::fltSemantics &semantics;
  int bits, mantissa, bias;
  bool hasZero, hasNaN, hasInfinity;
  int64_t largest, nan, infinity;
};

/// Appends arithmetic on values of the shape of one value.
class Arithmetic {
public:
  Arithmetic(OpBuilder &builder, Location loc, Type like)
      : builder(builder), loc(loc), like(like) {}

  Type shaped(Type element) const {
    auto vector = dyn_cast<VectorType>(like);
    return vector ? Type(vector.clone(element)) : element;
  }
  Value constant(TypedAttr element) const {
    if (Type type = shaped(element.getType()); isa<VectorType>(type))
      element = DenseElementsAttr::get(cast<ShapedType>(type), element);
    return arith::ConstantOp::create(builder, loc, element);
  }
  Value integer(int64_t value) const { return constant(builder.getI32IntegerAttr(value)); }
  Value number(double value) const {
    return constant(builder.getF32FloatAttr(static_cast<float>(value)));
  }
  template <typename Op> Value make(Value a, Value b) const {
    return Op::create(builder, loc, a, b).getResult();
  }
  Value add(Value a, Value b) const { return make<arith::AddIOp>(a, b); }
  Value sub(Value a, Value b) const { return make<arith::SubIOp>(a, b); }
  Value bitAnd(Value a, int64_t b) const { return make<arith::AndIOp>(a, integer(b)); }
  Value shiftLeft(Value a, int by) const {
    return by == 0 ? a : make<arith::ShLIOp>(a, integer(by));
  }
  Value shiftRight(Value a, int by) const {
    return by == 0 ? a : make<arith::ShRUIOp>(a, integer(by));
  }
  Value compare(arith::CmpIPredicate predicate, Value a, int64_t b) const {
    return arith::CmpIOp::create(builder, loc, predicate, a, integer(b));
  }
  Value isGreater(Value a, int64_t b) const { return compare(arith::CmpIPredicate::sgt, a, b); }
  Value isLess(Value a, int64_t b) const { return compare(arith::CmpIPredicate::slt, a, b); }
  Value isEqual(Value a, int64_t b) const { return compare(arith::CmpIPredicate::eq, a, b); }
  Value select(Value c, Value a, Value b) const {
    return arith::SelectOp::create(builder, loc, c, a, b);
  }
  Value bitsOf(Value a) const {
    return arith::BitcastOp::create(builder, loc, shaped(builder.getI32Type()), a);
  }
  Value floatOf(Value a) const {
    return arith::BitcastOp::create(builder, loc, shaped(builder.getF32Type()), a);
  }
  /// An f64 as the f32 that is odd where it is not exact: rounded further down it gives what
  /// rounding the f64 would.
  Value roundedToOdd(Value wide) const {
    Value narrow = arith::TruncFOp::create(builder, loc, shaped(builder.getF32Type()), wide);
    Value back = arith::ExtFOp::create(builder, loc, wide.getType(), narrow);
    Value bits = bitsOf(narrow);
    auto compared = [&](arith::CmpFPredicate predicate, Value a, Value b) -> Value {
      return arith::CmpFOp::create(builder, loc, predicate, a, b);
    };
    // NaN compares as exact and is left alone.
    Value larger = compared(arith::CmpFPredicate::OGT, back, wide),
          smaller = compared(arith::CmpFPredicate::OLT, back, wide);
    Value isInexact = make<arith::OrIOp>(larger, smaller);
    Value away = compared(arith::CmpFPredicate::OGT, math::AbsFOp::create(builder, loc, back),
                          math::AbsFOp::create(builder, loc, wide));
    Value toZero = select(away, sub(bits, integer(1)), bits);
    return floatOf(select(isInexact, make<arith::OrIOp>(toZero, integer(1)), bits));
  }

  OpBuilder &builder;
  Location loc;
  Type like;
};

} // namespace

Value decodeSmallFloat(OpBuilder &builder, Location loc, Value bits, FloatType type) {
  Arithmetic a(builder, loc, bits.getType());
  SmallFormat format(type);
  Value code = arith::ExtUIOp::create(builder, loc, a.shaped(builder.getI32Type()), bits);
  Value nan = a.integer(0x7fc00000);
  if (!format.hasZero) { // powers of two, the least a denormal f32
    Value power = a.select(a.isEqual(code, 0), a.integer(0x400000), a.shiftLeft(code, 23));
    return a.floatOf(a.select(a.isEqual(code, format.nan), nan, power));
  }
  Value magnitude = a.bitAnd(code, format.sign() - 1);
  // An f32 has the same fields, but for the bias; denormals get the least normal exponent, whose
  // implicit bit goes off again.
  int shift = 23 - format.mantissa, rebias = 127 - format.bias;
  Value moved = a.shiftLeft(magnitude, shift);
  Value normal = a.add(moved, a.integer(int64_t(rebias) << 23));
  double least = std::ldexp(1.0, 1 - format.bias);
  Value shifted = a.floatOf(a.add(moved, a.integer(int64_t(rebias + 1) << 23)));
  Value denormal = a.bitsOf(a.make<arith::SubFOp>(shifted, a.number(least)));
  Value result = a.select(a.isLess(magnitude, int64_t(1) << format.mantissa), denormal, normal);
  if (format.hasInfinity) {
    result = a.select(a.isEqual(magnitude, format.infinity), a.integer(0x7f800000), result);
    result = a.select(a.isGreater(magnitude, format.infinity), nan, result);
  }
  Value sign = a.shiftLeft(a.bitAnd(code, format.sign()), 32 - format.bits);
  result = a.make<arith::OrIOp>(result, sign);
  if (format.hasNaNForMinusZero())
    result = a.select(a.isEqual(code, format.nan), nan, result);
  else if (format.hasNaN && !format.hasInfinity)
    result = a.select(a.isGreater(magnitude, format.largest), nan, result);
  return a.floatOf(result);
}

Value encodeSmallFloat(OpBuilder &builder, Location loc, Value value, FloatType type) {
  Arithmetic a(builder, loc, value.getType());
  SmallFormat format(type);
  if (getElementTypeOrSelf(value.getType()).isF64())
    value = a.roundedToOdd(value);
  auto narrow = [&](Value code) -> Value {
    return arith::TruncIOp::create(builder, loc, a.shaped(builder.getI8Type()), code);
  };
  Value bits = a.bitsOf(value);
  Value magnitude = a.bitAnd(bits, 0x7fffffff);
  Value isNaN = a.isGreater(magnitude, 0x7f800000);
  if (!format.hasZero) {
    // Denormals: all above 2^-127 go up, as in PyTorch.
    Value rounded = a.shiftRight(a.add(magnitude, a.integer(0x400000)), 23);
    rounded = a.select(a.isEqual(magnitude, 0x400000), a.integer(0), rounded);
    return narrow(a.select(isNaN, a.integer(format.nan), rounded));
  }
  int shift = 23 - format.mantissa, rebias = 127 - format.bias;
  // Half of the last place that stays, less one where it is even: ties go to even. A carry moves
  // into the exponent.
  Value odd = a.bitAnd(a.shiftRight(magnitude, shift), 1);
  Value half = a.add(a.add(magnitude, a.integer((int64_t(1) << (shift - 1)) - 1)), odd);
  Value normal = a.sub(a.shiftRight(half, shift), a.integer(int64_t(rebias) << format.mantissa));
  // The least place of a denormal is the last place of this number, so that the sum rounds to it.
  double magic = std::ldexp(1.0, 1 - format.bias - format.mantissa + 23);
  Value sum = a.make<arith::AddFOp>(a.floatOf(magnitude), a.number(magic));
  Value denormal = a.sub(a.bitsOf(sum), a.bitsOf(a.number(magic)));
  int64_t least = int64_t(rebias + 1) << 23;
  Value code = a.select(a.isLess(magnitude, least), denormal, normal);
  int64_t beyond = format.hasInfinity ? format.infinity
                   : format.hasNaN    ? format.nan
                                      : format.largest;
  code = a.select(a.isGreater(code, format.largest), a.integer(beyond), code);
  Value sign = a.bitAnd(a.shiftRight(bits, 32 - format.bits), format.sign());
  Value withSign = a.make<arith::OrIOp>(code, sign);
  if (format.hasNaNForMinusZero()) // a zero has no sign
    withSign = a.select(a.isEqual(code, 0), code, withSign);
  return narrow(a.select(isNaN, a.integer(format.nan), withSign));
}

Value wideSmallFloat(OpBuilder &builder, Location loc, Value bits, FloatType format) {
  if (format.getWidth() != 8) // no bitcast of a byte
    return decodeSmallFloat(builder, loc, bits, format);
  Arithmetic a(builder, loc, bits.getType());
  Value narrow = bitsAs(builder, loc, a.shaped(format), bits);
  return Scalar(builder, loc, narrow, ScalarKind::floating)
      .convertTo(builder.getF32Type(), ScalarKind::floating)
      .value();
}

Value bitsOfSmallFloat(OpBuilder &builder, Location loc, Value value, FloatType format) {
  if (format.getWidth() != 8)
    return encodeSmallFloat(builder, loc, value, format);
  Arithmetic a(builder, loc, value.getType());
  Scalar narrow =
      Scalar(builder, loc, value, ScalarKind::floating).convertTo(format, ScalarKind::floating);
  return bitsAs(builder, loc, a.shaped(builder.getI8Type()), narrow.value());
}

/// A value of a small float lives between what makes it (arith.truncf of a wide one, arith.bitcast
/// of a byte) and what takes it (arith.extf, arith.bitcast).
static Value bitsOfMade(OpBuilder &builder, Location loc, Value small) {
  if (auto bits = small.getDefiningOp<arith::BitcastOp>())
    return bits.getIn();
  auto format = cast<FloatType>(getElementTypeOrSelf(small.getType()));
  return encodeSmallFloat(builder, loc, small.getDefiningOp<arith::TruncFOp>().getIn(), format);
}

void expandSmallFloats(Operation *root) {
  SmallVector<Operation *> takers, makers;
  root->walk([&](Operation *op) {
    if (!isa<arith::ExtFOp, arith::TruncFOp, arith::BitcastOp>(op))
      return;
    if (isSmallFloat(getElementTypeOrSelf(op->getOperand(0).getType())))
      takers.push_back(op);
    else if (isSmallFloat(getElementTypeOrSelf(op->getResult(0).getType())))
      makers.push_back(op);
  });
  for (Operation *op : takers) {
    OpBuilder builder(op);
    Value small = op->getOperand(0);
    if (!op->use_empty()) {
      Value value = bitsOfMade(builder, op->getLoc(), small);
      if (isa<arith::ExtFOp>(op)) {
        auto format = cast<FloatType>(getElementTypeOrSelf(small.getType()));
        value = decodeSmallFloat(builder, op->getLoc(), value, format);
        if (getElementTypeOrSelf(op->getResult(0).getType()).isF64())
          value = arith::ExtFOp::create(builder, op->getLoc(), op->getResult(0).getType(), value);
      }
      op->getResult(0).replaceAllUsesWith(value);
    }
    op->erase();
  }
  for (Operation *op : makers) {
    assert(op->use_empty() && "all that takes a small float is replaced");
    op->erase();
  }
}

} // namespace dlc
