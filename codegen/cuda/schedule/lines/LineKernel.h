//===- LineKernel.h - A line of a tensor in a block, or in a thread -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_LINES_LINEKERNEL_H
#define DLC_CODEGEN_CUDA_SCHEDULE_LINES_LINEKERNEL_H

#include "codegen/cuda/schedule/PlanQuestion.h"
#include "codegen/plan/SortKey.h"

namespace dlc::codegen {

/// What the schedules of line ops share: the elements of the line at hand, by their places.
class LineKernel {
protected:
  explicit LineKernel(KernelBuilder &k)
      : k(k), op(lineOpOf(k.body.getKernel())), work(op.getLineWork()),
        x(llvm::cast<mlir::RankedTensorType>(op->getOperand(0).getType())),
        y(llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType())) {}

  /// How many lines there are.
  mlir::AffineExpr lines() const;
  /// Whether that many lines, or an unknown number, stand side by side in memory.
  bool haveManyNeighbours(int64_t many) const;
  /// The line of this number is the one at hand.
  void bindLine(mlir::Value number);
  /// The element at `place`, as it is stored.
  mlir::Value load(mlir::Value place);
  void store(mlir::Value place, mlir::Value stored);
  mlir::Value least(mlir::Value a, mlir::Value b);
  mlir::Value subtract(mlir::Value a, mlir::Value b);
  mlir::Value is(mlir::arith::CmpIPredicate predicate, mlir::Value a, mlir::Value b);

  KernelBuilder &k;
  LineOpInterface op;
  LineWork work;
  mlir::RankedTensorType x, y;
  llvm::SmallVector<mlir::AffineExpr> indices; // of the line at hand, and `along`
  mlir::AffineExpr along;
};

/// The plan of `schedule` where the kernel puts lines in order, sums them and so on, as `work`
/// says; null for any other. Their time is that of `passes` over the bytes of the lines.
dlx::PlanAttr planOfLines(PlanQuestion &question, LineWork::Kind work, llvm::StringRef schedule,
                          double passes);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_LINES_LINEKERNEL_H
