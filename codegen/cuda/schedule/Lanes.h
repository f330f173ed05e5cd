//===- Lanes.h - Neighbouring results as one vector ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_LANES_H
#define DLC_CODEGEN_CUDA_SCHEDULE_LANES_H

#include "codegen/cuda/schedule/KernelBuilder.h"

namespace dlc::codegen {

/// So many neighbours along a loop variable, whose first one is at hand.
struct LaneRange {
  /// `variable`, over `extent`, is bound by bindFlat, and has the value `first`.
  LaneRange(KernelBuilder &k, int64_t width, mlir::AffineExpr variable, mlir::AffineExpr extent,
            mlir::Value first);

  int64_t width;
  mlir::AffineExpr variable, start; // start: the variable's first position
  mlir::Value first;
};

/// True where the reads or writes at `offset` of `width` neighbours along `variable` are one
/// access, or one element for all of them: the first position is a multiple of the width.
bool isOneAccess(KernelView &k, mlir::AffineExpr offset, mlir::AffineExpr variable, int64_t width);

/// The loop body(lane, carried) over the range, unrolled fully, with `variable` bound to each
/// position. Elements that all lanes read are loaded once before the loop, neighbours as one
/// vector.
mlir::ValueRange overLanes(KernelBuilder &k, const LaneRange &range, mlir::ValueRange inits,
                           llvm::ArrayRef<llvm::StringRef> roles, KernelBuilder::Body body);

/// Stores `width` elements of each result that are neighbours along `variable` (a loop variable
/// over `extent`), from the position `first` on, with one access. `emit(lane)` gives the selected
/// result at `indices`, which name `variable`, in compute type. Reads are as in overLanes. Stores
/// only where `where` is true, if there is one; the reads do not wait for it.
void storeLanes(KernelBuilder &k, int64_t width, mlir::AffineExpr variable, mlir::AffineExpr extent,
                mlir::Value first, llvm::ArrayRef<mlir::AffineExpr> indices,
                llvm::function_ref<mlir::Value(mlir::Value lane)> emit, mlir::Value where = {});

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_LANES_H
