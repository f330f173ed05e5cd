//===- AttentionPlans.h - The plans of attention ---------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_SCHEDULE_CUDA_ATTENTIONPLANS_H
#define DLC_CODEGEN_SCHEDULE_CUDA_ATTENTIONPLANS_H

#include "codegen/cuda/schedule/Schedules.h"
#include "codegen/cuda/schedule/variants/Variants.h"

namespace dlc::codegen {

/// Plans of `schedule` for few queries, where there may be many.
llvm::SmallVector<PlannedPart> partsOfAttention(PlanQuestion &question, const Schedule &schedule);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_SCHEDULE_CUDA_ATTENTIONPLANS_H
