//===- Evaluator.h - Expressions at compile time ---------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_DL_EVALUATOR_H
#define DLC_FRONTEND_DL_EVALUATOR_H

#include "frontend/dl/AST.h"
#include "frontend/dl/Diagnostics.h"
#include "frontend/dl/Item.h"

#include "llvm/ADT/MapVector.h"

namespace dlc::frontend {

/// Names known at compile time: dims, constants, parameters.
struct Scope {
  struct Entry {
    Item item;
    llvm::SMLoc loc;
  };
  llvm::MapVector<llvm::StringRef, Entry> names;
};

/// Computes literals, names, arithmetic and lists. Integers are exact: overflow and division with a remainder are errors;
/// a dim with symbols divides rounding down. What may hold tensors (calls, subscripts) is for a derived class.
class Evaluator {
public:
  Evaluator(Diagnostics &diagnostics, mlir::MLIRContext *context, const Scope &scope)
      : diagnostics(diagnostics), context(context), scope(scope) {}
  virtual ~Evaluator() = default;

  /// Poison after an error, which has been reported.
  Item evaluate(const Expr &expr);

protected:
  virtual Item evaluateName(const NameExpr &expr);
  virtual Item evaluateCall(const CallExpr &expr);
  virtual Item evaluateSubscript(const SubscriptExpr &expr);
  virtual Item negateTensor(const Item &operand, llvm::SMLoc loc);
  virtual Item combineTensors(char op, const Item &lhs, const Item &rhs, llvm::SMLoc loc);

  Item poison(llvm::SMLoc loc) { return {Item::Poison(), loc}; }

  Diagnostics &diagnostics;
  mlir::MLIRContext *context;
  const Scope &scope;

private:
  Item combine(char op, const Item &lhs, const Item &rhs, llvm::SMLoc loc);
  Item combineIntegers(char op, int64_t lhs, int64_t rhs, llvm::SMLoc loc);
  Item combineDims(char op, const Item &lhs, const Item &rhs, llvm::SMLoc loc);
};

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_EVALUATOR_H
