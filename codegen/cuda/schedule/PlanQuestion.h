//===- PlanQuestion.h - A kernel as schedules are asked about it --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_PLANQUESTION_H
#define DLC_CODEGEN_CUDA_SCHEDULE_PLANQUESTION_H

#include "codegen/cuda/schedule/KernelBuilder.h"
#include "codegen/cuda/schedule/contraction/Contraction.h"

#include <optional>

namespace dlc::codegen {

/// A kernel, for all of its shapes or a part of them, for which plans are compared. It gets no
/// function.
class PlanQuestion {
public:
  PlanQuestion(dlx::KernelOp kernel, llvm::ArrayRef<dl::Range> symbols,
               const std::optional<ShapePart> &part = {});
  /// The same kernel for a part of its shapes.
  PlanQuestion(PlanQuestion &whole, const ShapePart &part);
  /// The same kernel where the symbols have these ranges.
  PlanQuestion(PlanQuestion &whole, llvm::ArrayRef<dl::Range> symbols);
  PlanQuestion(const PlanQuestion &) = delete;
  PlanQuestion &operator=(const PlanQuestion &) = delete;

  dlx::KernelOp kernel() const { return k.body.getKernel(); }
  dlx::KernelKind kind() const { return kernel().getKind(); }
  /// The sides of the product of two matrices that the kernel's loops are; null where they are
  /// something else.
  Contraction *product();
  bool hasSeveralResults() const { return k.body.getResults().size() > 1; }

  /// Nanoseconds of `clocks` of the GPU.
  double nanoseconds(double clocks) { return clocks / k.gpu().gigahertz; }
  /// Nanoseconds that the kernel's bytes take if they pass so many times at this share of the rate
  /// of memory, or its arithmetic if that takes longer, at the usual sizes of the symbols. Without
  /// the launch.
  double nanosecondsOnce(double share, double passes = 1);
  /// The value of `extent` at the usual sizes of the symbols, else the largest.
  double usual(mlir::AffineExpr extent);
  double usualOf(const Side &side);
  /// Times measured over times estimated by rates alone, of schedules that multiply without tensor
  /// cores; those that were not measured are taken to be as far off as those that were.
  double timeFactor();
  /// Evaluations of the kernel's loops: of all dims of the result, and of the reduction.
  double results();
  double terms();

  KernelBuilder k;
  /// All products of the kernel let their factors be rounded to tf32.
  const bool allowsTf32;

private:
  llvm::SmallVector<dl::Range> symbols; // of the module
  bool hasLookedForProduct = false;
  std::optional<Contraction> sides;
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_PLANQUESTION_H
