//===- ShapePart.cpp - Some of the shapes that a kernel may have --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/variants/ShapePart.h"

using namespace mlir;

namespace dlc::codegen {

bool growsWithSymbols(AffineExpr extent, ArrayRef<dl::Range> symbols) {
  if (isa<AffineConstantExpr>(extent))
    return true;
  if (auto symbol = dyn_cast<AffineSymbolExpr>(extent))
    return symbol.getPosition() < symbols.size();
  auto binary = dyn_cast<AffineBinaryOpExpr>(extent);
  if (!binary || !growsWithSymbols(binary.getLHS(), symbols) ||
      !growsWithSymbols(binary.getRHS(), symbols))
    return false;
  auto isNegative = [&](AffineExpr part) {
    auto range = dl::rangeOf(part, symbols);
    return !range || range->min < 0;
  };
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    return true;
  case AffineExprKind::Mul:
    return !isNegative(binary.getLHS()) && !isNegative(binary.getRHS());
  case AffineExprKind::FloorDiv:
  case AffineExprKind::CeilDiv:
    return dl::asConstant(binary.getRHS()).value_or(0) > 0;
  default:
    return false;
  }
}

SmallVector<dl::Range> symbolsWithin(const ShapePart &part, ArrayRef<dl::Range> symbols) {
  SmallVector<dl::Range> within(symbols);
  llvm::SmallDenseSet<unsigned> named;
  part.extent.walk([&](AffineExpr expr) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(expr);
        symbol && symbol.getPosition() < symbols.size())
      named.insert(symbol.getPosition());
  });
  for (unsigned symbol : named) {
    // The extent's values where this symbol has this value; nothing where they overflow.
    SmallVector<dl::Range> fixed(symbols);
    auto extentAt = [&](int64_t value) {
      fixed[symbol] = {value, value};
      return dl::rangeOf(part.extent, fixed);
    };
    dl::Range &range = within[symbol];
    auto isAbove = [&](int64_t value) {
      auto extent = extentAt(value);
      return !extent || extent->min > part.range.max;
    };
    auto isBelow = [&](int64_t value) {
      auto extent = extentAt(value);
      return extent && extent->max < part.range.min;
    };
    // The largest value that is not above, then the smallest that is not below.
    int64_t low = range.min, high = range.max;
    while (low < high) {
      int64_t middle = low + (high - low + 1) / 2;
      (isAbove(middle) ? high : low) = isAbove(middle) ? middle - 1 : middle;
    }
    int64_t most = low;
    low = range.min, high = most;
    while (low < high) {
      int64_t middle = low + (high - low) / 2;
      (isBelow(middle) ? low : high) = isBelow(middle) ? middle + 1 : middle;
    }
    range.min = low;
    range.max = most;
    if (range.usual != 0)
      range.usual = std::clamp(range.usual, range.min, range.max);
  }
  within.push_back(part.range);
  return within;
}

} // namespace dlc::codegen
