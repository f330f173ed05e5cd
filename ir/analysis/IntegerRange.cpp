//===- IntegerRange.cpp - Between which numbers the elements of an integer tensor lie ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/IntegerRange.h"

#include "ir/analysis/CostModel.h"
#include "ir/dl/DLOps.h"
#include "ir/interfaces/LoopNest.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc {

using Range = IntegerRange;

std::optional<IntegerRange> rangeOfType(Type elementType) {
  auto type = dyn_cast<IntegerType>(elementType);
  if (!type || type.getWidth() > 64)
    return std::nullopt;
  unsigned bits = type.getWidth();
  if (type.isUnsigned() || bits == 1) {
    if (bits == 64)
      return std::nullopt;
    return Range{0, static_cast<int64_t>(llvm::maxUIntN(bits))};
  }
  return Range{llvm::minIntN(bits), llvm::maxIntN(bits)};
}

static Type elementOf(Value tensor) { return getElementTypeOrSelf(tensor.getType()); }

static Range unite(const Range &a, const Range &b) {
  return {std::min(a.min, b.min), std::max(a.max, b.max)};
}

//===- Arithmetic -----------------------------------------------------------------------------===//

static std::optional<Range> sum(const Range &a, const Range &b) {
  Range result;
  if (llvm::AddOverflow(a.min, b.min, result.min) || llvm::AddOverflow(a.max, b.max, result.max))
    return std::nullopt;
  return result;
}

static std::optional<Range> difference(const Range &a, const Range &b) {
  Range result;
  if (llvm::SubOverflow(a.min, b.max, result.min) || llvm::SubOverflow(a.max, b.min, result.max))
    return std::nullopt;
  return result;
}

static std::optional<Range> product(const Range &a, const Range &b) {
  std::optional<Range> result;
  for (int64_t left : {a.min, a.max})
    for (int64_t right : {b.min, b.max}) {
      int64_t number;
      if (llvm::MulOverflow(left, right, number))
        return std::nullopt;
      result = result ? unite(*result, {number, number}) : Range{number, number};
    }
  return result;
}

static Range largerOf(const Range &a, const Range &b) {
  return {std::max(a.min, b.min), std::max(a.max, b.max)};
}
static Range smallerOf(const Range &a, const Range &b) {
  return {std::min(a.min, b.min), std::min(a.max, b.max)};
}

/// `x` between the numbers of `clamp`, where these are whole ones.
static std::optional<Range> clamped(dl::ClampOp clamp, Range x) {
  auto whole = [](const APFloat &number) -> std::optional<int64_t> {
    llvm::APSInt value(64, /*isUnsigned=*/false);
    bool isExact = false;
    if (number.convertToInteger(value, APFloat::rmTowardZero, &isExact) != APFloat::opOK)
      return std::nullopt;
    return value.getSExtValue();
  };
  if (auto bound = clamp.getMin()) {
    auto low = whole(*bound);
    if (!low)
      return std::nullopt;
    x = largerOf(x, {*low, *low});
  }
  if (auto bound = clamp.getMax()) {
    auto high = whole(*bound);
    if (!high)
      return std::nullopt;
    x = smallerOf(x, {*high, *high});
  }
  return x;
}

/// The op only moves elements of its operands, all of the result's type, to other places.
static bool onlyMoves(Operation *op) {
  auto loops = dyn_cast<LoopNestOpInterface>(op);
  if (!loops || op->getNumResults() != 1 || op->getNumOperands() == 0)
    return false;
  for (Value operand : op->getOperands())
    if (elementOf(operand) != elementOf(op->getResult(0)))
      return false;
  LoopNest nest = loops.getLoopNest();
  // The cost comes last: to know it, a body is built.
  return nest.isMap() && nest.indexDims.none() && resultCost(loops) == 0;
}

/// The number that each element of `full` is; nullopt unless an i64 holds it.
static std::optional<int64_t> wholeNumber(dl::FullOp full) {
  auto number = dyn_cast<IntegerAttr>(full.getFill());
  if (!number || number.getValue().getBitWidth() > 64)
    return std::nullopt;
  const APInt &bits = number.getValue(); // signless: the tensor says how they are read
  return elementOf(full).isUnsignedInteger() ? static_cast<int64_t>(bits.getZExtValue())
                                             : bits.getSExtValue();
}

/// The range of what the ops of `op` give, without regard to wrapping; nullopt where nothing is
/// known.
static std::optional<Range> computed(Operation *op,
                                     llvm::function_ref<std::optional<Range>(Value)> rangeOf) {
  SmallVector<Range, 2> operands;
  auto haveAll = [&] {
    for (Value operand : op->getOperands()) {
      auto range = rangeOf(operand);
      if (!range)
        return false;
      operands.push_back(*range);
    }
    return !operands.empty();
  };
  if (auto full = dyn_cast<dl::FullOp>(op)) {
    auto value = wholeNumber(full);
    return value ? std::optional(Range{*value, *value}) : std::nullopt;
  }
  if (!haveAll())
    return std::nullopt;
  const Range &x = operands[0];
  return llvm::TypeSwitch<Operation *, std::optional<Range>>(op)
      .Case<dl::CastOp, dl::ConvertLayoutOp, dl::ReshapeOp>([&](auto) { return x; })
      .Case([&](dl::AddOp) { return sum(x, operands[1]); })
      .Case([&](dl::SubOp) { return difference(x, operands[1]); })
      .Case([&](dl::MulOp) { return product(x, operands[1]); })
      .Case([&](dl::MaximumOp) { return largerOf(x, operands[1]); })
      .Case([&](dl::MinimumOp) { return smallerOf(x, operands[1]); })
      .Case([&](dl::NegOp) { return difference({0, 0}, x); })
      .Case([&](dl::ReluOp) { return largerOf(x, {0, 0}); })
      .Case([&](dl::ClampOp clamp) { return clamped(clamp, x); })
      .Case([&](dl::Relu6Op) { return smallerOf(largerOf(x, {0, 0}), {6, 6}); })
      .Default([&](Operation *other) -> std::optional<Range> {
        if (!isa<dl::CatOp>(other) && !onlyMoves(other))
          return std::nullopt;
        Range all = x;
        for (const Range &operand : operands)
          all = unite(all, operand);
        for (const Access &access : cast<LoopNestOpInterface>(other).getLoopNest().results)
          if (access.checked) {
            auto fill = static_cast<int64_t>(access.fill);
            if (static_cast<double>(fill) != access.fill)
              return std::nullopt;
            all = unite(all, {fill, fill});
          }
        return all;
      });
}

//===- The walk -------------------------------------------------------------------------------===//

std::optional<IntegerRange> IntegerRanges::ofResult(OpResult result) {
  auto type = rangeOfType(elementOf(result));
  if (!type)
    return std::nullopt;
  // A cast to bool compares with zero, whatever the range.
  if (elementOf(result).isInteger(1))
    return type;
  auto found = computed(result.getOwner(), [&](Value operand) { return known.lookup(operand); });
  return found && found->isWithin(*type) ? found : type;
}

std::optional<IntegerRange> IntegerRanges::of(Value tensor) {
  // A stack of its own, not that of the process: a chain of ops may be very long.
  SmallVector<Value> open = {tensor};
  while (!open.empty()) {
    Value value = open.back();
    if (known.contains(value)) {
      open.pop_back();
      continue;
    }
    auto result = dyn_cast<OpResult>(value);
    if (!result || result.getOwner()->getNumResults() != 1 ||
        !isa<LoopNestOpInterface>(result.getOwner())) {
      known[value] = rangeOfType(elementOf(value));
      open.pop_back();
      continue;
    }
    size_t before = open.size();
    for (Value operand : result.getOwner()->getOperands())
      if (!known.contains(operand))
        open.push_back(operand);
    if (open.size() > before)
      continue;
    known[value] = ofResult(result);
    open.pop_back();
  }
  return known.lookup(tensor);
}

std::optional<OffsetIntegers> widenedFrom(Value tensor) {
  OffsetIntegers found{tensor};
  if (auto difference = tensor.getDefiningOp<dl::SubOp>()) {
    auto full = difference.getOther().getDefiningOp<dl::FullOp>();
    auto zeroPoint = full ? wholeNumber(full) : std::nullopt;
    if (!zeroPoint)
      return std::nullopt;
    found = {difference.getX(), *zeroPoint};
  }
  auto cast = found.stored.getDefiningOp<dl::CastOp>();
  if (!cast || elementOf(cast.getX()).isInteger(1))
    return std::nullopt;
  found.stored = cast.getX();
  auto to = dyn_cast<IntegerType>(elementOf(tensor)),
       from = dyn_cast<IntegerType>(elementOf(found.stored));
  if (!from || !to || from.getWidth() >= to.getWidth())
    return std::nullopt;
  auto numbers = rangeOfType(from), kept = rangeOfType(to);
  if (!numbers || !kept || !numbers->isWithin(*kept))
    return std::nullopt;
  auto offset = difference(*numbers, {found.zeroPoint, found.zeroPoint});
  if (!offset || !offset->isWithin(*kept))
    return std::nullopt;
  return found;
}

} // namespace dlc
