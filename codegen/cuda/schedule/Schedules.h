//===- Schedules.h - The records of all schedules -----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A hand-scheduled kind (tensor cores) emits one dlk.call instead of loops, with the prologue and
// epilogue as regions.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_SCHEDULES_H
#define DLC_CODEGEN_CUDA_SCHEDULE_SCHEDULES_H

#include "codegen/cuda/schedule/Schedule.h"

namespace dlc::codegen {

/// Threads of a block where nothing else decides.
inline constexpr int64_t kThreads = 256;

/// A flat grid over the result; several elements a thread where they are neighbours in memory.
extern const Schedule kMapSchedule;
/// The same over joined tensors, where each vector lies in one of them.
extern const Schedule kJoinedSchedule;
/// One thread for each element of the result runs all the root's loops: windows, groups of many
/// channels, reductions whose results are neighbours where their terms are not.
extern const Schedule kDirectSchedule;

/// One warp or one block for each row (a thread, where rows stand across memory); several stages in
/// one kernel.
extern const Schedule kReduceSchedule;
/// Few long rows, each of which many blocks share, in one cooperative launch: ReduceChoice.h.
extern const Schedule kSplitReduceSchedule;

/// Few rows times a matrix that is read once: RowsChoice.h.
extern const Schedule kRowsSchedule;
/// Tiles through a ring of stages in shared memory, multiplied by tensor cores (f16, bf16, bytes,
/// and f32 where its products may be of tf32) or by the units of floats: ContractionChoice.h.
extern const Schedule kTensorCoresSchedule, kFloatUnitsSchedule;
/// The same with columns of which two of each four neighbours along k are stored:
/// ContractionSparse.h.
extern const Schedule kSparseTensorCoresSchedule;
/// Both by what Hopper alone has, TMA and wgmma.
extern const Schedule kSparseWgmmaSchedule, kWgmmaSchedule;
/// Tiles through shared memory for every other type.
extern const Schedule kTilesSchedule;
/// A call of cuBLASLt in the place of a product that is nothing else: LibraryChoice.h.
extern const Schedule kLibrarySchedule;
/// Strips of neighbouring results for each thread of a convolution whose groups are a channel or a
/// few: DepthwiseChoice.h.
extern const Schedule kDepthwiseSchedule;
/// Rows of an image of few channels in shared memory, as they lie, multiplied by tensor cores: the
/// first layer of a network. FewChannelsChoice.h.
extern const Schedule kFewChannelsSchedule;

/// Attention without the scores in memory, on tensor cores or on the units of floats:
/// AttentionChoice.h.
extern const Schedule kAttentionTensorCoresSchedule, kAttentionFloatUnitsSchedule;
/// The same by TMA and wgmma: AttentionWgmmaChoice.h.
extern const Schedule kAttentionWgmmaSchedule;

/// A block for each row of the batch, from its first step to its last.
extern const Schedule kRecurrentSchedule;
/// Blocks that share the hidden units, all steps in one cooperative launch: RecurrentChoice.h.
extern const Schedule kSharedRecurrentSchedule;
/// The same on tensor cores, for many rows: TensorStepChoice.h.
extern const Schedule kTensorRecurrentSchedule;

/// A block for each line that is put in order, through shared memory and, where lines are long,
/// that of the device.
extern const Schedule kSortSchedule;
/// Running sums: a block for each line, or a thread.
extern const Schedule kScanSchedule;
/// Updates of lines: a block for each line, or a thread.
extern const Schedule kScatterSchedule;
/// Boxes of lines that overlap none before them: a block for each line.
extern const Schedule kSuppressSchedule;

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_SCHEDULES_H
