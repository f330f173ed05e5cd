//===- MathTrigonometry.cpp - Angles as arithmetic ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   sin, cos, tan  x = n pi/2 + r with r in two parts. Up to kNear, pi/2 in three parts (Cody and
//                  Waite); beyond, after Payne and Hanek, x times the digits of 2/pi, of which
//                  whole multiples of 4 fall out
//   asin, acos     odd polynomial below 1/2, else by the angle of sqrt((1 - x) / 2)
//   atan, atan2    the smaller of |x| and |y| over the larger; above sqrt(2) - 1, pi/4 and the
//                  angle of what is left
//===------------------------------------------------------------------------------------------===//
#include "ir/scalar/MathExpander.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace dlc {

namespace c = coefficients;

/// Where the quick reduction ends: its products are exact and few enough digits cancel.
static constexpr double kNearSingle = 0x1p15, kNearDouble = 0x1p20;

template <size_t N>
SmallVector<Value, N> Expander::unlessAny(Value isSlow, std::array<Value, N> fast,
                                          llvm::function_ref<std::array<Value, N>()> slow) {
  Value any = isSlow;
  if (isa<VectorType>(isSlow.getType()))
    any = vector::ReductionOp::create(builder, loc, vector::CombiningKind::OR, isSlow);
  OpBuilder::InsertPoint outer = builder.saveInsertionPoint();
  auto branch = scf::IfOp::create(builder, loc, TypeRange(ValueRange(ArrayRef<Value>(fast))), any,
                                  /*withElseRegion=*/true);
  builder.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value, N> chosen;
  for (auto [slowValue, fastValue] : llvm::zip(slow(), fast))
    chosen.push_back(select(isSlow, slowValue, fastValue));
  scf::YieldOp::create(builder, loc, chosen);
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, ArrayRef<Value>(fast));
  builder.restoreInsertionPoint(outer);
  return SmallVector<Value, N>(branch.getResults());
}
template SmallVector<Value, 1> Expander::unlessAny<1>(Value, std::array<Value, 1>,
                                                      llvm::function_ref<std::array<Value, 1>()>);

//===- Reduction ------------------------------------------------------------------------------===//

/// Sums of parts of an angle in quarter turns, all of which lie within -2 and 2: the quadrant and
/// what is left, in turns of pi / 2, in two parts.
std::array<Value, 3> Expander::reduceLargeSingle(Value x) {
  // A number of single precision times 28 bits is exact in double precision.
  Type wide = builder.getF64Type();
  if (auto vector = dyn_cast<VectorType>(floatType))
    wide = vector.clone(wide);
  Expander d(builder, loc, wide);
  Value wideX = arith::ExtFOp::create(builder, loc, wide, x);
  Sum sum = {d.number(0.0), d.number(0.0)};
  double weight = 1.0;
  for (unsigned piece : c::twoOverPiPiecesSingle) {
    weight *= 0x1p-28;
    Value term = d.mul(wideX, d.number(piece * weight));
    term = d.fma(d.round(d.mul(term, d.number(0.25))), d.number(-4.0), term);
    Sum next = d.twoSum(sum.high, term);
    sum = {next.high, d.add(sum.low, next.low)};
  }
  Value n = d.round(sum.high);
  Value turn = d.add(d.sub(sum.high, n), sum.low);
  Value angle = d.mul(turn, d.number(c::halfPiHighDouble));
  Value high = arith::TruncFOp::create(builder, loc, floatType, angle);
  Value rest = d.sub(angle, arith::ExtFOp::create(builder, loc, wide, high));
  Value low = arith::TruncFOp::create(builder, loc, floatType, rest);
  Value magic = d.number(d.format.magic);
  Value quadrant = make<arith::SubIOp>(d.asInt(d.add(n, magic)), d.asInt(magic));
  return {arith::TruncIOp::create(builder, loc, intType, quadrant), high, low};
}

std::array<Value, 3> Expander::reduceLargeDouble(Value x) {
  // The window of 8 pieces from number `first` on: the ones before make whole multiples of 4, those
  // behind too little.
  constexpr int64_t kWidth = 26, kWindow = 8;
  Value exponent =
      make<arith::AndIOp>(make<arith::ShRSIOp>(asInt(x), integer(format.mantissa)), integer(0x7ff));
  Value beyond =
      make<arith::MaxSIOp>(make<arith::SubIOp>(exponent, integer(1023 + 60)), integer(0));
  // beyond / 26 for 0 to 963
  Value first = make<arith::ShRSIOp>(make<arith::MulIOp>(beyond, integer(2521)), integer(16));
  SmallVector<Value> pieces;
  for (unsigned piece : c::twoOverPiPiecesDouble)
    pieces.push_back(number(piece));
  for (int64_t bit = 5; bit >= 0; --bit) {
    int64_t by = int64_t(1) << bit;
    Value moves = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                        make<arith::AndIOp>(first, integer(by)), integer(0));
    SmallVector<Value> moved;
    for (int64_t i = 0; i < by - 1 + kWindow && i < static_cast<int64_t>(pieces.size()); ++i)
      moved.push_back(i + by < static_cast<int64_t>(pieces.size())
                          ? select(moves, pieces[i + by], pieces[i])
                          : pieces[i]);
    pieces = std::move(moved);
  }
  Value shift =
      make<arith::ShLIOp>(make<arith::MulIOp>(first, integer(kWidth)), integer(format.mantissa));
  Value scaled = asFloat(make<arith::SubIOp>(asInt(x), shift));
  Value top = asFloat(make<arith::AndIOp>(asInt(scaled), integer(-(int64_t(1) << 27))));
  Value bottom = sub(scaled, top);
  // 26 bits of x, or 27, times 26 are exact. What the sum loses is summed again.
  Value zero = number(0.0);
  Sum sum = {zero, zero};
  Value least = zero;
  double weight = 1.0;
  for (int64_t i = 0; i < kWindow; ++i) {
    weight *= std::ldexp(1.0, -kWidth);
    for (Value part : {top, bottom}) {
      Value term = mul(part, mul(pieces[i], number(weight)));
      term = fma(round(mul(term, number(0.25))), number(-4.0), term);
      Sum next = twoSum(sum.high, term), lost = twoSum(sum.low, next.low);
      sum = {next.high, lost.high};
      least = add(least, lost.low);
    }
  }
  Value n = round(sum.high);
  Sum turn = twoSum(sub(sum.high, n), sum.low);
  turn.low = add(turn.low, least);
  Sum angle = product(turn, {number(c::halfPiHighDouble), number(c::halfPiMiddleDouble)});
  Value magic = number(format.magic);
  return {make<arith::SubIOp>(asInt(add(n, magic)), asInt(magic)), angle.high, angle.low};
}

Expander::Angle Expander::reduceAngle(Value x) {
  Value magic = number(format.magic);
  Value shifted = fma(x, number(c::twoOverPiSingle, c::twoOverPiDouble), magic);
  Value n = sub(shifted, magic), minusN = neg(n);
  Value r = fma(minusN, number(c::halfPiHighSingle, c::halfPiHighDouble), x); // exact
  Sum middle = twoProduct(minusN, number(c::halfPiMiddleSingle, c::halfPiMiddleDouble));
  Sum sum = twoSum(r, middle.high);
  Value low = fma(minusN, number(c::halfPiLowSingle, c::halfPiLowDouble), add(sum.low, middle.low));
  Sum angle = fastTwoSum(sum.high, low);
  Value quadrant = make<arith::SubIOp>(asInt(shifted), asInt(magic));
  Value isFar = less(number(kNearSingle, kNearDouble), abs(x));
  auto slow = [&] { return isSingle ? reduceLargeSingle(x) : reduceLargeDouble(x); };
  auto chosen = unlessAny<3>(isFar, {quadrant, angle.high, angle.low}, slow);
  return {chosen[0], chosen[1], chosen[2]};
}

//===- sin, cos, tan --------------------------------------------------------------------------===//

Expander::Sum Expander::sinOf(const Angle &angle) {
  Value r = angle.high, square = mul(r, r);
  Value cubic = mul(mul(square, r), polynomial(c::sinSingle, c::sinDouble, square));
  // sin(r + low) = sin r + low cos r
  Value rest = fma(angle.low, fma(square, number(-0.5), number(1.0)), cubic);
  return fastTwoSum(r, rest);
}

Expander::Sum Expander::cosOf(const Angle &angle) {
  Value r = angle.high, square = mul(r, r), half = mul(square, number(0.5));
  Value top = sub(number(1.0), half), lost = sub(sub(number(1.0), top), half);
  Value rest = mul(mul(square, square), polynomial(c::cosSingle, c::cosDouble, square));
  // cos(r + low) = cos r - low sin r
  rest = fma(neg(r), angle.low, rest);
  return fastTwoSum(top, add(lost, rest));
}

Value Expander::sinOrCos(Value x, bool isCos) {
  Angle angle = reduceAngle(x);
  Value quadrant = isCos ? make<arith::AddIOp>(angle.quadrant, integer(1)) : angle.quadrant;
  auto hasBit = [&](int64_t bit) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                 make<arith::AndIOp>(quadrant, integer(bit)), integer(0));
  };
  Value result = select(hasBit(1), cosOf(angle).high, sinOf(angle).high);
  result = select(hasBit(2), neg(result), result);
  if (!isCos)
    result = select(equal(x, number(0.0)), x, result); // keeps the sign of zero
  return select(less(abs(x), infinity()), result, nan());
}

/// The quotient of two sums to a little more than half a unit: the remainder goes round once more.
Value Expander::quotient(Sum above, Sum below) {
  Value first = div(above.high, below.high), minus = neg(first);
  Value remainder = add(fma(minus, below.high, above.high), fma(minus, below.low, above.low));
  return add(first, div(remainder, below.high));
}

Value Expander::tan(Value x) {
  Angle angle = reduceAngle(x);
  Sum sine = sinOf(angle), cosine = cosOf(angle);
  Value isOdd = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                      make<arith::AndIOp>(angle.quadrant, integer(1)), integer(0));
  auto chosen = [&](Value odd, Value even) { return select(isOdd, odd, even); };
  Sum above = {chosen(neg(cosine.high), sine.high), chosen(neg(cosine.low), sine.low)};
  Sum below = {chosen(sine.high, cosine.high), chosen(sine.low, cosine.low)};
  Value result = quotient(above, below);
  result = select(equal(x, number(0.0)), x, result);
  return select(less(abs(x), infinity()), result, nan());
}

//===- Inverses -------------------------------------------------------------------------------===//

/// (asin(x) - x) / x of a square.
Value Expander::asinRest(Value square) {
  return mul(square, polynomial(c::asinSingle, c::asinDouble, square));
}

Value Expander::asin(Value x) {
  Value size = abs(x), half = number(0.5);
  // asin(x) = pi/2 - 2 asin(root), root^2 = (1 - x) / 2, which is exact; the root in two parts.
  Value isFar = less(half, size);
  Value square = select(isFar, mul(sub(number(1.0), size), half), mul(size, size));
  Value root = sqrt(square);
  Value s = select(isFar, root, size);
  Value lost = div(fma(neg(root), root, square), add(root, root));
  lost = select(less(number(0.0), root), lost, number(0.0));
  Value two = number(-2.0);
  Value near = fma(s, asinRest(square), s);
  Value rest = fma(s, asinRest(square), lost);
  Sum far =
      fastTwoSum(number(2 * c::quarterPiHighSingle, 2 * c::quarterPiHighDouble), mul(root, two));
  Value low = fma(rest, two, number(2 * c::quarterPiLowSingle, 2 * c::quarterPiLowDouble));
  return withSign(select(isFar, add(far.high, add(far.low, low)), near), x);
}

Value Expander::acos(Value x) {
  Value size = abs(x), half = number(0.5), zero = number(0.0);
  Value isFar = less(half, size), isNegative = less(x, zero);
  Value square = select(isFar, mul(sub(number(1.0), size), half), mul(size, size));
  Value root = sqrt(square);
  Value lost = div(fma(neg(root), root, square), add(root, root));
  lost = select(less(zero, root), lost, zero);
  Value s = select(isFar, root, x);
  Value rest = fma(s, asinRest(square), select(isFar, lost, zero));
  // 2 asin(root), pi - 2 asin(root), pi/2 - asin(x)
  Value two = number(2.0);
  Value factor = select(isFar, select(isNegative, neg(two), two), number(-1.0));
  Value quarters = select(isFar, select(isNegative, number(4.0), zero), two);
  Sum sum =
      twoSum(mul(quarters, number(c::quarterPiHighSingle, c::quarterPiHighDouble)), mul(s, factor));
  Value low = mul(quarters, number(c::quarterPiLowSingle, c::quarterPiLowDouble));
  Value result = add(sum.high, add(sum.low, fma(rest, factor, low)));
  return select(less(number(1.0), size), nan(), result);
}

Expander::Direction Expander::direction(Value y, Value x) {
  Value isSteep = less(x, y);
  Value small = select(isSteep, x, y), large = select(isSteep, y, x);
  Value isWide = less(mul(large, number(0x1.a827999fcef32p-2)), small); // sqrt(2) - 1
  // (small - large) / (small + large), by half of each: the sum would overflow. In two parts.
  Value half = number(0.5), zero = number(0.0);
  Sum difference = fastTwoSum(neg(large), small),
      sum = fastTwoSum(mul(large, half), mul(small, half));
  Value above = select(isWide, difference.high, small), below = select(isWide, sum.high, large);
  Value t = div(above, below), minusT = neg(t);
  Value lost = fma(minusT, sum.low, add(fma(minusT, sum.high, difference.high), difference.low));
  lost = select(isWide, mul(div(lost, sum.high), half), zero);
  t = select(isWide, mul(t, half), t);
  Value square = mul(t, t);
  Value rest = fma(mul(square, t), polynomial(c::atanSingle, c::atanDouble, square), lost);
  Value one = number(1.0), two = number(2.0);
  Value base = select(isWide, one, zero);
  base = select(isSteep, sub(two, base), base);
  Value sign = select(isSteep, number(-1.0), one);
  return {base, mul(add(t, rest), sign)};
}

Value Expander::angleOf(Value base, Value rest) {
  Value high = mul(base, number(c::quarterPiHighSingle, c::quarterPiHighDouble));
  return add(high, fma(base, number(c::quarterPiLowSingle, c::quarterPiLowDouble), rest));
}

Value Expander::atan(Value x) {
  Value size = abs(x), one = number(1.0);
  Value isInfinite = equal(size, infinity());
  auto [base, rest] =
      direction(select(isInfinite, one, size), select(isInfinite, number(0.0), one));
  return withSign(angleOf(base, rest), x);
}

Value Expander::atan2(Value y, Value x) {
  Value zero = number(0.0), one = number(1.0), infinite = infinity();
  Value ySize = abs(y), xSize = abs(x);
  // Infinities are directions of their own, and of nothing the angle is 0.
  Value isInfinite = either(equal(ySize, infinite), equal(xSize, infinite));
  Value b = select(isInfinite, select(equal(ySize, infinite), one, zero), ySize);
  Value a = select(isInfinite, select(equal(xSize, infinite), one, zero), xSize);
  a = select(both(equal(ySize, zero), equal(xSize, zero)), one, a);
  // Halves of the smallest numbers would lose digits.
  Value isTiny = both(less(a, number(0x1p-60)), less(b, number(0x1p-60)));
  Value factor = select(isTiny, number(0x1p80), one);
  auto [base, rest] = direction(mul(b, factor), mul(a, factor));
  // The sign of zero counts.
  Value isLeft =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, asInt(x), integer(0));
  base = select(isLeft, sub(number(4.0), base), base);
  rest = select(isLeft, neg(rest), rest);
  Value result = withSign(angleOf(base, rest), y);
  return select(either(isNan(x), isNan(y)), nan(), result);
}

} // namespace dlc
