//===- ChainChoice.h - Which launches one launch takes the place of -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small kernel is over before the GPU has begun the next one, and most multiprocessors have
// nothing to do. A chain runs several such kernels, its stages, in one launch of one block, or of
// the blocks of one cluster, which meet before each stage. The values that a stage writes go to
// memory as before, so that buffers live as long, and the single launches stay for the GPUs and the
// tools that want them.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_CHAIN_CHAINCHOICE_H
#define DLC_CODEGEN_CUDA_SCHEDULE_CHAIN_CHAINCHOICE_H

#include "ir/dl/base/DLTypes.h"
#include "ir/dlx/DLXOps.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace dlc::codegen {

/// The schedule of the plans of chains: `blocks` of a cluster, or one.
inline constexpr llvm::StringLiteral kChainSchedule = "chain";

/// When chains are formed: where they are estimated to be faster, wherever they can be, or not at
/// all.
enum class ChainUse { asEstimated, always, never };

/// Gives launches of `target`, whose kernels have their plans, the chains that take their place. A
/// launch is in one chain at most.
void formChains(mlir::ModuleOp target, llvm::ArrayRef<dl::Range> symbols, ChainUse use);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_CHAIN_CHAINCHOICE_H
