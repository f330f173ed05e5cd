//===- Accumulators.h - What a stage carries through its loops and across threads ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One value for add, max and min; for argmax the best value and its position.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_REDUCE_ACCUMULATORS_H
#define DLC_CODEGEN_CUDA_SCHEDULE_REDUCE_ACCUMULATORS_H

#include "codegen/cuda/schedule/KernelBuilder.h"

namespace dlc::codegen {

class Accumulator {
public:
  Accumulator(KernelBuilder &k, unsigned stage);

  bool hasPosition() const { return givesPosition(combiner); }
  llvm::SmallVector<mlir::Value> initial();
  /// Names of the carried values.
  llvm::SmallVector<llvm::StringRef> roles() const;
  /// The carried values after one more term, at the loop indices `parallel` and `reduction`.
  /// `position` counts terms in row-major order; only argmax looks at it.
  llvm::SmallVector<mlir::Value> step(mlir::ValueRange carried, mlir::Value position,
                                      llvm::ArrayRef<mlir::AffineExpr> parallel,
                                      llvm::ArrayRef<mlir::AffineExpr> reduction,
                                      mlir::ValueRange finished);
  /// The term that step() combined last; none of a product.
  mlir::Value lastTerm() const { return term; }
  /// Two partial accumulators as one.
  llvm::SmallVector<mlir::Value> combineWith(mlir::ValueRange a, mlir::ValueRange b);
  /// What the lanes of a warp hold combined in groups of `lanes` neighbours (a power of two); every
  /// lane gets the result.
  llvm::SmallVector<mlir::Value> acrossLanes(mlir::ValueRange carried, int64_t lanes);
  /// The same over the `warps` warps of a block, through shared memory; every thread gets the
  /// result.
  llvm::SmallVector<mlir::Value> acrossWarps(mlir::ValueRange carried, int64_t warps,
                                             mlir::Value thread);
  /// The finished accumulator as the root's bodies take it.
  mlir::Value finish(mlir::ValueRange carried) { return hasPosition() ? carried[1] : carried[0]; }

private:
  mlir::Value shuffle(mlir::Value value, mlir::Value mask);

  KernelBuilder &k;
  unsigned stage;
  Combiner combiner;
  mlir::Type type;
  ScalarKind kind;
  mlir::Value term;
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_REDUCE_ACCUMULATORS_H
