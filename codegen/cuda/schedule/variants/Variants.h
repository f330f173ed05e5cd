//===- Variants.h - Kernels that take another's place -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_VARIANTS_VARIANTS_H
#define DLC_CODEGEN_CUDA_SCHEDULE_VARIANTS_VARIANTS_H

#include "codegen/cuda/schedule/variants/ShapePart.h"
#include "ir/dlx/DLXOps.h"

namespace dlc::codegen {

/// A plan for a part of the shapes of a kernel; without one, for all of them on one GPU.
struct PlannedPart {
  std::optional<ShapePart> shapes;
  dlx::PlanAttr plan;
};

/// A copy of `kernel`, after it and its variants, for a part of the shapes (nullopt: all) or for
/// one GPU (90 for sm_90a; 0: all): "linear_for9to64", "linear_sm_90a".
dlx::KernelOp addVariant(dlx::KernelOp kernel, const std::optional<ShapePart> &shapes, int64_t gpu);
/// Makes `other`, now that it has its plan, the last of the variants of `kernel`.
void recordVariant(dlx::KernelOp kernel, dlx::KernelOp other,
                   const std::optional<ShapePart> &shapes, int64_t gpu);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_VARIANTS_VARIANTS_H
