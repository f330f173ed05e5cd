//===- Saturation.cpp - Floats that end as integers of few bits ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A float becomes an integer of at most 16 bits as select(x is NaN, 0, max(min(x, high), low)).
// The result of max and min for a NaN or a signed zero does not matter here, so each of them is a
// comparison and a select, which is one x86 instruction.
//
// QuantizeLinear converts round(x / scale) + zero point. Where the scale is a constant, x is
// clamped before it is divided, and two multiplications by the reciprocal divide it: the reciprocal
// is kept as the sum of two floats, its product with x is rounded once but for an error of 2^-47.
// Whether this rounds as the quotient does to every integer of the range is tried out here for the
// scale at hand, at the floats around each half; the constants that fail keep their division.
//
// An integer that is widened and made a float again (DequantizeLinear) is the float that it was
// made from.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/lower/LowerKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>
#include <map>
#include <mutex>
#include <optional>

using namespace mlir;

namespace dlc::codegen {

namespace {

/// x / scale as x * high + x * low.
struct Reciprocal {
  float high, low;
};

/// Constants and operations in the type of one value, a scalar or a vector of f32.
class Floats {
public:
  Floats(OpBuilder &builder, Location loc, Type type) : builder(builder), loc(loc), type(type) {}

  Value constant(float number) const {
    TypedAttr attribute = builder.getF32FloatAttr(number);
    if (auto vector = dyn_cast<VectorType>(type))
      attribute = DenseElementsAttr::get(vector, attribute);
    return arith::ConstantOp::create(builder, loc, attribute);
  }
  /// `x`, not below `low` and not above `high`; `low` for NaN.
  Value clamped(Value x, float low, float high) const {
    Value lowest = constant(low), highest = constant(high);
    Value above = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, x, lowest);
    x = arith::SelectOp::create(builder, loc, above, x, lowest);
    Value below = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, x, highest);
    return arith::SelectOp::create(builder, loc, below, x, highest);
  }

  OpBuilder &builder;
  Location loc;
  Type type;
};

struct SimplifySaturation : OpRewritePattern<arith::SelectOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::SelectOp op, PatternRewriter &rewriter) const override;

private:
  Value quantized(Floats floats, Value value, float low, float high) const;

  /// reciprocalOf, which remembers what was asked so far: a block repeats its scale for each of its
  /// vectors. Kernels are lowered on many threads by this one pattern.
  std::optional<Reciprocal> knownReciprocalOf(float scale, float first, float last) const;

  mutable std::mutex mutex;
  mutable std::map<std::tuple<float, float, float>, std::optional<Reciprocal>> reciprocals;
};

} // namespace

/// Returns the scalar that all lanes of `value` repeat, or `value` where it is no such vector.
static Value laneOf(Value value) {
  auto broadcast = value.getDefiningOp<vector::BroadcastOp>();
  return broadcast ? broadcast.getSource() : value;
}

/// The number that `value` is, in all its lanes; nullopt where it is none of f32.
static std::optional<float> constantOf(Value value) {
  APFloat number(0.0f);
  if (!matchPattern(laneOf(value), m_ConstantFloat(&number)) ||
      &number.getSemantics() != &APFloat::IEEEsingle())
    return std::nullopt;
  return number.convertToFloat();
}

/// The other operand of a commutative `op` of which one is a constant, and the constant.
template <typename Op> static std::optional<std::pair<Value, float>> withConstant(Value value) {
  auto op = value.getDefiningOp<Op>();
  if (!op)
    return std::nullopt;
  if (auto number = constantOf(op.getRhs()))
    return std::pair(op.getLhs(), *number);
  if (auto number = constantOf(op.getLhs()))
    return std::pair(op.getRhs(), *number);
  return std::nullopt;
}

/// The reciprocal of `scale` that divides as exactly as rounding to the whole numbers from `low` to
/// `high` can tell; nullopt where none does.
static std::optional<Reciprocal> reciprocalOf(float scale, float low, float high) {
  static constexpr float kLeast = 0x1p-60f, kMost = 0x1p60f;
  static constexpr int kNeighbours = 4;
  if (!(scale >= kLeast && scale <= kMost))
    return std::nullopt;
  double exact = 1.0 / double(scale);
  Reciprocal found{float(exact), 0};
  found.low = float(exact - double(found.high));
  auto isRight = [&](float x) {
    float rest = x * found.low;
    float quotient = std::fma(x, found.high, rest);
    return std::nearbyint(quotient) == std::nearbyint(x / scale);
  };
  for (int number = int(low); number < int(high); ++number) {
    float half = float(number) + 0.5f;
    float below = float(double(half) * double(scale)), above = below;
    for (int step = 0; step <= kNeighbours; ++step) {
      if (!isRight(below) || !isRight(above))
        return std::nullopt;
      below = std::nextafter(below, -INFINITY);
      above = std::nextafter(above, INFINITY);
    }
  }
  return found;
}

std::optional<Reciprocal> SimplifySaturation::knownReciprocalOf(float scale, float first,
                                                                float last) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto [known, isNew] = reciprocals.try_emplace({scale, first, last});
  if (isNew)
    known->second = reciprocalOf(scale, first, last);
  return known->second;
}

/// Whole numbers from `low` to `high` that are round(x / scale) + zero point, saturated; null where
/// `value` is something else.
Value SimplifySaturation::quantized(Floats floats, Value value, float low, float high) const {
  static constexpr float kMostZeroPoint = 256;
  Value sum = value;
  float zeroPoint = 0;
  if (auto parts = withConstant<arith::AddFOp>(value))
    std::tie(sum, zeroPoint) = *parts;
  auto rounded = sum.getDefiningOp<math::RoundEvenOp>();
  auto quotient = rounded ? rounded.getOperand().getDefiningOp<arith::DivFOp>() : nullptr;
  auto scale = quotient ? constantOf(quotient.getRhs()) : std::nullopt;
  if (!scale || std::abs(zeroPoint) > kMostZeroPoint || zeroPoint != std::trunc(zeroPoint))
    return {};
  float first = low - zeroPoint, last = high - zeroPoint;
  std::optional<Reciprocal> reciprocal = knownReciprocalOf(*scale, first, last);
  if (!reciprocal)
    return {};
  OpBuilder &b = floats.builder;
  Location loc = floats.loc;
  // Numbers beyond the ends saturate to them, and the ends times the scale are rounded to them.
  Value x = quotient.getLhs();
  if (auto larger = withConstant<arith::MaximumFOp>(x); larger && larger->second <= first * *scale)
    x = larger->first;
  x = floats.clamped(x, first * *scale, last * *scale);
  Value rest = arith::MulFOp::create(b, loc, x, floats.constant(reciprocal->low));
  x = math::FmaOp::create(b, loc, x, floats.constant(reciprocal->high), rest);
  x = math::RoundEvenOp::create(b, loc, x);
  // Without a zero point the sum makes +0 of -0, as an integer does; nothing below 0 is left where
  // 0 is the first.
  if (first < 0 || zeroPoint != 0)
    x = arith::AddFOp::create(b, loc, x, floats.constant(zeroPoint));
  return x;
}

/// Lets users that convert the integers of `conversion` back to floats read `number` itself, which
/// is whole and in range.
static void forwardFloats(PatternRewriter &rewriter, Value conversion, Value number) {
  auto forward = [&](Value integers, bool isSigned, Value floats) {
    for (Operation *user : llvm::make_early_inc_range(integers.getUsers()))
      if ((isSigned ? isa<arith::SIToFPOp>(user) : isa<arith::UIToFPOp>(user)) &&
          user->getResult(0).getType() == number.getType())
        rewriter.replaceOp(user, floats);
  };
  bool isSigned = isa<arith::FPToSIOp>(conversion.getDefiningOp());
  forward(conversion, isSigned, number);
  for (Operation *widened : llvm::make_early_inc_range(conversion.getUsers())) {
    if (!(isSigned ? isa<arith::ExtSIOp>(widened) : isa<arith::ExtUIOp>(widened)))
      continue;
    forward(widened->getResult(0), /*isSigned=*/true, number);
    for (Operation *user : llvm::make_early_inc_range(widened->getResult(0).getUsers())) {
      auto difference = dyn_cast<arith::SubIOp>(user);
      APInt zeroPoint;
      static constexpr unsigned kLeastWidth = 32, kMostBits = 20; // no wrap, and exact as f32
      if (!difference || difference.getLhs() != widened->getResult(0) ||
          !matchPattern(laneOf(difference.getRhs()), m_ConstantInt(&zeroPoint)) ||
          zeroPoint.getBitWidth() < kLeastWidth || zeroPoint.getSignificantBits() > kMostBits)
        continue;
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPoint(difference);
      Floats floats(rewriter, difference.getLoc(), number.getType());
      float less = float(zeroPoint.getSExtValue());
      auto sum = withConstant<arith::AddFOp>(number);
      Value centered = // a sum with 0 takes the sign of -0 away, as one with another number does
          sum && sum->second == less
              ? arith::AddFOp::create(rewriter, floats.loc, sum->first, floats.constant(0))
                    .getResult()
              : arith::SubFOp::create(rewriter, floats.loc, number, floats.constant(less))
                    .getResult();
      forward(difference, /*isSigned=*/true, centered);
    }
  }
}

LogicalResult SimplifySaturation::matchAndRewrite(arith::SelectOp op,
                                                  PatternRewriter &rewriter) const {
  auto isNan = op.getCondition().getDefiningOp<arith::CmpFOp>();
  auto larger = withConstant<arith::MaximumFOp>(op.getFalseValue());
  auto smaller = larger ? withConstant<arith::MinimumFOp>(larger->first) : std::nullopt;
  if (!smaller || !isNan || isNan.getPredicate() != arith::CmpFPredicate::UNO ||
      isNan.getLhs() != smaller->first || isNan.getRhs() != smaller->first ||
      constantOf(op.getTrueValue()) != 0.0f)
    return failure();
  Value value = smaller->first;
  float low = larger->second, high = smaller->second;
  if (!(low <= 0 && high > 0))
    return failure();
  Floats floats(rewriter, op.getLoc(), op.getType());
  static constexpr float kMostTried = 255; // whole numbers of a range whose halves are tried out
  Value whole = high - low <= kMostTried ? quantized(floats, value, low, high) : Value();
  Value number = whole ? whole : floats.clamped(value, low, high);
  // A NaN has become the lowest number.
  if (low != 0)
    number = arith::SelectOp::create(rewriter, op.getLoc(), isNan, op.getTrueValue(), number);
  if (whole)
    for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
      if (isa<arith::FPToUIOp, arith::FPToSIOp>(user))
        forwardFloats(rewriter, user->getResult(0), number);
  rewriter.replaceOp(op, number);
  return success();
}

void populateSaturationPatterns(RewritePatternSet &patterns) {
  patterns.add<SimplifySaturation>(patterns.getContext());
}

} // namespace dlc::codegen
