//===- Scalar.h - Expressions that build arith and math ops -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The language in which an op's record says what it computes: `0.5 * x * (1.0 + erf(x * c))` on
// Scalars appends arith and math ops. A Scalar holds a scalar or a vector and knows how its element
// type is to be read (float, signed, unsigned, bool), so that one body serves all dtypes and both
// targets. ScalarOps.def is the closed list of the ops that bodies may produce.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_SCALAR_SCALAR_H
#define DLC_IR_SCALAR_SCALAR_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

namespace dlc {

/// How the bits of an element are read.
enum class ScalarKind { floating, signedInt, unsignedInt, boolean };

/// The kind of a tensor's element type (ui8: unsigned; i8..i64: signed; i1: bool).
ScalarKind scalarKind(mlir::Type elementType);

class Scalar {
public:
  Scalar(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, ScalarKind kind)
      : builder(&builder), loc(loc), held(value), kind(kind) {}

  mlir::Value value() const { return held; }
  ScalarKind getKind() const { return kind; }
  mlir::OpBuilder &getBuilder() const { return *builder; }
  mlir::Location getLoc() const { return loc; }
  bool isFloat() const { return kind == ScalarKind::floating; }
  mlir::Type elementType() const;

  /// A constant of this value's type (a splat for vectors); `number` is rounded to it.
  Scalar constant(double number) const;
  /// The largest or smallest value of this type: +inf, -inf for floats.
  Scalar highest() const;
  Scalar lowest() const;
  /// Converts as PyTorch's `to`: floats to integers truncate, anything to bool compares with zero.
  /// Where PyTorch leaves it open, beyond the range of an integer type, floats saturate; NaN gives
  /// 0. `target` is a compute type.
  Scalar convertTo(mlir::Type target, ScalarKind targetKind) const;

  /// This value as a truth: different from zero.
  Scalar toBool() const;
  /// Each bit set: -1 of signed integers, true of bools.
  Scalar allOnes() const;
  /// What a tensor of `elementType` would hold of this value, in its compute type: 16-bit floats
  /// round.
  Scalar castTo(mlir::Type elementType) const;
  /// The bits of this value, an element of `from`, as one of `to`, in its compute type. Both take
  /// the same number of bytes, and a multiple of 8 bits where they are no bools; a bool is a byte,
  /// of which all but 0 is true.
  Scalar reinterpretedAs(mlir::Type from, mlir::Type to) const;

  /// Sum and product of bools are `or` and `and`, as in PyTorch.
  friend Scalar operator+(Scalar a, Scalar b);
  friend Scalar operator-(Scalar a, Scalar b);
  friend Scalar operator*(Scalar a, Scalar b);
  /// Float division; on integers, division truncated toward zero (divisor 0 is undefined).
  friend Scalar operator/(Scalar a, Scalar b);
  friend Scalar operator-(Scalar a);
  friend Scalar operator<(Scalar a, Scalar b);
  friend Scalar operator<=(Scalar a, Scalar b);
  friend Scalar operator>(Scalar a, Scalar b) { return b < a; }
  friend Scalar operator>=(Scalar a, Scalar b) { return b <= a; }
  friend Scalar operator==(Scalar a, Scalar b);
  friend Scalar operator!=(Scalar a, Scalar b); // true on NaN
  friend Scalar operator&(Scalar a, Scalar b);
  friend Scalar operator|(Scalar a, Scalar b);
  friend Scalar operator^(Scalar a, Scalar b);
  friend Scalar operator!(Scalar a) { return a == a.constant(0.0); }
  /// NaN in either operand gives NaN; max(-0, +0) = +0.
  friend Scalar max(Scalar a, Scalar b);
  friend Scalar min(Scalar a, Scalar b);
  friend Scalar select(Scalar condition, Scalar a, Scalar b);
  friend Scalar abs(Scalar a);
  friend Scalar exp(Scalar a);
  friend Scalar log(Scalar a);
  friend Scalar sqrt(Scalar a);
  friend Scalar exp2(Scalar a);
  /// exp(a) - 1 and log(1 + a), without the cancellation.
  friend Scalar expm1(Scalar a);
  friend Scalar log1p(Scalar a);
  friend Scalar log2(Scalar a);
  friend Scalar log10(Scalar a);
  friend Scalar tanh(Scalar a);
  friend Scalar sin(Scalar a);
  friend Scalar cos(Scalar a);
  friend Scalar tan(Scalar a);
  friend Scalar asin(Scalar a);
  friend Scalar acos(Scalar a);
  friend Scalar atan(Scalar a);
  /// The angle of the point (x, y), from -pi to pi.
  friend Scalar atan2(Scalar y, Scalar x);
  /// a to the power of b. Integers wrap; of a negative b, the reciprocal rounded to zero.
  friend Scalar pow(Scalar a, Scalar b);
  /// Division and remainder, the quotient rounded to zero, or down (PyTorch's floor_divide and
  /// remainder). Integers by 0: quotient 0, remainder a; the lowest by -1 wraps.
  friend Scalar divTrunc(Scalar a, Scalar b);
  friend Scalar remTrunc(Scalar a, Scalar b);
  friend Scalar divFloor(Scalar a, Scalar b);
  friend Scalar remFloor(Scalar a, Scalar b);
  friend Scalar erf(Scalar a);
  /// 1 - erf(a), without the cancellation.
  friend Scalar erfc(Scalar a);
  /// Integers stay as they are. round: to the nearest, ties to even.
  friend Scalar floor(Scalar a);
  friend Scalar ceil(Scalar a);
  friend Scalar trunc(Scalar a);
  friend Scalar round(Scalar a);
  friend Scalar isNan(Scalar a);

private:
  Scalar with(mlir::Value value) const { return {*builder, loc, value, kind}; }
  Scalar boolean(mlir::Value value) const { return {*builder, loc, value, ScalarKind::boolean}; }
  /// 1 in place of a divisor that traps.
  Scalar safeDivisor() const;
  Scalar saturatedTo(mlir::Type target, ScalarKind targetKind) const;
  template <typename FloatOp, typename SignedOp, typename UnsignedOp>
  Scalar arith(Scalar other) const;

  mlir::OpBuilder *builder;
  mlir::Location loc;
  mlir::Value held;
  ScalarKind kind;
};

/// arith.bitcast of `value` to `type`, or what is one already.
mlir::Value bitsAs(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type,
                   mlir::Value value);

inline Scalar operator+(Scalar a, double b) { return a + a.constant(b); }
inline Scalar operator+(double a, Scalar b) { return b.constant(a) + b; }
inline Scalar operator-(Scalar a, double b) { return a - a.constant(b); }
inline Scalar operator-(double a, Scalar b) { return b.constant(a) - b; }
inline Scalar operator*(Scalar a, double b) { return a * a.constant(b); }
inline Scalar operator*(double a, Scalar b) { return b.constant(a) * b; }
inline Scalar operator/(Scalar a, double b) { return a / a.constant(b); }
inline Scalar operator/(double a, Scalar b) { return b.constant(a) / b; }
inline Scalar operator<(Scalar a, double b) { return a < a.constant(b); }
inline Scalar operator<=(Scalar a, double b) { return a <= a.constant(b); }
inline Scalar operator>(Scalar a, double b) { return a > a.constant(b); }
inline Scalar operator>=(Scalar a, double b) { return a >= a.constant(b); }
inline Scalar operator==(Scalar a, double b) { return a == a.constant(b); }
inline Scalar operator!=(Scalar a, double b) { return a != a.constant(b); }
inline Scalar select(Scalar condition, Scalar a, double b) {
  return select(condition, a, a.constant(b));
}
inline Scalar select(Scalar condition, double a, Scalar b) {
  return select(condition, b.constant(a), b);
}
/// a to the power of a number; small whole ones are products.
Scalar pow(Scalar a, double b);
inline Scalar max(Scalar a, double b) { return max(a, a.constant(b)); }
inline Scalar min(Scalar a, double b) { return min(a, a.constant(b)); }

} // namespace dlc

#endif // DLC_IR_SCALAR_SCALAR_H
