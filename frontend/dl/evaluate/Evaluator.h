//===- Evaluator.h - Expressions at compile time ------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_DL_EVALUATE_EVALUATOR_H
#define DLC_FRONTEND_DL_EVALUATE_EVALUATOR_H

#include "frontend/dl/evaluate/Item.h"
#include "frontend/dl/lower/Arguments.h"
#include "frontend/dl/syntax/AST.h"
#include "frontend/dl/syntax/Diagnostics.h"

#include "llvm/ADT/MapVector.h"

namespace dlc::frontend {

/// Names known at compile time: dims, constants, parameters, what counts in a loop.
struct Scope {
  struct Entry {
    Item item;
    llvm::SMLoc loc;
    mutable bool isUsed = false;
  };
  const Scope *outer = nullptr;
  llvm::MapVector<llvm::StringRef, Entry> names;

  /// Here or further out; null where there is none.
  const Entry *find(llvm::StringRef name) const;
  /// All names, for the nearest one.
  llvm::SmallVector<llvm::StringRef> allNames() const;
};

/// How much one model may ask of the compiler: small files can mean long loops.
class Budget {
public:
  static constexpr uint64_t kMaxSteps = 1'000'000;

  /// Counts `steps` values read or statements run. False, reported once, when there have been too
  /// many.
  bool spend(uint64_t steps, llvm::SMLoc loc, Diagnostics &diagnostics);
  bool isSpent() const { return spent > kMaxSteps; }

private:
  uint64_t spent = 0;
};

/// Computes literals, names, operators, lists, indices of lists, and functions of numbers. Integers
/// are exact: overflow, and division by `/` with a remainder, are errors; a dim with symbols
/// divides rounding down. What may hold tensors is for a derived class.
class Evaluator {
public:
  Evaluator(Diagnostics &diagnostics, mlir::MLIRContext *context, const Scope &scope,
            Budget &budget)
      : diagnostics(diagnostics), context(context), scope(&scope), budget(budget) {}
  virtual ~Evaluator() = default;

  /// Poison after an error, which has been reported.
  Item evaluate(const Expr &expr);
  /// Python's truth of a value known at compile time; nothing, reported, for others.
  std::optional<bool> evaluateCondition(const Expr &expr);
  /// The values that a loop counts through. Nothing after an error.
  std::optional<std::vector<Item>> evaluateLoop(const LoopHead &head);

protected:
  virtual Item evaluateName(const NameExpr &expr);
  virtual Item evaluateCall(const CallExpr &expr);
  virtual Item evaluateSubscript(const SubscriptExpr &expr);
  virtual Item evaluateAttribute(const AttributeExpr &expr);
  /// At least one of the operands is a tensor; or one is a dim and the other a fraction, and there
  /// are tensors.
  virtual Item applyToTensor(UnaryOp op, const Item &operand, llvm::SMLoc loc);
  virtual Item combineTensors(BinaryOp op, const Item &lhs, const Item &rhs, llvm::SMLoc loc);
  virtual bool hasTensors() const { return false; }
  /// `value if condition else otherwise`, where the condition is no value known at compile time.
  virtual Item chooseByTensor(const ConditionalExpr &expr, const Item &condition);
  /// Python's truth of a value known at compile time; nothing, reported at `expr`, for others.
  std::optional<bool> conditionOf(const Item &item, const Expr &expr);

  /// The arguments of a call; false where one of them is poison.
  bool evaluateArguments(const CallExpr &expr, llvm::SmallVectorImpl<PassedArgument> &arguments);
  /// `list[i]`, `list[1:]`
  Item indexList(const Item &list, const SubscriptExpr &expr);
  /// A bound of a slice: nothing where it is absent or None; `good` becomes false after an error.
  std::optional<int64_t> bound(const ExprPtr &expr, llvm::StringRef what, bool &good);
  std::optional<int64_t> bound(const Item &item, llvm::SMLoc loc, llvm::StringRef what, bool &good);
  Item poison(llvm::SMLoc loc) { return {Item::Poison(), loc}; }

  Diagnostics &diagnostics;
  mlir::MLIRContext *context;
  const Scope *scope;
  Budget &budget;
  /// One level of expressions, statements and blocks deeper; false, reported, where that is too
  /// deep. `ascend` ends it.
  bool descend(llvm::SMLoc loc);
  void ascend() { --depth; }

private:
  Item evaluateChecked(const Expr &expr);
  Item evaluateUnary(const UnaryExpr &expr);
  Item evaluateBinary(const BinaryExpr &expr);

  unsigned depth = 0;
};

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_EVALUATE_EVALUATOR_H
