//===- NarrowingRules.h - Which ops of a model of f32 may run in 16 bits ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rule of each op's record (`precision` in ir/dl/base/DLBase.td), applied to a graph in program
// order.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_PRECISION_NARROWINGRULES_H
#define DLC_PASSES_PRECISION_NARROWINGRULES_H

#include "ir/analysis/FusionLegality.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/DenseSet.h"

namespace dlc {

/// An attribute of an op that was decided on before convert-precision: it stays in f32.
inline constexpr llvm::StringLiteral kKeepF32 = "dl.keep_f32";

class NarrowingRules {
public:
  explicit NarrowingRules(mlir::FloatType narrow) : narrow(narrow) {}

  static bool isWide(mlir::Value value) { return mlir::getElementTypeOrSelf(value).isF32(); }
  /// Whether the op is a product, convolution or recurrence that would read operands in 16 bits.
  bool isNarrowProduct(mlir::Operation *op);
  /// Whether the op would run in 16 bits, as far as the ops before it are noted.
  bool runsNarrow(mlir::Operation *op);
  /// Notes a value of f32 that an op in 16 bits, or a cast from these, has made: reading the narrow
  /// one loses nothing.
  void noteNarrow(mlir::Value value) { narrowBorn.insert(value); }
  /// An argument of an attention's body counts as what the op reads.
  bool isNarrowBorn(mlir::Value value) const;
  /// To be called before `op` is erased.
  void forget(mlir::Operation *op) {
    weights.forget(op);
    for (mlir::Value result : op->getResults())
      narrowBorn.erase(result);
  }
  bool dependsOnWeightsAlone(mlir::Value value) { return weights.dependsOnWeightsAlone(value); }

private:
  bool computesActivation(mlir::Operation *op);
  bool mayFollow(mlir::Operation *op);
  bool fits(const llvm::APFloat &number) const;
  bool fits(mlir::Value number) const;

  mlir::FloatType narrow;
  WeightDependence weights;
  llvm::DenseSet<mlir::Value> narrowBorn;
};

/// The dtype of 16 bits that an option of a pass over `op` names; null, after an error, where it
/// names none.
mlir::FloatType narrowTypeNamed(mlir::Operation *op, llvm::StringRef name);

} // namespace dlc

#endif // DLC_PASSES_PRECISION_NARROWINGRULES_H
