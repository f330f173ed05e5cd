//===- Lanes.h - Neighbouring results as one vector ------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_SCHEDULE_CUDA_LANES_H
#define DLC_CODEGEN_SCHEDULE_CUDA_LANES_H

#include "codegen/cuda/schedule/KernelBuilder.h"

namespace dlc::codegen {

/// Stores `width` elements of each result that are neighbours along `variable` (a loop variable over `extent`), from the position
/// `first` on, with one access. `emit(lane)` gives the selected result at `indices`, which name `variable`, in compute type. What its
/// reads have in common is loaded once, what lies together as one vector.
void storeLanes(KernelBuilder &k, int64_t width, mlir::AffineExpr variable, mlir::AffineExpr extent,
                mlir::Value first, llvm::ArrayRef<mlir::AffineExpr> indices,
                llvm::function_ref<mlir::Value(mlir::Value lane)> emit);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_SCHEDULE_CUDA_LANES_H
