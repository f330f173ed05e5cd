//===- ContractionParts.h - The kernels that one matrix product gets ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the sides of a product are symbolic, its shapes are sampled, the estimates of all tiles
// compared, and the shapes divided among a few of them (variants/PlanPartition.h).
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_CONTRACTIONPARTS_H
#define DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_CONTRACTIONPARTS_H

#include "codegen/cuda/schedule/PlanQuestion.h"
#include "codegen/cuda/schedule/variants/Variants.h"

namespace dlc::codegen {

/// The parts of the shapes of a contraction for which another plan than the one for all shapes
/// pays: at most five.
llvm::SmallVector<PlannedPart> partsOfProduct(PlanQuestion &question);
/// The same for plans of wgmma, which pay on a Hopper: at most three. `always`: one for all shapes,
/// whatever the estimates say.
llvm::SmallVector<PlannedPart> wgmmaPartsOfProduct(PlanQuestion &question, bool always);
/// The shapes in which the product has so few rows that no tile is filled (kRowsSchedule), where
/// not all of them have.
std::optional<ShapePart> partOfFewRows(PlanQuestion &question);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_CONTRACTIONPARTS_H
