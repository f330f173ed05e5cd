//===- ShapeSamples.h - Shapes at which plans are compared --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_VARIANTS_SHAPESAMPLES_H
#define DLC_CODEGEN_CUDA_SCHEDULE_VARIANTS_SHAPESAMPLES_H

#include "codegen/cuda/schedule/variants/PlanPartition.h"
#include "codegen/cuda/schedule/variants/ShapePart.h"

namespace dlc::codegen {

/// Some of the shapes that a kernel may have.
class ShapeSamples {
public:
  /// Shapes in which the symbols of `extents` have some of the values in their `ranges`, at most
  /// `largest`, small ones more densely; other symbols keep their ranges. There are about `wanted`,
  /// as many values for each symbol as that allows; one where the extents are constant; none where
  /// the symbols are more than three or not all are among `ranges`.
  ShapeSamples(llvm::ArrayRef<mlir::AffineExpr> extents, llvm::ArrayRef<dl::Range> ranges,
               size_t wanted, int64_t largest);

  size_t size() const { return shapes.size(); }
  /// The ranges of the symbols in one shape.
  llvm::ArrayRef<dl::Range> symbolsAt(size_t sample) const { return shapes[sample]; }
  /// The value of `extent` there; the largest number where it overflows.
  int64_t valueAt(mlir::AffineExpr extent, size_t sample) const;

  /// Divides the shapes by the values of one of `extents`, each of which grows with the symbols:
  /// which one, and at most `most` parts from end to end of its range, from `least` on (nullopt:
  /// the whole of it), such that the loss is least. costs[sample][plan] is what the plans take,
  /// plan 0 the one for all shapes (partitionPlans). No extent where there is nothing to divide.
  std::pair<mlir::AffineExpr, std::vector<PlanPart>>
  divide(llvm::ArrayRef<std::vector<double>> costs, llvm::ArrayRef<mlir::AffineExpr> extents,
         std::optional<int64_t> least, size_t most) const;

private:
  llvm::SmallVector<dl::Range> ranges;
  llvm::SmallVector<llvm::SmallVector<dl::Range>> shapes;
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_VARIANTS_SHAPESAMPLES_H
