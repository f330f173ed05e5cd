//===- ContractionParts.h - The kernels that one matrix product gets -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the sides of a product are symbolic, its shapes are sampled, the estimates of all tiles
// compared, and the shapes divided among a few of them (variants/PlanPartition.h).
//===----------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_SCHEDULE_CUDA_CONTRACTIONPARTS_H
#define DLC_CODEGEN_SCHEDULE_CUDA_CONTRACTIONPARTS_H

#include "codegen/cuda/schedule/contraction/ContractionChoice.h"
#include "codegen/cuda/schedule/variants/ShapePart.h"
#include "ir/dlx/DLXOps.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace dlc::codegen {

/// A part of the shapes, and the tile that suits it. Without a tile the schedule chooses for the
/// part as it does for all shapes: few rows get scheduleRows, which has no tile.
struct ProductPart {
  ShapePart shapes;
  std::optional<ProductTile> tile;
};

/// Shapes for which wgmma is estimated to be faster than anything else on a Hopper (nullopt: all),
/// and the tile, or none where the schedule is to choose.
struct WgmmaPart {
  std::optional<ShapePart> shapes;
  std::optional<WgmmaTile> tile;
};

/// The parts of the shapes of `kernel`, a contraction, for which another kernel than the one for
/// all shapes pays: at most four. Leaves nothing in `module`.
llvm::SmallVector<ProductPart> partsOfProduct(dlx::KernelOp kernel, mlir::gpu::GPUModuleOp module,
                                              llvm::ArrayRef<dl::Range> symbols, bool allowsTf32);
/// The same for kernels of wgmma alone: at most three. `always`: for all shapes, whatever the
/// estimates say.
llvm::SmallVector<WgmmaPart> wgmmaPartsOfProduct(dlx::KernelOp kernel,
                                                 mlir::gpu::GPUModuleOp module,
                                                 llvm::ArrayRef<dl::Range> symbols, bool allowsTf32,
                                                 bool always);
/// The shapes in which the product has so few rows that no tile is filled (scheduleRows), where not
/// all of them have.
std::optional<ShapePart> partOfFewRows(dlx::KernelOp kernel, mlir::gpu::GPUModuleOp module,
                                       llvm::ArrayRef<dl::Range> symbols);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_SCHEDULE_CUDA_CONTRACTIONPARTS_H
