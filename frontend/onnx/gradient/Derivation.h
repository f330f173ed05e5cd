//===- Derivation.h - Derivatives of dl ops -----------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ONNX's Gradient is made of: for each dl op a rule that says, in calls of the language, what
// a change of the result is worth to its operands. Where a function has a kink the rules are
// PyTorch's.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_ONNX_GRADIENT_DERIVATION_H
#define DLC_FRONTEND_ONNX_GRADIENT_DERIVATION_H

#include "frontend/onnx/Importer.h"

#include "llvm/ADT/DenseSet.h"

namespace dlc::onnx {

/// A tensor or a number in a formula.
struct Term {
  Item item;
  NodeImport *node = nullptr; // null: a number

  Term(double number) : item(onnx::item(number)) {}
  Term(Item item, NodeImport &node) : item(std::move(item)), node(&node) {}

  /// callee(*this, more...)
  Term call(llvm::StringRef callee, llvm::ArrayRef<Item> more = {},
            llvm::ArrayRef<std::pair<llvm::StringRef, Item>> named = {}) const;
  Term reshape(llvm::ArrayRef<mlir::AffineExpr> dims) const;
  Term permute(llvm::ArrayRef<int64_t> order) const;
  Term broadcast(llvm::ArrayRef<mlir::AffineExpr> dims) const;
  /// The last two dims exchanged.
  Term transposed() const;
  /// Of a tensor; none after an error.
  dl::Dims dims() const;
  /// The sum that undoes a broadcast of a tensor of `dims`.
  Term summedTo(llvm::ArrayRef<mlir::AffineExpr> dims) const;
  /// Zeros around dim `axis`, or where a width is negative less of it.
  Term padded(int64_t axis, mlir::AffineExpr before, mlir::AffineExpr behind) const;
  /// Indices of a dim from `start` on.
  Term narrowed(int64_t axis, mlir::AffineExpr start, mlir::AffineExpr length) const;
};

Term operator+(const Term &a, const Term &b);
Term operator-(const Term &a, const Term &b);
Term operator*(const Term &a, const Term &b);
Term operator/(const Term &a, const Term &b);
Term operator-(const Term &a);
Term operator<(const Term &a, const Term &b);
Term operator>(const Term &a, const Term &b);
Term operator<=(const Term &a, const Term &b);
/// One of the two is a tensor.
Term where(const Term &condition, const Term &a, const Term &b);

/// One op on the way from y to xs, as a rule sees it.
class Derivation {
public:
  Derivation(NodeImport &node, mlir::Operation *op, const llvm::DenseSet<mlir::Value> &active,
             llvm::DenseMap<mlir::Value, mlir::Value> &cotangents)
      : node(node), op(op), active(active), cotangents(cotangents) {}

  NodeImport &node;
  mlir::Operation *const op;

  Term x(unsigned operand = 0) { return {Item{op->getOperand(operand), {}}, node}; }
  Term y(unsigned result = 0) { return {Item{op->getResult(result), {}}, node}; }
  /// What a change of the first result is worth: of its type.
  Term dy() { return {Item{cotangents.at(op->getResult(0)), {}}, node}; }
  dl::Dims dims(unsigned operand = 0);
  mlir::Type dtype(unsigned operand = 0);
  /// Whether xs depend on the operand.
  bool wants(unsigned operand) const { return active.contains(op->getOperand(operand)); }
  /// Adds to what a change of the operand is worth.
  void add(unsigned operand, const Term &cotangent);
  Term zeros(llvm::ArrayRef<mlir::AffineExpr> dims);
  mlir::AffineExpr dim(int64_t value) { return node.dim(value); }

  /// Attributes, or what they are without.
  int64_t integer(llvm::StringRef name, int64_t otherwise = 0) const;
  llvm::SmallVector<int64_t> integers(llvm::StringRef name) const;
  double real(llvm::StringRef name, double otherwise) const;
  bool boolean(llvm::StringRef name, bool otherwise = false) const;
  /// The attribute `name`, an axis of operand 0 counted from the front.
  int64_t axis(llvm::StringRef name = "dim", int64_t otherwise = 0);

  /// The derivative of this form of the op is not known: "'pad' of mode reflect".
  void refuse(const llvm::Twine &form, const llvm::Twine &advice);

private:
  const llvm::DenseSet<mlir::Value> &active;
  llvm::DenseMap<mlir::Value, mlir::Value> &cotangents;
};

struct DerivativeRule {
  llvm::StringRef op; // "dl.add"
  void (*derive)(Derivation &d);
};

/// Null where there is none.
const DerivativeRule *derivativeOf(mlir::Operation *op);

// Families.
llvm::ArrayRef<DerivativeRule> elementwiseDerivatives();
llvm::ArrayRef<DerivativeRule> activationDerivatives();
llvm::ArrayRef<DerivativeRule> movementDerivatives();
llvm::ArrayRef<DerivativeRule> indexDerivatives();
llvm::ArrayRef<DerivativeRule> reductionDerivatives();
llvm::ArrayRef<DerivativeRule> contractionDerivatives();
llvm::ArrayRef<DerivativeRule> windowDerivatives();
llvm::ArrayRef<DerivativeRule> normalizationDerivatives();

} // namespace dlc::onnx

#endif // DLC_FRONTEND_ONNX_GRADIENT_DERIVATION_H
