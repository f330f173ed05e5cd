//===- Arithmetic.cpp - Operators of values known at compile time -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/evaluate/Arithmetic.h"

#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;

namespace dlc::frontend {

size_t countItems(const Item &item) {
  size_t count = 1;
  if (item.is<Item::List>())
    for (const Item &element : item.as<Item::List>())
      count += countItems(element);
  return count;
}

std::optional<bool> truthOf(const Item &item) {
  if (item.is<bool>())
    return item.as<bool>();
  if (item.is<int64_t>())
    return item.as<int64_t>() != 0;
  if (item.is<double>())
    return item.as<double>() != 0;
  if (item.is<Item::None>())
    return false;
  if (item.is<std::string>())
    return !item.as<std::string>().empty();
  if (item.is<Item::List>())
    return !item.as<Item::List>().empty();
  return std::nullopt;
}

namespace {

/// One operator at one place, for the errors about it.
class Arithmetic {
public:
  Arithmetic(BinaryOp op, llvm::SMLoc loc, Diagnostics &diagnostics, MLIRContext *context)
      : op(op), loc(loc), diagnostics(diagnostics), context(context) {}

  Item combine(const Item &lhs, const Item &rhs);

private:
  Item poison() { return {Item::Poison(), loc}; }
  Item mismatch(const Item &lhs, const Item &rhs);
  Item integers(int64_t lhs, int64_t rhs);
  Item power(int64_t base, int64_t exponent);
  Item numbers(double lhs, double rhs);
  Item dims(const Item &lhs, const Item &rhs);
  Item compareDims(const Item &lhs, const Item &rhs);
  Item join(const Item &lhs, const Item &rhs);
  Item repeat(const Item &list, int64_t count);
  std::optional<bool> areEqual(const Item &lhs, const Item &rhs);
  template <typename T> std::optional<bool> compare(T lhs, T rhs);

  BinaryOp op;
  llvm::SMLoc loc;
  Diagnostics &diagnostics;
  MLIRContext *context;
};

} // namespace

static bool isEquality(BinaryOp op) { return op == BinaryOp::equal || op == BinaryOp::notEqual; }
static bool isOrder(BinaryOp op) {
  return op == BinaryOp::less || op == BinaryOp::lessEqual || op == BinaryOp::greater ||
         op == BinaryOp::greaterEqual;
}
static bool isOfIntegers(BinaryOp op) {
  return op == BinaryOp::bitAnd || op == BinaryOp::bitOr || op == BinaryOp::bitXor;
}
static bool isReal(const Item &item) { return item.is<int64_t>() || item.is<double>(); }
static double realOf(const Item &item) {
  return item.is<double>() ? item.as<double>() : static_cast<double>(item.as<int64_t>());
}

Item Arithmetic::mismatch(const Item &lhs, const Item &rhs) {
  bool ofIntegers = isOfIntegers(op);
  auto fits = [&](const Item &item) {
    return op != BinaryOp::product &&
           (ofIntegers ? item.is<int64_t>() : item.isDim() || isReal(item));
  };
  diagnostics.error(loc) << "operator " << quote(spellingOf(op)) << " takes tensors"
                         << (op == BinaryOp::product ? ""
                             : ofIntegers            ? " and integers"
                                                     : " and numbers")
                         << ", got " << describe(fits(lhs) ? rhs : lhs, diagnostics.module);
  return poison();
}

template <typename T> std::optional<bool> Arithmetic::compare(T lhs, T rhs) {
  switch (op) {
  case BinaryOp::equal:
    return lhs == rhs;
  case BinaryOp::notEqual:
    return lhs != rhs;
  case BinaryOp::less:
    return lhs < rhs;
  case BinaryOp::lessEqual:
    return lhs <= rhs;
  case BinaryOp::greater:
    return lhs > rhs;
  case BinaryOp::greaterEqual:
    return lhs >= rhs;
  default:
    return std::nullopt;
  }
}

std::optional<bool> Arithmetic::areEqual(const Item &lhs, const Item &rhs) {
  if (isReal(lhs) && isReal(rhs))
    return lhs.is<int64_t>() && rhs.is<int64_t>() ? lhs.as<int64_t>() == rhs.as<int64_t>()
                                                  : realOf(lhs) == realOf(rhs);
  if (lhs.isDim() && rhs.isDim()) {
    auto difference = dl::asConstant(dl::normalize(lhs.asDim(context) - rhs.asDim(context)));
    return difference ? std::optional(*difference == 0) : std::nullopt;
  }
  if (lhs.value.index() != rhs.value.index())
    return false;
  if (lhs.is<Item::None>())
    return true;
  if (lhs.is<bool>())
    return lhs.as<bool>() == rhs.as<bool>();
  if (lhs.is<std::string>())
    return lhs.as<std::string>() == rhs.as<std::string>();
  if (lhs.is<Type>())
    return lhs.as<Type>() == rhs.as<Type>();
  if (!lhs.is<Item::List>())
    return std::nullopt;
  const auto &a = lhs.as<Item::List>(), &b = rhs.as<Item::List>();
  if (a.size() != b.size())
    return false;
  for (auto [left, right] : llvm::zip(a, b)) {
    auto equal = areEqual(left, right);
    if (!equal || !*equal)
      return equal;
  }
  return true;
}

Item Arithmetic::power(int64_t base, int64_t exponent) {
  if (exponent < 0)
    return numbers(base, exponent);
  std::optional<int64_t> result = 1;
  // Beyond 1, 63 factors overflow.
  if (base >= -1 && base <= 1)
    result = base == 0 ? exponent == 0 : base == 1 || exponent % 2 == 0 ? 1 : -1;
  else
    for (int64_t i = 0; i < exponent && result; ++i)
      result = llvm::checkedMul(*result, base);
  if (result)
    return {*result, loc};
  diagnostics.error(loc) << "the result of " << base << " ** " << exponent
                         << " does not fit in 64 bits";
  return poison();
}

Item Arithmetic::integers(int64_t lhs, int64_t rhs) {
  if (auto truth = compare(lhs, rhs))
    return {*truth, loc};
  int64_t result = 0;
  bool overflow = false;
  bool divides = op == BinaryOp::divide || op == BinaryOp::floorDivide || op == BinaryOp::remainder;
  if (divides && rhs == 0) {
    diagnostics.error(loc) << lhs << " " << spellingOf(op) << " 0 has no value; expected a divisor "
                           << "other than 0";
    return poison();
  }
  if (divides && lhs == std::numeric_limits<int64_t>::min() && rhs == -1)
    overflow = true;
  else
    switch (op) {
    case BinaryOp::add:
      overflow = llvm::AddOverflow(lhs, rhs, result);
      break;
    case BinaryOp::subtract:
      overflow = llvm::SubOverflow(lhs, rhs, result);
      break;
    case BinaryOp::multiply:
      overflow = llvm::MulOverflow(lhs, rhs, result);
      break;
    case BinaryOp::divide:
      if (lhs % rhs != 0) {
        diagnostics.error(loc) << lhs << " / " << rhs << " is not an integer; write " << lhs
                               << ".0 / " << rhs << " where a fraction is meant";
        return poison();
      }
      result = lhs / rhs;
      break;
    case BinaryOp::floorDivide:
      result = llvm::divideFloorSigned(lhs, rhs);
      break;
    case BinaryOp::remainder:
      result = lhs - llvm::divideFloorSigned(lhs, rhs) * rhs;
      break;
    case BinaryOp::power:
      return power(lhs, rhs);
    case BinaryOp::bitAnd:
      result = lhs & rhs;
      break;
    case BinaryOp::bitOr:
      result = lhs | rhs;
      break;
    case BinaryOp::bitXor:
      result = lhs ^ rhs;
      break;
    default:
      return mismatch({lhs, loc}, {rhs, loc});
    }
  if (!overflow)
    return {result, loc};
  diagnostics.error(loc) << "the result of " << lhs << " " << spellingOf(op) << " " << rhs
                         << " does not fit in 64 bits";
  return poison();
}

Item Arithmetic::numbers(double lhs, double rhs) {
  if (auto truth = compare(lhs, rhs))
    return {*truth, loc};
  switch (op) {
  case BinaryOp::add:
    return {lhs + rhs, loc};
  case BinaryOp::subtract:
    return {lhs - rhs, loc};
  case BinaryOp::multiply:
    return {lhs * rhs, loc};
  case BinaryOp::divide:
    return {lhs / rhs, loc};
  case BinaryOp::floorDivide:
    return {std::floor(lhs / rhs), loc};
  case BinaryOp::remainder:
    return {lhs - std::floor(lhs / rhs) * rhs, loc};
  case BinaryOp::power:
    return {std::pow(lhs, rhs), loc};
  default:
    llvm_unreachable("an operator of integers or tensors");
  }
}

Item Arithmetic::compareDims(const Item &lhs, const Item &rhs) {
  auto difference = dl::asConstant(dl::normalize(lhs.asDim(context) - rhs.asDim(context)));
  if (difference)
    return integers(*difference, 0);
  diagnostics.error(loc) << "whether " << dl::text(lhs.asDim(context), diagnostics.module) << " "
                         << spellingOf(op) << " "
                         << dl::text(rhs.asDim(context), diagnostics.module)
                         << " is not known before the model runs; compare numbers";
  return poison();
}

size_t countOperations(AffineExpr dim) {
  size_t count = 0;
  SmallVector<AffineExpr> left = {dim};
  for (; !left.empty() && count <= kMaxDimOperations; ++count)
    if (auto binary = dyn_cast<AffineBinaryOpExpr>(left.pop_back_val()))
      left.append({binary.getLHS(), binary.getRHS()});
  return count;
}

Item Arithmetic::dims(const Item &lhs, const Item &rhs) {
  if (lhs.is<double>() || rhs.is<double>()) {
    diagnostics.error(loc) << "a dim combines with integers and dims, got "
                           << describe(lhs.is<double>() ? lhs : rhs, diagnostics.module);
    return poison();
  }
  if (isEquality(op) || isOrder(op))
    return compareDims(lhs, rhs);
  AffineExpr a = lhs.asDim(context), b = rhs.asDim(context);
  // Products of sums are multiplied out.
  size_t left = countOperations(a), right = countOperations(b);
  if (op == BinaryOp::multiply ? left * right > kMaxDimOperations
                               : left + right > kMaxDimOperations) {
    diagnostics.error(loc) << "this dim is made of more than " << kMaxDimOperations
                           << " operations; declare a dim of its own for a part of it";
    return poison();
  }
  switch (op) {
  case BinaryOp::add:
    return Item::dim(a + b, loc);
  case BinaryOp::subtract:
    return Item::dim(a - b, loc);
  case BinaryOp::multiply:
    return Item::dim(a * b, loc);
  case BinaryOp::divide:
  case BinaryOp::floorDivide:
  case BinaryOp::remainder:
    if (auto range = dl::rangeOf(dl::normalize(b), dl::symbolRanges(diagnostics.module));
        range && range->min > 0)
      return Item::dim(op == BinaryOp::remainder ? a % b : a.floorDiv(b), loc);
    diagnostics.error(loc) << "a dim is divided by what is 1 at least, got "
                           << describe(rhs, diagnostics.module)
                           << (rhs.is<AffineExpr>() ? ", which may be less" : "");
    return poison();
  default:
    diagnostics.error(loc) << "operator " << quote(spellingOf(op)) << " does not take dims, got "
                           << describe(lhs.is<AffineExpr>() ? lhs : rhs, diagnostics.module);
    return poison();
  }
}

/// Strings and lists, one behind the other.
Item Arithmetic::join(const Item &lhs, const Item &rhs) {
  if (lhs.is<std::string>()) {
    std::string text = lhs.as<std::string>() + rhs.as<std::string>();
    if (text.size() <= kMaxStringBytes)
      return {std::move(text), loc};
    diagnostics.error(loc) << "this string has more than " << kMaxStringBytes
                           << " bytes; make it shorter";
    return poison();
  }
  if (countItems(lhs) + countItems(rhs) > kMaxListElements) {
    diagnostics.error(loc) << "this list has more than " << kMaxListElements
                           << " elements; make it shorter";
    return poison();
  }
  Item::List list = lhs.as<Item::List>();
  const auto &more = rhs.as<Item::List>();
  list.insert(list.end(), more.begin(), more.end());
  return {std::move(list), loc};
}

/// The elements of a list, `count` times.
Item Arithmetic::repeat(const Item &list, int64_t count) {
  const auto &elements = list.as<Item::List>();
  auto times = static_cast<size_t>(std::max<int64_t>(count, 0));
  if (times > 0 && countItems(list) > kMaxListElements / times) {
    diagnostics.error(loc) << "this list has more than " << kMaxListElements
                           << " elements; make it shorter";
    return poison();
  }
  Item::List result;
  for (size_t i = 0; i < times && !elements.empty(); ++i)
    result.insert(result.end(), elements.begin(), elements.end());
  return {std::move(result), loc};
}

Item Arithmetic::combine(const Item &lhs, const Item &rhs) {
  if (op == BinaryOp::multiply && lhs.is<Item::List>() && rhs.is<int64_t>())
    return repeat(lhs, rhs.as<int64_t>());
  if (op == BinaryOp::multiply && lhs.is<int64_t>() && rhs.is<Item::List>())
    return repeat(rhs, lhs.as<int64_t>());
  auto isSymbol = [](const Item &item) { return item.is<AffineExpr>(); };
  auto isDimOrReal = [&](const Item &item) { return isReal(item) || isSymbol(item); };
  if (isDimOrReal(lhs) && isDimOrReal(rhs)) {
    if (isSymbol(lhs) || isSymbol(rhs))
      return dims(lhs, rhs);
    if (lhs.is<int64_t>() && rhs.is<int64_t>())
      return integers(lhs.as<int64_t>(), rhs.as<int64_t>());
    return isOfIntegers(op) || op == BinaryOp::product ? mismatch(lhs, rhs)
                                                       : numbers(realOf(lhs), realOf(rhs));
  }
  if (isEquality(op))
    if (auto equal = areEqual(lhs, rhs))
      return {*equal == (op == BinaryOp::equal), loc};
  if (lhs.is<bool>() && rhs.is<bool>()) {
    bool a = lhs.as<bool>(), b = rhs.as<bool>();
    if (op == BinaryOp::bitAnd || op == BinaryOp::bitOr)
      return {op == BinaryOp::bitAnd ? a && b : a || b, loc};
    if (op == BinaryOp::bitXor)
      return {a != b, loc};
  }
  if (lhs.is<std::string>() && rhs.is<std::string>() && isOrder(op))
    return {*compare<StringRef>(lhs.as<std::string>(), rhs.as<std::string>()), loc};
  bool joins = (lhs.is<std::string>() && rhs.is<std::string>()) ||
               (lhs.is<Item::List>() && rhs.is<Item::List>());
  return joins && op == BinaryOp::add ? join(lhs, rhs) : mismatch(lhs, rhs);
}

Item combineValues(BinaryOp op, const Item &lhs, const Item &rhs, llvm::SMLoc loc,
                   Diagnostics &diagnostics, MLIRContext *context) {
  return Arithmetic(op, loc, diagnostics, context).combine(lhs, rhs);
}

Item applyToValue(UnaryOp op, const Item &operand, llvm::SMLoc loc, Diagnostics &diagnostics,
                  MLIRContext *context) {
  if (op == UnaryOp::logicalNot)
    if (auto truth = truthOf(operand))
      return {!*truth, loc};
  if (op == UnaryOp::negate && operand.is<double>())
    return {-operand.as<double>(), loc};
  if (op == UnaryOp::negate && operand.isDim())
    return combineValues(BinaryOp::subtract, {int64_t(0), loc}, operand, loc, diagnostics, context);
  if (op == UnaryOp::invert && operand.is<int64_t>())
    return {~operand.as<int64_t>(), loc};
  diagnostics.error(loc) << "operator " << quote(spellingOf(op)) << " takes "
                         << (op == UnaryOp::logicalNot ? "values known at compile time"
                             : op == UnaryOp::negate   ? "tensors and numbers"
                                                       : "tensors and integers")
                         << ", got " << describe(operand, diagnostics.module);
  return {Item::Poison(), loc};
}

} // namespace dlc::frontend
