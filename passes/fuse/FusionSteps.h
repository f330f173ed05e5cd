//===- FusionSteps.h - The steps of form-fusions ------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_FUSE_FUSIONSTEPS_H
#define DLC_PASSES_FUSE_FUSIONSTEPS_H

#include "ir/interfaces/ScheduleOracle.h"
#include "passes/fuse/FusionPlan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace dlc {

/// Vertical fusion: groups the ops of `block`, each with the groups of its producers where the
/// rules of ir/analysis/FusionLegality.h allow it, and says in `edges` why elsewhere. Numbers,
/// repetitions, what unpacks weights, and moves that only moves read are copied for each of their
/// readers first. It decides which dl.cat are in place. With `isSeparate` each op is a group.
std::vector<FusionGroup> fuseProducers(mlir::Block &block, bool isSeparate,
                                       const ScheduleOracle &oracle, FusionEdges &edges);

/// Decides which states of `function` are updated where they lie, and says of each other one that
/// is an update why not.
void updateStates(FusionPlan &plan, mlir::func::FuncOp function);

/// Pooling epilogues: a pooling joins the convolution whose results it alone reads, where the two
/// are estimated to take less time so than by a kernel each; else `edges` say so. Returns how many
/// did.
unsigned joinPoolings(FusionPlan &plan, FusionEdges &edges, const ScheduleOracle &oracle,
                      mlir::ModuleOp target);

/// Multi-output fusion: a map joins what it reads at its own index, a map or a product, and both
/// results are stored where others read the first one too. Returns how many did.
unsigned joinReaders(FusionPlan &plan, const ScheduleOracle &oracle);

/// Recomputation: each reader of what a map computes does so itself, and the map has no kernel,
/// where all of them can and this is estimated to be faster by clearly more than estimates are
/// wrong. What `edges` say of the map is then said of its copies. Returns how many maps have no
/// kernel so.
unsigned recomputeForReaders(FusionPlan &plan, FusionEdges &edges, const ScheduleOracle &oracle,
                             llvm::ArrayRef<dl::Range> symbols);

/// Row fusion: groups that reduce the same rows, and maps of these, share a kernel where it is
/// estimated to take less time than one for each; else `edges` say why not. Returns how many joined
/// another.
unsigned joinRows(FusionPlan &plan, FusionEdges &edges, const ScheduleOracle &oracle,
                  llvm::ArrayRef<dl::Range> symbols);

/// Recurrences side by side: those of one shape that do not wait for each other, the directions of
/// a layer, share a kernel where the oracle likes it. Returns how many joined another.
unsigned joinRecurrences(FusionPlan &plan, const ScheduleOracle &oracle);

/// Waves: a layer of recurrences whose gates are a product of what the layer below gives shares a
/// kernel with both where the oracle likes it; else `edges` says why not. Returns how many joined
/// another.
unsigned joinLayers(FusionPlan &plan, FusionEdges &edges, const ScheduleOracle &oracle);

/// Why kernels cannot write all tensors of `cat` where they lie in its result; nullopt where they
/// can: all other ops that read the tensors can read them there, all of them lie as the result
/// does, and parts and rows begin at multiples of `alignment` bytes.
std::optional<dl::NotFused> whyNotWriteParts(dl::CatOp cat, int64_t alignment);

/// In-place concatenation: no kernel copies the tensors of a dl.cat that is in place. Returns how
/// many there are.
unsigned joinInPlace(FusionPlan &plan);

/// Replaces the ops of `block` by a dl.fusion for each kernel, in the order of the plan. Returns
/// how many there are.
unsigned buildFusions(mlir::Block &block, const FusionPlan &plan, const FusionEdges &edges);

} // namespace dlc

#endif // DLC_PASSES_FUSE_FUSIONSTEPS_H
