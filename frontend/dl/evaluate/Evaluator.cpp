//===- Evaluator.cpp - Expressions at compile time ----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/evaluate/Evaluator.h"

#include "frontend/Spelling.h"
#include "frontend/dl/evaluate/Arithmetic.h"
#include "frontend/dl/syntax/Hints.h"
#include "frontend/dl/syntax/Parser.h"

#include "llvm/ADT/ScopeExit.h"

using namespace mlir;

namespace dlc::frontend {

/// Depth of expressions and statements in each other, through the calls of blocks: protects the
/// stack.
static constexpr unsigned kMaxDepth = 4 * kMaxNesting;

const Scope::Entry *Scope::find(StringRef name) const {
  for (const Scope *at = this; at; at = at->outer)
    if (auto entry = at->names.find(name); entry != at->names.end())
      return &entry->second;
  return nullptr;
}

SmallVector<StringRef> Scope::allNames() const {
  SmallVector<StringRef> all;
  for (const Scope *at = this; at; at = at->outer)
    for (const auto &entry : at->names)
      all.push_back(entry.first);
  return all;
}

bool Budget::spend(uint64_t steps, llvm::SMLoc loc, Diagnostics &diagnostics) {
  if (isSpent())
    return false;
  spent += steps;
  if (!isSpent())
    return true;
  diagnostics.error(loc) << "this model takes more than " << kMaxSteps
                         << " steps at compile time (values read, statements run); make its loops "
                            "shorter";
  return false;
}

//===- Expressions ----------------------------------------------------------------------------===//

Item Evaluator::evaluate(const Expr &expr) {
  if (!budget.spend(1, expr.loc, diagnostics))
    return poison(expr.loc);
  if (!descend(expr.loc))
    return poison(expr.loc);
  llvm::scope_exit leave([&] { ascend(); });
  return evaluateChecked(expr);
}

bool Evaluator::descend(llvm::SMLoc loc) {
  if (depth < kMaxDepth)
    return ++depth;
  diagnostics.error(loc) << "this is nested more than " << kMaxDepth
                         << " deep through the calls of blocks; split it into several statements";
  return false;
}

Item Evaluator::evaluateChecked(const Expr &expr) {
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
    // A list is copied at each reading.
    if (item.is<Item::List>() && !budget.spend(countItems(item), expr.loc, diagnostics))
      return poison(expr.loc);
    return item;
  }
  case Expr::Kind::list: {
    Item::List list;
    size_t count = 1;
    for (const ExprPtr &element : llvm::cast<ListExpr>(expr).elements) {
      list.push_back(evaluate(*element));
      if (list.back().isPoison())
        return poison(expr.loc);
      count += countItems(list.back());
    }
    if (count > kMaxListElements) {
      diagnostics.error(expr.loc) << "this list has more than " << kMaxListElements
                                  << " elements; make it shorter";
      return poison(expr.loc);
    }
    return {std::move(list), expr.loc};
  }
  case Expr::Kind::call:
    return evaluateCall(llvm::cast<CallExpr>(expr));
  case Expr::Kind::subscript:
    return evaluateSubscript(llvm::cast<SubscriptExpr>(expr));
  case Expr::Kind::attribute:
    return evaluateAttribute(llvm::cast<AttributeExpr>(expr));
  case Expr::Kind::unary:
    return evaluateUnary(llvm::cast<UnaryExpr>(expr));
  case Expr::Kind::binary:
    return evaluateBinary(llvm::cast<BinaryExpr>(expr));
  case Expr::Kind::conditional: {
    const auto &conditional = llvm::cast<ConditionalExpr>(expr);
    Item item = evaluate(*conditional.condition);
    if (item.isTensor() && hasTensors())
      return chooseByTensor(conditional, item);
    auto condition = conditionOf(item, *conditional.condition);
    if (!condition)
      return poison(expr.loc);
    return evaluate(*condition ? *conditional.value : *conditional.otherwise);
  }
  }
  llvm_unreachable("an expression of no kind");
}

Item Evaluator::evaluateUnary(const UnaryExpr &expr) {
  Item operand = evaluate(*expr.operand);
  if (operand.isPoison())
    return operand;
  if (operand.isTensor() && expr.op != UnaryOp::logicalNot)
    return applyToTensor(expr.op, operand, expr.loc);
  return applyToValue(expr.op, operand, expr.loc, diagnostics, context);
}

/// + - * / // % **
static bool isArithmetic(BinaryOp op) { return op <= BinaryOp::power; }

Item Evaluator::evaluateBinary(const BinaryExpr &expr) {
  if (expr.op == BinaryOp::logicalAnd || expr.op == BinaryOp::logicalOr) {
    // The second operand is evaluated where the first leaves it open, and is then the value, as in
    // Python.
    Item first = evaluate(*expr.lhs);
    auto truth = conditionOf(first, *expr.lhs);
    if (!truth)
      return poison(expr.loc);
    return *truth == (expr.op == BinaryOp::logicalOr) ? first : evaluate(*expr.rhs);
  }
  Item lhs = evaluate(*expr.lhs), rhs = evaluate(*expr.rhs);
  if (lhs.isPoison() || rhs.isPoison())
    return poison(expr.loc);
  if (lhs.isTensor() || rhs.isTensor()) {
    // `mask == None` asks whether there is one.
    if ((expr.op == BinaryOp::equal || expr.op == BinaryOp::notEqual) &&
        (lhs.is<Item::None>() || rhs.is<Item::None>()))
      return {expr.op == BinaryOp::notEqual, expr.loc};
    return combineTensors(expr.op, lhs, rhs, expr.loc);
  }
  // What a dim makes of a fraction is known when the model runs.
  bool isFraction =
      (lhs.is<AffineExpr>() && rhs.is<double>()) || (lhs.is<double>() && rhs.is<AffineExpr>());
  if (isFraction && hasTensors() && isArithmetic(expr.op))
    return combineTensors(expr.op, lhs, rhs, expr.loc);
  return combineValues(expr.op, lhs, rhs, expr.loc, diagnostics, context);
}

std::optional<bool> Evaluator::evaluateCondition(const Expr &expr) {
  return conditionOf(evaluate(expr), expr);
}

std::optional<bool> Evaluator::conditionOf(const Item &item, const Expr &expr) {
  auto truth = truthOf(item);
  if (!truth && !item.isPoison())
    diagnostics.error(expr.loc) << "a condition is " << describe(item, diagnostics.module)
                                << "; expected a value known at compile time"
                                << (item.isTensor() ? "; tensors are joined by & and |" : "");
  return truth;
}

std::optional<std::vector<Item>> Evaluator::evaluateLoop(const LoopHead &head) {
  if (head.iterable) {
    Item item = evaluate(*head.iterable);
    if (item.is<Item::List>())
      return item.as<Item::List>();
    if (!item.isPoison())
      diagnostics.error(head.iterable->loc)
          << "a loop is over " << describe(item, diagnostics.module)
          << "; expected a range such as 0..12, a list or a list of layers";
    return std::nullopt;
  }
  if (!head.begin || !head.end) // could not be read, which has been reported
    return std::nullopt;
  int64_t bounds[2];
  for (auto [expr, value] :
       {std::pair(head.begin.get(), &bounds[0]), std::pair(head.end.get(), &bounds[1])}) {
    Item item = evaluate(*expr);
    if (!item.is<int64_t>()) {
      if (!item.isPoison())
        diagnostics.error(expr->loc)
            << "a bound of a loop is " << describe(item, diagnostics.module)
            << "; expected an integer";
      return std::nullopt;
    }
    *value = item.as<int64_t>();
  }
  std::vector<Item> values;
  if (bounds[0] >= bounds[1])
    return values;
  // Before the memory for them is asked for.
  uint64_t count = static_cast<uint64_t>(bounds[1]) - static_cast<uint64_t>(bounds[0]);
  if (!budget.spend(count, head.variable.loc, diagnostics))
    return std::nullopt;
  for (int64_t value = bounds[0]; value < bounds[1]; ++value)
    values.push_back({value, head.variable.loc});
  return values;
}

Item Evaluator::evaluateName(const NameExpr &expr) {
  if (const Scope::Entry *entry = scope->find(expr.name)) {
    entry->isUsed = true;
    diagnostics.mention(
        entry->item.is<AffineExpr>() ? Mention::Kind::dim : Mention::Kind::constant, expr.name,
        entry->loc,
        [&] { return (expr.name + ": " + describe(entry->item, diagnostics.module)).str(); });
    return entry->item;
  }
  if (Type type = dtypeOf(expr.name, context))
    return {type, expr.loc};
  std::string hint = hintForValue(expr.name);
  if (hint.empty())
    hint = didYouMean(expr.name, scope->allNames());
  if (hint.empty() && !expr.name.contains('.'))
    hint =
        ("; declare it, as in 'const " + expr.name + " = 128' or 'dim " + expr.name + " = 1..64'")
            .str();
  diagnostics.error(expr.loc) << "unknown constant or dim " << quote(expr.name) << hint;
  return poison(expr.loc);
}

//===- Calls, subscripts ----------------------------------------------------------------------===//

bool Evaluator::evaluateArguments(const CallExpr &expr,
                                  SmallVectorImpl<PassedArgument> &arguments) {
  bool good = true;
  for (const Argument &argument : expr.arguments) {
    arguments.push_back({argument.keyword ? argument.keyword->name : StringRef(),
                         argument.keyword ? argument.keyword->loc : argument.value->loc,
                         evaluate(*argument.value)});
    good &= !arguments.back().value.isPoison();
  }
  return good;
}

Item Evaluator::evaluateCall(const CallExpr &expr) {
  std::string name = textOf(*expr.callee);
  SmallVector<PassedArgument> arguments;
  if (!evaluateArguments(expr, arguments))
    return poison(expr.loc);
  if (auto result = callCompileTimeFunction(name, expr.loc, arguments, diagnostics))
    return *result;
  if (isCompileTimeFunction(name))
    diagnostics.error(expr.loc) << misuseOf(name, arguments, diagnostics.module);
  else
    diagnostics.error(expr.loc) << quote(name)
                                << " cannot be called here: expected a value known at compile "
                                   "time; its functions are "
                                << compileTimeFunctions();
  return poison(expr.loc);
}

std::optional<int64_t> Evaluator::bound(const ExprPtr &expr, StringRef what, bool &good) {
  return expr ? bound(evaluate(*expr), expr->loc, what, good) : std::nullopt;
}

std::optional<int64_t> Evaluator::bound(const Item &item, llvm::SMLoc loc, StringRef what,
                                        bool &good) {
  if (item.is<int64_t>())
    return item.as<int64_t>();
  if (item.is<Item::None>())
    return std::nullopt;
  if (!item.isPoison())
    diagnostics.error(loc) << what << " is " << describe(item, diagnostics.module)
                           << "; expected an integer";
  good = false;
  return std::nullopt;
}

Item Evaluator::indexList(const Item &list, const SubscriptExpr &expr) {
  const auto &elements = list.as<Item::List>();
  auto size = static_cast<int64_t>(elements.size());
  const Index &index = expr.indices.front();
  if (expr.indices.size() > 1 || index.isEllipsis) {
    diagnostics.error(expr.loc) << describe(list, diagnostics.module)
                                << " takes one index or slice, as in x[0]";
    return poison(expr.loc);
  }
  if (index.isSlice) {
    bool good = true;
    auto start = bound(index.start, "the start of a slice", good),
         stop = bound(index.stop, "the end of a slice", good),
         step = bound(index.step, "the step of a slice", good);
    if (good && step.value_or(1) < 1) {
      diagnostics.error(index.loc) << "the step of a slice is " << *step << "; expected 1 or more";
      good = false;
    }
    if (!good)
      return poison(expr.loc);
    auto clamp = [&](int64_t position) {
      return std::clamp<int64_t>(position < 0 ? position + size : position, 0, size);
    };
    Item::List part;
    int64_t stride = std::min(step.value_or(1), size + 1);
    for (int64_t i = clamp(start.value_or(0)), end = clamp(stop.value_or(size)); i < end;
         i += stride)
      part.push_back(elements[i]);
    return {std::move(part), expr.loc};
  }
  Item item = evaluate(*index.value);
  if (item.isPoison())
    return item;
  if (!item.is<int64_t>()) {
    diagnostics.error(index.loc) << "an index of a list is " << describe(item, diagnostics.module)
                                 << "; expected an integer or a slice";
    return poison(expr.loc);
  }
  int64_t position = item.as<int64_t>();
  if (position < -size || position >= size) {
    diagnostics.error(index.loc) << "index " << position << " lies outside "
                                 << describe(list, diagnostics.module);
    return poison(expr.loc);
  }
  return elements[position < 0 ? position + size : position];
}

Item Evaluator::evaluateSubscript(const SubscriptExpr &expr) {
  Item base = evaluate(*expr.base);
  if (base.isPoison())
    return base;
  if (base.is<Item::List>())
    return indexList(base, expr);
  diagnostics.error(expr.loc) << "only lists can be indexed here, got "
                              << describe(base, diagnostics.module);
  return poison(expr.loc);
}

Item Evaluator::evaluateAttribute(const AttributeExpr &expr) {
  diagnostics.error(expr.name.loc) << quote(textOf(expr)) << " has no meaning here; expected a "
                                   << "value known at compile time";
  return poison(expr.loc);
}

Item Evaluator::applyToTensor(UnaryOp, const Item &, llvm::SMLoc) {
  llvm_unreachable("there are no tensors at compile time");
}
Item Evaluator::chooseByTensor(const ConditionalExpr &, const Item &) {
  llvm_unreachable("there are no tensors at compile time");
}
Item Evaluator::combineTensors(BinaryOp, const Item &, const Item &, llvm::SMLoc) {
  llvm_unreachable("there are no tensors at compile time");
}

} // namespace dlc::frontend
