//===- ShapeSamples.h - Shapes at which plans are compared --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_VARIANTS_SHAPESAMPLES_H
#define DLC_CODEGEN_CUDA_SCHEDULE_VARIANTS_SHAPESAMPLES_H

#include "codegen/cuda/schedule/variants/PlanPartition.h"
#include "codegen/cuda/schedule/variants/ShapePart.h"

namespace dlc::codegen {

/// A part of the shapes (nullopt: all), and the number of the plan that serves it.
struct ServedPart {
  std::optional<ShapePart> shapes;
  size_t plan;
};

/// Returns all shapes with the plan whose cost is least; nothing if that is plan 0.
llvm::SmallVector<ServedPart> undivided(llvm::ArrayRef<double> costs);

/// The ones of `extents` whose values may divide the shapes, each once: they grow with the symbols.
llvm::SmallVector<mlir::AffineExpr> dividersOf(llvm::ArrayRef<mlir::AffineExpr> extents,
                                               llvm::ArrayRef<dl::Range> symbols);

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

  /// Divides the shapes by the values of one of `extents` (dividersOf): into at most `most` parts
  /// from end to end of its range, or from `least` on, such that the loss is least. costsAt(sample)
  /// is what the plans take, plan 0 the one for all shapes (partitionPlans). Returns the parts that
  /// another plan serves.
  llvm::SmallVector<ServedPart>
  divide(llvm::function_ref<std::vector<double>(size_t sample)> costsAt,
         llvm::ArrayRef<mlir::AffineExpr> extents, size_t most,
         std::optional<int64_t> least = {}) const;

private:
  /// The extent, and all parts; no extent if there is nothing to divide.
  std::pair<mlir::AffineExpr, std::vector<PlanPart>>
  partition(llvm::ArrayRef<std::vector<double>> costs, llvm::ArrayRef<mlir::AffineExpr> extents,
            size_t most, std::optional<int64_t> least) const;

  llvm::SmallVector<dl::Range> ranges;
  llvm::SmallVector<llvm::SmallVector<dl::Range>> shapes;
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_VARIANTS_SHAPESAMPLES_H
