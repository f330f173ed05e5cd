//===- Differentiate.h - Reverse-mode differentiation -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_GRADIENT_DIFFERENTIATE_H
#define DLC_IR_DL_GRADIENT_DIFFERENTIATE_H

#include "ir/dl/gradient/Derivation.h"

namespace dlc::dl {

/// Returns true if the elements of `value` are floats.
inline bool isFloat(mlir::Value value) {
  return mlir::isa<mlir::FloatType>(typeOf(value).getElementType());
}

/// The ops that compute `ys` from `held`, each after what it uses. Nothing before a value of `held`
/// is among them.
llvm::SmallVector<mlir::Operation *> opsBetween(const llvm::DenseSet<mlir::Value> &held,
                                                llvm::ArrayRef<mlir::Value> ys);

/// Builds the derivatives of the sum of y's elements by each of `xs` at the builder's place, which
/// comes after `ops`. These are the ops that compute y, each after what it uses. A gradient is null
/// if y does not depend on the x. If an op has no rule but can be decomposed, the ops that it
/// becomes take its place and are differentiated. Calls `goesOn` after the rule of each op, and
/// stops when it returns false. Returns the first op whose derivative is not known.
std::optional<NotDifferentiable> differentiate(
    Builder &builder, llvm::ArrayRef<mlir::Operation *> ops, mlir::Value y,
    llvm::ArrayRef<mlir::Value> xs, llvm::SmallVectorImpl<mlir::Value> &gradients,
    llvm::function_ref<bool()> goesOn = [] { return true; }, const GradientChoices &choices = {});

} // namespace dlc::dl

#endif // DLC_IR_DL_GRADIENT_DIFFERENTIATE_H
