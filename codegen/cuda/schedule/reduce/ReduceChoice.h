//===- ReduceChoice.h - Into how many parts the rows of a reduction are cut ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// By numbers that are known when the kernel is compiled, so that the order of combining never
// depends on the GPU.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_REDUCE_REDUCECHOICE_H
#define DLC_CODEGEN_CUDA_SCHEDULE_REDUCE_REDUCECHOICE_H

#include "ir/machine/GpuModel.h"

#include <cstdint>

namespace dlc::codegen {

/// Of a reduction: its rows at most, and how many terms are usual.
struct ReduceShape {
  int64_t rows, terms;
  /// The terms of a row lie apart, those of neighbouring rows side by side.
  bool isAcross;
};

/// The parts of each row, and the blocks that have all parts of all rows between them.
struct RowShare {
  int64_t parts = 0, blocks = 0; // 0: rows are not cut

  bool isCut() const { return parts > 0; }
};

/// Blocks that wait for each other, at most one for each multiprocessor of a large GPU: they have
/// all of its memory's rate.
inline constexpr int64_t kMostBlocks = 128;
/// Threads of a block that has parts of rows.
inline constexpr int64_t kPartThreads = 512;

/// Cuts rows where a block for each (across: a thread for each) leaves most of a GPU idle for
/// longer than the meetings of a cooperative launch take.
RowShare chooseRowShare(const ReduceShape &shape, const GpuModel &gpu = kAmpere);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_REDUCE_REDUCECHOICE_H
