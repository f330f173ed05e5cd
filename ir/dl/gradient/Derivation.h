//===- Derivation.h - What a change of an op's result is worth to its operands ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each op has a rule, in the file *Gradients.cpp of its family. Where a function has a kink, its
// rule gives the slope that PyTorch gives.
//
// The gradient of a value y is the derivative of the sum of the result's elements by each element
// of y: it has y's type.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_DL_GRADIENT_DERIVATION_H
#define DLC_IR_DL_GRADIENT_DERIVATION_H

#include "ir/dl/gradient/Term.h"

#include "llvm/ADT/DenseSet.h"

#include <string>

namespace dlc::dl {

/// An op on the way whose derivative dlc does not know.
struct NotDifferentiable {
  mlir::Operation *op;
  /// The form of the op, such as "'scatter' by multiply", and what the user can do, such as "; give
  /// the symbols numbers by --shapes".
  std::string form, advice;
};

/// Choices of rules that are faster on one kind of device.
struct GradientChoices {
  /// The forward pass of an LSTM runs step by step and keeps the gates. A GPU has one kernel that
  /// runs all steps, and the way back computes the gates again.
  bool keepsGates = true;
};

/// One op between xs and the result, as its rule sees it.
class Derivation {
public:
  Derivation(Builder &builder, mlir::Operation *op, const llvm::DenseSet<mlir::Value> &active,
             llvm::DenseMap<mlir::Value, mlir::Value> &cotangents, const GradientChoices &choices)
      : b(builder), op(op), choices(choices), active(active), cotangents(cotangents) {}

  Builder &b;
  mlir::Operation *const op;
  const GradientChoices choices;

  Term x(unsigned operand = 0) { return {op->getOperand(operand), b}; }
  Term y(unsigned result = 0) { return {op->getResult(result), b}; }
  /// The gradient of a result of the op; zeros if nothing depends on it.
  Term dy(unsigned result = 0) {
    mlir::Value of = op->getResult(result), cotangent = cotangents.lookup(of);
    return {cotangent ? cotangent : b.fullLike(of, 0), b};
  }
  Dims dims(unsigned operand = 0) const { return dimsOf(op->getOperand(operand)); }
  mlir::Type dtype(unsigned operand = 0) const {
    return typeOf(op->getOperand(operand)).getElementType();
  }
  int64_t rank(unsigned operand = 0) const { return typeOf(op->getOperand(operand)).getRank(); }
  bool has(unsigned operand) const { return op->getNumOperands() > operand; }
  /// Returns true if the operand depends on xs, so that its gradient is needed.
  bool wants(unsigned operand) const {
    return has(operand) && active.contains(op->getOperand(operand));
  }
  /// Adds a part of the gradient of the operand. Does nothing if it is not wanted.
  void add(unsigned operand, const Term &cotangent);
  Term zeros(llvm::ArrayRef<mlir::AffineExpr> dims) { return {b.full(dims, dtype(), 0), b}; }
  /// Returns a dim as a number or, if it has symbols, as a tensor without dims.
  Term size(mlir::AffineExpr dim, mlir::Type dtype);
  /// Returns the integers from 0 to before `end`, in i64.
  Term arange(mlir::AffineExpr end);
  mlir::AffineExpr dim(int64_t value) const { return constantDim(value, op->getContext()); }
  /// An axis of operand 0, counted from the front.
  int64_t axis(int64_t dim) const { return dim < 0 ? dim + rank() : dim; }
  /// These, or all axes of operand 0 where there are none.
  llvm::SmallVector<int64_t> axes(llvm::ArrayRef<int64_t> dims) const;

  /// Says that the derivative of this form of the op is not known.
  void refuse(const llvm::Twine &form, const llvm::Twine &advice);
  const std::optional<NotDifferentiable> &refusal() const { return refused; }

private:
  const llvm::DenseSet<mlir::Value> &active;
  llvm::DenseMap<mlir::Value, mlir::Value> &cotangents;
  std::optional<NotDifferentiable> refused;
};

struct GradientRule {
  llvm::StringRef op; ///< "dl.add"
  void (*derive)(Derivation &d);
};

/// The rules of some ops, each by an overload `derive(Derivation &, Op)`.
template <typename... Ops> llvm::ArrayRef<GradientRule> rulesOf() {
  static const GradientRule rules[] = {
      {Ops::getOperationName(), [](Derivation &d) { derive(d, llvm::cast<Ops>(d.op)); }}...};
  return rules;
}

/// Null where the op has none.
const GradientRule *gradientRuleOf(mlir::Operation *op);
/// All rules, by family.
llvm::SmallVector<llvm::ArrayRef<GradientRule>> gradientRules();

// The families.
llvm::ArrayRef<GradientRule> elementwiseGradients();
llvm::ArrayRef<GradientRule> mathGradients();
llvm::ArrayRef<GradientRule> activationGradients();
llvm::ArrayRef<GradientRule> shapeGradients();
llvm::ArrayRef<GradientRule> indexGradients();
llvm::ArrayRef<GradientRule> reductionGradients();
llvm::ArrayRef<GradientRule> normGradients();
llvm::ArrayRef<GradientRule> contractionGradients();
llvm::ArrayRef<GradientRule> attentionGradients();
llvm::ArrayRef<GradientRule> convolutionGradients();
llvm::ArrayRef<GradientRule> poolGradients();
llvm::ArrayRef<GradientRule> sampleGradients();
llvm::ArrayRef<GradientRule> recurrentGradients();

} // namespace dlc::dl

#endif // DLC_IR_DL_GRADIENT_DERIVATION_H
