//===- Schedules.h - One schedule for each kind of kernel ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each fills a kernel whose function has begun and finishes it. A hand-scheduled kind (tensor cores) emits one dlk.call
// instead of loops, with the prologue and epilogue as regions.
//===----------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_SCHEDULE_CUDA_SCHEDULES_H
#define DLC_CODEGEN_SCHEDULE_CUDA_SCHEDULES_H

#include "codegen/cuda/schedule/KernelBuilder.h"
#include "codegen/cuda/schedule/contraction/ContractionChoice.h"
#include "codegen/plan/PackOperand.h"
#include "ir/dl/composite/AttentionParts.h"

namespace dlc::codegen {

/// Gives a kernel its last input, of `type`: memory that each of its launches finds zeroed.
void addWorkspace(dlx::KernelOp kernel, mlir::RankedTensorType type);
/// `expr` at the usual sizes of the symbols, where they have some, else in the geometric middle of its range; at least 1, nullopt
/// where unbounded.
std::optional<int64_t> usualOrMiddle(mlir::AffineExpr expr, llvm::ArrayRef<dl::Range> symbols);

/// Threads of a block where nothing else decides.
inline constexpr int64_t kThreads = 256;

/// A flat grid over the result; several elements a thread where they are neighbours in memory.
void scheduleMap(KernelBuilder &k);
/// One thread for each element of the result runs all the root's loops: windows, groups of many channels, reductions whose
/// results are neighbours where their terms are not.
void scheduleDirect(KernelBuilder &k);
/// Strips of neighbouring results for each thread of a convolution whose groups are a channel or a few. False, and nothing
/// done, where the loops are something else.
bool scheduleDepthwise(KernelBuilder &k);
/// One warp or one block for each row (a thread, where rows stand across memory); several stages in one kernel.
void scheduleReduce(KernelBuilder &k);
/// True where the kernel has few long rows, each of which many blocks share: see ReduceChoice.h.
bool splitsRows(dlx::KernelOp kernel, llvm::ArrayRef<dl::Range> symbols);
void addReduceWorkspace(dlx::KernelOp kernel, llvm::ArrayRef<dl::Range> symbols);
/// Such a kernel in one cooperative launch. It has its workspace.
void scheduleSplitReduce(KernelBuilder &k, llvm::ArrayRef<dl::Range> symbols);
/// Tiles of the result through shared memory; on tensor cores in f16 and bf16, and in f32 where its products may be of
/// tf32. Falls back to scheduleReduce for few rows, and to
/// scheduleDepthwise or scheduleDirect where the loops are no matrix product.
///
/// Where the product is computed in tiles these are `tile`, or what is estimated to be the fastest.
void scheduleContraction(KernelBuilder &k, bool allowsTf32,
                         const std::optional<ProductTile> &tile = {});
/// Attention without the scores in memory: in f16 and bf16 on tensor cores, in f32 too where its products may be of tf32.
/// `parts` are of the kernel's body. Gives the number of rows of queries that share a head's keys.
mlir::AffineExpr scheduleAttention(KernelBuilder &k, const dl::AttentionParts &parts,
                                   bool allowsTf32);
/// The kernel for sm_90a alone that takes the place of one by scheduleContraction: see scheduleWgmma.
bool scheduleHopperContraction(KernelBuilder &k, bool allowsTf32,
                               const std::optional<WgmmaTile> &tile);
/// The filters of a convolution of floats in the order in which it reads the image; the constant
/// matrix of a product of few rows along k. Leaves nothing in `module`.
llvm::SmallVector<PackedOperand>
contractionOperandsToPackForCuda(dlx::KernelOp kernel, mlir::gpu::GPUModuleOp module,
                                 llvm::ArrayRef<dl::Range> symbols);
/// A block for each row of the batch, from its first step to its last. Fails where the states of a row do not fit a block.
llvm::LogicalResult scheduleRecurrent(KernelBuilder &k);
/// True where blocks that share the hidden units of a recurrence beat a block for each row: see RecurrentChoice.h.
bool sharesUnits(dlx::KernelOp kernel, llvm::ArrayRef<dl::Range> symbols);
void addRecurrentWorkspace(dlx::KernelOp kernel);
/// All steps in one cooperative launch. The kernel has its workspace.
void scheduleSharedRecurrent(KernelBuilder &k, llvm::ArrayRef<dl::Range> symbols);
/// A block for each line that is put in order, through shared memory and, where lines are long, that of the device.
void scheduleOrder(KernelBuilder &k);
/// The memory of the device that it needs, if any: its last inputs.
void addOrderWorkspace(dlx::KernelOp kernel, llvm::ArrayRef<dl::Range> symbols);
/// Running sums: a block for each line, or a thread.
void scheduleSum(KernelBuilder &k);
/// Updates of lines: a block for each line, or a thread.
void scheduleScatter(KernelBuilder &k);
/// Boxes of lines that overlap none before them: a block for each line.
void scheduleSuppress(KernelBuilder &k);
/// The weights of a recurrence as scheduleRecurrent reads them.
llvm::SmallVector<PackedOperand> recurrentOperandsToPackForCuda(dlx::KernelOp kernel);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_SCHEDULE_CUDA_SCHEDULES_H
