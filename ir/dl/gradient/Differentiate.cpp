//===- Differentiate.cpp - Reverse-mode differentiation -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/gradient/Differentiate.h"
#include "ir/interfaces/Recurrent.h"

using namespace mlir;

namespace dlc::dl {

SmallVector<Operation *> opsBetween(const llvm::DenseSet<Value> &held, ArrayRef<Value> ys) {
  // Without recursion: graphs may be deep.
  SmallVector<Operation *> ops;
  llvm::DenseSet<Operation *> seen;
  SmallVector<std::pair<Operation *, unsigned>> path;
  auto enter = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (op && !held.contains(value) && seen.insert(op).second)
      path.push_back({op, 0});
  };
  for (Value y : ys) {
    enter(y);
    while (!path.empty()) {
      auto &[op, next] = path.back();
      if (next < op->getNumOperands()) {
        enter(op->getOperand(next++));
        continue;
      }
      ops.push_back(op);
      path.pop_back();
    }
  }
  return ops;
}

namespace {
/// Walks the ops from the result back to xs, and collects gradients.
class Reverse {
public:
  Reverse(Builder &builder, ArrayRef<Value> xs, llvm::function_ref<bool()> goesOn,
          const GradientChoices &choices)
      : builder(builder), goesOn(goesOn), choices(choices), active(llvm::from_range, xs) {}

  void add(Value of, Value cotangent);
  Value cotangentOf(Value x) const { return cotangents.lookup(x); }
  /// Returns false after an op whose derivative is not known, which unknown() says, or where goesOn
  /// ends it.
  bool run(ArrayRef<Operation *> ops);
  std::optional<NotDifferentiable> unknown() const { return notKnown; }

private:
  bool derive(Operation *op);
  bool deriveParts(DecomposableOpInterface op);

  Builder &builder;
  llvm::function_ref<bool()> goesOn;
  GradientChoices choices;
  llvm::DenseSet<Value> active; // what depends on xs
  llvm::DenseMap<Value, Value> cotangents;
  std::optional<NotDifferentiable> notKnown;
};
} // namespace

void Reverse::add(Value of, Value cotangent) {
  auto [found, isFirst] = cotangents.try_emplace(of, cotangent);
  if (!isFirst)
    found->second = builder.make<AddOp>(found->second, cotangent);
}

/// Replaces the op by the ops that it decomposes into, and differentiates these.
bool Reverse::deriveParts(DecomposableOpInterface op) {
  OpBuilder::InsertPoint end = builder.saveInsertionPoint();
  builder.setInsertionPoint(op);
  SmallVector<Value> made = op.decompose(builder);
  builder.restoreInsertionPoint(end);
  op->replaceAllUsesWith(made);
  llvm::DenseSet<Value> held(llvm::from_range, op->getOperands());
  SmallVector<Operation *> parts = opsBetween(held, made);
  for (auto [result, value] : llvm::zip_equal(op->getResults(), made))
    if (Value cotangent = cotangentOf(result); cotangent && active.contains(result))
      add(value, cotangent);
  bool isDone = run(parts);
  if (notKnown && notKnown->advice.empty())
    notKnown->form = ("'" + op->getName().stripDialect() + "'").str(); // as the user calls it
  if (notKnown)
    notKnown->op = op;
  return isDone;
}

bool Reverse::derive(Operation *op) {
  auto isWorth = [&](Value result) { return active.contains(result) && cotangentOf(result); };
  if (llvm::none_of(op->getResults(), isWorth))
    return true;
  // The rules of recurrences derive all results, and other rules the first one.
  bool isFirst =
      isa<RecurrentOpInterface>(op) || llvm::none_of(llvm::drop_begin(op->getResults()), isWorth);
  if (const GradientRule *rule = isFirst ? gradientRuleOf(op) : nullptr) {
    Derivation derivation(builder, op, active, cotangents, choices);
    rule->derive(derivation);
    notKnown = derivation.refusal();
  } else if (auto decomposable = dyn_cast<DecomposableOpInterface>(op)) {
    if (!deriveParts(decomposable))
      return false;
  } else {
    notKnown = NotDifferentiable{op, ("'" + op->getName().stripDialect() + "'").str(), ""};
  }
  return !notKnown && goesOn();
}

bool Reverse::run(ArrayRef<Operation *> ops) {
  for (Operation *op : ops)
    if (llvm::any_of(op->getOperands(), [&](Value operand) { return active.contains(operand); }))
      active.insert_range(llvm::make_filter_range(op->getResults(), isFloat));
  return llvm::all_of(llvm::reverse(ops), [&](Operation *op) { return derive(op); });
}

std::optional<NotDifferentiable> differentiate(Builder &builder, ArrayRef<Operation *> ops, Value y,
                                               ArrayRef<Value> xs,
                                               SmallVectorImpl<Value> &gradients,
                                               llvm::function_ref<bool()> goesOn,
                                               const GradientChoices &choices) {
  Reverse reverse(builder, xs, goesOn, choices);
  reverse.add(y, builder.fullLike(y, 1));
  if (reverse.run(ops))
    for (Value x : xs)
      gradients.push_back(reverse.cotangentOf(x));
  return reverse.unknown();
}

} // namespace dlc::dl
