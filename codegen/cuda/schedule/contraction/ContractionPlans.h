//===- ContractionPlans.h - The plans of matrix products ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_CONTRACTIONPLANS_H
#define DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_CONTRACTIONPLANS_H

#include "codegen/cuda/schedule/Schedules.h"
#include "codegen/cuda/schedule/contraction/ContractionChoice.h"

namespace dlc::codegen {

/// The filters of a convolution of floats in the order in which it reads the image; the constant
/// matrix of a product of few rows along k. The same whatever the plan is: all variants of a kernel
/// share the order of its operands. They are empty where the kernel is no contraction.
Requirements operandsOfProduct(PlanQuestion &question, dlx::PlanAttr plan);

/// The plan of kTensorCoresSchedule or kFloatUnitsSchedule with `tile`, or with the one that is
/// estimated to be the fastest; null where that schedule cannot run the kernel.
dlx::PlanAttr planOfTiles(PlanQuestion &question, ProductUnit unit,
                          const std::optional<ProductTile> &tile);
/// The same of kSparseTensorCoresSchedule.
dlx::PlanAttr planOfSparseTiles(PlanQuestion &question, const std::optional<ProductTile> &tile);
/// The same of kSparseWgmmaSchedule.
dlx::PlanAttr planOfSparseWgmma(PlanQuestion &question, const std::optional<SparseWgmmaTile> &tile);
/// The same of kWgmmaSchedule.
dlx::PlanAttr planOfWgmma(PlanQuestion &question, const std::optional<WgmmaTile> &tile);
/// The tile that a plan of kWgmmaSchedule has.
WgmmaTile wgmmaTileOf(dlx::PlanAttr plan);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_CONTRACTIONPLANS_H
