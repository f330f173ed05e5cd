//===- Evaluator.cpp - Expressions at compile time -------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "frontend/dl/Evaluator.h"

#include "frontend/dl/Spelling.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::frontend {

Item Evaluator::evaluate(const Expr &expr) {
  switch (expr.kind) {
  case Expr::Kind::integer:
    return {llvm::cast<IntegerExpr>(expr).value, expr.loc};
  case Expr::Kind::floating:
    return {llvm::cast<FloatExpr>(expr).value, expr.loc};
  case Expr::Kind::string:
    return {llvm::cast<StringExpr>(expr).value, expr.loc};
  case Expr::Kind::boolean:
    return {llvm::cast<BooleanExpr>(expr).value, expr.loc};
  case Expr::Kind::none:
    return {Item::None(), expr.loc};
  case Expr::Kind::name: {
    Item item = evaluateName(llvm::cast<NameExpr>(expr));
    item.loc = expr.loc;
    return item;
  }
  case Expr::Kind::list: {
    Item::List list;
    for (const ExprPtr &element : llvm::cast<ListExpr>(expr).elements) {
      list.push_back(evaluate(*element));
      if (list.back().is<Item::Poison>())
        return poison(expr.loc);
    }
    return {std::move(list), expr.loc};
  }
  case Expr::Kind::call:
    return evaluateCall(llvm::cast<CallExpr>(expr));
  case Expr::Kind::subscript:
    return evaluateSubscript(llvm::cast<SubscriptExpr>(expr));
  case Expr::Kind::unary: {
    Item operand = evaluate(*llvm::cast<UnaryExpr>(expr).operand);
    if (operand.is<Item::Poison>())
      return operand;
    if (operand.isTensor())
      return negateTensor(operand, expr.loc);
    if (operand.is<double>())
      return {-operand.as<double>(), expr.loc};
    return combine('-', {int64_t(0), expr.loc}, operand, expr.loc);
  }
  case Expr::Kind::binary: {
    const auto &binary = llvm::cast<BinaryExpr>(expr);
    Item lhs = evaluate(*binary.lhs), rhs = evaluate(*binary.rhs);
    return combine(binary.op, lhs, rhs, expr.loc);
  }
  }
  llvm_unreachable("an expression of no kind");
}

Item Evaluator::evaluateName(const NameExpr &expr) {
  auto entry = scope.names.find(expr.name);
  if (entry != scope.names.end()) {
    const auto &[item, loc] = entry->second;
    diagnostics.mention(item.is<AffineExpr>() ? Mention::Kind::dim : Mention::Kind::constant,
                        expr.name, loc, [&] { return (expr.name + ": " + describe(item)).str(); });
    return item;
  }
  if (Type type = dtypeOf(expr.name, context))
    return {type, expr.loc};
  SmallVector<StringRef> known;
  for (const auto &name : scope.names)
    known.push_back(name.first);
  diagnostics.error(expr.loc) << "unknown constant or dim " << quote(expr.name)
                              << didYouMean(expr.name, known);
  return poison(expr.loc);
}

Item Evaluator::evaluateCall(const CallExpr &expr) {
  diagnostics.error(expr.loc)
      << "nothing can be called here: expected a value known at compile time";
  return poison(expr.loc);
}

Item Evaluator::evaluateSubscript(const SubscriptExpr &expr) {
  diagnostics.error(expr.loc)
      << "nothing can be indexed here: expected a value known at compile time";
  return poison(expr.loc);
}

Item Evaluator::negateTensor(const Item &operand, llvm::SMLoc loc) { return poison(loc); }
Item Evaluator::combineTensors(char, const Item &, const Item &, llvm::SMLoc loc) {
  return poison(loc);
}

Item Evaluator::combine(char op, const Item &lhs, const Item &rhs, llvm::SMLoc loc) {
  if (lhs.is<Item::Poison>() || rhs.is<Item::Poison>())
    return poison(loc);
  for (const Item *item : {&lhs, &rhs})
    if (!item->isTensor() && !item->isDim() && !item->is<double>()) {
      diagnostics.error(loc) << "operator " << quote(StringRef(&op, 1))
                             << " takes tensors and numbers, got " << describe(*item);
      return poison(loc);
    }
  if (lhs.isTensor() || rhs.isTensor())
    return combineTensors(op, lhs, rhs, loc);
  if (lhs.is<AffineExpr>() || rhs.is<AffineExpr>())
    return combineDims(op, lhs, rhs, loc);
  if (lhs.is<int64_t>() && rhs.is<int64_t>())
    return combineIntegers(op, lhs.as<int64_t>(), rhs.as<int64_t>(), loc);
  auto number = [](const Item &item) {
    return item.is<double>() ? item.as<double>() : static_cast<double>(item.as<int64_t>());
  };
  double a = number(lhs), b = number(rhs);
  switch (op) {
  case '+':
    return {a + b, loc};
  case '-':
    return {a - b, loc};
  case '*':
    return {a * b, loc};
  default:
    return {a / b, loc};
  }
}

Item Evaluator::combineIntegers(char op, int64_t lhs, int64_t rhs, llvm::SMLoc loc) {
  int64_t result = 0;
  bool overflow = false;
  switch (op) {
  case '+':
    overflow = llvm::AddOverflow(lhs, rhs, result);
    break;
  case '-':
    overflow = llvm::SubOverflow(lhs, rhs, result);
    break;
  case '*':
    overflow = llvm::MulOverflow(lhs, rhs, result);
    break;
  default:
    overflow = lhs == std::numeric_limits<int64_t>::min() && rhs == -1;
    if (!overflow && (rhs == 0 || lhs % rhs != 0)) {
      diagnostics.error(loc) << lhs << " / " << rhs << " is not an integer; write " << lhs
                             << ".0 / " << rhs << " where a fraction is meant";
      return poison(loc);
    }
    if (!overflow)
      result = lhs / rhs;
  }
  if (!overflow)
    return {result, loc};
  diagnostics.error(loc) << "the result of " << lhs << " " << StringRef(&op, 1) << " " << rhs
                         << " does not fit in 64 bits";
  return poison(loc);
}

Item Evaluator::combineDims(char op, const Item &lhs, const Item &rhs, llvm::SMLoc loc) {
  if (lhs.is<double>() || rhs.is<double>()) {
    diagnostics.error(loc) << "a dim combines with integers and dims, got "
                           << describe(lhs.is<double>() ? lhs : rhs);
    return poison(loc);
  }
  AffineExpr a = lhs.asDim(context), b = rhs.asDim(context);
  switch (op) {
  case '+':
    return Item::dim(a + b, loc);
  case '-':
    return Item::dim(a - b, loc);
  case '*':
    return Item::dim(a * b, loc);
  default:
    if (rhs.is<int64_t>() && rhs.as<int64_t>() > 0)
      return Item::dim(a.floorDiv(b), loc);
    diagnostics.error(loc) << "a dim is divided by a positive integer, got " << describe(rhs);
    return poison(loc);
  }
}

} // namespace dlc::frontend
