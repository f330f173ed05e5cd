//===- AttentionPlans.h - The plans of attention ------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_ATTENTION_ATTENTIONPLANS_H
#define DLC_CODEGEN_CUDA_SCHEDULE_ATTENTION_ATTENTIONPLANS_H

#include "codegen/cuda/schedule/Schedules.h"
#include "codegen/cuda/schedule/attention/AttentionChoice.h"
#include "codegen/cuda/schedule/variants/Variants.h"

namespace dlc::codegen {

/// The plan of kAttentionTensorCoresSchedule or kAttentionFloatUnitsSchedule with `tile`, or with
/// the one that suits the usual sizes of the symbols; null where that schedule or that tile cannot
/// run the kernel.
dlx::PlanAttr planOfAttention(PlanQuestion &question, ProductUnit unit,
                              const std::optional<AttentionTile> &tile);
/// The tile of such a plan.
AttentionTile tileOfAttention(dlx::PlanAttr plan);

/// The parts of the shapes of an attention for which another tile than that of `plan`, the one for
/// all of its shapes, is estimated to be faster: at most four.
llvm::SmallVector<PlannedPart> partsOfAttention(PlanQuestion &question, dlx::PlanAttr plan);

/// The parts of the shapes of an attention for which wgmma is estimated to be faster than any other
/// kernel on an H100; an entry without a part serves all shapes. `always`: wherever it can.
llvm::SmallVector<PlannedPart> wgmmaPartsOfAttention(PlanQuestion &question, bool always);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_ATTENTION_ATTENTIONPLANS_H
