//===- ComputedOperand.h - A second operand that is computed as it is read ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights in few bits (ir/analysis/UnpackedWeights.h): what a product multiplies with is made of
// bytes, scales and zero points.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_SCHEDULE_CONTRACTION_COMPUTEDOPERAND_H
#define DLC_CODEGEN_CPU_SCHEDULE_CONTRACTION_COMPUTEDOPERAND_H

#include "codegen/cpu/schedule/contraction/PanelContraction.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace dlc::codegen {

/// The inputs that such an operand is computed from, each with the indices that it is read at.
class ComputedOperand {
public:
  /// `sum` is the variable of the innermost reduction loop.
  ComputedOperand(IndexMath &math, mlir::AffineExpr sum) : math(math), sum(sum) {}

  /// Adds the inputs that the value of `tensor` at `indices` is computed from; false unless they
  /// form a tree of maps.
  bool visit(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> indices);
  /// Nothing else of the kernel, whose product is `root`, reads the inputs.
  bool isAlone(mlir::Operation *root) const;
  /// The inputs that have a dim for the column `variable`, in panels along it; nullopt where one is
  /// read across columns, and where none has any. `sums` are the variables of the reduction loops.
  std::optional<llvm::SmallVector<PackedOperand>> pack(mlir::AffineExpr variable,
                                                       llvm::ArrayRef<mlir::AffineExpr> sums) const;
  /// The halves of the sum, which has `steps`; nullopt where it has none.
  std::optional<HalvedSum> halves(mlir::AffineExpr steps) const;

private:
  using Indices = llvm::SmallVector<mlir::AffineExpr>;

  IndexMath &math;
  mlir::AffineExpr sum;
  llvm::MapVector<mlir::BlockArgument, llvm::SmallVector<Indices>> reads;
  llvm::SmallPtrSet<mlir::Operation *, 16> ops;
  llvm::SmallVector<dl::CatOp> cats; // along `sum`
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CPU_SCHEDULE_CONTRACTION_COMPUTEDOPERAND_H
