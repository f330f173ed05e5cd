//===- IndexMath.cpp - Symbolic index expressions and the loops that bind them ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/plan/IndexMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dlc::codegen {

AffineExpr IndexMath::addLoop(AffineExpr extent, Value value) {
  extents.push_back(extent);
  loops.push_back(value);
  return getAffineDimExpr(loops.size() - 1, context);
}

void IndexMath::bindLoop(AffineExpr variable, Value value) {
  loops[cast<AffineDimExpr>(variable).getPosition()] = value;
}

AffineExpr IndexMath::addComputed(AffineExpr extent) {
  computed.push_back(loops.size());
  return addLoop(extent);
}

bool IndexMath::isComputed(AffineExpr expr) const {
  return llvm::any_of(computed, [&](unsigned loop) { return expr.isFunctionOfDim(loop); });
}

AffineExpr IndexMath::simplify(AffineExpr expr) const {
  AffineExpr &simple = (*simplified)[{expr, static_cast<unsigned>(loops.size())}];
  if (!simple)
    simple = simplifyAffineExpr(expr, loops.size(), dl::kMaxSymbols);
  return simple;
}

std::optional<int64_t> IndexMath::stepAlong(AffineExpr expr, AffineExpr variable) const {
  unsigned position = cast<AffineDimExpr>(variable).getPosition();
  if (!expr.isFunctionOfDim(position))
    return 0;
  llvm::DenseMap<AffineExpr, AffineExpr> next = {{variable, variable + 1}};
  return dl::asConstant(simplify(expr.replace(next) - expr));
}

Stride IndexMath::strideAlong(AffineExpr expr, AffineExpr variable) const {
  auto step = stepAlong(expr, variable);
  if (step == 0)
    return Stride::uniform;
  return step == 1 ? Stride::unit : Stride::other;
}

AffineExpr IndexMath::extreme(AffineExpr expr, bool largest) const {
  // Inner loops may have extents that name outer ones: replace from the newest to the oldest.
  for (unsigned position = loops.size(); position-- > 0;) {
    if (!expr.isFunctionOfDim(position))
      continue;
    AffineExpr variable = getAffineDimExpr(position, context);
    auto step = stepAlong(expr, variable);
    if (!step)
      return {};
    bool atEnd = (*step > 0) == largest;
    llvm::DenseMap<AffineExpr, AffineExpr> end = {
        {variable, atEnd ? extents[position] - 1 : constant(0)}};
    expr = simplify(expr.replace(end));
  }
  return expr;
}

/// `expr` with a variable of its own for each quotient by a number, remainders written by means of
/// them: what remains of c - c mod 16 then is one variable.
AffineExpr IndexMath::quotientsAsLoops(AffineExpr expr) {
  llvm::DenseMap<AffineExpr, AffineExpr> loopsOf;
  expr.walk([&](AffineExpr part) {
    auto binary = dyn_cast<AffineBinaryOpExpr>(part);
    if (!binary ||
        (binary.getKind() != AffineExprKind::FloorDiv && binary.getKind() != AffineExprKind::Mod))
      return;
    AffineExpr numerator = binary.getLHS();
    auto divisor = dl::asConstant(binary.getRHS());
    AffineExpr lowest = extreme(numerator, false), highest = extreme(numerator, true);
    auto ends = lowest && highest ? dl::rangeOf(highest, symbolRanges) : std::nullopt;
    auto starts = ends ? dl::rangeOf(lowest, symbolRanges) : std::nullopt;
    if (!divisor || *divisor < 1 || !starts || starts->min < 0)
      return;
    AffineExpr &quotient = loopsOf[numerator.floorDiv(*divisor)];
    if (!quotient)
      quotient = addLoop(constant(ends->max / *divisor + 1));
    loopsOf[numerator % *divisor] = numerator - quotient * *divisor;
  });
  return simplify(expr.replace(loopsOf));
}

std::optional<dl::Range> IndexMath::range(AffineExpr expr) const {
  if (auto values = affineRange(expr))
    return values;
  IndexMath wider(*this);
  auto ofQuotients = wider.affineRange(wider.quotientsAsLoops(expr)), ofParts = rangeOfParts(expr);
  if (!ofQuotients || !ofParts)
    return ofQuotients ? ofQuotients : ofParts;
  return dl::Range{std::max(ofQuotients->min, ofParts->min),
                   std::min(ofQuotients->max, ofParts->max)};
}

std::optional<dl::Range> IndexMath::affineRange(AffineExpr expr) const {
  auto bound = [&](bool largest) -> std::optional<int64_t> {
    if (AffineExpr end = extreme(expr, largest))
      if (auto ends = dl::rangeOf(end, symbolRanges))
        return largest ? ends->max : ends->min;
    return std::nullopt;
  };
  auto low = bound(false), high = bound(true);
  if (low && high)
    return dl::Range{*low, *high};
  return std::nullopt;
}

/// Where an expression is not monotonic in some variable (floordiv, mod): bounds of its parts.
std::optional<dl::Range> IndexMath::rangeOfParts(AffineExpr expr) const {
  // Loop variables become symbols with ranges.
  SmallVector<dl::Range> ranges(symbolRanges);
  if (ranges.size() > dl::kMaxSymbols)
    return std::nullopt;
  ranges.resize(dl::kMaxSymbols, dl::Range{0, 0});
  SmallVector<AffineExpr> replacements;
  for (unsigned position = 0; position < loops.size(); ++position) {
    AffineExpr last = extreme(extents[position], true);
    auto ends = last ? dl::rangeOf(last, symbolRanges) : std::nullopt;
    if (!ends && expr.isFunctionOfDim(position))
      return std::nullopt;
    ranges.push_back({0, ends ? std::max<int64_t>(ends->max - 1, 0) : 0});
    replacements.push_back(getAffineSymbolExpr(dl::kMaxSymbols + position, context));
  }
  return dl::rangeOf(expr.replaceDims(replacements), ranges);
}

bool IndexMath::isNonNegative(AffineExpr expr) const {
  auto values = range(expr);
  return values && values->min >= 0;
}

bool IndexMath::isBelow(AffineExpr expr, AffineExpr bound) const {
  return isNonNegative(simplify(bound - 1 - expr));
}

Value IndexMath::materialize(OpBuilder &builder, Location loc, AffineExpr expr) const {
  if (auto number = dyn_cast<AffineConstantExpr>(expr))
    return arith::ConstantIndexOp::create(builder, loc, number.getValue());
  if (auto variable = dyn_cast<AffineDimExpr>(expr)) {
    assert(loops[variable.getPosition()] && "loop variable used before it is bound");
    return loops[variable.getPosition()];
  }
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
    Value value = symbols.lookup(symbol.getPosition());
    assert(value && "symbol used but not passed to the kernel");
    return value;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  AffineExpr lhs = binary.getLHS(), rhs = binary.getRHS();
  auto build = [&](AffineExpr part) { return materialize(builder, loc, part); };
  switch (binary.getKind()) {
  case AffineExprKind::Add: {
    // a + b * -1 and a + -1 read better as differences.
    if (auto product = dyn_cast<AffineBinaryOpExpr>(rhs);
        product && product.getKind() == AffineExprKind::Mul && dl::isConstant(product.getRHS(), -1))
      return builder.createOrFold<arith::SubIOp>(loc, build(lhs), build(product.getLHS()));
    if (auto number = dl::asConstant(rhs); number && *number < 0)
      return builder.createOrFold<arith::SubIOp>(loc, build(lhs), build(constant(-*number)));
    return builder.createOrFold<arith::AddIOp>(loc, build(lhs), build(rhs));
  }
  case AffineExprKind::Mul:
    return builder.createOrFold<arith::MulIOp>(loc, build(lhs), build(rhs));
  case AffineExprKind::FloorDiv:
    if (isNonNegative(lhs))
      return builder.createOrFold<arith::DivUIOp>(loc, build(lhs), build(rhs));
    return builder.createOrFold<arith::FloorDivSIOp>(loc, build(lhs), build(rhs));
  case AffineExprKind::CeilDiv:
    if (isNonNegative(lhs))
      return builder.createOrFold<arith::DivUIOp>(loc, build(simplify(lhs + rhs - 1)), build(rhs));
    return build(simplify(lhs + rhs - 1).floorDiv(rhs)); // divisors are positive
  case AffineExprKind::Mod:
    if (isNonNegative(lhs))
      return builder.createOrFold<arith::RemUIOp>(loc, build(lhs), build(rhs));
    return build(simplify(lhs - lhs.floorDiv(rhs) * rhs));
  default:
    llvm_unreachable("leaf expressions are handled above");
  }
}

} // namespace dlc::codegen
