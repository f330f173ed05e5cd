//===- PlanParts.h - The kernels that one kernel becomes by its plans ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file has weights once: a plan that needs them in another order than the plan for all shapes has
// no part.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_VARIANTS_PLANPARTS_H
#define DLC_CODEGEN_CUDA_SCHEDULE_VARIANTS_PLANPARTS_H

#include "codegen/cuda/schedule/PlanQuestion.h"
#include "codegen/cuda/schedule/variants/ShapeSamples.h"
#include "codegen/cuda/schedule/variants/Variants.h"

namespace dlc::codegen {

/// Returns `parts` with the plans that planOf(question about the part, number of the plan) gives,
/// without those for which it gives null.
llvm::SmallVector<PlannedPart>
planned(PlanQuestion &question, llvm::ArrayRef<ServedPart> parts,
        llvm::function_ref<dlx::PlanAttr(PlanQuestion &part, size_t plan)> planOf);

/// The parts of the shapes of a reduction or of a recurrence for which another plan of the table
/// than `plan`, the one for all of its shapes, is estimated to be faster: at most four. Parts are
/// told apart by the number of rows or by the terms of one.
llvm::SmallVector<PlannedPart> partsByPlan(PlanQuestion &question, dlx::PlanAttr plan);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_VARIANTS_PLANPARTS_H
